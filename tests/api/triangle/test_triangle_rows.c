/* Triangular matrices in all partitions: every pattern, triangle, diagonal, type, op, one right-hand side and
 * several, by rows and by columns; some as tasks too. Solutions are right; those of all
 * partitions by rows but those of block cuts have the same bits; rows of b and x that are chosen, x over b,
 * refinement and the condition work; bad diagonals are reported. */
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"
#include "tests/support/typed.h"
#include "tristar_solve.h"

enum { NRHS = 5 };

typedef struct system_of {
  triangle_pattern rows;    /* of the triangle in lower form, by rows */
  triangle_pattern columns; /* the same by columns */
  char *values[2];          /* of both patterns */
  const typed *t;
} system_of;

static const tristar_partition partitions[] = {TRISTAR_PARTITION_SUPERNODES, TRISTAR_PARTITION_WHOLE,
                                               TRISTAR_PARTITION_SUPERSTEPS, TRISTAR_PARTITION_LEVELS,
                                               TRISTAR_PARTITION_AUTO,       TRISTAR_PARTITION_COLUMN,
                                               TRISTAR_PARTITION_ROW,        TRISTAR_PARTITION_RECURSIVE};

/* Blocks sum a row in several parts: the bits differ from the other partitions, but not between engines. */
static bool has_blocks(tristar_partition partition) {
  return partition >= TRISTAR_PARTITION_COLUMN;
}

static number value_of(int32_t i, int32_t j, int32_t n) {
  const number a = random_value((uint64_t)i * 7919u + (uint64_t)j) / (1 + sqrt((double)n) / 4);
  return i == j ? 2 + a : a;
}

static system_of system_create(int kind, int32_t n, const typed *t) {
  system_of s = {.rows = triangle_create(kind, n, (uint64_t)(kind + n)), .t = t};
  s.columns = triangle_transpose(&s.rows);
  for (int k = 0; k < 2; k++) {
    const triangle_pattern *p = k ? &s.columns : &s.rows;
    s.values[k] = xmalloc((size_t)(p->ptr[n] + 1) * t->bytes);
    for (int32_t line = 0; line < n; line++)
      for (int64_t e = p->ptr[line]; e < p->ptr[line + 1]; e++)
        put(t, s.values[k], e, k ? value_of(p->index[e], line, n) : value_of(line, p->index[e], n));
  }
  return s;
}

static void system_free(system_of *s) {
  triangle_free(&s->rows);
  triangle_free(&s->columns);
  free(s->values[0]);
  free(s->values[1]);
}

/* The lower triangle T by rows or columns, or its transpose, which is upper. */
static tristar_view view_of(const system_of *s, bool upper, bool by_rows) {
  const bool columns = upper == by_rows;
  const triangle_pattern *p = columns ? &s->columns : &s->rows;
  return stored_view(by_rows ? TRISTAR_CSR : TRISTAR_CSC, TRISTAR_GENERAL, s->t->scalar, p->n, p->n, p->ptr,
                     p->index, s->values[columns]);
}

static void fill_b(const typed *t, int64_t n, char *b) {
  for (int64_t i = 0; i < n * NRHS; i++) put(t, b, i, random_value((uint64_t)i + 5));
}

/* Checks |b - op(M) x| <= (n + 4) eps (|op(M)| |x| + |b|) in every row. M: the lower triangle or its
 * transpose. */
static void check_residual(const system_of *s, bool upper, bool unit, tristar_op op, const char *b,
                           const char *x, const char *what) {
  const int32_t n = s->rows.n;
  for (int32_t c = 0; c < NRHS; c++)
    for (int32_t i = 0; i < n; i++) {
      const bool columns = upper != (op != TRISTAR_N); /* row i of op(M) is column i of the lower triangle */
      const triangle_pattern *p = columns ? &s->columns : &s->rows;
      number r = get(s->t, b, i + (int64_t)c * n);
      double size = magnitude(r);
      for (int64_t e = p->ptr[i]; e < p->ptr[i + 1]; e++) {
        const int32_t j = p->index[e];
        number a = unit && i == j ? 1 : get(s->t, s->values[columns], e);
        if (op == TRISTAR_C) a = conj(a);
        const number product = a * get(s->t, x, j + (int64_t)c * n);
        r -= product;
        size += magnitude(product);
      }
      CHECK_MSG(magnitude(r) <= 4 * (double)(p->ptr[i + 1] - p->ptr[i] + 8) * s->t->roundoff * size,
                "%s, row %d, column %d: residual %g of %g", what, i, c, magnitude(r), size);
    }
}

