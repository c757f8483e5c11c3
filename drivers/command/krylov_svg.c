/* The picture of `tristar krylov`: the norm of the residual, iteration by iteration. See krylov.h.
 *
 * A line joins the norms of a right-hand side, divided by the one that the tolerance refers to; what is not
 * positive or not finite has no place on a logarithmic axis. */
#include <math.h>
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

/* By right-hand side, then by iteration. */
static int compare_points(const void *a, const void *b) {
  const tristar_krylov_point *p = a, *q = b;
  if (p->column != q->column) return (p->column > q->column) - (p->column < q->column);
  return (p->iteration > q->iteration) - (p->iteration < q->iteration);
}

/* The series of a right-hand side, whose points begin with the first. x, y: of all points. */
static tsi_series series_of(const tsi_krylov_picture *picture, const double *x, const double *y,
                            int64_t first) {
  const tsi_norms *norms = picture->norms;
  const int64_t column = norms->point[first].column;
  int64_t end = first;
  while (end < norms->count && norms->point[end].column == column) end++;
  const bool few = picture->iterations <= 60; /* marks would be a band */
  return (tsi_series){.kind = few ? TSI_SERIES_MARKS : TSI_SERIES_LINE,
                      .colour = tsi_column_colour(picture->nrhs, column),
                      .shape = TSI_DISC,
                      .count = end - first,
                      .x = x + first,
                      .y = y + first};
}

/* series: the tolerance, then the right-hand sides. */
static bool draw(tsi_session *s, const tsi_krylov_picture *picture, int count, const tsi_series *series) {
  tsi_picture p;
  const double most = picture->iterations > 0 ? (double)picture->iterations : 1;
  tsi_axis x = {.from = -0.01 * most, .to = 1.01 * most, .name = "iterations", .integer = true};
  tsi_axis y = {.name = "norm of the residual, relative", .logarithmic = true};
  if (!tsi_chart_begin(&p, s, s->settings->svg, "Convergence")) return false;
  tsi_picture_subtitle(&p, "%s, preconditioner %s, n = %s, %s, %s; %s %s", picture->method, picture->precond,
                       tsi_text_count(s->view.rows), s->precision->text,
                       tsi_text_many(picture->nrhs, "right-hand side"),
                       tsi_text_many(picture->iterations, "iteration"),
                       picture->converged ? "until convergence" : "without convergence");
  if (picture->nrhs == 1) tsi_legend_square(&p.legend, tsi_svg_colour[TSI_BLUE], "%s", picture->norm);
  tsi_column_legend(&p.legend, picture->nrhs);
  tsi_chart_legend(&p, 1, series);
  tsi_chart_draw(&p, &x, &y, count, series);
  return tsi_chart_end(&p, &y);
}

bool tsi_krylov_draw(tsi_session *s, const tsi_krylov_picture *picture) {
  const tsi_norms *norms = picture->norms;
  const size_t room = (size_t)norms->count + 1;
  double *x = malloc(room * sizeof *x), *y = malloc(room * sizeof *y);
  tsi_series *series = malloc(room * sizeof *series);
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
    snprintf(text, sizeof text, "tolerance, %.1e", picture->tolerance);
    series[0] = (tsi_series){
        .name = text, .kind = TSI_SERIES_LEVEL, .colour = TSI_BLACK, .count = 1, .y = &picture->tolerance};
    for (int64_t first = 0; first < norms->count; first += series[count++].count)
      series[count] = series_of(picture, x, y, first);
    ok = draw(s, picture, count, series);
  }
  free(x);
  free(y);
  free(series);
  return ok;
}
