/* Tasks with data handles: tasks on a device, and tasks on the host that read or write data of device tasks.
 *
 * Dependencies are explicit, as for host tasks (host_task.h). Handles only define where the data is needed;
 * StarPU copies it there. A task on a device may return before the device has finished it; its successors
 * wait for the device's stream.
 *
 * Performance model: the submitter's estimate. The submitter chooses the worker of a task, so schedulers do
 * not use the model. */
#pragma once

#include "codelets/host_task.h"

#define TSI_TASK_HANDLES 8 /* maximum number of handles of a task */

/* cl_arg of a task on a device; owned by the submitter. */
typedef struct tsi_device_task {
  void (*run)(void *arg, void *const memory[], int worker); /* memory: address of the data of each handle */
  void *arg;
  double microseconds;         /* estimate for one right-hand side */
  const _Atomic(int) *columns; /* right-hand sides of the run */
} tsi_device_task;

/* The function that runs such a task, for any kind of worker. */
void tsi_device_task_run(void *buffers[], void *cl_arg);
/* Initializes *codelet for tasks on devices. It has no functions yet: the caller adds them. */
void tsi_device_codelet_init(struct starpu_codelet *codelet);
/* Makes *task a recorded task on a device. */
void tsi_device_task_init(struct starpu_task *task, struct starpu_codelet *codelet, tsi_device_task *body,
                          const char *name, int priority, int worker);
/* Makes an initialized host task one with handles. */
void tsi_host_task_use_handles(struct starpu_task *task);
/* Adds a handle to a task. */
void tsi_task_add_handle(struct starpu_task *task, starpu_data_handle_t handle,
                         enum starpu_data_access_mode mode);
