/* The kernels of rows of sparse approximate inverses for one scalar type, and their launches; the build names
 * the type, see host.gpu.h. */
#include "codelets/gpu/fsai.gpu.h"
#include "codelets/gpu/fsai_rows.gpu.h"
#include "codelets/gpu/host.gpu.h"

template <class T> __global__ void GPU_BOUNDS gpu_inverse_rows(CONSTANT tsi_gpu_fsai s) {
  gpu_run_fsai<T, GPU_WARP>(s);
}
template <class T> __global__ void GPU_BOUNDS gpu_fsai_sums(CONSTANT tsi_gpu_fsai_rows s) {
  gpu_run_fsai_sums(s);
}
template <class T> __global__ void GPU_BOUNDS gpu_fsai_ptr(CONSTANT tsi_gpu_fsai_rows s) {
  gpu_run_fsai_ptr(s);
}
template <class T> __global__ void GPU_BOUNDS gpu_fsai_pack(CONSTANT tsi_gpu_fsai_rows s) {
  gpu_run_fsai_pack<T, GPU_WARP>(s);
}

int NAMED(tsi_gpu_fsai_launch)(const tsi_gpu_fsai *s, unsigned blocks, unsigned threads, void *stream) {
  gpu_inverse_rows<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}

int NAMED(tsi_gpu_fsai_blocks)(unsigned threads, unsigned *blocks) {
  return gpu_resident_blocks(gpu_inverse_rows<TSI_GPU_WORK>, threads, blocks);
}

int NAMED(tsi_gpu_fsai_count)(const tsi_gpu_fsai_rows *s, unsigned blocks, unsigned threads, void *stream) {
  gpu_fsai_sums<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  const int error = (int)gpu_last_error();
  if (error != 0) return error;
  gpu_fsai_ptr<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}

int NAMED(tsi_gpu_fsai_pack)(const tsi_gpu_fsai_rows *s, unsigned blocks, unsigned threads, void *stream) {
  gpu_fsai_pack<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}
