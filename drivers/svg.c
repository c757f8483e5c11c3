/* Texts, colours and axes of pictures: see svg.h. */
#include "drivers/svg.h"

#include <math.h>
#include <string.h>

#define LETTER 6.9 /* width of a character of 12 pixels, in the widest of the fonts */

const char *const tsi_svg_colour[TSI_COLOURS] = {"#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73",
                                                 "#cc79a7", "#f0e442", "#8c959f", "#111111"};

void tsi_svg_text(FILE *file, const char *text, size_t most) {
  const size_t length = strlen(text);
  if (length > most) {
    fputs("...", file);
    text += length - most;
  }
  for (; *text; text++) tsi_svg_put(file, (unsigned char)*text);
}

void tsi_svg_head(FILE *file, double width, double height) {
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
          "%.0f\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" "
          "fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, height, width, height);
}

/* ---- Colours ------------------------------------------------------------------------------------------ */

/* The golden angle between neighbours makes their hues differ. */
const char *tsi_svg_many_colours(int32_t number, bool strong, char text[8]) {
  const double hue = fmod(208 + 137.50776 * number, 360) / 60,
               light = (number % 2 ? 0.72 : 0.64) - (strong ? 0.22 : 0),
               chroma = (1 - fabs(2 * light - 1)) * (strong ? 0.6 : 0.46);
  unsigned rgb[3];
  for (int c = 0; c < 3; c++) {
    const double distance = fabs(fmod(hue - 2 * c + 9, 6) - 3); /* from the hue of this primary */
    const double part = distance <= 1 ? 1 : distance >= 2 ? 0 : 2 - distance;
    rgb[c] = (unsigned)lround(255 * (light - chroma / 2 + chroma * part)) & 255;
  }
  snprintf(text, 8, "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
  return text;
}

double tsi_svg_legend(FILE *file, double x, double y, const char *colour, const char *text) {
  fprintf(file,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"%s\"/><text x=\"%.1f\" y=\"%.1f\" "
          "font-size=\"12\">%s</text>\n",
          x, y - 11, colour, x + 20, y, text);
  return x + 34 + LETTER * (double)strlen(text);
}

/* ---- Axes --------------------------------------------------------------------------------------------- */

double tsi_axis_at(const tsi_axis *axis, double value) {
  const double part = axis->logarithmic ? log(value / axis->from) / log(axis->to / axis->from)
                                        : (value - axis->from) / (axis->to - axis->from);
  return axis->begin + (axis->end - axis->begin) * part;
}

double tsi_svg_round(double value) {
  const double power = pow(10, floor(log10(value) + 1e-12));
  return power * (value / power >= 5 ? 5 : value / power >= 2 ? 2 : 1);
}

/* The first tick at or above the beginning of the axis, and the one after `tick`. A logarithmic axis has 1, 2
 * and 5 times each power of ten, or these alone if it is long. */
static double first_tick(const tsi_axis *axis, double step) {
  return axis->logarithmic ? tsi_svg_round(axis->from) : ceil(axis->from / step - 1e-9) * step;
}
static double next_tick(const tsi_axis *axis, double tick, double step) {
  if (!axis->logarithmic) return tick + step;
  if (axis->to / axis->from > 2000) return 10 * pow(10, floor(log10(tick) + 1e-12));
  return tick / pow(10, floor(log10(tick) + 1e-12)) > 1.5 && tick / pow(10, floor(log10(tick) + 1e-12)) < 3
             ? 2.5 * tick
             : 2 * tick;
}

static bool is_on(const tsi_axis *axis, double tick) {
  const double room = axis->logarithmic ? 1e-9 * tick : 1e-9 * (axis->to - axis->from);
  return tick >= axis->from - room && tick <= axis->to + room;
}

/* 2, 5 or 10 lines, near `wanted` pixels apart. */
static double step_of(const tsi_axis *axis, double wanted) {
  const double most = (axis->to - axis->from) * wanted / fabs(axis->end - axis->begin);
  const double step = tsi_svg_round(most);
  return 2 * step <= most * 1.3 && tsi_svg_round(2 * step) > step * 1.9 ? 2 * step : step;
}

/* Nothing else is between 0 and 1e-12 steps. */
static double clean(double tick, double step) {
  return fabs(tick) < 1e-9 * step ? 0 : tick;
}

void tsi_svg_axis_x(FILE *file, const tsi_axis *axis, double near, double far, const char *label) {
  const double step = axis->logarithmic ? 1 : step_of(axis, 100);
  fputs("<g id=\"ticks\" font-size=\"12\">\n", file);
  for (double t = first_tick(axis, step); t <= axis->to * (1 + 1e-9); t = next_tick(axis, t, step)) {
    if (!is_on(axis, t)) continue;
    const double x = tsi_axis_at(axis, t);
    fprintf(file,
            "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#d0d7de\" stroke-opacity=\".6\"/><text x=\"%.1f\" "
            "y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
            x, near + 4, far, x, near + 18, clean(t, step));
  }
  fprintf(file, "</g>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
          (axis->begin + axis->end) / 2, near + 40, label);
}

void tsi_svg_axis_y(FILE *file, const tsi_axis *axis, double near, double far, const char *label) {
  const double step = axis->logarithmic ? 1 : step_of(axis, 48), middle = (axis->begin + axis->end) / 2;
  fputs("<g font-size=\"12\">\n", file);
  for (double t = first_tick(axis, step); t <= axis->to * (1 + 1e-9); t = next_tick(axis, t, step)) {
    if (!is_on(axis, t)) continue;
    const double y = tsi_axis_at(axis, t);
    fprintf(file,
            "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#d0d7de\" stroke-opacity=\".6\"/><text x=\"%.1f\" "
            "y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
            near - 4, y, far, near - 8, y + 4, clean(t, step));
  }
  fprintf(file,
          "</g>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 %.1f "
          "%.1f)\">%s</text>\n",
          near - 56, middle, near - 56, middle, label);
}

double tsi_svg_time_unit(double most, const char **name) {
  *name = most < 1e-3 ? "\xc2\xb5s" : most < 1 ? "ms" : "s";
  return most < 1e-3 ? 1e6 : most < 1 ? 1e3 : 1;
}
