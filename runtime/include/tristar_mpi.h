/* TriStar on many processes: a factor distributed over the ranks of an MPI communicator, and solves with it.
 *
 *   all ranks   tristar_matrix_gather        rows of A on all ranks -> the matrix on rank 0
 *   rank 0      tristar_analyze              with leaf_parts >= pz
 *   all ranks   tristar_distributed_factor   each rank factors the panels that it owns
 *   all ranks   tristar_distributed_solve    many times; also tristar_distributed_solve_with (parts, few
 *                                            rows), _solve_refined, _solve_start (in flight), _trace
 *   all ranks   tristar_distributed_refactor new values, same pattern
 *
 * tristar_distribute distributes a factor that rank 0 has, of tristar_factor or imported, and
 * tristar_distributed_update its new values. tristar_dmatrix_mpi.h factors a matrix that no rank has as a
 * whole.
 *
 * All ranks of the communicator call collective functions in the same order. All of them return the same
 * status, and the message of a rank that failed. MPI must be initialized with MPI_THREAD_SERIALIZED or
 * MPI_THREAD_MULTIPLE. With SERIALIZED the program must not call MPI during a collective function of TriStar.
 * MPI_THREAD_FUNNELED suffices for a context without StarPU (use_starpu 0) if the main thread alone calls
 * collective functions.
 * TriStar duplicates the communicator, and neither initializes nor finalizes MPI. libtristar has these
 * functions if it was built with MPI (CMake: TRISTAR_WITH_MPI). */
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

/* Collective. Divides the cores and the GPUs of every node among its ranks. Sets config->first_core, and
 * config->workers if it is 0 and STARPU_NCPU is not set. Sets config->first_device and config->devices if
 * first_device is negative: equal numbers of GPUs by rank, or one GPU for several ranks in a row. GPUs that
 * are hidden from a rank (CUDA_VISIBLE_DEVICES) do not count, and the ranks of a node must see the same GPUs.
 * If a launcher gives each rank GPUs of its own, set first_device to 0 and devices to their number instead.
 * Without this function, and unless mpiexec binds the ranks, StarPU binds the workers of all ranks to the
 * same cores. Errors: ARGUMENT (config is NULL), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_mpi_share_cores(MPI_Comm comm, tristar_config *config);

/* Collective. Measures the cluster on which the ranks run, for tristar_layout_choose and _predict: the number
 * of ranks on the node of rank 0, messages of rank 0 to another rank of that node and to the first rank of
 * another node, and the memory of the node of rank 0 as calibrated (tristar_calibrate). cluster->cores is
 * read: the cores of a rank. All other fields get the defaults of tristar_cluster_init. The result is the
 * same on all ranks; it takes milliseconds. Ranks are taken to fill one node after the other. Call
 * tristar_cluster_init first. Errors: ARGUMENT (NULL, cores below 1), MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_mpi_measure_cluster(tristar_t *ts, MPI_Comm comm,
                                                                       tristar_cluster *cluster);

/* Collective. Gathers a matrix with n columns on rank 0, to be factored there. Each rank has a block of rows;
 * the blocks follow each other by rank and have n rows in all. rows: the block of this rank, CSR or CSC,
 * perhaps without rows; cols = n. Columns are numbered over the whole matrix, rows inside the block. All
 * ranks pass the symmetry of the whole matrix. If it is not GENERAL, each off-diagonal pair is stored once,
 * on the rank of the row of the stored entry. Either all ranks pass values, or none does. Duplicates are
 * summed. Entries are sent in pieces, so other ranks need memory for one piece of 16 MB only. *matrix: on
 * rank 0 the matrix, in double precision; NULL on all others. Gather again for new values: the same pattern
 * has the same arrays, so tristar_refactor takes the values. Errors: ARGUMENT (NULL; sizes, symmetries or
 * kinds of values differ between ranks), RECTANGULAR (the blocks have another number of rows than n), FORMAT
 * (also: (i,j) and (j,i) are both stored, on any ranks, though symmetry is not GENERAL), NOT_FINITE,
 * TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_gather(tristar_t *ts, MPI_Comm comm,
                                                                 const tristar_view *rows,
                                                                 tristar_matrix_t **matrix);

/* A distributed factor, ready to solve. */
typedef struct tristar_distributed_s tristar_distributed_t;

