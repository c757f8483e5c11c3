/* Preconditioners where something is wrong, and over their life: options out of range, breakdowns and the
 * rows that messages name, updates, plans and functions as preconditioners, and each allocation that fails.
 */
#include <inttypes.h>

#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/preconds.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"

enum { N = 12 };

static const tristar_precond_kind incomplete[] = {
    TRISTAR_PRECOND_ILU, TRISTAR_PRECOND_ILUT, TRISTAR_PRECOND_IC, TRISTAR_PRECOND_ICT,
    TRISTAR_PRECOND_FSAI}; /* the kinds from the third on need a symmetric matrix */

static tristar_t *context(int64_t fail_allocation) {
  tristar_config config = DEFAULTS(tristar_config);
  tristar_t *ts;
  config.use_starpu = 0;
  config.fail_allocation = fail_allocation;
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

static tristar_precond_options options_of(tristar_precond_kind kind) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = kind;
  return options;
}

/* tristar_precond must fail with this status, and the message must contain the text. */
static void check_failure(tristar_t *ts, const tristar_view *view, const tristar_precond_options *options,
                          tristar_status status, const char *text) {
  tristar_precond_t *p = (void *)(uintptr_t)1;
  const size_t before = bytes_held(ts);
  CHECK_STATUS(tristar_precond(ts, view, options, &p), status);
  CHECK(p == NULL && bytes_held(ts) == before);
  CHECK_ERROR(ts, text);
}

/* ---- Options ------------------------------------------------------------------------------------------- */

#define REFUSED(kind_of, field, wrong)                                                                       \
  do {                                                                                                       \
    options = options_of(kind_of);                                                                           \
    options.field = (wrong);                                                                                 \
    check_failure(ts, &view, &options, TRISTAR_ERR_ARGUMENT, #field " is ");                                 \
  } while (0)

static void check_options(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  const square s = square_random(&typed_double, N, 2, TRISTAR_SYMMETRIC, 1, 3);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  tristar_precond_options options;
  tristar_precond_t *p;
  REFUSED(TRISTAR_PRECOND_PLAN, kind, TRISTAR_PRECOND_PLAN);
  REFUSED(TRISTAR_PRECOND_PLAN, kind, TRISTAR_PRECOND_FUNCTION);
  REFUSED(TRISTAR_PRECOND_PLAN, kind, (tristar_precond_kind)77);
  REFUSED(TRISTAR_PRECOND_ILU, level, -1);
  REFUSED(TRISTAR_PRECOND_IC, modified, 1.5);
  REFUSED(TRISTAR_PRECOND_ILU, modified, -0.1);
  REFUSED(TRISTAR_PRECOND_ILU, modified, (double)NAN);
  REFUSED(TRISTAR_PRECOND_ILUT, drop, -1e-3);
  REFUSED(TRISTAR_PRECOND_ICT, drop, (double)INFINITY);
  REFUSED(TRISTAR_PRECOND_ICT, fill, -1);
  REFUSED(TRISTAR_PRECOND_IC, shift, -1);
  REFUSED(TRISTAR_PRECOND_FSAI, shift, -1);
  REFUSED(TRISTAR_PRECOND_FSAI, steps, -1);
  REFUSED(TRISTAR_PRECOND_FSAI, per_step, 0);
  REFUSED(TRISTAR_PRECOND_FSAI, power, -1);
  REFUSED(TRISTAR_PRECOND_FSAI, block, -2);
  REFUSED(TRISTAR_PRECOND_FSAI, block, 9);
  REFUSED(TRISTAR_PRECOND_FSAI, reduction, 1.5);
  REFUSED(TRISTAR_PRECOND_FSAI, prefilter, -1);
  REFUSED(TRISTAR_PRECOND_FSAI, postfilter, (double)NAN);
  REFUSED(TRISTAR_PRECOND_FSAI, pair, (tristar_pair)3);
  REFUSED(TRISTAR_PRECOND_SSOR, omega, 0);
  REFUSED(TRISTAR_PRECOND_SSOR, omega, 2);
  REFUSED(TRISTAR_PRECOND_SSOR, omega, (double)NAN);
  REFUSED(TRISTAR_PRECOND_NONE, partition, (tristar_partition)9);
  REFUSED(TRISTAR_PRECOND_NONE, engine, (tristar_engine)9);
  REFUSED(TRISTAR_PRECOND_NONE, nrhs, -1);
  check_failure(ts, NULL, NULL, TRISTAR_ERR_ARGUMENT, "view is NULL");
  tristar_view pattern = view;
  pattern.values = NULL;
  check_failure(ts, &pattern, NULL, TRISTAR_ERR_ARGUMENT, "values is NULL");
  view.rows++;
  check_failure(ts, &view, NULL, TRISTAR_ERR_RECTANGULAR, "not square");
  view.rows--;
  CHECK_STATUS(tristar_precond(NULL, &view, NULL, &p), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond(ts, &view, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  /* Fields that a kind does not use are not checked. */
  options = options_of(TRISTAR_PRECOND_JACOBI);
  options.level = -1;
  options.omega = 7;
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  double x[N] = {1};
  CHECK_STATUS(tristar_precond_apply(p, (tristar_op)'X', 1, x, N, x, N), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, 1, x, N - 1, x, N), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, -1, x, N, x, N), TRISTAR_ERR_ARGUMENT);
  for (int nrhs = 1; nrhs <= 2; nrhs++)
    CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, nrhs, x, N, x, N + 1), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, 1, NULL, N, x, N), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_apply(NULL, TRISTAR_N, 1, x, N, x, N), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 0, NULL, N, NULL, N));
  tristar_precond_destroy(&p);
  tristar_precond_destroy(&p);
  tristar_precond_destroy(NULL);
}