typedef struct way {
  bool upper, by_rows, unit;
  tristar_op op;
  tristar_partition partition;
  tristar_engine engine;
} way;

static void make(tristar_t *ts, const system_of *s, const way *w, tristar_factor_t **factor,
                 tristar_plan_t **plan) {
  const tristar_view view = view_of(s, w->upper, w->by_rows);
  const tristar_triangle_options options = {.size = sizeof options,
                                            .uplo = w->upper ? TRISTAR_UPPER : TRISTAR_LOWER,
                                            .diag = w->unit ? TRISTAR_UNIT : TRISTAR_NON_UNIT,
                                            .partition = w->partition};
  tristar_plan_options how = DEFAULTS(tristar_plan_options);
  how.engine = w->engine;
  CHECK_OK(tristar_import_triangle(ts, &view, &options, factor));
  CHECK_OK(tristar_plan(*factor, &how, plan));
}

/* Solves with all right-hand sides at once, with the first one alone, and with x over b. */
static void solve(tristar_t *ts, const system_of *s, const way *w, const char *b, char *x) {
  const int64_t n = s->rows.n;
  const size_t column = (size_t)n * s->t->bytes;
  OWNED char *alone = xmalloc(column + 1), *over = xmalloc(NRHS * column + 1);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_plan_stats stats;
  make(ts, s, w, &factor, &plan);
  tristar_plan_get_stats(plan, &stats);
  CHECK(w->partition == TRISTAR_PARTITION_AUTO || stats.partition == w->partition);
  CHECK_OK(tristar_solve(plan, w->op, NRHS, b, n, x, n));
  CHECK_OK(tristar_solve(plan, w->op, 1, b, n, alone, n));
  memcpy(over, b, NRHS * column);
  CHECK_OK(tristar_solve(plan, w->op, NRHS, over, n, over, n));
  CHECK(memcmp(over, x, NRHS * column) == 0);
  OWNED char *many = xmalloc(NRHS * column + 1);
  memcpy(many, x, NRHS * column);
  memcpy(many, alone, column);
  check_residual(s, w->upper, w->unit, w->op, b, many, "alone");
}

static void check_triangle(tristar_t *ts, int kind, int32_t n, const typed *t, bool all, bool with_tasks) {
  const size_t size = (size_t)(n * NRHS) * t->bytes;
  CLEANUP(system_free) system_of s = system_create(kind, n, t);
  char *b = xmalloc(size + 1), *x = xmalloc(size + 1), *expected = xmalloc(size + 1),
       *blocks = xmalloc(size + 1), what[200];
  fill_b(t, n, b);
  for (int k = 0; k < (all ? 24 : 6); k++) {
    way w = {.upper = k % 2, .op = (tristar_op) "NTC"[k / 2 % 3], .by_rows = k / 6 % 2, .unit = k / 12};
    if (!all) w.unit = k % 2, w.by_rows = (k + n) % 2;
    for (size_t q = 0; q < sizeof partitions / sizeof *partitions; q++)
      for (int tasks = 0; tasks < (!with_tasks ? 1 : kind == TRIANGLE_DENSE ? 3 : 2); tasks++) {
        w.partition = partitions[q];
        w.engine = tasks == 0   ? TRISTAR_ENGINE_SERIAL
                   : tasks == 1 ? TRISTAR_ENGINE_TASKS
                                : TRISTAR_ENGINE_AUTO;
        snprintf(what, sizeof what,
                 "%s of order %d, %c, upper %d, by rows %d, unit %d, op %c, partition %d, tasks %d",
                 triangle_names[kind], n, (char)t->scalar, w.upper, w.by_rows, w.unit, (char)w.op,
                 (int)w.partition, tasks);
        solve(ts, &s, &w, b, x);
        check_residual(&s, w.upper, w.unit, w.op, b, x, what);
        if (w.partition == TRISTAR_PARTITION_WHOLE && !tasks) memcpy(expected, x, size);
        if (has_blocks(w.partition)) {
          if (!tasks) memcpy(blocks, x, size);
          CHECK_MSG(memcmp(x, blocks, size) == 0, "%s: other bits than without tasks", what);
        } else if (w.partition != TRISTAR_PARTITION_SUPERNODES && w.partition != TRISTAR_PARTITION_AUTO)
          CHECK_MSG(memcmp(x, expected, size) == 0, "%s: other bits", what);
      }
  }
  free(b);
  free(x);
  free(expected);
  free(blocks);
}

