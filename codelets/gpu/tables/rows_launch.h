/* Launches of the GPU kernels of rows, for C: a solve with a triangle by rows, or the products of a
 * partitioned inverse, phase after phase.
 *
 * A launch goes through one phase or through several. Its blocks, of any number, draw tickets until there are
 * none, and wait until the phase before is through; in TSI_PHASE_FREE rows wait for the flags of others. A
 * block only waits for tickets that were drawn before its own, so any number of blocks comes to an end.
 * Nothing is cleared between launches: flags hold the epoch of the solve, counters of phases go on, and the
 * block that draws last sets the counter of tickets back to zero.
 *
 * The scalar type stands in the name: s, d, c, z. */
#pragma once

#include "codelets/gpu/tables/device_rows.h"
#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are the device's. */
typedef struct tsi_gpu_rows {
  tsi_device_rows tables;
  /* What it says of b, x and the workspace, whose rows are those of the tables; the final columns that it
   * speaks of are these, too. It has no sweeps and no D. Products work in the workspace only. */
  tsi_device_call call;
  const void *values;  /* entries, as tsi_device_rows_fill has packed them */
  const void *inverse; /* n: of the diagonal, as the tables number rows; NULL: ones */
  bool conjugate;      /* solves with conj(F) */
  tsi_index phase,
      phases;      /* goes through phases phase .. phase+phases-1; each one is in one launch a solve */
  int32_t *ticket; /* one counter, zero before the first launch; of no other launch at the same time */
  int32_t *done;   /* phases: tickets that are through, of all epochs; zero before the first launch */
  int32_t *flag;   /* n; where there is a TSI_PHASE_FREE, zero before the first launch */
  int32_t epoch;   /* of the solve: 1, 2, ... */
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
