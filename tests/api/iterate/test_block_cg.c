/* Block CG and pipelined CG: what they promise beyond what all methods do.
 *
 * Several columns together take fewer iterations than alone, and come to the same solutions, whatever the
 * order or the size of the group; columns that are equal, depend on each other, are zero, or converge at
 * different times are no breakdown; an indefinite matrix or preconditioner is reported, and ends only the
 * columns that meet it. Pipelined CG takes the iterations of CG, and where CG reaches a small residual it
 * does as well, ill-conditioned matrices included.
 */
#include "tests/support/context.h"
#include "tests/support/krylov.h"
#include "tests/support/subtests.h"

enum { COLUMNS = 12 };

/* A matrix, its preconditioner (or NULL) and right-hand sides. */
typedef struct problem {
  tristar_t *ts;
  const typed *t;
  tristar_matrix_t *matrix;
  tristar_view v;
  void *values;
  tristar_precond_t *m;
  char *b, *x;
  tristar_krylov_result result[COLUMNS];
} problem;

static problem open_problem(tristar_t *ts, const char *kind, int64_t k, const typed *t,
                            tristar_precond_kind precond) {
  problem p = {.ts = ts, .t = t};
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  p.values = typed_matrix(ts, kind, k, t, TRISTAR_HERMITIAN, &p.matrix, &p.v);
  options.kind = precond;
  if (precond != TRISTAR_PRECOND_NONE) CHECK_OK(tristar_precond(ts, &p.v, &options, &p.m));
  const int64_t entries = p.v.rows * COLUMNS;
  OWNED double *random = xmalloc(2 * (size_t)entries * sizeof *random);
  p.b = xmalloc((size_t)entries * t->bytes);
  p.x = xmalloc((size_t)entries * t->bytes);
  fill_random(random, 2 * entries, 9);
  for (int64_t i = 0; i < entries; i++) {
    number value = random[2 * i];
    __imag__ value = random[2 * i + 1];
    put(t, p.b, i, value);
  }
  return p;
}

static void close_problem(problem *p) {
  tristar_precond_destroy(&p->m);
  tristar_matrix_destroy(&p->matrix);
  free(p->values);
  free(p->b);
  free(p->x);
}

static char *column_of(const problem *p, char *block, int64_t c) {
  return block + (size_t)(c * p->v.rows) * p->t->bytes;
}

/* Sets column `to` of the right-hand sides to factor times column `from`. */
static void copy_column(const problem *p, int from, double factor, int to) {
  for (int64_t i = 0; i < p->v.rows; i++)
    put(p->t, column_of(p, p->b, to), i, factor * get(p->t, column_of(p, p->b, from), i));
}

static void solve(problem *p, const tristar_krylov_options *options, int columns) {
  CLEANUP(tristar_krylov_destroy) tristar_krylov_t *k;
  CHECK_OK(tristar_krylov_create(p->ts, &p->v, options, &k));
  CHECK_OK(tristar_krylov_solve(k, p->m, columns, p->b, p->v.rows, p->x, p->v.rows, p->result));
}

static void check_converged(const problem *p, int columns, double tolerance, const char *what) {
  for (int c = 0; c < columns; c++)
    CHECK_MSG(p->result[c].converged && p->result[c].true_residual <= 20 * tolerance,
              "%s, type %c, column %d: %s after %d iterations, true residual %g", what, (int)p->t->scalar, c,
              tristar_krylov_reason_text(p->result[c].reason), (int)p->result[c].iterations,
              p->result[c].true_residual);
}

static int64_t most_iterations(const problem *p, int columns) {
  int64_t most = 0;
  for (int c = 0; c < columns; c++)
    if (p->result[c].iterations > most) most = p->result[c].iterations;
  return most;
}

static tristar_krylov_options options_of(const typed *t, tristar_krylov_method method) {
  tristar_krylov_options options = krylov_options(method);
  if (t->is_single) options.tolerance = 1e-4;
  return options;
}

/* ---- Block CG ------------------------------------------------------------------------------------------ */

static void check_blocks(tristar_t *ts, const typed *t, tristar_precond_kind precond) {
  CLEANUP(close_problem) problem p = open_problem(ts, "poisson3d7", 9, t, precond);
  tristar_krylov_options options = options_of(t, TRISTAR_KRYLOV_CG);
  solve(&p, &options, COLUMNS);
  const int64_t alone = most_iterations(&p, COLUMNS);
  int64_t before = alone + 2;
  options.method = TRISTAR_KRYLOV_BLOCK_CG;
  for (options.block = 1; options.block <= 32;
       options.block *= 2) { /* the last group may have fewer columns */
    solve(&p, &options, COLUMNS);
    check_converged(&p, COLUMNS, options.tolerance, "blocks");
    const int64_t most = most_iterations(&p, COLUMNS);
    CHECK_MSG(most <= before, "%d iterations with %d columns, %d with half of them", (int)most, options.block,
              (int)before);
    before = most;
    for (int c = 0; c < COLUMNS; c++) CHECK(p.result[c].products >= p.result[c].iterations);
  }
  CHECK(5 * before <= 4 * alone);
}

