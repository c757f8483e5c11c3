/* Kernels of rectangles against a plain loop in double precision, for every instruction set of this
 * processor: rows consecutive or listed, columns in 32 or 16 bits, entry by entry or in lanes, every stride.
 * Rows outside of the rectangle do not change, and all formats give the same bits. */
#include "codelets/cpu/rows/block_choice.h"
#include "codelets/cpu/rows/blocks.h"
#include "codelets/cpu/base/scalar.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define ROUNDOFF 6e-8
#else
#define ROUNDOFF 1.2e-16
#endif

static const tsi_index strides[] = {1, 2, 4, 8, 16, 24};
enum { STRIDES = 6, MOST = 24, MARGIN = 3 };

static void fill(tsi_scalar *x, int64_t count, uint64_t seed) {
  double re, im;
  for (int64_t i = 0; i < count; i++) {
    fill_random(&re, 1, seed + 2 * (uint64_t)i);
    fill_random(&im, 1, seed + 2 * (uint64_t)i + 77777);
    x[i] = (tsi_real)re;
#if TSI_COMPLEX
    __imag__ x[i] = (tsi_real)im;
#endif
  }
}

/* A sparse rectangle in all formats. In the workspace its columns begin at first_column; its rows follow
 * after a margin. */
typedef struct rectangle_case {
  tsi_index rows, columns, filled, first_row, n; /* n: number of rows of the workspace */
  tsi_count *ptr, *listed_ptr;
  tsi_index *row, *column;
  uint16_t *short_column;
  tsi_scalar *values;
  tsi_index first_column;
} rectangle_case;

/* longest: maximum number of entries in a row; empty: eighths of the rows that are empty. */
static rectangle_case make_case(tsi_index rows, tsi_index columns, tsi_index longest, int empty,
                                uint64_t seed) {
  rectangle_case r = {.rows = rows, .columns = columns, .first_column = 5};
  const size_t room = (size_t)rows * (size_t)longest + 1;
  r.first_row = r.first_column + columns + MARGIN;
  r.n = r.first_row + rows + MARGIN;
  r.ptr = xcalloc((size_t)rows + 1, sizeof *r.ptr);
  r.listed_ptr = xcalloc((size_t)rows + 1, sizeof *r.listed_ptr);
  r.row = xmalloc((size_t)rows * sizeof *r.row + 1);
  r.column = xmalloc(room * sizeof *r.column);
  r.short_column = xmalloc(room * sizeof *r.short_column);
  for (tsi_index k = 0; k < rows; k++) {
    tsi_index count = (tsi_index)(next_random(&seed) % (uint64_t)(longest + 1));
    if ((int)(next_random(&seed) % 8) < empty) count = 0;
    for (tsi_count e = r.ptr[k]; e < r.ptr[k] + count; e++) {
      const tsi_index j = (tsi_index)(next_random(&seed) % (uint64_t)columns);
      r.column[e] = r.first_column + j;
      r.short_column[e] = (uint16_t)j;
    }
    r.ptr[k + 1] = r.ptr[k] + count;
    if (count == 0) continue;
    r.row[r.filled] = r.first_row + k;
    r.listed_ptr[++r.filled] = r.ptr[k + 1];
  }
  r.values = xmalloc(room * sizeof *r.values);
  fill(r.values, r.ptr[rows], seed);
  return r;
}

static void free_case(rectangle_case *r) {
  free(r->ptr);
  free(r->listed_ptr);
  free(r->row);
  free(r->column);
  free(r->short_column);
  free(r->values);
}

static tsi_rectangle format(const rectangle_case *r, bool listed, bool narrow) {
  return (tsi_rectangle){.ptr = listed ? r->listed_ptr : r->ptr,
                         .row = listed ? r->row : NULL,
                         .column = narrow ? NULL : r->column,
                         .short_column = narrow ? r->short_column : NULL,
                         .values = r->values,
                         .first_row = r->first_row,
                         .first_column = r->first_column};
}

/* Compares with a computation in double precision. size: sum of the magnitudes of all terms. The bound
 * allows one roundoff of it per term. */
