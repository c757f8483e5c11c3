/* Clusters of devices: see devices.h. Separate from devices.c, which tools/gpu compiles without the library.
 */
#include "runtime/machine/devices.h"

/* Costs of messages. A sending block fences for the system and raises a flag; a receiving block has drawn an
 * arrival and polls its flag. Each is one access for which the next one waits. Between nodes, an adapter
 * sends the flag after the data. */
#define OVERHEAD_SECONDS 1e-6
#define LINK_SECONDS 1e-6
#define NETWORK_SECONDS 4e-6

tristar_cluster tsi_device_cluster(const tsi_device *device) {
  const tsi_device_costs costs = tsi_device_costs_of(device);
  tristar_cluster c;
  tristar_cluster_init(&c);
  c.ranks_per_node = device->per_node;
  c.cores = costs.blocks;
  c.drawn = c.gpu_chunks = 1;
  c.core_bytes_per_second = costs.block_bandwidth;
  c.process_bytes_per_second = costs.bandwidth;
  c.flops_per_second = device->flops / costs.blocks;
  c.step_seconds = costs.node_seconds;
  c.panel_seconds = costs.panel_seconds;
  c.overhead_seconds = c.local_overhead_seconds = OVERHEAD_SECONDS;
  c.local_latency_seconds = LINK_SECONDS;
  c.latency_seconds = NETWORK_SECONDS;
  c.local_bytes_per_second = device->link;
  c.bytes_per_second = device->network;
  return c;
}
