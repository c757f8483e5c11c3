/* See device_data.h. */
#include "runtime/exec/starpu/device_data.h"

#include "codelets/device_task.h"

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

tristar_status tsi_device_data_renew(tsi_env *env, tsi_device_data *data) {
  const int code = starpu_data_acquire(data->handle, STARPU_W);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_data_acquire gave %d", code);
  starpu_data_release(data->handle);
  return TRISTAR_OK;
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
