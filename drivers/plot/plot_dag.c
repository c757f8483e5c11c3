/* Items of a solve and their dependencies: see plot.h.
 *
 * Levels are drawn from left to right (tsi_plot_rank), forward first. An item is a circle whose area is
 * proportional to its bytes. Circles of a level have the order of the mean height of their neighbours, and
 * are placed as close to it as possible: min sum (y_k - mean_k)^2, y_k+1 - y_k >= distance. Joining circles
 * that touch solves this exactly (pool adjacent violators; de Leeuw, Hornik, Mair 2009). Sweeps over the
 * levels repeat it.
 *
 * If there are more items than NODES_MOST, tasks are drawn instead of steps; if necessary, only the heaviest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/plot/plot.h"
#include "drivers/report/report.h"

/* Pixels. */
enum { WIDTH = 1200, LEFT = 28, ABOVE = 26, HEIGHT = 620, BOTTOM = 88 };
enum { NODES_MOST = 2000, SWEEPS = 24, SAMPLES = 3 };
#define PLOT (WIDTH - 2 * LEFT)
#define SAMPLE_MOST 13.0 /* radius of a circle in the legend */
#define LARGEST 26.0     /* radius, */
#define SMALLEST 0.9     /* smallest visible radius */

typedef struct node {
  int64_t item, level;
  double x, y, radius;
  double target, weight; /* mean height of its neighbours */
} node;

typedef struct graph {
  const tristar_trace_t *trace;
  const tristar_trace_list *list;
  int64_t levels, count;
  int64_t *place; /* by item: its node; -1: not drawn */
  node *nodes;    /* by level */
  int64_t *first; /* levels + 1: nodes of each */
  double scale;   /* radius of an item with one byte */
  double height;  /* height of all circles */
} graph;

/* ---- Choice of items ---------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b) {
  const double x = (*(const tristar_trace_item *const *)a)->bytes,
               y = (*(const tristar_trace_item *const *)b)->bytes;
  return (x < y) - (x > y);
}

/* Returns the minimum bytes of drawn items, such that there are NODES_MOST; negative: all are drawn. */
static double threshold(const tristar_trace_list *list, const tristar_trace_item **space) {
  if (list->count <= NODES_MOST) return -1;
  for (int64_t k = 0; k < list->count; k++) space[k] = &list->item[k];
  qsort(space, (size_t)list->count, sizeof *space, by_bytes);
  return space[NODES_MOST - 1]->bytes;
}

static bool make_space(tsi_session *s, graph *g) {
  const size_t count = (size_t)g->list->count + 1;
  g->place = malloc(count * sizeof *g->place);
  g->nodes = calloc(count, sizeof *g->nodes);
  g->first = calloc(count + 1, sizeof *g->first);
  return (g->place != NULL && g->nodes != NULL && g->first != NULL) ||
         tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
}

/* Lists nodes by level, in the order of the chunks. */
static bool list_nodes(tsi_session *s, graph *g) {
  const tristar_trace_list *list = g->list;
  int64_t *level = malloc(((size_t)list->count + 1) * sizeof *level), drawn = 0;
  const tristar_trace_item **space = malloc(((size_t)list->count + 1) * sizeof *space);
  const bool ok = level != NULL && space != NULL;
  if (ok) {
    const double least = threshold(list, space);
    g->levels = tsi_plot_rank(list, level);
    for (int64_t k = 0; k < list->count; k++) {
      g->place[k] = list->item[k].bytes >= least && drawn < NODES_MOST ? drawn++ : -1;
      if (g->place[k] >= 0) g->first[level[k] + 1]++;
    }
    for (int64_t l = 0; l < g->levels; l++) g->first[l + 1] += g->first[l];
    g->count = drawn;
    for (int64_t k = 0; k < list->count; k++)
      if (g->place[k] >= 0) g->place[k] = g->first[level[k]]++;
    for (int64_t l = g->levels; l > 0; l--) g->first[l] = g->first[l - 1];
    g->first[0] = 0;
    for (int64_t k = 0; k < list->count; k++)
      if (g->place[k] >= 0) g->nodes[g->place[k]] = (node){.item = k, .level = level[k]};
  }
  free(level);
  free(space);
  return ok || tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
}

