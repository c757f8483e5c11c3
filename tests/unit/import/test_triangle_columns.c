/* Triangles by columns that several cores share. If entries are scattered they are copied as columns, and the
 * cut is made from these. If entries are near the diagonal, or columns are out of order, they are converted
 * to rows. All give the bits of the rows in one chunk, lower and upper, of each scalar type, with T and with
 * its transpose, and with new values. Errors of a matrix are reported, and each allocation may fail. */
#include "runtime/context/context.h"
#include "runtime/factor/factor.h"
#include "runtime/import/import.h"
#include "runtime/rows/row_factor.h"
#include "tests/support/context.h"
#include "tests/support/failing_import.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#undef I

enum { N = 60000, ENTRIES = 6, NEAR = 50 };

typedef struct columns {
  const typed *t;
  bool upper;
  int64_t *ptr;
  int32_t *index;
  char *values;
} columns;

static void fill_values(const columns *c, uint64_t seed) {
  for (int32_t j = 0; j < N; j++)
    for (int64_t e = c->ptr[j]; e < c->ptr[j + 1]; e++) {
      const number a = random_value(seed + (uint64_t)e) / ENTRIES;
      put(c->t, c->values, e, c->index[e] == j ? 2 + a : a);
    }
}

/* Column j has the diagonal and up to ENTRIES of the rows after it (upper: before it), ascending.
 * scattered: of all rows, else of the nearest ones. */
static columns make(const typed *t, bool upper, bool scattered) {
  columns c = {t, upper, xmalloc((N + 1) * sizeof *c.ptr), xmalloc((ENTRIES + 1) * N * sizeof *c.index),
               NULL};
  CHECK(c.ptr != NULL && c.index != NULL);
  int64_t to = 0;
  for (int32_t j = 0; j < N; j++) {
    const int32_t rows = upper ? j : N - 1 - j, width = scattered || rows < NEAR ? rows : NEAR;
    const int32_t first = upper ? j - width : j + 1, step = width / ENTRIES;
    c.ptr[j] = to;
    if (!upper) c.index[to++] = j;
    for (int32_t k = 0; k < ENTRIES && step > 0; k++) {
      double part[1];
      fill_random(part, 1, (uint64_t)j * ENTRIES + (uint64_t)k);
      c.index[to++] = first + k * step + (int32_t)(fabs(part[0]) * 0.999 * step);
    }
    if (upper) c.index[to++] = j;
  }
  c.ptr[N] = to;
  c.values = xmalloc((size_t)to * t->bytes);
  fill_values(&c, 3);
  return c;
}

static void free_columns(columns *c) {
  free(c->ptr);
  free(c->index);
  free(c->values);
}

static tristar_status import(tristar_t *ts, const columns *c, tristar_partition partition,
                             tristar_factor_t **factor) {
  const tristar_view view =
      stored_view(TRISTAR_CSC, TRISTAR_GENERAL, c->t->scalar, N, N, c->ptr, c->index, c->values);
  tristar_triangle_options o = DEFAULTS(tristar_triangle_options);
  o.uplo = c->upper ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.partition = partition;
  return tristar_import_triangle(ts, &view, &o, factor);
}

static void solve(tristar_factor_t *factor, tristar_op op, const void *b, void *x) {
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  for (int k = 0; k < 3; k++) CHECK_OK(tristar_solve(plan, op, 1, b, N, x, N)); /* some of them with help */
}

static void check_same(tristar_factor_t *factor, tristar_factor_t *whole, const columns *c) {
  const size_t bytes = N * c->t->bytes;
  OWNED char *b = xmalloc(bytes), *x = xmalloc(bytes), *expected = xmalloc(bytes);
  for (int32_t i = 0; i < N; i++) put(c->t, b, i, 1 + i % 7);
  for (int k = 0; k < 2; k++) {
    const tristar_op op = k ? TRISTAR_T : TRISTAR_N;
    solve(whole, op, b, expected);
    solve(factor, op, b, x);
    CHECK_MSG(memcmp(x, expected, bytes) == 0, "%s, %c", c->upper ? "upper" : "lower", (char)op);
  }
}

