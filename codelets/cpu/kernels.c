/* Chooses the kernel tables of a scalar type, and of a treatment of diagonal blocks, for the best instruction
 * set of the processor. */
#include "codelets/cpu/kernels.h"

#include <string.h>

#include "codelets/cpu/base/dense.h"
#include "codelets/cpu/rows/batch.h"
#include "codelets/cpu/rows/blocks.h"
#include "codelets/cpu/fsai/fsai.h"
#include "codelets/cpu/fsai/fsai_nodes.h"
#include "codelets/cpu/fsai/fsai_pair.h"
#include "codelets/cpu/rows/halved.h"
#include "codelets/cpu/rows/krylov.h"
#include "codelets/cpu/rows/sliced.h"
#include "codelets/cpu/rows/spmv.h"
#include "codelets/cpu/small_front.h"
#include "codelets/cpu/stored.h"
#include "codelets/cpu/tiles.h"

#ifdef TSI_KERNELS_BASE
#define BASE(...) __VA_ARGS__
#else
#define BASE(...)
#endif
#ifdef TSI_KERNELS_AVX2
#define AVX2(...) __VA_ARGS__
#else
#define AVX2(...)
#endif
#ifdef TSI_KERNELS_AVX512
#define AVX512(...) __VA_ARGS__
#else
#define AVX512(...)
#endif
enum { ISAS = 0 BASE(+1) AVX2(+1) AVX512(+1) };
#define DECLARE(table, t, size)                                                                              \
  BASE(extern const table table##_##t##_base size;)                                                          \
  AVX2(extern const table table##_##t##_avx2 size;)                                                          \
  AVX512(extern const table table##_##t##_avx512 size;)
/* The set avx512 shares kernels without 512-bit registers with avx2: tsi_shared_kernels in CMakeLists.txt. */
#if defined TSI_KERNELS_AVX2 && defined TSI_KERNELS_AVX512
#define SHARED_AVX512(table, t) table##_##t##_avx2
#else
#define SHARED_AVX512(table, t) table##_##t##_avx512
#endif
#define TABLES(table, t, address)                                                                            \
  {                                                                                                          \
    BASE(address table##_##t##_base, )                                                                       \
    AVX2(address table##_##t##_avx2, ) AVX512(address table##_##t##_avx512, )                                \
  }
#define SHARED_TABLES(table, t, address)                                                                     \
  {                                                                                                          \
    BASE(address table##_##t##_base, )                                                                       \
    AVX2(address table##_##t##_avx2, ) AVX512(address SHARED_AVX512(table, t), )                             \
  }

#if defined TSI_KERNELS_AVX2 || defined TSI_KERNELS_AVX512
static int has_avx2(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif
#ifdef TSI_KERNELS_AVX512
static int has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

/* Returns the number of tables, from the first, that can run on this processor. */
static int usable(void) {
  int sets = 0;
  BASE(sets++;)
  AVX2(sets += has_avx2();)
  AVX512(sets += has_avx512();)
  return sets;
}

static const char *const isas[ISAS] = {BASE("base", ) AVX2("avx2", ) AVX512("avx512", )};

/* Returns the table for the best instruction set of this processor, or for the requested one. */
#define SELECT_OF(table, letters, ...)                                                                       \
  static const table *select_##table(char scalar, const char *isa) {                                         \
    static const table *const tables[][ISAS] = {__VA_ARGS__};                                                \
    const char *letter = strchr(letters, scalar);                                                            \
    if (letter == NULL || scalar == 0) return NULL;                                                          \
    const table *const *of = tables[strlen(letters) - strlen(letter)];                                       \
    for (int i = usable(); i-- > 0;)                                                                         \
      if (isa == NULL || strcmp(isa, isas[i]) == 0) return of[i];                                            \
    return NULL;                                                                                             \
  }
#define SELECT(table, size, address) SELECT_AMONG(TABLES, table, size, address)
#define SELECT_AMONG(OF, table, size, address)                                                               \
  DECLARE(table, s, size)                                                                                    \
  DECLARE(table, d, size)                                                                                    \
  DECLARE(table, c, size)                                                                                    \
  DECLARE(table, z, size)                                                                                    \
  SELECT_OF(table, "sdcz", OF(table, s, address), OF(table, d, address), OF(table, c, address),              \
            OF(table, z, address))
SELECT(tsi_kernels, [TSI_INVERSES], )
SELECT(tsi_dense_kernels, , &)
SELECT(tsi_small_kernels, , &)
SELECT(tsi_krylov_kernels, , &)
SELECT_AMONG(SHARED_TABLES, tsi_spmv_kernels, , &)
SELECT(tsi_block_kernels, , &)
SELECT(tsi_fsai_kernels, , &)
SELECT_AMONG(SHARED_TABLES, tsi_fsai_node_kernels, , &)
SELECT_AMONG(SHARED_TABLES, tsi_fsai_pair_kernels, , &)
SELECT(tsi_sliced_kernels, , &)
SELECT(tsi_halved_kernels, , &)
SELECT(tsi_batch_kernels, , &)
SELECT(tsi_tile_kernels, , &)

/* Tables of the narrower formats. */
typedef tsi_kernels tsi_single_kernels, tsi_bfloat16_kernels;
DECLARE(tsi_single_kernels, d, )
DECLARE(tsi_single_kernels, z, )
DECLARE(tsi_bfloat16_kernels, d, )
DECLARE(tsi_bfloat16_kernels, z, )
SELECT_OF(tsi_single_kernels, "dz", TABLES(tsi_single_kernels, d, &), TABLES(tsi_single_kernels, z, &))
SELECT_OF(tsi_bfloat16_kernels, "dz", TABLES(tsi_bfloat16_kernels, d, &), TABLES(tsi_bfloat16_kernels, z, &))

const tsi_kernels *tsi_format_kernels_select(char scalar, tsi_format format, const char *isa) {
  return format == TSI_FORMAT_SINGLE     ? select_tsi_single_kernels(scalar, isa)
         : format == TSI_FORMAT_BFLOAT16 ? select_tsi_bfloat16_kernels(scalar, isa)
                                         : NULL;
}

const tsi_kernels *tsi_kernels_select(char scalar, tsi_inverse inverse, const char *isa) {
  const tsi_kernels *tables = select_tsi_kernels(scalar, isa);
  return tables ? &tables[inverse] : NULL;
}

const tsi_dense_kernels *tsi_dense_kernels_select(char scalar, const char *isa) {
  return select_tsi_dense_kernels(scalar, isa);
}

const tsi_small_kernels *tsi_small_kernels_select(char scalar, const char *isa) {
  return select_tsi_small_kernels(scalar, isa);
}

const tsi_spmv_kernels *tsi_spmv_kernels_select(char scalar, const char *isa) {
  return select_tsi_spmv_kernels(scalar, isa);
}

const tsi_krylov_kernels *tsi_krylov_kernels_select(char scalar, const char *isa) {
  return select_tsi_krylov_kernels(scalar, isa);
}

const tsi_block_kernels *tsi_block_kernels_select(char scalar, const char *isa) {
  return select_tsi_block_kernels(scalar, isa);
}

const tsi_fsai_kernels *tsi_fsai_kernels_select(char scalar, const char *isa) {
  return select_tsi_fsai_kernels(scalar, isa);
}

const tsi_fsai_node_kernels *tsi_fsai_node_kernels_select(char scalar, const char *isa) {
  return select_tsi_fsai_node_kernels(scalar, isa);
}

const tsi_fsai_pair_kernels *tsi_fsai_pair_kernels_select(char scalar, const char *isa) {
  return select_tsi_fsai_pair_kernels(scalar, isa);
}

const tsi_sliced_kernels *tsi_sliced_kernels_select(char scalar, const char *isa) {
  return select_tsi_sliced_kernels(scalar, isa);
}

const tsi_halved_kernels *tsi_halved_kernels_select(char scalar, const char *isa) {
  return select_tsi_halved_kernels(scalar, isa);
}

const tsi_batch_kernels *tsi_batch_kernels_select(char scalar, const char *isa) {
  return select_tsi_batch_kernels(scalar, isa);
}

const tsi_tile_kernels *tsi_tile_kernels_select(char scalar, const char *isa) {
  return select_tsi_tile_kernels(scalar, isa);
}
