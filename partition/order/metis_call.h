/* Calls of METIS: limits of its integers, one call at a time, its return codes. */
#pragma once

#include <pthread.h>

#include "partition/order/core_graph.h"

/* METIS takes random numbers from rand(), whose state belongs to the process. The lock allows one call at a
 * time, so the same seed gives the same result. */
extern pthread_mutex_t tsi_metis_lock;

/* Options of a call: numbers from 0, and the seed of its random numbers. */
void tsi_metis_options(int seed, idx_t options[METIS_NOPTIONS]);

/* Can METIS count this number of edges? Errors: TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_metis_can_count(tsi_env *env, tsi_count edges);
/* Orders a component: METIS_NodeND, or with leaf_parts > 1 METIS_NodeNDP, which writes the sizes of the nodes
 * (2 * leaf_parts - 1). Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_metis_order(tsi_env *env, const tsi_component *c, tsi_index leaf_parts,
                                               int seed, idx_t *sizes);
/* The status for a return code of METIS. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_metis_status(tsi_env *env, int code, tsi_index vertices, tsi_count edges);