/* Transport of messages. */
typedef enum tristar_transport {
  TRISTAR_TRANSPORT_AUTO,   /* The environment variable TRISTAR_TRANSPORT (direct, starpu_mpi, one_sided), or
                               DIRECT. */
  TRISTAR_TRANSPORT_DIRECT, /* MPI requests that idle StarPU workers advance, without a thread of its own. */
  TRISTAR_TRANSPORT_STARPU_MPI, /* Detached messages of StarPU-MPI; needs MPI_THREAD_MULTIPLE. */
  TRISTAR_TRANSPORT_ONE_SIDED /* Solves write into memory that all ranks share, without MPI; all ranks are on
                                 one node. Factorizations and all else use DIRECT. */
} tristar_transport;

/* Options of tristar_distributed_factor and tristar_distribute. Call tristar_distributed_options_init first.
 */
typedef struct tristar_distributed_options {
  size_t size;           /* Set by tristar_distributed_options_init. */
  tristar_layout layout; /* Layout of the ranks. px = 0: rank 0 calls tristar_layout_choose, with the cluster
                            as tristar_mpi_measure_cluster measures it; with ONE_SIDED and PLACE_GPU, with
                            A100 of one node. */
  tristar_transport transport; /* Transport of messages. */
  tristar_engine engine;       /* AUTO: tasks, unless the context has no StarPU. */
  int64_t nrhs;                /* Number of right-hand sides the workspace is sized for. 0 means 1. */
  tristar_place place;         /* Where subtrees are solved, see below. */
  int64_t device_bytes; /* Maximum bytes of a rank on a GPU, with the workspace of a solve of nrhs right-hand
                           sides. 0: nine tenths of its memory, divided among its ranks. */
  int64_t solves;       /* For the choice of a layout: solves after each factorization. 0: only their time
                           counts. */
  double process_bytes; /* For the choice of a layout: maximum bytes of a rank. 0: no limit. */
  int grids;            /* For the choice of a layout: maximum number of grids. 0: no limit. */
  tristar_refinement refine; /* Whether tristar_distributed_solve refines; the same on all ranks. */
  double peer_seconds; /* TRANSPORT_ONE_SIDED: seconds that a rank waits for a message. After them all ranks
                          that are left return RUNTIME, and the factor cannot solve again. 0: 60. */
  int atomic_sums; /* ONE_SIDED with PLACE_GPU: 1: the ranks of a grid add to one place of the receiver, as
                      in SC 2023; last bits of x change from solve to solve. For comparison. 0: each rank
                      has a place of its own, and sums have a fixed order. The same on all ranks. */
} tristar_distributed_options;

/* The layout of tristar_layout_init, TRANSPORT_AUTO, ENGINE_AUTO, one right-hand side, PLACE_CPU; all else 0.
 *
 * Ranks with GPUs. Each rank places subtrees on the GPUs of its StarPU (tristar_device.h;
 * tristar_mpi_share_cores divides the GPUs of a node). Candidates are subtrees that one rank owns as a whole:
 * in a layout 1x1xPz those of its leaf, in others the bottom subtrees of MAP_SUBTREE. The cores work on what
 * several ranks share, the top of each grid and the ancestors of grids, so messages begin and end in main
 * memory. PLACE_AUTO never fails where the cores alone do not. A rank that cannot use GPUs solves with its
 * cores. If a rank cannot prepare its GPUs, all ranks use cores, and the log has a line. Repeated solves
 * return the same result, with any scheduler. The subtrees on GPUs, and so the roundings, depend on the
 * calibrations and GPUs of all ranks.
 *
 * PLACE_GPU with TRANSPORT_ONE_SIDED: a GPU of each rank runs all sweeps and sends the messages itself,
 * without StarPU (Liu, Ding, Sao, Williams, Li, SC 2023, algorithm 5). Its memory has the whole share of the
 * rank; device_bytes is not read, and tristar_distributed_get_device has no GPU. Repeated solves return the
 * same result, but for atomic_sums, which need a GPU whose additions to memory of the host are atomic (NVLink
 * or the like; else UNSUPPORTED). Not supported: lists of rows, traces. */
#define tristar_distributed_options_init(options)                                                            \
  tristar_distributed_options_init_sized((options), sizeof *(options))
