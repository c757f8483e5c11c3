/* Published GPU solvers as they are described, for comparison with the sweeps of launch.h: the same panels,
 * scalars, products and user's rows, but their ways to order the work. Their sums are atomic additions, so
 * the last bits of a result depend on the schedule.
 *
 * - SC23: Liu, Ding, Sao, Williams and Li (SC 2023), algorithm 4. A block of threads a supernode column: it
 *   waits until fmod of its supernode, the updates that have not come, is zero; solves; adds what the column
 *   takes from other rows into their sums; and counts fmod of these down. Backward the same with the columns
 *   of F'. As written a block has the supernode of its own number, which ends only if blocks begin in that
 *   order or all are resident; here the number is a ticket that the block draws, so that a block waits only
 *   for those that have begun, and any number of resident blocks comes to an end.
 * - KK20: Yamazaki, Rajamanickam and Ellingwood (ICPP 2020). A launch a level of supernodes, with a block for
 *   each; no flags. Forward they add into the sums of other rows, backward they read x of these.
 *
 * The scalar type stands in the name. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/variant_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are the device's. The call's workspace has 2 n rows: x, sums; the sums are zero before the
 * first launch, and after each one. */
typedef struct tsi_gpu_variant {
  tsi_variant_tables tables;
  tsi_device_call call;
  bool backward;
  int32_t *ticket; /* SC23: one counter, zero before the first launch, and after each one */
  int32_t *left;   /* SC23: panels: segments into each one, backward of each one; so again after a launch */
  tsi_index first; /* KK20: where the level begins in tables.level */
} tsi_gpu_variant;

/* A sweep; stream: a cudaStream_t or hipStream_t. level_ptr: that of the tables on the host. Returns 0, or
 * the error number of the device's runtime. */
typedef int tsi_gpu_sc23(const tsi_gpu_variant *variant, unsigned threads, void *stream);
typedef int tsi_gpu_kk20(const tsi_gpu_variant *variant, const tsi_index *level_ptr, unsigned threads,
                         void *stream);
tsi_gpu_sc23 tsi_gpu_sc23_s, tsi_gpu_sc23_d, tsi_gpu_sc23_c, tsi_gpu_sc23_z;
tsi_gpu_kk20 tsi_gpu_kk20_s, tsi_gpu_kk20_d, tsi_gpu_kk20_c, tsi_gpu_kk20_z;

#ifdef __cplusplus
}
#endif
