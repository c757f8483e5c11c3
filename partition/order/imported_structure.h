/* Supernodes of triangular factors that were computed elsewhere.
 *
 * Job. Given the structures of L and (where it is another one) of U^T, both by columns, find a numbering of
 * the columns and a common partition into supernodes, with the rows of each factor on its own.
 *
 * The tree is the elimination tree of L + U^T made symmetric. Every entry of either factor joins a column
 * with an ancestor of it, so a postorder of the tree keeps both triangular and puts independent parts into
 * subtrees, although nothing is filled in. In factors from a symmetric structure without dropped entries it
 * is the usual assembly tree.
 *
 * Reads   tsi_columns of one or two factors.
 * Writes  a tsi_symbolic for each: same perm (perm[k]: the given column that becomes k), supernodes and tree,
 * rows of its own. If both have the same rows only the first is made. Invariants: those of symbolic.h with
 * closed = false: rows of a supernode belong to ancestors, but these need not have each other's rows;
 * children need not be ordered by weight. */
#pragma once

#include "partition/order/symbolic.h"

/* The structure of a lower triangular matrix by columns: the rows below the diagonal of column j are
 * row[ptr[j]] .. row[ptr[j] + count[j] - 1], ascending, each once. Columns may share them: then ptr[j + 1] =
 * ptr[j] + 1 says that column j + 1 has the rows of column j but its first. */
typedef struct tsi_columns {
  tsi_index n;
  tsi_count *ptr;   /* n */
  tsi_index *count; /* n */
  tsi_index *row;
} tsi_columns;

/* sides: 1 or 2. out[1] is NULL if there is one side, or both have the same rows. Errors: MEMORY, TOO_LARGE.
 */
TRISTAR_CHECKED tristar_status tsi_symbolic_of_imported(tsi_env *env, int sides, const tsi_columns *columns,
                                                        double relax, tsi_symbolic *out[2]);

/* ---- Block triangular form (block_triangular.c) ----------------------------------------------------------
 *
 * Job. Number the rows and columns of a matrix with an unsymmetric pattern so that P A Q = D + F, D block
 * diagonal with irreducible blocks, F above the blocks (the strongly connected components, Tarjan 1972). With
 * D = L U_D, A = L U and U = U_D + L^-1 F: L has the structure of D alone, and a row of U has those columns
 * of later blocks that the elimination inside its own block brings to it.
 *
 * Invariants (tsi_blocks_check): the rows of a supernode of U are those of L, and then columns of later
 * blocks; the latter are also rows of its parent in the tree of its block. */

/* The entries of a square matrix with entries on its diagonal: entry p, ptr[j] <= p < ptr[j + 1], of line j
 * has the other index index[p], or, with a map, row_map[index[p]]. Lines are columns, or rows. */
typedef struct tsi_matched_lines {
  tsi_index n;
  const tsi_count *ptr;
  const tsi_index *index;
  const tsi_index *row_map; /* NULL: none; of columns */
  bool by_rows;
} tsi_matched_lines;

typedef struct tsi_block_structures {
  tsi_symbolic *lower; /* L: the trees of the blocks, one after the other */
  tsi_symbolic *upper; /* U^T, closed = false: rows are columns of ancestors in another tree, */
  tsi_symbolic *swept; /* and L with that tree: what solves read */
} tsi_block_structures;

/* block: n, of each line's column (row); entries stand in no earlier block's columns than their rows are.
 * Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_blocks_find(tsi_env *env, const tsi_matched_lines *a, tsi_index *block,
                                               tsi_index *blocks);
/* The graph of D + D^T. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_blocks_graph(tsi_env *env, const tsi_matched_lines *a,
                                                const tsi_index *block, tsi_graph **out);
/* forest: of that graph, without parts. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_blocks_structures(tsi_env *env, const tsi_matched_lines *a,
                                                     const tsi_index *block, tsi_index blocks,
                                                     const tsi_symbolic *forest, tsi_block_structures *out);
/* `lower` from `swept`, whose rows may be wrong. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_blocks_own_trees(tsi_env *env, const tsi_symbolic *swept,
                                                    tsi_symbolic **out);
/* Errors: INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_blocks_check(tsi_env *env, const tsi_symbolic *lower,
                                                const tsi_symbolic *upper);
