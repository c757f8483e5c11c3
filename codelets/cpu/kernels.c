/* Chooses the kernel tables of a scalar type for the best instruction set that the processor has. */
#include "codelets/cpu/kernels.h"

#include <string.h>

#include "codelets/cpu/spmv.h"

#ifdef TSI_HAVE_X86_KERNELS
#define ISAS 3
#define DECLARE(table, t) extern const table table##_##t##_base, table##_##t##_avx2, table##_##t##_avx512;
#define TABLES(table, t)                                                                                     \
  { &table##_##t##_base, &table##_##t##_avx2, &table##_##t##_avx512 }
#else
#define ISAS 1
#define DECLARE(table, t) extern const table table##_##t##_base;
#define TABLES(table, t)                                                                                     \
  { &table##_##t##_base }
#endif

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

#define SELECT(table)                                                                                        \
  DECLARE(table, s)                                                                                          \
  DECLARE(table, d)                                                                                          \
  DECLARE(table, c)                                                                                          \
  DECLARE(table, z)                                                                                          \
  const table *table##_select(char scalar, const char *isa) {                                                \
    static const char letters[] = "sdcz";                                                                    \
    static const table *const tables[][ISAS] = {TABLES(table, s), TABLES(table, d), TABLES(table, c),        \
                                                TABLES(table, z)};                                           \
    const char *letter = strchr(letters, scalar);                                                            \
    if (letter == NULL || scalar == 0) return NULL;                                                          \
    for (int i = usable(); i-- > 0;)                                                                         \
      if (isa == NULL || strcmp(isa, tables[letter - letters][i]->isa) == 0)                                 \
        return tables[letter - letters][i];                                                                  \
    return NULL;                                                                                             \
  }
SELECT(tsi_kernels)
SELECT(tsi_spmv_kernels)
