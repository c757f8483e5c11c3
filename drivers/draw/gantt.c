/* Workers x time: see gantt.h. */
#include "drivers/draw/gantt.h"

#include <math.h>
#include <stdlib.h>

#include "drivers/draw/axes.h"
#include "drivers/draw/svg.h"

/* Pixels. */
enum { RIGHT = 84, ABOVE = 22, BOTTOM = 56, LANES = 560, LEGEND = 86, LEGEND_RIGHT = TSI_GANTT_WIDTH - 16 };
#define PLOT (TSI_GANTT_WIDTH - TSI_GANTT_LEFT - RIGHT)

double tsi_gantt_init(tsi_gantt *g, FILE *file, int workers, double seconds, double legend_end) {
  const double most = workers < 4 ? 96 : (double)LANES / workers;
  *g = (tsi_gantt){.file = file,
                   .workers = workers,
                   .seconds = seconds,
                   .scale = PLOT / seconds,
                   .top = legend_end + ABOVE};
  g->lane = most < 7 ? 7 : most > 96 ? 96 : most;
  g->gap = g->lane > 20 ? 7 : 0.3 * g->lane;
  g->bar = g->lane - g->gap - (g->lane > 20 ? 6 : 0.5);
  return g->top + g->lane * workers + BOTTOM;
}

double tsi_gantt_wide(const tsi_gantt *g, double seconds) {
  return g->scale * seconds;
}
static double y_of(const tsi_gantt *g, int worker) {
  return g->lane * worker + (g->lane - g->bar - g->gap) / 2;
}

void tsi_gantt_rect(const tsi_gantt *g, const char *class, int worker, double start, double end, double top,
                    double height, const char *style) {
  fprintf(g->file, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" %s", class,
          tsi_gantt_wide(g, start), y_of(g, worker) + top, tsi_gantt_wide(g, end - start), height, style);
}

double tsi_gantt_middle(const tsi_gantt *g, int worker) {
  return y_of(g, worker) + g->bar / 2;
}

void tsi_gantt_lane(const tsi_gantt *g, int w, const char *name, double busy) {
  const int every = (int)ceil(13 / g->lane);
  const double y = g->top + y_of(g, w) + g->bar / 2 + 4;
  fprintf(g->file, "<rect x=\"%d\" y=\"%.2f\" width=\"%d\" height=\"%.2f\" fill=\"" TSI_GANTT_IDLE "\"/>\n",
          TSI_GANTT_LEFT, g->top + y_of(g, w), PLOT, g->bar);
  if (w % every != 0) return;
  fprintf(g->file,
          "<text x=\"%d\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\">%s</text><text "
          "x=\"%d\" y=\"%.1f\" font-size=\"12\">%.1f %%</text>\n",
          TSI_GANTT_LEFT - 8, y, name, TSI_GANTT_LEFT + PLOT + 10, y, 100 * busy / g->seconds);
}

void tsi_gantt_begin(const tsi_gantt *g) {
  const double height = g->lane * g->workers;
  const tsi_axis axis = {.to = g->seconds,
                         .begin = TSI_GANTT_LEFT,
                         .end = TSI_GANTT_LEFT + PLOT,
                         .name = "time",
                         .quantity = TSI_SECONDS,
                         .id = "ticks"};
  fprintf(g->file, "<text x=\"%d\" y=\"%.1f\" font-size=\"12\" fill=\"#57606a\">busy</text>\n",
          TSI_GANTT_LEFT + PLOT + 10, g->top - 4);
  tsi_axis_x(g->file, &axis, g->top + height, g->top);
  fprintf(g->file,
          "<svg id=\"time\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" viewBox=\"0 0 %d %.1f\" "
          "preserveAspectRatio=\"none\" data-most=\"%.9g\">\n<rect width=\"%d\" height=\"%.1f\" "
          "fill=\"#fff\" fill-opacity=\"0\"/>\n",
          TSI_GANTT_LEFT, g->top, PLOT, height, PLOT, height, tsi_axis_number(&axis, axis.to), PLOT, height);
  fputs("<style>#time rect { vector-effect: non-scaling-stroke }</style>\n", g->file);
}

