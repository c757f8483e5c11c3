/* Draws stacked bars: see processes_svg.h.
 *
 * One bar for each process, its height the time of its workers in a solve, cut into arithmetic, waiting for
 * messages of the own grid (XY) and of other grids (Z), idle time, and the movement of b and x. Processes of
 * a grid stand together. */
#ifdef TSI_HAVE_MPI

#include "drivers/plot/processes_svg.h"

#include <math.h>
#include <stdio.h>

#include "drivers/session/files.h"
#include "drivers/session/layout.h"
#include "drivers/draw/picture.h"
#include "drivers/report/report.h"

/* Pixels. */
enum {
  WIDTH = 1000,
  LEFT = 90,
  RIGHT = 24,
  LEGEND = 84,
  TOP = 108,
  HEIGHT = 360,
  BOTTOM = 64,
  GRID_ROW = 20
};
#define PLOT (WIDTH - LEFT - RIGHT)
#define GRIDS_MOST 24 /* that are named */

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

static void draw_legend(FILE *file) {
  part parts[PARTS];
  const tristar_distributed_stats none = {.rank = 0};
  tsi_legend legend = tsi_legend_begin(file, LEFT, WIDTH - RIGHT, LEGEND);
  list_parts(&none, parts);
  for (int k = 0; k < PARTS; k++) tsi_legend_square(&legend, parts[k].colour, parts[k].label);
}

static void draw_bar(FILE *file, const tristar_distributed_stats *stats, int rank, double x, double width,
                     const tsi_axis *time, double unit) {
  double y = time->begin;
  part parts[PARTS];
  list_parts(stats, parts);
  for (int k = 0; k < PARTS; k++) {
    const double height = time->begin - tsi_axis_at(time, parts[k].seconds * unit);
    y -= height;
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%.2f\" width=\"%.1f\" height=\"%.2f\" fill=\"%s\"><title>rank %d, %s: "
            "%s</title></rect>\n",
            x, y, width, height, parts[k].colour, rank, parts[k].label, tsi_text_time(parts[k].seconds));
  }
}

/* Processes of a grid stand together. */
static void draw_bars(FILE *file, const tristar_layout *layout, int ranks,
                      const tristar_distributed_stats *stats, const tsi_axis *time, double unit) {
  const int grid = layout->px * layout->py, below = TOP + HEIGHT;
  const double room = PLOT / (ranks + 0.5 * (layout->pz - 1));
  const int every = (int)ceil(36 / room), named = (layout->pz + GRIDS_MOST - 1) / GRIDS_MOST;
  for (int r = 0; r < ranks; r++) {
    const double x = LEFT + room * (r + 0.5 * (r / grid)) + 0.1 * room;
    draw_bar(file, &stats[r], r, x, 0.8 * room, time, unit);
    if (r % every == 0)
      fprintf(file, "<text x=\"%.1f\" y=\"%d\" font-size=\"12\" text-anchor=\"middle\">%d</text>\n",
              x + 0.4 * room, below + 18, r);
    if (r % grid == 0 && layout->pz > 1 && (r / grid) % named == 0)
      fprintf(
          file,
          "<text x=\"%.1f\" y=\"%d\" font-size=\"12\" text-anchor=\"middle\" fill=\"#57606a\">%s%d</text>\n",
          x - 0.1 * room + 0.5 * room * grid, below + 18 + GRID_ROW, room * grid > 50 ? "grid " : "",
          r / grid);
  }
}

static void draw(const tsi_picture *p, const tristar_layout *layout, int ranks,
                 const tristar_distributed_stats *stats) {
  const tsi_session *s = p->s;
  double longest = 0;
  const char *unit;
  char name[80];
  for (int r = 0; r < ranks; r++) longest = fmax(longest, height_of(&stats[r]));
  const double in_unit = tsi_axis_time_unit(longest, &unit);
  const tsi_axis time = {.to = longest > 0 ? 1.02 * longest * in_unit : 1, .begin = TOP + HEIGHT, .end = TOP};
  tsi_picture_title(p, LEFT, "Where the time of each process goes in a solve");
  tsi_picture_subtitle(p, LEFT,
                       "%d \xc3\x97 %d \xc3\x97 %d processes, %s algorithm, %s map, %s trees, %s each",
                       layout->px, layout->py, layout->pz, tsi_algorithm_name(s->settings),
                       tsi_map_name(layout->map), tsi_tree_name(layout->message_tree),
                       tsi_text_many(stats[0].workers > 0 ? stats[0].workers : 1, "worker"));
  draw_legend(p->file);
  snprintf(name, sizeof name, "time, of all workers of a process (%s)", unit);
  tsi_axis_y(p->file, &time, LEFT, LEFT + PLOT, name);
  draw_bars(p->file, layout, ranks, stats, &time, in_unit);
  fprintf(p->file, "<text class=\"axis\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">rank%s</text>\n",
          LEFT + PLOT / 2.0, TOP + HEIGHT + 40 + (layout->pz > 1 ? GRID_ROW : 0),
          layout->pz > 1 ? ", and grid" : "");
}

bool tsi_processes_svg(tsi_session *s, const tristar_layout *layout, int ranks,
                       const tristar_distributed_stats *stats) {
  tsi_picture p;
  if (!tsi_picture_begin(&p, s, s->settings->svg, WIDTH, TOP + HEIGHT + BOTTOM + GRID_ROW)) return false;
  draw(&p, layout, ranks, stats);
  return tsi_picture_end(&p);
}

#else

typedef int tsi_no_processes_svg; /* a file must not be empty */

#endif
