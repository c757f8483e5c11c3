/* Draws the layout of an assembly tree as SVG: see tree.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/report.h"
#include "drivers/svg.h"
#include "drivers/tree.h"

/* Pixels. */
#define PICTURE_WIDTH 1200
#define PICTURE_HEIGHT 704
#define LEFT 24
#define TOP 76
#define PLOT_WIDTH (PICTURE_WIDTH - 2 * LEFT)
#define PLOT_HEIGHT 560
#define LEGEND (TOP + PLOT_HEIGHT + 34)
#define LETTER 5.8    /* width of a character of a label, */
#define LETTER_12 6.7 /* of the legend, in the widest of the fonts */
#define SMALLEST 3.6  /* width of a box */

#define INVISIBLE 0.05 /* width of a box that is not drawn */
#define BOXES_MAX 4000 /* keeps the file below 1 MB */

/* Neighbouring chunks have neighbouring numbers: the golden angle between them makes their hues differ. */
static void write_colour(FILE *file, int32_t chunk) {
  const double hue = fmod(208 + 137.50776 * chunk, 360) / 60, light = chunk % 2 ? 0.72 : 0.64,
               chroma = (1 - fabs(2 * light - 1)) * 0.46;
  double rgb[3];
  for (int c = 0; c < 3; c++) {
    const double distance = fabs(fmod(hue - 2 * c + 9, 6) - 3); /* from the hue of this primary */
    const double part = distance <= 1 ? 1 : distance >= 2 ? 0 : 2 - distance;
    rgb[c] = light - chroma / 2 + chroma * part;
  }
  fprintf(file, "#%02x%02x%02x", (unsigned)lround(255 * rgb[0]), (unsigned)lround(255 * rgb[1]),
          (unsigned)lround(255 * rgb[2]));
}

/* The last `most` characters of text, with the characters that mean something to XML written as entities. */
static void write_text(FILE *file, const char *text, size_t most) {
  const size_t length = strlen(text);
  if (length > most) {
    fputs("...", file);
    text += length - most;
  }
  for (; *text; text++) tsi_svg_put(file, (unsigned char)*text);
}

