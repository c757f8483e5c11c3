/* What a scaling (scaling.h) was chosen by, for values of which few change: does another value leave all
 * scalings as they are? The answer yes is certain. No means: not known.
 *
 * Scalings depend on exponents alone, and mostly on those of the largest entries of rows and columns. An
 * entry that is smaller than these, before and after, has no effect. Facts are found for the three common
 * cases: the scaling of a matching is taken; rows, then columns, are divided by their largest entries; both
 * are divided by roots (L D L^T).
 *
 * Reads   a factor.   Writes  the facts.
 * Invariants: low <= exponents of all entries but zeros <= high; they hold for the values of which all
 * changes were found to be harmless. */
#pragma once

#include "runtime/factor/factor.h"

typedef struct tsi_scaling_facts tsi_scaling_facts;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_scaling_facts_create(const tristar_factor_t *factor,
                                                        tsi_scaling_facts **out);
/* Entry (row, column) of the user has a magnitude of another exponent (scaling_work.h) than before: is that
 * harmless? */
bool tsi_scaling_facts_allow(tsi_scaling_facts *facts, tsi_index row, tsi_index column, int before, int now);
