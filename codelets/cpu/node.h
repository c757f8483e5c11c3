/* One task of a solve on plain arrays: gather, panels, scatter. StarPU tasks, the serial replay and tests run
 * it.
 *
 * Workspace. One array of rows of `stride` scalars. Chunk c has the rows workspace[c] .. : x of its columns,
 * then its update vector (forward) or a copy of x of its off-rows (backward). A sliced chunk then has `width`
 * rows of partial sums for each slice. If the other direction uses a factor of another structure, a second
 * such set of rows follows. No two concurrent tasks write the same row, and no task reads a row that a
 * concurrent task may write.
 *
 *   forward chunk   x_c = R b (permuted, scaled) + sum over pairs of u_source;  u_c = 0;  panels
 *   forward slice   u_c[rows of the slice] = - R x_c
 *   backward slice  u_c[rows of the slice] = x of their owners;  sum_k = R' u_c
 *   backward chunk  u_c = x of the owners (unsliced), x_c -= sum_k (sliced);  panels in reverse;  user's x
 *
 * With TSI_INVERSE_PARTITIONED the rectangle uses x before the triangle, forward, and its sum is subtracted
 * after the triangle, backward. So the forward task of a sliced chunk stores P x_c for its forward slices in
 * the first `width` rows of partial sums. No backward slice of the chunk overwrites these rows too early. It
 * waits for x of the owner of its first row. All later rows are off-rows of this owner, so the slice waits
 * for the backward and thus the forward tasks of the owners of all rows. These tasks wait for the forward
 * slices. (Imported factors may have other rows; they are TSI_INVERSE_DIAGONAL.)
 *
 * Pushed updates (tsi_solve_data.push): separate tasks, one for each pair, compute x_c = R b, the sums and
 * the copies, in the same order.
 *
 *   forward push    x_target = R b, if the pair is the target's first;  x_target += u_source
 *   backward push   u_source[rows of the pair] = x_target
 *
 * Partitioned inverse: chunks only divide the rows to be read, turned and written. Row j of the final order
 * is row j of the workspace, and row second + j of its second half.
 *
 *   read chunk     x_c = R b
 *   turn chunk     D^-1 and conjugates, in the second half
 *   write chunk    user's x = x_c
 *
 * Triangular matrices by rows (tsi_solve_data.rows). Row j of the final order is row j of the workspace.
 * There is one sweep; a chunk without a part in a forward sweep writes zeros, which others may read. A single
 * right-hand side with contiguous entries is solved in x, a few rows at a time, in the order of the stream
 * (tsi_solve_call.rows); or in the workspace, if x does not have the order and scaling of the stream.
 *
 *   forward chunk    x_c = b_c, row by row minus the products with earlier rows;  user's x = x_c
 *   backward chunk   likewise with later rows, from the last row to the first
 *
 * Distributed solves (tsi_solve_data.messages). Several processes share a chunk; an inbox of rows holds the
 * sums that a process receives from others.
 *
 *   forward chunk    also adds its rows of the inbox; x_c starts from zero unless it reads b
 *   forward sum      x_c = 0 + sum over pairs of u_source + rows of the inbox
 *   backward chunk   also subtracts its rows of the inbox; writes x only on the process in charge of this
 *   backward sum     sum_0 = sum over its slices of sum_k + rows of the inbox
 *
 * A solve may consist of one direction only: then the forward chunk also writes x, or the backward chunk
 * reads b. On several processes all chunks still run in both directions, because sums and x must be
 * exchanged. A forward chunk without a part stores b, if the backward direction starts from it, or zeros.
 * After a single forward direction backward chunks only write x. With sparse right-hand sides or few wanted
 * rows of x, chunks without a part in the result do nothing; x of a chunk without a part in the forward
 * direction is zero.
 *
 * All structures are immutable during a solve except the workspace and the user's x. */
#pragma once

#include <stdatomic.h>

#include "codelets/cpu/kernels.h"
#include "codelets/cpu/rows/spmv.h"

/* Off-rows first .. first+count-1 of chunk source are columns of chunk target. */
typedef struct tsi_solve_pair {
  tsi_index source, target, first, count;
} tsi_solve_pair;

