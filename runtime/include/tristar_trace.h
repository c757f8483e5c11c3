/* TriStar: timelines of solves: traces, profiles, and the graph of a plan. */
#ifndef TRISTAR_TRACE_H
#define TRISTAR_TRACE_H

#include "tristar_stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result of tristar_profile. */
typedef struct tristar_profile_result {
  int solves;             /* Number of profiled solves. */
  int workers;            /* CPU workers of StarPU. */
  double wall_seconds;    /* Seconds of all solves. */
  double kernel_seconds;  /* Seconds of all workers in tasks. */
  double outside_share;   /* Share of waiting and scheduling, 1 - kernel_seconds / (workers * wall_seconds): 0
                             to 1. */
  double busiest_seconds; /* Kernel seconds of the busiest worker. */
  double idlest_seconds;  /* Kernel seconds of the idlest worker. */
} tristar_profile_result;

/* Measures the time that StarPU's workers spend outside of tasks, by StarPU's own profiling, in `repeat`
 * solves without refinement after one warm-up. Profiling is switched off afterwards. Other tasks of that time
 * count, too. Reading StarPU's counters resets them, so the function refuses a program that profiles its own
 * StarPU. Errors: those of tristar_solve; ARGUMENT (repeat < 1); UNSUPPORTED: a plan without tasks, a call
 * inside a StarPU task, a program that profiles. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_profile(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                           const void *b, int64_t ldb, void *x, int64_t ldx,
                                                           int repeat, tristar_profile_result *result);

/* Work of a step of a solve, or of a task, which runs one or several steps. PUSH belongs to
 * TRISTAR_UPDATES_PUSH; READ, ROWS, DIAGONAL and WRITE to TRISTAR_KERNEL_SPMV; ARRIVAL to GRID_BACKWARD to
 * distributed solves; BORDER to subtrees on GPUs. */
typedef enum tristar_step_kind {
  TRISTAR_STEP_FORWARD_CHUNK,    /* Solves with the diagonal part of a chunk, and computes updates. */
  TRISTAR_STEP_FORWARD_SLICE,    /* Computes updates with a slice of a large panel. */
  TRISTAR_STEP_FORWARD_PUSH,     /* Adds the update of a pair of chunks. */
  TRISTAR_STEP_BACKWARD_CHUNK,   /* Solves with a chunk. */
  TRISTAR_STEP_BACKWARD_SLICE,   /* Computes sums with a slice of a large panel. */
  TRISTAR_STEP_BACKWARD_PUSH,    /* Copies x for a pair of chunks. */
  TRISTAR_STEP_READ,             /* Reads b. */
  TRISTAR_STEP_FORWARD_ROWS,     /* Multiplies by a block of rows. */
  TRISTAR_STEP_DIAGONAL,         /* Solves with D between the sweeps. */
  TRISTAR_STEP_BACKWARD_ROWS,    /* Multiplies by a block of rows. */
  TRISTAR_STEP_WRITE,            /* Writes x. */
  TRISTAR_STEP_ARRIVAL,          /* Arrival of a message; takes no time. */
  TRISTAR_STEP_FORWARD_SUM,      /* Adds the local and the received updates of a chunk. */
  TRISTAR_STEP_FORWARD_RECEIVE,  /* Receives x of a chunk. */
  TRISTAR_STEP_BACKWARD_SUM,     /* Adds the local and the received sums of a chunk. */
  TRISTAR_STEP_BACKWARD_RECEIVE, /* Receives x of a chunk. */
  TRISTAR_STEP_EXCHANGE,         /* One step of the sum over the grids. */
  TRISTAR_STEP_GRID_FORWARD,     /* Sends sums to another grid. */
  TRISTAR_STEP_GRID_BACKWARD,    /* Sends x to another grid. */
  TRISTAR_STEP_FORWARD_BORDER,   /* Receives updates from a GPU. */
  TRISTAR_STEP_BACKWARD_BORDER,  /* Copies x for a GPU. */
  TRISTAR_STEP_BUNDLE,           /* A task of several steps. */
  TRISTAR_STEP_BARRIER,          /* A task without step: TRISTAR_SCHEDULING_LEVELS. */
  TRISTAR_STEP_KINDS             /* Number of kinds. */
} tristar_step_kind;

/* A task of a traced solve, or a step of one. */
typedef struct tristar_trace_item {
  tristar_step_kind kind; /* Work of the item. */
  const char *name;       /* Name of the kind, static text. */
  int rank;               /* Rank of a distributed solve, else 0. */
  int worker;             /* Worker, 0 to workers - 1. */
  int device;             /* GPU of the subtree that it solves with, from 0. -1: cores. */
  double start, end;      /* Seconds from the beginning of the solve. A task on a GPU ends when the GPU has
                             received it; it may run later. */
  double bytes;           /* Bytes that it reads, about. */
  double up_bytes;        /* Task on a GPU: bytes that cross the bus to the GPU before it. */
  double down_bytes;      /* Task on a GPU: bytes that cross the bus back after it. */
  int64_t chunk;          /* Chunk of its columns; of a task: of its first step. -1: none. */
  int64_t number;       /* Chunk, slice, pair or block of rows, by its kind; of a task: of its first step. */
  int64_t first_step;   /* First step in the trace; of a step: itself. */
  int64_t steps;        /* Number of consecutive steps of a task; of a step: 1. */
  int64_t first_before; /* It waits for the items before[first_before ..] of the same list. */
  int64_t befores;      /* Number of items that it waits for. */
  int critical;         /* 1: it is on the longest chain of measured durations. */
  int binding;          /* 1: a task whose delay delays the whole solve: the last task to end and, for each
                           such task, the last to end of its predecessors and of the task before it on its
                           worker. */
} tristar_trace_item;

/* Items and their dependences. An item depends on items with lower numbers only. */
typedef struct tristar_trace_list {
  int64_t count, edges;     /* Number of items, number of dependences. */
  tristar_trace_item *item; /* count items. */
  int64_t *before;          /* edges numbers of items. */
  double critical_seconds;  /* Seconds of the longest chain, a lower bound for any number of workers. */
} tristar_trace_list;

/* One solve, by tasks and by steps. */
typedef struct tristar_trace_s {
  int ranks;      /* Ranks of a distributed solve, else 1. */
  int workers;    /* Workers as in tristar_solve_stats, rank by rank. 1 per rank: the calling thread. */
  double seconds; /* Seconds of the solve. */
  const char *scheduler;           /* Scheduler of StarPU, or "serial"; static text. */
  tristar_trace_list tasks, steps; /* StarPU tasks, and the steps inside them. */
  void *owner;                     /* Internal. */
} tristar_trace_t;

/* Makes two solves without refinement: a warm-up, and one whose tasks record their time and worker. x must
 * not be b. tristar_trace_destroy frees *trace. StarPU's profiling stays off, and solves without trace cost
 * nothing more. Errors: those of tristar_solve; ARGUMENT also if x is b. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_trace(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                         const void *b, int64_t ldb, void *x, int64_t ldx,
                                                         tristar_trace_t **trace);
/* Frees the trace and sets *trace to NULL. Accepts NULL. */
TRISTAR_API void tristar_trace_destroy(tristar_trace_t **trace);

/* The chunk of the first panel of each supernode: supernodes entries, borrowed from the plan. */
TRISTAR_API const int32_t *tristar_plan_get_chunk_of_supernode(const tristar_plan_t *plan);

/* Writes the graph (chunks, slices, edges) in Graphviz DOT form. The path "-" is standard output. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_write_dot(const tristar_plan_t *plan,
                                                                  const char *path);

#ifdef __cplusplus
}
#endif
#endif
