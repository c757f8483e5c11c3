/* The user's matrix inside the library.
 *
 * Job. Check a tristar_view, keep its pattern with every place once, bring the user's values into that order,
 * and give the forms that analysis, factorization and refinement need.
 *
 * Reads   a tristar_view.   Writes  a tsi_pattern that owns its arrays.
 * Invariants: ptr ascends from 0; 0 <= index < n; each line ascends strictly. Entry p of line j is (index[p],
 * j), or (j, index[p]) if by_rows. Of a symmetric kind only one entry of a pair is there. Below, `values` are
 * those of the pattern's entries (tsi_pattern_take): sums, where the user has several entries at one place.
 */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/matrix/entries.h"

typedef struct tsi_pattern {
  tsi_index n;
  bool by_rows; /* CSR */
  char scalar;  /* 's', 'd', 'c' or 'z' */
  tristar_symmetry symmetry;
  tsi_count *ptr;   /* n + 1 */
  tsi_index *index; /* ptr[n] */
  tsi_count given;  /* entries of the user */
  tsi_count *place; /* given: the entry here that each of them adds to; NULL: they are the same */
} tsi_pattern;

/* Are its lines the columns of the matrix, in full? */
static inline bool tsi_pattern_is_columns(const tsi_pattern *pattern) {
  return !pattern->by_rows && pattern->symmetry == TRISTAR_GENERAL;
}

/* Errors: ARGUMENT, RECTANGULAR, FORMAT (message: line and entry; also for both entries of a pair of a
 * symmetric kind), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_create(tsi_env *env, const tristar_view *view, tsi_pattern **out);
/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_copy(tsi_env *env, const tsi_pattern *from, tsi_pattern **out);
/* A GENERAL pattern of sorted lines and its values, which it takes from the entries. Errors: MEMORY; then the
 * entries have all still. */
TRISTAR_CHECKED tristar_status tsi_pattern_from_entries(tsi_env *env, tsi_entries *entries, bool by_rows,
                                                        char scalar, tsi_pattern **out, void **values);

/* Do both hold the same places, from user's arrays of the same order? */
bool tsi_pattern_equal(const tsi_pattern *a, const tsi_pattern *b);

/* Do tsi_pattern_create of the view and tsi_pattern_equal, without a copy where there is none to be compared.
 * Errors: as tsi_pattern_create. */
TRISTAR_CHECKED tristar_status tsi_pattern_fits(tsi_env *env, const tsi_pattern *pattern,
                                                const tristar_view *view, bool *fits);

/* Room for the values of the pattern's entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_allocate_values(tsi_env *env, const tsi_pattern *pattern,
                                                           void **values);

/* The user's values as those of the pattern's entries: values[q] is the sum, in the user's order, of what is
 * at one place. values: ptr[n] scalars, not overlapping given. */
void tsi_pattern_take(const tsi_pattern *pattern, const void *given, void *values);

/* NaN or infinity among the values, or a diagonal entry that the symmetry does not allow? Errors: NOT_FINITE,
 * FORMAT (messages: row and column). */
TRISTAR_CHECKED tristar_status tsi_pattern_check_values(tsi_env *env, const tsi_pattern *pattern,
                                                        const void *values);

/* A pair of entries that are no mirror images, of a matrix that is to be symmetric (adjoint: Hermitian). */
typedef struct tsi_unlike {
  bool found;
  tsi_index row, column; /* of one of them */
  bool rounded;          /* none was found, but the entries of some pairs are not equal: they were rounded */
} tsi_unlike;

/* Compares the values of a GENERAL pattern with their transpose, but for rounding errors (TSI_SAME). Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_find_unlike(tsi_env *env, const tsi_pattern *pattern,
                                                       const void *values, bool adjoint, tsi_unlike *out);

/* *missing: entries (i, j), i != j, of a GENERAL pattern that has no entry (j, i); 0 for a symmetric kind.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_missing_mirrors(tsi_env *env, const tsi_pattern *pattern,
                                                           tsi_count *missing);

/* The entry of a line with this index; TSI_NONE: there is none. */
tsi_count tsi_pattern_find(const tsi_pattern *pattern, tsi_index line, tsi_index index);

/* Has the pattern entries above the diagonal and below? */
bool tsi_pattern_has_both(const tsi_pattern *pattern);

/* Entries of the full matrix, both triangles. */
tsi_count tsi_pattern_entries(const tsi_pattern *pattern);

/* That part of all values as doubles; owned by the caller. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_part(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                                tsi_part part, double **out);

/* The pattern with values as a view. */
tristar_view tsi_pattern_view(const tsi_pattern *pattern, const void *values);
/* The pattern with values, for the kernels. */
tsi_sparse tsi_pattern_sparse(const tsi_pattern *pattern, const void *values);
