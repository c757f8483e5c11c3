/* See parts.h. */
#include "partition/parts.h"

#include <metis.h>

#include "partition/ordering.h"

#define VERTICES_LEAST 8 /* of a part, for METIS */

static tristar_status run_metis(tsi_env *env, const tsi_graph *graph, tsi_index parts, idx_t *xadj,
                                idx_t *adj, idx_t *out) {
  idx_t options[METIS_NOPTIONS], n = graph->n, count = parts, constraints = 1, cut;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  pthread_mutex_lock(&tsi_metis_lock);
  const int code = METIS_PartGraphKway(&n, &constraints, xadj, adj, NULL, NULL, NULL, &count, NULL, NULL,
                                       options, &cut, out);
  pthread_mutex_unlock(&tsi_metis_lock);
  return tsi_metis_status(env, code, graph->n, graph->ptr[graph->n]);
}

tristar_status tsi_graph_parts(tsi_env *env, const tsi_graph *graph, tsi_index parts, tsi_index *part) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = graph->n;
  const tsi_count edges = graph->ptr[n];
  idx_t *xadj = NULL, *adj = NULL, *out = NULL;
  for (tsi_index v = 0; v < n; v++) part[v] = (tsi_index)((int64_t)v * parts / n);
  if (parts < 2 || n / VERTICES_LEAST < parts || edges == 0) goto out;
  TSI_TRY(tsi_metis_can_count(env, edges));
  TSI_TRY(TSI_ALLOC(env, xadj, (tsi_count)n + 1));
  TSI_TRY(TSI_ALLOC(env, adj, edges));
  TSI_TRY(TSI_ALLOC(env, out, n));
  for (tsi_index v = 0; v <= n; v++) xadj[v] = (idx_t)graph->ptr[v];
  for (tsi_count e = 0; e < edges; e++) adj[e] = graph->adj[e];
  TSI_TRY(run_metis(env, graph, parts, xadj, adj, out));
  for (tsi_index v = 0; v < n; v++) part[v] = (tsi_index)out[v];
out:
  TSI_FREE(env, xadj);
  TSI_FREE(env, adj);
  TSI_FREE(env, out);
  return status;
}