static void check_result(const rectangle_case *r, tsi_index stride, const tsi_scalar *before,
                         const tsi_scalar *after) {
  for (tsi_index i = 0; i < r->n; i++) {
    const tsi_index k = i - r->first_row;
    const bool inside = k >= 0 && k < r->rows;
    for (tsi_index c = 0; c < stride; c++) {
      const ptrdiff_t at = (ptrdiff_t)i * stride + c;
      tsi_wide expected = before[at];
      double size = fabs((double)tsi_re(before[at])) + fabs((double)tsi_im(before[at]));
      const tsi_count begin = inside ? r->ptr[k] : 0, end = inside ? r->ptr[k + 1] : 0;
      if (begin == end) {
        CHECK(memcmp(&before[at], &after[at], sizeof *after) == 0);
        continue;
      }
      for (tsi_count e = begin; e < end; e++) {
        const tsi_wide x = before[(ptrdiff_t)r->column[e] * stride + c], value = r->values[e];
        expected -= value * x;
        size += (fabs((double)tsi_re(value)) + fabs((double)tsi_im(value))) *
                (fabs((double)tsi_re(x)) + fabs((double)tsi_im(x)));
      }
      const tsi_wide error = (tsi_wide)after[at] - expected;
      const double bound = 2 * ROUNDOFF * (double)(end - begin + 4) * size;
      CHECK_MSG(fabs((double)tsi_re(error)) <= bound && fabs((double)tsi_im(error)) <= bound,
                "row %d of %d entries, right-hand side %d of %d", k, (int)(end - begin), c, stride);
    }
  }
}

/* Each format, in two groups of rows, gives the bits of the first format. */
static void check_stride(const tsi_block_kernels *kernels, const rectangle_case *r, tsi_index stride,
                         bool lanes, const tsi_scalar *before, tsi_scalar *after, tsi_scalar *other) {
  const size_t bytes = (size_t)r->n * (size_t)stride * sizeof *before;
  for (int f = 0; f < 4; f++) {
    const bool listed = f & 1, narrow = f & 2;
    if (narrow && r->columns > TSI_SHORT_COLUMNS) continue;
    const tsi_rectangle rectangle = format(r, listed, narrow);
    const tsi_index rows = listed ? r->filled : r->rows;
    tsi_scalar *to = f == 0 ? after : other;
    memcpy(to, before, bytes);
    kernels->update(&rectangle, rows / 3, rows, lanes, stride, to);
    kernels->update(&rectangle, 0, rows / 3, lanes, stride, to);
    if (f == 0)
      check_result(r, stride, before, after);
    else
      CHECK_MSG(memcmp(after, other, bytes) == 0, "%s, stride %d, format %d", kernels->isa, stride, f);
  }
}

/* Uses the case as a lower triangle: column j becomes j modulo the row. The result is that of double
 * precision up to the growth of errors, which small entries limit. All formats give the same bits. */
static void check_triangle(const tsi_block_kernels *kernels, const rectangle_case *r, tsi_index stride,
                           bool lanes, const tsi_scalar *before, tsi_scalar *after, tsi_scalar *other) {
  rectangle_case t = *r;
  const tsi_count entries = r->ptr[r->rows];
  const size_t bytes = (size_t)r->n * (size_t)stride * sizeof *before;
  t.column = xmalloc(((size_t)entries + 1) * sizeof *t.column);
  t.short_column = xmalloc(((size_t)entries + 1) * sizeof *t.short_column);
  t.row = xmalloc(((size_t)r->rows + 1) * sizeof *t.row);
  t.values = xmalloc(((size_t)entries + 1) * sizeof *t.values);
  t.first_column = r->first_row;
  OWNED tsi_scalar *inverse = xmalloc((size_t)r->n * sizeof *inverse);
  OWNED tsi_wide *x = xmalloc((size_t)(r->rows + 1) * sizeof *x);
  CHECK(r->rows <= TSI_SHORT_COLUMNS);
  fill(inverse, r->n, 99);
  for (tsi_index k = 0; k < r->rows; k++) {
    t.row[k] = r->first_row + k;
    for (tsi_count e = r->ptr[k]; e < r->ptr[k + 1]; e++) {
      const tsi_index j = k > 0 ? (r->column[e] - r->first_column) % k : 0;
      t.column[e] = r->first_row + j;
      t.short_column[e] = (uint16_t)j;
      t.values[e] = k > 0 ? r->values[e] / (tsi_real)(r->ptr[k + 1] - r->ptr[k]) : 0;
    }
  }
  t.listed_ptr = r->ptr; /* all rows are listed */
  for (int f = 0; f < 4; f++) {
    const tsi_rectangle triangle = format(&t, f & 1, f & 2);
    tsi_scalar *to = f == 0 ? after : other;
    memcpy(to, before, bytes);
    kernels->solve(&triangle, 0, r->rows / 3, lanes, stride, inverse, to);
    kernels->solve(&triangle, r->rows / 3, r->rows, lanes, stride, inverse, to);
    if (f > 0)
      CHECK_MSG(memcmp(after, other, bytes) == 0, "%s, stride %d, format %d", kernels->isa, stride, f);
  }
  for (tsi_index c = 0; c < stride; c++)
    for (tsi_index k = 0; k < r->rows; k++) {
      const ptrdiff_t i = r->first_row + k;
      x[k] = before[i * stride + c];
      for (tsi_count e = r->ptr[k]; e < r->ptr[k + 1]; e++)
        x[k] -= (tsi_wide)t.values[e] * x[t.column[e] - r->first_row];
      x[k] *= inverse[i];
      const tsi_wide error = (tsi_wide)after[i * stride + c] - x[k];
      const double bound = 1e5 * ROUNDOFF * (1 + fabs((double)tsi_re(x[k])) + fabs((double)tsi_im(x[k])));
      CHECK_MSG(fabs((double)tsi_re(error)) <= bound && fabs((double)tsi_im(error)) <= bound,
                "%s, stride %d, row %d: error %g", kernels->isa, stride, k, fabs((double)tsi_re(error)));
    }
  free(t.column);
  free(t.short_column);
  free(t.row);
  free(t.values);
}

