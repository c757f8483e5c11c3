/* Charts: values against values, as marks and lines of several series, with a legend above.
 *
 * Reads   what it is given.   Writes  SVG.
 * Invariants: a value that an axis cannot show (not finite, or not positive on a logarithmic one) has no
 * mark; all others have one, of class "point". */
#ifndef TSI_DRIVERS_DRAW_CHART_H
#define TSI_DRIVERS_DRAW_CHART_H

#include "drivers/draw/picture.h"

/* Pixels of a chart that fills a picture. */
enum {
  TSI_CHART_WIDTH = 1200,
  TSI_CHART_LEFT = 96,
  TSI_CHART_RIGHT = 40,
  TSI_CHART_LEGEND = 86,
  TSI_CHART_ABOVE = 20,
  TSI_CHART_BELOW = 60
};

typedef enum tsi_series_kind {
  TSI_SERIES_MARKS, /* marks, joined by a line */
  TSI_SERIES_ALONE, /* marks */
  TSI_SERIES_LINE,  /* a line */
  TSI_SERIES_DASHED /* a dashed line */
} tsi_series_kind;

typedef struct tsi_series {
  const char *name; /* in the legend; NULL: it has no entry */
  tsi_series_kind kind;
  int colour; /* of tsi_svg_colour */
  tsi_shape shape;
  int64_t count;
  const double *x, *y;        /* count */
  const double *least, *most; /* of each y, which a thin line spans; NULL: none */
} tsi_series;

/* The entry of the legend. */
void tsi_series_legend(tsi_legend *legend, const tsi_series *series);
/* What it looks like. name of the y axis: for the texts under the pointer. */
void tsi_series_write(FILE *file, const tsi_axis *x, const tsi_axis *y, const tsi_series *series,
                      const char *x_name, const char *y_name);

/* Widens a range by the values that a (logarithmic) axis can show; begin with from = INFINITY, to =
 * -INFINITY.
 */
void tsi_axis_include(tsi_axis *axis, int64_t count, const double *values);
/* Adds room at both ends, so that no mark lies on the border; makes an axis of a range without values, or
 * with a single one, too. A linear one begins at 0. */
void tsi_axis_widen(tsi_axis *axis);

#endif
