/* The files of the program's pictures.
 *
 * Reads   its arguments.   Writes  a file in the format of its name's ending:
 *
 *   .svg, or none   SVG
 *   .html           a self-contained page with the SVG
 *   .png, .pdf      the SVG converted by librsvg
 *   .json, .trace   timelines only: events for viewers, see plot_timeline.c
 *
 * The page shows the <title> of the element under the pointer, and zooms. An <svg id="time"> in it is zoomed
 * only along its width, and the ticks of the group "ticks" follow.
 *
 * Invariant: the file is written at the end of the picture, when its height is known. */
#pragma once

#include "drivers/draw/axes.h"
#include "drivers/session/files.h"
#include "drivers/session/session.h"
#include "drivers/draw/svg.h"

typedef enum tsi_format {
  TSI_FORMAT_SVG,
  TSI_FORMAT_HTML,
  TSI_FORMAT_PNG,
  TSI_FORMAT_PDF,
  TSI_FORMAT_CHROME, /* this and the next one: only for timelines */
  TSI_FORMAT_PAJE
} tsi_format;

typedef struct tsi_picture {
  tsi_session *s; /* session of the matrix; it records failures. NULL: failures are printed on stderr */
  const char *path;
  FILE *file;                 /* the SVG is written to it */
  double width, height, left; /* pixels; texts begin at left */
  tsi_legend legend;          /* below the subtitle */
  tsi_format format;
  char *svg; /* the text written to file */
  size_t length;
} tsi_picture;

/* Checks `--option path` before any work: prints a usage error if the ending is unknown, or if this program
 * cannot write such pictures. Returns an exit status. path may be NULL. */
int tsi_picture_check(const char *command, const char *option, const char *path);
/* Does the same for a timeline, which has more formats. */
int tsi_timeline_check(const char *command, const char *option, const char *path);
/* Returns the format for the ending of a name that was checked. */
tsi_format tsi_picture_format(const char *path);

/* Begins a picture with the title "What it is of MATRIX", cut to the width. Pixels. s: the session of the
 * matrix; NULL: the title is `what`. Returns false after a failure. */
bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, const char *what, double width,
                       double left);
/* Writes the file. Returns false after a failure. */
bool tsi_picture_end(tsi_picture *p, double height);

/* Writes the line below the title. */
__attribute__((format(printf, 2, 3))) void tsi_picture_subtitle(const tsi_picture *p, const char *format,
                                                                ...);
/* Writes an explanation in small grey letters, base line at y. */
__attribute__((format(printf, 4, 5))) void tsi_picture_note(const tsi_picture *p, double x, double y,
                                                            const char *format, ...);

/* Write the page before and after the picture, for .html. */
void tsi_html_head(FILE *file, const char *title);
void tsi_html_tail(FILE *file);

/* picture_convert.c: returns the reason why .png and .pdf cannot be written; NULL: they can. */
const char *tsi_picture_no_converter(void);
/* Converts the SVG text of a picture to .png, with doubled resolution, or .pdf. Returns false with a reason
 * on failure.
 */
bool tsi_picture_convert(const tsi_picture *p, const char *text, size_t length, FILE *file, char *why,
                         size_t size);
