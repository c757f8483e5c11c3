/* `tristar info MATRIX --layout PXxPYxPZ`: counts the messages and the memory of the processes of a
 * distributed solve from the analysis alone. With --gpu each process is a GPU, and the time is predicted,
 * too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "drivers/command/info_gpus.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/layout.h"
#include "drivers/report/report.h"
#include "runtime/process/traffic.h"

#define GRIDS_MOST 64 /* maximum number of grids with --layout auto */

static void print_row(const char *label, const tristar_range *messages, const tristar_range *bytes) {
  printf("  %-10s %9.0f %11.1f %9.0f   %9s %9s %9s   %9s\n", label, messages->min, messages->mean,
         messages->max, tsi_text_bytes(bytes->min), tsi_text_bytes(bytes->mean), tsi_text_bytes(bytes->max),
         tsi_text_bytes(bytes->total));
}

static void print_report(const tsi_session *s, const tristar_layout *layout, int64_t nrhs,
                         const tristar_traffic *t, const tristar_ranks_forecast *f,
                         const tsi_info_gpus *gpus) {
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report("layout", "%d x %d x %d: %s process%s, %s algorithm, %s map, %s trees", layout->px, layout->py,
             layout->pz, tsi_text_count(t->ranks), t->ranks == 1 ? "" : "es", tsi_algorithm_name(s->settings),
             tsi_map_name(layout->map), tsi_tree_name(layout->message_tree));
  tsi_report("", "%s, %s of them distributed over a grid; %s between grids",
             tsi_text_many(t->chunks, "chunk"), tsi_text_count(t->spread_chunks),
             tsi_text_many(t->grid_steps, "step"));
  tsi_report("", "each process holds %s to %s of a triangular factor, %s on average: balance %.2f",
             tsi_text_bytes(t->factor_bytes.min), tsi_text_bytes(t->factor_bytes.max),
             tsi_text_bytes(t->factor_bytes.mean), t->balance);
  if (gpus->solve.ranks > 0) tsi_info_gpus_print(gpus);
  printf("\nWhat a process sends in a solve with %s\n", tsi_text_many(nrhs, "right-hand side"));
  printf("  %-10s %9s %11s %9s   %9s %9s %9s   %9s\n", "", "messages:", "", "", "bytes:", "", "", "");
  printf("  %-10s %9s %11s %9s   %9s %9s %9s   %9s\n", "", "least", "mean", "most", "least", "mean", "most",
         "of all");
  print_row("broadcast", &t->broadcast.sent, &t->broadcast.sent_bytes);
  print_row("reduction", &t->reduction.sent, &t->reduction.sent_bytes);
  print_row("grids", &t->grids.sent, &t->grids.sent_bytes);
  print_row("together", &t->all.sent, &t->all.sent_bytes);
  print_row("received", &t->all.received, &t->all.received_bytes);
  printf("\nWhat a process sends in the factorization, of %s to %s\n", tsi_text_flops(t->factor_flops.min),
         tsi_text_flops(t->factor_flops.max));
  print_row("fan-in", &t->fan_in.sent, &t->fan_in.sent_bytes);
  printf("  fronts take %s to %s of a process at the peak, beside the factor\n",
         tsi_text_bytes(t->front_bytes.min), tsi_text_bytes(t->front_bytes.max));
  if (f->ranks == 0) return;
  tsi_report("\nforecast", "a process needs at most %s beside its rows of the matrix, all together %s",
             tsi_text_bytes(f->peak_bytes.max), tsi_text_bytes(f->peak_bytes.total));
  tsi_report("", "factor %s in %s; solve %s in %s", tsi_text_bytes(f->factor_bytes.max),
             tsi_text_seconds(f->factor_seconds), tsi_text_bytes(f->solve_bytes.max),
             tsi_text_seconds(f->solve_seconds));
  if (f->search_peak_bytes > 0)
    tsi_report("", "rank 0 with a search of delayed pivots: %s; each delayed column adds to it",
               tsi_text_bytes(f->search_peak_bytes));
}

static void add_forecast(cJSON *object, const tristar_ranks_forecast *f) {
  cJSON *o = cJSON_AddObjectToObject(object, "forecast");
  tsi_json_add_range(o, "factor_bytes", &f->factor_bytes);
  tsi_json_add_range(o, "factor_peak_bytes", &f->factor_peak_bytes);
  tsi_json_add_range(o, "solve_bytes", &f->solve_bytes);
  TSI_JSON_NUMBERS(o, {"search_peak_bytes", f->search_peak_bytes}, {"factor_s", f->factor_seconds},
                   {"solve_s", f->solve_seconds});
  tsi_json_add_range(object, "forecast_bytes", &f->peak_bytes);
  cJSON_AddNumberToObject(object, "forecast_s", f->factor_seconds + f->solve_seconds);
}

