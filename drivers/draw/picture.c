/* Files, titles: see picture.h. */
#include "drivers/draw/picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "drivers/session/console.h"
#include "drivers/session/files.h"

static const char *const endings[] = {
    [TSI_FORMAT_SVG] = ".svg", [TSI_FORMAT_HTML] = ".html",   [TSI_FORMAT_PNG] = ".png",
    [TSI_FORMAT_PDF] = ".pdf", [TSI_FORMAT_CHROME] = ".json", [TSI_FORMAT_PAJE] = ".trace"};
enum { PICTURES = TSI_FORMAT_PDF + 1, TIMELINES = sizeof endings / sizeof endings[0] };

/* Returns ".svg" for "folder.d/file.svg"; "" if the name has no ending. */
static const char *ending_of(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  return dot != NULL ? dot : "";
}

/* Returns the format for the ending of the name, one of the first `known`; `known`: the ending is unknown. */
static int find_format(const char *path, int known) {
  const char *ending = ending_of(path);
  int k = 0;
  while (k < known && *ending != '\0' && strcasecmp(ending, endings[k]) != 0) k++;
  return k;
}

tsi_format tsi_picture_format(const char *path) {
  return (tsi_format)find_format(path, TIMELINES);
}

static bool is_converted(tsi_format format) {
  return format == TSI_FORMAT_PNG || format == TSI_FORMAT_PDF;
}

static int check(const char *command, const char *option, const char *path, int known) {
  const int format = path != NULL ? find_format(path, known) : TSI_FORMAT_SVG;
  const char *missing = is_converted((tsi_format)format) ? tsi_picture_no_converter() : NULL;
  if (format == known)
    return tsi_usage_error(command,
                           "--%s %s: no picture has the ending %s; known are .svg, .html, .png, .pdf%s",
                           option, path, ending_of(path), known == TIMELINES ? ", .json, .trace" : "");
  if (missing != NULL)
    return tsi_usage_error(command, "--%s %s: no %s without librsvg: %s; .svg and .html work without it",
                           option, path, ending_of(path), missing);
  return TSI_EXIT_OK;
}

int tsi_picture_check(const char *command, const char *option, const char *path) {
  return check(command, option, path, PICTURES);
}

int tsi_timeline_check(const char *command, const char *option, const char *path) {
  return check(command, option, path, TIMELINES);
}

static bool fail(const tsi_picture *p, const char *why) {
  if (p->s != NULL)
    return tsi_session_fail(p->s, TRISTAR_ERR_IO, "cannot write %.200s: %.100s", tsi_output_name(p->path),
                            why);
  tsi_console_error("cannot write %.200s: %.100s", tsi_output_name(p->path), why);
  return false;
}

/* ---- Lines of text ------------------------------------------------------------------------------------ */

#define TITLE 19.0    /* pixels */
#define BOLD 1.12     /* width of bold letters, relative to normal ones */
#define SUBTITLE 13.0 /* smaller, if it is long */
#define NOTE 12.0
#define LEGEND 86       /* base line of the first row */
#define RIGHT_MARGIN 16 /* free of text */

static void write_title(const tsi_picture *p, const char *what) {
  const char *slash = p->s != NULL ? strrchr(p->s->name, '/') : NULL;
  const char *name = p->s == NULL ? "" : slash != NULL ? slash + 1 : p->s->name;
  char text[160];
  snprintf(text, sizeof text, "%s%s%s", what, p->s != NULL ? " of " : "",
           p->s != NULL && p->s->settings->laplacian ? "the Laplacian of " : "");
  const double space = (p->width - p->left - RIGHT_MARGIN) / BOLD - tsi_svg_width(text, TITLE);
  fprintf(p->file, "<text class=\"title\" x=\"%.0f\" y=\"32\" font-size=\"%.0f\" font-weight=\"bold\">%s",
          p->left, TITLE, text);
  tsi_svg_text_within(p->file, name, TITLE, space);
  fputs("</text>\n", p->file);
}

/* Writes a line, with smaller letters if it is long. more: more attributes. */
static void write_line(const tsi_picture *p, const char *class, double x, double y, double size,
                       const char *more, const char *text) {
  const double fitting = fmin(size, size * (p->width - x - RIGHT_MARGIN) / tsi_svg_width(text, size));
  char attributes[80];
  snprintf(attributes, sizeof attributes, "class=\"%s\" font-size=\"%.1f\"%s", class, fitting, more);
  tsi_svg_write(p->file, x, y, attributes, "%s", text);
}

void tsi_picture_subtitle(const tsi_picture *p, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  write_line(p, "subtitle", p->left, 56, SUBTITLE, "", text);
}

void tsi_picture_note(const tsi_picture *p, double x, double y, const char *format, ...) {
  char text[TSI_SVG_TEXT];
  TSI_SVG_PRINT(text, format);
  write_line(p, "note", x, y, NOTE, " fill=\"#57606a\"", text);
}

/* ---- The file ----------------------------------------------------------------------------------------- */

bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, const char *what, double width,
                       double left) {
  *p = (tsi_picture){.s = s, .path = path, .format = tsi_picture_format(path), .width = width, .left = left};
  p->file = open_memstream(&p->svg, &p->length);
  if (p->file == NULL) return fail(p, strerror(errno));
  p->legend = tsi_legend_begin(p->file, left, width - RIGHT_MARGIN, LEGEND);
  write_title(p, what);
  return true;
}

/* Writes the whole picture as SVG or as a page. */
static void write_picture(const tsi_picture *p, FILE *file) {
  if (p->format == TSI_FORMAT_HTML) tsi_html_head(file, p->s != NULL ? p->s->name : "bench");
  tsi_svg_head(file, p->width, p->height);
  fwrite(p->svg, 1, p->length, file);
  fputs("</svg>\n", file);
  if (p->format == TSI_FORMAT_HTML) tsi_html_tail(file);
}

static bool convert(const tsi_picture *p, FILE *file, char *why, size_t size) {
  char *text = NULL;
  size_t length = 0;
  FILE *memory = open_memstream(&text, &length);
  if (memory != NULL) write_picture(p, memory);
  bool ok = memory != NULL && fclose(memory) == 0;
  if (ok)
    ok = tsi_picture_convert(p, text, length, file, why, size);
  else
    snprintf(why, size, "%s", strerror(errno));
  free(text);
  return ok;
}

static bool write_file(const tsi_picture *p) {
  char why[100] = "";
  tsi_output_file output;
  FILE *file = tsi_output_open(p->path, &output);
  bool written = file != NULL;
  if (written && is_converted(p->format))
    written = convert(p, file, why, sizeof why);
  else if (written)
    write_picture(p, file);
  if (tsi_output_close(file, &output, written)) return true;
  return fail(p, file == NULL || written ? strerror(errno) : why); /* why: reason of the converter */
}

bool tsi_picture_end(tsi_picture *p, double height) {
  p->height = height;
  const bool ok = fclose(p->file) == 0 ? write_file(p) : fail(p, strerror(errno));
  free(p->svg);
  return ok;
}
