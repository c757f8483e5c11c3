/* Subtrees on devices. The schedule's times for the cores alone, and for one device alone, equal the model. A
 * placing passes its check, is the same each time, and never takes longer than the cores alone. Devices
 * without memory, or none, leave all subtrees to the cores; fast devices with enough memory take all. With
 * less memory the time grows step by step. If devices have priority they fill their memory, even if they are
 * slow. The subtrees of a device are cut with borders, each column once; a subtree on a device is one chunk.
 * A part of the tree is a tree with the same rows; its shared nodes are not placed. */
#include "partition/device/device_subtree.h"
#include "partition/device/device_split.h"
#include "partition/cut/tree_part.h"
#include "tests/support/patterns.h"
#include "tests/support/subtests.h"

typedef struct structure {
  tsi_graph *graph;
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  double bytes;   /* of the whole factor */
  double *stored; /* of each supernode */
} structure;

/* Returns the bytes of each supernode, 8 for each entry. */
static double *stored_of(const tsi_symbolic *symbolic, const tsi_panels *panels) {
  double *stored = xcalloc((size_t)symbolic->count + 1, sizeof *stored);
  for (tsi_index k = 0; k < symbolic->count; k++)
    for (tsi_index p = panels->first[k]; p < panels->first[k + 1]; p++)
      stored[k] += 8.0 * (double)tsi_panel_entries(panels, p);
  return stored;
}

static structure structure_of(tsi_env *env, const pattern *a) {
  structure s = {.bytes = 0};
  tsi_symbolic_options options;
  tsi_symbolic_options_init(&options);
  CHECK_OK(tsi_graph_create(env, a->n, a->ptr, a->index, NULL, false, &s.graph));
  CHECK_OK(tsi_symbolic_create(env, s.graph, &options, &s.symbolic));
  CHECK_OK(tsi_panels_create(env, s.symbolic, 16, &s.panels));
  s.stored = stored_of(s.symbolic, s.panels);
  for (tsi_index k = 0; k < s.symbolic->count; k++) s.bytes += s.stored[k];
  return s;
}

static void structure_free(tsi_env *env, structure *s) {
  free(s->stored);
  TSI_FREE(env, s->panels);
  TSI_FREE(env, s->symbolic);
  TSI_FREE(env, s->graph);
}

/* The cores together read 1 byte per second, one core alone half a byte, a device 10 bytes. */
static tsi_device_split_costs costs_of(const structure *s, tsi_index devices, double memory) {
  return (tsi_device_split_costs){.devices = devices,
                                  .task_seconds = 10,
                                  .device_bandwidth = 10,
                                  .device_memory = memory,
                                  .bus_seconds = 1,
                                  .bus_bandwidth = 2,
                                  .cores = 4,
                                  .core_bandwidth = 0.5,
                                  .cores_bandwidth = 1,
                                  .core_task_seconds = 0.5,
                                  .cut = {.ceiling_bytes = 8, .slice_bytes = 8, .scalar_bytes = 8},
                                  .stream_bytes = 8,
                                  .stored = s->stored,
                                  .row_bytes = 8};
}

static tsi_device_split *place(tsi_env *env, const structure *s, const tsi_device_split_costs *costs) {
  tsi_device_split *placing, *again;
  CHECK_OK(tsi_device_split_create(env, s->symbolic, s->panels, costs, &placing));
  CHECK_OK(tsi_device_split_check(env, placing, s->symbolic, s->panels, costs));
  CHECK_OK(tsi_device_split_create(env, s->symbolic, s->panels, costs, &again));
  CHECK(again->count == placing->count && again->seconds == placing->seconds);
  for (tsi_index k = 0; k < placing->count; k++)
    CHECK(placing->subtree[k].root == again->subtree[k].root &&
          placing->subtree[k].device == again->subtree[k].device);
  TSI_FREE(env, again);
  CHECK(placing->seconds <= placing->only_cores * (1 + 1e-12));
  return placing;
}

static double placed_bytes(const tsi_device_split *placing) {
  double bytes = 0;
  for (tsi_index d = 0; d < placing->devices; d++) bytes += placing->load[d].bytes;
  return bytes;
}

static void check_cores_only(tsi_env *env, const structure *s) {
  const tsi_device_split_costs none = costs_of(s, 0, 0), full = costs_of(s, 2, 0);
  tsi_device_split *placing = place(env, s, &none);
  CHECK(fabs(placing->seconds - placing->only_cores) <= 1e-12 * placing->only_cores);
  TSI_FREE(env, placing);
  placing = place(env, s, &full);
  CHECK(placed_bytes(placing) == 0 && fabs(placing->seconds - placing->only_cores) <= 1e-12 * s->bytes);
  CHECK(placing->unfit_bytes > 0 || s->bytes < 100);
  TSI_FREE(env, placing);
}

