/* Reads rows of a matrix that is stored in pieces, without copying them into one piece.
 *
 * Job. Return the entries of one row after the other, in the order of the user's columns: entries in blocks
 * of owners before this rank, in the diagonal block, in blocks of owners after this rank. Read rows in
 * ascending order: then each block is traversed once.
 *
 * Reads   the pieces of a matrix (dmatrix.h).   Writes  a tsi_row_reader that owns its array; the entries.
 * Invariant: line[o] is the first line of block o whose row is the reader's row or a later one. */
#pragma once

#include "runtime/mpi/matrix/dmatrix.h"

typedef struct tsi_row_reader {
  const tristar_dmatrix_t *d;
  int before; /* number of owners with a smaller rank */
  tsi_index row;
  tsi_index *line; /* owners */
} tsi_row_reader;

/* The caller releases the reader, whatever the status. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_reader_begin(const tristar_dmatrix_t *d, tsi_row_reader *reader);
void tsi_row_reader_end(tsi_row_reader *reader);
/* Selects a row of this rank; returns its length. */
tsi_index tsi_row_reader_seek(tsi_row_reader *reader, tsi_index row);
/* Read `count` entries of this row, beginning with entry `from`: local columns (own ones, then n + ghosts),
 * or values. */
void tsi_row_reader_columns(const tsi_row_reader *reader, tsi_index from, tsi_index count, tsi_index *to);
void tsi_row_reader_values(const tsi_row_reader *reader, tsi_index from, tsi_index count, char *to);
