/* Vertices with the same neighbours, as one.
 *
 * Job. Unknowns of a node of a mesh have the same neighbours, and each other: the displacements of
 * elasticity, for instance. Merged, they are a third of the vertices and a ninth of the edges.
 *
 * Reads   a tsi_component.
 * Writes  a tsi_merged, which owns its arrays.
 * Invariants: the vertices of a group have the same closed neighbourhood; groups are numbered by their first
 * vertices. */
#pragma once

#include "partition/order/core_graph.h"

typedef struct tsi_merged {
  tsi_component groups; /* as vertices; perm is to be written by a method */
  idx_t *weight;        /* vertices of each group; NULL: all have as many */
  idx_t *start;         /* groups + 1: the vertices of group g are member[start[g]] .. member[start[g+1]-1] */
  idx_t *member;        /* ascending in a group */
} tsi_merged;

/* *out stays NULL where less than a tenth of the vertices would go. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_merged_create(tsi_env *env, const tsi_component *c, tsi_merged **out);
/* perm: of the component, written, from the order of the groups (groups.perm). */
void tsi_merged_expand(const tsi_merged *m, idx_t *perm);
