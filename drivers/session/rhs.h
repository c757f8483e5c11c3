/* Right-hand sides; files and checksums of solutions. */
#pragma once

#include "drivers/session/session.h"
#include "tristar_matrix.h"

/* Makes a dense matrix of zeros in the session's precision. Free its values with free. */
bool tsi_dense_make(tsi_session *s, int64_t rows, int64_t cols, tristar_dense *dense);

/* Reads the file of --rhs and converts it to the session's precision. Plain text has two numbers per value if
 * the precision is complex. Without --rhs, fills n x --nrhs pseudo-random values, column after column:
 * s(0) = 1, s(k) = 6364136223846793005 s(k-1) + 1442695040888963407 mod 2^64,
 * value k = floor(s(k) / 2^11) / 2^52 - 1, in [-1, 1), k = 1, 2, ... In complex types value k is a real part,
 * value k+1 its imaginary part. Only the rounding to single types is not exact, so the bits are the same
 * everywhere. Free the values of b with free. */
bool tsi_rhs_make(tsi_session *s, tristar_dense *b);

/* Reads a dense matrix with so many rows in the same way. what: its name in messages. Free its values with
 * free. */
bool tsi_columns_read(tsi_session *s, const char *path, const char *what, int64_t rows, tristar_dense *b);

/* Writes X to the file of --out, if given. format: text of the comment in this file. */
__attribute__((format(printf, 3, 4))) bool tsi_solution_write(tsi_session *s, const tristar_dense *x,
                                                              const char *format, ...);

/* Returns the FNV-1a hash, 64 bits, of the bytes of the values as stored in memory. */
uint64_t tsi_checksum(const tristar_dense *dense);
