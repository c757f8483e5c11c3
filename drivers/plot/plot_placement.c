/* The devices of the subtrees of the assembly tree: see plot.h.
 *
 * Above: the tree in the layout of tree.h; areas are bytes of factor, in the colours of the devices and of
 * the cores. Each subtree has a frame (class "subtree"). Below: the predicted time of each device in a solve,
 * by pieces (class "piece"), with its bytes of factor and the bytes on its bus.
 *
 * The subtrees are those of the plan, or, with --gpu, those of a placing by the cost model. The latter also
 * has subtrees of the cores, with their times. */
#include <stdlib.h>

#include "drivers/report/gpu.h"
#include "drivers/plot/plot.h"
#include "drivers/plot/tree.h"
#include "tristar_device.h"

/* Pixels. */
enum { WIDTH = 1200, LEFT = 24, PLOT = WIDTH - 2 * LEFT, ABOVE = 14, TREE = 440, GAP = 46 };
enum { ROW = 26, BAR = 16, BARS_LEFT = LEFT + 64, BARS_RIGHT = 560, BOTTOM = 80 };
enum { LISTED_MOST = 8 };
#define SMALL "font-size=\"12\""
#define CORES_COLOUR "#d0d7de"
#define ABOVE_COLOUR "#8c959f"

/* device -1: the cores; predicted_seconds of the cores: 0. */
typedef tristar_subtree_stats subtree;

typedef struct placement {
  tristar_assembly_tree tree;
  subtree *subtree; /* in the order of the tree */
  int64_t count;
  int devices;    /* upper bound of the numbers of devices */
  int32_t *group; /* by supernode: neighbours of one subtree, or of none, have the same number; ascending */
  int64_t *owner; /* by group: the subtree; -1: none */
  int32_t groups;
  tsi_bandwidth bandwidth; /* with --gpu */
  tsi_gpu_report model;
} placement;

static bool no_memory(tsi_session *s) {
  return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for the picture", s->name);
}

/* ---- Subtrees ----------------------------------------------------------------------------------------- */

static bool list_of_plan(tsi_session *s, placement *p) {
  int64_t count = 0;
  while (tristar_plan_get_subtree(s->plan, count, NULL)) count++;
  p->subtree = calloc((size_t)count + 1, sizeof *p->subtree);
  if (p->subtree == NULL) return no_memory(s);
  for (; tristar_plan_get_subtree(s->plan, p->count, &p->subtree[p->count]); p->count++)
    if (p->subtree[p->count].device >= p->devices) p->devices = p->subtree[p->count].device + 1;
  return true;
}

static int64_t root_of(const subtree *t) {
  return t->first_supernode + t->supernodes - 1;
}

static int by_root(const void *a, const void *b) {
  const subtree *x = a, *y = b;
  return (root_of(x) > root_of(y)) - (root_of(x) < root_of(y));
}

/* first: by supernode, the lowest number in its subtree. */
static void find_first(const tristar_assembly_tree *tree, int64_t *first) {
  for (int64_t k = 0; k < tree->supernodes; k++) first[k] = k;
  for (int64_t k = 0; k < tree->supernodes; k++) {
    const int32_t parent = tree->parent[k];
    if (parent >= 0 && first[k] < first[parent]) first[parent] = first[k];
  }
}

static bool list_of_model(tsi_session *s, placement *p) {
  const tsi_device_split *placing = p->model.placing;
  const tsi_device_split_costs costs = tsi_device_split_costs_assumed(s->factor, p->model.device);
  int64_t *first = calloc((size_t)p->tree.supernodes + 1, sizeof *first);
  p->subtree = calloc((size_t)placing->count + 1, sizeof *p->subtree);
  if (p->subtree != NULL && first != NULL) find_first(&p->tree, first);
  for (; p->count < placing->count && p->subtree != NULL && first != NULL; p->count++) {
    const tsi_split_subtree *t = &placing->subtree[p->count];
    tsi_device_load load = {0};
    tsi_device_load_add(&costs, t, &load);
    const bool there = t->device != TSI_NONE;
    p->subtree[p->count] = (subtree){.first_supernode = first[t->root],
                                     .supernodes = t->root - first[t->root] + 1,
                                     .device = there ? (int)t->device : -1,
                                     .columns = t->columns,
                                     .border = t->border,
                                     .factor_bytes = load.bytes,
                                     .up_bytes = there ? load.up : 0,
                                     .down_bytes = there ? load.down : 0,
                                     .predicted_seconds = t->seconds};
  }
  const bool ok = p->subtree != NULL && first != NULL;
  if (ok) qsort(p->subtree, (size_t)p->count, sizeof *p->subtree, by_root);
  p->devices = (int)placing->devices;
  free(first);
  return ok || no_memory(s);
}

