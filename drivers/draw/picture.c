/* Files, titles: see picture.h. */
#include "drivers/draw/picture.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "drivers/session/files.h"

static const struct {
  const char *ending;
  tsi_format format;
} endings[] = {
    {".svg", TSI_FORMAT_SVG}, {".html", TSI_FORMAT_HTML}, {".png", TSI_FORMAT_PNG}, {".pdf", TSI_FORMAT_PDF}};
enum { ENDINGS = sizeof endings / sizeof endings[0] };

/* ".svg" of "folder.d/file.svg"; "" if the name has none. */
static const char *ending_of(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  return dot != NULL ? dot : "";
}

/* The format that the name asks for; false: no picture has such an ending. */
static bool find_format(const char *path, tsi_format *format) {
  const char *ending = ending_of(path);
  *format = TSI_FORMAT_SVG;
  for (int k = 0; k < ENDINGS; k++)
    if (strcasecmp(ending, endings[k].ending) == 0) {
      *format = endings[k].format;
      return true;
    }
  return *ending == '\0';
}

static bool is_converted(tsi_format format) {
  return format == TSI_FORMAT_PNG || format == TSI_FORMAT_PDF;
}

int tsi_picture_check(const char *command, const char *option, const char *path) {
  tsi_format format = TSI_FORMAT_SVG;
  const bool known = path == NULL || find_format(path, &format);
  const char *missing = is_converted(format) ? tsi_picture_no_converter() : NULL;
  if (!known)
    return tsi_usage_error(command,
                           "--%s %s: no picture has the ending %s; known are .svg, .html, .png, .pdf", option,
                           path, ending_of(path));
  if (missing != NULL)
    return tsi_usage_error(command, "--%s %s: no %s without librsvg: %s; .svg and .html work without it",
                           option, path, ending_of(path), missing);
  return TSI_EXIT_OK;
}

static bool fail(tsi_picture *p, const char *why) {
  snprintf(p->message, sizeof p->message, "cannot write %.200s: %.100s", tsi_output_name(p->path), why);
  return false;
}

bool tsi_picture_open(tsi_picture *p, const char *path, const char *title, double width, double height) {
  *p = (tsi_picture){.path = path, .width = width, .height = height, .output = {.descriptor = -1}};
  (void)find_format(path, &p->format);
  p->file = is_converted(p->format) ? open_memstream(&p->svg, &p->length) : tsi_output_open(path, &p->output);
  if (p->file == NULL) return fail(p, strerror(errno));
  if (p->format == TSI_FORMAT_HTML) tsi_html_head(p->file, title);
  tsi_svg_head(p->file, width, height);
  return true;
}

/* Writes what p->file held in the format that was asked for. */
static bool write_converted(const tsi_picture *p, char *why, size_t size) {
  tsi_output_file output;
  FILE *file = tsi_output_open(p->path, &output);
  const bool converted = file != NULL && tsi_picture_convert(p, file, why, size);
  const bool ok = tsi_output_close(file, &output, converted);
  if (file == NULL || (converted && !ok))
    snprintf(why, size, "%s", strerror(errno)); /* else the converter says */
  return ok;
}

static bool finish(tsi_picture *p, char *why, size_t size) {
  const bool ok = tsi_output_close(p->file, &p->output, true);
  if (!ok) snprintf(why, size, "%s", strerror(errno));
  return ok && (!is_converted(p->format) || write_converted(p, why, size));
}

bool tsi_picture_close(tsi_picture *p) {
  char why[100];
  fputs("</svg>\n", p->file);
  if (p->format == TSI_FORMAT_HTML) tsi_html_tail(p->file);
  const bool ok = finish(p, why, sizeof why);
  p->file = NULL;
  free(p->svg);
  p->svg = NULL;
  return ok || fail(p, why);
}

bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, double width, double height) {
  const bool ok = tsi_picture_open(p, path, s->name, width, height);
  p->s = s;
  return ok || tsi_session_fail(s, TRISTAR_ERR_IO, "%s", p->message);
}

bool tsi_picture_end(tsi_picture *p) {
  return tsi_picture_close(p) || tsi_session_fail(p->s, TRISTAR_ERR_IO, "%s", p->message);
}

/* ---- Lines of text ------------------------------------------------------------------------------------ */

#define TITLE 19.0    /* pixels */
#define BOLD 1.12     /* as wide as letters that are not */
#define SUBTITLE 13.0 /* or smaller, if it is long */
#define NOTE 12.0
#define RIGHT_MARGIN 16 /* free of text */

void tsi_picture_title(const tsi_picture *p, double x, const char *what) {
  const char *slash = strrchr(p->s->name, '/'), *name = slash != NULL ? slash + 1 : p->s->name;
  char text[160];
  snprintf(text, sizeof text, "%s of %s", what, p->s->settings->laplacian ? "the Laplacian of " : "");
  const double room = (p->width - x - RIGHT_MARGIN) / BOLD - tsi_svg_width(text, TITLE);
  fprintf(p->file, "<text class=\"title\" x=\"%.0f\" y=\"32\" font-size=\"%.0f\" font-weight=\"bold\">%s", x,
          TITLE, text);
  tsi_svg_text_within(p->file, name, TITLE, room);
  fputs("</text>\n", p->file);
}

void tsi_picture_subtitle(const tsi_picture *p, double x, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const double size =
      fmin(SUBTITLE, SUBTITLE * (p->width - x - RIGHT_MARGIN) / tsi_svg_width(text, SUBTITLE));
  fprintf(p->file, "<text class=\"subtitle\" x=\"%.0f\" y=\"56\" font-size=\"%.1f\">", x, size);
  tsi_svg_text(p->file, text, SIZE_MAX);
  fputs("</text>\n", p->file);
}

void tsi_picture_note(const tsi_picture *p, double x, double y, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const double size = fmin(NOTE, NOTE * (p->width - x - RIGHT_MARGIN) / tsi_svg_width(text, NOTE));
  fprintf(p->file, "<text class=\"note\" x=\"%.0f\" y=\"%.1f\" font-size=\"%.1f\" fill=\"#57606a\">", x, y,
          size);
  tsi_svg_text(p->file, text, SIZE_MAX);
  fputs("</text>\n", p->file);
}
