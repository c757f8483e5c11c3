/* The GPU kernel of columns, for tests in C: see runs.h. */
#ifndef TSI_TESTS_SUPPORT_GPU_RUN_COLUMNS_H
#define TSI_TESTS_SUPPORT_GPU_RUN_COLUMNS_H

#include "codelets/gpu/tables/columns_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One launch; its workspace is the caller's. scalars: "s", "d", "c", "z", "sd", "cz". */
run_outcome run_columns(const char *scalars, const tsi_gpu_columns *columns, const run_grid *grid);

#ifdef __cplusplus
}
#endif

#endif
