/* Factors that are given: random L, D, U of unrelated structures in every format, real and complex, with
 * permutations and scalings; all operations, parts and orders, chosen rows, every engine, against dense
 * products. */
#include "tests/support/context.h"
#include "tests/support/given_factors.h"
#include "tests/support/magnitude.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_solve.h"
#include "tristar_stats.h"

enum { N_MAX = 110, NRHS = 3 };

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* y = op(M) x for NRHS columns. M is stored by rows; NULL: the diagonal d. */
static void apply(const dense *m, const number *matrix, tristar_op op, const number *x, number *y) {
  const int n = m->n;
  for (int c = 0; c < NRHS; c++)
    for (int i = 0; i < n; i++) {
      number sum = 0;
      for (int j = 0; j < n; j++) {
        number e = matrix == NULL ? (i == j ? m->d[i] : 0) : matrix[op == TRISTAR_N ? i * n + j : j * n + i];
        sum += (op == TRISTAR_C ? conj(e) : e) * x[j + c * n];
      }
      y[i + c * n] = sum;
    }
}

static void store_all(const dense *m, const number *from, void *to) {
  for (int i = 0; i < m->n * NRHS; i++) put_given(m, to, i, from[i]);
}
static number load(const dense *m, const void *from, int64_t i) {
  return m->is_complex ? ((const number *)from)[i] : ((const double *)from)[i];
}

static void compare(const dense *m, const void *x, const number *expected, const char *what, int op) {
  double worst = 0, largest = 0;
  for (int i = 0; i < m->n * NRHS; i++) {
    worst = larger_error(worst, magnitude(load(m, x, i) - expected[i]));
    largest = fmax(largest, magnitude(expected[i]));
    CHECK(!isnan(creal(load(m, x, i))));
  }
  CHECK_MSG(worst <= 1e-8 * largest, "%s, op %c, method %d, n %d: error %g of %g", what, op, (int)m->method,
            m->n, worst, largest);
}

/* Checks op(A), and each part in factor order. */
static void check_parts(const dense *m, tristar_plan_t *plan) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const char *const names[] = {"A", "L", "D", "U"};
  const size_t size = (size_t)m->n * NRHS + 1;
  OWNED number *x = xcalloc(size, sizeof *x), *y = xcalloc(size, sizeof *y);
  OWNED void *b = xcalloc(size, sizeof *x), *z = xcalloc(size, sizeof *x);
  const number *matrices[] = {m->a, m->l, NULL, m->u};
  for (int o = 0; o < 3; o++)
    for (int part = 0; part < 4; part++) {
      tristar_solve_options options = DEFAULTS(tristar_solve_options);
      options.op = ops[o];
      options.part = (tristar_part)part;
      options.factor_order = part != 0;
      for (size_t i = 0; i + 1 < size; i++) x[i] = entry(m);
      apply(m, matrices[part], ops[o], x, y);
      store_all(m, y, b);
      CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, z, NULL));
      compare(m, z, x, names[part], (int)ops[o]);
      CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, b, NULL)); /* in place: the same bits */
      CHECK(memcmp(b, z, (size_t)(m->n * NRHS) * (m->is_complex ? sizeof(number) : sizeof(double))) == 0);
    }
}

/* The parts, one after the other, give the solution of the whole. */
static void check_chain(const dense *m, tristar_plan_t *plan) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const size_t size = (size_t)m->n * NRHS + 1;
  OWNED void *b = xcalloc(size, sizeof(number)), *x = xcalloc(size, sizeof(number));
  OWNED number *expected = xcalloc(size, sizeof *expected);
  for (int o = 0; o < 3; o++) {
    tristar_solve_options options = DEFAULTS(tristar_solve_options);
    options.op = ops[o];
    for (size_t i = 0; i + 1 < size; i++) put_given(m, b, (int64_t)i, entry(m));
    CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, x, NULL));
    for (int i = 0; i < m->n * NRHS; i++) expected[i] = load(m, x, i);
    for (int k = 0; k < 3; k++) {
      options.part =
          ops[o] == TRISTAR_N ? (tristar_part)(TRISTAR_PART_L + k) : (tristar_part)(TRISTAR_PART_U - k);
      CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, b, NULL));
    }
    compare(m, b, expected, "parts in turn", (int)ops[o]);
  }
}