/* Called by tristar_distributed_options_init. */
TRISTAR_API void tristar_distributed_options_init_sized(tristar_distributed_options *options, size_t size);

/* Collective. Factors on all ranks of comm a matrix that rank 0 has analyzed. The number of ranks is that of
 * the layout. Rank 0 passes analysis, with leaf_parts of at least pz, and the values of its entries, as for
 * tristar_factor; other ranks pass NULL. Each rank factors and keeps the panels that it owns. Rank 0 stores
 * the matrix and sends entries, but stores no more of the factor than other ranks. The factor has the bits of
 * tristar_factor for any layout. The caller keeps the analysis, and may destroy it afterwards; values are
 * copied. options: as for tristar_distribute. METHOD_AUTO works as in tristar_factor. The factorization is
 * multifrontal (Duff, Reid 1983). PIVOTING_DELAYED: rank 0 searches for another order of pivots as
 * tristar_factor does, while other ranks wait; then all factor in that order. Errors: those of tristar_factor
 * on any rank; ARGUMENT (also: the layout does not match the communicator, pz, no analysis on rank 0),
 * UNSUPPORTED (INVERSE_PARTITIONED; the thread level of MPI), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_factor(tristar_t *ts, MPI_Comm comm, tristar_analysis_t *analysis, const void *values,
                           const tristar_distributed_options *options, tristar_distributed_t **out);

/* Collective. Factors new values on the same pattern (values: on rank 0), for a factor of
 * tristar_distributed_factor. Errors: those of tristar_refactor; UNSUPPORTED (a factor of tristar_distribute
 * or tristar_dmatrix_factor). If values is NULL on rank 0, and after UNSUPPORTED, the factor is as before.
 * After any other failure it has no values. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_refactor(tristar_distributed_t *distributed,
                                                                        const void *values);

/* Collective. Distributes a factor of rank 0 (other ranks pass NULL) over the ranks of comm, whose number is
 * that of the layout. Values are sent panel by panel; other ranks never store more than their share. The
 * caller keeps the factor, and may destroy it afterwards. options may be NULL. All ranks pass the same
 * options, and have the same TRISTAR_TRANSPORT; a difference is an ARGUMENT error on all of them. Errors:
 * ARGUMENT (also: the layout does not match the communicator, pz, no factor on rank 0), STALE, UNSUPPORTED
 * (INVERSE_PARTITIONED; a triangular matrix alone; L and U of different structure; the thread level of MPI),
 * MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distribute(tristar_t *ts, MPI_Comm comm,
                                                              tristar_factor_t *factor,
                                                              const tristar_distributed_options *options,
                                                              tristar_distributed_t **out);

/* Collective. Takes the values of a factor with the same analysis, such as after tristar_refactor. Errors:
 * ARGUMENT (no factor on rank 0; a factor of another structure, permutation, method, type or treatment of
 * diagonal blocks, which the message names), STALE, MEMORY, RUNTIME. After the first two the values are as
 * before; after the others there are none. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_update(tristar_distributed_t *distributed,
                                                                      tristar_factor_t *factor);

/* Collective. From now on rank r passes rows first .. first + rows - 1 of b and x. The blocks of rows follow
 * each other by rank and cover all n. At first rank 0 passes all of them. Errors: ARGUMENT, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_set_rows(tristar_distributed_t *distributed,
                                                                        int64_t first, int64_t rows);

/* Collective. X = op(A)^-1 B for nrhs right-hand sides, the same number on all ranks. b, x: the rows of this
 * rank, column-major with leading dimensions ldb and ldx; x may be b if ldx == ldb. If pivots were perturbed,
 * A is singular, or trial solves of the factorization lost digits, and the factor has its matrix, the
 * function refines as tristar_distributed_solve_refined does, unless options.refine was REFINE_NEVER. Errors:
 * ARGUMENT, MEMORY, RUNTIME; NOT_FINITE (a column of x is beyond the range of numbers; the others are solved;
 * without refinement a column whose b has NaN is no error, even if x is b, for which tristar_solve fails);
 * with refinement ACCURACY (the backward error stays above eps^(1/3), or A is singular, and x is no solution;
 * x is the best that was found). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_solve(tristar_distributed_t *distributed,
                                                                     tristar_op op, int64_t nrhs,
                                                                     const void *b, int64_t ldb, void *x,
                                                                     int64_t ldx);

/* Collective. X = (the part of op(A))^-1 B, as tristar_solve_with (tristar_solve.h) on one process, without
 * `end`, alpha and beta. The options are the same on all ranks, except for strides and lists of rows. Without
 * lists each rank passes its block of rows (tristar_distributed_set_rows). Lists: options->b_row has the
 * rows, of all n, that this rank passes, whatever its block, and options->x_row the rows that it receives. A
 * row is in the list of at most one rank. If any rank has a list of b (of x), a rank without one passes
 * (receives) no row. Only chunks that b reaches or x needs run, and only their messages are sent. result may
 * be NULL; its share is that of all ranks. Roundings differ from those of tristar_solve_with; repeated solves
 * return the same result. Errors: as tristar_distributed_solve; ARGUMENT also for a row out of range or
 * listed twice, and strides that are not positive; UNSUPPORTED: alpha or beta. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_solve_with(tristar_distributed_t *distributed, const tristar_solve_options *options,
                               int64_t nrhs, const void *b, void *x, tristar_solve_result *result);

/* A distributed solve that was started. */
typedef struct tristar_distributed_request_s tristar_distributed_request_t;

