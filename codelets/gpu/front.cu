/* The kernel of fronts for one scalar type, and its launch; the build names the type, see host.gpu.h. */
#include "codelets/gpu/front.gpu.h"
#include "codelets/gpu/host.gpu.h"

/* Few rows have to share the device: small blocks spread them. */
#define FRONT_THREADS 64

template <class T> __global__ void __launch_bounds__(FRONT_THREADS) gpu_front(CONSTANT tsi_gpu_front f) {
  gpu_run_front<T>(f);
}

int NAMED(tsi_gpu_front_launch)(const tsi_gpu_front *f, void *stream) {
  const unsigned blocks = (unsigned)((f->lines + FRONT_THREADS - 1) / FRONT_THREADS);
  if (blocks == 0) return 0;
  gpu_front<TSI_GPU_STORED><<<blocks, FRONT_THREADS, 0, (gpu_stream)stream>>>(*f);
  return (int)gpu_last_error();
}
