/* Series of charts: see chart.h. */
#include "drivers/draw/chart.h"

#include <math.h>

static bool is_shown(const tsi_axis *axis, double value) {
  return isfinite(value) && (value > 0 || !axis->logarithmic);
}

static bool has_marks(const tsi_series *series) {
  return series->kind == TSI_SERIES_MARKS || series->kind == TSI_SERIES_ALONE;
}

void tsi_series_legend(tsi_legend *legend, const tsi_series *series) {
  char style[96];
  if (series->name == NULL) return;
  if (has_marks(series)) {
    tsi_legend_mark(legend, series->shape, tsi_svg_colour[series->colour], series->name);
    return;
  }
  snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"2\"%s", tsi_svg_colour[series->colour],
           series->kind == TSI_SERIES_DASHED ? " stroke-dasharray=\"6 4\"" : "");
  tsi_legend_line(legend, style, series->name);
}

/* The line breaks off where a value is not shown. */
static void write_line(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s) {
  bool on = false;
  fputs("<path d=\"", file);
  for (int64_t k = 0; k < s->count; k++) {
    const bool shown = is_shown(x, s->x[k]) && is_shown(y, s->y[k]);
    if (shown) fprintf(file, "%c%.1f %.1f", on ? 'L' : 'M', tsi_axis_at(x, s->x[k]), tsi_axis_at(y, s->y[k]));
    on = shown;
  }
  fprintf(file, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-linejoin=\"round\"%s/>\n",
          tsi_svg_colour[s->colour], s->kind == TSI_SERIES_MARKS ? "1.6" : "2",
          s->kind == TSI_SERIES_DASHED ? " stroke-dasharray=\"6 4\"" : "");
}

static void write_spread(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s, int64_t k) {
  if (s->least == NULL || !is_shown(y, s->least[k]) || !is_shown(y, s->most[k])) return;
  fprintf(file, "<path d=\"M%.1f %.1fm-4 0h8m-4 0V%.1fm-4 0h8\" fill=\"none\" stroke=\"%s\"/>\n",
          tsi_axis_at(x, s->x[k]), tsi_axis_at(y, s->least[k]), tsi_axis_at(y, s->most[k]),
          tsi_svg_colour[s->colour]);
}

static void write_mark(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s, int64_t k,
                       const char *x_name, const char *y_name) {
  tsi_svg_mark(file, "point", s->shape, tsi_svg_colour[s->colour], tsi_axis_at(x, s->x[k]),
               tsi_axis_at(y, s->y[k]));
  fputs("<title>", file);
  if (s->name != NULL) {
    tsi_svg_text(file, s->name, SIZE_MAX);
    fputc('\n', file);
  }
  tsi_svg_text(file, x_name, SIZE_MAX);
  fprintf(file, ": %.4g\n", s->x[k]);
  tsi_svg_text(file, y_name, SIZE_MAX);
  fprintf(file, ": %.4g</title></path>\n", s->y[k]);
}

void tsi_series_write(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *s,
                      const char *x_name, const char *y_name) {
  if (s->kind != TSI_SERIES_ALONE) write_line(file, x, y, s);
  for (int64_t k = 0; k < s->count && has_marks(s); k++) {
    if (!is_shown(x, s->x[k]) || !is_shown(y, s->y[k])) continue;
    write_spread(file, x, y, s, k);
    write_mark(file, x, y, s, k, x_name, y_name);
  }
}

void tsi_axis_include(tsi_axis *axis, int64_t count, const double *values) {
  for (int64_t k = 0; k < count; k++) {
    if (!is_shown(axis, values[k])) continue;
    axis->from = fmin(axis->from, values[k]);
    axis->to = fmax(axis->to, values[k]);
  }
}

void tsi_axis_widen(tsi_axis *axis) {
  if (!(axis->from <= axis->to)) axis->from = axis->to = 1; /* no value */
  if (!axis->logarithmic) {
    axis->from = fmin(axis->from, 0);
    axis->to = axis->to > 0 ? 1.06 * axis->to : 1;
    return;
  }
  const double room = fmax(1.25, pow(axis->to / axis->from, 0.08));
  axis->from /= room;
  axis->to *= room;
}
