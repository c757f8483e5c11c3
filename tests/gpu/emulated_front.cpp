/* The launches of codelets/gpu/front_launch.h for emulated devices: its threads, which do not know of each
 * other, one after the other. */
#include "tests/gpu/emulator.h"

#include "codelets/gpu/front.gpu.h"

#define EMULATED(name, T)                                                                                    \
  int tsi_gpu_front_launch_##name(const tsi_gpu_front *front, void *) {                                      \
    for (int32_t line = 0; line < front->lines; line++) gpu_do_line<T>(*front, line);                        \
    return 0;                                                                                                \
  }
EMULATED(s, float)
EMULATED(d, double)
EMULATED(c, gpu_complex<float>)
EMULATED(z, gpu_complex<double>)
