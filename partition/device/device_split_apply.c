/* Loads of devices, and devices of supernodes, for a placing: see device_split.h. */
#include "partition/device/device_split.h"

void tsi_device_load_add(const tsi_device_split_costs *c, const tsi_split_subtree *t, tsi_device_load *load) {
  const double rows = (double)t->columns + t->border;
  load->subtrees++;
  load->bytes += t->bytes;
  load->memory += t->memory;
  if (load->scratch < t->scratch) load->scratch = t->scratch;
  load->up += rows * c->row_bytes;
  load->down += rows * c->row_bytes;
  load->seconds += 2 * (c->handover_seconds + tsi_device_split_device_seconds(c, t)) +
                   tsi_device_split_bus_seconds(c, t->columns) + tsi_device_split_bus_seconds(c, t->border);
}

double tsi_device_split_bytes(const tsi_device_split *placing) {
  double bytes = 0;
  for (tsi_index d = 0; d < placing->devices; d++) bytes += placing->load[d].bytes;
  return bytes;
}

bool tsi_device_split_has_space(const tsi_device_split_costs *c, const tsi_device_split *placing) {
  for (tsi_index d = 0; d < placing->devices; d++)
    if (tsi_device_load_memory(&placing->load[d]) > c->device_memory) return false;
  return true;
}

void tsi_device_split_devices(const tsi_device_split *placing, const tsi_symbolic *symbolic,
                              tsi_index *device) {
  for (tsi_index s = 0; s < symbolic->count; s++) device[s] = TSI_NONE;
  for (tsi_index k = 0; k < placing->count; k++)
    device[placing->subtree[k].root] = placing->subtree[k].device;
  for (tsi_index s = symbolic->count; s-- > 0;) /* parents come later: devices are passed down */
    if (symbolic->parent[s] != TSI_NONE && device[symbolic->parent[s]] != TSI_NONE)
      device[s] = device[symbolic->parent[s]];
}
