/* Small dense systems of the tests of Krylov methods, one solve each. */
#pragma once

#include "tests/support/krylov.h"

typedef struct system {
  tristar_t *ts;
  krylov_dense d;
  number a[KRYLOV_MOST * KRYLOV_MOST];
  double b[KRYLOV_MOST], x[KRYLOV_MOST];
} system_of;

/* Makes a real system with A, b and x zero; set entries afterwards. */
static inline void clear(system_of *s, int64_t n) {
  memset(s->a, 0, sizeof s->a);
  memset(s->b, 0, sizeof s->b);
  memset(s->x, 0, sizeof s->x);
  s->d.n = n;
}

static inline tristar_krylov_result solve(system_of *s, const tristar_krylov_options *options,
                                          tristar_precond_t *m) {
  krylov_set_dense(&s->d, false, s->d.n, s->a);
  return krylov_solve_once(s->ts, &s->d.view, options, m, s->b, s->x);
}

static inline void set_diagonal(system_of *s, int64_t n) {
  clear(s, n);
  for (int64_t i = 0; i < n; i++) {
    s->a[i * n + i] = (double)(i + 1);
    s->b[i] = 1;
  }
}

typedef struct function_of {
  double factor; /* x = factor b */
  int64_t n, calls, fails;
} function_of;

static inline tristar_status apply(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                                   void *x, int64_t ldx) {
  function_of *f = arg;
  CHECK(op == TRISTAR_N && nrhs == 1 && ldb >= f->n && ldx >= f->n);
  for (int64_t i = 0; i < f->n; i++) ((double *)x)[i] = f->factor * ((const double *)b)[i];
  return ++f->calls == f->fails ? TRISTAR_ERR_IO : TRISTAR_OK;
}

typedef struct operator_of {
  tristar_krylov_t *k;
  int64_t n, calls, fails;
  double factor;
} operator_of;

/* Second differences. */
static inline tristar_status multiply_with(void *arg, const void *xv, void *yv) {
  operator_of *o = arg;
  const double *x = xv;
  double *y = yv;
  for (int64_t i = 0; i < o->n; i++)
    y[i] = o->factor * (2.5 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < o->n ? x[i + 1] : 0));
  return ++o->calls == o->fails ? TRISTAR_ERR_IO : TRISTAR_OK;
}
