/* TriStar: GPUs: subtrees of a plan, or a triangle by rows, on devices, and solves with b and x in the memory
 * of a GPU.
 *
 * A device is a GPU that StarPU has a worker for. tristar_place (tristar.h) chooses where the subtrees of a
 * plan and the large fronts of a factorization are computed.
 *
 * Subtrees of a plan. tristar_plan decides by a list schedule over cores, devices and buses; StarPU carries
 * it out. The factor of a subtree is sent to its device once, and again after tristar_refactor. Each solve
 * transfers the subtree's rows of b and x, and the entries of its border, the rows below it. The cores solve
 * the ancestors of the subtrees, and subtrees that do not fit into device memory. A solve still depends on
 * the plan only. The subtrees on devices, and so the roundings, depend on the calibration, the number of CPU
 * workers and the devices. A plan can have such subtrees if tasks of chunks solve with panels and pulled
 * updates, and if L and U have the same structure, as factors of tristar_factor have. Its solves always are
 * tasks, so tristar_solve inside a StarPU task is UNSUPPORTED. device_bytes limits the bytes of the factor,
 * of tables and of workspaces on a device. More right-hand sides than there is memory for are solved in
 * blocks.
 *
 * Triangles by rows. A plan of a triangle without supernodes (tristar_triangle.h) is on the first device, all
 * of it, or on the cores: with PLACE_AUTO if these are predicted to be faster, with both if it does not fit
 * (unfit_bytes of tristar_plan_stats). Values and tables are sent once, and values again after an update.
 * Each solve transfers its rows of b and x. Solves with the transposed triangle need as much memory again,
 * from their first call on, which is a MEMORY error if the device has no room. x has the bits of every such
 * plan with the same partition; they differ from the bits of the cores by roundoff.
 *
 * Preconditioners. Sweeps of incomplete factors are plans as above. The two products of FSAI are tasks of the
 * first device, which has both factors; each application transfers b and x. With PLACE_AUTO they are on the
 * cores if these are predicted to be faster, or if the device has no room; with PLACE_GPU that is a MEMORY
 * error.
 *
 * Fronts of a factorization. A front that is large enough to be cut into tiles can be on a device. The cores
 * assemble and pack it, and one task of the device factors it by its BLAS. The host factors the diagonal
 * blocks of panels, with the pivots. tristar_factor decides by a list schedule, the same for the same
 * analysis, CPU workers and devices. Roundings of a front on a device differ from those on the cores. They
 * depend on neither the schedule nor the choice among equal devices. Matrices on many processes
 * (tristar_dmatrix_mpi.h) are always factored on the cores.
 *
 * Vectors on a GPU:
 *
 *   tristar_device_vectors v;
 *   tristar_device_vectors_init(&v);
 *   v.b = b, v.ldb = n, v.x = x, v.ldx = n;      b, x: from cudaMalloc or hipMalloc
 *   v.stream = stream;                           contains the work that writes b
 *   status = tristar_solve_device(plan, TRISTAR_N, 1, &v);
 *
 * This serves programs with vectors on a GPU, with or without subtrees there. b and x are registered with
 * StarPU. StarPU copies b to main memory, where solves begin, and x back, on streams of its own through
 * pinned memory. This header needs no header of CUDA, HIP or StarPU. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_DEVICE_H
#define TRISTAR_DEVICE_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Subtrees of a plan on devices --------------------------------------------------------------------- */

