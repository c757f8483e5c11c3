/* See layout_words.h. */
#include "runtime/process/layout_words.h"

#include "runtime/base/options.h"

tristar_status tsi_layout_check_words(tsi_env *env, const tristar_layout *layout) {
  if ((unsigned)layout->algorithm <= TRISTAR_ALGORITHM_LEVELWISE &&
      (unsigned)layout->map <= TRISTAR_MAP_CYCLIC &&
      (unsigned)layout->message_tree <= TRISTAR_MESSAGE_TREE_FLAT)
    return TRISTAR_OK;
  TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "layout: algorithm %d, map %d, tree %d", (int)layout->algorithm,
           (int)layout->map, (int)layout->message_tree);
}

/* Chunks for GPUs. A panel takes a block as long as about 80 KB of factor. But chunks of single panels would
 * occupy too many blocks at the bottom of the tree. These sizes had the least simulated times for four
 * families of matrices on up to 16 A100. */
#define GPU_CHUNK_BYTES 512e3
#define GPU_PANEL_BYTES 20e3
#define GPU_SLICE_BYTES 32e3
#define GPU_WAIT_BYTES 80e3

tsi_layout_options tsi_layout_options_of(const tristar_layout *layout, double floor_bytes, tsi_count entries,
                                         size_t scalar_bytes) {
  tsi_chunk_options chunks;
  tsi_chunk_options_init(&chunks, floor_bytes, entries, scalar_bytes);
  tsi_layout_options options = {.px = layout->px,
                                .py = layout->py,
                                .pz = layout->pz,
                                .map = layout->map == TRISTAR_MAP_CYCLIC ? TSI_MAP_CYCLIC : TSI_MAP_SUBTREE,
                                .replicated = layout->algorithm == TRISTAR_ALGORITHM_REPLICATED,
                                .floor_bytes = chunks.floor_bytes,
                                .ceiling_bytes = chunks.ceiling_bytes,
                                .slice_bytes = chunks.slice_bytes,
                                .scalar_bytes = scalar_bytes};
  if (floor_bytes > TSI_GPU_FLOOR_BYTES) return options;
  options.ceiling_bytes = GPU_CHUNK_BYTES;
  options.panel_bytes = GPU_PANEL_BYTES;
  options.slice_bytes = GPU_SLICE_BYTES;
  options.wait_bytes = GPU_WAIT_BYTES;
  return options;
}

tsi_tree tsi_tree_of(const tristar_layout *layout) {
  return layout->message_tree == TRISTAR_MESSAGE_TREE_FLAT ? TSI_TREE_FLAT : TSI_TREE_BINARY;
}

bool tsi_layout_is_squarest(const tristar_layout *layout) {
  const int64_t count = (int64_t)layout->px * layout->py;
  for (int64_t least = tsi_index_min(layout->px, layout->py) + 1; least * least <= count; least++)
    if (count % least == 0) return false;
  return true;
}

static tristar_status check_cluster(const tsi_env *env, const tristar_cluster *c) {
  const double positive[] = {c->core_bytes_per_second, c->cached_bytes_per_second, c->flops_per_second,
                             c->bytes_per_second,      c->local_bytes_per_second,  c->dense_flops_per_second};
  const double others[] = {c->node_bytes_per_second,  c->cache_bytes,      c->step_seconds,
                           c->latency_seconds,        c->overhead_seconds, c->local_latency_seconds,
                           c->local_overhead_seconds, c->panel_seconds,    c->process_bytes_per_second};
  if (c->ranks_per_node < 1 || c->cores < 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "cluster: ranks_per_node %d, cores %d", c->ranks_per_node, c->cores);
  if (c->by_priority != 0 && c->by_priority != 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "cluster: by_priority is %d, not 0 or 1", c->by_priority);
  if (c->drawn != 0 && c->drawn != 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "cluster: drawn is %d, not 0 or 1", c->drawn);
  if (c->gpu_chunks != 0 && c->gpu_chunks != 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "cluster: gpu_chunks is %d, not 0 or 1", c->gpu_chunks);
  if (c->drawn && c->by_priority)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "cluster: steps are drawn in a fixed order, or run by priority, not both");
  if ((int64_t)c->ranks_per_node * c->cores > 1 << 20)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "cluster: %d processes of %d cores on a node", c->ranks_per_node,
             c->cores);
  for (size_t k = 0; k < sizeof positive / sizeof *positive; k++)
    if (!(positive[k] > 0 && positive[k] < 1e18))
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "cluster: a rate is %g, not positive", positive[k]);
  for (size_t k = 0; k < sizeof others / sizeof *others; k++)
    if (!(others[k] >= 0 && others[k] < 1e18))
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "cluster: a number is %g, negative or infinite", others[k]);
  return TRISTAR_OK;
}

tristar_status tsi_cluster_take(const tsi_env *env, const tristar_cluster *given, tristar_cluster *full) {
  TSI_TRY(TSI_OPTIONS(env, tristar_cluster, given, full));
  return check_cluster(env, full);
}