typedef struct tsi_solve_chunk {
  tsi_count workspace; /* its first row in the workspace */
  tsi_count off;       /* its first off-row in tsi_solve_data.off */
  tsi_count sources;   /* its pairs as target: by_target[sources .. sources + source_count - 1] */
  tsi_count targets;   /* its pairs as source: pair[targets .. targets + target_count - 1] */
  tsi_index source_count, target_count;
  tsi_index panel, panels; /* first panel and number of panels */
  tsi_index column, columns;
  tsi_index update; /* row of its first off-row, counted from its first row in the workspace */
  tsi_index off_rows;
  tsi_index slice, slices; /* first slice and number of slices */
} tsi_solve_chunk;

typedef struct tsi_solve_slice {
  tsi_index chunk;
  tsi_index first, count; /* rows of the chunk's only panel */
} tsi_solve_slice;

/* Sums in the inbox for each chunk, in the order in which they are added. Sum k of chunk c begins at row
 * row[first[c] + k] of the inbox, k < count[c], and has a row for each column of the chunk. */
typedef struct tsi_solve_inbox {
  const tsi_count *first;
  const tsi_index *count;
  const tsi_count *row;
} tsi_solve_inbox;

typedef struct tsi_solve_messages {
  tsi_solve_inbox forward, backward;
  const unsigned char *reads, *writes; /* chunks: b is read, x is written here */
} tsi_solve_messages;

/* Data of a plan for the kernels of one triangular factor. */
typedef struct tsi_solve_data {
  const tsi_kernels *kernels;
  tsi_index chunks;
  const tsi_solve_chunk *chunk; /* chunks */
  const tsi_solve_slice *slice;
  const tsi_panel *panel;
  const tsi_index *local_row; /* panel.row points into it */
  const tsi_index *off;       /* off-rows of all chunks, final numbering */
  const tsi_solve_pair *pair;
  const tsi_count *by_target;
  bool push;                          /* pairs have separate tasks */
  tsi_count second;                   /* partitioned inverse: first row of the workspace's second half */
  const tsi_solve_messages *messages; /* NULL: the solve is not distributed. INVERSE_PARTITIONED has none */
  const tsi_spmv_kernels *rows;       /* kernels for triangular matrices by rows; else NULL */
} tsi_solve_data;

/* The chunks that take part in a solve, the given rows of b and the wanted rows of x. */
typedef struct tsi_solve_sparse {
  const unsigned char *forward, *backward; /* by chunk: 1 if it takes part in this direction */
  /* Given rows of b. Chunk c has the entries e = in_ptr[c] .. in_ptr[c+1]-1: in_local[e] is the row, counted
   * from the chunk's first column, in_from[e] the row of the user's compact array. NULL: all rows are given,
   * as in a dense solve. */
  const tsi_index *in_ptr, *in_local, *in_from;
  const tsi_index *out_ptr, *out_local, *out_to; /* wanted rows of x, likewise */
} tsi_solve_sparse;

/* All rows of the user's array, chunk by chunk. A chunk has the entries e, column <= e < column + columns:
 * its local row local[e] is the user's row user[e]. Within a chunk the user's rows ascend, so that the user's
 * arrays are read and written in streams. */
typedef struct tsi_user_rows {
  const tsi_index *local, *user; /* n */
} tsi_user_rows;

#define TSI_NRHS_BLOCK 64 /* more right-hand sides are solved in blocks of this many */

/* A right-hand side and its solution. */
typedef struct tsi_solve_column {
  const void *b;
  void *x;
} tsi_solve_column;

/* Notes whether tasks may have written NaN or infinities to x. */
typedef struct tsi_range_watch {
  bool (*sum_is_finite)(tsi_count count, const void *x); /* kernel for the scalars of x (spmv.h) */
  atomic_bool suspects;                                  /* a sum over some numbers of x was not finite */
} tsi_range_watch;

