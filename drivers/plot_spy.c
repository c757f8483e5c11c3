/* Where the entries of the factors are: see plot.h.
 *
 * Cells of a row with the same owner that stand side by side are one rectangle. If there are too many
 * rectangles, the grid is made coarser. LU: U is the mirror image of L. */
#include <math.h>
#include <stdlib.h>

#include "drivers/layout.h"
#include "drivers/plot.h"
#include "drivers/report.h"
#include "runtime/spy.h"

/* Pixels. */
enum { LEFT = 96, TOP = 100, PLOT = 800, RIGHT = 48, BOTTOM = 84, LEGEND = 86, WIDTH = LEFT + PLOT + RIGHT };
enum { CELLS_MOST = 400, RUNS_MOST = 24000, LISTED_MOST = 8 };

static const char *colour_of(const tsi_spy *spy, tsi_index owner, bool by_rank, char text[8]) {
  static const int order[] = {TSI_BLUE, TSI_ORANGE, TSI_GREEN, TSI_VERMILLION,
                              TSI_SKY,  TSI_PURPLE, TSI_BLACK, TSI_GREY};
  return by_rank && spy->owners <= LISTED_MOST ? tsi_svg_colour[order[owner]]
                                               : tsi_svg_many_colours(owner, true, text);
}

/* The cell after the run that begins at (i, j). */
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
  const tristar_analysis_t *analysis = s->factor ? tristar_factor_analysis(s->factor) : s->analysis;
  const int64_t most = s->a.method == TRISTAR_METHOD_LU ? RUNS_MOST / 2 : RUNS_MOST;
  for (int cells = CELLS_MOST;; cells = cells * 3 / 4) {
    if (!tsi_session_check(s, tsi_spy_create(analysis, s->plan, layout, cells, spy), s->name)) return false;
    if (count_runs(*spy) <= most || cells < 40) return true;
    tsi_spy_destroy(analysis, spy);
  }
}

static void write_runs(FILE *file, const tsi_spy *spy, bool by_rank, bool mirrored) {
  const double side = (double)PLOT / spy->cells;
  char text[8];
  for (int i = 0; i < spy->cells; i++)
    for (int j = 0, end; j < spy->cells; j = end) {
      const tsi_index owner = spy->owner[(size_t)i * (size_t)spy->cells + (size_t)j];
      end = end_of_run(spy, i, j);
      if (owner == -1) continue;
      const double along = j * side, across = i * side, length = (end - j) * side;
      fprintf(file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
              LEFT + (mirrored ? across : along), TOP + (mirrored ? along : across), mirrored ? side : length,
              mirrored ? length : side, colour_of(spy, owner, by_rank, text));
    }
}

static void write_legend(FILE *file, const tsi_spy *spy, bool by_rank) {
  char label[64], text[8];
  double x = LEFT;
  for (tsi_index k = 0; k < (by_rank ? tsi_index_min(spy->owners, LISTED_MOST) : 3); k++) {
    snprintf(label, sizeof label, "%s %d", by_rank ? "process" : "chunk", (int)k);
    x = tsi_svg_legend(file, x, LEGEND, colour_of(spy, k, by_rank, text), label);
  }
  if (!by_rank || spy->owners > LISTED_MOST)
    fprintf(file, "<text x=\"%.1f\" y=\"%d\" font-size=\"12\">and so on</text>\n", x, LEGEND);
}

static void draw(const tsi_picture *p, const tsi_spy *spy, const tristar_layout *layout) {
  const tsi_session *s = p->s;
  const bool lu = s->a.method == TRISTAR_METHOD_LU;
  const double n = (double)s->a.n;
  char what[96];
  const tsi_axis column = {0, n, LEFT, LEFT + PLOT, false}, row = {0, n, TOP, TOP + PLOT, false};
  tsi_picture_title(p, LEFT, lu ? "L and U" : "L");
  if (layout != NULL)
    snprintf(what, sizeof what, "%d x %d x %d processes, %s map", layout->px, layout->py, layout->pz,
             tsi_map_name(layout->map));
  else
    snprintf(what, sizeof what, "%s", tsi_text_many(spy->owners, "chunk"));
  tsi_picture_subtitle(p, LEFT, "n = %s, nnz(L) = %s, %s", tsi_text_count(s->a.n),
                       tsi_text_count(s->a.nnz_lower), what);
  tsi_svg_axis_x(p->file, &column, TOP + PLOT, TOP, "column, in the order of elimination");
  tsi_svg_axis_y(p->file, &row, LEFT, LEFT + PLOT, "row");
  fputs("<g shape-rendering=\"crispEdges\">\n", p->file);
  if (lu) write_runs(p->file, spy, layout != NULL, true);
  write_runs(p->file, spy, layout != NULL, false);
  fprintf(p->file,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#8c959f\"/>\n</g>\n",
          LEFT, TOP, PLOT, PLOT);
  write_legend(p->file, spy, layout != NULL);
  fprintf(
      p->file,
      "<text x=\"%d\" y=\"%d\" font-size=\"12\" fill=\"#57606a\">A cell stands for %.3g x %.3g entries, and "
      "has the colour of the %s with most of those that are not zero.</text>\n",
      LEFT, TOP + PLOT + 66, n / spy->cells, n / spy->cells, layout ? "process" : "chunk");
}

bool tsi_plot_spy(tsi_session *s, const tristar_layout *layout) {
  tsi_picture p;
  tsi_spy *spy = NULL;
  if (!make_spy(s, layout, &spy)) return false;
  bool ok = tsi_picture_begin(&p, s, s->settings->out, WIDTH, TOP + PLOT + BOTTOM);
  if (ok) {
    draw(&p, spy, layout);
    ok = tsi_picture_end(&p);
  }
  tsi_spy_destroy(s->factor ? tristar_factor_analysis(s->factor) : s->analysis, &spy);
  return ok;
}
