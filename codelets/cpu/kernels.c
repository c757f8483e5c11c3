/* Chooses the kernel table of a scalar type and a treatment of diagonal blocks for the best instruction set
 * that the processor has. */
#include "codelets/cpu/kernels.h"

#include <string.h>

#ifdef TSI_HAVE_X86_KERNELS
#define ISAS 3
#define DECLARE(t)                                                                                           \
  extern const tsi_kernels tsi_kernels_##t##_base[TSI_INVERSES], tsi_kernels_##t##_avx2[TSI_INVERSES],       \
      tsi_kernels_##t##_avx512[TSI_INVERSES];
#define TABLES(t)                                                                                            \
  { tsi_kernels_##t##_base, tsi_kernels_##t##_avx2, tsi_kernels_##t##_avx512 }
#else
#define ISAS 1
#define DECLARE(t) extern const tsi_kernels tsi_kernels_##t##_base[TSI_INVERSES];
#define TABLES(t)                                                                                            \
  { tsi_kernels_##t##_base }
#endif
DECLARE(s)
DECLARE(d)
DECLARE(c)
DECLARE(z)

/* How many of the tables, from the first, can run here. */
static int usable(void) {
#ifdef TSI_HAVE_X86_KERNELS
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
             ? 3
             : 2;
#else
  return 1;
#endif
}

const tsi_kernels *tsi_kernels_select(char scalar, tsi_inverse inverse, const char *isa) {
  static const char letters[] = "sdcz";
  static const tsi_kernels *const tables[][ISAS] = {TABLES(s), TABLES(d), TABLES(c), TABLES(z)};
  const char *letter = strchr(letters, scalar);
  if (letter == NULL || scalar == 0) return NULL;
  for (int i = usable(); i-- > 0;) {
    const tsi_kernels *table = &tables[letter - letters][i][inverse];
    if (isa == NULL || strcmp(isa, table->isa) == 0) return table;
  }
  return NULL;
}
