/* ORDER_AUTO: the ordering with the least time from a matrix to its solutions.
 *
 * Job. AMD takes a tenth of the time of a dissection, and its factor is often as small: for circuits, power
 * grids, optimization and 2D meshes. For a 3D mesh a dissection has half of the entries and a third of the
 * operations. So AMD runs first, and predicts the factor. A dissection follows only if it promises to save
 * more time in all factorizations and solves than it takes. Then the order with the least predicted time of a
 * factorization and its solves is chosen.
 *
 * Only the graph and the options decide: the fixed rates in order_choice.c predict times, so the same matrix
 * gets the same order everywhere.
 *
 * A header of its own because the rates belong to no method.
 *
 * Reads   the prediction of AMD, or the measured factor.
 * Writes  predicted seconds. */
#pragma once

#include "partition/order/symbolic.h"

/* Predicted seconds of one factorization and its solves. */
double tsi_order_seconds(const tsi_fill *fill, const tsi_order_costs *costs);

/* After AMD with this fill: can a dissection of n vertices save more time than it takes? */
bool tsi_order_tries_dissection(tsi_index n, const tsi_fill *amd, const tsi_order_costs *costs,
                                const char **reason);

/* Is the dissection better? Both fills are measured. */
bool tsi_order_takes_dissection(const tsi_fill *amd, const tsi_fill *dissection, const tsi_order_costs *costs,
                                const char **reason);
