/* See device_data.h. */
#include "runtime/exec/starpu/device_data.h"

#include <errno.h>

#include "codelets/device_task.h"
#include "runtime/base/happens_before.h"
#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/idle.h"

struct tsi_device_data {
  starpu_data_handle_t handle;
  size_t bytes;
};

tristar_status tsi_device_data_create(tsi_env *env, void *at, size_t bytes, tsi_device_data **out) {
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->bytes = bytes;
  starpu_variable_data_register(&(*out)->handle, at ? STARPU_MAIN_RAM : -1, (uintptr_t)at, bytes);
  starpu_data_set_sequential_consistency_flag((*out)->handle, 0);
  return TRISTAR_OK;
}

static tristar_status acquire(tsi_env *env, tsi_device_data *data, enum starpu_data_access_mode mode) {
  const int code = starpu_data_acquire(data->handle, mode);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_data_acquire gave %d", code);
  starpu_data_release(data->handle);
  return TRISTAR_OK;
}

tristar_status tsi_device_data_renew(tsi_env *env, tsi_device_data *data) {
  return acquire(env, data, STARPU_W);
}

/* Workers of devices make the transfers, so idle ones are kept awake meanwhile. */
tristar_status tsi_device_data_fetch(tsi_env *env, tsi_device_data *data) {
  tsi_idle_hold();
  const tristar_status status = acquire(env, data, STARPU_R);
  tsi_idle_release();
  return status;
}

size_t tsi_device_data_bytes(const tsi_device_data *data) {
  return data->bytes;
}

void tsi_device_data_destroy(tsi_device_data **data) {
  if (*data == NULL) return;
  starpu_data_unregister_no_coherency((*data)->handle);
  tsi_release(tsi_take(data));
}

void tsi_device_data_add(const tsi_task_data *data, struct starpu_task *task) {
  static const enum starpu_data_access_mode modes[] = {[TSI_USE_R] = STARPU_R,
                                                       [TSI_USE_W] = STARPU_W,
                                                       [TSI_USE_RW] = STARPU_RW,
                                                       [TSI_USE_SCRATCH] = STARPU_SCRATCH};
  for (int k = 0; k < data->count; k++)
    tsi_task_add_handle(task, data->use[k].data->handle, modes[data->use[k].mode]);
}

/* ---- A task alone -------------------------------------------------------------------------------------- */

typedef struct lone_task {
  int (*start)(void *arg, void *const memory[]);
  void *arg;
  int code;
} lone_task;

static void run_alone(void *arg, void *const memory[], int worker) {
  lone_task *one = arg;
  (void)worker;
  TSI_HAPPENS_AFTER(one);
  one->code = one->start(one->arg, memory);
  TSI_HAPPENS_BEFORE(one);
}

static tristar_status submit_and_wait(tsi_env *env, struct starpu_task *task) {
  tsi_idle_rouse();
  int code = starpu_task_submit(task);
  if (code == -ENODEV) TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "no StarPU worker can run the task");
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_task_submit gave %d", code);
  code = starpu_task_wait(task);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_task_wait gave %d", code);
  return TRISTAR_OK;
}

tristar_status tsi_device_task_alone(tsi_env *env, const tsi_task_data *data,
                                     int (*start)(void *arg, void *const memory[]), void *arg) {
  lone_task one = {.start = start, .arg = arg};
  const _Atomic(int) columns = 1;
  int worker[TSI_DEVICES_MOST];
  struct starpu_codelet codelet;
  struct starpu_task task;
  if (tsi_devices_count(worker) <= data->device)
    TSI_FAIL(env, TRISTAR_ERR_NO_WORKER, "there is no device %d", data->device);
  tsi_device_task body = {run_alone, &one, data->microseconds, &columns};
  tsi_device_codelet_init(&codelet);
  tsi_devices.use(&codelet, tsi_device_task_run);
  tsi_device_task_init(&task, &codelet, &body, "tristar_device", 0, worker[data->device]);
  tsi_device_data_add(data, &task);
  TSI_HAPPENS_BEFORE(&one);
  const tristar_status status = submit_and_wait(env, &task);
  TSI_HAPPENS_AFTER(&one);
  starpu_task_clean(&task);
  if (status == TRISTAR_OK && one.code != 0)
    TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "%s gave error %d in a task", tsi_devices.name, one.code);
  return status;
}