/* A few rows of b and of x give the numbers of a solve with zeros in the other rows of b. */
static void check_chosen_rows(tristar_t *ts, tristar_partition partition) {
  enum { N = 3000, GIVEN = 3, WANTED = 40 };
  CLEANUP(system_free) system_of s = system_create(TRIANGLE_ERDOES_RENYI, N, &typed_double);
  static double b[N], x[N], given[GIVEN], wanted[WANTED];
  int64_t b_row[GIVEN], x_row[WANTED];
  for (int k = 0; k < GIVEN; k++) b_row[k] = 100 + 700 * k;
  for (int k = 0; k < WANTED; k++) x_row[k] = N - 1 - 7 * k;
  fill_random(given, GIVEN, 4);
  memset(b, 0, sizeof b);
  for (int k = 0; k < GIVEN; k++) b[b_row[k]] = given[k];
  for (int k = 0; k < 4; k++) {
    const way w = {.upper = k % 2,
                   .op = k / 2 ? TRISTAR_T : TRISTAR_N,
                   .partition = partition,
                   .engine = TRISTAR_ENGINE_TASKS};
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
    tristar_solve_options options;
    make(ts, &s, &w, &factor, &plan);
    CHECK_OK(
        tristar_solve(plan, w.op, 1, b, N, x, N)); /* a later solve must not read leftovers of this one */
    for (int which = 1; which < 4; which++) {
      tristar_solve_options_init(&options);
      options.op = w.op;
      if (which & 1) options.b_row = b_row, options.b_rows = GIVEN;
      if (which & 2) options.x_row = x_row, options.x_rows = WANTED;
      double full[N];
      void *to = which & 2 ? wanted : full;
      CHECK_OK(tristar_solve_with(plan, &options, 1, which & 1 ? given : b, to, NULL));
      for (int i = 0; i < (which & 2 ? WANTED : N); i++) {
        const double got = ((double *)to)[i], right = which & 2 ? x[x_row[i]] : x[i];
        CHECK_MSG(fabs(got - right) <= 1e-13 * fabs(right), "row %d: %g instead of %g, partition %d, rows %d",
                  i, got, right, (int)partition, which);
      }
    }
  }
}

static void check_services(tristar_t *ts, tristar_partition partition) {
  enum { N = 900 };
  CLEANUP(system_free) system_of s = system_create(TRIANGLE_GRID, N, &typed_double);
  double b[N], x[N], error;
  const way w = {.partition = partition};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_refine_result result;
  tristar_factor_stats stats;
  tristar_plan_options options;
  fill_random(b, N, 8);
  make(ts, &s, &w, &factor, &plan);
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, N, x, N, NULL, &result));
  CHECK(result.backward_error < 1e-15);
  CHECK_OK(tristar_residual(factor, TRISTAR_N, 1, b, N, x, N, NULL, N, &error));
  CHECK(error < 1e-15);
  CHECK_OK(tristar_condition(plan, &error));
  CHECK(error > 1e-4 && error <= 1);
  tristar_factor_get_stats(factor, &stats);
  CHECK(stats.nnz_factor == s.rows.ptr[N]);
  tristar_plan_options_init(&options);
  tristar_plan_destroy(&plan);
  options.kernel = TRISTAR_KERNEL_SPMV;
  CHECK_STATUS(tristar_plan(factor, &options, &plan), TRISTAR_ERR_UNSUPPORTED);
  tristar_plan_options_init(&options);
  options.scheduling = TRISTAR_SCHEDULING_LEVELS;
  options.updates = TRISTAR_UPDATES_PUSH;
  options.granularity = TRISTAR_TASKS_SUPERNODES;
  double again[N];
  CHECK_OK(tristar_plan(factor, &options, &plan));
  CHECK_OK(tristar_solve_refined(plan, TRISTAR_N, 1, b, N, again, N, NULL, &result));
  CHECK(memcmp(x, again, sizeof x) == 0);
}

