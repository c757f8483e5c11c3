/* GF/s of each sweep against its flops per byte: see plot.h (the roofline of Williams, Waterman and Patterson
 * 2009).
 *
 * Limits: the read bandwidth of all workers together, and DGEMM (in double precision) on as many threads. A
 * time is the median of solves with only L or U. Points above the roof are possible: a factor that fits into
 * the caches is not read from memory. */
#include <math.h>
#include <stdlib.h>

#include "drivers/draw/chart.h"
#include "drivers/draw/labels.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"

enum { SIZES = 4, SWEEPS = 2, LIMITS = 2 };
static const int64_t sizes[SIZES] = {1, 4, 16, 64};

typedef struct roofline {
  tsi_limits limits;
  tsi_timed points[SWEEPS][SIZES];
} roofline;

/* A limit of the machine. */
typedef struct curve {
  char text[120];
  double x[3], y[3];
} curve;

static const tristar_part parts[SWEEPS] = {TRISTAR_PART_L, TRISTAR_PART_U};
static const char *const part_names[SWEEPS] = {"forward, L", "backward, U"};
static const int part_colours[SWEEPS] = {TSI_BLUE, TSI_VERMILLION};

static double intensity(const tsi_timed *p) {
  return p->flops / p->bytes;
}
static double gflops(const tsi_timed *p) {
  return p->flops / p->seconds / 1e9;
}
static double roof(const roofline *r, double at) {
  return fmin(r->limits.square, at * r->limits.bandwidth.all);
}

static bool measure_sweeps(tsi_session *s, roofline *r) {
  tristar_dense b = {0}, x = {0};
  bool ok =
      tsi_dense_make(s, s->a.n, sizes[SIZES - 1], &b) && tsi_dense_make(s, s->a.n, sizes[SIZES - 1], &x);
  for (int part = 0; part < SWEEPS; part++)
    for (int k = 0; k < SIZES && ok; k++)
      ok = tsi_plot_time(s, parts[part], sizes[k], &b, &x, &r->points[part][k]);
  free(b.values);
  free(x.values);
  return ok;
}

/* Is a sweep with sizes[k] right-hand sides above the roof? */
static bool is_above(const roofline *r, int k) {
  for (int part = 0; part < SWEEPS; part++)
    if (gflops(&r->points[part][k]) > roof(r, intensity(&r->points[part][k]))) return true;
  return false;
}

/* Lists the roof up to DGEMM, and DGEMM with tall matrices. x, y: three values each. */
static void list_limits(const tsi_limits *l, const tsi_axis *x, const tsi_axis *y, curve limits[LIMITS],
                        tsi_series series[LIMITS]) {
  const double all = l->bandwidth.all, begin = fmax(x->from, y->from / all);
  limits[0] = (curve){.x = {begin, l->square / all, x->to}, .y = {begin * all, l->square, l->square}};
  limits[1] = (curve){.x = {l->tall / all, x->to}, .y = {l->tall, l->tall}};
  snprintf(limits[0].text, sizeof limits[0].text,
           "roof: read bandwidth of %s, %.1f GB/s, and DGEMM, %.1f GF/s",
           tsi_text_many(l->bandwidth.cores, "core"), all, l->square);
  snprintf(limits[1].text, sizeof limits[1].text, "DGEMM with %lld columns, %.1f GF/s",
           (long long)sizes[SIZES - 1], l->tall);
  for (int k = 0; k < LIMITS; k++)
    series[k] = (tsi_series){.name = limits[k].text,
                             .kind = k == 0 ? TSI_SERIES_LINE : TSI_SERIES_DASHED,
                             .colour = TSI_BLACK,
                             .count = 3 - k,
                             .x = limits[k].x,
                             .y = limits[k].y};
}

/* Writes the legend above the plot, because no area inside the plot is always free. */
static void write_legend(tsi_picture *p, const roofline *r, const tsi_series series[LIMITS]) {
  bool above = false;
  tsi_legend_mark(&p->legend, TSI_DISC, tsi_svg_colour[part_colours[0]], "%s", part_names[0]);
  const double x = tsi_legend_place(&p->legend, 15, "%s", part_names[1]);
  fprintf(p->file,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"13\" height=\"13\" fill=\"none\" stroke-width=\"2.5\" "
          "stroke=\"%s\"/>\n",
          x + 1, p->legend.y - 10, tsi_svg_colour[part_colours[1]]);
  tsi_chart_legend(p, LIMITS, series);
  for (int k = 0; k < SIZES; k++) above = above || is_above(r, k);
  if (above)
    tsi_legend_text(&p->legend,
                    "points above the roof: the factor (%s a sweep) is read from caches, not from memory",
                    tsi_text_bytes(p->s->p.exact_bytes / SWEEPS));
}

