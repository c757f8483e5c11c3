/* Packs panels (panel.h) of a factored front: treats the diagonal blocks and reorders the entries.
 *
 * Reads   P and Q of a front; other tasks may read them, too.
 * Writes  the panel's segments of the factor's stream, and scratch of the caller. */
#include <math.h>
#include <string.h>

#include "codelets/cpu/base/blas.h"
#include "codelets/cpu/base/dense.h"
#include "codelets/cpu/base/pack.h"
#include "codelets/cpu/front.h"

/* Returns an approximation of the absolute value without a root. */
INLINE tsi_real size_of(tsi_scalar x) {
  return (tsi_real)fabs(tsi_re(x)) + (tsi_real)fabs(tsi_im(x));
}

/* The source of a panel's triangle: D, lower triangular. */
typedef struct diagonal_block {
  const tsi_scalar *a; /* column-major */
  int ld;
  tsi_index b;
  bool transposed; /* a holds the transpose of D, upper triangular */
  bool unit;       /* the diagonal is one; its stored entries are ignored */
  tsi_inverse inverse;
} diagonal_block;

static CBLAS_UPLO uplo_of(const diagonal_block *d) {
  return d->transposed ? CblasUpper : CblasLower;
}

/* Sets the diagonal of a copy to the diagonal of the packed triangle. */
static void set_diagonal(const diagonal_block *d, tsi_scalar *copy) {
  for (tsi_index k = 0; k < d->b; k++) {
    tsi_scalar *entry = &copy[k + (ptrdiff_t)k * d->b];
    if (d->unit)
      *entry = 1;
    else if (d->inverse == TSI_INVERSE_NONE)
      *entry = 1 / *entry;
  }
}

/* Inverts a triangle in place, column-major with leading dimension ld:
 *
 *   [A 0; B C]^-1 = [A^-1 0; -C^-1 B A^-1  C^-1],  and the mirror image of it for an upper one.
 *
 * It works by halves, because trtri of OpenBLAS 0.3.21 for the oldest processors reads outside of its buffers
 * (single precision, odd sizes from 133 on). OpenBLAS also uses it for some new processors that it does not
 * recognize. */
static void invert_triangle(const diagonal_block *d, tsi_index n, tsi_scalar *a, int ld) {
  enum { LEAF = TSI_DENSE_TRIANGLE };
  const char *uplo = d->transposed ? "U" : "L", *diag = d->unit ? "U" : "N";
  int info = 0; /* cannot be positive: no pivot is zero */
  if (n == 1) {
    if (!d->unit) *a = 1 / *a;
    return;
  }
  if (n <= LEAF) {
    if (TSI_COMPLEX)
      TSI_LAPACK(trtri)(uplo, diag, &n, a, &ld, &info);
    else
      tsi_dense_kernels_select(TSI_LETTER_CHAR, NULL)->invert(d->transposed, d->unit, n, a, ld);
    return;
  }
  const tsi_index head = (n / 2 + LEAF - 1) / LEAF * LEAF, tail = n - head;
  tsi_scalar *corner = a + head + (ptrdiff_t)head * ld,
             *b = d->transposed ? a + (ptrdiff_t)head * ld : a + head;
  const tsi_index rows = d->transposed ? head : tail, columns = n - rows;
  const CBLAS_DIAG kind = d->unit ? CblasUnit : CblasNonUnit;
  tsi_trsm(CblasLeft, uplo_of(d), CblasNoTrans, kind, rows, columns, d->transposed ? a : corner, ld, b, ld);
  tsi_trsm(CblasRight, uplo_of(d), CblasNoTrans, kind, rows, columns, d->transposed ? corner : a, ld, b, ld);
  for (tsi_index k = 0; k < columns; k++)
    for (tsi_index i = 0; i < rows; i++) b[i + (ptrdiff_t)k * ld] = -b[i + (ptrdiff_t)k * ld];
  invert_triangle(d, head, a, ld);
  invert_triangle(d, tail, corner, ld);
}

