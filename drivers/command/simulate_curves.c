/* `tristar simulate MATRIX --ranks P,Q,...`: the time of a solve or factorization over numbers of processes,
 * with a curve for each number of grids. See simulate_ranks.h. */
#include <math.h>
#include <stdio.h>

#include "drivers/command/simulate_ranks.h"
#include "drivers/draw/chart.h"
#include "drivers/report/report.h"
#include "drivers/session/layout.h"
#include "drivers/session/lists.h"

/* ---- Numbers ------------------------------------------------------------------------------------------ */

/* Returns the first point with another number of processes than point `first`. */
static int end_of_processes(const tsi_simulate_curves *c, int first) {
  int end = first;
  while (end < c->count && c->point[end].figures.ranks == c->point[first].figures.ranks) end++;
  return end;
}

static const tsi_simulate_point *fastest_of(const tsi_simulate_curves *c, int first, int end) {
  const tsi_simulate_point *best = &c->point[first];
  for (int k = first + 1; k < end; k++)
    if (c->point[k].figures.seconds < best->figures.seconds) best = &c->point[k];
  return best;
}

/* Returns the speedup over the fastest layout of the first number of processes. */
static double speedup_of(const tsi_simulate_curves *c, const tsi_simulate_point *point) {
  return fastest_of(c, 0, end_of_processes(c, 0))->figures.seconds / point->figures.seconds;
}

/* Returns a part of the time of a process in percent. */
static double share_of(const tristar_simulated *f, double part) {
  const double all = f->arithmetic.mean + f->inside.mean + f->between.mean + f->waiting.mean;
  return all > 0 ? 100 * part / all : 0;
}

/* ---- Table, JSON -------------------------------------------------------------------------------------- */

void tsi_curves_print(const char *what, const tsi_simulate_curves *c) {
  int end;
  tsi_report(what, "%9s   %-16s %9s %9s %11s %11s %9s %8s", "processes", "fastest layout", "time", "speed-up",
             "over 1 grid", "arithmetic", "messages", "waiting");
  for (int first = 0; first < c->count; first = end) {
    end = end_of_processes(c, first);
    const tsi_simulate_point *best = fastest_of(c, first, end);
    const tristar_simulated *f = &best->figures;
    char layout[64];
    snprintf(layout, sizeof layout, "%d x %d x %d", best->layout.px, best->layout.py, best->layout.pz);
    tsi_report("", "%9s   %-16s %9s %9.2f %11.2f %9.1f %% %7.1f %% %6.1f %%", tsi_text_count(f->ranks),
               layout, tsi_text_seconds(f->seconds), speedup_of(c, best),
               c->point[first].figures.seconds / f->seconds, share_of(f, f->arithmetic.mean),
               share_of(f, f->inside.mean + f->between.mean), share_of(f, f->waiting.mean));
  }
}

