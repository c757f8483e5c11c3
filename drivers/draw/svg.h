/* What the pictures share: heads, texts, colours, legends, marks. Axes: axes.h.
 *
 * Reads   what it is given.   Writes  SVG.
 * Invariants
 *   - texts that come from outside (names of matrices) are written with tsi_svg_text or tsi_svg_text_within
 *   - what is written is XML, whatever bytes a text has
 *   - no text of a legend leaves the lines that the legend was given */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Texts -------------------------------------------------------------------------------------------- */

/* A text in UTF-8: what means something to XML as entities, control characters and bytes that are no UTF-8 as
 * question marks. Of a longer one the last `most` characters, after three dots. */
void tsi_svg_text(FILE *file, const char *text, size_t most);
/* The same: as many of the last characters as there is room for. size: of the letters. */
void tsi_svg_text_within(FILE *file, const char *text, double size, double room);
/* The same with the first characters. */
void tsi_svg_text_begin(FILE *file, const char *text, double size, double room);
/* The pixels that a text takes, at the most: in the widest of the fonts. */
double tsi_svg_width(const char *text, double size);

/* The first tag, and a white background. */
void tsi_svg_head(FILE *file, double width, double height);
enum { TSI_SVG_TEXT = 400 }; /* bytes of a text that is formatted */
/* Prints the arguments after `format` into an array of characters. */
#define TSI_SVG_PRINT(text, format)                                                                          \
  do {                                                                                                       \
    va_list args;                                                                                            \
    va_start(args, format);                                                                                  \
    vsnprintf(text, sizeof(text), format, args);                                                             \
    va_end(args);                                                                                            \
  } while (0)

/* A text whose base line begins at (x, y). attributes: further ones of <text>. */
__attribute__((format(printf, 5, 6))) void tsi_svg_write(FILE *file, double x, double y,
                                                         const char *attributes, const char *format, ...);
/* The beginning of <rect: the caller writes further attributes, the content, and the end. class: NULL: none.
 */
void tsi_svg_rect(FILE *file, const char *class, double x, double y, double width, double height);
/* <rect of this colour. The caller writes what is inside, such as a <title>, and the end, </rect>. */
void tsi_svg_area(FILE *file, const char *class, double x, double y, double width, double height,
                  const char *colour);

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

/* ---- Marks -------------------------------------------------------------------------------------------- */

/* Shapes that differ without their colours. */
typedef enum tsi_shape {
  TSI_DISC,
  TSI_SQUARE,
  TSI_DIAMOND,
  TSI_TRIANGLE,
  TSI_DOWN,
  TSI_CROSS,
  TSI_SHAPES
} tsi_shape;

/* A mark of this class around (x, y). The caller writes what is inside, such as a <title>, and the end,
 * </path>. */
void tsi_svg_mark(FILE *file, const char *class, tsi_shape shape, const char *colour, double x, double y);

/* ---- Legends ------------------------------------------------------------------------------------------ */

enum { TSI_LEGEND_ROW = 20, TSI_LEGEND_SIZE = 12 };

/* Entries in rows from `left` to `right`. */
typedef struct tsi_legend {
  FILE *file;
  double left, right;
  double x, y; /* the base line of the next entry begins here */
} tsi_legend;

/* y: the base line of the first row. */
tsi_legend tsi_legend_begin(FILE *file, double left, double right, double y);
/* A square, a mark, a line (style: attributes of a <path>), or nothing, and a text beside it. */
__attribute__((format(printf, 3, 4))) void tsi_legend_square(tsi_legend *legend, const char *colour,
                                                             const char *format, ...);
__attribute__((format(printf, 4, 5))) void tsi_legend_mark(tsi_legend *legend, tsi_shape shape,
                                                           const char *colour, const char *format, ...);
__attribute__((format(printf, 3, 4))) void tsi_legend_line(tsi_legend *legend, const char *style,
                                                           const char *format, ...);
__attribute__((format(printf, 2, 3))) void tsi_legend_text(tsi_legend *legend, const char *format, ...);
/* Leaves `width` pixels for a sign that the caller draws, and writes the text beside it. Returns where the
 * sign begins. The legend's y is the base line of both. */
__attribute__((format(printf, 3, 4))) double tsi_legend_place(tsi_legend *legend, double width,
                                                              const char *format, ...);
