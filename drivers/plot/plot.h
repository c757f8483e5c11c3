/* The pictures of `tristar plot`, one file each.
 *
 * Reads   a session with the objects for the picture; its options, such as --nrhs, --op and --repeat.
 * Writes  the file of --out, and its figures to a JSON object. All functions return false after a failure,
 * with the message in the session. */
#pragma once

#include "drivers/report/bandwidth.h"
#include "drivers/report/json.h"
#include "drivers/draw/picture.h"
#include "tristar_trace.h"
#include "tristar_layout.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"
#ifdef TSI_HAVE_MPI
#include "tristar_mpi.h"
#endif

/* The input of a picture. */
typedef struct tsi_plot {
  tsi_session *s;
  const tristar_layout *layout; /* NULL without --layout */
  cJSON *from;                  /* the file --from; NULL without it */
  cJSON *figures;
} tsi_plot;

/* plot.c: warns if `tristar solve` would not factor the matrix, although the picture shows factors. The
 * matrix has been read. */
void tsi_plot_check_factors(const tsi_session *s);

/* ---- A traced solve ------------------------------------------------------------------------------------ */

struct tsi_traced;
/* plot_gantt.c: workers x time, task by task. */
bool tsi_plot_gantt(const tsi_plot *plot, const struct tsi_traced *traced);
/* Draws solves that were traced before, also on many processes, to this file. */
bool tsi_gantt_draw(tsi_session *s, const char *path, const struct tsi_traced *traced);
/* plot_timeline.c: writes the trace as events for viewers, in the format of the ending (.json, .trace). */
bool tsi_timeline_write(tsi_session *s, const char *path, const tristar_trace_t *trace);
/* plot_dag.c: steps and their dependencies. */
bool tsi_plot_dag(const tsi_plot *plot, const struct tsi_traced *traced);
/* plot_levels.c: time and number of steps of each level of the DAG. */
bool tsi_plot_levels(const tsi_plot *plot, const struct tsi_traced *traced);

/* ---- The factor: the session has an analysis ----------------------------------------------------------- */

/* plot_spy.c: positions of the entries of the factors, by chunk, or by process of the layout. */
bool tsi_plot_spy(const tsi_plot *plot);
/* plot_placement.c: the assembly tree with the device of each subtree, in the plan or, with --gpu, by the
 * cost model.
 */
bool tsi_plot_placement(const tsi_plot *plot);

/* ---- Measured: the session has an analysis; other objects are made between measurements ---------------- */

/* plot_roofline.c: GF/s against flops per byte. */
bool tsi_plot_roofline(const tsi_plot *plot);
/* plot_rhs.c: time against the number of right-hand sides. */
bool tsi_plot_rhs(const tsi_plot *plot);
/* plot_refinement.c: backward error against corrections and iterations of FGMRES. */
bool tsi_plot_refinement(const tsi_plot *plot);
/* plot_memory.c: memory during analysis, factorization, plan and solves. */
bool tsi_plot_memory(const tsi_plot *plot);

/* ---- Others ------------------------------------------------------------------------------------------- */

/* plot_communication.c: messages between the processes of the layout; the session has an analysis. */
bool tsi_plot_communication(const tsi_plot *plot);
/* plot_scaling.c: time of a solve against workers, each number in a separate process, and predictions for
 * processes, for which the session has an analysis. */
bool tsi_plot_scaling(const tsi_plot *plot);
/* plot_reuse.c: time of a number of solves, including all preparations. With --from the session has only a
 * name; else the matrix is read here. */
bool tsi_plot_reuse(const tsi_plot *plot);
#ifdef TSI_HAVE_MPI
/* processes_svg.c: --svg of a distributed solve: a stacked bar for each of `ranks` processes. */
bool tsi_processes_svg(tsi_session *s, const tristar_layout *layout, int ranks,
                       const tristar_distributed_stats *stats);
#endif
/* plot_study.c: times of simulated solves in a file of tools/bench/study_sc23 or study_zc21. The session has
 * only a name. */
bool tsi_plot_study(const tsi_plot *plot);
/* Reads such a file; delete the object. Returns NULL with a message on failure. */
cJSON *tsi_plot_read_study(const char *path, char *message, size_t size);
/* Reads a file of `tristar bench --json`; delete the object. Returns NULL with a message on failure. */
cJSON *tsi_plot_read_bench(const char *path, char *message, size_t size);
/* Returns the name of the matrix if the file has only one; else NULL. */
const char *tsi_plot_only_matrix(const cJSON *file);

