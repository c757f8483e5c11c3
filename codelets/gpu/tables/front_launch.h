/* Launches of the GPU kernels that the factorization of a front needs in addition to BLAS, for C.
 *
 *   exchange_rows      columns of b rows: row k <-> row pivot[k], k ascending
 *   exchange_columns   rows of b columns: column k <-> column pivot[k], k ascending
 *   divide             LDLT: rows of W = L D of a panel become rows of L, and their image rows of U (front.h)
 *
 * Each column, or row, is computed by one thread: any number of blocks and threads gives the same bits.
 *
 * The name contains the scalar type: s, d, c, z. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsi_gpu_front_kind {
  TSI_GPU_EXCHANGE_ROWS,
  TSI_GPU_EXCHANGE_COLUMNS,
  TSI_GPU_DIVIDE
} tsi_gpu_front_kind;

/* All pointers are device pointers. Matrices are column-major. */
typedef struct tsi_gpu_front {
  tsi_gpu_front_kind kind;
  int32_t lines; /* number of columns, or rows: one for each thread */
  int32_t b;     /* columns of the panel */
  void *x;       /* b x lines, or lines x b */
  int32_t ldx;
  const int32_t *pivot; /* b; exchanges */
  const void *inverse;  /* divide: D^-1, 2 b scalars, see tsi_pivoting */
  void *upper;          /* divide: b x lines, written */
  int32_t ldupper;
  bool adjoint; /* divide: A is Hermitian */
} tsi_gpu_front;

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_front_launch(const tsi_gpu_front *front, void *stream);
tsi_gpu_front_launch tsi_gpu_front_launch_s, tsi_gpu_front_launch_d, tsi_gpu_front_launch_c;
tsi_gpu_front_launch tsi_gpu_front_launch_z;

#ifdef __cplusplus
}
#endif
