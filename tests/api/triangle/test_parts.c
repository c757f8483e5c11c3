/* The library's own factors by parts, in factor order, with strides, sparse right-hand sides and chosen rows:
 * parts one after the other give the whole, L and U are triangular in factor order, lists of rows and layouts
 * give the very numbers of the dense solve, and less of the factor is read. */
#include "tests/support/context.h"
#include "tests/support/magnitude.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"
#include "tristar_stats.h"
#undef I

typedef double _Complex number;

enum { NRHS = 3 };
static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};

typedef struct problem {
  const char *kind;
  int64_t k;
  tristar_method method;
  bool is_complex, single;
  tristar_symmetry symmetry; /* declared symmetry of the complex matrix; GENERAL: as generated */
} problem;

static const problem problems[] = {
    {"s2d9pt", 14, TRISTAR_METHOD_LLT, false, false, TRISTAR_GENERAL},
    {"poisson3d7", 7, TRISTAR_METHOD_LLT, true, false, TRISTAR_HERMITIAN},
    {"kkt3d", 5, TRISTAR_METHOD_LDLT, false, false, TRISTAR_GENERAL},
    {"kkt3d", 5, TRISTAR_METHOD_LDLT, true, false, TRISTAR_SYMMETRIC},
    {"kkt3d", 5, TRISTAR_METHOD_LDLT, true, false, TRISTAR_HERMITIAN},
    {"convdiff3d", 7, TRISTAR_METHOD_LU, false, false, TRISTAR_GENERAL},
    {"circuit", 400, TRISTAR_METHOD_LU, true, false, TRISTAR_GENERAL},
    {"kkt3d", 5, TRISTAR_METHOD_LU, false, false, TRISTAR_GENERAL}, /* with a matching: rows are permuted */
    {"chem3d", 4, TRISTAR_METHOD_LU, false, true, TRISTAR_GENERAL}, /* single factors */
};

typedef struct state {
  const problem *p;
  tristar_view view;
  void *values;
  int64_t n;
  size_t bytes;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  int64_t chunks;
  uint64_t random;
} state;

static number draw(state *s) {
  number x = (double)next_random(&s->random) / 1073741824.0 - 1.0;
  if (s->p->is_complex) __imag__ x = (double)next_random(&s->random) / 1073741824.0 - 1.0;
  return x;
}
static int64_t below(state *s, int64_t limit) {
  return (int64_t)(next_random(&s->random) % (uint64_t)limit);
}
static void put(const state *s, void *array, int64_t i, number x) {
  if (s->p->is_complex)
    ((number *)array)[i] = x;
  else
    ((double *)array)[i] = creal(x);
}
static number get(const state *s, const void *array, int64_t i) {
  return s->p->is_complex ? ((const number *)array)[i] : ((const double *)array)[i];
}
static void *make(const state *s, int64_t count) {
  return xcalloc((size_t)count + 1, s->bytes);
}

/* Complex values; off the diagonal their imaginary parts are small. */
static void complex_values(state *s) {
  const int64_t *ptr = s->view.ptr, entries = ptr[s->view.cols];
  const int32_t *index = s->view.index;
  const double *from = s->view.values;
  number *to = xmalloc(((size_t)entries + 1) * sizeof *to);
  for (int64_t j = 0; j < s->view.cols; j++)
    for (int64_t p = ptr[j]; p < ptr[j + 1]; p++) {
      to[p] = from[p];
      if (index[p] != j || s->p->symmetry != TRISTAR_HERMITIAN)
        __imag__ to[p] = 0.1 * from[p] * creal(draw(s));
    }
  s->values = to;
  s->view.values = to;
  s->view.scalar = TRISTAR_COMPLEX_DOUBLE;
  if (s->p->symmetry != TRISTAR_GENERAL) s->view.symmetry = s->p->symmetry;
}

static double size_of(const state *s, const void *x, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, magnitude(get(s, x, i)));
  return largest;
}

