/* tristar_find_triangle: triangles of every pattern, as they stand and with rows and columns permuted, by
 * rows and by columns, with 32 and 64 bits, base 0 and 1, several entries at one place, and without values:
 * the orders make them triangular. Matrices that no orders make triangular, that are singular, have zeros on
 * the diagonal, are symmetric or empty; errors are reported. */
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"
#include "tristar_triangle.h"

enum { MOST = 120, ROOM = 2 * MOST * MOST };

typedef struct matrix {
  int64_t n, count;
  int64_t row[ROOM], column[ROOM]; /* entries, in any order */
  double value[ROOM];
} matrix;

static void add(matrix *m, int64_t row, int64_t column, double value) {
  m->row[m->count] = row;
  m->column[m->count] = column;
  m->value[m->count++] = value;
}

/* The arrays of a view. */
typedef struct arrays {
  int64_t ptr[MOST + 1], index[ROOM];
  int32_t short_ptr[MOST + 1], short_index[ROOM];
  double value[ROOM];
} arrays;

static tristar_view view_of(const matrix *m, bool by_rows, bool wide, int base, bool values, arrays *a) {
  int64_t count = 0;
  for (int64_t j = 0; j < m->n; j++) {
    a->ptr[j] = count + base;
    for (int64_t e = 0; e < m->count; e++) {
      if ((by_rows ? m->row : m->column)[e] != j) continue;
      a->index[count] = (by_rows ? m->column : m->row)[e] + base;
      a->value[count++] = m->value[e];
    }
  }
  a->ptr[m->n] = count + base;
  for (int64_t j = 0; j <= m->n; j++) a->short_ptr[j] = (int32_t)a->ptr[j];
  for (int64_t e = 0; e < count; e++) a->short_index[e] = (int32_t)a->index[e];
  return (tristar_view){.format = by_rows ? TRISTAR_CSR : TRISTAR_CSC,
                        .symmetry = TRISTAR_GENERAL,
                        .scalar = TRISTAR_DOUBLE,
                        .rows = m->n,
                        .cols = m->n,
                        .ptr = wide ? (void *)a->ptr : a->short_ptr,
                        .index = wide ? (void *)a->index : a->short_index,
                        .values = values ? a->value : NULL,
                        .ptr_bits = wide ? 64 : 32,
                        .index_bits = wide ? 64 : 32,
                        .base = base};
}

/* All views of the matrix have the shape `right`. If it is a triangle, the returned orders make it
 * triangular. */
static void check_shape(tristar_t *ts, const matrix *m, tristar_shape right, const char *what) {
  static arrays a;
  for (int k = 0; k < 16; k++) {
    int64_t row[MOST], column[MOST], place[2][MOST];
    tristar_shape shape;
    const tristar_view view = view_of(m, k & 1, k & 2, k / 4 % 2, k < 8, &a);
    CHECK_OK(tristar_find_triangle(ts, &view, &shape, row, column));
    CHECK_MSG(shape == right, "%s, view %d: shape %d, not %d", what, k, (int)shape, (int)right);
    CHECK_OK(tristar_find_triangle(ts, &view, &shape, NULL, NULL));
    CHECK(shape == right);
    if (shape == TRISTAR_SHAPE_OTHER) continue;
    for (int64_t i = 0; i < m->n; i++) place[0][i] = place[1][i] = -1;
    for (int64_t i = 0; i < m->n; i++) {
      CHECK(row[i] >= 0 && row[i] < m->n && place[0][row[i]] < 0);
      CHECK(column[i] >= 0 && column[i] < m->n && place[1][column[i]] < 0);
      place[0][row[i]] = place[1][column[i]] = i;
      CHECK(shape == TRISTAR_SHAPE_PERMUTED || (row[i] == i && column[i] == i));
    }
    bool diagonal[MOST] = {false};
    for (int64_t e = 0; e < m->count; e++) {
      const int64_t i = place[0][m->row[e]], j = place[1][m->column[e]];
      CHECK_MSG(shape == TRISTAR_SHAPE_UPPER ? i <= j : i >= j, "%s, view %d: entry (%d, %d)", what, k,
                (int)i, (int)j);
      if (i == j) diagonal[i] = true;
    }
    for (int64_t i = 0; i < m->n; i++) CHECK(diagonal[i]);
  }
}

