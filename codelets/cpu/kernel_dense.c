/* Small dense blocks: see dense.h. Compiled for each scalar type and instruction set. */
#include "codelets/cpu/base/dense.h"

#include "codelets/cpu/base/scalar.h"

/* b += t a, n scalars. Triangles of sparse matrices have many zeros t. */
INLINE void add_multiple(tsi_index n, tsi_scalar t, const tsi_scalar *restrict a, tsi_scalar *restrict b) {
  if (t == 0) return;
  for (tsi_index k = 0; k < n; k++) b[k] += t * a[k];
}

INLINE void scale(tsi_index n, tsi_scalar t, tsi_scalar *b) {
  for (tsi_index k = 0; k < n; k++) b[k] *= t;
}

/* Column j of the inverse of an upper triangle is -1 / a_jj times the inverse of the triangle before it times
 * column j.
 */
INLINE void invert_upper(const bool unit, tsi_index n, tsi_scalar *a, ptrdiff_t lda) {
  for (tsi_index j = 0; j < n; j++) {
    tsi_scalar *b = a + j * lda;
    if (!unit) b[j] = 1 / b[j];
    for (tsi_index i = 0; i < j; i++) {
      add_multiple(i, b[i], a + i * lda, b);
      if (!unit) b[i] *= a[i + i * lda];
    }
    scale(j, unit ? -1 : -b[j], b);
  }
}

INLINE void invert_lower(const bool unit, tsi_index n, tsi_scalar *a, ptrdiff_t lda) {
  for (tsi_index j = n - 1; j >= 0; j--) {
    tsi_scalar *b = a + j * lda;
    if (!unit) b[j] = 1 / b[j];
    for (tsi_index i = n - 1; i > j; i--) {
      add_multiple(n - 1 - i, b[i], a + i + 1 + i * lda, b + i + 1);
      if (!unit) b[i] *= a[i + i * lda];
    }
    scale(n - 1 - j, unit ? -1 : -b[j], b + j + 1);
  }
}

static void invert(bool upper, bool unit, tsi_index n, void *a, ptrdiff_t lda) {
  if (upper && unit)
    invert_upper(true, n, a, lda);
  else if (upper)
    invert_upper(false, n, a, lda);
  else if (unit)
    invert_lower(true, n, a, lda);
  else
    invert_lower(false, n, a, lda);
}

/* Solves for `columns` columns at a time; columns is a constant. */
INLINE void solve_columns(const tsi_index columns, tsi_index m, const tsi_scalar *restrict l, ptrdiff_t ldl,
                          tsi_scalar *restrict b, ptrdiff_t ldb) {
  for (tsi_index k = 0; k < m - 1; k++) {
    tsi_scalar x[4];
    for (tsi_index c = 0; c < columns; c++) x[c] = b[k + c * ldb];
    for (tsi_index i = k + 1; i < m; i++)
      for (tsi_index c = 0; c < columns; c++) b[i + c * ldb] -= l[i + k * ldl] * x[c];
  }
}

static void solve_left(tsi_index m, tsi_index n, const void *l, ptrdiff_t ldl, void *right, ptrdiff_t ldb) {
  tsi_scalar *b = right;
  tsi_index c = 0;
  for (; c + 4 <= n; c += 4) solve_columns(4, m, l, ldl, b + c * ldb, ldb);
  for (; c < n; c++) solve_columns(1, m, l, ldl, b + c * ldb, ldb);
}

static void solve_right(tsi_index m, tsi_index n, const void *upper, ptrdiff_t row_step,
                        ptrdiff_t column_step, void *right, ptrdiff_t ldb) {
  const tsi_scalar *u = upper;
  tsi_scalar *b = right;
  for (tsi_index k = 0; k < n; k++) {
    tsi_scalar *to = b + k * ldb;
    for (tsi_index j = 0; j < k; j++) add_multiple(m, -u[j * row_step + k * column_step], b + j * ldb, to);
    scale(m, 1 / u[k * row_step + k * column_step], to);
  }
}

#define TABLE(isa) TSI_PASTE(TSI_TYPED(tsi_dense_kernels), isa)

extern const tsi_dense_kernels TABLE(TSI_ISA);
const tsi_dense_kernels TABLE(TSI_ISA) = {
    .isa = TSI_TEXT(TSI_ISA), .invert = invert, .solve_left = solve_left, .solve_right = solve_right};
