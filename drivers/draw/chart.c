/* Charts: see chart.h. */
#include "drivers/draw/chart.h"

#include <math.h>

enum { HEIGHT = 480, ABOVE = 20 }; /* pixels */

static bool is_shown(const tsi_axis *axis, double value) {
  return isfinite(value) && (value > 0 || !axis->logarithmic);
}

static bool has_marks(const tsi_series *series) {
  return series->kind == TSI_SERIES_MARKS || series->kind == TSI_SERIES_ALONE;
}

bool tsi_chart_begin(tsi_picture *p, tsi_session *s, const char *path, const char *what) {
  return tsi_picture_begin(p, s, path, what, TSI_CHART_WIDTH, TSI_CHART_LEFT);
}

bool tsi_chart_end(tsi_picture *p, const tsi_axis *y) {
  return tsi_picture_end(p, y->begin + TSI_CHART_BELOW);
}

/* Returns the attributes of the line of a series. */
static const char *style_of(const tsi_series *s, char text[static 96]) {
  snprintf(text, 96, "stroke=\"%s\" stroke-width=\"%s\"%s", tsi_svg_colour[s->colour],
           s->kind == TSI_SERIES_LEVEL   ? "1"
           : s->kind == TSI_SERIES_MARKS ? "1.6"
                                         : "2",
           s->kind == TSI_SERIES_DASHED || s->kind == TSI_SERIES_LEVEL ? " stroke-dasharray=\"6 4\"" : "");
  return text;
}

void tsi_chart_legend(tsi_picture *p, int count, const tsi_series *series) {
  char style[96];
  for (const tsi_series *s = series; s < series + count; s++)
    if (s->name != NULL && s->count > 0 && has_marks(s))
      tsi_legend_mark(&p->legend, s->shape, tsi_svg_colour[s->colour], "%s", s->name);
    else if (s->name != NULL && s->count > 0)
      tsi_legend_line(&p->legend, style_of(s, style), "%s", s->name);
}

/* ---- Series ------------------------------------------------------------------------------------------- */

/* Writes the line; it is interrupted at values that cannot be shown. */
static void write_line(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s) {
  char style[96];
  bool on = false;
  fputs("<path d=\"", file);
  for (int64_t k = 0; k < s->count; k++) {
    const bool shown = is_shown(x, s->x[k]) && is_shown(y, s->y[k]);
    if (shown) fprintf(file, "%c%.1f %.1f", on ? 'L' : 'M', tsi_axis_at(x, s->x[k]), tsi_axis_at(y, s->y[k]));
    on = shown;
  }
  fprintf(file, "\" fill=\"none\" stroke-linejoin=\"round\" %s/>\n", style_of(s, style));
}

static void write_spread(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s, int64_t k) {
  if (s->least == NULL || !is_shown(y, s->least[k]) || !is_shown(y, s->most[k])) return;
  fprintf(file, "<path d=\"M%.1f %.1fm-4 0h8m-4 0V%.1fm-4 0h8\" fill=\"none\" stroke=\"%s\"/>\n",
          tsi_axis_at(x, s->x[k]), tsi_axis_at(y, s->least[k]), tsi_axis_at(y, s->most[k]),
          tsi_svg_colour[s->colour]);
}

/* "time (ms): 1.23" */
static void write_value(FILE *file, const tsi_axis *axis, double value) {
  char name[160];
  tsi_axis_name(axis, name, sizeof name);
  tsi_svg_text(file, name, SIZE_MAX);
  fprintf(file, ": %.4g", tsi_axis_number(axis, value));
}

static void write_mark(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s, int64_t k) {
  tsi_svg_mark(file, "point", s->shape, tsi_svg_colour[s->colour], tsi_axis_at(x, s->x[k]),
               tsi_axis_at(y, s->y[k]));
  fputs("<title>", file);
  if (s->name != NULL) {
    tsi_svg_text(file, s->name, SIZE_MAX);
    fputc('\n', file);
  }
  write_value(file, x, s->x[k]);
  fputc('\n', file);
  write_value(file, y, s->y[k]);
  fputs("</title></path>\n", file);
}