static void shuffle(int64_t n, uint64_t *seed, int64_t *order) {
  for (int64_t k = 0; k < n; k++) order[k] = k;
  for (int64_t k = n; k-- > 1;) {
    const int64_t other = (int64_t)(next_random(seed) % (uint64_t)(k + 1)), keep = order[k];
    order[k] = order[other];
    order[other] = keep;
  }
}

/* Fills in a lower or upper triangle. how 0: not permuted, 1: rows permuted, 2: columns, 3: both, 4: both
 * alike. */
static void fill(matrix *m, const triangle_pattern *lower, bool upper, int how, uint64_t seed) {
  int64_t row[MOST], column[MOST];
  *m = (matrix){.n = lower->n};
  shuffle(m->n, &seed, row);
  shuffle(m->n, &seed, column);
  for (int64_t k = 0; k < m->n; k++) {
    if (how == 0 || how == 2) row[k] = k;
    if (how == 0 || how == 1) column[k] = k;
    if (how == 4) column[k] = row[k];
  }
  for (int32_t i = 0; i < lower->n; i++)
    for (int64_t e = lower->ptr[i]; e < lower->ptr[i + 1]; e++) {
      const int32_t j = lower->index[e];
      const bool twice = next_random(&seed) % 8 == 0;
      for (int k = 0; k <= twice; k++)
        add(m, row[upper ? j : i], column[upper ? i : j], i == j ? 2 : (double)(next_random(&seed) % 5));
    }
}

static tristar_shape as_it_stands(const matrix *m) {
  bool below = false, above = false;
  for (int64_t e = 0; e < m->count; e++) {
    below |= m->row[e] > m->column[e];
    above |= m->row[e] < m->column[e];
  }
  return below && above ? TRISTAR_SHAPE_PERMUTED : above ? TRISTAR_SHAPE_UPPER : TRISTAR_SHAPE_LOWER;
}

static bool full_diagonal(const matrix *m) {
  int64_t found = 0;
  for (int64_t i = 0; i < m->n; i++)
    for (int64_t e = 0; e < m->count; e++)
      if (m->row[e] == i && m->column[e] == i) {
        found++;
        break;
      }
  return found == m->n;
}

static void check_triangles(tristar_t *ts) {
  static matrix m;
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int k = 0; k < 10; k++) {
      const int32_t n = k < 4 ? k : 40 + 7 * kind;
      CLEANUP(triangle_free) triangle_pattern lower = triangle_create(kind, n, (uint64_t)(kind + k));
      char what[100];
      fill(&m, &lower, k % 2, k / 2, (uint64_t)(100 * kind + k));
      snprintf(what, sizeof what, "%s of order %d, upper %d, permuted %d", triangle_names[kind], n, k % 2,
               k / 2);
      check_shape(ts, &m, full_diagonal(&m) ? as_it_stands(&m) : TRISTAR_SHAPE_PERMUTED, what);
    }
}

/* Changes that make a triangle no triangle. */
static void check_others(tristar_t *ts) {
  static matrix m;
  static arrays a;
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int how = 0; how < 5; how++) {
      triangle_pattern lower = triangle_create(kind, 40, (uint64_t)kind);
      int64_t place = 0;
      fill(&m, &lower, how % 2, how, (uint64_t)how);
      triangle_free(&lower);
      const int64_t count = m.count;
      static int64_t row[MOST], column[MOST];
      tristar_shape shape;
      const tristar_view view = view_of(&m, false, true, 0, true, &a);
      CHECK_OK(tristar_find_triangle(ts, &view, &shape, row, column));
      if (shape == TRISTAR_SHAPE_UPPER)
        for (int64_t k = 0; k < m.n / 2; k++) {
          const int64_t r = row[k], c = column[k];
          row[k] = row[m.n - 1 - k], column[k] = column[m.n - 1 - k];
          row[m.n - 1 - k] = r, column[m.n - 1 - k] = c;
        }
      for (int64_t k = 0; k < m.n; k++) add(&m, row[(k + 1) % m.n], column[k], 1); /* a cycle */
      check_shape(ts, &m, TRISTAR_SHAPE_OTHER, "a circle");
      m.count = count;
      add(&m, row[10], column[20], 1); /* a cycle of two rows and columns */
      add(&m, row[20], column[10], 1);
      check_shape(ts, &m, TRISTAR_SHAPE_OTHER, "a block of order 2");
      m.count = count;
      for (int64_t e = 0; e < m.count; e++) /* an entry of the diagonal is missing */
        if (m.row[e] != row[15] || m.column[e] != column[15])
          m.row[place] = m.row[e], m.column[place] = m.column[e], m.value[place++] = m.value[e];
      m.count = place;
      check_shape(ts, &m, TRISTAR_SHAPE_OTHER, "without a pivot");
    }
}

