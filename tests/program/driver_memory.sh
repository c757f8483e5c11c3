#!/usr/bin/env bash
# driver_memory.sh PROGRAM MPIEXEC [FLAG...] --: a problem that is too large for one process is solved by four, each with
# the same limit of memory (ulimit -v). Works in the current folder.
. "$(dirname "$0")/driver_ranks.sh"
rm -f -- *.json # of an earlier run
problem=gen:poisson3d7:48
needs=290 # MB beside the libraries: most of a process of four needs 220, one process 420

# fits SECONDS MB RANKS LAYOUT REGEX STATUS MATRIX: with a limit of MB for each process. MPI may hang if memory is short.
fits() (
  ulimit -v $(($2 * 1024)) || exit 1
  timeout --signal=KILL "$1" "${mpiexec[@]}" -n "$3" "$(dirname "$0")/../mpi/mpi_rank.sh" "$tristar" solve "$7" --layout "$4" \
    --engine serial >output.txt 2>&1 </dev/null
  status=$?
  [ $status -eq 0 ] || status=-
  [ "$status" = "$6" ] && grep -qE -e "$5" output.txt
)

# ---- Memory of the libraries: the smallest limit with which four processes solve a small problem
low=256 high=2048
if ! fits 60 $high 4 1x1x4 '^accuracy ' 0 gen:s2d9pt:10; then
  echo "skipped: four processes do not start with a limit of $high MB (ulimit -v)"
  exit 77
fi
while [ $((high - low)) -gt 64 ]; do
  middle=$(((low + high) / 2))
  if fits 15 $middle 4 1x1x4 '^accuracy ' 0 gen:s2d9pt:10; then high=$middle; else low=$middle; fi
done
limit=$((high + needs))
echo "$high MB for the libraries, $limit MB in all"

fits 60 $limit 1 1x1x1 '^tristar: .*out of memory: [0-9]+ bytes' - $problem || { fail "one process with $limit MB"; cat output.txt >&2; }
fits 60 $limit 4 1x1x4 '^accuracy +backward error [0-9.]+e-1[5-7] ' 0 $problem || { fail "four processes with $limit MB each"; cat output.txt >&2; }
finish
