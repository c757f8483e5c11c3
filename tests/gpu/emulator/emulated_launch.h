/* One launch of a kernel in the emulator, with the grid of a test; included before the kernel. */
#pragma once

#include <math.h>

#include <mutex>
#include <string>
#include <vector>

#include "tests/support/gpu/runs.h"
#include "tests/gpu/emulator/emulator.h"

#include "codelets/gpu/scalar.gpu.h"
#include "tests/support/check.h"

typedef gpu_complex<float> complex_single;
typedef gpu_complex<double> complex_double;

/* Adds the counts of this launch to those of earlier ones. */
template <class F>
static void emulated_launch(const run_grid &grid, unsigned warp, unsigned blocks, uint64_t seed,
                            run_outcome &result, F kernel) {
  emulator::grid shape;
  shape.blocks = blocks;
  shape.resident = grid.resident;
  shape.threads = grid.threads;
  shape.warp = warp;
  shape.seed = seed;
  shape.count_loads = grid.count_loads;
  emulator::planted_fault = grid.fault;
  const emulator::outcome got = emulator::run(shape, kernel);
  emulator::planted_fault = 0;
  result.ended = (bool)got;
  result.loads += (double)got.loads;
  result.sectors += (double)got.sectors;
  result.bytes += (double)got.bytes;
  snprintf(result.problem, sizeof result.problem, "%s", got.problem.c_str());
}

/* Number of resident blocks of the emulated device. */
enum { EMULATED_BLOCKS = 2 };

inline std::mutex emulated_one_at_a_time; /* serializes the launches */
inline uint64_t emulated_launches;

/* Emulates a launch with at most 8 resident blocks. Launches run one at a time, each in a different
 * schedule. The program ends if a launch fails. */
template <class F> static int emulated_device(unsigned blocks, unsigned threads, F kernel) {
  const std::lock_guard<std::mutex> guard(emulated_one_at_a_time);
  run_grid grid = {};
  run_outcome result = {};
  grid.threads = threads;
  grid.resident = blocks < 8 ? blocks : 8;
  emulated_launch(grid, 32, blocks, ++emulated_launches, result, kernel);
  CHECK_MSG(result.ended, "%s", result.problem);
  return 0;
}

template <class T> static std::vector<T> scalars_of_nan(size_t count) {
  typedef typename gpu_scalar<T>::real real;
  std::vector<T> out(count);
  for (size_t i = 0; i < count * sizeof(T) / sizeof(real); i++) ((real *)out.data())[i] = (real)NAN;
  return out;
}