static void check_bad(tristar_t *ts, tristar_partition partition) {
  CLEANUP(system_free) system_of s = system_create(TRIANGLE_BANDED, 50, &typed_double);
  double *values = (double *)s.values[0];
  const tristar_view view = view_of(&s, false, true);
  const tristar_triangle_options options = {
      .size = sizeof options, .uplo = TRISTAR_LOWER, .diag = TRISTAR_NON_UNIT, .partition = partition};
  tristar_factor_t *factor;
  char message[300];
  const struct {
    double value;
    tristar_status status;
  } bad[] = {{0, TRISTAR_ERR_SINGULAR},
             {NAN, TRISTAR_ERR_NOT_FINITE},
             {INFINITY, TRISTAR_ERR_NOT_FINITE},
             {1e-320, TRISTAR_ERR_NOT_FINITE}};
  const int64_t place = s.rows.ptr[31] - 1;
  for (int k = 0; k < 4; k++) {
    const double keep = values[place];
    values[place] = bad[k].value;
    CHECK_STATUS(tristar_import_triangle(ts, &view, &options, &factor), bad[k].status);
    CHECK(factor == NULL);
    tristar_get_error(ts, message, sizeof message);
    CHECK_MSG(strstr(message, "30") != NULL || partition == TRISTAR_PARTITION_SUPERNODES, "%s", message);
    values[place] = keep;
  }
  tristar_triangle_options wrong = options;
  wrong.partition = (tristar_partition)9;
  CHECK_STATUS(tristar_import_triangle(ts, &view, &wrong, &factor), TRISTAR_ERR_ARGUMENT);
}

/* Entries outside the triangle are not read, whatever the order of a line: U = 3 I with NaN below it. An
 * extreme index of a first entry is refused. */
static void check_unread(tristar_t *ts) {
  static const int64_t ptr[] = {1, 2, 4}, sorted[] = {1, 1, 2}, turned[] = {1, 2, 1},
                       extreme[] = {INT64_MIN, 1, 2};
  const double values[] = {3, NAN, 3}, turned_values[] = {3, 3, NAN}, b[] = {3, 6};
  tristar_view view = {.format = TRISTAR_CSR,
                       .scalar = TRISTAR_DOUBLE,
                       .rows = 2,
                       .cols = 2,
                       .ptr = ptr,
                       .index = sorted,
                       .values = values,
                       .ptr_bits = 64,
                       .index_bits = 64,
                       .base = 1};
  tristar_triangle_options options = {.size = sizeof options,
                                      .uplo = TRISTAR_UPPER,
                                      .diag = TRISTAR_NON_UNIT,
                                      .partition = TRISTAR_PARTITION_WHOLE};
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double x[2];
  for (int k = 0; k < 2; k++) {
    view.index = k ? turned : sorted;
    view.values = k ? turned_values : values;
    CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
    CHECK_OK(tristar_plan(factor, NULL, &plan));
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, 2, x, 2));
    CHECK(x[0] == 1 && x[1] == 2);
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&factor);
    options.uplo = TRISTAR_LOWER;
    CHECK_STATUS(tristar_import_triangle(ts, &view, &options, &factor), TRISTAR_ERR_NOT_FINITE);
    options.uplo = TRISTAR_UPPER;
  }
  view.index = extreme;
  CHECK_STATUS(tristar_import_triangle(ts, &view, &options, &factor), TRISTAR_ERR_FORMAT);
}

