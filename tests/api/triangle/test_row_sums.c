/* Sums of triangles that are solved row by row: in each row the entry that is farthest from the diagonal
 * comes first, in both sweeps, for one right-hand side and several. Rows of a vector that no cache holds are
 * right. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tristar_triangle.h"

enum { N = 4, NRHS = 3 };

/* A unit lower triangle: the last row has the given entries before its diagonal. Or an upper one: the first
 * row has them after its diagonal, in reverse order. */
typedef struct triangle {
  int64_t ptr[N + 1];
  int32_t index[2 * N];
  double values[2 * N];
} triangle;

static triangle make_rows(bool upper, const double entry[N - 1]) {
  triangle t = {.ptr = {0}};
  int64_t to = 0;
  const int32_t full = upper ? 0 : N - 1;
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = 0; j < N; j++) {
      if (j != i && (i != full)) continue;
      t.index[to] = j;
      t.values[to++] = j == i ? 1 : entry[upper ? N - 1 - j : j];
    }
    t.ptr[i + 1] = to;
  }
  return t;
}

/* b is zero in the full row and one elsewhere; x of the full row must be `expected`. transposed: the arrays
 * are passed as columns of the transposed triangle, and solved with op T. */
static void check_sum(tristar_t *ts, bool upper, bool transposed, tristar_partition partition,
                      const double entry[N - 1], double expected) {
  const triangle t = make_rows(upper, entry);
  const tristar_view view = stored_view(transposed ? TRISTAR_CSC : TRISTAR_CSR, TRISTAR_GENERAL,
                                        TRISTAR_DOUBLE, N, N, t.ptr, t.index, t.values);
  tristar_triangle_options o = DEFAULTS(tristar_triangle_options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  double b[N * NRHS], x[N * NRHS];
  const int full = upper ? 0 : N - 1;
  o.uplo = upper != transposed ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.partition = partition;
  for (int k = 0; k < N * NRHS; k++) b[k] = k % N == full ? 0 : 1;
  CHECK_OK(tristar_import_triangle(ts, &view, &o, &factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  for (int nrhs = 1; nrhs <= NRHS; nrhs++) {
    CHECK_OK(tristar_solve(plan, transposed ? TRISTAR_T : TRISTAR_N, nrhs, b, N, x, N));
    for (int c = 0; c < nrhs; c++) CHECK(x[c * N + full] == expected);
  }
}

/* Rounding errors beside 1e16 show the order of the sum. */
static void check_order(tristar_t *ts, tristar_partition partition) {
  static const double lost[N - 1] = {1, 1e16, -1e16}, kept[N - 1] = {1e16, -1e16, 1};
  for (int k = 0; k < 4; k++) {
    check_sum(ts, k & 1, k & 2, partition, lost, 0);
    check_sum(ts, k & 1, k & 2, partition, kept, -1);
  }
}

/* Row i of the sweep depends on row i - 1000. The factors are 1/2, so there are no rounding errors. */
static void check_long_vector(tristar_t *ts, bool upper) {
  enum { LONG = 270000, BACK = 1000 };
  OWNED int64_t *ptr = xmalloc((LONG + 1) * sizeof *ptr);
  OWNED int32_t *index = xmalloc(2 * LONG * sizeof *index);
  OWNED double *values = xmalloc(2 * LONG * sizeof *values), *b = xmalloc(LONG * sizeof *b),
               *x = xmalloc(LONG * sizeof *x);
  tristar_triangle_options o;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  int64_t to = 0;
  for (int32_t i = 0; i < LONG; i++) {
    const int32_t other = upper ? i + BACK : i - BACK;
    ptr[i] = to;
    if (!upper && other >= 0) index[to] = other, values[to++] = 0.5;
    index[to] = i, values[to++] = 1;
    if (upper && other < LONG) index[to] = other, values[to++] = 0.5;
    b[i] = 1 + i % 7;
  }
  ptr[LONG] = to;
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, LONG, LONG, ptr, index, values);
  tristar_triangle_options_init(&o);
  o.uplo = upper ? TRISTAR_UPPER : TRISTAR_LOWER;
  o.partition = TRISTAR_PARTITION_SUPERSTEPS;
  CHECK_OK(tristar_import_triangle(ts, &view, &o, &factor));
  CHECK_OK(tristar_plan(factor, NULL, &plan));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, LONG, x, LONG));
  for (int32_t k = 0; k < LONG; k++) {
    const int32_t i = upper ? LONG - 1 - k : k;
    CHECK(x[i] == b[i] - (k >= BACK ? 0.5 * x[upper ? i + BACK : i - BACK] : 0));
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(true);
  RUN(check_order(ts, TRISTAR_PARTITION_WHOLE));
  RUN(check_order(ts, TRISTAR_PARTITION_SUPERSTEPS));
  RUN(check_order(ts, TRISTAR_PARTITION_LEVELS));
  for (int upper = 0; upper < 2; upper++) RUN(check_long_vector(ts, upper));
  return 0;
}