/* Subtrees of a plan on one device, as the plan counts them. */
typedef struct tristar_device_stats {
  char name[64];       /* Name of StarPU's worker for the device. */
  int worker;          /* Number of that worker. */
  int device;          /* Number of the device, from 0. */
  int64_t chunks;      /* Chunks of the plan, one for each subtree. A triangle by rows is one. */
  double factor_bytes; /* Bytes of the factor, sent once and after tristar_refactor. Plans of a factor share
                          them. */
  double table_bytes;  /* Bytes of tables for the kernels, sent once. */
  double workspace_bytes; /* Bytes that each solve in flight needs there in addition. */
  double up_bytes;   /* Bytes sent to the device in a solve with the right-hand sides that the plan is made
                        for, at most 64. */
  double down_bytes; /* Bytes sent back. */
  int64_t transfers; /* Number of transfers, both directions. */
} tristar_device_stats;
/* Returns the i-th device (from 0) that has subtrees of the plan. The result is 0 if there is no i-th. */
TRISTAR_API int tristar_plan_get_device(const tristar_plan_t *plan, int i, tristar_device_stats *stats);

/* A subtree of the assembly tree, or several neighbours, that a device solves as one chunk of the plan. The
 * sums of these fields are in tristar_device_stats. */
typedef struct tristar_subtree_stats {
  int device;               /* Number of its device. */
  int64_t chunk;            /* Its chunk of the plan. */
  int64_t first_supernode;  /* First supernode in the assembly tree. */
  int64_t supernodes;       /* Number of supernodes from there. */
  int64_t columns;          /* Columns that are solved there. */
  int64_t border;           /* Rows below them; device and cores exchange their x and updates. */
  double factor_bytes;      /* Bytes of the factor. */
  double table_bytes;       /* Bytes of tables. */
  double up_bytes;          /* Bytes sent to the device in a solve. */
  double down_bytes;        /* Bytes sent back. */
  int64_t transfers;        /* Number of transfers, both directions. */
  double predicted_seconds; /* Predicted seconds of the device for it in a solve with the right-hand sides
                               that the plan is made for, at most 64. */
} tristar_subtree_stats;
/* Returns the i-th subtree (from 0) on devices, in the order of the tree. The result is 0 if there is no
 * i-th, and for a triangle by rows. */
TRISTAR_API int tristar_plan_get_subtree(const tristar_plan_t *plan, int64_t i, tristar_subtree_stats *stats);

/* ---- Vectors on a device ------------------------------------------------------------------------------ */

/* b and x in the memory of one device, of the scalar type of the plan's matrix; borrowed during the call.
 * Call tristar_device_vectors_init first. */
typedef struct tristar_device_vectors {
  const void *b; /* n x nrhs, column-major, in device memory. */
  int64_t ldb;   /* Leading dimension of b, in scalars; at least n. */
  void *x;       /* n x nrhs, likewise. It may be b, with ldx == ldb. */
  int64_t ldx;   /* Leading dimension of x; at least n. Scalars between columns stay unchanged. */
  int device;    /* Device of both, by the number of CUDA or HIP in this process. */
  void *stream;  /* A cudaStream_t or hipStream_t of that device. NULL: its default stream. */
} tristar_device_vectors;

/* NULL and 0 everywhere: device 0, its default stream. */
TRISTAR_API void tristar_device_vectors_init(tristar_device_vectors *vectors);

/* X = op(A)^-1 B, with the bits of tristar_solve without refinement. The solve is part of the stream: it
 * begins when all earlier work of the stream has ended, and later work of the stream finds x. The call waits
 * for the stream, and returns when x is written. The program waits for other streams that write b before the
 * call. The current device of the calling thread stays the same. Several threads may call at the same time,
 * with different x.
 *
 * The call starts StarPU, or joins a StarPU that runs. Errors: those of tristar_solve; after NOT_FINITE x is
 * written, as by tristar_solve, and after all other errors b and x are unchanged; ARGUMENT also for a device
 * without a StarPU worker, and for memory outside that device; UNSUPPORTED: the library or StarPU has no CUDA
 * or HIP, no device exists, a context without StarPU, a call inside a StarPU task; RUNTIME: the stream
 * reports an error of the device, with its number; TOO_LARGE: nrhs ldb or nrhs ldx is 2^32 or more. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_device(tristar_plan_t *plan, tristar_op op,
                                                                int64_t nrhs,
                                                                const tristar_device_vectors *vectors);

#ifdef __cplusplus
}
#endif
#endif
