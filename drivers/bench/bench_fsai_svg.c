/* The picture of `tristar bench --fsai`: see bench_fsai.h.
 *
 * One mark for each matrix and contender that solved: the entries of the matrix along, upwards its time of
 * set-up and solve over that of TriStar's FSAI on as many processes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bench/bench_fsai.h"
#include "drivers/draw/chart.h"
#include "drivers/session/console.h"
#include "drivers/report/report.h"

enum { HEIGHT = 520, SERIES_MOST = 8 };
#define X_NAME "entries of the matrix"
#define Y_NAME "set-up and solve, over TriStar's FSAI"

/* Of all contenders but the one that they are compared with. */
typedef struct values {
  const tsi_fsai_bench *bench;
  int count;                               /* contenders */
  double *x, *y[TSI_BENCH_CONTENDERS_MAX]; /* by matrix; 0: it did not solve */
  tsi_series series[TSI_BENCH_CONTENDERS_MAX];
} values;

static void describe(values *v, int k) {
  static const int colours[SERIES_MOST] = {TSI_SKY,    TSI_BLUE,  TSI_ORANGE, TSI_VERMILLION,
                                           TSI_PURPLE, TSI_GREEN, TSI_GREY,   TSI_BLUE};
  const tsi_bench_setup *setup = &v->bench->setup;
  int first = 0; /* contenders of one kind have one colour */
  while (setup->contenders[first].krylov != setup->contenders[k].krylov) first++;
  v->series[v->count] = (tsi_series){.name = setup->contenders[k].name,
                                     .kind = TSI_SERIES_ALONE,
                                     .colour = colours[first % SERIES_MOST],
                                     .shape = setup->contenders[k].ranks > 1 ? TSI_DIAMOND : TSI_DISC,
                                     .count = v->bench->count,
                                     .x = v->x,
                                     .y = v->y[v->count]};
  v->count++;
}

static bool find_values(values *v) {
  const tsi_fsai_bench *b = v->bench;
  v->x = calloc((size_t)b->count + 1, sizeof *v->x);
  if (v->x == NULL) return false;
  for (int m = 0; m < b->count; m++) v->x[m] = (double)b->matrices[m].nnz;
  for (int k = 0; k < b->setup.count; k++) {
    const int ranks = b->setup.contenders[k].ranks;
    const int own = tsi_fsai_contender(&b->setup, "TriStar, FSAI", ranks);
    if (k == own) continue;
    v->y[v->count] = calloc((size_t)b->count + 1, sizeof *v->x);
    if (v->y[v->count] == NULL) return false;
    for (int m = 0; m < b->count; m++) {
      tsi_fsai_figures one, base;
      if (tsi_fsai_find(&b->cases[m], k, &one) && tsi_fsai_find(&b->cases[m], own, &base))
        v->y[v->count][m] = one.total_s / base.total_s;
    }
    describe(v, k);
  }
  return true;
}

/* Gives its last base line. file: NULL: it is only measured. */
static double write_legend(FILE *file, const values *v) {
  tsi_legend legend = tsi_legend_begin(file, TSI_CHART_LEFT, TSI_CHART_WIDTH - 16, TSI_CHART_LEGEND);
  for (int k = 0; k < v->count; k++) tsi_series_legend(&legend, &v->series[k]);
  return legend.y;
}

static void draw(FILE *file, const values *v, double top) {
  tsi_axis x = {.from = INFINITY,
                .to = -INFINITY,
                .begin = TSI_CHART_LEFT,
                .end = TSI_CHART_WIDTH - TSI_CHART_RIGHT,
                .logarithmic = true};
  tsi_axis y = {.from = 0.5, .to = 2, .begin = top + HEIGHT, .end = top, .logarithmic = true};
  tsi_axis_include(&x, v->bench->count, v->x);
  for (int k = 0; k < v->count; k++) tsi_axis_include(&y, v->bench->count, v->y[k]);
  tsi_axis_widen(&x);
  tsi_axis_widen(&y);
  fprintf(file,
          "<text class=\"title\" x=\"%d\" y=\"30\" font-size=\"19\" font-weight=\"bold\">Conjugate gradients "
          "with sparse approximate inverses and other preconditioners</text>\n"
          "<text class=\"subtitle\" x=\"%d\" y=\"48\" font-size=\"12\" fill=\"#57606a\">set-up and solve, "
          "divided by those of TriStar's FSAI on as many processes; above 1 that is the faster one</text>\n",
          TSI_CHART_LEFT, TSI_CHART_LEFT);
  (void)write_legend(file, v);
  tsi_axis_x(file, &x, y.begin, y.end, X_NAME);
  tsi_axis_y(file, &y, x.begin, x.end, Y_NAME);
  fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#555\"/>\n", x.begin, tsi_axis_at(&y, 1), x.end);
  for (int k = v->count; k-- > 0;) tsi_series_write(file, &x, &y, &v->series[k], X_NAME, Y_NAME);
}

bool tsi_fsai_write_svg(const tsi_fsai_bench *b) {
  tsi_picture out = {.message = "bench: out of memory for the picture"};
  values v = {.bench = b};
  bool ok = find_values(&v);
  if (ok) {
    const double top = write_legend(NULL, &v) + TSI_CHART_ABOVE;
    ok = tsi_picture_open(&out, b->setup.settings->svg, "bench", TSI_CHART_WIDTH,
                          top + HEIGHT + TSI_CHART_BELOW);
    if (ok) {
      draw(out.file, &v, top);
      ok = tsi_picture_close(&out);
    }
  }
  if (!ok) tsi_console_error("%s", out.message);
  free(v.x);
  for (int k = 0; k < TSI_BENCH_CONTENDERS_MAX; k++) free(v.y[k]);
  return ok;
}
