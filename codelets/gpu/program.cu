/* The kernel of a distributed solve for one scalar type, and its launch; the build sets the type, see
 * host.gpu.h. */
#include "codelets/gpu/host.gpu.h"
#include "codelets/gpu/program.gpu.h"

/* With several right-hand sides two blocks per processor would not have enough registers. */
template <class V, class T, int R>
__global__ void __launch_bounds__(GPU_THREADS_MAX, R > 1 ? 1 : 2) gpu_program(CONSTANT tsi_gpu_program s) {
  gpu_run_program<V, T, GPU_WARP, R>(s);
}

int NAMED(tsi_gpu_program)(const tsi_gpu_program *s, unsigned blocks, unsigned threads, void *stream) {
  constexpr int R = gpu_tile_max<TSI_GPU_WORK>();
  const auto kernel = s->call.nrhs == 1 ? gpu_program<TSI_GPU_STORED, TSI_GPU_WORK, 1>
                                        : gpu_program<TSI_GPU_STORED, TSI_GPU_WORK, R>;
  unsigned resident = blocks;
  int error = blocks == 0 ? gpu_resident_blocks(kernel, threads, &resident) : 0;
  if (error != 0) return error;
  kernel<<<resident, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}