/* ---- Breakdowns ---------------------------------------------------------------------------------------- */

/* A 3 x 3 matrix, by rows. Zeros are stored except at position `without`. */
static tristar_view three(double values[9], int without, int64_t ptr[4], int32_t index[9], double kept[9]) {
  int64_t at = 0;
  for (int i = 0; i < 3; i++) {
    ptr[i] = at;
    for (int j = 0; j < 3; j++) {
      if (3 * i + j == without) continue;
      kept[at] = values[3 * i + j];
      index[at++] = j;
    }
  }
  ptr[3] = at;
  return stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, 3, 3, ptr, index, kept);
}

static void check_three(tristar_t *ts, tristar_precond_kind kind, double values[9], int without,
                        tristar_status status, const char *text) {
  int64_t ptr[4];
  int32_t index[9];
  double kept[9];
  const tristar_view view = three(values, without, ptr, index, kept);
  tristar_precond_options options = options_of(kind);
  options.drop = 0;
  check_failure(ts, &view, &options, status, text);
}

static void check_breakdowns(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  double zero_first[9] = {0, 1, 1, 1, 2, 1, 1, 1, 3}, equal[9] = {1, 1, 1, 1, 1, 2, 1, 2, 3};
  double negative[9] = {4, 1, 1, 1, 5, 1, 1, 1, -2}, good[9] = {4, 1, 1, 1, 5, 1, 1, 1, 6};
  double unequal[9] = {4, 1, 1, 1, 5, 2, 1, 1, 6}, huge[9] = {1e-200, 1, 1, 1e200, 5, 1, 1, 1, 6};
  double nan[9] = {4, 1, 1, 1, 5, (double)NAN, 1, 1, 6};
  double range[9] = {1e-300, 1e150, 0, 1e150, 5, 1, 0, 1, 6};
  for (int k = 0; k < 5; k++) {
    check_three(ts, incomplete[k], good, 4, TRISTAR_ERR_SINGULAR, "row 1, counted from 0, has no entry");
    check_three(ts, incomplete[k], nan, -1, TRISTAR_ERR_NOT_FINITE, "row 1, entry 5");
  }
  for (int k = 0; k < 2; k++) {
    check_three(ts, incomplete[k], zero_first, -1, TRISTAR_ERR_SINGULAR, "row 0");
    check_three(ts, incomplete[k], equal, -1, TRISTAR_ERR_SINGULAR, "row 1");
    check_three(ts, incomplete[k], huge, -1, TRISTAR_ERR_NOT_FINITE, "row 1");
  }
  for (int k = 0; k < 3; k++) {
    check_three(ts, incomplete[2 + k], negative, -1, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "row 2");
    check_three(ts, incomplete[2 + k], equal, -1, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "row 1");
    check_three(ts, incomplete[2 + k], zero_first, -1, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "row 0");
    check_three(ts, incomplete[2 + k], unequal, -1, TRISTAR_ERR_ARGUMENT, "(1,2) and (2,1)");
    check_three(ts, incomplete[2 + k], range, -1, TRISTAR_ERR_NOT_FINITE, "row 1");
  }
  check_three(ts, TRISTAR_PRECOND_JACOBI, zero_first, -1, TRISTAR_ERR_SINGULAR, "row 0");
  check_three(ts, TRISTAR_PRECOND_JACOBI, good, 8, TRISTAR_ERR_SINGULAR, "row 2");
  check_three(ts, TRISTAR_PRECOND_SSOR, zero_first, -1, TRISTAR_ERR_SINGULAR, "row 0");
  check_three(ts, TRISTAR_PRECOND_SSOR, good, 0, TRISTAR_ERR_SINGULAR, "row 0");
}

