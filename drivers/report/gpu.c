/* See gpu.h. */
#include "drivers/report/gpu.h"

#include "runtime/context/context.h"
#include "runtime/machine/predict.h"
#include "runtime/solve/plan.h"

static const tsi_index widths[TSI_GPU_WIDTHS] = {128, 64};

static const char *const bound_names[] = {[TSI_BOUND_BANDWIDTH] = "bandwidth",
                                          [TSI_BOUND_LATENCY] = "latency",
                                          [TSI_BOUND_PATH] = "path",
                                          [TSI_BOUND_BLOCKS] = "blocks",
                                          [TSI_BOUND_ORDER] = "order"};
static const char *const bound_texts[] = {
    [TSI_BOUND_BANDWIDTH] = "the bandwidth of the device",
    [TSI_BOUND_LATENCY] = "latency: the longest chain of nodes waits more than it streams",
    [TSI_BOUND_PATH] = "the longest chain of nodes, which one block after the other streams",
    [TSI_BOUND_BLOCKS] = "the number of blocks: all are at work, most of the time without streaming",
    [TSI_BOUND_ORDER] = "no single bound: tickets become ready in waves"};

/* Sets the costs of the cores: measured bandwidths and the assumed overhead of tasks. */
static void add_cores(const tsi_session *s, const tsi_bandwidth *bandwidth, tsi_device_split_costs *place) {
  tristar_plan_options options;
  tristar_plan_options_init(&options);
  place->cores = s->p.workers;
  place->core_bandwidth = 1e9 * bandwidth->one;
  place->cores_bandwidth = 1e9 * tsi_bandwidth_of(bandwidth, s->p.workers);
  place->core_task_seconds = tsi_costs_assumed(&s->ts->machine, s->p.workers).task;
  place->cut = tsi_plan_chunk_options(s->factor, &options);
}

/* Sets device and best. */
static bool choose(tsi_session *s, tsi_gpu_report *r) {
  *r = (tsi_gpu_report){.device = tsi_device_get(s->settings->gpu)};
  if (r->device == NULL) return true;
  const tsi_device_costs costs = tsi_device_costs_of(r->device);
  return tsi_session_check(s, tsi_device_choose(tsi_context_env(s->ts), s->factor, &costs, &r->best),
                           s->name);
}

static bool place(tsi_session *s, const tsi_bandwidth *bandwidth, int64_t devices, tsi_gpu_report *r) {
  tsi_device_split_costs costs = tsi_device_split_costs_assumed(s->factor, r->device);
  costs.devices = (tsi_index)devices;
  add_cores(s, bandwidth, &costs);
  return tsi_session_check(
      s, tsi_device_place(tsi_context_env(s->ts), s->factor, &costs, &r->best, &r->placing), s->name);
}

bool tsi_gpu_place(tsi_session *s, const tsi_bandwidth *bandwidth, int64_t devices, tsi_gpu_report *r) {
  return choose(s, r) && place(s, bandwidth, devices, r);
}

bool tsi_gpu_make(tsi_session *s, const tsi_bandwidth *bandwidth, tsi_gpu_report *r) {
  if (!choose(s, r)) return false;
  for (int k = 0; k < TSI_GPU_WIDTHS && r->device; k++) {
    tsi_device_options options = r->best.options;
    options.panel_width = widths[k];
    if (!tsi_session_check(
            s, tsi_device_forecast_make(tsi_context_env(s->ts), s->factor, &options, &r->narrow[k]), s->name))
      return false;
  }
  return r->device == NULL || s->settings->devices == 0 || place(s, bandwidth, s->settings->devices, r);
}

void tsi_gpu_free(const tsi_session *s, tsi_gpu_report *r) {
  TSI_FREE(tsi_context_env(s->ts), r->placing);
}

/* Returns the sums over the devices. */
static tsi_device_load sum_of_loads(const tsi_device_split *p) {
  tsi_device_load sum = {0};
  for (tsi_index d = 0; d < p->devices; d++) {
    sum.subtrees += p->load[d].subtrees;
    sum.bytes += p->load[d].bytes;
    sum.up += p->load[d].up;
    sum.down += p->load[d].down;
  }
  return sum;
}

