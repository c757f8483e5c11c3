/* TriStar on many processes: a factor spread over the ranks of an MPI communicator, and solves with it.
 *
 *   all ranks   tristar_matrix_gather        where the rows of A lie on all ranks: to rank 0
 *   rank 0      tristar_analyze              leaf_parts >= pz
 *   all ranks   tristar_distributed_factor   each rank factors the panels that it owns
 *   all ranks   tristar_distributed_solve    again and again; also tristar_distributed_solve_with (parts, few
 *                                            rows), _solve_refined, _solve_start (in flight), _trace
 *   all ranks   tristar_distributed_refactor new values, same pattern
 *
 * A factor that rank 0 has, of tristar_factor or imported, is spread by tristar_distribute instead, and its
 * new values by tristar_distributed_update.
 *
 * Functions marked collective are called by all ranks of the communicator, in the same order; all of them get
 * the same status, and where another rank failed its message. MPI must have been initialized with
 * MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE; with SERIALIZED the program itself must not call MPI while a
 * collective function of TriStar runs. TriStar duplicates the communicator and neither initializes nor
 * finalizes MPI. These functions are in libtristar where that was built with MPI (CMake: TRISTAR_WITH_MPI).
 */
#ifndef TRISTAR_MPI_H
#define TRISTAR_MPI_H

#include <mpi.h>

#include "tristar_device.h"
#include "tristar_layout.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"
#include "tristar_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective. Shares the cores and the GPUs of every node among the ranks of comm on it: sets
 * config->first_core, and config->workers if it is 0 and STARPU_NCPU is not set; config->first_device and
 * config->devices if first_device is negative: as many for each rank, in the order of ranks, or, where there
 * are fewer than ranks, one for several ranks in a row. GPUs that a rank does not see (CUDA_VISIBLE_DEVICES)
 * do not count; the ranks of a node are taken to see the same ones: where a launcher gives each rank several
 * of its own, set first_device to 0 and devices to their number. Without it StarPU binds the workers of all
 * ranks to the same cores, unless mpiexec has bound the ranks. Errors: ARGUMENT (config is NULL), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_mpi_share_cores(MPI_Comm comm, tristar_config *config);

/* Collective. Gathers on rank 0, to be factored there, a matrix of n columns whose rows lie on the ranks in
 * blocks, one block after the other by rank, n in all. rows: this rank's block, CSR or CSC: cols = n, columns
 * are numbered over the whole matrix, rows within the block; a block may have no rows. symmetry is that of
 * the whole matrix and the same on all ranks: where it is not GENERAL, each off-diagonal pair is stored once,
 * on the rank that has the row of what is stored. Either all ranks pass values or none does (the pattern
 * alone). Duplicates are summed. Entries travel in pieces; no rank but 0 needs memory for more than a piece
 * of 16 MB. *matrix: on rank 0 the matrix, in double precision; NULL on all others. For new values gather
 * again: the same pattern gives the same arrays, so the values are those that tristar_refactor wants. Errors:
 * ARGUMENT (NULL; sizes, symmetries or kinds of values differ between ranks), RECTANGULAR (the blocks do not
 * add up to n rows), FORMAT (among others: (i,j) and (j,i) are both stored, on whatever ranks, though
 * symmetry is not GENERAL), NOT_FINITE, TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_gather(tristar_t *ts, MPI_Comm comm,
                                                                 const tristar_view *rows,
                                                                 tristar_matrix_t **matrix);

/* A factor spread over the ranks of a communicator, ready to solve. */
typedef struct tristar_distributed_s tristar_distributed_t;

/* How messages go. */
typedef enum tristar_transport {
  TRISTAR_TRANSPORT_AUTO,   /* the environment variable TRISTAR_TRANSPORT (direct, starpu_mpi), or DIRECT */
  TRISTAR_TRANSPORT_DIRECT, /* MPI requests that StarPU's idle workers advance: no thread of its own */
  TRISTAR_TRANSPORT_STARPU_MPI /* StarPU-MPI's detached messages; needs MPI_THREAD_MULTIPLE */
} tristar_transport;

/* What tristar_distributed_factor and tristar_distribute need to know. Fill it with
 * tristar_distributed_options_init first. */
