/* The DAG of one solve: which task waits for which, and who reads whose update vector.
 *
 * Nodes: chunk c is node c (0 .. chunks-1), slice k is node chunks + k. Each node has a forward and a
 * backward task. Combined tasks are numbered node (forward) and nodes + node (backward).
 *
 *   forward   chunk c    gathers the updates of its sources, solves its panels, makes its update vector u_c
 *             slice k    of chunk c: after c; makes its rows of u_c
 *   backward  slice k    of chunk c: after the owners of its rows; makes a partial sum for c
 *             chunk c    after its slices and the owners of its off-rows
 *
 * Edges. All rows below a chunk (or slice) lie on one path to the root, and the structure of the first owner
 * on that path contains the rest. So one forward edge per node is enough, to the owner of its first off-row;
 * a sliced chunk has edges to its slices instead. The backward edges are the same ones reversed, and a chunk
 * without off-rows has an edge from its forward to its backward task. (For general triangular matrices the
 * edges would be all sources after transitive reduction; the structure below holds those as well.)
 *
 * Pairs say who gathers from whom: the off-rows first .. first+count-1 of chunk `source` are columns of chunk
 * `target`. Forward, target adds these entries of u_source to its x, sources in ascending order; backward,
 * source copies x of target.
 *
 * Reads   tsi_chunks, tsi_panels.   Writes  a tsi_dag that owns its arrays and is immutable afterwards.
 * Invariants (tsi_dag_check)
 *   - the graph is acyclic (a topological order of all tasks
 * exists)
 *   - the pairs of a source cut its off-rows into consecutive ranges, none missing, none twice; targets
 * ascend; so each update is consumed exactly once
 *   - the target of a pair is reached by forward edges from the node(s) that make the rows of the pair, and
 * by backward edges from target to each of those nodes: the DAG is complete
 *   - priority of a task > priority of the tasks that wait for it */
#ifndef TSI_DAG_DAG_H
#define TSI_DAG_DAG_H

#include "partition/chunks.h"

typedef struct tsi_pair {
  tsi_index source, target;
  tsi_index first, count; /* off-rows of source */
} tsi_pair;

typedef struct tsi_dag {
  tsi_index chunks, slices, nodes;
  tsi_index *slice_chunk; /* slices: the chunk it belongs to */
  tsi_count edges;        /* forward */
  tsi_count *next_ptr;    /* nodes + 1: forward successors of each node */
  tsi_index *next;
  tsi_count *prev_ptr; /* nodes + 1: forward predecessors */
  tsi_index *prev;
  tsi_count pairs;
  tsi_pair *pair;        /* by source, then target */
  tsi_count *source_ptr; /* chunks + 1: pairs of each source */
  tsi_count *target_ptr; /* chunks + 1: into by_target */
  tsi_count *by_target;  /* pair numbers by target, then source */
  double *bytes;         /* nodes: factor bytes that the node streams in one direction */
  double *priority; /* 2 * nodes tasks: bytes on the heaviest path from the task's start to the end of the
                       solve */
  double critical_bytes;  /* the largest priority */
  tsi_index width, depth; /* largest number of forward nodes at one depth; number of depths */
} tsi_dag;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dag_create(tsi_env *env, const tsi_chunks *chunks,
                                              const tsi_panels *panels, size_t scalar_bytes, tsi_dag **out);
void tsi_dag_destroy(tsi_env *env, tsi_dag **dag);
TRISTAR_CHECKED tristar_status tsi_dag_check(tsi_env *env, const tsi_dag *dag, const tsi_chunks *chunks);

/* Does node's backward task wait for its own forward task (it has no off-rows)? */
static inline bool tsi_dag_turns(const tsi_dag *dag, tsi_index node) {
  return node < dag->chunks && dag->next_ptr[node] == dag->next_ptr[node + 1];
}

/* Calls visit(arg, task, before) for every edge of the combined graph of 2 * nodes tasks: `task` waits for
 * `before`. */
void tsi_dag_for_each_edge(const tsi_dag *dag, void (*visit)(void *arg, tsi_index task, tsi_index before),
                           void *arg);

/* A legal order of the 2 * nodes combined tasks, for the serial replay. seed 0: chunks in their order and
 * back; any other seed: a pseudo-random legal order. order: 2 * nodes. Errors: MEMORY, INTERNAL (the graph
 * has a cycle). */
TRISTAR_CHECKED tristar_status tsi_dag_order(tsi_env *env, const tsi_dag *dag, unsigned seed,
                                             tsi_index *order);

/* Writes the forward DAG in Graphviz DOT form; node labels give columns and bytes. Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_dag_write_dot(tsi_env *env, const tsi_dag *dag, const tsi_chunks *chunks,
                                                 const char *path);

#endif
