/* The runs of runs.h, run_rows.h, run_columns.h, run_spmv.h and run_fsai.h on a board (tools/gpu/board.h): a
 * device, or the emulator as one. Schedules are the device's own. */
#include "tests/support/check.h"
#include "tests/support/gpu/run_fsai.h"
#include "tests/support/gpu/run_rows.h"
#include "tests/support/gpu/run_spmv.h"
#include "tools/gpu/board.h"
#include "tools/gpu/inverse.h"

/* Opens the board at the first call. Without a board the test ends as skipped; memory allocated before is
 * not reported as a leak. */
static const gpu_board *the_board(void) {
  static gpu_board board;
  if (board.warp > 0) return &board;
  const char *missing = board_open(&board);
  if (missing == NULL) return &board;
  printf("skipped: no GPU to run on: %s\n", missing);
  fflush(stdout);
  _Exit(77);
}

unsigned run_warp(unsigned wanted) {
  (void)wanted;
  return the_board()->warp;
}
unsigned run_processors(void) {
  return the_board()->processors;
}
bool run_has_faults(void) {
  return false;
}

/* Rounds the threads of a block up to whole warps. */
static unsigned threads_of(const run_grid *grid) {
  const unsigned warp = the_board()->warp;
  return (grid->threads + warp - 1) / warp * warp;
}

/* Adds a padding scalar to each row if the workspace belongs to the board. Padding stays NaN. */
static tsi_device_call padded(const tsi_device_call *call) {
  tsi_device_call c = *call;
  if (c.workspace) return c;
  c.stride = c.nrhs > 1 ? c.nrhs + 1 : 1;
  return c;
}

static run_outcome ended(board_arrays *arrays, const tsi_device_call *call) {
  board_fetch(arrays, call->x);
  board_fetch_workspace(arrays, call->workspace);
  board_close(arrays);
  return (run_outcome){.ended = true};
}

run_outcome run_sweeps(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  const tsi_device_call c = padded(call);
  board_sweeps s;
  board_sweeps_open(scalars, forward, backward, &c, &s);
  for (int k = 0; k < 2; k++) board_sweeps_run(&s, k == 1, grid->blocks, threads);
  return ended(&s.arrays, call);
}

run_outcome run_variant(run_variant_kind variant, const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call,
                        const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  const tsi_device_call c = padded(call);
  board_variant s;
  board_variant_open(scalars, forward, backward, &c, &s);
  for (int k = 0; k < 2; k++)
    (variant == RUN_SC23 ? board_variant_sc23 : board_variant_kk20)(&s, k == 1, threads);
  return ended(&s.arrays, call);
}

run_outcome run_rows(const char *scalars, const tsi_gpu_rows *rows, bool one_launch, unsigned solves,
                     const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  tsi_gpu_rows padded_rows = *rows;
  padded_rows.call = padded(&rows->call);
  board_rows s;
  board_rows_open(scalars, &padded_rows, &s);
  for (unsigned k = 0; k < solves; k++) board_rows_run(&s, one_launch, grid->blocks, threads);
  return ended(&s.arrays, &rows->call);
}

run_outcome run_spmv(const char *scalars, const tsi_gpu_spmv *product, tsi_index columns,
                     const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  board_spmv s;
  board_spmv_open(scalars, product, columns, &s);
  board_spmv_run(&s, grid->blocks, threads);
  board_fetch(&s.arrays, product->y);
  board_close(&s.arrays);
  return (run_outcome){.ended = true};
}

run_outcome run_fsai(const char *scalars, const tsi_gpu_fsai *rows, tsi_index n, bool shared,
                     const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  board_fsai s;
  board_fsai_open(scalars, rows, n, shared, the_board()->warp, threads, grid->blocks, &s);
  board_fsai_run(&s, s.threads);
  board_fsai_fetch(&s, rows, NULL);
  board_close(&s.arrays);
  return (run_outcome){.ended = true};
}

run_outcome run_fsai_rows(const char *scalars, const tsi_gpu_fsai_rows *rows, const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  board_fsai s;
  board_fsai_open_lists(scalars, rows, &s);
  board_fsai_pack(&s, grid->blocks, threads);
  board_fsai_fetch(&s, NULL, rows);
  board_close(&s.arrays);
  return (run_outcome){.ended = true};
}

run_outcome run_fsai_adjoint(const char *scalars, const tsi_gpu_fsai_adjoint *adjoint, const run_grid *grid) {
  const unsigned threads = threads_of(grid);
  board_adjoint s;
  board_adjoint_open(scalars, adjoint, &s);
  for (int k = 0; k < 2; k++)
    board_adjoint_run(&s, grid->blocks, threads); /* the second run must clear the results of the first one */
  board_adjoint_fetch(&s, adjoint);
  board_close(&s.arrays);
  return (run_outcome){.ended = true};
}