static void compare(const state *s, const void *x, const void *y, const char *what, int op) {
  const double scale = size_of(s, y, s->n * NRHS), bound = s->p->single ? 1e-3 : 1e-9;
  double worst = 0;
  for (int64_t i = 0; i < s->n * NRHS; i++)
    worst = larger_error(worst, magnitude(get(s, x, i) - get(s, y, i)));
  CHECK_MSG(worst <= bound * scale, "%s, method %d, op %c: %s differs by %g of %g", s->p->kind,
            (int)s->p->method, op, what, worst, scale);
}

static void fill(state *s, void *b) {
  for (int64_t i = 0; i < s->n * NRHS; i++) put(s, b, i, draw(s));
}

/* Solves with the parts one after the other. */
static void check_chain(state *s) {
  OWNED void *b = make(s, s->n * NRHS), *x = make(s, s->n * NRHS), *y = make(s, s->n * NRHS);
  for (int o = 0; o < 3; o++) {
    tristar_solve_options options = DEFAULTS(tristar_solve_options);
    options.op = ops[o];
    fill(s, b);
    CHECK_OK(tristar_solve(s->plan, ops[o], NRHS, b, s->n, x, s->n));
    CHECK_OK(tristar_solve_with(s->plan, &options, NRHS, b, y, NULL));
    CHECK(memcmp(x, y, (size_t)(s->n * NRHS) * s->bytes) == 0);
    for (int k = 0; k < 3; k++) { /* in place */
      options.part = o == 0 ? (tristar_part)(TRISTAR_PART_L + k) : (tristar_part)(TRISTAR_PART_U - k);
      CHECK_OK(tristar_solve_with(s->plan, &options, NRHS, b, b, NULL));
    }
    compare(s, b, x, "parts in turn", (int)ops[o]);
  }
}

/* Solves in factor order, with the orders of tristar_factor_get_order. */
static void check_factor_order(state *s) {
  const int64_t n = s->n;
  OWNED int64_t *rows = xmalloc((size_t)n * sizeof *rows), *columns = xmalloc((size_t)n * sizeof *columns);
  OWNED double *row_scale = xmalloc((size_t)n * sizeof *row_scale),
               *column_scale = xmalloc((size_t)n * sizeof *column_scale);
  OWNED void *b = make(s, n * NRHS), *x = make(s, n * NRHS), *bf = make(s, n * NRHS), *xf = make(s, n * NRHS);
  tristar_factor_get_order(s->factor, rows, columns, row_scale, column_scale);
  for (int o = 0; o < 3; o++) {
    const int64_t *in = o == 0 ? rows : columns, *out = o == 0 ? columns : rows;
    const double *in_scale = o == 0 ? row_scale : column_scale,
                 *out_scale = o == 0 ? column_scale : row_scale;
    tristar_solve_options options = DEFAULTS(tristar_solve_options);
    options.op = ops[o];
    options.factor_order = 1;
    fill(s, b);
    for (int64_t k = 0; k < n * NRHS; k++)
      put(s, bf, k, get(s, b, in[k % n] + k / n * n) * in_scale[in[k % n]]);
    CHECK_OK(tristar_solve(s->plan, ops[o], NRHS, b, n, x, n));
    CHECK_OK(tristar_solve_with(s->plan, &options, NRHS, bf, xf, NULL));
    for (int64_t k = 0; k < n * NRHS; k++)
      put(s, bf, k, get(s, x, out[k % n] + k / n * n) / out_scale[out[k % n]]);
    compare(s, xf, bf, "factor order", (int)ops[o]);
  }
}

