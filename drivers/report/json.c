/* The figures of a session as JSON: see report.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/layout.h"
#include "drivers/report/report.h"
#include "tristar_device.h"
#include "runtime/context/context.h"

void tsi_json_add_numbers(cJSON *object, const tsi_json_number *number) {
  for (; number->key != NULL; number++) cJSON_AddNumberToObject(object, number->key, number->value);
}

void tsi_json_add_present(cJSON *object, const tsi_json_number *number) {
  for (; number->key != NULL; number++)
    if (number->value > 0) cJSON_AddNumberToObject(object, number->key, number->value);
}

cJSON *tsi_json_add_item(cJSON *array) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddItemToArray(array, object);
  return object;
}

static void add_analysis(const tsi_session *s, cJSON *object) {
  cJSON_AddStringToObject(object, "method", tsi_method_name(s->a.method));
  cJSON_AddStringToObject(object, "ordering", tsi_options_word("ordering", tsi_session_taken_ordering(s)));
  cJSON_AddStringToObject(object, "ordering_reason", s->a.ordering_reason ? s->a.ordering_reason : "");
  cJSON_AddBoolToObject(object, "matched", s->a.matched);
  cJSON_AddBoolToObject(object, "symmetric_pattern", s->a.symmetric_pattern);
  cJSON_AddNumberToObject(object, "missing_mirrors", (double)s->a.missing_mirrors);
  cJSON_AddBoolToObject(object, "rounded", s->a.rounded);
  TSI_JSON_NUMBERS(object, {"nnz_lower", (double)s->a.nnz_lower}, {"factor_flops", tsi_factor_flops(s)},
                   {"supernodes", (double)s->a.supernodes}, {"panels", (double)s->a.panels},
                   {"widest_supernode", (double)s->a.widest_supernode},
                   {"tree_height", (double)s->a.tree_height}, {"analyze_s", s->analyze_s});
}

static void add_forecast(const tsi_session *s, cJSON *object) {
  const tristar_forecast *f = &s->forecast;
  cJSON *o = cJSON_AddObjectToObject(object, "forecast");
  TSI_JSON_NUMBERS(
      o, {"analysis_bytes", (double)f->analysis_bytes}, {"factor_bytes", (double)f->factor_bytes},
      {"factor_peak_bytes", (double)f->factor_peak_bytes}, {"trial_peak_bytes", (double)f->trial_peak_bytes},
      {"search_peak_bytes", (double)f->search_peak_bytes}, {"least_peak_bytes", (double)f->least_peak_bytes},
      {"plan_bytes", (double)f->plan_bytes}, {"solve_bytes", (double)f->solve_bytes},
      {"singular_bytes", (double)f->singular_bytes}, {"singular_kept_bytes", (double)f->singular_kept_bytes},
      {"workers", f->workers}, {"factor_s", f->factor_seconds}, {"solve_s", f->solve_seconds});
  TSI_JSON_NUMBERS(object, {"forecast_bytes", (double)f->peak_bytes},
                   {"forecast_s", f->factor_seconds + f->solve_seconds});
  if (s->factored)
    cJSON_AddNumberToObject(object, "peak_after_analysis_bytes",
                            (double)atomic_load(&tsi_context_env(s->ts)->memory.recent));
}

static void add_factor(const tsi_session *s, cJSON *object) {
  TSI_JSON_NUMBERS(
      object, {"nnz_factor", (double)s->f.nnz_factor}, {"stored_factor", (double)s->f.stored_factor},
      {"perturbed_pivots", (double)s->f.perturbed_pivots}, {"smallest_pivot", s->f.smallest_pivot},
      {"largest_pivot", s->f.largest_pivot}, {"pivot_growth", s->f.growth},
      {"pivot_rounds", s->f.pivot_rounds}, {"delayed_pivots", (double)s->f.delayed_pivots},
      {"added_entries", (double)s->f.added_entries}, {"unstable_pivots", (double)s->f.unstable_pivots},
      {"judged", s->f.judged}, {"factor_bytes", (double)s->f.factor_bytes},
      {"peak_factor_bytes", (double)s->f.peak_bytes}, {"device_fronts", (double)s->f.device_fronts},
      {"device_unfit_fronts", (double)s->f.device_unfit_fronts}, {"device_front_flops", s->f.device_flops},
      {"device_front_bytes", s->f.device_bus_bytes}, {"factor_s", s->factor_s},
      {"factor_gflops", s->factor_s > 0 ? tsi_factor_flops(s) / s->factor_s / 1e9 : 0});
}

/* Each figure is a list with one entry per device. */
void tsi_json_add_devices(const tristar_plan_t *plan, const tristar_plan_stats *p, cJSON *object) {
  cJSON *o = cJSON_AddObjectToObject(object, "devices");
  cJSON *names = cJSON_AddArrayToObject(o, "names"), *chunks = cJSON_AddArrayToObject(o, "chunks"),
        *factor = cJSON_AddArrayToObject(o, "factor_bytes"),
        *tables = cJSON_AddArrayToObject(o, "table_bytes"),
        *workspace = cJSON_AddArrayToObject(o, "workspace_bytes"),
        *up = cJSON_AddArrayToObject(o, "up_bytes"), *down = cJSON_AddArrayToObject(o, "down_bytes"),
        *transfers = cJSON_AddArrayToObject(o, "transfers");
  tristar_device_stats d;
  for (int i = 0; tristar_plan_get_device(plan, i, &d); i++) {
    cJSON_AddItemToArray(names, cJSON_CreateString(d.name));
    cJSON_AddItemToArray(chunks, cJSON_CreateNumber((double)d.chunks));
    cJSON_AddItemToArray(factor, cJSON_CreateNumber(d.factor_bytes));
    cJSON_AddItemToArray(tables, cJSON_CreateNumber(d.table_bytes));
    cJSON_AddItemToArray(workspace, cJSON_CreateNumber(d.workspace_bytes));
    cJSON_AddItemToArray(up, cJSON_CreateNumber(d.up_bytes));
    cJSON_AddItemToArray(down, cJSON_CreateNumber(d.down_bytes));
    cJSON_AddItemToArray(transfers, cJSON_CreateNumber((double)d.transfers));
  }
  cJSON_AddNumberToObject(o, "unfit_bytes", p->unfit_bytes);
}

