/* Time of a solve against the number of right-hand sides: see plot.h.
 *
 * On the left the time of a solve, on the right the same for each right-hand side. Each number has a plan of
 * its own, made for it. Limits: the solve's bytes at the rate at which all cores read from memory together,
 * and its flops at that of DGEMM. Times below the first limit are no error: a factor that fits into the
 * caches is not read from memory. */
#include <math.h>
#include <stdlib.h>

#include "drivers/draw/chart.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

enum { NUMBERS = 8, PANELS = 2, LIMITS = 2, SERIES = 1 + LIMITS };
static const double numbers[NUMBERS] = {1, 2, 3, 4, 8, 16, 32, 64};

/* Pixels. */
enum { HEIGHT = 480, GAP = 96 };
#define PANEL ((TSI_CHART_WIDTH - TSI_CHART_LEFT - TSI_CHART_RIGHT - GAP) / 2)

typedef struct rhs_times {
  tsi_limits limits;
  tsi_timed timed[NUMBERS];
  /* by panel, in the unit of its axis */
  double y[PANELS][SERIES][NUMBERS], least[PANELS][NUMBERS], most[PANELS][NUMBERS];
  const char *unit[PANELS];
  bool below; /* a time is below the limit by the bandwidth */
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
  for (int panel = 0; panel < PANELS; panel++) {
    double most = 0;
    for (int k = 0; k < NUMBERS; k++) {
      const tsi_timed *t = &r->timed[k];
      const double share = panel == 0 ? 1 : numbers[k];
      r->y[panel][0][k] = t->seconds / share;
      r->y[panel][1][k] = t->bytes / (1e9 * r->limits.bandwidth.all) / share;
      r->y[panel][2][k] = t->flops / (1e9 * r->limits.square) / share;
      r->least[panel][k] = t->least / share;
      r->most[panel][k] = t->most / share;
      most = fmax(most, t->seconds / share);
      r->below = r->below || r->y[panel][0][k] < r->y[panel][1][k];
    }
    const double unit = tsi_axis_time_unit(most, &r->unit[panel]);
    for (int k = 0; k < NUMBERS; k++) {
      for (int c = 0; c < SERIES; c++) r->y[panel][c][k] *= unit;
      r->least[panel][k] *= unit;
      r->most[panel][k] *= unit;
    }
  }
}

/* The entries' texts: valid as long as r and text. */
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

/* Gives its last base line. file: NULL: it is only measured. */
static double write_legend(FILE *file, const tsi_session *s, const rhs_times *r) {
  tsi_legend legend = tsi_legend_begin(file, TSI_CHART_LEFT, TSI_CHART_WIDTH - 16, TSI_CHART_LEGEND);
  char text[SERIES][96];
  tsi_series series[SERIES];
  list_series(s, r, 0, text, series);
  for (int c = 0; c < SERIES; c++) tsi_series_legend(&legend, &series[c]);
  if (r->below)
    tsi_legend_text(&legend,
                    "below the limit by the bandwidth: the factor is read from caches, not from memory");
  return legend.y;
}

static void draw_panel(const tsi_picture *p, const rhs_times *r, int panel, double top) {
  static const char *const names[PANELS] = {"time of a solve", "time for each right-hand side"};
  char text[SERIES][96], name[64];
  tsi_series series[SERIES];
  const double left = TSI_CHART_LEFT + panel * (PANEL + GAP);
  const tsi_axis x = {.from = numbers[0] / 1.15,
                      .to = numbers[NUMBERS - 1] * 1.15,
                      .begin = left,
                      .end = left + PANEL,
                      .logarithmic = true,
                      .values = numbers,
                      .count = NUMBERS};
  tsi_axis y = {.from = INFINITY, .to = -INFINITY, .begin = top + HEIGHT, .end = top, .logarithmic = true};
  list_series(p->s, r, panel, text, series);
  for (int c = 0; c < SERIES; c++) tsi_axis_include(&y, NUMBERS, r->y[panel][c]);
  tsi_axis_include(&y, NUMBERS, r->least[panel]);
  tsi_axis_include(&y, NUMBERS, r->most[panel]);
  tsi_axis_widen(&y);
  snprintf(name, sizeof name, "%s (%s)", names[panel], r->unit[panel]);
  tsi_axis_x(p->file, &x, y.begin, y.end, "right-hand sides");
  tsi_axis_y(p->file, &y, x.begin, x.end, name);
  for (int c = SERIES; c-- > 0;) tsi_series_write(p->file, &x, &y, &series[c], "right-hand sides", name);
}

static bool draw(tsi_session *s, const rhs_times *r) {
  tsi_picture p;
  const double top = write_legend(NULL, s, r) + TSI_CHART_ABOVE;
  if (!tsi_picture_begin(&p, s, s->settings->out, TSI_CHART_WIDTH, top + HEIGHT + TSI_CHART_BELOW))
    return false;
  tsi_picture_title(&p, TSI_CHART_LEFT, "Solves with 1 to 64 right-hand sides");
  tsi_picture_subtitle(&p, TSI_CHART_LEFT, "n = %s, nnz(L) = %s, %s of factor, %s; %s, scheduler %s",
                       tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower),
                       tsi_text_bytes(s->p.exact_bytes), s->precision->text,
                       tsi_text_many(s->p.workers, "worker"), s->p.scheduler);
  (void)write_legend(p.file, s, r);
  for (int panel = 0; panel < PANELS; panel++) draw_panel(&p, r, panel, top);
  return tsi_picture_end(&p);
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
