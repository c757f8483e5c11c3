/* Launch of the GPU kernel of products with a sparse matrix by rows, for C.
 *
 *   Y := alpha A X + beta Y
 *
 * The number of threads of a row is the average number of entries of the rows of A, rounded up to a power of
 * 2, 2 to 32 ("miniwarps"; Bell and Garland, SC 2009). Thread q takes the entries q, q + threads, ... of the
 * row; the sums of the threads are added pairwise, q and q ^ 1 first. Several right-hand sides are summed at
 * a time with one load of each entry of A.
 *
 * Reads   A, X, and Y unless beta is zero.   Writes  Y.
 * Invariants: the bits of Y depend only on A, X, Y, the factors and `threads`: not on the number of blocks or
 * threads of a block, the device's warps, or the number of right-hand sides. Any number of blocks computes
 * all rows. Y is not X. If nrhs or rows is zero, nothing is written.
 *
 * The name contains the scalar type, as in launch.h: sd and cz have matrices in single precision, and vectors
 * and sums in double. */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "codelets/gpu/tables/row_choice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSI_SPMV_THREADS_MIN 2
#define TSI_DEVICE_PRODUCT_BLOCKS 2048 /* more than are resident; each computes its share of the rows */

/* All pointers are device pointers. Entry (i, c) of X is number i x_row + c x_column of x. */
typedef struct tsi_gpu_spmv {
  tsi_matrix_rows a;
  tsi_index rows;
  int threads; /* threads per row: tsi_gpu_spmv_threads */
  tsi_index nrhs;
  const void *x;
  int64_t x_row, x_column;
  void *y;
  int64_t y_row, y_column;
  double alpha[2], beta[2]; /* real and imaginary part; real types use only the first */
} tsi_gpu_spmv;

/* Returns the threads per row for a matrix with so many rows and entries. */
static inline int tsi_gpu_spmv_threads(tsi_index rows, tsi_count entries) {
  const int threads = tsi_device_row_threads(rows > 0 ? (entries + rows - 1) / rows : 0);
  return threads < TSI_SPMV_THREADS_MIN ? TSI_SPMV_THREADS_MIN : threads;
}

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_spmv_launch(const tsi_gpu_spmv *product, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_spmv_launch tsi_gpu_spmv_launch_s, tsi_gpu_spmv_launch_d, tsi_gpu_spmv_launch_c;
tsi_gpu_spmv_launch tsi_gpu_spmv_launch_z, tsi_gpu_spmv_launch_sd, tsi_gpu_spmv_launch_cz;

#ifdef __cplusplus
}
#endif
