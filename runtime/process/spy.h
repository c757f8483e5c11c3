/* A picture of a triangular factor: who owns the entries of each cell of a coarse grid.
 *
 * Job. Lay cells x cells squares over the n x n matrix and tell for each of them whose entries it has: the
 * chunk of a plan, or the process of a layout.
 *
 * Reads   the structure of L in an analysis; the chunks of a plan, or of a layout made here.
 * Writes  a tsi_spy that owns its array.
 * Invariants
 *   - owner[i * cells + j] is that of most entries in cell (i, j), if its entries come in one run of columns
 *     each; TSI_NONE: it has none. Cells above the diagonal have none
 *   - 0 <= owner < owners */
#pragma once

#include "runtime/factor/analysis.h"
#include "tristar_layout.h"

typedef struct tsi_spy {
  int cells;
  tsi_index owners; /* chunks or processes */
  tsi_index *owner; /* cells * cells, row by row */
} tsi_spy;

/* layout: NULL: the chunks of plan. cells is lowered to n if it is larger. Errors: MEMORY; of a layout those
 * of tristar_layout_traffic. */
TRISTAR_CHECKED tristar_status tsi_spy_create(const tristar_analysis_t *analysis, const tristar_plan_t *plan,
                                              const tristar_layout *layout, int cells, tsi_spy **out);
void tsi_spy_destroy(const tristar_analysis_t *analysis, tsi_spy **spy);
