/* Participants: the processes of a grid that exchange messages about a chunk.
 *
 * In grid z chunk c has two lists, with the anchor as the root of both:
 *
 *   holders        the processes that store rows of the chunk: they need x of its columns, forward, and
 *                  compute a part of its sum, backward
 *   contributors   the processes that store rows of other chunks which are columns of this one: they compute
 *                  a part of its sum, forward, and need x of its columns, backward
 *
 * Reads   tsi_layout.
 * Writes  a tsi_participants that owns its arrays and is immutable afterwards.
 * Invariants
 *   - a list has processes p + Px q of the grid, each once, without the anchor; they ascend cyclically from
 *     the anchor on
 *   - a whole chunk has no holders; a chunk that the grid does not store (layout.h) has none either */
#pragma once

#include "partition/layout/layout.h"

typedef struct tsi_participant_list {
  tsi_count *ptr;     /* chunks + 1 */
  tsi_index *process; /* ptr[chunks] */
} tsi_participant_list;

typedef struct tsi_participants {
  tsi_participant_list holders, contributors;
} tsi_participants;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_participants_create(tsi_env *env, const tsi_layout *layout, tsi_index z,
                                                       tsi_participants **out);

/* The process p + Px q that stores the rows of chunk `source` that are columns of chunk `target`. */
static inline tsi_index tsi_layout_maker(const tsi_layout *layout, tsi_index source, tsi_index target) {
  return layout->whole[source] ? layout->row[source] + layout->px * layout->column[source]
                               : layout->row[target] + layout->px * layout->column[source];
}
