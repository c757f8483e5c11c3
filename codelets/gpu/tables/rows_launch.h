/* Launches of the GPU kernels of rows, for C: a solve with a triangle by rows, or the products of a
 * partitioned inverse, phase after phase.
 *
 * A launch runs one phase or several. Its blocks draw tickets until there are none, and wait until the
 * previous phase has ended; in TSI_PHASE_FREE rows wait for the flags of other rows. A block waits only for
 * tickets that were drawn before its own, so the launch ends with any number of blocks. Nothing is cleared
 * between launches: flags hold the epoch of the solve, and counters of phases keep counting. The block that
 * draws last resets the counter of tickets to zero.
 *
 * The name contains the scalar type: s, d, c, z. */
#pragma once

#include "codelets/gpu/tables/device_rows.h"
#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are device pointers. */
typedef struct tsi_gpu_rows {
  tsi_device_rows tables;
  /* Only its members for b, x and the workspace are used; it has no sweeps and no D. Rows of the workspace
   * and final columns of the call are the rows of the tables. Products use only the workspace. */
  tsi_device_call call;
  const void *values;      /* entries, packed by tsi_device_rows_fill */
  const void *inverse;     /* n: inverses of the diagonal, by rows of the tables; NULL: ones */
  bool conjugate;          /* solves with conj(F) */
  tsi_index phase, phases; /* runs phases phase .. phase+phases-1; each phase is in one launch per solve */
  int32_t *ticket; /* one counter, zero before the first launch; concurrent launches must not share it */
  int32_t *done;   /* phases: number of finished tickets in all epochs; zero before the first launch */
  int32_t *flag;   /* n, if there is a TSI_PHASE_FREE; zero before the first launch */
  int32_t epoch;   /* epoch of the solve: 1, 2, ... */
} tsi_gpu_rows;

/* As tsi_gpu_launch and tsi_gpu_blocks of launch.h. */
typedef int tsi_gpu_rows_launch(const tsi_gpu_rows *rows, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_rows_launch tsi_gpu_rows_launch_s, tsi_gpu_rows_launch_d, tsi_gpu_rows_launch_c;
tsi_gpu_rows_launch tsi_gpu_rows_launch_z;
typedef int tsi_gpu_rows_blocks(const tsi_gpu_rows *rows, unsigned threads, unsigned *blocks);
tsi_gpu_rows_blocks tsi_gpu_rows_blocks_s, tsi_gpu_rows_blocks_d, tsi_gpu_rows_blocks_c;
tsi_gpu_rows_blocks tsi_gpu_rows_blocks_z;

#ifdef __cplusplus
}
#endif
