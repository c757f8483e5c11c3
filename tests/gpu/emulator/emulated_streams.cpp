/* Streams of the emulated board (tools/gpu/board.h), and distributed solves there. Launches wait until the
 * host looks at the stream of one of them; then all that wait run in one grid, a block of each in turn. */
#include "tools/gpu/board.h"

#include "codelets/gpu/tables/program_launch.h"
#include "tests/gpu/emulator/emulated_launch.h"

#include "codelets/gpu/program.gpu.h"

struct waiting_launch {
  void *stream;
  std::function<void()> kernel;
};
static std::vector<waiting_launch> waiting;
static unsigned blocks_of_each, threads_of_each;
static uint64_t grids;

template <class T>
static int launch(const tsi_gpu_program *s, unsigned blocks, unsigned threads, void *stream) {
  blocks_of_each = blocks;
  threads_of_each = threads;
  waiting.push_back({stream, [program = *s] {
                       program.call.nrhs == 1 ? gpu_run_program<T, T, 32, 1>(program)
                                              : gpu_run_program<T, T, 32, gpu_tile_max<T>()>(program);
                     }});
  return 0;
}

#define EMULATED(name, T)                                                                                    \
  int tsi_gpu_program_##name(const tsi_gpu_program *s, unsigned blocks, unsigned threads, void *stream) {    \
    return launch<T>(s, blocks, threads, stream);                                                            \
  }
EMULATED(s, float)
EMULATED(d, double)
EMULATED(c, complex_single)
EMULATED(z, complex_double)

void *board_stream(void) {
  return new char;
}
void board_release_stream(void *stream) {
  delete (char *)stream;
}
bool board_busy(void *stream) {
  bool waits = false;
  for (const auto &l : waiting) waits = waits || l.stream == stream;
  if (!waits) return false;
  emulator::grid shape;
  shape.devices = (unsigned)waiting.size();
  shape.blocks = blocks_of_each * shape.devices;
  shape.threads = threads_of_each;
  shape.seed = ++grids;
  shape.polls = 1000000;
  const emulator::outcome got = emulator::run(shape, [] { waiting[gpu_block() % waiting.size()].kernel(); });
  CHECK_MSG((bool)got, "%s", got.problem.c_str());
  waiting.clear();
  return false;
}
