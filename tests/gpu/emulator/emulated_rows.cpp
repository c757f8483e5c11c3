/* See run_rows.h. */
#include "tests/support/gpu/run_rows.h"

#include <map>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/rows.gpu.h"
#include "tests/support/check.h"

/* State that remains between launches, as on a device. */
struct counters {
  std::vector<int32_t> done, flag;
  int32_t ticket = 0;
};

template <class T, int W, int R>
static void solve(tsi_gpu_rows s, bool one_launch, const run_grid &grid, counters &c, run_outcome &result) {
  s.ticket = &c.ticket;
  s.done = c.done.data();
  s.flag = c.flag.data();
  s.phases = one_launch ? s.tables.phases : 1;
  for (s.phase = 0; s.phase < s.tables.phases && result.ended; s.phase += s.phases) {
    emulated_launch(grid, W, grid.blocks, grid.seed + (uint64_t)(s.phase + 7919 * s.epoch), result,
                    [&] { gpu_run_rows<T, W, R>(s); });
    CHECK_MSG(!result.ended || c.ticket == 0, "the counter is left at %d", (int)c.ticket);
  }
}

template <class T, int W>
static run_outcome typed_rows(tsi_gpu_rows s, bool one_launch, unsigned solves, const run_grid &grid) {
  run_outcome result = {};
  counters c;
  c.done.resize((size_t)s.tables.phases + 1);
  c.flag.resize((size_t)s.tables.n + 1);
  emulator::name_flags("row", c.flag.data(), c.flag.size());
  const bool own = s.call.workspace == nullptr;
  if (own) s.call.stride = s.call.nrhs > 1 ? s.call.nrhs + 1 : 1; /* one padding scalar, which stays NaN */
  result.ended = true;
  for (s.epoch = 1; s.epoch <= (int32_t)solves && result.ended; s.epoch++) {
    std::vector<T> workspace = scalars_of_nan<T>(own ? (size_t)s.tables.n * (size_t)s.call.stride + 1 : 1);
    if (own) s.call.workspace = workspace.data();
    (s.call.nrhs == 1 ? solve<T, W, 1> : solve<T, W, gpu_tile_max<T>()>)(s, one_launch, grid, c, result);
  }
  return result;
}

run_outcome run_rows(const char *scalars, const tsi_gpu_rows *rows, bool one_launch, unsigned solves,
                     const run_grid *grid) {
  const std::string name = scalars + std::to_string(grid->warp);
  const std::map<std::string, decltype(&typed_rows<double, 32>)> all = {
      {"d32", typed_rows<double, 32>},
#ifndef TSI_GPU_ONLY_DOUBLE /* slow builds only test double; all types access memory alike */
      {"s32", typed_rows<float, 32>},          {"c32", typed_rows<complex_single, 32>},
      {"z32", typed_rows<complex_double, 32>}, {"s64", typed_rows<float, 64>},
      {"d64", typed_rows<double, 64>},         {"c64", typed_rows<complex_single, 64>},
      {"z64", typed_rows<complex_double, 64>},
#endif
  };
  const auto found = all.find(name);
  CHECK_MSG(found != all.end(), "no kernels for %s", name.c_str());
  return found->second(*rows, one_launch, solves, *grid);
}
