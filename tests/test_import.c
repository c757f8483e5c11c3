/* Factors that are given: random L, D, U of unrelated structures in every format, real and complex, with
 * permutations and scalings; all operations, parts and orders, chosen rows, every engine, against dense
 * products. */
#include <complex.h>
#include <math.h>
#include <stdbool.h>

#include "tests/check.h"
#include "tests/random.h"
#undef I

typedef double _Complex number;

enum { N_MAX = 110, NRHS = 3 };

/* The factors as dense matrices, by rows. */
typedef struct dense {
  int n;
  bool is_complex, hermitian;
  tristar_method method;
  number *l, *d, *u, *a; /* n x n, d: n; a: the matrix itself */
  int64_t *row_order, *column_order;
  double *row_scale, *column_scale;
} dense;

static uint64_t state = 1;

static double uniform(void) {
  return (double)next_random(&state) / 1073741824.0 - 1.0;
}
static number entry(const dense *m) {
  number x = uniform();
  if (m->is_complex) __imag__ x = uniform();
  return x;
}
static int below(int limit) {
  return (int)(next_random(&state) % (uint64_t)limit);
}

static void shuffle(int64_t *order, int n) {
  for (int k = 0; k < n; k++) order[k] = k;
  for (int k = n; k > 1; k--) {
    const int j = below(k);
    const int64_t keep = order[k - 1];
    order[k - 1] = order[j];
    order[j] = keep;
  }
}

/* Entries below the diagonal: independent blocks of columns coupled to the last ones, so that there is a
 * tree; the two factors draw their own. */
static void draw_lower(const dense *m, number *l, bool transposed) {
  const int n = m->n, blocks = 6, tail = n / 5;
  for (int j = 0; j < n; j++)
    for (int i = j + 1; i < n; i++) {
      const bool coupled = i >= n - tail || i * blocks / (n - tail) == j * blocks / (n - tail);
      if (coupled && below(100) < 12) l[transposed ? j * n + i : i * n + j] = 0.5 * entry(m);
    }
}

static void multiply_factors(dense *m) {
  const int n = m->n;
  for (int k = 0; k < n; k++)
    for (int l = 0; l < n; l++) {
      number sum = 0;
      for (int q = 0; q <= (k < l ? k : l); q++) sum += m->l[k * n + q] * m->d[q] * m->u[q * n + l];
      const int64_t r = m->row_order[k], c = m->column_order[l];
      m->a[r * n + c] = sum / (m->row_scale[r] * m->column_scale[c]);
    }
}

static dense draw(int n, bool is_complex, tristar_method method, bool hermitian) {
  dense m = {.n = n, .is_complex = is_complex, .method = method, .hermitian = hermitian};
  const size_t size = (size_t)n * (size_t)n + 1;
  m.l = calloc(size, sizeof *m.l);
  m.u = calloc(size, sizeof *m.u);
  m.a = calloc(size, sizeof *m.a);
  m.d = calloc(size, sizeof *m.d);
  m.row_order = calloc(size, sizeof *m.row_order);
  m.column_order = calloc(size, sizeof *m.column_order);
  m.row_scale = calloc(size, sizeof *m.row_scale);
  m.column_scale = calloc(size, sizeof *m.column_scale);
  const bool symmetric = method != TRISTAR_METHOD_LU;
  draw_lower(&m, m.l, false);
  if (!symmetric) draw_lower(&m, m.u, true);
  shuffle(m.row_order, n);
  shuffle(m.column_order, n);
  for (int k = 0; k < n; k++) {
    m.l[k * n + k] = method == TRISTAR_METHOD_LLT ? 1.5 + 0.4 * uniform() : 1;
    m.d[k] = 1;
    if (method == TRISTAR_METHOD_LDLT) {
      m.d[k] = 2 + uniform();
      if (below(2)) m.d[k] = -m.d[k];
      if (is_complex && !hermitian) m.d[k] += 0.5 * entry(&m);
    }
    if (!symmetric) m.u[k * n + k] = 1.5 + 0.3 * entry(&m);
    m.row_scale[k] = (below(4) ? 1 : -1) * exp(uniform());
    m.column_scale[k] = (below(4) ? 1 : -1) * exp(uniform());
    if (symmetric) m.column_order[k] = m.row_order[k];
  }
  for (int k = 0; symmetric && k < n; k++) {
    m.column_scale[k] = m.row_scale[k];
    for (int l = 0; l < n; l++) m.u[k * n + l] = hermitian ? conj(m.l[l * n + k]) : m.l[l * n + k];
  }
  multiply_factors(&m);
  return m;
}