static void add_storage(const tsi_session *s, cJSON *object) {
  static const char *const names[] = {"full", "single", "bfloat16"};
  cJSON_AddStringToObject(object, "storage", names[s->p.storage]);
  if (s->p.storage_bytes <= 0) return;
  TSI_JSON_NUMBERS(object, {"storage_bytes", s->p.storage_bytes},
                   {"storage_saved_bytes", s->p.storage_saved});
  cJSON *panels = cJSON_AddObjectToObject(object, "storage_panels");
  for (int f = 0; f < 3; f++) cJSON_AddNumberToObject(panels, names[f], (double)s->p.storage_panels[f]);
  if (s->p.compress <= 0) return;
  cJSON *compressed = cJSON_AddObjectToObject(object, "compression");
  TSI_JSON_NUMBERS(compressed, {"compress", s->p.compress},
                   {"compressed_panels", (double)s->p.compressed_panels},
                   {"compressed_blocks", (double)s->p.compressed_blocks},
                   {"low_rank_blocks", (double)s->p.low_rank_blocks}, {"rank_share", s->p.rank_share},
                   {"block_bytes", s->p.compressed_bytes}, {"block_full_bytes", s->p.compressed_full_bytes});
  cJSON_AddBoolToObject(compressed, "factor_released", s->p.factor_released != 0);
}

static void add_plan(const tsi_session *s, cJSON *object) {
  TSI_JSON_NUMBERS(object, {"chunks", (double)s->p.chunks}, {"slices", (double)s->p.slices},
                   {"tasks", (double)s->p.tasks}, {"predicted_s", s->p.predicted_seconds},
                   {"edges", (double)s->p.edges}, {"width", (double)s->p.width},
                   {"depth", (double)s->p.depth}, {"critical_bytes", s->p.critical_bytes},
                   {"stream_bytes", s->p.stream_bytes}, {"exact_bytes", s->p.exact_bytes},
                   {"floor_bytes", s->p.floor_bytes}, {"ceiling_bytes", s->p.ceiling_bytes});
  if (s->settings->variant != NULL) cJSON_AddStringToObject(object, "variant", s->settings->variant);
  TSI_JSON_NUMBERS(object, {"variant_bytes", (double)s->p.variant_bytes},
                   {"workspace_bytes", (double)s->p.workspace_bytes}, {"workers", s->p.workers});
  cJSON_AddStringToObject(object, "scheduler", s->p.scheduler);
  tsi_json_add_devices(s->plan, &s->p, object);
  add_storage(s, object);
  cJSON_AddNumberToObject(object, "plan_s", s->plan_s);
}

