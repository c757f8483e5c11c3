/* Time of a solve against workers: see plot.h.
 *
 * Measured: 1, 2, 4, ... workers, up to all cores, each number in separate processes, as in `tristar bench`:
 * the median over rounds of all numbers in turn. Predicted, and labelled as such: the layout with the
 * smallest predicted time for 1, 2, 4, ... processes with one worker each. The prediction uses only messages
 * and shares of the factor. It assumes for each process the bandwidth of one core of this machine, and
 * MESSAGE_SECONDS for a message. The ideal line starts at the time of one worker. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/draw/chart.h"
#include "drivers/session/layout.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"

enum { ROUNDS = 3, COUNTS_MOST = 16, PROCESSES_MOST = 64 };
#define MESSAGE_SECONDS 2e-6

typedef struct times {
  int count;
  double number[COUNTS_MOST], seconds[COUNTS_MOST], least[COUNTS_MOST], most[COUNTS_MOST];
} times;

typedef struct scaling {
  int64_t nrhs;
  int cores;
  double bandwidth; /* GB/s of one core */
  times measured, predicted;
  tristar_layout layout[COUNTS_MOST]; /* predicted */
} scaling;

/* ---- Measured ----------------------------------------------------------------------------------------- */

/* Lists the options of this command that affect a solve, for the processes. text: space for numbers. */
static void list_options(const tsi_settings *s, const char **out, char text[32]) {
  const struct {
    const char *option, *name;
    int choice, fallback;
  } choices[] = {{"--precision", "precision", s->precision, -1}, {"--op", "op", s->op, 0},
                 {"--method", "method", s->method, 0},           {"--ordering", "ordering", s->ordering, 0},
                 {"--matching", "matching", s->matching, 0},     {"--engine", "engine", s->engine, 0}};
  for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++) {
    if (choices[k].choice == choices[k].fallback) continue;
    *out++ = choices[k].option;
    *out++ = tsi_options_word(choices[k].name, choices[k].choice);
  }
  if (s->chunk_bytes > 0) {
    snprintf(text, 32, "%" PRId64, s->chunk_bytes);
    *out++ = "--chunk-bytes";
    *out++ = text;
  }
  if (s->variant != NULL) {
    *out++ = "--variant";
    *out++ = s->variant;
  }
  *out = NULL;
}

/* "1,2,4,6" */
static void list_workers(int cores, char *text, size_t size) {
  *text = '\0';
  for (int workers = 1; workers < cores; workers *= 2) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%d,", workers);
  }
  snprintf(text + strlen(text), size - strlen(text), "%d", cores);
}

static void take_times(const tsi_bench_case *c, times *t) {
  for (int k = 0; k < c->setup->count && t->count < COUNTS_MOST; k++) {
    const tsi_bench_result *r = &c->results[k];
    if (!r->ok) continue;
    t->number[t->count] = c->setup->contenders[k].threads;
    t->seconds[t->count] = r->solve_s;
    t->least[t->count] = r->least_s;
    t->most[t->count++] = r->most_s;
  }
}

static bool run_all(tsi_session *s, tsi_bench_setup *setup, scaling *out) {
  const tsi_bench_matrix matrix = {.name = s->name,
                                   .path = s->name,
                                   .n = s->a.n,
                                   .nnz = s->a.nnz,
                                   .is_complex = s->precision->width == 2,
                                   .pattern = s->settings->laplacian};
  tsi_bench_case c = {.setup = setup,
                      .matrix = &matrix,
                      .nrhs = out->nrhs,
                      .repeat = setup->settings->repeat,
                      .number = 1,
                      .all = 1};
  char number[32];
  list_options(s->settings, setup->options, number);
  bool ok = tsi_bench_case_measure(&c);
  if (!ok)
    (void)tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the figures of the processes");
  else {
    take_times(&c, &out->measured);
    ok = out->measured.count > 0 ||
         tsi_session_fail(s, TRISTAR_ERR_RUNTIME, "%s: no number of workers solved: %s", s->name,
                          c.results[0].message);
  }
  tsi_bench_case_free(&c);
  return ok;
}

