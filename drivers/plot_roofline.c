/* GF/s of each sweep against its flops per byte: see plot.h (the roofline of Williams, Waterman and Patterson
 * 2009).
 *
 * Flops: two for each entry of the factor and each right-hand side, eight in complex types. Bytes: the exact
 * entries of the factor once, for each block of 64 right-hand sides, and b and x. Limits: what all workers
 * read from memory together, and DGEMM (in double precision) on as many threads; both are measured before
 * StarPU's workers poll. A time is the median of REPEAT solves with L or U alone, after a warm-up. */
#include <math.h>
#include <stdlib.h>

#include "drivers/bench.h"
#include "drivers/plot.h"
#include "drivers/report.h"
#include "drivers/rhs.h"
#include "runtime/base/median.h"

/* Pixels. */
enum { WIDTH = 1200, LEFT = 96, RIGHT = 40, TOP = 104, PLOT_HEIGHT = 520, BOTTOM = 60, LEGEND = 86 };
enum { SIZES = 4, SWEEPS = 2, REPEAT = 7 };
static const int64_t sizes[SIZES] = {1, 4, 16, 64};

typedef struct point {
  double seconds, flops, bytes;
} point;

typedef struct roofline {
  tsi_bandwidth bandwidth;
  double square, tall; /* GF/s of DGEMM */
  point points[SWEEPS][SIZES];
} roofline;

static const tristar_part parts[SWEEPS] = {TRISTAR_PART_L, TRISTAR_PART_U};
static const char *const part_names[SWEEPS] = {"forward, L", "backward, U"};
static const int part_colours[SWEEPS] = {TSI_BLUE, TSI_VERMILLION};

static double intensity(const point *p) {
  return p->flops / p->bytes;
}
static double gflops(const point *p) {
  return p->flops / p->seconds / 1e9;
}

static bool measure_point(tsi_session *s, tristar_part part, int64_t nrhs, const tristar_dense *b,
                          const tristar_dense *x, point *out) {
  tristar_solve_options options;
  double seconds[REPEAT + 1];
  tristar_solve_options_init(&options);
  options.part = part;
  for (int k = 0; k <= REPEAT; k++) {
    const double begin = tsi_now();
    if (!tsi_session_check(s, tristar_solve_with(s->plan, &options, nrhs, b->values, x->values, NULL),
                           s->name))
      return false;
    seconds[k] = tsi_now() - begin;
  }
  const double entries =
      s->p.exact_bytes / (double)s->precision->bytes / SWEEPS * (s->single_factors ? 2 : 1);
  out->seconds = tsi_median(seconds + 1, REPEAT);
  out->flops = entries * tsi_precision_flops(s->precision) * (double)nrhs;
  out->bytes = s->p.exact_bytes / SWEEPS + 2 * (double)(nrhs * s->a.n) * (double)s->precision->bytes;
  return true;
}

static bool measure_sweeps(tsi_session *s, roofline *r) {
  tristar_dense b = {0}, x = {0};
  bool ok =
      tsi_dense_make(s, s->a.n, sizes[SIZES - 1], &b) && tsi_dense_make(s, s->a.n, sizes[SIZES - 1], &x);
  for (int part = 0; part < SWEEPS; part++)
    for (int k = 0; k < SIZES && ok; k++)
      ok = measure_point(s, parts[part], sizes[k], &b, &x, &r->points[part][k]);
  free(b.values);
  free(x.values);
  return ok;
}

static void write_limit(FILE *file, const tsi_axis *x, const tsi_axis *y, const roofline *r) {
  const double ridge = r->square / r->bandwidth.all, begin = fmax(x->from, y->from / r->bandwidth.all);
  fprintf(file,
          "<path d=\"M%.1f %.1fL%.1f %.1fH%.1f\" fill=\"none\" stroke=\"#222\" stroke-width=\"2\"/>\n<path "
          "d=\"M%.1f %.1fH%.1f\" stroke=\"#222\" stroke-dasharray=\"5 4\"/>\n",
          tsi_axis_at(x, begin), tsi_axis_at(y, begin * r->bandwidth.all), tsi_axis_at(x, ridge),
          tsi_axis_at(y, r->square), x->end, tsi_axis_at(x, r->tall / r->bandwidth.all),
          tsi_axis_at(y, r->tall), x->end);
}

