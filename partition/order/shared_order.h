/* Nested dissection of a component by several processes.
 *
 * Job. METIS takes random numbers from the C library's rand(), whose state the threads of a process share. So
 * processes order parts at the same time: helpers that run the program order_part. Large parts are separated
 * one by one; a small one is ordered as a whole. If no helper can be started, or one fails, this process does
 * its work: the order is the same.
 *
 * METIS, AMD or Scotch order whole components in this process or, if the caller has a watch, in a helper: the
 * libraries cannot be interrupted, but a process can be killed.
 *
 * Vertices with the same neighbours, such as the unknowns of a node of a mesh, are merged first.
 *
 * Reads   a tsi_component.
 * Writes  its perm.
 * Invariants: perm depends on the component, the method and the seed only. After a cancellation no helper
 * runs. */
#pragma once

#include "partition/order/core_graph.h"
#include "partition/order/symbolic.h"

/* cores: number of concurrent helpers; 1: none, or one if there is a watch. watch may be NULL. Errors:
 * MEMORY, RUNTIME (METIS, CAMD), CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_shared_order(tsi_env *env, const tsi_component *c, int seed, int cores,
                                                tsi_watch *watch);

/* The method that orders a component as a whole. */
typedef struct tsi_method {
  tsi_ordering_kind kind; /* METIS, AMD or SCOTCH */
  tsi_index leaf_parts;   /* METIS: leaves of a separator tree; 1: no such tree */
  int seed;
  idx_t *sizes;   /* 2 * leaf_parts - 1, written: sizes of the nodes of the tree; NULL without a tree */
  tsi_fill *fill; /* AMD adds its prediction. */
} tsi_method;

/* watch may be NULL. Errors: MEMORY, TOO_LARGE, RUNTIME, UNSUPPORTED, CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_component_order(tsi_env *env, const tsi_component *c,
                                                   const tsi_method *method, tsi_watch *watch);

/* In a helper: does the job in the shared memory of this number of bytes; returns an exit status. */
int tsi_shared_order_serve(void *memory, size_t bytes);
