/* The part of a graph that the methods of METIS and AMD order, component by component.
 *
 * Job. Vertices without neighbours are ordered first (they fill nothing), and the few very dense ones last,
 * as AMD does. Every separator would have to hold the dense ones anyway, and with them METIS finds no good
 * cut. The rest is the core. Its connected components are ordered by themselves, as there is nothing to
 * separate between them, and METIS would take half of its time to find that out. Only a separator tree is one
 * of all of them.
 *
 * Reads   a tsi_graph.
 * Writes  a tsi_core_graph, which owns its arrays. A method writes perm. */
#pragma once

#include <metis.h>

#include "partition/order/graph.h"

/* In core_of: why a vertex is not in the core. */
enum { TSI_ISOLATED = -1, TSI_DENSE = -2 };

/* Numbered component by component, ascending in each. */
typedef struct tsi_core_graph {
  tsi_index n;        /* vertices */
  tsi_index *core_of; /* number in the core of each vertex of the graph, TSI_ISOLATED or TSI_DENSE */
  tsi_index *vertex;  /* and back */
  tsi_index components;
  tsi_index *first;  /* components + 1: the first vertex of each */
  idx_t *xadj, *adj; /* neighbours in component c, both numbered from 0 there: xadj from first[c] + c */
  idx_t *perm;       /* n, of the method: perm[first[c] + k] is the vertex of c eliminated as k-th of them */
} tsi_core_graph;

/* One component of it, or of another graph: the neighbours of v are adj[xadj[v] .. xadj[v+1]-1]. */
typedef struct tsi_component {
  idx_t n;
  idx_t *xadj, *adj;
  idx_t *perm; /* n, written by a method */
} tsi_component;

/* together: all of the core is one component. The core is released with TSI_FREE. Errors: MEMORY, TOO_LARGE
 * (for METIS's integers). */
TRISTAR_CHECKED tristar_status tsi_core_create(tsi_env *env, const tsi_graph *graph, bool together,
                                               tsi_core_graph **out);
/* The components in turn: `at` begins as {0}. Returns false behind the last. */
bool tsi_core_next(const tsi_core_graph *core, tsi_index *c, tsi_component *at);

/* Writes the dense vertices from perm[at] on, by ascending degree. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_core_place_dense(tsi_env *env, const tsi_graph *graph,
                                                    const tsi_core_graph *core, tsi_index at,
                                                    tsi_index *perm);