static void release(dense *m) {
  free(m->l);
  free(m->d);
  free(m->u);
  free(m->a);
  free(m->row_order);
  free(m->column_order);
  free(m->row_scale);
  free(m->column_scale);
}

/* ---- Views ------------------------------------------------------------------------------------------------
 */

/* Arrays behind a tristar_triangle. */
typedef struct arrays {
  int64_t *ptr, *end, *index;
  int32_t *ptr32, *index32, *first32;
  void *values;
  const void **blocks;
} arrays;

static void put(const dense *m, void *values, int64_t at, number x) {
  if (m->is_complex)
    ((number *)values)[at] = x;
  else
    ((double *)values)[at] = creal(x);
}

/* Compressed columns or rows; gaps between the lines, entries in any order, some twice. */
static tristar_triangle compress(const dense *m, const number *t, bool by_rows, bool unit, arrays *a) {
  const int n = m->n;
  int64_t at = 0;
  a->ptr = calloc((size_t)n + 1, sizeof *a->ptr);
  a->end = calloc((size_t)n + 1, sizeof *a->end);
  a->index = calloc(3 * (size_t)n * (size_t)n + 8, sizeof *a->index);
  a->values = calloc(3 * (size_t)n * (size_t)n + 8, sizeof(number));
  for (int j = 0; j < n; j++) {
    a->ptr[j] = at;
    const int turn = below(n);
    for (int q = 0; q < n; q++) {
      const int i = (q + turn) % n;
      const number x = by_rows ? t[j * n + i] : t[i * n + j];
      if (x == 0 || (unit && i == j && below(2))) continue;
      const bool twice = below(10) == 0;
      for (int half = 0; half <= twice; half++) {
        a->index[at] = i;
        put(m, a->values, at++, twice ? x / 2 : x);
      }
    }
    a->end[j] = at;
    at += below(3);
  }
  a->ptr[n] = at;
  return (tristar_triangle){.format = by_rows ? TRISTAR_TRIANGLE_ROWS : TRISTAR_TRIANGLE_COLUMNS,
                            .unit_diagonal = unit,
                            .ptr_bits = 64,
                            .index_bits = 64,
                            .ptr = a->ptr,
                            .end = a->end,
                            .index = a->index,
                            .values = a->values};
}

/* Supernodes of up to 5 columns with the union of their rows, those below in descending order; rubbish above
 * the diagonal. */
static tristar_triangle block_columns(const dense *m, const number *t, bool unit, arrays *a) {
  const int n = m->n;
  int32_t at = 0, supernodes = 0;
  size_t value = 0;
  a->ptr32 = calloc((size_t)n + 1, sizeof *a->ptr32);
  a->first32 = calloc((size_t)n + 1, sizeof *a->first32);
  a->index32 = calloc((size_t)n * (size_t)n + 1, sizeof *a->index32);
  a->values = calloc((size_t)n * (size_t)n * 5 + 1, sizeof(number));
  a->blocks = calloc((size_t)n + 1, sizeof *a->blocks);
  for (int first = 0, end; first < n; first = end) {
    end = first + 1 + below(5);
    if (end > n) end = n;
    a->first32[supernodes] = first;
    a->ptr32[supernodes] = at;
    a->blocks[supernodes++] = (char *)a->values + value * (m->is_complex ? sizeof(number) : sizeof(double));
    const int32_t begin = at;
    for (int i = first; i < end; i++) a->index32[at++] = i;
    for (int i = n - 1; i >= end; i--) {
      bool any = false;
      for (int j = first; j < end; j++) any |= t[i * n + j] != 0;
      if (any) a->index32[at++] = i;
    }
    for (int j = first; j < end; j++)
      for (int32_t q = begin; q < at; q++, value++) {
        const int i = a->index32[q];
        put(m, a->values, (int64_t)value, i < j ? NAN : unit && i == j ? 77 : t[i * n + j]);
      }
  }
  a->first32[supernodes] = n;
  a->ptr32[supernodes] = at;
  return (tristar_triangle){.format = TRISTAR_TRIANGLE_SUPERNODES,
                            .unit_diagonal = unit,
                            .ptr_bits = 32,
                            .index_bits = 32,
                            .ptr = a->ptr32,
                            .index = a->index32,
                            .supernodes = supernodes,
                            .first = a->first32,
                            .blocks = a->blocks};
}

