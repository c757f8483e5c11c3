/* Verification of the caller's sparse arrays (see view.h). */
#include "runtime/matrix/view.h"

#include <math.h>

#include "codelets/cpu/rows/sparse.h"
#include "runtime/matrix/matrix.h"

void tristar_view_init(tristar_view *view) {
  *view = (tristar_view){.scalar = TRISTAR_DOUBLE, .ptr_bits = 32, .index_bits = 32};
}

static bool scalar_exists(tristar_scalar scalar) {
  return scalar == TRISTAR_SINGLE || scalar == TRISTAR_DOUBLE || scalar == TRISTAR_COMPLEX_SINGLE ||
         scalar == TRISTAR_COMPLEX_DOUBLE;
}

tristar_status tsi_view_check_head(tsi_env *env, const tristar_view *view) {
  if (view->format != TRISTAR_CSC && view->format != TRISTAR_CSR)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown format %d", (int)view->format);
  if ((int)view->symmetry < (int)TRISTAR_GENERAL || view->symmetry > TRISTAR_HERMITIAN)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown symmetry %d", (int)view->symmetry);
  if (!scalar_exists(view->scalar))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown scalar %d", (int)view->scalar);
  if ((view->ptr_bits != 32 && view->ptr_bits != 64) || (view->index_bits != 32 && view->index_bits != 64))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "ptr_bits %d, index_bits %d: neither 32 nor 64", view->ptr_bits,
             view->index_bits);
  if (view->base != 0 && view->base != 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "base %d: neither 0 nor 1", view->base);
  if (view->rows < 0 || view->cols < 0 || view->ptr == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%lld x %lld matrix%s", (long long)view->rows, (long long)view->cols,
             view->ptr == NULL ? ", ptr is NULL" : "");
  if (view->rows > TSI_INDEX_MAX || view->cols > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld x %lld matrix: more than %d rows or columns",
             (long long)view->rows, (long long)view->cols, (int)TSI_INDEX_MAX);
  if (view->symmetry != TRISTAR_GENERAL && view->rows != view->cols)
    TSI_FAIL(env, TRISTAR_ERR_RECTANGULAR, "%s, but %lld x %lld", tsi_symmetry_name(view->symmetry),
             (long long)view->rows, (long long)view->cols);
  return TRISTAR_OK;
}

/* Verifies that the symmetry allows the value of entry k of line j, if it is on the diagonal. Infinite values
 * are reported elsewhere. */
static tristar_status check_diagonal_entry(tsi_env *env, const tristar_view *view, int64_t j, tsi_count k,
                                           const double value[2]) {
  if (tsi_view_index(view, k) != j || !isfinite(value[0]) || !isfinite(value[1])) return TRISTAR_OK;
  if (view->symmetry == TRISTAR_SKEW_SYMMETRIC && (value[0] != 0 || value[1] != 0))
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "diagonal entry %lld of a skew-symmetric matrix is not zero",
             (long long)j);
  if (view->symmetry == TRISTAR_HERMITIAN && value[1] != 0)
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "diagonal entry %lld of a hermitian matrix has imaginary part %g",
             (long long)j, value[1]);
  return TRISTAR_OK;
}

static tristar_status check_entry(tsi_env *env, const tristar_view *view, int64_t j, tsi_count k) {
  const char *major = view->format == TRISTAR_CSC ? "column" : "row";
  int64_t i = tsi_view_index(view, k);
  double value[2];
  if (i < 0 || i >= tsi_view_minor(view))
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "%s %lld, entry %lld: index %lld is outside 0..%lld (all from 0)",
             major, (long long)j, (long long)k, (long long)i, (long long)tsi_view_minor(view) - 1);
  if (view->values == NULL) return TRISTAR_OK;
  tsi_view_value(view, k, value);
  if (!isfinite(value[0]) || !isfinite(value[1]))
    TSI_FAIL(env, TRISTAR_ERR_NOT_FINITE, "%s %lld, entry %lld (all from 0) is NaN or infinite", major,
             (long long)j, (long long)k);
  return check_diagonal_entry(env, view, j, k, value);
}

