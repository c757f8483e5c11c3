/* The kernels of a sweep for one scalar type, and their launches; the build sets the type, see host.gpu.h. */
#include "codelets/gpu/host.gpu.h"
#include "codelets/gpu/sweep.gpu.h"

template <class V, class T, int R, bool BACKWARD>
__global__ void GPU_BOUNDS gpu_sweep(CONSTANT tsi_gpu_sweep s) {
  gpu_run_sweep<V, T, GPU_WARP, R, BACKWARD>(s);
}

typedef void gpu_kernel(tsi_gpu_sweep);

/* One right-hand side has a separate kernel. */
static gpu_kernel *kernel_of(const tsi_gpu_sweep *s) {
  constexpr int R = gpu_tile_max<TSI_GPU_WORK>();
  if (s->call.nrhs == 1)
    return s->backward ? gpu_sweep<TSI_GPU_STORED, TSI_GPU_WORK, 1, true>
                       : gpu_sweep<TSI_GPU_STORED, TSI_GPU_WORK, 1, false>;
  return s->backward ? gpu_sweep<TSI_GPU_STORED, TSI_GPU_WORK, R, true>
                     : gpu_sweep<TSI_GPU_STORED, TSI_GPU_WORK, R, false>;
}

int NAMED(tsi_gpu_launch)(const tsi_gpu_sweep *s, unsigned blocks, unsigned threads, void *stream) {
  kernel_of(s)<<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}

int NAMED(tsi_gpu_blocks)(const tsi_gpu_sweep *s, unsigned threads, unsigned *blocks) {
  return gpu_resident_blocks(kernel_of(s), threads, blocks);
}