/* Collective, but only the first call for a distributed factor waits. Starts what
 * tristar_distributed_solve_with does, as tristar_solve_start on one process; options->end is called at the
 * end. Any number of solves may be in flight. A thread of the distributed factor runs them one after the
 * other, in the order of their start, which is the same on all ranks. Until the solve has ended, b must not
 * change, and x must not be read. Lists of rows are copied. Any other function of the distributed factor
 * waits for all started solves. MPI must be initialized with MPI_THREAD_MULTIPLE. Errors: ARGUMENT (request
 * is NULL), UNSUPPORTED (the thread level of MPI), MEMORY, RUNTIME. A rank that has no memory for the
 * request, or whose arguments are invalid, returns its error alone; the others return this error from
 * tristar_distributed_solve_wait. That function returns all other errors, on all ranks. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_solve_start(
    tristar_distributed_t *distributed, const tristar_solve_options *options, int64_t nrhs, const void *b,
    void *x, tristar_distributed_request_t **request);
/* *done = 1 if the solve has ended on this rank, else 0. Not collective. Errors: ARGUMENT. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_solve_test(tristar_distributed_request_t *request, int *done);
/* Waits until the solve has ended on this rank, frees the request and sets it to NULL. Returns the status of
 * the solve. Not collective; also allowed after tristar_distributed_destroy, which waits for all solves; not
 * inside a StarPU task. result may be NULL. Errors: as tristar_distributed_solve_with; UNSUPPORTED (inside a
 * task; the request remains). */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_solve_wait(tristar_distributed_request_t **request, tristar_solve_result *result);

/* Collective. tristar_solve_refined on many processes: a solve, corrections, FGMRES, and on request forward
 * errors and the history. The options, except for the history, are the same on all ranks, and so is *result.
 * The ranks have the rows of the matrix already. x may be b, or overlap it. Errors: as
 * tristar_distributed_solve; UNSUPPORTED: a factor without its matrix; NOT_FINITE: b has NaN or infinity, or
 * a computed number leaves the range (the message names row and column). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_solve_refined(
    tristar_distributed_t *distributed, tristar_op op, int64_t nrhs, const void *b, int64_t ldb, void *x,
    int64_t ldx, const tristar_refine_options *options, tristar_refine_result *result);

/* Collective. tristar_condition on many processes: an estimate of 1 / condition of the scaled matrix. Errors:
 * ARGUMENT, UNSUPPORTED, STALE, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_condition(tristar_distributed_t *distributed,
                                                                         double *reciprocal);

/* Collective. The diagonal of the inverse (tristar_inverse.h): values has the entries of the rows that this
 * rank passes. Each column is a solve, 64 at a time, and only chunks that the entries need run. If pivots
 * were perturbed, or trial solves of the factorization lost digits, or with single_factors, the solves are
 * refined, 16 at a time. Roundings differ from those of one process. Errors: those of
 * tristar_distributed_solve; ARGUMENT (NULL), STALE, ACCURACY and NOT_FINITE (as tristar_inverse.h). */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_inverse_diagonal(tristar_distributed_t *distributed, void *values);
