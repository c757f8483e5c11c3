/* Data of tasks on devices: a StarPU handle, and the address of the data in main memory.
 *
 * Reads, writes   the data, where StarPU copies it.
 * Invariants: no StarPU task uses data that is being destroyed or renewed. */
#pragma once

#include "runtime/base/env.h"
#include "runtime/exec/steps/task_list.h"

typedef struct tsi_device_data tsi_device_data;

/* at: address in main memory, which the caller owns; NULL: the data is only on devices. bytes > 0. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_data_create(tsi_env *env, void *at, size_t bytes,
                                                      tsi_device_data **out);
/* Makes the contents of main memory the current data. Waits for transfers; must not be called inside a StarPU
 * task. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_data_renew(tsi_env *env, tsi_device_data *data);
/* Copies the current data to main memory, where it is valid until a task writes the data. The same errors. */
TRISTAR_CHECKED tristar_status tsi_device_data_fetch(tsi_env *env, tsi_device_data *data);
size_t tsi_device_data_bytes(const tsi_device_data *data);
/* Discards the data on devices. Must not be called inside a StarPU task. */
void tsi_device_data_destroy(tsi_device_data **data);

/* Runs one task on the device of data->device, and waits for it. start: starts it there, with memory in the
 * order of the uses of data; returns 0 or an error number of the device. Must not be called inside a StarPU
 * task. Errors: NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_task_alone(tsi_env *env, const tsi_task_data *data,
                                                     int (*start)(void *arg, void *const memory[]),
                                                     void *arg);

struct starpu_task;
/* Adds the handles of a task's data to its StarPU task. */
void tsi_device_data_add(const tsi_task_data *data, struct starpu_task *task);
