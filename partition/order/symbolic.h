/* Symbolic factorization: from a pattern to the assembly tree of supernodes.
 *
 * Job. Given the pattern of a square matrix (already row-permuted, if a matching asked for that) find an
 * ordering, the elimination tree of A + A^T under it, and the supernodes of L: consecutive columns whose
 * structure is (nearly) the same. The same structure serves L (Cholesky) and L and U^T (LU on the symmetrized
 * pattern).
 *
 * Reads   a tsi_graph (A + A^T), ordering options.
 * Writes  a tsi_symbolic that owns all its arrays and is immutable afterwards.
 *
 * Invariants (tsi_symbolic_check verifies each)
 *   - perm is a permutation of 0..n-1: perm[k] is the original vertex eliminated as k-th; inverse[perm[k]] =
 * k.
 *   - supernode s holds columns start[s] .. start[s+1]-1; start[0] = 0, start[count] = n, strictly
 * increasing.
 *   - rows of supernode s below its diagonal block: rows[row_ptr[s] .. row_ptr[s+1]-1], ascending, all >=
 * start[s+1].
 *   - parent[s] is the supernode of the first of these rows, TSI_NONE if there are none; parent[s] > s.
 *   - supernodes are numbered in postorder: the subtree of s is the contiguous range s - subtree_size + 1 ..
 * s.
 *   - among the children of a node, and among the roots, heavier subtrees (stored entries) come first.
 *   - containment: the rows of s that lie beyond parent[s]'s columns are rows of parent[s]. Where closed is
 * false (imported_structure.h) the rows of s are only columns of ancestors of s, and children come in any
 * order.
 *   - each entry of A + A^T below the diagonal lies in its column's supernode (block or rows).
 *   - nnz_exact <= nnz_stored; both count the diagonal and the lower triangle of the diagonal blocks only.
 *   - part (if leaf_parts > 1; ordering.h numbers the nodes): node t of the top separator tree has
 * part_columns[t] columns, and the parent of a supernode is in its own node or in an ancestor of it. The
 * columns of a node are contiguous where each half of a dissection is connected, which is not always so; and
 * the postorder may exchange the two subtrees of a node. */
#pragma once

#include "partition/order/graph.h"
#include "runtime/base/watch.h"

typedef struct tsi_symbolic {
  tsi_index n;
  tsi_index *perm;         /* n */
  tsi_index *inverse;      /* n */
  tsi_index count;         /* supernodes */
  tsi_index *start;        /* count + 1 */
  tsi_index *parent;       /* count */
  tsi_count *row_ptr;      /* count + 1 */
  tsi_index *rows;         /* row_ptr[count] */
  tsi_count nnz_exact;     /* entries of L: fundamental structure, no relaxation */
  tsi_count nnz_stored;    /* entries of L with the zeros of relaxed merging */
  bool closed;             /* the containment above holds: the factor of a matrix, nothing dropped */
  double flops;            /* of Cholesky, sum of (column count)^2 over exact columns that are eliminated; LU
                              takes twice as many */
  tsi_index etree_height;  /* nodes on the longest path of the column elimination tree */
  tsi_index tree_height;   /* supernodes on the longest path */
  tsi_index leaf_parts;    /* leaves of the top separator tree (1: none) */
  tsi_index *part_columns; /* 2*leaf_parts - 1: columns of each node of that tree; NULL if 1 */
  tsi_index *part;         /* count: the node of each supernode; NULL if 1 */
} tsi_symbolic;

typedef enum tsi_ordering_kind {
  TSI_ORDER_METIS,      /* METIS_NodeND */
  TSI_ORDER_NATURAL,    /* as given */
  TSI_ORDER_GIVEN,      /* options.given */
  TSI_ORDER_AMD,        /* minimum_degree.h */
  TSI_ORDER_DISSECTION, /* shared_order.h */
  TSI_ORDER_CALLBACK,   /* options.order */
  TSI_ORDER_SCOTCH,     /* scotch_call.h */
  TSI_ORDER_AUTO        /* order_choice.h: AMD or DISSECTION; with a separator tree METIS */
} tsi_ordering_kind;

