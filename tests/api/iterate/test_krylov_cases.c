/* Krylov methods where there is little to solve, where they cannot go on, and where calls are mistaken. */
#include "tests/support/context.h"
#include "tests/support/krylov_systems.h"
#include "tests/support/subtests.h"

static void check_little(tristar_t *ts) {
  static system_of s;
  s.ts = ts;
  for (int k = 0; k < KRYLOV_METHODS; k++) {
    tristar_krylov_options options = krylov_options(krylov_methods[k]);
    clear(&s, 0); /* a matrix without rows */
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
    set_diagonal(&s, 7); /* the initial guess is the solution */
    for (int i = 0; i < 7; i++) s.x[i] = 1.0 / (i + 1);
    options.guess = 1;
    r = solve(&s, &options, NULL);
    CHECK(r.converged && r.iterations == 0 && s.x[6] == 1.0 / 7 && fabs(r.reference - sqrt(7)) < 1e-14);
    s.x[2] = 40; /* a bad initial guess */
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
    options.absolute = 1; /* || b || = 2, and a residual of 1 is accepted */
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
  s.a[2] = 0; /* nilpotent: the Krylov space of b ends before it contains x */
  r = solve(&s, &gmres, NULL);
  CHECK(r.reason == TRISTAR_REASON_BREAKDOWN && r.iterations == 1 && r.true_residual == 1);
  clear(&s, 8); /* a cyclic permutation: restarts make no progress */
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
  set_diagonal(&s, 30); /* the residual of CG rises by more than 10 % */
  for (int i = 0; i < 30; i++) {
    s.a[i * 31] = pow(10, i % 7);
    s.b[i] = i % 2 ? 1 : 0.1;
  }
  cg.divergence = 1.1;
  r = solve(&s, &cg, NULL);
  CHECK(r.reason == TRISTAR_REASON_DIVERGED && r.residual >= 1.1 && r.iterations > 0);
  cg.divergence = 0;
  CHECK(solve(&s, &cg, NULL).converged);
}

static tristar_status multiply_by_huge(void *arg, const void *x, void *y) {
  (void)arg;
  for (int i = 0; i < 3; i++) ((double *)y)[i] = 1e308 * ((const double *)x)[i];
  return TRISTAR_OK;
}

/* Products overflow. If the solver has the entries of the matrix, it scales them to avoid that. */
static void check_huge(tristar_t *ts) {
  static system_of s;
  s.ts = ts;
  clear(&s, 3);
  for (int i = 0; i < 3; i++) s.a[4 * i] = 1e308, s.b[i] = 1e10;
  for (int k = 0; k < KRYLOV_METHODS; k++) {
    const tristar_krylov_options options = krylov_options(krylov_methods[k]);
    tristar_krylov_t *krylov;
    tristar_krylov_result r = solve(&s, &options, NULL);
    CHECK_MSG(r.converged && fabs(s.x[2] / 1e-298 - 1) < 1e-12, "method %d: x = %g, %s", (int)options.method,
              s.x[2], tristar_krylov_reason_text(r.reason));
    CHECK_OK(
        tristar_krylov_create_operator(ts, 3, TRISTAR_DOUBLE, multiply_by_huge, NULL, &options, &krylov));
    CHECK_OK(tristar_krylov_solve(krylov, NULL, 1, s.b, 3, s.x, 3, &r));
    CHECK(r.reason == TRISTAR_REASON_NOT_FINITE && r.iterations <= 1);
    tristar_krylov_destroy(&krylov);
  }
}

static void check_reason_texts(void) {
  for (int reason = 0; reason <= TRISTAR_REASON_INACCURATE; reason++)
    CHECK(strstr(tristar_krylov_reason_text((tristar_krylov_reason)reason), "unknown") == NULL);
}

/* A solution out of range is an error, also if only a scaling of b makes x overflow. */
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

/* A solution near the underflow threshold has too few digits for a small tolerance. */
static void check_underflow(tristar_t *ts) {
  static const double rhs[] = {1e-111, 1e-20}; /* x = 1e-347, 1e-320 */
  static system_of s;
  s.ts = ts;
  for (int k = 0; k < KRYLOV_METHODS; k++)
    for (int which = 0; which < 2; which++)
      for (double tolerance = 1e-12; tolerance < 1; tolerance *= 1e10) {
        tristar_krylov_options options = krylov_options(krylov_methods[k]);
        options.tolerance = tolerance;
        clear(&s, 3);
        for (int i = 0; i < 3; i++) s.a[4 * i] = which == 0 ? 1e236 : 1e300, s.b[i] = rhs[which];
        const tristar_krylov_result r = solve(&s, &options, NULL);
        CHECK_MSG(r.converged == (which == 1 && tolerance > 1e-3) &&
                      (r.converged || r.reason == TRISTAR_REASON_INACCURATE) &&
                      (which == 1 || (r.true_residual == 1 && s.x[0] == 0)),
                  "method %d, tolerance %g: x = %g, true residual %g, %s", (int)options.method, tolerance,
                  s.x[0], r.true_residual, tristar_krylov_reason_text(r.reason));
      }
}

/* Right-hand sides at the ends of the range: x = b divided by the diagonal. */
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
  BAD(engine, TRISTAR_ENGINE_TASKS, TRISTAR_ERR_UNSUPPORTED); /* the context has no StarPU */
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
  CHECK_ERROR(ts, "b has NaN or infinity in row 4, column 0");
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

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_little(ts));
  RUN(check_reasons(ts));
  RUN(check_huge(ts));
  RUN(check_reason_texts());
  RUN(check_overflow(ts));
  RUN(check_underflow(ts));
  RUN(check_extreme(ts));
  RUN(check_mistakes(ts));
  return 0;
}
