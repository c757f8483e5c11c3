/* The tables of `tristar bench` as a picture: see bench.h.
 *
 * There is a chart for each number of right-hand sides, a group of bars for each matrix, and a bar for each
 * row of the table. With --quick a chart of the first solutions precedes the chart of the solves; the bar of
 * a stopped peer has an open end. A bar is the time of a solve relative to the fastest TriStar, so that
 * matrices of all sizes share one axis; its end is labelled with the time itself. A thin line (whisker) spans
 * the rounds. Bars and whiskers beyond the axis are cut: a bar by a gap and the word "cut", a whisker by an
 * arrow and the time of the slowest round. */
#include <math.h>
#include <stdio.h>

#include "drivers/bench/bench.h"
#include "drivers/session/files.h"
#include "drivers/report/report.h"
#include "drivers/draw/chart.h"

/* Pixels. */
enum {
  WIDTH = 1080,
  LEFT = 24,
  AXIS = 270, /* start of the bars */
  END = 850,  /* end of the axis */
  ROW = 20,
  BAR = 14,
  GROUP = 28, /* the line with a matrix's name */
  SECTION = 40,
  TICKS = 54,
  ARROW = 8 /* arrow of a whisker, beyond the axis */
};
#define LONGEST 8.0 /* longer bars are cut */
/* Attributes of text on the lines of the axis. */
#define HALO "stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\""

/* Blues for TriStar; people with any colour vision can distinguish them from the other colours. */
static const char *const tristar_colours[] = {"#0b3c78", "#0072b2", "#56b4e9",
                                              "#7f9cc0", "#a9d6e8", "#3a5f8a"};
static const int peer_colours[TSI_BENCH_PEERS] = {TSI_ORANGE, TSI_GREEN, TSI_VERMILLION,
                                                  TSI_PURPLE, TSI_GREY,  TSI_YELLOW};
static const char variant_colour[] = "#c9d1d9";
#define TRISTAR_COLOURS (int)(sizeof tristar_colours / sizeof tristar_colours[0])

const tsi_series tsi_bench_even = {.kind = TSI_SERIES_LEVEL,
                                   .colour = TSI_GREY,
                                   .count = 1,
                                   .y = (const double[]){1},
                                   .least = (const double[]){0.5},
                                   .most = (const double[]){2}};

typedef struct picture {
  FILE *file;
  const tsi_bench_setup *setup;
  double y;       /* start of the next line */
  double longest; /* end of the axis, as a multiple of the fastest TriStar's time */
  bool first;     /* the chart shows first solutions, not solves */
} picture;

/* Seconds that a bar shows. */
typedef struct bar {
  double value, least, most; /* median, fastest and slowest round */
  bool open;                 /* value is a lower bound */
} bar;

/* TriStar's contenders come first. */
static const char *colour_of(const tsi_bench_setup *setup, int k) {
  const int peer = setup->contenders[k].peer;
  if (tsi_bench_is_variant(setup, k)) return variant_colour;
  return peer >= 0 ? tsi_svg_colour[peer_colours[peer]] : tristar_colours[k % TRISTAR_COLOURS];
}

static double x_of(const picture *p, double ratio) {
  return AXIS + (END - AXIS) * (ratio < p->longest ? ratio : p->longest) / p->longest;
}

/* Returns false where the contender has no bar. */
static bool bar_of(const tsi_bench_result *r, bool first, bar *b) {
  const double total = r->ok ? tsi_bench_total(r, 1) : r->stopped_s;
  *b = first ? (bar){total, total, total, !r->ok} : (bar){r->solve_s, r->least_s, r->most_s, false};
  return r->ok || (first && r->stopped_s > 0);
}

/* Returns the time that bars are relative to. */
static double unit_of(const tsi_bench_case *c, bool first) {
  const int best = c->best_tristar >= 0 ? c->best_tristar : c->best_peer;
  bar b;
  return best >= 0 && bar_of(&c->results[best], first, &b) ? b.value : 1;
}

/* ---- Bars --------------------------------------------------------------------------------------------- */

/* Draws a line from the fastest round to the slowest one, or to an arrow at the end of the axis. Returns its
 * end. */