static void print_placing(const tsi_gpu_report *r) {
  const tsi_device_split *p = r->placing;
  if (p == NULL) return;
  const tsi_device_load sum = sum_of_loads(p);
  tsi_report("placing", "predicted %s for a solve with %s beside the cores; %s with the cores alone",
             tsi_text_seconds(p->seconds), tsi_text_many(p->devices, "such device"),
             tsi_text_seconds(p->only_cores));
  for (tsi_index d = 0; d < p->devices; d++) {
    const tsi_device_load *load = &p->load[d];
    tsi_report("", "device %d: %s, %s of factor, %s; in each solve %s up, %s down its bus", (int)d,
               tsi_text_many(load->subtrees, "subtree"), tsi_text_bytes(load->bytes),
               tsi_text_seconds(load->seconds), tsi_text_bytes(load->up), tsi_text_bytes(load->down));
  }
  tsi_report("", "cores: %s, %s; above the subtrees %s", tsi_text_many(p->count - sum.subtrees, "subtree"),
             tsi_text_seconds(p->cores_seconds), tsi_text_seconds(p->above_seconds));
  if (p->unfit_bytes > 0)
    tsi_report("", "%s of factor would be faster on a device that had room for them",
               tsi_text_bytes(p->unfit_bytes));
}

/* Returns the share of the device's bandwidth that a solve in so many seconds uses. */
static double share_of(const tsi_gpu_report *r, double seconds) {
  return seconds > 0 ? r->best.solve.factor_bytes / seconds / r->device->peak : 0;
}

void tsi_gpu_print(const tsi_gpu_report *r) {
  if (r->device == NULL) return;
  const tsi_device_forecast *f = &r->best;
  const tsi_sweep_prediction *p = &f->solve;
  const tsi_device_options *o = &f->options;
  tsi_report("gpu", "%s: %d processors with %d blocks, memory of %.0f GB/s", r->device->title,
             r->device->processors, o->costs.blocks, 1e-9 * r->device->peak);
  tsi_report("", "(%s; costs of nodes are assumed, not measured)", r->device->source);
  tsi_report("",
             "nodes of at most %s, groups of subtrees for a warp of %s: those with the least predicted time",
             tsi_text_round_bytes(o->node_bytes), tsi_text_round_bytes(o->group_bytes));
  tsi_report("", "nodes: %s of warps; of blocks %s, %s in %s of triangles and %s",
             tsi_text_many(f->nodes[TSI_DEVICE_WARP], "subtree"),
             tsi_text_many(f->nodes[TSI_DEVICE_CHUNK], "chunk"),
             tsi_text_many(f->nodes[TSI_DEVICE_SLICED], "large panel"),
             tsi_text_many(f->nodes[TSI_DEVICE_TRIANGLE], "part"),
             tsi_text_many(f->nodes[TSI_DEVICE_SLICE], "slice"));
  tsi_report("", "both sweeps: %s, depth %s; %s of factor, %s in all", tsi_text_many(p->tickets, "ticket"),
             tsi_text_count(p->depth), tsi_text_bytes(p->factor_bytes), tsi_text_bytes(p->bytes));
  tsi_report("", "predicted %s for a solve (forward %s, backward %s): %.1f %% of the bandwidth",
             tsi_text_seconds(p->seconds), tsi_text_seconds(f->sweep[0].seconds),
             tsi_text_seconds(f->sweep[1].seconds), 100 * share_of(r, p->seconds));
  tsi_report("", "not less than %s of streaming, %s of the longest chain (%s of it latency), %s of work",
             tsi_text_seconds(p->stream_seconds), tsi_text_seconds(p->path_seconds),
             tsi_text_seconds(p->path_latency), tsi_text_seconds(p->work_seconds));
  tsi_report("", "bound by %s; with enough blocks %.1f %% of the bandwidth",
             bound_texts[tsi_prediction_bound(p)], 100 * share_of(r, p->path_seconds));
  tsi_report("", "with panels of at most %d columns %s, of %d columns %s", (int)widths[0],
             tsi_text_seconds(r->narrow[0].solve.seconds), (int)widths[1],
             tsi_text_seconds(r->narrow[1].solve.seconds));
  print_placing(r);
}

