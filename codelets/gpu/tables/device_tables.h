/* Device tables: what one GPU kernel reads of the structure of a triangular factor F to solve F y = b
 * (forward) or F' y = b (backward) in one launch a sweep; and the call, which brings the numbers.
 *
 * Words. A node is a piece of work: a chunk of consecutive panels; or, of a sliced chunk, which is a single
 * panel, some rows of its triangle, or a slice of the rows below it. A ticket is what a block of threads
 * draws: one node for the whole block, or several nodes that do not depend on each other, each for one warp.
 * Rows of the workspace have `stride` scalars, one for each right-hand side and padding; row r begins at
 * scalar r * stride (64 bits).
 *
 * Workspace. A chunk has consecutive rows: x of its columns from `x` on; its off-rows from `update` on, which
 * are what the chunk adds to rows that it does not own (forward), or a copy of their x (backward); then, of a
 * sliced chunk, `columns` rows of partial sums for each slice, from `sums` on. The backward sweep leaves x of
 * its columns from row `solution` on, which is `x`, or, of a sliced chunk, whose x several blocks read
 * meanwhile, somewhere else. Row i of a panel is row node.x + row[panel.row + i] of the workspace, an own
 * column or an off-row; panel column k is row node.x + panel.x + k. Two factors of a solve that differ in
 * structure have tables of their own, with the same columns and x in each chunk, so that a workspace serves
 * both, one sweep after the other.
 *
 * Gathering. What a chunk adds to a row is gathered by its parent, the chunk that owns the first of its
 * off-rows: into the parent's columns, or into an off-row of the parent for the same column, which hands it
 * on with the parent's own part. A row that the parent does not have (there is none in the factors of a
 * direct solver) is gathered by its owner. So lists are short where a chunk has many descendants. List j is
 * that of column j, list n + off + i that of off-row i of a chunk; the sum of list l is that of the rows
 * gather[gather_ptr[l]] to gather[gather_ptr[l+1]-1] of the workspace, one after the other.
 *
 * Work of the nodes (R: rectangle, T: triangle, P: interchanges; codelets/cpu/base/panel.h and kernels.h tell
 * how panels lie in memory and what the treatments of diagonal blocks are):
 *
 * - forward, chunk or warp: x[j] = R b + the sum of list j; off-rows = the sums of their lists; then, for
 *   each panel, x := T P x, rows of the panel -= R x
 * - forward, sliced: solution = R b
 * - forward, triangle: its rows first .. first+count-1 of x = T P y, where y[j] = solution + the sum of
 *   list j, for all columns of the chunk; each of the nodes of a triangle makes y for itself
 * - forward, slice: its off-rows first .. first+count-1 = the sums of their lists - R x, rows of the panel's
 *   rectangle with the same numbers; TSI_INVERSE_PARTITIONED: R P y, for which it waits for no triangle
 * - backward, chunk or warp: x := conj(D^-1 x), as the call says; off-row i = row owner[off + i] of the
 *   workspace; then, the last panel first, x := P' T' (x - R' (rows of the panel))
 * - backward, sliced: x := conj(D^-1 x)
 * - backward, slice: off-rows first .. first+count-1 = their owners' x; partial sum = R' of these; the first
 *   one of TSI_SUM_SLICES slices adds the partial sums of the slices that follow these, as many, which have
 *   added up all that come after them
 * - backward, triangle: its columns begin .. end-1 of solution = P' T' (x - the partial sums of the first
 *   TSI_SUM_SLICES slices). TSI_INVERSE_PARTITIONED: T' before the sums are subtracted
 * - chunk or warp without panels, a border: forward x[j] = the sum of list j; backward nothing. Neither b nor
 *   the user's x has its columns
 *
 * TSI_INVERSE_PARTITIONED, not sliced: forward x := P x, rows of the panel -= R x, x := T x; backward
 * x := P' (T' x - R' (rows of the panel)). TSI_INVERSE_NONE: T^-1 in the place of T, a substitution.
 * The last sweep of a solve writes x to the user, the first one reads b; the order of every sum is fixed.
 *
 * Order. Tickets of a sweep are drawn in ascending order. before[] lists, for each ticket, those that must be
 * through before it starts: all of them have lower numbers, so that blocks which draw in order and wait never
 * wait for a ticket that nobody has drawn, however few blocks there are. The backward launch begins when the
 * forward launch has ended.
 *
 * Reads   nothing: the tables are made by runtime/exec/device/device_build.h from chunks, sweep and panels,
 * and are immutable. They know no values and no scalar type. Invariants (tsi_device_tables_check)
 *   - all arrays lie in one block of `bytes` bytes from `block` on, each at a multiple of 64 bytes, so that a
 *     copy of the block is a copy of the tables (tsi_device_tables_move)
 *   - rows of different chunks do not overlap, and `x` is a multiple of TSI_ROW_BLOCK
 *   - panels are those of the factor; each is walked by exactly one chunk or warp node, or its triangle and
 *     its rectangle by nodes that cut the rows of them without gap or overlap at multiples of
 *     TSI_ROW_BLOCK; TSI_INVERSE_NONE: triangles are not cut
 *   - each node is in exactly one ticket of each sweep; a ticket has one node, or up to TSI_TICKET_NODES warp
 *     nodes that do not read what another one of them writes
 *   - a warp node has panels of at most TSI_WARP_WIDTH columns and no slices
 *   - each off-row of each chunk is in gather exactly once, in a list for its column of a later chunk,
 *     lists in the order of the rows of the workspace, so of the chunks; owner says where the solution of
 *     that column is
 *   - forward, a ticket comes after the tickets that write the rows that it gathers, the slices of a chunk
 *     after its triangle, if they need it; backward, after those of the owners of its off-rows, a triangle or
 *     slice after the slices whose partial sums it adds */