static void check_zeros(tristar_t *ts) {
  static arrays a;
  static matrix m;
  tristar_shape shape;
  for (int how = 0; how < 5; how += 3) {
    triangle_pattern lower = triangle_create(TRIANGLE_CHAIN, 30, 1);
    fill(&m, &lower, false, how, 9);
    triangle_free(&lower);
    int64_t row[MOST], column[MOST];
    tristar_view view = view_of(&m, false, false, 0, true, &a);
    CHECK_OK(tristar_find_triangle(ts, &view, &shape, row, column));
    CHECK(shape == (how ? TRISTAR_SHAPE_PERMUTED : TRISTAR_SHAPE_LOWER));
    for (int64_t e = 0; e < m.count; e++)
      if (m.row[e] == row[12] && m.column[e] == column[12]) m.value[e] = 0;
    for (int by_rows = 0; by_rows < 2; by_rows++) {
      view = view_of(&m, by_rows, false, 0, true, &a);
      CHECK_OK(tristar_find_triangle(ts, &view, &shape, row, column));
      CHECK(shape == TRISTAR_SHAPE_OTHER);
      view.values = NULL; /* without values the entry may be nonzero */
      CHECK_OK(tristar_find_triangle(ts, &view, &shape, row, column));
      CHECK(shape != TRISTAR_SHAPE_OTHER);
      view.symmetry = TRISTAR_SYMMETRIC;
      CHECK_OK(tristar_find_triangle(ts, &view, &shape, NULL, NULL));
      CHECK(shape == TRISTAR_SHAPE_OTHER);
    }
  }
}

static void check_wrong(tristar_t *ts) {
  static arrays a;
  static matrix m;
  tristar_shape shape = TRISTAR_SHAPE_LOWER;
  m = (matrix){.n = 3};
  for (int k = 0; k < 3; k++) add(&m, k, 2 - k, 1);
  tristar_view view = view_of(&m, true, true, 0, true, &a);
  CHECK_STATUS(tristar_find_triangle(NULL, &view, &shape, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_find_triangle(ts, NULL, &shape, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_find_triangle(ts, &view, NULL, NULL, NULL), TRISTAR_ERR_ARGUMENT);
  view.cols = 4;
  CHECK_STATUS(tristar_find_triangle(ts, &view, &shape, NULL, NULL), TRISTAR_ERR_RECTANGULAR);
  CHECK(shape == TRISTAR_SHAPE_OTHER);
  view.cols = 3;
  a.index[1] = 3;
  CHECK_STATUS(tristar_find_triangle(ts, &view, &shape, NULL, NULL), TRISTAR_ERR_FORMAT);
  a.index[1] = 1;
  a.value[2] = NAN;
  CHECK_STATUS(tristar_find_triangle(ts, &view, &shape, NULL, NULL), TRISTAR_ERR_NOT_FINITE);
  a.value[2] = 1;
  CHECK_OK(tristar_find_triangle(ts, &view, &shape, NULL, NULL));
  CHECK(shape == TRISTAR_SHAPE_PERMUTED);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(false);
  RUN(check_triangles(ts));
  RUN(check_others(ts));
  RUN(check_zeros(ts));
  RUN(check_wrong(ts));
  return 0;
}
