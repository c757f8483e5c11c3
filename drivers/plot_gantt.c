/* The tasks of a solve, workers x time: see plot.h.
 *
 * A task is a rectangle (class "task"); where it is a bundle its steps lie on it (class "step"), unless they
 * are too thin to be seen. Tasks on the critical path have a dark frame (class "critical"), tasks that bound
 * the time a dark line below (class "binding"). What is left of the background is idle. */
#include <math.h>

#include "drivers/plot.h"
#include "drivers/report.h"

/* Pixels. */
enum { WIDTH = 1200, LEFT = 92, RIGHT = 84, TOP = 108, BOTTOM = 56, LANES = 560, LEGEND = 86 };
#define PLOT (WIDTH - LEFT - RIGHT)
#define THIN 0.6  /* steps that are narrower are not drawn, */
#define FRAME 2.5 /* and what is narrower has no white frame */

typedef struct gantt {
  FILE *file;
  const tristar_trace_t *trace;
  double lane, bar, gap; /* pixels from lane to lane, of a bar, and of the line below it */
  double scale;          /* pixels a second */
} gantt;

/* Coordinates of the inner <svg>, whose origin is the upper left corner of the plot. */
static double x_of(const gantt *g, double seconds) {
  return g->scale * seconds;
}
static double y_of(const gantt *g, int worker) {
  return g->lane * worker + (g->lane - g->bar - g->gap) / 2;
}

static double seconds_of(const tristar_trace_item *item) {
  return item->end - item->start;
}

static void write_rect(const gantt *g, const char *class, const tristar_trace_item *item, double top,
                       double height, const char *style) {
  fprintf(g->file, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" %s", class,
          x_of(g, item->start), y_of(g, item->worker) + top, x_of(g, seconds_of(item)), height, style);
}

static void write_item(const gantt *g, const char *class, const tristar_trace_item *item,
                       tristar_step_kind kind) {
  char style[64];
  snprintf(style, sizeof style, "fill=\"%s\"%s>", tsi_plot_colour(kind),
           x_of(g, seconds_of(item)) < FRAME ? " stroke=\"none\"" : "");
  write_rect(g, class, item, 0, g->bar, style);
  tsi_plot_tip(g->file, g->trace, item);
  fputs("</rect>\n", g->file);
}

static void write_task(const gantt *g, const tristar_trace_item *task) {
  const tristar_trace_item *steps = &g->trace->steps.item[task->first_step];
  write_item(g, "task", task, task->steps > 0 ? steps->kind : task->kind);
  if (task->steps < 2) return;
  for (int64_t k = 0; k < task->steps; k++)
    if (x_of(g, seconds_of(&steps[k])) >= THIN) write_item(g, "step", &steps[k], steps[k].kind);
}

static void write_marks(const gantt *g) {
  const tristar_trace_list *tasks = &g->trace->tasks;
  fputs("<g fill=\"none\" stroke=\"#111\" stroke-width=\"1.6\" pointer-events=\"none\">\n", g->file);
  for (int64_t k = 0; k < tasks->count; k++)
    if (tasks->item[k].critical)
      write_rect(g, "critical", &tasks->item[k], 0, g->bar,
                 x_of(g, seconds_of(&tasks->item[k])) < 2 * FRAME ? "stroke-width=\".8\"/>\n" : "/>\n");
  fputs("</g>\n<g fill=\"#111\" pointer-events=\"none\">\n", g->file);
  for (int64_t k = 0; k < tasks->count; k++)
    if (tasks->item[k].binding)
      write_rect(g, "binding", &tasks->item[k], g->bar + 0.3 * g->gap, 0.6 * g->gap, "/>\n");
  fputs("</g>\n", g->file);
}