/* ---- Sizes and places --------------------------------------------------------------------------------- */

static double radius_of(const graph *g, int64_t k, double scale) {
  const double radius = scale * sqrt(g->list->item[g->nodes[k].item].bytes);
  return radius > SMALLEST ? radius : SMALLEST;
}

static bool fits(const graph *g, double scale) {
  const double across = PLOT / (double)g->levels;
  for (int64_t l = 0; l < g->levels; l++) {
    double height = 0;
    for (int64_t k = g->first[l]; k < g->first[l + 1]; k++) {
      const double radius = radius_of(g, k, scale);
      if (radius > LARGEST || (radius > 0.6 * across && radius > 3)) return false;
      height += 2 * radius + 1;
    }
    if (height > HEIGHT && scale > 0) return false;
  }
  return true;
}

static void choose_radii(graph *g) {
  double least = 0, most = 1;
  for (int k = 0; k < 60; k++) {
    const double middle = (least + most) / 2;
    *(fits(g, middle) ? &least : &most) = middle;
  }
  g->scale = least;
  for (int64_t k = 0; k < g->count; k++) g->nodes[k].radius = radius_of(g, k, least);
  for (int64_t k = 0; k < g->count; k++)
    g->nodes[k].x = LEFT + PLOT * ((double)g->nodes[k].level + 0.5) / (double)g->levels;
}

static int by_target(const void *a, const void *b) {
  const node *x = a, *y = b;
  if (x->target != y->target) return x->target < y->target ? -1 : 1;
  return (x->item > y->item) - (x->item < y->item);
}

/* Computes the heights of the nodes of a level, in their order, as close to `target` as possible. */
static void settle(node *nodes, int64_t count) {
  struct {
    double sum;
    int64_t first;
  } pool[NODES_MOST];
  double offset[NODES_MOST], total = 0;
  int64_t pools = 0;
  for (int64_t k = 0; k < count; k++) total += 2 * nodes[k].radius;
  const double gap = count > 1 ? fmin(6, fmax(0, (HEIGHT - total) / (double)(count - 1))) : 0;
  const double squeeze = total > HEIGHT ? HEIGHT / total : 1;
  for (int64_t k = 0; k < count; k++) {
    offset[k] = k == 0 ? 0 : offset[k - 1] + squeeze * (nodes[k - 1].radius + nodes[k].radius) + gap;
    pool[pools].sum = nodes[k].target - offset[k];
    pool[pools++].first = k;
    while (pools > 1) {
      const int64_t a = pools - 2, b = pools - 1;
      const double mean_a = pool[a].sum / (double)(pool[b].first - pool[a].first);
      if (mean_a <= pool[b].sum / (double)(k + 1 - pool[b].first)) break;
      pool[a].sum += pool[b].sum;
      pools--;
    }
  }
  for (int64_t q = 0; q < pools; q++) {
    const int64_t end = q + 1 < pools ? pool[q + 1].first : count;
    const double low = nodes[0].radius, high = HEIGHT - nodes[count - 1].radius - offset[count - 1];
    double mean = pool[q].sum / (double)(end - pool[q].first);
    mean = mean > high ? high : mean;
    mean = mean < low ? low : mean;
    for (int64_t k = pool[q].first; k < end; k++) nodes[k].y = mean + offset[k];
  }
}