/* ---- Common functions --------------------------------------------------------------------------------- */

/* Returns --nrhs, or 1. */
static inline int64_t tsi_plot_nrhs(const tsi_session *s) {
  return s->settings->nrhs > 0 ? s->settings->nrhs : 1;
}

/* plot_trace.c: --repeat traced solves, and the one with the median time. */
typedef struct tsi_traced {
  const tristar_trace_t *trace;
  int64_t solves;
  double least, most; /* seconds of the fastest and the slowest */
  tristar_trace_t **all;
} tsi_traced;

/* Allocates --repeat traces. */
bool tsi_traced_allocate(tsi_session *s, tsi_traced *traced);
/* Chooses the trace with the median time; all traces have been made. Fails if a solve has no task. */
bool tsi_traced_choose(tsi_session *s, tsi_traced *traced);
/* Factors, plans and traces. Also fails if a solve has no task. Free *traced even after a failure. */
bool tsi_plot_trace(tsi_session *s, tsi_traced *traced);
void tsi_plot_trace_free(tsi_traced *traced);
/* A worker of a trace. */
typedef struct tsi_lane {
  int rank;
  double busy; /* seconds in tasks */
  char name[32];
} tsi_lane;
tsi_lane tsi_plot_lane(const tristar_trace_t *trace, int worker);
/* Writes the line below the title: matrix, entries, workers, scheduler, time and its share in tasks. */
void tsi_plot_subtitle(const tsi_picture *p, const tsi_traced *traced);
/* Add times and workers; the items of a list under this key. */
void tsi_plot_add_trace(cJSON *figures, const tsi_traced *traced);
void tsi_plot_add_items(cJSON *figures, const char *key, const tristar_trace_list *list);

/* plot_measure.c: limits of the machine, measured before StarPU's workers start. nrhs: columns of the tall
 * products. */
typedef struct tsi_limits {
  tsi_bandwidth bandwidth;
  double square, tall; /* GF/s of DGEMM, with one thread per expected worker */
} tsi_limits;
bool tsi_plot_limits(tsi_session *s, int64_t nrhs, tsi_limits *limits);
void tsi_plot_add_limits(cJSON *figures, const tsi_limits *limits);

/* A solve, or one sweep, with some right-hand sides: times of --repeat runs after a warm-up, and its work.
 * Flops: two for each entry of the factor and right-hand side, eight in complex types. Bytes: the exact
 * entries of the factor once for each block of 64 right-hand sides, and b and x. */
typedef struct tsi_timed {
  int64_t nrhs;
  double seconds, least, most; /* the median, the fastest, the slowest */
  double flops, bytes;
} tsi_timed;
/* The session has a plan. b, x: at least nrhs columns. */
bool tsi_plot_time(tsi_session *s, tristar_part part, int64_t nrhs, const tristar_dense *b,
                   const tristar_dense *x, tsi_timed *out);
cJSON *tsi_plot_make_timed(const tsi_timed *timed);

/* plot_trace.c: computes a level for each item of a list. An item has a higher level than the items that it
 * waits for. Forward items are one level below the first item that waits for them, other items one level
 * above the last item that they wait for, so that related items are close. Returns the number of levels.
 * level: list->count. */
int64_t tsi_plot_rank(const tristar_trace_list *list, int64_t *level);
/* Returns the steps if there are edges between them; else the tasks, whose barriers order them. */
const tristar_trace_list *tsi_plot_list(const tristar_trace_t *trace);

/* plot_kinds.c: colour and name of a kind of items; does the kind belong to the forward sweep? */
const char *tsi_plot_colour(tristar_step_kind kind);
const char *tsi_plot_name(tristar_step_kind kind);
bool tsi_plot_is_forward(tristar_step_kind kind);
/* Writes squares for the kinds in the trace. */
void tsi_plot_legend(tsi_legend *legend, const tristar_trace_t *trace);
/* Writes "forward chunk 7", "forward slice 3 of chunk 7"; returns text. */
const char *tsi_plot_item_text(const tristar_trace_item *item, char *text, size_t size);
/* Writes this text and the figures of an item as <title>. */
void tsi_plot_tip(FILE *file, const tristar_trace_t *trace, const tristar_trace_item *item);
