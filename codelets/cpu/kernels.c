/* Chooses the kernel table of the best instruction set that the processor has. */
#include "codelets/cpu/kernels.h"

#include <string.h>

const tsi_kernels_d *tsi_kernels_d_select(const char *name) {
#ifdef TSI_HAVE_X86_KERNELS
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (avx512 && (name == NULL || strcmp(name, "avx512") == 0)) return &tsi_kernels_d_avx512;
  if (avx2 && (name == NULL || strcmp(name, "avx2") == 0)) return &tsi_kernels_d_avx2;
#endif
  return name == NULL || strcmp(name, "base") == 0 ? &tsi_kernels_d_base : NULL;
}
