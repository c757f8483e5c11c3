/* Device tables of a triangle whose rows are distributed over processing elements (PEs), see
 * codelets/gpu/tables/spread_launch.h.
 *
 * Placement. With tasks: consecutive rows of equal number, dealt to the PEs round robin, `tasks` for each
 * (the task pool of Xie et al., ICPP 2021). Or near: level set by level set, a row is placed on the PE with
 * most of the rows that it waits for. A PE gets no more than its share of the level set and of the triangle.
 *
 * Reads   lines that are the rows of the sweep.
 * Writes  owners; a tsi_spread_plan, which owns its arrays. The tables are one block of memory. */
#pragma once

#include "codelets/gpu/tables/spread_launch.h"
#include "partition/cut/row_chunks.h"

typedef struct tsi_spread_plan {
  tsi_gpu_spread tables; /* with addresses of main memory; the fields of a solve are not set */
  char *block;
  size_t bytes;
  tsi_index pes;
  tsi_index rows, items, slots;    /* numbers of own rows; of items; of left sums that the PE computes */
  tsi_count entries;               /* entries of the items */
  tsi_count gets;                  /* number of left sums of other PEs that its rows need */
  tsi_index most_rows, most_slots; /* largest of any PE */
  tsi_index *order;                /* rows: the given row of each own row, in the order of the sweep */
  tsi_count *source;               /* entries: position of the value of each among the given values */
} tsi_spread_plan;

/* owner[i], n: the PE of row i, 0 .. pes-1. tasks: number for each PE; 0: near placement. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spread_place(tsi_env *env, const tsi_lines *lines, tsi_index pes,
                                                tsi_index tasks, tsi_index *owner);

typedef struct tsi_spread_options {
  tsi_index pe, pes;      /* pes: at most TSI_SPREAD_PES */
  const tsi_index *owner; /* n */
} tsi_spread_options;

/* lines: the rows of the sweep, each ascending. After a failure *plan is empty. Errors: TOO_LARGE (32-bit
 * numbers), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spread_create(tsi_env *env, const tsi_lines *lines,
                                                 const tsi_spread_options *options, tsi_spread_plan *plan);
void tsi_spread_destroy(tsi_env *env, tsi_spread_plan *plan);
/* Verifies three properties: each entry of own rows' x is in one item; the own rows which an item reads are
 * solved in an earlier bundle; each slot is written once. Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_spread_check(tsi_env *env, const tsi_lines *lines,
                                                const tsi_spread_options *options,
                                                const tsi_spread_plan *plan);

/* The launch with tables in a copy of the block at `block`, in any memory. */
tsi_gpu_spread tsi_spread_move(const tsi_spread_plan *plan, void *block);
