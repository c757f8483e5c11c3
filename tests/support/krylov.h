/* Small systems and solvers for the tests of Krylov methods. */
#pragma once

#include "tests/support/typed.h"
#include "tristar_krylov.h"

static const tristar_krylov_method krylov_methods[] = {TRISTAR_KRYLOV_CG,           TRISTAR_KRYLOV_BICGSTAB,
                                                       TRISTAR_KRYLOV_GMRES,        TRISTAR_KRYLOV_FGMRES,
                                                       TRISTAR_KRYLOV_PIPELINED_CG, TRISTAR_KRYLOV_BLOCK_CG};
enum { KRYLOV_METHODS = 6, KRYLOV_MOST = 64 };

/* A dense matrix of order n as a view: all entries, by columns. */
typedef struct krylov_dense {
  int64_t n, ptr[KRYLOV_MOST + 1];
  int32_t index[KRYLOV_MOST * KRYLOV_MOST];
  double real[KRYLOV_MOST * KRYLOV_MOST];
  number complex_values[KRYLOV_MOST * KRYLOV_MOST];
  tristar_view view;
} krylov_dense;

/* Sets d to the matrix a, which is row-major and of order n. */
static inline void krylov_set_dense(krylov_dense *d, bool is_complex, int64_t n, const number *a) {
  CHECK(n <= KRYLOV_MOST);
  d->n = n;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++) {
      d->index[j * n + i] = (int32_t)i;
      d->real[j * n + i] = creal(a[i * n + j]);
      d->complex_values[j * n + i] = a[i * n + j];
    }
  for (int64_t j = 0; j <= n; j++) d->ptr[j] = j * n;
  d->view = (tristar_view){TRISTAR_CSC,
                           TRISTAR_GENERAL,
                           is_complex ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE,
                           n,
                           n,
                           d->ptr,
                           d->index,
                           is_complex ? (const void *)d->complex_values : d->real,
                           64,
                           32,
                           0};
}

/* Fills a matrix with random numbers, and adds `diagonal` to its diagonal. */
static inline void krylov_random(bool is_complex, int64_t n, double diagonal, uint64_t seed, number *a) {
  double re[KRYLOV_MOST * KRYLOV_MOST], im[KRYLOV_MOST * KRYLOV_MOST];
  fill_random(re, n * n, seed);
  fill_random(im, n * n, seed + 1000);
  for (int64_t k = 0; k < n * n; k++) {
    a[k] = re[k];
    if (is_complex) __imag__ a[k] = im[k];
  }
  for (int64_t k = 0; k < n; k++) a[k * n + k] += diagonal;
}

static inline bool krylov_is_cg(tristar_krylov_method method) {
  return method == TRISTAR_KRYLOV_CG || method == TRISTAR_KRYLOV_PIPELINED_CG ||
         method == TRISTAR_KRYLOV_BLOCK_CG;
}

static inline tristar_krylov_options krylov_options(tristar_krylov_method method) {
  tristar_krylov_options options = DEFAULTS(tristar_krylov_options);
  options.method = method;
  options.tolerance = 1e-10;
  return options;
}

/* Solves one column with a solver of its own. */
static inline tristar_krylov_result krylov_solve_once(tristar_t *ts, const tristar_view *view,
                                                      const tristar_krylov_options *options,
                                                      tristar_precond_t *precond, const void *b, void *x) {
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result result;
  CHECK_OK(tristar_krylov_create(ts, view, options, &k));
  CHECK_OK(tristar_krylov_solve(k, precond, 1, b, view->rows, x, view->rows, &result));
  return result;
}
