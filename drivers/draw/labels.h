/* Labels of points that do not lie on each other.
 *
 * Reads   what it is given.   Writes  SVG.
 * Invariant: no label that is written leaves the frame, or meets another one or a place that is taken. */
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

/* Takes the place of a mark. With more than TSI_LABELS_MOST places, later ones are not looked at. */
void tsi_labels_take(tsi_labels *labels, double x, double y, double radius);
/* Writes a text near the mark at (x, y): above it or below, then beside it, then farther away. Gives whether
 * there was room. */
bool tsi_labels_write(FILE *file, tsi_labels *labels, double x, double y, bool above, const char *text);
