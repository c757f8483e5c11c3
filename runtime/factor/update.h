/* New values for few entries of a matrix: only fronts with such an entry, and their ancestors, are factored.
 *
 * The Schur complement that a front leaves to its parent (numeric.h) depends on the entries of its subtree
 * alone. If all complements stay after their use, the fronts of other subtrees need not be factored again.
 * The scaling, the sizes of columns and the threshold of tiny pivots depend on all values: they are what
 * another measurement would find, and a front that depends on one that has changed is factored, too. So the
 * factors have the bits of a factorization of all fronts.
 *
 * Reads   an analysis; the values of a factor, which have changed.
 * Writes  the factor; complements.
 * Invariants
 *   - numeric is the latest factorization of the factor, which succeeded and needed no second opinion; NULL:
 * there is none, and the next one is of all fronts
 *   - numeric->sizes points to sizes */
#pragma once

#include "runtime/factor/numeric.h"
#include "runtime/factor/scaling_facts.h"
#include "tristar_update.h"

/* Exponents (scaling_work.h) of the entries of a matrix: none is beyond these. */
typedef struct tsi_exponents {
  int low, high; /* of the diagonal, but for zeros */
  int most;
} tsi_exponents;

/* The entries that cross the lines of a pattern: those with index j are entry[ptr[j]] .. entry[ptr[j + 1] -
 * 1], in the lines `line`. */
typedef struct tsi_crossing {
  tsi_count *ptr; /* n + 1; NULL: not there yet */
  tsi_count *entry;
  tsi_index *line;
} tsi_crossing;

typedef struct tsi_update {
  tsi_numeric *numeric;
  tsi_pivot_sizes sizes;
  bool *touched;            /* by supernode */
  bool *resized;            /* n, by final index: columns whose size may have changed */
  tsi_index *supernode;     /* n, by final index */
  size_t kept_bytes;        /* of complements */
  bool same_exponents;      /* no change has changed the exponent of an entry */
  bool same_scaling;        /* no change of an entry has changed the scaling of LU or L D L^T */
  tsi_scaling_facts *facts; /* NULL: not needed yet */
  tsi_exponents exponents;  /* of the present values, L L^T */
  tsi_crossing crossing;
} tsi_update;

/* Prepares factor->update, unless it is there, without a factorization. Errors: MEMORY; UNSUPPORTED (an
 * import; PLACE_GPU). */
TRISTAR_CHECKED tristar_status tsi_update_create(tristar_factor_t *factor);
/* update: points to NULL, or is NULL: nothing to do. */
void tsi_update_release(tsi_update **update);
/* Frees the complements: the next factorization is of all fronts. */
void tsi_update_forget(tsi_update *update);
/* Takes over a factorization that has succeeded without a second opinion, and what it was measured by; leaves
 * NULL. */
void tsi_update_take(tsi_update *update, tsi_numeric **numeric, tsi_pivot_sizes *sizes);
/* The front of a supernode, and its ancestors, are to be factored. */
static inline void tsi_update_touch(const tristar_factor_t *factor, tsi_index supernode) {
  const tsi_index *parent = factor->analysis->symbolic->parent;
  bool *touched = factor->update->touched;
  for (tsi_index s = supernode; s != TSI_NONE && !touched[s]; s = parent[s]) touched[s] = true;
}

/* The same for the front that assembles entry (row, column) of the user, and of a symmetric kind its image.
 */
void tsi_update_touch_entry(const tristar_factor_t *factor, tsi_index row, tsi_index column);

/* Sets the number and the operations of these fronts, as stored; touched: by supernode, NULL: all. */
void tsi_update_count_fronts(const tristar_factor_t *factor, const bool *touched,
                             tristar_update_result *result);

/* What depends on all values (update_measure.c). */

/* After a factorization of all fronts: what the next changes are compared with. */
void tsi_update_begin_exponents(const tristar_factor_t *factor);
/* Before an entry of a line gets another value. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_update_note(const tristar_factor_t *factor, tsi_index line, tsi_count p,
                                               const char *value);
/* After all entries have theirs: scalings, sizes and threshold; touches the fronts that depend on one that
 * has changed. whole: all do. Errors: those of tsi_pivot_sizes_measure. */
TRISTAR_CHECKED tristar_status tsi_update_measure(tristar_factor_t *factor, bool *whole);

/* Will the next change be of few fronts? */
bool tsi_update_is_ready(const tsi_update *update);

/* New values: of all entries of the user (count < 0; entry is NULL), or of `count` of them by their numbers.
 */
typedef struct tsi_new_values {
  int64_t count;
  const int64_t *entry;
  const void *values;
} tsi_new_values;

/* Are the numbers those of entries, and the values finite? If all values are given in another order than the
 * pattern has, or with duplicates, given->values becomes an array in that order: *sums, to be released by the
 * caller. The factor has not changed after a failure. Errors: ARGUMENT, UNSUPPORTED (numbers, but some
 * entries are duplicates), NOT_FINITE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_update_check(const tristar_factor_t *factor, tsi_new_values *given,
                                                void **sums);
/* Takes values that were checked, and factors what they touch. factor->update is there. Errors: those of
 * tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_factor_update(tristar_factor_t *factor, const tsi_new_values *given,
                                                 tristar_update_result *result);