/* Some rows of b, some rows of x, and strides give the numbers of the dense solve. */
static void check_rows(const dense *m, tristar_plan_t *plan, tristar_part part) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = m->n;
  int64_t given[N_MAX], wanted[N_MAX];
  const size_t size = (size_t)n * NRHS + 1;
  OWNED void *b = xcalloc(size, sizeof(number)), *x = xcalloc(size, sizeof(number)),
             *bs = xcalloc(size, sizeof(number)), *xs = xcalloc(size, sizeof(number));
  for (int o = 0; o < 3; o++)
    for (int lists = 0; lists < 4; lists++) {
      tristar_solve_options options = DEFAULTS(tristar_solve_options);
      tristar_solve_result result = {.share = -1};
      options.op = ops[o];
      options.part = part;
      options.factor_order = below(2);
      shuffle(given, n);
      shuffle(wanted, n);
      const int64_t rows = lists & 1 ? below(n + 1) / 8 : n, out = lists & 2 ? below(n + 1) / 8 : n;
      memset(b, 0, size * sizeof(number));
      for (int64_t i = 0; i < rows; i++)
        for (int c = 0; c < NRHS; c++) {
          const number e = entry(m);
          put_given(m, b, (lists & 1 ? given[i] : i) + c * n, e);
          put_given(m, bs, i * NRHS + c, e);
        }
      CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, x, &result));
      CHECK(result.share == 1);
      options.b_row_stride = options.x_row_stride = NRHS;
      options.b_column_stride = options.x_column_stride = 1;
      if (lists & 1) options.b_row = given;
      if (lists & 2) options.x_row = wanted;
      options.b_rows = rows;
      options.x_rows = out;
      CHECK_OK(tristar_solve_with(plan, &options, NRHS, bs, xs, &result));
      CHECK(result.share >= 0 && result.share <= 1);
      for (int64_t i = 0; i < out; i++)
        for (int c = 0; c < NRHS; c++) {
          const number one = load(m, x, (lists & 2 ? wanted[i] : i) + c * n),
                       other = load(m, xs, i * NRHS + c);
          CHECK_MSG(one == other, "op %c, part %d, lists %d: row %d", (int)ops[o], (int)part, lists, (int)i);
        }
    }
}

static void check_refined(const dense *m, tristar_plan_t *plan, bool has_matrix) {
  const size_t size = (size_t)m->n + 1;
  OWNED void *b = xcalloc(size, sizeof(number)), *x = xcalloc(size, sizeof(number));
  tristar_refine_result result;
  double reciprocal;
  for (int i = 0; i < m->n; i++) put_given(m, b, i, entry(m));
  if (!has_matrix) {
    CHECK_STATUS(tristar_solve_refined(plan, TRISTAR_N, 1, b, m->n, x, m->n, NULL, &result),
                 TRISTAR_ERR_UNSUPPORTED);
    CHECK_STATUS(tristar_condition(plan, &reciprocal), TRISTAR_ERR_UNSUPPORTED);
  } else {
    CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, m->n, x, m->n, NULL, &result));
    CHECK_MSG(result.backward_error < 1e-15, "backward error %g", result.backward_error);
    CHECK_OK(tristar_condition(plan, &reciprocal));
    CHECK(reciprocal > 0 && reciprocal < 1 + 1e-12);
  }
}

static void check_order(const dense *m, const tristar_factor_t *f) {
  int64_t rows[N_MAX], columns[N_MAX];
  double row_scale[N_MAX], column_scale[N_MAX];
  tristar_factor_get_order(f, rows, columns, row_scale, column_scale);
  for (int k = 0; k < m->n; k++)
    CHECK(rows[k] == m->row_order[k] && columns[k] == m->column_order[k] && row_scale[k] == m->row_scale[k] &&
          column_scale[k] == m->column_scale[k]);
}

