/* Krylov methods: what they promise of every system they are made for.
 *
 * Each method converges for each scalar type, preconditioner and side, and reports the correct
 * residual; CG is the textbook's, GMRES minimizes the residual over the Krylov space; columns are solved as
 * if alone; bits depend neither on the engine, nor on the number of workers, nor on the size of b. */
#include "tests/support/context.h"
#include "tests/support/krylov.h"
#include "tests/support/subtests.h"

/* ---- Convergence --------------------------------------------------------------------------------------- */

static double norm_of(const typed *t, int64_t n, const void *x) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += pow(magnitude(get(t, x, i)), 2);
  return sqrt(sum);
}

/* Returns || b - A x || / || b ||, computed in double. */
static double residual_of(const typed *t, const tristar_view *v, const void *b, const void *x) {
  const int64_t n = v->rows;
  number *wide = xmalloc((size_t)n * sizeof *wide), *y = xmalloc((size_t)n * sizeof *y);
  double *size = xmalloc((size_t)n * sizeof *size), sum = 0;
  for (int64_t i = 0; i < n; i++) wide[i] = get(t, x, i);
  multiply(t, v, TRISTAR_N, wide, y, size);
  for (int64_t i = 0; i < n; i++) sum += pow(magnitude(get(t, b, i) - y[i]), 2);
  free(wide);
  free(y);
  free(size);
  return sqrt(sum) / norm_of(t, n, b);
}

/* kind: preconditioner; NONE: no preconditioner. */
static void check_one(tristar_t *ts, const typed *t, const tristar_view *v, tristar_krylov_method method,
                      tristar_krylov_side side, tristar_precond_kind kind) {
  const int64_t n = v->rows;
  tristar_krylov_options options = krylov_options(method);
  tristar_precond_options m = DEFAULTS(tristar_precond_options);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *precond = NULL;
  OWNED void *b = make_rhs(t, n), *x = xmalloc((size_t)n * t->bytes);
  options.tolerance = t->is_single ? 1e-4 : 1e-10;
  options.side = side;
  m.kind = kind;
  if (kind != TRISTAR_PRECOND_NONE) CHECK_OK(tristar_precond(ts, v, &m, &precond));
  const tristar_krylov_result r = krylov_solve_once(ts, v, &options, precond, b, x);
  const double residual = residual_of(t, v, b, x);
  CHECK_MSG(r.converged && r.iterations > 0 && r.residual <= options.tolerance,
            "type %c, method %d, side %d, preconditioner %d: %s after %lld iterations, %g", (int)t->scalar,
            (int)method, (int)side, (int)kind, tristar_krylov_reason_text(r.reason), (long long)r.iterations,
            r.residual);
  CHECK_MSG(residual <= 20 * options.tolerance, "type %c, method %d, preconditioner %d: residual %g",
            (int)t->scalar, (int)method, (int)kind, residual);
  CHECK(fabs(r.true_residual - residual) <= 1e-2 * residual + 50 * t->roundoff);
  if (method == TRISTAR_KRYLOV_FGMRES)
    CHECK(fabs(r.residual - residual) <= 0.2 * residual + 50 * t->roundoff);
  CHECK(r.products >= r.iterations && r.history_count == r.iterations + 1);
  CHECK((r.preconditionings == 0) == (precond == NULL));
}

