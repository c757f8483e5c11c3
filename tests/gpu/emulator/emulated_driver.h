/* What a program has on emulated devices (emulated_driver.c): memory, and streams, for tests.
 *
 * The memory is the host's. It has a memory node of StarPU's own, so that data is copied there and back,
 * where StarPU takes its workers to be on two NUMA nodes. */
#pragma once

#include <stddef.h>

void *emulated_allocate(int device, size_t bytes); /* ends the program if there is no memory */
void emulated_free(void *at);                      /* at: begin of a block */

/* Its work runs once, when the stream is waited for. */
typedef struct emulated_stream {
  int device;
  void (*work)(void *arg); /* NULL: no work */
  void *arg;
  int error; /* returned by the wait; 0: none */
} emulated_stream;

/* Error of a wait for a stream of another device. */
#define EMULATED_NOT_ITS_STREAM 400
