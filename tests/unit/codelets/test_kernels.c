/* Packed panels and solve kernels against plain dense loops, for every instruction set that this processor
 * has, and every treatment of diagonal blocks. */
#include <cblas.h>
#include <math.h>

#include "codelets/cpu/front.h"
#include "codelets/cpu/kernels.h"
#include "codelets/cpu/base/dense.h"
#include "codelets/cpu/base/scalar.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

#define F 430      /* order of the largest front */
#define COLUMNS 64 /* maximum number of right-hand sides */
#define EVERY_HEIGHT                                                                                         \
  64 /* wider panels consist of the same blocks, so they are not tested with every height */

#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define BOUND 3e-3
#else
#define BOUND 1e-11
#endif

static const tsi_front_kernels *front_kernels;

/* Makes random entries, complex ones if the type is complex. */
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

/* Makes a dense front with a dominant diagonal. C is not used. */
static void make_front(tsi_front *front, tsi_index w, tsi_index m, bool lu, uint64_t seed) {
  front->w = w;
  front->m = m;
  front->f = w + m;
  front->full = lu;
  fill(front->p, (int64_t)front->f * w, seed);
  fill(front->q, (int64_t)w * m, seed + 1);
  tsi_scalar *p = front->p;
  for (tsi_index j = 0; j < w; j++) p[j + (ptrdiff_t)j * front->f] = (tsi_real)(w + m);
  if (lu && w > 2) p[0] = (tsi_real)0.01; /* so that rows are interchanged */
}

/* |re| + |im|; NaN if one is. */
static double size_of(tsi_scalar x) {
  return fabs((double)tsi_re(x)) + fabs((double)tsi_im(x));
}
static double largest(const tsi_scalar *x, tsi_index count) {
  double most = 1;
  for (tsi_index i = 0; i < count; i++) most = fmax(most, size_of(x[i]));
  return most;
}

/* A panel, right-hand sides, and the expected results of the sweeps, as rows of COLUMNS scalars. Solves
 * with fewer right-hand sides use the first ones. */
typedef struct panel_case {
  tsi_panel panel;
  bool lu;
  tsi_front front;
  tsi_index pivot[TSI_PANEL_WIDTH_MAX], rows[F];
  tsi_scalar start[F * COLUMNS], forward[F * COLUMNS], backward[F * COLUMNS];
  double of_forward, of_backward; /* their largest entries */
} panel_case;

/* row += factor from */
static void add_row(tsi_scalar *row, tsi_scalar factor, const tsi_scalar *from) {
  for (int c = 0; c < COLUMNS; c++) row[c] += factor * from[c];
}
static void divide_row(tsi_scalar *row, tsi_scalar by) {
  for (int c = 0; c < COLUMNS; c++) row[c] /= by;
}

/* x_K = L^-1 P x_K, x[rows] -= R x_K */
static void forward_reference(panel_case *k) {
  const tsi_index w = k->panel.width, m = k->panel.height, f = k->front.f;
  const tsi_scalar *p = k->front.p;
  tsi_scalar *x = memcpy(k->forward, k->start, sizeof k->start);
  for (tsi_index j = 0; k->lu && j < w; j++)
    for (int c = 0; c < COLUMNS; c++) {
      const tsi_scalar swap = x[j * COLUMNS + c];
      x[j * COLUMNS + c] = x[k->pivot[j] * COLUMNS + c];
      x[k->pivot[j] * COLUMNS + c] = swap;
    }
  for (tsi_index j = 0; j < w; j++) {
    const tsi_scalar *column = p + (ptrdiff_t)j * f, *xj = x + j * COLUMNS;
    if (!k->lu) divide_row(x + j * COLUMNS, column[j]);
    for (tsi_index i = j + 1; i < w; i++) add_row(x + i * COLUMNS, -column[i], xj);
    for (tsi_index i = 0; i < m; i++) add_row(x + k->rows[i] * COLUMNS, -column[w + i], xj);
  }
}

