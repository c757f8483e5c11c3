/* Entries (i, j, a_ij) in any order, collected and then converted to a matrix: sorted, duplicates summed.
 *
 * Entries above the diagonal of a symmetric kind are replaced by their mirror images (negated or conjugated
 * as the symmetry requires), so only the lower triangle is stored.
 * Invariants
 *   - sorted is true if the entries so far were pushed column by column with rows ascending (duplicates next
 *     to each other), as in most files; then no sort is needed
 *   - until tsi_triplets_finish, the row of a mirrored entry is stored as its complement, ~row */
#pragma once

#include "runtime/matrix/matrix.h"

typedef struct tsi_triplets {
  tsi_env *env;
  tristar_symmetry symmetry;
  int width; /* Doubles per value: 0 (pattern), 1 or 2. */
  tsi_index rows, cols;
  tsi_count count, capacity;
  tsi_count limit; /* Expected number of entries: memory grows towards it with the entries, and beyond it only
                      if necessary. */
  tsi_index *row, *col;
  double *value;
  bool sorted;
  bool lower, upper; /* An entry strictly below (above) the diagonal has been pushed. */
} tsi_triplets;

/* Entries of both triangles at the same place: `first` was pushed before `second`; both count from 0. */
typedef struct tsi_entry_pair {
  tsi_count first, second; /* -1: there is no such pair. */
  tsi_index row, col;      /* Place of the second entry; the first is at (col, row). */
} tsi_entry_pair;

/* Allocates nothing: a wrong limit in a broken file costs no memory. */
void tsi_triplets_init(tsi_triplets *triplets, tsi_env *env, tsi_index rows, tsi_index cols,
                       tristar_symmetry symmetry, int width, tsi_count limit);
/* value: width doubles; not read if width is 0. */
TRISTAR_CHECKED tristar_status tsi_triplets_push(tsi_triplets *triplets, tsi_index i, tsi_index j,
                                                 const double *value);
/* For symmetric kinds: finds entries (i, j) and (j, i), i != j, that have both been pushed; of all such pairs
 * the one that is complete first. Allocates memory only if both triangles have entries. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_triplets_find_pair(const tsi_triplets *triplets, tsi_entry_pair *pair);
/* The triplets are empty after success. Errors: MEMORY, NOT_FINITE (a sum of duplicates overflows). */
TRISTAR_CHECKED tristar_status tsi_triplets_finish(tsi_triplets *triplets, tristar_matrix_t **matrix);
void tsi_triplets_free(tsi_triplets *triplets);
