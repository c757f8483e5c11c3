/* The picture of `tristar krylov`: the norm of the residual, iteration by iteration. See krylov.h.
 *
 * A line joins the norms of a right-hand side, divided by the one that the tolerance refers to; what is not
 * positive or not finite has no place on a logarithmic axis. */
#include <math.h>
#include <stdlib.h>

#include "drivers/draw/chart.h"
#include "drivers/command/krylov.h"
#include "drivers/report/report.h"

enum { HEIGHT = 480, LISTED_MOST = 6 }; /* pixels; right-hand sides with colours of their own */

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

/* Abscissae and ordinates of all points. */
typedef struct curves {
  const tsi_krylov_picture *picture;
  double *x, *y;
} curves;

static int colour_of(int64_t nrhs, int64_t column) {
  static const int order[LISTED_MOST] = {TSI_BLUE,   TSI_VERMILLION, TSI_GREEN,
                                         TSI_PURPLE, TSI_ORANGE,     TSI_SKY};
  return nrhs <= LISTED_MOST ? order[column] : column == 0 ? TSI_BLUE : TSI_GREY;
}

/* Points first .. are those of a right-hand side. */
static tsi_series series_of(const curves *c, int64_t first, int64_t *end) {
  const tsi_norms *norms = c->picture->norms;
  const int64_t column = norms->point[first].column;
  for (*end = first; *end < norms->count && norms->point[*end].column == column; ++*end) {
  }
  const bool few = c->picture->iterations <= 60; /* marks would be a band */
  return (tsi_series){.kind = few ? TSI_SERIES_MARKS : TSI_SERIES_LINE,
                      .colour = colour_of(c->picture->nrhs, column),
                      .shape = TSI_DISC,
                      .count = *end - first,
                      .x = c->x + first,
                      .y = c->y + first};
}

/* Gives its last base line. file: NULL: it is only measured. */
static double write_legend(FILE *file, const tsi_krylov_picture *picture) {
  tsi_legend legend = tsi_legend_begin(file, TSI_CHART_LEFT, TSI_CHART_WIDTH - 16, TSI_CHART_LEGEND);
  char text[96];
  if (picture->nrhs == 1) tsi_legend_square(&legend, tsi_svg_colour[TSI_BLUE], picture->norm);
  for (int64_t c = 0; c < picture->nrhs && picture->nrhs > 1 && picture->nrhs <= LISTED_MOST; c++) {
    snprintf(text, sizeof text, "right-hand side %lld", (long long)c + 1);
    tsi_legend_square(&legend, tsi_svg_colour[colour_of(picture->nrhs, c)], text);
  }
  if (picture->nrhs > LISTED_MOST) {
    tsi_legend_square(&legend, tsi_svg_colour[TSI_BLUE], "right-hand side 1");
    tsi_legend_square(&legend, tsi_svg_colour[TSI_GREY], "the others");
  }
  snprintf(text, sizeof text, "tolerance, %.1e", picture->tolerance);
  tsi_legend_line(&legend, "stroke=\"#111\" stroke-dasharray=\"6 4\"", text);
  return legend.y;
}

static void draw_chart(FILE *file, const curves *c, double top) {
  const tsi_krylov_picture *picture = c->picture;
  const char *x_name = "iterations", *y_name = "norm of the residual, relative";
  tsi_axis y = {.from = INFINITY, .to = -INFINITY, .begin = top + HEIGHT, .end = top, .logarithmic = true};
  const double most = picture->iterations > 0 ? (double)picture->iterations : 1;
  const tsi_axis x = {.from = -0.01 * most,
                      .to = 1.01 * most,
                      .begin = TSI_CHART_LEFT,
                      .end = TSI_CHART_WIDTH - TSI_CHART_RIGHT,
                      .integer = true};
  tsi_axis_include(&y, picture->norms->count, c->y);
  tsi_axis_include(&y, 1, &picture->tolerance);
  tsi_axis_widen(&y);
  tsi_axis_x(file, &x, y.begin, y.end, x_name);
  tsi_axis_y(file, &y, x.begin, x.end, y_name);
  if (picture->tolerance > 0)
    fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#111\" stroke-dasharray=\"6 4\"/>\n", x.begin,
            tsi_axis_at(&y, picture->tolerance), x.end);
  for (int64_t first = 0, end; first < picture->norms->count; first = end) {
    const tsi_series series = series_of(c, first, &end);
    tsi_series_write(file, &x, &y, &series, x_name, y_name);
  }
}

static bool draw(tsi_session *s, const curves *c) {
  const tsi_krylov_picture *picture = c->picture;
  const double top = write_legend(NULL, picture) + TSI_CHART_ABOVE;
  tsi_picture p;
  if (!tsi_picture_begin(&p, s, s->settings->svg, TSI_CHART_WIDTH, top + HEIGHT + TSI_CHART_BELOW))
    return false;
  tsi_picture_title(&p, TSI_CHART_LEFT, "Convergence");
  tsi_picture_subtitle(&p, TSI_CHART_LEFT, "%s, preconditioner %s, n = %s, %s, %s; %s %s", picture->method,
                       picture->precond, tsi_text_count(s->view.rows), s->precision->text,
                       tsi_text_many(picture->nrhs, "right-hand side"),
                       tsi_text_many(picture->iterations, "iteration"),
                       picture->converged ? "until convergence" : "without convergence");
  (void)write_legend(p.file, picture);
  draw_chart(p.file, c, top);
  return tsi_picture_end(&p);
}

bool tsi_krylov_draw(tsi_session *s, const tsi_krylov_picture *picture) {
  const tsi_norms *norms = picture->norms;
  const size_t room = norms->count > 0 ? (size_t)norms->count : 1;
  curves c = {picture, malloc(room * sizeof *c.x), malloc(room * sizeof *c.y)};
  bool ok = c.x != NULL && c.y != NULL;
  if (!ok) tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  if (norms->count > 0) qsort(norms->point, (size_t)norms->count, sizeof *norms->point, compare_points);
  for (int64_t k = 0; k < norms->count && ok; k++) {
    c.x[k] = (double)norms->point[k].iteration;
    c.y[k] = norms->point[k].residual;
  }
  ok = ok && draw(s, &c);
  free(c.x);
  free(c.y);
  return ok;
}
