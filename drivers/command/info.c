/* `tristar info`: describes a solve with a matrix and predicts its time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/report/gpu.h"
#include "drivers/draw/picture.h"
#include "drivers/report/report.h"
#include "drivers/plot/tree.h"
#include "drivers/command/solve.h"
#include "runtime/machine/predict.h"

#define BAR_WIDTH 48

/* Supernodes by width: bin k holds widths of 2^(k-1)+1 .. 2^k columns. */
typedef struct histogram {
  int bins;
  int64_t count[32];
  double entries[32], total; /* stored entries of L */
} histogram;

static void count_widths(const tristar_assembly_tree *tree, histogram *h) {
  memset(h, 0, sizeof *h);
  for (int64_t k = 0; k < tree->supernodes; k++) {
    const int64_t w = tree->first_column[k + 1] - tree->first_column[k];
    const double entries = tsi_supernode_entries(tree, k);
    int bin = 0;
    while (((int64_t)1 << bin) < w) bin++;
    h->count[bin]++;
    h->entries[bin] += entries;
    h->total += entries;
    if (bin >= h->bins) h->bins = bin + 1;
  }
}

static void print_widths(const histogram *h) {
  static const char bar[] = "################################################";
  puts("\nSupernodes by width in columns: how many, and their share of the factor");
  for (int bin = 0; bin < h->bins; bin++) {
    char range[48];
    const int64_t low = bin == 0 ? 1 : ((int64_t)1 << (bin - 1)) + 1, high = (int64_t)1 << bin;
    const double share = h->total > 0 ? h->entries[bin] / h->total : 0;
    if (low == high)
      snprintf(range, sizeof range, "%lld", (long long)low);
    else
      snprintf(range, sizeof range, "%lld-%lld", (long long)low, (long long)high);
    const int width = (int)lround(share * BAR_WIDTH);
    printf("  %11s %9s %5.1f %%%s%.*s\n", range, tsi_text_count(h->count[bin]), 100 * share,
           width > 0 ? " " : "", width, bar);
  }
}

/* Prediction for a solve that reads the factor from memory once in each direction. */
typedef struct prediction {
  double seconds;
  bool path;         /* the heaviest path is the bound, not the whole factor */
  double task_share; /* share of the time that tasks cost */
} prediction;

/* Predicts with the bandwidth measured just now. */
static prediction predict(const tsi_session *s, const tsi_bandwidth *bandwidth,
                          const tristar_calibration *c) {
  const tsi_costs costs = {.one = 1e9 * bandwidth->one,
                           .all = 1e9 * tsi_bandwidth_of(bandwidth, s->p.workers),
                           .workers = s->p.workers};
  const double seconds = tsi_predict_reading(&costs, s->p.stream_bytes, s->p.critical_bytes);
  const double tasks = 1e-6 * c->task_microseconds * (double)s->p.tasks;
  return (prediction){.seconds = seconds,
                      .path = seconds > tsi_predict_reading(&costs, s->p.stream_bytes, 0),
                      .task_share = tasks > 0 ? tasks / (tasks + seconds) : 0};
}

/* Prints the reason for the size of chunks, and the machine. */
static void print_granularity(const tsi_session *s, const tristar_calibration *c) {
  const char *task = tsi_text_seconds(1e-6 * c->task_microseconds);
  char from[sizeof c->path + 40] = "defaults; `tristar calibrate` measures this machine";
  if (c->source == TRISTAR_CALIBRATION_FILE) snprintf(from, sizeof from, "measured, %s", c->path);
  tsi_report("chunks", "of %s to %s%s", tsi_text_bytes(s->p.floor_bytes), tsi_text_bytes(s->p.ceiling_bytes),
             s->settings->chunk_bytes > 0 ? ", as requested" : "");
  tsi_report("", "a task takes %s; in the time of 16 tasks one core reads about %s", task,
             tsi_text_bytes(c->floor_bytes));
  tsi_report("", "(%s)", from);
  tsi_report_machine("machine", c);
}

static void print_report(const tsi_session *s, const tsi_bandwidth *bandwidth, const tristar_calibration *c,
                         const histogram *h, const tsi_gpu_report *gpu) {
  const double stream = s->p.stream_bytes > 0 ? s->p.stream_bytes : 1;
  const prediction p = predict(s, bandwidth, c);
  const double padding = s->a.stored_lower > 0 ? 1 - (double)s->a.nnz_lower / (double)s->a.stored_lower : 0;
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report_forecast(s);
  tsi_report_factor(s);
  tsi_report_plan(s);
  tsi_report("", "task graph of %s, width %s, depth %s in each direction", tsi_text_many(s->p.edges, "edge"),
             tsi_text_count(s->p.width), tsi_text_count(s->p.depth));
  tsi_report("", "heaviest path: %s, %.0f %% of the %s that a solve reads",
             tsi_text_bytes(s->p.critical_bytes), 100 * s->p.critical_bytes / stream,
             tsi_text_bytes(s->p.stream_bytes));
  tsi_report("", "%.1f %% of what is stored is padding", 100 * padding);
  tsi_report_memory(s, bandwidth);
  print_granularity(s, c);
  tsi_report("predicted", "%s for a solve from memory: the time to read the %s", tsi_text_seconds(p.seconds),
             p.path ? "heaviest path, by one core" : "factor, by all workers");
  tsi_report("", "assuming memory at the measured %.1f GB/s of 1 core, %.1f GB/s of %d", bandwidth->one,
             bandwidth->all, bandwidth->cores);
  if (s->forecasted)
    tsi_report("", "the forecast, %s, assumes the bandwidths of the calibration, and caches",
               tsi_text_seconds(s->forecast.solve_seconds));
  if (s->p.tasks > 0)
    tsi_report("", "overhead of tasks in addition: %.1f %% of the sum, for %s", 100 * p.task_share,
               tsi_text_many(s->p.tasks, "task"));
  tsi_gpu_print(gpu);
  print_widths(h);
}

