/* The kernels of rows of sparse approximate inverses for one scalar type, and their launches; the build sets
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
template <class T> __global__ void GPU_BOUNDS gpu_adjoint_count(CONSTANT tsi_gpu_fsai_adjoint s) {
  gpu_run_adjoint_count(s);
}
template <class T> __global__ void GPU_BOUNDS gpu_adjoint_fill(CONSTANT tsi_gpu_fsai_adjoint s) {
  gpu_run_adjoint_fill<T, GPU_WARP>(s);
}
template <class T> __global__ void GPU_BOUNDS gpu_adjoint_sort(CONSTANT tsi_gpu_fsai_adjoint s) {
  gpu_run_adjoint_sort<T, GPU_WARP>(s);
}

/* Returns the bytes of shared memory for a block. lanes: lanes of a warp of the device, queried at run time.
 */
static int shared_bytes(const tsi_gpu_fsai *s, unsigned threads, size_t *bytes) {
  int device = 0, lanes = GPU_WARP;
  *bytes = 0;
  if (s->workspace) return 0;
  int error = (int)gpu_get_device(&device);
  if (error == 0) error = (int)gpu_get_attribute(&lanes, GPU_LANES, device);
  if (error == 0) *bytes = threads / (unsigned)lanes * s->space.bytes;
  return error;
}

int NAMED(tsi_gpu_fsai_launch)(const tsi_gpu_fsai *s, unsigned blocks, unsigned threads, void *stream) {
  size_t bytes;
  const int error = shared_bytes(s, threads, &bytes);
  if (error != 0) return error;
  gpu_inverse_rows<TSI_GPU_WORK><<<blocks, threads, bytes, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}

int NAMED(tsi_gpu_fsai_blocks)(const tsi_gpu_fsai *s, unsigned threads, unsigned *blocks) {
  size_t bytes;
  const int error = shared_bytes(s, threads, &bytes);
  if (error != 0) return error;
  return gpu_resident_blocks(gpu_inverse_rows<TSI_GPU_WORK>, threads, blocks, bytes);
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

int NAMED(tsi_gpu_fsai_adjoin)(const tsi_gpu_fsai_adjoint *s, unsigned blocks, unsigned threads,
                               void *stream) {
  const tsi_gpu_fsai_rows rows = tsi_gpu_fsai_adjoint_rows(s);
  gpu_adjoint_count<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  int error = (int)gpu_last_error();
  if (error == 0) error = NAMED(tsi_gpu_fsai_count)(&rows, blocks, threads, stream);
  if (error != 0) return error;
  gpu_adjoint_fill<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  error = (int)gpu_last_error();
  if (error != 0) return error;
  gpu_adjoint_sort<TSI_GPU_WORK><<<blocks, threads, 0, (gpu_stream)stream>>>(*s);
  return (int)gpu_last_error();
}
