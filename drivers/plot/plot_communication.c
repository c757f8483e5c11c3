/* Messages between processes in a solve with a layout: see plot.h.
 *
 * Two matrices of sender x receiver: messages on the left, bytes on the right. XY messages are inside a grid,
 * Z messages between grids, so a cell has only one class. Darker cells have more, on a logarithmic scale. If
 * there are more processes than cells, neighbours share a cell, which has the colour of the class with more
 * messages. */
#include <math.h>
#include <stdlib.h>

#include "drivers/session/layout.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "runtime/process/pairs.h"

/* Pixels. */
enum {
  WIDTH = 1200,
  LEFT = 84,
  RIGHT = 24,
  GAP = 92,
  ABOVE = 40,
  PANEL = (WIDTH - LEFT - RIGHT - GAP) / 2,
  SCALE = 62, /* distance from the end of the plot to the colour scales */
  SCALE_ROW = 70,
  BAR = 12, /* height of a scale */
  ENDS = 24 /* margin beside a scale */
};
enum { CELLS_MOST = 64, CLASSES = 2, PANELS = 2 };

typedef struct matrix {
  const tristar_layout *layout;
  int64_t nrhs;
  int cells, ranks;
  double *value[CLASSES][PANELS]; /* cells * cells: messages, bytes */
  double least[CLASSES][PANELS], most[CLASSES][PANELS],
      total[CLASSES][PANELS]; /* over cells that are not 0 */
} matrix;

static const char *const class_names[CLASSES] = {"XY", "Z"};
static const char *const class_texts[CLASSES] = {"XY: inside a grid", "Z: between grids"};
/* From light to dark, in red, green, blue. */
static const double shades[CLASSES][2][3] = {{{198, 219, 239}, {8, 48, 107}},
                                             {{253, 208, 162}, {140, 45, 4}}};