static void write_head(FILE *file, const tsi_session *s, const tsi_tree_layout *layout) {
  fprintf(file,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#222\">\n",
          PICTURE_WIDTH, PICTURE_HEIGHT, PICTURE_WIDTH, PICTURE_HEIGHT);
  fputs("<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><path d=\"M0 0V7\" stroke=\"#000\" stroke-opacity=\".28\" "
        "stroke-width=\"2\"/></pattern></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        file);
  fprintf(file, "<text x=\"%d\" y=\"32\" font-size=\"19\" font-weight=\"bold\">Assembly tree of %s", LEFT,
          s->settings->laplacian ? "the Laplacian of " : "");
  const char *slash = strrchr(s->name, '/');
  write_text(file, slash ? slash + 1 : s->name, 80);
  fprintf(file, "</text>\n<text x=\"%d\" y=\"56\">n = %s, %s, %s of factor (%s, %s ordering); ", LEFT,
          tsi_text_count(s->a.n), tsi_text_many(s->a.supernodes, "supernode"), tsi_text_bytes(layout->bytes),
          s->a.method == TRISTAR_METHOD_LLT ? "Cholesky" : "LU",
          s->settings->ordering == TRISTAR_ORDERING_METIS ? "METIS" : "natural");
  fprintf(file, "a solve has %s", tsi_text_many(s->p.chunks, "chunk"));
  if (s->p.slices > 0) fprintf(file, " and %s", tsi_text_many(s->p.slices, "row slice"));
  fputs("</text>\n", file);
}

static void write_tooltip(FILE *file, const tsi_tree_box *box) {
  if (box->parts > 1)
    fprintf(file, "<title>chunks %d to %d: ", box->chunk, box->chunk + box->parts - 1);
  else
    fprintf(file, "<title>chunk %d: ", box->chunk);
  if (box->supernodes > 1) fprintf(file, "%s, ", tsi_text_many(box->supernodes, "supernode"));
  fprintf(file, "%s, %s below, %s</title>", tsi_text_many(box->columns, "column"),
          tsi_text_many(box->rows, "row"), tsi_text_bytes(box->bytes));
}

/* Rectangle number `part` of a box, from below; the tooltip is that of the whole box. */
static void write_part(FILE *file, const tsi_tree_box *box, int32_t part) {
  const double height = box->height / box->parts, y = box->y + box->height - (part + 1) * height;
  fprintf(file, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
          LEFT + box->x * PLOT_WIDTH, TOP + y * PLOT_HEIGHT, box->width * PLOT_WIDTH, height * PLOT_HEIGHT);
  write_colour(file, box->chunk + part);
  fputs("\">", file);
  write_tooltip(file, box);
  fputs("</rect>\n", file);
}

/* "columns x rows" of a supernode, where there is room for it. */
static void write_label(FILE *file, const tsi_tree_box *box, int32_t parts) {
  const double width = box->width * PLOT_WIDTH, height = box->height * PLOT_HEIGHT / parts;
  char label[64];
  int letters;
  if (box->supernodes > 1)
    letters = snprintf(label, sizeof label, "%s", tsi_text_many(box->supernodes, "supernode"));
  else /* the times sign has two bytes */
    letters = snprintf(label, sizeof label, "%s \xc3\x97 %s", tsi_text_count(box->columns),
                       tsi_text_count(box->columns + box->rows)) -
              1;
  if (height < (parts > 1 ? 9 : 13) || width < LETTER * (letters + 2)) return;
  fprintf(file,
          "<text x=\"%.2f\" y=\"%.2f\" font-size=\"10.5\" text-anchor=\"middle\" pointer-events=\"none\" "
          "stroke=\"%s\" stroke-opacity=\".75\" stroke-width=\"3\" paint-order=\"stroke\">%s</text>\n",
          LEFT + box->x * PLOT_WIDTH + width / 2,
          TOP + box->y * PLOT_HEIGHT + height * (parts / 2 + 0.5) + 3.8, box->parts > 1 ? "#fff" : "none",
          label);
}

static void write_box(FILE *file, const tsi_tree_box *box) {
  const int32_t parts = 2 * box->parts < box->height * PLOT_HEIGHT ? box->parts : 1; /* else too thin */
  tsi_tree_box shown = *box;
  shown.parts = parts;
  for (int32_t part = 0; part < parts; part++) write_part(file, &shown, part);
  if (box->parts > 1)
    fprintf(file,
            "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"url(#hatch)\" stroke=\"none\" "
            "pointer-events=\"none\"/>\n",
            LEFT + box->x * PLOT_WIDTH, TOP + box->y * PLOT_HEIGHT, box->width * PLOT_WIDTH,
            box->height * PLOT_HEIGHT);
  write_label(file, box, parts);
}

/* 1, 2 or 5 times a power of ten, near value from below. */
static double round_figure(double value) {
  const double power = pow(10, floor(log10(value)));
  return power * (value / power >= 5 ? 5 : value / power >= 2 ? 2 : 1);
}

/* Text of the legend at x; gives where the next entry begins. */
static double write_entry(FILE *file, double x, const char *text) {
  fprintf(file, "<text x=\"%.1f\" y=\"%d\" font-size=\"12\">%s</text>\n", x, LEGEND + 1, text);
  return x + LETTER_12 * (double)strlen(text) + 24;
}

static void write_legend(FILE *file, const tsi_session *s, const tsi_tree_layout *layout, bool hatched) {
  double x = LEFT;
  const double scale = PLOT_WIDTH * PLOT_HEIGHT / (layout->bytes > 0 ? layout->bytes : 1); /* px^2 per byte */
  const double sample = round_figure(900 / scale), side = sqrt(sample * scale);
  char text[48];
  for (int k = 0; k < 3; k++, x += 18) {
    fprintf(file, "<rect x=\"%.1f\" y=\"%d\" width=\"16\" height=\"16\" fill=\"", x, LEGEND - 12);
    write_colour(file, k);
    fputs("\"/>\n", file);
  }
  x = write_entry(file, x + 6,
                  s->p.tasks > 0 ? "one colour, one chunk: a task in each direction"
                                 : "one colour, one chunk: one call");
  if (hatched) {
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%d\" width=\"24\" height=\"16\" fill=\"#ddd\"/><rect x=\"%.1f\" y=\"%d\" "
            "width=\"24\" height=\"16\" fill=\"url(#hatch)\"/>\n",
            x, LEGEND - 12, x, LEGEND - 12);
    x = write_entry(file, x + 32,
                    s->p.slices > 0 ? "one supernode in several chunks; the longest are cut into row slices"
                                    : "one supernode in several chunks");
  }
  fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#ccc\"/>\n", x,
          LEGEND - 4 - side / 2, side, side);
  if (sample < 1e6)
    snprintf(text, sizeof text, "area of %g KB", sample / 1e3);
  else
    snprintf(text, sizeof text, "area of %g MB", sample / 1e6);
  write_entry(file, x + side + 8, text);
  fprintf(file,
          "<text x=\"%d\" y=\"%d\" font-size=\"11\" fill=\"#666\">Roots are on top. A supernode (columns "
          "\xc3\x97 rows) lies below its parent; its backward solve needs all that is above it. Areas are "
          "bytes of "
          "factor.</text>\n",
          LEFT, LEGEND + 26);
}

static bool write_picture(FILE *file, const tsi_session *s, const tsi_tree_layout *layout) {
  bool hatched = false;
  write_head(file, s, layout);
  fputs("<g stroke=\"#fff\" stroke-width=\".6\">\n", file);
  for (int64_t k = 0; k < layout->count; k++) {
    if (layout->boxes[k].width * PLOT_WIDTH < INVISIBLE) continue;
    write_box(file, &layout->boxes[k]);
    if (layout->boxes[k].parts > 1) hatched = true;
  }
  fputs("</g>\n", file);
  write_legend(file, s, layout, hatched);
  fputs("</svg>\n", file);
  return !ferror(file);
}

/* Merges more until few enough boxes are left. */
static bool lay_out(tsi_session *s, tsi_tree_layout *layout) {
  tristar_tree_view tree;
  const double bytes = (double)s->precision->bytes * (s->a.method == TRISTAR_METHOD_LU ? 2 : 1);
  double smallest = SMALLEST / PLOT_WIDTH;
  tristar_analysis_get_tree(tristar_factor_analysis(s->factor), &tree);
  for (;; smallest *= 1.5) {
    if (!tsi_tree_lay_out(&tree, tristar_plan_chunk_of_supernode(s->plan), (int32_t)s->p.chunks, bytes,
                          smallest, layout))
      return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for the picture", s->name);
    if (layout->count <= BOXES_MAX || smallest > 0.1) return true;
    free(layout->boxes);
  }
}

bool tsi_tree_draw(tsi_session *s, const char *path) {
  tsi_tree_layout layout;
  if (!lay_out(s, &layout)) return false;
  FILE *file = fopen(path, "w");
  bool ok = file != NULL && write_picture(file, s, &layout);
  if (file != NULL && fclose(file) != 0) ok = false;
  if (!ok) tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  free(layout.boxes);
  return ok;
}
