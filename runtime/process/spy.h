/* A picture of a triangular factor: the owners of the entries in each cell of a coarse grid.
 *
 * Job. Divide the n x n matrix into cells x cells squares, and find for each of them the owner of its
 * entries: a chunk of a plan, or a process of a layout.
 *
 * Reads   the structure of L in an analysis; the chunks of a plan, or of a layout made here.
 * Writes  a tsi_spy that owns its array.
 * Invariants
 *   - owner[i * cells + j] is the owner of most entries in cell (i, j), if each owner has its entries in one
 *     run of columns; TSI_NONE: the cell has no entries. Cells above the diagonal have none
 *   - 0 <= owner < owners */
#pragma once

#include "runtime/factor/analysis.h"
#include "tristar_layout.h"

typedef struct tsi_spy {
  int cells;
  tsi_index owners; /* number of chunks or processes */
  tsi_index *owner; /* cells * cells, row by row */
} tsi_spy;

/* layout: NULL: use the chunks of plan. cells is reduced to n if it is larger. Errors: MEMORY; with a layout
 * those of tristar_layout_traffic. */
TRISTAR_CHECKED tristar_status tsi_spy_create(const tristar_analysis_t *analysis, const tristar_plan_t *plan,
                                              const tristar_layout *layout, int cells, tsi_spy **out);
void tsi_spy_destroy(const tristar_analysis_t *analysis, tsi_spy **spy);
