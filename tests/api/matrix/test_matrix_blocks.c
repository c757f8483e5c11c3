/* Matrices of blocks have the entries, and solutions the bits, of the same blocks expanded here: all scalars,
 * symmetric kinds, orders inside blocks, widths and bases of integers; blocks in any order, and duplicates.
 */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"

enum { LINES = 6, MOST_BLOCKS = 40, MOST_SIZE = 16, MOST_ORDER = LINES * MOST_SIZE };

/* Where the blocks of a symmetric kind are stored. */
typedef enum triangle { LOWER, UPPER, BOTH, TRIANGLES } triangle;

/* A matrix in blocks, and the same matrix by entries. */
typedef struct problem {
  const typed *t;
  tristar_view blocks, entries;
  tristar_format inside;
  triangle stored;
  int size, count; /* rows of a block; number of blocks */
  bool half;       /* diagonal blocks have zeros in the triangle that is not read */
  int line[MOST_BLOCKS], at[MOST_BLOCKS];
  int32_t narrow_ptr[LINES + 1], narrow_index[MOST_BLOCKS];
  int64_t wide_ptr[LINES + 1], wide_index[MOST_BLOCKS];
  char values[MOST_BLOCKS * MOST_SIZE * MOST_SIZE * sizeof(number)];
  int64_t ptr[MOST_ORDER + 1];
  int32_t index[MOST_BLOCKS * MOST_SIZE * MOST_SIZE];
  char sorted[MOST_BLOCKS * MOST_SIZE * MOST_SIZE * sizeof(number)];
} problem;

static bool is_stored(const problem *p, int line, int at) {
  const int row = p->blocks.format == TRISTAR_CSR ? line : at, column = line + at - row;
  if (row == column || p->blocks.symmetry == TRISTAR_GENERAL) return true;
  if (p->stored == BOTH) return (row > column) == ((row + column) % 4 == 1);
  return (row > column) == (p->stored == LOWER);
}

/* A band without gaps, and some other blocks, in descending order; line 2 has duplicates. */
static void make_pattern(problem *p) {
  p->count = 0;
  for (int line = 0; line < LINES; line++) {
    p->wide_ptr[line] = p->count + p->blocks.base;
    for (int copy = 0; copy < (line == 2 ? 2 : 1); copy++)
      for (int at = LINES - 1; at >= 0; at--) {
        const int apart = abs(line - at);
        if (!is_stored(p, line, at) || (apart > 1 && apart != 3)) continue;
        p->line[p->count] = line;
        p->at[p->count] = at;
        p->wide_index[p->count++] = at + p->blocks.base;
      }
  }
  p->wide_ptr[LINES] = p->count + p->blocks.base;
  for (int k = 0; k <= LINES; k++) p->narrow_ptr[k] = (int32_t)p->wide_ptr[k];
  for (int k = 0; k < p->count; k++) p->narrow_index[k] = (int32_t)p->wide_index[k];
}

/* Does the library read this entry of a diagonal block? */
static bool is_read(const problem *p, int row, int column) {
  return p->blocks.symmetry == TRISTAR_GENERAL || (p->stored == UPPER ? column >= row : row >= column);
}

/* Returns an entry of block k. A change is so small that the matching of the first values suits the new
 * ones. */
static number value_of(const problem *p, double change, int k, int row, int column) {
  const bool diagonal = p->line[k] == p->at[k];
  const tristar_symmetry symmetry = p->blocks.symmetry;
  if (diagonal && !is_read(p, row, column))
    return p->half ? 0 : mirrored(symmetry, value_of(p, change, k, column, row));
  const uint64_t seed = 1 + (uint64_t)((k * MOST_SIZE + row) * MOST_SIZE + column);
  number x = random_value(seed) + change * random_value(seed + 5000);
  if (!p->t->is_complex) x = creal(x);
  if (!diagonal || row != column) return x;
  if (symmetry == TRISTAR_SKEW_SYMMETRIC) return 0;
  return (symmetry == TRISTAR_HERMITIAN ? creal(x) : x) + 8 * p->size;
}

static void fill_values(problem *p, double change) {
  int64_t at = 0;
  for (int k = 0; k < p->count; k++)
    for (int row = 0; row < p->size; row++)
      for (int column = 0; column < p->size; column++)
        put(p->t, p->values,
            (int64_t)k * p->size * p->size +
                (p->inside == TRISTAR_CSR ? row * p->size + column : column * p->size + row),
            value_of(p, change, k, row, column));
  for (int j = 0; j < LINES * p->size; j++) {
    p->ptr[j] = at;
    for (int k = 0; k < p->count; k++)
      for (int i = 0; p->line[k] == j / p->size && i < p->size; i++) {
        const bool by_rows = p->blocks.format == TRISTAR_CSR;
        const int row = by_rows ? j % p->size : i, column = by_rows ? i : j % p->size;
        if (p->at[k] == p->line[k] && !is_read(p, row, column)) continue;
        put(p->t, p->sorted, at, value_of(p, change, k, row, column));
        p->index[at++] = p->at[k] * p->size + i;
      }
  }
  p->ptr[LINES * p->size] = at;
}