#pragma once

#include "codelets/cpu/base/panel.h"

#define TSI_TICKET_NODES 8 /* warp nodes of a ticket at most: warps of a block of 256 threads */
#define TSI_WARP_WIDTH 32  /* columns of a panel that one warp walks at most */
#define TSI_SUM_SLICES 8   /* slices whose partial sums are added up at a time */

typedef enum tsi_device_kind {
  TSI_DEVICE_CHUNK,    /* a block of threads walks its panels */
  TSI_DEVICE_WARP,     /* one warp does: narrow panels of a small subtree */
  TSI_DEVICE_SLICED,   /* the columns of a sliced chunk, a single panel, as the sweep begins with them */
  TSI_DEVICE_TRIANGLE, /* rows of its triangle */
  TSI_DEVICE_SLICE     /* rows of its rectangle */
} tsi_device_kind;

/* Nodes: chunks in their order; slices in the order of their chunks; triangles in the same order. A chunk
 * without panels is a border: its columns are not the factor's, but what comes together for them forward is
 * left in its x, and backward x is there already. Nodes of a chunk have its members but for kind, sums and
 * those after it. */
typedef struct tsi_device_node {
  tsi_index kind;          /* tsi_device_kind */
  tsi_index panel, panels; /* first panel, number of panels */
  tsi_index column;        /* its first column in the final order: where gather_ptr, pivots, D^-1, b, x are */
  tsi_index columns;
  tsi_index x, update;     /* rows of the workspace, see above */
  tsi_index solution;      /* the same */
  tsi_index off, off_rows; /* its off-row i: entry off + i of owner */
  tsi_index sums;          /* first row of the partial sums, update + off_rows; of a slice: of its own ones */
  tsi_index slice, slices; /* sliced: its slices are nodes slice .. slice+slices-1; other nodes: 0 */
  tsi_index piece, pieces; /* sliced: the nodes of its triangle; other nodes: 0 */
  tsi_index first, count;  /* of a triangle: its rows; of a slice: off-rows, which are rows of the panel too;
                              else all off-rows */
  /* Of a triangle: the columns begin .. end-1 that it solves backward, its rows mirrored, as a row has as
   * many entries as the column that is as far from the other end. Other nodes: 0. */
  tsi_index begin, end;
  tsi_index add, adds; /* the partial sums that it adds: `adds` times `columns` rows from row `add` on */
} tsi_device_node;

typedef struct tsi_device_ticket {
  tsi_index first, nodes;    /* nodes order[first .. first+nodes-1] of the sweep */
  tsi_index before, befores; /* waits for tickets before[before .. before+befores-1], ascending */
} tsi_device_ticket;

typedef struct tsi_device_sweep {
  tsi_index tickets;
  const tsi_device_ticket *ticket; /* tickets */
  const tsi_index *order;          /* nodes */
  tsi_index waits;                 /* length of before */
  const tsi_index *before;
} tsi_device_sweep;

