/* Launch of the GPU kernel of columns, for C: what a solve does beside its triangles, each column by itself.
 * It is what products with a partitioned inverse (rows_launch.h) have around them, and all of a solve with D
 * alone.
 *
 *   x_j := R b, or row from + j of the workspace;   x_j := conj(D^-1 x_j), as the call says between sweeps;
 *   the user's x := x_j, or row to + j of the workspace := x_j
 *
 * One thread has a column and a right-hand side, or the two columns of a pivot; any number of blocks gives
 * the same bits.
 *
 * The scalar type stands in the name, as in launch.h. */
#ifndef TSI_CODELETS_GPU_TABLES_COLUMNS_LAUNCH_H
#define TSI_CODELETS_GPU_TABLES_COLUMNS_LAUNCH_H

#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All pointers are the device's. */
typedef struct tsi_gpu_columns {
  /* What it says of b, x, the workspace, D^-1 (inverse NULL: no D) and conj between the sweeps; it has no
   * sweeps. b may be x where in_row is out_row. */
  tsi_device_call call;
  tsi_index n;
  bool reads, writes; /* b, x of the user; else rows of the workspace */
  tsi_index from, to; /* the first of these */
} tsi_gpu_columns;

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_columns_launch(const tsi_gpu_columns *columns, unsigned blocks, unsigned threads,
                                   void *stream);
tsi_gpu_columns_launch tsi_gpu_columns_launch_s, tsi_gpu_columns_launch_d, tsi_gpu_columns_launch_c;
tsi_gpu_columns_launch tsi_gpu_columns_launch_z, tsi_gpu_columns_launch_sd, tsi_gpu_columns_launch_cz;

#ifdef __cplusplus
}
#endif

#endif
