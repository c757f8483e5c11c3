/* Workers x time: what plot_gantt.c and example programs share. It needs no header of ours, so that an
 * example can include it.
 *
 * Reads   what it is given.   Writes  SVG.
 * Invariants: times are seconds from the beginning of what is drawn; bars lie inside the inner <svg
 * id="time">, whose origin is the upper left corner of the plot. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Pixels of the whole picture, and where the plot begins on its left. */
enum { TSI_GANTT_WIDTH = 1200, TSI_GANTT_LEFT = 92 };
#define TSI_GANTT_FRAME 2.5 /* what is narrower has no white frame */
#define TSI_GANTT_IDLE "#eaeef2"

typedef struct tsi_gantt {
  FILE *file;
  int workers;
  double seconds;
  double lane, bar, gap; /* pixels from lane to lane, of a bar, and of the line below it */
  double scale;          /* pixels a second */
  double top;            /* where the plot begins */
} tsi_gantt;

/* legend_end: the base line of the last row of the legend. Returns the height of the picture. */
double tsi_gantt_init(tsi_gantt *g, FILE *file, int workers, double seconds, double legend_end);
/* The background of a worker's lane, what it is called, and its share of the time, of which it was busy for
 * `busy` seconds. */
void tsi_gantt_lane(const tsi_gantt *g, int worker, const char *name, double busy);
/* The middle of a lane, inside the inner <svg>. */
double tsi_gantt_middle(const tsi_gantt *g, int worker);
/* The axis; begins the inner <svg>. */
void tsi_gantt_begin(const tsi_gantt *g);
/* The pixels that so many seconds take. */
double tsi_gantt_wide(const tsi_gantt *g, double seconds);
/* <rect of this class; from pixel `top` of the lane's bar on. style: further attributes and the end of the
 * tag. */
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
  int kinds; /* of items, at most 9; each has its own colour */
  const char *const *kind_name;
  int64_t count;
  const tsi_gantt_item *item;
} tsi_gantt_chart;

/* Writes an SVG file with what of each item lies in 0 .. seconds. False, with errno, if it cannot. */
bool tsi_gantt_write(const char *path, const tsi_gantt_chart *chart);
