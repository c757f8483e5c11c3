/* New values for few entries of a matrix: only fronts with such an entry, and their ancestors, are factored.
 *
 * The Schur complement that a front leaves to its parent (numeric.h) depends only on the entries of its
 * subtree. If all complements stay after their use, the fronts of other subtrees need not be factored again.
 * The scaling, the sizes of columns and the threshold of tiny pivots depend on all values. They become what a
 * new measurement would find, and a front that depends on a changed one is factored, too. So the factors have
 * the bits of a factorization of all fronts.
 *
 * Reads   an analysis; the values of a factor, which have changed.
 * Writes  the factor; complements.
 * Invariants
 *   - numeric is the latest factorization of the factor. It succeeded and needed no second factorization
 *     (tsi_factorize). NULL: none; the next one factors all fronts.
 *   - numeric->sizes points to sizes */
#pragma once

#include "runtime/factor/numeric.h"
#include "runtime/factor/scaling_facts.h"
#include "tristar_update.h"

/* Limits of the exponents (scaling_work.h) of the entries of a matrix. */
typedef struct tsi_exponents {
  int low, high; /* Of the nonzero diagonal entries. */
  int most;
} tsi_exponents;

/* The entries of a pattern by index. Those with index j are entry[ptr[j]] .. entry[ptr[j + 1] - 1], in the
 * lines `line`. */
typedef struct tsi_crossing {
  tsi_count *ptr; /* n + 1; NULL: not made yet. */
  tsi_count *entry;
  tsi_index *line;
} tsi_crossing;

typedef struct tsi_update {
  tsi_numeric *numeric;
  tsi_pivot_sizes sizes;
  bool *touched;            /* By supernode: the front must be factored. */
  bool *resized;            /* n, by final index: the size of the column may have changed. */
  tsi_index *supernode;     /* n, by final index. */
  size_t kept_bytes;        /* Bytes of complements. */
  bool same_exponents;      /* No change has changed the exponent of an entry. */
  bool same_scaling;        /* No change of an entry has changed the scaling of LU or L D L^T. */
  tsi_scaling_facts *facts; /* NULL: not needed yet. */
  tsi_exponents exponents;  /* Of the present values, L L^T. */
  tsi_crossing crossing;
} tsi_update;

/* Creates factor->update, unless it exists, without a factorization. Errors: MEMORY; UNSUPPORTED (an import;
 * PLACE_GPU). */
TRISTAR_CHECKED tristar_status tsi_update_create(tristar_factor_t *factor);
/* Does nothing if update points to NULL. */
void tsi_update_release(tsi_update **update);
/* Frees the complements: the next factorization factors all fronts. */
void tsi_update_discard(tsi_update *update);
/* Takes over a successful factorization without a second one, and its sizes. Sets *numeric to NULL and
 * empties *sizes. */
void tsi_update_take(tsi_update *update, tsi_numeric **numeric, tsi_pivot_sizes *sizes);
/* Marks the front of a supernode and its ancestors: they must be factored. */
static inline void tsi_update_touch(const tristar_factor_t *factor, tsi_index supernode) {
  const tsi_index *parent = factor->analysis->symbolic->parent;
  bool *touched = factor->update->touched;
  for (tsi_index s = supernode; s != TSI_NONE && !touched[s]; s = parent[s]) touched[s] = true;
}

/* The same for the front that assembles the user's entry (row, column), and for a symmetric kind also its
 * image. */
void tsi_update_touch_entry(const tristar_factor_t *factor, tsi_index row, tsi_index column);

/* Sets the number and the operations of these fronts, as stored. touched: by supernode; NULL: all. */
void tsi_update_count_fronts(const tristar_factor_t *factor, const bool *touched,
                             tristar_update_result *result);

/* Functions for data that depend on all values (update_measure.c). */

/* After a factorization of all fronts: records the limits of the exponents for the next changes. */
void tsi_update_begin_exponents(const tristar_factor_t *factor);
/* Called before an entry of a line gets another value. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_update_note(const tristar_factor_t *factor, tsi_index line, tsi_count p,
                                               const char *value);
/* After all entries have their values: updates scalings, sizes and threshold, and touches the fronts that
 * depend on a changed one. *whole: all fronts do. Errors: those of tsi_pivot_sizes_measure. */
TRISTAR_CHECKED tristar_status tsi_update_measure(tristar_factor_t *factor, bool *whole);

/* Can the next change factor only few fronts? */
bool tsi_update_is_ready(const tsi_update *update);

/* New values: of all entries of the user (count < 0; entry is NULL), or of `count` entries by their
 * numbers. */
typedef struct tsi_new_values {
  int64_t count;
  const int64_t *entry;
  const void *values;
} tsi_new_values;

/* Checks that the numbers belong to entries, and that the values are finite. If all values are given in
 * another order than the pattern's, or with duplicates, given->values becomes an array in the order of the
 * pattern: *sums, which the caller releases. A failure leaves the factor unchanged. Errors: ARGUMENT,
 * UNSUPPORTED (numbers, but some entries are duplicates), NOT_FINITE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_update_check(const tristar_factor_t *factor, tsi_new_values *given,
                                                void **sums);
/* Stores values that were checked, and factors the fronts that they touch. factor->update must exist. Errors:
 * those of tristar_refactor. */
TRISTAR_CHECKED tristar_status tsi_factor_update(tristar_factor_t *factor, const tsi_new_values *given,
                                                 tristar_update_result *result);