static void check_import(tristar_t *ts, dense *m, int format) {
  CLEANUP(release_view) given_view v;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  make_view(m, format, format != 1, &v);
  CHECK_OK(tristar_import_supernodal(ts, &v.factors, &f));
  check_order(m, f);
  for (int k = 0; k < 4; k++) {
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    options.engine = k == 3 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
    options.chunk_bytes_max = k > 0 ? 700 : 0;
    options.order_seed = k == 2 ? 5 : 0;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
    check_parts(m, plan);
    check_chain(m, plan);
    check_rows(m, plan, TRISTAR_PART_ALL);
    check_rows(m, plan, (tristar_part)(1 + below(3)));
    check_refined(m, plan, format != 1);
    if (k == 3) { /* new values, the same plan */
      for (int i = 0; i < m->n * m->n; i++) {
        m->l[i] *= i % (m->n + 1) ? 0.5 : 1;
        m->u[i] *= i % (m->n + 1) ? 0.5 : 1;
      }
      multiply_factors(m);
      given_view again;
      make_view(m, format, format != 1, &again);
      CHECK_OK(tristar_reimport(f, &again.factors));
      check_parts(m, plan);
      check_refined(m, plan, format != 1);
      release_view(&again);
    }
  }
}

/* ---- A triangular matrix alone ------------------------------------------------------------------------- */

static void check_triangle(tristar_t *ts, bool is_complex, bool upper, bool unit, bool by_rows) {
  dense m = draw(90, is_complex, TRISTAR_METHOD_LU, false);
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = m.n;
  given_view v;
  tristar_factor_t *f;
  tristar_plan_t *plan;
  tristar_plan_options options;
  number *t = upper ? m.u : m.l, *x = xcalloc((size_t)n * NRHS, sizeof *x),
         *y = xcalloc((size_t)n * NRHS, sizeof *y);
  OWNED void *b = xcalloc((size_t)n * NRHS, sizeof *x);
  for (int k = 0; k < n; k++) t[k * n + k] = unit ? 1 : 1.5 + 0.2 * uniform();
  memcpy(m.a, t, (size_t)(n * n) * sizeof *t);
  for (int i = 0; i < n; i++) /* entries that must not be read */
    for (int j = 0; j < n; j++)
      if (upper ? i > j : i < j) t[i * n + j] = below(9) == 0;
  make_view(&m, 0, false, &v);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++)
      put_given(&m, v.matrix_values, r * n + c, unit && r == c ? 55 : by_rows ? t[r * n + c] : t[c * n + r]);
  v.matrix.format = by_rows ? TRISTAR_CSR : TRISTAR_CSC;
  CHECK_OK(tristar_import_csr(ts, &v.matrix, upper ? TRISTAR_UPPER : TRISTAR_LOWER,
                              unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT, &f));
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_TASKS;
  options.chunk_bytes_max = 500;
  CHECK_OK(tristar_plan(f, &options, &plan));
  for (int o = 0; o < 3; o++) {
    for (int i = 0; i < n * NRHS; i++) x[i] = entry(&m);
    apply(&m, m.a, ops[o], x, y);
    store_all(&m, y, b);
    CHECK_OK(tristar_solve(plan, ops[o], NRHS, b, n, b, n));
    compare(&m, b, x, "triangle", (int)ops[o]);
  }
  check_rows(&m, plan, TRISTAR_PART_ALL);
  check_refined(&m, plan, true);
  tristar_solve_options part = DEFAULTS(tristar_solve_options);
  part.part = upper ? TRISTAR_PART_L : TRISTAR_PART_U;
  CHECK_STATUS(tristar_solve_with(plan, &part, NRHS, b, b, NULL), TRISTAR_ERR_ARGUMENT);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  release_view(&v);
  release(&m);
  free(x);
  free(y);
}

/* ---- Bad input ----------------------------------------------------------------------------------------- */

static void expect(tristar_t *ts, const tristar_factors *factors, tristar_status status, const char *text) {
  tristar_factor_t *f = (tristar_factor_t *)ts;
  CHECK_STATUS(tristar_import_supernodal(ts, factors, &f), status);
  CHECK(f == NULL);
  CHECK_ERROR(ts, text);
}

#define WITH(place, value, status, text)                                                                     \
  do {                                                                                                       \
    const __typeof__(place) keep = (place);                                                                  \
    (place) = (value);                                                                                       \
    expect(ts, f, status, text);                                                                             \
    (place) = keep;                                                                                          \
  } while (0)

/* New values with another order of rows, or of columns, are refused. */
static void check_stale_order(tristar_t *ts, tristar_factor_t *factor, const tristar_factors *factors,
                              int64_t *order, const char *text) {
  const int64_t keep = order[0];
  order[0] = order[1];
  order[1] = keep;
  CHECK_STATUS(tristar_reimport(factor, factors), TRISTAR_ERR_STALE);
  CHECK_ERROR(ts, text);
  order[1] = order[0];
  order[0] = keep;
  CHECK_OK(tristar_reimport(factor, factors));
}