/* x_K = U^-1 (x_K - R' x[rows]) */
static void backward_reference(panel_case *k) {
  const tsi_index w = k->panel.width, m = k->panel.height, f = k->front.f;
  const tsi_scalar *p = k->front.p, *q = k->front.q;
  tsi_scalar *x = memcpy(k->backward, k->start, sizeof k->start);
  for (tsi_index j = w; j-- > 0;) {
    tsi_scalar *xj = x + j * COLUMNS;
    for (tsi_index i = 0; i < m; i++)
      add_row(xj, -(k->lu ? q[j + (ptrdiff_t)i * w] : p[w + i + (ptrdiff_t)j * f]), x + k->rows[i] * COLUMNS);
    for (tsi_index i = j + 1; i < w; i++)
      add_row(xj, -(k->lu ? p[j + (ptrdiff_t)i * f] : p[i + (ptrdiff_t)j * f]), x + i * COLUMNS);
    divide_row(xj, p[j + (ptrdiff_t)j * f]);
  }
}

/* Computed by stripes, the figures by which fixed pivots are judged have the same bits. */
static void check_terms(const tsi_front *front) {
  static double size[2][F], term[2][F];
  const tsi_index w = front->w, f = front->f;
  const tsi_front_stripe inside = tsi_front_stripe_of(front, sizeof(tsi_scalar), 0, w),
                         behind = tsi_front_stripe_of(front, sizeof(tsi_scalar), w, f);
  front_kernels->pivot_terms(front, 0, w, size[0], term[0]);
  front_kernels->stripe_terms(&inside, w, size[1], term[1]);
  if (f > w) front_kernels->stripe_terms(&behind, w, NULL, term[1] + w);
  CHECK(memcmp(size[0], size[1], (size_t)w * sizeof **size) == 0);
  CHECK(memcmp(term[0], term[1], (size_t)f * sizeof **term) == 0);
}

/* Factors a dense A = [diag; below] by LLT (lower triangle) or LU. */
static void make_case(panel_case *k, tsi_index w, tsi_index m, bool lu) {
  static tsi_scalar p[F * F], q[F * F];
  k->panel = (tsi_panel){.values = 0, .row = 0, .width = w, .height = m, .x = 0, .column = 0};
  k->lu = lu;
  k->front = (tsi_front){.p = p, .q = q};
  make_front(&k->front, w, m, lu, (uint64_t)(w * 1000 + m));
  if (!lu) k->front.q = NULL;
  static double size[F];
  tsi_pivoting result = {.tiny = 1e-12, .column_size = size, .least = -1};
  front_kernels->diagonal(&k->front, 0, w, lu ? k->pivot : NULL, &result);
  CHECK(result.failed == TSI_NONE && result.perturbed == 0);
  if (m > 0) front_kernels->below(&k->front, 0, w, w, w + m);
  if (m > 0 && lu) front_kernels->right(&k->front, 0, w, w, w + m, k->pivot);
  if (lu) check_terms(&k->front);
  for (tsi_index i = 0; i < m; i++)
    k->rows[i] = w + (i * 7) % m; /* permuted; 7 and m are coprime in the cases below */
  fill(k->start, (int64_t)(w + m) * COLUMNS, 5);
  forward_reference(k);
  backward_reference(k);
  k->of_forward = largest(k->forward, (w + m) * COLUMNS);
  k->of_backward = largest(k->backward, (w + m) * COLUMNS);
}

/* Copies the first nrhs columns to a workspace, with zeros as padding. */
static void spread(const tsi_scalar *from, tsi_index rows, tsi_index nrhs, tsi_scalar *x) {
  const tsi_index ld = tsi_workspace_stride(nrhs);
  for (tsi_index i = 0; i < rows; i++)
    for (tsi_index c = 0; c < ld; c++) x[i * ld + c] = c < nrhs ? from[i * COLUMNS + c] : 0;
}

/* Solves with the panel in parts, like a sliced one: triangle, interchanges, all rows as one slice. start,
 * whole: right-hand sides before and after the sweep. A slice has consecutive rows, the sweep has rows[]. */
