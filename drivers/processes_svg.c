/* Draws stacked bars: see processes_svg.h.
 *
 * One bar for each process, its height the time of its workers in a solve, cut into arithmetic, waiting for
 * messages of the own grid (XY) and of other grids (Z), idle time, and the movement of b and x. Processes of
 * a grid stand together. */
#ifdef TSI_HAVE_MPI

#include "drivers/processes_svg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/layout.h"
#include "drivers/report.h"
#include "drivers/svg.h"

/* Pixels. */
enum { WIDTH = 1000, LEFT = 90, RIGHT = 24, TOP = 110, HEIGHT = 360, BOTTOM = 96, TICKS = 5 };

typedef struct part {
  const char *label, *colour;
  double seconds;
} part;

enum { PARTS = 5 };

static void list_parts(const tristar_distributed_stats *s, part parts[PARTS]) {
  parts[0] = (part){"arithmetic", "#2f78c4", s->compute_seconds};
  parts[1] = (part){"waiting, XY messages", "#e08a00", s->xy_seconds};
  parts[2] = (part){"waiting, Z messages", "#c23b3b", s->z_seconds};
  parts[3] = (part){"idle", "#c9d1d9", s->idle_seconds};
  parts[4] = (part){"b and x", "#7a6a4f", s->redistribute_seconds * (s->workers > 0 ? s->workers : 1)};
}

static double height_of(const tristar_distributed_stats *s) {
  part parts[PARTS];
  double sum = 0;
  list_parts(s, parts);
  for (int k = 0; k < PARTS; k++) sum += parts[k].seconds;
  return sum;
}

static void draw_axis(FILE *file, double longest) {
  for (int k = 0; k <= TICKS; k++) {
    const double y = TOP + HEIGHT - (double)HEIGHT * k / TICKS;
    fprintf(file, "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#dde3e8'/>\n", LEFT, WIDTH - RIGHT, y,
            y);
    fprintf(file, "<text x='%d' y='%.1f' text-anchor='end'>%s</text>\n", LEFT - 8, y + 4,
            k == 0 ? "0" : tsi_text_seconds(longest * k / TICKS));
  }
}

static void draw_legend(FILE *file) {
  part parts[PARTS];
  const tristar_distributed_stats none = {.rank = 0};
  list_parts(&none, parts);
  for (int k = 0; k < PARTS; k++) {
    const int x = LEFT + k * 180;
    fprintf(file, "<rect x='%d' y='72' width='14' height='14' fill='%s'/>\n", x, parts[k].colour);
    fprintf(file, "<text x='%d' y='84'>%s</text>\n", x + 20, parts[k].label);
  }
}

static void draw_bars(FILE *file, const tristar_layout *layout, int ranks,
                      const tristar_distributed_stats *stats, double longest) {
  const int grid = layout->px * layout->py;
  const double room = (double)(WIDTH - LEFT - RIGHT) / (ranks + 0.5 * (layout->pz - 1));
  for (int r = 0; r < ranks; r++) {
    const double x = LEFT + room * (r + 0.5 * (r / grid)) + 0.1 * room;
    double y = TOP + HEIGHT;
    part parts[PARTS];
    list_parts(&stats[r], parts);
    for (int k = 0; k < PARTS; k++) {
      const double height = longest > 0 ? HEIGHT * parts[k].seconds / longest : 0;
      y -= height;
      fprintf(file,
              "<rect x='%.1f' y='%.2f' width='%.1f' height='%.2f' fill='%s'><title>rank %d, %s: "
              "%s</title></rect>\n",
              x, y, 0.8 * room, height, parts[k].colour, r, parts[k].label,
              tsi_text_seconds(parts[k].seconds));
    }
    if (ranks <= 64)
      fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle'>%d</text>\n", x + 0.4 * room,
              TOP + HEIGHT + 18, r);
    if (r % grid == 0 && layout->pz > 1)
      fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle' fill='#57606a'>grid %d</text>\n",
              x - 0.1 * room + 0.5 * room * grid, TOP + HEIGHT + 40, r / grid);
  }
}

static void draw(FILE *file, const tsi_session *s, const tristar_layout *layout, int ranks,
                 const tristar_distributed_stats *stats) {
  double longest = 0;
  for (int r = 0; r < ranks; r++)
    if (height_of(&stats[r]) > longest) longest = height_of(&stats[r]);
  tsi_svg_head(file, WIDTH, TOP + HEIGHT + BOTTOM);
  fprintf(file, "<text x='%d' y='32' font-size='18'>", LEFT);
  tsi_svg_text(file, s->name, SIZE_MAX);
  fprintf(file, ": where the time of each process goes</text>\n");
  fprintf(file,
          "<text x='%d' y='54' fill='#57606a'>%d x %d x %d processes, %s algorithm, %s map, %s trees, %s "
          "each</text>\n",
          LEFT, layout->px, layout->py, layout->pz, tsi_algorithm_name(s->settings),
          tsi_map_name(layout->map), tsi_tree_name(layout->tree),
          tsi_text_many(stats[0].workers > 0 ? stats[0].workers : 1, "worker"));
  draw_axis(file, longest);
  draw_legend(file);
  draw_bars(file, layout, ranks, stats, longest);
  fprintf(file, "<text x='%d' y='%d' text-anchor='middle'>rank</text>\n</svg>\n", (LEFT + WIDTH - RIGHT) / 2,
          TOP + HEIGHT + 68);
}

bool tsi_processes_svg(tsi_session *s, const tristar_layout *layout, int ranks,
                       const tristar_distributed_stats *stats) {
  const char *path = s->settings->svg;
  FILE *file = fopen(path, "w");
  if (file == NULL) return tsi_session_fail(s, TRISTAR_ERR_IO, "cannot open %s: %s", path, strerror(errno));
  draw(file, s, layout, ranks, stats);
  const bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed)
    return tsi_session_fail(s, TRISTAR_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  return true;
}

#else

typedef int tsi_no_processes_svg; /* a file must not be empty */

#endif