static void check_convergence(tristar_t *ts, const typed *t) {
  static const tristar_precond_kind kinds[] = {TRISTAR_PRECOND_NONE, TRISTAR_PRECOND_JACOBI,
                                               TRISTAR_PRECOND_ILU};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *definite, *general;
  tristar_view v, g;
  OWNED void *values = typed_matrix(ts, "poisson3d7", 6, t, TRISTAR_HERMITIAN, &definite, &v);
  OWNED void *others = typed_matrix(ts, "convdiff3d", 6, t, TRISTAR_GENERAL, &general, &g);
  for (int k = 0; k < 3; k++) {
    check_one(ts, t, &v, TRISTAR_KRYLOV_CG, TRISTAR_SIDE_DEFAULT, kinds[k]);
    check_one(ts, t, &v, TRISTAR_KRYLOV_PIPELINED_CG, TRISTAR_SIDE_DEFAULT, kinds[k]);
    check_one(ts, t, &v, TRISTAR_KRYLOV_BLOCK_CG, TRISTAR_SIDE_DEFAULT, kinds[k]);
    check_one(ts, t, &g, TRISTAR_KRYLOV_FGMRES, TRISTAR_SIDE_DEFAULT, kinds[k]);
    for (int side = TRISTAR_SIDE_DEFAULT; side <= TRISTAR_SIDE_RIGHT; side++) {
      check_one(ts, t, &g, TRISTAR_KRYLOV_BICGSTAB, (tristar_krylov_side)side, kinds[k]);
      check_one(ts, t, &g, TRISTAR_KRYLOV_GMRES, (tristar_krylov_side)side, kinds[k]);
      check_one(ts, t, &v, TRISTAR_KRYLOV_GMRES, (tristar_krylov_side)side, kinds[k]);
    }
  }
}

/* ---- CG, as it is written down ------------------------------------------------------------------------- */

enum { N = 24 };

static number inner(const number *x, const number *y) {
  number sum = 0;
  for (int i = 0; i < N; i++) sum += conj(x[i]) * y[i];
  return sum;
}

static void times(const number *a, const number *x, number *y) {
  for (int i = 0; i < N; i++) {
    y[i] = 0;
    for (int j = 0; j < N; j++) y[i] += a[i * N + j] * x[j];
  }
}

/* Computes the iterates of the textbook with M = D. norms[k] = || M^-1 r || after k iterations. */
static void textbook(const number *a, const number *b, int iterations, number *x, double *norms) {
  number r[N], z[N], p[N], q[N];
  for (int i = 0; i < N; i++) {
    x[i] = 0;
    r[i] = b[i];
    p[i] = z[i] = r[i] / a[i * N + i];
  }
  norms[0] = sqrt(creal(inner(z, z)));
  for (int k = 0; k < iterations; k++) {
    const number rz = inner(r, z);
    times(a, p, q);
    const number alpha = rz / inner(p, q);
    for (int i = 0; i < N; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      z[i] = r[i] / a[i * N + i];
    }
    const number beta = inner(r, z) / rz;
    for (int i = 0; i < N; i++) p[i] = z[i] + beta * p[i];
    norms[k + 1] = sqrt(creal(inner(z, z)));
  }
}

static void check_textbook(tristar_t *ts) {
  enum { STEPS = 8 };
  static krylov_dense d;
  number half[N * N], a[N * N], b[N], x[N], expected[N];
  double norms[STEPS + 1];
  tristar_krylov_point history[STEPS + 1];
  tristar_precond_options m;
  krylov_random(true, N, 6, 3, half);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      a[i * N + j] = 0; /* half times its adjoint */
      for (int k = 0; k < N; k++) a[i * N + j] += half[i * N + k] * conj(half[j * N + k]);
    }
  for (int i = 0; i < N; i++) b[i] = half[i];
  textbook(a, b, STEPS, expected, norms);
  krylov_set_dense(&d, true, N, a);
  tristar_precond_options_init(&m);
  m.kind = TRISTAR_PRECOND_JACOBI;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *precond = NEW_PRECOND(ts, &d.view, &m);
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  options.tolerance = 0;
  options.max_iterations = STEPS;
  options.history = history;
  options.history_most = STEPS + 1;
  const tristar_krylov_result r = krylov_solve_once(ts, &d.view, &options, precond, b, x);
  CHECK(r.reason == TRISTAR_REASON_LIMIT && r.iterations == STEPS && r.history_count == STEPS + 1);
  CHECK(fabs(r.reference - norms[0]) <= 1e-13 * norms[0]);
  for (int k = 0; k <= STEPS; k++) {
    CHECK(history[k].iteration == k && history[k].column == 0);
    CHECK_MSG(fabs(history[k].residual * norms[0] - norms[k]) <= 1e-9 * norms[k], "iteration %d: %g, not %g",
              k, history[k].residual * norms[0], norms[k]);
  }
  for (int i = 0; i < N; i++) CHECK(magnitude(x[i] - expected[i]) <= 1e-10 * magnitude(expected[0]));
}

