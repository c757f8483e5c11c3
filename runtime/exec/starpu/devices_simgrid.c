/* Simulated devices of CUDA: see devices.h. Their tasks compute on the host (tasks.c); they have no memory.
 */
#include <starpu.h>

#include "runtime/exec/starpu/devices.h"

static int workers(int *worker, int most) {
  const int count = (int)starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, worker, (unsigned)most);
  return count < 0 ? most : count; /* negative: there are more */
}

/* Without the flag of asynchronous functions, with which StarPU would not call it. */
static void use(struct starpu_codelet *codelet, void (*run)(void *buffers[], void *cl_arg)) {
  codelet->cuda_funcs[0] = run;
}

const tsi_device_driver tsi_devices = {
    .name = "CUDA (simulated)", .simulated = true, .workers = workers, .use = use};
