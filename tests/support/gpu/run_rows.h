/* Solves by the GPU kernels of rows, for tests in C: see runs.h. */
#pragma once

#include "codelets/gpu/tables/rows_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs all phases in order: each in its own launch, or all in one. Solves `solves` times, with the epochs 1,
 * 2, ... and the flags and counters of the previous solve. Phases, counters, flags and the epoch of `rows`
 * are not used: they are made here. The workspace is as in run_sweeps; products use the caller's. scalars:
 * "s", "d", "c", "z". */
run_outcome run_rows(const char *scalars, const tsi_gpu_rows *rows, bool one_launch, unsigned solves,
                     const run_grid *grid);

#ifdef __cplusplus
}
#endif
