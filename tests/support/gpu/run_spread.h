/* Solves with a spread triangle in the emulator: the launches of all PEs in one grid. */
#pragma once

#include "codelets/gpu/tables/spread_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `solves` solves one after the other. pe: tables, values, b and x of own rows, and nrhs of each PE;
 * rows: number of own rows of each PE; slots: maximum of a PE; grid->blocks: blocks of a PE. *polls: polls of
 * each PE in the last solve. */
run_outcome run_spread(const char *scalars, int pes, const tsi_gpu_spread *pe, const tsi_index *rows,
                       tsi_index slots, unsigned solves, const run_grid *grid, int32_t *polls);

#ifdef __cplusplus
}
#endif
