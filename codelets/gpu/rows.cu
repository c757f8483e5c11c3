/* The kernels of rows for one scalar type, and their launches; the build sets the type, see host.gpu.h. */
#include "codelets/gpu/host.gpu.h"
#include "codelets/gpu/rows.gpu.h"

/* Many blocks per processor, because many warps hide the latency of memory. With one block more, registers of
 * several right-hand sides would spill. */
template <class T, int R>
__global__ void __launch_bounds__(GPU_THREADS_MAX, R == 1 ? 4 : 3) gpu_rows(CONSTANT tsi_gpu_rows s) {
  gpu_run_rows<T, GPU_WARP, R>(s);
}

typedef void gpu_kernel(tsi_gpu_rows);

/* One right-hand side has a separate kernel. */
static gpu_kernel *kernel_of(const tsi_gpu_rows *s) {
  return s->call.nrhs == 1 ? gpu_rows<TSI_GPU_WORK, 1> : gpu_rows<TSI_GPU_WORK, gpu_tile_max<TSI_GPU_WORK>()>;
}

int NAMED(tsi_gpu_rows_launch)(const tsi_gpu_rows *s, unsigned blocks, unsigned threads, void *stream) {
  kernel_of(s)<<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}

int NAMED(tsi_gpu_rows_blocks)(const tsi_gpu_rows *s, unsigned threads, unsigned *blocks) {
  return gpu_resident_blocks(kernel_of(s), threads, blocks);
}
