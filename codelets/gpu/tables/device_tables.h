/* Device tables: the structure of a triangular factor F for a GPU kernel that solves F y = b (forward) or
 * F' y = b (backward) in one launch per sweep; and the call, which has the numbers.
 *
 * Words. A node is a piece of work: a chunk of consecutive panels. A sliced chunk is a single panel, and has
 * other nodes: rows of its triangle, or a slice of the rows below it. A ticket is the work that a block of
 * threads draws: one node for the whole block, or several nodes that do not depend on each other, each for
 * one warp. Rows of the workspace have `stride` scalars: one per right-hand side, and padding. Row r begins
 * at scalar r * stride (64 bits).
 *
 * Workspace. A chunk has consecutive rows. x of its columns begins at `x`, its off-rows at `update`. Forward,
 * an off-row holds the chunk's update of a row of another chunk; backward, a copy of x of that row. A sliced
 * chunk also has `columns` rows of partial sums for each slice, from `sums` on. The backward sweep writes x
 * of the columns from row `solution` on. This is row `x`; in a sliced chunk it is another row, as several
 * blocks read x meanwhile. Row i of a panel, an own column or an off-row, is row node.x + row[panel.row + i]
 * of the workspace; panel column k is row node.x + panel.x + k. If the two factors of a solve differ in
 * structure, each has its tables, with the same columns and x in each chunk, so that both sweeps share a
 * workspace.
 *
 * Gathering. The parent of a chunk, the owner of its first off-row, gathers the chunk's updates: into the
 * parent's columns, or into an off-row of the parent for the same column, to which the parent adds its own
 * update. If the parent does not have a row, the owner of the row gathers; this does not occur in factors of
 * a direct solver. So lists stay short even if a chunk has many descendants. List j belongs to column j, list
 * n + off + i to off-row i of a chunk. The sum of list l adds the rows gather[gather_ptr[l]] to
 * gather[gather_ptr[l+1]-1] of the workspace in this order.
 *
 * Work of the nodes (R: rectangle, T: triangle, P: interchanges; codelets/cpu/base/panel.h and kernels.h
 * describe the storage of panels and the treatments of diagonal blocks):
 *
 * - forward, chunk or warp: x[j] = R b + the sum of list j; off-rows = the sums of their lists; then, for
 *   each panel, x := T P x, rows of the panel -= R x
 * - forward, sliced: solution = R b
 * - forward, triangle: its rows first .. first+count-1 of x = T P y, where y[j] = solution + the sum of
 *   list j, for all columns of the chunk; each node of a triangle computes y for itself
 * - forward, slice: its off-rows first .. first+count-1 = the sums of their lists - R x, rows of the panel's
 *   rectangle with the same numbers; TSI_INVERSE_PARTITIONED: R P y, so it does not wait for the triangle
 * - backward, chunk or warp: x := conj(D^-1 x), as the call defines; off-row i = row owner[off + i] of the
 *   workspace; then, from the last panel to the first, x := P' T' (x - R' (rows of the panel))
 * - backward, sliced: x := conj(D^-1 x)
 * - backward, slice: off-rows first .. first+count-1 = their owners' x; partial sum = R' of these. The first
 *   slice of each TSI_SUM_SLICES slices adds the partial sums of the next TSI_SUM_SLICES slices, which
 *   already contain the sums of all later slices
 * - backward, triangle: its columns begin .. end-1 of solution = P' T' (x - the partial sums of the first
 *   TSI_SUM_SLICES slices). TSI_INVERSE_PARTITIONED: T' before the sums are subtracted
 * - chunk or warp without panels, a border: forward x[j] = the sum of list j; backward nothing. Its columns
 *   are in neither b nor the user's x
 *
 * TSI_INVERSE_PARTITIONED, not sliced: forward x := P x, rows of the panel -= R x, x := T x; backward
 * x := P' (T' x - R' (rows of the panel)). TSI_INVERSE_NONE: T^-1 in the place of T, a substitution.
 * The first sweep of a solve reads b, the last one writes the user's x; the order of every sum is fixed.
 *
 * Order. Tickets of a sweep are drawn in ascending order. before[] lists, for each ticket, the tickets that
 * must end before it starts. All of them have lower numbers. So no block waits for a ticket that is not drawn
 * yet, for any number of blocks. The backward launch begins when the forward launch has ended.
 *
 * Reads   nothing: runtime/exec/device/device_build.h makes the tables from chunks, sweep and panels. They
 *         are immutable, and contain no values and no scalar type.
 * Invariants (tsi_device_tables_check)
 *   - all arrays are in one block of `bytes` bytes from `block` on, each at a multiple of 64 bytes, so that a
 *     copy of the block is a copy of the tables (tsi_device_tables_move)
 *   - rows of different chunks do not overlap, and `x` is a multiple of TSI_ROW_BLOCK
 *   - the tables have all panels of the factor. Exactly one chunk or warp node walks each panel; or several
 *     nodes divide the rows of its triangle and of its rectangle, without gap or overlap, at multiples of
 *     TSI_ROW_BLOCK; TSI_INVERSE_NONE: triangles are not divided
 *   - each node is in exactly one ticket of each sweep; a ticket has one node, or up to TSI_TICKET_NODES warp
 *     nodes, none of which reads results of another
 *   - a warp node has panels of at most TSI_WARP_WIDTH columns and no slices
 *   - each off-row of each chunk is in gather exactly once, in a list of a later chunk for its column. A list
 *     has the order of the rows of the workspace, thus of the chunks; owner is the row with the solution of
 *     the column
 *   - forward, a ticket follows the tickets that write the rows that it gathers; slices of a chunk follow its
 *     triangle, if they need it. Backward, a ticket follows the tickets of the owners of its off-rows; a
 *     triangle or slice follows the slices whose partial sums it adds */
