/* How the rows of a triangular matrix are cut: what PARTITION_AUTO is for one, and the cut itself.
 *
 * Job. Choose between supernodes (import.c) and ways of rows (partition/row_chunks.h), by a look at the lines
 * as they were given; make the cut, from the same lines or from the rows that were made of them.
 *
 * Reads   lines, the workers that there are to be.   Writes  a cut, the caller's.
 * Invariants: lines and the rows made of them give the same cut. */
#ifndef TSI_RUNTIME_FACTOR_ROW_CHOICE_H
#define TSI_RUNTIME_FACTOR_ROW_CHOICE_H

#include "partition/row_chunks.h"
#include "runtime/context/context.h"

typedef struct tsi_row_choice {
  bool supernodes; /* then the rest says nothing */
  bool any;        /* PARTITION_AUTO: the given order where the way does not pay */
  tsi_row_way way;
  int lanes;
  size_t scalar_bytes;
} tsi_row_choice;

/* By the numbers of rows and entries alone. */
tsi_row_choice tsi_row_choose(tristar_t *ts, tsi_index n, tsi_count entries, size_t scalar_bytes,
                              tristar_partition partition);
/* By the lines, which ascend: PARTITION_AUTO looks for supernodes. */
void tsi_row_choice_look(const tsi_lines *lines, tsi_row_choice *choice);
/* An order is to be found from rows: those of the sweep of solves with T itself. */
bool tsi_row_choice_wants_rows(const tsi_row_choice *choice);
/* Of rows, not supernodes. lower: T is. level, levels: of those rows, see tsi_row_cut_create. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_row_choice_cut(tsi_env *env, const tsi_row_choice *choice,
                                                  const tsi_lines *lines, bool lower, const tsi_index *level,
                                                  tsi_index levels, tsi_row_cut **cut);

#endif