static void check_sliced(const tsi_kernels *kernels, const panel_case *k, const tsi_scalar *values,
                         const tsi_index *pivot, bool forward, tsi_index nrhs, const tsi_scalar *start,
                         const tsi_scalar *whole) {
  static tsi_scalar x[F * COLUMNS], kept[F * COLUMNS], u[F * COLUMNS], sum[F * COLUMNS],
      scratch[TSI_KERNEL_SCRATCH];
  const tsi_panel *panel = &k->panel;
  const tsi_index w = panel->width, m = panel->height, ld = tsi_workspace_stride(nrhs);
  const bool off = kernels->inverse == TSI_INVERSE_PARTITIONED;
  memcpy(x, start, (size_t)((w + m) * ld) * sizeof *x);
  memset(sum, 0, (size_t)(w * ld) * sizeof *sum);
  if (forward) {
    if (off) kernels->interchange(panel, pivot, nrhs, x, false);
    memcpy(kept, x, (size_t)(w * ld) * sizeof *x);
    kernels->forward_triangle(panel, values, off ? NULL : pivot, nrhs, x, scratch);
    if (m > 0) kernels->forward_slice(panel, values, 0, m, nrhs, off ? kept : x, u, scratch);
  } else {
    for (tsi_index i = 0; i < m; i++) memcpy(u + i * ld, start + k->rows[i] * ld, (size_t)ld * sizeof *u);
    if (m > 0) kernels->backward_slice(panel, values, 0, m, nrhs, u, sum, scratch);
    for (tsi_index i = 0; !off && i < w * ld; i++) x[i] -= sum[i];
    kernels->backward_triangle(panel, values, off ? NULL : pivot, nrhs, x, scratch);
    for (tsi_index i = 0; off && i < w * ld; i++) x[i] -= sum[i];
    if (off) kernels->interchange(panel, pivot, nrhs, x, true);
  }
  const double bound = BOUND * largest(whole, (w + m) * ld);
  for (tsi_index row = 0; row < (forward ? w + m : w); row++)
    for (tsi_index c = 0; c < ld; c++) {
      const tsi_index at = (row < w ? row : k->rows[row - w]) * ld + c;
      const tsi_scalar is = row < w ? x[at] : start[at] + u[(row - w) * ld + c];
      CHECK_MSG(size_of(is - whole[at]) < bound, "%s %d sliced, forward %d w %d m %d nrhs %d: %g",
                kernels->isa, (int)kernels->inverse, forward, w, m, nrhs, size_of(is - whole[at]));
    }
}

static void check_result(const tsi_kernels *kernels, const panel_case *k, const char *sweep, tsi_index nrhs,
                         const tsi_scalar *x, const tsi_scalar *reference, double scale) {
  const tsi_index w = k->panel.width, m = k->panel.height, ld = tsi_workspace_stride(nrhs);
  for (tsi_index row = 0; row < w + m; row++)
    for (tsi_index c = 0; c < ld; c++) {
      const tsi_index i = row * ld + c;
      const tsi_scalar is = c < nrhs ? reference[row * COLUMNS + c] : 0;
      CHECK_MSG(size_of(x[i] - is) < BOUND * scale, "%s %d %s w %d m %d lu %d nrhs %d: %d: %g, not %g",
                kernels->isa, (int)kernels->inverse, sweep, w, m, k->lu, nrhs, i, (double)tsi_re(x[i]),
                (double)tsi_re(is));
      CHECK_MSG(c < nrhs || x[i] == 0, "%s %d %s w %d m %d nrhs %d: padding", kernels->isa,
                (int)kernels->inverse, sweep, w, m, nrhs);
    }
}

static void check_sweeps(const tsi_kernels *kernels, const panel_case *k, const tsi_scalar *lower,
                         const tsi_scalar *upper, tsi_index nrhs) {
  static tsi_scalar x[F * COLUMNS], start[F * COLUMNS], scratch[TSI_KERNEL_SCRATCH];
  const tsi_index *pivot = k->lu ? k->pivot : NULL;
  const size_t bytes = (size_t)((k->panel.width + k->panel.height) * tsi_workspace_stride(nrhs)) * sizeof *x;
  spread(k->start, k->panel.width + k->panel.height, nrhs, start);
  memcpy(x, start, bytes);
  kernels->forward(1, &k->panel, lower, k->rows, pivot, nrhs, x, scratch);
  check_sliced(kernels, k, lower, pivot, true, nrhs, start, x);
  check_result(kernels, k, "forward", nrhs, x, k->forward, k->of_forward);
  if (k->lu) { /* undoes the interchanges, as a solve with L^T does */
    memcpy(x, start, bytes);
    kernels->backward(1, &k->panel, lower, k->rows, pivot, nrhs, x, scratch);
    check_sliced(kernels, k, lower, pivot, false, nrhs, start, x);
  }
  memcpy(x, start, bytes);
  kernels->backward(1, &k->panel, k->lu ? upper : lower, k->rows, NULL, nrhs, x, scratch);
  check_sliced(kernels, k, k->lu ? upper : lower, NULL, false, nrhs, start, x);
  check_result(kernels, k, "backward", nrhs, x, k->backward, k->of_backward);
}