/* An extreme index inside a line is refused; descending indices are accepted. */
static void check_inside(tristar_t *ts) {
  static const int64_t ptr[] = {1, 4, 5, 6}, extreme[] = {1, INT64_MIN, 3, 2, 3}, turned[] = {1, 3, 3, 2, 3};
  static const double values[] = {1, 2, 3, 4, 5};
  tristar_view view = {.format = TRISTAR_CSR,
                       .scalar = TRISTAR_DOUBLE,
                       .rows = 3,
                       .cols = 3,
                       .ptr = ptr,
                       .index = extreme,
                       .values = values,
                       .ptr_bits = 64,
                       .index_bits = 64,
                       .base = 1};
  const tristar_triangle_options options = {.size = sizeof options,
                                            .uplo = TRISTAR_UPPER,
                                            .diag = TRISTAR_NON_UNIT,
                                            .partition = TRISTAR_PARTITION_WHOLE};
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  const double b[] = {26, 8, 15}; /* the two entries (0, 2) add up to 5 */
  double x[3];
  CHECK_STATUS(tristar_import_triangle(ts, &view, &options, &factor), TRISTAR_ERR_FORMAT);
  view.index = turned;
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, 3, x, 3));
  CHECK(x[0] == 11 && x[1] == 2 && x[2] == 3);
}

/* Returns the partition that is chosen if row i depends on the rows i - before[k], k < count. Rows are
 * points of a grid; the first row of a line does not depend on its predecessor. */
static tristar_partition choice_of(tristar_t *ts, const int32_t *before, int32_t count) {
  enum { N = 3600, LINE = 60, MOST = 8 };
  static int64_t ptr[N + 1];
  static int32_t index[N * MOST];
  static double values[N * MOST];
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, index, values);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  tristar_plan_stats stats;
  for (int32_t i = 0; i < N; i++) {
    ptr[i + 1] = ptr[i];
    for (int32_t k = 0; k <= count; k++) {
      if (k < count && (before[k] > i || (before[k] == 1 && i % LINE == 0))) continue;
      index[ptr[i + 1]] = k < count ? i - before[k] : i;
      values[ptr[i + 1]++] = k < count ? 0.1 : 1;
    }
  }
  CHECK_OK(tristar_import_triangle(ts, &view, NULL, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  tristar_plan_get_stats(plan, &stats);
  return stats.partition;
}

/* One core: level sets are chosen for far and for near dependencies, but not for two chains. */
static void check_choices(tristar_t *ts) {
  static const int32_t far[] = {777, 650, 540, 430, 310, 210, 100}, near[] = {360, 300, 240, 180, 120, 60, 1},
                       next[] = {2};
  CHECK(choice_of(ts, far, 7) == TRISTAR_PARTITION_SUPERSTEPS);
  CHECK(choice_of(ts, far, 3) == TRISTAR_PARTITION_SUPERSTEPS);
  CHECK(choice_of(ts, near, 7) == TRISTAR_PARTITION_SUPERSTEPS);
  CHECK(choice_of(ts, next, 1) == TRISTAR_PARTITION_WHOLE);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_single,
                                       &typed_complex_double};
  CLEANUP(tristar_destroy) tristar_t *ts;
  tristar_config config = DEFAULTS(tristar_config);
  config.check = 1;
  config.use_starpu = 0; /* idle StarPU workers would slow down the test */
  CHECK_OK(tristar_create(&config, &ts));
  if (!TSI_TESTS_RACES) { /* these tests run in one thread */
    RUN(check_unread(ts));
    RUN(check_inside(ts));
    RUN(check_choices(ts));
  }
  for (int kind = 0; kind < TRIANGLES && !TSI_TESTS_RACES; kind++) {
    for (int k = 0; k < 4; k += 1 + TSI_TESTS_SANITIZED)
      RUN(check_triangle(ts, kind, 60 + 7 * kind, types[k], k == 0, false));
    RUN(check_triangle(ts, kind, kind % 3, &typed_double, false, false));
  }
  tristar_destroy(&ts);
  config.use_starpu = 1;
  CHECK_OK(tristar_create(&config, &ts));
  RUN(check_triangle(ts, TRIANGLE_GRID, 2500, &typed_double, false, true));
  RUN(check_triangle(ts, TRIANGLE_ONE_LEVEL, 2000, &typed_double, false, true));
  RUN(check_triangle(ts, TRIANGLE_RANDOM, 300, &typed_complex_single, false, true));
  RUN(check_triangle(ts, TRIANGLE_DENSE, 320, &typed_double, false, true)); /* large enough for lanes */
  for (size_t q = 0; q < sizeof partitions / sizeof *partitions; q++) {
    RUN(check_chosen_rows(ts, partitions[q]));
    RUN(check_services(ts, partitions[q]));
    RUN(check_bad(ts, partitions[q]));
  }
  return 0;
}
