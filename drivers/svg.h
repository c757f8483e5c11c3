/* What the pictures share: heads, texts, colours, axes.
 *
 * Reads   what it is given.   Writes  SVG.
 * Invariants: texts that come from outside (names of matrices) are written with tsi_svg_text. */
#ifndef TSI_DRIVERS_SVG_H
#define TSI_DRIVERS_SVG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One character of a text; those that mean something to XML as entities, control characters as ?. */
static inline void tsi_svg_put(FILE *file, unsigned char letter) {
  if (letter == '&' || letter == '<' || letter == '>')
    fprintf(file, "&#%d;", letter);
  else
    fputc(letter < 32 ? '?' : letter, file);
}
/* The last `most` characters of text. */
void tsi_svg_text(FILE *file, const char *text, size_t most);

/* The first tag, and a white background. */
void tsi_svg_head(FILE *file, double width, double height);

/* ---- Colours ------------------------------------------------------------------------------------------ */

/* Colours that differ whatever the colour vision (Okabe and Ito 2008). */
enum {
  TSI_BLUE,
  TSI_SKY,
  TSI_VERMILLION,
  TSI_ORANGE,
  TSI_GREEN,
  TSI_PURPLE,
  TSI_YELLOW,
  TSI_GREY,
  TSI_BLACK,
  TSI_COLOURS
};
extern const char *const tsi_svg_colour[TSI_COLOURS];

/* The colour of the number-th of many things; neighbouring numbers differ. strong: for thin lines instead of
 * areas with labels. text: room for 8 characters. */
const char *tsi_svg_many_colours(int32_t number, bool strong, char text[8]);

/* A square of this colour and a text beside it, base line at y; gives where the next one begins. */
double tsi_svg_legend(FILE *file, double x, double y, const char *colour, const char *text);

/* ---- Axes --------------------------------------------------------------------------------------------- */

/* Values from `from` to `to` lie at pixels `begin` to `end`. */
typedef struct tsi_axis {
  double from, to, begin, end;
  bool logarithmic;
} tsi_axis;

double tsi_axis_at(const tsi_axis *axis, double value);
/* 1, 2 or 5 times a power of ten, near value from below. */
double tsi_svg_round(double value);
/* Ticks with numbers and lines across the plot, which is between pixels `near` (at the numbers) and `far` of
 * the other direction; `label` beside the numbers. x: below the plot; y: on its left. */
void tsi_svg_axis_x(FILE *file, const tsi_axis *axis, double near, double far, const char *label);
void tsi_svg_axis_y(FILE *file, const tsi_axis *axis, double near, double far, const char *label);

/* Seconds in a unit that suits numbers up to `most`: what to multiply with, and its name. */
double tsi_svg_time_unit(double most, const char **name);

#endif