/* Collective. Chosen entries of the inverse, in the same way: one solve for each column of the entries. Rank
 * 0 passes the lists and receives values[k] = (A^-1) row[k], column[k]; other ranks pass the same count, and
 * do not read their lists. Each rank stores 24 bytes and a scalar for each entry meanwhile. Errors: as
 * tristar_distributed_inverse_diagonal; ARGUMENT also for count, and an entry out of range. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_inverse_entries(tristar_distributed_t *distributed, int64_t count, const int64_t *row,
                                    const int64_t *column, void *values);

/* Collective. tristar_trace (tristar_trace.h) on many processes. *trace: on rank 0 the tasks and steps of all
 * ranks, NULL on others. An arrival follows the task that sent its message, so the critical path crosses all
 * processes. Seconds count from a barrier, on each node from the first rank that leaves it. So times of two
 * nodes compare as well as they leave the barrier at the same time. x must not be b. Errors: those of
 * tristar_distributed_solve; ARGUMENT also if x is b; TOO_LARGE. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_trace(tristar_distributed_t *distributed,
                                                                     tristar_op op, int64_t nrhs,
                                                                     const void *b, int64_t ldb, void *x,
                                                                     int64_t ldx, tristar_trace_t **trace);

/* ---- Files -------------------------------------------------------------------------------------------
 *
 * A distributed factor in files, one a rank: PREFIX.0, PREFIX.1, ... Ranks may pass different prefixes, such
 * as folders of their own disks. The format is that of tristar_save.h, with its versions and checksums. Each
 * file has the random number of its set, so files of two sets are never mixed.
 *
 * A loaded factor is the same as the saved one: its solutions have the same bits on the same kind of
 * processor, and tristar_distributed_refactor or tristar_dmatrix_refactor take new values. It needs as many
 * ranks in the same layout. Subtrees on GPUs are chosen again. */

/* Collective. Writes the files of a factor of tristar_distributed_factor or tristar_dmatrix_factor, with its
 * matrix. For a factor of rows rank 0 stores the structure without values meanwhile. The old files stay until
 * all new ones are complete. Errors: ARGUMENT (prefix is NULL), STALE (no values), UNSUPPORTED (a factor of
 * tristar_distribute: tristar_factor_save saves the factor of rank 0), IO (the message has the file and the
 * cause), MEMORY, TOO_LARGE, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_save(tristar_distributed_t *distributed,
                                                                    const char *prefix);
/* Collective. Loads the files. The blocks of rows of b and x are those of the saved factor. options: NULL
 * means the saved engine, place, nrhs and refine, and defaults for all else. Otherwise the layout is the
 * saved one, or its px is 0. Errors: ARGUMENT (NULL; another number of ranks, another layout; also as
 * tristar_distribute), IO (a file is missing or cannot be read), FORMAT (damaged, truncated, of another kind,
 * another set or another rank), UNSUPPORTED (another version of the format, another order of bytes; the ranks
 * would share the factor out in another way), MEMORY, NO_WORKER, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_load(tristar_t *ts, MPI_Comm comm, const char *prefix,
                         const tristar_distributed_options *options, tristar_distributed_t **out);

/* ---- Statistics --------------------------------------------------------------------------------------- */

/* Messages of one class that a rank sent. */
typedef struct tristar_message_count {
  int64_t messages, bytes; /* Messages and bytes sent in one solve. */
} tristar_message_count;

/* Statistics of one rank. Seconds are of its latest solve; from compute_seconds on, of all its workers
 * together. */
