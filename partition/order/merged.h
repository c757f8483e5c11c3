/* Vertices with the same neighbours, merged into one.
 *
 * Job. The unknowns of a node of a mesh, for instance the displacements of elasticity, are neighbours and
 * have the same other neighbours. Merged, they are a third of the vertices and a ninth of the edges.
 *
 * Reads   a tsi_component.
 * Writes  a tsi_merged, which owns its arrays.
 * Invariants: the vertices of a group have the same closed neighbourhood; groups are numbered by their first
 * vertices. */
#pragma once

#include "partition/order/core_graph.h"

typedef struct tsi_merged {
  tsi_component groups; /* The groups as vertices; a method writes perm. */
  idx_t *weight;        /* Number of vertices of each group; NULL: all groups have equally many. */
  idx_t *start;         /* groups + 1: the vertices of group g are member[start[g]] .. member[start[g+1]-1] */
  idx_t *member;        /* Vertices, ascending in each group. */
} tsi_merged;

/* *out stays NULL if merging would remove less than a tenth of the vertices. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_merged_create(tsi_env *env, const tsi_component *c, tsi_merged **out);
/* Writes perm of the component from the order of the groups (groups.perm). */
void tsi_merged_expand(const tsi_merged *m, idx_t *perm);
