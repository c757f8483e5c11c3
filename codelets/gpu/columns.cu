/* The kernel of columns for one scalar type, and its launch; the build names the type, see host.gpu.h. */
#include "codelets/gpu/columns.gpu.h"
#include "codelets/gpu/host.gpu.h"

template <class V, class T>
__global__ void __launch_bounds__(GPU_THREADS_MAX) gpu_columns(CONSTANT tsi_gpu_columns s) {
  gpu_run_columns<V, T>(s);
}

int NAMED(tsi_gpu_columns_launch)(const tsi_gpu_columns *s, unsigned blocks, unsigned threads, void *stream) {
  gpu_columns<TSI_GPU_STORED, TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}