typedef struct tristar_distributed_options {
  size_t size;           /* Set by tristar_distributed_options_init. */
  tristar_layout layout; /* how the ranks share the factor; px = 0: tristar_layout_choose says it, on rank
                            0, by the time of messages between ranks 0 and 1 */
  tristar_transport transport; /* how messages go */
  tristar_engine engine;       /* AUTO: tasks, unless the context has no StarPU */
  int64_t nrhs;                /* right-hand sides to prepare for; 0: 1 */
  tristar_place place;         /* which subtrees are solved on devices, see below */
  int64_t device_bytes; /* most bytes of a rank on a device, with the workspace of a solve of nrhs right-hand
                           sides; 0: nine tenths of its memory, if that is known, shared by the ranks that use
                           it */
  tristar_refinement refine; /* Whether tristar_distributed_solve refines; the same on all ranks. */
  int64_t solves; /* that are to come after each factorization, where the layout is to be chosen; 0: their
                     time alone counts */
  double process_bytes; /* the most that a rank may need of a layout that is to be chosen; 0: no limit */
  int grids;            /* the most that a layout may have that is to be chosen; 0: no limit */
} tristar_distributed_options;

/* The layout of tristar_layout_init, TRANSPORT_AUTO, ENGINE_AUTO, one right-hand side, PLACE_CPU.
 *
 * Ranks with GPUs. Each rank places subtrees on the devices that its StarPU has workers for (tristar_place in
 * tristar.h; tristar_mpi_share_cores gives ranks of a node devices of their own, or the same ones to share):
 * subtrees of what it has whole, which are those of its leaf in a layout of 1x1xPz, and the bottom subtrees
 * of MAP_SUBTREE in others. What several ranks work on, the top of each grid and the ancestors of grids, is
 * the cores', so messages begin and end in main memory: what a device has made crosses its bus first.
 * PLACE_AUTO never fails where the cores alone do not: a rank that cannot use devices solves with its cores,
 * and if a rank cannot make what it needs for its own, all ranks do, which the log tells. Results are the
 * same whenever a solve is repeated, whatever the scheduler; which subtrees are on devices, and so the
 * roundings, depend on calibrations and devices of all ranks. */
#define tristar_distributed_options_init(options)                                                            \
  tristar_distributed_options_init_sized((options), sizeof *(options))
/* Called by tristar_distributed_options_init. */
TRISTAR_API void tristar_distributed_options_init_sized(tristar_distributed_options *options, size_t size);

/* Collective. Factors on all ranks of comm, which are as many as the layout has, a matrix that rank 0 has
 * analyzed (analysis, with leaf_parts of at least pz, and values, those of its entries, as tristar_factor
 * wants them; both NULL on all others). Each rank factors the panels that it owns and keeps them; rank 0 has
 * the matrix and hands entries out, but no more of the factor than the others. The factor has the bits of
 * tristar_factor, whatever the layout. The analysis stays the caller's, and may be destroyed afterwards;
 * values are copied. options: as for tristar_distribute. METHOD_AUTO chooses as tristar_factor does. The
 * factorization is multifrontal (Duff, Reid 1983); a front is one rank's. Errors: those of tristar_factor,
 * whichever rank meets them; ARGUMENT (also: layout and communicator do not match, pz, no analysis on rank
 * 0), UNSUPPORTED (INVERSE_PARTITIONED; the thread level of MPI), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_factor(tristar_t *ts, MPI_Comm comm, tristar_analysis_t *analysis, const void *values,
                           const tristar_distributed_options *options, tristar_distributed_t **out);

/* Collective. New values on the same pattern (values: on rank 0), for what tristar_distributed_factor has
 * made. After a failure it holds none. Errors: those of tristar_refactor; UNSUPPORTED (of
 * tristar_distribute). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_refactor(tristar_distributed_t *distributed,
                                                                        const void *values);

/* Collective. Spreads a factor that rank 0 has (factor; NULL on all others) over the ranks of comm, which are
 * as many as the layout has. Values travel panel by panel; no other rank ever holds more than its share. The
 * factor stays the caller's, and may be destroyed afterwards. options may be NULL; all ranks pass the same
 * ones, and where TRISTAR_TRANSPORT chooses the transport it says the same to all: whatever differs between
 * ranks is an error on all of them. Errors: ARGUMENT (that; layout and communicator do not match, pz, no
 * factor on rank 0), STALE, UNSUPPORTED (INVERSE_PARTITIONED; a triangular matrix alone; L and U of different
 * structure; the thread level of MPI), MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distribute(tristar_t *ts, MPI_Comm comm,
                                                              tristar_factor_t *factor,
                                                              const tristar_distributed_options *options,
                                                              tristar_distributed_t **out);

/* Collective. Takes over the values of a factor of the same analysis, such as after tristar_refactor. Errors:
 * ARGUMENT (no factor on rank 0; one of another structure, permutation, method, type or treatment of diagonal
 * blocks, which the message names), STALE, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_update(tristar_distributed_t *distributed,
                                                                      tristar_factor_t *factor);

/* Collective. Rank r passes rows first .. first + rows - 1 of b and x from now on; blocks of rows follow each
 * other by rank and cover all n. At first rank 0 passes all of them. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_set_rows(tristar_distributed_t *distributed,
                                                                        int64_t first, int64_t rows);

/* Collective. X = op(A)^-1 B for nrhs right-hand sides, the same number on all ranks. b, x: this rank's rows,
 * column-major with leading dimensions ldb and ldx; x may be b. Refines
 * as tristar_distributed_solve_refined if pivots were perturbed, unless options.refine was REFINE_NEVER.
 * Errors: ARGUMENT, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_solve(tristar_distributed_t *distributed,
                                                                     tristar_op op, int64_t nrhs,
                                                                     const void *b, int64_t ldb, void *x,
                                                                     int64_t ldx);

/* Collective. X = (the part of op(A))^-1 B, as tristar_solve_with (tristar.h) does on one process, with all
 * of its options but `end`, alpha and beta; they are the same on all ranks, save for strides and lists of
 * rows. Without lists each rank passes its block of rows (tristar_distributed_set_rows). Lists:
 * options->b_row has the rows, of all n, that this rank passes, whatever its block is, options->x_row those
 * that it wants; a row stands in the list of one rank at most. As soon as one rank has a list of b (of x), a
 * rank without one passes (wants) no row. Only chunks that b leads to or x needs take part, and only messages
 * about them are sent. result may be NULL; its share is that of all ranks together. Results are rounded
 * otherwise than those of tristar_solve_with; they are the same whenever a solve is repeated. Errors: as
 * tristar_distributed_solve; ARGUMENT also for a row out of range or listed twice, and strides that are not
 * positive; UNSUPPORTED: alpha or beta. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_solve_with(tristar_distributed_t *distributed, const tristar_solve_options *options,
                               int64_t nrhs, const void *b, void *x, tristar_solve_result *result);

/* A distributed solve that was started. */
typedef struct tristar_distributed_request_s tristar_distributed_request_t;

