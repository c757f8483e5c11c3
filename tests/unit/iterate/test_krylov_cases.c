/* Krylov methods where there is little to solve, where they cannot go on, and where calls are mistaken. */
#include <float.h>
#include <stdlib.h>

#include "runtime/context/context.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/krylov.h"
#include "tests/support/subtests.h"

/* ---- Dense systems, one solve each --------------------------------------------------------------------- */

typedef struct system {
  tristar_t *ts;
  krylov_dense d;
  number a[KRYLOV_MOST * KRYLOV_MOST];
  double b[KRYLOV_MOST], x[KRYLOV_MOST];
} system_of;

/* Real, zero but for what is set afterwards; b and x are zero. */
static void clear(system_of *s, int64_t n) {
  memset(s->a, 0, sizeof s->a);
  memset(s->b, 0, sizeof s->b);
  memset(s->x, 0, sizeof s->x);
  s->d.n = n;
}

static tristar_krylov_result solve(system_of *s, const tristar_krylov_options *options,
                                   tristar_precond_t *m) {
  krylov_set_dense(&s->d, false, s->d.n, s->a);
  return krylov_solve_once(s->ts, &s->d.view, options, m, s->b, s->x);
}

static void set_diagonal(system_of *s, int64_t n) {
  clear(s, n);
  for (int64_t i = 0; i < n; i++) {
    s->a[i * n + i] = (double)(i + 1);
    s->b[i] = 1;
  }
}

static void check_little(tristar_t *ts) {
  static system_of s;
  s.ts = ts;
  for (int k = 0; k < KRYLOV_METHODS; k++) {
    tristar_krylov_options options = krylov_options(krylov_methods[k]);
    clear(&s, 0); /* no rows */
    CHECK(solve(&s, &options, NULL).converged);
    set_diagonal(&s, 1);
    s.b[0] = 3;
    tristar_krylov_result r = solve(&s, &options, NULL);
    CHECK(r.converged && r.iterations == 1 && s.x[0] == 3);
    set_diagonal(&s, 7); /* b = 0 */
    memset(s.b, 0, sizeof s.b);
    s.x[3] = 5;
    for (options.guess = 0; options.guess < 2; options.guess++) {
      r = solve(&s, &options, NULL);
      CHECK(r.converged && r.iterations == 0 && r.true_residual == 0 && s.x[3] == 0);
      s.x[3] = 5;
    }
    set_diagonal(&s, 7); /* the guess is the solution */
    for (int i = 0; i < 7; i++) s.x[i] = 1.0 / (i + 1);
    options.guess = 1;
    r = solve(&s, &options, NULL);
    CHECK(r.converged && r.iterations == 0 && s.x[6] == 1.0 / 7 && fabs(r.reference - sqrt(7)) < 1e-14);
    s.x[2] = 40; /* a bad one */
    r = solve(&s, &options, NULL);
    CHECK(r.converged && r.iterations > 0 && fabs(s.x[2] - 1.0 / 3) < 1e-8);
    options.guess = 0;
    options.max_iterations = 0;
    s.x[2] = 9;
    r = solve(&s, &options, NULL);
    CHECK(r.reason == TRISTAR_REASON_LIMIT && r.iterations == 0 && s.x[2] == 0 && r.true_residual == 1);
    options.max_iterations = 2;
    r = solve(&s, &options, NULL);
    CHECK(r.reason == TRISTAR_REASON_LIMIT && r.iterations == 2 && r.history_count == 3);
    options.max_iterations = 100;
    memset(s.b, 0, sizeof s.b); /* an eigenvector: one iteration is enough */
    s.b[4] = 2;
    r = solve(&s, &options, NULL);
    CHECK(r.converged && r.iterations == 1 && fabs(s.x[4] - 0.4) < 1e-15 && r.residual < 1e-15);
    options.absolute = 1; /* || b || = 2, and 1 is enough */
    options.tolerance = 0;
    s.b[1] = 0.5;
    r = solve(&s, &options, NULL);
    CHECK(r.converged && r.residual * r.reference <= 1 && r.residual > 0);
  }
}

/* ---- Methods that cannot go on ------------------------------------------------------------------------- */

