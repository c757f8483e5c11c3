/* What a program has on emulated devices (emulated_driver.c): memory, and streams, for tests.
 *
 * The memory is the host's. It has a memory node of StarPU's own, so that data is copied there and back,
 * where StarPU takes its workers to be on two NUMA nodes. */
#pragma once

#include <stddef.h>

void *emulated_allocate(int device, size_t bytes); /* ends the program where there is no memory */
void emulated_free(void *at);                      /* from its beginning */

/* What was put into it runs when it is waited for, once. */
typedef struct emulated_stream {
  int device;
  void (*work)(void *arg); /* NULL: nothing */
  void *arg;
  int error; /* that it tells then; 0: none */
} emulated_stream;

/* Who waits for a stream of another device gets this error. */
#define EMULATED_NOT_ITS_STREAM 400