/* Writes the triangle. work: b b scalars. Returns the end. */
static tsi_scalar *pack_diagonal(const diagonal_block *d, tsi_scalar *to, tsi_scalar *work) {
  const tsi_index b = d->b;
  for (tsi_index k = 0; k < b; k++)
    memcpy(work + (ptrdiff_t)k * b, d->a + (ptrdiff_t)k * d->ld, (size_t)b * sizeof *work);
  if (d->inverse != TSI_INVERSE_NONE) invert_triangle(d, b, work, (int)b);
  set_diagonal(d, work);
  return tsi_pack_triangle(d->transposed ? (tsi_pack_source){work, b, 1} : (tsi_pack_source){work, 1, b}, b,
                           to);
}

#define PIECE TSI_PANEL_WIDTH_MAX /* number of rows that are multiplied by D^-1 at a time */

/* Writes `rows` rows of the rectangle after `before` rows. work: PIECE b scalars. */
static void pack_below(const diagonal_block *d, tsi_pack_source s, tsi_index rows, tsi_index before,
                       tsi_index height, tsi_scalar *rectangle, tsi_scalar *work) {
  if (d->inverse != TSI_INVERSE_PARTITIONED) {
    tsi_pack_rows(s, rows, d->b, before, height, rectangle);
    return;
  }
  for (tsi_index i = 0; i < rows; i += PIECE) {
    const tsi_index count = tsi_index_min(PIECE, rows - i);
    for (tsi_index k = 0; k < d->b; k++)
      for (tsi_index l = 0; l < count; l++)
        work[l + (ptrdiff_t)k * count] = s.a[(i + l) * s.row_step + k * s.column_step];
    /* Substitution has a smaller backward error than a product with the computed inverse. */
    tsi_trsm(CblasRight, uplo_of(d), d->transposed ? CblasTrans : CblasNoTrans,
             d->unit ? CblasUnit : CblasNonUnit, count, d->b, d->a, d->ld, work, count);
    tsi_pack_rows((tsi_pack_source){work, 1, count}, count, d->b, before + i, height, rectangle);
  }
}

/* Writes all of a panel except its rectangle, which has `below` rows. Returns the rectangle. */
static tsi_scalar *begin_panel(const diagonal_block *d, tsi_index below, tsi_scalar *to, tsi_scalar *work) {
  tsi_scalar *rectangle = to + tsi_triangle_size(d->b);
  tsi_zero_between(pack_diagonal(d, to, work), rectangle);
  tsi_zero_between(rectangle + (ptrdiff_t)below * d->b, to + tsi_panel_size(d->b, below));
  return rectangle;
}

static const tsi_scalar *diagonal_of(const tsi_front *front, tsi_index o) {
  return (const tsi_scalar *)front->p + o + o * (ptrdiff_t)front->f;
}

static void pack_lower(const tsi_front *front, tsi_index o, const diagonal_block *d, tsi_scalar *lower,
                       tsi_scalar *work) {
  const tsi_index b = d->b, below = front->f - o - b;
  pack_below(d, (tsi_pack_source){d->a + b, 1, front->f}, below, 0, below, begin_panel(d, below, lower, work),
             work);
}

/* Packs the transpose of U's panel. */
static void pack_upper(const tsi_front *front, tsi_index o, const diagonal_block *d, tsi_scalar *upper,
                       tsi_scalar *work) {
  const ptrdiff_t f = front->f;
  const tsi_index b = d->b, below = front->f - o - b, inside = front->w - o - b;
  tsi_scalar *rectangle = begin_panel(d, below, upper, work);
  pack_below(d, (tsi_pack_source){d->a + b * f, f, 1}, inside, 0, below, rectangle, work);
  pack_below(d, (tsi_pack_source){(const tsi_scalar *)front->q + o, front->w, 1}, front->m, inside, below,
             rectangle, work);
}