typedef struct tristar_distributed_stats {
  int rank, workers;           /* Number of the rank, and its CPU workers. */
  int64_t chunks, tasks;       /* Chunks, and steps of a solve. */
  double factor_bytes;         /* Bytes of the factor on this rank. */
  double peak_bytes;           /* Largest memory of the library in this process so far. */
  double distribute_seconds;   /* Seconds of tristar_distribute, or _factor, without start_seconds. */
  double start_seconds;        /* Seconds of starting StarPU, if that call started it. */
  double solve_seconds;        /* Seconds from b to x. */
  double redistribute_seconds; /* Part of it: transfers of rows of b and x to and from their owners. */
  double sweep_seconds;        /* Part of it: both sweeps. */
  double forward_seconds;      /* Part of the sweeps: until the last forward step of this rank (L). */
  double between_seconds;  /* Part of the sweeps: from there to its first backward step (Z), at least 0. */
  double backward_seconds; /* Part of the sweeps: from its first backward step (U). */
  double compute_seconds;  /* In steps of CPU workers. */
  double xy_seconds, z_seconds;    /* Waiting for messages of the same grid, and of other grids. */
  double idle_seconds;             /* Waiting for other tasks, on GPUs too. */
  tristar_message_count broadcast; /* Inside the grid: parts of x. */
  tristar_message_count reduction; /* Inside the grid: sums. */
  tristar_message_count grids;     /* Between grids. */
  char device[64];                 /* Name of StarPU's worker for its first GPU with subtrees. "": none. */
  int devices;                 /* GPUs with subtrees, see tristar_distributed_get_device. The seconds above do
                                  not contain tasks on GPUs. */
  int64_t device_chunks;       /* Chunks of them on GPUs. */
  double device_factor_bytes;  /* Part of factor_bytes on GPUs. */
  double up_bytes, down_bytes; /* Bytes to and from GPUs in a solve with the prepared right-hand sides. */
  double unfit_bytes;          /* Bytes of subtrees for GPUs that have no memory for them. */
  /* The rest is of tristar_distributed_factor and _refactor. After tristar_distribute and _update it is 0,
   * except for perturbed_pivots. */
  double factor_seconds;         /* Seconds from the values of rank 0 to factor and matrix on this rank. */
  double factor_peak_bytes;      /* Largest additional memory of the library meanwhile. */
  int64_t perturbed_pivots;      /* Perturbed pivots on all ranks. Above 0, solutions need refinement. */
  tristar_message_count fan_in;  /* Contribution blocks, and stripes of shared fronts, to other ranks. */
  tristar_message_count hand_on; /* Pieces of panels for other ranks that store them. */
  tristar_layout layout;         /* Layout of the ranks. */
  tristar_layout_prediction predicted; /* Prediction for a chosen layout; else zeros. */
  int64_t n;                           /* Order of the matrix. */
  tristar_scalar scalar;               /* Type of b and x. */
  tristar_symmetry symmetry;           /* Symmetry of the matrix on rank 0; GENERAL on others and after
                                          tristar_distribute. */
  double inbox_bytes;                  /* TRANSPORT_ONE_SIDED: bytes of the memory of a rank into which other
                                          ranks send, for each concurrent solve; the same on all ranks. Else 0. */
} tristar_distributed_stats;

/* Copies the statistics of this rank to *stats. Not collective. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_distributed_get_stats(const tristar_distributed_t *distributed,
                                                         tristar_distributed_stats *stats);
/* Returns the i-th GPU (from 0) with subtrees of this rank, as tristar_plan_get_device. The result is 0 if
 * there is no i-th. Not collective. */
TRISTAR_API int tristar_distributed_get_device(const tristar_distributed_t *distributed, int i,
                                               tristar_device_stats *stats);
/* On rank 0, after tristar_distributed_factor: statistics of the whole factor, and of its analysis, which
 * METHOD_AUTO may have replaced. peak_bytes is that of rank 0; after tristar_distributed_update the
 * statistics are those of the factor that it received. Each may be NULL. Not collective. Errors: ARGUMENT
 * (another rank; after tristar_distribute). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_distributed_get_factor_stats(
    const tristar_distributed_t *distributed, tristar_factor_stats *factor, tristar_analysis_stats *analysis);
/* Collective. Gathers the statistics of all ranks in all, one entry per rank, on rank 0; other ranks do not
 * read it. Errors: RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status
tristar_distributed_gather_stats(const tristar_distributed_t *distributed, tristar_distributed_stats *all);

/* Collective. Frees the factor and sets it to NULL, before MPI_Finalize. Accepts NULL. */
TRISTAR_API void tristar_distributed_destroy(tristar_distributed_t **distributed);

/* ---- Triangles on several GPUs -----------------------------------------------------------------------
 *
 * The rows of a sparse triangular matrix are spread over the GPUs of the ranks of one node, one GPU a rank
 * (after Xie et al., "Fast and scalable sparse triangular solver for multi-GPU based HPC architectures", ICPP
 * 2021). A GPU solves with its own rows, and adds up what they contribute to rows of other GPUs. These sums
 * stay in memory that all ranks share: the owner of a row reads them there when they are complete. No message
 * is sent, and a solve calls no function of MPI. */

