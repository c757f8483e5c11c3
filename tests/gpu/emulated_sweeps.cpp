/* See emulated_sweeps.h. */
#include "tests/gpu/emulated_sweeps.h"

#include <math.h>

#include <map>
#include <string>
#include <vector>

#include "tests/gpu/emulator.h"

#include "codelets/gpu/sweep.gpu.h"
#include "tests/check.h"

/* Flags and the counter are those of the launch before, as on a device. */
struct launcher {
  std::vector<int32_t> flag;
  int32_t ticket = 0, epoch = 0;
};

template <class V, class T, int W, int R, bool BACKWARD>
static void launch(const tsi_device_tables &tables, const tsi_device_call &call, const emulated_grid &grid,
                   launcher &l, emulated_outcome &result) {
  const tsi_device_sweep &sweep = BACKWARD ? tables.backward : tables.forward;
  l.flag.resize((size_t)sweep.tickets + 1);
  const tsi_gpu_sweep s = {tables, call, BACKWARD, &l.ticket, l.flag.data(), ++l.epoch};
  emulator::grid shape;
  shape.blocks = grid.blocks;
  shape.resident = grid.resident;
  shape.threads = grid.threads;
  shape.warp = W;
  shape.seed = grid.seed + (uint64_t)BACKWARD * 1000003;
  shape.count_loads = grid.count_loads;
  emulator::planted_fault = grid.fault;
  emulator::name_flags(BACKWARD ? "backward ticket" : "forward ticket", l.flag.data(), l.flag.size());
  const emulator::outcome got = emulator::run(shape, [&] { gpu_run_sweep<V, T, W, R, BACKWARD>(s); });
  emulator::planted_fault = 0;
  result.ended = (bool)got;
  result.loads += (double)got.loads;
  result.sectors += (double)got.sectors;
  result.bytes += (double)got.bytes;
  snprintf(result.problem, sizeof result.problem, "%s", got.problem.c_str());
  CHECK_MSG(!result.ended || l.ticket == 0, "the counter is left at %d", (int)l.ticket);
}

template <class V, class T, int W, int R>
static emulated_outcome sweeps(const tsi_device_tables &forward, const tsi_device_tables &backward,
                               const tsi_device_call &call, const emulated_grid &grid) {
  emulated_outcome result = {};
  launcher l;
  result.ended = true;
  if (call.forward.values) launch<V, T, W, R, false>(forward, call, grid, l, result);
  l.flag.assign(l.flag.size(), 0);
  if (call.backward.values && result.ended) launch<V, T, W, R, true>(backward, call, grid, l, result);
  return result;
}

template <class V, class T, int W>
static emulated_outcome typed_sweeps(const tsi_device_tables &forward, const tsi_device_tables &backward,
                                     tsi_device_call call, const emulated_grid &grid) {
  constexpr int R = gpu_tile_max<T>();
  call.stride = call.nrhs > 1 ? call.nrhs + 1 : 1; /* one of padding, which stays NaN */
  const size_t rows = (size_t)tsi_index_max(forward.workspace_rows, backward.workspace_rows);
  std::vector<T> workspace(rows * (size_t)call.stride + 1);
  typedef typename gpu_scalar<T>::real real;
  for (size_t i = 0; i < workspace.size() * sizeof(T) / sizeof(real); i++)
    ((real *)workspace.data())[i] = (real)NAN;
  call.workspace = workspace.data();
  return (call.nrhs == 1 ? sweeps<V, T, W, 1> : sweeps<V, T, W, R>)(forward, backward, call, grid);
}

typedef gpu_complex<float> complex_single;
typedef gpu_complex<double> complex_double;

emulated_outcome emulated_sweeps(const char *scalars, const tsi_device_tables *forward,
                                 const tsi_device_tables *backward, const tsi_device_call *call,
                                 const emulated_grid *grid) {
  const std::string name = scalars + std::to_string(grid->warp);
  const std::map<std::string, decltype(&typed_sweeps<double, double, 32>)> all = {
      {"d32", typed_sweeps<double, double, 32>},
#ifndef TSI_GPU_ONLY_DOUBLE /* a build that is slow takes one of them: their accesses are the same */
      {"d64", typed_sweeps<double, double, 64>},
      {"s32", typed_sweeps<float, float, 32>},
      {"c32", typed_sweeps<complex_single, complex_single, 32>},
      {"c64", typed_sweeps<complex_single, complex_single, 64>},
      {"z32", typed_sweeps<complex_double, complex_double, 32>},
      {"sd32", typed_sweeps<float, double, 32>},
      {"cz32", typed_sweeps<complex_single, complex_double, 32>},
#endif
  };
  const auto found = all.find(name);
  CHECK_MSG(found != all.end(), "no kernels for %s", name.c_str());
  const auto run = found->second;
  return run(*forward, *backward, *call, *grid);
}
