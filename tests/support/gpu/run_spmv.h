/* The GPU kernel of products by rows, for tests in C: see runs.h. */
#pragma once

#include "codelets/gpu/tables/spmv_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one launch. scalars: "s", "d", "c", "z", "sd", "cz". columns: of the matrix. */
run_outcome run_spmv(const char *scalars, const tsi_gpu_spmv *product, tsi_index columns,
                     const run_grid *grid);

#ifdef __cplusplus
}
#endif