typedef struct tsi_device_tables {
  void *block;
  size_t bytes;
  tsi_inverse inverse; /* the treatment of diagonal blocks that the values have */
  tsi_index n, panels, chunks, nodes, off_rows;
  tsi_index workspace_rows;    /* a solve needs as many as the one of its factors that has more */
  const tsi_device_node *node; /* nodes */
  const tsi_panel *panel;      /* panels */
  tsi_count rows;              /* length of row */
  const tsi_index *row;        /* panel.row points into it */
  const tsi_index *gather_ptr; /* n + off_rows + 1 */
  const tsi_index *gather;     /* off_rows: rows of the workspace */
  const tsi_index *owner;      /* off_rows: rows of the workspace */
  tsi_device_sweep forward, backward;
} tsi_device_tables;

/* What one sweep reads of a factor. */
typedef struct tsi_device_values {
  const void *values; /* packed panels, of the scalar type of the workspace */
  /* n: the interchanges inside the panels as permutations, P x: entry k of a panel's columns becomes entry
   * from[panel.column + k] (counted from the panel's first column), P' x the other way round; NULL: none. */
  const tsi_index *from;
} tsi_device_values;

/* One solve. Either sweep may be left out: the first one reads b, the last one writes x. All pointers are the
 * device's. T is the scalar type of values, inverse and workspace.
 *
 * Reading b, final column j: value = b[r * b_row + c * b_column], r = in_row ? in_row[j] : j; times
 * in_scale[r], if there are scales, in the user's type; conj of it, if conjugate_in.
 * Between the sweeps, at the start of the backward one: D^-1, then conj, if conjugate_backward.
 * b may be x where both sweeps run, or where in_row is out_row.
 * Writing x: conj, if conjugate_out; times out_scale[r], r = out_row ? out_row[j] : j; then
 * x[r * x_row + c * x_column] = alpha value + beta x, if combines.
 *
 * D^-1 of column j, with d = inverse + 2 j: d[1] != 0: columns j and j+1 are a 2 x 2 pivot, [d[0] i12; d[1]
 * d[2]] with i12 = adjoint ? conj(d[1]) : d[1]; j > 0 and d[-1] != 0: j is the second of one; else d[0]
 * alone. Both columns of a pivot belong to the same panel. */
typedef struct tsi_device_call {
  tsi_device_values forward, backward; /* values NULL: there is no such sweep */
  const void *inverse;                 /* 2 n scalars; NULL: no D */
  bool adjoint;
  bool conjugate_in, conjugate_backward, conjugate_out;
  bool wide;                          /* b and x are of the double type although T is single */
  const tsi_index *in_row, *out_row;  /* n; NULL: j itself */
  const double *in_scale, *out_scale; /* n, by row of b and of x; NULL: ones */
  const void *b;
  void *x;
  int64_t b_row, b_column, x_row, x_column; /* in scalars */
  bool combines;
  double alpha[2], beta[2]; /* real and imaginary part; beta 0: x is not read */
  tsi_index nrhs, stride;   /* stride >= nrhs */
  void *workspace;          /* workspace_rows * stride scalars; need not be cleared */
} tsi_device_call;

/* Tables whose arrays lie in a copy of the block at `block`, in whatever memory. */
static inline tsi_device_tables tsi_device_tables_move(const tsi_device_tables *tables, void *block) {
  tsi_device_tables moved = *tables;
#define TSI_MOVE(type, member)                                                                               \
  moved.member = (const type *)((char *)block + ((const char *)tables->member - (const char *)tables->block))
  TSI_MOVE(tsi_device_node, node);
  TSI_MOVE(tsi_panel, panel);
  TSI_MOVE(tsi_index, row);
  TSI_MOVE(tsi_index, gather_ptr);
  TSI_MOVE(tsi_index, gather);
  TSI_MOVE(tsi_index, owner);
  TSI_MOVE(tsi_device_ticket, forward.ticket);
  TSI_MOVE(tsi_index, forward.order);
  TSI_MOVE(tsi_index, forward.before);
  TSI_MOVE(tsi_device_ticket, backward.ticket);
  TSI_MOVE(tsi_index, backward.order);
  TSI_MOVE(tsi_index, backward.before);
#undef TSI_MOVE
  moved.block = block;
  return moved;
}