static void release_arrays(arrays *a) {
  free(a->ptr);
  free(a->end);
  free(a->index);
  free(a->ptr32);
  free(a->index32);
  free(a->first32);
  free(a->values);
  free(a->blocks);
  memset(a, 0, sizeof *a);
}

typedef struct view {
  tristar_factors factors;
  arrays lower, upper;
  void *diagonal, *matrix_values;
  int64_t *matrix_ptr, *matrix_index;
  tristar_view matrix;
} view;

/* format: 0 columns, 1 rows, 2 supernodes, of L; U by rows where L is by columns. */
static void make_view(const dense *m, int format, bool with_matrix, view *v) {
  const int n = m->n;
  memset(v, 0, sizeof *v);
  tristar_factors_init(&v->factors);
  v->factors.n = n;
  v->factors.scalar = m->is_complex ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE;
  v->factors.method = m->method;
  v->factors.hermitian = m->hermitian;
  const bool unit = m->method != TRISTAR_METHOD_LLT;
  v->factors.lower =
      format == 2 ? block_columns(m, m->l, unit, &v->lower) : compress(m, m->l, format == 1, unit, &v->lower);
  if (m->method == TRISTAR_METHOD_LU) v->factors.upper = compress(m, m->u, format != 1, false, &v->upper);
  v->diagonal = calloc((size_t)n + 1, sizeof(number));
  for (int k = 0; k < n; k++) put(m, v->diagonal, k, m->d[k]);
  v->factors.diagonal = v->diagonal;
  v->factors.row_order = m->row_order;
  v->factors.column_order = m->column_order;
  v->factors.row_scale = m->row_scale;
  v->factors.column_scale = m->column_scale;
  v->matrix_ptr = calloc((size_t)n + 1, sizeof *v->matrix_ptr);
  v->matrix_index = calloc((size_t)n * (size_t)n + 1, sizeof *v->matrix_index);
  v->matrix_values = calloc((size_t)n * (size_t)n + 1, sizeof(number));
  for (int64_t r = 0; r < n; r++) {
    for (int64_t c = 0; c < n; c++) {
      v->matrix_index[r * n + c] = c;
      put(m, v->matrix_values, r * n + c, m->a[r * n + c]);
    }
    v->matrix_ptr[r + 1] = (r + 1) * n;
  }
  v->matrix = (tristar_view){.format = TRISTAR_CSR,
                             .symmetry = TRISTAR_GENERAL,
                             .scalar = v->factors.scalar,
                             .rows = n,
                             .cols = n,
                             .ptr = v->matrix_ptr,
                             .index = v->matrix_index,
                             .values = v->matrix_values,
                             .ptr_bits = 64,
                             .index_bits = 64};
  if (with_matrix) v->factors.matrix = &v->matrix;
}

static void release_view(view *v) {
  release_arrays(&v->lower);
  release_arrays(&v->upper);
  free(v->diagonal);
  free(v->matrix_ptr);
  free(v->matrix_index);
  free(v->matrix_values);
}

/* ---- Solves -----------------------------------------------------------------------------------------------
 */

/* y = op(M) x for NRHS columns; M by rows, NULL: diagonal d. */
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
  for (int i = 0; i < m->n * NRHS; i++) put(m, to, i, from[i]);
}
static number load(const dense *m, const void *from, int64_t i) {
  return m->is_complex ? ((const number *)from)[i] : ((const double *)from)[i];
}

static void compare(const dense *m, const void *x, const number *expected, const char *what, int op) {
  double worst = 0, largest = 0;
  for (int i = 0; i < m->n * NRHS; i++) {
    worst = fmax(worst, cabs(load(m, x, i) - expected[i]));
    largest = fmax(largest, cabs(expected[i]));
    CHECK(!isnan(creal(load(m, x, i))));
  }
  CHECK_MSG(worst <= 1e-8 * largest, "%s, op %c, method %d, n %d: error %g of %g", what, op, (int)m->method,
            m->n, worst, largest);
}

/* op(A) as a whole, and each part in factor order. */
static void check_parts(const dense *m, tristar_plan_t *plan) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  static const char *const names[] = {"A", "L", "D", "U"};
  const size_t size = (size_t)m->n * NRHS + 1;
  number *x = calloc(size, sizeof *x), *y = calloc(size, sizeof *y);
  void *b = calloc(size, sizeof *x), *z = calloc(size, sizeof *x);
  const number *matrices[] = {m->a, m->l, NULL, m->u};
  for (int o = 0; o < 3; o++)
    for (int part = 0; part < 4; part++) {
      tristar_solve_options options;
      tristar_solve_options_init(&options);
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
  free(x);
  free(y);
  free(b);
  free(z);
}