/* Beside the squares of the sweeps: the plot itself has no place that is free for certain. */
static void write_legend(FILE *file, const roofline *r) {
  double at = LEFT;
  for (int part = 0; part < SWEEPS; part++)
    at = tsi_svg_legend(file, at, LEGEND, tsi_svg_colour[part_colours[part]], part_names[part]);
  fprintf(file,
          "<path d=\"M%.1f %dh24\" stroke=\"#222\" stroke-width=\"2\"/><text x=\"%.1f\" y=\"%d\" "
          "font-size=\"12\">read bandwidth of %s, %.1f GB/s; DGEMM, %.1f GF/s</text>\n",
          at, LEGEND - 4, at + 30, LEGEND, tsi_text_many(r->bandwidth.cores, "core"), r->bandwidth.all,
          r->square);
  at += 410;
  fprintf(file,
          "<path d=\"M%.1f %dh24\" stroke=\"#222\" stroke-dasharray=\"5 4\"/><text x=\"%.1f\" y=\"%d\" "
          "font-size=\"12\">DGEMM with %lld columns, %.1f GF/s</text>\n",
          at, LEGEND - 4, at + 30, LEGEND, (long long)sizes[SIZES - 1], r->tall);
}

/* The label of a number of right-hand sides: below the slower of its points. */
static void write_points(FILE *file, const tsi_axis *x, const tsi_axis *y, const roofline *r) {
  for (int k = 0; k < SIZES; k++) { /* squares around circles, so that both are seen */
    double lowest = 0;
    for (int part = 0; part < SWEEPS; part++) {
      const point *p = &r->points[part][k];
      const double px = tsi_axis_at(x, intensity(p)), py = tsi_axis_at(y, gflops(p));
      if (py > lowest) lowest = py;
      if (part == 0)
        fprintf(file, "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\" ", px, py);
      else
        fprintf(file, "<rect class=\"point\" x=\"%.1f\" y=\"%.1f\" width=\"15\" height=\"15\" ", px - 7.5,
                py - 7.5);
      fprintf(file, "%s=\"%s\"><title>%s, %s\n%s a solve, %.1f GF/s, %.1f GB/s</title></%s>\n",
              part == 0 ? "fill" : "fill=\"none\" pointer-events=\"all\" stroke-width=\"2.5\" stroke",
              tsi_svg_colour[part_colours[part]], part_names[part],
              tsi_text_many(sizes[k], "right-hand side"), tsi_text_seconds(p->seconds), gflops(p),
              p->bytes / p->seconds / 1e9, part == 0 ? "circle" : "rect");
    }
    fprintf(file,
            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" text-anchor=\"middle\" "
            "stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">%s</text>\n",
            tsi_axis_at(x, intensity(&r->points[0][k])), lowest + 24,
            tsi_text_many(sizes[k], "right-hand side"));
  }
}

static void find_axes(const roofline *r, tsi_axis *x, tsi_axis *y) {
  double least = r->tall, most = r->square, left = intensity(&r->points[0][0]),
         right = 2 * r->square / r->bandwidth.all;
  for (int part = 0; part < SWEEPS; part++)
    for (int k = 0; k < SIZES; k++) {
      const point *p = &r->points[part][k];
      least = fmin(least, gflops(p));
      most = fmax(most, gflops(p));
      left = fmin(left, intensity(p));
      right = fmax(right, 1.6 * intensity(p));
    }
  *x = (tsi_axis){left / 2.5, right, LEFT, WIDTH - RIGHT, true};
  *y = (tsi_axis){least / 3, most * 1.6, TOP + PLOT_HEIGHT, TOP, true};
}

static void draw(const tsi_picture *p, const roofline *r) {
  const tsi_session *s = p->s;
  tsi_axis x, y;
  find_axes(r, &x, &y);
  tsi_picture_title(p, LEFT, "Roofline of the sweeps");
  tsi_picture_subtitle(p, LEFT, "n = %s, nnz(L) = %s, %s of factor a sweep, %s; %s, scheduler %s",
                       tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower),
                       tsi_text_bytes(s->p.exact_bytes / SWEEPS), s->precision->text,
                       tsi_text_many(s->p.workers, "worker"), s->p.scheduler);
  write_legend(p->file, r);
  tsi_svg_axis_x(p->file, &x, y.begin, y.end, "flops per byte");
  tsi_svg_axis_y(p->file, &y, x.begin, x.end, "GF/s");
  write_limit(p->file, &x, &y, r);
  write_points(p->file, &x, &y, r);
}

bool tsi_plot_roofline(tsi_session *s) {
  tsi_picture p;
  roofline r = {.square = 0};
  if (!tsi_bandwidth_measure(s, &r.bandwidth)) return false;
  tsi_bench_dgemm(r.bandwidth.cores, sizes[SIZES - 1], &r.square, &r.tall);
  if (r.square <= 0 || r.tall <= 0)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "no memory or no threads to measure DGEMM with");
  if (!tsi_session_factor(s) || !tsi_session_plan(s, sizes[SIZES - 1]) || !measure_sweeps(s, &r) ||
      !tsi_picture_begin(&p, s, s->settings->out, WIDTH, TOP + PLOT_HEIGHT + BOTTOM))
    return false;
  draw(&p, &r);
  return tsi_picture_end(&p);
}