/* Adds the heights of both ends of every edge to each other's mean. */
static void pull(graph *g) {
  for (int64_t k = 0; k < g->count; k++) g->nodes[k].target = g->nodes[k].weight = 0;
  for (int64_t i = 0; i < g->list->count; i++) {
    const tristar_trace_item *item = &g->list->item[i];
    if (g->place[i] < 0) continue;
    node *to = &g->nodes[g->place[i]];
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++) {
      if (g->place[g->list->before[e]] < 0) continue;
      node *from = &g->nodes[g->place[g->list->before[e]]];
      to->target += from->y;
      from->target += to->y;
      to->weight++;
      from->weight++;
    }
  }
  for (int64_t k = 0; k < g->count; k++)
    g->nodes[k].target = g->nodes[k].weight > 0 ? g->nodes[k].target / g->nodes[k].weight : g->nodes[k].y;
}

/* Moves the highest circle to the top, and finds the height of the picture. */
static void move_up(graph *g) {
  double top = HEIGHT, bottom = 0;
  for (int64_t k = 0; k < g->count; k++) {
    top = fmin(top, g->nodes[k].y - g->nodes[k].radius);
    bottom = fmax(bottom, g->nodes[k].y + g->nodes[k].radius);
  }
  for (int64_t k = 0; k < g->count; k++) g->nodes[k].y -= top;
  g->height = bottom - top;
}

static void place_nodes(graph *g) {
  int64_t chunks = 1;
  for (int64_t k = 0; k < g->list->count; k++)
    if (g->list->item[k].chunk >= chunks) chunks = g->list->item[k].chunk + 1;
  for (int64_t k = 0; k < g->count; k++) { /* chunks are numbered along the tree */
    const int64_t chunk = g->list->item[g->nodes[k].item].chunk;
    g->nodes[k].target = HEIGHT * (chunk < 0 ? 0.5 : ((double)chunk + 0.5) / (double)chunks);
  }
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    if (sweep > 0) pull(g);
    for (int64_t l = 0; l < g->levels; l++) {
      node *nodes = &g->nodes[g->first[l]];
      const int64_t count = g->first[l + 1] - g->first[l];
      if (count == 0) continue;
      qsort(nodes, (size_t)count, sizeof *nodes, by_target);
      for (int64_t k = 0; k < count; k++) g->place[nodes[k].item] = g->first[l] + k;
      settle(nodes, count);
    }
  }
  move_up(g);
}

/* ---- Drawing ------------------------------------------------------------------------------------------ */

static void write_edges(FILE *file, const graph *g, bool critical) {
  for (int64_t i = 0; i < g->list->count; i++) {
    const tristar_trace_item *item = &g->list->item[i];
    if (g->place[i] < 0) continue;
    const node *to = &g->nodes[g->place[i]];
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++) {
      const int64_t j = g->list->before[e];
      if (g->place[j] < 0 || (item->critical && g->list->item[j].critical) != critical) continue;
      const node *from = &g->nodes[g->place[j]];
      const double middle = (from->x + to->x) / 2;
      fprintf(file, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", from->x, from->y, middle,
              from->y, middle, to->y, to->x, to->y);
    }
  }
}

static void write_nodes(FILE *file, const graph *g) {
  for (int64_t k = 0; k < g->count; k++) {
    const node *n = &g->nodes[k];
    const tristar_trace_item *item = &g->list->item[n->item];
    const tristar_step_kind kind =
        item->kind == TRISTAR_STEP_BUNDLE ? g->trace->steps.item[item->first_step].kind : item->kind;
    fprintf(file, "<circle class=\"node\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"%s>", n->x, n->y,
            n->radius, tsi_plot_colour(kind), item->critical ? " stroke=\"#111\" stroke-width=\"1.8\"" : "");
    tsi_plot_tip(file, g->trace, item);
    fputs("</circle>\n", file);
  }
}