static double write_whisker(const picture *p, double least, double most, double middle, bool beyond) {
  const double end = beyond ? END + ARROW : most;
  fprintf(p->file, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M", least, middle, end, least, middle - 3);
  if (beyond)
    fprintf(p->file, "%.1f %.1fl4 3l-4 3", end - 4, middle - 3);
  else
    fprintf(p->file, "%.1f %.1fv6", end, middle - 3);
  fputs("\" stroke=\"#222\" stroke-width=\"1.2\" fill=\"none\"/>\n", p->file);
  return end;
}

/* slowest: seconds of the slowest round; 0: the whisker shows it. gbps 0: unknown. */
static void write_label(const picture *p, double x, const bar *b, bool cut, double slowest, double gbps) {
  fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"11.5\" " HALO ">%s%s%s%s", x + 6, p->y + 11,
          cut && !b->open ? "cut: " : "", b->open ? "&gt; " : "", tsi_text_time(b->value),
          b->open ? ", stopped" : "");
  if (gbps > 0) fprintf(p->file, ", %.1f GB/s", gbps);
  if (slowest > 0) fprintf(p->file, ", slowest %s", tsi_text_time(slowest));
  fputs("</text>\n", p->file);
}

static void write_bar(picture *p, const tsi_bench_case *c, int k, const bar *b) {
  const double unit = unit_of(c, p->first), x = x_of(p, b->value / unit), middle = p->y + BAR / 2.0;
  const double least = x_of(p, b->least / unit), most = x_of(p, b->most / unit);
  const bool cut = b->value / unit > p->longest, beyond = b->most / unit > p->longest * (1 + 1e-9);
  double end = x;
  tsi_svg_area(p->file, NULL, AXIS, p->y, x - AXIS, BAR, colour_of(p->setup, k));
  fputs("</rect>\n", p->file);
  if (b->open)
    end = write_whisker(p, x, x, middle, true);
  else if (cut) /* a gap */
    fprintf(p->file, "<path d=\"M%.1f %.1fl5 %dh5l-5 -%dz\" fill=\"#fff\"/>\n", x - 22, p->y, BAR, BAR);
  else if (!p->first)
    end = fmax(x, write_whisker(p, least, most, middle, beyond));
  write_label(p, end, b, cut, beyond && !cut ? b->most : 0, p->first ? 0 : tsi_bench_gbps(&c->results[k]));
}

static void write_row(picture *p, const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &p->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  bar b;
  fprintf(p->file, "<text x=\"%d\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\">", AXIS - 8, p->y + 11);
  tsi_svg_text_begin(p->file,
                     *contender->variant ? contender->variant
                     : r->ok || r->over_limit || contender->peer < 0
                         ? contender->name
                         : p->setup->family->peers[contender->peer].title,
                     12, AXIS - 8 - LEFT);
  fputs("</text>\n", p->file);
  if (bar_of(r, p->first, &b))
    write_bar(p, c, k, &b);
  else {
    fprintf(p->file, "<text x=\"%d\" y=\"%.1f\" font-size=\"11.5\" fill=\"#57606a\" " HALO ">%s", AXIS + 6,
            p->y + 11, r->unstarted || r->stopped_s > 0 ? "" : "failed: ");
    tsi_svg_text_begin(p->file, r->message, 11.5, WIDTH - AXIS - LEFT - 50);
    fputs("</text>\n", p->file);
  }
  p->y += ROW;
}

static void write_group(picture *p, const tsi_bench_case *c) {
  fprintf(p->file, "<text x=\"%d\" y=\"%.1f\" font-size=\"13\" font-weight=\"bold\" " HALO ">%s", LEFT,
          p->y + 18, c->matrix->pattern ? "Laplacian of " : "");
  tsi_svg_text_within(p->file, c->matrix->name, 14, WIDTH - 2 * LEFT - 240); /* bold */
  fprintf(p->file, "<tspan dx=\"10\" font-weight=\"normal\" fill=\"#57606a\">n = %s</tspan></text>\n",
          tsi_text_count(c->matrix->n));
  p->y += GROUP;
  for (int k = 0; k < p->setup->count; k++)
    if (tsi_bench_shown(c, k)) write_row(p, c, k);
}

/* ---- Charts ------------------------------------------------------------------------------------------- */

static double group_height(const tsi_bench_case *c) {
  double height = GROUP;
  for (int k = 0; k < c->setup->count; k++)
    if (tsi_bench_shown(c, k)) height += ROW;
  return height;
}