/* The parts one after the other give what the whole gives. */
static void check_chain(const dense *m, tristar_plan_t *plan) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const size_t size = (size_t)m->n * NRHS + 1;
  void *b = calloc(size, sizeof(number)), *x = calloc(size, sizeof(number));
  number *expected = calloc(size, sizeof *expected);
  for (int o = 0; o < 3; o++) {
    tristar_solve_options options;
    tristar_solve_options_init(&options);
    options.op = ops[o];
    for (size_t i = 0; i + 1 < size; i++) put(m, b, (int64_t)i, entry(m));
    CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, x, NULL));
    for (int i = 0; i < m->n * NRHS; i++) expected[i] = load(m, x, i);
    for (int k = 0; k < 3; k++) {
      options.part =
          ops[o] == TRISTAR_N ? (tristar_part)(TRISTAR_PART_L + k) : (tristar_part)(TRISTAR_PART_U - k);
      CHECK_OK(tristar_solve_with(plan, &options, NRHS, b, b, NULL));
    }
    compare(m, b, expected, "parts in turn", (int)ops[o]);
  }
  free(b);
  free(x);
  free(expected);
}

/* Some rows of b, some rows of x, strides: the same numbers as the dense solve. */
static void check_rows(const dense *m, tristar_plan_t *plan, tristar_part part) {
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = m->n;
  int64_t given[N_MAX], wanted[N_MAX];
  const size_t size = (size_t)n * NRHS + 1;
  void *b = calloc(size, sizeof(number)), *x = calloc(size, sizeof(number)),
       *bs = calloc(size, sizeof(number)), *xs = calloc(size, sizeof(number));
  for (int o = 0; o < 3; o++)
    for (int lists = 0; lists < 4; lists++) {
      tristar_solve_options options;
      tristar_solve_result result = {-1};
      tristar_solve_options_init(&options);
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
          put(m, b, (lists & 1 ? given[i] : i) + c * n, e);
          put(m, bs, i * NRHS + c, e);
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
  free(b);
  free(x);
  free(bs);
  free(xs);
}

static void check_refined(const dense *m, tristar_plan_t *plan, bool has_matrix) {
  const size_t size = (size_t)m->n + 1;
  void *b = calloc(size, sizeof(number)), *x = calloc(size, sizeof(number));
  tristar_refine_result result;
  double reciprocal;
  for (int i = 0; i < m->n; i++) put(m, b, i, entry(m));
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
  free(b);
  free(x);
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
  view v;
  tristar_factor_t *f;
  make_view(m, format, format != 1, &v);
  CHECK_OK(tristar_import_supernodal(ts, &v.factors, &f));
  check_order(m, f);
  for (int k = 0; k < 4; k++) {
    tristar_plan_options options;
    tristar_plan_t *plan;
    tristar_plan_options_init(&options);
    options.engine = k == 3 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
    options.chunk_bytes_max = k > 0 ? 700 : 0;
    options.order_seed = k == 2 ? 5 : 0;
    CHECK_OK(tristar_plan(f, &options, &plan));
    check_parts(m, plan);
    check_chain(m, plan);
    check_rows(m, plan, TRISTAR_PART_ALL);
    check_rows(m, plan, (tristar_part)(1 + below(3)));
    check_refined(m, plan, format != 1);
    if (k == 3) { /* new values in the same plan */
      for (int i = 0; i < m->n * m->n; i++) {
        m->l[i] *= i % (m->n + 1) ? 0.5 : 1;
        m->u[i] *= i % (m->n + 1) ? 0.5 : 1;
      }
      multiply_factors(m);
      view again;
      make_view(m, format, format != 1, &again);
      CHECK_OK(tristar_reimport(f, &again.factors));
      check_parts(m, plan);
      check_refined(m, plan, format != 1);
      release_view(&again);
    }
    tristar_plan_destroy(&plan);
  }
  tristar_factor_destroy(&f);
  release_view(&v);
}

/* ---- A triangular matrix alone
 * ------------------------------------------------------------------------------ */

static void check_triangle(tristar_t *ts, bool is_complex, bool upper, bool unit, bool by_rows) {
  dense m = draw(90, is_complex, TRISTAR_METHOD_LU, false);
  static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
  const int n = m.n;
  view v;
  tristar_factor_t *f;
  tristar_plan_t *plan;
  tristar_plan_options options;
  number *t = upper ? m.u : m.l, *x = calloc((size_t)n * NRHS, sizeof *x),
         *y = calloc((size_t)n * NRHS, sizeof *y);
  void *b = calloc((size_t)n * NRHS, sizeof *x);
  for (int k = 0; k < n; k++) t[k * n + k] = unit ? 1 : 1.5 + 0.2 * uniform();
  memcpy(m.a, t, (size_t)(n * n) * sizeof *t);
  for (int i = 0; i < n; i++) /* what is not to be read */
    for (int j = 0; j < n; j++)
      if (upper ? i > j : i < j) t[i * n + j] = below(9) == 0;
  make_view(&m, 0, false, &v);
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++)
      put(&m, v.matrix_values, r * n + c, unit && r == c ? 55 : by_rows ? t[r * n + c] : t[c * n + r]);
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
  tristar_solve_options part;
  tristar_solve_options_init(&part);
  part.part = upper ? TRISTAR_PART_L : TRISTAR_PART_U;
  CHECK_STATUS(tristar_solve_with(plan, &part, NRHS, b, b, NULL), TRISTAR_ERR_ARGUMENT);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  release_view(&v);
  release(&m);
  free(x);
  free(y);
  free(b);
}

