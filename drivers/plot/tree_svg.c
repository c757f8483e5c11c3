/* Draws the layout of an assembly tree as SVG: see tree.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/report/report.h"
#include "drivers/draw/picture.h"
#include "drivers/plot/tree.h"

/* Pixels. */
#define PICTURE_WIDTH 1200
#define PICTURE_HEIGHT 704
#define LEFT 24
#define TOP 76
#define PLOT_WIDTH (PICTURE_WIDTH - 2 * LEFT)
#define PLOT_HEIGHT 560
#define LEGEND (TOP + PLOT_HEIGHT + 34)
#define SMALLEST 3.6 /* minimum width of a box */

#define INVISIBLE 0.05 /* narrower boxes are not drawn */
#define BOXES_MAX 4000 /* keeps the file below 1 MB */

static const char *method_text(tristar_method method) {
  return method == TRISTAR_METHOD_LLT ? "Cholesky" : method == TRISTAR_METHOD_LDLT ? "L D L^T" : "LU";
}

static void write_head(const tsi_picture *p, const tsi_tree_layout *layout) {
  const tsi_session *s = p->s;
  fputs("<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><path d=\"M0 0V7\" stroke=\"#000\" stroke-opacity=\".28\" "
        "stroke-width=\"2\"/></pattern></defs>\n",
        p->file);
  tsi_picture_subtitle(p, "n = %s, %s, %s of factor (%s, %s ordering); a solve has %s%s%s",
                       tsi_text_count(s->a.n), tsi_text_many(s->a.supernodes, "supernode"),
                       tsi_text_bytes(layout->bytes), method_text(s->a.method), tsi_session_ordering(s),
                       tsi_text_many(s->p.chunks, "chunk"), s->p.slices > 0 ? " and " : "",
                       s->p.slices > 0 ? tsi_text_many(s->p.slices, "row slice") : "");
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

/* Writes rectangle number `part` of a box, from below; its tooltip is for the whole box. */
static void write_part(FILE *file, const tsi_tree_box *box, int32_t part) {
  char colour[8];
  const double height = box->height / box->parts, y = box->y + box->height - (part + 1) * height;
  tsi_svg_area(file, NULL, LEFT + box->x * PLOT_WIDTH, TOP + y * PLOT_HEIGHT, box->width * PLOT_WIDTH,
               height * PLOT_HEIGHT, tsi_svg_many_colours(box->chunk + part, false, colour));
  write_tooltip(file, box);
  fputs("</rect>\n", file);
}

void tsi_tree_label(FILE *file, double x, double y, double width, const char *halo, const char *text) {
  char attributes[200];
  if (width < tsi_svg_width(text, TSI_TREE_LABEL) + 8) return;
  snprintf(
      attributes, sizeof attributes,
      "font-size=\"%d\" text-anchor=\"middle\" pointer-events=\"none\" stroke=\"%s\" stroke-opacity=\".75\" "
      "stroke-width=\"3\" paint-order=\"stroke\"",
      TSI_TREE_LABEL, halo);
  tsi_svg_write(file, x, y, attributes, "%s", text);
}

/* Writes "columns x rows" of a supernode, if it fits. */
static void write_label(FILE *file, const tsi_tree_box *box, int32_t parts) {
  const double width = box->width * PLOT_WIDTH, height = box->height * PLOT_HEIGHT / parts;
  char label[64];
  if (box->supernodes > 1)
    snprintf(label, sizeof label, "%s", tsi_text_many(box->supernodes, "supernode"));
  else
    snprintf(label, sizeof label, "%s \xc3\x97 %s", tsi_text_count(box->columns),
             tsi_text_count(box->columns + box->rows));
  if (height < (parts > 1 ? 9 : 13)) return;
  tsi_tree_label(file, LEFT + box->x * PLOT_WIDTH + width / 2,
                 TOP + box->y * PLOT_HEIGHT + height * (parts / 2 + 0.5) + 3.8, width,
                 box->parts > 1 ? "#fff" : "none", label);
}

static void write_box(FILE *file, const tsi_tree_box *box) {
  const int32_t parts =
      2 * box->parts < box->height * PLOT_HEIGHT ? box->parts : 1; /* 1: they would be too thin */
  tsi_tree_box shown = *box;
  shown.parts = parts;
  for (int32_t part = 0; part < parts; part++) write_part(file, &shown, part);
  if (box->parts > 1) {
    tsi_svg_rect(file, NULL, LEFT + box->x * PLOT_WIDTH, TOP + box->y * PLOT_HEIGHT, box->width * PLOT_WIDTH,
                 box->height * PLOT_HEIGHT);
    fputs("fill=\"url(#hatch)\" stroke=\"none\" pointer-events=\"none\"/>\n", file);
  }
  write_label(file, box, parts);
}

static void write_legend(FILE *file, const tsi_session *s, const tsi_tree_layout *layout, bool hatched) {
  const double scale = PLOT_WIDTH * PLOT_HEIGHT / (layout->bytes > 0 ? layout->bytes : 1); /* px^2 per byte */
  const double sample = tsi_axis_round(900 / scale), side = sqrt(sample * scale);
  tsi_legend legend = tsi_legend_begin(file, LEFT, LEFT + PLOT_WIDTH, LEGEND);
  char colour[8];
  const int colours = s->p.chunks < 3 ? (int)s->p.chunks : 3;
  double x = tsi_legend_place(&legend, 18 * colours, "one colour, one chunk");
  for (int k = 0; k < colours; k++, x += 18) {
    tsi_svg_area(file, NULL, x, LEGEND - 12, 16, 16, tsi_svg_many_colours(k, false, colour));
    fputs("</rect>\n", file);
  }
  if (hatched) {
    x = tsi_legend_place(&legend, 24, "one supernode in several chunks%s",
                         s->p.slices > 0 ? "; the longest are cut into row slices" : "");
    tsi_svg_area(file, NULL, x, LEGEND - 12, 24, 16, "#ddd");
    fputs("</rect>", file);
    tsi_svg_area(file, NULL, x, LEGEND - 12, 24, 16, "url(#hatch)");
    fputs("</rect>\n", file);
  }
  if (sample < 1) return;
  x = tsi_legend_place(&legend, side, "area of %s", tsi_text_round_bytes(sample));
  tsi_svg_area(file, NULL, x, LEGEND - 4 - side / 2, side, side, "#ccc");
  fputs("</rect>\n", file);
}

static void write_picture(const tsi_picture *p, const tsi_tree_layout *layout) {
  bool hatched = false;
  write_head(p, layout);
  fputs("<g stroke=\"#fff\" stroke-width=\".6\">\n", p->file);
  for (int64_t k = 0; k < layout->count; k++) {
    if (layout->boxes[k].width * PLOT_WIDTH < INVISIBLE) continue;
    write_box(p->file, &layout->boxes[k]);
    if (layout->boxes[k].parts > 1) hatched = true;
  }
  fputs("</g>\n", p->file);
  write_legend(p->file, p->s, layout, hatched);
  tsi_picture_note(
      p, LEFT, LEGEND + 28,
      "Roots are on top. A supernode (columns \xc3\x97 rows) lies below its parent; its backward solve "
      "needs all that is above it. Areas are bytes of factor.");
}

static void add_boxes(cJSON *figures, const tsi_tree_layout *layout) {
  cJSON *array = cJSON_AddArrayToObject(figures, "items");
  for (int64_t k = 0; k < layout->count; k++) {
    const tsi_tree_box *box = &layout->boxes[k];
    cJSON *object = tsi_json_add_item(array);
    TSI_JSON_NUMBERS(object, {"chunk", box->chunk}, {"chunks", box->parts},
                     {"supernodes", (double)box->supernodes}, {"columns", (double)box->columns},
                     {"rows_below", (double)box->rows}, {"bytes", box->bytes});
  }
}

/* Merges boxes until few enough are left. */
bool tsi_tree_lay_out_pixels(tsi_session *s, const int32_t *chunk_of, int32_t chunks, double width,
                             tsi_tree_layout *layout) {
  tristar_assembly_tree tree;
  const double bytes = (double)s->precision->bytes * (s->a.method == TRISTAR_METHOD_LU ? 2 : 1);
  double smallest = SMALLEST / width;
  tristar_analysis_get_assembly_tree(tristar_factor_get_analysis(s->factor), &tree);
  for (;; smallest *= 1.5) {
    if (!tsi_tree_lay_out(&tree, chunk_of, chunks, bytes, smallest, layout))
      return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for the picture", s->name);
    if (layout->count <= BOXES_MAX || smallest > 0.1) return true;
    free(layout->boxes);
  }
}

bool tsi_tree_draw(tsi_session *s, const char *path, cJSON *figures) {
  tsi_tree_layout layout;
  tsi_picture p;
  if (!tsi_tree_lay_out_pixels(s, tristar_plan_get_chunk_of_supernode(s->plan), (int32_t)s->p.chunks,
                               PLOT_WIDTH, &layout))
    return false;
  bool ok = tsi_picture_begin(&p, s, path, "Assembly tree", PICTURE_WIDTH, LEFT);
  if (ok) {
    write_picture(&p, &layout);
    ok = tsi_picture_end(&p, PICTURE_HEIGHT);
  }
  if (ok && figures != NULL) add_boxes(figures, &layout);
  free(layout.boxes);
  return ok;
}
