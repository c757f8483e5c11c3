/* Places for labels: see labels.h. */
#include "drivers/draw/labels.h"

#include <stdint.h>

#include "drivers/draw/svg.h"

enum {
  MARK = 12,
  RINGS = 6,
  AWAY = 14
}; /* pixels: distance from a mark; number of rings; pixels between rings */

static void take(tsi_labels *l, tsi_box box) {
  if (l->count < TSI_LABELS_MOST) l->taken[l->count++] = box;
}

void tsi_labels_take(tsi_labels *l, double x, double y, double radius) {
  take(l, (tsi_box){x - radius, y - radius, x + radius, y + radius});
}

static bool is_free(const tsi_labels *l, tsi_box box) {
  if (box.left < l->frame.left || box.right > l->frame.right || box.top < l->frame.top ||
      box.bottom > l->frame.bottom)
    return false;
  for (int k = 0; k < l->count; k++)
    if (box.left < l->taken[k].right && l->taken[k].left < box.right && box.top < l->taken[k].bottom &&
        l->taken[k].top < box.bottom)
      return false;
  return true;
}

/* Returns the box of a text with this centre. */
static tsi_box box_around(double x, double y, double width) {
  return (tsi_box){x - width / 2, y - TSI_LABEL_SIZE / 2.0 - 1, x + width / 2, y + TSI_LABEL_SIZE / 2.0 + 1};
}

bool tsi_labels_write(FILE *file, tsi_labels *l, double x, double y, bool above, const char *text) {
  const double width = tsi_svg_width(text, TSI_LABEL_SIZE), up = above ? -1 : 1;
  for (int ring = 0; ring < RINGS; ring++) {
    const double away = MARK + TSI_LABEL_SIZE / 2.0 + ring * AWAY, aside = MARK + width / 2 + ring * AWAY;
    const double places[][2] = {{0, up * away},      {0, -up * away},     {aside, 0},
                                {-aside, 0},         {aside, up * away},  {-aside, up * away},
                                {aside, -up * away}, {-aside, -up * away}};
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
      const double middle_x = x + places[k][0], middle_y = y + places[k][1];
      const tsi_box box = box_around(middle_x, middle_y, width);
      if (!is_free(l, box)) continue;
      take(l, box);
      fprintf(file,
              "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"middle\" "
              "stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">",
              middle_x, middle_y + 4.3, TSI_LABEL_SIZE);
      tsi_svg_text(file, text, SIZE_MAX);
      fputs("</text>\n", file);
      return true;
    }
  }
  return false;
}