/* With one column, block CG does the steps of CG. */
static void check_one_column(tristar_t *ts, const typed *t) {
  enum { POINTS = 60 };
  CLEANUP(close_problem) problem p = open_problem(ts, "poisson3d7", 6, t, TRISTAR_PRECOND_JACOBI);
  tristar_krylov_options options = options_of(t, TRISTAR_KRYLOV_CG);
  tristar_krylov_point plain[POINTS], other[POINTS];
  options.history_most = POINTS;
  options.history = plain;
  solve(&p, &options, 1);
  const int64_t count = p.result[0].history_count;
  options.history = other;
  for (int which = 0; which < 2; which++) {
    options.method = which == 0 ? TRISTAR_KRYLOV_BLOCK_CG : TRISTAR_KRYLOV_PIPELINED_CG;
    solve(&p, &options, 1);
    CHECK(p.result[0].history_count == count && count <= POINTS);
    for (int64_t k = 0; k < count; k++)
      CHECK_MSG(fabs(other[k].residual - plain[k].residual) <= 1e-3 * plain[k].residual,
                "method %d, point %d: %g, not %g", (int)options.method, (int)k, other[k].residual,
                plain[k].residual);
  }
}

/* Linearly dependent columns: exactly and nearly. */
static void check_dependent(tristar_t *ts, const typed *t) {
  CLEANUP(close_problem) problem p = open_problem(ts, "poisson3d7", 7, t, TRISTAR_PRECOND_JACOBI);
  tristar_krylov_options options = options_of(t, TRISTAR_KRYLOV_BLOCK_CG);
  copy_column(&p, 0, 1, 1);
  copy_column(&p, 0, -3, 2);
  copy_column(&p, 3, 1, 4);
  put(t, column_of(&p, p.b, 4), 5, get(t, column_of(&p, p.b, 4), 5) * (1 + 1e3 * t->roundoff));
  copy_column(&p, 3, 0, 6);
  copy_column(&p, 7, 1e-30, 8);
  for (options.block = 2; options.block <= 16; options.block *= 2) {
    solve(&p, &options, COLUMNS);
    check_converged(&p, COLUMNS, options.tolerance, "dependent columns");
    CHECK(p.result[6].iterations == 0);
  }
  for (int c = 1; c < COLUMNS; c++) copy_column(&p, 0, c, c); /* a single search direction for all columns */
  solve(&p, &options, COLUMNS);
  check_converged(&p, COLUMNS, options.tolerance, "columns all alike");
}

/* The initial guesses are exact or nearly exact. For some columns squares overflow or underflow. */
static void check_different(tristar_t *ts) {
  CLEANUP(close_problem) problem p = open_problem(ts, "poisson3d7", 7, &typed_double, TRISTAR_PRECOND_NONE);
  tristar_krylov_options options = options_of(&typed_double, TRISTAR_KRYLOV_BLOCK_CG);
  options.block = 6;
  options.absolute = 0;
  options.divergence = 0;
  copy_column(&p, 2, 1e200, 2);
  copy_column(&p, 3, 1e-250, 3);
  solve(&p, &options, 6);
  check_converged(&p, 6, options.tolerance, "sizes");
  double *x = (double *)p.x;
  for (int64_t i = 0; i < p.v.rows; i++) x[i] *= 1 + 1e-4 * (double)(i % 3);
  options.guess = 1;
  solve(&p, &options, 6);
  check_converged(&p, 6, options.tolerance, "guesses");
  CHECK(p.result[0].iterations > p.result[1].iterations && p.result[1].iterations <= 1);
}

/* x = -b */
static tristar_status negate(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                             int64_t ldx) {
  const int64_t n = *(const int64_t *)arg;
  CHECK(op == TRISTAR_N);
  for (int64_t c = 0; c < nrhs; c++)
    for (int64_t i = 0; i < n; i++) ((double *)x)[c * ldx + i] = -((const double *)b)[c * ldb + i];
  return TRISTAR_OK;
}

static void check_indefinite(tristar_t *ts, tristar_krylov_method method) {
  const tristar_krylov_options options = krylov_options(method);
  CLEANUP(close_problem) problem p = open_problem(ts, "kkt3d", 3, &typed_double, TRISTAR_PRECOND_NONE);
  solve(&p, &options, 5);
  for (int c = 0; c < 5; c++) CHECK(p.result[c].reason == TRISTAR_REASON_INDEFINITE);
  CHECK_OK(tristar_precond_of_function(ts, p.v.rows, TRISTAR_DOUBLE, negate, &p.v.rows, &p.m));
  solve(&p, &options, 5);
  for (int c = 0; c < 5; c++) CHECK(p.result[c].reason == TRISTAR_REASON_INDEFINITE_PRECOND);
}

