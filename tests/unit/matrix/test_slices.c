/* Products with rows in slices against a plain loop in double precision, for every instruction set of this
 * processor. Each shape of a slice occurs. A NaN in x reaches exactly the rows that use it. The stored size
 * is within the limit of the shape. The narrow form has the same bits, and so have several columns at once.
 * Compiled for each scalar type. */
#include "runtime/matrix/slices.h"

#include "tests/support/random.h"
#include "tests/support/rows_product.h"

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define NARROW 1 /* number of forms: only values in the type of x */
#else
#define NARROW 2
#endif

static const char *const isas[] = {"base", "avx2", "avx512"};

/* Returns the number of entries of row i; column: their columns, ascending. */
typedef tsi_index (*pattern_fn)(tsi_index n, tsi_index i, tsi_index *column);

/* Points on a line, coupled with neighbours and with far points. Rows at both ends are shorter. */
static tsi_index stencil(tsi_index n, tsi_index i, tsi_index *column) {
  static const tsi_index offset[] = {-90, -1, 0, 1, 90};
  tsi_index count = 0;
  for (int k = 0; k < 5; k++)
    if (i + offset[k] >= 0 && i + offset[k] < n) column[count++] = i + offset[k];
  return count;
}

/* The same with three unknowns per point. */
static tsi_index points(tsi_index n, tsi_index i, tsi_index *column) {
  tsi_index point[5], count = stencil(n / 3, i / 3, point);
  if (i / 3 >= n / 3) return 0;
  for (tsi_index k = 0; k < 3 * count; k++) column[k] = 3 * point[k / 3] + k % 3;
  return 3 * count;
}

static tsi_index scattered(tsi_index n, tsi_index i, tsi_index *column) {
  uint64_t state = (uint64_t)i * 977 + 5;
  tsi_index count = 0;
  const tsi_index longest = i % 700 == 5 ? 300 : 12, stride = n / (longest + 1) + 1;
  if (i % 11 == 3) return 0;
  for (tsi_index at = 0; at < n; at += 1 + (tsi_index)(next_random(&state) % (2 * (uint64_t)stride)))
    column[count++] = at;
  return count;
}

/* Columns that differ by more than 16 bits can hold. */
static tsi_index far_apart(tsi_index n, tsi_index i, tsi_index *column) {
  if (n <= 100) return 0;
  column[0] = (tsi_index)((int64_t)i * i % 7);
  column[1] = n - 1 - i % 13;
  return 2;
}

static tsi_entries make_rows(tsi_env *env, tsi_index rows, tsi_index columns, pattern_fn pattern) {
  tsi_entries e;
  OWNED tsi_index *column = xmalloc((size_t)columns * sizeof *column + 64);
  double part[2];
  CHECK_OK(tsi_entries_begin(env, rows, sizeof(tsi_scalar), &e));
  for (tsi_index i = 0; i < rows; i++) e.ptr[i + 1] = pattern(columns, i, column);
  CHECK_OK(tsi_entries_reserve(env, &e));
  for (tsi_index i = 0; i < rows; i++) pattern(columns, i, e.index + e.ptr[i]);
  for (tsi_count k = 0; k < e.ptr[rows]; k++) {
    fill_random(part, 2, (uint64_t)k + 3);
    tsi_scalar value = (tsi_real)(round(4096 * part[0]) / 4096); /* the narrow form stores it exactly */
#if TSI_COMPLEX
    __imag__ value = (tsi_real)(round(4096 * part[1]) / 4096);
#endif
    ((tsi_scalar *)e.item)[k] = value;
  }
  return e;
}

/* place: index of a NaN in x; TSI_NONE: none. */
static void check_product(const tsi_sliced *a, const tsi_entries *e, tsi_index columns, tsi_index place,
                          const char *isa) {
  const tsi_sliced_kernels *kernels = tsi_sliced_kernels_select(LETTER, isa);
  OWNED tsi_scalar *x = xmalloc((size_t)columns * sizeof *x + 1), *y = xmalloc((size_t)e->n * sizeof *y + 1);
  CHECK(x != NULL && y != NULL && strcmp(kernels->isa, isa) == 0);
  for (tsi_index j = 0; j < columns; j++) x[j] = (tsi_real)sin(j);
  if (place >= 0) x[place] = (tsi_real)NAN;
  for (tsi_index i = 0; i < e->n; i++) y[i] = 99;
  for (tsi_index w = 0; w < a->windows; w++) kernels->multiply(a, w, 1, x, 0, y, 0);
  check_rows_product(e, x, y, 2, isa);
}

