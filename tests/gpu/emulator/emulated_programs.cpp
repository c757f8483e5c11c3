/* See run_program.h. */
#include "tests/support/gpu/run_program.h"

#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/program.gpu.h"

enum { IDLE_POLLS = 200000 };

/* Memory of a PE in addition to its tables. */
template <class T> struct pe_memory {
  std::vector<int64_t> heap;
  std::vector<int32_t> flag;
  std::vector<T> workspace;
  int32_t ticket = 0, ended = 0; /* ended: number of blocks that have ended, in all runs */
};

static int32_t *heap_flag(const tsi_gpu_program &s, int pe, int flag) {
  return gpu_heap_flag(s.heap, pe, flag);
}

/* Does the host's part. When all blocks of the PE have ended a run, it allows the PEs that send to it to
 * write its inbox again. */
static void end_run(const run_pe &pe, const tsi_gpu_program &s, int32_t *ended, int32_t runs) {
  gpu_barrier();
  if (gpu_thread() == 0) {
    gpu_add_release(ended, 1, GPU_DEVICE);
    while (gpu_load_acquire(ended, GPU_DEVICE) < runs * (int32_t)gpu_blocks()) gpu_pause();
    if (gpu_block() / (unsigned)s.heap.pes == 0)
      for (tsi_index m = 0; m < pe.sources; m++)
        gpu_store_system(heap_flag(s, pe.source[m], s.done + s.heap.pe), s.epoch);
  }
  gpu_barrier();
}

template <class T> struct programs {
  const run_pe *pe;
  unsigned runs;
  size_t inbox_bytes;
  std::vector<tsi_gpu_program> program; /* one for each PE, without the fields of a run */

  tsi_gpu_program of_run(size_t k, unsigned r) const {
    tsi_gpu_program s = program[k];
    s.epoch = tsi_heap_epoch(RUN_EPOCHS_BEFORE, (int32_t)r + 1);
    s.inbox = (int64_t)((size_t)(s.epoch & 1) * inbox_bytes);
    if (pe[k].nrhs) s.call.nrhs = pe[k].nrhs[r];
    s.call.b = pe[k].b[r];
    s.call.x = pe[k].x[r];
    return s;
  }
  /* Block b of the grid belongs to PE b mod pes. */
  void run(std::vector<pe_memory<T>> &memory) const {
    const size_t k = gpu_block() % program.size();
    for (unsigned r = 0; r < runs; r++) {
      const tsi_gpu_program s = of_run(k, r);
      s.call.nrhs == 1 ? gpu_run_program<T, T, 32, 1>(s) : gpu_run_program<T, T, 32, gpu_tile_max<T>()>(s);
      end_run(pe[k], s, &memory[k].ended, (int32_t)r + 1);
    }
  }
};

template <class T>
static run_outcome typed_programs(int pes, const run_pe *pe, tsi_index messages, int64_t inbox_rows,
                                  unsigned runs, const run_grid &grid) {
  run_outcome result = {};
  std::vector<pe_memory<T>> memory((size_t)pes);
  std::vector<char *> base;
  programs<T> all = {pe, runs, 0, {}};
  const size_t stride = (size_t)pe[0].program.call.stride;
  const int32_t flags = messages + pes;
  all.inbox_bytes = ((size_t)inbox_rows * stride * sizeof(T) + 63) / 64 * 64;
  for (auto &m : memory) {
    m.heap.resize((tsi_heap_data(flags) + 2 * all.inbox_bytes) / sizeof(int64_t) + 1);
    base.push_back((char *)m.heap.data());
    int32_t *flag = (int32_t *)(base.back() + TSI_HEAP_FLAGS); /* the state after RUN_EPOCHS_BEFORE runs */
    for (int32_t f = 0; f < flags; f++) flag[f] = RUN_EPOCHS_BEFORE;
  }
  for (size_t k = 0; k < (size_t)pes; k++) {
    tsi_gpu_program s = pe[k].program;
    memory[k].flag.assign((size_t)s.steps + 1, RUN_EPOCHS_BEFORE);
    memory[k].workspace = scalars_of_nan<T>(pe[k].workspace_rows * stride + 1);
    s.call.workspace = memory[k].workspace.data();
    s.ticket = &memory[k].ticket;
    s.flag = memory[k].flag.data();
    s.heap = {(int32_t)k, pes, flags, base.data()};
    s.done = messages;
    all.program.push_back(s);
  }
  emulator::grid shape;
  shape.blocks = grid.blocks * (unsigned)pes;
  shape.devices = (unsigned)pes;
  shape.threads = grid.threads;
  shape.seed = grid.seed;
  shape.longest = 10 + (unsigned)grid.seed % 7; /* so long that a PE may be several runs ahead */
  while (shape.blocks << shape.longest > IDLE_POLLS)
    shape.longest--; /* all blocks but one may poll during this time */
  shape.polls = IDLE_POLLS;
  emulator::planted_fault = grid.fault;
  const emulator::outcome got = emulator::run(shape, [&] { all.run(memory); });
  emulator::planted_fault = 0;
  result.ended = (bool)got;
  snprintf(result.problem, sizeof result.problem, "%s", got.problem.c_str());
  return result;
}

run_outcome run_programs(const char *scalars, int pes, const run_pe *pe, tsi_index messages,
                         int64_t inbox_rows, unsigned runs, const run_grid *grid) {
  switch (scalars[0]) {
#ifndef TSI_GPU_ONLY_DOUBLE
  case 's':
    return typed_programs<float>(pes, pe, messages, inbox_rows, runs, *grid);
  case 'c':
    return typed_programs<complex_single>(pes, pe, messages, inbox_rows, runs, *grid);
  case 'z':
    return typed_programs<complex_double>(pes, pe, messages, inbox_rows, runs, *grid);
#endif
  default:
    CHECK_MSG(scalars[0] == 'd', "no kernels for %s", scalars);
    return typed_programs<double>(pes, pe, messages, inbox_rows, runs, *grid);
  }
}
