/* Libraries of a CUDA toolkit: see peers.h. cuDSS is not part of it; TSI_HAVE_CUDSS is set if it is
 * installed. */
#include <cublas_v2.h>

#include "tools/gpu/board.h"
#include "tools/gpu/cuda_peers.h"

const gpu_peer *const gpu_peers[] = {&cusparse_peer,
#ifdef TSI_HAVE_CUDSS
                                     &cudss_peer,
#endif
                                     NULL};

enum { ORDER = 4096, PRODUCTS = 5 };

double gpu_dgemm(void) {
  const double one = 1;
  const size_t bytes = (size_t)ORDER * ORDER * sizeof(double);
  double *a = board_allocate(bytes), *c = board_allocate(bytes), best = 0;
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 0;
  board_fill(a, 0, bytes);
  board_fill(c, 0, bytes);
  for (int k = 0; k < PRODUCTS; k++) {
    board_start();
    const cublasStatus_t status = cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, ORDER, ORDER, ORDER, &one, a,
                                              ORDER, a, ORDER, &one, c, ORDER);
    const double rate = 2 * pow(ORDER, 3) / board_stop();
    CHECK_MSG(status == CUBLAS_STATUS_SUCCESS, "cuBLAS: DGEMM gave %d", (int)status);
    best = fmax(best, rate);
  }
  cublasDestroy(handle);
  board_release(a);
  board_release(c);
  return best;
}