static void check_case(const tsi_block_kernels *kernels, const rectangle_case *r, const tsi_scalar *before,
                       tsi_scalar *after, tsi_scalar *other) {
  for (int s = 0; s < STRIDES; s++) {
    check_stride(kernels, r, strides[s], false, before, after, other);
    check_stride(kernels, r, strides[s], true, before, after, other);
    check_triangle(kernels, r, strides[s], false, before, after, other);
    check_triangle(kernels, r, strides[s], true, before, after, other);
  }
}

/* The chosen format can store the rectangle. If lanes are chosen, they are also chosen for more entries. */
static void check_choice(char letter, const char *isa) {
  const tsi_index rows = 1000;
  for (int wide = 0; wide < 2; wide++) {
    for (tsi_index filled = rows; filled > 0; filled -= 37) {
      bool lanes = false;
      for (tsi_count entries = filled; entries < 500 * filled; entries += 3 * filled) {
        const tsi_block_shape shape = {filled, entries, TSI_SHORT_COLUMNS + wide};
        const tsi_block_choice choice = tsi_block_choose(letter, isa, &shape);
        CHECK(!(wide && choice.narrow) && choice.lanes >= lanes);
        lanes = choice.lanes;
      }
    }
  }
  const tsi_block_choice none = tsi_block_choose(letter, isa, &(tsi_block_shape){0, 0, 3});
  CHECK(!none.narrow && !none.lanes);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const char *const isas[] = {"base", "avx2", "avx512"};
  static const struct {
    tsi_index rows, columns, longest;
    int empty;
  } cases[] = {{0, 1, 1, 0},    {1, 1, 1, 0},      {1, 40, 40, 0},
               {40, 3, 3, 4},   {60, 30, 0, 0},    {60, 30, 9, 0},
               {97, 8, 1, 6},   {30, 200, 70, 2},  {25, TSI_SHORT_COLUMNS, 33, 1},
               {50, 50, 17, 7}, {9, 1000, 300, 0}, {25, TSI_SHORT_COLUMNS + 1, 33, 1}};
  const char letter = TSI_LETTER_CHAR;
  const int64_t most = (int64_t)(TSI_SHORT_COLUMNS + 100) * MOST;
  OWNED tsi_scalar *before = xmalloc((size_t)most * sizeof *before),
                   *after = xmalloc((size_t)most * sizeof *after),
                   *other = xmalloc((size_t)most * sizeof *other);
  fill(before, most, 5);
  for (int i = 0; i < 3; i++) RUN(check_choice(letter, isas[i]));
  RUN(check_choice(letter, "another"));
  CHECK(tsi_block_kernels_select(letter, NULL) != NULL && tsi_block_kernels_select('x', NULL) == NULL);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    CLEANUP(free_case)
    rectangle_case r = make_case(cases[k].rows, cases[k].columns, cases[k].longest, cases[k].empty, 3 + k);
    for (int i = 0; i < 3; i++) {
      const tsi_block_kernels *kernels = tsi_block_kernels_select(letter, isas[i]);
      if (kernels != NULL) RUN(check_case(kernels, &r, before, after, other));
    }
  }
  return 0;
}