/* L^-1 of a unit vector has zeros before the one, U^-1 has zeros after it. */
static void check_triangular(state *s) {
  const int64_t n = s->n;
  OWNED void *b = make(s, n), *x = make(s, n);
  for (int turn = 0; turn < 20; turn++) {
    const int64_t k = below(s, n);
    put(s, b, k, 1);
    for (int part = TRISTAR_PART_L; part <= TRISTAR_PART_U; part++) {
      tristar_solve_options options = DEFAULTS(tristar_solve_options);
      options.part = (tristar_part)part;
      options.factor_order = 1;
      CHECK_OK(tristar_solve_with(s->plan, &options, 1, b, x, NULL));
      for (int64_t i = 0; i < n; i++) {
        const bool zero = part == TRISTAR_PART_L ? i < k : part == TRISTAR_PART_U ? i > k : llabs(i - k) > 1;
        CHECK_MSG(!zero || get(s, x, i) == 0, "%s: part %d is not triangular: column %d, row %d", s->p->kind,
                  part, (int)k, (int)i);
      }
      if (part == TRISTAR_PART_L && s->p->method != TRISTAR_METHOD_LLT) CHECK(get(s, x, k) == 1);
      CHECK(part == TRISTAR_PART_D || get(s, x, k) != 0);
    }
    put(s, b, k, 0);
  }
}

/* Lists of rows and row-major arrays give the same numbers as all rows in column-major order (compared by
 * ==, as signs of zeros may differ). */
static void check_rows(state *s, tristar_op op, tristar_part part, bool factor_order, int64_t given_rows,
                       int64_t requested_rows) {
  const int64_t n = s->n, in = given_rows < 0 ? n : given_rows, out = requested_rows < 0 ? n : requested_rows;
  OWNED int64_t *given = xmalloc((size_t)n * sizeof *given), *wanted = xmalloc((size_t)n * sizeof *wanted);
  OWNED void *b = make(s, n * NRHS), *x = make(s, n * NRHS), *bs = make(s, n * NRHS), *xs = make(s, n * NRHS);
  tristar_solve_options options;
  tristar_solve_result whole = {.share = -1}, result = {.share = -1};
  const int64_t step = 7, start = below(s, n), other = below(s, n); /* n is not a multiple of 7 */
  for (int64_t i = 0; i < n; i++) {
    given[i] = (start + i * step) % n;
    wanted[i] = (other + i * step) % n;
  }
  for (int64_t i = 0; i < in; i++)
    for (int64_t c = 0; c < NRHS; c++) {
      const number e = draw(s);
      put(s, b, (given_rows < 0 ? i : given[i]) + c * n, e);
      put(s, bs, i * NRHS + c, e);
    }
  tristar_solve_options_init(&options);
  options.op = op;
  options.part = part;
  options.factor_order = factor_order;
  CHECK_OK(tristar_solve_with(s->plan, &options, NRHS, b, x, &whole));
  options.b_row_stride = options.x_row_stride = NRHS;
  options.b_column_stride = options.x_column_stride = 1;
  options.b_rows = in;
  options.x_rows = out;
  options.b_row = given_rows < 0 ? NULL : given;
  options.x_row = requested_rows < 0 ? NULL : wanted;
  CHECK_OK(tristar_solve_with(s->plan, &options, NRHS, bs, xs, &result));
  for (int64_t i = 0; i < out; i++)
    for (int64_t c = 0; c < NRHS; c++)
      CHECK_MSG(get(s, xs, i * NRHS + c) == get(s, x, (requested_rows < 0 ? i : wanted[i]) + c * n),
                "%s, op %c, part %d, %d rows given, %d wanted: row %d", s->p->kind, (int)op, (int)part,
                (int)given_rows, (int)requested_rows, (int)i);
  CHECK(whole.share == 1 && result.share >= 0 && result.share <= 1);
  if (given_rows == 0 && requested_rows == 0 && part != TRISTAR_PART_D) CHECK(result.share == 0);
  if (given_rows == 1 && requested_rows == 1 && part == TRISTAR_PART_ALL && s->chunks > 9)
    CHECK(result.share < 0.9);
}

/* With L alone and only the first row given and wanted, all other rows are skipped. */
static void check_useless(state *s) {
  int64_t first[] = {0};
  OWNED void *b = make(s, 1), *x = make(s, s->n);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  tristar_solve_result one = {.share = -1}, all = {.share = -1};
  options.part = TRISTAR_PART_L;
  options.factor_order = 1;
  options.b_row = first;
  options.b_rows = 1;
  put(s, b, 0, 1);
  CHECK_OK(tristar_solve_with(s->plan, &options, 1, b, x, &all));
  options.x_row = first;
  options.x_rows = 1;
  CHECK_OK(tristar_solve_with(s->plan, &options, 1, b, x, &one));
  CHECK_MSG(s->chunks == 1 || (one.share > 0 && one.share < 0.9 * all.share), "%s: shares %g and %g",
            s->p->kind, one.share, all.share);
}

