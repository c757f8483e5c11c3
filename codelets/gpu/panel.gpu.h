/* codelets/cpu/base/panel.h for host and device: its inline functions are marked for the device's compiler
 * here, so that a header of all kernels knows of none. What it includes itself has been seen before. */
#pragma once

#include "runtime/base/types.h"

#if defined __CUDACC__ || defined __HIPCC__
#define inline __host__ __device__ inline
#endif
#include "codelets/cpu/base/panel.h"
#undef inline