static void check_reasons(tristar_t *ts) {
  static system_of s;
  s.ts = ts;
  tristar_krylov_options cg = krylov_options(TRISTAR_KRYLOV_CG);
  tristar_krylov_options bicgstab = krylov_options(TRISTAR_KRYLOV_BICGSTAB);
  tristar_krylov_options gmres = krylov_options(TRISTAR_KRYLOV_GMRES);
  set_diagonal(&s, 5); /* one negative eigenvalue */
  s.a[0] = -20;
  tristar_krylov_result r = solve(&s, &cg, NULL);
  CHECK(r.reason == TRISTAR_REASON_INDEFINITE && r.iterations == 1 && !r.converged && s.x[0] == 0);
  s.a[0] = -0.5;
  r = solve(&s, &cg, NULL);
  CHECK(r.reason == TRISTAR_REASON_INDEFINITE && r.iterations > 1 && r.iterations <= 5);
  CHECK(solve(&s, &gmres, NULL).converged && solve(&s, &bicgstab, NULL).converged);
  clear(&s, 2); /* skew-symmetric: (w, A p) = 0 */
  s.a[1] = 1;
  s.a[2] = -1;
  s.b[0] = 1;
  r = solve(&s, &bicgstab, NULL);
  CHECK(r.reason == TRISTAR_REASON_BREAKDOWN && r.iterations == 1);
  r = solve(&s, &gmres, NULL);
  CHECK(r.converged && r.iterations == 2 && fabs(s.x[1] - 1) < 1e-15);
  s.a[2] = 0; /* nilpotent: the Krylov space of b ends before it has x */
  r = solve(&s, &gmres, NULL);
  CHECK(r.reason == TRISTAR_REASON_BREAKDOWN && r.iterations == 1 && r.true_residual == 1);
  clear(&s, 8); /* a cycle: restarts make no progress */
  for (int i = 0; i < 8; i++) s.a[i * 8 + (i + 1) % 8] = 1;
  s.b[0] = 1;
  gmres.restart = 3;
  r = solve(&s, &gmres, NULL);
  CHECK(r.reason == TRISTAR_REASON_STAGNATED && r.iterations == 6);
  gmres.patience = 4;
  r = solve(&s, &gmres, NULL);
  CHECK(r.reason == TRISTAR_REASON_STAGNATED && r.iterations == 4);
  gmres.restart = 8;
  gmres.patience = 0;
  r = solve(&s, &gmres, NULL);
  CHECK(r.converged && r.iterations == 8);
  set_diagonal(&s, 30); /* CG's residual rises: by 10 % it may not */
  for (int i = 0; i < 30; i++) {
    s.a[i * 31] = pow(10, i % 7);
    s.b[i] = i % 2 ? 1 : 0.1;
  }
  cg.divergence = 1.1;
  r = solve(&s, &cg, NULL);
  CHECK(r.reason == TRISTAR_REASON_DIVERGED && r.residual >= 1.1 && r.iterations > 0);
  cg.divergence = 0;
  CHECK(solve(&s, &cg, NULL).converged);
  clear(&s, 3); /* products overflow */
  for (int i = 0; i < 3; i++) s.a[4 * i] = 1e308, s.b[i] = 1e10;
  for (int k = 0; k < KRYLOV_METHODS; k++) {
    const tristar_krylov_options options = krylov_options(krylov_methods[k]);
    r = solve(&s, &options, NULL);
    CHECK(r.reason == TRISTAR_REASON_NOT_FINITE && r.iterations <= 1);
    for (int reason = 0; reason <= TRISTAR_REASON_INACCURATE; reason++)
      CHECK(strstr(tristar_krylov_reason_text((tristar_krylov_reason)reason), "unknown") == NULL);
  }
}

/* A solution out of range is none: x of such numbers, or x for a b that is scaled during the solve. */
static void check_overflow(tristar_t *ts) {
  static const double entries[] = {1e-310, 1e-5}, rhs[] = {1e100, 1e305};
  static system_of s;
  s.ts = ts;
  for (int k = 0; k < KRYLOV_METHODS; k++)
    for (int which = 0; which < 2; which++) {
      const tristar_krylov_options options = krylov_options(krylov_methods[k]);
      clear(&s, 3);
      for (int i = 0; i < 3; i++) s.a[4 * i] = entries[which], s.b[i] = rhs[which];
      const tristar_krylov_result r = solve(&s, &options, NULL);
      CHECK_MSG(!r.converged && r.reason == TRISTAR_REASON_NOT_FINITE, "method %d: x = %g, %s",
                (int)options.method, s.x[0], tristar_krylov_reason_text(r.reason));
    }
}

