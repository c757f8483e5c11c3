/* Labels of points that do not overlap.
 *
 * Reads   its arguments.   Writes  SVG.
 * Invariant: every label is inside the frame, and overlaps no other label and no taken area. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

enum { TSI_LABELS_MOST = 512, TSI_LABEL_SIZE = 12 };

typedef struct tsi_box {
  double left, top, right, bottom;
} tsi_box;

typedef struct tsi_labels {
  tsi_box frame;
  int count;
  tsi_box taken[TSI_LABELS_MOST];
} tsi_labels;

/* Reserves the area of a mark. Areas beyond TSI_LABELS_MOST are ignored. */
void tsi_labels_take(tsi_labels *labels, double x, double y, double radius);
/* Writes a text near the mark at (x, y): above or below it, else beside it, else farther away. Returns false
 * if there is no space. */
bool tsi_labels_write(FILE *file, tsi_labels *labels, double x, double y, bool above, const char *text);