static void check_bad_calls(tristar_t *ts, state *s) {
  tristar_solve_options good, o;
  char message[400];
  int64_t rows[] = {0, 5, 5}, out_of_range[] = {0, s->n};
  OWNED void *b = make(s, s->n), *x = make(s, s->n);
  tristar_solve_options_init(&good);
#define BAD(change, text)                                                                                    \
  do {                                                                                                       \
    o = good;                                                                                                \
    change;                                                                                                  \
    CHECK_STATUS(tristar_solve_with(s->plan, &o, 1, b, x, NULL), TRISTAR_ERR_ARGUMENT);                      \
    tristar_get_error(ts, message, sizeof message);                                                          \
    CHECK_MSG(strstr(message, text) != NULL, "'%s' is not in '%s'", text, message);                          \
  } while (0)
  BAD(o.op = (tristar_op)'Q', "op is");
  BAD(o.part = (tristar_part)9, "part is 9");
  BAD((o.b_row = rows, o.b_rows = 3), "b_row lists row 5 twice");
  BAD((o.x_row = out_of_range, o.x_rows = 2), "x_row[1] =");
  BAD((o.x_row = rows, o.x_rows = -1), "x_row has -1 rows");
  BAD((o.b_row = rows, o.b_rows = s->n + 1), "b_row has");
  BAD((o.b_row_stride = -1, o.b_column_stride = 1), "not all positive");
  BAD(o.x_row_stride = 1, "not all positive");
  good.b_row = rows;
  good.b_rows = 1;
  o = good;
  CHECK_STATUS(tristar_solve_with(s->plan, &o, 1, b, b, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_solve_with(NULL, &o, 1, b, x, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_solve_with(s->plan, NULL, 1, b, x, NULL));
  CHECK_OK(tristar_solve_with(s->plan, &good, 0, NULL, NULL, NULL));
}

static void check_problem(tristar_t *ts, const problem *p, tristar_engine engine, int64_t chunk_bytes) {
  state s = {.p = p, .random = 3};
  tristar_matrix_t *matrix;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  s.view = generated_view(ts, p->kind, p->k, &matrix);
  if (p->is_complex) complex_values(&s);
  s.n = s.view.rows;
  s.bytes = p->is_complex ? sizeof(number) : sizeof(double);
  options.method = p->method;
  options.single_factors = p->single;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &s.view, &options);
  CHECK_OK(tristar_factor(analysis, s.view.values, &s.factor));
  plan.engine = engine;
  plan.chunk_bytes_max = chunk_bytes;
  CHECK_OK(tristar_plan(s.factor, &plan, &s.plan));
  tristar_plan_stats stats;
  tristar_plan_get_stats(s.plan, &stats);
  s.chunks = stats.chunks;
  if (chunk_bytes > 0) CHECK_MSG(s.chunks > 1, "%s has %d chunks", p->kind, (int)s.chunks);
  check_chain(&s);
  check_factor_order(&s);
  check_triangular(&s);
  static const int64_t counts[] = {-1, 0, 1, 9};
  for (int o = 0; o < 3; o++)
    for (int part = 0; part < 4; part++)
      for (int k = 0; k < 16; k++)
        check_rows(&s, ops[o], (tristar_part)part, below(&s, 2), counts[k % 4], counts[k / 4]);
  check_useless(&s);
  check_bad_calls(ts, &s);
  tristar_plan_destroy(&s.plan);
  tristar_factor_destroy(&s.factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  free(s.values);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, true);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
    RUN(check_problem(ts, &problems[k], TRISTAR_ENGINE_SERIAL, 0));
    RUN(check_problem(ts, &problems[k], TRISTAR_ENGINE_TASKS, 3000));
  }
  return 0;
}
