/* The graph of A + A^T of a matrix whose rows lie on all ranks, without loops.
 *
 * Job. Each rank gets the neighbours of the vertices that it owns, which are those of its rows. An edge that
 * an entry shows goes to the owners of both ends; of a symmetric kind each rank has both triangles.
 *
 * Reads   rows of all ranks, a matching of rows.   Writes  a tsi_rows_graph that owns its arrays.
 * Invariants: neighbours of a vertex ascend, without duplicates and without itself; u is a neighbour of v, on
 * whatever rank, if and only if v is one of u. */
#pragma once

#include "runtime/mpi/matrix/dmatrix.h"

typedef struct tsi_rows_graph {
  tsi_index n;    /* vertices here, as many as rows */
  tsi_count *ptr; /* n + 1 */
  tsi_index *adj; /* ptr[n], numbered over the whole matrix */
} tsi_rows_graph;

/* Collective; d->whole is there. row_map: of the rows here, the columns whose pivots they are to be; NULL on
 * all ranks: the same numbers. out: to be finished, also after a failure. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_rows_graph_create(const tristar_dmatrix_t *d, const tsi_index *row_map,
                                                     tsi_rows_graph *out);
void tsi_rows_graph_finish(tsi_rows_graph *graph);