static void add_status(const tsi_session *s, cJSON *object) {
  cJSON_AddStringToObject(object, "status", tristar_status_name(s->status));
  if (s->status != TRISTAR_OK) cJSON_AddStringToObject(object, "message", s->message);
}

cJSON *tsi_json_status(const tsi_session *s) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "version", tristar_version());
  add_status(s, object);
  return object;
}

cJSON *tsi_json_session(const tsi_session *s) {
  tristar_memory_stats memory;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "version", tristar_version());
  cJSON_AddStringToObject(object, "matrix", s->name);
  cJSON_AddBoolToObject(object, "laplacian", s->settings->laplacian);
  add_status(s, object);
  if (s->analysis != NULL || s->factor != NULL) {
    TSI_JSON_NUMBERS(object, {"n", (double)s->a.n}, {"nnz", (double)s->a.nnz});
    cJSON_AddStringToObject(object, "precision", s->precision->letter);
    cJSON_AddBoolToObject(object, "single_factors", s->single_factors);
    cJSON_AddStringToObject(object, "symmetry", tsi_symmetry_text(s->view.symmetry));
    cJSON_AddNumberToObject(object, "read_s", s->read_s);
    cJSON_AddBoolToObject(object, "saved", s->saved);
    add_analysis(s, object);
  }
  if (s->forecasted) add_forecast(s, object);
  if (s->factored) add_factor(s, object);
  if (s->plan != NULL) add_plan(s, object);
  if (s->ts != NULL && tristar_get_memory(s->ts, &memory) == TRISTAR_OK)
    cJSON_AddNumberToObject(object, "peak_library_bytes", (double)memory.peak_bytes);
  cJSON_AddNumberToObject(object, "peak_rss_bytes", tsi_peak_memory(getpid()));
  return object;
}

void tsi_json_add_bandwidth(cJSON *object, const tsi_bandwidth *bandwidth) {
  if (bandwidth->one <= 0) return;
  TSI_JSON_NUMBERS(object, {"bandwidth_cores", bandwidth->cores}, {"bandwidth_gbps", bandwidth->all},
                   {"bandwidth_one_core_gbps", bandwidth->one});
}

void tsi_json_add_calibration(cJSON *object, const tristar_calibration *c) {
  static const char *const sources[] = {"defaults", "file", "measured"};
  cJSON *o = cJSON_AddObjectToObject(object, "calibration");
  cJSON_AddStringToObject(o, "source", sources[c->source]);
  cJSON_AddStringToObject(o, "path", c->path);
  TSI_JSON_NUMBERS(o, {"task_us", c->task_microseconds}, {"barrier_us", c->barrier_microseconds},
                   {"read_one_core_gbps", c->read_gbps_one}, {"read_all_cores_gbps", c->read_gbps_all},
                   {"multiply_one_core_gflops", c->multiply_gflops_one}, {"workers", c->workers},
                   {"cores", c->cores}, {"numa_nodes", c->numa_nodes}, {"l2_bytes", (double)c->l2_bytes},
                   {"l3_bytes", (double)c->l3_bytes}, {"l3_cores", c->l3_cores},
                   {"floor_bytes", c->floor_bytes});
}

void tsi_json_add_profile(cJSON *object, const tristar_profile_result *profile) {
  if (profile->solves < 1) return;
  cJSON *o = cJSON_AddObjectToObject(object, "profile");
  TSI_JSON_NUMBERS(o, {"solves", profile->solves}, {"workers", profile->workers},
                   {"wall_s", profile->wall_seconds}, {"kernels_s", profile->kernel_seconds},
                   {"busiest_s", profile->busiest_seconds}, {"idlest_s", profile->idlest_seconds});
  cJSON_AddNumberToObject(object, "outside_share", profile->outside_share);
}

