/* See run_columns.h. */
#include "tests/support/gpu/run_columns.h"

#include <map>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/columns.gpu.h"

template <class V, class T> static run_outcome columns(const tsi_gpu_columns &s, const run_grid &grid) {
  run_outcome result = {};
  emulated_launch(grid, grid.warp, grid.blocks, grid.seed, result, [&] { gpu_run_columns<V, T>(s); });
  return result;
}

run_outcome run_columns(const char *scalars, const tsi_gpu_columns *s, const run_grid *grid) {
  const std::map<std::string, decltype(&columns<double, double>)> all = {
      {"s", columns<float, float>},
      {"d", columns<double, double>},
      {"c", columns<complex_single, complex_single>},
      {"z", columns<complex_double, complex_double>},
      {"sd", columns<float, double>},
      {"cz", columns<complex_single, complex_double>},
  };
  const auto found = all.find(scalars);
  CHECK_MSG(found != all.end(), "no kernels for %s", scalars);
  return found->second(*s, *grid);
}
