/* Helpers shared by the examples that are StarPU programs: checked calls, handles.
 *
 * Reads and writes its arguments. Every function ends the program with status 1 when something fails. */
#ifndef TSI_DRIVERS_EXAMPLES_EXAMPLE_TASKS_H
#define TSI_DRIVERS_EXAMPLES_EXAMPLE_TASKS_H

#include <string.h>
#include <tristar_starpu.h>

#include "example.h"

/* Ends the program unless a call of StarPU returned 0. */
static inline void example_call(int code) {
  if (code != 0) example_die("StarPU", strerror(-code));
}

static inline starpu_data_handle_t example_vector(double *array, int64_t n) {
  starpu_data_handle_t handle;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)array, (uint32_t)n, sizeof *array);
  return handle;
}

#endif
