/* The positions of the entries of the factors: see plot.h.
 *
 * Adjacent cells of a row with the same owner are one rectangle. If there are too many rectangles, the grid
 * is made coarser. LU: U is the mirror image of L. */
#include <stdlib.h>

#include "drivers/session/layout.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "runtime/process/spy.h"

/* Pixels. */
enum { LEFT = 96, ABOVE = 14, PLOT = 800, RIGHT = 48, BOTTOM = 84, WIDTH = LEFT + PLOT + RIGHT };
enum { CELLS_MOST = 400, RUNS_MOST = 24000, LISTED_MOST = 8, BETWEEN_TICKS = 80 };

static const char *colour_of(const tsi_spy *spy, tsi_index owner, bool by_rank, char text[8]) {
  static const int order[] = {TSI_BLUE, TSI_ORANGE, TSI_GREEN, TSI_VERMILLION,
                              TSI_SKY,  TSI_PURPLE, TSI_BLACK, TSI_GREY};
  return by_rank && spy->owners <= LISTED_MOST ? tsi_svg_colour[order[owner]]
                                               : tsi_svg_many_colours(owner, true, text);
}

/* Returns the cell after the run that begins at (i, j). */
static int end_of_run(const tsi_spy *spy, int i, int j) {
  const tsi_index *row = spy->owner + (size_t)i * (size_t)spy->cells;
  int end = j + 1;
  while (end < spy->cells && row[end] == row[j]) end++;
  return end;
}

static int64_t count_runs(const tsi_spy *spy) {
  int64_t runs = 0;
  for (int i = 0; i < spy->cells; i++)
    for (int j = 0; j < spy->cells; j = end_of_run(spy, i, j))
      runs += spy->owner[(size_t)i * (size_t)spy->cells + (size_t)j] != -1;
  return runs;
}

static bool make_spy(tsi_session *s, const tristar_layout *layout, tsi_spy **spy) {
  const tristar_analysis_t *analysis = s->factor ? tristar_factor_get_analysis(s->factor) : s->analysis;
  const int64_t most = s->a.method == TRISTAR_METHOD_LU ? RUNS_MOST / 2 : RUNS_MOST;
  for (int cells = CELLS_MOST;; cells = cells * 3 / 4) {
    if (!tsi_session_check(s, tsi_spy_create(analysis, s->plan, layout, cells, spy), s->name)) return false;
    if (count_runs(*spy) <= most || cells < 40) return true;
    tsi_spy_destroy(analysis, spy);
  }
}

static void write_runs(FILE *file, const tsi_spy *spy, double top, bool by_rank, bool mirrored) {
  const double side = (double)PLOT / spy->cells;
  char text[8];
  for (int i = 0; i < spy->cells; i++)
    for (int j = 0, end; j < spy->cells; j = end) {
      const tsi_index owner = spy->owner[(size_t)i * (size_t)spy->cells + (size_t)j];
      end = end_of_run(spy, i, j);
      if (owner == -1) continue;
      const double along = j * side, across = i * side, length = (end - j) * side;
      tsi_svg_rect(file, NULL, LEFT + (mirrored ? across : along), top + (mirrored ? along : across),
                   mirrored ? side : length, mirrored ? length : side);
      fprintf(file, "fill=\"%s\"/>\n", colour_of(spy, owner, by_rank, text));
    }
}

static void write_legend(tsi_legend *legend, const tsi_spy *spy, bool by_rank) {
  char text[8];
  const tsi_index listed = tsi_index_min(spy->owners, by_rank ? LISTED_MOST : 3);
  for (tsi_index k = 0; k < listed; k++)
    tsi_legend_square(legend, colour_of(spy, k, by_rank, text), "%s %d", by_rank ? "process" : "chunk",
                      (int)k);
  if (spy->owners > listed) tsi_legend_text(legend, "and so on");
}

