/* Right-hand sides; files and checksums of solutions. */
#pragma once

#include "drivers/session/session.h"
#include "tristar_matrix.h"

/* A dense matrix of zeros in the session's precision; its values are to be freed with free. */
bool tsi_dense_make(tsi_session *s, int64_t rows, int64_t cols, tristar_dense *dense);

/* Reads --rhs, where plain text has two numbers a value if the session's precision is complex, and converts
 * it to that precision; or fills n x --nrhs pseudo-random values: s(0) = 1,  s(k) = 6364136223846793005
 * s(k-1) + 1442695040888963407 mod 2^64, value k = floor(s(k) / 2^11) / 2^52 - 1, in [-1, 1), k = 1, 2, ...,
 * column after column. In complex types value k is a real part, value k+1 its imaginary part; in single ones
 * they are rounded. Every step before that is exact: the same bits everywhere. The values of b are to be
 * freed with free. */
bool tsi_rhs_make(tsi_session *s, tristar_dense *b);

/* Reads a dense matrix of so many rows, in the same way; what: in messages. Its values are to be freed with
 * free. */
bool tsi_columns_read(tsi_session *s, const char *path, const char *what, int64_t rows, tristar_dense *b);

/* Writes X to the file --out, if there is one; format: of its comment. */
__attribute__((format(printf, 3, 4))) bool tsi_solution_write(tsi_session *s, const tristar_dense *x,
                                                              const char *format, ...);

/* FNV-1a, 64 bits, over the bytes of the values as they lie in memory. */
uint64_t tsi_checksum(const tristar_dense *dense);
