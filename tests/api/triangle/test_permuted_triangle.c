/* Triangles whose rows and columns are permuted and scaled, and x = beta x + alpha times the solution: every
 * partition, triangle, diagonal, type, op, one right-hand side and several, against substitution in dense
 * storage. Bits depend neither on the engine nor on strides, nor on x lying over b; alpha 1 and beta 0 change
 * none; NaN in x does not count where beta is 0; refinement works; what is wrong is told; every allocation
 * may fail. */
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"
#include "tests/support/typed.h"
#include "tristar_machine.h"
#include "tristar_solve.h"

enum { NRHS = 5, MOST = 64 };

/* A triangle T, dense and as a view, and how A has it. */
typedef struct problem {
  const typed *t;
  int32_t n;
  bool upper, unit, by_rows, permuted, clean; /* clean: nothing stands in the other triangle */
  tristar_op op;
  number dense[MOST][MOST]; /* ones on the diagonal of a unit triangle */
  int64_t ptr[MOST + 1];
  int32_t index[MOST * MOST];
  char values[MOST * MOST * sizeof(number)];
  bool with_row_order, with_column_order, with_row_scale, with_column_scale;
  int64_t row_order[MOST], column_order[MOST];
  double row_scale[MOST], column_scale[MOST];
} problem;

static void make_order(int32_t n, bool wanted, uint64_t *seed, int64_t *order) {
  for (int32_t k = 0; k < n; k++) order[k] = k;
  for (int32_t k = n; k-- > 1 && wanted;) {
    const int32_t other = (int32_t)(next_random(seed) % (uint64_t)(k + 1));
    const int64_t keep = order[k];
    order[k] = order[other];
    order[other] = keep;
  }
}

static void make_scale(int32_t n, bool wanted, uint64_t *seed, double *scale) {
  for (int32_t k = 0; k < n; k++) {
    const double size = 0.5 + (double)(next_random(seed) % 1000) / 700;
    scale[k] = !wanted ? 1 : next_random(seed) % 2 ? size : -size;
  }
}

static number value_of(const problem *p, int32_t i, int32_t j) {
  double part[2];
  fill_random(part, 2, (uint64_t)i * 7919u + (uint64_t)j);
  number a = part[0];
  __imag__ a = p->t->is_complex ? part[1] : 0;
  char rounded[sizeof a] = {0};
  put(p->t, rounded, 0, i == j ? 2 + a / 2 : 2 * a / (p->n + 4));
  return get(p->t, rounded, 0);
}

/* T, and as a view: T as it stands, or with its rows and columns where A has them. What is not to be read is
 * there too. */
static void fill_problem(problem *p, const triangle_pattern *lower) {
  number whole[MOST][MOST];
  bool stored[MOST][MOST];
  int64_t count = 0;
  memset(p->dense, 0, sizeof p->dense);
  memset(stored, 0, sizeof stored);
  for (int32_t i = 0; i < p->n; i++)
    for (int64_t e = lower->ptr[i]; e < lower->ptr[i + 1]; e++) {
      const int32_t k = p->upper ? lower->index[e] : i, l = p->upper ? i : lower->index[e];
      const int64_t r = p->permuted ? p->row_order[k] : k, c = p->permuted ? p->column_order[l] : l;
      p->dense[k][l] = p->unit && k == l ? 1 : value_of(p, k, l);
      whole[r][c] = p->unit && k == l ? 17 : p->dense[k][l];
      stored[r][c] = true;
    }
  if (p->n > 2 && !p->clean) {
    const int32_t k = p->upper ? p->n - 1 : 0, l = p->n - 1 - k;
    const int64_t r = p->permuted ? p->row_order[k] : k, c = p->permuted ? p->column_order[l] : l;
    whole[r][c] = 100;
    stored[r][c] = true;
  }
  for (int32_t j = 0; j < p->n; j++) {
    p->ptr[j] = count;
    for (int32_t i = 0; i < p->n; i++) {
      const int32_t r = p->by_rows ? j : i, c = p->by_rows ? i : j;
      if (!stored[r][c]) continue;
      p->index[count] = i;
      put(p->t, p->values, count++, whole[r][c]);
    }
  }
  p->ptr[p->n] = count;
}