/* The results of slices of 16 rows add up to that of the whole rectangle, forward and backward. */
static void check_slices(const tsi_kernels *kernels, const panel_case *k, const tsi_scalar *values,
                         tsi_index nrhs) {
  static tsi_scalar x[F * COLUMNS], u[F * COLUMNS], all[F * COLUMNS], sum[F * COLUMNS], part[F * COLUMNS],
      scratch[TSI_KERNEL_SCRATCH];
  const tsi_index w = k->panel.width, m = k->panel.height, ld = tsi_workspace_stride(nrhs);
  spread(k->start, w + m, nrhs, x);
  kernels->forward_slice(&k->panel, values, 0, m, nrhs, x, all, scratch);
  for (tsi_index first = 0; first < m; first += 16)
    kernels->forward_slice(&k->panel, values, first, tsi_index_min(16, m - first), nrhs, x, u + first * ld,
                           scratch);
  for (tsi_index i = 0; i < m * ld; i++) CHECK_MSG(u[i] == all[i], "%s: row slice %d", kernels->isa, i / ld);
  memset(sum, 0, (size_t)(w * ld) * sizeof *sum);
  kernels->backward_slice(&k->panel, values, 0, m, nrhs, x, all, scratch);
  for (tsi_index first = 0; first < m; first += 16) {
    kernels->backward_slice(&k->panel, values, first, tsi_index_min(16, m - first), nrhs, x + first * ld,
                            part, scratch);
    for (tsi_index i = 0; i < w * ld; i++) sum[i] += part[i];
  }
  for (tsi_index i = 0; i < w * ld; i++)
    CHECK_MSG(size_of(sum[i] - all[i]) < BOUND * m, "%s: column %d", kernels->isa, i / ld);
}

/* The columns must have the same bits as in another call with more or fewer columns. */
static void check_same(const tsi_kernels *kernels, const panel_case *k, const char *sweep, tsi_index least,
                       const tsi_scalar *alone, tsi_index nrhs, const tsi_scalar *x) {
  const tsi_index rows = k->panel.width + k->panel.height;
  for (tsi_index i = 0; i < rows; i++)
    CHECK_MSG(memcmp(x + i * tsi_workspace_stride(nrhs), alone + i * tsi_workspace_stride(least),
                     (size_t)least * sizeof *x) == 0,
              "%s %d %s w %d m %d lu %d row %d: other bits in %d columns than in %d", kernels->isa,
              (int)kernels->inverse, sweep, k->panel.width, k->panel.height, k->lu, i, nrhs, least);
}

/* Within each family of column counts the bits of a column do not depend on the others, as fused solves
 * require. */
static void check_families(const tsi_kernels *kernels, const panel_case *k, const tsi_scalar *lower,
                           const tsi_scalar *upper) {
  static const tsi_index families[][4] = {{3, 4, 5, 8}, {9, 16, 24, 64}};
  static tsi_scalar x[F * COLUMNS], first[2][F * COLUMNS], start[F * COLUMNS], scratch[TSI_KERNEL_SCRATCH];
  const tsi_index rows = k->panel.width + k->panel.height;
  for (int f = 0; f < 2; f++)
    for (int c = 0; c < 4; c++) {
      const tsi_index nrhs = families[f][c], least = families[f][0];
      const size_t bytes = (size_t)(rows * tsi_workspace_stride(nrhs)) * sizeof *x;
      spread(k->start, rows, nrhs, start);
      memcpy(x, start, bytes);
      kernels->forward(1, &k->panel, lower, k->rows, k->lu ? k->pivot : NULL, nrhs, x, scratch);
      if (c == 0) memcpy(first[0], x, bytes);
      check_same(kernels, k, "forward", least, first[0], nrhs, x);
      memcpy(x, start, bytes);
      kernels->backward(1, &k->panel, k->lu ? upper : lower, k->rows, NULL, nrhs, x, scratch);
      if (c == 0) memcpy(first[1], x, bytes);
      check_same(kernels, k, "backward", least, first[1], nrhs, x);
    }
}

