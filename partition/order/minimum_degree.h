/* Minimum degree orderings: eliminate a vertex of least degree, join its neighbours, and so on (Tinney and
 * Walker 1967).
 *
 * A header of its own because methods do not depend on the search for components.
 *
 * Reads   a tsi_component.
 * Writes  its perm, and the fill of the factor, which the method counts at the same time.
 * Invariant: the result depends on the component only. */
#pragma once

#include "partition/order/core_graph.h"
#include "partition/order/symbolic.h"

/* For components with at most this number of vertices exact degrees are cheap, and other methods gain
 * nothing. */
#define TSI_MINIMUM_DEGREE_VERTICES 64

/* Requires c->n <= TSI_MINIMUM_DEGREE_VERTICES. Among vertices of the same degree it takes the first. Adds to
 * *fill. */
void tsi_minimum_degree(const tsi_component *c, tsi_fill *fill);

/* Approximate minimum degree (P. R. Amestoy, T. A. Davis and I. S. Duff, SIAM J. Matrix Anal. Appl. 17
 * (1996)), by SuiteSparse's AMD. Adds close upper bounds to *fill. Errors: MEMORY, TOO_LARGE (for AMD's
 * integers). */
TRISTAR_CHECKED tristar_status tsi_approximate_minimum_degree(tsi_env *env, const tsi_component *c,
                                                              tsi_fill *fill);
