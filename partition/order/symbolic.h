/* Symbolic factorization: from a pattern to the assembly tree of supernodes.
 *
 * Job. For the pattern of a square matrix (already row-permuted if a matching is used) compute an ordering,
 * the elimination tree of A + A^T under it, and the supernodes of L: consecutive columns with (nearly) the
 * same structure. The same structure serves L (Cholesky) and L and U^T (LU on the symmetrized pattern).
 *
 * Reads   a tsi_graph (A + A^T), ordering options.
 * Writes  a tsi_symbolic that owns all its arrays and is immutable afterwards.
 *
 * Invariants (tsi_symbolic_check verifies each)
 *   - perm is a permutation of 0..n-1: perm[k] is the original vertex eliminated as number k;
 *     inverse[perm[k]] = k.
 *   - supernode s has columns start[s] .. start[s+1]-1; start[0] = 0, start[count] = n, strictly increasing.
 *   - rows of supernode s below its diagonal block: rows[row_ptr[s] .. row_ptr[s+1]-1], ascending, all >=
 *     start[s+1].
 *   - parent[s] is the supernode of the first of these rows, TSI_NONE if there are none; parent[s] > s.
 *   - supernodes are numbered in postorder: the subtree of s is the contiguous range s - subtree_size + 1 ..
 *     s.
 *   - among the children of a node, and among the roots, heavier subtrees (stored entries) come first.
 *   - containment: rows of s behind the columns of parent[s] are rows of parent[s]. If closed is false
 *     (imported_structure.h), the rows of s need only be columns of ancestors of s, and children have any
 *     order.
 *   - each entry of A + A^T below the diagonal is in its column's supernode (block or rows).
 *   - nnz_exact <= nnz_stored; both count the diagonal and the lower triangle of the diagonal blocks only.
 *   - part (if leaf_parts > 1; ordering.h numbers the nodes): node t of the top separator tree has
 *     part_columns[t] columns, and the parent of a supernode is in its own node or in an ancestor of it. The
 *     columns of a node are contiguous if each half of a dissection is connected, which is not always so; and
 *     the postorder may exchange the two subtrees of a node. */
#pragma once

#include "partition/order/graph.h"
#include "runtime/base/watch.h"

typedef struct tsi_symbolic {
  tsi_index n;
  tsi_index *perm;      /* n */
  tsi_index *inverse;   /* n */
  tsi_index count;      /* supernodes */
  tsi_index *start;     /* count + 1 */
  tsi_index *parent;    /* count */
  tsi_count *row_ptr;   /* count + 1 */
  tsi_index *rows;      /* row_ptr[count] */
  tsi_count nnz_exact;  /* entries of L: fundamental structure, no relaxation */
  tsi_count nnz_stored; /* entries of L with the zeros of relaxed merging */
  bool closed;          /* The containment above holds: the factor of a matrix, without dropped entries. */
  double flops; /* Operations of Cholesky: sum of (column count)^2 over exact columns that are eliminated; LU
                   takes twice as many. */
  tsi_index etree_height;  /* Nodes on the longest path of the column elimination tree. */
  tsi_index tree_height;   /* Supernodes on the longest path. */
  tsi_index leaf_parts;    /* Leaves of the top separator tree; 1: there is none. */
  tsi_index *part_columns; /* 2*leaf_parts - 1: columns of each node of this tree; NULL if leaf_parts is 1 */
  tsi_index *part;         /* count: the node of each supernode; NULL if leaf_parts is 1 */
} tsi_symbolic;

typedef enum tsi_ordering_kind {
  TSI_ORDER_METIS,      /* METIS_NodeND */
  TSI_ORDER_NATURAL,    /* The given order. */
  TSI_ORDER_GIVEN,      /* options.given */
  TSI_ORDER_AMD,        /* minimum_degree.h */
  TSI_ORDER_DISSECTION, /* shared_order.h */
  TSI_ORDER_CALLBACK,   /* options.order */
  TSI_ORDER_SCOTCH,     /* scotch_call.h */
  TSI_ORDER_AUTO        /* order_choice.h: AMD or DISSECTION; with a separator tree METIS */
} tsi_ordering_kind;