/* If several rows fail, the message names the first one, also if tasks find the failures. The matrix has
 * blocks of two rows, most of them with good pivots. */
static void check_first_row(void) {
  enum { ROWS = 600 };
  static const int bad[] = {450, 122, 334, 578};
  static int64_t ptr[ROWS + 1];
  static int32_t index[2 * ROWS];
  static double values[2 * ROWS];
  for (int i = 0; i < ROWS; i++) {
    ptr[i + 1] = ptr[i] + 2;
    for (int k = 0; k < 2; k++) {
      index[2 * i + k] = i / 2 * 2 + k;
      values[2 * i + k] = i % 2 == k ? 3 : 1;
    }
  }
  for (int k = 0; k < 4; k++) values[2 * bad[k]] = 0;
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, ROWS, ROWS, ptr, index, values);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  for (int tasks = 0; tasks < 2; tasks++)
    for (int kind = 0; kind < 4; kind++) {
      const bool pair = kind == 3, definite = kind == 1 || kind == 2;
      tristar_precond_options options = options_of(incomplete[pair ? 4 : 2 * kind]);
      options.engine = tasks ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL;
      options.pair = pair ? TRISTAR_PAIR_ALWAYS : TRISTAR_PAIR_NEVER;
      check_failure(ts, &view, &options, definite ? TRISTAR_ERR_NOT_POSITIVE_DEFINITE : TRISTAR_ERR_SINGULAR,
                    "row 122,");
    }
}

/* With a shift, factors of an indefinite matrix exist. */
static void check_shift(tristar_precond_kind kind) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  double values[9] = {1, 1.2, 0, 1.2, 1, 1.2, 0, 1.2, 1}, kept[9];
  int64_t ptr[4];
  int32_t index[9];
  const tristar_view view = three(values, -1, ptr, index, kept);
  tristar_precond_options options = options_of(kind);
  check_failure(ts, &view, &options, TRISTAR_ERR_NOT_POSITIVE_DEFINITE, "shift");
  options.shift = 2;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
}

/* ---- Updates ------------------------------------------------------------------------------------------- */

static void apply_ones(tristar_precond_t *p, double x[N]) {
  double b[N];
  for (int i = 0; i < N; i++) b[i] = 1;
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, N, x, N));
}

/* The first applications, and the plans of a later one, allocate memory once. Updates allocate none. */
static void check_held(tristar_t *ts, tristar_precond_t *p, const tristar_view *view) {
  enum { APPLICATIONS = 40 };
  double x[N];
  const size_t held = bytes_held(ts);
  for (int k = 0; k < 3; k++) {
    CHECK_OK(tristar_precond_update(p, view));
    CHECK(bytes_held(ts) == held);
  }
  for (int k = 0; k < APPLICATIONS; k++) apply_ones(p, x);
}

