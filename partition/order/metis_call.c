/* See metis_call.h. */
#include "partition/order/metis_call.h"

pthread_mutex_t tsi_metis_lock = PTHREAD_MUTEX_INITIALIZER;

void tsi_metis_options(int seed, idx_t options[METIS_NOPTIONS]) {
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = seed;
}

tristar_status tsi_metis_can_count(tsi_env *env, tsi_count edges) {
  if (edges > IDX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "METIS cannot count %lld edges with its %d-bit integers",
             (long long)edges, IDXTYPEWIDTH);
  return TRISTAR_OK;
}

tristar_status tsi_metis_status(tsi_env *env, int code, tsi_index vertices, tsi_count edges) {
  if (code == METIS_ERROR_MEMORY)
    TSI_FAIL(env, TRISTAR_ERR_MEMORY, "METIS ran out of memory on %d vertices (code %d)", vertices, code);
  if (code != METIS_OK)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "METIS failed on %d vertices, %lld edges (code %d)", vertices,
             (long long)edges, code);
  return TRISTAR_OK;
}

tristar_status tsi_metis_order(tsi_env *env, const tsi_component *c, tsi_index leaf_parts, int seed,
                               idx_t *sizes) {
  idx_t options[METIS_NOPTIONS], n = c->n;
  int code = METIS_OK;
  TSI_SCRATCH(env, idx_t, inverse, n);
  tsi_metis_options(seed, options);
  pthread_mutex_lock(&tsi_metis_lock);
  if (leaf_parts > 1)
    code = METIS_NodeNDP(n, c->xadj, c->adj, NULL, leaf_parts, options, c->perm, inverse, sizes);
  else
    code = METIS_NodeND(&n, c->xadj, c->adj, NULL, options, c->perm, inverse);
  pthread_mutex_unlock(&tsi_metis_lock);
  return tsi_metis_status(env, code, (tsi_index)c->n, c->xadj[c->n]);
}
