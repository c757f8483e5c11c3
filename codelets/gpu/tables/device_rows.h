/* Device tables of a triangle by rows: the structure of a sparse triangular F without supernodes, for a GPU
 * kernel that solves F x = b by rows or in blocks.
 *
 * Words. A bundle is the work of a warp: rows of about equal length that do not depend on each other;
 * `threads` lanes work on each row. A ticket is the work that a block of threads draws: up to
 * TSI_TICKET_BUNDLES bundles, each for one warp. A phase is a sequence of tickets:
 *
 *   TSI_PHASE_SOLVE    rows of one or several level sets: x[i] = inverse[i] (b[i] - sum); no row depends on
 *                      another row of the phase
 *   TSI_PHASE_FREE     the same for all rows of a triangle, level after level; a row waits for the flags of
 *                      the rows that it reads (sync-free: Liu et al., Euro-Par 2016)
 *   TSI_PHASE_UPDATE   rows of a rectangle that have entries in it: b[i] = b[i] - sum
 *
 * Phases run one after the other: each in its own launch, or all in one launch, whose blocks wait until the
 * previous phase has ended.
 *
 * Rows. x of row i is row i of the workspace, with `stride` scalars (one per right-hand side, and padding).
 * The tables number the rows: block by block of the partition, level by level in each block, rows of equal
 * length together. A single triangle has one block. The workspace also holds b after updates, until x
 * replaces it. A bundle is `fresh` if its rows were not written before: it reads b itself. Listed rows 0 ..
 * n-1 are solved; listed rows k >= n are updates of row[k - n].
 *
 * Entries of a listed row are contiguous, in the order of the given matrix, and so are the entries of a
 * bundle. Lane q of a row takes the entries q, q + threads, ...; the sums of the lanes are added pairwise.
 * The number of threads of a row depends only on its length (row_choice.h). So the bits of x depend only on
 * the blocks of the partition: not on levels, phases, launches, the device's warps or the schedule. Columns
 * are 16-bit offsets from the bundle's `base` if they fit, else 32-bit numbers.
 *
 * Reads   nothing: runtime/exec/device/device_rows.h makes the tables from the pattern and a block cut. They
 *         are immutable, and contain no values and no scalar type.
 * Invariants (tsi_device_rows_check)
 *   - all arrays are in one block of `bytes` bytes from `block` on, each at a multiple of 64 bytes, so that a
 *     copy of the block is a copy of the tables (tsi_device_rows_move)
 *   - phases partition the tickets, tickets the bundles, and bundles the listed rows, without gap or overlap.
 *     Order of listed rows: updates follow all solved rows. No phase and no ticket is empty
 *   - rows * threads of a bundle is at most `lanes`, threads is a power of 2
 *   - each entry of F belongs to exactly one listed row; each row is updated in earlier phases than the phase
 *     that solves it
 *   - a bundle reads only x that an earlier phase solved, or, TSI_PHASE_FREE, an earlier bundle
 *   - fresh bundles list their rows for the first time */
#pragma once

#include "runtime/base/types.h"

#define TSI_TICKET_BUNDLES 8 /* warps of a block of 256 threads */

typedef enum tsi_device_phase_kind {
  TSI_PHASE_SOLVE,
  TSI_PHASE_FREE,
  TSI_PHASE_UPDATE
} tsi_device_phase_kind;

typedef struct tsi_device_bundle {
  tsi_count entry;       /* first entry of the bundle, in values */
  tsi_count at;          /* start of its columns, in short_column or in column */
  tsi_index first;       /* the bundle has listed rows first .. first+rows-1 */
  tsi_index base;        /* narrow: column that offset 0 stands for */
  tsi_index steps;       /* steps of the longest row: entries / threads, rounded up */
  uint8_t rows, threads; /* number of rows; lanes per row */
  bool narrow;           /* columns are in short_column */
  bool fresh;            /* b of its rows is still in the user's array */
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
  tsi_index n;     /* number of solved rows; 0 for products */
  tsi_index lanes; /* lanes of the warps that bundles are made for, 32 or 64 */
  tsi_index phases, tickets, bundles, updates;
  tsi_count entries, narrow;           /* number of entries; entries with 16-bit columns */
  const tsi_device_phase *phase;       /* phases */
  const tsi_device_row_ticket *ticket; /* tickets */
  const tsi_device_bundle *bundle;     /* bundles */
  const tsi_index *end;         /* n + updates: end of each listed row, counted from its bundle's entry */
  const tsi_index *row;         /* updates */
  const tsi_index *column;      /* entries - narrow */
  const uint16_t *short_column; /* narrow */
} tsi_device_rows;

/* Returns tables whose arrays are in a copy of the block at `block`, in any memory. */
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
