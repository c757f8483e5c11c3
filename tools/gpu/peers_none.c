/* A toolkit without other libraries: see peers.h. */
#include "tools/gpu/peers.h"

const gpu_peer *const gpu_peers[] = {NULL};

double gpu_dgemm(void) {
  return 0;
}
