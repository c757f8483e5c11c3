/* Launches of the GPU kernels, for C: one for each sweep of a solve.
 *
 * A launch has any number of blocks; as many as are resident at once (tsi_gpu_blocks_*) use the device best.
 * They draw tickets until there are none, wait for the flags of the tickets before, work, and raise the
 * ticket's own flag: it then holds the epoch of the launch. Nothing is cleared between launches: the block
 * that draws last sets the counter back to zero.
 *
 * The scalar type stands in the name: s, d, c, z; sd and cz are factors in single precision on vectors in
 * double: the workspace is; b and x are if the call is `wide`. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are the device's. */
typedef struct tsi_gpu_sweep {
  tsi_device_tables tables;
  tsi_device_call call;
  bool backward;
  int32_t *ticket; /* one counter, zero before the first launch; of no other launch at the same time */
  int32_t *flag;   /* tables.forward.tickets or tables.backward.tickets; each direction has its own */
  int32_t epoch;   /* another one than in the flags: 1, 2, ... where they were zero before the first launch */
} tsi_gpu_sweep;

#define TSI_GPU_THREADS                                                                                      \
  256 /* of a block; a multiple of the warp up to this is legal, and gives the same bits */

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_launch(const tsi_gpu_sweep *sweep, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_launch tsi_gpu_launch_s, tsi_gpu_launch_d, tsi_gpu_launch_c, tsi_gpu_launch_z;
tsi_gpu_launch tsi_gpu_launch_sd, tsi_gpu_launch_cz;

/* *blocks = those of a sweep that are resident at once on the current device. Returns as a launch does. */
typedef int tsi_gpu_blocks(const tsi_gpu_sweep *sweep, unsigned threads, unsigned *blocks);
tsi_gpu_blocks tsi_gpu_blocks_s, tsi_gpu_blocks_d, tsi_gpu_blocks_c, tsi_gpu_blocks_z;
tsi_gpu_blocks tsi_gpu_blocks_sd, tsi_gpu_blocks_cz;

#ifdef __cplusplus
}
#endif
