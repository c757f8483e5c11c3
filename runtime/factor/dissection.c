/* See dissection.h. */
#include "runtime/factor/dissection.h"

#include "partition/order/graph.h"
#include "partition/order/ordering.h"

tristar_status tsi_dissect(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                           tsi_index *position) {
  TSI_OWNED tsi_graph *graph = NULL;
  TSI_OWNED tsi_index *perm = NULL;
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  TSI_TRY(TSI_ALLOC(env, perm, n));
  TSI_TRY(tsi_graph_create(env, n, ptr, index, NULL, false, &graph));
  TSI_TRY(tsi_order(env, graph, &options, perm, NULL, NULL));
  return tsi_invert_permutation(env, n, perm, position);
}
