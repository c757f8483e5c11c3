/* See run_spread.h. */
#include "tests/support/gpu/run_spread.h"

#include <map>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/spread.gpu.h"

enum { IDLE_POLLS = 20000 };

/* Heap and counters of a PE. */
struct pe_memory {
  std::vector<int64_t> heap;
  std::vector<int32_t> flag;
  int32_t ticket = 0, polls = 0;
};

/* Block b of the grid belongs to PE b mod pes. */
template <class T, int W, int R>
static void launch(const std::vector<tsi_gpu_spread> &pe, const run_grid &grid, uint64_t seed,
                   run_outcome &result) {
  emulator::grid shape;
  shape.blocks = grid.blocks * (unsigned)pe.size();
  shape.threads = grid.threads;
  shape.warp = W;
  shape.seed = seed;
  shape.polls = IDLE_POLLS;
  emulator::planted_fault = grid.fault;
  const emulator::outcome got =
      emulator::run(shape, [&] { gpu_run_spread<T, W, R>(pe[gpu_block() % pe.size()]); });
  emulator::planted_fault = 0;
  result.ended = (bool)got;
  snprintf(result.problem, sizeof result.problem, "%s", got.problem.c_str());
}

template <class T, int W>
static run_outcome typed_spread(int pes, const tsi_gpu_spread *given, const tsi_index *rows, tsi_index slots,
                                unsigned solves, const run_grid &grid, int32_t *polls) {
  run_outcome result = {};
  std::vector<tsi_gpu_spread> pe(given, given + pes);
  std::vector<pe_memory> memory((size_t)pes);
  std::vector<std::vector<T>> workspace((size_t)pes);
  std::vector<char *> base;
  const size_t stride = (size_t)pe[0].call.nrhs + (pe[0].call.nrhs > 1);
  for (auto &m : memory) {
    m.heap.resize((tsi_heap_data(slots) + (size_t)slots * stride * sizeof(T)) / sizeof(int64_t) + 1);
    base.push_back((char *)m.heap.data());
  }
  for (int k = 0; k < pes; k++) {
    pe_memory &m = memory[(size_t)k];
    m.flag.resize((size_t)rows[k] + 1);
    tsi_gpu_spread &s = pe[(size_t)k];
    s.call.stride = (tsi_index)stride;
    s.ticket = &m.ticket;
    s.polls = &m.polls;
    s.flag = m.flag.data();
    s.heap = {k, pes, slots, base.data()};
    s.sums = 0;
  }
  result.ended = true;
  for (int32_t epoch = 1; epoch <= (int32_t)solves && result.ended; epoch++) {
    for (int k = 0; k < pes; k++) {
      workspace[(size_t)k] = scalars_of_nan<T>((size_t)rows[k] * stride + 1);
      pe[(size_t)k].call.workspace = workspace[(size_t)k].data();
      pe[(size_t)k].epoch = epoch;
      memory[(size_t)k].ticket = memory[(size_t)k].polls = 0;
    }
    const bool one = pe[0].call.nrhs == 1;
    (one ? launch<T, W, 1> : launch<T, W, gpu_tile_max<T>()>)(pe, grid, grid.seed + 7919 * (uint64_t)epoch,
                                                              result);
  }
  for (int k = 0; k < pes; k++) polls[k] = memory[(size_t)k].polls;
  return result;
}

run_outcome run_spread(const char *scalars, int pes, const tsi_gpu_spread *pe, const tsi_index *rows,
                       tsi_index slots, unsigned solves, const run_grid *grid, int32_t *polls) {
  const std::string name = scalars + std::to_string(grid->warp);
  const std::map<std::string, decltype(&typed_spread<double, 32>)> all = {
      {"d32", typed_spread<double, 32>},
#ifndef TSI_GPU_ONLY_DOUBLE
      {"s32", typed_spread<float, 32>},          {"c32", typed_spread<complex_single, 32>},
      {"z32", typed_spread<complex_double, 32>}, {"d64", typed_spread<double, 64>},
#endif
  };
  const auto found = all.find(name);
  CHECK_MSG(found != all.end(), "no kernels for %s", name.c_str());
  return found->second(pes, pe, rows, slots, solves, *grid, polls);
}