/* Data of one solve. Forward uses the lower factor of op(A), backward the transpose of the upper one. */
typedef struct tsi_solve_call {
  const void *forward_values, *backward_values; /* scalars of the kernels' type */
  const tsi_triangle_rows
      *triangle_rows[2];     /* chunks without panels: data of the forward and the backward sweep */
  const tsi_row_sweep *rows; /* the same for one right-hand side as a stream; else NULL */
  bool moves_in, moves_out;  /* rows: b, x do not have the order and scaling of the stream; else: in place */
  const tsi_index *forward_pivots, *backward_pivots; /* NULL: none */
  const void *inverse; /* L D L^T: D^-1 as in tsi_pivoting, by final column; NULL: none */
  bool adjoint;        /* D^-1 is Hermitian */
  const tsi_index *in_row,
      *out_row; /* n: row of b that final row j reads; row of x it writes; NULL: j itself */
  tsi_user_rows in_rows, out_rows;       /* the same maps as lists; NULL: take the maps */
  const tsi_index *in_place, *out_place; /* inverses of the maps, for rows that are moved; NULL: identity */
  const double *in_scale, *out_scale;    /* n, by row of b and of x; NULL: ones */
  const void *b;                         /* scalars of the kernels' type, or of the double type if wide */
  void *x;
  bool wide;
  int64_t b_row, b_column, x_row, x_column; /* strides, in scalars */
  const tsi_solve_column *columns;          /* nrhs columns in separate arrays; NULL: b, x and strides */
  tsi_index nrhs;                           /* right-hand sides of the user */
  tsi_index least;  /* panels: minimum number of columns for the kernels; columns beyond nrhs are zero */
  tsi_index stride; /* tsi_workspace_stride of the maximum of nrhs and least */
  void *workspace;
  const void *inbox;        /* rows of `stride` scalars; NULL without messages */
  bool conjugate_in;        /* conj(b) instead of b */
  bool conjugate_backward;  /* the backward sweep works on conjugates: its factor is conj of the stored one */
  bool conjugate_out;       /* conj(x) instead of x */
  bool read_backward;       /* there is no forward sweep: backward chunks read b */
  bool write_forward;       /* there is no backward sweep: forward chunks write x */
  bool combines;            /* writes x = beta x + alpha times the solution; else x = the solution */
  double alpha[2], beta[2]; /* real and imaginary part; beta 0: x is not read */
  const tsi_solve_sparse *sparse; /* NULL: all chunks take part, b and x are whole */
  tsi_range_watch *watch;         /* NULL: the range of x is not watched */
} tsi_solve_call;

/* Does a chunk take part in the sweep in this direction? */
static inline bool tsi_takes_part(const tsi_solve_call *call, bool backward, tsi_index chunk) {
  if (backward ? call->write_forward : call->read_backward) return false;
  return call->sparse == NULL || (backward ? call->sparse->backward : call->sparse->forward)[chunk];
}

/* The tasks, by scalar type. data: of the factor for this direction. */
typedef struct tsi_node_kernels {
  void (*forward_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  void (*forward_slice)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index slice);
  void (*backward_slice)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index slice);
  void (*backward_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  /* place: index into by_target; pair: number of the pair. */
  void (*forward_push)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index place);
  void (*backward_push)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index pair);
  void (*read_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  void (*solve_diagonal)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  void (*write_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  void (*forward_sum)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  /* to += from, `count` scalars */
  void (*add)(tsi_count count, const void *from, void *to);
  void (*backward_sum)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  /* x_c = D^-1 b_c on the user's arrays: not a task, for solves with D only. */
  void (*diagonal_chunk)(const tsi_solve_data *data, const tsi_solve_call *call, tsi_index chunk);
  /* By rows: all chunks of a stream; not a task. */
  void (*whole_stream)(const tsi_solve_data *data, const tsi_solve_call *call, bool backward);
} tsi_node_kernels;

/* For 's', 'd', 'c' or 'z'; NULL for anything else. */
const tsi_node_kernels *tsi_node_kernels_select(char scalar);
/* Returns the tasks of triangular matrices by rows; tasks of panels are NULL. */
const tsi_node_kernels *tsi_row_node_kernels_select(char scalar);