static bool make_groups(tsi_session *s, placement *p) {
  int64_t next = 0, before = -2;
  p->group = calloc((size_t)p->tree.supernodes + 1, sizeof *p->group);
  p->owner = calloc((size_t)p->tree.supernodes + 1, sizeof *p->owner);
  if (p->group == NULL || p->owner == NULL) return no_memory(s);
  for (int64_t k = 0; k < p->tree.supernodes; k++) {
    while (next < p->count && root_of(&p->subtree[next]) < k) next++;
    const int64_t of = next < p->count && p->subtree[next].first_supernode <= k ? next : -1;
    if (of != before) p->owner[p->groups++] = of;
    before = of;
    p->group[k] = p->groups - 1;
  }
  return true;
}

static bool make(tsi_session *s, placement *p) {
  const bool model = s->settings->gpu >= 0;
  const int64_t devices = s->settings->devices > 0 ? s->settings->devices : 1;
  if (model && !tsi_bandwidth_measure(s, tsi_expected_workers(s->settings), &p->bandwidth)) return false;
  if (!tsi_session_factor(s) || !tsi_session_plan(s, tsi_plot_nrhs(s))) return false;
  if (model && !tsi_gpu_place(s, &p->bandwidth, devices, &p->model)) return false;
  tristar_analysis_get_assembly_tree(tristar_factor_get_analysis(s->factor), &p->tree);
  return (model ? list_of_model(s, p) : list_of_plan(s, p)) && make_groups(s, p);
}

static void release(tsi_session *s, placement *p) {
  tsi_gpu_free(s, &p->model);
  free(p->subtree);
  free(p->group);
  free(p->owner);
}

/* Returns the sum over the subtrees of a device; -1: of the cores. */
static subtree sum_of(const placement *p, int device, int64_t *count) {
  subtree sum = {.device = device};
  *count = 0;
  for (int64_t k = 0; k < p->count; k++) {
    const subtree *t = &p->subtree[k];
    if (t->device != device) continue;
    ++*count;
    sum.factor_bytes += t->factor_bytes;
    sum.up_bytes += t->up_bytes;
    sum.down_bytes += t->down_bytes;
    sum.predicted_seconds += t->predicted_seconds;
  }
  return sum;
}

/* ---- The tree ----------------------------------------------------------------------------------------- */

/* owner: a subtree; -1: supernodes outside of subtrees. */
static const char *colour_of(const placement *p, int64_t owner, char text[8]) {
  static const int order[] = {TSI_BLUE, TSI_ORANGE, TSI_GREEN, TSI_VERMILLION, TSI_SKY, TSI_PURPLE};
  enum { ORDERED = sizeof order / sizeof *order };
  if (owner < 0) return p->model.placing ? ABOVE_COLOUR : CORES_COLOUR;
  const int device = p->subtree[owner].device;
  if (device < 0) return CORES_COLOUR;
  return p->devices <= ORDERED ? tsi_svg_colour[order[device]] : tsi_svg_many_colours(device, true, text);
}

/* "GPU 0: 12 supernodes, ..." */
static void write_tip(FILE *file, const subtree *t) {
  if (t->device >= 0)
    fprintf(file, "<title>GPU %d: ", t->device);
  else
    fputs("<title>the cores: ", file);
  fprintf(file, "%s, %s, %s below\n%s of factor", tsi_text_many(t->supernodes, "supernode"),
          tsi_text_many(t->columns, "column"), tsi_text_many(t->border, "row"),
          tsi_text_bytes(t->factor_bytes));
  if (t->device >= 0)
    fprintf(file, ", predicted %s in a solve\nbus: %s up, %s down in each solve",
            tsi_text_time(t->predicted_seconds), tsi_text_bytes(t->up_bytes), tsi_text_bytes(t->down_bytes));
  fputs("</title>", file);
}

static void write_box(FILE *file, const placement *p, const tsi_tree_box *box, double top) {
  char text[8];
  const int64_t owner = p->owner[box->chunk];
  tsi_svg_area(file, NULL, LEFT + box->x * PLOT, top + box->y * TREE, box->width * PLOT, box->height * TREE,
               colour_of(p, owner, text));
  if (owner >= 0)
    write_tip(file, &p->subtree[owner]);
  else
    fprintf(file, "<title>the cores: %s, %s</title>", tsi_text_many(box->columns, "column"),
            tsi_text_bytes(box->bytes));
  fputs("</rect>\n", file);
}

