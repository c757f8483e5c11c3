/* Distributed solves of several PEs in one process. The emulator runs the launches of all PEs in one grid,
 * and a device runs each in a stream of its PE; the launches of one PE follow each other. */
#pragma once

#include "codelets/gpu/tables/program_launch.h"
#include "tests/support/gpu/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tsi_process;
struct tsi_program_tables;

/* Epoch of the flags before the first run. The third run has the smallest epoch, which follows the largest
 * one. */
enum { RUN_EPOCHS_BEFORE = INT32_MAX - 2 };

typedef struct run_pe {
  tsi_gpu_program program; /* tables, and the call without b, x and a workspace */
  const struct tsi_process *process;
  const struct tsi_program_tables *tables; /* tables of the program */
  size_t workspace_rows;
  const tsi_index *source; /* PEs that send to this one, with repetitions */
  tsi_index sources;
  const tsi_index *nrhs; /* right-hand sides of each run, at most nrhs of the call; NULL: nrhs of the call */
  void *const *b, *const *x; /* arrays of each run */
} run_pe;

/* Each PE begins its next run when its own blocks have ended the previous run, independent of other PEs, like
 * launches of a stream. messages: maximum number that a PE receives; inbox_rows: maximum of a PE;
 * grid->blocks: blocks of a PE. A workspace begins with NaN. */
run_outcome run_programs(const char *scalars, int pes, const run_pe *pe, tsi_index messages,
                         int64_t inbox_rows, unsigned runs, const run_grid *grid);

#ifdef __cplusplus
}
#endif
