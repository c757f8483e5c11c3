/* See info_spread.h. */
#include "drivers/command/info_spread.h"

#include <stdio.h>

static tristar_status predict(const tristar_factor_t *factor, tsi_spread_model model, int gpus,
                              tsi_info_spread_times *t) {
  model.pes = 1;
  tristar_status status = tsi_spread_predict_factor(factor, &model, &t->one);
  model.pes = (tsi_index)gpus;
  if (status == TRISTAR_OK) status = tsi_spread_predict_factor(factor, &model, &t->spread);
  model.unified = true;
  if (status == TRISTAR_OK) status = tsi_spread_predict_factor(factor, &model, &t->unified);
  return status;
}

bool tsi_info_spread_make(tsi_session *s, const tristar_factor_t *factor, tsi_info_spread *r) {
  *r = (tsi_info_spread){.gpus = (int)s->settings->devices,
                         .tasks = (int)s->settings->tasks_per_gpu,
                         .device = tsi_device_get(s->settings->gpu)};
  tsi_spread_model model = {.device = r->device, .tasks = (tsi_index)r->tasks};
  if (!tsi_session_check(s, predict(factor, model, r->gpus, &r->own), s->name)) return false;
  model.published = true;
  r->compared = predict(factor, model, r->gpus, &r->published);
  if (r->compared == TRISTAR_ERR_MEMORY || r->compared == TRISTAR_ERR_TOO_LARGE) return true;
  return tsi_session_check(s, r->compared, s->name);
}

static void print_times(const tsi_info_spread_times *t) {
  tsi_report("", "%.2f times as fast as one GPU, %.2f times as fast as with managed memory",
             t->one.seconds / t->spread.seconds, t->unified.seconds / t->spread.seconds);
}

/* The nodes of the GPUs. The prediction assumes links as tsi_spread_linked does. */
static const char *nodes_text(const tsi_info_spread *r) {
  static char text[80];
  const tsi_device *device = r->device;
  if (r->gpus <= device->per_node) return "of a node";
  snprintf(text, sizeof text, "of %d nodes, %s", (r->gpus + device->per_node - 1) / device->per_node,
           tsi_spread_linked(device, 0, device->per_node) ? "as if links joined all GPUs"
                                                          : "without links between nodes");
  return text;
}

void tsi_info_spread_print(const tsi_info_spread *r) {
  if (r->gpus == 0) return;
  const tsi_spread_predicted *p = &r->own.spread;
  tsi_report("gpus", "%s: its rows on %s %s%s%s", r->device->title, tsi_text_many(r->gpus, "GPU"),
             nodes_text(r), r->tasks > 0 ? ", in tasks for each: " : "",
             r->tasks > 0 ? tsi_text_count(r->tasks) : "");
  tsi_report("", "predicted %s for a solve, in which a GPU works for %s to %s", tsi_text_seconds(p->seconds),
             tsi_text_seconds(p->active.min), tsi_text_seconds(p->active.max));
  tsi_report("", "%s of other GPUs are read", tsi_text_many(p->gets, "left sum"));
  print_times(&r->own);
  if (r->compared == TRISTAR_OK) {
    tsi_report("", "the solver of Xie et al., with %s for each GPU: %s",
               tsi_text_many(r->tasks > 0 ? r->tasks : 1, "task"),
               tsi_text_seconds(r->published.spread.seconds));
    print_times(&r->published);
  } else {
    tsi_report("", "the solver of Xie et al.: not predicted, %s",
               r->compared == TRISTAR_ERR_MEMORY ? "out of memory" : "the triangle is too large");
  }
  tsi_report("", "(costs of rows, messages and faults are assumed, not measured)");
}

void tsi_info_spread_add_json(cJSON *object, const tsi_info_spread *r) {
  if (r->gpus == 0) return;
  const tsi_info_spread_times *own = &r->own, *published = &r->published;
  cJSON *o = cJSON_AddObjectToObject(object, "spread");
  cJSON_AddStringToObject(o, "name", r->device->name);
  TSI_JSON_NUMBERS(o, {"gpus", r->gpus}, {"tasks_per_gpu", r->tasks}, {"gets", (double)own->spread.gets},
                   {"predicted_solve_s", own->spread.seconds}, {"one_gpu_s", own->one.seconds},
                   {"unified_s", own->unified.seconds});
  if (r->compared == TRISTAR_OK)
    TSI_JSON_NUMBERS(o, {"published_s", published->spread.seconds},
                     {"published_one_gpu_s", published->one.seconds},
                     {"published_unified_s", published->unified.seconds});
  tsi_json_add_range(o, "active_s", &own->spread.active);
}
