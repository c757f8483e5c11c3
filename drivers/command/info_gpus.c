/* The section of --gpu in `tristar info --layout`: see info_gpus.h. */
#include "drivers/command/info_gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/session/console.h"
#include "runtime/process/predict.h"

#define SINGLE_MOST 256 /* maximum number of GPUs in a single grid; larger grids take long to simulate */
#define LINES_MOST 16   /* maximum number of GPUs in the report */
#define SPACE 0.9       /* share of its memory that a GPU may use */

/* ---- Simulations -------------------------------------------------------------------------------------- */

bool tsi_info_gpus_choose(tsi_session *s, int64_t nrhs, tristar_layout *layout, tsi_info_gpus *r) {
  tristar_layout_costs costs;
  tristar_layout_costs_init(&costs);
  tsi_cluster_of_device(tsi_device_get(s->settings->gpu), &r->cluster);
  costs.cluster = &r->cluster.model;
  costs.nrhs = nrhs;
  if (s->settings->algo == 2) costs.grids = 1;
  r->chosen = true;
  return tsi_session_check(s, tristar_layout_choose(s->analysis, s->settings->ranks, &costs, layout, NULL),
                           s->name);
}

static tsi_info_gpu figures_of(const tsi_simulation *sim, tsi_index rank) {
  const tsi_simulated_sweeps sweeps = tsi_simulation_sweeps(sim, rank);
  tsi_info_gpu gpu = {.node = rank / sim->cluster.ranks_per_node,
                      .solve = sim->rank[rank].active,
                      .wait = sim->seconds - sim->rank[rank].active,
                      .forward = sweeps.forward,
                      .backward = sweeps.backward,
                      .factor_bytes = sim->world->rank[rank].bytes};
  for (int class = 0; class < TSI_TRAFFIC_CLASSES; class ++) {
    gpu.messages += (double)sim->traffic->rank[rank].sent[class].messages;
    gpu.bytes += sim->row_bytes * (double)sim->traffic->rank[rank].sent[class].rows;
  }
  return gpu;
}

static tristar_status simulate(tsi_session *s, int64_t nrhs, const tristar_layout *layout, tsi_info_gpus *r) {
  tsi_predicted p = {NULL, NULL};
  tristar_status status =
      tsi_layout_simulate(s->analysis, layout, nrhs, &r->cluster.model, NULL, &r->solve, &p);
  if (status == TRISTAR_OK) {
    r->gpu = calloc((size_t)r->solve.ranks, sizeof *r->gpu);
    if (r->gpu == NULL) status = TRISTAR_ERR_MEMORY;
  }
  for (int k = 0; status == TRISTAR_OK && k < r->solve.ranks; k++) r->gpu[k] = figures_of(p.simulation, k);
  tsi_predicted_release(s->analysis, &p);
  return status;
}

/* Finds the fastest shape of a single grid of so many GPUs. */
static tristar_status simulate_grid(const tsi_session *s, int64_t nrhs, int count, tristar_layout layout,
                                    const tsi_info_gpus *r, tsi_info_grid *best) {
  layout.pz = 1;
  for (layout.px = 1; layout.px <= count; layout.px++) {
    tristar_simulated now;
    layout.py = count / layout.px;
    if (layout.px * layout.py != count) continue;
    const tristar_status status = tristar_layout_predict(s->analysis, &layout, nrhs, &r->cluster.model, &now);
    if (status != TRISTAR_OK) return status;
    if (layout.px == 1 || now.seconds < best->seconds) *best = (tsi_info_grid){layout, now.seconds};
  }
  return TRISTAR_OK;
}

bool tsi_info_gpus_make(tsi_session *s, int64_t nrhs, const tristar_layout *layout, tsi_info_gpus *r) {
  tsi_cluster_of_device(tsi_device_get(s->settings->gpu), &r->cluster);
  const int64_t gpus = (int64_t)layout->px * layout->py * layout->pz;
  if (gpus > s->view.rows)
    return tsi_session_fail(s, TRISTAR_ERR_ARGUMENT, "%" PRId64 " GPUs for %" PRId64 " rows", gpus,
                            s->view.rows);
  if (!tsi_session_check(s, simulate(s, nrhs, layout, r), s->name)) return false;
  for (int count = 1; count <= r->solve.ranks && count <= SINGLE_MOST; count *= 2, r->singles++) {
    tsi_info_grid *grid = &r->single[r->singles];
    if (!tsi_session_check(s, simulate_grid(s, nrhs, count, *layout, r, grid), s->name)) return false;
    if (grid->seconds < r->single[r->pays].seconds) r->pays = r->singles;
  }
  return true;
}

/* ---- Report ------------------------------------------------------------------------------------------- */

static const char *text_of(const tristar_layout *layout, char text[48]) {
  snprintf(text, 48, "%d x %d x %d", layout->px, layout->py, layout->pz);
  return text;
}