double TSI_TYPED(tsi_front_inverse_growth)(tsi_index b, const void *packed) {
  tsi_real size[TSI_PANEL_WIDTH_MAX], most[TSI_ROW_BLOCK] = {0}; /* size: 1 / |X(j,j)|; most: by lane */
  if (b == 1) return 0;
  for (tsi_index j = 0; j < b; j++) {
    const tsi_index r = j / TSI_ROW_BLOCK * TSI_ROW_BLOCK, rows = tsi_index_min(TSI_ROW_BLOCK, b - r);
    size[j] =
        1 /
        size_of(((const tsi_scalar *)
                     packed)[tsi_triangle_block(r) + (tsi_count)r * rows + tsi_corner_column(rows, j - r)]);
  }
  for (tsi_index r = 0; r < b; r += TSI_ROW_BLOCK) {
    const tsi_scalar *x = (const tsi_scalar *)packed + tsi_triangle_block(r);
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, b - r);
    for (tsi_index k = 0; k < r + rows; k++)
      for (tsi_index i = k < r ? 0 : k - r; i < rows; i++) {
        const tsi_real least = size[r + i] < size[k] ? size[r + i] : size[k], grown = size_of(*x++) * least;
        most[i] = grown > most[i] ? grown : most[i];
      }
  }
  double largest = 0;
  for (tsi_index i = 0; i < TSI_ROW_BLOCK; i++) largest = fmax(largest, (double)most[i]);
  return largest;
}

void TSI_TYPED(tsi_front_pack_lower)(const tsi_front *front, tsi_index o, tsi_index b, bool unit,
                                     tsi_inverse inverse, void *panel, void *scratch) {
  const diagonal_block d = {diagonal_of(front, o), front->f, b, false, unit, inverse};
  pack_lower(front, o, &d, panel, scratch);
}

void TSI_TYPED(tsi_front_pack)(const tsi_front *front, tsi_index o, tsi_index b, tsi_inverse inverse,
                               void *lower, void *upper, void *work) {
  const diagonal_block l = {diagonal_of(front, o), front->f, b, false, front->q != NULL, inverse};
  const diagonal_block u = {diagonal_of(front, o), front->f, b, true, false, inverse};
  pack_lower(front, o, &l, lower, work);
  if (front->full) pack_upper(front, o, &u, upper, work);
}

void TSI_TYPED(tsi_stripe_pack_panel)(const tsi_front_stripe *panel, tsi_index height, tsi_inverse inverse,
                                      void *lower, void *upper, void *work) {
  const diagonal_block l = {panel->d, panel->ldl, panel->rows, false, panel->u != NULL, inverse};
  const diagonal_block u = {panel->d, panel->ldl, panel->rows, true, false, inverse};
  (void)begin_panel(&l, height, lower, work);
  if (upper != NULL) (void)begin_panel(&u, height, upper, work);
}

void TSI_TYPED(tsi_stripe_pack)(const tsi_front_stripe *stripe, tsi_index o, tsi_index b, tsi_index height,
                                void *lower, void *upper) {
  const tsi_pack_source rows = {(const tsi_scalar *)stripe->l + o * (ptrdiff_t)stripe->ldl, 1, stripe->ldl};
  const tsi_index before = stripe->begin - o - b;
  tsi_pack_rows(rows, stripe->rows, b, before, height, (tsi_scalar *)lower + tsi_triangle_size(b));
  if (upper == NULL) return;
  const tsi_pack_source columns = {(const tsi_scalar *)stripe->u + o, stripe->ldu, 1};
  tsi_pack_rows(columns, stripe->rows, b, before, height, (tsi_scalar *)upper + tsi_triangle_size(b));
}

void TSI_TYPED(tsi_front_add_column)(const tsi_front *front, tsi_index column, tsi_count count,
                                     const tsi_index *row, const void *values, const tsi_count *index) {
  const tsi_scalar *from = values;
  tsi_scalar *to = (tsi_scalar *)front->p + column * (ptrdiff_t)front->f;
  for (tsi_count e = 0; e < count; e++)
    if (row[e] >= 0) to[row[e]] += from[index ? index[e] : e];
}

tsi_index TSI_TYPED(tsi_front_zero_diagonal)(const tsi_front *front) {
  const tsi_scalar *p = front->p;
  for (tsi_index k = 0; k < front->w; k++)
    if (p[k + k * (ptrdiff_t)front->f] == 0) return k;
  return TSI_NONE;
}

tsi_index TSI_TYPED(tsi_front_invert_diagonal)(tsi_index n, const tsi_index *order, const void *diagonal,
                                               void *inverse) {
  const tsi_scalar *d = diagonal;
  tsi_scalar *out = inverse;
  for (tsi_index j = 0; j < n; j++) {
    if (d[order[j]] == 0) return order[j];
    out[2 * (ptrdiff_t)j] = 1 / d[order[j]];
    out[2 * (ptrdiff_t)j + 1] = 0;
  }
  return TSI_NONE;
}
