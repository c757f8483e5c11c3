/* A triangular matrix that is solved row by row: its entries in the order of a cut
 * (partition/cut/row_chunks.h).
 *
 * F is the matrix, or its transpose if the transpose is lower triangular (factor.h). The forward sweep reads
 * rows of F, the backward one its columns. Each has two forms, created when a solve first needs them: a
 * stream for one right-hand side; and rows numbered by their position in a workspace, for all other solves.
 *
 * A stream has the row numbers of the user, and solves in place. Exception: if lanes share supersteps of long
 * vectors, it has the row numbers of the cut, and b is copied to a workspace and x from it. There the rows of
 * a lane are contiguous. In b, a level set may take only a few rows from each cache line, as for grids in
 * natural order. Otherwise cache lines would be sent from core to core, and to the common cache and back for
 * each level set. But copying b and x costs too much if one core already uses nearly the whole memory
 * bandwidth.
 *
 * So there is a third form besides the stream of lanes: the plain stream, for a single core. It has the order
 * of a cut for one core: windows, or all rows in the given order.
 *
 * Reads   the lines of an import, which must exist longer, or are its own.
 * Writes  its own arrays.
 * Invariants
 *   - the entries of a row have the order in which the sweep through the given matrix computes their x,
 *     whatever the cut: ascending forward, descending backward. No sum depends on the cut, and the latest x
 *     is waited for last
 *   - sweep[k] and matrix[k] are immutable once they exist, until there are new values; every value is finite
 */
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
  uint16_t *length; /* NULL: all chunks have runs, or some lengths do not fit */
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
  tsi_triangle_rows rows; /* for the kernels; ptr NULL: does not exist */
} tsi_row_matrix;

typedef struct tsi_row_factor {
  pthread_mutex_t lock; /* guards the creation of the fields below */
  tsi_row_cut *cut;
  tsi_row_cut *alone;       /* cut of the plain stream; NULL: rows as given, or not needed yet */
  tsi_lines lines;          /* as given, ascending, diagonal included */
  const void *values;       /* values of their entries */
  tsi_pattern *own_pattern; /* owner of the lines, unless the factor's matrix has them; else NULL */
  void *own_values;
  size_t scalar_bytes;
  void *inverse;    /* n: inverses of the diagonal, in the given order */
  tsi_index *place; /* n: number of each given row in the streams; NULL: the same number, or not needed yet */
  tsi_row_arrays array[4]; /* forward, backward; plain forward, backward */
  tsi_row_sweep sweep[4];  /* for the kernels; row NULL: does not exist */
  atomic_bool there[4];    /* the sweep exists, and can be read without the lock */
  tsi_row_matrix matrix[2];
} tsi_row_factor;

/* Moves the cut to the factor, also on failure. The lines already have arrays for values. Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_row_factor_create(tsi_env *env, tsi_row_cut *cut, const tsi_lines *lines,
                                                     const void *values, size_t scalar_bytes,
                                                     tsi_row_factor **out);
void tsi_row_factor_destroy(tsi_env *env, tsi_row_factor **rows);

/* Takes new values: sweeps are filled again when they are needed, in the existing arrays. name: "L" or "U";
 * properties: of the values; NULL: none. Errors: SINGULAR (a zero on the diagonal), NOT_FINITE (also an
 * inverse out of range), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_fill(tsi_env *env, char scalar, const char *name,
                                                   const tsi_triangle_values *properties,
                                                   tsi_row_factor *rows);

/* Number of pieces in which b and x are copied for a stream (tsi_row_sweep); 0: they are not copied. */
tsi_index tsi_row_factor_pieces(const tsi_row_factor *rows);
/* The data of a sweep for one right-hand side. Any thread may call it. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_sweep(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                    const tsi_row_sweep **out);
/* Whether there is a plain stream besides the stream of lanes. */
bool tsi_row_factor_has_plain(const tsi_row_factor *rows);
/* The plain stream. make: creates it if it does not exist; else *out is NULL then. Any thread may call it.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_plain(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                    bool make, const tsi_row_sweep **out);
/* The data of a sweep in a workspace. Any thread may call it. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_row_factor_rows(tsi_env *env, tsi_row_factor *rows, bool backward,
                                                   const tsi_triangle_rows **out);
