/* The picture of `tristar bench --triangular`: see bench_triangular.h.
 *
 * One mark for each triangle: what it has of parallelism along, the speed-up of the automatic partition
 * upwards, over the plain sweep and over the best peer. */
#include <math.h>
#include <stdlib.h>

#include "drivers/bench/bench_triangular.h"
#include "drivers/draw/chart.h"
#include "drivers/session/console.h"
#include "drivers/report/report.h"

enum { HEIGHT = 520, SERIES = 2 };
#define X_NAME "rows of a level set, on average"
#define Y_NAME "speed-up"

/* count values each; 0 where there is none. */
typedef struct values {
  double *x, *y[SERIES];
  int64_t count;
} values;

static bool find_values(const tsi_triangular *t, values *v) {
  v->count = t->count;
  v->x = calloc((size_t)t->count + 1, sizeof *v->x);
  for (int d = 0; d < SERIES; d++) v->y[d] = calloc((size_t)t->count + 1, sizeof *v->y[d]);
  if (v->x == NULL || v->y[0] == NULL || v->y[1] == NULL) return false;
  for (int k = 0; k < t->count; k++) {
    const tsi_triangular_case *c = &t->cases[k];
    const int own = tsi_triangular_own(c);
    v->x[k] = tsi_triangular_parallelism(c);
    v->y[0][k] = tsi_triangular_speed_up(c, tsi_triangular_plain(c), own);
    v->y[1][k] = tsi_triangular_speed_up(c, c->bench.best_peer, own);
  }
  return true;
}

static void list_series(const values *v, tsi_series series[SERIES]) {
  static const char *const names[SERIES] = {"over the plain sweep", "over the best peer"};
  static const int colours[SERIES] = {TSI_BLUE, TSI_ORANGE};
  static const tsi_shape shapes[SERIES] = {TSI_DISC, TSI_DIAMOND};
  for (int d = 0; d < SERIES; d++)
    series[d] = (tsi_series){.name = names[d],
                             .kind = TSI_SERIES_ALONE,
                             .colour = colours[d],
                             .shape = shapes[d],
                             .count = v->count,
                             .x = v->x,
                             .y = v->y[d]};
}

/* Gives its last base line. file: NULL: it is only measured. */
static double write_legend(FILE *file, const tsi_series series[SERIES]) {
  tsi_legend legend = tsi_legend_begin(file, TSI_CHART_LEFT, TSI_CHART_WIDTH - 16, TSI_CHART_LEGEND);
  for (int d = 0; d < SERIES; d++) tsi_series_legend(&legend, &series[d]);
  return legend.y;
}

static void draw(FILE *file, const tsi_triangular *t, const values *v, const tsi_series series[SERIES],
                 double top) {
  tsi_axis x = {.from = INFINITY,
                .to = -INFINITY,
                .begin = TSI_CHART_LEFT,
                .end = TSI_CHART_WIDTH - TSI_CHART_RIGHT,
                .logarithmic = true};
  tsi_axis y = {.from = 0.5, .to = 2, .begin = top + HEIGHT, .end = top, .logarithmic = true};
  tsi_axis_include(&x, v->count, v->x);
  for (int d = 0; d < SERIES; d++) tsi_axis_include(&y, v->count, v->y[d]);
  tsi_axis_widen(&x);
  tsi_axis_widen(&y);
  fprintf(
      file,
      "<text class=\"title\" x=\"%d\" y=\"30\" font-size=\"19\" font-weight=\"bold\">Triangular solves of "
      "TriStar and of other libraries</text>\n"
      "<text class=\"subtitle\" x=\"%d\" y=\"48\" font-size=\"12\" fill=\"#57606a\">%s; automatic partition, "
      "%s; above 1 TriStar is the faster one</text>\n",
      TSI_CHART_LEFT, TSI_CHART_LEFT, tsi_text_many(t->count, "triangle"),
      tsi_text_many(t->setup.workers_most, "worker"));
  (void)write_legend(file, series);
  tsi_axis_x(file, &x, y.begin, y.end, X_NAME);
  tsi_axis_y(file, &y, x.begin, x.end, Y_NAME);
  fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#555\"/>\n", x.begin, tsi_axis_at(&y, 1), x.end);
  for (int d = SERIES; d-- > 0;) tsi_series_write(file, &x, &y, &series[d], X_NAME, Y_NAME);
}

bool tsi_triangular_write_svg(const tsi_triangular *t) {
  tsi_picture out = {.message = "bench: out of memory for the picture"};
  tsi_series series[SERIES];
  values v = {.count = 0};
  bool ok = find_values(t, &v);
  if (ok) {
    list_series(&v, series);
    const double top = write_legend(NULL, series) + TSI_CHART_ABOVE;
    ok = tsi_picture_open(&out, t->setup.settings->svg, "bench", TSI_CHART_WIDTH,
                          top + HEIGHT + TSI_CHART_BELOW);
    if (ok) {
      draw(out.file, t, &v, series, top);
      ok = tsi_picture_close(&out);
    }
  }
  if (!ok) tsi_console_error("%s", out.message);
  free(v.x);
  for (int d = 0; d < SERIES; d++) free(v.y[d]);
  return ok;
}
