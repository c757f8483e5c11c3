/* The kernel of triangles that are spread over devices for one scalar type, and its launch; the build sets
 * the type, see host.gpu.h. */
#include "codelets/gpu/host.gpu.h"
#include "codelets/gpu/spread.gpu.h"

/* Many warps hide the waits for memory and for other devices. */
template <class T, int R>
__global__ void __launch_bounds__(GPU_THREADS_MAX, R == 1 ? 4 : 3) gpu_spread(CONSTANT tsi_gpu_spread s) {
  gpu_run_spread<T, GPU_WARP, R>(s);
}

int NAMED(tsi_gpu_spread)(const tsi_gpu_spread *s, unsigned blocks, unsigned threads, void *stream) {
  const auto kernel = s->call.nrhs == 1 ? gpu_spread<TSI_GPU_WORK, 1>
                                        : gpu_spread<TSI_GPU_WORK, gpu_tile_max<TSI_GPU_WORK>()>;
  unsigned resident = blocks;
  int error = blocks == 0 ? gpu_resident_blocks(kernel, threads, &resident) : 0;
  if (error != 0) return error;
  kernel<<<resident, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}
