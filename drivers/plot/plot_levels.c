/* The cost of each level of the DAG of a solve: see plot.h.
 *
 * Above: the time of the items of each level, summed over the workers, by kind. Below: the number of items,
 * on a logarithmic axis. If there are more levels than bars, neighbouring levels share a bar. */
#include <stdlib.h>

#include "drivers/plot/plot.h"
#include "drivers/report/report.h"

/* Pixels. */
enum { WIDTH = 1200, LEFT = 92, RIGHT = 32, ABOVE = 18, TIMES = 300, GAP = 26, COUNTS = 170, BOTTOM = 60 };
enum { BARS_MOST = 500 };
#define PLOT (WIDTH - LEFT - RIGHT)
#define HEIGHT (TIMES + GAP + COUNTS) /* down to the x axis */

typedef struct bar {
  double seconds[TRISTAR_STEP_KINDS], bytes;
  int64_t items;
} bar;

typedef struct levels {
  int64_t count, bars, each; /* number of levels, of bars, of levels per bar */
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
  fprintf(file, "\n%s, %s, %s</title>", tsi_text_many(b->items, "step"), tsi_text_time(seconds_of(b)),
          tsi_text_bytes(b->bytes));
}

static void write_bar(FILE *file, const levels *l, int64_t k, const tsi_axis *time, const tsi_axis *items) {
  const double space = (double)PLOT / (double)l->bars, x = LEFT + space * (double)k + 0.1 * space;
  double y = time->begin;
  for (int kind = 0; kind < TRISTAR_STEP_KINDS; kind++) {
    const double height = time->begin - tsi_axis_at(time, l->bar[k].seconds[kind]);
    if (height <= 0) continue;
    y -= height;
    tsi_svg_area(file, "level", x, y, 0.8 * space, height, tsi_plot_colour((tristar_step_kind)kind));
    write_tip(file, l, k);
    fputs("</rect>\n", file);
  }
  const double top = tsi_axis_at(items, (double)l->bar[k].items);
  tsi_svg_area(file, "count", x, top, 0.8 * space, items->begin - top, tsi_svg_colour[TSI_GREY]);
  write_tip(file, l, k);
  fputs("</rect>\n", file);
}

static bool draw(tsi_session *s, const tsi_traced *traced, const tristar_trace_list *list, const levels *l) {
  tsi_picture p;
  if (!tsi_picture_begin(&p, s, s->settings->out, "The levels of a solve", WIDTH, LEFT)) return false;
  tsi_plot_subtitle(&p, traced);
  tsi_plot_legend(&p.legend, traced->trace);
  const double top = p.legend.y + ABOVE, below = top + HEIGHT;
  const tsi_axis time = {.to = l->most_seconds > 0 ? 1.05 * l->most_seconds : 1,
                         .begin = top + TIMES,
                         .end = top,
                         .name = "time in tasks",
                         .quantity = TSI_SECONDS};
  const tsi_axis items = {.from = 0.7,
                          .to = 1.3 * (double)l->most_items + 1,
                          .begin = below,
                          .end = below - COUNTS,
                          .name = list == &traced->trace->tasks ? "tasks" : "steps",
                          .logarithmic = true,
                          .integer = true};
  const tsi_axis level = {
      .from = -0.5,
      .to = (double)l->count - 0.5,
      .begin = LEFT,
      .end = LEFT + PLOT,
      .name = "level of the DAG: its items wait for lower levels only, forward, then backward",
      .integer = true};
  tsi_axis_y(p.file, &time, LEFT, LEFT + PLOT);
  tsi_axis_y(p.file, &items, LEFT, LEFT + PLOT);
  for (int64_t k = 0; k < l->bars; k++) write_bar(p.file, l, k, &time, &items);
  tsi_axis_x(p.file, &level, below, below);
  return tsi_picture_end(&p, below + BOTTOM);
}

static void add_levels(cJSON *figures, const levels *l) {
  cJSON *array = cJSON_AddArrayToObject(figures, "items");
  TSI_JSON_NUMBERS(figures, {"levels", (double)l->count}, {"levels_an_item", (double)l->each});
  for (int64_t k = 0; k < l->bars; k++) {
    cJSON *object = tsi_json_add_item(array), *kinds = cJSON_AddArrayToObject(object, "kinds");
    TSI_JSON_NUMBERS(object, {"steps", (double)l->bar[k].items}, {"bytes", l->bar[k].bytes});
    for (int kind = 0; kind < TRISTAR_STEP_KINDS; kind++) {
      if (l->bar[k].seconds[kind] <= 0) continue;
      cJSON *one = tsi_json_add_item(kinds);
      cJSON_AddStringToObject(one, "kind", tsi_plot_name((tristar_step_kind)kind));
      cJSON_AddNumberToObject(one, "time_s", l->bar[k].seconds[kind]);
    }
  }
}

bool tsi_plot_levels(const tsi_plot *plot, const tsi_traced *traced) {
  levels l = {0};
  const tristar_trace_list *list = tsi_plot_list(traced->trace);
  const bool ok = add_up(plot->s, list, &l) && draw(plot->s, traced, list, &l);
  if (ok) add_levels(plot->figures, &l);
  free(l.bar);
  return ok;
}