/* A device uses all of its memory. With less memory the solve is not faster. */
static void check_memory(tsi_env *env, const structure *s) {
  double before = 0;
  for (int part = 4; part >= 0; part--) {
    const tsi_device_split_costs costs = costs_of(s, 1, part * s->bytes / 4);
    tsi_device_split *placing = place(env, s, &costs);
    CHECK(placing->seconds >= before);
    CHECK(part == 4 || placed_bytes(placing) < s->bytes);
    before = placing->seconds;
    TSI_FREE(env, placing);
  }
}

static void check_all_on_device(tsi_env *env, const structure *s) {
  tsi_device_split_costs costs = costs_of(s, 1, s->bytes);
  costs.device_bandwidth = costs.bus_bandwidth = 1e9;
  costs.task_seconds = costs.bus_seconds = 0;
  tsi_device_split *placing = place(env, s, &costs);
  CHECK(placed_bytes(placing) == s->bytes && placing->cores_seconds == 0 && placing->above_seconds == 0);
  TSI_FREE(env, placing);
}

/* With a slow bus no subtree is on a device. */
static void check_slow_bus(tsi_env *env, const structure *s) {
  tsi_device_split_costs costs = costs_of(s, 2, s->bytes);
  costs.bus_bandwidth = 1e-9;
  tsi_device_split *placing = place(env, s, &costs);
  CHECK(placed_bytes(placing) == 0 && placing->unfit_bytes == 0);
  TSI_FREE(env, placing);
}

static bool nearly(double a, double b) {
  return fabs(a - b) <= 1e-9 * (1 + b);
}

/* Without devices one core reads one byte after the other, and task overheads are added. Several cores are
 * limited by their common bandwidth, and by the share of one core. */
static void check_cores(tsi_env *env, const structure *s) {
  tsi_device_split_costs costs = costs_of(s, 0, 0);
  tsi_device_split_schedule *schedule;
  tsi_device_split_times one, slow, all;
  costs.cores = 1;
  costs.core_bandwidth = 1;
  costs.core_task_seconds = 0;
  CHECK_OK(tsi_device_split_schedule_create(env, s->symbolic, s->panels, &costs, &schedule));
  CHECK_OK(tsi_device_split_schedule_run(env, schedule, NULL, 0, &one));
  CHECK(nearly(one.end, s->bytes) && one.subtrees == 0 && one.cores == 0);
  costs.core_task_seconds = 2;
  CHECK_OK(tsi_device_split_schedule_run(env, schedule, NULL, 0, &slow));
  CHECK(slow.end >= one.end + 4);
  costs.core_task_seconds = 0;
  costs.cores = 3;
  costs.core_bandwidth = 0.5;
  CHECK_OK(tsi_device_split_schedule_run(env, schedule, NULL, 0, &all));
  CHECK(all.end >= s->bytes / 1.5 * (1 - 1e-12) && all.end <= 3 * s->bytes * (1 + 1e-12));
  TSI_FREE(env, schedule);
}

/* The whole tree is on a device: its time and its transfers are between two tasks of the cores. */
static void check_devices_in_time(tsi_env *env, const structure *s) {
  tsi_device_split_costs costs = costs_of(s, 2, 0);
  tsi_device_split_schedule *schedule;
  tsi_device_split_times times;
  const tsi_index root = s->symbolic->count - 1;
  costs.handover_seconds = 3;
  tsi_split_subtree list[2] = {{.root = root, .device = 1, .columns = 6, .border = 0, .entries = 500}};
  CHECK_OK(tsi_device_split_schedule_create(env, s->symbolic, s->panels, &costs, &schedule));
  for (tsi_index t = 0; t < root; t++)
    if (s->symbolic->parent[t] == TSI_NONE) { /* there are several roots, so the tree is not one chunk */
      TSI_FREE(env, schedule);
      return;
    }
  CHECK_OK(tsi_device_split_schedule_run(env, schedule, list, 1, &times));
  const double alone = 2 * 0.5 + (1 + 6 * 8.0 / 2) + 3 + (10 + 500 * 8.0 / 10) + 3 + 2 * 0.5;
  CHECK(nearly(times.end, alone) && times.subtrees == times.end && times.cores == 0);
  double *path = xcalloc((size_t)s->symbolic->count, sizeof *path);
  path[root] = 1000;
  costs.device_path = path; /* longer than the time to read the factor */
  CHECK_OK(tsi_device_split_schedule_run(env, schedule, list, 1, &times));
  CHECK(nearly(times.end, alone + 600));
  free(path);
  TSI_FREE(env, schedule);
}