static void write_level(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s) {
  char style[96];
  if (is_shown(y, s->y[0]))
    fprintf(file, "<path d=\"M%.1f %.1fH%.1f\" %s/>\n", x->begin, tsi_axis_at(y, s->y[0]), x->end,
            style_of(s, style));
}

static void write_series(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s) {
  if (s->kind == TSI_SERIES_LEVEL)
    write_level(file, x, y, s);
  else if (s->kind != TSI_SERIES_ALONE)
    write_line(file, x, y, s);
  for (int64_t k = 0; k < s->count && has_marks(s); k++) {
    if (!is_shown(x, s->x[k]) || !is_shown(y, s->y[k])) continue;
    write_spread(file, x, y, s, k);
    write_mark(file, x, y, s, k);
  }
}

/* ---- Axes --------------------------------------------------------------------------------------------- */

static void include(tsi_axis *axis, int64_t count, const double *values) {
  for (int64_t k = 0; k < count && values != NULL; k++) {
    if (!is_shown(axis, values[k])) continue;
    axis->from = fmin(axis->from, values[k]);
    axis->to = fmax(axis->to, values[k]);
  }
}

/* Adds margins at both ends, so that no mark is on the border. Also makes an axis if there is no value or a
 * single one. A linear axis begins at 0. */
static void widen(tsi_axis *axis) {
  if (!(axis->from <= axis->to)) axis->from = axis->to = 1; /* no value */
  if (!axis->logarithmic) {
    axis->from = fmin(axis->from, 0);
    axis->to = axis->to > 0 ? 1.06 * axis->to : 1;
    return;
  }
  const double space = fmax(1.25, pow(axis->to / axis->from, 0.08));
  axis->from /= space;
  axis->to *= space;
}

/* Finds the range of an axis that has none. */
static void find_range(tsi_axis *axis, bool along, int count, const tsi_series *series) {
  if (axis->from < axis->to) return;
  axis->from = INFINITY;
  axis->to = -INFINITY;
  for (const tsi_series *s = series; s < series + count; s++) {
    include(axis, s->count, along ? s->x : s->y);
    include(axis, along ? 0 : s->count, s->least);
    include(axis, along ? 0 : s->count, s->most);
  }
  widen(axis);
}

void tsi_chart_place(const tsi_picture *p, tsi_axis *x, tsi_axis *y, int count, const tsi_series *series) {
  if (!(x->begin < x->end)) x->begin = TSI_CHART_LEFT, x->end = TSI_CHART_RIGHT;
  if (!(y->end < y->begin)) y->end = p->legend.y + ABOVE, y->begin = y->end + HEIGHT;
  find_range(x, true, count, series);
  find_range(y, false, count, series);
}

void tsi_chart_draw(const tsi_picture *p, tsi_axis *x, tsi_axis *y, int count, const tsi_series *series) {
  tsi_chart_place(p, x, y, count, series);
  tsi_axis_x(p->file, x, y->begin, y->end);
  tsi_axis_y(p->file, y, x->begin, x->end);
  for (int k = count; k-- > 0;) write_series(p->file, x, y, &series[k]);
}

/* ---- Right-hand sides --------------------------------------------------------------------------------- */

enum { LISTED_MOST = 6 }; /* maximum number of right-hand sides with different colours */

int tsi_column_colour(int64_t nrhs, int64_t column) {
  static const int order[LISTED_MOST] = {TSI_BLUE,   TSI_VERMILLION, TSI_GREEN,
                                         TSI_PURPLE, TSI_ORANGE,     TSI_SKY};
  return nrhs <= LISTED_MOST ? order[column] : column == 0 ? TSI_BLUE : TSI_GREY;
}

void tsi_column_legend(tsi_legend *legend, int64_t nrhs) {
  const int64_t listed = nrhs <= LISTED_MOST ? nrhs : 1;
  for (int64_t c = 0; c < listed && nrhs > 1; c++)
    tsi_legend_square(legend, tsi_svg_colour[tsi_column_colour(nrhs, c)], "right-hand side %lld",
                      (long long)c + 1);
  if (listed < nrhs) tsi_legend_square(legend, tsi_svg_colour[TSI_GREY], "the others");
}
