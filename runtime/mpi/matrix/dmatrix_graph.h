/* The graph of A + A^T, without loops, of a matrix whose rows are distributed over all ranks.
 *
 * Job. Each rank gets the neighbours of its vertices, one vertex for each of its rows. Each entry gives an
 * edge, which is sent to the owners of both ends. If A has a symmetric kind and there is no matching, nothing
 * is sent: the rows of each rank have entries of both triangles.
 *
 * Reads   rows of all ranks, a matching of rows.   Writes  a tsi_rows_graph that owns its arrays.
 * Invariants: neighbours of a vertex ascend, without duplicates and without the vertex itself; u is a
 * neighbour of v, on any ranks, if and only if v is a neighbour of u. */
#pragma once

#include "runtime/mpi/matrix/dmatrix.h"

typedef struct tsi_rows_graph {
  tsi_index n;    /* vertices of this rank, one for each row */
  tsi_count *ptr; /* n + 1 */
  tsi_index *adj; /* ptr[n], numbers in the whole matrix */
} tsi_rows_graph;

/* Collective; d->whole exists. row_map: for each row of this rank, the column of its pivot; NULL on all
 * ranks: the column with the same number. The caller finishes out, also after a failure. Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_graph_create(const tristar_dmatrix_t *d, const tsi_index *row_map,
                                                     tsi_rows_graph *out);
void tsi_rows_graph_finish(tsi_rows_graph *graph);
