/* Entries (i, j, a_ij) in any order, gathered and then made into a matrix: sorted, duplicates summed.
 *
 * Entries above the diagonal of a symmetric kind go to their mirror place (negated or conjugated as the
 * symmetry says), so that only the lower triangle is kept.
 * Invariants
 *   - sorted says whether the entries so far came column by column with rows ascending (duplicates next to
 *     each other), as most files have them; nothing is then moved
 *   - until tsi_triplets_finish, the row of an entry that was mirrored is stored as its complement, ~row */
#pragma once

#include "runtime/matrix/matrix.h"

typedef struct tsi_triplets {
  tsi_env *env;
  tristar_symmetry symmetry;
  int width; /* doubles a value: 0 (pattern), 1 or 2 */
  tsi_index rows, cols;
  tsi_count count, capacity;
  tsi_count
      limit; /* entries expected: memory grows towards it as they come, and never beyond it needlessly */
  tsi_index *row, *col;
  double *value;
  bool sorted;
  bool lower, upper; /* an entry strictly below (above) the diagonal has been given */
} tsi_triplets;

/* Entries of both triangles at the same place: `first` was given before `second`, both counted from 0. */
typedef struct tsi_entry_pair {
  tsi_count first, second; /* -1: there is no such pair */
  tsi_index row, col;      /* where the second was given; the first: at (col, row) */
} tsi_entry_pair;

/* Allocates nothing: a limit that a broken file announces costs no memory. */
void tsi_triplets_init(tsi_triplets *triplets, tsi_env *env, tsi_index rows, tsi_index cols,
                       tristar_symmetry symmetry, int width, tsi_count limit);
/* value: width doubles; not read if width is 0. */
TRISTAR_CHECKED tristar_status tsi_triplets_push(tsi_triplets *triplets, tsi_index i, tsi_index j,
                                                 const double *value);
/* For symmetric kinds: looks for entries (i, j) and (j, i), i != j, that have both been given; of all such
 * pairs the one that is complete first. Takes memory only where both triangles have entries. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_triplets_find_pair(const tsi_triplets *triplets, tsi_entry_pair *pair);
/* The triplets are empty after success. Errors: MEMORY, NOT_FINITE (duplicates sum to infinity). */
TRISTAR_CHECKED tristar_status tsi_triplets_finish(tsi_triplets *triplets, tristar_matrix_t **matrix);
void tsi_triplets_free(tsi_triplets *triplets);
