/* A list of tasks and the edges between them, in a legal order.
 *
 * Job. Hold what a recorded set of tasks consists of, for StarPU to submit (runtime/exec/starpu/tasks.h), or
 * run it here: one task after the other, on the calling thread. No StarPU is needed for that.
 *
 * Reads   what the caller adds.   Writes  its own members; what the tasks write.
 * Invariants
 *   - before < item for every edge: the order in which the tasks were added is a legal one, and there is no
 * cycle */
#pragma once

#include "dag/adjacency.h"
#include "runtime/base/env.h"

/* The estimate for a task that reads so many bytes. */
static inline double tsi_task_microseconds(double bytes) {
  return 1 + bytes / 15e3;
}

/* The bytes that such an estimate is for. */
static inline double tsi_task_bytes(double microseconds) {
  return microseconds > 1 ? (microseconds - 1) * 15e3 : 0;
}

/* When and where a task ran. Seconds of tsi_clock; worker as below. */
typedef struct tsi_task_span {
  double start, end;
  int worker;
} tsi_task_span;

/* What a task does. worker: 0 .. workers-1, or -1 on the calling thread. */
typedef void (*tsi_task_run)(void *context, const tsi_index argument[4], int worker);

/* Data that a task works with, which StarPU moves between main memory and devices. */
typedef enum tsi_use_mode { TSI_USE_R, TSI_USE_W, TSI_USE_RW, TSI_USE_SCRATCH } tsi_use_mode;
typedef struct tsi_task_use {
  struct tsi_device_data *data; /* runtime/exec/starpu/device_data.h */
  tsi_use_mode mode;
} tsi_task_use;

#define TSI_TASK_USES 8
typedef struct tsi_task_data {
  int device;          /* it runs there; negative: on the host */
  double microseconds; /* of one on a device: the estimate for one right-hand side */
  double x_bytes,
      border_bytes; /* of one on a device: of x of its columns, of what it exchanges with others */
  int count;
  tsi_task_use use[TSI_TASK_USES];
} tsi_task_data;

/* What a task does on a device: starts it there. memory: where the task's data is. Returns 0, or an error
 * number of the device. */
typedef int (*tsi_task_on_device)(void *context, const tsi_index argument[4], void *const memory[]);

typedef struct tsi_task {
  tsi_task_run run;
  void *context;
  tsi_index argument[4];
  const char *name;
  double priority, microseconds;
  bool event;                /* over when somebody says so: run is NULL */
  const tsi_task_data *data; /* NULL: it works in main memory, with what no device has */
  tsi_task_span span; /* of the latest run that noted it, zeros before; written by who runs it; of an event:
                         when it happened */
} tsi_task;

typedef struct tsi_task_list {
  tsi_env *env;
  tsi_count count, capacity;
  tsi_task *task;
  tsi_count edges, edge_capacity;
  tsi_edge *edge;                   /* item waits for before */
  bool events;                      /* there are some */
  bool devices;                     /* some tasks have data */
  tsi_task_on_device run_on_device; /* of those; the same for all */
  bool note_here; /* runs on the calling thread note the span of each task; those on StarPU always do */
} tsi_task_list;

/* Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_task_list_create(tsi_env *env, tsi_task_list **out);

/* Adds a task; *number counts from 0. name: static text, the kind (host_task.h). priority: larger runs
 * earlier; any positive scale. microseconds: estimate for one right-hand side. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_task_list_add(tsi_task_list *list, const char *name, tsi_task_run run,
                                                 void *context, const tsi_index argument[4], double priority,
                                                 double microseconds, tsi_index *number);
/* Adds an event: a task that is over when tsi_tasks_happen is called, from any thread, once in each run. A
 * list with events can run on StarPU only. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_task_list_add_event(tsi_task_list *list, const char *name,
                                                       const tsi_index argument[4], tsi_index *number);
/* `task` waits for `before` (< task). TSI_NONE as before: no edge. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_task_list_after(tsi_task_list *list, tsi_index task, tsi_index before);

/* Gives a task data, which outlives the list; on_device: what it does there, if it runs on a device. A list
 * with such tasks can run on StarPU only. */
void tsi_task_list_use(tsi_task_list *list, tsi_index task, const tsi_task_data *data,
                       tsi_task_on_device on_device);

static inline tsi_index tsi_task_list_count(const tsi_task_list *list) {
  return (tsi_index)list->count;
}

/* Runs all tasks, in the order in which they were added. Errors: UNSUPPORTED (events, devices). */
TRISTAR_CHECKED tristar_status tsi_task_list_run(tsi_task_list *list);
