/* Time of a solve against the number of right-hand sides: see plot.h.
 *
 * On the left the time of a solve, on the right the time per right-hand side. Each number has a separate
 * plan. Limits: the solve's bytes at the read bandwidth of all cores together, and its flops at the rate of
 * DGEMM. Times below the first limit are possible: a factor that fits into the caches is not read from
 * memory. */
#include <stdlib.h>

#include "drivers/draw/chart.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

enum { NUMBERS = 8, PANELS = 2, LIMITS = 2, SERIES = 1 + LIMITS };
static const double numbers[NUMBERS] = {1, 2, 3, 4, 8, 16, 32, 64};

/* Pixels. */
enum { GAP = 96, PANEL = (TSI_CHART_RIGHT - TSI_CHART_LEFT - GAP) / 2 };

typedef struct rhs_times {
  tsi_limits limits;
  tsi_timed timed[NUMBERS];
  double y[PANELS][SERIES][NUMBERS], least[PANELS][NUMBERS], most[PANELS][NUMBERS]; /* seconds */
  bool below; /* a time is below the limit of the bandwidth */
} rhs_times;

static bool measure(tsi_session *s, rhs_times *r) {
  tristar_dense b = {0}, x = {0};
  const int64_t most = (int64_t)numbers[NUMBERS - 1];
  bool ok = tsi_dense_make(s, s->a.n, most, &b) && tsi_dense_make(s, s->a.n, most, &x);
  for (int k = 0; k < NUMBERS && ok; k++) {
    const int64_t nrhs = (int64_t)numbers[k];
    tristar_plan_destroy(&s->plan);
    ok = tsi_session_plan(s, nrhs) && tsi_plot_time(s, TRISTAR_PART_ALL, nrhs, &b, &x, &r->timed[k]);
  }
  free(b.values);
  free(x.values);
  return ok;
}

static void find_values(rhs_times *r) {
  for (int panel = 0; panel < PANELS; panel++)
    for (int k = 0; k < NUMBERS; k++) {
      const tsi_timed *t = &r->timed[k];
      const double share = panel == 0 ? 1 : numbers[k];
      r->y[panel][0][k] = t->seconds / share;
      r->y[panel][1][k] = t->bytes / (1e9 * r->limits.bandwidth.all) / share;
      r->y[panel][2][k] = t->flops / (1e9 * r->limits.square) / share;
      r->least[panel][k] = t->least / share;
      r->most[panel][k] = t->most / share;
      r->below = r->below || r->y[panel][0][k] < r->y[panel][1][k];
    }
}

/* The texts of the series are valid as long as r and text. */
static void list_series(const tsi_session *s, const rhs_times *r, int panel, char text[SERIES][96],
                        tsi_series series[SERIES]) {
  static const int colours[SERIES] = {TSI_BLUE, TSI_BLACK, TSI_VERMILLION};
  static const tsi_series_kind kinds[SERIES] = {TSI_SERIES_MARKS, TSI_SERIES_LINE, TSI_SERIES_DASHED};
  snprintf(text[0], 96, "measured: median, fastest and slowest of %s",
           tsi_text_many(s->settings->repeat, "solve"));
  snprintf(text[1], 96, "limit: read bandwidth of %s, %.1f GB/s",
           tsi_text_many(r->limits.bandwidth.cores, "core"), r->limits.bandwidth.all);
  snprintf(text[2], 96, "limit: DGEMM, %.1f GF/s", r->limits.square);
  for (int c = 0; c < SERIES; c++)
    series[c] = (tsi_series){.name = text[c],
                             .kind = kinds[c],
                             .colour = colours[c],
                             .shape = TSI_DISC,
                             .count = NUMBERS,
                             .x = numbers,
                             .y = r->y[panel][c]};
  series[0].least = r->least[panel];
  series[0].most = r->most[panel];
}

static tsi_axis draw_panel(const tsi_picture *p, int panel, const tsi_series series[SERIES]) {
  static const char *const names[PANELS] = {"time of a solve", "time for each right-hand side"};
  const double left = TSI_CHART_LEFT + panel * (PANEL + GAP);
  tsi_axis x = {.from = numbers[0] / 1.15,
                .to = numbers[NUMBERS - 1] * 1.15,
                .begin = left,
                .end = left + PANEL,
                .name = "right-hand sides",
                .logarithmic = true,
                .values = numbers,
                .count = NUMBERS};
  tsi_axis y = {.name = names[panel], .quantity = TSI_SECONDS, .logarithmic = true};
  tsi_chart_draw(p, &x, &y, SERIES, series);
  return y;
}

static bool draw(tsi_session *s, const rhs_times *r) {
  tsi_picture p;
  tsi_axis y = {.to = 0};
  char text[SERIES][96];
  tsi_series series[SERIES];
  if (!tsi_chart_begin(&p, s, s->settings->out, "Solves with 1 to 64 right-hand sides")) return false;
  tsi_picture_subtitle(&p, "n = %s, nnz(L) = %s, %s of factor, %s; %s, scheduler %s", tsi_text_count(s->a.n),
                       tsi_text_count(s->a.nnz_lower), tsi_text_bytes(s->p.exact_bytes), s->precision->text,
                       tsi_text_many(s->p.workers, "worker"), s->p.scheduler);
  list_series(s, r, 0, text, series);
  tsi_chart_legend(&p, SERIES, series);
  if (r->below)
    tsi_legend_text(&p.legend,
                    "below the limit by the bandwidth: the factor is read from caches, not from memory");
  for (int panel = 0; panel < PANELS; panel++) {
    list_series(s, r, panel, text, series);
    y = draw_panel(&p, panel, series);
  }
  return tsi_chart_end(&p, &y);
}

bool tsi_plot_rhs(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  rhs_times r = {.below = false};
  if (!tsi_plot_limits(s, (int64_t)numbers[NUMBERS - 1], &r.limits) || !tsi_session_factor(s) ||
      !measure(s, &r))
    return false;
  cJSON *items = cJSON_AddArrayToObject(plot->figures, "items");
  tsi_plot_add_limits(plot->figures, &r.limits);
  for (int k = 0; k < NUMBERS; k++) cJSON_AddItemToArray(items, tsi_plot_make_timed(&r.timed[k]));
  find_values(&r);
  return draw(s, &r);
}
