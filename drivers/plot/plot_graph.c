/* Levels of the items of a trace: see plot.h. */
#include "drivers/plot/plot.h"

#include <stdlib.h>

const tristar_trace_list *tsi_plot_list(const tristar_trace_t *trace) {
  return trace->steps.edges > 0 || trace->tasks.edges == 0 ? &trace->steps : &trace->tasks;
}

/* One above the last item that it waits for. */
static int64_t lowest(const tristar_trace_list *list, int64_t k, const int64_t *level) {
  const tristar_trace_item *item = &list->item[k];
  int64_t least = 0;
  for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
    if (level[list->before[e]] >= least) least = level[list->before[e]] + 1;
  return least;
}

/* Forward items that something waits for go up as far as they can. From the last to the first: room[k], the
 * lowest level of those that wait for k, is known when k is reached. */
static void raise_forward(const tristar_trace_list *list, int64_t *level, int64_t none, int64_t *room) {
  for (int64_t k = 0; k < list->count; k++) room[k] = none;
  for (int64_t k = list->count; k-- > 0;) {
    const tristar_trace_item *item = &list->item[k];
    if (tsi_plot_is_forward(item->kind) && room[k] != none) level[k] = room[k] - 1;
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++)
      if (level[k] < room[list->before[e]]) room[list->before[e]] = level[k];
  }
}

int64_t tsi_plot_rank(const tristar_trace_list *list, int64_t *level) {
  int64_t count = 0;
  for (int64_t k = 0; k < list->count; k++) {
    level[k] = lowest(list, k, level);
    if (level[k] >= count) count = level[k] + 1;
  }
  int64_t *room = calloc((size_t)list->count + 1, sizeof *room);
  if (room != NULL) raise_forward(list, level, count, room); /* else they stay where they are */
  free(room);
  return count;
}