#pragma once

#include "codelets/cpu/base/panel.h"

#define TSI_TICKET_NODES 8 /* maximum number of warp nodes of a ticket: warps of a block of 256 threads */
#define TSI_WARP_WIDTH 32  /* maximum number of columns of a panel for one warp */
#define TSI_SUM_SLICES 8   /* number of slices whose partial sums are added at a time */

typedef enum tsi_device_kind {
  TSI_DEVICE_CHUNK,    /* a block of threads walks its panels */
  TSI_DEVICE_WARP,     /* one warp walks them: narrow panels of a small subtree */
  TSI_DEVICE_SLICED,   /* first step of a sweep for the columns of a sliced chunk, a single panel */
  TSI_DEVICE_TRIANGLE, /* rows of its triangle */
  TSI_DEVICE_SLICE     /* rows of its rectangle */
} tsi_device_kind;

/* Order of the nodes: chunks; slices in the order of their chunks; triangles in the same order. A chunk
 * without panels is a border: its columns do not belong to the factor. Forward, its x receives the sum of the
 * updates of these columns; backward, x is given. All nodes of a chunk have the same members except kind,
 * sums, and the members after sums. */
typedef struct tsi_device_node {
  tsi_index kind;          /* tsi_device_kind */
  tsi_index panel, panels; /* first panel, number of panels */
  tsi_index column;        /* first column in the final order: index into gather_ptr, pivots, D^-1, b, x */
  tsi_index columns;
  tsi_index x, update;     /* rows of the workspace, see above */
  tsi_index solution;      /* row of the workspace, see above */
  tsi_index off, off_rows; /* off-row i is entry off + i of owner */
  tsi_index sums; /* first row of the partial sums, update + off_rows; slice: of its own partial sum */
  tsi_index slice, slices; /* sliced: its slices are nodes slice .. slice+slices-1; other nodes: 0 */
  tsi_index piece, pieces; /* sliced: nodes of its triangle; other nodes: 0 */
  tsi_index first, count;  /* triangle: its rows; slice: its off-rows, which are rows of the panel too; other
                              nodes: all off-rows */
  /* Triangle: it solves columns begin .. end-1 backward. These mirror its rows: a row has as many entries as
   * the column at the same distance from the other end. Other nodes: 0. */
  tsi_index begin, end;
  tsi_index add, adds; /* partial sums that it adds: `adds` times `columns` rows from row `add` on */
} tsi_device_node;

typedef struct tsi_device_ticket {
  tsi_index first, nodes;    /* nodes order[first .. first+nodes-1] of the sweep */
  tsi_index before, befores; /* waits for tickets before[before .. before+befores-1], ascending */
} tsi_device_ticket;

typedef struct tsi_device_sweep {
  tsi_index tickets;
  const tsi_device_ticket *ticket; /* tickets */
  const tsi_index *order;          /* nodes: the nodes of all tickets */
  tsi_index waits;                 /* length of before */
  const tsi_index *before;
} tsi_device_sweep;

typedef struct tsi_device_tables {
  void *block;
  size_t bytes;
  tsi_inverse inverse; /* treatment of the diagonal blocks in the values */
  tsi_index n, panels, chunks, nodes, off_rows;
  tsi_index workspace_rows;    /* a solve needs the maximum over its factors */
  const tsi_device_node *node; /* nodes */
  const tsi_panel *panel;      /* panels */
  tsi_count rows;              /* length of row */
  const tsi_index *row;        /* panel.row points into it */
  const tsi_index *gather_ptr; /* n + off_rows + 1 */
  const tsi_index *gather;     /* off_rows: rows of the workspace */
  const tsi_index *owner;      /* off_rows: rows of the workspace */
  tsi_device_sweep forward, backward;
} tsi_device_tables;

/* The numbers of a factor that one sweep reads. */
typedef struct tsi_device_values {
  const void *values; /* packed panels, of the scalar type of the workspace */
  /* n: the interchanges inside the panels as permutations, P x: entry k of a panel's columns becomes entry
   * from[panel.column + k] (counted from the panel's first column), P' x the other way round; NULL: none. */
  const tsi_index *from;
} tsi_device_values;

/* One solve. One of the sweeps may be left out. The first sweep reads b, the last one writes x. All pointers
 * are device pointers. T is the scalar type of values, inverse and workspace.
 *
 * Reading b, final column j: value = b[r * b_row + c * b_column], r = in_row ? in_row[j] : j; times
 * in_scale[r], if there are scales, in the user's type; conj of it, if conjugate_in.
 * Between the sweeps, at the start of the backward one: D^-1, then conj, if conjugate_backward.
 * b may be x if both sweeps run, or if in_row is out_row.
 * Writing x: conj, if conjugate_out; times out_scale[r], r = out_row ? out_row[j] : j; then
 * x[r * x_row + c * x_column] = alpha value + beta x, if combines.
 *
 * D^-1 of column j, with d = inverse + 2 j: d[1] != 0: columns j and j+1 are a 2 x 2 pivot, [d[0] i12; d[1]
 * d[2]] with i12 = adjoint ? conj(d[1]) : d[1]; j > 0 and d[-1] != 0: j is the second column of one; else
 * d[0] alone. Both columns of a pivot belong to the same panel. */
typedef struct tsi_device_call {
  tsi_device_values forward, backward; /* values NULL: there is no such sweep */
  const void *inverse;                 /* 2 n scalars; NULL: no D */
  bool adjoint;
  bool conjugate_in, conjugate_backward, conjugate_out;
  bool wide;                          /* b and x have the double type although T is single */
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

/* Returns tables whose arrays are in a copy of the block at `block`, in any memory. */
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
