/* TriStar: a library that solves sparse linear systems many times with the same factors.
 *
 * The steps of a program:
 *
 *   tristar_create          a context: workers, log, error messages            once
 *   tristar_analyze         pattern -> ordering, supernodes                    once per pattern
 *   tristar_factor          values  -> factors                                 once
 *   tristar_refactor        new values of the same pattern -> new factors      once per new set of values
 *   tristar_plan            factors -> a recorded graph of tasks               once per factor
 *   tristar_solve           X = A^-1 B                                         many times
 *   tristar_solve_refined   the same with iterative refinement                 many times
 *
 * StarPU is the runtime system that runs tasks. A worker is one of its threads, for a core or a GPU. Comments
 * omit TRISTAR_ and TRISTAR_ERR_ in constants: ARGUMENT is TRISTAR_ERR_ARGUMENT. A has n rows and n columns.
 * eps is 2^-52 (double) or 2^-23 (single). |A|, |x|: absolute values of the entries; ||A||: a norm. A panel
 * is a supernode, or a piece of a wide one. A chunk is a sequence of panels, for one task or several.
 *
 * Other headers, each for one subject:
 *
 *   tristar_matrix.h        matrices from files          tristar_solve.h        solves with options
 *   tristar_triangle.h      triangles; imported factors  tristar_typed.h        type-checked vectors
 *   tristar_precond.h       preconditioners              tristar_krylov.h       Krylov methods
 *   tristar_stats.h         statistics of all objects    tristar_trace.h        timelines of solves
 *   tristar_schur.h         Schur complements            tristar_inverse.h      entries of the inverse
 *   tristar_save.h          saved factors and plans      tristar_device.h       GPUs
 *   tristar_mpi.h           many processes               tristar_dmatrix_mpi.h  distributed matrices
 *   tristar_layout.h        layouts of processes         tristar_starpu.h, tristar_starpu_mpi.h    StarPU
 *   tristar_machine.h       StarPU, calibration          tristar_experimental.h variants for comparisons
 *   tristar_forecast.h      memory, time, progress       tristar_choices.h      ordering, matching, ...
 *   tristar_options.h       sizes of option structs      tristar_cholmod.h, ... factors of other solvers
 *   tristar_batch.h         many systems of one pattern  tristar_update.h       changes of few entries
 *
 * Objects. A plan keeps its factor alive, and a factor its analysis. So objects and contexts may be destroyed
 * in any order, each once. A destroy function sets the caller's pointer to NULL, and ignores NULL. Threads
 * may use different objects, or solve with one plan, at the same time (but see tristar_refactor). A child of
 * fork() gets UNSUPPORTED if it computes with its parent's objects, or saves them.
 *
 * Errors. A function that can fail returns a tristar_status. If it fails to create an object, it sets the
 * caller's pointer to NULL. tristar_get_error copies a message that names the cause, with row, file or
 * option. If a required argument is NULL, the status is ARGUMENT. The library never ends the program and
 * never prints. StarPU may print, unless STARPU_SILENT=1. A cancelled call returns CANCELLED.
 *
 * Arrays. The library reads const arrays, and writes others, only during the call. Comments name exceptions.
 *
 * Options. For an option struct of type TYPE the macro TYPE_init sets `size` and the defaults. Call it before
 * you set other fields (tristar_options.h). NULL in place of an option struct stands for the defaults. */
#ifndef TRISTAR_H
#define TRISTAR_H

#include <stddef.h>
#include <stdint.h>

#include "tristar_options.h"      /* The sizes of option structs; TRISTAR_API, TRISTAR_CHECKED. */
#include "tristar_choices.h"      /* Choices: tristar_ordering, tristar_matching, ... */
#include "tristar_experimental.h" /* Variants for comparisons: tristar_inverse, tristar_merge, ... */

