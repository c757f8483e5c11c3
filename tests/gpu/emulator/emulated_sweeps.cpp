/* See runs.h. */
#include "tests/support/gpu/runs.h"

#include <map>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/sweep.gpu.h"
#include "tests/support/check.h"

/* Flags and counter keep their values between launches, as on a device. */
struct launcher {
  std::vector<int32_t> flag;
  int32_t ticket = 0, epoch = 0;
};

template <class V, class T, int W, int R, bool BACKWARD>
static void launch(const tsi_device_tables &tables, const tsi_device_call &call, const run_grid &grid,
                   launcher &l, run_outcome &result) {
  const tsi_device_sweep &sweep = BACKWARD ? tables.backward : tables.forward;
  l.flag.resize((size_t)sweep.tickets + 1);
  const tsi_gpu_sweep s = {tables, call, BACKWARD, &l.ticket, l.flag.data(), ++l.epoch};
  emulator::name_flags(BACKWARD ? "backward ticket" : "forward ticket", l.flag.data(), l.flag.size());
  emulated_launch(grid, W, grid.blocks, grid.seed + (uint64_t)BACKWARD * 1000003, result,
                  [&] { gpu_run_sweep<V, T, W, R, BACKWARD>(s); });
  if (result.ended && l.ticket != 0) {
    result.ended = false;
    snprintf(result.problem, sizeof result.problem, "the counter is left at %d", (int)l.ticket);
  }
}

template <class V, class T, int W, int R>
static run_outcome sweeps(const tsi_device_tables &forward, const tsi_device_tables &backward,
                          const tsi_device_call &call, const run_grid &grid) {
  run_outcome result = {};
  launcher l;
  result.ended = true;
  if (call.forward.values) launch<V, T, W, R, false>(forward, call, grid, l, result);
  l.flag.assign(l.flag.size(), 0);
  if (call.backward.values && result.ended) launch<V, T, W, R, true>(backward, call, grid, l, result);
  return result;
}

template <class V, class T, int W>
static run_outcome typed_sweeps(const tsi_device_tables &forward, const tsi_device_tables &backward,
                                tsi_device_call call, const run_grid &grid) {
  constexpr int R = gpu_tile_max<T>();
  const size_t rows = (size_t)tsi_index_max(forward.workspace_rows, backward.workspace_rows);
  std::vector<T> workspace;
  if (call.workspace == nullptr) {
    call.stride = call.nrhs > 1 ? call.nrhs + 1 : 1; /* one padding scalar, which stays NaN */
    workspace = scalars_of_nan<T>(rows * (size_t)call.stride + 1);
    call.workspace = workspace.data();
  }
  return (call.nrhs == 1 ? sweeps<V, T, W, 1> : sweeps<V, T, W, R>)(forward, backward, call, grid);
}

run_outcome run_sweeps(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, const run_grid *grid) {
  const std::string name = scalars + std::to_string(grid->warp);
  const std::map<std::string, decltype(&typed_sweeps<double, double, 32>)> all = {
      {"d32", typed_sweeps<double, double, 32>},
#ifndef TSI_GPU_ONLY_DOUBLE /* slow builds only test double; all types access memory alike */
      {"d64", typed_sweeps<double, double, 64>},
      {"s32", typed_sweeps<float, float, 32>},
      {"s64", typed_sweeps<float, float, 64>},
      {"c32", typed_sweeps<complex_single, complex_single, 32>},
      {"c64", typed_sweeps<complex_single, complex_single, 64>},
      {"z32", typed_sweeps<complex_double, complex_double, 32>},
      {"z64", typed_sweeps<complex_double, complex_double, 64>},
      {"sd32", typed_sweeps<float, double, 32>},
      {"cz32", typed_sweeps<complex_single, complex_double, 32>},
#endif
  };
  const auto found = all.find(name);
  CHECK_MSG(found != all.end(), "no kernels for %s", name.c_str());
  const auto run = found->second;
  return run(*forward, *backward, *call, *grid);
}
