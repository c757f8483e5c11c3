/* The launches of codelets/gpu/tables/rows_launch.h, variants.h, spmv_launch.h and fsai_launch.h in the
 * emulator, instead of on a device. Warps have 32 lanes. */
#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/fsai.gpu.h"
#include "codelets/gpu/fsai_rows.gpu.h"
#include "codelets/gpu/rows.gpu.h"
#include "codelets/gpu/spmv.gpu.h"
#include "codelets/gpu/variants.gpu.h"

enum { W = 32 };

template <class T> static int rows(const tsi_gpu_rows *s, unsigned blocks, unsigned threads) {
  return emulated_device(blocks, threads, [&] {
    s->call.nrhs == 1 ? gpu_run_rows<T, W, 1>(*s) : gpu_run_rows<T, W, gpu_tile_max<T>()>(*s);
  });
}

/* A sweep of a published solver. It has one kernel for a single right-hand side, and one for several. */
#define VARIANT(kernel, s, blocks)                                                                           \
  emulated_device(blocks, threads, [&] {                                                                     \
    constexpr int R = gpu_tile_max<T>();                                                                     \
    if ((s).call.nrhs == 1)                                                                                  \
      (s).backward ? kernel<T, T, W, 1, true>(s) : kernel<T, T, W, 1, false>(s);                             \
    else                                                                                                     \
      (s).backward ? kernel<T, T, W, R, true>(s) : kernel<T, T, W, R, false>(s);                             \
  })

template <class T> static int sc23(const tsi_gpu_variant *s, unsigned threads) {
  return VARIANT(gpu_run_sc23, *s, (unsigned)s->tables.panels);
}
template <class T> static int kk20(const tsi_gpu_variant *s, const tsi_index *level_ptr, unsigned threads) {
  tsi_gpu_variant level = *s;
  for (tsi_index k = 0; k < s->tables.levels; k++) {
    const tsi_index number = s->backward ? s->tables.levels - 1 - k : k;
    level.first = level_ptr[number];
    VARIANT(gpu_run_kk20, level, (unsigned)(level_ptr[number + 1] - level_ptr[number]));
  }
  return 0;
}

#define EMULATED(name, T)                                                                                    \
  int tsi_gpu_rows_launch_##name(const tsi_gpu_rows *s, unsigned blocks, unsigned threads, void *) {         \
    return rows<T>(s, blocks, threads);                                                                      \
  }                                                                                                          \
  int tsi_gpu_rows_blocks_##name(const tsi_gpu_rows *, unsigned, unsigned *blocks) {                         \
    *blocks = EMULATED_BLOCKS;                                                                               \
    return 0;                                                                                                \
  }                                                                                                          \
  int tsi_gpu_sc23_##name(const tsi_gpu_variant *s, unsigned threads, void *) {                              \
    return sc23<T>(s, threads);                                                                              \
  }                                                                                                          \
  int tsi_gpu_kk20_##name(const tsi_gpu_variant *s, const tsi_index *level_ptr, unsigned threads, void *) {  \
    return kk20<T>(s, level_ptr, threads);                                                                   \
  }                                                                                                          \
  int tsi_gpu_fsai_launch_##name(const tsi_gpu_fsai *s, unsigned blocks, unsigned threads, void *) {         \
    return emulated_device(blocks, threads, [&] { gpu_run_fsai<T, W>(*s); });                                \
  }                                                                                                          \
  int tsi_gpu_fsai_blocks_##name(const tsi_gpu_fsai *, unsigned, unsigned *blocks) {                         \
    *blocks = EMULATED_BLOCKS;                                                                               \
    return 0;                                                                                                \
  }                                                                                                          \
  int tsi_gpu_fsai_count_##name(const tsi_gpu_fsai_rows *s, unsigned blocks, unsigned threads, void *) {     \
    emulated_device(blocks, threads, [&] { gpu_run_fsai_sums(*s); });                                        \
    return emulated_device(blocks, threads, [&] { gpu_run_fsai_ptr(*s); });                                  \
  }                                                                                                          \
  int tsi_gpu_fsai_adjoin_##name(const tsi_gpu_fsai_adjoint *s, unsigned blocks, unsigned threads, void *) { \
    const tsi_gpu_fsai_rows rows = tsi_gpu_fsai_adjoint_rows(s);                                             \
    emulated_device(blocks, threads, [&] { gpu_run_adjoint_count(*s); });                                    \
    tsi_gpu_fsai_count_##name(&rows, blocks, threads, nullptr);                                              \
    emulated_device(blocks, threads, [&] { gpu_run_adjoint_fill<T, W>(*s); });                               \
    return emulated_device(blocks, threads, [&] { gpu_run_adjoint_sort<T, W>(*s); });                        \
  }                                                                                                          \
  int tsi_gpu_fsai_pack_##name(const tsi_gpu_fsai_rows *s, unsigned blocks, unsigned threads, void *) {      \
    return emulated_device(blocks, threads, [&] { gpu_run_fsai_pack<T, W>(*s); });                           \
  }
EMULATED(s, float)
EMULATED(d, double)
EMULATED(c, complex_single)
EMULATED(z, complex_double)

#define STORED(name, V, T)                                                                                   \
  int tsi_gpu_spmv_launch_##name(const tsi_gpu_spmv *s, unsigned blocks, unsigned threads, void *) {         \
    return emulated_device(blocks, threads, [&] {                                                            \
      s->nrhs == 1 ? gpu_run_spmv<V, T, W, 1>(*s) : gpu_run_spmv<V, T, W, gpu_tile_max<T>()>(*s);            \
    });                                                                                                      \
  }
STORED(s, float, float)
STORED(d, double, double)
STORED(c, complex_single, complex_single)
STORED(z, complex_double, complex_double)
STORED(sd, float, double)
STORED(cz, complex_single, complex_double)
