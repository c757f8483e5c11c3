/* Pictures of workers over time, for plot_gantt.c and example programs. It needs no other header of TriStar,
 * so that examples can include it.
 *
 * Reads   its arguments.   Writes  SVG.
 * Invariants: times are seconds from the beginning of the picture; bars are inside the inner <svg id="time">,
 * whose origin is the upper left corner of the plot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Width of the whole picture, and left edge of the plot, in pixels. */
enum { TSI_GANTT_WIDTH = 1200, TSI_GANTT_LEFT = 92 };
#define TSI_GANTT_FRAME 2.5 /* narrower bars have no white frame */
#define TSI_GANTT_IDLE "#eaeef2"

typedef struct tsi_gantt {
  FILE *file;
  int workers;
  double seconds;
  double lane, bar, gap; /* pixels from lane to lane; of a bar; of the line below it */
  double scale;          /* pixels per second */
  double top;            /* upper edge of the plot */
} tsi_gantt;

/* legend_end: base line of the last row of the legend. Returns the height of the picture. */
double tsi_gantt_init(tsi_gantt *g, FILE *file, int workers, double seconds, double legend_end);
/* Draws the background of a worker's lane, its name, and the share of the time in which it was busy. busy:
 * seconds. */
void tsi_gantt_lane(const tsi_gantt *g, int worker, const char *name, double busy);
/* Returns the middle of a lane, inside the inner <svg>. */
double tsi_gantt_middle(const tsi_gantt *g, int worker);
/* Draws the axis and begins the inner <svg>. */
void tsi_gantt_begin(const tsi_gantt *g);
/* Returns the width of so many seconds in pixels. */
double tsi_gantt_wide(const tsi_gantt *g, double seconds);
/* Writes a <rect of this class, from pixel `top` of the lane's bar on. style: more attributes and the end of
 * the tag.
 */
void tsi_gantt_rect(const tsi_gantt *g, const char *class, int worker, double start, double end, double top,
                    double height, const char *style);
void tsi_gantt_end(const tsi_gantt *g);

/* ---- A whole chart ------------------------------------------------------------------------------------ */

typedef struct tsi_gantt_item {
  int worker, kind;
  double start, end;
  const char *name;
} tsi_gantt_item;

typedef struct tsi_gantt_chart {
  const char *title, *subtitle;
  int workers;
  double seconds;
  int kinds; /* number of kinds of items, at most 9; each has its own colour */
  const char *const *kind_name;
  int64_t count;
  const tsi_gantt_item *item;
} tsi_gantt_chart;

/* Writes an SVG file with the part of each item inside 0 .. seconds. Returns false with errno set on failure.
 */
bool tsi_gantt_write(const char *path, const tsi_gantt_chart *chart);
