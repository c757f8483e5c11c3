/* What the examples share that are StarPU programs: checked calls, handles, sums of bits.
 *
 * Reads and writes what it is given. Every function ends the program with status 1 when something fails. */
#ifndef EXAMPLE_TASKS_H
#define EXAMPLE_TASKS_H

#include <string.h>
#include <tristar_starpu.h>

#include "example.h"

/* Ends the program unless a call of StarPU gave 0. */
static inline void example_call(int code) {
  if (code != 0) example_die("StarPU", strerror(-code));
}

static inline starpu_data_handle_t example_vector(double *array, int64_t n) {
  starpu_data_handle_t handle;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)array, (uint32_t)n, sizeof *array);
  return handle;
}

/* Continues a checksum of bits (FNV-1a); 0 begins one. */
static inline uint64_t example_bits(uint64_t sum, const void *data, size_t bytes) {
  const unsigned char *byte = data;
  if (sum == 0) sum = 14695981039346656037u;
  for (size_t k = 0; k < bytes; k++) sum = (sum ^ byte[k]) * 1099511628211u;
  return sum;
}

#endif
