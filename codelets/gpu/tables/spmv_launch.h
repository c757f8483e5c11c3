/* Launch of the GPU kernel of products with a sparse matrix by rows, for C.
 *
 *   Y := alpha A X + beta Y
 *
 * A row has as many threads as the rows of A have entries on average, rounded up to a power of 2, 2 to 32
 * ("miniwarps"; Bell and Garland, SC 2009): thread q takes the entries q, q + threads, ... of the row, and
 * threads are added up pairwise, q and q ^ 1 first. Several right-hand sides are summed at a time, each entry
 * of A is loaded once for them.
 *
 * Reads   A, X, and Y unless beta is zero.   Writes  Y.
 * Invariants: the bits of Y depend on A, X, the factors and `threads` alone: not on the number of blocks and
 * of threads of a block, on the device's warps, or on how many right-hand sides there are. Any number of
 * blocks goes through all rows. Y is not X, and rows that are none (nrhs or rows zero) are not touched.
 *
 * The scalar type stands in the name, as in launch.h: sd and cz are matrices in single precision, vectors and
 * sums in double. */
#pragma once

#include "codelets/cpu/rows/krylov.h"
#include "codelets/gpu/tables/row_choice.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSI_SPMV_THREADS_MIN 2
#define TSI_DEVICE_PRODUCT_BLOCKS 2048 /* more than are resident; each goes through its share of the rows */

/* All pointers are the device's. Entry (i, c) of X is number i x_row + c x_column of x. */
typedef struct tsi_gpu_spmv {
  tsi_matrix_rows a;
  tsi_index rows;
  int threads; /* of a row: tsi_gpu_spmv_threads */
  tsi_index nrhs;
  const void *x;
  int64_t x_row, x_column;
  void *y;
  int64_t y_row, y_column;
  double alpha[2], beta[2]; /* real and imaginary part, of which real types use the first */
} tsi_gpu_spmv;

/* Of a matrix with so many rows and entries. */
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
