/* Rows of a factorized sparse approximate inverse, node by node: fsai.h for the unknowns of a node together.
 *
 * Job. A node is a few consecutive rows, as the displacements of a point of a mesh. Its rows of G share the
 * columns of P, those of whole nodes before it, and go on with the lower triangle of the node's own block J:
 *
 *   [X I] with X A[P, P] = -A[J, P];  S = [X I] A [X I]^H = D D^H;  rows J of G = D^-1 [X I]
 *
 * are the rows that fsai.h has for these patterns, but one factor of A[P, P] serves them all. What grows P is
 * the gradient of log det S, the sum of log psi over the rows (Janna, Ferronato and Gambolati 2015): of a
 * node c before this one it is the block (G A)[J, c], and the nodes with the largest Frobenius norms of (G
 * A)[J, c] L^-H join, A[c, c] = L L^H. So no change of basis or units among the unknowns of a node matters,
 * and the square of that norm is what log det S would lose, to first order, if c stood alone.
 *
 * Reads   rows of A, nodes.   Writes  rows of G, scratch.
 * Invariants: what a node's rows become depends on A, the nodes, the given pattern and the limits alone.
 * Columns may be numbered in any way, as long as rows ascend and a row has the number of its diagonal
 * column. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"

#define TSI_FSAI_NODE_MOST 8 /* rows of a node */
/* A cell is a number of each row of a node: TSI_FSAI_NODE_LANES real parts, of complex numbers the imaginary
 * parts, and the same of the rows behind these where nodes have more. */
#define TSI_FSAI_NODE_LANES 4

typedef struct tsi_fsai_nodes {
  tsi_index count;  /* of nodes; 0: rows are computed one by one */
  tsi_index most;   /* rows of the largest */
  tsi_index *start; /* count + 1: the first row of each */
  tsi_index *of;    /* by row: its node */
  bool *alike;      /* by node: its rows have the same columns */
} tsi_fsai_nodes;

/* Rows of A whose entries have the same cells. */
typedef struct tsi_fsai_lines {
  tsi_index row, rows, position; /* position: of the first one in the pattern */
  tsi_index entries;             /* left of the node that is computed */
  tsi_count cell;                /* where their list begins */
} tsi_fsai_lines;

/* Scratch of one node at a time. Slots stand for nodes that its rows, or those of the pattern, have entries
 * in, in the order in which they came; their columns have cells. Positions are those of columns in P. */
typedef struct tsi_fsai_node_work {
  tsi_index most;          /* columns of P */
  tsi_index *place;        /* by node: its slot; TSI_NONE, before and after */
  tsi_index slots, cells;  /* how many there are */
  tsi_index *node, *first; /* by slot: its node, the first of its cells */
  tsi_index *position;     /* by cell: of the column; TSI_NONE: it is not in P */
  void *gradient;          /* by cell: a cell */
  void *own;               /* by cell of the node's own rows: their entries; the first `own_cells` cells */
  tsi_index own_cells;
  tsi_count entries; /* in lists of cells */
  tsi_index *cell;   /* these lists */
  tsi_index lines;   /* how many there are */
  tsi_fsai_lines *line;
  tsi_index joined;    /* nodes of P */
  tsi_index *begin;    /* joined + 1: the position of the first column of each */
  tsi_index *pattern;  /* by node of P: its slot */
  tsi_index *list;     /* nodes of P by their first columns, ascending */
  void *l;             /* by node of P: most cells, rows of L; L[r][c], c > r, is of no use */
  void *inverse;       /* by position: of L's diagonal entry */
  void *z, *x, *g;     /* by position: L z = -A[J, P]; L^H x = z; P's part of G */
  const void *weights; /* of all nodes: see weigh; NULL: nothing joins */
  tsi_index *picked;   /* per_step: slots that join */
  double *magnitude;   /* per_step: theirs */
} tsi_fsai_node_work;

typedef struct tsi_fsai_node_kernels {
  const char *isa;
  size_t real_bytes; /* of a number of a cell */
  /* L^-1 of the node's own block of A = L L^H: row r of the matrix has nodes->most scalars from weights + r
   * nodes->most on; zero: the block has no L, and the node will never join. */
  void (*weigh)(const tsi_matrix_rows *a, const tsi_fsai_nodes *nodes, tsi_index node, void *weights);
  /* The rows of a node, whose given pattern is that of rows[0]: each of its columns stands for its node, and
   * nodes ascend. In a step nodes join until these are per_step columns. */
  void (*rows)(const tsi_matrix_rows *a, const tsi_fsai_nodes *nodes, const tsi_fsai_limits *limits,
               tsi_index node, tsi_fsai_row *rows, tsi_fsai_node_work *work);
} tsi_fsai_node_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_node_kernels *tsi_fsai_node_kernels_select(char scalar, const char *isa);

/* Numbers in a cell of that scalar type. */
static inline tsi_index tsi_fsai_cell(const tsi_fsai_nodes *nodes, bool is_complex) {
  return (nodes->most > TSI_FSAI_NODE_LANES ? 2 : 1) * TSI_FSAI_NODE_LANES * (is_complex ? 2 : 1);
}
