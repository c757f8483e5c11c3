/* Devices of CUDA: see devices.h. */
#include <cuda_runtime.h>
#include <starpu.h>
#include <starpu_cuda.h>

#define RUNTIME(name) cuda##name
#define RUNTIME_NAME "CUDA"
#define RUNTIME_WORKER STARPU_CUDA_WORKER
#define RUNTIME_ASYNC STARPU_CUDA_ASYNC
#define RUNTIME_FACTS struct cudaPointerAttributes
#define RUNTIME_KIND type
#define RUNTIME_LANES cudaDevAttrWarpSize
#define RUNTIME_ADDS cudaDevAttrHostNativeAtomicSupported
#define RUNTIME_COUNT ncuda
#define RUNTIME_CHOSEN use_explicit_workers_cuda_gpuid
#define RUNTIME_NUMBERS workers_cuda_gpuid
#define RUNTIME_STREAM starpu_cuda_get_local_stream
#ifdef TSI_DEVICE_BLAS
#include <cublas_v2.h>
#define BLAS(name) cublas##name
#define BLAS_SYMBOL(name) CUBLAS_##name
#define BLAS_HANDLE cublasHandle_t
#define BLAS_C cuComplex
#define BLAS_Z cuDoubleComplex
#endif
#include "runtime/exec/starpu/devices_runtime.h"
