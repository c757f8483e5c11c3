/* Texts, colours, marks and legends of pictures: see svg.h. */
#include "drivers/draw/svg.h"

#include <math.h>
#include <string.h>

const char *const tsi_svg_colour[TSI_COLOURS] = {"#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73",
                                                 "#cc79a7", "#f0e442", "#8c959f", "#111111"};

/* ---- Texts -------------------------------------------------------------------------------------------- */

/* Returns the bytes of the character at the beginning of a text: 1 to 4; 0 if XML does not allow it. */
static size_t character(const unsigned char *text) {
  const unsigned char first = text[0];
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 1) return first >= 32 && first != 127;
  for (size_t k = 1; k < length; k++)
    if ((text[k] & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
  const bool beyond = (first == 0xed && text[1] >= 0xa0) || (first == 0xf4 && text[1] >= 0x90);
  const bool none = first == 0xef && text[1] == 0xbf && text[2] >= 0xbe; /* U+FFFE, U+FFFF */
  return overlong || beyond || none ? 0 : length;
}

/* Returns the bytes to the next character; an invalid byte counts as one. */
static size_t step_over(const char *text) {
  const size_t length = character((const unsigned char *)text);
  return length > 0 ? length : 1;
}

static void put(FILE *file, const char *text) {
  const size_t length = character((const unsigned char *)text);
  if (length == 0)
    fputc('?', file);
  else if (length == 1 && strchr("&<>\"'", *text) != NULL)
    fprintf(file, "&#%d;", *text);
  else
    fwrite(text, 1, length, file);
}

void tsi_svg_text(FILE *file, const char *text, size_t most) {
  size_t count = 0;
  for (const char *at = text; *at; at += step_over(at)) count++;
  if (count > most) fputs("...", file);
  for (; count > most; count--) text += step_over(text);
  for (; *text; text += step_over(text)) put(file, text);
}

void tsi_svg_text_within(FILE *file, const char *text, double size, double space) {
  const char *begin = text;
  while (*begin && tsi_svg_width(begin, size) + (begin > text ? tsi_svg_width("...", size) : 0) > space)
    begin += step_over(begin);
  if (begin > text) fputs("...", file);
  tsi_svg_text(file, begin, SIZE_MAX);
}

void tsi_svg_text_begin(FILE *file, const char *text, double size, double space) {
  char part[512];
  const bool cut = strlen(text) >= sizeof part || tsi_svg_width(text, size) > space;
  const double dots = cut ? tsi_svg_width("...", size) : 0;
  size_t length = 0;
  while (text[length]) {
    const size_t next = length + step_over(text + length);
    if (next >= sizeof part) break;
    memcpy(part + length, text + length, next - length);
    part[next] = '\0';
    if (tsi_svg_width(part, size) + dots > space) break;
    length = next;
  }
  part[length] = '\0';
  tsi_svg_text(file, part, SIZE_MAX);
  if (cut) fputs("...", file);
}

/* Widths of DejaVu Sans, the widest font, relative to the size of the letters. */
double tsi_svg_width(const char *text, double size) {
  double width = 0;
  for (; *text; text += step_over(text))
    width += strchr("iljI|'", *text) != NULL           ? 0.33
             : strchr(" ,.:;/-()[]rtf", *text) != NULL ? 0.42
             : strchr("mwMWOQ%@<>=+", *text) != NULL   ? 0.95
                                                       : 0.66;
  return width * size;
}

void tsi_svg_head(FILE *file, double width, double height) {
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
          "%.0f\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" "
          "fill=\"#222\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          width, height, width, height);
}

void tsi_svg_write(FILE *file, double x, double y, const char *attributes, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
  tsi_svg_text(file, text, SIZE_MAX);
  fputs("</text>\n", file);
}

void tsi_svg_rect(FILE *file, const char *class, double x, double y, double width, double height) {
  fputs("<rect ", file);
  if (class != NULL) fprintf(file, "class=\"%s\" ", class);
  fprintf(file, "x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" ", x, y, width, height);
}

void tsi_svg_area(FILE *file, const char *class, double x, double y, double width, double height,
                  const char *colour) {
  tsi_svg_rect(file, class, x, y, width, height);
  fprintf(file, "fill=\"%s\">", colour);
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

/* ---- Marks -------------------------------------------------------------------------------------------- */

void tsi_svg_mark(FILE *file, const char *class, tsi_shape shape, const char *colour, double x, double y) {
  static const char *const paths[TSI_SHAPES] = {[TSI_DISC] = "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
                                                [TSI_SQUARE] = "m-4.5 -4.5h9v9h-9z",
                                                [TSI_DIAMOND] = "m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z",
                                                [TSI_TRIANGLE] = "m0 -6l6 10.5h-12z",
                                                [TSI_DOWN] = "m0 6l6 -10.5h-12z",
                                                [TSI_CROSS] = "m-4.5 -4.5l9 9m0 -9l-9 9"};
  fprintf(file, "<path class=\"%s\" d=\"M%.1f %.1f%s\" ", class, x, y, paths[shape]);
  if (shape == TSI_CROSS)
    fprintf(file, "stroke=\"%s\" stroke-width=\"2.4\">", colour);
  else
    fprintf(file, "fill=\"%s\" stroke=\"#fff\">", colour);
}

/* ---- Legends ------------------------------------------------------------------------------------------ */

enum { SIGN = 14, GAP = 6, BETWEEN = 18, LINE = 24 }; /* pixels: of a sign, to its text, to the next */

tsi_legend tsi_legend_begin(FILE *file, double left, double right, double y) {
  return (tsi_legend){.file = file, .left = left, .right = right, .x = left, .y = y};
}

static double place(tsi_legend *l, double width, const char *text) {
  const double gap = width > 0 ? GAP : 0, all = width + gap + tsi_svg_width(text, TSI_LEGEND_SIZE);
  if (l->x > l->left && l->x + all > l->right) {
    l->x = l->left;
    l->y += TSI_LEGEND_ROW;
  }
  const double x = l->x;
  fprintf(l->file, "<text class=\"legend\" x=\"%.1f\" y=\"%.1f\" font-size=\"%d\">", x + width + gap, l->y,
          TSI_LEGEND_SIZE);
  tsi_svg_text(l->file, text, SIZE_MAX);
  fputs("</text>\n", l->file);
  l->x += all + BETWEEN;
  return x;
}

double tsi_legend_place(tsi_legend *l, double width, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  return place(l, width, text);
}

void tsi_legend_square(tsi_legend *l, const char *colour, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  const double x = place(l, SIGN, text);
  fprintf(l->file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, l->y - 11,
          SIGN, SIGN, colour);
}

void tsi_legend_mark(tsi_legend *l, tsi_shape shape, const char *colour, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  const double x = place(l, SIGN, text);
  tsi_svg_mark(l->file, "sign", shape, colour, x + SIGN / 2.0, l->y - 4);
  fputs("</path>\n", l->file);
}

void tsi_legend_line(tsi_legend *l, const char *style, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  const double x = place(l, LINE, text);
  fprintf(l->file, "<path d=\"M%.1f %.1fh%d\" fill=\"none\" %s/>\n", x, l->y - 4, LINE, style);
}

void tsi_legend_text(tsi_legend *l, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  (void)place(l, 0, text);
}
