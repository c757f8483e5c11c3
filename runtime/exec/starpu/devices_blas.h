/* The tables of codelets/gpu/tables/dense.h for a BLAS whose names differ from cuBLAS only by the prefixes of
 * functions and constants: cuBLAS and hipBLAS. The including file has included the header of that BLAS and
 * defines, in addition to the names in devices_runtime.h,
 *
 *   BLAS(name)        a function: cublas##name
 *   BLAS_SYMBOL(name) a constant: CUBLAS_##name
 *   BLAS_HANDLE       its handle
 *   BLAS_C, BLAS_Z    its complex scalars
 *
 * A queue is a handle, opened for each front: libraries cannot add data to StarPU's workers, and a handle
 * must not outlive the StarPU that has created its stream.
 *
 * A header of its own because not every build has such a BLAS. */
#pragma once

#include <stdint.h>

#include "codelets/gpu/tables/dense.h"

static int blas_error(int code) {
  return code == 0 ? 0 : TSI_GPU_DENSE_ERROR + code;
}

static int open_queue(void *on, void **queue) {
  BLAS_HANDLE handle;
  *queue = NULL;
  const int code = (int)BLAS(Create)(&handle);
  if (code != 0) return blas_error(code);
  *queue = handle;
  return blas_error((int)BLAS(SetStream)(handle, on));
}
static int close_queue(void *queue) {
  return queue ? blas_error((int)BLAS(Destroy)(queue)) : 0;
}

/* letter: of the functions; scalar: type of the BLAS; real: type of the factors in Hermitian products; self:
 * the function of these products; last argument: converts a factor to scalar. */
#define DENSE(name, letter, scalar, real, self, ...)                                                         \
  static int multiply_##name(void *queue, tsi_dense_form form, int m, int n, int k, const void *a, int lda,  \
                             const void *b, int ldb, void *c, int ldc) {                                     \
    const scalar minus = __VA_ARGS__(-1), plus = __VA_ARGS__(1);                                             \
    return blas_error((int)BLAS(letter##gemm)(queue, BLAS_SYMBOL(OP_N),                                      \
                                              form == TSI_DENSE_PLAIN       ? BLAS_SYMBOL(OP_N)              \
                                              : form == TSI_DENSE_TRANSPOSE ? BLAS_SYMBOL(OP_T)              \
                                                                            : BLAS_SYMBOL(OP_C),             \
                                              m, n, k, &minus, a, lda, b, ldb, &plus, c, ldc));              \
  }                                                                                                          \
  static int multiply_self_##name(void *queue, int n, int k, const void *a, int lda, void *c, int ldc) {     \
    const real minus = -1, plus = 1;                                                                         \
    return blas_error((int)BLAS(letter##self)(queue, BLAS_SYMBOL(FILL_MODE_LOWER), BLAS_SYMBOL(OP_N), n, k,  \
                                              &minus, a, lda, &plus, c, ldc));                               \
  }                                                                                                          \
  static int solve_##name(void *queue, const tsi_dense_triangle *t, int m, int n, void *b, int ldb) {        \
    const scalar one = __VA_ARGS__(1);                                                                       \
    return blas_error(                                                                                       \
        (int)BLAS(letter##trsm)(queue, t->left ? BLAS_SYMBOL(SIDE_LEFT) : BLAS_SYMBOL(SIDE_RIGHT),           \
                                t->upper ? BLAS_SYMBOL(FILL_MODE_UPPER) : BLAS_SYMBOL(FILL_MODE_LOWER),      \
                                t->form == TSI_DENSE_PLAIN       ? BLAS_SYMBOL(OP_N)                         \
                                : t->form == TSI_DENSE_TRANSPOSE ? BLAS_SYMBOL(OP_T)                         \
                                                                 : BLAS_SYMBOL(OP_C),                        \
                                t->unit ? BLAS_SYMBOL(DIAG_UNIT) : BLAS_SYMBOL(DIAG_NON_UNIT), m, n, &one,   \
                                TRIANGLE(scalar, t->at), t->ld, b, ldb));                                    \
  }                                                                                                          \
  static const tsi_gpu_dense dense_##name = {.open = open_queue,                                             \
                                             .close = close_queue,                                           \
                                             .multiply = multiply_##name,                                    \
                                             .multiply_self = multiply_self_##name,                          \
                                             .solve = solve_##name,                                          \
                                             .front = tsi_gpu_front_launch_##name};

/* hipBLAS before version 6 takes a triangle without const. */
#define TRIANGLE(scalar, at) ((scalar *)(uintptr_t)(at))
#define COMPLEX_OF(value)                                                                                    \
  { value, 0 }
DENSE(s, S, float, float, syrk, )
DENSE(d, D, double, double, syrk, )
DENSE(c, C, BLAS_C, float, herk, COMPLEX_OF)
DENSE(z, Z, BLAS_Z, double, herk, COMPLEX_OF)
