#!/usr/bin/env bash
# driver_examples.sh PROGRAM ARGUMENT...: an example that submits tasks, with four schedulers and one and two workers. It
# compares its results with those of synchronous calls, and ends with status 1 if they differ.
failed=0
for workers in 1 2; do
  for scheduler in eager lws prio dmdas; do
    STARPU_NCPU=$workers STARPU_SCHED=$scheduler "$@" >output.txt 2>&1 && continue
    echo "$(basename "$1"): $scheduler, workers: $workers: status $?"
    cat output.txt
    failed=1
  done
done
exit $failed
