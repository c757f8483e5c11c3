/* The backward error during refinement: see plot.h.
 *
 * Discs are first solves, squares corrections, diamonds iterations of FGMRES; a line joins the marks of a
 * right-hand side. A correction that did not reduce the error is rejected: its mark is a cross, and the line
 * continues from the best one. An error of zero is drawn at the lower end of the logarithmic axis. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/draw/chart.h"
#include "drivers/draw/labels.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

typedef struct history {
  tristar_refine_options options;
  tristar_refine_result result;
  int64_t nrhs, count,
      longest; /* count: points; longest: maximum of a right-hand side, without the first point */
  double tolerance;
} history;

static bool refine(tsi_session *s, history *h) {
  tristar_dense b = {0}, x = {0};
  tristar_refine_options *o = &h->options;
  tristar_refine_options_init(o);
  o->max_steps = (int)s->settings->refine;
  h->nrhs = tsi_plot_nrhs(s);
  /* FGMRES may be restarted, but makes max_iterations in all */
  o->history_most = h->nrhs * (1 + (int64_t)o->max_steps + o->max_iterations);
  o->history = malloc((size_t)o->history_most * sizeof *o->history);
  bool ok = o->history != NULL || tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the history");
  ok = ok && tsi_rhs_make(s, &b) && tsi_dense_make(s, b.rows, b.cols, &x) &&
       tsi_session_check(s,
                         tristar_solve_refined(s->plan, tsi_session_op(s)->op, b.cols, b.values, b.rows,
                                               x.values, b.rows, o, &h->result),
                         s->name);
  if (ok) h->count = h->result.history_count < o->history_most ? h->result.history_count : o->history_most;
  free(b.values);
  free(x.values);
  return ok;
}

/* Returns `end`: points first .. end-1 belong to one right-hand side. */
static int64_t end_of_column(const history *h, int64_t first) {
  const tristar_refine_point *points = h->options.history;
  int64_t end = first + 1;
  while (end < h->count && points[end].column == points[first].column) end++;
  return end;
}

/* Returns the position of a point on the axis. */
static double height_of(const tsi_axis *y, double error) {
  return tsi_axis_at(y, error > y->from ? error : y->from);
}

static tsi_shape shape_of(const tristar_refine_point *point, bool given_up) {
  return given_up                ? TSI_CROSS
         : point->iterations > 0 ? TSI_DIAMOND
         : point->steps > 0      ? TSI_SQUARE
                                 : TSI_DISC;
}

static void write_point(FILE *file, const tristar_refine_point *point, tsi_shape shape, const char *colour,
                        double x, double y) {
  tsi_svg_mark(file, "point", shape, colour, x, y);
  fprintf(file, "<title>right-hand side %lld\n%s, %s of FGMRES\nbackward error %.2e%s</title></path>\n",
          (long long)point->column + 1, tsi_text_many(point->steps, "correction"),
          tsi_text_many(point->iterations, "iteration"), point->backward_error,
          shape == TSI_CROSS ? ", discarded" : "");
}

/* Labels the first and the last error, only for a single right-hand side: others would overlap. */
static void write_column(FILE *file, const history *h, int64_t first, int64_t end, const tsi_axis *x,
                         const tsi_axis *y, tsi_labels *labels) {
  const tristar_refine_point *points = h->options.history;
  const char *colour = tsi_svg_colour[tsi_column_colour(h->nrhs, points[first].column)];
  double best = INFINITY, from_x = 0, from_y = 0, at = 0, height = 0;
  char text[48];
  for (int64_t k = first; k < end; k++) {
    const double error = points[k].backward_error;
    if (!isfinite(error)) continue;
    const bool given_up = !(error < best) && k > first && points[k].iterations == 0;
    at = tsi_axis_at(x, (double)(k - first));
    height = height_of(y, error);
    if (best < INFINITY)
      fprintf(file, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\" stroke-width=\"1.6\"%s/>\n", from_x,
              from_y, at, height, colour, given_up ? " stroke-dasharray=\"3 3\"" : "");
    write_point(file, &points[k], shape_of(&points[k], given_up), colour, at, height);
    tsi_labels_take(labels, at, height, 6);
    if (given_up) continue;
    best = error;
    from_x = at;
    from_y = height;
  }
  if (h->nrhs > 1 || !(best < INFINITY)) return;
  snprintf(text, sizeof text, "final, %.1e", h->result.backward_error);
  (void)tsi_labels_write(file, labels, from_x, from_y, false, text);
  snprintf(text, sizeof text, "initial, %.1e", h->result.initial_backward_error);
  (void)tsi_labels_write(file, labels, tsi_axis_at(x, 0), height_of(y, points[first].backward_error), true,
                         text);
}

/* Is there a point of the shape? */
static bool has(const history *h, tsi_shape shape) {
  const tristar_refine_point *points = h->options.history;
  double best = INFINITY;
  for (int64_t k = 0; k < h->count; k++) {
    const bool first = points[k].steps + points[k].iterations == 0;
    const double error = points[k].backward_error;
    const bool given_up = !first && !(error < best) && points[k].iterations == 0;
    if (shape_of(&points[k], given_up) == shape) return true;
    if (first || error < best) best = error;
  }
  return false;
}