static void write_point(FILE *file, const roofline *r, int part, int k, double px, double py) {
  const tsi_timed *p = &r->points[part][k];
  if (part == 0)
    fprintf(file, "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\" ", px, py);
  else
    fprintf(file, "<rect class=\"point\" x=\"%.1f\" y=\"%.1f\" width=\"15\" height=\"15\" ", px - 7.5,
            py - 7.5);
  fprintf(file, "%s=\"%s\"><title>%s, %s\n%s a solve, %.1f GF/s, %.1f GB/s</title></%s>\n",
          part == 0 ? "fill" : "fill=\"none\" pointer-events=\"all\" stroke-width=\"2.5\" stroke",
          tsi_svg_colour[part_colours[part]], part_names[part], tsi_text_many(p->nrhs, "right-hand side"),
          tsi_text_time(p->seconds), gflops(p), p->bytes / p->seconds / 1e9, part == 0 ? "circle" : "rect");
}

/* Writes points with labels. The label of a number of right-hand sides is below the slower of its points; if
 * the points are above the roof, it is above both, so that it does not overlap the roof. */
static void write_points(FILE *file, const tsi_axis *x, const tsi_axis *y, const roofline *r) {
  tsi_labels labels = {.frame = {x->begin, y->end, x->end, y->begin}};
  double lowest[SIZES], highest[SIZES];
  for (int k = 0; k < SIZES; k++) { /* squares around circles, so that both are seen */
    lowest[k] = -INFINITY;
    highest[k] = INFINITY;
    for (int part = 0; part < SWEEPS; part++) {
      const tsi_timed *p = &r->points[part][k];
      const double px = tsi_axis_at(x, intensity(p)), py = tsi_axis_at(y, gflops(p));
      lowest[k] = fmax(lowest[k], py);
      highest[k] = fmin(highest[k], py);
      tsi_labels_take(&labels, px, py, 9);
      write_point(file, r, part, k, px, py);
    }
  }
  for (int k = 0; k < SIZES; k++)
    (void)tsi_labels_write(file, &labels, tsi_axis_at(x, intensity(&r->points[0][k])),
                           is_above(r, k) ? highest[k] : lowest[k], is_above(r, k),
                           tsi_text_many(sizes[k], "right-hand side"));
}

static void find_axes(const roofline *r, tsi_axis *x, tsi_axis *y) {
  double least = r->limits.tall, most = r->limits.square, left = intensity(&r->points[0][0]),
         right = 2 * r->limits.square / r->limits.bandwidth.all;
  for (int part = 0; part < SWEEPS; part++)
    for (int k = 0; k < SIZES; k++) {
      const tsi_timed *p = &r->points[part][k];
      least = fmin(least, gflops(p));
      most = fmax(most, gflops(p));
      left = fmin(left, intensity(p));
      right = fmax(right, 1.6 * intensity(p));
    }
  *x = (tsi_axis){.from = left / 2.5, .to = right, .name = "flops per byte", .logarithmic = true};
  *y = (tsi_axis){.from = least / 3, .to = most * 1.6, .name = "GF/s", .logarithmic = true};
}

static bool draw(tsi_session *s, const roofline *r) {
  tsi_picture p;
  tsi_axis x, y;
  curve limits[LIMITS];
  tsi_series series[LIMITS];
  find_axes(r, &x, &y);
  list_limits(&r->limits, &x, &y, limits, series);
  if (!tsi_chart_begin(&p, s, s->settings->out, "Roofline of the sweeps")) return false;
  tsi_picture_subtitle(&p, "n = %s, nnz(L) = %s, %s of factor a sweep, %s; %s, scheduler %s; median of %s",
                       tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower),
                       tsi_text_bytes(s->p.exact_bytes / SWEEPS), s->precision->text,
                       tsi_text_many(s->p.workers, "worker"), s->p.scheduler,
                       tsi_text_many(s->settings->repeat, "solve"));
  write_legend(&p, r, series);
  tsi_chart_draw(&p, &x, &y, LIMITS, series);
  write_points(p.file, &x, &y, r);
  return tsi_chart_end(&p, &y);
}

static void add_figures(cJSON *figures, const roofline *r) {
  cJSON *array = cJSON_AddArrayToObject(figures, "items");
  tsi_plot_add_limits(figures, &r->limits);
  for (int part = 0; part < SWEEPS; part++)
    for (int k = 0; k < SIZES; k++) {
      cJSON *object = tsi_plot_make_timed(&r->points[part][k]);
      cJSON_AddStringToObject(object, "part", part == 0 ? "L" : "U");
      cJSON_AddItemToArray(array, object);
    }
}

bool tsi_plot_roofline(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  roofline r;
  if (!tsi_plot_limits(s, sizes[SIZES - 1], &r.limits) || !tsi_session_factor(s) ||
      !tsi_session_plan(s, sizes[SIZES - 1]) || !measure_sweeps(s, &r))
    return false;
  add_figures(plot->figures, &r);
  return draw(s, &r);
}
