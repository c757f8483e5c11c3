/* Facts that a scaling (scaling.h) depends on, for changes of few values: does another value leave all
 * scalings as they are? The answer yes is certain; no means that this is unknown.
 *
 * Scalings depend only on exponents, and mostly on the exponents of the largest entries of rows and columns.
 * An entry that is smaller than these, before and after the change, has no effect. Facts exist for the three
 * common cases: the scaling of a matching is used; rows, then columns, are divided by their largest entries;
 * both are divided by roots (L D L^T).
 *
 * Reads   a factor.   Writes  the facts.
 * Invariants: low <= exponents of all nonzero entries <= high. The facts hold for the values as long as all
 * changes were harmless. */
#pragma once

#include "runtime/factor/factor.h"

typedef struct tsi_scaling_facts tsi_scaling_facts;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_scaling_facts_create(const tristar_factor_t *factor,
                                                        tsi_scaling_facts **out);
/* The user's entry (row, column) gets a magnitude with another exponent (scaling_work.h): is the change
 * harmless? */
bool tsi_scaling_facts_allow(tsi_scaling_facts *facts, tsi_index row, tsi_index column, int before, int now);
