#!/usr/bin/env bash
# examples_0_2.sh COMPILER FLAG...: the examples of version 0.2, from the history of the repository, compile with the
# present headers. Skipped (77) if there is no history, or it lacks the commit. Examples whose solver or MPI is not
# installed are omitted; at least one must compile.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "skipped: $1"; exit 77; }

command -v git >/dev/null || skip "there is no git"
later=$(git log -n 1 --format=%H --diff-filter=M -S'TRISTAR_VERSION_MINOR 3' -- runtime/include/tristar.h 2>/dev/null) || later=
[ -n "$later" ] || skip "the history has no version 0.2"
mkdir "$work/old"
git archive "$later^" drivers 2>/dev/null | tar -x -C "$work/old" || skip "the history has no version 0.2"

compiled=0
for source in "$work"/old/drivers/examples/example_*.c; do
  if "$@" -std=c11 -D_GNU_SOURCE -fsyntax-only -Iruntime/include "$source" 2>"$work/log"; then
    compiled=$((compiled + 1))
  elif grep -qE "fatal error: '?(mpi|starpu_mpi|cholmod|klu|umfpack|slu_ddefs|superlu_[sdz]defs)\.h" "$work/log"; then
    echo "left out: $(basename "$source")"
  else
    cat "$work/log"
    echo "examples_0_2: $(basename "$source") of version 0.2 does not compile"
    exit 1
  fi
done
[ $compiled -gt 0 ] || { echo "examples_0_2: there is no example"; exit 1; }
echo "examples_0_2: $compiled examples"
