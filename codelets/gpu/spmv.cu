/* The kernels of products by rows for one scalar type, and their launch; the build sets the type, see
 * host.gpu.h. */
#include "codelets/gpu/host.gpu.h"
#include "codelets/gpu/spmv.gpu.h"

/* As in rows.cu: many warps hide the latency of memory. */
template <class V, class T, int R>
__global__ void __launch_bounds__(GPU_THREADS_MAX, R == 1 ? 4 : 3) gpu_spmv(CONSTANT tsi_gpu_spmv s) {
  gpu_run_spmv<V, T, GPU_WARP, R>(s);
}

/* One right-hand side has a separate kernel. */
int NAMED(tsi_gpu_spmv_launch)(const tsi_gpu_spmv *s, unsigned blocks, unsigned threads, void *stream) {
  void (*kernel)(tsi_gpu_spmv) = s->nrhs == 1
                                     ? gpu_spmv<TSI_GPU_STORED, TSI_GPU_WORK, 1>
                                     : gpu_spmv<TSI_GPU_STORED, TSI_GPU_WORK, gpu_tile_max<TSI_GPU_WORK>()>;
  kernel<<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}
