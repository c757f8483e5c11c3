/* The treatments of diagonal blocks that are not the default, INVERSE_NONE and INVERSE_PARTITIONED:
 * {s, d, c, z, double with single factors} x {LLT, LDLT, LU; Hermitian and complex symmetric} x {N, T, C} x
 * {1, 3, 17 right-hand sides}.
 *
 *   - the backward error after refinement is below 100 units of roundoff
 *   - without refinement, A, L, D and U give what they give with INVERSE_DIAGONAL, but for rounding
 *   - and so does KERNEL_SPMV, which makes its own partitioned inverse of any of them
 *   - the serial replay in two legal orders and tasks on one and on two workers give the same bits
 *   - sparse right-hand sides and chosen rows of X give the numbers of the dense solve
 *   - big panels are sliced: the plans below are cut small */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_machine.h"
#include "tristar_solve.h"

enum { CHUNK_BYTES = 3000, HASHES = 4096 };

static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                     &typed_complex_double};
static const char *const names[] = {"diagonal", "none", "off"};

/* Results of the first pass; the second pass has another number of workers. */
static uint64_t hashes[HASHES];
static int hash_count, sliced;

typedef struct problem {
  const char *kind;
  int64_t k;
  const typed *t;
  tristar_method method;
  bool single_factors;
  tristar_view view;
  char text[120];
} problem;

static tristar_factor_t *make_factor(tristar_t *ts, const problem *p, tristar_inverse inverse) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CHECK(options.inverse == TRISTAR_INVERSE_DIAGONAL);
  options.method = p->method;
  options.single_factors = p->single_factors;
  options.inverse = inverse;
  options.ordering = TRISTAR_ORDERING_METIS; /* METIS makes separators that are wide enough for slices */
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &p->view, &options);
  tristar_factor_t *f = NEW_FACTOR(an, p->view.values);
  return f;
}

static tristar_plan_t *make_plan(tristar_factor_t *f, tristar_engine engine, unsigned seed) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_stats stats;
  options.engine = engine;
  options.chunk_bytes_max = CHUNK_BYTES;
  options.order_seed = seed;
  tristar_plan_t *p = NEW_PLAN(f, &options);
  tristar_plan_get_stats(p, &stats);
  if (stats.slices > 0) sliced++;
  return p;
}

static uint64_t hash(const void *x, size_t count) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < count; i++) h = (h ^ ((const unsigned char *)x)[i]) * 1099511628211u;
  return h;
}

/* Compares bits: of tasks, of two serial orders (in the first pass), and of the first pass. */
static void check_bits(const problem *p, tristar_factor_t *f, const void *b, bool first_pass) {
  const int64_t n = p->view.rows;
  const size_t bytes = TYPED_COLUMNS * (size_t)n * p->t->bytes;
  OWNED char *x = xmalloc(bytes), *reference = xmalloc(bytes);
  const int count = first_pass && !TSI_TESTS_RACES ? 3 : 1;
  tristar_plan_t *plans[3];
  for (int k = 0; k < count; k++)
    plans[k] = make_plan(f, k == 0 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL, k == 2 ? 3 : 0);
  for (int o = 0; o < TYPED_OPS; o++)
    for (int c = 0; c < TYPED_COUNTS; c++) {
      const size_t used = (size_t)(typed_counts[c] * n) * p->t->bytes;
      for (int k = 0; k < count; k++) {
        char *to = k == 0 ? reference : x;
        CHECK_OK(tristar_solve(plans[k], typed_ops[o], typed_counts[c], b, n, to, n));
        CHECK_MSG(memcmp(reference, to, used) == 0, "%s, %c, %d right-hand sides, plan %d: other bits",
                  p->text, typed_ops[o], (int)typed_counts[c], k);
      }
      CHECK(hash_count < HASHES);
      if (first_pass) hashes[hash_count] = hash(reference, used);
      CHECK_MSG(hashes[hash_count++] == hash(reference, used), "%s, %c: other bits with other workers",
                p->text, typed_ops[o]);
    }
  for (int k = 0; k < count; k++) tristar_plan_destroy(&plans[k]);
}

static void check_errors(const problem *p, tristar_plan_t *plan, const void *b) {
  const typed_errors worst = worst_errors(p->t, &p->view, NULL, plan, b, COMPONENTWISE);
  const double bound = 100 * p->t->roundoff;
  CHECK_MSG(worst.reported < bound && worst.recomputed < bound,
            "%s, %c, column %d of %d: backward error %g, %g", p->text, worst.op, worst.column, worst.count,
            worst.reported, worst.recomputed);
}