/* The values fit in single precision, so both forms give the same bits. */
static void check_same_bits(const tsi_sliced *a, const tsi_sliced *b, tsi_index columns) {
  const tsi_sliced_kernels *kernels = tsi_sliced_kernels_select(LETTER, NULL);
  OWNED tsi_scalar *x = xmalloc((size_t)columns * sizeof *x + 1),
                   *y = xmalloc(2 * (size_t)a->rows * sizeof *y + 1);
  for (tsi_index j = 0; j < columns; j++) x[j] = (tsi_real)cos(j);
  for (tsi_index w = 0; w < a->windows; w++) kernels->multiply(a, w, 1, x, 0, y, 0);
  for (tsi_index w = 0; w < b->windows; w++) kernels->multiply(b, w, 1, x, 0, y + a->rows, 0);
  CHECK(memcmp(y, y + a->rows, (size_t)a->rows * sizeof *y) == 0);
}

/* Each column has the same bits among `count` columns and alone. The gaps between columns are unchanged. */
static void check_columns(const tsi_sliced *a, tsi_index columns, const char *isa) {
  enum { MOST = 7, GAP = 3 };
  const tsi_sliced_kernels *kernels = tsi_sliced_kernels_select(LETTER, isa);
  const tsi_index ldx = columns + GAP, ldy = a->rows + GAP;
  const size_t bytes = MOST * (size_t)ldy * sizeof(tsi_scalar);
  OWNED tsi_scalar *x = xmalloc(MOST * (size_t)ldx * sizeof *x), *y = xmalloc(bytes), *alone = xmalloc(bytes);
  for (tsi_index j = 0; j < MOST * ldx; j++) x[j] = (tsi_real)cos(j);
  for (int count = 0; count <= MOST; count++) {
    for (tsi_index i = 0; i < MOST * ldy; i++) y[i] = alone[i] = 99;
    for (tsi_index w = 0; w < a->windows; w++) {
      kernels->multiply(a, w, count, x, ldx, y, ldy);
      for (int c = 0; c < count; c++) kernels->multiply(a, w, 1, x + c * ldx, 0, alone + c * ldy, 0);
    }
    CHECK_MSG(memcmp(y, alone, bytes) == 0, "%s: %d columns differ from one by one", isa, count);
  }
}

/* Numbers of rows in slices of each kind, in slices along a row, and in lists. */
typedef struct census {
  tsi_index kind[4], along, listed;
} census;

static census check_rows(tsi_index rows, tsi_index columns, pattern_fn pattern) {
  tsi_env env;
  census found = {{0}, 0, 0};
  tsi_env_init(&env);
  tsi_entries e = make_rows(&env, rows, columns, pattern);
  tsi_sliced wide;
  CHECK_OK(tsi_slices_take(&env, &e, false, &wide));
  for (int narrow = 0; narrow < NARROW; narrow++) {
    tsi_sliced a;
    CHECK_OK(tsi_slices_take(&env, &e, narrow, &a));
    check_same_bits(&wide, &a, columns);
    CHECK_OK(tsi_slices_check(&env, &a, &e));
    for (int i = 0; i < 3; i++) {
      if (tsi_sliced_kernels_select(LETTER, isas[i]) == NULL) continue;
      check_columns(&a, columns, isas[i]);
      for (tsi_index place = -1; place < columns; place += 1 + columns / 3)
        check_product(&a, &e, columns, place, isas[i]);
    }
    for (tsi_index s = 0; s < a.window[a.windows].slice && !narrow; s++) {
      found.kind[a.slice[s].kind] += a.slice[s].rows;
      found.along += a.slice[s].along;
      found.listed += a.slice[s].listed;
    }
    tsi_slices_finish(&a);
  }
  tsi_slices_finish(&wide);
  tsi_entries_finish(&e);
  CHECK(env.memory.current == 0);
  return found;
}

/* Returns the bytes per entry in addition to its value. */
static double overhead(tsi_index rows, pattern_fn pattern) {
  tsi_env env;
  tsi_sliced a;
  tsi_env_init(&env);
  tsi_entries e = make_rows(&env, rows, rows, pattern);
  CHECK_OK(tsi_slices_take(&env, &e, false, &a));
  const double bytes = (double)tsi_slices_bytes(&a) / (double)e.ptr[rows] - (double)sizeof(tsi_scalar);
  tsi_slices_finish(&a);
  tsi_entries_finish(&e);
  return bytes;
}

int main(void) {
  static const pattern_fn patterns[] = {stencil, points, scattered, far_apart};
  static const tsi_index sizes[] = {0, 1, 2, 7, 8, 9, 100, 1023, 1024, 1025, 2500};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int p = 0; p < 4; p++) (void)check_rows(sizes[s], sizes[s], patterns[p]);
  const census line = check_rows(3000, 3000, stencil), point = check_rows(3000, 3000, points);
  const census any = check_rows(3000, 3000, scattered), far = check_rows(3000, 100000, far_apart);
  CHECK(line.kind[TSI_SLICE_RUN] > 2700 && point.kind[TSI_SLICE_SHIFT] > 2700);
  CHECK(any.kind[TSI_SLICE_SHORT] > 2000 && any.along > 0 && any.listed > 0);
  CHECK(far.kind[TSI_SLICE_LONG] > 2900);
  CHECK(overhead(20000, stencil) < 1.2 && overhead(20000, points) < 1.2);
  return 0;
}