/* Right-hand sides at the ends of the range: the solutions are 1 over the diagonal, times b. */
static void check_extreme(tristar_t *ts) {
  static const double rhs[] = {DBL_TRUE_MIN, 0x1p-1030, 0x1p-1022, 0x1p1023};
  static system_of s;
  s.ts = ts;
  for (int k = 0; k < KRYLOV_METHODS; k++)
    for (int which = 0; which < 4; which++) {
      tristar_krylov_options options = krylov_options(krylov_methods[k]);
      options.absolute = 0;
      clear(&s, 3);
      for (int i = 0; i < 3; i++) s.a[4 * i] = 1, s.b[i] = rhs[which];
      const tristar_krylov_result r = solve(&s, &options, NULL);
      CHECK_MSG(r.converged && fabs(s.x[0] - rhs[which]) <= 1e-9 * rhs[which],
                "method %d: b = %g, x = %g, %s", (int)options.method, rhs[which], s.x[0],
                tristar_krylov_reason_text(r.reason));
    }
}

/* ---- Preconditioners that are functions ---------------------------------------------------------------- */

typedef struct function_of {
  double factor; /* x = factor b */
  int64_t n, calls, fails;
} function_of;

static tristar_status apply(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  function_of *f = arg;
  CHECK(op == TRISTAR_N && nrhs == 1 && ldb >= f->n && ldx >= f->n);
  for (int64_t i = 0; i < f->n; i++) ((double *)x)[i] = f->factor * ((const double *)b)[i];
  return ++f->calls == f->fails ? TRISTAR_ERR_IO : TRISTAR_OK;
}

static void check_functions(tristar_t *ts) {
  static system_of s;
  s.ts = ts;
  function_of f = {.n = 6};
  CLEANUP(tristar_precond_destroy) tristar_precond_t *m;
  tristar_krylov_t *k;
  tristar_krylov_result r;
  set_diagonal(&s, 6);
  CHECK_OK(tristar_precond_of_function(ts, 6, TRISTAR_DOUBLE, apply, &f, &m));
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    tristar_krylov_options options = krylov_options(krylov_methods[i]);
    const bool cg = krylov_is_cg(krylov_methods[i]);
    const bool flexible = krylov_methods[i] == TRISTAR_KRYLOV_FGMRES;
    f = (function_of){.n = 6, .factor = -1};
    r = solve(&s, &options, m);
    CHECK(cg ? r.reason == TRISTAR_REASON_INDEFINITE_PRECOND && r.iterations == 1 : r.converged);
    CHECK(r.preconditionings == f.calls);
    f.factor = 0;
    r = solve(&s, &options, m);
    CHECK(flexible ? r.reason == TRISTAR_REASON_BREAKDOWN
                   : r.reason == TRISTAR_REASON_INDEFINITE_PRECOND && r.iterations == 0);
    f.factor = NAN;
    r = solve(&s, &options, m);
    CHECK(r.reason == TRISTAR_REASON_NOT_FINITE && r.iterations <= 1);
    for (int call = 1; call <= 3; call++) {
      f = (function_of){.n = 6, .factor = 1, .fails = call};
      CHECK_OK(tristar_krylov_create(ts, &s.d.view, &options, &k));
      CHECK_STATUS(tristar_krylov_solve(k, m, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_IO);
      CHECK(f.calls == call);
      f.fails = 0;
      CHECK_OK(tristar_krylov_solve(k, m, 1, s.b, 6, s.x, 6, &r));
      CHECK(r.converged);
      tristar_krylov_destroy(&k);
    }
  }
}

/* ---- A matrix that is a function ----------------------------------------------------------------------- */

typedef struct operator_of {
  tristar_krylov_t *k;
  int64_t n, calls, fails;
  double factor;
} operator_of;

/* Second differences. */
static tristar_status multiply_with(void *arg, const void *xv, void *yv) {
  operator_of *o = arg;
  const double *x = xv;
  double *y = yv;
  for (int64_t i = 0; i < o->n; i++)
    y[i] = o->factor * (2.5 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < o->n ? x[i + 1] : 0));
  return ++o->calls == o->fails ? TRISTAR_ERR_IO : TRISTAR_OK;
}