/* by_rows: the pattern must be stored by rows afterwards. */
static void check_partitions(tristar_t *ts, columns *c, bool by_rows) {
  for (int k = 0; k < 2; k++) {
    const tristar_partition partition = k ? TRISTAR_PARTITION_LEVELS : TRISTAR_PARTITION_SUPERSTEPS;
    CLEANUP(tristar_factor_destroy) tristar_factor_t *factor, *whole;
    CHECK_OK(import(ts, c, TRISTAR_PARTITION_WHOLE, &whole));
    CHECK_OK(import(ts, c, partition, &factor));
    CHECK(factor->rows && factor->rows->cut->lanes == 2 && factor->rows->cut->count > 2);
    CHECK_MSG(factor->analysis->pattern->by_rows == by_rows, "%s, %d by rows", c->upper ? "upper" : "lower",
              by_rows);
    CHECK(!whole->analysis->pattern->by_rows);
    check_same(factor, whole, c);
    if (!by_rows) {
      fill_values(c, 5);
      CHECK_OK(tsi_reimport_lines(factor, c->values, false));
      CHECK_OK(tsi_reimport_lines(whole, c->values, false));
      check_same(factor, whole, c);
    }
  }
}

/* Two entries of a column are exchanged: the columns are not sorted, but the triangle is the same. */
static void check_out_of_order(tristar_t *ts, const columns *c) {
  tristar_factor_t *factor, *sorted;
  const int64_t a = c->ptr[N / 2] + 1, b = a + 1;
  char kept[16];
  CHECK_OK(import(ts, c, TRISTAR_PARTITION_SUPERSTEPS, &sorted));
  for (int k = 0; k < 2; k++) { /* exchanges them, then restores the order */
    const int32_t row = c->index[a];
    const size_t bytes = c->t->bytes;
    char *first = c->values + (size_t)a * bytes, *second = c->values + (size_t)b * bytes;
    c->index[a] = c->index[b];
    c->index[b] = row;
    memcpy(kept, first, bytes);
    memcpy(first, second, bytes);
    memcpy(second, kept, bytes);
    if (k == 1) continue;
    CHECK_OK(import(ts, c, TRISTAR_PARTITION_SUPERSTEPS, &factor));
    check_same(factor, sorted, c);
    tristar_factor_destroy(&factor);
  }
  tristar_factor_destroy(&sorted);
}

static void check_refused(tristar_t *ts, const columns *c, tristar_status expected) {
  tristar_factor_t *factor;
  CHECK_STATUS(import(ts, c, TRISTAR_PARTITION_SUPERSTEPS, &factor), expected);
  CHECK(factor == NULL);
}

/* A NaN, a zero on the diagonal, a row twice, rows out of range, also ones that cause overflows. */
static void check_wrong(tristar_t *ts, const columns *c) {
  static const int32_t outside[] = {N, -1, INT32_MAX, INT32_MIN};
  const int64_t at = c->ptr[N / 3] + 2;
  const int64_t diagonal = c->upper ? c->ptr[N / 3 + 1] - 1 : c->ptr[N / 3];
  const number value = get(c->t, c->values, at), pivot = get(c->t, c->values, diagonal);
  const int32_t row = c->index[at];
  put(c->t, c->values, at, NAN);
  check_refused(ts, c, TRISTAR_ERR_NOT_FINITE);
  put(c->t, c->values, at, value);
  put(c->t, c->values, diagonal, 0);
  check_refused(ts, c, TRISTAR_ERR_SINGULAR);
  put(c->t, c->values, diagonal, pivot);
  for (int k = 0; k < 4; k++) {
    c->index[at] = outside[k];
    check_refused(ts, c, TRISTAR_ERR_FORMAT);
  }
  c->index[at] = row;
}

static tristar_status import_supersteps(tristar_t *ts, const void *from, tristar_factor_t **out) {
  return import(ts, from, TRISTAR_PARTITION_SUPERSTEPS, out);
}

static void check_failures(const columns *c) {
  tristar_config config = DEFAULTS(tristar_config);
  config.workers = 2;
  CHECK(fail_each_allocation_of(config, import_supersteps, c) > 20);
}

int test_triangle_columns(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const typed *const types[] = {&typed_double, &typed_single, &typed_complex_double,
                                       &typed_complex_single};
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, false);
  for (int s = 0; s < (TSI_TESTS_SANITIZED ? 1 : 4); s++) /* all types have the same code */
    for (int upper = 0; upper < 2; upper++) {
      columns scattered = make(types[s], upper, true), near = make(types[s], upper, false);
      RUN(check_partitions(ts, &scattered, false));
      RUN(check_partitions(ts, &near, true));
      if (s == 0) {
        RUN(check_out_of_order(ts, &scattered));
        RUN(check_out_of_order(ts, &near));
        RUN(check_wrong(ts, &scattered));
        RUN(check_wrong(ts, &near));
        RUN(check_failures(&scattered));
      }
      free_columns(&scattered);
      free_columns(&near);
    }
  return 0;
}
