/* Device tables of a triangle by rows: what one GPU kernel reads of the structure of a sparse triangular F
 * without supernodes to solve F x = b, row by row or in blocks.
 *
 * Words. A bundle is what a warp takes at once: rows of about equal length that do not wait for each other,
 * each for `threads` lanes. A ticket is what a block of threads draws: up to TSI_TICKET_BUNDLES bundles, each
 * for one warp. A phase is a run of tickets:
 *
 *   TSI_PHASE_SOLVE    rows of a level set, or of several: x[i] = inverse[i] (b[i] - sum); no row waits for
 *                      another one of the phase
 *   TSI_PHASE_FREE     the same for all rows of a triangle, level after level; a row waits for the flags of
 *                      those that it reads (sync-free: Liu et al., Euro-Par 2016)
 *   TSI_PHASE_UPDATE   rows of a rectangle that have entries in it: b[i] = b[i] - sum
 *
 * Phases come one after the other: each as a launch of its own, or all in one launch, whose blocks wait until
 * the phase before is through.
 *
 * Rows. x of row i is row i of the workspace, of `stride` scalars (one for each right-hand side and padding);
 * rows are numbered by the tables: block after block of the partition, level after level in each, rows of
 * equal length together. A triangle alone has one block. What is left of b after updates lies in the
 * workspace, too, until x takes its place; a bundle is `fresh` if nobody has written its rows before: it
 * reads b itself. Listed rows 0 .. n-1 are the rows that are solved, those from n on are updates: listed row
 * k updates row[k - n].
 *
 * Entries. Those of a listed row lie one behind the other, in the order of the given matrix, those of a
 * bundle too: lanes q, q + threads, ... of a row take them in turn, and lanes are added up pairwise. How many
 * threads a row has follows from its length alone (row_choice.h). So the bits of x depend on the blocks of
 * the partition, and on nothing else: not on levels, phases, launches, the device's warps or the schedule.
 * Columns are 16-bit numbers from the bundle's `base` on, where they are near enough, else 32-bit ones.
 *
 * Reads   nothing: the tables are made by runtime/exec/device/device_rows.h from the pattern and a block cut,
 * and are immutable. They know no values and no scalar type. Invariants (tsi_device_rows_check)
 *   - all arrays lie in one block of `bytes` bytes from `block` on, each at a multiple of 64 bytes, so that a
 *     copy of the block is a copy of the tables (tsi_device_rows_move)
 *   - phases cut the tickets, tickets the bundles, and bundles the listed rows without gap or overlap, but
 *     for their order: updates are listed after all solved rows. No phase and no ticket is empty
 *   - rows * threads of a bundle is at most `lanes`, threads is a power of 2
 *   - each entry of F is with one listed row once; each row is updated in other phases than it is solved in,
 *     and before
 *   - what a bundle reads was solved in a phase before, or, TSI_PHASE_FREE, in a bundle before
 *   - fresh: the first time that its rows are listed */
#pragma once

#include "runtime/base/types.h"

#define TSI_TICKET_BUNDLES 8 /* warps of a block of 256 threads */

typedef enum tsi_device_phase_kind {
  TSI_PHASE_SOLVE,
  TSI_PHASE_FREE,
  TSI_PHASE_UPDATE
} tsi_device_phase_kind;

typedef struct tsi_device_bundle {
  tsi_count entry;       /* its first one, in values */
  tsi_count at;          /* where its columns begin, in short_column or in column */
  tsi_index first;       /* listed rows first .. first+rows-1 */
  tsi_index base;        /* narrow: what its columns are counted from */
  tsi_index steps;       /* that the longest row takes: entries / threads, rounded up */
  uint8_t rows, threads; /* threads: lanes of a row */
  bool narrow;           /* columns are in short_column */
  bool fresh;            /* b of its rows is still the user's */
} tsi_device_bundle;

typedef struct tsi_device_phase {
  tsi_index kind;            /* tsi_device_phase_kind */
  tsi_index ticket, tickets; /* tickets ticket .. ticket+tickets-1 */
} tsi_device_phase;

typedef struct tsi_device_row_ticket {
  tsi_index phase;
  tsi_index bundle, bundles; /* bundles bundle .. bundle+bundles-1 */
} tsi_device_row_ticket;

typedef struct tsi_device_rows {
  void *block;
  size_t bytes;
  tsi_index n;     /* rows that are solved; of products: 0 */
  tsi_index lanes; /* of the warps that bundles are for, 32 or 64 */
  tsi_index phases, tickets, bundles, updates;
  tsi_count entries, narrow;           /* narrow: those with 16-bit columns */
  const tsi_device_phase *phase;       /* phases */
  const tsi_device_row_ticket *ticket; /* tickets */
  const tsi_device_bundle *bundle;     /* bundles */
  const tsi_index *end;                /* n + updates: where a listed row ends, from its bundle's entry on */
  const tsi_index *row;                /* updates */
  const tsi_index *column;             /* entries - narrow */
  const uint16_t *short_column;        /* narrow */
} tsi_device_rows;

/* Tables whose arrays lie in a copy of the block at `block`, in whatever memory. */
static inline tsi_device_rows tsi_device_rows_move(const tsi_device_rows *rows, void *block) {
  tsi_device_rows moved = *rows;
#define TSI_MOVE(type, member)                                                                               \
  moved.member = (const type *)((char *)block + ((const char *)rows->member - (const char *)rows->block))
  TSI_MOVE(tsi_device_phase, phase);
  TSI_MOVE(tsi_device_row_ticket, ticket);
  TSI_MOVE(tsi_device_bundle, bundle);
  TSI_MOVE(tsi_index, end);
  TSI_MOVE(tsi_index, row);
  TSI_MOVE(tsi_index, column);
  TSI_MOVE(uint16_t, short_column);
#undef TSI_MOVE
  moved.block = block;
  return moved;
}
