/* The launches of codelets/gpu/tables/program_launch.h and spread_launch.h in the emulator. A separate thread
 * replaces the device, so that the host continues. Each launch has another schedule. */
#include "codelets/gpu/tables/program_launch.h"

#include <atomic>
#include <thread>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/program.gpu.h"
#include "codelets/gpu/spread.gpu.h"

static std::thread device;
static std::atomic<bool> works;

template <class F> static int launch(unsigned blocks, F kernel) {
  const unsigned count = blocks ? blocks : (unsigned)EMULATED_BLOCKS;
  if (device.joinable()) device.join();
  works = true;
  device = std::thread([kernel, count] {
    emulated_device(count, 32, kernel);
    works = false;
  });
  return 0;
}

template <class T> static int launch_program(const tsi_gpu_program *s, unsigned blocks) {
  constexpr int W = 32, R = gpu_tile_max<T>();
  return launch(blocks, [program = *s] {
    program.call.nrhs == 1 ? gpu_run_program<T, T, W, 1>(program) : gpu_run_program<T, T, W, R>(program);
  });
}

template <class T> static int launch_spread(const tsi_gpu_spread *s, unsigned blocks) {
  constexpr int W = 32, R = gpu_tile_max<T>();
  return launch(blocks, [spread = *s] {
    spread.call.nrhs == 1 ? gpu_run_spread<T, W, 1>(spread) : gpu_run_spread<T, W, R>(spread);
  });
}

extern "C" int emulated_busy(void *, bool *busy) {
  *busy = works;
  if (!*busy && device.joinable()) device.join();
  return 0;
}

#define EMULATED(name, T)                                                                                    \
  int tsi_gpu_program_##name(const tsi_gpu_program *s, unsigned blocks, unsigned, void *) {                  \
    return launch_program<T>(s, blocks);                                                                     \
  }                                                                                                          \
  int tsi_gpu_spread_##name(const tsi_gpu_spread *s, unsigned blocks, unsigned, void *) {                    \
    return launch_spread<T>(s, blocks);                                                                      \
  }
EMULATED(s, float)
EMULATED(d, double)
EMULATED(c, complex_single)
EMULATED(z, complex_double)