/* An update gives the same bits as a new preconditioner; no memory is lost. */
static void check_updates(tristar_precond_kind kind, tristar_partition partition) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  const square s = square_random(&typed_double, N, 3, TRISTAR_SYMMETRIC, 1.1, 5);
  square other = s;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) other.a[i][j] *= i == j ? 3 : 0.5;
  tristar_view view = store(&s, &storages[3]), next = store(&other, &storages[3]),
               elsewhere = store(&s, &storages[1]);
  tristar_precond_options options = options_of(kind);
  tristar_precond_stats stats;
  tristar_precond_t *p, *fresh;
  double x[N], y[N];
  size_t held = 0;
  options.level = 1;
  options.partition = partition;
  options.steps = 0; /* the pattern does not depend on values */
  options.power = 2;
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  check_held(ts, p, &view);
  for (int k = 0; k < 6; k++) {
    CHECK_OK(tristar_precond_update(p, k % 2 ? &view : &next));
    apply_ones(p, x);
    CHECK_OK(tristar_precond(ts, k % 2 ? &view : &next, &options, &fresh));
    apply_ones(fresh, y);
    CHECK(memcmp(x, y, sizeof x) == 0);
    tristar_precond_destroy(&fresh);
    if (k == 1) held = bytes_held(ts);
    if (k > 1 && k % 2) CHECK(bytes_held(ts) == held);
  }
  CHECK_OK(tristar_precond_get_stats(p, &stats));
  CHECK(stats.updates == 9);
  CHECK_STATUS(tristar_precond_update(p, &elsewhere), TRISTAR_ERR_STALE);
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, 1, x, N, x, N), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_precond_update(p, &view));
  CHECK_STATUS(tristar_precond_update(p, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, 1, x, N, x, N), TRISTAR_ERR_STALE);
  CHECK_OK(tristar_precond_update(p, &view));
  apply_ones(p, y);
  CHECK(memcmp(x, y, sizeof x) == 0);
  double *values = (double *)(uintptr_t)next.values;
  const int64_t entries = ((const int64_t *)next.ptr)[N];
  for (int64_t e = 0; e < entries; e++) values[e] = 0;
  CHECK_STATUS(tristar_precond_update(p, &next),
               kind >= TRISTAR_PRECOND_IC ? TRISTAR_ERR_NOT_POSITIVE_DEFINITE : TRISTAR_ERR_SINGULAR);
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, 1, x, N, x, N), TRISTAR_ERR_STALE);
  values[0] = (double)NAN;
  CHECK_STATUS(tristar_precond_update(p, &next), TRISTAR_ERR_NOT_FINITE);
  CHECK_OK(tristar_precond_update(p, &view));
  apply_ones(p, y);
  CHECK(memcmp(x, y, sizeof x) == 0);
  tristar_precond_destroy(&p);
  CHECK(bytes_held(ts) == 0);
  free_stored(&view);
  free_stored(&next);
  free_stored(&elsewhere);
}

/* ---- What the program has ------------------------------------------------------------------------------ */

static void check_plan(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  flow f;
  tristar_precond_t *p;
  tristar_precond_stats stats;
  flow_create(ts, "s2d9pt", 8, TRISTAR_ENGINE_SERIAL, 0, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc((size_t)n * 3 * sizeof *b), *x = xmalloc((size_t)n * 3 * sizeof *x),
               *y = xmalloc((size_t)n * 3 * sizeof *y);
  fill_random(b, 3 * n, 1);
  CHECK_OK(tristar_precond_of_plan(f.plan, &p));
  CHECK_OK(tristar_precond_apply(p, TRISTAR_T, 3, b, n, x, n));
  CHECK_OK(tristar_solve(f.plan, TRISTAR_T, 3, b, n, y, n));
  CHECK(memcmp(x, y, (size_t)n * 3 * sizeof *x) == 0);
  CHECK_OK(tristar_precond_get_stats(p, &stats));
  CHECK(stats.kind == TRISTAR_PRECOND_PLAN && stats.n == n && stats.scalar == TRISTAR_DOUBLE);
  CHECK_STATUS(tristar_precond_update(p, &f.view), TRISTAR_ERR_UNSUPPORTED);
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, n, x, n));
  tristar_precond_destroy(&p);
  CHECK_STATUS(tristar_precond_of_plan(NULL, &p), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_of_plan(f.plan, NULL), TRISTAR_ERR_ARGUMENT);
  flow_destroy(&f);
}

