/* Orders the columns of a sparse matrix by nested dissection of METIS, for solvers that accept an order but
 * do not call METIS. */
#pragma once

#include "tools/peers/peer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph to order: of A, whose pattern is symmetric; of A + A^T; or of A^T A. A^T A omits rows with more
 * than 10 sqrt(n) entries, which would make it dense. COLAMD omits such rows, too. */
typedef enum peer_graph { PEER_GRAPH_SYMMETRIC, PEER_GRAPH_SUM, PEER_GRAPH_PRODUCT } peer_graph;

/* Sets position[j], from 0 on, to the position of column j in the order; n entries. columns and rows: the
 * matrix by columns and by rows; rows may be NULL for PEER_GRAPH_SYMMETRIC. Returns false if the graph is too
 * large for METIS, or METIS failed. */
bool peer_metis_order(int64_t n, peer_graph graph, const peer_compressed *columns,
                      const peer_compressed *rows, int32_t *position);

/* Is the pattern symmetric, and is no diagonal entry zero? Then solvers with partial pivoting that prefer the
 * diagonal can use the order of A. */
bool peer_symmetric_pattern(const peer *p, const peer_compressed *columns, const peer_compressed *rows);

#ifdef __cplusplus
}
#endif
