/* Devices of HIP: see devices.h. */
#include <starpu.h>
#include <starpu_hip.h>

#define RUNTIME(name) hip##name
#define RUNTIME_NAME "HIP"
#define RUNTIME_WORKER STARPU_HIP_WORKER
#define RUNTIME_ASYNC STARPU_HIP_ASYNC
#define RUNTIME_FACTS hipPointerAttribute_t
#if HIP_VERSION_MAJOR >= 6
#define RUNTIME_KIND type
#else
#define RUNTIME_KIND memoryType
#endif
#define RUNTIME_LANES hipDeviceAttributeWarpSize
#define RUNTIME_ADDS hipDeviceAttributeHostNativeAtomicSupported
#define RUNTIME_COUNT nhip
#define RUNTIME_CHOSEN use_explicit_workers_hip_gpuid
#define RUNTIME_NUMBERS workers_hip_gpuid
#define RUNTIME_STREAM starpu_hip_get_local_stream
#ifdef TSI_DEVICE_BLAS
#include <hipblas/hipblas.h>
#define BLAS(name) hipblas##name
#define BLAS_SYMBOL(name) HIPBLAS_##name
#define BLAS_HANDLE hipblasHandle_t
#define BLAS_C hipblasComplex
#define BLAS_Z hipblasDoubleComplex
#endif
#include "runtime/exec/starpu/devices_runtime.h"
