/* See run_fsai.h and run_spmv.h. */
#include <functional>
#include <map>

#include "tests/gpu/emulator/emulated_launch.h"
#include "tests/support/gpu/run_fsai.h"
#include "tests/support/gpu/run_spmv.h"

#include "codelets/gpu/fsai.gpu.h"
#include "codelets/gpu/fsai_rows.gpu.h"
#include "codelets/gpu/spmv.gpu.h"

/* Returns the function with this name. */
template <class F> static F find(const std::map<std::string, F> &all, const std::string &name) {
  const auto found = all.find(name);
  CHECK_MSG(found != all.end(), "no kernels for %s", name.c_str());
  return found->second;
}

/* Slow builds only test one scalar type. All types access memory alike. */
#ifdef TSI_GPU_ONLY_DOUBLE
#define ALL_OF(f)                                                                                            \
  {                                                                                                          \
    { "d32", f<double, 32> }                                                                                 \
  }
#else
#define ALL_OF(f)                                                                                            \
  {                                                                                                          \
    {"d32", f<double, 32>}, {"s32", f<float, 32>}, {"c32", f<complex_single, 32>},                           \
        {"z32", f<complex_double, 32>}, {"s64", f<float, 64>}, {"d64", f<double, 64>},                       \
        {"c64", f<complex_single, 64>}, {"z64", f<complex_double, 64>},                                      \
  }
#endif

static std::string name_of(const char *scalars, const run_grid *grid) {
  return scalars + std::to_string(grid->warp);
}

/* ---- Products ------------------------------------------------------------------------------------------ */

template <class V, class T, int W> static run_outcome product(const tsi_gpu_spmv &s, const run_grid &grid) {
  run_outcome result = {};
  emulated_launch(grid, W, grid.blocks, grid.seed, result, [&] {
    s.nrhs == 1 ? gpu_run_spmv<V, T, W, 1>(s) : gpu_run_spmv<V, T, W, gpu_tile_max<T>()>(s);
  });
  return result;
}
template <class T, int W> static run_outcome plain(const tsi_gpu_spmv &s, const run_grid &grid) {
  return product<T, T, W>(s, grid);
}

run_outcome run_spmv(const char *scalars, const tsi_gpu_spmv *s, tsi_index, const run_grid *grid) {
  std::map<std::string, decltype(&plain<double, 32>)> all = ALL_OF(plain);
#ifndef TSI_GPU_ONLY_DOUBLE
  all["sd32"] = product<float, double, 32>;
  all["cz32"] = product<complex_single, complex_double, 32>;
#endif
  return find(all, name_of(scalars, grid))(*s, *grid);
}

/* ---- Inverses ------------------------------------------------------------------------------------------ */

template <class T, int W> static run_outcome inverse(tsi_gpu_fsai s, bool shared, const run_grid &grid) {
  run_outcome result = {};
  const size_t scalars = s.space.bytes * (grid.blocks * grid.threads / W) / sizeof(T) + 1;
  std::vector<T> workspace = scalars_of_nan<T>(shared ? 0 : scalars);
  s.workspace = shared ? nullptr : workspace.data();
  emulated_launch(grid, W, grid.blocks, grid.seed, result, [&] { gpu_run_fsai<T, W>(s); });
  return result;
}

run_outcome run_fsai(const char *scalars, const tsi_gpu_fsai *s, tsi_index, bool shared,
                     const run_grid *grid) {
  const std::map<std::string, decltype(&inverse<double, 32>)> all = ALL_OF(inverse);
  return find(all, name_of(scalars, grid))(*s, shared, *grid);
}

template <class T, int W> static run_outcome pack(tsi_gpu_fsai_rows s, const run_grid &grid) {
  run_outcome result = {};
  std::vector<tsi_count> sums(grid.blocks, -1);
  s.sum = sums.data();
  emulated_launch(grid, W, grid.blocks, grid.seed, result, [&] { gpu_run_fsai_sums(s); });
  if (result.ended)
    emulated_launch(grid, W, grid.blocks, grid.seed + 1, result, [&] { gpu_run_fsai_ptr(s); });
  if (result.ended)
    emulated_launch(grid, W, grid.blocks, grid.seed + 2, result, [&] { gpu_run_fsai_pack<T, W>(s); });
  return result;
}

run_outcome run_fsai_rows(const char *scalars, const tsi_gpu_fsai_rows *s, const run_grid *grid) {
  const std::map<std::string, decltype(&pack<double, 32>)> all = ALL_OF(pack);
  return find(all, name_of(scalars, grid))(*s, *grid);
}

template <class T, int W> static run_outcome adjoint(tsi_gpu_fsai_adjoint s, const run_grid &grid) {
  run_outcome result = {};
  std::vector<tsi_count> sums(grid.blocks, -1);
  std::vector<tsi_index> left((size_t)s.n + 1, 0);
  s.sum = sums.data();
  s.left = left.data();
  const tsi_gpu_fsai_rows rows = tsi_gpu_fsai_adjoint_rows(&s);
  const std::function<void()> passes[] = {
      [&] { gpu_run_adjoint_count(s); }, [&] { gpu_run_fsai_sums(rows); }, [&] { gpu_run_fsai_ptr(rows); },
      [&] { gpu_run_adjoint_fill<T, W>(s); }, [&] { gpu_run_adjoint_sort<T, W>(s); }};
  result.ended = true;
  for (unsigned k = 0; k < 5 && result.ended; k++)
    emulated_launch(grid, W, grid.blocks, grid.seed + k, result, passes[k]);
  for (const tsi_index count : left) CHECK(!result.ended || count == 0);
  return result;
}

run_outcome run_fsai_adjoint(const char *scalars, const tsi_gpu_fsai_adjoint *s, const run_grid *grid) {
  const std::map<std::string, decltype(&adjoint<double, 32>)> all = ALL_OF(adjoint);
  return find(all, name_of(scalars, grid))(*s, *grid);
}
