/* CUDA or HIP for the host's side of kernels, and the names for one scalar type. The build defines
 *   TSI_GPU_NAME     the suffix of the names: s, d, c, z, sd, cz
 *   TSI_GPU_STORED   the scalar type of the factor
 *   TSI_GPU_WORK     the scalar type of the workspace */
#pragma once

#include "codelets/gpu/team.gpu.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define NAMED(name) PASTE(name, TSI_GPU_NAME)

#if defined __HIPCC__
#define CONSTANT const
typedef hipStream_t gpu_stream;
#define gpu_get_device hipGetDevice
#define gpu_get_attribute hipDeviceGetAttribute
#define GPU_PROCESSORS hipDeviceAttributeMultiprocessorCount
#define GPU_LANES hipDeviceAttributeWarpSize
#define gpu_occupancy hipOccupancyMaxActiveBlocksPerMultiprocessor
#define gpu_last_error hipGetLastError
#else
#define CONSTANT const __grid_constant__
typedef cudaStream_t gpu_stream;
#define gpu_get_device cudaGetDevice
#define gpu_get_attribute cudaDeviceGetAttribute
#define GPU_PROCESSORS cudaDevAttrMultiProcessorCount
#define GPU_LANES cudaDevAttrWarpSize
#define gpu_occupancy cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define gpu_last_error cudaGetLastError
#endif

/* At least two blocks per processor. Without this number ptxas saves registers for more blocks, and spills.
 */
#define GPU_BOUNDS __launch_bounds__(GPU_THREADS_MAX, 2)

/* *blocks = number of blocks of the kernel that are resident at once on the current device, if each uses so
 * many bytes of shared memory. Returns 0, or the error number of the device's runtime. */
template <class KERNEL>
static int gpu_resident_blocks(KERNEL *kernel, unsigned threads, unsigned *blocks, size_t bytes = 0) {
  int device = 0, processors = 0, each = 0;
  int error = (int)gpu_get_device(&device);
  if (error == 0) error = (int)gpu_get_attribute(&processors, GPU_PROCESSORS, device);
  if (error == 0) error = (int)gpu_occupancy(&each, kernel, (int)threads, bytes);
  *blocks = error == 0 ? (unsigned)(processors * each) : 0;
  return error;
}