/* Compares every part and operation, without refinement, with the default plan of the same factors. */
static void check_parts(const problem *p, tristar_plan_t *plan, tristar_plan_t *plain, const void *b) {
  const int64_t n = p->view.rows, nrhs = 3;
  const double bound = p->t->is_single || p->single_factors ? 1e-3 : 1e-11;
  OWNED char *x = xmalloc((size_t)(n * nrhs) * p->t->bytes), *y = xmalloc((size_t)(n * nrhs) * p->t->bytes);
  for (int o = 0; o < TYPED_OPS; o++)
    for (int part = TRISTAR_PART_ALL; part <= TRISTAR_PART_U; part++)
      for (int order = 0; order < 2; order++) {
        tristar_solve_options options = DEFAULTS(tristar_solve_options);
        double difference = 0, largest = 0;
        options.op = typed_ops[o];
        options.part = (tristar_part)part;
        options.factor_order = order;
        CHECK_OK(tristar_solve_with(plan, &options, nrhs, b, x, NULL));
        CHECK_OK(tristar_solve_with(plain, &options, nrhs, b, y, NULL));
        for (int64_t i = 0; i < n * nrhs; i++) {
          largest = fmax(largest, magnitude(get(p->t, y, i)));
          difference = larger_error(difference, magnitude(get(p->t, x, i) - get(p->t, y, i)));
        }
        CHECK_MSG(difference <= bound * largest, "%s, %c, part %d, factor order %d: differs by %g of %g",
                  p->text, typed_ops[o], part, order, difference, largest);
      }
}

/* Compares the sparse products, without refinement, with the default plan of the same factors. */
static void check_products(const problem *p, tristar_factor_t *f, tristar_plan_t *plain, const void *b) {
  const int64_t n = p->view.rows, nrhs = 3;
  const double bound = p->t->is_single || p->single_factors ? 1e-3 : 1e-11;
  OWNED char *x = xmalloc((size_t)(n * nrhs) * p->t->bytes), *y = xmalloc((size_t)(n * nrhs) * p->t->bytes);
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  options.kernel = TRISTAR_KERNEL_SPMV;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
  for (int o = 0; o < TYPED_OPS; o++) {
    double difference = 0, largest = 0;
    CHECK_OK(tristar_solve(plan, typed_ops[o], nrhs, b, n, x, n));
    CHECK_OK(tristar_solve(plain, typed_ops[o], nrhs, b, n, y, n));
    for (int64_t i = 0; i < n * nrhs; i++) {
      largest = fmax(largest, magnitude(get(p->t, y, i)));
      difference = larger_error(difference, magnitude(get(p->t, x, i) - get(p->t, y, i)));
    }
    CHECK_MSG(difference <= bound * largest, "%s, products, %c: differs by %g of %g", p->text, typed_ops[o],
              difference, largest);
  }
}

/* Two rows of b and three rows of x: the numbers of the dense solve. */
static void check_sparse(const problem *p, tristar_plan_t *plan) {
  const int64_t n = p->view.rows, given[] = {n / 3, 1}, wanted[] = {0, n - 1, n / 2};
  OWNED void *b = xcalloc((size_t)n, p->t->bytes), *x = xcalloc((size_t)n, p->t->bytes),
             *bs = xcalloc(2, p->t->bytes), *xs = xcalloc(3, p->t->bytes);
  for (int k = 0; k < 2; k++) {
    put(p->t, b, given[k], 1.5 + k);
    put(p->t, bs, k, 1.5 + k);
  }
  for (int o = 0; o < TYPED_OPS; o++)
    for (int part = TRISTAR_PART_ALL; part <= TRISTAR_PART_U; part++) {
      tristar_solve_options options = DEFAULTS(tristar_solve_options);
      options.op = typed_ops[o];
      options.part = (tristar_part)part;
      CHECK_OK(tristar_solve_with(plan, &options, 1, b, x, NULL));
      options.b_row = given;
      options.b_rows = 2;
      options.x_row = wanted;
      options.x_rows = 3;
      CHECK_OK(tristar_solve_with(plan, &options, 1, bs, xs, NULL));
      for (int k = 0; k < 3; k++)
        CHECK_MSG(get(p->t, xs, k) == get(p->t, x, wanted[k]), "%s, %c, part %d: row %d", p->text,
                  typed_ops[o], part, (int)wanted[k]);
    }
}

/* New values in the same factor are packed in the same way. */
static void check_refactor(const problem *p, tristar_factor_t *f, tristar_plan_t *plan, const void *b) {
  const int64_t n = p->view.rows, *ptr = p->view.ptr;
  const size_t bytes = (size_t)n * p->t->bytes;
  OWNED void *x = xmalloc(bytes), *y = xmalloc(bytes), *values = xmalloc((size_t)ptr[n] * p->t->bytes);
  for (int64_t e = 0; e < ptr[n]; e++) put(p->t, values, e, 4 * get(p->t, p->view.values, e));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
  CHECK_OK(tristar_refactor(f, values));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, y, n));
  for (int64_t i = 0; i < n; i++) /* powers of two cause no rounding errors */
    CHECK_MSG(4 * get(p->t, y, i) == get(p->t, x, i), "%s: row %d after new values", p->text, (int)i);
  CHECK_OK(tristar_refactor(f, p->view.values));
}

