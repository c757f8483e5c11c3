/* See device_heap.h. */
#include "runtime/mpi/solve/device_heap.h"

#include "runtime/exec/starpu/devices.h"

tristar_status tsi_device_status(const tsi_env *env, const char *what, int code) {
  if (code != 0) TSI_FAIL(env, TRISTAR_ERR_RUNTIME, "%s: %s reports error %d", what, tsi_devices.name, code);
  return TRISTAR_OK;
}

tristar_status tsi_device_allocate(const tsi_env *env, void **at, size_t bytes) {
  *at = NULL;
  return tsi_device_status(env, "memory of a device", bytes > 0 ? tsi_devices.allocate(at, bytes) : 0);
}

tristar_status tsi_device_upload(const tsi_env *env, void **at, const void *from, size_t bytes) {
  if (from == NULL || bytes == 0) return TRISTAR_OK;
  if (*at == NULL) TSI_TRY(tsi_device_allocate(env, at, bytes));
  return tsi_device_status(env, "copy to a device", tsi_devices.transfer(*at, from, bytes, NULL));
}

tristar_status tsi_device_heap_open(tsi_env *env, const tsi_oneside *port, size_t data,
                                    tsi_device_heap *heap) {
  const tsi_symmetric_heap *given = tsi_oneside_heap(port);
  const size_t bytes = tsi_oneside_bytes(given->flags, data);
  TSI_SCRATCH(env, char *, base, given->pes);
  *heap = (tsi_device_heap){.seen = {given->pe, given->pes, given->flags, NULL}, .port = port};
  for (int32_t pe = 0; pe < given->pes; pe++) {
    TSI_TRY(tsi_device_status(env, "mapping a heap",
                              tsi_devices.map(given->base[pe], bytes, (void **)&base[pe])));
    heap->mapped++;
  }
  heap->own = base[given->pe] + tsi_heap_data(given->flags);
  TSI_TRY(tsi_device_upload(env, (void **)&heap->seen.base, base, (size_t)given->pes * sizeof *base));
  return tsi_device_status(env, "copy to a device", tsi_devices.finish(NULL));
}

void tsi_device_heap_close(tsi_device_heap *heap) {
  if (heap->port == NULL) return;
  tsi_devices.release(heap->seen.base);
  for (int32_t pe = 0; pe < heap->mapped; pe++) tsi_devices.unmap(tsi_oneside_heap(heap->port)->base[pe]);
  *heap = (tsi_device_heap){.port = NULL};
}
