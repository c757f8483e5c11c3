/* TriStar: where the time of solves goes: traces, profiles, and the DAG of a plan as a picture.
 *
 * Include it beside tristar.h; it belongs to the same library. */
#ifndef TRISTAR_TRACE_H
#define TRISTAR_TRACE_H

#include "tristar_stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of tristar_profile. */
typedef struct tristar_profile_result {
  int solves;            /* that were profiled */
  int workers;           /* CPU workers of StarPU */
  double wall_seconds;   /* of all solves */
  double kernel_seconds; /* that workers spent in tasks, over all workers */
  double outside_share;  /* 1 - kernel_seconds / (workers * wall_seconds): waiting, scheduling; 0 .. 1 */
  double busiest_seconds, idlest_seconds; /* of kernel_seconds: the largest and the smallest of a worker */
} tristar_profile_result;

/* `repeat` solves as by tristar_solve, after a first one that does not count, with StarPU's own profiling
 * switched on: how much of the time of its workers passes outside of tasks. Profiling is switched off again
 * afterwards. Reading StarPU's counters resets them, so this is refused where StarPU belongs to the program
 * and it has profiling on. Other tasks that run at the same time are counted too. Errors: those of
 * tristar_solve; ARGUMENT (repeat < 1); UNSUPPORTED: a plan without tasks, a call from inside a StarPU task,
 * a program that profiles. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_profile(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                           const void *b, int64_t ldb, void *x, int64_t ldx,
                                                           int repeat, tristar_profile_result *result);

/* What a step of a solve does, or a task, which runs one or several of them. Chunks and slices: solve with a
 * chunk of the factor, or multiply with a slice of a large panel; pushes: TRISTAR_UPDATES_PUSH; read, rows,
 * diagonal and write: TRISTAR_KERNEL_SPMV; from arrivals to messages between grids: of distributed solves. */
typedef enum tristar_step_kind {
  TRISTAR_STEP_FORWARD_CHUNK,    /* solves with the diagonal part of a chunk, and updates below it */
  TRISTAR_STEP_FORWARD_SLICE,    /* updates with a slice of a large panel */
  TRISTAR_STEP_FORWARD_PUSH,     /* adds a pair of chunks' update */
  TRISTAR_STEP_BACKWARD_CHUNK,   /* solves with a chunk */
  TRISTAR_STEP_BACKWARD_SLICE,   /* sums with a slice of a large panel */
  TRISTAR_STEP_BACKWARD_PUSH,    /* copies x for a pair of chunks */
  TRISTAR_STEP_READ,             /* reads b */
  TRISTAR_STEP_FORWARD_ROWS,     /* multiplies with a block of rows */
  TRISTAR_STEP_DIAGONAL,         /* solves with D between the sweeps */
  TRISTAR_STEP_BACKWARD_ROWS,    /* multiplies with a block of rows */
  TRISTAR_STEP_WRITE,            /* writes x */
  TRISTAR_STEP_ARRIVAL,          /* a message is there; takes no time */
  TRISTAR_STEP_FORWARD_SUM,      /* adds the updates of a chunk, its own and received ones */
  TRISTAR_STEP_FORWARD_RECEIVE,  /* takes x of a chunk */
  TRISTAR_STEP_BACKWARD_SUM,     /* adds the sums for a chunk, its own and received ones */
  TRISTAR_STEP_BACKWARD_RECEIVE, /* takes x of a chunk */
  TRISTAR_STEP_EXCHANGE,         /* a step of the sum over the grids */
  TRISTAR_STEP_GRID_FORWARD,     /* sends sums to another grid */
  TRISTAR_STEP_GRID_BACKWARD,    /* sends x to another grid */
  TRISTAR_STEP_FORWARD_BORDER,   /* updates come from a device */
  TRISTAR_STEP_BACKWARD_BORDER,  /* copies x for a device */
  TRISTAR_STEP_BUNDLE,           /* a task with several steps */
  TRISTAR_STEP_BARRIER,          /* a task with none: TRISTAR_SCHEDULING_LEVELS */
  TRISTAR_STEP_KINDS             /* how many there are */
} tristar_step_kind;

/* A task of a traced solve, or a step of one. */
typedef struct tristar_trace_item {
  tristar_step_kind kind; /* what is done */
  const char *name;       /* static text */
  int rank;               /* of a distributed solve, else 0 */
  int worker;             /* 0 .. workers - 1 */
  int device; /* that has the subtree which it solves with: its number, from 0 on; -1: the cores do it */
  double start, end;  /* seconds from the beginning of the solve; a task on a device ends when that has it to
                         do, and may be at work by then */
  double bytes;       /* that it streams, about */
  double up_bytes;    /* of a task on a device: that cross the bus to it before the task, */
  double down_bytes;  /* and back after it */
  int64_t chunk;      /* whose columns it works on, of a task: in its first step; -1: none */
  int64_t number;     /* chunk, slice, pair or block of rows, by its kind; of a task: of its first step */
  int64_t first_step; /* of the trace; a step's: itself */
  int64_t steps;      /* of a task: that many follow each other; of a step: 1 */
  int64_t first_before, befores; /* waits for items before[first_before ..] of the same list */
  int critical;                  /* it is on the longest chain of measured durations */
  int binding; /* of a task: had it taken longer, so would have the whole. That holds for the last task to end
                  and, for each such task, for the one that ended last of those that it waited for and of the
                  task before it on its worker */
} tristar_trace_item;

/* An item waits for items with lower numbers only. */
typedef struct tristar_trace_list {
  int64_t count, edges;     /* items; entries of before */
  tristar_trace_item *item; /* count */
  int64_t *before;          /* edges */
  double critical_seconds;  /* of the longest chain: no number of workers can be faster */
} tristar_trace_list;

/* One solve, task by task, and step by step within the tasks. */
typedef struct tristar_trace_s {
  int ranks;             /* of a distributed solve, else 1 */
  int workers;           /* as in tristar_solve_stats, of all ranks together, those of a rank after those
                            of the ranks before it; 1 a rank: it ran on the calling thread */
  double seconds;        /* from its begin to its end */
  const char *scheduler; /* static text; "serial" without StarPU */
  tristar_trace_list tasks, steps; /* of StarPU; of the DAG, within the tasks */
  void *owner;                     /* of the library */
} tristar_trace_t;

/* Two solves as by tristar_solve, the first one as a warm-up; of the second one every task notes when and
 * where it ran. *trace is to be given to tristar_trace_destroy. x must not be
 * b. Nothing of StarPU's profiling is switched on; solves that are not traced pay nothing. Errors: those of
 * tristar_solve; ARGUMENT also if x is b. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_trace(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                         const void *b, int64_t ldb, void *x, int64_t ldx,
                                                         tristar_trace_t **trace);
/* Accepts NULL. */
TRISTAR_API void tristar_trace_destroy(tristar_trace_t **trace);

/* Which chunk each supernode's first panel lies in: supernodes entries, borrowed from the plan. */
TRISTAR_API const int32_t *tristar_plan_get_chunk_of_supernode(const tristar_plan_t *plan);

/* Writes the DAG (chunks, slices, edges) in Graphviz DOT form; "-" as path: to standard output. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_write_dot(const tristar_plan_t *plan,
                                                                  const char *path);

#ifdef __cplusplus
}
#endif
#endif