static tristar_view view_of(const problem *p) {
  return (tristar_view){.format = p->by_rows ? TRISTAR_CSR : TRISTAR_CSC,
                        .symmetry = TRISTAR_GENERAL,
                        .scalar = p->t->scalar,
                        .rows = p->n,
                        .cols = p->n,
                        .ptr = p->ptr,
                        .index = p->index,
                        .values = p->values,
                        .ptr_bits = 64,
                        .index_bits = 32};
}

static tristar_triangle_options options_of(const problem *p, tristar_partition partition) {
  tristar_triangle_options o;
  tristar_triangle_options_init(&o);
  o.uplo = p->upper ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.diag = p->unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT;
  o.partition = partition;
  if (p->with_row_order) o.row_order = p->row_order;
  if (p->with_column_order) o.column_order = p->column_order;
  if (p->with_row_scale) o.row_scale = p->row_scale;
  if (p->with_column_scale) o.column_scale = p->column_scale;
  o.permuted = p->permuted;
  return o;
}

/* x := op(A)^-1 b in double, by substitution with T. */
static void solve_dense(const problem *p, const number *b, number *x) {
  const bool plain = p->op == TRISTAR_N, lower = p->upper != plain;
  const int64_t *in = plain ? p->row_order : p->column_order, *out = plain ? p->column_order : p->row_order;
  const double *in_scale = plain ? p->row_scale : p->column_scale,
               *out_scale = plain ? p->column_scale : p->row_scale;
  number y[MOST];
  for (int32_t q = 0; q < p->n; q++) {
    const int32_t k = lower ? q : p->n - 1 - q;
    y[k] = in_scale[in[k]] * b[in[k]];
    for (int32_t m = 0; m < q; m++) {
      const int32_t l = lower ? m : p->n - 1 - m;
      const number a = plain ? p->dense[k][l] : p->dense[l][k];
      y[k] -= (p->op == TRISTAR_C ? conj(a) : a) * y[l];
    }
    y[k] /= p->op == TRISTAR_C ? conj(p->dense[k][k]) : p->dense[k][k];
    x[out[k]] = out_scale[out[k]] * y[k];
  }
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

typedef struct factors {
  number alpha, beta;
  char alpha_stored[sizeof(number)], beta_stored[sizeof(number)];
} factors;

/* 0: none; 1: 1 and 0; 2: beta 0; 3: both; 4: x += the solution. */
static factors factors_of(const typed *t, int which) {
  factors f = {.alpha = 1, .beta = which == 4};
  if (which == 2 || which == 3) f.alpha = -0.75;
  if (which == 3) f.beta = 1.25;
  if (which == 3 && t->is_complex) __imag__ f.alpha = 0.5, __imag__ f.beta = -0.25;
  put(t, f.alpha_stored, 0, f.alpha);
  put(t, f.beta_stored, 0, f.beta);
  return f;
}

typedef struct vectors {
  char b[MOST * NRHS * sizeof(number)], before[MOST * NRHS * sizeof(number)], x[MOST * NRHS * sizeof(number)];
} vectors;

static void fill_vector(const typed *t, int64_t count, uint64_t seed, char *to) {
  double part[2];
  for (int64_t i = 0; i < count; i++) {
    fill_random(part, 2, (uint64_t)i + seed);
    number z = part[0];
    __imag__ z = part[1];
    put(t, to, i, z);
  }
}

static void copy_apart(const typed *t, int64_t count, int64_t from_step, const char *from, int64_t to_step,
                       char *to) {
  for (int64_t i = 0; i < count; i++)
    memcpy(to + (size_t)(i * to_step) * t->bytes, from + (size_t)(i * from_step) * t->bytes, t->bytes);
}

/* The same with the scalars of b and of x apart, started; and with x over b: same bits. */
static void check_again(const problem *p, tristar_plan_t *plan, tristar_solve_options o, int64_t nrhs,
                        const vectors *v, const char *what) {
  enum { APART = 3 };
  const int64_t count = p->n * nrhs;
  const size_t size = (size_t)count * p->t->bytes;
  static char b[APART * MOST * NRHS * sizeof(number)], x[APART * MOST * NRHS * sizeof(number)],
      close[MOST * NRHS * sizeof(number)];
  tristar_request_t *request;
  tristar_solve_options apart = o;
  apart.b_row_stride = apart.x_row_stride = APART;
  apart.b_column_stride = apart.x_column_stride = p->n > 0 ? APART * p->n : 1;
  copy_apart(p->t, count, 1, v->b, APART, b);
  copy_apart(p->t, count, 1, v->before, APART, x);
  CHECK_OK(tristar_solve_start(plan, &apart, nrhs, b, x, &request));
  CHECK_OK(tristar_wait(&request, NULL));
  copy_apart(p->t, count, APART, x, 1, close);
  CHECK_MSG(memcmp(close, v->x, size) == 0, "%s: other bits with strides", what);
  memcpy(close, v->b, size); /* what x has before */
  CHECK_OK(tristar_solve_with(plan, &o, nrhs, v->b, close, NULL));
  memcpy(x, v->b, size);
  CHECK_OK(tristar_solve_with(plan, &o, nrhs, x, x, NULL));
  CHECK_MSG(memcmp(close, x, size) == 0, "%s: other bits over b", what);
  copy_apart(p->t, count, 1, v->b, APART, x);
  CHECK_OK(tristar_solve_with(plan, &apart, nrhs, x, x, NULL));
  copy_apart(p->t, count, APART, x, 1, x);
  CHECK_MSG(memcmp(close, x, size) == 0, "%s: other bits over b with strides", what);
}

static void check_solve(const problem *p, tristar_plan_t *plan, int which, int64_t nrhs, vectors *v,
                        const char *what) {
  const factors f = factors_of(p->t, which);
  const int64_t count = p->n * nrhs;
  tristar_solve_options o;
  tristar_solve_options_init(&o);
  o.op = p->op;
  if (which > 0) o.alpha = f.alpha_stored, o.beta = f.beta_stored;
  fill_vector(p->t, count, 77, v->before);
  if (f.beta == 0)
    for (int64_t i = 0; i < count; i++) put(p->t, v->before, i, NAN);
  memcpy(v->x, v->before, (size_t)count * p->t->bytes);
  CHECK_OK(tristar_solve_with(plan, &o, nrhs, v->b, v->x, NULL));
  for (int64_t c = 0; c < nrhs; c++) {
    number b[MOST], x[MOST];
    for (int32_t i = 0; i < p->n; i++) b[i] = get(p->t, v->b, i + c * p->n);
    solve_dense(p, b, x);
    for (int32_t i = 0; i < p->n; i++) {
      const number before = f.beta == 0 ? 0 : f.beta * get(p->t, v->before, i + c * p->n);
      const number right = f.alpha * x[i] + before, got = get(p->t, v->x, i + c * p->n);
      CHECK_MSG(magnitude(got - right) <=
                    200 * p->t->roundoff * (magnitude(f.alpha * x[i]) + magnitude(before) + 1),
                "%s, alpha and beta %d, column %d of %d: entry %d is %g%+gi, not %g%+gi", what, which, (int)c,
                (int)nrhs, i, creal(got), cimag(got), creal(right), cimag(right));
    }
  }
  check_again(p, plan, o, nrhs, v, what);
}

static void check_plan(const problem *p, tristar_factor_t *factor, tristar_engine engine, int64_t nrhs,
                       const char *what, vectors *v, char *bits) {
  tristar_plan_options how;
  tristar_plan_t *plan;
  const size_t size = (size_t)(p->n * nrhs) * p->t->bytes;
  tristar_plan_options_init(&how);
  how.engine = engine;
  how.order_seed = engine == TRISTAR_ENGINE_SERIAL ? 3 : 0;
  CHECK_OK(tristar_plan(factor, &how, &plan));
  for (int which = 0; which < 5; which++) {
    check_solve(p, plan, which, nrhs, v, what);
    if (which == 0) memcpy(bits, v->x, size);
    CHECK_MSG(which != 1 || memcmp(bits, v->x, size) == 0, "%s: alpha 1, beta 0 change bits", what);
  }
  tristar_plan_destroy(&plan); /* v->x and bits: of alpha 1, and of x += */
}

/* One of the ways in which A has T. */
static void place(problem *p, int way) {
  uint64_t seed = (uint64_t)way + 11;
  p->with_row_order = way == 1 || way >= 3;
  p->with_column_order = way >= 4;
  p->with_row_scale = way == 2 || way == 3 || way == 5;
  p->with_column_scale = way == 5;
  p->permuted = way == 6 || way == 7;
  make_order(p->n, p->with_row_order, &seed, p->row_order);
  make_order(p->n, p->with_column_order, &seed, p->column_order);
  if (way == 7) memcpy(p->column_order, p->row_order, sizeof p->row_order);
  make_scale(p->n, p->with_row_scale, &seed, p->row_scale);
  make_scale(p->n, p->with_column_scale, &seed, p->column_scale);
}
enum { WAYS = 8 };

static void check_order(const problem *p, const tristar_factor_t *factor) {
  int64_t row[MOST], column[MOST];
  double row_scale[MOST], column_scale[MOST];
  CHECK_OK(tristar_factor_get_order(factor, row, column, row_scale, column_scale));
  for (int32_t k = 0; k < p->n; k++)
    CHECK(row[k] == p->row_order[k] && column[k] == p->column_order[k] && row_scale[k] == p->row_scale[k] &&
          column_scale[k] == p->column_scale[k]);
}

static void check_problem(tristar_t *ts, problem *p, int kind, int way, bool tasks) {
  static vectors v, other;
  static char bits[sizeof v.x], other_bits[sizeof v.x];
  CLEANUP(triangle_free) triangle_pattern lower = triangle_create(kind, p->n, (uint64_t)(kind + p->n));
  place(p, way);
  fill_problem(p, &lower);
  fill_vector(p->t, p->n * NRHS, 5, v.b);
  fill_vector(p->t, p->n * NRHS, 5, other.b);
  const tristar_view view = view_of(p);
  for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++) {
    const tristar_triangle_options options = options_of(p, (tristar_partition)partition);
    tristar_factor_t *factor;
    char what[200];
    snprintf(what, sizeof what, "%s, %c, upper %d, unit %d, by rows %d, op %c, way %d, partition %d",
             triangle_names[kind], (char)p->t->scalar, p->upper, p->unit, p->by_rows, (char)p->op, way,
             partition);
    CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
    check_order(p, factor);
    for (int64_t nrhs = 1; nrhs <= NRHS; nrhs += NRHS - 1) {
      const size_t size = (size_t)(p->n * nrhs) * p->t->bytes;
      check_plan(p, factor, TRISTAR_ENGINE_SERIAL, nrhs, what, &v, bits);
      if (!tasks) continue;
      for (int engine = 0; engine < 2; engine++) {
        check_plan(p, factor, engine ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_AUTO, nrhs, what, &other,
                   other_bits);
        CHECK_MSG(memcmp(v.x, other.x, size) == 0 && memcmp(bits, other_bits, size) == 0,
                  "%s: other bits of engine %d", what, engine);
      }
    }
    tristar_factor_destroy(&factor);
  }
}

