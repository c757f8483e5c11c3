/* BLAS and LAPACK of the scalar type that a file is compiled for, column-major. For a real type "adjoint" is
 * the transpose. */
#ifndef TSI_CODELETS_CPU_BASE_BLAS_H
#define TSI_CODELETS_CPU_BASE_BLAS_H

#include <cblas.h>

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
#define TSI_ALPHA(x) (&(const tsi_scalar){x}) /* complex factors go by address */
#else
#define TSI_ALPHA(x) ((tsi_scalar)(x))
#endif

void TSI_LAPACK(potrf)(const char *uplo, const int *n, tsi_scalar *a, const int *lda, int *info);
void TSI_LAPACK(trtri)(const char *uplo, const char *diag, const int *n, tsi_scalar *a, const int *lda,
                       int *info);

/* C -= op(A) op(B); C is m x n, k the inner size. */
static inline void tsi_gemm(CBLAS_TRANSPOSE opa, CBLAS_TRANSPOSE opb, int m, int n, int k,
                            const tsi_scalar *a, int lda, const tsi_scalar *b, int ldb, tsi_scalar *c,
                            int ldc) {
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

/* B := op(A)^-1 B or B op(A)^-1, B is m x n. */
static inline void tsi_trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE op, CBLAS_DIAG diag, int m,
                            int n, const tsi_scalar *a, int lda, tsi_scalar *b, int ldb) {
  TSI_BLAS(trsm)(CblasColMajor, side, uplo, op, diag, m, n, TSI_ALPHA(1), a, lda, b, ldb);
}

#endif