static void write_lanes(const gantt *g) {
  const int every = (int)ceil(13 / g->lane);
  for (int w = 0; w < g->trace->workers; w++) {
    double busy = 0;
    const double y = TOP + y_of(g, w) + g->bar / 2 + 4;
    for (int64_t k = 0; k < g->trace->tasks.count; k++)
      if (g->trace->tasks.item[k].worker == w) busy += seconds_of(&g->trace->tasks.item[k]);
    fprintf(g->file, "<rect x=\"%d\" y=\"%.2f\" width=\"%d\" height=\"%.2f\" fill=\"#eaeef2\"/>\n", LEFT,
            TOP + y_of(g, w), PLOT, g->bar);
    if (w % every != 0) continue;
    fprintf(g->file,
            "<text x=\"%d\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\">worker %d</text><text "
            "x=\"%d\" y=\"%.1f\" font-size=\"12\">%.1f %%</text>\n",
            LEFT - 8, y, w, LEFT + PLOT + 10, y, 100 * busy / g->trace->seconds);
  }
  fprintf(g->file, "<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#57606a\">busy</text>\n",
          LEFT + PLOT + 10, TOP - 4);
}

static void write_legend(const gantt *g) {
  double x = tsi_plot_legend(g->file, LEFT, LEGEND, g->trace);
  x = tsi_svg_legend(g->file, x, LEGEND, "#eaeef2", "idle");
  fprintf(g->file,
          "<rect x=\"%.1f\" y=\"%d\" width=\"12\" height=\"12\" fill=\"none\" stroke=\"#111\" "
          "stroke-width=\"1.6\"/><text x=\"%.1f\" y=\"%d\" font-size=\"12\">critical path, %s</text>\n",
          x + 1, LEGEND - 10, x + 20, LEGEND, tsi_text_seconds(g->trace->tasks.critical_seconds));
  x += 170;
  fprintf(g->file,
          "<rect x=\"%.1f\" y=\"%d\" width=\"14\" height=\"4\" fill=\"#111\"/><text x=\"%.1f\" y=\"%d\" "
          "font-size=\"12\">bound the time</text>\n",
          x, LEGEND - 6, x + 20, LEGEND);
}

bool tsi_plot_gantt(tsi_session *s, const tristar_trace_t *trace) {
  tsi_picture p;
  gantt g = {.trace = trace, .scale = PLOT / trace->seconds};
  const double most = trace->workers < 4 ? 96 : (double)LANES / trace->workers;
  const char *unit;
  char label[32];
  g.lane = most < 7 ? 7 : most > 96 ? 96 : most;
  g.gap = g.lane > 20 ? 7 : 0.3 * g.lane;
  g.bar = g.lane - g.gap - (g.lane > 20 ? 6 : 0.5);
  const double height = g.lane * trace->workers, in_unit = tsi_svg_time_unit(trace->seconds, &unit);
  if (!tsi_picture_begin(&p, s, s->settings->out, WIDTH, TOP + height + BOTTOM)) return false;
  g.file = p.file;
  tsi_picture_title(&p, LEFT, "The tasks of a solve");
  tsi_plot_subtitle(&p, LEFT, trace);
  write_legend(&g);
  write_lanes(&g);
  const tsi_axis axis = {0, trace->seconds * in_unit, LEFT, LEFT + PLOT, false};
  snprintf(label, sizeof label, "time (%s)", unit);
  tsi_svg_axis_x(p.file, &axis, TOP + height, TOP, label);
  fprintf(p.file,
          "<svg id=\"time\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%.1f\" viewBox=\"0 0 %d %.1f\" "
          "preserveAspectRatio=\"none\" data-most=\"%.9g\">\n<rect width=\"%d\" height=\"%.1f\" "
          "fill=\"#fff\" fill-opacity=\"0\"/>\n",
          LEFT, TOP, PLOT, height, PLOT, height, axis.to, PLOT, height);
  fputs("<style>#time rect { vector-effect: non-scaling-stroke }</style>\n<g stroke=\"#fff\" "
        "stroke-width=\".5\">\n",
        p.file);
  for (int64_t k = 0; k < trace->tasks.count; k++) write_task(&g, &trace->tasks.item[k]);
  fputs("</g>\n", p.file);
  write_marks(&g);
  fputs("</svg>\n", p.file);
  return tsi_picture_end(&p);
}
