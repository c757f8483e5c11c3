/* Pictures as .png and .pdf: see picture.h. librsvg reads the SVG, cairo draws it.
 *
 * The library is loaded for the first such picture, because it depends on dozens of other libraries, which
 * would slow down every start of the program, and because it may be missing at run time. */
#include "drivers/draw/picture.h"

#ifdef TSI_HAVE_RSVG

#include <cairo-pdf.h>
#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <string.h>

#define LIBRARY "librsvg-2.so.2" /* cairo and GLib come with it */
#define FINE 2.0                 /* pixels of a .png per pixel of the picture */
#define PIXELS_MOST 32000        /* maximum of cairo, along one side */
#define POINTS (72.0 / 96)       /* points of a page per pixel */

/* The functions used from it. */
#define FUNCTIONS(X)                                                                                         \
  X(rsvg_handle_new_from_data)                                                                               \
  X(rsvg_handle_render_document)                                                                             \
  X(g_clear_error)                                                                                           \
  X(g_object_unref)                                                                                          \
  X(cairo_create)                                                                                            \
  X(cairo_destroy)                                                                                           \
  X(cairo_image_surface_create)                                                                              \
  X(cairo_pdf_surface_create_for_stream)                                                                     \
  X(cairo_status)                                                                                            \
  X(cairo_status_to_string)                                                                                  \
  X(cairo_surface_destroy)                                                                                   \
  X(cairo_surface_finish)                                                                                    \
  X(cairo_surface_status)                                                                                    \
  X(cairo_surface_write_to_png_stream)

#define MEMBER(name) __typeof__(&(name)) name;
typedef struct library {
  FUNCTIONS(MEMBER)
} library;

/* Loads the library; it stays loaded until the program ends. Returns false if it is missing, or lacks a
 * function. */
static bool load(library *l) {
  void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *function;
  if (handle == NULL) return false;
#define FIND(name)                                                                                           \
  function = dlsym(handle, #name);                                                                           \
  if (function == NULL) return false;                                                                        \
  memcpy(&l->name, &function, sizeof function);
  FUNCTIONS(FIND)
  return true;
}

const char *tsi_picture_no_converter(void) {
  library l;
  return load(&l) ? NULL : LIBRARY " is not on this machine, or too old (Debian: librsvg2-2)";
}

static cairo_status_t put(void *file, const unsigned char *data, unsigned length) {
  return fwrite(data, 1, length, file) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Draws on the whole surface; width x height are in units of the surface. */
static bool draw(const library *l, RsvgHandle *svg, cairo_surface_t *surface, double width, double height,
                 char *why, size_t size) {
  const RsvgRectangle all = {0, 0, width, height};
  GError *error = NULL;
  cairo_t *cairo = l->cairo_create(surface);
  bool ok = l->rsvg_handle_render_document(svg, cairo, &all, &error);
  if (!ok) snprintf(why, size, "librsvg: %s", error->message);
  if (ok && l->cairo_status(cairo) != CAIRO_STATUS_SUCCESS) {
    snprintf(why, size, "cairo: %s", l->cairo_status_to_string(l->cairo_status(cairo)));
    ok = false;
  }
  l->g_clear_error(&error);
  l->cairo_destroy(cairo);
  return ok;
}

static cairo_status_t write_surface(const library *l, cairo_surface_t *surface, tsi_format format,
                                    FILE *file) {
  if (format == TSI_FORMAT_PNG) return l->cairo_surface_write_to_png_stream(surface, put, file);
  l->cairo_surface_finish(surface);
  return l->cairo_surface_status(surface);
}

static bool convert(const library *l, RsvgHandle *svg, const tsi_picture *p, FILE *file, char *why,
                    size_t size) {
  const bool png = p->format == TSI_FORMAT_PNG;
  const double longest = p->width > p->height ? p->width : p->height;
  const double scale = !png ? POINTS : FINE * longest < PIXELS_MOST ? FINE : PIXELS_MOST / longest;
  const double width = p->width * scale, height = p->height * scale;
  cairo_surface_t *surface = png ? l->cairo_image_surface_create(CAIRO_FORMAT_ARGB32, (int)width, (int)height)
                                 : l->cairo_pdf_surface_create_for_stream(put, file, width, height);
  bool ok = draw(l, svg, surface, width, height, why, size);
  const cairo_status_t status = ok ? write_surface(l, surface, p->format, file) : CAIRO_STATUS_SUCCESS;
  if (status != CAIRO_STATUS_SUCCESS) {
    snprintf(why, size, "%s", l->cairo_status_to_string(status));
    ok = false;
  }
  l->cairo_surface_destroy(surface);
  return ok;
}

bool tsi_picture_convert(const tsi_picture *p, const char *text, size_t length, FILE *file, char *why,
                         size_t size) {
  library l;
  GError *error = NULL;
  if (!load(&l)) {
    snprintf(why, size, "%s", tsi_picture_no_converter());
    return false;
  }
  RsvgHandle *svg = l.rsvg_handle_new_from_data((const guint8 *)text, length, &error);
  if (svg == NULL) {
    snprintf(why, size, "librsvg: %s", error->message);
    l.g_clear_error(&error);
    return false;
  }
  const bool ok = convert(&l, svg, p, file, why, size);
  l.g_object_unref(svg);
  return ok;
}

#else

const char *tsi_picture_no_converter(void) {
  return "this program was built without it (CMake: TRISTAR_WITH_RSVG)";
}

bool tsi_picture_convert(const tsi_picture *p, const char *text, size_t length, FILE *file, char *why,
                         size_t size) {
  (void)p, (void)text, (void)length, (void)file;
  snprintf(why, size, "%s", tsi_picture_no_converter());
  return false;
}

#endif
