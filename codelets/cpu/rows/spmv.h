/* Products of sparse matrices by rows with the vectors of a solve: the kernels of the partitioned inverse,
 * and of triangular matrices by rows.
 *
 * Reads   a matrix by compressed rows, rows of `stride` scalars (1, 2, 4 or a multiple of 8).   Writes  such
 * rows. The arguments fix the order of every sum. */
#pragma once

#include "codelets/cpu/rows/incomplete.h"
#include "runtime/base/types.h"

/* Row r has the entries ptr[r] .. ptr[r+1]-1. It computes row row[r] of the workspace from the rows
 * index[...]. */
typedef struct tsi_spmv_rows {
  const tsi_count *ptr;
  const tsi_index *row, *index;
  const void *values;
} tsi_spmv_rows;

/* A triangular matrix by rows: row r has the entries ptr[r] .. ptr[r+1]-1 and a diagonal entry with the
 * inverse inverse[r]. */
typedef struct tsi_triangle_rows {
  const tsi_count *ptr;
  const tsi_index *index;
  const void *values, *inverse;
} tsi_triangle_rows;

/* A run of `rows` consecutive rows with `entries` entries each. */
typedef struct tsi_row_run {
  tsi_index rows, entries;
} tsi_row_run;

/* A triangle by rows as a stream for one right-hand side: rows in the order of the sweep. Rows have the
 * numbers of the user's b and x, or, if these are moved, of the workspace. The k-th row is row[k], with
 * entries ptr[k] .. ptr[k+1]-1. Their columns are index[e], or, if all are near, row[k] + offset[e] - base.
 * If rows are not reordered, row[k] = row[0] + step k. Then the lengths are also stored in 16 bits, if they
 * fit and some chunk has no runs, so that less memory is streamed. If columns are scattered over an x that
 * exceeds a core's caches, x is prefetched. */
#define TSI_ENTRIES_AHEAD 32
typedef struct tsi_row_stream {
  const tsi_index *row;   /* n */
  tsi_index step;         /* 1, -1; 0: rows are reordered */
  const uint16_t *length; /* n; NULL: use ptr */
  const tsi_count *ptr;   /* n + 1 */
  const tsi_index *index; /* NULL: columns are near, use offset */
  const uint16_t *offset;
  bool ahead; /* prefetches x TSI_ENTRIES_AHEAD entries ahead; index has as many extra columns */
  tsi_index base;
  const void *values;  /* by entry */
  const void *inverse; /* n: inverse of the diagonal entry of the k-th row */
} tsi_row_stream;

/* A sweep with all rows as a stream. Chunk c has its own rows and the runs run_ptr[c] .. run_ptr[c+1]-1; it
 * has no runs if neighbouring rows rarely have the same length. */
typedef struct tsi_row_sweep {
  tsi_row_stream stream;
  tsi_index n;
  bool fetch; /* a chunk has neighbouring rows of the user, and all rows together exceed a core's caches */
  tsi_index
      pieces; /* number of pieces of b and of x, in the user's order, that separate steps move; 0: none */
  tsi_index chunks;
  const tsi_index *start;   /* chunks + 1: first rows in the order of the forward sweep; NULL: one chunk */
  const tsi_index *run_ptr; /* chunks + 1 */
  const tsi_row_run *run;
} tsi_row_sweep;

typedef struct tsi_spmv_kernels {
  const char *isa;
  /* Rows first .. end-1: w[row] = sum, or w[row] += sum if add. No row that is written is read. */
  void (*multiply)(const tsi_spmv_rows *rows, tsi_count first, tsi_count end, bool add, tsi_index stride,
                   void *workspace);
  /* Rows first .. end-1, one after the other, in reverse order if backward: w[r] = inverse[r] (w[r] - sum of
   * values w[index]). */
  void (*solve_rows)(const tsi_triangle_rows *rows, tsi_index first, tsi_index end, bool backward,
                     tsi_index stride, void *workspace);
  /* Rows first .. end-1 of a stream, in this order: x[r] = inverse (b[r] - sum of values x[column]); b may be
   * x. run: their lengths, from row `first` on; NULL: by ptr. The bits are the same as for solve_rows. */
  void (*solve_stream)(const tsi_row_stream *stream, tsi_index first, tsi_index end, const tsi_row_run *run,
                       const void *b, void *x);
  /* x = U^-1 L^-1 b with rows of incomplete factors, one right-hand side; b may be x. cross NULL: L is left
   * of the diagonal, and has a unit diagonal. Else L is U^H (adjoint) or U^T: see tsi_incomplete_kernels.
   * inverse, n: inverses of the diagonal of U. The bits are the same as for solve_stream with L and then with
   * U. */
  void (*solve_factors)(const tsi_factor_rows *factors, const tsi_index *cross, const void *inverse,
                        bool adjoint, const void *b, void *x);
  /* x := the identity of order w, row-major with stride scalars per row; scalars beyond w become zero. */
  void (*identity)(tsi_index w, tsi_index stride, void *x);
  /* to[i] = from[i * stride], i < count */
  void (*take_column)(tsi_index count, tsi_index stride, const void *from, void *to);
  /* Adds up the numbers in the fastest order. False: one is NaN or infinite, or only the sum overflows. */
  bool (*sum_is_finite)(tsi_count count, const void *x);
} tsi_spmv_kernels;

/* As tsi_kernels_select. */
const tsi_spmv_kernels *tsi_spmv_kernels_select(char scalar, const char *isa);