/* The fill of L, with its diagonal. */
typedef struct tsi_fill {
  double entries;      /* Entries of all columns. */
  double flops;        /* Sum of (entries of a column)^2, as in tsi_symbolic. */
  double path_entries; /* Entries of the columns on the heaviest path of the elimination tree; only if
                          measured. */
} tsi_fill;

static inline void tsi_fill_add_column(tsi_fill *fill, tsi_index entries) {
  fill->entries += entries;
  fill->flops += (double)entries * entries;
}

/* Costs by which ORDER_AUTO compares orderings: factorizations, and solves with each. */
typedef struct tsi_order_costs {
  double factorizations; /* Number of factorizations with the order. */
  double solves;         /* Number of solves per factorization. */
  double entry_bytes;    /* Bytes of an entry of the factors. */
  double flops_factor;   /* Real operations of the factorization divided by tsi_fill.flops. */
} tsi_order_costs;

/* The choice of ORDER_AUTO and its reason; for another ordering, this ordering and "". */
typedef struct tsi_order_choice {
  tsi_ordering_kind kind;
  const char *reason; /* A static string. */
} tsi_order_choice;

typedef struct tsi_symbolic_options {
  tsi_ordering_kind ordering;
  const tsi_index *given; /* TSI_ORDER_GIVEN: n entries, given[k] is the vertex eliminated as number k. */
  tristar_order_fn order; /* TSI_ORDER_CALLBACK */
  void *order_arg;
  tsi_index leaf_parts;  /* 1, or a power of two: leaves of a top separator tree; merging never crosses its
                            nodes. METIS, DISSECTION and AUTO use METIS_NodeNDP; for others the tree is cut
                            from the elimination tree (symbolic.c). */
  int seed;              /* Seed of METIS. */
  int cores;             /* Cores for a dissection; the order does not depend on them. */
  double relax;          /* Relaxed merging: largest share of stored zeros; 0: fundamental supernodes only. */
  tsi_order_costs costs; /* Costs for TSI_ORDER_AUTO. */
  tsi_index last_count;  /* Number of vertices that are ordered last. */
  const tsi_index *last; /* these vertices; they are one supernode, a root, with its columns in this order;
                            leaf_parts is 1 */
  const tsi_index *group; /* The group of each vertex of a given order, from 1; 0: none. Columns of different
                             groups are in different supernodes. NULL: there are no groups. */
  tsi_order_choice *choice; /* Written by the ordering; may be NULL. */
  tsi_watch *watch;         /* Of the caller; NULL: none. */
} tsi_symbolic_options;

/* Does the ordering compute its separator tree? */
static inline bool tsi_order_makes_tree(const tsi_symbolic_options *options) {
  return options->leaf_parts > 1 &&
         (options->ordering == TSI_ORDER_METIS || options->ordering == TSI_ORDER_DISSECTION ||
          options->ordering == TSI_ORDER_AUTO);
}

/* Defaults: METIS, one part, seed 1, the standard relaxation; costs of Cholesky in double precision and ten
 * solves. */
void tsi_symbolic_options_init(tsi_symbolic_options *options);

/* Computes the fill of the graph in the order perm (n). Errors: ARGUMENT (perm is no permutation), MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symbolic_measure(tsi_env *env, const tsi_graph *graph,
                                                    const tsi_index *perm, tsi_fill *fill);

/* Orders and analyzes. Errors: ARGUMENT (given is no permutation: the message has the entry; leaf_parts is no
 * power of two), RUNTIME (METIS's code), TOO_LARGE, MEMORY, UNSUPPORTED (SCOTCH), CANCELLED. n = 0 gives an
 * empty structure. */
TRISTAR_CHECKED tristar_status tsi_symbolic_create(tsi_env *env, const tsi_graph *graph,
                                                   const tsi_symbolic_options *options, tsi_symbolic **out);

/* Verifies the invariants above; graph may be NULL (then the entries of A + A^T are not verified). Errors:
 * INTERNAL, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_symbolic_check(tsi_env *env, const tsi_symbolic *symbolic,
                                                  const tsi_graph *graph);
