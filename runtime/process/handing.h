/* Handing on panels: processes send panels that they factored to other processes that store them, too.
 *
 * Job. After a factorization (dag/factor/factorization.h) each process has the panels of its fronts. In round
 * k it sends panels to the k-th process after it, and receives panels from the k-th process before it. The
 * panels that one process sends to another are cut into pieces; this list of all pieces is for simulations.
 * Before the first round, and after every TSI_HANDED_ROUNDS rounds, all processes agree to continue.
 *
 * Reads   a layout, the panels of the factor, owners of the fronts.
 * Writes  a tsi_handing that owns its arrays and is immutable afterwards.
 * Invariants
 *   - a piece consists of whole panels, and has at most TSI_HANDED_BYTES, unless it is one panel
 *   - no piece is empty, and no process sends a piece to itself
 *   - between two agreements only messages can fail. All other failures happen before; then no process sends
 *     anything
 * Memory: the share of one process at a time. */
#pragma once

#include "runtime/process/process.h"

#define TSI_HANDED_BYTES ((tsi_count)2 << 20) /* bytes of a piece, unless it is one panel */
#define TSI_HANDED_ITEMS (1 << 26)            /* largest number of scalars in a message */
#define TSI_HANDED_ROUNDS 64                  /* rounds after one agreement */

typedef struct tsi_handed_piece {
  tsi_index from, to;
  tsi_count scalars;
} tsi_handed_piece;

typedef struct tsi_handing {
  tsi_index ranks;
  tsi_index *count;         /* ranks: number of pieces that each receives */
  tsi_handed_piece **piece; /* ranks: these pieces, by round */
  tsi_count *sent_ptr;      /* ranks + 1 */
  tsi_handed_piece **sent;  /* by sender: its pieces, by round */
} tsi_handing;

/* The round in which one process sends to another one. */
static inline tsi_index tsi_handing_round(const tsi_handing *handing, tsi_index from, tsi_index to) {
  return (to + handing->ranks - from) % handing->ranks;
}
/* Lists all pieces. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_handing_create(tsi_env *env, const tsi_layout *layout,
                                                  const tsi_panels *panels, const tsi_share_options *options,
                                                  const tsi_index *owner, tsi_handing **out);
