/* The launches of codelets/gpu/tables/program_launch.h in the emulator: a thread of its own stands in for the
 * device, so that the host goes on. Each launch has another schedule. */
#include "codelets/gpu/tables/program_launch.h"

#include <atomic>
#include <thread>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/program.gpu.h"

static std::thread device;
static std::atomic<bool> works;

template <class T> static int launch(const tsi_gpu_program *s, unsigned blocks) {
  constexpr int W = 32, R = gpu_tile_max<T>();
  const tsi_gpu_program program = *s;
  const unsigned count = blocks ? blocks : (unsigned)EMULATED_BLOCKS;
  if (device.joinable()) device.join();
  works = true;
  device = std::thread([program, count] {
    emulated_device(count, W, [&] {
      program.call.nrhs == 1 ? gpu_run_program<T, T, W, 1>(program) : gpu_run_program<T, T, W, R>(program);
    });
    works = false;
  });
  return 0;
}

extern "C" int emulated_busy(void *, bool *busy) {
  *busy = works;
  if (!*busy && device.joinable()) device.join();
  return 0;
}

#define EMULATED(name, T)                                                                                    \
  int tsi_gpu_program_##name(const tsi_gpu_program *s, unsigned blocks, unsigned, void *) {                  \
    return launch<T>(s, blocks);                                                                             \
  }
EMULATED(s, float)
EMULATED(d, double)
EMULATED(c, complex_single)
EMULATED(z, complex_double)
