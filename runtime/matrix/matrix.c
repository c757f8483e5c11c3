/* The library's sparse matrix: creation, view and check (see matrix.h). */
#include "runtime/matrix/matrix.h"

#include <math.h>

const char *tsi_symmetry_name(tristar_symmetry symmetry) {
  switch (symmetry) {
  case TRISTAR_GENERAL:
    return "general";
  case TRISTAR_SYMMETRIC:
    return "symmetric";
  case TRISTAR_SKEW_SYMMETRIC:
    return "skew-symmetric";
  case TRISTAR_HERMITIAN:
    return "hermitian";
  }
  return "unknown";
}

tristar_status tsi_matrix_create(tsi_env *env, tsi_index rows, tsi_index cols, tristar_symmetry symmetry,
                                 tristar_scalar scalar, tristar_matrix_t **matrix) {
  TSI_CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  *matrix = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, m, 1));
  m->env = env;
  tsi_env_retain(env);
  m->symmetry = symmetry;
  m->scalar = scalar;
  m->rows = rows;
  m->cols = cols;
  TSI_TRY(TSI_ALLOC_ZERO_IN(m, m->ptr, (tsi_count)cols + 1));
  *matrix = tsi_take(&m);
  return TRISTAR_OK;
}

tristar_status tsi_matrix_reserve(tristar_matrix_t *matrix, tsi_count entries, bool pattern) {
  tsi_env *env = matrix->env;
  tsi_count doubles;
  if (!tsi_count_mul(entries, tsi_scalar_width(matrix->scalar), &doubles))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld entries are too large a matrix: at most %lld",
             (long long)entries, (long long)INT64_MAX / tsi_scalar_width(matrix->scalar));
  TSI_TRY(TSI_ALLOC_IN(matrix, matrix->index, entries));
  if (!pattern) TSI_TRY(TSI_ALLOC_IN(matrix, matrix->values, doubles));
  return TRISTAR_OK;
}

void tristar_matrix_destroy(tristar_matrix_t **matrix) {
  if (matrix == NULL || *matrix == NULL) return;
  tristar_matrix_t *m = *matrix;
  tsi_env *env = m->env;
  *matrix = NULL;
  if (tsi_env_abandon(env, m)) return;
  TSI_FREE(env, m);
  tsi_env_release(env);
}

tristar_status tristar_matrix_get_view(const tristar_matrix_t *matrix, tristar_view *view) {
  if (view == NULL) return TSI_NULL(view);
  memset(view, 0, sizeof *view);
  if (matrix == NULL) return TSI_NULL(matrix);
  view->format = matrix->format;
  view->symmetry = matrix->symmetry;
  view->scalar = matrix->scalar;
  view->rows = matrix->rows;
  view->cols = matrix->cols;
  view->ptr = matrix->ptr;
  view->index = matrix->index;
  view->values = matrix->values;
  view->ptr_bits = 64;
  view->index_bits = 32;
  return TRISTAR_OK;
}

/* The defect of entry k of column j, or NULL. */
static const char *entry_defect(const tristar_matrix_t *m, tsi_index j, tsi_count k) {
  tsi_index i = m->index[k];
  int width = tsi_scalar_width(m->scalar);
  if (i < 0 || i >= m->rows) return "row out of range";
  if (k > m->ptr[j] && i <= m->index[k - 1]) return "rows not ascending";
  if (m->symmetry != TRISTAR_GENERAL && i < j) return "entry above the diagonal of a symmetric kind";
  if (m->values == NULL) return NULL;
  const double *value = m->values + k * width;
  if (!isfinite(value[0]) || !isfinite(value[width - 1])) return "value not finite";
  if (i != j) return NULL;
  if (m->symmetry == TRISTAR_SKEW_SYMMETRIC && (value[0] != 0 || value[width - 1] != 0))
    return "diagonal of a skew-symmetric matrix";
  if (m->symmetry == TRISTAR_HERMITIAN && width == 2 && value[1] != 0)
    return "imaginary diagonal of a hermitian matrix";
  return NULL;
}

tristar_status tsi_matrix_check(const tristar_matrix_t *matrix) {
  tsi_env *env = matrix->env;
  if (matrix->rows < 0 || matrix->cols < 0 || matrix->ptr[0] != 0 ||
      (matrix->symmetry != TRISTAR_GENERAL && matrix->rows != matrix->cols))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d x %d matrix, ptr[0] = %lld", (int)matrix->rows, (int)matrix->cols,
             (long long)matrix->ptr[0]);
  for (tsi_index j = 0; j < matrix->cols; j++) {
    if (matrix->ptr[j + 1] < matrix->ptr[j])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "ptr falls at column %d", (int)j);
    for (tsi_count k = matrix->ptr[j]; k < matrix->ptr[j + 1]; k++) {
      const char *defect = entry_defect(matrix, j, k);
      if (defect != NULL)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "column %d, entry %lld: %s", (int)j, (long long)k, defect);
    }
  }
  return TRISTAR_OK;
}