/* Each subtree on a device is one chunk. */
static void check_chunks(tsi_env *env, const structure *s, const tsi_device_split *placing,
                         const tsi_index *device) {
  const tsi_side side = {s->symbolic, s->panels};
  const tsi_chunk_options options = {.ceiling_bytes = s->bytes / 20,
                                     .slice_bytes = s->bytes / 40,
                                     .floor_bytes = s->bytes / 40,
                                     .whole_bytes = s->bytes,
                                     .scalar_bytes = 8,
                                     .device = device};
  tsi_chunks *chunks;
  tsi_index placed = 0, found = 0;
  CHECK_OK(tsi_chunks_create(env, 1, &side, &options, &chunks));
  for (tsi_index k = 0; k < placing->count; k++) placed += placing->subtree[k].device != TSI_NONE;
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index first = s->panels->supernode[chunks->panel[c]],
                    last = s->panels->supernode[chunks->panel[c + 1] - 1];
    for (tsi_index t = first; t <= last; t++) CHECK(device[t] == device[first]);
    if (device[first] == TSI_NONE) continue;
    CHECK(tsi_chunk_is_device_subtree(chunks, s->symbolic, s->panels, c));
    found++;
  }
  CHECK(found == placed);
  TSI_FREE(env, chunks);
}

/* The supernodes of a device are those of its subtrees. */
static void check_devices(tsi_env *env, const structure *s) {
  const tsi_device_split_costs costs = costs_of(s, 3, s->bytes / 4);
  tsi_device_split *placing = place(env, s, &costs);
  tsi_index *device = xmalloc(((size_t)s->symbolic->count + 1) * sizeof *device), columns = 0, placed = 0;
  tsi_device_split_devices(placing, s->symbolic, device);
  for (tsi_index k = 0; k < placing->count; k++)
    if (placing->subtree[k].device != TSI_NONE) columns += placing->subtree[k].columns;
  for (tsi_index t = 0; t < s->symbolic->count; t++)
    if (device[t] != TSI_NONE) placed += s->symbolic->start[t + 1] - s->symbolic->start[t];
  CHECK(placed == columns);
  check_chunks(env, s, placing, device);
  free(device);
  TSI_FREE(env, placing);
}

/* The finer chunks contain the columns of the subtree, then its border. */
static void check_subtrees(tsi_env *env, const structure *s) {
  const tsi_side side = {s->symbolic, s->panels};
  const tsi_chunk_options coarse = {.ceiling_bytes = s->bytes / 8,
                                    .slice_bytes = s->bytes / 16,
                                    .scalar_bytes = 8},
                          fine = {.ceiling_bytes = 400, .slice_bytes = 200, .scalar_bytes = 8};
  tsi_chunks *chunks, *cut;
  tsi_device_subtree *subtree;
  CHECK_OK(tsi_chunks_create(env, 1, &side, &coarse, &chunks));
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (!tsi_chunk_is_device_subtree(chunks, s->symbolic, s->panels, c)) continue;
    CHECK_OK(tsi_device_subtree_create(env, chunks, s->symbolic, s->panels, c, &subtree));
    CHECK_OK(tsi_device_subtree_check(env, subtree, chunks, s->symbolic, s->panels));
    CHECK_OK(tsi_device_subtree_cut(env, subtree, &fine, &cut));
    tsi_index border = 0;
    for (tsi_index k = 0; k < cut->count; k++)
      if (cut->panel[k] == cut->panel[k + 1]) border += tsi_chunk_columns(cut, k);
    CHECK(cut->column[0] == 0 && cut->column[cut->count] == subtree->columns + subtree->border);
    CHECK(border == subtree->border && cut->panel[cut->count] == subtree->panels->count);
    CHECK(subtree->border == tsi_chunk_off_rows(chunks, c));
    TSI_FREE(env, cut);
    TSI_FREE(env, subtree);
  }
  TSI_FREE(env, chunks);
}