static tristar_status halve(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
                            int64_t ldx) {
  const double *from = b;
  double *to = x;
  int *calls = arg;
  if (++*calls == 3) return TRISTAR_ERR_ACCURACY;
  CHECK(op == TRISTAR_C && nrhs == 2);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < N; i++) to[i + k * ldx] = from[i + k * ldb] / 2;
  return TRISTAR_OK;
}

static void check_function(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p;
  double b[2 * N + 2], x[2 * N];
  int calls = 0;
  fill_random(b, 2 * N + 2, 9);
  CHECK_STATUS(tristar_precond_of_function(ts, -1, TRISTAR_DOUBLE, halve, NULL, &p), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_of_function(ts, INT64_MAX, TRISTAR_DOUBLE, halve, NULL, &p),
               TRISTAR_ERR_TOO_LARGE);
  CHECK_STATUS(tristar_precond_of_function(ts, 1, (tristar_scalar)'q', halve, NULL, &p),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_precond_of_function(ts, 1, TRISTAR_DOUBLE, NULL, NULL, &p), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_precond_of_function(ts, N, TRISTAR_DOUBLE, halve, &calls, &p));
  for (int k = 0; k < 2; k++) {
    CHECK_OK(tristar_precond_apply(p, TRISTAR_C, 2, b, N + 1, x, N));
    for (int i = 0; i < N; i++) CHECK(x[i] == b[i] / 2 && x[i + N] == b[i + N + 1] / 2);
  }
  CHECK_STATUS(tristar_precond_apply(p, TRISTAR_C, 2, b, N + 1, x, N), TRISTAR_ERR_ACCURACY);
  CHECK(calls == 3);
}

/* ---- Nothing, and no memory ---------------------------------------------------------------------------- */

static void check_empty(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  const int64_t ptr[1] = {0};
  const tristar_view view = {.format = TRISTAR_CSR,
                             .scalar = TRISTAR_DOUBLE,
                             .ptr = ptr,
                             .index = ptr,
                             .values = ptr,
                             .ptr_bits = 64,
                             .index_bits = 32};
  for (int kind = 0; kind < TRISTAR_PRECOND_PLAN; kind++) {
    const tristar_precond_options options = options_of((tristar_precond_kind)kind);
    CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
    CHECK_OK(tristar_precond_apply(p, TRISTAR_T, 3, NULL, 0, NULL, 0));
    CHECK_OK(tristar_precond_update(p, &view));
  }
}

/* ---- In one pass --------------------------------------------------------------------------------------- */

enum { SIDE = 7, ROWS = SIDE * SIDE };

/* A symmetric matrix on a grid. All entries of its rows are stored, so rows equal columns. */
typedef struct grid {
  int64_t ptr[ROWS + 1];
  int32_t index[5 * ROWS];
  double values[5 * ROWS];
} grid;

static void put_entry(grid *g, int32_t row, int32_t column, double value) {
  g->index[g->ptr[row + 1]] = column;
  g->values[g->ptr[row + 1]++] = value;
}

static grid make_grid(void) {
  grid g = {.ptr = {0}};
  for (int32_t i = 0; i < ROWS; i++) {
    const int32_t x = i % SIDE, y = i / SIDE;
    g.ptr[i + 1] = g.ptr[i];
    if (y > 0) put_entry(&g, i, i - SIDE, -1.0 / (1 + y));
    if (x > 0) put_entry(&g, i, i - 1, -0.7 / (1 + x));
    put_entry(&g, i, i, 2.3 + i % 3);
    if (x + 1 < SIDE) put_entry(&g, i, i + 1, -0.7 / (2 + x));
    if (y + 1 < SIDE) put_entry(&g, i, i + SIDE, -1.0 / (2 + y));
  }
  return g;
}

