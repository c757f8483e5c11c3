/* Rows of a distributed matrix that are near the rows of this rank in the graph of the matrix.
 *
 * Job. Gather rows of other ranks: those on paths of at most `levels` entries that begin at a row of this
 * rank and continue over remote columns. Make one matrix of these rows and the own rows, with the columns
 * that have the number of one of these rows.
 *
 * Reads   rows of all ranks.   Writes  a tsi_near_rows that owns its arrays.
 * Invariants
 *   - rows are numbered in the order of the whole matrix: remote rows before the own rows, own rows, remote
 *     rows after them
 *   - the near rows depend only on the matrix and its blocks. `only_before`: paths over rows of this rank and
 *     the ranks before it, which suffice for a lower triangle */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/iterate/precond/fsai_nodes.h"

typedef struct tsi_near_rows {
  tsi_index first, rows; /* first own row and number of own rows */
  tsi_index *number;     /* a.n: number in the whole matrix */
  uint8_t *link;         /* a.n: a tsi_row_link, from columns in the whole matrix */
  tsi_factor_rows a;     /* columns ascend; diagonal NULL */
  int levels;            /* number of levels that gathered rows */
} tsi_near_rows;

/* Collective; d->whole exists. levels: the same on all ranks; the search ends earlier if no rank finds more
 * rows. The caller finishes out, also after a failure. Errors: TOO_LARGE (more than 2^31 - 1 rows are near
 * the rows of one rank), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_near_rows_gather(tristar_dmatrix_t *d, int levels, bool only_before,
                                                    tsi_near_rows *out);
void tsi_near_rows_finish(tsi_near_rows *near);