/* Is each index in range? Otherwise one of two numbers has its highest bit set. No early exit, so compilers
 * can vectorize the loop. */
#define ARE_INSIDE(bits)                                                                                     \
  static bool are_inside_##bits(const tristar_view *view, tsi_count entries) {                               \
    const int##bits##_t *index = view->index;                                                                \
    const uint##bits##_t base = (uint##bits##_t)view->base,                                                  \
                         last = (uint##bits##_t)(tsi_view_minor(view) - 1);                                  \
    uint##bits##_t seen = 0;                                                                                 \
    for (tsi_count k = 0; k < entries; k++) {                                                                \
      const uint##bits##_t i = (uint##bits##_t)index[k] - base;                                              \
      seen |= i | (last - i);                                                                                \
    }                                                                                                        \
    return seen >> (bits - 1) == 0;                                                                          \
  }
ARE_INSIDE(32)
ARE_INSIDE(64)

/* Can all entries be verified by their indices and values alone, without their lines, and are they right? */
static bool are_right(const tristar_view *view, tsi_count entries) {
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select((char)view->scalar);
  if (!(view->index_bits == 64 ? are_inside_64 : are_inside_32)(view, entries)) return false;
  if (view->values == NULL) return true;
  if (view->symmetry == TRISTAR_SKEW_SYMMETRIC || view->symmetry == TRISTAR_HERMITIAN) return false;
  return kernels->first_not_finite(entries, view->values) == entries;
}

tristar_status tsi_view_check_ptr(tsi_env *env, const tristar_view *view) {
  TSI_TRY(tsi_view_check_head(env, view));
  int64_t major = tsi_view_major(view);
  if (tsi_view_begin(view, 0) != 0)
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "ptr[0] is %lld with base %d",
             (long long)tsi_view_begin(view, 0) + view->base, view->base);
  for (int64_t j = 0; j < major; j++)
    if (tsi_view_begin(view, j + 1) < tsi_view_begin(view, j))
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "ptr falls from %lld to %lld at %lld",
               (long long)tsi_view_begin(view, j), (long long)tsi_view_begin(view, j + 1), (long long)j);
  const tsi_count entries = tsi_view_begin(view, major);
  if (entries > 0 && view->index == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "index is NULL, but ptr announces %lld entries", (long long)entries);
  return TRISTAR_OK;
}

tristar_status tsi_view_check(tsi_env *env, const tristar_view *view) {
  TSI_TRY(tsi_view_check_ptr(env, view));
  const int64_t major = tsi_view_major(view);
  const tsi_count entries = tsi_view_begin(view, major);
  if (entries == 0 || are_right(view, entries)) return TRISTAR_OK;
  for (int64_t j = 0; j < major; j++) /* entry by entry, for the diagonal or the message */
    for (tsi_count k = tsi_view_begin(view, j); k < tsi_view_begin(view, j + 1); k++)
      TSI_TRY(check_entry(env, view, j, k));
  return TRISTAR_OK;
}

tristar_status tsi_view_check_diagonal(tsi_env *env, const tristar_view *view) {
  double value[2];
  for (int64_t j = 0; j < tsi_view_major(view); j++)
    for (tsi_count k = tsi_view_begin(view, j); k < tsi_view_begin(view, j + 1); k++) {
      tsi_view_value(view, k, value);
      TSI_TRY(check_diagonal_entry(env, view, j, k, value));
    }
  return TRISTAR_OK;
}

tristar_status tsi_check_scalar(const tsi_env *env, char own, tristar_scalar passed) {
  if (own != (char)passed)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the vectors have the scalar type %c, but the matrix has %c",
             (int)passed, own);
  return TRISTAR_OK;
}
