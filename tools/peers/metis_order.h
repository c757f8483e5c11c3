/* The columns of a sparse matrix in the nested dissection order of METIS, for solvers that take an order but
 * do not call METIS themselves. */
#ifndef TSI_TOOLS_METIS_ORDER_H
#define TSI_TOOLS_METIS_ORDER_H

#include "tools/peers/peer.h"

/* position[j]: where column j of the matrix goes. Orders the graph of A, whose pattern is symmetric, or,
 * where rows is not NULL (the matrix again, by rows), that of A^T A. Rows with more than 10 sqrt(n) entries
 * are left out of A^T A, as COLAMD leaves them out, because they would make it dense. false: the graph is too
 * large for METIS, or METIS failed. */
bool peer_metis_order(int64_t n, const peer_compressed *columns, const peer_compressed *rows,
                      int32_t *position);

#endif
