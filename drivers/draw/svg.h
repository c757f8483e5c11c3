/* Common elements of pictures: heads, texts, colours, legends, marks. Axes: axes.h.
 *
 * Reads   its arguments.   Writes  SVG.
 * Invariants
 *   - external texts (names of matrices) are written with tsi_svg_text or tsi_svg_text_within
 *   - the output is XML for any bytes of a text
 *   - all texts of a legend stay inside its lines */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- Texts -------------------------------------------------------------------------------------------- */

/* Writes a text in UTF-8. Special characters of XML become entities; control characters and bytes that are
 * not UTF-8 become question marks. Of a longer text only the last `most` characters are written, after three
 * dots. */
void tsi_svg_text(FILE *file, const char *text, size_t most);
/* Does the same with as many of the last characters as fit. size: of the letters; space: in pixels. */
void tsi_svg_text_within(FILE *file, const char *text, double size, double space);
/* Does the same with the first characters. */
void tsi_svg_text_begin(FILE *file, const char *text, double size, double space);
/* Returns the maximum width of a text in pixels, in the widest of the fonts. */
double tsi_svg_width(const char *text, double size);

/* Writes the first tag, and a white background. */
void tsi_svg_head(FILE *file, double width, double height);
enum { TSI_SVG_TEXT = 400 }; /* maximum bytes of a formatted text */
/* Prints the arguments after `format` into an array of characters. */
#define TSI_SVG_PRINT(text, format)                                                                          \
  do {                                                                                                       \
    va_list args;                                                                                            \
    va_start(args, format);                                                                                  \
    vsnprintf(text, sizeof(text), format, args);                                                             \
    va_end(args);                                                                                            \
  } while (0)

/* Writes a text whose base line begins at (x, y). attributes: more attributes of <text>. */
__attribute__((format(printf, 5, 6))) void tsi_svg_write(FILE *file, double x, double y,
                                                         const char *attributes, const char *format, ...);
/* Writes the beginning of <rect; the caller writes more attributes, the content, and the end. class NULL:
 * none. */
void tsi_svg_rect(FILE *file, const char *class, double x, double y, double width, double height);
/* Writes <rect of this colour. The caller writes the content, such as a <title>, and the end, </rect>. */
void tsi_svg_area(FILE *file, const char *class, double x, double y, double width, double height,
                  const char *colour);

/* ---- Colours ------------------------------------------------------------------------------------------ */

/* Colours that people with any colour vision can distinguish (Okabe and Ito 2008). */
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

/* Returns one of many colours by number; neighbouring numbers differ. strong: for thin lines instead of areas
 * with labels. text: space for 8 characters. */
const char *tsi_svg_many_colours(int32_t number, bool strong, char text[8]);

/* ---- Marks -------------------------------------------------------------------------------------------- */

/* Shapes that can be distinguished without their colours. */
typedef enum tsi_shape {
  TSI_DISC,
  TSI_SQUARE,
  TSI_DIAMOND,
  TSI_TRIANGLE,
  TSI_DOWN,
  TSI_CROSS,
  TSI_SHAPES
} tsi_shape;

/* Writes a mark of this class around (x, y). The caller writes the content, such as a <title>, and the end,
 * </path>. */
void tsi_svg_mark(FILE *file, const char *class, tsi_shape shape, const char *colour, double x, double y);

/* ---- Legends ------------------------------------------------------------------------------------------ */

enum { TSI_LEGEND_ROW = 20, TSI_LEGEND_SIZE = 12 };

/* Entries in rows from `left` to `right`. */
typedef struct tsi_legend {
  FILE *file;
  double left, right;
  double x, y; /* start of the base line of the next entry */
} tsi_legend;

/* Begins a legend. y: base line of the first row. */
tsi_legend tsi_legend_begin(FILE *file, double left, double right, double y);
/* Write a square, a mark, a line (style: attributes of a <path>), or nothing, and a text beside it. */
__attribute__((format(printf, 3, 4))) void tsi_legend_square(tsi_legend *legend, const char *colour,
                                                             const char *format, ...);
__attribute__((format(printf, 4, 5))) void tsi_legend_mark(tsi_legend *legend, tsi_shape shape,
                                                           const char *colour, const char *format, ...);
__attribute__((format(printf, 3, 4))) void tsi_legend_line(tsi_legend *legend, const char *style,
                                                           const char *format, ...);
__attribute__((format(printf, 2, 3))) void tsi_legend_text(tsi_legend *legend, const char *format, ...);
/* Leaves `width` pixels for a sign that the caller draws, and writes the text beside it. Returns the left
 * edge of the sign. The legend's y is the base line of both. */
__attribute__((format(printf, 3, 4))) double tsi_legend_place(tsi_legend *legend, double width,
                                                              const char *format, ...);
