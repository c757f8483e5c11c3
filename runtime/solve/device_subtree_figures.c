/* Figures of the subtrees of a plan, or of a process: see device_subtrees.h. */
#include "codelets/columns.h"
#include "runtime/solve/device_subtrees.h"
#include "runtime/solve/device_choice.h"
#include "runtime/solve/device_memory.h"
#include "runtime/exec/starpu/devices.h"

int tsi_device_subtrees_devices(const tsi_plan_subtrees *all) {
  bool seen[TSI_DEVICES_MOST] = {false};
  int count = 0;
  for (tsi_index k = 0; k < all->count; k++) {
    count += !seen[all->subtree[k].device];
    seen[all->subtree[k].device] = true;
  }
  return count;
}

/* Returns the number of the i-th device with subtrees; -1: there is none. */
static int find_device(const tsi_plan_subtrees *all, int i) {
  bool seen[TSI_DEVICES_MOST] = {false};
  for (tsi_index k = 0; k < all->count; k++) seen[all->subtree[k].device] = true;
  for (int d = 0; d < TSI_DEVICES_MOST; d++)
    if (seen[d] && i-- == 0) return d;
  return -1;
}

static double bytes_of(const tsi_device_data *data) {
  return data ? (double)tsi_device_data_bytes(data) : 0;
}

double tsi_device_subtree_sweep_seconds(const tsi_plan_subtree *b, bool backward) {
  return TSI_DEVICE_TASK_SECONDS + b->resident->seconds[backward];
}

size_t tsi_device_subtree_scratch(const tsi_plan_subtree *b, size_t row) {
  size_t most = 0;
  for (int i = 0; i < b->resident->sides; i++) {
    const size_t bytes = tsi_device_scratch_bytes(&b->resident->cut[i]->tables, row);
    if (most < bytes) most = bytes;
  }
  return most;
}

/* Returns the number of border rows in a solve with A: forward with L, backward with U. */
static tsi_index border_of(const tsi_plan_subtree *b, bool backward) {
  return b->resident->cut[tsi_resident_side(b->resident, backward)]->subtree->border;
}

/* Returns the transfers of a solve: forward x up, then the border down; backward the border up, at the end x
 * down. row: bytes of a row. */
static tristar_subtree_stats figures_of(const tsi_plan_subtree *b, double row, tsi_sweeps sweeps) {
  const tsi_resident *r = b->resident;
  const tsi_index columns = r->cut[0]->subtree->columns,
                  down = sweeps != TSI_BACKWARD ? border_of(b, false) : 0,
                  up = sweeps != TSI_FORWARD ? border_of(b, true) : 0;
  tristar_subtree_stats s = {.device = b->device,
                             .chunk = b->chunk,
                             .columns = columns,
                             .border = border_of(b, false),
                             .table_bytes = bytes_of(r->tables[0]) + bytes_of(r->tables[1]),
                             .transfers = 2 + (down > 0) + (up > 0)};
  s.factor_bytes = bytes_of(r->values[0]) + bytes_of(r->values[1]) + bytes_of(r->from) + bytes_of(r->inverse);
  s.up_bytes = row * (columns + up);
  s.down_bytes = row * (columns + down);
  return s;
}

/* Returns the number of workspace rows of a replay that a subtree has on its device: x and the border of each
 * side. */
static double shared_rows(const tsi_plan_subtree *b) {
  double rows = b->resident->cut[0]->subtree->columns;
  for (int i = 0; i < b->resident->sides; i++) rows += b->resident->cut[i]->subtree->border;
  return rows;
}

/* Returns the bytes of a replay on a device, with rows of so many bytes. */
static double workspace_bytes(const tsi_plan_subtrees *all, int device, size_t row) {
  double bytes = 0;
  size_t scratch = 0;
  for (tsi_index k = 0; k < all->count; k++) {
    const tsi_plan_subtree *b = &all->subtree[k];
    if (b->device != device) continue;
    const size_t needs = tsi_device_subtree_scratch(b, row);
    if (scratch < needs) scratch = needs;
    bytes += shared_rows(b) * (double)row;
  }
  return bytes + (double)scratch;
}

tristar_subtree_stats tsi_device_subtree_describe(const tristar_plan_t *plan, tsi_index k) {
  const tsi_plan_subtree *b = &plan->subtrees->subtree[k];
  const tsi_device_subtree *subtree = b->resident->cut[0]->subtree;
  const tsi_index *supernode = plan->factor->analysis->panels->supernode;
  const tsi_index columns = tsi_plan_columns(&plan->options);
  const tsi_sweeps sweeps = tsi_plan_sweeps(plan);
  tristar_subtree_stats s =
      figures_of(b, (double)tsi_workspace_stride(columns) * (double)plan->factor->scalar_bytes, sweeps);
  s.first_supernode = supernode[subtree->panel];
  s.supernodes = supernode[subtree->panel + subtree->panels->count - 1] - s.first_supernode + 1;
  s.predicted_seconds = tsi_time_of_columns((int)columns) *
                        ((sweeps != TSI_BACKWARD ? tsi_device_subtree_sweep_seconds(b, false) : 0) +
                         (sweeps != TSI_FORWARD ? tsi_device_subtree_sweep_seconds(b, true) : 0));
  return s;
}