static bool measure(tsi_session *s, scaling *out) {
  tsi_settings settings = *s->settings;
  char workers[96];
  tsi_bench_setup *setup = malloc(sizeof *setup);
  if (setup == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  out->cores = tsi_expected_workers(s->settings);
  list_workers(out->cores, workers, sizeof workers);
  settings.workers_list = workers;
  settings.sched_list = settings.scheduler;
  settings.nrhs_list = NULL; /* the case has the number */
  settings.peers_list = "none";
  settings.variants_list = NULL;
  settings.rounds = ROUNDS;
  bool ok = tsi_bench_setup_make(setup, &settings) == TSI_EXIT_OK ||
            tsi_session_fail(s, TRISTAR_ERR_RUNTIME, "%s: no processes to measure with", s->name);
  ok = ok && run_all(s, setup, out);
  free(setup);
  return ok;
}

/* ---- Predicted ---------------------------------------------------------------------------------------- */

static bool predict(tsi_session *s, scaling *out) {
  for (int processes = 1; processes <= PROCESSES_MOST; processes *= 2) {
    times *t = &out->predicted;
    tristar_layout *layout = &out->layout[t->count];
    tristar_layout_prediction predicted;
    tristar_layout_costs costs;
    tristar_layout_init(layout);
    tristar_layout_costs_init(&costs);
    costs.bytes_per_second = 1e9 * out->bandwidth;
    costs.message_seconds = MESSAGE_SECONDS;
    costs.nrhs = out->nrhs;
    if (!tsi_session_check(s, tristar_layout_choose(s->analysis, processes, &costs, layout, &predicted),
                           s->name))
      return false;
    t->seconds[t->count] = predicted.solve_seconds;
    t->number[t->count++] = processes;
  }
  return true;
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

enum { MEASURED, PREDICTED, IDEAL, CURVES };

typedef struct curves {
  tsi_series series[CURVES];
  char name[CURVES][120];
  double ideal_x[2], ideal_y[2];
} curves;

static void list_series(const scaling *r, curves *c) {
  const times *m = &r->measured, *p = &r->predicted;
  snprintf(c->name[MEASURED], sizeof c->name[0],
           "measured: workers of one process; median, fastest and slowest of %s",
           tsi_text_many(ROUNDS, "round"));
  snprintf(c->name[PREDICTED], sizeof c->name[0],
           "predicted, not measured: processes with one worker each (%.1f GB/s each, %s a message)",
           r->bandwidth, tsi_text_time(MESSAGE_SECONDS));
  c->ideal_x[0] = m->number[0];
  c->ideal_x[1] = fmax(m->number[m->count - 1], p->count > 0 ? p->number[p->count - 1] : 0);
  c->ideal_y[0] = m->seconds[0];
  c->ideal_y[1] = m->seconds[0] * c->ideal_x[0] / c->ideal_x[1];
  c->series[MEASURED] = (tsi_series){c->name[MEASURED], TSI_SERIES_MARKS, TSI_BLUE, TSI_DISC, m->count,
                                     m->number,         m->seconds,       m->least, m->most};
  c->series[PREDICTED] = (tsi_series){c->name[PREDICTED], TSI_SERIES_MARKS, TSI_ORANGE, TSI_SQUARE, p->count,
                                      p->number,          p->seconds,       NULL,       NULL};
  c->series[IDEAL] = (tsi_series){.name = "ideal",
                                  .kind = TSI_SERIES_DASHED,
                                  .colour = TSI_BLACK,
                                  .count = 2,
                                  .x = c->ideal_x,
                                  .y = c->ideal_y};
}

/* Lists 1, 2, 4, ..., and other numbers of workers. */
static int list_ticks(const scaling *r, double to, double ticks[2 * COUNTS_MOST]) {
  int count = 0;
  for (double tick = 1; tick <= to && count < COUNTS_MOST; tick *= 2) ticks[count++] = tick;
  const double cores = r->measured.number[r->measured.count - 1];
  if (exp2(round(log2(cores))) < cores || exp2(round(log2(cores))) > cores) ticks[count++] = cores;
  return count;
}

static bool draw(tsi_session *s, const scaling *r) {
  tsi_picture p;
  curves c;
  double ticks[2 * COUNTS_MOST];
  list_series(r, &c);
  const double most = fmax(c.ideal_x[1], 2);
  tsi_axis x = {.from = 1 / 1.1,
                .to = 1.1 * most,
                .name = r->predicted.count > 0 ? "workers; processes, where predicted" : "workers",
                .logarithmic = true,
                .values = ticks,
                .count = list_ticks(r, most, ticks)};
  tsi_axis y = {.name = "time of a solve", .quantity = TSI_SECONDS, .logarithmic = true};
  if (!tsi_chart_begin(&p, s, s->settings->out, "Strong scaling of a solve")) return false;
  tsi_picture_subtitle(&p, "n = %s, %s, %s; measured on %s", tsi_text_count(s->a.n), s->precision->text,
                       tsi_text_many(r->nrhs, "right-hand side"), tsi_text_many(r->cores, "core"));
  tsi_chart_legend(&p, CURVES, c.series);
  tsi_chart_draw(&p, &x, &y, CURVES, c.series);
  return tsi_chart_end(&p, &y);
}

static void add_figures(cJSON *figures, const scaling *r) {
  cJSON *items = cJSON_AddArrayToObject(figures, "items");
  char layout[64];
  TSI_JSON_NUMBERS(figures, {"nrhs", (double)r->nrhs}, {"cores", r->cores},
                   {"bandwidth_one_core_gbps", r->bandwidth}, {"message_s", MESSAGE_SECONDS});
  for (int k = 0; k < r->measured.count + r->predicted.count; k++) {
    const bool predicted = k >= r->measured.count;
    const times *t = predicted ? &r->predicted : &r->measured;
    const int i = predicted ? k - r->measured.count : k;
    cJSON *object = tsi_json_add_item(items);
    cJSON_AddBoolToObject(object, "predicted", predicted);
    cJSON_AddNumberToObject(object, predicted ? "processes" : "workers", t->number[i]);
    cJSON_AddNumberToObject(object, "solve_s", t->seconds[i]);
    if (predicted) {
      snprintf(layout, sizeof layout, "%dx%dx%d", r->layout[i].px, r->layout[i].py, r->layout[i].pz);
      cJSON_AddStringToObject(object, "layout", layout);
    } else {
      TSI_JSON_NUMBERS(object, {"least_s", t->least[i]}, {"most_s", t->most[i]});
    }
  }
}

bool tsi_plot_scaling(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  scaling r = {.nrhs = tsi_plot_nrhs(s)};
  tsi_bandwidth bandwidth;
  if (!tsi_bandwidth_measure(s, tsi_expected_workers(s->settings), &bandwidth)) return false;
  r.bandwidth = bandwidth.one;
  if (!measure(s, &r) || (s->leaf_parts > 0 && !predict(s, &r))) return false;
  add_figures(plot->figures, &r);
  return draw(s, &r);
}
