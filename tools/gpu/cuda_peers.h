/* The peers of a CUDA toolkit. */
#pragma once

#include <library_types.h>

#include "tools/gpu/peers.h"

extern const gpu_peer cusparse_peer, cudss_peer;

static inline cudaDataType cuda_type_of(const typed *t) {
  return t->is_complex ? (t->is_single ? CUDA_C_32F : CUDA_C_64F) : (t->is_single ? CUDA_R_32F : CUDA_R_64F);
}
