/* The launches of codelets/gpu/tables/launch.h as the plain walk of device_walk.h, in the place of those of a
 * device: for tests of what is around the kernels, which the emulator would take minutes for. */
#include "codelets/gpu/tables/launch.h"
#include "tests/support/device_walk.h"

#define WALKED(name, scalar)                                                                                 \
  int tsi_gpu_launch_##name(const tsi_gpu_sweep *s, unsigned blocks, unsigned threads, void *stream) {       \
    (void)blocks;                                                                                            \
    (void)threads;                                                                                           \
    (void)stream;                                                                                            \
    device_walk_sweep(scalar, &s->tables, &s->call, s->backward);                                            \
    return 0;                                                                                                \
  }                                                                                                          \
  int tsi_gpu_blocks_##name(const tsi_gpu_sweep *s, unsigned threads, unsigned *blocks) {                    \
    (void)s;                                                                                                 \
    (void)threads;                                                                                           \
    *blocks = 1;                                                                                             \
    return 0;                                                                                                \
  }
WALKED(s, 's')
WALKED(d, 'd')
WALKED(c, 'c')
WALKED(z, 'z')