/* Collective, but waits for nobody, except in the first call for a distributed factor. Starts what
 * tristar_distributed_solve_with does, as tristar_solve_start does on one process; options->end, if there is
 * one, is called at the end. Any number of solves may be in flight: a thread of the distributed factor's own
 * carries them out one after the other, in the order in which they were started, which is the same on all
 * ranks. b must not change, and x not be looked at, until the solve has ended; lists of rows are copied. Any
 * other function of the distributed factor waits for all that were started. MPI must have been initialized
 * with MPI_THREAD_MULTIPLE. Errors: ARGUMENT (request is NULL), UNSUPPORTED (the thread level of MPI),
 * MEMORY, RUNTIME; all others are told by tristar_distributed_solve_wait, on all ranks. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_solve_start(
    tristar_distributed_t *distributed, const tristar_solve_options *options, int64_t nrhs, const void *b,
    void *x, tristar_distributed_request_t **request);
/* *done = 1 if the solve has ended on this rank, 0 if it has not. Not collective. Errors: ARGUMENT. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_solve_test(tristar_distributed_request_t *request, int *done);
/* Waits until the solve has ended on this rank, frees the request and sets it to NULL; tells what it failed
 * with. Not collective; also after tristar_distributed_destroy, which waits for all solves; not from inside a
 * StarPU task. result may be NULL. Errors: as tristar_distributed_solve_with; UNSUPPORTED (inside a task; the
 * request remains). */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_solve_wait(tristar_distributed_request_t **request, tristar_solve_result *result);

/* Collective. As tristar_solve_refined (tristar.h), on many processes: a solve, refinement by steps and
 * FGMRES, forward errors and the history if options ask for them; options, but for the history, are the same
 * on all ranks, and so is what all of them get in *result. Each rank has the rows of the matrix that belong
 * to its part of the factor (tristar_distribute); nothing needs to be passed again. x may be b, or overlap
 * it. Errors: as tristar_distributed_solve; UNSUPPORTED: the factor was imported without its matrix;
 * NOT_FINITE: b has NaN or infinity, or what is computed leaves the range of numbers (the message names row
 * and column). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_solve_refined(
    tristar_distributed_t *distributed, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
    int64_t ldx, const tristar_refine_options *options, tristar_refine_result *result);

/* Collective. As tristar_condition (tristar.h): an estimate of 1 / condition of the scaled matrix. Errors:
 * ARGUMENT, UNSUPPORTED, STALE, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_condition(tristar_distributed_t *distributed,
                                                                         double *reciprocal);

/* Collective. As tristar_trace (tristar_trace.h), on many processes: two solves, of the second one every task
 * notes when and where it ran. *trace: on rank 0 the tasks and steps of all ranks, an arrival after the task
 * that sent its message, so the critical path leads through all processes; NULL on the others. Seconds count
 * from a barrier, on each node from the first rank to leave it: those of two nodes compare as well as they
 * leave it at the same time. x must not be b.
 * Errors: those of tristar_distributed_solve; ARGUMENT also if x is b; TOO_LARGE. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_trace(tristar_distributed_t *distributed,
                                                                     tristar_op op, int64_t nrhs,
                                                                     const void *b, int64_t ldb, void *x,
                                                                     int64_t ldx, tristar_trace_t **trace);

/* Messages of one class that a rank sent. */
typedef struct tristar_message_count {
  int64_t messages, bytes; /* sent in one solve */
} tristar_message_count;