static const char *shade(int class, double part, char text[8]) {
  unsigned rgb[3];
  for (int c = 0; c < 3; c++)
    rgb[c] = (unsigned)lround(shades[class][0][c] + part * (shades[class][1][c] - shades[class][0][c])) & 255;
  snprintf(text, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
  return text;
}

/* ---- Figures ------------------------------------------------------------------------------------------ */

static void add(matrix *m, int class, int panel, tsi_count cell, double value) {
  m->value[class][panel][cell] += value;
  m->total[class][panel] += value;
}

static void take_counts(matrix *m, const tsi_pairs *pairs, double row_bytes) {
  for (int k = 0; k < TSI_TRAFFIC_CLASSES; k++) {
    const int class = k == TSI_TRAFFIC_GRIDS;
    for (tsi_count c = 0; c < (tsi_count)m->cells * m->cells; c++) {
      add(m, class, 0, c, (double)pairs->count[k][c].messages);
      add(m, class, 1, c, row_bytes * (double)pairs->count[k][c].rows);
    }
  }
  for (int class = 0; class < CLASSES; class ++)
    for (int panel = 0; panel < PANELS; panel++) {
      double *least = &m->least[class][panel], *most = &m->most[class][panel];
      for (int c = 0; c < m->cells * m->cells; c++) {
        const double value = m->value[class][panel][c];
        if (value > 0 && (*least <= 0 || value < *least)) *least = value;
        if (value > *most) *most = value;
      }
    }
}

static bool count(tsi_session *s, matrix *m) {
  tsi_pairs *pairs = NULL;
  double row_bytes;
  if (!tsi_session_check(s, tsi_layout_pairs(s->analysis, m->layout, m->nrhs, CELLS_MOST, &pairs, &row_bytes),
                         s->name))
    return false;
  m->cells = (int)pairs->cells;
  m->ranks = (int)pairs->ranks;
  bool ok = true;
  for (int k = 0; k < CLASSES * PANELS; k++) {
    double **value = &m->value[k / PANELS][k % PANELS];
    *value = calloc((size_t)m->cells * (size_t)m->cells, sizeof **value);
    ok = ok && *value != NULL;
  }
  if (ok) take_counts(m, pairs, row_bytes);
  tsi_layout_pairs_destroy(s->analysis, &pairs);
  return ok || tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the picture");
}

/* The first process of group i. */
static int first_of(const matrix *m, int64_t i) {
  return (int)((i * m->ranks + m->cells - 1) / m->cells);
}

static void add_figures(cJSON *figures, const matrix *m) {
  cJSON *items = cJSON_AddArrayToObject(figures, "items");
  TSI_JSON_NUMBERS(figures, {"ranks", m->ranks}, {"cells", m->cells}, {"nrhs", (double)m->nrhs});
  for (int class = 0; class < CLASSES; class ++)
    for (int c = 0; c < m->cells * m->cells; c++) {
      if (m->value[class][0][c] <= 0) continue;
      cJSON *object = tsi_json_add_item(items);
      cJSON_AddStringToObject(object, "class", class_names[class]);
      TSI_JSON_NUMBERS(object, {"from", first_of(m, c / m->cells)}, {"to", first_of(m, c % m->cells)},
                       {"messages", m->value[class][0][c]}, {"bytes", m->value[class][1][c]});
    }
}

/* ---- Picture ------------------------------------------------------------------------------------------ */

/* Returns the position of a value between minimum and maximum of its class. */
static double part_of(const matrix *m, int class, int panel, double value) {
  const double least = m->least[class][panel], most = m->most[class][panel];
  return most > least ? log(value / least) / log(most / least) : 1;
}

static void write_who(FILE *file, const matrix *m, int64_t i) {
  const int first = first_of(m, i), last = first_of(m, i + 1) - 1;
  if (last > first)
    fprintf(file, "ranks %d to %d", first, last);
  else
    fprintf(file, "rank %d", first);
}

static void write_cell(FILE *file, const matrix *m, int panel, double left, double top, int c) {
  const double side = (double)PANEL / m->cells;
  const int class = m->value[1][0][c] > m->value[0][0][c], i = c / m->cells, j = c % m->cells;
  char text[8];
  if (m->value[class][0][c] <= 0) return;
  tsi_svg_area(file, "pair", left + j * side, top + i * side, side, side,
               shade(class, part_of(m, class, panel, m->value[class][panel][c]), text));
  fputs("<title>", file);
  write_who(file, m, i);
  fputs(" to ", file);
  write_who(file, m, j);
  for (int k = 0; k < CLASSES; k++)
    if (m->value[k][0][c] > 0)
      fprintf(file, "\n%s: %s, %s", class_names[k], tsi_text_many((int64_t)m->value[k][0][c], "message"),
              tsi_text_bytes(m->value[k][1][c]));
  fputs("</title></rect>\n", file);
}

/* Writes borders of grids, if they fit. */
static void write_grids(FILE *file, const matrix *m, double left, double top) {
  const double grid = (double)PANEL * m->layout->px * m->layout->py / m->ranks;
  if (grid < 8) return;
  fputs("<path fill=\"none\" stroke=\"#8c959f\" d=\"", file);
  for (int z = 1; z < m->layout->pz; z++)
    fprintf(file, "M%.1f %.1fv%dM%.1f %.1fh%d", left + z * grid, top, PANEL, left, top + z * grid, PANEL);
  fputs("\"/>\n", file);
}

/* Writes the colour scale of a class, from minimum to maximum, below the plot. */
static void write_scale(FILE *file, const matrix *m, int class, int panel, double left, double y) {
  const double least = m->least[class][panel], most = m->most[class][panel], end = left + PANEL - 2 * ENDS;
  char light[8], dark[8];
  static const char *const names[CLASSES][PANELS] = {{"XY (messages)", "XY"}, {"Z (messages)", "Z"}};
  const tsi_axis axis = {.from = least,
                         .to = most,
                         .begin = left,
                         .end = end,
                         .name = names[class][panel],
                         .quantity = panel == 0 ? TSI_NUMBER : TSI_BYTES,
                         .logarithmic = true,
                         .integer = panel == 0};
  fprintf(file,
          "<linearGradient id=\"scale%d%d\"><stop offset=\"0\" stop-color=\"%s\"/><stop offset=\"1\" "
          "stop-color=\"%s\"/></linearGradient>\n",
          class, panel, shade(class, most > least ? 0 : 1, light), shade(class, 1, dark));
  tsi_svg_rect(file, NULL, left, y, end - left, BAR);
  fprintf(file, "fill=\"url(#scale%d%d)\"/>\n", class, panel);
  if (most > least)
    tsi_axis_x(file, &axis, y + BAR, y);
  else
    tsi_svg_write(file, (left + end) / 2, y + BAR + 20, "class=\"axis\" text-anchor=\"middle\"", "%s: all %s",
                  class_names[class],
                  panel == 0 ? tsi_text_many((int64_t)most, "message") : tsi_text_bytes(most));
}

static void draw_panel(FILE *file, const matrix *m, int panel, double top) {
  static const char *const names[PANELS] = {"messages", "bytes"};
  const double left = LEFT + panel * (PANEL + GAP);
  const tsi_axis to = {.from = -0.5,
                       .to = m->ranks - 0.5,
                       .begin = left,
                       .end = left + PANEL,
                       .name = "to rank",
                       .integer = true,
                       .apart = 56};
  tsi_axis from = to;
  from.name = "from rank";
  from.begin = top;
  from.end = top + PANEL;
  tsi_svg_write(file, left, top - 10, "font-weight=\"bold\"", "%s", names[panel]);
  tsi_axis_x(file, &to, top + PANEL, top + PANEL);
  tsi_axis_y(file, &from, left, left);
  fputs("<g shape-rendering=\"crispEdges\">\n", file);
  for (int c = 0; c < m->cells * m->cells; c++) write_cell(file, m, panel, left, top, c);
  fputs("</g>\n", file);
  write_grids(file, m, left, top);
  tsi_svg_rect(file, NULL, left, top, PANEL, PANEL);
  fputs("fill=\"none\" stroke=\"#8c959f\"/>\n", file);
  for (int class = 0, row = 0; class < CLASSES; class ++)
    if (m->most[class][panel] > 0)
      write_scale(file, m, class, panel, left + ENDS, top + PANEL + SCALE + SCALE_ROW * row++);
}

static void write_legend(tsi_legend *legend, const matrix *m) {
  char colour[8];
  for (int class = 0; class < CLASSES; class ++)
    if (m->total[class][0] > 0)
      tsi_legend_square(legend, shade(class, 0.6, colour), "%s, %s, %s", class_texts[class],
                        tsi_text_many((int64_t)m->total[class][0], "message"),
                        tsi_text_bytes(m->total[class][1]));
  if (m->layout->pz > 1 && (double)PANEL * m->layout->px * m->layout->py / m->ranks >= 8)
    tsi_legend_line(legend, "stroke=\"#8c959f\"", "border of a grid");
  if (m->total[0][0] + m->total[1][0] <= 0) tsi_legend_text(legend, "no process sends anything");
}

static bool draw(tsi_session *s, const matrix *m) {
  tsi_picture p;
  const tristar_layout *l = m->layout;
  int scales = 0;
  for (int class = 0; class < CLASSES; class ++) scales += m->total[class][0] > 0;
  if (!tsi_picture_begin(&p, s, s->settings->out, "Messages of a solve", WIDTH, LEFT)) return false;
  tsi_picture_subtitle(&p,
                       "n = %s, %s; %d \xc3\x97 %d \xc3\x97 %d processes, %s algorithm, %s map, %s trees; a "
                       "cell is darker the more is sent, on a logarithmic scale",
                       tsi_text_count(s->a.n), tsi_text_many(m->nrhs, "right-hand side"), l->px, l->py, l->pz,
                       tsi_algorithm_name(s->settings), tsi_map_name(l->map), tsi_tree_name(l->message_tree));
  write_legend(&p.legend, m);
  const double top = p.legend.y + ABOVE, notes = top + PANEL + SCALE + SCALE_ROW * scales;
  for (int panel = 0; panel < PANELS; panel++) draw_panel(p.file, m, panel, top);
  if (m->cells < m->ranks)
    tsi_picture_note(
        &p, LEFT, notes + 4,
        "A cell stands for %.3g \xc3\x97 %.3g processes, and has the colour of the class with more messages.",
        (double)m->ranks / m->cells, (double)m->ranks / m->cells);
  return tsi_picture_end(&p, notes + (m->cells < m->ranks ? 18 : 0));
}

bool tsi_plot_communication(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  matrix m = {.layout = plot->layout, .nrhs = tsi_plot_nrhs(s)};
  bool ok = count(s, &m);
  if (ok) {
    add_figures(plot->figures, &m);
    ok = draw(s, &m);
  }
  for (int k = 0; k < CLASSES * PANELS; k++) free(m.value[k / PANELS][k % PANELS]);
  return ok;
}
