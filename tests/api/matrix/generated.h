/* Generated matrices, their numbers of rows, and their dense form, for the tests of generators. */
#pragma once

#include "tests/api/matrix/matrix_files.h"

/* Is K the number of rows? Such kinds accept any valid number of rows as K. */
static inline int counts_rows(const char *kind) {
  static const char *const kinds[] = {"circuit", "erdos", "band", "chain"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i]) == 0) return 1;
  return 0;
}

static inline int64_t expected_rows(const char *kind, int64_t k) {
  if (strcmp(kind, "s2d9pt") == 0) return k * k;
  if (strcmp(kind, "elasticity3d") == 0) return 3 * k * (k + 1) * (k + 1);
  if (strcmp(kind, "kkt3d") == 0) return 3 * k * k * k;
  if (strcmp(kind, "maxwell3d") == 0) return 3 * (k + 1) * k * k;
  if (strcmp(kind, "fusion2d") == 0) return 4 * (3 * k - 1) * (3 * k - 1);
  if (counts_rows(kind)) return k;
  return k * k * k;
}

static inline columns *generate(tristar_t *ts, const char *kind, int64_t k) {
  tristar_matrix_t *matrix = NULL;
  CHECK_OK(tristar_matrix_generate(ts, kind, k, &matrix));
  columns *m = columns_of(matrix);
  check_columns(m);
  CHECK_MSG(m->rows == expected_rows(kind, k) && m->cols == m->rows, "%s %lld: %d rows", kind, (long long)k,
            m->rows);
  CHECK(m->values != NULL && m->scalar == TRISTAR_DOUBLE);
  return m;
}

/* Returns the full matrix, column-major; the caller frees it. */
static inline double *expand(const columns *m) {
  const size_t n = (size_t)m->rows;
  double *a = xcalloc(n * n, sizeof *a);
  for (int32_t j = 0; j < m->cols; j++)
    for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++) {
      a[(size_t)m->index[k] + (size_t)j * n] = m->values[k];
      if (m->symmetry == TRISTAR_SYMMETRIC) a[(size_t)j + (size_t)m->index[k] * n] = m->values[k];
    }
  return a;
}