/* With devices_first even slow devices get all that fits: less with less memory, nothing without memory. */
static void check_devices_first(tsi_env *env, const structure *s) {
  tsi_device_split_costs costs = costs_of(s, 2, 1e12);
  tsi_device_split *placing;
  costs.device_bandwidth = 1e-3;
  costs.devices_first = true;
  CHECK_OK(tsi_device_split_create(env, s->symbolic, s->panels, &costs, &placing));
  for (tsi_index k = 0; k < placing->count; k++) CHECK(placing->subtree[k].device != TSI_NONE);
  CHECK(placing->unfit_bytes == 0 && (placing->count > 0 || s->bytes == 0));
  const double all = placed_bytes(placing);
  double before = all;
  TSI_FREE(env, placing);
  for (int part = 24; part >= 0; part--) {
    costs.device_memory = part * s->bytes / 20;
    CHECK_OK(tsi_device_split_create(env, s->symbolic, s->panels, &costs, &placing));
    CHECK_OK(tsi_device_split_check(env, placing, s->symbolic, s->panels, &costs));
    const double placed = placed_bytes(placing);
    CHECK_MSG(placed <= before && placed + placing->unfit_bytes == all,
              "%d/20 of %g bytes: %g placed, %g before", part, s->bytes, placed, before);
    CHECK(placed > 0 || part < 20 || s->bytes == 0);
    before = placed;
    TSI_FREE(env, placing);
  }
  CHECK(before == 0);
}

/* Chooses every third leaf and all its ancestors. An ancestor of two chosen leaves is shared. */
static void choose_part(const tsi_symbolic *symbolic, bool *has, bool *shared) {
  tsi_index leaves = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) has[s] = shared[s] = true;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (symbolic->parent[s] != TSI_NONE) has[symbolic->parent[s]] = false;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const bool leaf = has[s];
    if (leaf) has[s] = leaves++ % 3 == 0;
    shared[s] = false;
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (!has[s] || parent == TSI_NONE) continue;
    if (has[parent] || shared[s]) shared[parent] = true;
    has[parent] = true;
  }
}

static void check_part(tsi_env *env, const structure *s) {
  OWNED bool *has = xmalloc((size_t)s->symbolic->count + 1),
             *shared = xmalloc((size_t)s->symbolic->count + 1);
  tsi_tree_part *part;
  tsi_device_split_costs costs = costs_of(s, 2, 1e9);
  choose_part(s->symbolic, has, shared);
  CHECK_OK(tsi_tree_part_create(env, s->symbolic, s->panels, has, &part));
  CHECK_OK(tsi_panels_check(env, part->panels, part->symbolic));
  for (tsi_index k = 0; k < part->symbolic->count; k++) {
    const tsi_index from = part->supernode[k], parent = part->symbolic->parent[k];
    const tsi_count rows = part->symbolic->row_ptr[k + 1] - part->symbolic->row_ptr[k];
    CHECK(has[from] && (k == 0 || from > part->supernode[k - 1]));
    CHECK((parent == TSI_NONE ? TSI_NONE : part->supernode[parent]) == s->symbolic->parent[from]);
    CHECK(rows == s->symbolic->row_ptr[from + 1] - s->symbolic->row_ptr[from]);
    for (tsi_count r = 0; r < rows; r++) { /* the same position in the same supernode */
      const tsi_index row = part->symbolic->rows[part->symbolic->row_ptr[k] + r],
                      of = s->symbolic->rows[s->symbolic->row_ptr[from] + r];
      tsi_index owner = parent;
      while (part->symbolic->start[owner + 1] <= row) owner++;
      CHECK(row - part->symbolic->start[owner] == of - s->symbolic->start[part->supernode[owner]]);
    }
    shared[k] = shared[from]; /* k <= from */
  }
  costs.shared = shared;
  const structure whole = {NULL, part->symbolic, part->panels, 0, stored_of(part->symbolic, part->panels)};
  costs.stored = whole.stored;
  tsi_device_split *placing = place(env, &whole, &costs);
  for (tsi_index k = 0; k < placing->count; k++) CHECK(!shared[placing->subtree[k].root]);
  TSI_FREE(env, placing);
  free(whole.stored);
  TSI_FREE(env, part);
}

int test_device_split(int argc, char **argv) {
  subtests_begin(&argc, argv);
  const char *name;
  pattern a;
  tsi_env env;
  tsi_env_init(&env);
  env.check = true;
  for (int i = 0; pattern_case(i, &name, &a); i++) {
    structure s = structure_of(&env, &a);
    if (a.n > 0) {
      RUN(check_cores(&env, &s));
      RUN(check_devices_in_time(&env, &s));
      RUN(check_cores_only(&env, &s));
      RUN(check_memory(&env, &s));
      RUN(check_all_on_device(&env, &s));
      RUN(check_slow_bus(&env, &s));
      RUN(check_devices(&env, &s));
      RUN(check_devices_first(&env, &s));
      RUN(check_subtrees(&env, &s));
      RUN(check_part(&env, &s));
    }
    structure_free(&env, &s);
    pattern_free(&a);
  }
  CHECK(atomic_load(&env.memory.current) == 0);
  return 0;
}
