/* Simulated solves of several algorithms side by side: see plot.h.
 *
 * The file --from has, for each matrix and each way to solve, the fastest layouts of numbers of processes and
 * of grids, as tools/bench/study_sc23 writes them. A matrix has two charts in a row: the time of a solve over
 * the processes, each way with its best number of grids (figure 4 of Liu, Ding, Sao, Williams, Li, SC 2023);
 * and how processes of the way `new` spend their time over the number of grids, with the most processes:
 * means, and for arithmetic the least and the most of a process (figures 5 to 8 there).
 *
 * Or it has, for each matrix, predicted solves with a triangle on GPUs, as tools/bench/study_zc21 writes
 * them. Then the charts have the time over the tasks of a GPU, and over the GPUs (figures 9 and 10 of Xie et
 * al., ICPP 2021). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/draw/chart.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "drivers/session/files.h"

enum { POINTS_MOST = 64, ROW = 300, GAP = 110, MIDDLE = 620 }; /* ROW, GAP, MIDDLE: pixels */

/* Curves of the first chart: a way of the file, with the best number of grids or with one. */
enum { TWO_D, BASELINE, OVERLAP, NEW, SUBTREE, WAYS };
static const struct {
  const char *key, *name;
  int colour;
  tsi_shape shape;
} ways[WAYS] = {[TWO_D] = {"new", "2D: one grid", TSI_GREY, TSI_CROSS},
                [BASELINE] = {"baseline", "baseline: levelwise, flat trees", TSI_VERMILLION, TSI_SQUARE},
                [OVERLAP] = {"overlap", "baseline, steps by priority", TSI_ORANGE, TSI_DOWN},
                [NEW] = {"new", "new: replicated, binary trees", TSI_BLUE, TSI_DISC},
                [SUBTREE] = {"subtree", "new with TriStar's subtree map", TSI_GREEN, TSI_DIAMOND}};

/* Parts of the time of a process, of the second chart. */
enum { COMPUTE, INSIDE, BETWEEN, WAITING, PARTS };
static const struct {
  const char *key, *name;
  int colour;
  tsi_shape shape;
} parts[PARTS] = {[COMPUTE] = {"compute_s", "arithmetic, least to most", TSI_BLUE, TSI_TRIANGLE},
                  [INSIDE] = {"intra_grid_s", "messages inside grids", TSI_PURPLE, TSI_SQUARE},
                  [BETWEEN] = {"inter_grid_s", "messages between grids", TSI_VERMILLION, TSI_CROSS},
                  [WAITING] = {"waiting_s", "waiting", TSI_GREY, TSI_DOWN}};

/* Curves of triangles on GPUs: the first half over the tasks of each of 4 GPUs of a DGX-1, the others over
 * the GPUs of a machine, with 8 tasks. */
enum { OVER_TASKS = 4, TRIANGLES = 8, GPUS_FIXED = 4, TASKS_FIXED = 8 };
static const struct {
  const char *way, *key, *one, *machine, *name;
  int colour;
  tsi_shape shape;
} triangles[TRIANGLES] = {
    {"published", "published_s", NULL, "DGX-1", "Xie et al.", TSI_BLUE, TSI_DISC},
    {"published_unified", "published_unified_s", NULL, "DGX-1", "Xie et al., managed memory", TSI_BLUE,
     TSI_CROSS},
    {"own", "predicted_solve_s", NULL, "DGX-1", "TriStar", TSI_GREEN, TSI_DIAMOND},
    {"own_unified", "unified_s", NULL, "DGX-1", "TriStar, managed memory", TSI_GREEN, TSI_DOWN},
    {"published", "published_s", "published_one_gpu_s", "DGX-1", "Xie et al., DGX-1", TSI_VERMILLION,
     TSI_SQUARE},
    {"published", "published_s", "published_one_gpu_s", "DGX-2", "Xie et al., DGX-2", TSI_BLUE, TSI_DISC},
    {"own", "predicted_solve_s", "one_gpu_s", "DGX-1", "TriStar, DGX-1", TSI_ORANGE, TSI_DOWN},
    {"own", "predicted_solve_s", "one_gpu_s", "DGX-2", "TriStar, DGX-2", TSI_GREEN, TSI_DIAMOND}};