static void check_operator(tristar_t *ts) {
  enum { N = 3000 };
  static double b[N], x[N], y[N];
  tristar_krylov_t *k;
  tristar_krylov_result r;
  tristar_krylov_stats stats;
  operator_of o = {.n = N, .factor = 1};
  fill_random(b, N, 3);
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    const tristar_krylov_options options = krylov_options(krylov_methods[i]);
    CHECK_OK(tristar_krylov_create_operator(ts, N, TRISTAR_DOUBLE, multiply_with, &o, &options, &k));
    o.calls = o.fails = 0;
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, N, x, N, &r));
    CHECK(r.converged && r.products == o.calls && r.true_residual < 1e-9);
    CHECK_OK(multiply_with(&o, x, y));
    for (int l = 0; l < N; l++) CHECK(fabs(y[l] - b[l]) < 1e-7);
    o.calls = 0;
    o.fails = 3;
    CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, b, N, x, N, &r), TRISTAR_ERR_IO);
    o.fails = 0;
    o.factor = NAN;
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, N, x, N, &r));
    CHECK(r.reason == TRISTAR_REASON_NOT_FINITE);
    o.factor = 1;
    CHECK_STATUS(tristar_krylov_update_values(k, b), TRISTAR_ERR_UNSUPPORTED);
    tristar_krylov_get_stats(k, &stats);
    CHECK(stats.n == N && stats.nnz == 0 && stats.solves == 2 && stats.workspace_bytes > N * sizeof *b);
    tristar_krylov_destroy(&k);
  }
  CHECK_STATUS(tristar_krylov_create_operator(ts, -1, TRISTAR_DOUBLE, multiply_with, &o, NULL, &k),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_create_operator(ts, 4, TRISTAR_DOUBLE, NULL, &o, NULL, &k),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_create_operator(ts, 4, (tristar_scalar)'x', multiply_with, &o, NULL, &k),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(
      tristar_krylov_create_operator(ts, INT64_C(1) << 32, TRISTAR_DOUBLE, multiply_with, &o, NULL, &k),
      TRISTAR_ERR_TOO_LARGE);
  CHECK(k == NULL);
}

/* ---- Progress ------------------------------------------------------------------------------------------ */

typedef struct watch {
  tristar_krylov_t *k;
  int64_t column, iteration; /* where it ends the solve */
  int64_t points, columns;
} watch;

static int look(void *arg, const tristar_krylov_point *point) {
  watch *w = arg;
  double b[6] = {1, 2, 3, 4, 5, 6}, x[6];
  CHECK_STATUS(tristar_krylov_solve(w->k, NULL, 1, b, 6, x, 6, NULL), TRISTAR_ERR_BUSY);
  CHECK_STATUS(tristar_krylov_update_values(w->k, b), TRISTAR_ERR_BUSY);
  CHECK(isfinite(point->residual) && point->iteration >= 0);
  w->points++;
  if (point->column >= w->columns) w->columns = point->column + 1;
  return point->column == w->column && point->iteration == w->iteration;
}

static void check_progress(tristar_t *ts) {
  static system_of s;
  double b[18], x[18];
  tristar_krylov_result r[3];
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  fill_random(b, 18, 2);
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    watch w = {.column = 1, .iteration = 2};
    tristar_krylov_options options = krylov_options(krylov_methods[i]);
    options.progress = look;
    options.progress_arg = &w;
    options.block = 1; /* one column after the other */
    CHECK_OK(tristar_krylov_create(ts, &s.d.view, &options, &w.k));
    CHECK_OK(tristar_krylov_solve(w.k, NULL, 3, b, 6, x, 6, r));
    CHECK(r[0].converged && r[1].reason == TRISTAR_REASON_CANCELLED && r[1].iterations == 2);
    CHECK(r[2].reason == TRISTAR_REASON_CANCELLED && r[2].iterations == 0 && x[12] == 0);
    CHECK(w.columns == 2 && w.points == r[0].history_count + 3 && r[1].true_residual < 1);
    w.column = -1;
    CHECK_OK(tristar_krylov_solve(w.k, NULL, 3, b, 6, x, 6, r));
    CHECK(r[0].converged && r[1].converged && r[2].converged);
    tristar_krylov_destroy(&w.k);
  }
}

/* ---- Mistakes ------------------------------------------------------------------------------------------ */