/* Of one rank. Seconds: of its latest solve, all its workers together but for the first three. */
typedef struct tristar_distributed_stats {
  int rank, workers;           /* its number, and its CPU workers */
  int64_t chunks, tasks;       /* tasks: steps of a solve */
  double factor_bytes;         /* held here */
  double peak_bytes;           /* the most memory that the library ever had in this process, for all it did */
  double distribute_seconds;   /* of tristar_distribute, or _factor, without start_seconds */
  double start_seconds;        /* that StarPU took to start, if it was started then */
  double solve_seconds;        /* from b to x, with the following two */
  double redistribute_seconds; /* rows of b and x from and to the ranks that own them */
  double sweep_seconds;        /* both sweeps */
  double forward_seconds;      /* of the sweeps: until the last forward step of this rank had ended (L), */
  double between_seconds;      /* from then to its first backward step (Z), 0 where that began before, */
  double backward_seconds;     /* from when that began (U) */
  double compute_seconds;      /* in steps of CPU workers */
  double xy_seconds, z_seconds;    /* waiting for messages of the own grid, and of other grids */
  double idle_seconds;             /* waiting for other tasks, those of devices too */
  tristar_message_count broadcast; /* within the grid: parts of x; sent in the latest solve, as the others */
  tristar_message_count reduction; /* within the grid: sums */
  tristar_message_count grids;     /* between grids */
  char device[64]; /* the first of its devices that have subtrees: the name of StarPU's worker; "": none */
  /* of its devices, by its own count; zeros: all is on the cores. Seconds of tasks there are in none of the
   * above */
  int devices;                 /* that have subtrees, see tristar_distributed_get_device */
  int64_t device_chunks;       /* of `chunks` */
  double device_factor_bytes;  /* of factor_bytes */
  double up_bytes, down_bytes; /* cross the buses in a solve of the right-hand sides that were prepared for */
  double unfit_bytes;          /* of the factor, that were to be on devices, which have no room */
  /* of tristar_distributed_factor and _refactor; zeros but for perturbed_pivots after tristar_distribute and
   * _update: */
  double factor_seconds;    /* from the values of rank 0 to the factor's, and its matrix, here */
  double factor_peak_bytes; /* the most memory that the library had more meanwhile */
  int64_t perturbed_pivots; /* on all ranks */
  tristar_message_count
      fan_in; /* Schur complements, stripes of shared fronts, to ranks that go on with them */
  tristar_message_count hand_on;       /* pieces of panels sent to other ranks that hold them */
  tristar_layout layout;               /* how the ranks share the factor */
  tristar_layout_prediction predicted; /* where the layout was chosen; else zeros */
} tristar_distributed_stats;

/* Tells the figures of this rank. Not collective. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_distributed_get_stats(const tristar_distributed_t *distributed,
                                                         tristar_distributed_stats *stats);
/* The i-th (from 0) of the devices that have subtrees of this rank, as tristar_plan_get_device tells of a
 * plan. Returns 0 when there is no i-th. Not collective. */
TRISTAR_API int tristar_distributed_get_device(const tristar_distributed_t *distributed, int i,
                                               tristar_device_stats *stats);
/* On rank 0, after tristar_distributed_factor: the figures of the whole factor, its peak_bytes being those of
 * rank 0, after tristar_distributed_update those of the factor that it was given, and of the analysis that it
 * was made with, which METHOD_AUTO may have replaced. Each may be NULL. Not collective. Errors: ARGUMENT
 * (another rank; after tristar_distribute). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_get_factor_stats(
    const tristar_distributed_t *distributed, tristar_factor_stats *factor, tristar_analysis_stats *analysis);
/* Collective. all: as many as there are ranks, written on rank 0; not read elsewhere. Errors: RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_gather_stats(const tristar_distributed_t *distributed, tristar_distributed_stats *all);

/* Collective. Before MPI_Finalize. Accepts NULL. */
TRISTAR_API void tristar_distributed_destroy(tristar_distributed_t **distributed);

#ifdef __cplusplus
}
#endif

#endif
