/* Axes of pictures: where a value lies, and lines with numbers.
 *
 * Reads   what it is given.   Writes  SVG.
 * Invariants
 *   - a number at a tick is the value of the tick, with all its digits
 *   - an axis of integers has no other numbers
 *   - an axis that is not linear says so beside its name */
#ifndef TSI_DRIVERS_DRAW_AXES_H
#define TSI_DRIVERS_DRAW_AXES_H

#include <stdbool.h>
#include <stdio.h>

/* Values from `from` to `to` lie at pixels `begin` to `end`. All else may be zero. */
typedef struct tsi_axis {
  double from, to, begin, end;
  bool logarithmic;
  bool integer;         /* ticks are integers */
  double apart;         /* pixels between two ticks, about; 0: 100 along, 48 upwards */
  const double *values; /* ticks are at these; NULL: at 1, 2 or 5 times powers of ten */
  int count;            /* of values */
  const char *id;       /* of the group of the ticks; NULL: none */
} tsi_axis;

double tsi_axis_at(const tsi_axis *axis, double value);
/* 1, 2 or 5 times a power of ten, near value from below. */
double tsi_axis_round(double value);
/* Ticks with numbers and lines across the plot, which is between pixels `near` (at the numbers) and `far` of
 * the other direction; `name` beside the numbers. x: below the plot; y: on its left. */
void tsi_axis_x(FILE *file, const tsi_axis *axis, double near, double far, const char *name);
void tsi_axis_y(FILE *file, const tsi_axis *axis, double near, double far, const char *name);

/* Seconds in a unit that suits numbers up to `most`: what to multiply with, and its name. */
double tsi_axis_time_unit(double most, const char **name);
/* The same for bytes: what to divide by. */
double tsi_axis_byte_unit(double most, const char **name);

#endif
