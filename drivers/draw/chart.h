/* Charts: pictures with two axes, series of values, and a legend above.
 *
 * A chart is drawn in this order: tsi_chart_begin, subtitle, tsi_chart_legend, tsi_chart_draw, other marks,
 * tsi_chart_end.
 *
 * Reads   its arguments.   Writes  SVG.
 * Invariants: a value that an axis cannot show (not finite, or not positive on a logarithmic one) has no
 * mark; all others have one, of class "point". */
#pragma once

#include "drivers/draw/picture.h"

/* Pixels. */
enum {
  TSI_CHART_WIDTH = 1200,
  TSI_CHART_LEFT = 96,
  TSI_CHART_RIGHT = TSI_CHART_WIDTH - 40,
  TSI_CHART_BELOW = 60
};

typedef enum tsi_series_kind {
  TSI_SERIES_MARKS,  /* marks, joined by a line */
  TSI_SERIES_ALONE,  /* marks */
  TSI_SERIES_LINE,   /* a line */
  TSI_SERIES_DASHED, /* a dashed line */
  TSI_SERIES_LEVEL   /* a dashed line across the plot at y[0] */
} tsi_series_kind;

typedef struct tsi_series {
  const char *name; /* name in the legend; NULL: no entry */
  tsi_series_kind kind;
  int colour; /* of tsi_svg_colour */
  tsi_shape shape;
  int64_t count;
  const double *x, *y;        /* count; x: unless it is a level */
  const double *least, *most; /* range of each y, drawn as a thin line; NULL: none */
} tsi_series;

/* Begins a picture with a chart: see tsi_picture_begin. */
bool tsi_chart_begin(tsi_picture *p, tsi_session *s, const char *path, const char *what);
/* Writes legend entries for the series that have a name and values. */
void tsi_chart_legend(tsi_picture *p, int count, const tsi_series *series);
/* Sets ranges and pixels of both axes, below the legend. An axis without a range (from = to) gets the range
 * of the series, with margins at both ends. Without pixels x fills the width, and y begins at the legend. */
void tsi_chart_place(const tsi_picture *p, tsi_axis *x, tsi_axis *y, int count, const tsi_series *series);
/* Does the same, and draws the axes and the series, the first one on top. */
void tsi_chart_draw(const tsi_picture *p, tsi_axis *x, tsi_axis *y, int count, const tsi_series *series);
bool tsi_chart_end(tsi_picture *p, const tsi_axis *y);

/* Return the colour of a right-hand side; write squares to the legend if there is more than one. */
int tsi_column_colour(int64_t nrhs, int64_t column);
void tsi_column_legend(tsi_legend *legend, int64_t nrhs);
