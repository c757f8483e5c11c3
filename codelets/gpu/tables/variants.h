/* Published GPU solvers, for comparison with the sweeps of launch.h. They have the same panels, scalars,
 * products and user's rows, but order the work as published. Their sums are atomic additions, so the last
 * bits of a result depend on the schedule.
 *
 * - SC23: Liu, Ding, Sao, Williams and Li (SC 2023), algorithm 4. One block of threads per supernode column.
 *   The block waits until fmod of its supernode, the number of missing updates, is zero. It solves, adds the
 *   column's updates to the sums of other rows, and decrements fmod of these. Backward does the same with the
 *   columns of F'. In the paper block k has supernode k, which ends only if blocks begin in that order or all
 *   are resident. Here a block draws the number as a ticket, so that it waits only for blocks that have
 *   begun, and the launch ends with any number of resident blocks.
 * - KK20: Yamazaki, Rajamanickam and Ellingwood (ICPP 2020). One launch per level of supernodes, with one
 *   block per supernode; no flags. Forward, blocks add to the sums of other rows; backward, they read x of
 *   these.
 *
 * The name contains the scalar type. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/variant_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are device pointers. The call's workspace has 2 n rows: x, then sums. The sums are zero before
 * the first launch and after each launch. */
typedef struct tsi_gpu_variant {
  tsi_variant_tables tables;
  tsi_device_call call;
  bool backward;
  int32_t *ticket; /* SC23: one counter, zero before the first launch, and after each one */
  int32_t *left;   /* SC23: panels: forward, number of segments with this target; backward, number of segments
                      of the panel. A launch restores them */
  tsi_index first; /* KK20: start of the level in tables.level */
} tsi_gpu_variant;

/* Launches a sweep. stream: a cudaStream_t or hipStream_t. level_ptr: level_ptr of the tables, on the host.
 * Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_sc23(const tsi_gpu_variant *variant, unsigned threads, void *stream);
typedef int tsi_gpu_kk20(const tsi_gpu_variant *variant, const tsi_index *level_ptr, unsigned threads,
                         void *stream);
tsi_gpu_sc23 tsi_gpu_sc23_s, tsi_gpu_sc23_d, tsi_gpu_sc23_c, tsi_gpu_sc23_z;
tsi_gpu_kk20 tsi_gpu_kk20_s, tsi_gpu_kk20_d, tsi_gpu_kk20_c, tsi_gpu_kk20_z;

#ifdef __cplusplus
}
#endif
