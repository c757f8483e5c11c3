# shellcheck shell=bash
# Shared by driver_*.sh, which source it with their own arguments. Defines
#   $tristar                         the program
#   fail MESSAGE...                  reports a failure, also from a subshell; the script continues
#   expect STATUS REGEX ARGUMENT...  runs the program; checks its exit status, and that a line of the output matches
#   row REGEX, no_row REGEX          the output of the latest expect, both streams, has such a line, or none
#   value KEY FILE                   prints a number or string in the JSON of the program
#   matrix FILE KIND SIZES ENTRY...  writes a Matrix Market file by coordinates
#   script FILE LINE...              writes a shell script
#   finish                           ends the script; exit status 1 if anything failed
set -u
tristar=$1
name=$(basename "$0" .sh)
rm -f output.txt failures.log # of an earlier run

fail() {
  echo "$name: $*" | tee -a failures.log >&2
}

expect() {
  local expected=$1 regex=$2 status
  shift 2
  "$tristar" "$@" >output.txt 2>&1 </dev/null
  status=$?
  if [ "$status" -ne "$expected" ] || ! grep -qE -e "$regex" output.txt; then
    fail "tristar $*: exit status $status, expected $expected and a line like: $regex"
    cat output.txt >&2
  fi
}

row() { grep -qE -e "$1" output.txt || { fail "no line like: $1"; cat output.txt >&2; }; }
no_row() { ! grep -qE -e "$1" output.txt || { fail "a line like: $1"; cat output.txt >&2; }; }

value() { sed -n "s/^[[:space:]]*\"$1\":[[:space:]]*\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$2"; }

matrix() { { printf '%%%%MatrixMarket matrix coordinate %s\n%s\n' "$2" "$3"; [ $# -eq 3 ] || printf '%s\n' "${@:4}"; } >"$1"; }
script() { { echo '#!/bin/sh'; printf '%s\n' "${@:2}"; } >"$1" && chmod +x "$1"; }

finish() {
  [ -e failures.log ] || exit 0
  echo "$name: $(wc -l <failures.log) failed" >&2
  exit 1
}
