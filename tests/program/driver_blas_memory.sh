#!/usr/bin/env bash
# driver_blas_memory.sh PROGRAM: with any limit of address space (ulimit -v), a factorization succeeds or reports that
# memory is short. OpenBLAS 0.3.21 requests its buffers forever if there is none. Works in the current folder.
tristar=$1
failed=0
export OPENBLAS_NUM_THREADS=1 # more threads take buffers before main

# run MB ENGINE: prints its exit status; 137 if it does not end.
run() (
  ulimit -v $(($1 * 1024)) || exit 1
  timeout --signal=KILL 20 "$tristar" solve gen:s2d9pt:30 --engine "$2" --workers 2 >output.txt 2>&1 </dev/null
  echo $?
) 2>/dev/null

for engine in serial tasks; do
  refused=0 solved=0
  for ((limit = 64; limit <= 1536 && solved < 3; limit += 48)); do
    status=$(run $limit $engine)
    if [ "$status" = 137 ]; then
      echo "$engine, $limit MB: does not end" >&2
      failed=1
    elif [ "$status" = 0 ]; then
      solved=$((solved + 1))
    elif grep -q '^tristar: .*out of memory: [0-9]* bytes of addresses for the buffers of OpenBLAS' output.txt; then
      refused=$((refused + 1))
    fi
  done
  echo "$engine: $refused limits refused for the buffers of OpenBLAS, solved from $((limit - 3 * 48)) MB on"
  [ $solved -eq 3 ] || { echo "$engine: never solved" >&2; failed=1; }
done
exit $failed