static void check_all(tristar_t *ts) {
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_single,
                                       &typed_complex_double};
  static const int kinds[] = {TRIANGLE_RANDOM, TRIANGLE_BANDED, TRIANGLE_DENSE, TRIANGLE_GRID,
                              TRIANGLE_DIAGONAL};
  static problem p;
  for (int k = 0; k < (TSI_TESTS_SANITIZED ? 1 : 4); k++)
    for (int which = 0; which < 24; which++)
      for (int way = 0; way < WAYS; way++) {
        const int kind = kinds[(which + way) % 5];
        p.t = types[k];
        p.n = way == 3 && which < 3 ? which : 30 + which;
        p.upper = which % 2;
        p.unit = which / 2 % 2;
        p.op = (tristar_op) "NTC"[which / 4 % 3];
        p.by_rows = which / 12;
        check_problem(ts, &p, kind, way, false);
      }
}

/* More rows than a stream moves at a time, in runs and out of them: the bits of a solve with strides, which
 * goes another way. */
static void check_pieces(tristar_t *ts, int kind, tristar_partition partition) {
  enum { N = 1500 };
  static double values[N * 60], b[2 * N], x[N], apart[2 * N], scale[N];
  static int64_t order[N];
  const double alpha = 3, beta = 0.5;
  CLEANUP(triangle_free) triangle_pattern rows = triangle_create(kind, N, 2);
  uint64_t seed = 8;
  CHECK(rows.ptr[N] <= N * 60);
  fill_random(values, rows.ptr[N], 3);
  for (int64_t e = 0; e < rows.ptr[N]; e++) values[e] /= 8;
  for (int32_t i = 0; i < N; i++) values[rows.ptr[i + 1] - 1] = 3;
  fill_random(scale, N, 4);
  fill_random(b, 2 * N, 5);
  make_order(N, true, &seed, order);
  const tristar_view view = {.format = TRISTAR_CSR,
                             .scalar = TRISTAR_DOUBLE,
                             .rows = N,
                             .cols = N,
                             .ptr = rows.ptr,
                             .index = rows.index,
                             .values = values,
                             .ptr_bits = 64,
                             .index_bits = 32};
  for (int which = 0; which < 32; which++) {
    tristar_triangle_options options;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
    tristar_solve_options o;
    tristar_triangle_options_init(&options);
    options.partition = partition;
    if (which & 1) options.row_order = order;
    if (which & 2) options.column_scale = scale;
    if (which & 4) options.column_order = order;
    CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    tristar_solve_options_init(&o);
    o.op = which & 8 ? TRISTAR_T : TRISTAR_N;
    if (which & 16) o.alpha = &alpha, o.beta = &beta;
    for (int32_t i = 0; i < N; i++) x[i] = apart[2 * i] = b[2 * i + 1];
    o.b_row_stride = 2;
    o.x_row_stride = 2;
    o.b_column_stride = o.x_column_stride = 2 * N;
    CHECK_OK(tristar_solve_with(plan, &o, 1, b, apart, NULL));
    static double close[N];
    for (int32_t i = 0; i < N; i++) close[i] = b[2 * i];
    o.b_row_stride = o.x_row_stride = 1;
    CHECK_OK(tristar_solve_with(plan, &o, 1, close, x, NULL));
    for (int32_t i = 0; i < N; i++)
      CHECK_MSG(memcmp(&x[i], &apart[2 * i], sizeof *x) == 0, "%s, partition %d, %d: row %d is %g, not %g",
                triangle_names[kind], (int)partition, which, i, x[i], apart[2 * i]);
  }
}

