/* The kernels of fronts for one scalar type, and their launch; the build sets the type, see host.gpu.h. */
#include "codelets/gpu/front.gpu.h"
#include "codelets/gpu/host.gpu.h"

/* There are few rows, so small blocks spread them over the device. At least two per processor, see
 * GPU_BOUNDS. */
#define FRONT_THREADS 64

template <class T, tsi_gpu_front_kind KIND>
__global__ void __launch_bounds__(FRONT_THREADS, 2) gpu_front(CONSTANT tsi_gpu_front f) {
  gpu_run_front<T, KIND>(f);
}

int NAMED(tsi_gpu_front_launch)(const tsi_gpu_front *f, void *stream) {
  typedef TSI_GPU_STORED T;
  const unsigned blocks = (unsigned)((f->lines + FRONT_THREADS - 1) / FRONT_THREADS);
  if (blocks == 0) return 0;
  if (f->kind == TSI_GPU_EXCHANGE_ROWS)
    gpu_front<T, TSI_GPU_EXCHANGE_ROWS><<<blocks, FRONT_THREADS, 0, (gpu_stream)stream>>>(*f);
  else if (f->kind == TSI_GPU_EXCHANGE_COLUMNS)
    gpu_front<T, TSI_GPU_EXCHANGE_COLUMNS><<<blocks, FRONT_THREADS, 0, (gpu_stream)stream>>>(*f);
  else
    gpu_front<T, TSI_GPU_DIVIDE><<<blocks, FRONT_THREADS, 0, (gpu_stream)stream>>>(*f);
  return (int)gpu_last_error();
}