static void write_legend(tsi_picture *p, const history *h, const tsi_series *tolerance) {
  static const struct {
    tsi_shape shape;
    const char *text;
  } shapes[] = {{TSI_DISC, "first solve"},
                {TSI_SQUARE, "correction"},
                {TSI_CROSS, "correction, discarded"},
                {TSI_DIAMOND, "iteration of FGMRES"}};
  for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
    if (has(h, shapes[k].shape))
      tsi_legend_mark(&p->legend, shapes[k].shape, tsi_svg_colour[TSI_BLACK], "%s", shapes[k].text);
  tsi_chart_legend(p, 1, tolerance);
  tsi_column_legend(&p->legend, h->nrhs);
}

/* Finds the range of the errors that can be shown and of the tolerance, with space for labels. */
static void find_range(const history *h, tsi_axis *y) {
  y->from = y->to = h->tolerance;
  for (int64_t k = 0; k < h->count; k++) {
    const double error = h->options.history[k].backward_error;
    if (!(error > 0) || !isfinite(error)) continue;
    y->from = fmin(y->from, error);
    y->to = fmax(y->to, error);
  }
  const double space = fmax(3, pow(y->to / y->from, 0.12));
  y->from /= space;
  y->to *= space;
}

static void write_notes(const tsi_picture *p, const history *h, double y) {
  int64_t zero = 0, lost = 0;
  char text[160] = "";
  for (int64_t k = 0; k < h->count; k++) {
    zero += h->options.history[k].backward_error <= 0;
    lost += !isfinite(h->options.history[k].backward_error);
  }
  if (zero > 0)
    snprintf(text, sizeof text, "%s at the lower end of the axis: the error is 0. ",
             tsi_text_many(zero, "mark"));
  if (lost > 0)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s left out: the error is not finite.",
             tsi_text_many(lost, "mark"));
  if (*text != '\0') tsi_picture_note(p, TSI_CHART_LEFT, y, "%s", text);
}

static bool draw(tsi_session *s, const history *h) {
  static const char *const stops[] = {"converged", "stopped by the limit of steps", "stagnated"};
  tsi_picture p;
  char text[64];
  const tsi_series tolerance = {
      .name = text, .kind = TSI_SERIES_LEVEL, .colour = TSI_BLACK, .count = 1, .y = &h->tolerance};
  tsi_axis x = {.from = -0.4,
                .to = (double)(h->longest > 0 ? h->longest : 1) + 0.4,
                .name = "corrections and iterations of FGMRES",
                .integer = true,
                .apart = 60};
  tsi_axis y = {.name = "componentwise backward error", .logarithmic = true};
  if (!tsi_chart_begin(&p, s, s->settings->out, "Refinement of a solution")) return false;
  tsi_picture_subtitle(
      &p, "n = %s, %s%s, %s; %s after %s and %s of FGMRES: backward error %.1e, %.1e before",
      tsi_text_count(s->a.n), s->precision->text, s->single_factors ? " (single factors)" : "",
      tsi_text_many(h->nrhs, "right-hand side"), stops[h->result.stop],
      tsi_text_many(h->result.steps, "correction"), tsi_text_many(h->result.iterations, "iteration"),
      h->result.backward_error, h->result.initial_backward_error);
  snprintf(text, sizeof text, "tolerance, %.1e", h->tolerance);
  write_legend(&p, h, &tolerance);
  find_range(h, &y);
  tsi_chart_draw(&p, &x, &y, 1, &tolerance);
  tsi_labels labels = {.frame = {x.begin, y.end, x.end, y.begin}};
  for (int64_t end = h->count, k = 0; k < h->count; k = end) {
    end = end_of_column(h, k);
    write_column(p.file, h, k, end, &x, &y, &labels);
  }
  write_notes(&p, h, y.begin + 64);
  return tsi_picture_end(&p, y.begin + TSI_CHART_BELOW + 20);
}

static void add_figures(cJSON *figures, const history *h) {
  cJSON *items = cJSON_AddArrayToObject(figures, "items");
  TSI_JSON_NUMBERS(figures, {"nrhs", (double)h->nrhs}, {"tolerance", h->tolerance},
                   {"refinement_steps", h->result.steps}, {"fgmres_iterations", h->result.iterations},
                   {"initial_backward_error", h->result.initial_backward_error},
                   {"backward_error", h->result.backward_error});
  for (int64_t k = 0; k < h->count; k++) {
    const tristar_refine_point *point = &h->options.history[k];
    cJSON *object = tsi_json_add_item(items);
    TSI_JSON_NUMBERS(object, {"column", (double)point->column + 1}, {"steps", point->steps},
                     {"iterations", point->iterations}, {"backward_error", point->backward_error});
  }
}

bool tsi_plot_refinement(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  history h = {.count = 0};
  bool ok = tsi_session_factor(s) && tsi_session_plan(s, tsi_plot_nrhs(s)) && refine(s, &h);
  if (ok) {
    h.tolerance = 2 * s->precision->epsilon;
    for (int64_t k = 0, end; k < h.count; k = end) {
      end = end_of_column(&h, k);
      if (end - k - 1 > h.longest) h.longest = end - k - 1;
    }
    add_figures(plot->figures, &h);
    ok = draw(s, &h);
  }
  free(h.options.history);
  return ok;
}
