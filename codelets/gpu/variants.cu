/* The kernels of the published solvers for one scalar type, and their launches; the build sets the type, see
 * host.gpu.h. */
#include "codelets/gpu/host.gpu.h"
#include "codelets/gpu/variants.gpu.h"

template <class V, class T, int R, bool BACKWARD>
__global__ void GPU_BOUNDS gpu_sc23(CONSTANT tsi_gpu_variant s) {
  gpu_run_sc23<V, T, GPU_WARP, R, BACKWARD>(s);
}
template <class V, class T, int R, bool BACKWARD>
__global__ void GPU_BOUNDS gpu_kk20(CONSTANT tsi_gpu_variant s) {
  gpu_run_kk20<V, T, GPU_WARP, R, BACKWARD>(s);
}

/* The kernel for a sweep and a number of right-hand sides; one right-hand side has a separate kernel. */
#define KERNEL(name, s)                                                                                      \
  ((s)->call.nrhs == 1 ? (s)->backward ? name<TSI_GPU_STORED, TSI_GPU_WORK, 1, true>                         \
                                       : name<TSI_GPU_STORED, TSI_GPU_WORK, 1, false>                        \
   : (s)->backward ? name<TSI_GPU_STORED, TSI_GPU_WORK, gpu_tile_max<TSI_GPU_WORK>(), true>                  \
                       : name<TSI_GPU_STORED, TSI_GPU_WORK, gpu_tile_max<TSI_GPU_WORK>(), false>)

int NAMED(tsi_gpu_sc23)(const tsi_gpu_variant *s, unsigned threads, void *stream) {
  KERNEL(gpu_sc23, s)<<<(unsigned)s->tables.panels, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}

int NAMED(tsi_gpu_kk20)(const tsi_gpu_variant *s, const tsi_index *level_ptr, unsigned threads,
                        void *stream) {
  const tsi_index levels = s->tables.levels;
  tsi_gpu_variant level = *s;
  int error = 0;
  for (tsi_index k = 0; k < levels && error == 0; k++) {
    const tsi_index number = s->backward ? levels - 1 - k : k;
    const unsigned blocks = (unsigned)(level_ptr[number + 1] - level_ptr[number]);
    level.first = level_ptr[number];
    KERNEL(gpu_kk20, s)<<<blocks, threads, 0, (gpu_stream)stream>>>(level);
    error = (int)gpu_last_error();
  }
  return error;
}
