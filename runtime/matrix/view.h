/* Access to the caller's sparse arrays (tristar_view) for every format, integer width, base and scalar.
 *
 * "Major" is the compressed direction: columns of CSC, rows of CSR; "minor" the other one. The accessors
 * check nothing: tsi_view_check must be called before; it calls them with any values. */
#pragma once

#include "runtime/base/env.h"
#include "tristar.h"

static inline int64_t tsi_view_major(const tristar_view *view) {
  return view->format == TRISTAR_CSC ? view->cols : view->rows;
}
static inline int64_t tsi_view_minor(const tristar_view *view) {
  return view->format == TRISTAR_CSC ? view->rows : view->cols;
}

/* value - base; INT64_MIN, which is wrong anyway, is returned unchanged. */
static inline int64_t tsi_view_from_base(const tristar_view *view, int64_t value) {
  return value > INT64_MIN ? value - view->base : value;
}

/* ptr[j] - base: the first entry of column (row) j. */
static inline tsi_count tsi_view_begin(const tristar_view *view, int64_t j) {
  int64_t at = view->ptr_bits == 64 ? ((const int64_t *)view->ptr)[j] : ((const int32_t *)view->ptr)[j];
  return tsi_view_from_base(view, at);
}

/* index[k] - base */
static inline int64_t tsi_view_index(const tristar_view *view, tsi_count k) {
  int64_t i = view->index_bits == 64 ? ((const int64_t *)view->index)[k] : ((const int32_t *)view->index)[k];
  return tsi_view_from_base(view, i);
}

/* Value k as real and imaginary part; (1, 0) if the view is a pattern. */
static inline void tsi_view_value(const tristar_view *view, tsi_count k, double value[2]) {
  value[0] = 1;
  value[1] = 0;
  if (view->values == NULL) return;
  switch (view->scalar) {
  case TRISTAR_SINGLE:
    value[0] = (double)((const float *)view->values)[k];
    break;
  case TRISTAR_DOUBLE:
    value[0] = ((const double *)view->values)[k];
    break;
  case TRISTAR_COMPLEX_SINGLE:
    value[0] = (double)((const float *)view->values)[2 * k];
    value[1] = (double)((const float *)view->values)[2 * k + 1];
    break;
  case TRISTAR_COMPLEX_DOUBLE:
    value[0] = ((const double *)view->values)[2 * k];
    value[1] = ((const double *)view->values)[2 * k + 1];
    break;
  }
}

/* Verifies a view except the contents of its arrays. Errors: as tsi_view_check, without FORMAT and
 * NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_view_check_head(tsi_env *env, const tristar_view *view);
/* Verifies a view except index and values. Errors: as tsi_view_check. */
TRISTAR_CHECKED tristar_status tsi_view_check_ptr(tsi_env *env, const tristar_view *view);
/* Verifies the requirements of tristar.h for a view. Errors: ARGUMENT (NULL arrays, unknown enumerators,
 * negative sizes), TOO_LARGE (beyond TSI_INDEX_MAX), RECTANGULAR (a symmetric kind that is not square),
 * FORMAT (ptr decreases, row out of range, a nonzero on the diagonal of a skew-symmetric matrix, an imaginary
 * part on the diagonal of a hermitian one; the message has column and entry), NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_view_check(tsi_env *env, const tristar_view *view);
/* Verifies the values on the diagonal, for a view that was verified without values. Errors: FORMAT. */
TRISTAR_CHECKED tristar_status tsi_view_check_diagonal(tsi_env *env, const tristar_view *view);

/* Is the scalar type of an object the type of a typed function (tristar_typed.h)? Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_check_scalar(const tsi_env *env, char own, tristar_scalar passed);