void tsi_curves_add_json(cJSON *object, const tsi_simulate_curves *c) {
  cJSON *list = cJSON_AddArrayToObject(object, "points");
  for (int k = 0; k < c->count; k++) {
    const tsi_simulate_point *point = &c->point[k];
    const tristar_simulated *f = &point->figures;
    cJSON *o = tsi_json_add_item(list);
    TSI_JSON_NUMBERS(o, {"ranks", (double)f->ranks}, {"px", point->layout.px}, {"py", point->layout.py},
                     {"pz", point->layout.pz}, {"simulated_s", f->seconds}, {"speedup", speedup_of(c, point)},
                     {"balance", f->balance}, {"messages", f->all.sent.total},
                     {"message_bytes", f->all.sent_bytes.total});
    tsi_json_add_range(o, "compute_s", &f->arithmetic);
    tsi_json_add_range(o, "intra_grid_s", &f->inside);
    tsi_json_add_range(o, "inter_grid_s", &f->between);
    tsi_json_add_range(o, "waiting_s", &f->waiting);
    tsi_json_add_range(o, "active_s", &f->active);
  }
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

typedef struct curve {
  double x[TSI_LIST_MAX], y[TSI_LIST_MAX];
  char name[32];
} curve;

enum { IDEAL = TSI_SIMULATE_POWERS, SERIES };

static const int colours[TSI_SIMULATE_POWERS] = {TSI_BLUE,   TSI_VERMILLION, TSI_GREEN, TSI_PURPLE,
                                                 TSI_ORANGE, TSI_SKY,        TSI_GREY};
static const tsi_shape shapes[TSI_SIMULATE_POWERS] = {TSI_DISC, TSI_SQUARE, TSI_DIAMOND, TSI_TRIANGLE,
                                                      TSI_DOWN, TSI_CROSS,  TSI_DISC};

/* Makes a series for each number of grids that has points, and after them the ideal one. Returns their
 * number.
 */
static int list_series(const tsi_simulate_curves *c, curve curves[SERIES], tsi_series series[SERIES]) {
  const tsi_simulate_point *last = &c->point[c->count - 1];
  const tristar_simulated *begin = &fastest_of(c, 0, end_of_processes(c, 0))->figures;
  int count = 0;
  for (int g = 0; g < TSI_SIMULATE_POWERS; g++) {
    curve *one = &curves[count];
    int64_t points = 0;
    for (int k = 0; k < c->count; k++)
      if (c->point[k].layout.pz == 1 << g) {
        one->x[points] = (double)c->point[k].figures.ranks;
        one->y[points++] = c->point[k].figures.seconds;
      }
    if (points == 0) continue;
    snprintf(one->name, sizeof one->name, "%s", g == 0 ? "1 grid" : tsi_text_many(1 << g, "grid"));
    series[count++] =
        (tsi_series){one->name, TSI_SERIES_MARKS, colours[g], shapes[g], points, one->x, one->y, NULL, NULL};
  }
  curve *ideal = &curves[count];
  ideal->x[0] = (double)begin->ranks;
  ideal->x[1] = (double)last->figures.ranks;
  ideal->y[0] = begin->seconds;
  ideal->y[1] = begin->seconds * ideal->x[0] / ideal->x[1];
  series[count++] = (tsi_series){.name = "ideal",
                                 .kind = TSI_SERIES_DASHED,
                                 .colour = TSI_BLACK,
                                 .count = 2,
                                 .x = ideal->x,
                                 .y = ideal->y};
  return count;
}

static int list_ticks(const tsi_simulate_curves *c, double ticks[TSI_LIST_MAX]) {
  int count = 0;
  for (int first = 0; first < c->count; first = end_of_processes(c, first))
    ticks[count++] = (double)c->point[first].figures.ranks;
  return count;
}

bool tsi_curves_draw(tsi_session *s, const tsi_simulate_curves *c, const char *cluster, int64_t nrhs) {
  static curve curves[SERIES];
  tsi_series series[SERIES];
  tsi_picture p;
  double ticks[TSI_LIST_MAX], least = INFINITY, most = 0;
  const int count = list_series(c, curves, series), numbers = list_ticks(c, ticks);
  for (int k = 0; k < numbers; k++) {
    least = fmin(least, ticks[k]);
    most = fmax(most, ticks[k]);
  }
  tsi_axis x = {.from = least / 1.1,
                .to = 1.1 * most,
                .name = "processes",
                .logarithmic = true,
                .values = ticks,
                .count = numbers};
  tsi_axis y = {.name = nrhs == 0 ? "time of a factorization" : "time of a solve",
                .quantity = TSI_SECONDS,
                .logarithmic = true};
  if (!tsi_chart_begin(&p, s, s->settings->svg, nrhs == 0 ? "Simulated factorizations" : "Simulated solves"))
    return false;
  tsi_picture_subtitle(&p, "n = %s, %s%s%s; %s algorithm, the fastest Px x Py of each number of grids; %s",
                       tsi_text_count(s->view.rows), s->precision->text, nrhs == 0 ? "" : ", ",
                       nrhs == 0 ? "" : tsi_text_many(nrhs, "right-hand side"),
                       tsi_algorithm_name(s->settings), cluster);
  tsi_chart_legend(&p, count, series);
  tsi_chart_draw(&p, &x, &y, count, series);
  return tsi_chart_end(&p, &y);
}
