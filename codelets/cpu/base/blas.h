/* BLAS and LAPACK of the scalar type that a file is compiled for, column-major. For a real type "adjoint" is
 * the transpose. */
#pragma once

#include <cblas.h>
#include <stdbool.h>
#include <stdint.h>

#include "codelets/cpu/base/scalar.h"

#if defined TSI_SCALAR_S
#define TSI_BLAS(name) cblas_s##name
#define TSI_LAPACK(name) s##name##_
#elif defined TSI_SCALAR_D
#define TSI_BLAS(name) cblas_d##name
#define TSI_LAPACK(name) d##name##_
#elif defined TSI_SCALAR_C
#define TSI_BLAS(name) cblas_c##name
#define TSI_LAPACK(name) c##name##_
#else
#define TSI_BLAS(name) cblas_z##name
#define TSI_LAPACK(name) z##name##_
#endif

#if TSI_COMPLEX
#define TSI_ALPHA(x) (&(const tsi_scalar){x}) /* complex factors are passed by address */
#else
#define TSI_ALPHA(x) ((tsi_scalar)(x))
#endif

void TSI_LAPACK(potrf)(const char *uplo, const int *n, tsi_scalar *a, const int *lda, int *info);
void TSI_LAPACK(trtri)(const char *uplo, const char *diag, const int *n, tsi_scalar *a, const int *lda,
                       int *info);

/* C -= a b for a column a of m scalars and a row b of n scalars. */
static inline void tsi_subtract_product(int m, int n, const tsi_scalar *a, const tsi_scalar *b, ptrdiff_t ldb,
                                        tsi_scalar *c, int ldc) {
  for (int j = 0; j < n; j++, b += ldb, c += ldc)
    for (int i = 0; i < m; i++) c[i] -= a[i] * *b;
}

#define TSI_SMALL_PRODUCT 256 /* scalars of C up to which a call takes longer than the products */

/* C -= op(A) op(B); C is m x n, k the inner size. If k = 1, op(A) = A, and C is real and small, BLAS is not
 * called. The bits are those of BLAS, which subtracts rounded products, too. */
static inline void tsi_gemm(CBLAS_TRANSPOSE opa, CBLAS_TRANSPOSE opb, int m, int n, int k,
                            const tsi_scalar *a, int lda, const tsi_scalar *b, int ldb, tsi_scalar *c,
                            int ldc) {
  if (!TSI_COMPLEX && k == 1 && (int64_t)m * n <= TSI_SMALL_PRODUCT && opa == CblasNoTrans) {
    tsi_subtract_product(m, n, a, b, opb == CblasNoTrans ? ldb : 1, c, ldc);
    return;
  }
  TSI_BLAS(gemm)(CblasColMajor, opa, opb, m, n, k, TSI_ALPHA(-1), a, lda, b, ldb, TSI_ALPHA(1), c, ldc);
}

/* Lower triangle of C -= A A^adjoint; C is n x n. */
static inline void tsi_herk(int n, int k, const tsi_scalar *a, int lda, tsi_scalar *c, int ldc) {
#if TSI_COMPLEX
  TSI_BLAS(herk)(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);
#else
  TSI_BLAS(syrk)(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);
#endif
}

/* B := op(A)^-1 B or B op(A)^-1, B is m x n. If A has order 1 and is real or has a unit diagonal, BLAS is not
 * called, as a call would take longer than the arithmetic. The bits are those of BLAS, which multiplies by
 * the reciprocal, too. */
static inline void tsi_trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, CBLAS_DIAG diag, int m,
                            int n, const tsi_scalar *a, int lda, tsi_scalar *b, int ldb) {
  const bool single = (side == CblasLeft ? m : n) == 1;
  if (single && diag == CblasUnit) return;
  if (single && !TSI_COMPLEX) {
    const tsi_scalar reciprocal = 1 / *a;
    const ptrdiff_t count = side == CblasLeft ? n : m, step = side == CblasLeft ? ldb : 1;
    for (ptrdiff_t i = 0; i < count; i++) b[i * step] *= reciprocal;
    return;
  }
  TSI_BLAS(trsm)(CblasColMajor, side, uplo, op, diag, m, n, TSI_ALPHA(1), a, lda, b, ldb);
}
