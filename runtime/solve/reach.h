/* Which chunks a solve with sparse right-hand sides, or for chosen rows, needs.
 *
 * Job. The solution of F y = b is nonzero only where paths of the DAG of F lead from nonzeros of b (Gilbert
 * 1994), and a row of F' x = y needs only the x that paths lead to from it. Here nodes are chunks.
 *
 *   forward    chunks with given rows, and all that their updates reach; less those that reach nothing wanted
 *   backward   chunks with wanted rows, and all whose x they read
 *
 * Reads   the DAGs of both sweeps, the lists of rows.   Writes  a tsi_reach that owns its arrays.
 * Invariants: every list entry stands in exactly one chunk; a chunk that takes part forward has all its
 * targets take part, except those that nothing wanted needs; one that takes part backward has all its targets
 * take part. */
#pragma once

#include "codelets/cpu/node.h"
#include "dag/sweep.h"

/* A list of rows of the user's array and where they are in the final order. */
typedef struct tsi_row_list {
  int64_t count;
  const int64_t *row;     /* NULL: all rows */
  const tsi_index *place; /* n: final row of each; NULL: itself */
  const char *name;       /* for messages: "b_row" */
  const tsi_index *final; /* count: final row of each entry; NULL: as `place` says */
} tsi_row_list;

typedef struct tsi_reach_source {
  const tsi_chunks *chunks;            /* of both sweeps */
  const tsi_sweep *forward, *backward; /* NULL: there is no such sweep */
  tsi_row_list given, wanted;          /* rows of b, of x */
} tsi_reach_source;

typedef struct tsi_reach {
  tsi_solve_sparse sparse; /* points into: */
  unsigned char *forward, *backward;
  tsi_index *lists[6];
  double bytes, all_bytes; /* streamed by the chunks that take part; by all */
} tsi_reach;

/* Errors: ARGUMENT (a row out of range or twice), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_reach_create(tsi_env *env, const tsi_reach_source *source,
                                                tsi_reach *reach);
void tsi_reach_finish(tsi_reach *reach);