/* Dense factors: each entry of L + U, or of L, is counted once. Panels of LU are narrow, for accuracy. */
static void check_stats(tristar_t *ts) {
  enum { N = 40 };
  for (int lu = 0; lu < 2; lu++) {
    CLEANUP(release) dense m = draw(N, false, lu ? TRISTAR_METHOD_LU : TRISTAR_METHOD_LLT, false);
    CLEANUP(release_view) given_view v;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
    tristar_factor_stats stats;
    tristar_analysis_stats analysis;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        if (i > j) m.l[i * N + j] = 1.0 / 64;
        if (i < j) m.u[i * N + j] = 1.0 / 64;
      }
    make_view(&m, 0, false, &v);
    CHECK_OK(tristar_import_supernodal(ts, &v.factors, &f));
    tristar_factor_get_stats(f, &stats);
    tristar_analysis_get_stats(tristar_factor_get_analysis(f), &analysis);
    CHECK_MSG(stats.nnz_factor == (lu ? N * N : N * (N + 1) / 2), "%lld entries",
              (long long)stats.nnz_factor);
    CHECK_MSG(analysis.panels == (lu ? 3 : 1), "%lld panels", (long long)analysis.panels);
  }
}

/* Solves and compares with x = expected. */
static void check_three(tristar_factor_t *f, const double *expected) {
  const double b[] = {2, 4, 6};
  double x[3];
  for (tristar_op op = TRISTAR_N;; op = TRISTAR_T) {
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
    CHECK_OK(tristar_solve(plan, op, 1, b, 3, x, 3));
    CHECK(memcmp(x, expected, sizeof x) == 0);
    if (op == TRISTAR_T) return;
  }
}

/* Triangles with a unit diagonal and no entries need no arrays for indices and values. */
static void check_no_entries(tristar_t *ts) {
  static const int32_t none[4] = {0}, ptr[] = {0, 1, 2, 3}, index[] = {0, 1, 2};
  static const double d[] = {2, 2, 2}, half[] = {1, 2, 3}, one[] = {2, 4, 6};
  static const tristar_method methods[] = {TRISTAR_METHOD_LU, TRISTAR_METHOD_LDLT};
  for (int k = 0; k < 4; k++) {
    tristar_factors given;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
    tristar_factors_init(&given);
    given.n = 3;
    given.method = methods[k % 2];
    given.diagonal = d;
    tristar_triangle_init(&given.lower);
    tristar_triangle_init(&given.upper);
    given.lower.unit_diagonal = 1;
    given.lower.ptr = none;
    given.upper.ptr = ptr;
    given.upper.index = index;
    given.upper.values = d;
    given.lower.format = given.upper.format = k / 2 ? TRISTAR_TRIANGLE_ROWS : TRISTAR_TRIANGLE_COLUMNS;
    CHECK_OK(tristar_import_supernodal(ts, &given, &f));
    check_three(f, half);
    CHECK_OK(tristar_reimport(f, &given));
    check_three(f, half);
  }
  for (int partition = TRISTAR_PARTITION_AUTO; partition <= TRISTAR_PARTITION_RECURSIVE; partition++)
    for (int format = TRISTAR_CSC; format <= TRISTAR_CSR; format++) {
      CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
      tristar_triangle_options options = DEFAULTS(tristar_triangle_options);
      const tristar_view view = {
          (tristar_format)format, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, none, NULL, NULL, 32, 32, 0};
      options.diag = TRISTAR_UNIT;
      options.partition = (tristar_partition)partition;
      CHECK_OK(tristar_import_triangle(ts, &view, &options, &f));
      check_three(f, one);
    }
}

