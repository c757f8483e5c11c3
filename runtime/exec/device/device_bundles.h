/* Bundles, tickets and phases of device tables of rows (codelets/gpu/tables/device_rows.h) from rows that are
 * listed part by part: the triangles and rectangles of a partition, or the stages of a product.
 *
 * Order. Parts come as they are listed. Rows of a level, or of a whole part that is not solved, come by their
 * threads (row_choice.h) and by whether they are fresh, else as they are listed.
 *
 * Reads   a tsi_device_listing.
 * Writes  the tables and the sources of a tsi_device_row_plan. */
#pragma once

#include "runtime/exec/device/device_rows.h"

typedef struct tsi_device_listing {
  tsi_index parts;
  const tsi_device_phase_kind *kind; /* parts */
  const tsi_count *start;            /* parts + 1: where the rows of each begin; all fit into a tsi_index */
  const tsi_index *row;              /* listed rows */
  const bool *fresh;                 /* listed rows: nobody has written the row before */
  const tsi_count *ptr;              /* listed rows + 1 */
  const tsi_index *column;           /* entries */
  const tsi_count *entry, *source;   /* entries: entry e is the given one source[entry[e]]; NULL: it is e */
  tsi_count given;                   /* of these there are so many */
  const tsi_index *level;            /* of each row; parts that are solved have their rows level by level */
} tsi_device_listing;

static inline bool tsi_device_solves(tsi_device_phase_kind kind) {
  return kind == TSI_PHASE_SOLVE || kind == TSI_PHASE_FREE;
}

/* plan: tables.n, the rows that are solved, and tables.lanes are set, and nothing else is. rank: the number
 * that the tables give to each row; set here for rows that are solved. After a failure the plan is to be
 * destroyed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_bundles_create(tsi_env *env, const tsi_device_listing *listing,
                                                         tsi_index *rank, tsi_device_row_plan *plan);

/* For checks: that the arrays are in their block; that phases cut the tickets, and tickets the bundles.
 * Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_device_bundles_check(tsi_env *env, const tsi_device_rows *tables);
