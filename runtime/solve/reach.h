/* Finds the chunks that a solve with sparse right-hand sides, or for chosen rows, needs.
 *
 * Job. A row of the solution of F y = b is nonzero only if a path of the DAG of F leads to it from a nonzero
 * of b (Gilbert 1994). A row of F' x = y needs only x of the rows on paths from it. Here nodes are chunks.
 *
 *   forward    chunks with given rows, and all chunks that their updates reach, except chunks whose
 *              updates reach no requested row
 *   backward   chunks with requested rows, and all chunks whose x they read
 *
 * Reads   the DAGs of both sweeps, the lists of rows.   Writes  a tsi_reach that owns its arrays.
 * Invariants: every list entry belongs to exactly one chunk. If a chunk takes part forward, all its targets
 * do, except targets that no requested row needs. If a chunk takes part backward, all its targets do. */
#pragma once

#include "codelets/cpu/node.h"
#include "dag/sweep.h"

/* A list of rows of the user's array, and their positions in the final order. */
typedef struct tsi_row_list {
  int64_t count;
  const int64_t *row;     /* NULL: all rows */
  const tsi_index *place; /* n: final row of each user's row; NULL: the same row */
  const char *name;       /* name in messages: "b_row" */
  const tsi_index *final; /* count: final row of each entry; NULL: by `place` */
} tsi_row_list;

typedef struct tsi_reach_source {
  const tsi_chunks *chunks;            /* of both sweeps */
  const tsi_sweep *forward, *backward; /* NULL: there is no such sweep */
  tsi_row_list given, requested;       /* rows of b, of x */
} tsi_reach_source;

typedef struct tsi_reach {
  tsi_solve_sparse sparse; /* points into the arrays below */
  unsigned char *forward, *backward;
  tsi_index *lists[6];
  double bytes, all_bytes; /* bytes that the chunks of the solve stream; that all chunks stream */
} tsi_reach;

/* Errors: ARGUMENT (a row out of range or twice), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_reach_create(tsi_env *env, const tsi_reach_source *source,
                                                tsi_reach *reach);
void tsi_reach_finish(tsi_reach *reach);
