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

enum { SERIES = 2 };

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

bool tsi_triangular_write_svg(const tsi_triangular *t) {
  tsi_picture p;
  values v = {.count = 0};
  tsi_axis x = {.name = "rows of a level set, on average", .logarithmic = true};
  tsi_axis y = {.name = "speed-up", .logarithmic = true};
  bool ok = find_values(t, &v);
  if (!ok) tsi_console_error("bench: out of memory for the picture");
  const tsi_series series[] = {
      {"over the plain sweep", TSI_SERIES_ALONE, TSI_BLUE, TSI_DISC, v.count, v.x, v.y[0], NULL, NULL},
      {"over the best peer", TSI_SERIES_ALONE, TSI_ORANGE, TSI_DIAMOND, v.count, v.x, v.y[1], NULL, NULL},
      tsi_bench_even};
  ok = ok && tsi_chart_begin(&p, NULL, t->setup.settings->svg,
                             "Triangular solves of TriStar and of other libraries");
  if (ok) {
    tsi_picture_subtitle(&p, "%s; automatic partition, %s; above 1 TriStar is the faster one",
                         tsi_text_many(t->count, "triangle"), tsi_text_many(t->setup.workers_most, "worker"));
    tsi_chart_legend(&p, SERIES, series);
    tsi_chart_draw(&p, &x, &y, SERIES + 1, series);
    ok = tsi_chart_end(&p, &y);
  }
  free(v.x);
  for (int d = 0; d < SERIES; d++) free(v.y[d]);
  return ok;
}