static void write_note(const tsi_picture *p, const tsi_spy *spy, double y, bool by_rank) {
  const double entries = (double)p->s->a.n / spy->cells;
  const char *whose = by_rank ? "process" : "chunk";
  if (entries > 1)
    tsi_picture_note(
        p, LEFT, y,
        "A cell stands for %.3g \xc3\x97 %.3g entries, and has the colour of the %s with most of "
        "those that are not zero.",
        entries, entries, whose);
  else
    tsi_picture_note(p, LEFT, y, "An entry has the colour of its %s.", whose);
}

static bool draw(tsi_session *s, const tsi_spy *spy, const tristar_layout *layout) {
  tsi_picture p;
  const bool lu = s->a.method == TRISTAR_METHOD_LU;
  char what[96];
  if (!tsi_picture_begin(&p, s, s->settings->out, lu ? "L and U" : "L", WIDTH, LEFT)) return false;
  if (layout != NULL)
    snprintf(what, sizeof what, "%d \xc3\x97 %d \xc3\x97 %d processes, %s map", layout->px, layout->py,
             layout->pz, tsi_map_name(layout->map));
  else
    snprintf(what, sizeof what, "%s", tsi_text_many(spy->owners, "chunk"));
  tsi_picture_subtitle(&p, "n = %s, nnz(L) = %s, %s", tsi_text_count(s->a.n), tsi_text_count(s->a.nnz_lower),
                       what);
  write_legend(&p.legend, spy, layout != NULL);
  const double top = p.legend.y + ABOVE;
  const tsi_axis column = {.to = (double)s->a.n,
                           .begin = LEFT,
                           .end = LEFT + PLOT,
                           .name = "column, in the order of elimination",
                           .integer = true,
                           .apart = BETWEEN_TICKS};
  tsi_axis row = column;
  row.begin = top;
  row.end = top + PLOT;
  row.name = "row, in the order of elimination";
  tsi_axis_x(p.file, &column, top + PLOT, top);
  tsi_axis_y(p.file, &row, LEFT, LEFT + PLOT);
  fputs("<g shape-rendering=\"crispEdges\">\n", p.file);
  if (lu) write_runs(p.file, spy, top, layout != NULL, true);
  write_runs(p.file, spy, top, layout != NULL, false);
  tsi_svg_rect(p.file, NULL, LEFT, top, PLOT, PLOT);
  fputs("fill=\"none\" stroke=\"#8c959f\"/>\n</g>\n", p.file);
  write_note(&p, spy, top + PLOT + 66, layout != NULL);
  return tsi_picture_end(&p, top + PLOT + BOTTOM);
}

/* Adds runs of cells with one owner: row, first column, column after the last, owner. */
static void add_figures(cJSON *figures, const tsi_spy *spy) {
  cJSON *runs = cJSON_AddArrayToObject(figures, "items");
  TSI_JSON_NUMBERS(figures, {"cells", spy->cells}, {"owners", spy->owners});
  for (int i = 0; i < spy->cells; i++)
    for (int j = 0, end; j < spy->cells; j = end) {
      const tsi_index owner = spy->owner[(size_t)i * (size_t)spy->cells + (size_t)j];
      end = end_of_run(spy, i, j);
      if (owner != -1)
        cJSON_AddItemToArray(runs, cJSON_CreateIntArray((const int[]){i, j, end, (int)owner}, 4));
    }
}

bool tsi_plot_spy(const tsi_plot *plot) {
  tsi_session *s = plot->s;
  tsi_spy *spy = NULL;
  if (plot->layout == NULL && (!tsi_session_factor(s) || !tsi_session_plan(s, tsi_plot_nrhs(s))))
    return false;
  if (!make_spy(s, plot->layout, &spy)) return false;
  const bool ok = draw(s, spy, plot->layout);
  if (ok) add_figures(plot->figures, spy);
  tsi_spy_destroy(s->factor ? tristar_factor_get_analysis(s->factor) : s->analysis, &spy);
  return ok;
}