static void add_subtree(const tsi_plan_subtree *b, double row, tsi_sweeps sweeps,
                        tristar_device_stats *stats) {
  const tristar_subtree_stats s = figures_of(b, row, sweeps);
  stats->chunks++;
  stats->factor_bytes += s.factor_bytes;
  stats->table_bytes += s.table_bytes;
  stats->up_bytes += s.up_bytes;
  stats->down_bytes += s.down_bytes;
  stats->transfers += s.transfers;
}

bool tsi_device_subtrees_describe_device(const tsi_plan_subtrees *all, int i, tsi_index stride,
                                         tsi_sweeps sweeps, tristar_device_stats *stats) {
  const int device = all && i >= 0 ? find_device(all, i) : -1;
  if (device < 0) return false;
  const tsi_device_facts facts = tsi_device_describe(device);
  *stats = (tristar_device_stats){.worker = facts.worker, .device = device};
  memcpy(stats->name, facts.name, sizeof stats->name);
  for (tsi_index k = 0; k < all->count; k++)
    if (all->subtree[k].device == device)
      add_subtree(&all->subtree[k], (double)stride * (double)all->scalar_bytes, sweeps, stats);
  stats->workspace_bytes = workspace_bytes(all, device, (size_t)stride * all->scalar_bytes);
  return true;
}

bool tsi_device_subtrees_describe(const tristar_plan_t *plan, int i, tristar_device_stats *stats) {
  return tsi_device_subtrees_describe_device(plan->subtrees, i,
                                             tsi_workspace_stride(tsi_plan_columns(&plan->options)),
                                             tsi_plan_sweeps(plan), stats);
}

/* Do so many concurrent solves with so many right-hand sides fit in the memory of all devices? */
static bool have_space(const tristar_plan_t *plan, double memory, tsi_index solves, tsi_index columns) {
  const tsi_plan_subtrees *all = plan->subtrees;
  tristar_device_stats stats;
  for (int i = 0;
       tsi_device_subtrees_describe_device(all, i, tsi_workspace_stride(columns), TSI_BOTH, &stats); i++)
    if (stats.factor_bytes + stats.table_bytes + (double)solves * stats.workspace_bytes > memory)
      return false;
  return true;
}

/* Reduces plan->block, but not below the columns that the plan is made for, and then plan->followed, until
 * all fits. */
static void limit(tristar_plan_t *plan, double memory,
                  bool (*fits)(const tristar_plan_t *plan, double memory, tsi_index solves,
                               tsi_index columns)) {
  const tsi_index least = tsi_plan_columns(&plan->options), solves = tsi_plan_device_solves(&plan->options);
  tsi_index columns = plan->block;
  while (columns > least && !fits(plan, memory, solves, columns))
    columns = columns > TSI_ROW_BLOCK ? columns - TSI_ROW_BLOCK : columns / 2;
  plan->block = tsi_index_max(columns, least);
  while (plan->followed > solves && !fits(plan, memory, plan->followed, plan->block)) plan->followed--;
}

void tsi_device_subtrees_limit(tristar_plan_t *plan, double memory) {
  if (memory > 0) limit(plan, memory, have_space);
}

/* ---- Of a triangle by rows ----------------------------------------------------------------------------- */

static bool triangle_fits(const tristar_plan_t *plan, double memory, tsi_index solves, tsi_index columns) {
  (void)memory;
  return tsi_device_triangle_fits(plan->triangle, solves, columns);
}

void tsi_plan_triangle_limit(tristar_plan_t *plan) {
  limit(plan, 0, triangle_fits);
}

bool tsi_plan_triangle_describe(const tristar_plan_t *plan, tristar_device_stats *stats) {
  const tsi_index stride = tsi_workspace_stride(tsi_plan_columns(&plan->options));
  const tsi_device_triangle_bytes bytes = tsi_device_triangle_weigh(plan->triangle, stride);
  const int device = tsi_device_triangle_device(plan->triangle);
  const tsi_device_facts facts = tsi_device_describe(device);
  *stats = (tristar_device_stats){.worker = facts.worker,
                                  .device = device,
                                  .chunks = 1,
                                  .factor_bytes = bytes.factor,
                                  .table_bytes = bytes.tables,
                                  .workspace_bytes = bytes.workspace,
                                  .transfers = 2};
  memcpy(stats->name, facts.name, sizeof stats->name);
  stats->up_bytes = stats->down_bytes =
      (double)stride * (double)plan->factor->analysis->symbolic->n * (double)plan->factor->scalar_bytes;
  return true;
}
