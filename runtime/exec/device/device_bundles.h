/* Bundles, tickets and phases of device tables of rows (codelets/gpu/tables/device_rows.h). They are made
 * from rows that are listed part by part: the triangles and rectangles of a partition, or the stages of a
 * product.
 *
 * Order. Parts keep the order of the list. The rows of a level, or of a part that is not solved, are sorted
 * by their threads (row_choice.h), then by whether they are fresh. Otherwise they keep the order of the list.
 *
 * Reads   a tsi_device_listing.
 * Writes  the tables and the sources of a tsi_device_row_plan. */
#pragma once

#include "runtime/exec/device/device_rows.h"

typedef struct tsi_device_listing {
  tsi_index parts;
  const tsi_device_phase_kind *kind; /* parts */
  const tsi_count *start;            /* parts + 1: first row of each part; all fit into a tsi_index */
  const tsi_index *row;              /* listed rows */
  const bool *fresh;                 /* listed rows: the row was not written before */
  const tsi_count *ptr;              /* listed rows + 1 */
  const tsi_index *column;           /* entries */
  const tsi_count *entry, *source;   /* entries: entry e is the given entry source[entry[e]]; NULL: it is e */
  tsi_count given;                   /* number of given entries */
  const tsi_index *level; /* level of each row; parts that are solved list their rows level by level */
} tsi_device_listing;

static inline bool tsi_device_solves(tsi_device_phase_kind kind) {
  return kind == TSI_PHASE_SOLVE || kind == TSI_PHASE_FREE;
}

/* plan: only tables.n, the rows that are solved, and tables.lanes are set. rank: the number of each row in
 * the tables; set here for rows that are solved. After a failure the caller destroys the plan. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_bundles_create(tsi_env *env, const tsi_device_listing *listing,
                                                         tsi_index *rank, tsi_device_row_plan *plan);

/* Checks that the arrays are in their block, that phases divide the tickets, and that tickets divide the
 * bundles. Errors: INTERNAL. */
TRISTAR_CHECKED tristar_status tsi_device_bundles_check(tsi_env *env, const tsi_device_rows *tables);
