/* See order_part.h. */
#include "partition/order/order_part.h"

#include <camd.h>

#include "partition/order/metis_call.h"

#if IDXTYPEWIDTH == 32
#define CAMD_ORDER camd_order
#else
#define CAMD_ORDER camd_l_order
#endif

tristar_status tsi_order_part_create(tsi_env *env, idx_t n, idx_t edges, bool weighted,
                                     tsi_order_part **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_order_part, p, 1);
  p->n = n;
  TSI_TRY(TSI_ALLOC_IN(p, p->vertex, n));
  TSI_TRY(TSI_ALLOC_IN(p, p->xadj, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC_IN(p, p->adj, edges));
  TSI_TRY(TSI_ALLOC_IN(p, p->result, n));
  if (weighted) TSI_TRY(TSI_ALLOC_IN(p, p->weight, n));
  *out = p;
  p = NULL;
  return TRISTAR_OK;
}

tristar_status tsi_order_part_of_component(tsi_env *env, const tsi_component *c, const idx_t *weight,
                                           tsi_order_part **out) {
  TSI_TRY(tsi_order_part_create(env, c->n, c->xadj[c->n], weight != NULL, out));
  for (idx_t v = 0; v < c->n; v++) (*out)->vertex[v] = v;
  memcpy((*out)->xadj, c->xadj, ((size_t)c->n + 1) * sizeof *c->xadj);
  memcpy((*out)->adj, c->adj, (size_t)c->xadj[c->n] * sizeof *c->adj);
  if (weight != NULL) memcpy((*out)->weight, weight, (size_t)c->n * sizeof *weight);
  return TRISTAR_OK;
}

tristar_status tsi_order_part_take_side(tsi_env *env, const tsi_order_part *p, idx_t side, idx_t at,
                                        tsi_order_part **out) {
  idx_t n = 0, edges = 0, k = 0, to = 0;
  *out = NULL;
  TSI_SCRATCH(env, idx_t, number,
              (tsi_count)p->n + p->halo); /* number in the side; TSI_NONE: none, or none yet */
  for (idx_t v = 0; v < p->n + p->halo; v++) number[v] = TSI_NONE;
  for (idx_t v = 0; v < p->n; v++) {
    if (p->result[v] != side) continue;
    number[v] = n++;
    edges += p->xadj[v + 1] - p->xadj[v];
  }
  TSI_TRY(tsi_order_part_create(env, n, edges, p->weight != NULL, out));
  tsi_order_part *q = *out;
  q->at = at;
  q->leaf = p->leaf;
  for (idx_t v = 0; v < p->n; v++) {
    if (p->result[v] != side) continue;
    q->vertex[k] = p->vertex[v];
    if (q->weight != NULL) q->weight[k] = p->weight[v];
    q->xadj[k++] = to;
    for (idx_t e = p->xadj[v]; e < p->xadj[v + 1]; e++) {
      const idx_t u = p->adj[e];
      if (number[u] == TSI_NONE) number[u] = n + q->halo++;
      q->adj[to++] = number[u];
    }
  }
  q->xadj[n] = to;
  return TRISTAR_OK;
}

/* The edges between own vertices. Without a halo these are all edges. */
static tristar_status own_edges(tsi_env *env, const tsi_order_part *p, idx_t **xadj, idx_t **adj) {
  idx_t to = 0;
  TSI_TRY(TSI_ALLOC(env, *xadj, (tsi_count)p->n + 1));
  TSI_TRY(TSI_ALLOC(env, *adj, p->xadj[p->n]));
  for (idx_t v = 0; v < p->n; v++) {
    (*xadj)[v] = to;
    for (idx_t e = p->xadj[v]; e < p->xadj[v + 1]; e++)
      if (p->adj[e] < p->n) (*adj)[to++] = p->adj[e];
  }
  (*xadj)[p->n] = to;
  return TRISTAR_OK;
}

tristar_status tsi_order_part_separate(tsi_env *env, tsi_order_part *p, int seed) {
  idx_t options[METIS_NOPTIONS], n = p->n, size = 0;
  TSI_OWNED idx_t *xadj = NULL, *adj = NULL;
  TSI_TRY(own_edges(env, p, &xadj, &adj));
  tsi_metis_options(seed, options);
  pthread_mutex_lock(&tsi_metis_lock);
  const int code = METIS_ComputeVertexSeparator(&n, xadj, adj, p->weight, options, &size, p->result);
  pthread_mutex_unlock(&tsi_metis_lock);
  return tsi_metis_status(env, code, (tsi_index)p->n, xadj[p->n]);
}

tristar_status tsi_order_part_eliminate(tsi_env *env, tsi_order_part *p) {
  const idx_t all = p->n + p->halo;
  idx_t at = 0;
  double control[CAMD_CONTROL];
  TSI_SCRATCH(env, idx_t, ptr, (tsi_count)all + 1);
  TSI_SCRATCH(env, idx_t, order, all);
  TSI_SCRATCH(env, idx_t, set, all); /* vertices of set 0 are ordered first */
  for (idx_t v = 0; v <= all; v++) ptr[v] = p->xadj[v < p->n ? v : p->n];
  for (idx_t v = 0; v < all; v++) set[v] = v >= p->n;
  camd_defaults(control);
  const idx_t code = CAMD_ORDER(all, ptr, p->adj, order, control, NULL, set);
  if (code == CAMD_OUT_OF_MEMORY)
    TSI_FAIL(env, TRISTAR_ERR_MEMORY, "CAMD ran out of memory on %lld vertices", (long long)all);
  for (idx_t k = 0; code >= CAMD_OK && k < all; k++)
    if (order[k] < p->n) p->result[at++] = order[k];
  if (at != p->n)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "CAMD failed on %lld vertices (code %d)", (long long)all, (int)code);
  return TRISTAR_OK;
}
