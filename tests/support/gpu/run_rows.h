/* Solves by the GPU kernels of rows, for tests in C: see runs.h. */
#pragma once

#include "codelets/gpu/tables/rows_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All phases, one after the other: each in a launch of its own, or all in one. The solve is made `solves`
 * times, with the epochs 1, 2, ... and flags and counters of the time before. Of `rows` phases,
 * counters, flags and the epoch are not used: those are made here. The workspace is as in run_sweeps;
 * products have one of the caller's. scalars: "s", "d", "c", "z". */
run_outcome run_rows(const char *scalars, const tsi_gpu_rows *rows, bool one_launch, unsigned solves,
                     const run_grid *grid);

#ifdef __cplusplus
}
#endif