#ifdef __cplusplus
extern "C" {
#endif

#define TRISTAR_VERSION_MAJOR 0 /* Major version of this header. */
#define TRISTAR_VERSION_MINOR 3 /* Minor version: while it stays the same, programs compile unchanged. */
#define TRISTAR_VERSION_PATCH 0 /* Patch version: a higher one only fixes defects. */

/* ---- Status ------------------------------------------------------------------------------------------ */

/* Result of a function: OK, or the cause of the failure. */
typedef enum tristar_status {
  TRISTAR_OK = 0,                    /* Success. */
  TRISTAR_ERR_ARGUMENT,              /* An argument is invalid: NULL, negative size, ld too small. */
  TRISTAR_ERR_MEMORY,                /* An allocation failed. */
  TRISTAR_ERR_TOO_LARGE,             /* A size exceeds the range of the library's integers. */
  TRISTAR_ERR_IO,                    /* A file cannot be opened, read or written. */
  TRISTAR_ERR_FORMAT,                /* A file or array is malformed. The message names the line or entry. */
  TRISTAR_ERR_UNSUPPORTED,           /* A valid request that this build or version does not support. */
  TRISTAR_ERR_RECTANGULAR,           /* The matrix is not square. */
  TRISTAR_ERR_SINGULAR,              /* The matrix is singular, structurally or to working precision. */
  TRISTAR_ERR_NOT_POSITIVE_DEFINITE, /* Cholesky found a pivot that is not positive. */
  TRISTAR_ERR_NOT_FINITE,            /* The input, the factors or the result contain NaN or infinity. */
  TRISTAR_ERR_ACCURACY,              /* A result would be less accurate than promised or requested. */
  TRISTAR_ERR_NO_WORKER,             /* StarPU has no worker able to run the tasks. */
  TRISTAR_ERR_RUNTIME,               /* Another library, or a function of the caller, failed. */
  TRISTAR_ERR_STALE,    /* The object has no values, or new ones do not suit its analysis or pattern. */
  TRISTAR_ERR_INTERNAL, /* A defect of TriStar. Please report the message. */
  TRISTAR_ERR_BUSY,     /* The Krylov solver is in use, or too many solves (tristar_starpu.h) run. */
  TRISTAR_ERR_CANCELLED /* A function of the caller cancelled the call (tristar_set_progress). */
} tristar_status;

/* Name of a status, such as "TRISTAR_ERR_FORMAT". Never NULL; static text. */
TRISTAR_API const char *tristar_status_name(tristar_status status);
/* Version of the library that runs, such as "0.3.0"; static text. */
TRISTAR_API const char *tristar_version(void);

/* ---- Context ----------------------------------------------------------------------------------------- */

/* A context: the workers, the log, and other data that objects share. */
typedef struct tristar_s tristar_t;

/* Severity of a line of the log; a lower level is more severe. */
typedef enum tristar_log_level {
  TRISTAR_LOG_ERROR = 0, /* One line for each failed call. */
  TRISTAR_LOG_WARNING,   /* The result of a call may not be as intended. */
  TRISTAR_LOG_INFO,      /* One line for each long call. */
  TRISTAR_LOG_PROGRESS,  /* Many short lines during long work: "factor 42%". */
  TRISTAR_LOG_DEBUG      /* For developers of the library. */
} tristar_log_level;

/* Receives one line of the log, without newline. Several threads may call it at the same time. */
typedef void (*tristar_log_fn)(void *arg, tristar_log_level level, const char *text);

/* Options of tristar_create. Fields marked [start] take effect only if this context starts StarPU. If StarPU
 * runs already, it keeps its settings. If its workers or its scheduler differ from the fields, the log has a
 * warning. STARPU_NCPU and STARPU_SCHED in the environment have precedence over workers and scheduler. */
typedef struct tristar_config {
  size_t size;    /* Set by tristar_config_init. */
  int use_starpu; /* 1: run tasks on StarPU. 0: run everything on the calling thread. */
  int workers;    /* [start] CPU workers. 0: one per core. Threads of TriStar help if StarPU allows fewer. */
  int first_core; /* [start] Index, in the affinity mask, of the first core for workers. -1: all cores. */
  int first_device; /* [start] First GPU that gets a worker. -1: all, limited by STARPU_NCUDA, STARPU_NHIP. */
  int devices;      /* [start] Number of GPUs if first_device is not -1. */
  const char *scheduler;       /* [start] Name of a StarPU scheduler. NULL: lws. */
  int check;                   /* 1: verify internal data structures, for tests (also TRISTAR_CHECK=1). */
  tristar_log_fn log;          /* Receives the lines of the log. NULL: no log. */
  void *log_arg;               /* First argument of log. */
  tristar_log_level log_level; /* Least severe level that log receives. */
  int64_t fail_allocation;     /* For tests: number of the allocation that fails, from 1. 0: none. */
  const char *calibration;     /* Calibration file, or "off". NULL: the default (tristar_machine.h). */
  int idle_sleep; /* [start] 1: idle workers sleep. 0: they poll. -1: environment TRISTAR_IDLE, else sleep. */
} tristar_config;

/* Defaults: StarPU on all cores, no log, LOG_INFO; first_core, first_device, idle_sleep -1; devices 1. */
#define tristar_config_init(config) tristar_config_init_sized((config), sizeof *(config))

/* Creates a context. A process may have many contexts, and any thread may create or destroy them. If
 * use_starpu is not 0, the first call that needs workers starts StarPU, or uses a running one
 * (tristar_machine.h). Errors: ARGUMENT (also: unknown value of the environment variables TRISTAR_IDLE,
 * TRISTAR_ISA), UNSUPPORTED (the processor lacks instructions that the library needs), MEMORY. After a
 * failure config->log receives the message, and tristar_get_error(NULL, ...) copies it. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_create(const tristar_config *config, tristar_t **ts);

/* Releases the context. Its memory is freed when its last object is destroyed. StarPU then stops if TriStar
 * started it and nothing else uses it. The function waits for inserted solves (tristar_starpu.h) and solves
 * with a callback `end` (tristar_solve.h). If a StarPU task calls it, another thread waits. */
TRISTAR_API void tristar_destroy(tristar_t **ts);

/* Copies the message of the calling thread's latest failed call into buffer (size bytes, always terminated),
 * and returns the full length of the message. The message is empty if no call of the thread has failed, or if
 * ts is not NULL and the latest failed call belonged to another context. */
TRISTAR_API size_t tristar_get_error(tristar_t *ts, char *buffer, size_t size);

/* ---- Matrix ------------------------------------------------------------------------------------------ */

/* Type of the entries. A complex scalar is its real part, followed by its imaginary part. */
typedef enum tristar_scalar {
  TRISTAR_SINGLE = 's',         /* float */
  TRISTAR_DOUBLE = 'd',         /* double */
  TRISTAR_COMPLEX_SINGLE = 'c', /* float complex */
  TRISTAR_COMPLEX_DOUBLE = 'z'  /* double complex */
} tristar_scalar;

/* Storage by columns or by rows. */
typedef enum tristar_format {
  TRISTAR_CSC, /* Compressed columns. */
  TRISTAR_CSR  /* Compressed rows. */
} tristar_format;

/* Meaning of the stored entries. If the matrix is not GENERAL, store one entry of each off-diagonal pair, in
 * either triangle: entry (i,j) also stands for (j,i). If both are stored, functions return FORMAT. */
typedef enum tristar_symmetry {
  TRISTAR_GENERAL,        /* All entries are stored. */
  TRISTAR_SYMMETRIC,      /* a_ji =  a_ij */
  TRISTAR_SKEW_SYMMETRIC, /* a_ji = -a_ij, zero diagonal. */
  TRISTAR_HERMITIAN       /* a_ji = conj(a_ij), real diagonal. */
} tristar_symmetry;

/* A sparse matrix in arrays of the caller. Column j (CSC) or row j (CSR), from 0, has the entries ptr[j]-base
 * .. ptr[j+1]-base-1 of index and values, in any order. Duplicates are summed, in the order of storage. */
typedef struct tristar_view {
  tristar_format format;     /* Columns or rows. */
  tristar_symmetry symmetry; /* Meaning of the entries. */
  tristar_scalar scalar;     /* Type of the values, also if values is NULL. */
  int64_t rows, cols;        /* Number of rows, number of columns. */
  const void *ptr;           /* cols+1 (CSC) or rows+1 (CSR) integers of ptr_bits bits. */
  const void *index;         /* Row (CSC) or column (CSR) numbers, integers of index_bits bits. */
  const void *values;        /* Values in the order of index. NULL: the pattern alone. */
  int ptr_bits, index_bits;  /* Bits of each integer of ptr, of index: 32 or 64. */
  int base;                  /* 0 or 1: number of the first row, column and entry. */
} tristar_view;

/* Sets *view to CSC, GENERAL, DOUBLE, 32-bit ptr and index, base 0; sizes 0 and arrays NULL. */
TRISTAR_API void tristar_view_init(tristar_view *view);

/* ---- Analysis ---------------------------------------------------------------------------------------- */

/* Result of the analysis of a pattern: order of elimination, supernodes, structure of the factors. */
typedef struct tristar_analysis_s tristar_analysis_t;

/* The factorization. AUTO is LLT for real symmetric or Hermitian values with a positive diagonal, LDLT for
 * other symmetric or Hermitian values, and LU for all others. If the entries a_ij and a_ji of a GENERAL
 * matrix differ only by rounding errors (tristar_stats.h), AUTO treats the matrix as symmetric and uses one
 * entry of each pair for the factors. Refinement uses the matrix as given. */
typedef enum tristar_method {
  TRISTAR_METHOD_AUTO, /* One of the methods below, chosen by the values. */
  TRISTAR_METHOD_LLT,  /* A = L L^T; complex Hermitian: A = L L^H. */
  TRISTAR_METHOD_LU,   /* A = L U on the pattern of A + A^T. */
  TRISTAR_METHOD_LDLT  /* A = L D L^T (symmetric) or L D L^H (Hermitian), pivots of order 1 and 2. */
} tristar_method;

/* Options of tristar_analyze; their types are in tristar_choices.h and tristar_experimental.h.
 * permutation: LDLT with a matching eliminates both rows of a pivot of order 2 at the position of the first.
 * leaf_parts: 0, 1 or a power of two. Pz grids of processes need at least Pz leaves (tristar_layout.h).
 * METIS, DISSECTION and AUTO compute the separator tree. Other orderings use the top of the elimination tree.
 * single_factors: b, x and refinement stay double. In tristar_solve x may have errors of single precision,
 * and entries of b and x beyond the range of float are NOT_FINITE or zero; tristar_solve_refined avoids
 * both. Small pivots are perturbed: only the condition estimate finds singular matrices (tristar_stats.h). */
typedef struct tristar_analysis_options {
  size_t size;                /* Set by tristar_analysis_options_init. */
  tristar_method method;      /* The factorization. */
  tristar_ordering ordering;  /* The order of elimination. */
  const int64_t *permutation; /* ORDERING_USER: the n rows, from 0, in the order of elimination. */
  int leaf_parts;             /* Number of leaves of the separator tree. 0 or 1: no such tree. */
  int seed;                   /* Seed of METIS, Scotch and PT-Scotch. */
  tristar_matching matching;  /* Permutation of large entries to the diagonal. ON needs values. */
  int single_factors;         /* 1: single precision factors and solves for a double matrix. */
  tristar_inverse inverse;    /* Use of diagonal blocks. DIAGONAL can change to NONE (tristar_stats.h). */
  tristar_merge merge;        /* Which supernodes are merged. */
  tristar_singular singular;  /* Treatment of singular matrices. */
  tristar_growth growth;      /* Treatment of pivot growth. */
  tristar_place place;        /* Where large fronts are factored. */
  int64_t device_bytes;       /* Largest front on a GPU, in bytes. 0: nine tenths of the GPU's memory. */
  int64_t solves;             /* ORDERING_AUTO: expected number of solves for each factorization. 0: 10. */
  tristar_order_fn order;     /* ORDERING_CALLBACK: function that tristar_analyze calls once to order. */
  void *order_arg;            /* First argument of order. */
  tristar_analysis_progress_fn progress; /* Called during analyses, by rank 0 only; may cancel. NULL: none. */
  void *progress_arg;                    /* First argument of progress. */
  const int64_t *schur;      /* Rows, from 0, that are not eliminated (tristar_schur.h). Copied. */
  int64_t schur_count;       /* Number of rows in schur, all different. 0: all rows are eliminated. */
  tristar_pivoting pivoting; /* Pivots of LU and LDLT. */
  double pivot_threshold;    /* PIVOTING_DELAYED: up to 1 (LU) or 1/2 (LDLT). 0: 0.1 (LU), 0.01 (LDLT). */
  int64_t factorizations;    /* ORDERING_AUTO: expected number of factorizations. 0: 1. */
} tristar_analysis_options;

/* Defaults: METHOD_AUTO, ORDERING_AUTO, MATCHING_AUTO, INVERSE_DIAGONAL, MERGE_RELAXED, SINGULAR_REFUSE,
 * GROWTH_WARN, PLACE_CPU, PIVOTING_STATIC, seed 1, all else 0. */
#define tristar_analysis_options_init(options)                                                               \
  tristar_analysis_options_init_sized((options), sizeof *(options))

/* Orders the matrix, finds its supernodes and prepares the factorization. Reads the pattern of the view. If
 * the view has values, they determine the method and the matching (Duff and Koster 2001). If it has none,
 * METHOD_AUTO is LU for GENERAL and skew-symmetric views, LDLT for complex symmetric views and LLT for all
 * others; if LLT fails, tristar_factor analyzes again. Errors: ARGUMENT, RECTANGULAR, FORMAT (the message
 * names column and entry), SINGULAR (structurally: the message gives the rank), NOT_FINITE, TOO_LARGE,
 * MEMORY, RUNTIME (METIS, Scotch or the caller's function failed), UNSUPPORTED (ORDERING_PTSCOTCH; no
 * Scotch), CANCELLED (by `progress`; at once while a helper process orders, else between steps). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analyze(tristar_t *ts, const tristar_view *view,
                                                           const tristar_analysis_options *options,
                                                           tristar_analysis_t **analysis);

/* Frees the analysis. Its factors stay valid. */
TRISTAR_API void tristar_analysis_destroy(tristar_analysis_t **analysis);

/* ---- Factorization ----------------------------------------------------------------------------------- */

/* The factors of a matrix A, computed here or imported. Some imported factors do not store A. */
typedef struct tristar_factor_s tristar_factor_t;

/* Factors the matrix whose pattern was analyzed. values: one for each entry of index in the view of
 * tristar_analyze, in the same order; copied. LU and LDLT perturb tiny pivots and count them
 * (tristar_factor_stats). LLT needs real symmetric or Hermitian values, LDLT symmetric or Hermitian ones. If
 * the values do not suit the method, or LLT finds a pivot <= 0, METHOD_AUTO analyzes again for another one.
 * If the caller chose the method, the status is ARGUMENT or NOT_POSITIVE_DEFINITE (the message names the
 * row). Other errors: NOT_FINITE, SINGULAR, MEMORY, RUNTIME, NO_WORKER; FORMAT (a diagonal entry that the
 * symmetry forbids), UNSUPPORTED (PLACE_GPU without support), ACCURACY (pivot growth; Schur complement). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor(tristar_analysis_t *analysis, const void *values,
                                                          tristar_factor_t **factor);

/* Factors new values with the same pattern. Plans of the factor use them from their next solve on. No solve
 * with the factor may run during the call. The method and the matching of the analysis stay, as plans depend
 * on them. If the values do not suit the method, the function returns ARGUMENT (unsymmetric values) or
 * NOT_POSITIVE_DEFINITE, also with METHOD_AUTO. Other errors: as tristar_factor; UNSUPPORTED (imported
 * factor); STALE (call tristar_analyze: a regular A looks singular, or, with GROWTH_MATCH, digits are lost).
 * NULL values and UNSUPPORTED leave the factor as it was. After other failures solves return STALE. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_refactor(tristar_factor_t *factor, const void *values);

/* Frees the factor. Its plans stay valid. */
TRISTAR_API void tristar_factor_destroy(tristar_factor_t **factor);

/* ---- Plan -------------------------------------------------------------------------------------------- */

/* The tasks of a solve and the graph of their dependences, recorded once. */
typedef struct tristar_plan_s tristar_plan_t;

/* How a plan runs. Plans of triangles by rows differ: see tristar_triangle.h. */
typedef enum tristar_engine {
  TRISTAR_ENGINE_AUTO,   /* Tasks, or no tasks if that is predicted to be faster. */
  TRISTAR_ENGINE_SERIAL, /* The calling thread runs the graph in topological order, without tasks. */
  TRISTAR_ENGINE_TASKS   /* Always StarPU tasks. */
} tristar_engine;

/* Whether tristar_solve refines. Solves need refinement if pivots were perturbed or A is singular, if trial
 * solves of the factorization lost digits (tristar_factor_stats), or if the storage of the plan loses digits
 * (tristar_storage). If the factor does not store A, AUTO never refines. */
typedef enum tristar_refinement {
  TRISTAR_REFINE_AUTO, /* If solves need it. */
  TRISTAR_REFINE_NEVER /* Never. The option accuracy must be 0. */
} tristar_refinement;

/* Options of tristar_plan. The fields marked [variant] are described in tristar_experimental.h. */
typedef struct tristar_plan_options {
  size_t size;                   /* Set by tristar_plan_options_init. */
  tristar_engine engine;         /* How the plan runs. */
  int64_t nrhs;                  /* Number of right-hand sides the workspace is sized for. 0 means 1. */
  int64_t chunk_bytes_min;       /* Desired bytes of the smallest chunk. 0: from the calibration. */
  int64_t chunk_bytes_max;       /* Maximum bytes of a chunk of several panels. 0: a suitable value. */
  unsigned order_seed;           /* ENGINE_SERIAL, for tests: seed of a random topological order. 0: none. */
  tristar_placement placement;   /* NUMA placement of the factor. */
  tristar_scheduling scheduling; /* [variant] When a task may run. */
  tristar_updates updates;       /* [variant] How contributions reach other chunks. */
  tristar_granularity granularity; /* [variant] Chunks or supernodes. */
  tristar_kernel kernel;           /* [variant] Panels or the partitioned inverse. */
  tristar_place place;             /* Where subtrees of the assembly tree are solved. */
  int64_t device_bytes;      /* Maximum bytes on each GPU. 0: nine tenths of its memory (tristar_device.h). */
  int64_t device_solves;     /* Number of concurrent solves with reserved device memory; 0 means 1. */
  tristar_refinement refine; /* Whether tristar_solve refines. */
  int64_t fuse_columns;      /* Maximum columns of fused solves (tristar_solve.h), <= 64. 0, 1: no fusion. */
  tristar_storage storage;   /* Format of the entries of the factor that solves read. */
  double accuracy;    /* Largest componentwise backward error of tristar_solve, below 1. 0: none given. */
  double compress;    /* Tolerance of low-rank compression (tristar_storage), below 1. 0: no compression. */
  int release_factor; /* 1: the plan's copy replaces the factor's entries (tristar_storage). */
} tristar_plan_options;

/* Defaults: ENGINE_AUTO, nrhs 1, PLACEMENT_AUTO, PLACE_CPU, STORAGE_FULL, no variant, all else 0. */
#define tristar_plan_options_init(options) tristar_plan_options_init_sized((options), sizeof *(options))

/* Chooses chunks, builds the graph and records tasks. The bits of X depend on the plan, the kind of
 * processor, B and its number of columns. With fuse_columns a column has the same bits, whatever other
 * columns B has. Workers, scheduler, execution order, and the variants scheduling and updates have no effect.
 * Errors: ARGUMENT, MEMORY, STALE (no values), NO_WORKER (PLACE_GPU, but StarPU has no GPU), UNSUPPORTED
 * (ENGINE_TASKS without StarPU; PLACE_GPU or storage that is not supported; KERNEL_SPMV with a factor that it
 * does not support; fuse_columns with a triangle, KERNEL_SPMV or PLACE_GPU; accuracy if A is not stored). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan(tristar_factor_t *factor,
                                                        const tristar_plan_options *options,
                                                        tristar_plan_t **plan);

/* Releases the plan without waiting. Solves in flight continue. */
TRISTAR_API void tristar_plan_destroy(tristar_plan_t **plan);

/* ---- Solve ------------------------------------------------------------------------------------------- */
/* The system that is solved. */
typedef enum tristar_op {
  TRISTAR_N = 'N', /* A X = B */
  TRISTAR_T = 'T', /* A^T X = B */
  TRISTAR_C = 'C'  /* A^H X = B; for real types the same as T. */
} tristar_op;

/* Computes X = op(A)^-1 B. b: n x nrhs, column-major, leading dimension ldb >= n; x likewise with ldx. x may
 * be b if ldx == ldb; no other overlap is allowed. With REFINE_AUTO the function refines if needed
 * (tristar_refinement). If the plan has an accuracy, it also refines solutions with a larger backward error.
 * Without refinement, NaN in b gives NaN in x; this is an error only if x is b. With refinement it is
 * NOT_FINITE. Errors: ARGUMENT, MEMORY, STALE, RUNTIME; NOT_FINITE (a column of x is beyond the range of
 * numbers; the other columns are solved). With refinement also ACCURACY: the backward error exceeds the
 * accuracy of the plan or eps^(1/3), or A is singular and the system has no solution; x is the best found. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                         const void *b, int64_t ldb, void *x, int64_t ldx);

/* ---- Refinement -------------------------------------------------------------------------------------- */

/* A point of the refinement history. An undone correction has a point; later points do not count it. */
typedef struct tristar_refine_point {
  int64_t column;        /* The right-hand side. */
  int steps;             /* Corrections so far. The first solve has 0 steps and 0 iterations. */
  int iterations;        /* Iterations of FGMRES so far. */
  double backward_error; /* Backward error of x after these corrections and iterations. */
} tristar_refine_point;

/* Options of tristar_solve_refined. FGMRES starts if max_steps and max_iterations are positive and the error
 * after the corrections exceeds both tolerance and 50 eps. */
typedef struct tristar_refine_options {
  size_t size;        /* Set by tristar_refine_options_init. */
  int max_steps;      /* Maximum number of corrections per right-hand side. 0: only compute the errors. */
  double tolerance;   /* Componentwise backward error to stop at. 0: 2 eps. */
  int max_iterations; /* Maximum number of iterations of FGMRES. 0: none. */
  int forward_error;  /* 1: estimate a bound of the forward error with 8 to 24 more solves, mostly 10. */
  tristar_refine_point *history; /* Receives the points of the history. NULL: none. */
  int64_t history_most;          /* Length of the array history. */
} tristar_refine_options;

/* Defaults: 5 steps, tolerance 0, 30 iterations, no bound of the forward error, no history. */
#define tristar_refine_options_init(options) tristar_refine_options_init_sized((options), sizeof *(options))

/* Why refinement ended. */
typedef enum tristar_stop {
  TRISTAR_STOP_CONVERGED, /* The backward error is within the tolerance. */
  TRISTAR_STOP_LIMIT,     /* max_steps or max_iterations was reached before convergence. */
  TRISTAR_STOP_STAGNATED  /* The backward error decreased no further. */
} tristar_stop;

/* Result of refinement. Each field but history_count is the worst value over the right-hand sides. */
typedef struct tristar_refine_result {
  double backward_error;         /* Componentwise backward error of x, see tristar_solve_refined. */
  double initial_backward_error; /* Componentwise backward error before the first correction. */
  int steps;                     /* Number of corrections. */
  int iterations;                /* Number of FGMRES iterations. */
  tristar_stop stop;             /* Why refinement ended. */
  double forward_error;          /* Estimated bound of max |x - A^-1 b| / max |x|. 0: not requested. */
  double residual;               /* max_i |r_i (b - A x)_i| / max_i |r_i b_i|; r_i scales row i. */
  int64_t history_count;         /* Number of points of the history. The first history_most are stored. */
} tristar_refine_result;

/* Solves as tristar_solve does without refinement, then refines in the precision of the matrix (Arioli,
 * Demmel, Duff 1989; Higham 2002, chapter 12). Corrections end when one reduces the backward error by less
 * than 10 %. FGMRES (Saad 1993) may continue with the factors as preconditioner (tristar_refine_options). The
 * best x is kept. x must not overlap b. result may be NULL.
 * The backward error is max_i |b - A x|_i / (|A| |x| + |b|)_i; tools/doc/guide/figures.md defines it for rows
 * whose denominator is as small as rounding errors. The estimate of the forward error (LAPACK's xGERFS;
 * Higham and Tisseur 2000) is seldom more than 3 times too small. If it is 1 or more, no digit of x is
 * certain. It is infinite if A is nearly singular. A large `residual` means that A is singular and the system
 * has no solution. `residual` is summed in the next wider precision if rounding errors may exceed sqrt(eps).
 * Errors: ARGUMENT, MEMORY, STALE, RUNTIME; UNSUPPORTED (A is not stored); NOT_FINITE (b or x; the message
 * names row and column). After NOT_FINITE *result describes the other columns, which are refined. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_refined(tristar_plan_t *plan, tristar_op op,
                                                                 int64_t nrhs, const void *b, int64_t ldb,
                                                                 void *x, int64_t ldx,
                                                                 const tristar_refine_options *options,
                                                                 tristar_refine_result *result);

/* Computes R = B - op(A) X in the next wider precision (single: double; double: long double), rounded once.
 * *backward_error: the largest componentwise backward error of a column of X, NaN if X has NaN. r may be b
 * (ldr == ldb) or NULL, backward_error NULL. Errors: ARGUMENT, MEMORY, STALE, UNSUPPORTED (A not stored). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_residual(const tristar_factor_t *factor, tristar_op op,
                                                            int64_t nrhs, const void *b, int64_t ldb,
                                                            const void *x, int64_t ldx, void *r, int64_t ldr,
                                                            double *backward_error);

/* Estimates 1 / (||A|| ||A^-1||) in the 1-norm of the scaled matrix (Hager 1984, Higham 1988) with 4 to 10
 * solves, refined for perturbed pivots and factors of lower precision. If the result is small, a better
 * scaling may replace it: an equilibration (Ruiz 2001; 4 to 10 more solves), or a scaling that suits A^-1
 * (Bauer 1963; 8 to 22 more). If it is small or pivots were perturbed, 2 to 4 more search for a null vector.
 * About eps or less: A is singular to working precision. 0: refined solves were inaccurate. Errors: as
 * tristar_solve_refined. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal);

#ifdef __cplusplus
}
#endif

#ifndef TRISTAR_NO_COMPAT
#include "tristar_compat.h" /* Names that tristar.h declared in version 0.2. */
#endif
#endif
