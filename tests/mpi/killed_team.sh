#!/usr/bin/env bash
# killed_team.sh MPIEXEC [FLAG...] -- FACTORS SOLVES: a rank is killed early, midway and late in the shared fronts of a team:
# the run ends with an error. A rank is killed before a forward or backward sweep with one-sided messages: the other
# ranks return an error in time.
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
# Open MPI lets the other ranks go on: each returns the error of a wait of 5 seconds.
[[ ${mpiexec[*]} == *--mca* ]] || exit $failures
# All four runs at a time: they hardly use a core.
mpiexec+=(--enable-recovery)
program=$solves
for way in tasks serial; do
  for part in 1 3; do # L, U
    mkdir -p "$way$part"
    (cd "$way$part" && STARPU_HOME=$PWD run 60 4 $way $part) &
  done
done
wait
for way in tasks serial; do
  for part in 1 3; do
    [ "$(grep -c '^rank [012]: .* waited more than 5 seconds for PE .*TRISTAR_ERR_RUNTIME' $way$part/output.txt)" -eq 3 ] ||
      fail "solves with $way, part $part: $(cat $way$part/output.txt)"
  done
done
exit $failures