static tristar_view view_of(const grid *g, tristar_format format) {
  tristar_view view = DEFAULTS(tristar_view);
  view.format = format;
  view.rows = view.cols = ROWS;
  view.ptr = g->ptr;
  view.index = g->index;
  view.values = g->values;
  view.ptr_bits = 64;
  return view;
}

static void apply_to_ones(tristar_precond_t *p, double *x) {
  double b[ROWS];
  for (int i = 0; i < ROWS; i++) b[i] = 1;
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, ROWS, x, ROWS));
}

/* ILU and IC without fill are computed in one pass over the user's rows, or step by step from columns. Both
 * give the same bits, also after updates and failures. Values that are not finite are found in any
 * position. */
static void check_one_pass(tristar_precond_kind kind) {
  static const double wrong[] = {NAN, INFINITY, -INFINITY};
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  grid g = make_grid();
  const tristar_view rows = view_of(&g, TRISTAR_CSR), columns = view_of(&g, TRISTAR_CSC);
  const tristar_precond_options options = options_of(kind);
  tristar_precond_t *p, *steps;
  double x[ROWS], expected[ROWS];
  CHECK_OK(tristar_precond(ts, &columns, &options, &steps));
  apply_to_ones(steps, expected);
  tristar_precond_destroy(&steps);
  CHECK_OK(tristar_precond(ts, &rows, &options, &p));
  apply_to_ones(p, x);
  CHECK(memcmp(x, expected, sizeof x) == 0);
  for (int64_t e = 0; e < g.ptr[ROWS]; e++)
    for (int k = 0; k < 3; k++) {
      const double right = g.values[e];
      g.values[e] = wrong[k];
      check_failure(ts, &rows, &options, TRISTAR_ERR_NOT_FINITE, "NaN or infinite");
      CHECK_STATUS(tristar_precond_update(p, &rows), TRISTAR_ERR_NOT_FINITE);
      g.values[e] = right;
      CHECK_OK(tristar_precond_update(p, &rows));
    }
  apply_to_ones(p, x);
  CHECK(memcmp(x, expected, sizeof x) == 0);
  tristar_precond_destroy(&p);
}

/* If mirror images differ by rounding errors, IC reads the upper triangle. If they differ by more, or one
 * is missing, the matrix is refused, unless both values are zero. */
static void check_images(void) {
  CLEANUP(tristar_destroy) tristar_t *ts = context(0);
  grid g = make_grid();
  const tristar_view view = view_of(&g, TRISTAR_CSR);
  const tristar_precond_options options = options_of(TRISTAR_PRECOND_IC);
  tristar_precond_t *p;
  double x[ROWS], expected[ROWS];
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  apply_to_ones(p, expected);
  for (int32_t i = 0; i < ROWS; i++)
    for (int64_t e = g.ptr[i]; e < g.ptr[i + 1] && g.index[e] < i; e++) g.values[e] *= 1 + DBL_EPSILON;
  CHECK_OK(tristar_precond_update(p, &view));
  apply_to_ones(p, x);
  CHECK(memcmp(x, expected, sizeof x) == 0);
  g.values[1] *= 1.5;
  CHECK_STATUS(tristar_precond_update(p, &view), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "no mirror images");
  tristar_precond_destroy(&p);
  g = make_grid();
  g.index[2] = SIDE + 1; /* moves entry (0, SIDE) */
  check_failure(ts, &view, &options, TRISTAR_ERR_ARGUMENT, "no mirror images");
  g.values[2] = g.values[g.ptr[SIDE]] = 0;
  CHECK_OK(tristar_precond(ts, &view, &options, &p));
  apply_to_ones(p, x);
  for (int i = 0; i < ROWS; i++) CHECK(x[i] > 0 && isfinite(x[i]));
  tristar_precond_destroy(&p);
}