static void check_options(tristar_t *ts, tristar_krylov_t *k, tristar_krylov_options options,
                          tristar_status expected) {
  static system_of s;
  tristar_krylov_t *other;
  set_diagonal(&s, 3);
  krylov_set_dense(&s.d, false, 3, s.a);
  CHECK_STATUS(tristar_krylov_create(ts, &s.d.view, &options, &other), expected);
  CHECK(other == NULL);
  CHECK_STATUS(tristar_krylov_set_options(k, &options), expected);
}

#define BAD(field, value, expected)                                                                          \
  do {                                                                                                       \
    tristar_krylov_options bad = good;                                                                       \
    bad.field = (value);                                                                                     \
    check_options(ts, k, bad, expected);                                                                     \
  } while (0)

static void check_bad_options(tristar_t *ts, tristar_krylov_t *k) {
  tristar_krylov_options good = krylov_options(TRISTAR_KRYLOV_CG);
  BAD(method, (tristar_krylov_method)7, TRISTAR_ERR_ARGUMENT);
  BAD(side, (tristar_krylov_side)3, TRISTAR_ERR_ARGUMENT);
  BAD(norm, (tristar_krylov_norm)3, TRISTAR_ERR_ARGUMENT);
  BAD(passes, (tristar_krylov_passes)-1, TRISTAR_ERR_ARGUMENT);
  BAD(engine, (tristar_engine)3, TRISTAR_ERR_ARGUMENT);
  BAD(tolerance, -1, TRISTAR_ERR_ARGUMENT);
  BAD(tolerance, NAN, TRISTAR_ERR_ARGUMENT);
  BAD(absolute, INFINITY, TRISTAR_ERR_ARGUMENT);
  BAD(divergence, -2, TRISTAR_ERR_ARGUMENT);
  BAD(max_iterations, -1, TRISTAR_ERR_ARGUMENT);
  BAD(patience, -1, TRISTAR_ERR_ARGUMENT);
  BAD(restart, 0, TRISTAR_ERR_ARGUMENT);
  BAD(restart, 10001, TRISTAR_ERR_ARGUMENT);
  BAD(block, 0, TRISTAR_ERR_ARGUMENT);
  BAD(block, 33, TRISTAR_ERR_ARGUMENT);
  BAD(side, TRISTAR_SIDE_RIGHT, TRISTAR_ERR_UNSUPPORTED);
  BAD(engine, TRISTAR_ENGINE_TASKS, TRISTAR_ERR_UNSUPPORTED); /* no StarPU */
  good.history_most = -1;
  BAD(history, (tristar_krylov_point[1]){{0}}, TRISTAR_ERR_ARGUMENT);
  good = krylov_options(TRISTAR_KRYLOV_GMRES);
  BAD(norm, TRISTAR_NORM_RESIDUAL, TRISTAR_ERR_UNSUPPORTED);
  good.side = TRISTAR_SIDE_RIGHT;
  BAD(norm, TRISTAR_NORM_PRECONDITIONED, TRISTAR_ERR_UNSUPPORTED);
  good = krylov_options(TRISTAR_KRYLOV_FGMRES);
  BAD(side, TRISTAR_SIDE_LEFT, TRISTAR_ERR_UNSUPPORTED);
}