/* The matrix is positive definite in the first rows and negative definite in the last ones. A column in the
 * last rows ends at once, with its initial x. The other columns continue and get the solutions that they
 * get without it. */
static void check_one_indefinite(tristar_t *ts) {
  enum { FIRST = 40, N = 50, GROUP = 4 };
  int32_t ptr[N + 1] = {0}, index[3 * N], at = 0;
  double value[3 * N], b[GROUP * N] = {0}, x[GROUP * N], alone[N];
  for (int i = 0; i < N; i++) {
    const bool inner = i < FIRST;
    if (inner && i > 0) index[at] = i - 1, value[at++] = -1;
    index[at] = i, value[at++] = inner ? 2 : -1;
    if (i + 1 < FIRST) index[at] = i + 1, value[at++] = -1;
    ptr[i + 1] = at;
  }
  const tristar_view view = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, index, value, 32, 32, 0};
  for (int bad = 0; bad < GROUP; bad++) {
    tristar_krylov_options options = options_of(&typed_double, TRISTAR_KRYLOV_BLOCK_CG);
    tristar_krylov_result result[GROUP], own;
    tristar_krylov_t *k;
    options.block = GROUP;
    for (int c = 0; c < GROUP; c++)
      for (int i = 0; i < N; i++) b[c * N + i] = (c == bad) == (i >= FIRST) ? cos(3 * c + i) : 0;
    CHECK_OK(tristar_krylov_create(ts, &view, &options, &k));
    CHECK_OK(tristar_krylov_solve(k, NULL, GROUP, b, N, x, N, result));
    for (int c = 0; c < GROUP; c++) {
      if (c == bad) {
        CHECK(result[c].reason == TRISTAR_REASON_INDEFINITE && result[c].iterations == 1);
        for (int i = 0; i < N; i++) CHECK(x[c * N + i] == 0);
        continue;
      }
      CHECK_MSG(result[c].converged && result[c].true_residual <= 20 * options.tolerance, "column %d: %s", c,
                tristar_krylov_reason_text(result[c].reason));
      CHECK_OK(tristar_krylov_solve(k, NULL, 1, b + c * N, N, alone, N, &own));
      CHECK(own.converged && result[c].iterations <= own.iterations);
    }
    tristar_krylov_destroy(&k);
  }
}

/* ---- Pipelined CG -------------------------------------------------------------------------------------- */

/* Pipelined CG reaches the smallest true residual of CG up to a small factor. */
static void check_accuracy(tristar_t *ts, const char *kind, int64_t k, double tolerance) {
  CLEANUP(close_problem) problem p = open_problem(ts, kind, k, &typed_double, TRISTAR_PRECOND_JACOBI);
  tristar_krylov_options options = krylov_options(TRISTAR_KRYLOV_CG);
  options.tolerance = tolerance;
  solve(&p, &options, 1);
  const tristar_krylov_result cg = p.result[0];
  options.method = TRISTAR_KRYLOV_PIPELINED_CG;
  solve(&p, &options, 1);
  const tristar_krylov_result *r = &p.result[0];
  CHECK_MSG(cg.converged && r->converged && (double)r->iterations <= 1.1 * (double)cg.iterations + 2 &&
                r->true_residual <= 20 * cg.true_residual,
            "%s:%d, %s: %d iterations, true residual %g; CG: %d, %g", kind, (int)k,
            tristar_krylov_reason_text(r->reason), (int)r->iterations, r->true_residual, (int)cg.iterations,
            cg.true_residual);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  RUN(check_blocks(ts, &typed_double, TRISTAR_PRECOND_NONE));
  RUN(check_blocks(ts, &typed_complex_double, TRISTAR_PRECOND_JACOBI));
  RUN(check_blocks(ts, &typed_single, TRISTAR_PRECOND_JACOBI));
  RUN(check_one_column(ts, &typed_double));
  RUN(check_one_column(ts, &typed_complex_double));
  RUN(check_dependent(ts, &typed_double));
  RUN(check_dependent(ts, &typed_complex_double));
  RUN(check_dependent(ts, &typed_single));
  RUN(check_different(ts));
  RUN(check_indefinite(ts, TRISTAR_KRYLOV_BLOCK_CG));
  RUN(check_one_indefinite(ts));
  RUN(check_indefinite(ts, TRISTAR_KRYLOV_PIPELINED_CG));
  RUN(check_accuracy(ts, "poisson3d7", 12, 1e-14));
  RUN(check_accuracy(ts, "elasticity3d", 6, 1e-13));
  RUN(check_accuracy(ts, "diffusion3d", 10, 1e-12));
  return 0;
}
