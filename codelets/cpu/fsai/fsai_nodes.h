/* Rows of a factorized sparse approximate inverse, node by node: fsai.h for all unknowns of a node together.
 *
 * Job. A node is a few consecutive rows, for example the displacements of a point of a mesh. Its rows of G
 * share the columns of P, which are whole nodes before it, and end with the lower triangle of the node's own
 * block J:
 *
 *   [X I] with X A[P, P] = -A[J, P];  S = [X I] A [X I]^H = D D^H;  rows J of G = D^-1 [X I]
 *
 * These are the rows of fsai.h for the same patterns, but with one factor of A[P, P] for all of them. P grows
 * by the gradient of log det S, the sum of log psi over the rows (Janna, Ferronato and Gambolati 2015). For a
 * node c before this one the gradient is the block (G A)[J, c]. The nodes with the largest Frobenius norms of
 * (G A)[J, c] L^-H join, A[c, c] = L L^H. So the choice does not depend on the basis or the units of the
 * unknowns of a node. To first order the square of this norm is the decrease of log det S if only c joins.
 *
 * Reads   rows of A, nodes.   Writes  rows of G, scratch.
 * Invariants: the rows of a node depend only on A, the nodes, the given pattern and the limits. Columns may
 * have any numbers, as long as rows ascend and a row has the number of its diagonal column. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"

#define TSI_FSAI_NODE_MOST 8 /* maximum number of rows of a node */
/* A cell has one number of each row of a node: TSI_FSAI_NODE_LANES real parts, then, for complex numbers, the
 * imaginary parts. If nodes have more rows, the same follows for these. */
#define TSI_FSAI_NODE_LANES 4

typedef struct tsi_fsai_nodes {
  tsi_index count;  /* number of nodes; 0: rows are computed one by one */
  tsi_index most;   /* rows of the largest node */
  tsi_index *start; /* count + 1: first row of each node */
  tsi_index *of;    /* by row: its node */
  bool *alike;      /* by node: its rows have the same columns */
} tsi_fsai_nodes;

/* Rows of A whose entries have the same cells. */
typedef struct tsi_fsai_lines {
  tsi_index row, rows, position; /* first row; number of rows; position of the first row in the pattern */
  tsi_index entries;             /* number of entries left of the current node */
  tsi_count cell;                /* start of their list */
} tsi_fsai_lines;

/* Scratch for one node at a time. Slots stand for nodes in which its rows, or rows of the pattern, have
 * entries, in the order in which they were found; their columns have cells. Positions are positions of
 * columns in P. */
typedef struct tsi_fsai_node_work {
  tsi_index most;          /* maximum number of columns of P */
  tsi_index *place;        /* by node: its slot; TSI_NONE before and after */
  tsi_index slots, cells;  /* number of slots and of cells */
  tsi_index *node, *first; /* by slot: its node, its first cell */
  tsi_index *position;     /* by cell: position of the column; TSI_NONE: it is not in P */
  void *gradient;          /* by cell: a cell */
  void *own;               /* by cell: entries of the node's own rows; the first `own_cells` cells */
  tsi_index own_cells;
  tsi_count entries; /* total length of the lists of cells */
  tsi_index *cell;   /* these lists */
  tsi_index lines;   /* number of lines */
  tsi_fsai_lines *line;
  tsi_index joined;    /* number of nodes of P */
  tsi_index *begin;    /* joined + 1: position of the first column of each */
  tsi_index *pattern;  /* by node of P: its slot */
  tsi_index *list;     /* nodes of P by their first columns, ascending */
  void *l;             /* by node of P: most cells, rows of L; L[r][c] is undefined for c > r */
  void *inverse;       /* by position: inverse of L's diagonal entry */
  void *z, *x, *g;     /* by position: L z = -A[J, P]; L^H x = z; P's part of G */
  const void *weights; /* weights of all nodes: see weigh; NULL: nothing joins */
  tsi_index *picked;   /* per_step: slots that join */
  double *magnitude;   /* per_step: their magnitudes */
} tsi_fsai_node_work;

typedef struct tsi_fsai_node_kernels {
  const char *isa;
  size_t real_bytes; /* bytes of a number of a cell */
  /* Computes L^-1 of the node's own block of A = L L^H: row r of the matrix has nodes->most scalars from
   * weights + r nodes->most on. Zero: the block has no L, and the node never joins. */
  void (*weigh)(const tsi_matrix_rows *a, const tsi_fsai_nodes *nodes, tsi_index node, void *weights);
  /* Computes the rows of a node. The given pattern is that of rows[0]: each of its columns stands for its
   * node, and nodes ascend. In a step nodes join until they have per_step columns. */
  void (*rows)(const tsi_matrix_rows *a, const tsi_fsai_nodes *nodes, const tsi_fsai_limits *limits,
               tsi_index node, tsi_fsai_row *rows, tsi_fsai_node_work *work);
} tsi_fsai_node_kernels;

/* As tsi_kernels_select. */
const tsi_fsai_node_kernels *tsi_fsai_node_kernels_select(char scalar, const char *isa);

/* Returns the number of reals in a cell of this scalar type. */
static inline tsi_index tsi_fsai_cell(const tsi_fsai_nodes *nodes, bool is_complex) {
  return (nodes->most > TSI_FSAI_NODE_LANES ? 2 : 1) * TSI_FSAI_NODE_LANES * (is_complex ? 2 : 1);
}