/* Each allocation fails once: creation returns MEMORY. After a failed update applications return STALE
 * until an update succeeds. No memory is lost. */
static void check_allocations(tristar_precond_kind kind, tristar_pair pair, const storage *how, int level) {
  const tristar_symmetry symmetry = pair != TRISTAR_PAIR_NEVER     ? TRISTAR_GENERAL
                                    : kind == TRISTAR_PRECOND_FSAI ? TRISTAR_HERMITIAN
                                                                   : TRISTAR_SYMMETRIC;
  const square s = square_random(&typed_complex_double, N, 3, symmetry, 1.1, 5);
  CLEANUP(free_stored) tristar_view view = store(&s, how);
  tristar_precond_options options = options_of(kind);
  char x[N * sizeof(double _Complex)] = {0};
  bool through = false;
  options.level = level;
  options.modified = level > 0 ? 0.5 : 0;
  options.power = 1;
  options.single = 1;
  options.pair = pair;
  for (int64_t k = 1; !through; k++) {
    CLEANUP(tristar_destroy) tristar_t *ts = context(k);
    tristar_precond_t *p;
    const tristar_status made = tristar_precond(ts, &view, &options, &p);
    CHECK(made == TRISTAR_OK || (made == TRISTAR_ERR_MEMORY && p == NULL));
    if (made == TRISTAR_OK) {
      tristar_status status = tristar_precond_update(p, &view);
      if (status == TRISTAR_ERR_MEMORY) {
        CHECK_STATUS(tristar_precond_apply(p, TRISTAR_N, 1, x, N, x, N), TRISTAR_ERR_STALE);
        CHECK_OK(tristar_precond_update(p, &view));
        CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, x, N, x, N));
      } else {
        CHECK_OK(status);
        status = tristar_precond_apply(p, TRISTAR_C, 1, x, N, x, N);
        if (status != TRISTAR_OK) CHECK_STATUS(status, TRISTAR_ERR_MEMORY);
        through = status == TRISTAR_OK;
      }
    }
    tristar_precond_destroy(&p);
    CHECK_MSG(bytes_held(ts) == 0, "%zu bytes left after failure %" PRId64, bytes_held(ts), k);
  }
}

static const storage full_rows = {TRISTAR_CSR, true, 0, false, false};

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(check_options());
  RUN(check_breakdowns());
  RUN(check_first_row());
  RUN(check_shift(TRISTAR_PRECOND_IC));
  RUN(check_shift(TRISTAR_PRECOND_FSAI));
  for (int kind = TRISTAR_PRECOND_JACOBI; kind < TRISTAR_PRECOND_PLAN; kind++)
    for (int partition = 0; partition <= TRISTAR_PARTITION_RECURSIVE; partition++)
      RUN(check_updates((tristar_precond_kind)kind, (tristar_partition)partition));
  RUN(check_plan());
  RUN(check_function());
  RUN(check_empty());
  RUN(check_one_pass(TRISTAR_PRECOND_ILU));
  RUN(check_one_pass(TRISTAR_PRECOND_IC));
  RUN(check_images());
  for (int kind = 0; kind < TRISTAR_PRECOND_PLAN; kind++)
    RUN(check_allocations((tristar_precond_kind)kind, TRISTAR_PAIR_NEVER, &storages[kind % 5], 2));
  RUN(check_allocations(TRISTAR_PRECOND_IC, TRISTAR_PAIR_NEVER, &storages[4], 2));
  RUN(check_allocations(TRISTAR_PRECOND_ILU, TRISTAR_PAIR_NEVER, &full_rows, 0));
  RUN(check_allocations(TRISTAR_PRECOND_IC, TRISTAR_PAIR_NEVER, &full_rows, 0));
  RUN(check_allocations(TRISTAR_PRECOND_IC, TRISTAR_PAIR_NEVER, &storages[5], 0));
  RUN(check_allocations(TRISTAR_PRECOND_FSAI, TRISTAR_PAIR_AUTO, &storages[3], 2));
  return 0;
}
