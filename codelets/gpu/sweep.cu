/* The kernels of a sweep for one scalar type, and their launches. The build defines
 *   TSI_GPU_NAME     the letters that end the names: s, d, c, z, sd, cz
 *   TSI_GPU_STORED   the scalar type of the factor
 *   TSI_GPU_WORK     that of the workspace */
#include "codelets/gpu/sweep.gpu.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define NAMED(name) PASTE(name, TSI_GPU_NAME)

#if defined __HIPCC__
#define CONSTANT const
typedef hipStream_t gpu_stream;
#define gpu_get_device hipGetDevice
#define gpu_get_attribute hipDeviceGetAttribute
#define GPU_PROCESSORS hipDeviceAttributeMultiprocessorCount
#define gpu_occupancy hipOccupancyMaxActiveBlocksPerMultiprocessor
#define gpu_last_error hipGetLastError
#else
#define CONSTANT const __grid_constant__
typedef cudaStream_t gpu_stream;
#define gpu_get_device cudaGetDevice
#define gpu_get_attribute cudaDeviceGetAttribute
#define GPU_PROCESSORS cudaDevAttrMultiProcessorCount
#define gpu_occupancy cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define gpu_last_error cudaGetLastError
#endif

/* Two blocks of a processor at least: with no such number ptxas saves registers for more of them, and spills.
 */
template <class V, class T, int R, bool BACKWARD>
__global__ void __launch_bounds__(GPU_THREADS_MAX, 2) gpu_sweep(CONSTANT tsi_gpu_sweep s) {
  gpu_run_sweep<V, T, GPU_WARP, R, BACKWARD>(s);
}

typedef void gpu_kernel(tsi_gpu_sweep);

/* One right-hand side has a kernel of its own. */
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
  int device = 0, processors = 0, each = 0;
  int error = (int)gpu_get_device(&device);
  if (error == 0) error = (int)gpu_get_attribute(&processors, GPU_PROCESSORS, device);
  if (error == 0) error = (int)gpu_occupancy(&each, kernel_of(s), (int)threads, 0);
  *blocks = error == 0 ? (unsigned)(processors * each) : 0;
  return error;
}