/* ---- Services ------------------------------------------------------------------------------------------ */

static void start(problem *p, int way) {
  CLEANUP(triangle_free) triangle_pattern lower = triangle_create(TRIANGLE_BANDED, 50, 3);
  *p = (problem){.t = &typed_double, .n = 50, .op = TRISTAR_N};
  place(p, way);
  for (int32_t k = 0; k < p->n; k++) p->row_scale[k] = ldexp(1, k % 7 - 3);
  p->with_row_scale = true;
  fill_problem(p, &lower);
}

/* Residual, refinement and condition are of A; a list of wanted rows leaves the others as they are. */
static void check_services(tristar_t *ts, tristar_partition partition) {
  static problem p;
  static vectors v;
  enum { WANTED = 3 };
  const int64_t rows[WANTED] = {7, 31, 2};
  const double alpha = 2, beta = -1;
  double error, x[WANTED] = {1, 2, 3};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_refine_result result;
  tristar_solve_options o;
  start(&p, 4);
  const tristar_view view = view_of(&p);
  const tristar_triangle_options options = options_of(&p, partition);
  fill_vector(p.t, p.n, 5, v.b);
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, v.b, p.n, v.x, p.n, NULL, &result));
  CHECK(result.backward_error < 1e-15);
  CHECK_OK(tristar_residual(factor, TRISTAR_N, 1, v.b, p.n, v.x, p.n, NULL, p.n, &error));
  CHECK(error < 1e-15);
  CHECK_OK(tristar_condition(plan, &error));
  CHECK(error > 1e-4 && error <= 1);
  tristar_solve_options_init(&o);
  o.x_rows = WANTED;
  o.x_row = rows;
  o.alpha = &alpha;
  o.beta = &beta;
  CHECK_OK(tristar_solve_with(plan, &o, 1, v.b, x, NULL));
  for (int k = 0; k < WANTED; k++) CHECK(fabs(x[k] - (2 * ((double *)v.x)[rows[k]] - (k + 1))) < 1e-12);
  const int64_t given = 13; /* what no given row leads to is beta x */
  const double one = 1;
  for (int i = 0; i < p.n; i++) ((double *)v.x)[i] = i;
  tristar_solve_options_init(&o);
  o.b_rows = 1;
  o.b_row = &given;
  o.beta = &beta;
  CHECK_OK(tristar_solve_with(plan, &o, 1, &one, v.x, NULL));
  number b[MOST] = {0}, right[MOST];
  b[given] = 1;
  solve_dense(&p, b, right);
  for (int i = 0; i < p.n; i++) CHECK(fabs(((double *)v.x)[i] - creal(right[i]) + i) < 1e-12);
}

