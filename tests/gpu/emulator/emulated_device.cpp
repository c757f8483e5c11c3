/* The launches of codelets/gpu/tables/launch.h in the emulator, instead of on a device. Warps have 32
 * lanes. */
#include "codelets/gpu/tables/launch.h"

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/sweep.gpu.h"

template <class V, class T> static int launch(const tsi_gpu_sweep *s, unsigned blocks, unsigned threads) {
  constexpr int W = 32, R = gpu_tile_max<T>();
  return emulated_device(blocks, threads, [&] {
    if (s->call.nrhs == 1)
      s->backward ? gpu_run_sweep<V, T, W, 1, true>(*s) : gpu_run_sweep<V, T, W, 1, false>(*s);
    else
      s->backward ? gpu_run_sweep<V, T, W, R, true>(*s) : gpu_run_sweep<V, T, W, R, false>(*s);
  });
}

#define EMULATED(name, V, T)                                                                                 \
  int tsi_gpu_launch_##name(const tsi_gpu_sweep *s, unsigned blocks, unsigned threads, void *) {             \
    return launch<V, T>(s, blocks, threads);                                                                 \
  }                                                                                                          \
  int tsi_gpu_blocks_##name(const tsi_gpu_sweep *, unsigned, unsigned *blocks) {                             \
    *blocks = EMULATED_BLOCKS;                                                                               \
    return 0;                                                                                                \
  }
EMULATED(s, float, float)
EMULATED(d, double, double)
EMULATED(c, complex_single, complex_single)
EMULATED(z, complex_double, complex_double)
EMULATED(sd, float, double)
EMULATED(cz, complex_single, complex_double)
