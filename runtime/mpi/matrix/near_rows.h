/* Rows of a distributed matrix that lie near those of this rank.
 *
 * Job. Bring the rows of other ranks that a path of at most `levels` entries leads to, from rows of this rank
 * over columns of others, and make one matrix of them and the own rows, with the columns that are among them.
 *
 * Reads   rows of all ranks.   Writes  a tsi_near_rows that owns its arrays.
 * Invariants
 *   - rows are numbered as they ascend over the whole matrix: those before the own rows, these, those behind
 *   - what is near depends on the matrix and its blocks alone; `only_before`: paths over rows of the ranks
 * before this one and its own, as far as a lower triangle needs them */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/iterate/precond/fsai_nodes.h"

typedef struct tsi_near_rows {
  tsi_index first, rows; /* of the own ones, among all */
  tsi_index *number;     /* a.n: over the whole matrix */
  uint8_t *link;         /* a.n: a tsi_row_link, which compares columns over the whole matrix */
  tsi_factor_rows a;     /* columns ascend; diagonal NULL */
  int levels;            /* that rows were brought in */
} tsi_near_rows;

/* Collective; d->whole is there. levels: the same on all ranks; they end earlier where no rank finds more.
 * out: to be finished, also after a failure. Errors: TOO_LARGE (more than 2^31 - 1 rows are near those of one
 * rank), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_near_rows_gather(tristar_dmatrix_t *d, int levels, bool only_before,
                                                    tsi_near_rows *out);
void tsi_near_rows_finish(tsi_near_rows *near);