/* Checks a case with one table of kernels. */
static void check_table(const tsi_kernels *kernels, const panel_case *k) {
  static tsi_scalar lower[F * F], upper[F * F], work[2 * F * F];
  static tsi_count written = F * F; /* the others are NaN */
  static const tsi_index nrhs[] = {1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 64};
  const tsi_index w = k->panel.width, m = k->panel.height;
  const tsi_count size = tsi_panel_size(w, m);
  for (tsi_count i = 0; i < written; i++) lower[i] = upper[i] = NAN;
  written = size + TSI_STREAM_PAD;
  front_kernels->pack(&k->front, 0, w, kernels->inverse, lower, k->lu ? upper : NULL, work);
  for (tsi_count i = 0; i < size; i++)
    CHECK(isfinite(size_of(lower[i])) && (!k->lu || isfinite(size_of(upper[i]))));
  for (int i = 0; i < TSI_STREAM_PAD; i++) lower[size + i] = upper[size + i] = 0;
  for (size_t r = 0; r < sizeof nrhs / sizeof *nrhs; r++) {
    if (kernels->inverse != TSI_INVERSE_DIAGONAL && nrhs[r] > 4 && nrhs[r] != 20 && nrhs[r] != 24)
      continue; /* the other counts contain all kinds of strips */
    check_sweeps(kernels, k, lower, upper, nrhs[r]);
    if (m > 0) check_slices(kernels, k, lower, nrhs[r]);
  }
  check_families(kernels, k, lower, upper);
}

/* Checks every shape with all tables. Returns the number of tables. */
static int check_tables(void) {
  static const tsi_index widths[] = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100, 128, TSI_PANEL_WIDTH_MAX};
  static const tsi_index heights[] = {0, 1, 2, 3, 5, 8, 9, 31, 32, 40, 67, 130, 170};
  static const char *const isas[] = {"base", "avx2", "avx512"};
  static panel_case k;
  const tsi_kernels *table[3 * TSI_INVERSES];
  int tables = 0;
  for (int i = 0; i < 3; i++) {
    if (tsi_kernels_select(TSI_LETTER_CHAR, TSI_INVERSE_DIAGONAL, isas[i]) == NULL) {
      printf("%s: not on this processor\n", isas[i]);
      continue;
    }
    for (int inverse = 0; inverse < TSI_INVERSES; inverse++) {
      table[tables] = tsi_kernels_select(TSI_LETTER_CHAR, (tsi_inverse)inverse, isas[i]);
      CHECK(strcmp(table[tables]->isa, isas[i]) == 0 && (int)table[tables]->inverse == inverse);
      tables++;
    }
  }
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
    for (size_t m = 0; m < sizeof heights / sizeof *heights; m++) {
      if (widths[w] > EVERY_HEIGHT && heights[m] % 3 != 1 && heights[m] != 0)
        continue; /* keeps 0, 1, 31, 40, 67, 130 */
      for (int lu = 0; lu < 2; lu++) {
        make_case(&k, widths[w], heights[m], lu);
        for (int t = 0; t < tables; t++) check_table(table[t], &k);
      }
    }
  return tables;
}

/* Returns entry (i, k) of a triangle of order n; unit: ones on the diagonal, whatever is stored. */
static tsi_scalar in_triangle(const tsi_scalar *a, bool upper, bool unit, tsi_index n, tsi_index i,
                              tsi_index k) {
  if (i == k) return unit ? 1 : a[i + i * n];
  return (i < k) == upper ? a[i + k * n] : 0;
}

