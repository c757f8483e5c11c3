/* What each level of the DAG of a solve costs: see plot.h.
 *
 * Above: the time of the items of each level, added up over the workers, by kind. Below: how many there are,
 * on a logarithmic axis. Where there are more levels than bars, neighbouring ones share a bar. */
#include <math.h>
#include <stdlib.h>

#include "drivers/plot.h"
#include "drivers/report.h"

/* Pixels. */
enum {
  WIDTH = 1200,
  LEFT = 92,
  RIGHT = 32,
  TOP = 104,
  TIMES = 300,
  GAP = 26,
  COUNTS = 170,
  BOTTOM = 60,
  LEGEND = 86
};
enum { BARS_MOST = 500 };
#define PLOT (WIDTH - LEFT - RIGHT)
#define BELOW (TOP + TIMES + GAP + COUNTS) /* the x axis */

typedef struct bar {
  double seconds[TRISTAR_STEP_KINDS], bytes;
  int64_t items;
} bar;

typedef struct levels {
  int64_t count, bars, each; /* levels, bars, levels that share one */
  bar *bar;
  double most_seconds;
  int64_t most_items;
} levels;

static double seconds_of(const bar *b) {
  double seconds = 0;
  for (int k = 0; k < TRISTAR_STEP_KINDS; k++) seconds += b->seconds[k];
  return seconds;
}

static bool add_up(tsi_session *s, const tristar_trace_list *list, levels *l) {
  int64_t *level = calloc((size_t)list->count + 1, sizeof *level);
  if (level == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  l->count = tsi_plot_rank(list, level);
  l->each = (l->count + BARS_MOST - 1) / BARS_MOST;
  if (l->each < 1) l->each = 1;
  l->bars = (l->count + l->each - 1) / l->each;
  l->bar = calloc((size_t)l->bars + 1, sizeof *l->bar);
  for (int64_t k = 0; k < list->count && l->bar != NULL; k++) {
    bar *b = &l->bar[level[k] / l->each];
    b->seconds[list->item[k].kind] += list->item[k].end - list->item[k].start;
    b->bytes += list->item[k].bytes;
    b->items++;
  }
  free(level);
  if (l->bar == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  for (int64_t k = 0; k < l->bars; k++) {
    if (seconds_of(&l->bar[k]) > l->most_seconds) l->most_seconds = seconds_of(&l->bar[k]);
    if (l->bar[k].items > l->most_items) l->most_items = l->bar[k].items;
  }
  return true;
}

static void write_tip(FILE *file, const levels *l, int64_t k) {
  const bar *b = &l->bar[k];
  const int64_t first = k * l->each, last = first + l->each < l->count ? first + l->each - 1 : l->count - 1;
  fprintf(file, "<title>level %lld", (long long)first);
  if (last > first) fprintf(file, " to %lld", (long long)last);
  fprintf(file, "\n%s, %s, %s</title>", tsi_text_many(b->items, "step"), tsi_text_seconds(seconds_of(b)),
          tsi_text_bytes(b->bytes));
}

static void write_bar(FILE *file, const levels *l, int64_t k, const tsi_axis *time, double unit,
                      const tsi_axis *items) {
  const double room = (double)PLOT / (double)l->bars, x = LEFT + room * (double)k + 0.1 * room;
  double y = time->begin;
  for (int kind = 0; kind < TRISTAR_STEP_KINDS; kind++) {
    const double height = time->begin - tsi_axis_at(time, l->bar[k].seconds[kind] * unit);
    if (height <= 0) continue;
    y -= height;
    fprintf(file, "<rect class=\"level\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">",
            x, y, 0.8 * room, height, tsi_plot_colour((tristar_step_kind)kind));
    write_tip(file, l, k);
    fputs("</rect>\n", file);
  }
  const double top = tsi_axis_at(items, (double)l->bar[k].items + 0.0);
  fprintf(file, "<rect class=\"count\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">", x,
          top, 0.8 * room, items->begin - top, tsi_svg_colour[TSI_GREY]);
  write_tip(file, l, k);
  fputs("</rect>\n", file);
}

static void draw(const tsi_picture *p, const tristar_trace_t *trace, const tristar_trace_list *list,
                 const levels *l) {
  const char *unit;
  char label[64];
  const double in_unit = tsi_svg_time_unit(l->most_seconds, &unit);
  const tsi_axis time = {0, l->most_seconds > 0 ? 1.05 * l->most_seconds * in_unit : 1, TOP + TIMES, TOP,
                         false};
  const tsi_axis items = {0.7, 1.3 * (double)l->most_items + 1, BELOW, BELOW - COUNTS, true};
  const tsi_axis level = {-0.5, (double)l->count - 0.5, LEFT, LEFT + PLOT, false};
  tsi_picture_title(p, LEFT, "The levels of a solve");
  tsi_plot_subtitle(p, LEFT, trace);
  tsi_plot_legend(p->file, LEFT, LEGEND, trace);
  snprintf(label, sizeof label, "time in tasks (%s)", unit);
  tsi_svg_axis_y(p->file, &time, LEFT, LEFT + PLOT, label);
  tsi_svg_axis_y(p->file, &items, LEFT, LEFT + PLOT, list == &trace->tasks ? "tasks" : "steps");
  for (int64_t k = 0; k < l->bars; k++) write_bar(p->file, l, k, &time, in_unit, &items);
  tsi_svg_axis_x(p->file, &level, BELOW, BELOW,
                 "level of the DAG: its items wait for lower levels only, forward, then backward");
}

bool tsi_plot_levels(tsi_session *s, const tristar_trace_t *trace) {
  tsi_picture p;
  levels l = {0};
  const tristar_trace_list *list = tsi_plot_list(trace);
  bool ok = add_up(s, list, &l) && tsi_picture_begin(&p, s, s->settings->out, WIDTH, BELOW + BOTTOM);
  if (ok) {
    draw(&p, trace, list, &l);
    ok = tsi_picture_end(&p);
  }
  free(l.bar);
  return ok;
}