/* Writes the frame of a subtree, from its root down to the bottom, and a name if it fits. */
static void write_frame(FILE *file, const subtree *t, double left, double right, double y, double top) {
  char label[64];
  const double x = LEFT + left * PLOT, width = (right - left) * PLOT, height = (1 - y) * TREE;
  tsi_svg_rect(file, "subtree", x, top + y * TREE, width, height);
  fputs("fill=\"none\" stroke=\"#111\" stroke-width=\"1.4\" pointer-events=\"none\"/>\n", file);
  snprintf(label, sizeof label, "GPU %d", t->device);
  if (t->device < 0 || height < TSI_TREE_LABEL + 6) return;
  tsi_tree_label(file, x + width / 2, top + y * TREE + height / 2 + 4, width, "#fff", label);
}

static void write_frames(FILE *file, const placement *p, const tsi_tree_layout *layout, double top) {
  for (int32_t g = 0; g < p->groups; g++) {
    double left = 1, right = 0, y = 1;
    if (p->owner[g] < 0) continue;
    for (int64_t k = 0; k < layout->count; k++) {
      const tsi_tree_box *box = &layout->boxes[k];
      if (box->chunk != g) continue;
      if (box->x < left) left = box->x;
      if (box->x + box->width > right) right = box->x + box->width;
      if (box->y < y) y = box->y;
    }
    if (left < right) write_frame(file, &p->subtree[p->owner[g]], left, right, y, top);
  }
}

static void write_tree(FILE *file, const placement *p, const tsi_tree_layout *layout, double top) {
  fputs("<g stroke=\"#fff\" stroke-width=\".4\">\n", file);
  for (int64_t k = 0; k < layout->count; k++) write_box(file, p, &layout->boxes[k], top);
  fputs("</g>\n", file);
  write_frames(file, p, layout, top);
}

/* ---- The devices -------------------------------------------------------------------------------------- */

static double cores_seconds(const placement *p) {
  return p->model.placing ? p->model.placing->cores_seconds + p->model.placing->above_seconds : 0;
}

static double longest(const placement *p) {
  double most = cores_seconds(p);
  int64_t count;
  for (int d = 0; d < p->devices; d++) {
    const double seconds = sum_of(p, d, &count).predicted_seconds;
    if (seconds > most) most = seconds;
  }
  return most;
}

/* Writes a piece; the caller writes its content and </rect>. */
static void write_piece(FILE *file, const tsi_axis *axis, double from, double to, double y,
                        const char *colour) {
  const double x = tsi_axis_at(axis, from);
  tsi_svg_rect(file, "piece", x, y, tsi_axis_at(axis, to) - x, BAR);
  fprintf(file, "fill=\"%s\" stroke=\"#fff\" stroke-width=\".8\">", colour);
}

static void write_row_texts(FILE *file, double y, const char *name, const char *what) {
  tsi_svg_write(file, LEFT, y + 12, SMALL, "%s", name);
  tsi_svg_write(file, BARS_RIGHT + 16, y + 12, SMALL, "%s", what);
}

static void write_device(FILE *file, const placement *p, int device, double y, const tsi_axis *axis) {
  int64_t count;
  char name[16], what[200], text[8];
  double at = 0;
  const subtree sum = sum_of(p, device, &count);
  for (int64_t k = 0; k < p->count; k++) {
    const subtree *t = &p->subtree[k];
    if (t->device != device) continue;
    write_piece(file, axis, at, at + t->predicted_seconds, y, colour_of(p, k, text));
    at += t->predicted_seconds;
    write_tip(file, t);
    fputs("</rect>\n", file);
  }
  snprintf(name, sizeof name, "GPU %d", device);
  snprintf(what, sizeof what, "%s, %s of factor; in each solve %s up, %s down its bus",
           tsi_text_many(count, "subtree"), tsi_text_bytes(sum.factor_bytes), tsi_text_bytes(sum.up_bytes),
           tsi_text_bytes(sum.down_bytes));
  if (count == 0) snprintf(what, sizeof what, "nothing");
  write_row_texts(file, y, name, what);
}

/* Writes the pieces of the cores, by the cost model. */
static void write_cores(FILE *file, const placement *p, double y, const tsi_axis *axis) {
  int64_t count;
  char what[200];
  const tsi_device_split *placing = p->model.placing;
  const subtree sum = sum_of(p, -1, &count);
  const double subtrees = placing->cores_seconds, above = placing->above_seconds;
  write_piece(file, axis, 0, subtrees, y, CORES_COLOUR);
  fputs("<title>until the subtrees of the cores are through</title></rect>\n", file);
  write_piece(file, axis, subtrees, subtrees + above, y, ABOVE_COLOUR);
  fputs("<title>for what is above all subtrees</title></rect>\n", file);
  snprintf(what, sizeof what, "%s, %s of factor; above all subtrees %s", tsi_text_many(count, "subtree"),
           tsi_text_bytes(sum.factor_bytes), tsi_text_time(above));
  write_row_texts(file, y, "cores", what);
}