static void check_mistakes(tristar_t *ts) {
  static system_of s;
  tristar_krylov_t *k, *other;
  tristar_krylov_result r;
  tristar_precond_t *m;
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  function_of f = {.n = 6, .factor = 1};
  char message[512];
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  CHECK_OK(tristar_krylov_create(ts, &s.d.view, &options, &k));
  check_bad_options(ts, k);
  CHECK_STATUS(tristar_krylov_create(NULL, &s.d.view, NULL, &other), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_create(ts, NULL, NULL, &other), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_create(ts, &s.d.view, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_solve(NULL, NULL, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_solve(k, NULL, -1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, s.b, 5, s.x, 6, &r), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, NULL, 6, s.x, 6, &r), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.b + 5, 6, &r), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_set_options(k, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_update_values(k, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_krylov_solve(k, NULL, 0, NULL, 6, NULL, 6, NULL));
  CHECK_OK(tristar_precond_of_function(ts, 5, TRISTAR_DOUBLE, apply, &f, &m));
  CHECK_STATUS(tristar_krylov_solve(k, m, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_ARGUMENT);
  tristar_precond_destroy(&m);
  CHECK_OK(tristar_precond_of_function(ts, 6, TRISTAR_SINGLE, apply, &f, &m));
  CHECK_STATUS(tristar_krylov_solve(k, m, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_ARGUMENT);
  tristar_precond_destroy(&m);
  s.b[4] = NAN;
  CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_NOT_FINITE);
  tristar_get_error(ts, message, sizeof message);
  CHECK(strstr(message, "b has NaN or infinity in row 4, column 0") != NULL);
  s.b[4] = 1;
  s.x[1] = INFINITY;
  CHECK_OK(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r));
  options.guess = 1;
  s.x[1] = INFINITY;
  CHECK_OK(tristar_krylov_set_options(k, &options));
  CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_NOT_FINITE);
  tristar_krylov_destroy(&k);
  tristar_krylov_destroy(&k);
  tristar_krylov_destroy(NULL);
  s.d.real[13] = NAN;
  CHECK_STATUS(tristar_krylov_create(ts, &s.d.view, NULL, &k), TRISTAR_ERR_NOT_FINITE);
  s.d.view.rows = 5;
  CHECK_STATUS(tristar_krylov_create(ts, &s.d.view, NULL, &k), TRISTAR_ERR_RECTANGULAR);
  CHECK(k == NULL);
}

/* ---- Values, options, memory --------------------------------------------------------------------------- */

static void check_update(tristar_t *ts) {
  static system_of s;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result r;
  tristar_memory_stats memory;
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  CHECK_OK(tristar_krylov_create(ts, &s.d.view, NULL, &k));
  for (int i = 0; i < KRYLOV_METHODS; i++) {
    tristar_krylov_options options = krylov_options(krylov_methods[i]);
    options.restart = 10 + i;
    CHECK_OK(tristar_krylov_set_options(k, &options));
    tristar_get_memory(ts, &memory);
    const int64_t allocations = memory.allocations;
    for (int l = 0; l < 6; l++) s.d.real[7 * l] = 2 + i + l;
    CHECK_OK(tristar_krylov_update_values(k, s.d.real));
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r));
    for (int l = 0; l < 6; l++) CHECK(fabs(s.x[l] - 1.0 / (2 + i + l)) < 1e-10);
    tristar_get_memory(ts, &memory);
    CHECK(memory.allocations == allocations);
    s.d.real[8] = NAN;
    CHECK_STATUS(tristar_krylov_update_values(k, s.d.real), TRISTAR_ERR_NOT_FINITE);
    CHECK_STATUS(tristar_krylov_solve(k, NULL, 1, s.b, 6, s.x, 6, &r), TRISTAR_ERR_STALE);
    s.d.real[8] = 0;
  }
}

/* Both triangles of symmetric kinds, in mixed storage, with duplicates. */
static void check_storage(tristar_t *ts) {
  static const int64_t ptr[] = {0, 2, 4, 6};
  static const int32_t index[] = {0, 1, 1, 1, 2, 1};
  double values[] = {4, -1, 2, 3, 6, -2}, b[] = {3, 2, 4}, x[3];
  tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 3, 3, ptr, index, values, 64, 32, 0};
  for (int format = TRISTAR_CSC; format <= TRISTAR_CSR; format++)
    for (int i = 0; i < KRYLOV_METHODS; i++) {
      const tristar_krylov_options options = krylov_options(krylov_methods[i]);
      v.format = (tristar_format)format;
      CHECK(krylov_solve_once(ts, &v, &options, NULL, b, x).converged);
      for (int l = 0; l < 3; l++) CHECK(fabs(x[l] - 1) < 1e-10); /* [4 -1 0; -1 5 -2; 0 -2 6] */
    }
}

