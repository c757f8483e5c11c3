/* The user's matrix inside the library.
 *
 * Job. Verify a tristar_view, store its pattern without duplicates, and convert the user's values to the
 * order of the pattern. Make the forms for analysis, factorization and refinement.
 *
 * Reads   a tristar_view.   Writes  a tsi_pattern that owns its arrays.
 * Invariants: ptr ascends from 0; 0 <= index < n; each line ascends strictly. Entry p of line j is (index[p],
 * j), or (j, index[p]) if by_rows. A symmetric kind has only one entry of each pair. Below, `values` belong
 * to the pattern's entries (tsi_pattern_take): sums, if the user has several entries at one place. */
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
  tsi_count *place; /* given: for each entry of the user, the entry of the pattern that it is added to; NULL:
                       they are the same */
} tsi_pattern;

/* Are its lines the columns of the full matrix? */
static inline bool tsi_pattern_is_columns(const tsi_pattern *pattern) {
  return !pattern->by_rows && pattern->symmetry == TRISTAR_GENERAL;
}

/* Errors: ARGUMENT, RECTANGULAR, FORMAT (the message has line and entry; also if a symmetric kind has both
 * entries of a pair), TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_create(tsi_env *env, const tristar_view *view, tsi_pattern **out);
/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_copy(tsi_env *env, const tsi_pattern *from, tsi_pattern **out);
/* Makes a GENERAL pattern of sorted lines and its values from the arrays of the entries, which are then
 * empty. Errors: MEMORY; then the entries are unchanged. */
TRISTAR_CHECKED tristar_status tsi_pattern_from_entries(tsi_env *env, tsi_entries *entries, bool by_rows,
                                                        char scalar, tsi_pattern **out, void **values);

/* Do both have the same places, and were they made from user's arrays in the same order? */
bool tsi_pattern_equal(const tsi_pattern *a, const tsi_pattern *b);

/* Does the view have this pattern (tsi_pattern_create and tsi_pattern_equal)? Copies the view only if
 * necessary. Errors: as tsi_pattern_create. */
TRISTAR_CHECKED tristar_status tsi_pattern_fits(tsi_env *env, const tsi_pattern *pattern,
                                                const tristar_view *view, bool *fits);

/* Allocates the values of the pattern's entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_allocate_values(tsi_env *env, const tsi_pattern *pattern,
                                                           void **values);

/* Converts the user's values to values of the pattern's entries: values[q] is the sum, in the user's order,
 * of the values at its place. values: ptr[n] scalars, not overlapping given. */
void tsi_pattern_take(const tsi_pattern *pattern, const void *given, void *values);

/* Verifies that no value is NaN or infinite, and that the symmetry allows the diagonal. Errors: NOT_FINITE,
 * FORMAT (messages: row and column). */
TRISTAR_CHECKED tristar_status tsi_pattern_check_values(tsi_env *env, const tsi_pattern *pattern,
                                                        const void *values);

/* A pair of entries that are not mirror images, in a matrix that should be symmetric (adjoint: Hermitian). */
typedef struct tsi_unlike {
  bool found;
  tsi_index row, column; /* Of one of these entries. A diagonal entry that is not real is its own pair. */
  tsi_index plain_row,
      plain_column; /* Set by the caller of tsi_unlike_text: of entries that are not equal. */
  bool rounded;     /* No such pair was found, but some pairs differ by rounding errors. */
} tsi_unlike;

enum { TSI_UNLIKE_TEXT = 240 };
/* Writes to `text` which entries are no mirror images, for a message; returns text. both: of a complex matrix
 * that is neither symmetric nor Hermitian. */
const char *tsi_unlike_text(const tsi_unlike *unlike, bool both, char text[TSI_UNLIKE_TEXT]);

/* Compares the values of a GENERAL pattern with their transpose, except for rounding errors (TSI_SAME).
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_find_unlike(tsi_env *env, const tsi_pattern *pattern,
                                                       const void *values, bool adjoint, tsi_unlike *out);

/* *missing: number of entries (i, j), i != j, of a GENERAL pattern without an entry (j, i); 0 for a symmetric
 * kind. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_missing_mirrors(tsi_env *env, const tsi_pattern *pattern,
                                                           tsi_count *missing);

/* The entry of a line with this index; TSI_NONE: there is none. */
tsi_count tsi_pattern_find(const tsi_pattern *pattern, tsi_index line, tsi_index index);

/* Does the pattern have entries above and below the diagonal? */
bool tsi_pattern_has_both(const tsi_pattern *pattern);

/* Number of entries of the full matrix, both triangles. */
tsi_count tsi_pattern_entries(const tsi_pattern *pattern);

/* This part of all values as doubles; owned by the caller. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_pattern_part(tsi_env *env, const tsi_pattern *pattern, const void *values,
                                                tsi_part part, double **out);

/* The pattern with values as a view. */
tristar_view tsi_pattern_view(const tsi_pattern *pattern, const void *values);
/* The pattern with values, for the kernels. */
tsi_sparse tsi_pattern_sparse(const tsi_pattern *pattern, const void *values);