static void add_placing(cJSON *object, const tsi_device_split *p) {
  if (p == NULL) return;
  cJSON *o = cJSON_AddObjectToObject(object, "placing");
  TSI_JSON_NUMBERS(o, {"seconds", p->seconds}, {"only_cores_s", p->only_cores}, {"cores_s", p->cores_seconds},
                   {"above_s", p->above_seconds}, {"cores_subtrees", p->count - sum_of_loads(p).subtrees},
                   {"unfit_bytes", p->unfit_bytes});
  cJSON *devices = cJSON_AddArrayToObject(o, "devices");
  for (tsi_index d = 0; d < p->devices; d++) {
    cJSON *row = tsi_json_add_item(devices);
    TSI_JSON_NUMBERS(row, {"subtrees", p->load[d].subtrees}, {"factor_bytes", p->load[d].bytes},
                     {"up_bytes", p->load[d].up}, {"down_bytes", p->load[d].down},
                     {"seconds", p->load[d].seconds});
  }
}

static void add_prediction(cJSON *object, const char *key, const tsi_sweep_prediction *p) {
  cJSON *o = cJSON_AddObjectToObject(object, key);
  TSI_JSON_NUMBERS(o, {"seconds", p->seconds}, {"factor_bytes", p->factor_bytes}, {"bytes", p->bytes},
                   {"stream_s", p->stream_seconds}, {"path_s", p->path_seconds},
                   {"path_latency_s", p->path_latency}, {"work_s", p->work_seconds}, {"tickets", p->tickets},
                   {"depth", p->depth});
  cJSON_AddStringToObject(o, "bound", bound_names[tsi_prediction_bound(p)]);
}

void tsi_gpu_add_json(cJSON *object, const tsi_gpu_report *r) {
  if (r->device == NULL) return;
  const tsi_device_forecast *f = &r->best;
  cJSON *o = cJSON_AddObjectToObject(object, "gpu");
  cJSON_AddStringToObject(o, "name", r->device->name);
  cJSON_AddStringToObject(o, "device", r->device->title);
  cJSON_AddStringToObject(o, "source", r->device->source);
  TSI_JSON_NUMBERS(o, {"processors", r->device->processors}, {"blocks", f->options.costs.blocks},
                   {"peak_bytes_per_s", r->device->peak}, {"node_bytes", f->options.node_bytes},
                   {"group_bytes", f->options.group_bytes}, {"warps", f->nodes[TSI_DEVICE_WARP]},
                   {"chunks", f->nodes[TSI_DEVICE_CHUNK]}, {"sliced_panels", f->nodes[TSI_DEVICE_SLICED]},
                   {"triangles", f->nodes[TSI_DEVICE_TRIANGLE]}, {"slices", f->nodes[TSI_DEVICE_SLICE]},
                   {"table_bytes", (double)f->table_bytes}, {"workspace_rows", (double)f->workspace_rows},
                   {"bandwidth_share", share_of(r, f->solve.seconds)},
                   {"path_share", share_of(r, f->solve.path_seconds)});
  add_prediction(o, "forward", &f->sweep[0]);
  add_prediction(o, "backward", &f->sweep[1]);
  add_prediction(o, "solve", &f->solve);
  cJSON *panels = cJSON_AddArrayToObject(o, "panels");
  for (int k = 0; k < TSI_GPU_WIDTHS; k++) {
    cJSON *row = tsi_json_add_item(panels);
    TSI_JSON_NUMBERS(row, {"columns_max", widths[k]}, {"seconds", r->narrow[k].solve.seconds});
  }
  add_placing(o, r->placing);
}
