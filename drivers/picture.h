/* The files of the program's pictures.
 *
 * Reads   what it is given.   Writes  SVG; where the name of the file ends in .html, a page around it that
 * needs nothing else: it shows what a <title> says about the thing under the pointer, and zooms. An <svg
 * id="time"> in it is zoomed along its width only, and the ticks below it follow. */
#ifndef TSI_DRIVERS_PICTURE_H
#define TSI_DRIVERS_PICTURE_H

#include "drivers/session.h"
#include "drivers/svg.h"

typedef struct tsi_picture {
  tsi_session *s;
  const char *path;
  FILE *file;
  bool html;
} tsi_picture;

/* Opens the file and begins the picture. Pixels. */
bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, double width, double height);
/* Ends it. False with a message if any of it could not be written. */
bool tsi_picture_end(tsi_picture *p);

/* "What it is of MATRIX", in large letters, and a line below it, which must be free of what means something
 * to XML. Both begin at x. */
void tsi_picture_title(const tsi_picture *p, double x, const char *what);
__attribute__((format(printf, 3, 4))) void tsi_picture_subtitle(const tsi_picture *p, double x,
                                                                const char *format, ...);
/* Around the picture, for .html. */
void tsi_html_head(FILE *file, const char *title);
void tsi_html_tail(FILE *file);

#endif
