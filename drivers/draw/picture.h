/* The files of the program's pictures.
 *
 * Reads   what it is given.   Writes  what the ending of the file's name says:
 *
 *   .svg, or none   SVG
 *   .html           a page around it that needs nothing else
 *   .png, .pdf      what librsvg makes of the SVG
 *   .json, .trace   of a timeline: events for viewers, see plot_timeline.c
 *
 * The page shows what a <title> says about the thing under the pointer, and zooms. An <svg id="time"> in it
 * is zoomed along its width only, and the ticks of the group "ticks" follow.
 *
 * Invariant: the file is written when the picture ends, which is when its height is known. */
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
  TSI_FORMAT_CHROME, /* this and the next: of timelines only */
  TSI_FORMAT_PAJE
} tsi_format;

typedef struct tsi_picture {
  tsi_session *s; /* whose matrix it shows, and which gets messages; NULL: none, they go to stderr */
  const char *path;
  FILE *file;                 /* what the picture consists of */
  double width, height, left; /* pixels; texts begin at left */
  tsi_legend legend;          /* below the subtitle */
  tsi_format format;
  char *svg; /* what was written to file */
  size_t length;
} tsi_picture;

/* To be called before any work: a usage error of `--option path` of a command if no picture has such an
 * ending, or this program cannot write such pictures. Returns an exit status. path may be NULL. */
int tsi_picture_check(const char *command, const char *option, const char *path);
/* The same of a timeline, which has more endings. */
int tsi_timeline_check(const char *command, const char *option, const char *path);
/* The format of the ending of a name that was checked. */
tsi_format tsi_picture_format(const char *path);

/* Begins a picture with the title "What it is of MATRIX", cut to the width. Pixels. s: the session of the
 * matrix; NULL: the title is `what`. Returns false after a failure. */
bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, const char *what, double width,
                       double left);
/* Writes the file. Returns false after a failure. */
bool tsi_picture_end(tsi_picture *p, double height);

/* The line below the title. */
__attribute__((format(printf, 2, 3))) void tsi_picture_subtitle(const tsi_picture *p, const char *format,
                                                                ...);
/* A line in small grey letters, base line at y, that explains the picture. */
__attribute__((format(printf, 4, 5))) void tsi_picture_note(const tsi_picture *p, double x, double y,
                                                            const char *format, ...);

/* Around the picture, for .html. */
void tsi_html_head(FILE *file, const char *title);
void tsi_html_tail(FILE *file);

/* picture_convert.c: why no .png and .pdf can be written; NULL: they can. */
const char *tsi_picture_no_converter(void);
/* Writes the text of a picture, SVG, as .png, twice as fine, or as .pdf; false with a reason. */
bool tsi_picture_convert(const tsi_picture *p, const char *text, size_t length, FILE *file, char *why,
                         size_t size);
