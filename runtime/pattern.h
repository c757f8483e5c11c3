/* The user's matrix inside the library.
 *
 * Job. Check a tristar_view, keep a copy of its pattern in the order of the user's values, and give the forms
 * that analysis, factorization and refinement need.
 *
 * Reads   a tristar_view.   Writes  a tsi_pattern that owns its arrays.
 * Invariants: ptr ascends from 0; 0 <= index < n; entry p of the user's values belongs to entry p here. Entry
 * p of line j is (index[p], j), or (j, index[p]) if by_rows. */
#ifndef TSI_RUNTIME_PATTERN_H
#define TSI_RUNTIME_PATTERN_H

#include "codelets/cpu/sparse.h"
#include "runtime/base/env.h"

typedef struct tsi_pattern {
  tsi_index n;
  bool by_rows; /* CSR */
  char scalar;  /* 's', 'd', 'c' or 'z' */
  tristar_symmetry symmetry;
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
} tsi_pattern;

/* Errors: ARGUMENT, RECTANGULAR, FORMAT (message: line and entry), TOO_LARGE,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_create(tsi_env *env, const tristar_view *view, tsi_pattern **out);
void tsi_pattern_destroy(tsi_env *env, tsi_pattern **pattern);

/* NaN or infinity among the values? Errors: NOT_FINITE (message: row and column). */
TRISTAR_CHECKED tristar_status tsi_pattern_check_values(tsi_env *env, const tsi_pattern *pattern,
                                                        const void *values);

/* Entries of the full matrix, both triangles, duplicates not merged. */
tsi_count tsi_pattern_entries(const tsi_pattern *pattern);

/* The full matrix by columns, rows ascending, duplicates summed; owned arrays. */
typedef struct tsi_csc {
  tsi_index n;
  tsi_count *ptr;
  tsi_index *index;
  double *values; /* one part of the values; NULL if made without */
} tsi_csc;

/* Expands A (or A^T) to both triangles. values: one part of the user's values (tsi_pattern_part); may be
 * NULL. antisymmetric: the mirror images of a symmetric kind have the other sign (imaginary parts of a
 * Hermitian matrix). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_expand(tsi_env *env, const tsi_pattern *pattern, const double *values,
                                          bool transposed, tsi_csc *out);
void tsi_csc_finish(tsi_env *env, tsi_csc *csc);

/* That part of all values as doubles; owned by the caller. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_part(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                                tsi_part part, double **out);

/* The pattern with values, for the kernels. */
tsi_sparse tsi_pattern_sparse(const tsi_pattern *pattern, const void *values);

#endif
