/* The pictures of `tristar plot`, one file each.
 *
 * Reads   a session with whatever the picture needs; --nrhs, --op and --layout.
 * Writes  the file --out. All give false after a failure, with the message in the session. */
#ifndef TSI_DRIVERS_PLOT_H
#define TSI_DRIVERS_PLOT_H

#include "drivers/picture.h"

/* plot_gantt.c: workers x time, task by task. */
bool tsi_plot_gantt(tsi_session *s, const tristar_trace_t *trace);
/* plot_dag.c: what waits for what. */
bool tsi_plot_dag(tsi_session *s, const tristar_trace_t *trace);
/* plot_levels.c: the time of each level of the DAG, and how many steps it has. */
bool tsi_plot_levels(tsi_session *s, const tristar_trace_t *trace);
/* plot_spy.c: where the entries of the factors are, by chunk, or by process of --layout. The session has an
 * analysis; and a plan, if layout is NULL. */
bool tsi_plot_spy(tsi_session *s, const tristar_layout *layout);
/* plot_roofline.c: GF/s against flops per byte. The session has an analysis; the rest is made between the
 * measurements. */
bool tsi_plot_roofline(tsi_session *s);

/* plot_graph.c: a level for each item of a list. What an item waits for has lower levels. Forward items are
 * one level below the first that waits for them, all others one above the last that they wait for: so what
 * belongs together is close. Gives the number of levels. level: list->count. */
int64_t tsi_plot_rank(const tristar_trace_list *list, int64_t *level);
/* Steps if there are edges between them; else the tasks, whose barriers order them. */
const tristar_trace_list *tsi_plot_list(const tristar_trace_t *trace);

/* plot_kinds.c: how items of a kind look, what they are called, and whether they belong to the forward sweep.
 */
const char *tsi_plot_colour(tristar_step_kind kind);
const char *tsi_plot_name(tristar_step_kind kind);
bool tsi_plot_is_forward(tristar_step_kind kind);
/* Squares for the kinds that the trace has; gives where the next entry begins. */
double tsi_plot_legend(FILE *file, double x, double y, const tristar_trace_t *trace);
/* "chunk 7", "slice 3 of chunk 7" and what else is to be told about an item, as <title>. */
void tsi_plot_tip(FILE *file, const tristar_trace_t *trace, const tristar_trace_item *item);
/* The line below the title: matrix, entries, workers, scheduler, time and share of it in tasks. */
void tsi_plot_subtitle(const tsi_picture *p, double x, const tristar_trace_t *trace);

#endif