/* Writes circles of round sizes, the largest first. */
static void write_sizes(FILE *file, const graph *g, double y) {
  const double most = SAMPLE_MOST / g->scale, least = 1.5 / g->scale;
  double heaviest = 0;
  for (int64_t k = 0; k < g->count; k++) heaviest = fmax(heaviest, g->list->item[g->nodes[k].item].bytes);
  if (heaviest <= 0 || g->scale <= 0) return;
  tsi_legend legend = tsi_legend_begin(file, LEFT, WIDTH - LEFT, y);
  tsi_legend_text(&legend, "bytes that it streams:");
  double sample = tsi_axis_round(fmin(most * most, heaviest));
  for (int k = 0; k < SAMPLES && sample > least * least; k++, sample = tsi_axis_round(sample / 5)) {
    const double radius = g->scale * sqrt(sample),
                 x = tsi_legend_place(&legend, 2 * radius, "%s", tsi_text_round_bytes(sample));
    fprintf(file, "<circle class=\"size\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", x + radius,
            y - 4, radius, tsi_svg_colour[TSI_GREY]);
  }
}

static void write_note(const tsi_picture *p, const graph *g, double y) {
  const bool tasks = g->list == &g->trace->tasks;
  char more[120] = "";
  if (g->count < g->list->count)
    snprintf(more, sizeof more, "; only the %s heaviest of %s are drawn", tsi_text_count(g->count),
             tsi_text_count(g->list->count));
  else if (tasks && g->trace->steps.count > NODES_MOST)
    snprintf(more, sizeof more, "; too many to be drawn one by one: %s",
             tsi_text_many(g->trace->steps.count, "step"));
  tsi_picture_note(p, LEFT + 480, y, "A circle is a %s%s.",
                   tasks ? "task" : "step (several may share a task)", more);
}

static bool draw(tsi_session *s, const graph *g, const tsi_traced *traced) {
  tsi_picture p;
  if (!tsi_picture_begin(&p, s, s->settings->out, "The task graph of a solve", WIDTH, LEFT)) return false;
  tsi_plot_subtitle(&p, traced);
  tsi_plot_legend(&p.legend, g->trace);
  tsi_legend_line(&p.legend, "stroke=\"#111\" stroke-width=\"1.8\"", "critical path, %s of measured time",
                  tsi_text_time(g->list->critical_seconds));
  const double top = p.legend.y + ABOVE, bottom = top + g->height + 8;
  const tsi_axis level = {
      .from = -0.5,
      .to = (double)g->levels - 0.5,
      .begin = LEFT,
      .end = LEFT + PLOT,
      .name = "level: what a circle waits for stands to the left of it; forward, then backward",
      .integer = true,
      .apart = 60};
  tsi_axis_x(p.file, &level, bottom, bottom);
  fprintf(p.file, "<g transform=\"translate(0 %.1f)\">\n", top);
  fputs("<g fill=\"none\" stroke=\"#8c959f\" stroke-width=\".6\" stroke-opacity=\".7\">\n", p.file);
  write_edges(p.file, g, false);
  fputs("</g>\n<g fill=\"none\" stroke=\"#111\" stroke-width=\"1.8\">\n", p.file);
  write_edges(p.file, g, true);
  fputs("</g>\n<g stroke=\"#fff\" stroke-width=\".5\">\n", p.file);
  write_nodes(p.file, g);
  fputs("</g>\n</g>\n", p.file);
  write_sizes(p.file, g, bottom + 70);
  write_note(&p, g, bottom + 70);
  return tsi_picture_end(&p, top + g->height + BOTTOM);
}

bool tsi_plot_dag(const tsi_plot *plot, const tsi_traced *traced) {
  tsi_session *s = plot->s;
  graph g = {.trace = traced->trace, .list = tsi_plot_list(traced->trace)};
  if (g.list->count > NODES_MOST) g.list = &g.trace->tasks;
  bool ok = make_space(s, &g) && list_nodes(s, &g);
  if (ok) {
    choose_radii(&g);
    place_nodes(&g);
    ok = draw(s, &g, traced);
  }
  if (ok) tsi_plot_add_items(plot->figures, "items", g.list);
  free(g.place);
  free(g.nodes);
  free(g.first);
  return ok;
}
