/* codelets/cpu/base/panel.h for host and device. Marks its inline functions for the device's compiler here,
 * so that panel.h itself needs no marks. The headers that it includes are included before. */
#pragma once

#include "runtime/base/types.h"

#if defined __CUDACC__ || defined __HIPCC__
#define inline __host__ __device__ inline
#endif
#include "codelets/cpu/base/panel.h"
#undef inline
