/* A list of tasks and the edges between them, in a legal order.
 *
 * Job. Store a recorded set of tasks, for StarPU to submit (runtime/exec/starpu/tasks.h), or for the calling
 * thread to run one after the other. The latter needs no StarPU.
 *
 * Reads   the added tasks.   Writes  its own members; the results of the tasks.
 * Invariant: before < item for every edge, so the order in which tasks were added is legal, and there is no
 * cycle. */
#pragma once

#include "dag/adjacency.h"
#include "runtime/base/env.h"

/* Estimated time of a task that reads `bytes` bytes. */
static inline double tsi_task_microseconds(double bytes) {
  return 1 + bytes / 15e3;
}

/* Bytes for such an estimate. */
static inline double tsi_task_bytes(double microseconds) {
  return microseconds > 1 ? (microseconds - 1) * 15e3 : 0;
}

/* Times and worker of a task that has run. Seconds of tsi_clock; worker as below. */
typedef struct tsi_task_span {
  double start, end;
  int worker;
} tsi_task_span;

/* The function of a task. worker: 0 .. workers-1, or -1 on the calling thread. */
typedef void (*tsi_task_run)(void *context, const tsi_index argument[4], int worker);

/* Data of a task that StarPU copies between main memory and devices. */
typedef enum tsi_use_mode { TSI_USE_R, TSI_USE_W, TSI_USE_RW, TSI_USE_SCRATCH } tsi_use_mode;
typedef struct tsi_task_use {
  struct tsi_device_data *data; /* runtime/exec/starpu/device_data.h */
  tsi_use_mode mode;
} tsi_task_use;

#define TSI_TASK_USES 8
typedef struct tsi_task_data {
  int device;          /* device that runs the task; negative: the host */
  double microseconds; /* for a task on a device: estimate for one right-hand side */
  double x_bytes,
      border_bytes; /* for a task on a device: bytes of x of its columns, of its exchanges with other tasks */
  int count;
  tsi_task_use use[TSI_TASK_USES];
} tsi_task_data;

/* Starts a task on a device. memory: addresses of the task's data. Returns 0, or an error number of the
 * device. */
typedef int (*tsi_task_on_device)(void *context, const tsi_index argument[4], void *const memory[]);

typedef struct tsi_task {
  tsi_task_run run;
  void *context;
  tsi_index argument[4];
  const char *name;
  double priority, microseconds;
  bool event;                /* ends when tsi_tasks_happen is called; run is NULL */
  const tsi_task_data *data; /* NULL: the task uses only main memory, and data that no device has */
  tsi_task_span span; /* of the latest recorded run, zeros before; for an event: the time when it happened */
} tsi_task;

typedef struct tsi_task_list {
  tsi_env *env;
  tsi_count count, capacity;
  tsi_task *task;
  tsi_count edges, edge_capacity;
  tsi_edge *edge;                   /* item waits for before */
  bool events;                      /* some tasks are events */
  bool devices;                     /* some tasks have data */
  tsi_task_on_device run_on_device; /* function of these tasks; the same for all */
  bool note_here; /* runs on the calling thread record the span of each task; runs on StarPU always do */
} tsi_task_list;

/* Creates an empty list. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_task_list_create(tsi_env *env, tsi_task_list **out);

/* Adds a task; *number counts from 0. name: static text, the kind (host_task.h). priority: tasks with larger
 * ones run earlier; any positive scale. microseconds: estimate for one right-hand side. Errors: MEMORY,
 * TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_task_list_add(tsi_task_list *list, const char *name, tsi_task_run run,
                                                 void *context, const tsi_index argument[4], double priority,
                                                 double microseconds, tsi_index *number);
/* Adds an event: a task that ends when tsi_tasks_happen is called, from any thread, once in each run. A list
 * with events runs only on StarPU. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_task_list_add_event(tsi_task_list *list, const char *name,
                                                       const tsi_index argument[4], tsi_index *number);
/* Makes `task` wait for `before` (< task). If before is TSI_NONE, there is no edge. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_task_list_after(tsi_task_list *list, tsi_index task, tsi_index before);

/* Sets the data of a task, which outlive the list, and its function on a device. A list with such tasks runs
 * only on StarPU. */
void tsi_task_list_use(tsi_task_list *list, tsi_index task, const tsi_task_data *data,
                       tsi_task_on_device on_device);

static inline tsi_index tsi_task_list_count(const tsi_task_list *list) {
  return (tsi_index)list->count;
}

/* Runs all tasks, in the order in which they were added. Errors: UNSUPPORTED (events, devices). */
TRISTAR_CHECKED tristar_status tsi_task_list_run(tsi_task_list *list);