/* A triangle that is spread over GPUs, ready to solve. */
typedef struct tristar_spread_triangle_s tristar_spread_triangle_t;

/* Options of tristar_spread_triangle. Call tristar_spread_options_init first. */
typedef struct tristar_spread_options {
  size_t size;   /* Set by tristar_spread_options_init. */
  tristar_op op; /* Solves with T, T^T or T^H. */
  int tasks; /* Tasks of each GPU: consecutive rows, dealt to the GPUs round robin. 0: a row goes to the GPU
                of most rows that it waits for, as long as level sets and GPUs are balanced. */
  int polls_all; /* 1: a row that waits reads the in-degrees of all GPUs; for comparison. 0: only of those
                    that it still waits for. */
  int64_t nrhs; /* Right-hand sides that are solved at once, at most 64; more are solved in blocks. 0 means 1.
                 */
  double peer_seconds; /* Longest time in seconds that a rank waits for the others to start a solve, and that
                          a sweep takes. After it all ranks return RUNTIME, and the triangle cannot solve
                          again. 0: 60. */
} tristar_spread_options;
/* TRISTAR_N, and all else 0. */
#define tristar_spread_options_init(options) tristar_spread_options_init_sized((options), sizeof *(options))
/* Called by tristar_spread_options_init. */
TRISTAR_API void tristar_spread_options_init_sized(tristar_spread_options *options, size_t size);

/* Collective. Spreads a triangle of rank 0 over the GPUs of all ranks; other ranks pass NULL. factor: of
 * tristar_import_triangle, by rows: PARTITION_LEVELS, SUPERSTEPS or WHOLE, without orders and scales. Values
 * are copied; the caller keeps the factor. options: the same on all ranks, or NULL. Solutions have the same
 * bits in repeated solves; they depend on the number of ranks and on tasks. Errors: ARGUMENT (NULL; options
 * are wrong or differ), STALE, UNSUPPORTED (no GPU, or a build without CUDA and HIP; ranks on several nodes;
 * more than 33 ranks; supernodes, blocks, orders or scales; not a triangle), TOO_LARGE, MEMORY, RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_spread_triangle(tristar_t *ts, MPI_Comm comm,
                                                                   const tristar_factor_t *factor,
                                                                   const tristar_spread_options *options,
                                                                   tristar_spread_triangle_t **out);

/* Collective. X = op(T)^-1 B. b, x: on rank 0, n x nrhs, column-major, leading dimensions ldb and ldx; x may
 * be b if ldx == ldb. Other ranks pass nrhs; their b and x are not read. Errors: ARGUMENT (also: nrhs
 * differs), RUNTIME. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_spread_solve(tristar_spread_triangle_t *triangle,
                                                                int64_t nrhs, const void *b, int64_t ldb,
                                                                void *x, int64_t ldx);

/* Statistics of one rank. */
typedef struct tristar_spread_stats {
  int rank;              /* Number of the rank. */
  int64_t rows, entries; /* Rows that the GPU solves; entries off the diagonal that it multiplies with. */
  int64_t sums;          /* Sums that it makes for rows of other GPUs. */
  int64_t gets;          /* Sums of other GPUs that it reads for a right-hand side. */
  int64_t most_gets;     /* The same if each row had one on each other GPU. */
  int64_t polls;         /* In-degrees on other GPUs that it read in the latest solve. */
  int64_t bytes;         /* Bytes of sums and in-degrees that it read from other GPUs in the latest solve. */
  double solve_seconds;  /* Seconds of the latest solve, with the transfers of b and x. */
  double sweep_seconds;  /* Part of it: the sweep on the GPU. */
} tristar_spread_stats;
/* Copies the statistics of this rank to *stats. Not collective. Errors: ARGUMENT (NULL). */
TRISTAR_API tristar_status tristar_spread_get_stats(const tristar_spread_triangle_t *triangle,
                                                    tristar_spread_stats *stats);
/* Collective. Frees the triangle and sets it to NULL, before MPI_Finalize. Accepts NULL. */
TRISTAR_API void tristar_spread_destroy(tristar_spread_triangle_t **triangle);

#ifdef __cplusplus
}
#endif

#endif
