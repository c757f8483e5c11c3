/* The picture of `tristar krylov`: the norm of the residual in each iteration. See krylov.h.
 *
 * A line joins the norms of a right-hand side, divided by the norm that the tolerance refers to. The axis is
 * logarithmic, so norms that are not positive or not finite are left out. */
#include <stdlib.h>

#include "drivers/draw/chart.h"
#include "drivers/command/krylov.h"
#include "drivers/report/report.h"

int tsi_norms_add(void *arg, const tristar_krylov_point *point) {
  tsi_norms *norms = arg;
  if (point->column == 0 && point->iteration == 0) norms->count = 0;
  if (norms->count == norms->capacity) {
    const int64_t capacity = 2 * norms->capacity + 256;
    tristar_krylov_point *larger = realloc(norms->point, (size_t)capacity * sizeof *larger);
    norms->full = larger == NULL;
    if (norms->full) return 1;
    norms->point = larger;
    norms->capacity = capacity;
  }
  norms->point[norms->count++] = *point;
  return 0;
}

/* Sorts by right-hand side, then by iteration. */
static int compare_points(const void *a, const void *b) {
  const tristar_krylov_point *p = a, *q = b;
  if (p->column != q->column) return (p->column > q->column) - (p->column < q->column);
  return (p->iteration > q->iteration) - (p->iteration < q->iteration);
}

/* Returns the series of the right-hand side whose first point has the number `first`. x, y: of all points. */
static tsi_series series_of(const tsi_krylov_solution *z, const double *x, const double *y, int64_t first,
                            bool marks) {
  const int64_t column = z->norms.point[first].column;
  int64_t end = first;
  while (end < z->norms.count && z->norms.point[end].column == column) end++;
  return (tsi_series){.kind = marks ? TSI_SERIES_MARKS : TSI_SERIES_LINE,
                      .colour = tsi_column_colour(z->b.cols, column),
                      .shape = TSI_DISC,
                      .count = end - first,
                      .x = x + first,
                      .y = y + first};
}

/* series: the tolerance, then the right-hand sides. */
static bool draw(tsi_session *s, const tsi_krylov_solution *z, const tristar_krylov_result *all,
                 const char *norm, int count, const tsi_series *series) {
  tsi_picture p;
  const double most = all->iterations > 0 ? (double)all->iterations : 1;
  tsi_axis x = {.from = -0.01 * most, .to = 1.01 * most, .name = "iterations", .integer = true};
  tsi_axis y = {.name = "norm of the residual, relative", .logarithmic = true};
  if (!tsi_chart_begin(&p, s, s->settings->svg, "Convergence")) return false;
  tsi_picture_subtitle(&p, "%s, preconditioner %s, n = %s, %s, %s; %s %s", z->method, z->words.word,
                       tsi_text_count(s->view.rows), s->precision->text,
                       tsi_text_many(z->b.cols, "right-hand side"),
                       tsi_text_many(all->iterations, "iteration"),
                       all->converged ? "until convergence" : "without convergence");
  if (z->b.cols == 1) tsi_legend_square(&p.legend, tsi_svg_colour[TSI_BLUE], "%s", norm);
  tsi_column_legend(&p.legend, z->b.cols);
  tsi_chart_legend(&p, 1, series);
  tsi_chart_draw(&p, &x, &y, count, series);
  return tsi_chart_end(&p, &y);
}

bool tsi_krylov_draw(tsi_session *s, const tsi_krylov_solution *z, const tristar_krylov_result *all,
                     const char *norm) {
  const tsi_norms *norms = &z->norms;
  const size_t space = (size_t)norms->count + 1;
  const bool marks = all->iterations <= 60; /* more marks would overlap */
  double *x = malloc(space * sizeof *x), *y = malloc(space * sizeof *y);
  tsi_series *series = malloc(space * sizeof *series);
  char text[64];
  int count = 1;
  bool ok = (x != NULL && y != NULL && series != NULL) ||
            tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  if (norms->count > 0) qsort(norms->point, (size_t)norms->count, sizeof *norms->point, compare_points);
  for (int64_t k = 0; k < norms->count && ok; k++) {
    x[k] = (double)norms->point[k].iteration;
    y[k] = norms->point[k].residual;
  }
  if (ok) {
    snprintf(text, sizeof text, "tolerance, %.1e", z->options.tolerance);
    series[0] = (tsi_series){
        .name = text, .kind = TSI_SERIES_LEVEL, .colour = TSI_BLACK, .count = 1, .y = &z->options.tolerance};
    for (int64_t first = 0; first < norms->count; first += series[count++].count)
      series[count] = series_of(z, x, y, first, marks);
    ok = draw(s, z, all, norm, count, series);
  }
  free(x);
  free(y);
  free(series);
  return ok;
}
