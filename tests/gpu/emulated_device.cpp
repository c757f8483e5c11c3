/* The launches of codelets/gpu/launch.h in the emulator, in the place of those of a device: one launch at a
 * time, each in a schedule of its own. Warps have 32 lanes. A launch that does not end as it should ends the
 * program. */
#include "codelets/gpu/launch.h"

#include <mutex>

#include "tests/gpu/emulated_launch.h"

#include "codelets/gpu/sweep.gpu.h"
#include "tests/check.h"

static std::mutex one_at_a_time; /* the emulator's */
static uint64_t launches;

template <class V, class T> static int launch(const tsi_gpu_sweep *s, unsigned blocks, unsigned threads) {
  constexpr int W = 32, R = gpu_tile_max<T>();
  const std::lock_guard<std::mutex> guard(one_at_a_time);
  emulated_grid grid = {};
  emulated_outcome result = {};
  grid.threads = threads;
  grid.resident = blocks;
  emulated_launch(grid, W, blocks, ++launches, result, [&] {
    if (s->call.nrhs == 1)
      s->backward ? gpu_run_sweep<V, T, W, 1, true>(*s) : gpu_run_sweep<V, T, W, 1, false>(*s);
    else
      s->backward ? gpu_run_sweep<V, T, W, R, true>(*s) : gpu_run_sweep<V, T, W, R, false>(*s);
  });
  CHECK_MSG(result.ended, "%s", result.problem);
  return 0;
}

/* A device of few blocks. */
#define EMULATED(name, V, T)                                                                                 \
  int tsi_gpu_launch_##name(const tsi_gpu_sweep *s, unsigned blocks, unsigned threads, void *) {             \
    return launch<V, T>(s, blocks, threads);                                                                 \
  }                                                                                                          \
  int tsi_gpu_blocks_##name(const tsi_gpu_sweep *, unsigned, unsigned *blocks) {                             \
    *blocks = 2;                                                                                             \
    return 0;                                                                                                \
  }
EMULATED(s, float, float)
EMULATED(d, double, double)
EMULATED(c, complex_single, complex_single)
EMULATED(z, complex_double, complex_double)
EMULATED(sd, float, double)
EMULATED(cz, complex_single, complex_double)
