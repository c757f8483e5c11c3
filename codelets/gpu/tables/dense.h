/* The dense operations that a front needs on a device, for one scalar type: those of cuBLAS, hipBLAS or a
 * replacement, and the kernels of front_launch.h.
 *
 * Matrices are column-major and in the memory of the device; `adjoint` of a real type is the transpose. Calls
 * are asynchronous; a queue executes its operations in the order of the calls. Each call returns 0, or an
 * error number: of the device's runtime, or of its BLAS plus TSI_GPU_DENSE_ERROR. */
#pragma once

#include "codelets/gpu/tables/front_launch.h"

#define TSI_GPU_DENSE_ERROR 10000

typedef enum tsi_dense_form { TSI_DENSE_PLAIN, TSI_DENSE_TRANSPOSE, TSI_DENSE_ADJOINT } tsi_dense_form;

/* A triangle T. From the right: B := B form(T)^-1; from the left: B := T^-1 B. */
typedef struct tsi_dense_triangle {
  bool left, upper, unit;
  tsi_dense_form form; /* left: PLAIN */
  const void *at;
  int ld;
} tsi_dense_triangle;

typedef struct tsi_gpu_dense {
  /* Opens a queue on the calling worker's stream; the same worker must close it. */
  int (*open)(void *stream, void **queue);
  int (*close)(void *queue);
  /* C -= A form(B), C m x n, A m x k. */
  int (*multiply)(void *queue, tsi_dense_form form, int m, int n, int k, const void *a, int lda,
                  const void *b, int ldb, void *c, int ldc);
  /* Lower triangle of C -= A A^adjoint, C n x n, A n x k. */
  int (*multiply_self)(void *queue, int n, int k, const void *a, int lda, void *c, int ldc);
  /* B is m x n. */
  int (*solve)(void *queue, const tsi_dense_triangle *triangle, int m, int n, void *b, int ldb);
  tsi_gpu_front_launch *front;
} tsi_gpu_dense;