/* A matrix without values is an error that leaves the factor as it was. */
static void check_matrix_without_values(tristar_t *ts) {
  CLEANUP(release) dense m = draw(12, false, TRISTAR_METHOD_LU, false);
  CLEANUP(release_view) given_view v;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  make_view(&m, 0, true, &v);
  CHECK_OK(tristar_import_supernodal(ts, &v.factors, &f));
  double b[12], before[12], x[12], r[12];
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, NULL);
  fill_random(b, 12, 5);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, 12, before, 12));
  v.matrix.values = NULL;
  CHECK_STATUS(tristar_reimport(f, &v.factors), TRISTAR_ERR_ARGUMENT);
  for (int k = 0; k < 2; k++) { /* with the plan, and with another one */
    CLEANUP(tristar_plan_destroy) tristar_plan_t *other = NEW_PLAN(f, NULL);
    memset(x, 0, sizeof x);
    CHECK_OK(tristar_solve(k == 0 ? plan : other, TRISTAR_N, 1, b, 12, x, 12));
    CHECK(memcmp(x, before, sizeof x) == 0);
  }
  double error;
  CHECK_OK(tristar_residual(f, TRISTAR_N, 1, b, 12, x, 12, r, 12, &error)); /* A keeps its values, too */
  CHECK_MSG(error < 1e-12, "backward error %g", error);
}

static void check_bad_input(tristar_t *ts) {
  CLEANUP(release) dense m = draw(40, false, TRISTAR_METHOD_LU, false);
  CLEANUP(release_view) given_view v;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *good;
  make_view(&m, 0, false, &v);
  tristar_factors *f = &v.factors;
  expect(ts, NULL, TRISTAR_ERR_ARGUMENT, "factors is NULL");
  WITH(f->n, -1, TRISTAR_ERR_ARGUMENT, "n is -1");
  WITH(f->n, INT64_C(1) << 40, TRISTAR_ERR_TOO_LARGE, "n is");
  WITH(f->scalar, (tristar_scalar)'q', TRISTAR_ERR_ARGUMENT, "scalar");
  WITH(f->method, TRISTAR_METHOD_AUTO, TRISTAR_ERR_ARGUMENT, "method");
  WITH(f->lower.ptr_bits, 16, TRISTAR_ERR_ARGUMENT, "ptr_bits");
  WITH(f->lower.values, NULL, TRISTAR_ERR_ARGUMENT, "L: an array is NULL");
  WITH(f->upper.format, TRISTAR_TRIANGLE_SUPERNODES, TRISTAR_ERR_ARGUMENT, "U");
  WITH(v.lower.index[v.lower.ptr[7]], 3, TRISTAR_ERR_FORMAT, "in column 7, has index 3");
  WITH(v.lower.index[v.lower.ptr[7]], 40, TRISTAR_ERR_FORMAT, "has index 40");
  WITH(v.lower.end[5], v.lower.ptr[5] - 1, TRISTAR_ERR_FORMAT, "line 5");
  WITH(m.row_order[0], m.row_order[1], TRISTAR_ERR_FORMAT, "row_order is no permutation");
  WITH(m.column_scale[3], 0, TRISTAR_ERR_FORMAT, "column_scale[3]");
  WITH(m.row_scale[4], NAN, TRISTAR_ERR_FORMAT, "row_scale[4] is nan");
  v.factors.method = TRISTAR_METHOD_LDLT;
  ((double *)v.diagonal)[11] = 0;
  expect(ts, f, TRISTAR_ERR_SINGULAR, "D: entry 11");
  ((double *)v.diagonal)[11] = NAN;
  expect(ts, f, TRISTAR_ERR_NOT_FINITE, "D");
  ((double *)v.diagonal)[11] = 1;
  WITH(f->diagonal, NULL, TRISTAR_ERR_ARGUMENT, "without diagonal");
  v.factors.method = TRISTAR_METHOD_LU;
  release_arrays(&v.upper);
  m.u[9 * 40 + 9] = 0;
  f->upper = compress(&m, m.u, true, false, &v.upper);
  expect(ts, f, TRISTAR_ERR_SINGULAR, "U: diagonal entry 9 ");
  release_arrays(&v.upper);
  m.u[9 * 40 + 9] = INFINITY;
  f->upper = compress(&m, m.u, true, false, &v.upper);
  expect(ts, f, TRISTAR_ERR_NOT_FINITE, "U: NaN or infinity in row 9");
  release_arrays(&v.upper);
  m.u[9 * 40 + 9] = 1;
  f->upper = compress(&m, m.u, true, false, &v.upper);
  CHECK_OK(tristar_import_supernodal(ts, f, &good));
  CHECK_STATUS(tristar_refactor(good, v.matrix_values), TRISTAR_ERR_UNSUPPORTED);
  const void *kept = f->lower.values;
  f->lower.values = NULL;
  CHECK_STATUS(tristar_reimport(good, f), TRISTAR_ERR_ARGUMENT);
  f->lower.values = kept;
  tristar_plan_t *plan;
  CHECK_OK(tristar_plan(good, NULL, &plan)); /* The values stay. */
  tristar_plan_destroy(&plan);
  check_stale_order(ts, good, f, m.row_order, "row_order[0]");
  check_stale_order(ts, good, f, m.column_order, "column_order[0]");
  release_arrays(&v.lower);
  m.l[39 * 40] = m.l[38 * 40] = m.l[37 * 40] = 1; /* more entries than before */
  m.l[36 * 40] = m.l[35 * 40] = m.l[34 * 40] = m.l[20 * 40] = 1;
  f->lower = compress(&m, m.l, false, true, &v.lower);
  CHECK_STATUS(tristar_reimport(good, f), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_plan(good, NULL, &plan), TRISTAR_ERR_STALE);
}

