/* Files, titles: see picture.h. */
#include "drivers/picture.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), most = strlen(end);
  return length >= most && strcmp(text + length - most, end) == 0;
}

bool tsi_picture_begin(tsi_picture *p, tsi_session *s, const char *path, double width, double height) {
  *p = (tsi_picture){.s = s, .path = path, .file = fopen(path, "w"), .html = ends_with(path, ".html")};
  if (p->file == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  if (p->html) tsi_html_head(p->file, s->name);
  tsi_svg_head(p->file, width, height);
  return true;
}

bool tsi_picture_end(tsi_picture *p) {
  fputs("</svg>\n", p->file);
  if (p->html) tsi_html_tail(p->file);
  bool ok = !ferror(p->file);
  if (fclose(p->file) != 0) ok = false;
  return ok || tsi_session_fail(p->s, TRISTAR_ERR_IO, "cannot write %s: %s", p->path, strerror(errno));
}

void tsi_picture_title(const tsi_picture *p, double x, const char *what) {
  const char *slash = strrchr(p->s->name, '/');
  fprintf(p->file, "<text x=\"%.0f\" y=\"32\" font-size=\"19\" font-weight=\"bold\">%s of %s", x, what,
          p->s->settings->laplacian ? "the Laplacian of " : "");
  tsi_svg_text(p->file, slash ? slash + 1 : p->s->name, 80);
  fputs("</text>\n", p->file);
}

void tsi_picture_subtitle(const tsi_picture *p, double x, const char *format, ...) {
  va_list args;
  fprintf(p->file, "<text x=\"%.0f\" y=\"56\">", x);
  va_start(args, format);
  vfprintf(p->file, format, args);
  va_end(args);
  fputs("</text>\n", p->file);
}