void tsi_gantt_end(const tsi_gantt *g) {
  fputs("</svg>\n", g->file);
}

/* ---- A whole chart ------------------------------------------------------------------------------------ */

/* Returns the visible part of an item; false: none. */
static bool is_seen(const tsi_gantt_chart *chart, const tsi_gantt_item *item, double *start, double *end) {
  *start = item->start > 0 ? item->start : 0;
  *end = item->end < chart->seconds ? item->end : chart->seconds;
  return *start < *end;
}

static double busy_seconds(const tsi_gantt_chart *chart, int worker) {
  double busy = 0, start, end;
  for (int64_t k = 0; k < chart->count; k++)
    if (chart->item[k].worker == worker && is_seen(chart, &chart->item[k], &start, &end)) busy += end - start;
  return busy;
}

static void write_items(const tsi_gantt *g, const tsi_gantt_chart *chart) {
  double start, end;
  fputs("<g stroke=\"#fff\" stroke-width=\".5\">\n", g->file);
  for (int64_t k = 0; k < chart->count; k++) {
    const tsi_gantt_item *item = &chart->item[k];
    char style[64];
    if (!is_seen(chart, item, &start, &end)) continue;
    snprintf(style, sizeof style, "fill=\"%s\"%s><title>", tsi_svg_colour[item->kind],
             tsi_gantt_wide(g, end - start) < TSI_GANTT_FRAME ? " stroke=\"none\"" : "");
    tsi_gantt_rect(g, "task", item->worker, start, end, 0, g->bar, style);
    tsi_svg_text(g->file, item->name, 80);
    fputs("</title></rect>\n", g->file);
  }
  fputs("</g>\n", g->file);
}

/* Draws the chart; returns the height of the picture. */
static double draw(FILE *file, const tsi_gantt_chart *chart) {
  tsi_gantt g;
  tsi_legend legend = tsi_legend_begin(file, TSI_GANTT_LEFT, LEGEND_RIGHT, LEGEND);
  fprintf(file, "<text x=\"%d\" y=\"32\" font-size=\"19\" font-weight=\"bold\">", TSI_GANTT_LEFT);
  tsi_svg_text(file, chart->title, 80);
  fprintf(file, "</text>\n<text x=\"%d\" y=\"56\">", TSI_GANTT_LEFT);
  tsi_svg_text(file, chart->subtitle, 160);
  fputs("</text>\n", file);
  for (int k = 0; k < chart->kinds; k++)
    tsi_legend_square(&legend, tsi_svg_colour[k], "%s", chart->kind_name[k]);
  tsi_legend_square(&legend, TSI_GANTT_IDLE, "idle");
  const double height = tsi_gantt_init(&g, file, chart->workers, chart->seconds, legend.y);
  for (int w = 0; w < chart->workers; w++) {
    char lane[32];
    snprintf(lane, sizeof lane, "worker %d", w);
    tsi_gantt_lane(&g, w, lane, busy_seconds(chart, w));
  }
  tsi_gantt_begin(&g);
  write_items(&g, chart);
  tsi_gantt_end(&g);
  return height;
}

bool tsi_gantt_write(const char *path, const tsi_gantt_chart *chart) {
  char *text = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  const double height = memory != NULL ? draw(memory, chart) : 0;
  /* An existing file is replaced only after the picture is complete. */
  FILE *file = memory != NULL && fclose(memory) == 0 ? fopen(path, "w") : NULL;
  bool ok = file != NULL;
  if (ok) {
    tsi_svg_head(file, TSI_GANTT_WIDTH, height);
    fwrite(text, 1, length, file);
    fputs("</svg>\n", file);
    ok = !ferror(file);
  }
  free(text);
  return (file == NULL || fclose(file) == 0) && ok;
}
