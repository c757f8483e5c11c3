/* TriStar: solves with b and x in the memory of a GPU.
 *
 *   tristar_device_vectors v;
 *   tristar_device_vectors_init(&v);
 *   v.b = b, v.ldb = n, v.x = x, v.ldx = n;      b, x: of cudaMalloc, or hipMalloc
 *   v.stream = stream;                           what writes b has been put into it
 *   status = tristar_solve_device(plan, TRISTAR_N, 1, &v);
 *
 * For programs that keep their vectors on a GPU, whether the plan has subtrees there (tristar_place) or not.
 * The library copies nothing by hand: b and x are registered with StarPU, which brings b to main memory,
 * where solves begin, and x from there, by copies of its own streams and through pinned memory.
 *
 * Include it beside tristar.h; it belongs to the same library, and needs no header of CUDA, HIP or StarPU. */
#ifndef TRISTAR_DEVICE_H
#define TRISTAR_DEVICE_H

#include "tristar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* b and x in the memory of one device, of the scalar type of the plan's matrix. Borrowed during the call.
 * Fill it with tristar_device_vectors_init first. */
typedef struct tristar_device_vectors {
  const void *b; /* n x nrhs, column-major, in the memory of the device */
  int64_t ldb;   /* leading dimension of b, in scalars; at least n */
  void *x;       /* n x nrhs, likewise; it may be b, with ldx == ldb */
  int64_t ldx;   /* leading dimension of x; at least n. What lies between columns is left alone. */
  int device;    /* that has both, with the number that CUDA or HIP gives it in this process */
  void *stream;  /* a cudaStream_t or hipStream_t of that device; NULL: its default stream */
} tristar_device_vectors;

/* NULL and 0 everywhere: device 0, its default stream. */
TRISTAR_API void tristar_device_vectors_init(tristar_device_vectors *vectors);

/* X = op(A)^-1 B as by tristar_solve, with the same bits. The solve is a part of the stream: it begins when
 * all that was put into the stream before the call has ended, and what is put into it after the call finds x.
 * For that the call waits for the stream, and returns when x is written. Other streams that write b must have
 * been waited for. The calling thread's current device stays the same. Several threads may call at the same
 * time, with different x.
 *
 * Starts StarPU, or finds it running; the device must be one that StarPU has a worker for. Errors, which
 * leave b and x as they are: those of tristar_solve; ARGUMENT also for a device that StarPU has no worker
 * for, and for memory that is not of that device; UNSUPPORTED: the library or StarPU was built without CUDA
 * and HIP, no device is there, a context without StarPU, a call from inside a StarPU task; RUNTIME: the
 * stream tells an error of the device, with its number; TOO_LARGE: nrhs ldb or nrhs ldx is 2^32 or more. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_device(tristar_plan_t *plan, tristar_op op,
                                                                int64_t nrhs,
                                                                const tristar_device_vectors *vectors);

#ifdef __cplusplus
}
#endif
#endif