/* What a factor will be like: of L, its diagonal included. */
typedef struct tsi_fill {
  double entries;      /* of all columns */
  double flops;        /* sum of (entries of a column)^2, as in tsi_symbolic */
  double path_entries; /* of the columns of the heaviest path of the elimination tree; where measured */
} tsi_fill;

static inline void tsi_fill_add_column(tsi_fill *fill, tsi_index entries) {
  fill->entries += entries;
  fill->flops += (double)entries * entries;
}

/* What ORDER_AUTO weighs an ordering by: a factorization, and solves with it. */
typedef struct tsi_order_costs {
  double solves;       /* with a factorization */
  double entry_bytes;  /* bytes of an entry of the factors */
  double flops_factor; /* real operations of the factorization over tsi_fill.flops */
} tsi_order_costs;

/* What ORDER_AUTO took, and why; of another ordering: that one, and "". */
typedef struct tsi_order_choice {
  tsi_ordering_kind kind;
  const char *reason; /* static text */
} tsi_order_choice;

typedef struct tsi_symbolic_options {
  tsi_ordering_kind ordering;
  const tsi_index *given; /* TSI_ORDER_GIVEN: given[k] is the vertex eliminated as k-th; n entries */
  tristar_order_fn order; /* TSI_ORDER_CALLBACK */
  void *order_arg;
  tsi_index leaf_parts; /* 1, or a power of two: leaves of a top separator tree, whose nodes merging never
                           crosses; METIS, DISSECTION and AUTO: METIS_NodeNDP, else cut from the elimination
                           tree (symbolic.c) */
  int seed;             /* of METIS */
  int cores;            /* that a dissection may use; the order does not depend on it */
  double relax;         /* relaxed merging: share of stored zeros tolerated, 0: fundamental supernodes only */
  tsi_order_costs costs;    /* for TSI_ORDER_AUTO */
  tsi_index last_count;     /* vertices that are ordered last, */
  const tsi_index *last;    /* as one supernode, a root, with its columns in this order; leaf_parts is 1 */
  const tsi_index *group;   /* by vertex of a given order, from 1; 0: in none. Columns of different groups are
                               in different supernodes. NULL: none */
  tsi_order_choice *choice; /* written by the ordering; may be NULL */
  tsi_watch *watch;         /* of the caller; NULL: none */
} tsi_symbolic_options;

/* Does the ordering come with its separator tree? */
static inline bool tsi_order_makes_tree(const tsi_symbolic_options *options) {
  return options->leaf_parts > 1 &&
         (options->ordering == TSI_ORDER_METIS || options->ordering == TSI_ORDER_DISSECTION ||
          options->ordering == TSI_ORDER_AUTO);
}

/* Defaults: METIS, one part, seed 1, the standard relaxation; costs of Cholesky in double precision and ten
 * solves. */
void tsi_symbolic_options_init(tsi_symbolic_options *options);

/* Measures the factor of the graph in the order perm (n). Errors: ARGUMENT (perm is no permutation), MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_symbolic_measure(tsi_env *env, const tsi_graph *graph,
                                                    const tsi_index *perm, tsi_fill *fill);

/* Orders and analyzes. Errors: ARGUMENT (given is no permutation: the message names the entry; leaf_parts no
 * power of two), RUNTIME (METIS's code), TOO_LARGE, MEMORY, UNSUPPORTED (SCOTCH), CANCELLED. n = 0 gives an
 * empty structure. */
TRISTAR_CHECKED tristar_status tsi_symbolic_create(tsi_env *env, const tsi_graph *graph,
                                                   const tsi_symbolic_options *options, tsi_symbolic **out);

/* Verifies the invariants above; graph may be NULL (then the last but one is skipped). Errors: INTERNAL,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symbolic_check(tsi_env *env, const tsi_symbolic *symbolic,
                                                  const tsi_graph *graph);