static cJSON *make_json(const tsi_session *s, const tsi_bandwidth *bandwidth, const tristar_calibration *c,
                        const histogram *h, const tsi_gpu_report *gpu) {
  cJSON *object = tsi_json_session(s), *widths = cJSON_CreateArray();
  tsi_json_add_bandwidth(object, bandwidth);
  if (s->plan != NULL && bandwidth->one > 0) {
    const prediction p = predict(s, bandwidth, c);
    TSI_JSON_NUMBERS(object, {"predicted_solve_s", p.seconds}, {"predicted_task_share", p.task_share});
    tsi_json_add_calibration(object, c);
  }
  for (int bin = 0; bin < h->bins; bin++) {
    cJSON *row = tsi_json_add_item(widths);
    TSI_JSON_NUMBERS(row, {"columns_max", (double)((int64_t)1 << bin)}, {"supernodes", (double)h->count[bin]},
                     {"entries", h->entries[bin]});
  }
  cJSON_AddItemToObject(object, "widths", widths);
  tsi_gpu_add_json(object, gpu);
  return object;
}

/* With --forecast: reports the forecast, which needs only the analysis. */
static int forecast_only(tsi_session *s) {
  const bool ok = tsi_session_analyze(s) && tsi_session_forecast(s, 1, true);
  if (ok && !s->settings->to_stdout) {
    tsi_console_clear();
    tsi_report_matrix(s);
    tsi_report_analysis(s);
    tsi_report_forecast(s);
  }
  tsi_json_write(s, tsi_json_session(s));
  return tsi_session_close(s);
}

int tsi_command_info(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tsi_bandwidth bandwidth = {0};
  tristar_calibration calibration = {0};
  tristar_assembly_tree tree;
  histogram h = {0};
  tsi_gpu_report gpu = {0};
  if (settings->operand[0] == NULL) return tsi_usage_error("info", "no MATRIX given");
  if (settings->layout != NULL && settings->fsai != NULL)
    return tsi_usage_error("info", "--fsai needs --ranks, without --layout");
  if (settings->layout != NULL) return tsi_info_layout(settings);
  if (settings->gpu >= 0 && settings->ranks > 0)
    return tsi_usage_error("info", "--gpu with --ranks needs --layout auto");
  if (settings->ranks > 0) return tsi_info_fsai(settings);
  if (settings->fsai != NULL) return tsi_usage_error("info", "--fsai needs --ranks");
  if (settings->devices > 0 && settings->gpu < 0) return tsi_usage_error("info", "--devices needs --gpu");
  if (settings->tasks_per_gpu > 0 && settings->devices == 0)
    return tsi_usage_error("info", "--tasks-per-gpu needs --gpu and --devices");
  if (settings->nrhs > 0 || settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0)
    return tsi_usage_error("info", "--nrhs, --algo, --map and --message-tree need --layout");
  const int status = tsi_picture_check("info", "tree", settings->tree);
  if (status != TSI_EXIT_OK) return status;
  tsi_found_triangle found;
  bool ok = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s);
  if (ok && tsi_goes_without_factors(s, &found)) return tsi_trisolve_info(s, &found);
  if (ok && settings->tasks_per_gpu > 0) {
    s->usage = true;
    ok = tsi_session_fail(s, TRISTAR_ERR_ARGUMENT, "%s: --tasks-per-gpu is for a triangle", s->name);
  }
  if (ok && settings->forecast) return forecast_only(s);
  ok = ok && tsi_session_analyze(s) && tsi_session_forecast(s, 1, false) &&
       tsi_bandwidth_measure(s, tsi_expected_workers(s->settings), &bandwidth) && tsi_session_factor(s) &&
       tsi_session_plan(s, 1) && tsi_gpu_make(s, &bandwidth, &gpu) &&
       tsi_session_check(s, tristar_get_calibration(s->ts, &calibration), s->name) && tsi_session_goes_on(s);
  if (ok) {
    tristar_analysis_get_assembly_tree(tristar_factor_get_analysis(s->factor), &tree);
    count_widths(&tree, &h);
    if (settings->dot != NULL)
      ok = tsi_session_check(s, tristar_plan_write_dot(s->plan, settings->dot), settings->dot);
    if (ok && settings->tree != NULL) ok = tsi_tree_draw(s, settings->tree, NULL);
  }
  if (ok && !settings->to_stdout) print_report(s, &bandwidth, &calibration, &h, &gpu);
  tsi_json_write(s, make_json(s, &bandwidth, &calibration, &h, &gpu));
  tsi_gpu_free(s, &gpu);
  return tsi_session_close(s);
}
