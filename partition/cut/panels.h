/* Panels: supernodes cut into pieces of a bounded number of columns.
 *
 * Job. A supernode wider than `width_max` is cut into panels of nearly equal width, each a multiple of 8
 * columns except the last. So inverted diagonal blocks stay small, and chunks of the solve can be balanced.
 *
 * Reads   a tsi_symbolic.
 * Writes  a tsi_panels that owns its arrays.
 * Invariants (tsi_panels_check)
 *   - start[0] = 0, start[count] = n, 1 <= width(p) <= width_max
 *   - panels first[s] .. first[s+1]-1 are exactly the columns of supernode s
 *   - height(p) = columns of the supernode behind the panel + rows of the supernode */
#pragma once

#include "partition/order/symbolic.h"

typedef struct tsi_panels {
  tsi_index count;
  tsi_index width_max;
  tsi_index *start;     /* count + 1: first column */
  tsi_index *supernode; /* count */
  tsi_index *height;    /* count: rows below the diagonal block */
  tsi_index *first;     /* supernodes + 1: first panel of each supernode */
} tsi_panels;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_panels_create(tsi_env *env, const tsi_symbolic *symbolic,
                                                 tsi_index width_max, tsi_panels **out);
TRISTAR_CHECKED tristar_status tsi_panels_check(tsi_env *env, const tsi_panels *panels,
                                                const tsi_symbolic *symbolic);

static inline tsi_index tsi_panel_width(const tsi_panels *panels, tsi_index p) {
  return panels->start[p + 1] - panels->start[p];
}

/* Entries of panel p: packed triangle and rectangle, without padding. */
static inline tsi_count tsi_panel_entries(const tsi_panels *panels, tsi_index p) {
  const tsi_count w = tsi_panel_width(panels, p);
  return w * (w + 1) / 2 + w * panels->height[p];
}
