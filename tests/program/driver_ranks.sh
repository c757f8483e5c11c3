# shellcheck shell=bash
# Shared by driver_*.sh that run the program under mpiexec, which source it with PROGRAM MPIEXEC [FLAG...] --. Defines, in
# addition to driver.sh,
#   ranks N STATUS REGEX ARGUMENT...  N processes of the program; status: 0, or - for any nonzero one. $input: the file for
#                                     standard input, if not empty
#   killed ARGUMENT...                two processes with a very long run; one of them is killed: the other one ends
program=$1
shift
mpiexec=()
while [ "$1" != -- ]; do mpiexec+=("$1"); shift; done
set -- "$program"
. "$(dirname "$0")/driver.sh"

ranks() {
  local count=$1 expected=$2 regex=$3 status
  shift 3
  "${mpiexec[@]}" -n "$count" "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" "$@" >output.txt 2>&1 <"${input:-/dev/null}"
  status=$?
  [ $status -eq 0 ] || status=-
  if [ "$status" != "$expected" ] || ! grep -qE -e "$regex" output.txt; then
    fail "$count processes, tristar $*: exit status $status, expected $expected and a line like: $regex"
    cat output.txt >&2
  fi
}

killed() {
  local run victim='' killed
  timeout --signal=KILL 90 "${mpiexec[@]}" -n 2 "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" "$@" >output.txt 2>&1 </dev/null &
  run=$!
  for _ in $(seq 300); do
    sleep 0.1
    victim=$(pgrep -P "$(pgrep -P $run | head -n 1)" -x tristar 2>/dev/null | head -n 1)
    [ -z "$victim" ] || break
  done
  sleep 2
  if [ -n "$victim" ]; then kill -KILL "$victim"; else fail "found no process to kill"; fi
  killed=$SECONDS
  wait $run
  [ $? -ne 0 ] || fail "a killed process, and exit status 0"
  [ $((SECONDS - killed)) -lt 40 ] || fail "$((SECONDS - killed)) s after a process was killed the others still ran"
}
