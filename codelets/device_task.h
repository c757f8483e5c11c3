/* Tasks with data handles: those that run on a device, and those on the host that read or write what such
 * tasks work with.
 *
 * Dependencies are explicit, as those of host tasks (host_task.h): handles say only where the data has to be,
 * and StarPU moves it there. A task on a device may return before the device is through with it; what comes
 * after it waits for the device's stream.
 *
 * Performance model: the submitter's estimate. A task runs on the worker that the submitter names, so no
 * scheduler chooses by it. */
#pragma once

#include "codelets/host_task.h"

#define TSI_TASK_HANDLES 8 /* of a task at most */

/* cl_arg of a task on a device; owned by the submitter. */
typedef struct tsi_device_task {
  void (*run)(void *arg, void *const memory[], int worker); /* memory: where each handle's data is */
  void *arg;
  double microseconds;         /* estimate for one right-hand side */
  const _Atomic(int) *columns; /* right-hand sides of the run */
} tsi_device_task;

/* The function that runs such a task, for any kind of worker. */
void tsi_device_task_run(void *buffers[], void *cl_arg);
/* Makes *codelet one of tasks on devices, which runs nowhere yet: functions are for the caller to add. */
void tsi_device_codelet_init(struct starpu_codelet *codelet);
/* Makes *task a recorded task on a device. */
void tsi_device_task_init(struct starpu_task *task, struct starpu_codelet *codelet, tsi_device_task *body,
                          const char *name, int priority, int worker);
/* A host task that was initialized gets handles. */
void tsi_host_task_use_handles(struct starpu_task *task);
/* Adds a handle to a task. */
void tsi_task_add_handle(struct starpu_task *task, starpu_data_handle_t handle,
                         enum starpu_data_access_mode mode);
