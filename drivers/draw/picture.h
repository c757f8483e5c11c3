/* The files of the program's pictures.
 *
 * Reads   what it is given.   Writes  what the ending of the file's name says:
 *
 *   .svg, or none   SVG
 *   .html           a page around it that needs nothing else
 *   .png, .pdf      what librsvg makes of the SVG
 *
 * The page shows what a <title> says about the thing under the pointer, and zooms. An <svg id="time"> in it
 * is zoomed along its width only, and the ticks of the group "ticks" follow.
 *
 * Invariant: SVG is written through p->file in all of these. */
#ifndef TSI_DRIVERS_DRAW_PICTURE_H
#define TSI_DRIVERS_DRAW_PICTURE_H

#include "drivers/draw/axes.h"
#include "drivers/session/files.h"
#include "drivers/session/session.h"
#include "drivers/draw/svg.h"

typedef enum tsi_format { TSI_FORMAT_SVG, TSI_FORMAT_HTML, TSI_FORMAT_PNG, TSI_FORMAT_PDF } tsi_format;

typedef struct tsi_picture {
  tsi_session *s; /* whose matrix it shows; NULL: none */
  const char *path;
  FILE *file;
  tsi_output_file output; /* what it becomes at the end */
  double width, height;   /* pixels */
  tsi_format format;
  char *svg; /* .png, .pdf: what was written */
  size_t length;
  char message[320]; /* why it could not be made */
} tsi_picture;

/* To be asked before any work: a usage error of `--option path` of a command if no picture has such an
 * ending, or this program cannot write such pictures. Gives an exit status. path may be NULL. */
int tsi_picture_check(const char *command, const char *option, const char *path);

/* Opens the file and begins the picture; title: of an .html page. Pixels. False: p->message tells why. */
bool tsi_picture_open(tsi_picture *p, const char *path, const char *title, double width, double height);
/* Ends it. False, with p->message, if any of it could not be written. */
bool tsi_picture_close(tsi_picture *p);

/* The same for a picture of the session's matrix, which gets the message. */
bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, double width, double height);
bool tsi_picture_end(tsi_picture *p);

/* "What it is of MATRIX", in large letters, cut to the picture's width. It begins at x. */
void tsi_picture_title(const tsi_picture *p, double x, const char *what);
/* The line below it. */
__attribute__((format(printf, 3, 4))) void tsi_picture_subtitle(const tsi_picture *p, double x,
                                                                const char *format, ...);
/* A line in small grey letters, base line at y, that says how to read the picture. */
__attribute__((format(printf, 4, 5))) void tsi_picture_note(const tsi_picture *p, double x, double y,
                                                            const char *format, ...);

/* Around the picture, for .html. */
void tsi_html_head(FILE *file, const char *title);
void tsi_html_tail(FILE *file);

/* picture_convert.c: why no .png and .pdf can be written; NULL: they can. */
const char *tsi_picture_no_converter(void);
/* Writes p->svg as .png, twice as fine, or as .pdf; false with a reason. */
bool tsi_picture_convert(const tsi_picture *p, FILE *file, char *why, size_t size);

#endif
