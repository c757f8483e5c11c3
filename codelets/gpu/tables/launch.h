/* Launches of the GPU kernels, for C: one for each sweep of a solve.
 *
 * A launch may have any number of blocks; the number that is resident at once (tsi_gpu_blocks_*) is best. A
 * block draws tickets until there are none. For each ticket it waits for the flags of the tickets before it,
 * works, and sets the ticket's flag to the epoch of the launch. Nothing is cleared between launches, but the
 * block that draws last resets the counter to zero.
 *
 * The name contains the scalar type: s, d, c, z. sd and cz have factors in single precision; the workspace is
 * in double precision, and so are b and x if the call is `wide`. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are device pointers. */
typedef struct tsi_gpu_sweep {
  tsi_device_tables tables;
  tsi_device_call call;
  bool backward;
  int32_t *ticket; /* one counter, zero before the first launch; concurrent launches must not share it */
  int32_t *flag;   /* tables.forward.tickets or tables.backward.tickets; each direction has its own flags */
  int32_t epoch;   /* differs from the values of the flags: 1, 2, ... if they were zero at first */
} tsi_gpu_sweep;

#define TSI_GPU_THREADS                                                                                      \
  256 /* threads of a block; smaller multiples of the warp are legal and give the same bits */

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_launch(const tsi_gpu_sweep *sweep, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_launch tsi_gpu_launch_s, tsi_gpu_launch_d, tsi_gpu_launch_c, tsi_gpu_launch_z;
tsi_gpu_launch tsi_gpu_launch_sd, tsi_gpu_launch_cz;

/* *blocks = number of blocks of a sweep that are resident at once on the current device. Returns as a launch
 * does. */
typedef int tsi_gpu_blocks(const tsi_gpu_sweep *sweep, unsigned threads, unsigned *blocks);
tsi_gpu_blocks tsi_gpu_blocks_s, tsi_gpu_blocks_d, tsi_gpu_blocks_c, tsi_gpu_blocks_z;
tsi_gpu_blocks tsi_gpu_blocks_sd, tsi_gpu_blocks_cz;

#ifdef __cplusplus
}
#endif