static double longest_bar(const tsi_bench_case *cases, int count, int64_t nrhs, bool first) {
  double longest = 1;
  bar b;
  for (int k = 0; k < count; k++)
    for (int r = 0; r < cases[k].setup->count && cases[k].nrhs == nrhs && cases[k].results != NULL; r++)
      if (tsi_bench_shown(&cases[k], r) && bar_of(&cases[k].results[r], first, &b))
        longest = fmax(longest, b.most / unit_of(&cases[k], first));
  return longest < LONGEST ? longest : LONGEST;
}

/* Writes vertical lines, their numbers, and the name of the axis. */
static void write_axis(const picture *p, double top, double bottom) {
  const double step = p->longest <= 2 ? 0.25 : p->longest <= 4 ? 0.5 : 1;
  for (double tick = 0; tick <= p->longest + 1e-9; tick += step) {
    fprintf(p->file, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\"/>\n", x_of(p, tick), top, bottom,
            fabs(tick - 1) < 1e-9 ? "#555" : "#ddd");
    tsi_svg_write(p->file, x_of(p, tick), bottom + 15, "font-size=\"11\" text-anchor=\"middle\"", "%g", tick);
  }
  tsi_svg_write(p->file, (AXIS + END) / 2.0, bottom + 34,
                "class=\"axis\" font-size=\"12\" text-anchor=\"middle\"",
                "time of %s / time of the fastest TriStar (shorter is better)",
                p->first ? "the first solution" : "a solve");
}

static void write_chart(picture *p, const tsi_bench_case *cases, int count, int64_t nrhs) {
  double height = 0;
  p->longest = longest_bar(cases, count, nrhs, p->first);
  tsi_svg_write(p->file, LEFT, p->y + 26, "font-size=\"15\" font-weight=\"bold\"", "%s%s",
                tsi_text_many(nrhs, "right-hand side"),
                p->first ? ": analysis, factorization and one solve" : "");
  p->y += SECTION;
  for (int k = 0; k < count; k++)
    if (cases[k].nrhs == nrhs && cases[k].results != NULL) height += group_height(&cases[k]);
  write_axis(p, p->y, p->y + height);
  for (int k = 0; k < count; k++)
    if (cases[k].nrhs == nrhs && cases[k].results != NULL) write_group(p, &cases[k]);
  p->y += TICKS;
}

/* ---- The whole ---------------------------------------------------------------------------------------- */

/* Does contender k have an entry in the legend? All settings of a peer share one entry, and so do all
 * variants. */
static bool in_legend(const tsi_bench_setup *setup, int k) {
  if (tsi_bench_is_variant(setup, k)) return !tsi_bench_is_variant(setup, k - 1);
  return k == 0 || setup->contenders[k].peer < 0 ||
         setup->contenders[k].peer != setup->contenders[k - 1].peer;
}

static void write_legend(tsi_legend *legend, const tsi_bench_setup *setup) {
  for (int k = 0; k < setup->count; k++) {
    const int peer = setup->contenders[k].peer;
    if (in_legend(setup, k))
      tsi_legend_square(legend, colour_of(setup, k), "%s",
                        tsi_bench_is_variant(setup, k) ? "variants of TriStar"
                        : peer < 0                     ? setup->contenders[k].name
                                                       : setup->family->peers[peer].title);
  }
  const bool quick = setup->settings->quick; /* then cases differ in their rounds */
  const double x = tsi_legend_place(
      legend, 14, "fastest and slowest %s%s (arrow: beyond the axis%s)", quick ? "round" : "of ",
      quick ? "" : tsi_text_many(setup->settings->rounds, "round"), quick ? ", or stopped" : "");
  fprintf(legend->file, "<path d=\"M%.1f %.1fh14m-14 -3v6m14 -6v6\" stroke=\"#222\" stroke-width=\"1.2\"/>\n",
          x, legend->y - 4);
}

bool tsi_bench_write_svg(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count) {
  tsi_picture out;
  if (!tsi_picture_begin(&out, NULL, setup->settings->svg, "Solve phase of TriStar and of other solvers",
                         WIDTH, LEFT))
    return false;
  tsi_picture_subtitle(&out,
                       "At each bar: median time of a solve, and the bytes of the exact nonzeros of L and "
                       "U that it reads in a second");
  write_legend(&out.legend, setup);
  picture p = {.file = out.file, .setup = setup, .y = out.legend.y + TSI_LEGEND_ROW - 9};
  for (int k = 0; k < setup->nrhs_count; k++)
    for (int first = setup->settings->quick; first >= 0; first--) {
      p.first = first;
      write_chart(&p, cases, count, setup->nrhs[k]);
    }
  return tsi_picture_end(&out, p.y + 10);
}
