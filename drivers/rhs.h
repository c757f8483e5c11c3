/* Right-hand sides, and checksums of solutions. */
#ifndef TSI_DRIVERS_RHS_H
#define TSI_DRIVERS_RHS_H

#include "drivers/session.h"

/* Reads --rhs, or fills n x nrhs pseudo-random values:
 *   s(0) = 1,  s(k) = 6364136223846793005 s(k-1) + 1442695040888963407 mod 2^64,
 *   b(k-1) = floor(s(k) / 2^11) / 2^52 - 1, in [-1, 1), column after column.
 * Exact arithmetic: the same bits everywhere. The file must have as many rows as the matrix. */
bool tsi_rhs_make(tsi_session *s, tristar_dense *b);

/* A dense n x nrhs matrix of zeros, as tristar_dense_destroy frees none of ours: free(values). */
bool tsi_dense_make(tsi_session *s, int64_t rows, int64_t cols, tristar_dense *dense);

/* FNV-1a, 64 bits, over the bytes of the doubles in order (little-endian, as they lie in memory). */
uint64_t tsi_checksum(const tristar_dense *dense);

#endif
