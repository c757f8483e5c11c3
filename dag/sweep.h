/* The DAG of one triangular factor F: the order in which its pieces must run to solve F y = b.
 *
 * Nodes: chunk c is node c (0 .. chunks-1), slice k is node chunks + k. In a forward sweep (with F)
 *
 *   chunk c   gathers the updates of its sources, solves its panels, makes its update vector u_c
 *   slice k   of chunk c: after c; makes its rows of u_c
 *
 * and in a backward sweep (with F transposed), along the same edges reversed,
 *
 *   slice k   of chunk c: after the owners of its rows; makes a partial sum for c
 *   chunk c   after its slices and the owners of its off-rows
 *
 * A pair lists the off-rows first .. first+count-1 of chunk `source` that are columns of chunk `target`.
 * Forward, the target adds these entries of u_source to its x, sources in ascending order; backward, the
 * source copies x of the target.
 *
 * Edges. A node has an edge to each target of its rows, a sliced chunk has one to each of its slices. Edges
 * that other edges imply are left out (transitive reduction). In the factors of a direct solver with
 * symmetric structure all rows below a chunk are on one path to the root; so each node keeps one edge, to the
 * owner of its first off-row.
 *
 * Reads   tsi_chunks, tsi_panels.   Writes  a tsi_sweep that owns its arrays and is immutable afterwards.
 * Invariants (tsi_sweep_check)
 *   - edges lead from a chunk to its slices, or from a chunk or one of its slices to a later chunk
 *   - the pairs of a source cut its off-rows into consecutive ranges, none missing, none twice; targets
 *     ascend; so each update is consumed exactly once
 *   - edges lead to the target of a pair from the node(s) that make the rows of the pair: the DAG is complete
 *   - next and prev list the same edges */
#pragma once

#include "partition/cut/chunks.h"

typedef struct tsi_sweep_pair {
  tsi_index source, target;
  tsi_index first, count; /* Off-rows of source. */
} tsi_sweep_pair;

typedef struct tsi_sweep {
  tsi_index chunks, slices, nodes;
  tsi_index *slice_chunk; /* slices: the chunk of each slice */
  tsi_count edges;
  tsi_count *next_ptr; /* nodes + 1: successors of each node in a forward sweep */
  tsi_index *next;
  tsi_count *prev_ptr; /* nodes + 1: predecessors */
  tsi_index *prev;
  tsi_count pairs;
  tsi_sweep_pair *pair;   /* by source, then target */
  tsi_count *source_ptr;  /* chunks + 1: pairs of each source */
  tsi_count *target_ptr;  /* chunks + 1: positions in by_target */
  tsi_count *by_target;   /* pair numbers by target, then source */
  double *bytes;          /* nodes: factor bytes that the node streams */
  tsi_index width, depth; /* largest number of nodes at one depth; number of depths */
} tsi_sweep;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_sweep_create(tsi_env *env, const tsi_chunks *chunks,
                                                const tsi_panels *panels, size_t scalar_bytes,
                                                tsi_sweep **out);
TRISTAR_CHECKED tristar_status tsi_sweep_check(tsi_env *env, const tsi_sweep *sweep,
                                               const tsi_chunks *chunks);

/* Lists the nodes in a legal order of a forward sweep: each chunk, then its slices. order: nodes. */
void tsi_sweep_order(const tsi_sweep *sweep, tsi_index *order);

/* Writes the DAG in Graphviz DOT form; labels of nodes contain columns and bytes. path "-": standard output.
 * Errors: IO. */
TRISTAR_CHECKED tristar_status tsi_sweep_write_dot(tsi_env *env, const tsi_sweep *sweep,
                                                   const tsi_chunks *chunks, const char *path);
