/* See device_vectors.h. Workers of devices make the transfers, so idle ones are kept awake meanwhile. */
#include "runtime/exec/starpu/device_vectors.h"

#include <inttypes.h>
#include <starpu.h>

#include "runtime/exec/starpu/devices.h"
#include "runtime/exec/starpu/idle.h"

struct tsi_device_vectors {
  starpu_data_handle_t b, x; /* NULL: not registered; b: also if x is b */
  bool b_held, x_held;
};

void tristar_device_vectors_init(tristar_device_vectors *vectors) {
  memset(vectors, 0, sizeof *vectors);
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

tristar_status tsi_device_vectors_check_build(tsi_env *env) {
  if (tsi_devices.name == NULL)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "vectors on a device: TriStar or its StarPU was built without CUDA and HIP");
  if (tsi_devices.simulated)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "vectors on a device: simulated devices have no memory");
  return TRISTAR_OK;
}

/* A StarPU worker of the device; -1: there is none. */
static int find_worker(int device) {
  int worker[TSI_DEVICES_MOST];
  const int count = tsi_devices_count(worker);
  for (int k = 0; k < count; k++)
    if (tsi_devices.number(worker[k]) == device) return worker[k];
  return -1;
}

static tristar_status check_owner(tsi_env *env, const char *name, const void *at, int device) {
  const int owner = tsi_devices.owner(at);
  if (owner < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is not memory of a device of %s", name, tsi_devices.name);
  if (owner != device)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is memory of device %d, not of device %d", name, owner, device);
  return TRISTAR_OK;
}

tristar_status tsi_device_vectors_check(tsi_env *env, const tristar_device_vectors *given) {
  if (tsi_devices_count(NULL) == 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "vectors on a device: StarPU has no worker of %s here",
             tsi_devices.name);
  if (find_worker(given->device) < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "device %d: StarPU has no worker for a device of %s with this number",
             given->device, tsi_devices.name);
  TSI_TRY(check_owner(env, "b", given->b, given->device));
  return check_owner(env, "x", given->x, given->device);
}

/* ---- To main memory ------------------------------------------------------------------------------------ */

/* StarPU 1.3 counts the entries of a matrix in 32 bits. */
static tristar_status check_size(tsi_env *env, const char *name, int64_t ld, int64_t columns) {
  if (columns > UINT32_MAX || ld > UINT32_MAX / columns)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE,
             "%s is %" PRId64 ", for %" PRId64
             " right-hand sides, but a StarPU matrix has less than 2^32 entries",
             name, ld, columns);
  return TRISTAR_OK;
}

static tristar_status acquire(tsi_env *env, const char *name, starpu_data_handle_t handle,
                              enum starpu_data_access_mode mode, bool *held) {
  const int code = starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, mode);
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "starpu_data_acquire_on_node of %s gave %d", name, code);
  *held = true;
  return TRISTAR_OK;
}

/* Address of the handle's data in main memory, while it is acquired. */
static void *locate(starpu_data_handle_t handle, int64_t *column) {
  const struct starpu_matrix_interface *matrix = starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM);
  *column = matrix->ld;
  return (void *)matrix->ptr;
}

tristar_status tsi_device_vectors_take(tsi_env *env, const tristar_device_vectors *given, int64_t rows,
                                       int64_t columns, size_t scalar, tsi_device_vectors **out,
                                       tsi_host_vectors *host) {
  tristar_status status = TRISTAR_OK;
  const int node = (int)starpu_worker_get_memory_node((unsigned)find_worker(given->device));
  const bool same = given->b == given->x;
  tsi_device_vectors *v = NULL;
  TSI_TRY_OUT(check_size(env, "ldb", given->ldb, columns)); /* ld is at least the rows */
  TSI_TRY_OUT(check_size(env, "ldx", given->ldx, columns));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, v, 1));
  const int code = tsi_devices.wait(given->device, given->stream);
  if (code != 0)
    TSI_FAIL_OUT(env, TRISTAR_ERR_RUNTIME, "%s gave error %d when the stream on device %d was waited for",
                 tsi_devices.name, code, given->device);
  tsi_idle_hold();
  starpu_matrix_data_register(&v->b, node, (uintptr_t)given->b, (uint32_t)given->ldb, (uint32_t)rows,
                              (uint32_t)columns, scalar);
  if (!same)
    starpu_matrix_data_register(&v->x, node, (uintptr_t)given->x, (uint32_t)given->ldx, (uint32_t)rows,
                                (uint32_t)columns, scalar);
  status = acquire(env, "b", v->b, same ? STARPU_RW : STARPU_R, &v->b_held);
  if (status == TRISTAR_OK && !same) status = acquire(env, "x", v->x, STARPU_W, &v->x_held);
  tsi_idle_release();
  if (status != TRISTAR_OK) goto out;
  host->b = locate(v->b, &host->b_column);
  host->x = locate(same ? v->b : v->x, &host->x_column);
  *out = v;
  return TRISTAR_OK;
out:
  tsi_device_vectors_give_back(env, &v, false);
  return status;
}

/* ---- And back ------------------------------------------------------------------------------------------ */

/* Unregisters a handle. written: copies main memory to the device. */
static void discard(starpu_data_handle_t handle, bool held, bool written) {
  if (handle == NULL) return;
  if (held) starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
  if (written)
    starpu_data_unregister(handle); /* copies it to its place of registration */
  else
    starpu_data_unregister_no_coherency(handle);
}

void tsi_device_vectors_give_back(tsi_env *env, tsi_device_vectors **vectors, bool solved) {
  tsi_device_vectors *v = *vectors;
  if (v == NULL) return;
  tsi_idle_hold();
  discard(v->b, v->b_held, solved && v->x == NULL);
  discard(v->x, v->x_held, solved);
  tsi_idle_release();
  TSI_FREE(env, *vectors);
}
