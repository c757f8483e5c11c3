/* The tables of codelets/gpu/tables/dense.h for emulated devices: the BLAS of the host on their memory. */
#include "tests/gpu/emulator/emulated_dense.h"

#include <complex.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "codelets/gpu/tables/dense.h"
#include <cblas.h>

/* ---- Calls that fail ----------------------------------------------------------------------------------- */

static atomic_llong made, failing;
static atomic_int opened;

void emulated_dense_fail(long long call) {
  atomic_store(&made, 0);
  atomic_store(&failing, call);
}
long long emulated_dense_calls(void) {
  return atomic_load(&made);
}
int emulated_dense_open(void) {
  return atomic_load(&opened);
}

/* Counts a call. Returns its error, or 0. */
static int count_call(void) {
  return atomic_fetch_add(&made, 1) + 1 == atomic_load(&failing) ? EMULATED_DENSE_FAILED : 0;
}

int emulated_dense_transfer(void) {
  return count_call();
}

/* ---- The operations ------------------------------------------------------------------------------------ */

static int open_queue(void *stream, void **queue) {
  (void)stream;
  *queue = NULL;
  if (count_call() != 0) return EMULATED_DENSE_FAILED;
  *queue = malloc(1);
  if (*queue == NULL) abort();
  atomic_fetch_add(&opened, 1);
  return 0;
}
static int close_queue(void *queue) {
  if (queue == NULL) return 0;
  free(queue);
  atomic_fetch_sub(&opened, 1);
  return count_call();
}

static CBLAS_TRANSPOSE form_of(tsi_dense_form form) {
  return form == TSI_DENSE_PLAIN ? CblasNoTrans : form == TSI_DENSE_TRANSPOSE ? CblasTrans : CblasConjTrans;
}

/* name: letter of BLAS. PASS: how scalars are passed, REAL or COMPLEX. self: the Hermitian product. */
#define REAL(scalar, value) (value)
#define COMPLEX(scalar, value) (&(const scalar){value})
#define DENSE(name, scalar, PASS, self)                                                                      \
  static int multiply_##name(void *queue, tsi_dense_form form, int m, int n, int k, const void *a, int lda,  \
                             const void *b, int ldb, void *c, int ldc) {                                     \
    (void)queue;                                                                                             \
    cblas_##name##gemm(CblasColMajor, CblasNoTrans, form_of(form), m, n, k, PASS(scalar, -1), a, lda, b,     \
                       ldb, PASS(scalar, 1), c, ldc);                                                        \
    return count_call();                                                                                     \
  }                                                                                                          \
  static int multiply_self_##name(void *queue, int n, int k, const void *a, int lda, void *c, int ldc) {     \
    (void)queue;                                                                                             \
    cblas_##name##self(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1, a, lda, 1, c, ldc);                \
    return count_call();                                                                                     \
  }                                                                                                          \
  static int solve_##name(void *queue, const tsi_dense_triangle *t, int m, int n, void *b, int ldb) {        \
    (void)queue;                                                                                             \
    cblas_##name##trsm(CblasColMajor, t->left ? CblasLeft : CblasRight, t->upper ? CblasUpper : CblasLower,  \
                       form_of(t->form), t->unit ? CblasUnit : CblasNonUnit, m, n, PASS(scalar, 1), t->at,   \
                       t->ld, b, ldb);                                                                       \
    return count_call();                                                                                     \
  }                                                                                                          \
  static int front_##name(const tsi_gpu_front *front, void *stream) {                                        \
    const int code = tsi_gpu_front_launch_##name(front, stream);                                             \
    return code != 0 ? code : count_call();                                                                  \
  }                                                                                                          \
  const tsi_gpu_dense emulated_dense_##name = {.open = open_queue,                                           \
                                               .close = close_queue,                                         \
                                               .multiply = multiply_##name,                                  \
                                               .multiply_self = multiply_self_##name,                        \
                                               .solve = solve_##name,                                        \
                                               .front = front_##name};
DENSE(s, float, REAL, syrk)
DENSE(d, double, REAL, syrk)
DENSE(c, float _Complex, COMPLEX, herk)
DENSE(z, double _Complex, COMPLEX, herk)