static void print_singles(const tsi_info_gpus *r) {
  const tsi_info_grid *best = &r->single[r->pays];
  char layout[48];
  if (r->solve.ranks == 1) return;
  tsi_report("", "%.2f times as fast as one GPU, which takes %s", r->single[0].seconds / r->solve.seconds,
             tsi_text_seconds(r->single[0].seconds));
  tsi_report("", "a single grid is fastest up to %s of %d per node: %s as %s",
             tsi_text_many(best->layout.px * best->layout.py, "GPU"), r->cluster.model.ranks_per_node,
             tsi_text_seconds(best->seconds), text_of(&best->layout, layout));
  for (int k = r->pays + 1; k < r->singles; k++)
    tsi_report("", "  of %d: %s as %s", 1 << k, tsi_text_seconds(r->single[k].seconds),
               text_of(&r->single[k].layout, layout));
}

static void print_gpus(const tsi_info_gpus *r) {
  puts("\nWhat each GPU does: seconds in which its blocks solve, and wait; what it reads, and sends");
  printf("  %5s %5s %9s %9s %9s %9s %9s %9s %9s\n", "GPU", "node", "solve", "wait", "forward", "backward",
         "factor", "messages", "bytes");
  for (int k = 0; k < r->solve.ranks && k < LINES_MOST; k++) {
    const tsi_info_gpu *gpu = &r->gpu[k];
    printf("  %5d %5d %9s %9s %9s %9s %9s %9.0f %9s\n", k, gpu->node, tsi_text_seconds(gpu->solve),
           tsi_text_seconds(gpu->wait), tsi_text_seconds(gpu->forward), tsi_text_seconds(gpu->backward),
           tsi_text_bytes(gpu->factor_bytes), gpu->messages, tsi_text_bytes(gpu->bytes));
  }
  if (r->solve.ranks > LINES_MOST)
    printf("  and %s: --json lists them\n", tsi_text_many(r->solve.ranks - LINES_MOST, "more GPU"));
}

void tsi_info_gpus_print(const tsi_info_gpus *r) {
  const tristar_cluster *c = &r->cluster.model;
  const tristar_simulated *b = &r->solve;
  const tsi_device *device = r->cluster.device;
  double most = 0;
  for (int k = 0; k < b->ranks; k++) most = r->gpu[k].factor_bytes > most ? r->gpu[k].factor_bytes : most;
  tsi_report("gpus", "%s: %d a node, %d blocks each; links of %.0f GB/s in a node, %.1f GB/s to others",
             device->title, c->ranks_per_node, c->cores, 1e-9 * c->local_bytes_per_second,
             1e-9 * c->bytes_per_second);
  tsi_report("", "(%s; costs of steps and latencies are assumed, not measured)", device->source);
  tsi_report("", "predicted %s for a solve (forward %s, backward %s)%s", tsi_text_seconds(b->seconds),
             tsi_text_seconds(b->forward.max), tsi_text_seconds(b->backward.max),
             r->chosen ? ": the fastest layout of so many GPUs" : "");
  tsi_report("", "critical path: %s of steps, %s and %s of messages inside grids and between them: %s",
             tsi_text_seconds(b->path_arithmetic_seconds), tsi_text_seconds(b->path_inside_seconds),
             tsi_text_seconds(b->path_between_seconds), tsi_text_many(b->path_messages, "message"));
  print_singles(r);
  if (most > SPACE * device->memory)
    tsi_report("", "not enough memory: a GPU has %s, and %s of factor", tsi_text_bytes(device->memory),
               tsi_text_bytes(most));
  print_gpus(r);
}

void tsi_info_gpus_add_json(cJSON *object, const tsi_info_gpus *r) {
  const tristar_cluster *c = &r->cluster.model;
  const tristar_simulated *b = &r->solve;
  if (b->ranks == 0) return;
  cJSON *o = cJSON_AddObjectToObject(object, "gpus");
  cJSON_AddStringToObject(o, "name", r->cluster.device->name);
  cJSON_AddStringToObject(o, "source", r->cluster.device->source);
  TSI_JSON_NUMBERS(o, {"per_node", c->ranks_per_node}, {"blocks", c->cores},
                   {"link_bytes_per_s", c->local_bytes_per_second},
                   {"network_bytes_per_s", c->bytes_per_second}, {"link_latency_s", c->local_latency_seconds},
                   {"network_latency_s", c->latency_seconds}, {"predicted_solve_s", b->seconds},
                   {"path_steps_s", b->path_arithmetic_seconds}, {"path_inside_s", b->path_inside_seconds},
                   {"path_between_s", b->path_between_seconds}, {"path_messages", (double)b->path_messages});
  cJSON *list = cJSON_AddArrayToObject(o, "list");
  for (int k = 0; k < b->ranks; k++) {
    const tsi_info_gpu *gpu = &r->gpu[k];
    cJSON *row = tsi_json_add_item(list);
    TSI_JSON_NUMBERS(row, {"node", gpu->node}, {"solve_s", gpu->solve}, {"wait_s", gpu->wait},
                     {"forward_s", gpu->forward}, {"backward_s", gpu->backward}, {"messages", gpu->messages},
                     {"bytes", gpu->bytes}, {"factor_bytes", gpu->factor_bytes});
  }
  cJSON *single = cJSON_AddArrayToObject(o, "single_grids");
  for (int k = 0; k < r->singles; k++) {
    cJSON *row = tsi_json_add_item(single);
    TSI_JSON_NUMBERS(row, {"px", r->single[k].layout.px}, {"py", r->single[k].layout.py},
                     {"simulated_s", r->single[k].seconds});
  }
}
