/* Verification of the caller's sparse arrays (see view.h): each entry is read once. */
#include "runtime/matrix/view.h"

#include <math.h>

#include "runtime/matrix/matrix.h"

void tristar_view_init(tristar_view *view) {
  *view = (tristar_view){.scalar = TRISTAR_DOUBLE, .ptr_bits = 32, .index_bits = 32};
}

static bool scalar_known(tristar_scalar scalar) {
  return scalar == TRISTAR_SINGLE || scalar == TRISTAR_DOUBLE || scalar == TRISTAR_COMPLEX_SINGLE ||
         scalar == TRISTAR_COMPLEX_DOUBLE;
}

static tristar_status check_head(tsi_env *env, const tristar_view *view) {
  if (view->format != TRISTAR_CSC && view->format != TRISTAR_CSR)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown format %d", (int)view->format);
  if ((int)view->symmetry < (int)TRISTAR_GENERAL || view->symmetry > TRISTAR_HERMITIAN)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "unknown symmetry %d", (int)view->symmetry);
  if (!scalar_known(view->scalar))
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

/* Entry k, of line j, has a value that the kind of symmetry allows, if it is on the diagonal. What is not
 * finite is another matter. */
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

tristar_status tsi_view_check(tsi_env *env, const tristar_view *view) {
  TSI_TRY(check_head(env, view));
  int64_t major = tsi_view_major(view);
  if (tsi_view_begin(view, 0) != 0)
    TSI_FAIL(env, TRISTAR_ERR_FORMAT, "ptr[0] is %lld with base %d",
             (long long)tsi_view_begin(view, 0) + view->base, view->base);
  for (int64_t j = 0; j < major; j++)
    if (tsi_view_begin(view, j + 1) < tsi_view_begin(view, j))
      TSI_FAIL(env, TRISTAR_ERR_FORMAT, "ptr falls from %lld to %lld at %lld",
               (long long)tsi_view_begin(view, j), (long long)tsi_view_begin(view, j + 1), (long long)j);
  if (tsi_view_begin(view, major) > 0 && view->index == NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "index is NULL, but ptr announces %lld entries",
             (long long)tsi_view_begin(view, major));
  for (int64_t j = 0; j < major; j++)
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