static cJSON *make_json(const tsi_session *s, const tristar_layout *layout, int64_t nrhs,
                        const tristar_traffic *t, const tristar_ranks_forecast *f,
                        const tsi_info_gpus *gpus) {
  cJSON *object = tsi_json_session(s), *o;
  if (t->ranks == 0) return object; /* it failed */
  o = tsi_json_add_layout(object, s, layout);
  TSI_JSON_NUMBERS(o, {"nrhs", (double)nrhs}, {"ranks", (double)t->ranks}, {"chunks", (double)t->chunks},
                   {"spread_chunks", (double)t->spread_chunks}, {"grid_steps", t->grid_steps},
                   {"balance", t->balance});
  tsi_json_add_range(o, "factor_bytes", &t->factor_bytes);
  tsi_json_add_messages(o, "broadcast", &t->broadcast);
  tsi_json_add_messages(o, "reduction", &t->reduction);
  tsi_json_add_messages(o, "grids", &t->grids);
  tsi_json_add_messages(o, "all", &t->all);
  tsi_json_add_messages(o, "fan_in", &t->fan_in);
  tsi_json_add_range(o, "factor_flops", &t->factor_flops);
  cJSON_AddNumberToObject(o, "factor_path_flops", t->factor_path_flops);
  tsi_json_add_range(o, "front_bytes", &t->front_bytes);
  if (f->ranks > 0) add_forecast(object, f);
  tsi_info_gpus_add_json(object, gpus);
  return object;
}

/* Returns the leaves of the separator tree: as many as the layout may have grids. */
static int choose_leaves(const tsi_settings *settings, const tristar_layout *layout) {
  int leaves = 1;
  if (layout->px > 0) return layout->pz;
  while (leaves < GRIDS_MOST && settings->ranks % (2 * leaves) == 0 && settings->algo != 2) leaves *= 2;
  return leaves;
}

static int check_words(const tsi_settings *settings, tristar_layout *layout) {
  const bool gpu = settings->gpu >= 0;
  const int status = tsi_layout_read("info", settings, layout);
  if (status != TSI_EXIT_OK) return status;
  if (settings->ranks > 0 && !(gpu && layout->px == 0))
    return tsi_usage_error("info",
                           "--layout and --ranks exclude each other, but for --gpu with --layout auto");
  if (layout->px == 0 && !gpu)
    return tsi_usage_error("info", "--layout auto works with --gpu, and with `tristar solve` under mpiexec");
  if (layout->px == 0 && settings->ranks == 0)
    return tsi_usage_error("info", "--layout auto needs --ranks, the number of GPUs");
  if (gpu && settings->forecast)
    return tsi_usage_error("info", "--forecast with --layout is of processes on cores, not of --gpu");
  if (settings->devices > 0)
    return tsi_usage_error("info", "--devices is for one process, not for a --layout");
  if (settings->tree != NULL || settings->dot != NULL)
    return tsi_usage_error("info", "--tree and --dot cannot be combined with --layout");
  return TSI_EXIT_OK;
}

#define FORECAST_MOST 256 /* maximum number of processes: a forecast takes seconds per hundred */

/* Makes a forecast with --forecast, or if there are few processes. */
static bool make_forecast(tsi_session *s, const tristar_layout *layout, int64_t nrhs,
                          tristar_ranks_forecast *forecast) {
  if (!s->settings->forecast && (int64_t)layout->px * layout->py * layout->pz > FORECAST_MOST) return true;
  return tsi_session_check(s, tristar_layout_forecast(s->analysis, layout, nrhs, NULL, forecast), s->name);
}

int tsi_info_layout(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tsi_info_gpus gpus = {.gpu = NULL};
  tristar_layout layout;
  tristar_traffic traffic = {0};
  tristar_ranks_forecast forecast = {.ranks = 0};
  const int64_t nrhs = settings->nrhs > 0 ? settings->nrhs : 1;
  const int status = check_words(settings, &layout);
  if (status != TSI_EXIT_OK) return status;
  bool ok = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s);
  s->leaf_parts = choose_leaves(settings, &layout);
  ok = ok && tsi_session_analyze(s) && (layout.px > 0 || tsi_info_gpus_choose(s, nrhs, &layout, &gpus)) &&
       tsi_session_check(s, tsi_layout_count(s->analysis, &layout, nrhs, settings->gpu >= 0, &traffic),
                         s->name) &&
       (settings->gpu < 0 || tsi_info_gpus_make(s, nrhs, &layout, &gpus)) &&
       (settings->gpu >= 0 || make_forecast(s, &layout, nrhs, &forecast));
  if (ok && !settings->to_stdout) print_report(s, &layout, nrhs, &traffic, &forecast, &gpus);
  tsi_json_write(s, make_json(s, &layout, nrhs, &traffic, &forecast, &gpus));
  free(gpus.gpu);
  return tsi_session_close(s);
}
