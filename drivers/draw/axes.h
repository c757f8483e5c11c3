/* Axes of pictures: positions of values, and lines with numbers.
 *
 * Reads   its arguments.   Writes  SVG.
 * Invariants
 *   - a number at a tick is the value of the tick, with all its digits
 *   - an axis of integers has no other numbers
 *   - the name of an axis shows if it is not linear */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The quantity of the values: seconds and bytes are shown in the unit that suits the largest value. */
typedef enum tsi_quantity { TSI_NUMBER, TSI_SECONDS, TSI_BYTES } tsi_quantity;

/* Values from `from` to `to` are drawn at pixels `begin` to `end`. All other fields may be zero. */
typedef struct tsi_axis {
  double from, to, begin, end;
  const char *name; /* name beside the numbers; a unit follows it in parentheses */
  tsi_quantity quantity;
  bool logarithmic;
  bool integer;         /* ticks are integers */
  double apart;         /* approximate pixels between two ticks; 0: 100 along, 48 upwards */
  const double *values; /* positions of ticks; NULL: 1, 2 or 5 times powers of ten */
  int count;            /* number of values */
  const char *id;       /* id of the group of the ticks; NULL: none */
} tsi_axis;

double tsi_axis_at(const tsi_axis *axis, double value);
/* Returns the number that the axis shows for a value, in its unit. */
double tsi_axis_number(const tsi_axis *axis, double value);
/* Writes the name of the axis with its unit: "time (ms)". */
void tsi_axis_name(const tsi_axis *axis, char *text, size_t size);
/* Returns the largest number <= value that is 1, 2 or 5 times a power of ten. */
double tsi_axis_round(double value);
/* Writes ticks with numbers and lines across the plot, which is between pixels `near` (at the numbers) and
 * `far` of the other direction. x: below the plot; y: on its left. */
void tsi_axis_x(FILE *file, const tsi_axis *axis, double near, double far);
void tsi_axis_y(FILE *file, const tsi_axis *axis, double near, double far);
