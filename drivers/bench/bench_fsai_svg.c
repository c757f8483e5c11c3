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

enum { COLOURS = 8 };

/* Of all contenders but the one that they are compared with. */
typedef struct values {
  const tsi_fsai_bench *bench;
  int count;                               /* contenders */
  double *x, *y[TSI_BENCH_CONTENDERS_MAX]; /* by matrix; 0: it did not solve */
  tsi_series series[TSI_BENCH_CONTENDERS_MAX + 1];
} values;

static void describe(values *v, int k) {
  static const int colours[COLOURS] = {TSI_SKY,    TSI_BLUE,  TSI_ORANGE, TSI_VERMILLION,
                                       TSI_PURPLE, TSI_GREEN, TSI_GREY,   TSI_BLUE};
  const tsi_bench_setup *setup = &v->bench->setup;
  int first = 0; /* contenders of one kind have one colour */
  while (setup->contenders[first].krylov != setup->contenders[k].krylov) first++;
  v->series[v->count] = (tsi_series){.name = setup->contenders[k].name,
                                     .kind = TSI_SERIES_ALONE,
                                     .colour = colours[first % COLOURS],
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

bool tsi_fsai_write_svg(const tsi_fsai_bench *b) {
  tsi_picture p;
  values v = {.bench = b};
  tsi_axis x = {.name = "entries of the matrix", .logarithmic = true};
  tsi_axis y = {.name = "set-up and solve, over TriStar's FSAI", .logarithmic = true};
  bool ok = find_values(&v);
  if (!ok) tsi_console_error("bench: out of memory for the picture");
  ok =
      ok && tsi_chart_begin(&p, NULL, b->setup.settings->svg,
                            "Conjugate gradients with sparse approximate inverses and other preconditioners");
  if (ok) {
    tsi_picture_subtitle(&p,
                         "set-up and solve, divided by those of TriStar's FSAI on as many processes; above "
                         "1 that is the faster one");
    tsi_chart_legend(&p, v.count, v.series);
    v.series[v.count] = tsi_bench_even;
    tsi_chart_draw(&p, &x, &y, v.count + 1, v.series);
    ok = tsi_chart_end(&p, &y);
  }
  free(v.x);
  for (int k = 0; k < TSI_BENCH_CONTENDERS_MAX; k++) free(v.y[k]);
  return ok;
}