void tsi_json_add_checksum(cJSON *object, uint64_t checksum) {
  char text[32];
  snprintf(text, sizeof text, "%016" PRIx64, checksum);
  cJSON_AddStringToObject(object, "checksum", text);
}

cJSON *tsi_json_add_layout(cJSON *object, const tsi_session *s, const tristar_layout *layout) {
  cJSON *o = cJSON_AddObjectToObject(object, "layout");
  TSI_JSON_NUMBERS(o, {"px", layout->px}, {"py", layout->py}, {"pz", layout->pz});
  cJSON_AddStringToObject(o, "algorithm", tsi_algorithm_name(s->settings));
  cJSON_AddStringToObject(o, "map", tsi_map_name(layout->map));
  cJSON_AddStringToObject(o, "message_tree", tsi_tree_name(layout->message_tree));
  return o;
}

void tsi_json_add_range(cJSON *object, const char *key, const tristar_range *range) {
  cJSON *o = cJSON_AddObjectToObject(object, key);
  TSI_JSON_NUMBERS(o, {"total", range->total}, {"min", range->min}, {"mean", range->mean},
                   {"max", range->max});
}

/* Scripts search for these names as text, so the names are unique. */
void tsi_json_add_paths(cJSON *object, const tsi_paths *paths) {
  if (!paths->used) return;
  TSI_JSON_NUMBERS(object, {"share", paths->share}, {"rows_given", (double)paths->given_rows},
                   {"rows_wanted", (double)paths->requested_rows});
}

void tsi_json_add_way(cJSON *object, const tristar_explanation *explanation) {
  cJSON_AddStringToObject(object, "way", explanation->name);
  cJSON_AddNumberToObject(object, "way_threads", explanation->threads);
  cJSON_AddStringToObject(object, "reason", explanation->reason);
}

void tsi_json_add_messages(cJSON *object, const char *key, const tristar_messages *messages) {
  cJSON *o = cJSON_AddObjectToObject(object, key);
  tsi_json_add_range(o, "sent", &messages->sent);
  tsi_json_add_range(o, "received", &messages->received);
  tsi_json_add_range(o, "sent_bytes", &messages->sent_bytes);
  tsi_json_add_range(o, "received_bytes", &messages->received_bytes);
}

void tsi_json_add_stats(cJSON *object, const tristar_solve_stats *stats) {
  cJSON *o = cJSON_AddObjectToObject(object, "latest_solve");
  TSI_JSON_NUMBERS(o, {"latest_s", stats->solve_seconds}, {"latest_workers", stats->workers},
                   {"latest_tasks", (double)stats->tasks}, {"latest_bytes", stats->bytes});
  tsi_json_add_range(o, "latest_compute_s", &stats->compute_seconds);
  tsi_json_add_range(o, "latest_idle_s", &stats->idle_seconds);
}

cJSON *tsi_json_load(const char *path) {
  const bool standard = tsi_file_is_standard(path);
  char *content = NULL;
  size_t space = 0;
  errno = 0;
  FILE *file = standard ? stdin : fopen(path, "r");
  if (file == NULL) return NULL;
  const ssize_t length = getdelim(&content, &space, '\0', file);
  const int problem = ferror(file) ? errno : 0;
  if (!standard) fclose(file);
  cJSON *object = length > 0 ? cJSON_ParseWithLength(content, (size_t)length) : NULL;
  free(content);
  errno = problem;
  return object;
}

bool tsi_json_put(const char *path, cJSON *object) {
  tsi_output_file output;
  char *text = cJSON_Print(object);
  cJSON_Delete(object);
  errno = ENOMEM; /* the cause if there is no text */
  FILE *file = text != NULL ? tsi_output_open(path, &output) : NULL;
  const bool ok = tsi_output_close(file, &output, file != NULL && fprintf(file, "%s\n", text) > 0);
  cJSON_free(text);
  return ok;
}

bool tsi_json_write(tsi_session *s, cJSON *object) {
  const char *path = s->settings->json;
  tsi_console_clear();
  if (path == NULL) cJSON_Delete(object);
  return path == NULL || tsi_json_put(path, object) ||
         tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", tsi_output_name(path), strerror(errno));
}
