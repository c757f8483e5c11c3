/* Panels that processes hand on: from those that factored them to those that hold them, too.
 *
 * Job. After a factorization (dag/factor/factorization.h) each process has the panels of its fronts. In round
 * k it sends what the k-th process after it holds of them, and receives from the k-th one before it. What
 * goes from one process to another is cut into pieces; here is a list of all, for simulations. Before the
 * first round, and then after every TSI_HANDED_ROUNDS rounds, all processes agree that they can go on.
 *
 * Reads   a layout, the panels of the factor, owners of the fronts.
 * Writes  a tsi_handing that owns its arrays and is immutable afterwards.
 * Invariants
 *   - a piece is whole panels, and no longer than TSI_HANDED_BYTES unless it is one panel
 *   - no piece is empty, and none goes to the process that it is from
 *   - between two agreements only messages can fail: whatever else fails, fails before, and then no process
 *     sends anything
 * One share of a process is there at a time. */
#pragma once

#include "runtime/process/process.h"

#define TSI_HANDED_BYTES ((tsi_count)2 << 20) /* of a piece, or one panel */
#define TSI_HANDED_ITEMS (1 << 26)            /* scalars of a message at most */
#define TSI_HANDED_ROUNDS 64                  /* before which all processes agree once */

typedef struct tsi_handed_piece {
  tsi_index from, to;
  tsi_count scalars;
} tsi_handed_piece;

typedef struct tsi_handing {
  tsi_index ranks;
  tsi_index *count;         /* ranks: pieces that it receives */
  tsi_handed_piece **piece; /* ranks: these, by round */
  tsi_count *sent_ptr;      /* ranks + 1 */
  tsi_handed_piece **sent;  /* by sender: its pieces, by round */
} tsi_handing;

/* The round in which one process sends to another one. */
static inline tsi_index tsi_handing_round(const tsi_handing *handing, tsi_index from, tsi_index to) {
  return (to + handing->ranks - from) % handing->ranks;
}
/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_handing_create(tsi_env *env, const tsi_layout *layout,
                                                  const tsi_panels *panels, const tsi_share_options *options,
                                                  const tsi_index *owner, tsi_handing **out);
