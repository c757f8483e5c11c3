/* Reads rows of a matrix that lies in pieces, without putting them in one piece.
 *
 * Job. Give the entries of one row after the other, in the order of the user's columns: those of the blocks
 * of owners before this rank, of the diagonal block, of the blocks of owners after it. Rows are best read in
 * ascending order: each block is walked once then.
 *
 * Reads   the pieces of a matrix (dmatrix.h).   Writes  a tsi_row_reader that owns its array; what is read.
 * Invariant: line[o] is the first line of block o that is of the reader's row or of a later one. */
#pragma once

#include "runtime/mpi/matrix/dmatrix.h"

typedef struct tsi_row_reader {
  const tristar_dmatrix_t *d;
  int before; /* owners that are ranks before this one */
  tsi_index row;
  tsi_index *line; /* owners */
} tsi_row_reader;

/* It is to be released, whatever the status. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_reader_begin(const tristar_dmatrix_t *d, tsi_row_reader *reader);
void tsi_row_reader_end(tsi_row_reader *reader);
/* Goes to a row of this rank; gives its length. */
tsi_index tsi_row_reader_seek(tsi_row_reader *reader, tsi_index row);
/* So many entries of that row, from one on: columns here, own ones, then n + ghosts; or values. */
void tsi_row_reader_columns(const tsi_row_reader *reader, tsi_index from, tsi_index count, tsi_index *to);
void tsi_row_reader_values(const tsi_row_reader *reader, tsi_index from, tsi_index count, char *to);
