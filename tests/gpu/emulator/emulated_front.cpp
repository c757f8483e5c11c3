/* The launches of codelets/gpu/tables/front_launch.h for emulated devices: runs the independent threads one
 * after the other. */
#include "tests/gpu/emulator/emulator.h"

#include "codelets/gpu/front.gpu.h"

template <class T, tsi_gpu_front_kind KIND> static void lines(const tsi_gpu_front &front) {
  for (int32_t line = 0; line < front.lines; line++) gpu_do_line<T, KIND>(front, line);
}

template <class T> static int run(const tsi_gpu_front &front) {
  if (front.kind == TSI_GPU_EXCHANGE_ROWS)
    lines<T, TSI_GPU_EXCHANGE_ROWS>(front);
  else if (front.kind == TSI_GPU_EXCHANGE_COLUMNS)
    lines<T, TSI_GPU_EXCHANGE_COLUMNS>(front);
  else
    lines<T, TSI_GPU_DIVIDE>(front);
  return 0;
}

#define EMULATED(name, T)                                                                                    \
  int tsi_gpu_front_launch_##name(const tsi_gpu_front *front, void *) {                                      \
    return run<T>(*front);                                                                                   \
  }
EMULATED(s, float)
EMULATED(d, double)
EMULATED(c, gpu_complex<float>)
EMULATED(z, gpu_complex<double>)