static void check_treatment(tristar_t *ts, problem *p, tristar_inverse inverse, bool first_pass) {
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f = make_factor(ts, p, inverse);
  OWNED void *b = make_rhs(p->t, p->view.rows);
  snprintf(p->text, sizeof p->text, "%s:%d, %c%s, method %d, symmetry %d, inverse %s", p->kind, (int)p->k,
           p->t->scalar, p->single_factors ? " with single factors" : "", (int)p->method,
           (int)p->view.symmetry, names[inverse]);
  check_bits(p, f, b, first_pass);
  if (first_pass && !TSI_TESTS_RACES) {
    CLEANUP(tristar_factor_destroy)
    tristar_factor_t *plain_factor = make_factor(ts, p, TRISTAR_INVERSE_DIAGONAL);
    CLEANUP(tristar_plan_destroy)
    tristar_plan_t *plan = make_plan(f, TRISTAR_ENGINE_SERIAL, 0),
                   *plain = make_plan(plain_factor, TRISTAR_ENGINE_SERIAL, 0);
    check_parts(p, plan, plain, b);
    check_products(p, f, plain, b);
    check_sparse(p, plan);
    check_errors(p, plan, b);
    check_refactor(p, f, plan, b);
  }
}

static void check(tristar_t *ts, const char *kind, int64_t k, const typed *t, tristar_method method,
                  tristar_symmetry symmetry, bool first_pass) {
  problem p = {.kind = kind, .k = k, .t = t, .method = method};
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  OWNED void *values = typed_matrix(ts, kind, k, t, symmetry, &m, &p.view);
  const bool large = strcmp(kind, "poisson3d7") == 0; /* without an additional run with single factors */
  for (int single = 0; single < (t->is_single || large ? 1 : 2); single++) {
    p.single_factors = single;
    check_treatment(ts, &p, TRISTAR_INVERSE_NONE, first_pass);
    check_treatment(ts, &p, TRISTAR_INVERSE_PARTITIONED, first_pass);
  }
}

/* All problems of one type. */
static void check_type(tristar_t *ts, const typed *t, bool first_pass) {
  const int64_t cube = TSI_TESTS_SANITIZED ? 6 : 8;
  for (int symmetric = 0; symmetric < (t->is_complex ? 2 : 1); symmetric++) {
    const tristar_symmetry symmetry = symmetric ? TRISTAR_SYMMETRIC : TRISTAR_HERMITIAN;
    for (int m = 0; m < 3; m++) {
      static const tristar_method methods[] = {TRISTAR_METHOD_LLT, TRISTAR_METHOD_LDLT, TRISTAR_METHOD_LU};
      if (methods[m] == TRISTAR_METHOD_LLT && symmetric) continue; /* Cholesky needs Hermitian matrices */
      check(ts, "poisson3d7", cube, t, methods[m], symmetry, first_pass);
      if (methods[m] != TRISTAR_METHOD_LU) check(ts, "elasticity3d", 3, t, methods[m], symmetry, first_pass);
      if (methods[m] != TRISTAR_METHOD_LLT)
        check(ts, "maxwell3d", 4, t, methods[m], symmetry,
              first_pass); /* indefinite: rows are interchanged */
    }
  }
  check(ts, "convdiff3d", cube - 1, t, TRISTAR_METHOD_LU, TRISTAR_GENERAL, first_pass);
  check(ts, "circuit", 200, t, TRISTAR_METHOD_LU, TRISTAR_GENERAL, first_pass);
}

/* An option out of range; n = 0 and n = 1. */
static void check_small(tristar_t *ts) {
  static const int64_t ptr[] = {0, 1};
  static const int32_t index[] = {0};
  double value = 4, b = 3, x = 0;
  tristar_view v = {TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 1, 1, ptr, index, &value, 64, 32, 0};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_analysis_t *an;
  for (int bad = -1; bad <= 3; bad += 4) {
    options.inverse = (tristar_inverse)bad;
    CHECK_STATUS(tristar_analyze(ts, &v, &options, &an), TRISTAR_ERR_ARGUMENT);
  }
  for (int n = 0; n < 2; n++)
    for (int inverse = TRISTAR_INVERSE_NONE; inverse <= TRISTAR_INVERSE_PARTITIONED; inverse++) {
      problem p = {.t = &typed_double, .method = TRISTAR_METHOD_LU, .view = v};
      p.view.rows = p.view.cols = n;
      CLEANUP(tristar_factor_destroy) tristar_factor_t *f = make_factor(ts, &p, (tristar_inverse)inverse);
      CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = make_plan(f, TRISTAR_ENGINE_AUTO, 0);
      CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, &b, 1, &x, 1));
      CHECK(n == 0 || x == 0.75);
    }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  for (int workers = 1; workers <= 2; workers++) {
    CLEANUP(close_context) tristar_t *ts = open_with_starpu(workers, true);
    hash_count = sliced = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      if (!TSI_TESTS_SANITIZED || types[t] == &typed_double ||
          (!TSI_TESTS_RACES && types[t] == &typed_complex_single))
        RUN(check_type(ts, types[t], workers == 1));
    RUN(check_small(ts));
    CHECK_TOTAL(sliced > (TSI_TESTS_SANITIZED ? 10 : 100), "only %d plans had slices", sliced);
  }
  return 0;
}