/* ---- GMRES minimizes ----------------------------------------------------------------------------------- */

/* Orthogonalizes w against the k vectors of q, twice, and normalizes it. Returns its norm before the
 * normalization. */
static double orthonormal(int k, number q[][N], number *w) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < k; i++) {
      const number along = inner(q[i], w);
      for (int l = 0; l < N; l++) w[l] -= along * q[i][l];
    }
  const double size = sqrt(creal(inner(w, w)));
  for (int l = 0; l < N; l++) w[l] /= size;
  return size;
}

/* least[k] = min || b - A y || over y in the span of b, A b, .. A^(k-1) b, divided by || b ||. */
static void least_residuals(const number *a, const number *b, int most, double *least) {
  number krylov[N][N], image[N][N], rest[N];
  const double size = sqrt(creal(inner(b, b)));
  memcpy(krylov[0], b, sizeof krylov[0]);
  (void)orthonormal(0, krylov, krylov[0]);
  memcpy(rest, b, sizeof rest);
  least[0] = 1;
  for (int k = 0; k < most; k++) {
    times(a, krylov[k], image[k]);
    if (k + 1 < most) {
      memcpy(krylov[k + 1], image[k], sizeof image[k]);
      (void)orthonormal(k + 1, krylov, krylov[k + 1]);
    }
    (void)orthonormal(k, image, image[k]);
    const number along = inner(image[k], rest);
    for (int i = 0; i < N; i++) rest[i] -= along * image[k][i];
    least[k + 1] = sqrt(creal(inner(rest, rest))) / size;
  }
}

static void check_minimal(tristar_t *ts, bool is_complex) {
  static krylov_dense d;
  number a[N * N], b[N], x[N];
  double least[N + 1], reals[N], *real_x = (double *)x;
  krylov_random(is_complex, N, 1.5, 5, a);
  for (int i = 0; i < N; i++) reals[i] = creal(b[i] = creal(a[i]));
  least_residuals(a, b, N, least);
  krylov_set_dense(&d, is_complex, N, a);
  for (int method = TRISTAR_KRYLOV_GMRES; method <= TRISTAR_KRYLOV_FGMRES; method++)
    for (int k = 1; k <= N; k++) {
      tristar_krylov_options options = krylov_options((tristar_krylov_method)method);
      options.restart = 40;
      options.tolerance = 1e-11;
      options.max_iterations = k;
      const tristar_krylov_result r = krylov_solve_once(
          ts, &d.view, &options, NULL, is_complex ? (void *)b : reals, is_complex ? (void *)x : real_x);
      CHECK_MSG(fabs(r.true_residual - least[k]) <= 1e-10 + 1e-6 * least[k], "%d iterations: %g, not %g", k,
                r.true_residual, least[k]);
      CHECK(k < N || r.converged); /* in at most n steps */
    }
}

/* ---- Bits ---------------------------------------------------------------------------------------------- */

/* Returns the solution for one column, which is `factor` times b; the caller frees it. */
static double *solve_with(const char *kind, int64_t size, tristar_engine engine, const char *workers,
                          tristar_krylov_method method, double factor, int *used) {
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *ts;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_stats stats;
  tristar_krylov_options options = krylov_options(method);
  CHECK(setenv("STARPU_NCPU", workers, 1) == 0);
  config.check = 1;
  config.use_starpu = engine != TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_create(&config, &ts));
  tristar_view v = generated_view(ts, kind, size, &m);
  double *b = make_rhs(&typed_double, v.rows), *x = xmalloc((size_t)v.rows * sizeof *x);
  for (int64_t i = 0; i < v.rows; i++) b[i] *= factor;
  options.engine = engine;
  options.max_iterations = 40;
  options.absolute = 0;
  CHECK_OK(tristar_krylov_create(ts, &v, &options, &k));
  tristar_krylov_get_stats(k, &stats);
  *used = stats.workers;
  for (int again = 0; again < 2; again++) {
    double *y = again ? xcalloc((size_t)v.rows, sizeof *y) : x;
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, b, v.rows, y, v.rows, NULL));
    CHECK(!again || memcmp(x, y, (size_t)v.rows * sizeof *x) == 0);
    if (again) free(y);
  }
  free(b);
  return x;
}

