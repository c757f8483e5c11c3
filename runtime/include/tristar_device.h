/* TriStar: GPUs: subtrees of a plan on devices, and solves with b and x in the memory of a GPU.
 *
 * What is worked on where, on machines with GPUs that StarPU has workers for (devices): the subtrees of a
 * plan, see tristar_plan_options, and the large fronts of a factorization, see tristar_analysis_options.
 *
 * A plan decides on its subtrees by a list schedule over what cores, devices and buses take, and StarPU
 * carries it out: the factor of a subtree on a device goes there once, and again after tristar_refactor; each
 * solve moves the subtree's rows of b and x and what goes over its border, the rows below it. What is above
 * the subtrees is the cores'. What a device's memory has no room for stays with the cores. The result of a
 * solve depends on the plan as ever; which subtrees are on devices, and so the roundings of plans with
 * devices, depend also on the calibration, the number of CPU workers and the devices.
 *
 * Subtrees can be on devices where tasks of chunks solve with panels, with updates pulled, and where L and U
 * have the same structure, as those of tristar_factor have. Solves with such a plan are tasks in any case:
 * tristar_solve from inside a StarPU task is UNSUPPORTED.
 *
 * Of a factorization a front that is heavy enough to be cut into tiles can be on a device: it is assembled
 * and packed on the cores, and factored as one task of the device, by its BLAS; diagonal blocks of panels,
 * with all that concerns pivots, are factored on the host. tristar_factor decides, by a list schedule, again
 * and again the same for the same analysis, CPU workers and devices; a front has other roundings on a device
 * than on the cores, which depend on neither the schedule nor on which of several equal devices it is.
 * Matrices on many processes (tristar_dmatrix_mpi.h) are factored on the cores, whatever is asked for.
 *
 * device_bytes of a plan limits the bytes of the factor, of tables and of workspaces on a GPU. More
 * right-hand sides than there is memory for are solved in blocks.
 *
 * Vectors on a GPU:
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
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_DEVICE_H
#define TRISTAR_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Subtrees of a plan on devices --------------------------------------------------------------------- */

/* What a device has of a plan, by the plan's own count. */
typedef struct tristar_device_stats {
  char name[64];       /* of StarPU's worker for it */
  int worker;          /* the number of that worker */
  int device;          /* the number of the device, from 0 on */
  int64_t chunks;      /* of the plan, a subtree each */
  double factor_bytes; /* of the factor; they cross the bus once, and again after tristar_refactor; plans of a
                          factor share them */
  double table_bytes;  /* that say how they are solved with; they cross the bus once */
  double workspace_bytes; /* that each solve in flight takes there, beside these */
  double up_bytes;   /* that cross the bus in a solve, to the device; of as many right-hand sides as the plan
                        was made for, at most 64 */
  double down_bytes; /* and back */
  int64_t transfers; /* that these are, in both directions */
} tristar_device_stats;
/* The i-th (from 0) of the devices that have subtrees of the plan. Returns 0 when there is no i-th. */
TRISTAR_API int tristar_plan_get_device(const tristar_plan_t *plan, int i, tristar_device_stats *stats);

/* A subtree of the assembly tree, or several side by side, that a device solves as one chunk of the plan; the
 * figures mean what those of tristar_device_stats do, which are sums of these. */
typedef struct tristar_subtree_stats {
  int device;               /* the number of its device */
  int64_t chunk;            /* of the plan */
  int64_t first_supernode;  /* of the assembly tree, */
  int64_t supernodes;       /* and how many there are from that one on */
  int64_t columns;          /* that are solved there */
  int64_t border;           /* rows below them, of which device and cores exchange x and updates */
  double factor_bytes;      /* of the factor */
  double table_bytes;       /* of tables */
  double up_bytes;          /* to the device, in a solve */
  double down_bytes;        /* and back */
  int64_t transfers;        /* in both directions */
  double predicted_seconds; /* that a solve takes the device for it, by the model of devices, with as many
                               right-hand sides as the plan was made for, at most 64 */
} tristar_subtree_stats;
/* The i-th (from 0) of the subtrees that devices have, in the order of the tree. Returns 0 when there is no
 * i-th. */
TRISTAR_API int tristar_plan_get_subtree(const tristar_plan_t *plan, int64_t i, tristar_subtree_stats *stats);

/* ---- Vectors on a device ------------------------------------------------------------------------------ */

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
