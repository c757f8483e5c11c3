/* Data that tasks on devices work with: a StarPU handle, and where the data is in main memory.
 *
 * Reads, writes   the data, where StarPU moves it.
 * Invariants: no task of StarPU's uses data that is destroyed or renewed. */
#pragma once

#include "runtime/base/env.h"
#include "runtime/exec/steps/task_list.h"

typedef struct tsi_device_data tsi_device_data;

/* at: in main memory, the caller's; NULL: it is on devices only. bytes > 0. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_data_create(tsi_env *env, void *at, size_t bytes,
                                                      tsi_device_data **out);
/* What is in main memory is what it holds. Waits for transfers; not from inside a StarPU task. Errors:
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_data_renew(tsi_env *env, tsi_device_data *data);
/* Main memory has what it holds from then on, until a task writes it. The same errors. */
TRISTAR_CHECKED tristar_status tsi_device_data_fetch(tsi_env *env, tsi_device_data *data);
size_t tsi_device_data_bytes(const tsi_device_data *data);
/* What devices have is forgotten. Not from inside a StarPU task. */
void tsi_device_data_destroy(tsi_device_data **data);

/* Runs one task on the device of data->device, and waits for it. start: starts it there, memory as the uses
 * of data; returns 0 or an error number of the device. Not from inside a StarPU task. Errors: NO_WORKER,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_task_alone(tsi_env *env, const tsi_task_data *data,
                                                     int (*start)(void *arg, void *const memory[]),
                                                     void *arg);

struct starpu_task;
/* Adds the handles of a task's data to its StarPU task. */
void tsi_device_data_add(const tsi_task_data *data, struct starpu_task *task);
