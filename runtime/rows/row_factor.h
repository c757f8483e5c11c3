/* A triangular matrix that is solved row by row: its entries in the order of a cut
 * (partition/cut/row_chunks.h).
 *
 * F is the matrix, or its transpose if that is the lower triangular one (factor.h). The forward sweep reads
 * rows of F, the backward one its columns. Each has two forms, made when a solve needs them first: a stream
 * for one right-hand side; and rows numbered as they lie in a workspace, for all other solves.
 *
 * A stream is numbered as the user numbers rows, and solves in place. Where lanes share supersteps of long
 * vectors, it is numbered as the cut orders rows, in a workspace that b is moved to and x from: what a lane
 * works on lies together then, also where a level set takes a few rows out of each line of memory that b has,
 * as in grids in natural order. Lines would go from core to core otherwise, and to the common cache and back
 * for each level set. But b and x are moved, and where one core reads nearly all that memory gives, that is
 * too much.
 *
 * So there is a third form beside the stream of lanes, the plain stream, for a core alone. It has the order
 * that a cut for one core has: windows, or all rows as they are given.
 *
 * Reads   the lines of an import, which must outlive it, or are its own.
 * Writes  its own arrays.
 * Invariants
 *   - entries of a row come in the order in which the sweep through the given matrix finds their x, whatever
 * the cut: ascending forward, descending backward. No sum depends on the cut, and the latest x is waited for
 * last
 *   - sweep[k] and matrix[k] are immutable once they are there, until there are new values; every value is
 *     finite */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "codelets/cpu/rows/spmv.h"
#include "partition/cut/row_chunks.h"
#include "runtime/matrix/pattern.h"
#include "runtime/matrix/triangle_turn.h"

/* The arrays of a sweep. */
typedef struct tsi_row_arrays {
  tsi_index *row;
  uint16_t *length; /* NULL: all chunks have runs, or not all fit */
  tsi_count *ptr;
  tsi_index *index;
  uint16_t *offset;
  void *values, *inverse;
  tsi_index *run_ptr;
  tsi_row_run *run;
} tsi_row_arrays;

/* Rows for a workspace. */
typedef struct tsi_row_matrix {
  tsi_count *ptr;
  tsi_index *index;
  void *values, *inverse;
  tsi_triangle_rows rows; /* for the kernels; ptr NULL: not there */
} tsi_row_matrix;

typedef struct tsi_row_factor {
  pthread_mutex_t lock; /* guards the making of what follows */
  tsi_row_cut *cut;
  tsi_row_cut *alone;       /* of the plain stream; NULL: rows as given, or not needed yet */
  tsi_lines lines;          /* as given, ascending, diagonal included */
  const void *values;       /* of their entries */
  tsi_pattern *own_pattern; /* what both point into, where that is not the matrix of the factor; else NULL */
  void *own_values;
  size_t scalar_bytes;
  void *inverse;    /* n: of the diagonal, as given */
  tsi_index *place; /* n: the number of each given row in the streams; NULL: its own, or not needed yet */
  tsi_row_arrays array[4]; /* forward, backward; plain forward, backward */
  tsi_row_sweep sweep[4];  /* for the kernels; row NULL: not there */
  atomic_bool there[4];    /* the sweep is, and can be read without the lock */
  tsi_row_matrix matrix[2];
} tsi_row_factor;

/* Takes over the cut, also on failure. The lines have room for values already. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, const tsi_lines *lines,
                                                     const void *values, size_t scalar_bytes,
                                                     tsi_row_factor **out);
void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows);

/* There are new values: sweeps are filled again when they are needed, in the arrays that they have. name: "L"
 * or "U"; known: of the values; NULL: nothing. Errors: SINGULAR (a zero on the diagonal), NOT_FINITE (also an
 * inverse out of range), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_fill(tsi_env *env, char scalar, const char *name,
                                                   const tsi_triangle_values *known, tsi_row_factor *rows);

/* In how many pieces b and x are moved for a stream (tsi_row_sweep); 0: they are not. */
tsi_index tsi_row_factor_pieces(const tsi_row_factor *rows);
/* What a sweep reads of one right-hand side. Any thread may ask. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_sweep(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                    const tsi_row_sweep **out);
/* Is there a plain stream beside the one of lanes? */
bool tsi_row_factor_has_plain(const tsi_row_factor *rows);
/* The plain stream. make: it is made if it is not there; else *out is NULL then. Any thread may ask. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_plain(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                    bool make, const tsi_row_sweep **out);
/* What a sweep reads that works in a workspace. Any thread may ask. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                   const tsi_triangle_rows **out);
