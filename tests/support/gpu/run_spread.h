/* Solves with a spread triangle in the emulator: the launches of all PEs in one grid. */
#pragma once

#include "codelets/gpu/tables/spread_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pe: of each PE tables, values, b and x of own rows, nrhs; rows: own rows of each; slots: most of a PE.
 * grid->blocks: of a PE. `solves` solves one after the other. polls: of each PE in the latest one. */
run_outcome run_spread(const char *scalars, int pes, const tsi_gpu_spread *pe, const tsi_index *rows,
                       tsi_index slots, unsigned solves, const run_grid *grid, int32_t *polls);

#ifdef __cplusplus
}
#endif