static problem *make_problem(const typed *t, tristar_format format, tristar_format inside,
                             tristar_symmetry symmetry, triangle stored, int size, bool wide) {
  problem *p = xcalloc(1, sizeof *p);
  const int n = LINES * size;
  CHECK(size <= MOST_SIZE);
  p->t = t;
  p->inside = inside;
  p->stored = stored;
  p->size = size;
  p->half = size % 2 == 0;
  p->blocks = stored_view(format, symmetry, t->scalar, LINES, LINES, p->wide_ptr, NULL, p->values);
  p->blocks.index = wide ? (const void *)p->wide_index : p->narrow_index;
  if (!wide) p->blocks.ptr = p->narrow_ptr;
  p->blocks.ptr_bits = p->blocks.index_bits = wide ? 64 : 32;
  p->blocks.base = wide;
  make_pattern(p);
  CHECK(p->count <= MOST_BLOCKS);
  fill_values(p, 0);
  p->entries = stored_view(format, symmetry, t->scalar, n, n, p->ptr, p->index, p->sorted);
  return p;
}

static void check_values(const problem *p, const tristar_view *view) {
  const size_t entries = (size_t)p->ptr[p->entries.rows];
  CHECK(memcmp(view->values, p->sorted, entries * p->t->bytes) == 0);
}

static void check_entries(const problem *p, const tristar_view *view) {
  const size_t n = (size_t)p->entries.rows, entries = (size_t)p->ptr[n];
  CHECK(view->format == p->entries.format && view->symmetry == p->entries.symmetry);
  CHECK(view->scalar == p->entries.scalar && view->rows == p->entries.rows && view->cols == p->entries.cols);
  CHECK(view->ptr_bits == 64 && view->index_bits == 32 && view->base == 0);
  CHECK(memcmp(view->ptr, p->ptr, (n + 1) * sizeof *p->ptr) == 0);
  CHECK(memcmp(view->index, p->index, entries * sizeof *p->index) == 0);
  check_values(p, view);
}

typedef struct solver {
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} solver;

static solver make_solver(tristar_t *ts, const tristar_view *a) {
  solver s;
  CHECK_OK(tristar_analyze(ts, a, NULL, &s.analysis));
  CHECK_OK(tristar_factor(s.analysis, a->values, &s.factor));
  CHECK_OK(tristar_plan(s.factor, NULL, &s.plan));
  return s;
}

static void destroy_solver(solver *s) {
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
}

static void compare_solutions(const problem *p, const solver *a, const solver *b) {
  const int64_t n = p->entries.rows;
  char x[MOST_ORDER * sizeof(number)], y[MOST_ORDER * sizeof(number)];
  OWNED void *right = make_rhs(p->t, n);
  CHECK_OK(tristar_solve(a->plan, TRISTAR_N, 1, right, n, x, n));
  CHECK_OK(tristar_solve(b->plan, TRISTAR_N, 1, right, n, y, n));
  CHECK(memcmp(x, y, (size_t)n * p->t->bytes) == 0);
}

/* New values are copied to the matrix without an allocation, and to the factors through its view. */
static void check_problem(tristar_t *ts, problem *p) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view view;
  CHECK_OK(tristar_matrix_from_blocks(ts, &p->blocks, p->size, p->inside, &m));
  CHECK_OK(tristar_matrix_get_view(m, &view));
  check_entries(p, &view);
  solver own = make_solver(ts, &view), expected = make_solver(ts, &p->entries);
  compare_solutions(p, &own, &expected);
  fill_values(p, 0.0625);
  CHECK_OK(tristar_fail_allocation(ts, 1));
  CHECK_OK(tristar_matrix_set_blocks(m, p->values));
  CHECK_OK(tristar_fail_allocation(ts, 0));
  check_values(p, &view);
  CHECK_OK(tristar_refactor(own.factor, view.values));
  CHECK_OK(tristar_refactor(expected.factor, p->sorted));
  compare_solutions(p, &own, &expected);
  destroy_solver(&own);
  destroy_solver(&expected);
}

