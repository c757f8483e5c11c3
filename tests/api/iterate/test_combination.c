/* x = beta x + alpha times the solution, with factors of every method and type, single factors, parts, plans
 * with tasks, without, with pushed updates and of the partitioned inverse, one right-hand side and several
 * blocks of them: against the solution that is combined here; the same bits as without where alpha is 1 and
 * beta 0; started solves, and x over b. (Triangles: test_permuted_triangle.) */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_solve.h"

enum { MOST = 70 };

typedef struct columns {
  const typed *t;
  int64_t n, nrhs;
  char *b, *before, *solution, *x;
} columns;

static columns columns_create(const typed *t, int64_t n, int64_t nrhs) {
  const size_t size = (size_t)(n * nrhs) * t->bytes;
  columns c = {t, n, nrhs, xmalloc(size), xmalloc(size), xmalloc(size), xmalloc(size)};
  double part[2];
  CHECK(c.b != NULL && c.before != NULL && c.solution != NULL && c.x != NULL);
  for (int64_t i = 0; i < n * nrhs; i++) {
    number z[2];
    for (int k = 0; k < 2; k++) {
      fill_random(part, 2, (uint64_t)(2 * i + k));
      z[k] = part[0];
      __imag__ z[k] = part[1];
    }
    put(t, c.b, i, z[0]);
    put(t, c.before, i, z[1]);
  }
  return c;
}

static void columns_free(columns *c) {
  free(c->b);
  free(c->before);
  free(c->solution);
  free(c->x);
}

static void check_combined(const columns *c, number alpha, number beta, const char *before,
                           const char *what) {
  for (int64_t i = 0; i < c->n * c->nrhs; i++) {
    const number old = beta == 0 ? 0 : beta * get(c->t, before, i), new = alpha *get(c->t, c->solution, i);
    CHECK_MSG(magnitude(get(c->t, c->x, i) - old - new) <=
                  4 * c->t->roundoff * (magnitude(old) + magnitude(new)),
              "%s: entry %d is %g+%gi, not %g+%gi", what, (int)i, creal(get(c->t, c->x, i)),
              cimag(get(c->t, c->x, i)), creal(old + new), cimag(old + new));
  }
}

static void check_solves(tristar_plan_t *plan, const tristar_solve_options *given, columns *c,
                         const char *what) {
  const size_t size = (size_t)(c->n * c->nrhs) * c->t->bytes;
  char alpha_stored[sizeof(number)], beta_stored[sizeof(number)];
  tristar_solve_options o = *given;
  tristar_request_t *request;
  number alpha = 1, beta = 0;
  CHECK_OK(tristar_solve_with(plan, &o, c->nrhs, c->b, c->solution, NULL));
  o.alpha = alpha_stored;
  o.beta = beta_stored;
  put(c->t, alpha_stored, 0, alpha);
  put(c->t, beta_stored, 0, beta);
  for (int64_t i = 0; i < c->n * c->nrhs; i++) put(c->t, c->x, i, NAN);
  CHECK_OK(tristar_solve_with(plan, &o, c->nrhs, c->b, c->x, NULL));
  CHECK_MSG(memcmp(c->x, c->solution, size) == 0, "%s: other bits with 1 and 0", what);
  alpha = -1.5;
  if (c->t->is_complex) __imag__ alpha = 0.5;
  put(c->t, alpha_stored, 0, alpha);
  for (int64_t i = 0; i < c->n * c->nrhs; i++) put(c->t, c->x, i, NAN);
  CHECK_OK(tristar_solve_with(plan, &o, c->nrhs, c->b, c->x, NULL));
  check_combined(c, alpha, beta, NULL, what);
  beta = 0.75;
  if (c->t->is_complex) __imag__ beta = -2;
  put(c->t, beta_stored, 0, beta);
  memcpy(c->x, c->before, size);
  CHECK_OK(tristar_solve_start(plan, &o, c->nrhs, c->b, c->x, &request));
  CHECK_OK(tristar_wait(&request, NULL));
  check_combined(c, alpha, beta, c->before, what);
  memcpy(c->x, c->b, size);
  CHECK_OK(tristar_solve_with(plan, &o, c->nrhs, c->x, c->x, NULL));
  check_combined(c, alpha, beta, c->b, what);
}

static void check_factor(tristar_t *ts, const char *kind, const typed *t, tristar_symmetry symmetry,
                         tristar_method method, int single_factors) {
  static const int64_t counts[] = {1, 5, MOST};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  OWNED void *values = typed_matrix(ts, kind, TSI_TESTS_SANITIZED ? 6 : 9, t, symmetry, &matrix, &view);
  options.method = method;
  options.single_factors = single_factors;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(analysis, values);
  for (int way = 0; way < 4; way++) {
    tristar_plan_options how = DEFAULTS(tristar_plan_options);
    if (way == 1 && TSI_TESTS_SANITIZED) continue; /* way 0 chooses the serial engine for so few rows */
    how.engine = way == 1 ? TRISTAR_ENGINE_SERIAL : way == 0 ? TRISTAR_ENGINE_AUTO : TRISTAR_ENGINE_TASKS;
    how.chunk_bytes_max = way == 2 ? 3000 : 0;
    if (way == 2) how.updates = TRISTAR_UPDATES_PUSH;
    if (way == 3) how.kernel = TRISTAR_KERNEL_SPMV;
    tristar_plan_t *plan = NEW_PLAN(factor, &how);
    for (int k = 0; k < 3; k++) {
      CLEANUP(columns_free) columns c = columns_create(t, view.rows, counts[k]);
      tristar_solve_options o;
      char what[100];
      for (int which = 0; which < 6; which++) { /* 3 operations, 2 parts */
        tristar_solve_options_init(&o);
        o.op = typed_ops[which % 3];
        o.part = which < 3 ? TRISTAR_PART_ALL : (tristar_part)(which - 2);
        if (way == 3 && o.part != TRISTAR_PART_ALL) continue;
        if (method == TRISTAR_METHOD_LU && o.part == TRISTAR_PART_D) continue;
        snprintf(what, sizeof what, "%s %c%s, method %d, way %d, %d columns, op %c, part %d", kind,
                 (char)t->scalar, single_factors ? " single" : "", (int)method, way, (int)counts[k],
                 (char)o.op, (int)o.part);
        check_solves(plan, &o, &c, what);
      }
    }
    tristar_plan_destroy(&plan);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  RUN(check_factor(ts, "poisson3d7", &typed_double, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LLT, 0));
  if (!TSI_TESTS_RACES) { /* other types have the same steps and edges */
    RUN(check_factor(ts, "poisson3d7", &typed_complex_double, TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, 0));
    RUN(check_factor(ts, "poisson3d7", &typed_complex_single, TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, 0));
  }
  RUN(check_factor(ts, "convdiff3d", &typed_single, TRISTAR_GENERAL, TRISTAR_METHOD_LU, 0));
  if (!TSI_TESTS_RACES)
    RUN(check_factor(ts, "convdiff3d", &typed_complex_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU, 1));
  RUN(check_factor(ts, "convdiff3d", &typed_double, TRISTAR_GENERAL, TRISTAR_METHOD_LU, 1));
  return 0;
}