static void check_refused(tristar_t *ts) {
  static problem p;
  tristar_factor_t *factor;
  start(&p, 4);
  tristar_view view = view_of(&p);
  for (int which = 0; which < 5; which++) {
    char message[300];
    start(&p, 4);
    static const char *const told[] = {"row_order is no permutation: entry 9 is 50",
                                       "column_order is no permutation: entry 9", "row_scale[9] is 0",
                                       "column_scale[9] is", "not GENERAL"};
    if (which == 0) p.row_order[9] = 50;
    if (which == 1) p.column_order[9] = p.column_order[8];
    if (which == 2) p.row_scale[9] = 0;
    if (which == 3) p.column_scale[9] = NAN, p.with_column_scale = true;
    for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++) {
      tristar_triangle_options options = options_of(&p, (tristar_partition)partition);
      options.permuted = which != 1;
      view.symmetry = which == 4 ? TRISTAR_SYMMETRIC : TRISTAR_GENERAL;
      CHECK_STATUS(tristar_import_triangle(ts, &view, &options, &factor),
                   which == 4 ? TRISTAR_ERR_UNSUPPORTED : TRISTAR_ERR_FORMAT);
      CHECK(factor == NULL);
      tristar_get_error(ts, message, sizeof message);
      CHECK_MSG(strstr(message, told[which]) != NULL, "%s", message);
    }
  }
}

