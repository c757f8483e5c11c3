# shellcheck shell=bash
# Shared by tools/ci/check_*, which source it. Changes to the repository root and defines
#   c_files DIR...        the .c, .h and .cu files of the folders (DIR/ itself and below), one a line
#   is_adapter_header H   whether H is runtime/include/tristar_NAME.h of an adapter in runtime/adapters/
#   code [-s] FILE...     their lines as FILE:LINE:TEXT without comments (-s: also without contents of strings)
#   broken MESSAGE        reports a violation
#   finish NAME           ends the check: exit status 1 after a violation
set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit 1
rules_broken=0

c_files() {
  local dir
  for dir in "$@"; do
    [ -d "$dir" ] && find "$dir" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cpp' \)
  done | sort
}

is_adapter_header() {
  local name=${1##*/tristar_}
  name=${name%.h}
  [ "$name" != typed ] || return 1 # typed_NAME.c are sources of the adapter NAME
  compgen -G "runtime/adapters/$name*.c" >/dev/null || compgen -G "runtime/adapters/typed_$name*.c" >/dev/null
}

code() {
  local strings=0
  if [ "$1" = -s ]; then strings=1; shift; fi
  [ $# -eq 0 ] || awk -v strings=$strings -f tools/ci/lib/strip.awk "$@"
}

broken() {
  printf '%s\n' "$1"
  rules_broken=$((rules_broken + 1))
}

finish() {
  if [ $rules_broken -gt 0 ]; then
    echo "$1: $rules_broken broken"
    exit 1
  fi
  echo "$1: ok"
}
