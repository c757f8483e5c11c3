/* Published solvers in the emulator, see runs.h. */
#include <map>

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/variants.gpu.h"
#include "tests/support/check.h"

template <class V, class T, int W, int R, bool BACKWARD>
static void sc23(tsi_gpu_variant s, const run_grid &grid, run_outcome &result) {
  const tsi_variant_tables &t = s.tables;
  const tsi_index *ptr = BACKWARD ? t.segment_ptr : t.into_ptr;
  std::vector<int32_t> left((size_t)t.panels), counted;
  int32_t ticket = 0;
  for (tsi_index p = 0; p < t.panels; p++) left[(size_t)p] = ptr[p + 1] - ptr[p];
  counted = left;
  s.ticket = &ticket;
  s.left = left.data();
  emulator::name_flags("updates of panel", left.data(), left.size());
  emulated_launch(grid, W, (unsigned)t.panels, grid.seed, result,
                  [&] { gpu_run_sc23<V, T, W, R, BACKWARD>(s); });
  CHECK_MSG(!result.ended || grid.fault || (ticket == 0 && left == counted), "counters are not set back");
}

template <class V, class T, int W, int R, bool BACKWARD>
static void kk20(tsi_gpu_variant s, const run_grid &grid, run_outcome &result) {
  const tsi_variant_tables &t = s.tables;
  for (tsi_index k = 0; k < t.levels && result.ended; k++) {
    const tsi_index level = BACKWARD ? t.levels - 1 - k : k;
    s.first = t.level_ptr[level];
    emulated_launch(grid, W, (unsigned)(t.level_ptr[level + 1] - s.first), grid.seed + (uint64_t)k, result,
                    [&] { gpu_run_kk20<V, T, W, R, BACKWARD>(s); });
  }
}

template <class V, class T, int W, int R>
static void sweeps(run_variant_kind variant, tsi_gpu_variant s, const tsi_variant_tables &backward,
                   const run_grid &grid, run_outcome &result) {
  const bool by_flags = variant == RUN_SC23;
  if (s.call.forward.values) (by_flags ? sc23<V, T, W, R, false> : kk20<V, T, W, R, false>)(s, grid, result);
  s.tables = backward;
  s.backward = true;
  if (s.call.backward.values && result.ended)
    (by_flags ? sc23<V, T, W, R, true> : kk20<V, T, W, R, true>)(s, grid, result);
}

template <class V, class T, int W>
static run_outcome typed_sweeps(run_variant_kind variant, const tsi_variant_tables &forward,
                                const tsi_variant_tables &backward, tsi_device_call call,
                                const run_grid &grid) {
  constexpr int R = gpu_tile_max<T>();
  call.stride = call.nrhs > 1 ? call.nrhs + 1 : 1; /* one padding scalar, which stays NaN */
  const size_t half = (size_t)forward.n * (size_t)call.stride;
  std::vector<T> workspace = scalars_of_nan<T>(2 * half + 1);
  for (size_t i = half; i < 2 * half; i++) workspace[i] = T();
  call.workspace = workspace.data();
  run_outcome result = {};
  result.ended = true;
  const tsi_gpu_variant s = {forward, call, false, nullptr, nullptr, 0};
  (call.nrhs == 1 ? sweeps<V, T, W, 1> : sweeps<V, T, W, R>)(variant, s, backward, grid, result);
  for (size_t i = half; i < 2 * half && result.ended && !grid.fault; i++)
    CHECK_MSG(gpu_is_zero(workspace[i]), "sum %zu is not zero again", i - half);
  return result;
}

run_outcome run_variant(run_variant_kind variant, const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call,
                        const run_grid *grid) {
  const std::string name = scalars + std::to_string(grid->warp);
  const std::map<std::string, decltype(&typed_sweeps<double, double, 32>)> all = {
      {"s64", typed_sweeps<float, float, 64>},
      {"d32", typed_sweeps<double, double, 32>},
      {"c32", typed_sweeps<complex_single, complex_single, 32>},
      {"z64", typed_sweeps<complex_double, complex_double, 64>},
  };
  const auto found = all.find(name);
  CHECK_MSG(found != all.end(), "no kernels for %s", name.c_str());
  const auto run = found->second;
  return run(variant, *forward, *backward, *call, *grid);
}