/* Numbers of columns and rows of supernodes at the limits of their type: the checks do not overflow. */
static void check_bad_supernodes(tristar_t *ts) {
  static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1, INT64_MAX - 1, INT64_MAX};
  const double block[] = {2, 1, 1, 2}, last = 2, u[] = {2, 1, 3, 1, 4};
  const void *blocks[] = {block, &last};
  int64_t first[] = {0, 2, 3}, ptr[] = {0, 2, 3}, index[] = {0, 1, 2};
  const int64_t u_ptr[] = {0, 2, 4, 5}, u_index[] = {0, 1, 1, 2, 2};
  tristar_factors f;
  tristar_factor_t *good;
  tristar_factors_init(&f);
  f.n = 3;
  f.scalar = TRISTAR_DOUBLE;
  f.lower = (tristar_triangle){.format = TRISTAR_TRIANGLE_SUPERNODES,
                               .ptr_bits = 64,
                               .index_bits = 64,
                               .ptr = ptr,
                               .index = index,
                               .supernodes = 2,
                               .first = first,
                               .blocks = blocks};
  f.upper = (tristar_triangle){.format = TRISTAR_TRIANGLE_ROWS,
                               .ptr_bits = 64,
                               .index_bits = 64,
                               .ptr = u_ptr,
                               .index = u_index,
                               .values = u};
  CHECK_OK(tristar_import_supernodal(ts, &f, &good));
  tristar_factor_destroy(&good);
  for (size_t k = 0; k < sizeof extremes / sizeof *extremes; k++)
    for (int at = 0; at < 3; at++) {
      const char *text = at < 2 ? "L: supernode 0" : "L: supernode 1";
      const int64_t kept_first = first[at], kept_ptr = ptr[at];
      first[at] = extremes[k];
      expect(ts, &f, TRISTAR_ERR_FORMAT, text);
      first[at] = kept_first;
      ptr[at] = extremes[k];
      expect(ts, &f, TRISTAR_ERR_FORMAT, text);
      ptr[at] = kept_ptr;
    }
  ptr[0] = INT64_MIN;
  ptr[1] = INT64_MAX;
  expect(ts, &f, TRISTAR_ERR_FORMAT, "L: supernode 0");
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, true);
  static const int sizes[] = {0, 1, 2, 17, N_MAX};
  for (size_t s = TSI_TESTS_RACES ? 3 : 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int is_complex = 0; is_complex < 2; is_complex++)
      for (int kind = 0; kind < 5; kind++) { /* LLT, LLH, LDLT, LDLH, LU */
        const tristar_method method = kind < 2   ? TRISTAR_METHOD_LLT
                                      : kind < 4 ? TRISTAR_METHOD_LDLT
                                                 : TRISTAR_METHOD_LU;
        if (!is_complex && (kind == 1 || kind == 3)) continue;
        for (int format = 0; format < 3; format++) {
          CLEANUP(release) dense m = draw(sizes[s], is_complex, method, kind == 1 || kind == 3);
          RUN(check_import(ts, &m, format));
        }
      }
  for (int k = 0; k < 16; k++) RUN(check_triangle(ts, k & 1, k & 2, k & 4, k & 8));
  RUN(check_stats(ts));
  RUN(check_no_entries(ts));
  RUN(check_matrix_without_values(ts));
  RUN(check_bad_input(ts));
  RUN(check_bad_supernodes(ts));
  return 0;
}