/* Makes a well-conditioned block of order n. */
static void fill_block(tsi_scalar *a, tsi_index n) {
  fill(a, n * n, (uint64_t)n);
  for (tsi_index k = 0; k < n * n; k++) a[k] = a[k] / (tsi_real)n + (k % (n + 1) == 0 ? 2 : 0);
}

/* The inverse times the triangle is the identity. Entries outside the triangle are unchanged. */
static void check_inverse(const tsi_dense_kernels *dense, bool upper, bool unit, tsi_index n) {
  static tsi_scalar a[TSI_DENSE_TRIANGLE * TSI_DENSE_TRIANGLE],
      inverse[TSI_DENSE_TRIANGLE * TSI_DENSE_TRIANGLE];
  fill_block(a, n);
  memcpy(inverse, a, (size_t)(n * n) * sizeof *a);
  dense->invert(upper, unit, n, inverse, n);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_index i = 0; i < n; i++) {
      tsi_scalar sum = 0;
      for (tsi_index k = 0; k < n; k++)
        sum += in_triangle(inverse, upper, unit, n, i, k) * in_triangle(a, upper, unit, n, k, j);
      CHECK_MSG(size_of(sum - (i == j)) < BOUND, "%s, order %d: (%d,%d)", dense->isa, n, i, j);
      if ((i == j && unit) || (i != j && (i < j) != upper))
        CHECK_MSG(inverse[i + j * n] == a[i + j * n], "%s, order %d: (%d,%d)", dense->isa, n, i, j);
    }
}

/* Solves L X = B and X U = B with few or many right-hand sides. U: upper, or the transpose of a lower
 * triangle. */
static void check_solves(const tsi_dense_kernels *dense, tsi_index n, tsi_index sides) {
  enum { N = TSI_DENSE_ORDER };
  static tsi_scalar a[N * N], b[N * N], x[N * N];
  fill_block(a, n);
  fill(b, n * sides, 7);
  for (int kind = 0; kind < 3; kind++) {
    const bool left = kind == 0, transposed = kind == 2;
    memcpy(x, b, (size_t)(n * sides) * sizeof *x);
    if (left)
      dense->solve_left(n, sides, a, n, x, n);
    else
      dense->solve_right(sides, n, a, transposed ? n : 1, transposed ? 1 : n, x, sides);
    for (tsi_index s = 0; s < sides; s++)
      for (tsi_index i = 0; i < n; i++) {
        tsi_scalar sum = 0;
        for (tsi_index k = 0; k < n; k++)
          sum += left         ? in_triangle(a, false, true, n, i, k) * x[k + s * n]
                 : transposed ? in_triangle(a, false, false, n, i, k) * x[s + k * sides]
                              : in_triangle(a, true, false, n, k, i) * x[s + k * sides];
        CHECK_MSG(size_of(sum - b[left ? i + s * n : s + i * sides]) < BOUND, "%s, order %d, %d sides, %d",
                  dense->isa, n, sides, kind);
      }
  }
}

static void check_dense(void) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  for (int i = 0; i < 3; i++) {
    const tsi_dense_kernels *dense = tsi_dense_kernels_select(TSI_LETTER_CHAR, isas[i]);
    if (dense == NULL) continue; /* the processor does not support it */
    for (tsi_index n = 1; n <= TSI_DENSE_TRIANGLE; n++)
      for (int kind = 0; kind < 4; kind++) check_inverse(dense, kind & 1, kind & 2, n);
    for (tsi_index n = 1; n <= TSI_DENSE_ORDER; n++)
      for (tsi_index sides = 1; sides <= TSI_DENSE_ORDER; sides++) check_solves(dense, n, sides);
  }
}

int main(void) {
  front_kernels = tsi_front_kernels_select(TSI_LETTER_CHAR);
  CHECK(front_kernels->scalar_bytes == sizeof(tsi_scalar));
  openblas_set_num_threads(1);
  CHECK(check_tables() > 0);
  check_dense();
  CHECK(tsi_kernels_select(TSI_LETTER_CHAR, TSI_INVERSE_DIAGONAL, NULL) != NULL);
  CHECK(tsi_kernels_select(TSI_LETTER_CHAR, TSI_INVERSE_DIAGONAL, "no such set") == NULL);
  return 0;
}