static void test_kinds(tristar_t *ts, const typed *t, int size) {
  static const tristar_symmetry symmetries[] = {TRISTAR_GENERAL, TRISTAR_SYMMETRIC, TRISTAR_SKEW_SYMMETRIC,
                                                TRISTAR_HERMITIAN};
  for (int kind = 0; kind < 4 * 4 * TRIANGLES; kind++) {
    const tristar_format format = kind % 2 ? TRISTAR_CSR : TRISTAR_CSC;
    const tristar_format inside = kind / 2 % 2 ? TRISTAR_CSR : TRISTAR_CSC;
    const tristar_symmetry symmetry = symmetries[kind / 4 % 4];
    const triangle stored = (triangle)(kind / 16);
    if (symmetry == TRISTAR_GENERAL && stored != LOWER) continue;
    OWNED problem *p = make_problem(t, format, inside, symmetry, stored, size, (kind ^ kind / 2) & 1);
    check_problem(ts, p);
  }
}

/* The analysis gets only the pattern. */
static void test_pattern(tristar_t *ts) {
  OWNED problem *p =
      make_problem(&typed_single, TRISTAR_CSR, TRISTAR_CSR, TRISTAR_SYMMETRIC, LOWER, 3, false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view view;
  p->blocks.values = NULL;
  CHECK_OK(tristar_matrix_from_blocks(ts, &p->blocks, 3, p->inside, &m));
  CHECK_OK(tristar_matrix_get_view(m, &view));
  CHECK(view.values == NULL);
  CHECK_OK(tristar_matrix_set_blocks(m, p->values));
  CHECK_OK(tristar_matrix_get_view(m, &view));
  check_entries(p, &view);
}

static const int64_t ptr[] = {0, 2, 3};

/* Rectangular matrices, and matrices without rows. */
static void test_shapes(tristar_t *ts) {
  static const int32_t index[] = {0, 2, 1}, by_rows[] = {0, 1, 4, 5, 0, 1, 4, 5, 2, 3, 2, 3};
  static const double value[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  static const double expected[] = {1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 11, 12};
  tristar_view wide = stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 3, ptr, index, value), a;
  tristar_matrix_t *m;
  CHECK_OK(tristar_matrix_from_blocks(ts, &wide, 2, TRISTAR_CSR, &m));
  CHECK_OK(tristar_matrix_get_view(m, &a));
  CHECK(a.rows == 4 && a.cols == 6 && ((const int64_t *)a.ptr)[4] == 12);
  CHECK(memcmp(a.index, by_rows, sizeof by_rows) == 0 && memcmp(a.values, expected, sizeof expected) == 0);
  tristar_matrix_destroy(&m);
  wide.rows = wide.cols = 0;
  CHECK_OK(tristar_matrix_from_blocks(ts, &wide, 5, TRISTAR_CSC, &m));
  CHECK_OK(tristar_matrix_get_view(m, &a));
  CHECK(a.rows == 0 && a.cols == 0 && ((const int64_t *)a.ptr)[0] == 0);
  tristar_matrix_destroy(&m);
}

#define REFUSED(status, text, ...)                                                                           \
  do {                                                                                                       \
    CHECK_STATUS(tristar_matrix_from_blocks(ts, __VA_ARGS__, &m), TRISTAR_ERR_##status);                     \
    CHECK(m == NULL);                                                                                        \
    CHECK_ERROR(ts, text);                                                                                   \
  } while (0)

static void test_refused(tristar_t *ts) {
  static const int64_t falls[] = {0, 2, 1}, three[] = {0, 3};
  static const int32_t index[] = {0, 1, 1}, outside[] = {0, 1, 2}, zeros[3] = {0};
  const tristar_format inside = TRISTAR_CSR;
  tristar_view a = stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 2, ptr, index, NULL), b = a;
  tristar_matrix_t *m;
  REFUSED(ARGUMENT, "blocks is NULL", NULL, 2, inside);
  CHECK_STATUS(tristar_matrix_from_blocks(ts, &a, 2, inside, NULL), TRISTAR_ERR_ARGUMENT);
  REFUSED(ARGUMENT, "block_size is 0", &a, 0, inside);
  REFUSED(ARGUMENT, "block_size is -3", &a, -3, inside);
  REFUSED(ARGUMENT, "order 7 inside blocks", &a, 2, (tristar_format)7);
  REFUSED(TOO_LARGE, "2 x 2 blocks of order 1073741824", &a, (int64_t)1 << 30, inside);
  REFUSED(TOO_LARGE, "more than 2147483646 rows", &a, INT64_MAX, inside);
  b.index = outside;
  REFUSED(FORMAT, "block row 1: block 2 is in block column 2, outside 0..1", &b, 2, inside);
  b.format = TRISTAR_CSC;
  REFUSED(FORMAT, "block column 1: block 2 is in block row 2, outside 0..1", &b, 2, inside);
  b.ptr = falls;
  REFUSED(FORMAT, "ptr falls", &b, 2, inside);
  b = a;
  b.index = NULL;
  REFUSED(ARGUMENT, "index is NULL", &b, 2, inside);
  b = a;
  b.symmetry = TRISTAR_SYMMETRIC;
  b.cols = 3;
  REFUSED(RECTANGULAR, "symmetric", &b, 2, inside);
  b = a;
  b.rows = b.cols = 1;
  b.ptr = three;
  b.index = zeros;
  REFUSED(TOO_LARGE, "more than 2^63 entries", &b, INT32_MAX - 1, inside);
}

static void test_refused_values(tristar_t *ts) {
  static const int32_t index[] = {0, 1, 1};
  double value[27] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  tristar_view a = stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, 2, 2, ptr, index, value), view;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *kept, *m, *generated;
  CHECK_OK(tristar_matrix_from_blocks(ts, &a, 3, TRISTAR_CSR, &kept));
  value[9 + 5] = INFINITY;
  REFUSED(NOT_FINITE, "block row 0, block column 1: row 1, column 2 of the block", &a, 3, TRISTAR_CSR);
  REFUSED(NOT_FINITE, "block row 0, block column 1: row 2, column 1 of the block", &a, 3, TRISTAR_CSC);
  a.format = TRISTAR_CSC;
  REFUSED(NOT_FINITE, "block row 1, block column 0: row 1, column 2 of the block", &a, 3, TRISTAR_CSR);
  value[0] = 77;
  CHECK_STATUS(tristar_matrix_set_blocks(kept, value), TRISTAR_ERR_NOT_FINITE);
  CHECK_OK(tristar_matrix_get_view(kept, &view));
  CHECK(((const double *)view.values)[0] == 1);
  CHECK_STATUS(tristar_matrix_set_blocks(kept, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_matrix_set_blocks(NULL, value), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_matrix_generate(ts, "poisson3d7", 3, &generated));
  CHECK_STATUS(tristar_matrix_set_blocks(generated, value), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "not made of blocks");
}

/* The triangle of a diagonal block that is not read: zeros, or the mirror image, exact or with rounding
 * errors. */
static void test_unread_triangle(tristar_t *ts) {
  static const int64_t one[] = {0, 1};
  static const int32_t index[] = {0};
  double value[4] = {2, 1, 1, 2};
  tristar_view a = stored_view(TRISTAR_CSR, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, 1, 1, one, index, value);
  tristar_matrix_t *m;
  for (int k = 0; k < 3; k++) {
    value[1] = k == 0 ? 1 : k == 1 ? 0 : 1 + 4e-16;
    CHECK_OK(tristar_matrix_from_blocks(ts, &a, 2, TRISTAR_CSR, &m));
    tristar_matrix_destroy(&m);
  }
  value[1] = 1.001;
  REFUSED(FORMAT, "block row 0, block column 0: the block is not symmetric, but its rows 0 and 1", &a, 2,
          TRISTAR_CSR);
  CHECK_ERROR(ts, "in the upper triangle");
  value[1] = 1;
  a.symmetry = TRISTAR_SKEW_SYMMETRIC;
  REFUSED(FORMAT, "skew-symmetric", &a, 2, TRISTAR_CSR);
}

static void test_allocations(tristar_t *ts) {
  OWNED problem *p =
      make_problem(&typed_complex_double, TRISTAR_CSR, TRISTAR_CSC, TRISTAR_HERMITIAN, UPPER, 4, true);
  allocation_failures failing = fail_allocations_of(ts);
  tristar_matrix_t *m;
  while (next_failure(&failing)) {
    const tristar_status status = tristar_matrix_from_blocks(ts, &p->blocks, 4, p->inside, &m);
    end_failure(&failing, status);
    CHECK((m == NULL) == (status != TRISTAR_OK));
    tristar_matrix_destroy(&m);
  }
  CHECK(failing.count >= 4);
}

int main(int argc, char **argv) {
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  static const int sizes[] = {1, 2, 3, 6, MOST_SIZE};
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int size = 0; size < (TSI_TESTS_SANITIZED ? 3 : 5); size++)
    for (int k = 0; k < 4; k++) RUN(test_kinds(ts, types[k], sizes[size]));
  RUN(test_pattern(ts));
  RUN(test_shapes(ts));
  RUN(test_refused(ts));
  RUN(test_refused_values(ts));
  RUN(test_unread_triangle(ts));
  RUN(test_allocations(ts));
  return 0;
}
