/* The time of each process in a distributed solve, as stacked bars: see plot.h.
 *
 * There is one bar per process. Its height is the time of its workers in a solve, divided into arithmetic,
 * waiting for messages of its grid (XY) and of other grids (Z), idle time, and the movement of b and x.
 * Processes of a grid are adjacent. */
#ifdef TSI_HAVE_MPI

#include "drivers/plot/plot.h"

#include <math.h>
#include <stdio.h>

#include "drivers/session/files.h"
#include "drivers/session/layout.h"
#include "drivers/report/report.h"

/* Pixels. */
enum { WIDTH = 1000, LEFT = 90, RIGHT = 24, TOP = 108, HEIGHT = 360, BOTTOM = 64, GRID_ROW = 20 };
#define PLOT (WIDTH - LEFT - RIGHT)
#define GRIDS_MOST 24 /* maximum number of grids with names */

typedef struct part {
  const char *label, *colour;
  double seconds;
} part;

enum { PARTS = 5 };

static void list_parts(const tristar_distributed_stats *s, part parts[PARTS]) {
  parts[0] = (part){"arithmetic", tsi_svg_colour[TSI_BLUE], s->compute_seconds};
  parts[1] = (part){"waiting, XY messages", tsi_svg_colour[TSI_ORANGE], s->xy_seconds};
  parts[2] = (part){"waiting, Z messages", tsi_svg_colour[TSI_VERMILLION], s->z_seconds};
  parts[3] = (part){"idle", "#d0d7de", s->idle_seconds};
  parts[4] = (part){"b and x", tsi_svg_colour[TSI_PURPLE],
                    s->redistribute_seconds * (s->workers > 0 ? s->workers : 1)};
}

static double height_of(const tristar_distributed_stats *s) {
  part parts[PARTS];
  double sum = 0;
  list_parts(s, parts);
  for (int k = 0; k < PARTS; k++) sum += parts[k].seconds;
  return sum;
}

static void draw_bar(FILE *file, const tristar_distributed_stats *stats, int rank, double x, double width,
                     const tsi_axis *time) {
  double y = time->begin;
  part parts[PARTS];
  list_parts(stats, parts);
  for (int k = 0; k < PARTS; k++) {
    const double height = time->begin - tsi_axis_at(time, parts[k].seconds);
    y -= height;
    tsi_svg_area(file, NULL, x, y, width, height, parts[k].colour);
    fprintf(file, "<title>rank %d, %s: %s</title></rect>\n", rank, parts[k].label,
            tsi_text_time(parts[k].seconds));
  }
}

/* Draws the bars; processes of a grid are adjacent. */
static void draw_bars(FILE *file, const tristar_layout *layout, int ranks,
                      const tristar_distributed_stats *stats, const tsi_axis *time) {
  const int grid = layout->px * layout->py, below = TOP + HEIGHT;
  const double space = PLOT / (ranks + 0.5 * (layout->pz - 1));
  const int every = (int)ceil(36 / space), named = (layout->pz + GRIDS_MOST - 1) / GRIDS_MOST;
  for (int r = 0; r < ranks; r++) {
    const double x = LEFT + space * (r + 0.5 * (r / grid)) + 0.1 * space;
    draw_bar(file, &stats[r], r, x, 0.8 * space, time);
    if (r % every == 0)
      tsi_svg_write(file, x + 0.4 * space, below + 18, "font-size=\"12\" text-anchor=\"middle\"", "%d", r);
    if (r % grid == 0 && layout->pz > 1 && (r / grid) % named == 0)
      tsi_svg_write(file, x - 0.1 * space + 0.5 * space * grid, below + 18 + GRID_ROW,
                    "font-size=\"12\" text-anchor=\"middle\" fill=\"#57606a\"", "%s%d",
                    space * grid > 50 ? "grid " : "", r / grid);
  }
}

bool tsi_processes_svg(tsi_session *s, const tristar_layout *layout, int ranks,
                       const tristar_distributed_stats *stats) {
  tsi_picture p;
  part parts[PARTS];
  double longest = 0;
  for (int r = 0; r < ranks; r++) longest = fmax(longest, height_of(&stats[r]));
  const tsi_axis time = {.to = longest > 0 ? 1.02 * longest : 1,
                         .begin = TOP + HEIGHT,
                         .end = TOP,
                         .name = "time, of all workers of a process",
                         .quantity = TSI_SECONDS};
  if (!tsi_picture_begin(&p, s, s->settings->svg, "Time of each process in a solve", WIDTH, LEFT))
    return false;
  tsi_picture_subtitle(&p, "%d \xc3\x97 %d \xc3\x97 %d processes, %s algorithm, %s map, %s trees, %s each",
                       layout->px, layout->py, layout->pz, tsi_algorithm_name(s->settings),
                       tsi_map_name(layout->map), tsi_tree_name(layout->message_tree),
                       tsi_text_many(stats[0].workers > 0 ? stats[0].workers : 1, "worker"));
  list_parts(&stats[0], parts);
  for (int k = 0; k < PARTS; k++) tsi_legend_square(&p.legend, parts[k].colour, "%s", parts[k].label);
  tsi_axis_y(p.file, &time, LEFT, LEFT + PLOT);
  draw_bars(p.file, layout, ranks, stats, &time);
  tsi_svg_write(p.file, LEFT + PLOT / 2.0, TOP + HEIGHT + 40 + (layout->pz > 1 ? GRID_ROW : 0),
                "class=\"axis\" text-anchor=\"middle\"", "rank%s", layout->pz > 1 ? ", and grid" : "");
  return tsi_picture_end(&p, TOP + HEIGHT + BOTTOM + GRID_ROW);
}

#else

typedef int tsi_no_processes_svg; /* a file must not be empty */

#endif
