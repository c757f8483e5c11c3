#!/usr/bin/env bash
# killed_team.sh MPIEXEC [FLAG...] -- FACTORS SOLVES: a rank is killed early, midway and late in the fronts that a team shares,
# and while others wait for it in a sweep forward and backward, by each transport: the run ends, and does not succeed.
set -u
mpiexec=()
while [ "$1" != -- ]; do mpiexec+=("$1"); shift; done
program=$2 solves=$3
failures=0
fail() { echo "FAIL: $*" >&2; failures=1; }

# run TIMEOUT RANKS ARGUMENT...
run() {
  local limit=$1 ranks=$2
  shift 2
  timeout --signal=KILL "$limit" "${mpiexec[@]}" -n "$ranks" "$(dirname "$0")/../mpi/mpi_rank.sh" "$program" "$@" >output.txt 2>&1 </dev/null
}

for way in "direct tasks" "direct serial" "starpu_mpi tasks" "one_sided tasks" "one_sided serial"; do
  for part in 1 3; do # L, U
    began=$SECONDS
    # shellcheck disable=SC2086 # two words
    program=$solves run 90 4 $way $part && fail "$way, part $part: one was killed in a solve, and exit status 0"
    grep -q "all came" output.txt || fail "$way, part $part: $(cat output.txt)"
    [ $((SECONDS - began)) -lt 60 ] || fail "$way, part $part: $((SECONDS - began)) s"
  done
done

for ranks in 2 4; do
  victim=$((ranks == 2))
  run 90 $ranks tasks $victim 0 || fail "nobody was killed: $(cat output.txt)"
  blocks=$(sed -n 's/^\([0-9]*\) blocks$/\1/p' output.txt)
  [ "${blocks:-0}" -ge 4 ] || fail "$ranks ranks: $(cat output.txt)"
  for at in 1 $((blocks / 2)) "$blocks"; do
    for way in tasks serial; do
      began=$SECONDS
      run 90 $ranks $way $victim "$at" && fail "$ranks ranks, $way: one was killed at block $at, and exit status 0"
      grep -q blocks output.txt && fail "$ranks ranks, $way: nobody was killed at block $at"
      [ $((SECONDS - began)) -lt 60 ] || fail "$ranks ranks, $way: $((SECONDS - began)) s, one being killed at block $at"
    done
  done
done
exit $failures
