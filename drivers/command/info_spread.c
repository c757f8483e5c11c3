/* See info_spread.h. */
#include "drivers/command/info_spread.h"

bool tsi_info_spread_make(tsi_session *s, const tristar_factor_t *factor, tsi_info_spread *r) {
  *r = (tsi_info_spread){.gpus = (int)s->settings->devices,
                         .tasks = (int)s->settings->tasks_per_gpu,
                         .device = tsi_device_get(s->settings->gpu)};
  tsi_spread_model model = {.device = r->device, .pes = 1, .tasks = (tsi_index)r->tasks};
  if (!tsi_session_check(s, tsi_spread_predict_factor(factor, &model, &r->one), s->name)) return false;
  model.pes = (tsi_index)r->gpus;
  if (!tsi_session_check(s, tsi_spread_predict_factor(factor, &model, &r->spread), s->name)) return false;
  model.unified = true;
  return tsi_session_check(s, tsi_spread_predict_factor(factor, &model, &r->unified), s->name);
}

void tsi_info_spread_print(const tsi_info_spread *r) {
  if (r->gpus == 0) return;
  const tsi_spread_predicted *p = &r->spread;
  tsi_report("gpus", "%s: its rows on %s of a node%s%s", r->device->title, tsi_text_many(r->gpus, "GPU"),
             r->tasks > 0 ? ", in tasks for each: " : "", r->tasks > 0 ? tsi_text_count(r->tasks) : "");
  tsi_report("", "predicted %s for a solve, in which a GPU works for %s to %s", tsi_text_seconds(p->seconds),
             tsi_text_seconds(p->active.min), tsi_text_seconds(p->active.max));
  tsi_report("", "%s of other GPUs are read", tsi_text_many(p->gets, "left sum"));
  tsi_report("", "%.2f times as fast as one GPU, %.2f times as fast as with managed memory",
             r->one.seconds / p->seconds, r->unified.seconds / p->seconds);
  tsi_report("", "(costs of rows, messages and faults are assumed, not measured)");
}

void tsi_info_spread_add_json(cJSON *object, const tsi_info_spread *r) {
  if (r->gpus == 0) return;
  cJSON *o = cJSON_AddObjectToObject(object, "spread");
  cJSON_AddStringToObject(o, "name", r->device->name);
  TSI_JSON_NUMBERS(o, {"gpus", r->gpus}, {"tasks_per_gpu", r->tasks}, {"gets", (double)r->spread.gets},
                   {"predicted_solve_s", r->spread.seconds}, {"one_gpu_s", r->one.seconds},
                   {"unified_s", r->unified.seconds});
  tsi_json_add_range(o, "active_s", &r->spread.active);
}