static tristar_status find_and_solve(tristar_t *ts, const problem *p, vectors *v) {
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NULL;
  tristar_shape shape;
  int64_t row[MOST], column[MOST];
  const tristar_view view = view_of(p);
  const double beta = 1;
  tristar_triangle_options options = options_of(p, TRISTAR_PARTITION_WHOLE);
  tristar_solve_options o;
  tristar_solve_options_init(&o);
  o.beta = &beta;
  options.row_order = row;
  options.column_order = column;
  tristar_status status = tristar_find_triangle(ts, &view, &shape, row, column);
  CHECK(status != TRISTAR_OK || shape == TRISTAR_SHAPE_PERMUTED);
  if (status == TRISTAR_OK) status = tristar_import_triangle(ts, &view, &options, &factor);
  if (status == TRISTAR_OK) status = tristar_plan(factor, NULL, &plan);
  if (status == TRISTAR_OK) status = tristar_solve_with(plan, &o, 1, v->b, v->x, NULL);
  return status;
}

static void check_allocations(void) {
  static problem p;
  static vectors v;
  tristar_status status = TRISTAR_ERR_MEMORY;
  CLEANUP(triangle_free) triangle_pattern lower = triangle_create(TRIANGLE_GRID, 50, 3);
  start(&p, 6);
  p.clean = true;
  fill_problem(&p, &lower);
  for (int64_t k = 1; status != TRISTAR_OK; k++) {
    tristar_config config;
    tristar_t *ts;
    tristar_memory_stats memory;
    tristar_config_init(&config);
    config.use_starpu = 0;
    config.fail_allocation = k;
    status = tristar_create(&config, &ts);
    if (status != TRISTAR_OK) continue;
    tristar_get_memory(ts, &memory);
    const size_t before = memory.current_bytes;
    status = find_and_solve(ts, &p, &v);
    CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_MEMORY);
    tristar_get_memory(ts, &memory);
    CHECK(memory.current_bytes == before);
    tristar_destroy(&ts);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts;
  tristar_config config;
  tristar_config_init(&config);
  config.check = 1;
  config.use_starpu = 0; /* else idle workers would take most of the time */
  CHECK_OK(tristar_create(&config, &ts));
  RUN(check_all(ts));
  for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++)
    RUN(check_services(ts, (tristar_partition)partition));
  RUN(check_refused(ts));
  for (int kind = 0; kind < TRIANGLES; kind += TSI_TESTS_SANITIZED ? 5 : 1)
    for (int partition = TRISTAR_PARTITION_LEVELS; partition <= TRISTAR_PARTITION_WHOLE; partition++)
      if (kind != TRIANGLE_DENSE) RUN(check_pieces(ts, kind, (tristar_partition)partition));
  tristar_destroy(&ts);
  RUN(check_allocations());
  config.use_starpu = 1;
  CHECK_OK(tristar_create(&config, &ts));
  static problem p = {.t = &typed_complex_double, .n = 60};
  for (int way = 3; way < 6; way++) {
    p.op = (tristar_op) "NTC"[way % 3];
    RUN(check_problem(ts, &p, TRIANGLE_RANDOM, way, true));
  }
  return 0;
}
