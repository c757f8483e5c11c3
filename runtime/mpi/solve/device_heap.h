/* Memory of a rank's device, without StarPU: arrays, and symmetric heaps of one-sided messages, which the
 * device accesses in place.
 *
 * Reads   arrays of main memory, a port.   Writes  memory of the selected device. */
#pragma once

#include "runtime/mpi/oneside/oneside.h"

/* The status for the return code of a function of the device's runtime. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_status(const tsi_env *env, const char *what, int code);
/* Allocates memory of the device. 0 bytes: *at becomes NULL. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_allocate(const tsi_env *env, void **at, size_t bytes);
/* Copies to *at, which is first allocated if it is NULL. Does nothing if from is NULL or bytes is 0. Errors:
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_upload(const tsi_env *env, void **at, const void *from,
                                                 size_t bytes);

typedef struct tsi_device_heap {
  tsi_symmetric_heap seen; /* in memory of the device, with its addresses */
  const tsi_oneside *port; /* NULL: not open */
  int32_t mapped;          /* number of PEs, from the first, whose heaps are mapped */
  char *own;               /* data of the PE's own heap, as address of the device */
} tsi_device_heap;

/* data: bytes of the data of a heap. The caller closes the heap, also after a failure. Errors: RUNTIME,
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_heap_open(tsi_env *env, const tsi_oneside *port, size_t data,
                                                    tsi_device_heap *heap);
void tsi_device_heap_close(tsi_device_heap *heap);