_Static_assert((int)TRIANGLES <= (int)WAYS + (int)PARTS, ""); /* both share the curves of a matrix */

typedef struct curve {
  int64_t count;
  double x[POINTS_MOST], y[POINTS_MOST], least[POINTS_MOST], most[POINTS_MOST];
} curve;

static double number(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

cJSON *tsi_plot_read_study(const char *path, char *message, size_t size) {
  cJSON *object = tsi_json_load(path);
  const int problem = errno;
  const cJSON *first = object != NULL ? object->child : NULL;
  bool all = first != NULL;
  for (const cJSON *matrix = first; matrix != NULL; matrix = matrix->next) {
    const bool gpus = cJSON_IsArray(matrix);
    const cJSON *points = gpus ? matrix : cJSON_GetObjectItemCaseSensitive(matrix, "new");
    all &= cJSON_GetArraySize(points) > 0 && gpus == cJSON_IsArray(first) &&
           number(cJSON_GetArrayItem(points, 0), gpus ? "published_s" : "simulated_s") > 0;
  }
  if (all) return object;
  if (problem != 0)
    snprintf(message, size, "cannot open %s: %s", path, strerror(problem));
  else
    snprintf(message, size, "%s: not a file of study_sc23 --json or study_zc21 --json", tsi_input_name(path));
  cJSON_Delete(object);
  return NULL;
}

/* ---- Figures ------------------------------------------------------------------------------------------ */

/* The least time of each number of processes, ascending; one_grid: of a single grid. */
static void read_times(const cJSON *points, bool one_grid, curve *c) {
  const cJSON *point;
  c->count = 0;
  cJSON_ArrayForEach(point, points) {
    const double ranks = number(point, "ranks"), seconds = number(point, "simulated_s");
    int64_t k = 0;
    if (one_grid && number(point, "pz") > 1) continue;
    while (k < c->count && c->x[k] < ranks) k++;
    if (k == c->count || c->x[k] > ranks) {
      if (c->count == POINTS_MOST) return;
      memmove(c->x + k + 1, c->x + k, (size_t)(c->count - k) * sizeof *c->x);
      memmove(c->y + k + 1, c->y + k, (size_t)(c->count++ - k) * sizeof *c->y);
      c->x[k] = ranks;
      c->y[k] = seconds;
    }
    c->y[k] = fmin(c->y[k], seconds);
  }
}

/* A part of the time over grids, of so many processes. The file has grids in ascending order. */
static void read_part(const cJSON *points, const char *key, double ranks, curve *c) {
  const cJSON *point;
  c->count = 0;
  cJSON_ArrayForEach(point, points) {
    const cJSON *range = cJSON_GetObjectItemCaseSensitive(point, key);
    const double of = number(point, "ranks");
    if (of < ranks || of > ranks || c->count == POINTS_MOST) continue;
    c->x[c->count] = number(point, "pz");
    c->y[c->count] = number(range, "mean");
    c->least[c->count] = number(range, "min");
    c->most[c->count++] = number(range, "max");
  }
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

/* A logarithmic axis with ticks at the values of a curve. */
static tsi_axis axis_of(const curve *c, const char *name, double begin, double end) {
  return (tsi_axis){.from = c->x[0] / 1.2,
                    .to = 1.2 * c->x[c->count - 1],
                    .begin = begin,
                    .end = end,
                    .name = name,
                    .logarithmic = true,
                    .values = c->x,
                    .count = (int)c->count};
}

static void draw_times(const tsi_picture *p, const cJSON *matrix, double top, curve *c) {
  tsi_series series[WAYS];
  for (int w = 0; w < WAYS; w++) {
    read_times(cJSON_GetObjectItemCaseSensitive(matrix, ways[w].key), w == TWO_D, &c[w]);
    series[w] = (tsi_series){.name = ways[w].name,
                             .kind = TSI_SERIES_MARKS,
                             .colour = ways[w].colour,
                             .shape = ways[w].shape,
                             .count = c[w].count,
                             .x = c[w].x,
                             .y = c[w].y};
  }
  tsi_axis x = axis_of(&c[NEW], "processes", TSI_CHART_LEFT, MIDDLE - GAP / 2);
  tsi_axis y = {.name = "time of a solve",
                .quantity = TSI_SECONDS,
                .logarithmic = true,
                .end = top,
                .begin = top + ROW};
  tsi_chart_draw(p, &x, &y, WAYS, series);
}

static void draw_parts(const tsi_picture *p, const cJSON *matrix, double top, double ranks, curve *c) {
  tsi_series series[PARTS];
  const cJSON *points = cJSON_GetObjectItemCaseSensitive(matrix, "new");
  char name[80];
  for (int k = 0; k < PARTS; k++) {
    read_part(points, parts[k].key, ranks, &c[k]);
    series[k] = (tsi_series){.name = parts[k].name,
                             .kind = TSI_SERIES_MARKS,
                             .colour = parts[k].colour,
                             .shape = parts[k].shape,
                             .count = c[k].count,
                             .x = c[k].x,
                             .y = c[k].y,
                             .least = k == COMPUTE ? c[k].least : NULL,
                             .most = k == COMPUTE ? c[k].most : NULL};
  }
  snprintf(name, sizeof name, "grids of %.0f processes, new", ranks);
  tsi_axis x = axis_of(&c[COMPUTE], name, MIDDLE + GAP / 2, TSI_CHART_RIGHT);
  tsi_axis y = {.name = "time of a process", .quantity = TSI_SECONDS, .end = top, .begin = top + ROW};
  tsi_chart_draw(p, &x, &y, PARTS, series);
}

/* Curve k of triangles on GPUs. The file has numbers of GPUs and of tasks in ascending order. */
static void read_triangle(const cJSON *points, int k, curve *c) {
  const cJSON *point;
  const char *of = k < OVER_TASKS ? "gpus" : "tasks_per_gpu",
             *over = k < OVER_TASKS ? "tasks_per_gpu" : "gpus";
  const double fixed = k < OVER_TASKS ? GPUS_FIXED : TASKS_FIXED;
  c->count = 0;
  cJSON_ArrayForEach(point, points) {
    const char *machine = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(point, "machine"));
    const double found = number(point, of);
    if (machine == NULL || strcmp(machine, triangles[k].machine) != 0 || c->count > POINTS_MOST - 2) continue;
    if (!(found >= fixed && found <= fixed && number(point, triangles[k].key) > 0)) continue;
    if (c->count == 0 && triangles[k].one != NULL && number(point, triangles[k].one) > 0) {
      c->x[c->count] = 1;
      c->y[c->count++] = number(point, triangles[k].one);
    }
    c->x[c->count] = number(point, over);
    c->y[c->count++] = number(point, triangles[k].key);
  }
}

static void draw_triangles(const tsi_picture *p, const cJSON *points, int first, double top, curve *c,
                           const tsi_axis *axis) {
  tsi_series series[OVER_TASKS];
  const curve *longest = &c[first];
  for (int k = first; k < first + OVER_TASKS; k++) {
    read_triangle(points, k, &c[k]);
    series[k - first] = (tsi_series){.name = triangles[k].name,
                                     .kind = TSI_SERIES_MARKS,
                                     .colour = triangles[k].colour,
                                     .shape = triangles[k].shape,
                                     .count = c[k].count,
                                     .x = c[k].x,
                                     .y = c[k].y};
    if (c[k].count > longest->count) longest = &c[k];
  }
  if (longest->count == 0) return;
  tsi_axis x = axis_of(longest, axis->name, axis->begin, axis->end);
  tsi_axis y = {.name = "time of a solve",
                .quantity = TSI_SECONDS,
                .logarithmic = true,
                .end = top,
                .begin = top + ROW};
  tsi_chart_draw(p, &x, &y, OVER_TASKS, series);
}

static void add_triangles(cJSON *items, const char *matrix, const curve *c) {
  for (int k = 0; k < TRIANGLES; k++)
    for (int64_t i = 0; i < c[k].count; i++) {
      const bool tasks = k < OVER_TASKS;
      cJSON *object = tsi_json_add_item(items);
      cJSON_AddStringToObject(object, "matrix", matrix);
      cJSON_AddStringToObject(object, "way", triangles[k].way);
      cJSON_AddStringToObject(object, "machine", triangles[k].machine);
      TSI_JSON_NUMBERS(object, {"gpus", tasks ? GPUS_FIXED : c[k].x[i]},
                       {"tasks_per_gpu", tasks ? c[k].x[i] : TASKS_FIXED}, {"simulated_s", c[k].y[i]});
    }
}

static void add_figures(cJSON *items, const char *matrix, const curve *times) {
  for (int w = 0; w < WAYS; w++)
    for (int64_t k = 0; k < times[w].count; k++) {
      cJSON *object = tsi_json_add_item(items);
      cJSON_AddStringToObject(object, "matrix", matrix);
      cJSON_AddStringToObject(object, "way", w == TWO_D ? "2d" : ways[w].key);
      TSI_JSON_NUMBERS(object, {"ranks", times[w].x[k]}, {"simulated_s", times[w].y[k]});
    }
}

static void write_legend(tsi_picture *p) {
  for (int w = 0; w < WAYS; w++)
    tsi_legend_mark(&p->legend, ways[w].shape, tsi_svg_colour[ways[w].colour], "%s", ways[w].name);
  for (int k = 0; k < PARTS; k++)
    tsi_legend_mark(&p->legend, parts[k].shape, tsi_svg_colour[parts[k].colour], "%s", parts[k].name);
}

static void write_triangle_legend(tsi_picture *p) {
  for (int k = 0; k < TRIANGLES; k++)
    tsi_legend_mark(&p->legend, triangles[k].shape, tsi_svg_colour[triangles[k].colour], "%s",
                    triangles[k].name);
}

static void draw_study(const tsi_picture *p, const cJSON *matrix, double top, curve *c, cJSON *items) {
  draw_times(p, matrix, top, c);
  if (c[NEW].count > 0) draw_parts(p, matrix, top, c[NEW].x[c[NEW].count - 1], c + WAYS);
  add_figures(items, matrix->string, c);
}

static void draw_gpus(const tsi_picture *p, const cJSON *matrix, double top, curve *c, cJSON *items) {
  const tsi_axis tasks = {.name = "tasks of each of 4 GPUs",
                          .begin = TSI_CHART_LEFT,
                          .end = MIDDLE - GAP / 2},
                 gpus = {.name = "GPUs", .begin = MIDDLE + GAP / 2, .end = TSI_CHART_RIGHT};
  draw_triangles(p, matrix, 0, top, c, &tasks);
  draw_triangles(p, matrix, OVER_TASKS, top, c, &gpus);
  add_triangles(items, matrix->string, c);
}

bool tsi_plot_study(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  const cJSON *matrix;
  const bool gpus = cJSON_IsArray(plot->from->child);
  tsi_picture p;
  curve *curves = malloc((WAYS + PARTS) * sizeof *curves);
  if (curves == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
  bool ok = tsi_chart_begin(&p, s, s->settings->out, "Simulated solves");
  if (ok) {
    cJSON *items = cJSON_AddArrayToObject(plot->figures, "items");
    tsi_picture_subtitle(
        &p, gpus ? "sparse triangles; left: 4 GPUs of a DGX-1; right: 8 tasks for each GPU"
                 : "left: each way with its best number of grids; right: mean over the processes");
    gpus ? write_triangle_legend(&p) : write_legend(&p);
    double top = p.legend.y + GAP / 2;
    cJSON_ArrayForEach(matrix, plot->from) {
      (gpus ? draw_gpus : draw_study)(&p, matrix, top, curves, items);
      tsi_picture_note(&p, TSI_CHART_LEFT, top - 10, "%s", matrix->string);
      top += ROW + GAP;
    }
    ok = tsi_picture_end(&p, top - GAP / 2);
  }
  free(curves);
  return ok;
}