/* R = B - A X, and what it says. */
static void check_residual(tristar_t *ts) {
  static system_of s;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  double r[12], error;
  operator_of o = {.n = 6, .factor = 1};
  s.ts = ts;
  set_diagonal(&s, 6);
  krylov_set_dense(&s.d, false, 6, s.a);
  for (int i = 0; i < 6; i++) {
    s.b[6 + i] = 2;
    s.x[i] = 1.0 / (i + 1);
    s.x[6 + i] = 2.0 / (i + 1);
  }
  CHECK_OK(tristar_krylov_create(ts, &s.d.view, NULL, &k));
  CHECK_OK(tristar_krylov_residual(k, 2, s.b, 6, s.x, 6, r, 6, &error));
  CHECK(error <= 1e-16 && fabs(r[11]) <= 1e-15);
  s.x[8] = 1; /* of b = 2 and A x = 3 */
  CHECK_OK(tristar_krylov_residual(k, 2, s.b, 6, s.x, 6, r, 6, &error));
  CHECK(r[8] == -1 && fabs(error - 1.0 / 5) <= 1e-15);
  CHECK_OK(tristar_krylov_residual(k, 2, s.b, 6, s.x, 6, s.b, 6, NULL));
  CHECK(memcmp(s.b, r, sizeof r) == 0);
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, s.x, 6, r, 5, &error), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, NULL, 6, r, 6, &error), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_krylov_residual(NULL, 1, s.b, 6, s.x, 6, r, 6, &error), TRISTAR_ERR_ARGUMENT);
  s.d.real[0] = INFINITY;
  CHECK_STATUS(tristar_krylov_update_values(k, s.d.real), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, s.x, 6, r, 6, &error), TRISTAR_ERR_STALE);
  tristar_krylov_destroy(&k);
  CHECK_OK(tristar_krylov_create_operator(ts, 6, TRISTAR_DOUBLE, multiply_with, &o, NULL, &k));
  CHECK_STATUS(tristar_krylov_residual(k, 1, s.b, 6, s.x, 6, r, 6, &error), TRISTAR_ERR_UNSUPPORTED);
}

static void keep_warning(void *arg, tristar_log_level level, const char *text) {
  if (level == TRISTAR_LOG_WARNING) snprintf(arg, 200, "%s", text);
}

/* A matrix that is not Hermitian, for CG. */
static void check_warning(void) {
  static system_of s;
  char warning[200] = "";
  tristar_config config;
  tristar_krylov_t *k;
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  tristar_config_init(&config);
  config.use_starpu = 0;
  config.log = keep_warning;
  config.log_arg = warning;
  config.log_level = TRISTAR_LOG_WARNING;
  CHECK_OK(tristar_create(&config, &s.ts));
  set_diagonal(&s, 3);
  for (int unlike = 0; unlike < 2; unlike++) {
    s.a[2] = s.a[6] = 0.5;
    s.a[5] = unlike;
    krylov_set_dense(&s.d, false, 3, s.a);
    CHECK_OK(tristar_krylov_create(s.ts, &s.d.view, &options, &k));
    tristar_krylov_destroy(&k);
    CHECK((*warning != '\0') == (unlike == 1));
  }
  CHECK(strstr(warning, "CG needs a symmetric matrix") != NULL);
  options.method = TRISTAR_KRYLOV_GMRES;
  *warning = '\0';
  CHECK_OK(tristar_krylov_create(s.ts, &s.d.view, &options, &k));
  CHECK(*warning == '\0');
  tristar_krylov_destroy(&k);
  tristar_destroy(&s.ts);
}

static tristar_status run(tristar_t *ts, const tristar_view *view, double *b, double *x) {
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k = NULL;
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  tristar_status status = tristar_krylov_create(ts, view, &options, &k);
  CHECK((k == NULL) == (status != TRISTAR_OK));
  options = krylov_options(TRISTAR_KRYLOV_FGMRES);
  if (status == TRISTAR_OK) status = tristar_krylov_set_options(k, &options);
  if (k != NULL) CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, view->rows, x, view->rows, NULL));
  return status;
}

static void check_allocations(bool use_starpu) {
  CLEANUP(close_context) tristar_t *ts = use_starpu ? open_with_starpu(0, false) : open_without_starpu(false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view;
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", use_starpu ? 300 : 10, &matrix));
  tristar_matrix_get_view(matrix, &view);
  OWNED double *b = make_rhs(&typed_double, view.rows), *x = xmalloc((size_t)view.rows * sizeof *x);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing))
    end_failure(&failing, use_starpu && failing.count > 11 ? TRISTAR_OK : run(ts, &view, b, x));
  CHECK(failing.count >= 10);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(true);
  RUN(check_little(ts));
  RUN(check_reasons(ts));
  RUN(check_overflow(ts));
  RUN(check_extreme(ts));
  RUN(check_functions(ts));
  RUN(check_operator(ts));
  RUN(check_progress(ts));
  RUN(check_mistakes(ts));
  RUN(check_update(ts));
  RUN(check_storage(ts));
  RUN(check_residual(ts));
  RUN(check_warning());
  close_context(&ts);
  RUN(check_allocations(false));
  RUN(check_allocations(true));
  return 0;
}