/* n: number of rows of the model problem. */
static void check_bits(tristar_krylov_method method, const char *kind, int64_t size, int n) {
  const size_t bytes = (size_t)n * sizeof(double);
  int used;
  OWNED double *x = solve_with(kind, size, TRISTAR_ENGINE_SERIAL, "1", method, 1, &used);
  CHECK(used == 1);
  OWNED double *one = solve_with(kind, size, TRISTAR_ENGINE_TASKS, "1", method, 1, &used);
  CHECK(used == 1);
  OWNED double *two = solve_with(kind, size, TRISTAR_ENGINE_TASKS, "2", method, 1, &used);
  CHECK(used == 2);
  OWNED double *small = solve_with(kind, size, TRISTAR_ENGINE_SERIAL, "1", method, ldexp(1, -900), &used);
  CHECK(memcmp(x, one, bytes) == 0 && memcmp(x, two, bytes) == 0);
  for (int i = 0; i < n; i++) /* the solver may scale b by another factor */
    CHECK(fabs(ldexp(small[i], 900) - x[i]) <= 1e-6 * fabs(x[i]) + 1e-9);
}

/* ---- Columns ------------------------------------------------------------------------------------------- */

static void check_columns(tristar_t *ts, tristar_krylov_method method) {
  enum { COLUMNS = 3, PAD = 5 };
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  tristar_krylov_result all[COLUMNS], one;
  tristar_krylov_point history[1000];
  tristar_krylov_options options = krylov_options(method);
  tristar_view v = generated_view(ts, "poisson3d7", 5, &m);
  const int64_t n = v.rows, ld = n + PAD;
  OWNED double *b = make_rhs(&typed_double, ld), *x = xcalloc((size_t)(COLUMNS * ld), sizeof *x);
  OWNED double *y = xmalloc((size_t)n * sizeof *y);
  options.history = history;
  options.history_most = 1000;
  options.block = 1; /* columns are solved one after the other */
  CHECK_OK(tristar_krylov_create(ts, &v, &options, &k));
  CHECK_OK(tristar_krylov_solve(k, NULL, COLUMNS, b, ld, x, ld, all));
  int64_t at = 0;
  for (int c = 0; c < COLUMNS; c++) {
    for (int64_t i = 0; i < all[c].history_count; i++, at++)
      CHECK(history[at].column == c && history[at].iteration == i);
    CHECK(history[at - 1].residual == all[c].residual);
    CHECK_OK(tristar_krylov_solve(k, NULL, 1, b + c * ld, n, y, n, &one));
    CHECK(one.iterations == all[c].iterations && memcmp(y, x + c * ld, (size_t)n * sizeof *y) == 0);
    for (int64_t i = n; i < ld; i++) CHECK(x[c * ld + i] == 0);
    history[at] = (tristar_krylov_point){0};
    CHECK_OK(tristar_krylov_solve(k, NULL, COLUMNS, b, ld, x, ld, NULL));
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(true);
  if (!TSI_TESTS_RACES) { /* these tests run in one thread */
    RUN(check_convergence(ts, &typed_double));
    RUN(check_convergence(ts, &typed_complex_double));
    RUN(check_textbook(ts));
    RUN(check_minimal(ts, false));
    RUN(check_minimal(ts, true));
    for (int k = 0; k < KRYLOV_METHODS; k++) RUN(check_columns(ts, krylov_methods[k]));
  }
  if (!TSI_TESTS_SANITIZED) {
    RUN(check_convergence(ts, &typed_single));
    RUN(check_convergence(ts, &typed_complex_single));
  }
  close_context(&ts);
  for (int k = 0; k < KRYLOV_METHODS; k++) RUN(check_bits(krylov_methods[k], "s2d9pt", 80, 80 * 80));
  RUN(check_bits(TRISTAR_KRYLOV_CG, "elasticity3d", 13, 7644)); /* products read one triangle */
  RUN(check_bits(TRISTAR_KRYLOV_BLOCK_CG, "elasticity3d", 13, 7644));
  return 0;
}