static void write_devices(FILE *file, const placement *p, double top) {
  const int rows = p->devices + (p->model.placing != NULL);
  const tsi_axis axis = {.to = longest(p),
                         .begin = BARS_LEFT,
                         .end = BARS_RIGHT,
                         .name = "predicted time in a solve",
                         .quantity = TSI_SECONDS};
  if (axis.to <= 0) {
    tsi_svg_write(file, LEFT, top + 12, SMALL, "All subtrees are solved on the cores.");
    return;
  }
  tsi_axis_x(file, &axis, top + rows * ROW, top);
  for (int d = 0; d < p->devices; d++) write_device(file, p, d, top + d * ROW + 5, &axis);
  if (p->model.placing) write_cores(file, p, top + p->devices * ROW + 5, &axis);
}

/* ---- The picture -------------------------------------------------------------------------------------- */

static void write_legend(tsi_legend *legend, const placement *p) {
  char text[8];
  int listed = 0;
  for (int d = 0; d < p->devices; d++)
    for (int64_t k = 0; k < p->count && listed < LISTED_MOST; k++) {
      if (p->subtree[k].device != d) continue;
      tsi_legend_square(legend, colour_of(p, k, text), "GPU %d", d);
      listed++;
      break;
    }
  if (listed == LISTED_MOST) tsi_legend_text(legend, "and so on");
  tsi_legend_square(legend, CORES_COLOUR, p->model.placing ? "a subtree of the cores" : "the cores");
  if (p->model.placing) tsi_legend_square(legend, ABOVE_COLOUR, "above all subtrees: the cores");
}

static void write_subtitle(const tsi_picture *picture, const placement *p) {
  const tsi_session *s = picture->s;
  const tsi_device_split *placing = p->model.placing;
  int64_t on_cores;
  (void)sum_of(p, -1, &on_cores);
  if (placing)
    tsi_picture_subtitle(picture,
                         "n = %s, nnz(L) = %s; on %d x %s beside %s a solve is predicted to take %s, on the "
                         "cores alone %s",
                         tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower), p->devices,
                         p->model.device->name, tsi_text_many(s->p.workers, "core"),
                         tsi_text_time(placing->seconds), tsi_text_time(placing->only_cores));
  else
    tsi_picture_subtitle(picture, "n = %s, nnz(L) = %s; %s on %s; %s of factor have no room there",
                         tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower),
                         tsi_text_many(p->count - on_cores, "subtree"), tsi_text_many(s->p.devices, "GPU"),
                         tsi_text_bytes(s->p.unfit_bytes));
}

static void add_figures(cJSON *figures, const tsi_session *s, const placement *p) {
  const tsi_device_split *placing = p->model.placing;
  cJSON *items = cJSON_AddArrayToObject(figures, "items");
  cJSON_AddStringToObject(figures, "gpu", placing ? p->model.device->title : "");
  TSI_JSON_NUMBERS(figures, {"devices", placing ? p->devices : s->p.devices},
                   {"predicted_s", placing ? placing->seconds : s->p.predicted_seconds},
                   {"unfit_bytes", placing ? placing->unfit_bytes : s->p.unfit_bytes});
  for (int64_t k = 0; k < p->count; k++) {
    const subtree *t = &p->subtree[k];
    cJSON *object = tsi_json_add_item(items);
    TSI_JSON_NUMBERS(object, {"device", t->device}, {"supernodes", (double)(t->supernodes)},
                     {"columns", (double)t->columns}, {"rows_below", (double)t->border},
                     {"bytes", t->factor_bytes}, {"up_bytes", t->up_bytes}, {"down_bytes", t->down_bytes},
                     {"predicted_s", t->predicted_seconds});
  }
}

static bool draw(tsi_session *s, const placement *p) {
  tsi_picture picture;
  tsi_tree_layout layout;
  if (!tsi_tree_lay_out_pixels(s, p->group, p->groups, PLOT, &layout)) return false;
  bool ok = tsi_picture_begin(&picture, s, s->settings->out, "Placement", WIDTH, LEFT);
  if (ok) {
    write_subtitle(&picture, p);
    write_legend(&picture.legend, p);
    const double top = picture.legend.y + ABOVE, bars = top + TREE + GAP;
    write_tree(picture.file, p, &layout, top);
    tsi_picture_note(&picture, LEFT, top + TREE + 20,
                     "Roots are on top, children below their parent; areas are bytes of factor. A frame is "
                     "a subtree; each sweep of one on a GPU is one task.");
    write_devices(picture.file, p, bars);
    ok = tsi_picture_end(&picture, bars + ROW * (p->devices + (p->model.placing != NULL)) + BOTTOM);
  }
  free(layout.boxes);
  return ok;
}

bool tsi_plot_placement(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  placement p = {.count = 0};
  const bool ok = make(s, &p) && draw(s, &p);
  if (ok) add_figures(plot->figures, s, &p);
  release(s, &p);
  return ok;
}
