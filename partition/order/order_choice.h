/* ORDER_AUTO: which ordering brings a matrix to its solutions first.
 *
 * Job. AMD takes a tenth of the time of a dissection, and its factor is often as small: of circuits, power
 * grids, optimization and 2D meshes. A dissection of a 3D mesh leaves half of the entries and a third of the
 * operations. So AMD goes first, and predicts the factor. A dissection follows only where it promises to save
 * more than it takes; then the order with the least predicted time of a factorization and its solves wins.
 *
 * Only the graph and the options decide: times are predicted by the rates below, which no measurement
 * changes, so that the same matrix gets the same order everywhere.
 *
 * A header of its own because the rates belong to no method.
 *
 * Reads   what AMD predicts, or the measured factor.
 * Writes  predicted seconds. */
#pragma once

#include "partition/order/symbolic.h"

/* Predicted seconds of a factorization and the solves. */
double tsi_order_seconds(const tsi_fill *fill, const tsi_order_costs *costs);

/* After AMD with this fill, has a dissection of n vertices more to gain than it takes? */
bool tsi_order_tries_dissection(tsi_index n, const tsi_fill *amd, const tsi_order_costs *costs,
                                const char **reason);

/* Is the dissection better? Both are measured. */
bool tsi_order_takes_dissection(const tsi_fill *amd, const tsi_fill *dissection, const tsi_order_costs *costs,
                                const char **reason);
