/* Devices of CUDA: see devices.h. */
#include "runtime/starpu/devices.h"

#include <cuda_runtime.h>
#include <starpu.h>
#include <starpu_cuda.h>

static int workers(int *worker, int most) {
  const int count = (int)starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, worker, (unsigned)most);
  return count < 0 ? most : count; /* negative: there are more */
}

static void use(struct starpu_codelet *codelet, void (*run)(void *buffers[], void *cl_arg)) {
  codelet->cuda_funcs[0] = run;
  codelet->cuda_flags[0] = STARPU_CUDA_ASYNC;
}

static void *stream(void) {
  return starpu_cuda_get_local_stream();
}
static int copy(void *to, const void *from, size_t bytes, void *on) {
  return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, on);
}
static int clear(void *at, size_t bytes, void *on) {
  return (int)cudaMemsetAsync(at, 0, bytes, on);
}

const tsi_device_driver tsi_devices = {
    .name = "CUDA",
    .workers = workers,
    .use = use,
    .stream = stream,
    .copy = copy,
    .clear = clear,
    .launch = {tsi_gpu_launch_s, tsi_gpu_launch_d, tsi_gpu_launch_c, tsi_gpu_launch_z},
    .blocks = {tsi_gpu_blocks_s, tsi_gpu_blocks_d, tsi_gpu_blocks_c, tsi_gpu_blocks_z}};
