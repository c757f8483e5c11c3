/* The part of a graph that the methods of METIS and AMD order, component by component.
 *
 * Job. Vertices without neighbours are ordered first (they cause no fill), and the few very dense ones last,
 * as AMD does. Every separator would have to contain the dense ones, and METIS finds no good cut with them.
 * The other vertices are the core. Each of its connected components is ordered by itself: no separator is
 * needed between them, and METIS would take half of its time to find that out. Only a separator tree covers
 * all components together.
 *
 * Reads   a tsi_graph.
 * Writes  a tsi_core_graph, which owns its arrays. A method writes perm. */
#pragma once

#include <metis.h>

#include "partition/order/graph.h"

/* Values of core_of for vertices outside the core. */
enum { TSI_ISOLATED = -1, TSI_DENSE = -2 };

/* Vertices of the core are numbered component by component, ascending in each. */
typedef struct tsi_core_graph {
  tsi_index n;        /* vertices */
  tsi_index *core_of; /* For each vertex of the graph its number in the core, TSI_ISOLATED or TSI_DENSE. */
  tsi_index *vertex;  /* The vertex of each number. */
  tsi_index components;
  tsi_index *first;  /* components + 1: first vertex of each */
  idx_t *xadj, *adj; /* Neighbours in component c, numbered from 0 there; xadj of component c begins at
                        first[c] + c. */
  idx_t *perm;       /* n, of a method: vertex perm[first[c] + k] of c is eliminated as number k */
} tsi_core_graph;

/* One component of a core, or of another graph: the neighbours of v are adj[xadj[v] .. xadj[v+1]-1]. */
typedef struct tsi_component {
  idx_t n;
  idx_t *xadj, *adj;
  idx_t *perm; /* n, written by a method */
} tsi_component;

/* together: the whole core is one component. Release the core with TSI_FREE. Errors: MEMORY, TOO_LARGE (for
 * METIS's integers). */
TRISTAR_CHECKED tristar_status tsi_core_create(tsi_env *env, const tsi_graph *graph, bool together,
                                               tsi_core_graph **out);
/* Iterates over the components. *c begins at 0; *at must stay unchanged between calls. Returns false after
 * the last component. */
bool tsi_core_next(const tsi_core_graph *core, tsi_index *c, tsi_component *at);

/* Writes the dense vertices from perm[at] on, by ascending degree. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_core_place_dense(tsi_env *env, const tsi_graph *graph,
                                                    const tsi_core_graph *core, tsi_index at,
                                                    tsi_index *perm);