/* ---- Bad input
 * ---------------------------------------------------------------------------------------------- */

static void expect(tristar_t *ts, const tristar_factors *factors, tristar_status status, const char *text) {
  tristar_factor_t *f = (tristar_factor_t *)ts;
  char message[500];
  CHECK_STATUS(tristar_import_supernodal(ts, factors, &f), status);
  CHECK(f == NULL);
  tristar_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, text) != NULL, "'%s' is not in '%s'", text, message);
}

#define WITH(place, value, status, text)                                                                     \
  do {                                                                                                       \
    const __typeof__(place) keep = (place);                                                                  \
    (place) = (value);                                                                                       \
    expect(ts, f, status, text);                                                                             \
    (place) = keep;                                                                                          \
  } while (0)

static void check_bad_input(tristar_t *ts) {
  dense m = draw(40, false, TRISTAR_METHOD_LU, false);
  view v;
  tristar_factor_t *good;
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
  expect(ts, f, TRISTAR_ERR_NOT_FINITE, "U");
  release_arrays(&v.upper);
  m.u[9 * 40 + 9] = 1;
  f->upper = compress(&m, m.u, true, false, &v.upper);
  CHECK_OK(tristar_import_supernodal(ts, f, &good));
  CHECK_STATUS(tristar_refactor(good, v.matrix_values), TRISTAR_ERR_UNSUPPORTED);
  release_arrays(&v.lower);
  m.l[39 * 40] = m.l[38 * 40] = m.l[37 * 40] = 1; /* more than was there */
  m.l[36 * 40] = m.l[35 * 40] = m.l[34 * 40] = m.l[20 * 40] = 1;
  f->lower = compress(&m, m.l, false, true, &v.lower);
  CHECK_STATUS(tristar_reimport(good, f), TRISTAR_ERR_STALE);
  tristar_plan_t *plan;
  CHECK_STATUS(tristar_plan(good, NULL, &plan), TRISTAR_ERR_STALE);
  tristar_factor_destroy(&good);
  release_view(&v);
  release(&m);
}

int main(void) {
  tristar_config config;
  tristar_t *ts;
  tristar_config_init(&config);
  config.workers = 2;
  config.check = 1;
  CHECK_OK(tristar_create(&config, &ts));
  static const int sizes[] = {0, 1, 2, 17, N_MAX};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int is_complex = 0; is_complex < 2; is_complex++)
      for (int kind = 0; kind < 5; kind++) { /* LLT, LLH, LDLT, LDLH, LU */
        const tristar_method method = kind < 2   ? TRISTAR_METHOD_LLT
                                      : kind < 4 ? TRISTAR_METHOD_LDLT
                                                 : TRISTAR_METHOD_LU;
        if (!is_complex && (kind == 1 || kind == 3)) continue;
        for (int format = 0; format < 3; format++) {
          dense m = draw(sizes[s], is_complex, method, kind == 1 || kind == 3);
          check_import(ts, &m, format);
          release(&m);
        }
      }
  for (int k = 0; k < 16; k++) check_triangle(ts, k & 1, k & 2, k & 4, k & 8);
  check_bad_input(ts);
  tristar_memory_stats memory;
  tristar_memory(ts, &memory);
  CHECK(memory.current_bytes == 0);
  tristar_destroy(&ts);
  return 0;
}
