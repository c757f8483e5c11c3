/* Minimum degree orderings: eliminate a vertex of least degree, join its neighbours, and so on (Tinney and
 * Walker 1967).
 *
 * A header of its own because methods do not see how components come about.
 *
 * Reads   a tsi_component.
 * Writes  its perm, and what the factor will be like, which the method sees as it goes.
 * Invariant: the result depends on the component only. */
#pragma once

#include "partition/order/core_graph.h"
#include "partition/order/symbolic.h"

/* For components of so many vertices the exact degrees are cheap, and other methods have nothing to gain. */
#define TSI_MINIMUM_DEGREE_VERTICES 64

/* c->n <= TSI_MINIMUM_DEGREE_VERTICES. Among vertices of one degree the first is taken. Adds to *fill. */
void tsi_minimum_degree(const tsi_component *c, tsi_fill *fill);

/* Approximate minimum degree (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix Anal. Appl. 17
 * (1996)), by SuiteSparse's AMD. Adds to *fill upper bounds, which are close. Errors: MEMORY, TOO_LARGE (for
 * AMD's integers). */
TRISTAR_CHECKED tristar_status tsi_approximate_minimum_degree(tsi_env *env, const tsi_component *c,
                                                              tsi_fill *fill);
