/* Memory of a rank's device, without StarPU: arrays, and the symmetric heaps of one-sided messages, which the
 * device reads and writes where they are.
 *
 * Reads   arrays of main memory, a port.   Writes  memory of the device that is selected. */
#pragma once

#include "runtime/mpi/oneside/oneside.h"

/* The status of what a function of the device's runtime returned. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_told(const tsi_env *env, const char *what, int code);
/* 0 bytes: *at becomes NULL. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_allocate(const tsi_env *env, void **at, size_t bytes);
/* Copies to *at, which is allocated first if it is NULL; nothing is done with from NULL or 0 bytes. Errors:
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_device_upload(const tsi_env *env, void **at, const void *from,
                                                 size_t bytes);

typedef struct tsi_device_heap {
  tsi_symmetric_heap seen; /* with addresses of the device, in its memory */
  const tsi_oneside *port; /* NULL: not open */
  int32_t mapped;          /* the first so many PEs' heaps are */
  char *own;               /* the data of the PE's own heap, as the device sees it */
} tsi_device_heap;

/* data: bytes of the data of a heap. After a failure it is to be closed, too. Errors: RUNTIME, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_heap_open(tsi_env *env, const tsi_oneside *port, size_t data,
                                                    tsi_device_heap *heap);
void tsi_device_heap_close(tsi_device_heap *heap);
