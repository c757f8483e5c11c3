/* TriStar: sparse triangular solves, again and again, with the same factors.
 *
 * The flow of a program:
 *
 *   tristar_create            a context: StarPU (borrowed if the program already runs it), log, messages
 *   tristar_analyze           pattern -> ordering, supernodes           once per pattern
 *   tristar_factor            values  -> factors                        once per set of values
 *   tristar_plan              factors -> a recorded DAG of tasks        once per way of solving
 *   tristar_solve             replays the plan: X = A^-1 B              again and again
 *   tristar_solve_start       the same, several solves at the same time
 *   tristar_solve_insert      the same, among the tasks of a StarPU program (tristar_starpu.h)
 *
 * Every later object keeps what it needs of the earlier ones alive: all objects, the context among them, may
 * be destroyed in any order, each once. The context ends with the last of its objects: then StarPU stops, if
 * nobody else needs it. Until then objects work as before, and the log is called.
 *
 * A process that fork() makes has copies of the objects of its parent, but none of the threads that they work
 * with. In the child functions that compute, read or write refuse such objects with ERR_UNSUPPORTED;
 * functions that copy figures or give borrowed arrays go on; destruction, and tristar_wait, set the pointer
 * to NULL and do no more. The child may create contexts of its own. The parent goes on as before.
 *
 * Every function that can fail returns a tristar_status; on failure output pointers are NULL and
 * tristar_get_error gives a message that names the cause and the place. A NULL where a function needs an
 * object or a place for a result is ERR_ARGUMENT; functions whose result need not be looked at
 * (tristar_plan_get_stats, for example) cannot fail otherwise. The library never ends the program and never
 * prints. Functions on different objects may be called from several threads at the same time, and so may
 * tristar_solve on one plan.
 *
 * User arrays are read (const) or written during the call only, unless stated otherwise; none is kept.
 */
#ifndef TRISTAR_H
#define TRISTAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TRISTAR_API __attribute__((visibility("default")))  /* a function of the shared library */
#define TRISTAR_CHECKED __attribute__((warn_unused_result)) /* its result must be looked at */
#else
#define TRISTAR_API
#define TRISTAR_CHECKED
#endif

#define TRISTAR_VERSION_MAJOR 0 /* of this header */
#define TRISTAR_VERSION_MINOR 2 /* the same one: programs need not be changed */
#define TRISTAR_VERSION_PATCH 0 /* repairs only */

/* ---- Status ------------------------------------------------------------------------------------------ */

/* What a function returns: OK, or why it failed. */
typedef enum tristar_status {
  TRISTAR_OK = 0,          /* done */
  TRISTAR_ERR_ARGUMENT,    /* an argument that no valid call has: NULL, negative size, ld too small */
  TRISTAR_ERR_MEMORY,      /* an allocation failed */
  TRISTAR_ERR_TOO_LARGE,   /* a size beyond what the types of the library hold */
  TRISTAR_ERR_IO,          /* a file cannot be opened, read or written */
  TRISTAR_ERR_FORMAT,      /* a file or array breaks its format: the message names file and line */
  TRISTAR_ERR_UNSUPPORTED, /* a valid request that this build or version does not serve */
  TRISTAR_ERR_RECTANGULAR, /* the matrix is not square */
  TRISTAR_ERR_SINGULAR,    /* structurally singular, or singular to working precision */
  TRISTAR_ERR_NOT_POSITIVE_DEFINITE, /* Cholesky met a pivot that is not positive */
  TRISTAR_ERR_NOT_FINITE,            /* NaN or infinity in the input or in the factors */
  TRISTAR_ERR_ACCURACY,              /* the accuracy asked for was not reached */
  TRISTAR_ERR_NO_WORKER,             /* StarPU has no worker able to run the tasks */
  TRISTAR_ERR_RUNTIME,               /* StarPU, METIS or another library failed; the message gives its code */
  TRISTAR_ERR_STALE,                 /* the factors changed in a way that the plan cannot follow */
  TRISTAR_ERR_INTERNAL,              /* a broken invariant: a defect of TriStar; please report the message */
  TRISTAR_ERR_BUSY                   /* as many solves as allowed are unfinished; see tristar_starpu.h */
} tristar_status;

/* The name of a status, such as "TRISTAR_ERR_FORMAT". Never NULL; the text is static. */
TRISTAR_API const char *tristar_status_name(tristar_status status);

/* The version of the library that runs, such as "0.2.0"; the text is static. */
TRISTAR_API const char *tristar_version(void);

/* The i-th environment variable (from 0) that TriStar looks at: its name, what is taken where it is not set
 * or empty, and its meaning, static texts. The pointers may be NULL. Returns 0 when there is no i-th. */
TRISTAR_API int tristar_get_variable(int i, const char **name, const char **fallback,
                                     const char **description);

/* ---- Context ----------------------------------------------------------------------------------------- */

/* A context: the workers, the log, and what later objects share. */
typedef struct tristar_s tristar_t;

/* How much a line of the log matters; a lower level matters more. */
typedef enum tristar_log_level {
  TRISTAR_LOG_ERROR = 0, /* why a call failed, a line for each failed call */
  TRISTAR_LOG_WARNING,   /* what may not be as intended */
  TRISTAR_LOG_INFO,      /* what was done, a line for each call that takes long */
  TRISTAR_LOG_PROGRESS,  /* many short lines during long work: "factor 42%" */
  TRISTAR_LOG_DEBUG      /* for those who work on the library */
} tristar_log_level;

/* Receives one line of text (no newline). May be called from any thread, also at the same time. */
typedef void (*tristar_log_fn)(void *arg, tristar_log_level level, const char *text);

/* What tristar_create needs to know. Fill it with tristar_config_init first. */
typedef struct tristar_config {
  int use_starpu;        /* 1: tasks on StarPU; 0: everything on the calling thread */
  int workers;           /* CPU workers if TriStar starts StarPU; 0: STARPU_NCPU, or all cores of the mask.
                            Also bounds the cores that help without tasks (helper_threads below) */
  int first_core;        /* workers are bound to cores first_core, first_core + 1, .. of the affinity mask, if
                            TriStar starts StarPU and STARPU_WORKERS_CPUID is not set; -1: to all of the mask */
  int first_device;      /* GPUs of the node that StarPU gets workers for, if TriStar starts it and their
                            numbers are not in STARPU_WORKERS_CUDAID (_HIPID): from this one on; -1: all, or
                            STARPU_NCUDA (_NHIP) of them */
  int devices;           /* so many, where first_device is not -1 */
  const char *scheduler; /* StarPU scheduler if TriStar starts StarPU; NULL: STARPU_SCHED, or lws */
  int check;             /* 1: verify every internal structure as it is built (also TRISTAR_CHECK=1) */
  tristar_log_fn log;    /* NULL: silent */
  void *log_arg;         /* handed to log */
  tristar_log_level log_level; /* lines above this level are not sent */
  int64_t fail_allocation;     /* for tests: the allocation (counted from 1) that fails; 0: none */
  const char *calibration;     /* file of the calibration, or "off"; NULL: TRISTAR_CALIBRATION, or the file of
                                  this machine, see tristar_calibration */
  int idle_sleep; /* idle workers, if TriStar starts StarPU: 1: sleep; 0: poll, which takes cores from
                     the rest of the program, but saves the time to wake up after a pause;
                     negative: by TRISTAR_IDLE (sleep or poll), or 1 */
} tristar_config;

/* Fills *config with the defaults: StarPU with all cores, silent. */
TRISTAR_API void tristar_config_init(tristar_config *config);

/* The i-th scheduler (from 0) of the StarPU that the program runs with: its name, as tristar_config and
 * STARPU_SCHED take it, and what StarPU says about it, static texts. The pointers may be NULL. Returns 0 when
 * there is no i-th. */
TRISTAR_API int tristar_get_scheduler(int i, const char **name, const char **description);

/* The StarPU that runs. */
typedef struct tristar_starpu_info {
  int version[3];        /* 1.3.10 */
  const char *scheduler; /* static text; "" if it does not run */
  int owned;             /* 1: started by TriStar, by this context or another */
  int idle_sleep;        /* 1: its idle workers sleep */
  double start_seconds;  /* that this context took to start it; about 0: it ran already */
  int workers;           /* of all kinds */
  int cpu_workers;       /* of them on CPU cores */
  int cores;             /* that the affinity mask of the calling thread has; 0: unknown */
  int bound_cores;       /* different ones that CPU workers are bound to; 0: they are not bound */
  int devices;           /* GPUs that plans can use, see tristar_place: a worker each */
  const char *driver;    /* static text: what reaches them, CUDA or HIP; "": this build has none */
  int max_workers;       /* CPU workers that this StarPU can have at most, as it was compiled: Debian's 4 */
  int helper_threads; /* Threads of TriStar on further cores, where max_workers left cores without a worker.
                         They help with work that needs no StarPU task. */
} tristar_starpu_info;

/* Creates a context. config may be NULL (defaults). A process may have any number of contexts, made and
 * destroyed by any threads, in any order.
 *
 * Unless use_starpu is 0, the first call that needs workers starts StarPU, or joins its users if it runs by
 * then, started by the program or by another context; then config->workers, config->scheduler,
 * config->first_core, config->first_device and config->idle_sleep have no effect (a warning goes to the log).
 * Before StarPU is started its surroundings are looked at: that call gives RUNTIME where StarPU would end the
 * program, as for STARPU_NCPU=abc, or a folder for its performance models that cannot be written; ARGUMENT
 * for a scheduler that it does not have; NO_WORKER. The last context to be destroyed stops it, unless the
 * program needs it. Where nothing has been submitted for about 2 ms the workers of a StarPU that TriStar has
 * started sleep (idle_sleep) until TriStar submits tasks, or until a thread of TriStar's sees, within about 1
 * ms, that the program has submitted some of its own. StarPU cannot be started in a process that fork() has
 * made while StarPU ran, whoever had started it: contexts do without it there, as with use_starpu 0, and a
 * warning goes to the log.
 *
 * Errors: ARGUMENT (also: another value of TRISTAR_IDLE or TRISTAR_ISA), UNSUPPORTED (this processor lacks
 * what the library was built for), MEMORY. The message of a failed creation goes to config->log, and to
 * tristar_get_error(NULL, ...). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_create(const tristar_config *config, tristar_t **ts);

/* Fills *info; starts StarPU if it does not run. The version is there even if that fails. Errors: ARGUMENT,
 * RUNTIME, NO_WORKER, UNSUPPORTED (use_starpu is 0). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_get_starpu(tristar_t *ts, tristar_starpu_info *info);
/* The i-th worker (from 0) of the StarPU that the context uses: its name, cut to size bytes, and the core
 * that it is bound to, as hwloc counts processing units, negative: none. Both may be NULL. Returns 0 when
 * there is no i-th, or no call has needed StarPU yet. */
TRISTAR_API int tristar_get_worker(tristar_t *ts, int i, char *name, size_t size, int *core);

/* Drops the context and sets *ts to NULL. It ends when its objects are destroyed, now if there are none; then
 * StarPU stops if nobody else needs it. The functions of this section are not to be called any more; those of
 * its objects are, and tristar_get_error(NULL, ...) gives their messages. Waits for the solves that were
 * inserted (tristar_starpu.h) or started with an `end`, and so does the destruction of a plan from then on.
 * Inside a StarPU task nothing can be waited for: a thread of its own does that. Accepts NULL. */
TRISTAR_API void tristar_destroy(tristar_t **ts);

/* Copies the message of the calling thread's latest error into buffer (size bytes, always terminated) and
 * returns the length of the full message: of the latest failed call with an object of this context, or with
 * NULL in the place of an object; ts NULL: of the latest failed call whatever, such as tristar_create. "" if
 * none of them failed yet. A failure in a task of a solve or a factorization becomes an error of the thread
 * whose call returns its status. Each failed call also sends its message to the log (TRISTAR_LOG_ERROR). */
TRISTAR_API size_t tristar_get_error(tristar_t *ts, char *buffer, size_t size);

/* Memory that a context and its objects hold. Not counted: what other libraries allocate for them, that is
 * StarPU (1 to 2 KB for each task of a plan, or of a factorization while it runs), METIS (while it orders),
 * MPI, and the buffers of BLAS. */
typedef struct tristar_memory_stats {
  size_t current_bytes; /* allocated now through this context */
  size_t peak_bytes;    /* the largest value so far */
  int64_t allocations;  /* calls so far */
} tristar_memory_stats;
/* Tells the memory of the context and of all objects made in it. */
TRISTAR_API tristar_status tristar_get_memory(tristar_t *ts, tristar_memory_stats *stats);

/* ---- Calibration ------------------------------------------------------------------------------------- */

/* Where the figures of a calibration are from. */
typedef enum tristar_calibration_source {
  TRISTAR_CALIBRATION_DEFAULTS, /* figures of a common machine: there is no file, or it is off or broken */
  TRISTAR_CALIBRATION_FILE,     /* read by tristar_create */
  TRISTAR_CALIBRATION_MEASURED  /* by tristar_calibrate of this context */
} tristar_calibration_source;

/* What the library knows about the machine. Plans take the granularity of their tasks from it. The library
 * never measures on its own account, so that chunks, and with them the bits of results, change only when
 * tristar_calibrate is called or a file is replaced.
 *
 * The file of a machine is STARPU_DIR/tristar/HOST.calibration, where StarPU keeps its performance models:
 * STARPU_DIR is .starpu in XDG_CACHE_HOME, STARPU_HOME or HOME, the first of these that is set (as in StarPU
 * 1.3 and 1.4), HOST is STARPU_HOSTNAME or the name of the host up to its first dot. It is text, a key and
 * a whole number in each line. */
typedef struct tristar_calibration {
  tristar_calibration_source source; /* where the figures are from */
  char path[512];                    /* the file that was read, or that tristar_calibrate writes; "": off */
  double task_microseconds; /* of one StarPU task without data, recorded: submitted and run, many at once */
  double barrier_microseconds; /* from one level of `workers` such tasks to the next; 0: not measured */
  double read_gbps_one;        /* 1e9 bytes per second that one core reads from memory */
  double read_gbps_all;        /* that `workers` cores read together; 0: not measured */
  int workers;                 /* CPU workers of StarPU at that time; 0: not measured */
  /* from hwloc; 0: unknown */
  int cores, numa_nodes; /* of this machine */
  int64_t l2_bytes;      /* of a core */
  int64_t l3_bytes;      /* of one L3 */
  int l3_cores;          /* that share it */
  /* Derived: no chunk is to be lighter, where the tree allows. What one core reads while 16 tasks pass, as
   * 0.1 MB times a power of two from 1 to 32, so that close measurements give the same chunks. The defaults
   * give 0.4 MB. */
  double floor_bytes;
} tristar_calibration;

/* Measures this machine, writes the file, and uses the figures for plans that are made from now on. *out, if
 * not NULL, gets them. Takes one to five seconds, 256 MB, and all cores: other work spoils the figures, and
 * so do StarPU's polling workers if they run already, so it is best called before anything else. It measures
 * again if measurements differ or other processes use the cores, and warns the log if that did not help. With
 * calibration "off" nothing is written. Errors: UNSUPPORTED (a context without StarPU, or a call from inside
 * a StarPU task), IO (the message names the path; the context keeps its figures), MEMORY, RUNTIME, NO_WORKER.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_calibrate(tristar_t *ts, tristar_calibration *out);

/* What is in use, and where it is from. Errors: ARGUMENT; MEMORY and RUNTIME (hwloc). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_get_calibration(tristar_t *ts,
                                                                   tristar_calibration *calibration);

/* ---- Matrices ---------------------------------------------------------------------------------------- */

/* The type of the entries of a matrix. Complex ones: real part, then imaginary part. */
typedef enum tristar_scalar {
  TRISTAR_SINGLE = 's',         /* float */
  TRISTAR_DOUBLE = 'd',         /* double */
  TRISTAR_COMPLEX_SINGLE = 'c', /* float complex */
  TRISTAR_COMPLEX_DOUBLE = 'z'  /* double complex */
} tristar_scalar;

/* The direction in which the entries of a matrix are stored. */
typedef enum tristar_format {
  TRISTAR_CSC, /* compressed columns */
  TRISTAR_CSR  /* compressed rows */
} tristar_format;

/* What the stored entries stand for. For all but GENERAL each off-diagonal pair is stored once, in either
 * triangle: an entry (i,j) also stands for (j,i). Where both are stored the matrix is refused (FORMAT), as it
 * is not known whether their sum is meant. */
typedef enum tristar_symmetry {
  TRISTAR_GENERAL,        /* all entries are stored */
  TRISTAR_SYMMETRIC,      /* a_ji =  a_ij */
  TRISTAR_SKEW_SYMMETRIC, /* a_ji = -a_ij, zero diagonal */
  TRISTAR_HERMITIAN       /* a_ji = conj(a_ij), real diagonal */
} tristar_symmetry;

/* A sparse matrix in arrays of the caller, which the library only reads.
 * The entries of column j (CSC) or row j (CSR) are ptr[j]-base .. ptr[j+1]-base-1 of index and values.
 * Any order inside a column; duplicates are summed, in their order, before anything looks at the values. */
typedef struct tristar_view {
  tristar_format format;     /* by columns or by rows */
  tristar_symmetry symmetry; /* what the entries stand for */
  tristar_scalar scalar;     /* type of the values, also where there are none */
  int64_t rows, cols;        /* number of rows, number of columns */
  const void *ptr;           /* cols+1 (CSC) or rows+1 (CSR) integers of ptr_bits bits */
  const void *index;         /* row (CSC) or column (CSR) numbers, integers of index_bits bits */
  const void *values;        /* of type `scalar`, same order as index; NULL: the pattern alone */
  int ptr_bits;              /* 32 or 64 */
  int index_bits;            /* 32 or 64 */
  int base;                  /* 0 or 1: the number of the first row, column and entry */
} tristar_view;

/* A matrix that the library owns: from a file or a generator. */
typedef struct tristar_matrix_s tristar_matrix_t;

/* Reads a Matrix Market file (coordinate or array; real, integer, pattern, complex; general, symmetric,
 * skew-symmetric, hermitian) or a Harwell-Boeing / Rutherford-Boeing file (assembled; R, C, I or P; U, S, Z,
 * H or R), plain or gzip-compressed; "-" as path: from standard input. The kind of file is found from its
 * content. Entries of one place are summed. A file of a symmetric kind stores one triangle, either of them;
 * if it has both (i, j) and (j, i), that is an error. Of an array file the nonzero values and the diagonal
 * are kept. A pattern file has no values. "gen:KIND:K" as path generates instead (tristar_matrix_generate).
 * Errors: IO, FORMAT (message: file:line: cause), TOO_LARGE, NOT_FINITE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_read(tristar_t *ts, const char *path,
                                                               tristar_matrix_t **matrix);

/* Writes a Matrix Market coordinate file that tristar_matrix_read reads back to the same bits;
 * gzip-compressed if path ends in ".gz"; "-": to standard output. comment (may be NULL) becomes the comment
 * lines of the header. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_write(tristar_t *ts, const char *path,
                                                                const tristar_view *view,
                                                                const char *comment);

/* Generates the model problem `kind` of size k (see tristar_get_generator); the same bits on every machine.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_generate(tristar_t *ts, const char *kind, int64_t k,
                                                                   tristar_matrix_t **matrix);

/* The graph Laplacian of the pattern of view, plus the identity: symmetric, positive definite, double. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_matrix_laplacian(tristar_t *ts, const tristar_view *view,
                                                                    tristar_matrix_t **matrix);

/* The arrays of the matrix; they live until the matrix is destroyed. CSC, base 0, 64-bit ptr, 32-bit index,
 * rows ascending inside a column, no duplicates. */
TRISTAR_API tristar_status tristar_matrix_get_view(const tristar_matrix_t *matrix, tristar_view *view);

/* Frees the matrix and sets *matrix to NULL. Accepts NULL. */
TRISTAR_API void tristar_matrix_destroy(tristar_matrix_t **matrix);

/* The i-th generator (from 0): its name, and a line that says what it discretizes and what k means.
 * Returns 0 when there is no i-th. */
TRISTAR_API int tristar_get_generator(int i, const char **name, const char **description);

/* A dense matrix in column-major order, such as right-hand sides. */
typedef struct tristar_dense {
  int64_t rows, cols;    /* number of rows, number of columns */
  tristar_scalar scalar; /* type of the values */
  void *values;          /* rows * cols; owned, freed by tristar_dense_destroy */
} tristar_dense;

/* Reads a Matrix Market array or coordinate file, or plain text, as a dense matrix; compressed or not; "-":
 * from standard input. In plain text each line is a row, its numbers separated by blanks; # and % begin
 * comments, but % is not the first character of the file. Errors: as tristar_matrix_read. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dense_read(tristar_t *ts, const char *path,
                                                              tristar_dense *dense);
/* Writes a Matrix Market array file (.gz compresses); "-": to standard output. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_dense_write(tristar_t *ts, const char *path,
                                                               const tristar_dense *dense,
                                                               const char *comment);
/* Frees the values and sets all of *dense to zero. ts is not read: it may be NULL. */
TRISTAR_API void tristar_dense_destroy(tristar_t *ts, tristar_dense *dense);

/* ---- Analysis ---------------------------------------------------------------------------------------- */

/* What is known of a matrix from its pattern: order of elimination, supernodes, structure of the factors. */
typedef struct tristar_analysis_s tristar_analysis_t;

/* The factorization. */
typedef enum tristar_method {
  TRISTAR_METHOD_AUTO, /* symmetric or Hermitian values: LLT with a positive diagonal, else LDLT; else LU. A
                          GENERAL matrix counts as symmetric if a_ij and a_ji differ by 16 units of roundoff
                          of sqrt(|a_ii a_jj|) (and eps^0.75 of a_ii and a_jj), or of themselves, at most, as
                          an assembly leaves them. One of each pair is factored; refinement takes the matrix
                          as it is given */
  TRISTAR_METHOD_LLT,  /* A = L L^T; complex Hermitian: A = L L^H */
  TRISTAR_METHOD_LU,   /* A = L U on the pattern of A + A^T */
  TRISTAR_METHOD_LDLT  /* A = L D L^T (real and complex symmetric), L D L^H (Hermitian); pivots of order 1 and
                          2 */
} tristar_method;

/* The order of elimination. */
typedef enum tristar_ordering {
  TRISTAR_ORDERING_METIS,   /* nested dissection, METIS_NodeND, of each connected component; of those with up
                               to 64 rows minimum degree */
  TRISTAR_ORDERING_NATURAL, /* as given (then postordered) */
  TRISTAR_ORDERING_USER,    /* options.permutation */
  TRISTAR_ORDERING_PTSCOTCH /* nested dissection by PT-Scotch on all ranks that have rows of the matrix:
                               tristar_dmatrix_factor alone; UNSUPPORTED elsewhere */
} tristar_ordering;

/* Whether large entries are brought to the diagonal before the factorization. */
typedef enum tristar_matching {
  TRISTAR_MATCHING_AUTO, /* before LU and LDLT, where the diagonal has zeros or small entries */
  TRISTAR_MATCHING_OFF,  /* never */
  TRISTAR_MATCHING_ON    /* LU: permute large entries to the diagonal and scale them to one; LDLT: keep large
                            pairs together */
} tristar_matching;

/* What the factorization makes of the diagonal block D of each panel of a triangular factor and of the block
 * G of the rows below it (Yamazaki, Rajamanickam and Ellingwood, Performance portable supernode-based sparse
 * triangular solver for manycore architectures, ICPP 2020). The factors take the same memory, solves read
 * the same bytes. Where D is badly conditioned, solves lose accuracy, least with NONE and most with OFF,
 * which refinement restores. */
typedef enum tristar_inverse {
  TRISTAR_INVERSE_DIAGONAL,   /* D^-1: a solve consists of products */
  TRISTAR_INVERSE_NONE,       /* D, with the reciprocals of its diagonal entries: substitution with D */
  TRISTAR_INVERSE_PARTITIONED /* D^-1 and G D^-1, a partitioned inverse: products that do not wait for each
                         other; costs w^2 m operations more in the factorization of an m x w block G */
} tristar_inverse;

/* Which supernodes are merged, as Yamazaki, Rajamanickam and Ellingwood (ICPP 2020) vary it. */
typedef enum tristar_merge {
  TRISTAR_MERGE_RELAXED,     /* also such of slightly different structure, zeros are stored; the default */
  TRISTAR_MERGE_FUNDAMENTAL, /* columns of the same structure only */
  TRISTAR_MERGE_NONE         /* the same, cut into panels of at most 8 columns, which also bounds where LU and
                                LDLT may exchange pivots */
} tristar_merge;

/* What becomes of a matrix that is singular to working precision. Two tests find it:
 *
 *   - Cancellation leaves nothing but rounding errors of a row (at most 4 eps times the largest entry of the
 *     column, as scaled), and no other row is left to pivot with; with L L^T anywhere. Before LU refuses a
 *     matrix it is factored once more without interchanges, in case they and the scaling did not suit it.
 *   - A pivot was perturbed, or one is below 4096 eps times the largest entry of its column, or of the
 *     growth (tristar_factor_stats), and an estimate of 1 / condition (tristar_condition) is below n eps and
 *     eps^0.95, or, if pivots were perturbed, below eps^0.85: 1e-15 and 5e-14, in single precision 3e-7 and
 *     1e-6. Such pivots cost the factorization 4 to 10 solves more, refined ones if pivots were perturbed.
 *
 * eps is that of the matrix; of single factors of a double matrix it is that of single precision in the
 * choice of suspicious pivots, and the solves of the estimate are refined. */
typedef enum tristar_singular {
  TRISTAR_SINGULAR_REFUSE, /* tristar_factor gives SINGULAR and names a row; the default */
  TRISTAR_SINGULAR_PERTURB /* LU and LDLT perturb small pivots, count them, and factor the matrix: for inverse
                              iteration with a shift, and for consistent systems, such as Neumann problems.
                              A warning in the log and tristar_factor_stats report what was found. A matrix
                              that is structurally singular is refused all the same */
} tristar_singular;

/* What tristar_factor and tristar_refactor do where solves lose digits because pivots have grown: a trial
 * solve that is not refined has a backward error above eps^(2/3). A trial is made where pivots were perturbed
 * or are 1000 times as large as the entries of the scaled matrix. The usual cause are values that the
 * matching of the analysis does not suit, as it was found for others. */
typedef enum tristar_growth {
  TRISTAR_GROWTH_WARN, /* a warning in the log, and solve_error in tristar_factor_stats; refined solves repair
                          most of it; the default */
  TRISTAR_GROWTH_MATCH /* tristar_factor analyzes anew, for these values; tristar_refactor gives STALE, as
                          plans rely on the analysis: call tristar_analyze with the new values */
} tristar_growth;

/* What is worked on where, on machines with GPUs that StarPU has workers for (devices): the subtrees of a
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
 * Matrices on many processes (tristar_dmatrix_mpi.h) are factored on the cores, whatever is asked for. */
typedef enum tristar_place {
  TRISTAR_PLACE_CPU,  /* all on the cores: the default, as no real device has run the kernels yet */
  TRISTAR_PLACE_AUTO, /* on devices what is predicted to be faster there; all on the cores where there is no
                         device, where that cannot be on one, or where devices fail */
  TRISTAR_PLACE_GPU   /* on devices as much as they have room for, faster or not; an error where there is no
                         device, or where a plan cannot have subtrees on one */
} tristar_place;

/* What tristar_analyze needs to know. Fill it with tristar_analysis_options_init first. */
typedef struct tristar_analysis_options {
  tristar_method method;     /* the factorization */
  tristar_ordering ordering; /* the order of elimination */
  const int64_t
      *permutation; /* ORDERING_USER: permutation[k] is the row eliminated as k-th (base 0); n entries. With
                       METHOD_LDLT and a matching, the rows of a pair both go where the first of them is */
  int leaf_parts; /* 0 or 1: plain; 2, 4, 8, ...: top separator tree with that many leaves, which METIS makes,
                     and which is cut from the elimination tree of any other order */
  int seed;       /* of METIS and PT-Scotch */
  tristar_matching matching; /* needs values in the view */
  int single_factors; /* 1: factors and solves in single precision for a double matrix; b, x and refinement
                         stay double. Without refinement what is beyond the range of single precision in b or
                         x becomes infinite, or zero */
  tristar_inverse
      inverse;         /* of tristar_factor and tristar_refactor; imported factors have INVERSE_DIAGONAL */
  tristar_merge merge; /* which supernodes are merged */
  tristar_singular singular; /* of tristar_factor and tristar_refactor. Single factors of a double matrix
                                perturb pivots, and the estimate of the condition alone decides */
  tristar_growth growth;     /* of tristar_factor and tristar_refactor */
  tristar_place place; /* which large fronts of tristar_factor and tristar_refactor are factored on devices */
  int64_t device_bytes; /* most bytes that a front may take on a device, larger ones stay with the cores; 0:
                           nine tenths of its memory, if that is known */
} tristar_analysis_options;

/* METHOD_AUTO, ORDERING_METIS, MATCHING_AUTO, INVERSE_DIAGONAL, MERGE_RELAXED, SINGULAR_REFUSE, GROWTH_WARN,
 * PLACE_CPU, seed 1, all else 0. */
TRISTAR_API void tristar_analysis_options_init(tristar_analysis_options *options);

/* Orders the matrix, finds its supernodes, prepares the factorization. Reads the pattern of view; reads
 * values, if there are any, to resolve METHOD_AUTO and to match (Duff and Koster 2001). options may be NULL.
 * Errors: ARGUMENT, RECTANGULAR, FORMAT (row out of range: message names column and entry), SINGULAR
 * (structurally; the message gives the structural rank), NOT_FINITE, TOO_LARGE,
 * MEMORY, RUNTIME (METIS), UNSUPPORTED (ORDERING_PTSCOTCH). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_analyze(tristar_t *ts, const tristar_view *view,
                                                           const tristar_analysis_options *options,
                                                           tristar_analysis_t **analysis);

/* Figures of an analysis. */
typedef struct tristar_analysis_stats {
  int64_t n;               /* order of the matrix */
  int64_t nnz;             /* of the matrix in full: both triangles of symmetric storage, duplicates merged */
  int symmetric_pattern;   /* 1: the pattern is symmetric */
  int64_t missing_mirrors; /* entries (i, j), i != j, of a GENERAL matrix that has no entry (j, i) */
  int rounded; /* 1: a GENERAL matrix is factored as a symmetric or Hermitian one, though entries (i, j) and
                  (j, i) differ by rounding errors; by the values of tristar_analyze */
  tristar_method method; /* LLT, LDLT or LU: what METHOD_AUTO has become */
  int matched;       /* 1: a matching permuted the rows (LU) or paired pivots (LDLT), and gave the scaling */
  int64_t pairs;     /* LDLT: pivots of order 2 that the ordering keeps together */
  int64_t nnz_lower; /* exact entries of L, diagonal included, no padding */
  int64_t stored_lower;            /* entries of L as stored, relaxed merging included */
  double flops;                    /* of the factorization (exact structure) */
  int64_t supernodes;              /* after merging */
  int64_t panels;                  /* supernodes, wide ones cut into several */
  int64_t widest_supernode;        /* columns */
  int64_t tree_height;             /* supernodes on the longest path to a root */
  int64_t elimination_tree_height; /* columns on the longest path to a root */
  double analyze_seconds;          /* of tristar_analyze */
} tristar_analysis_stats;
/* Tells the figures of an analysis. */
TRISTAR_API tristar_status tristar_analysis_get_stats(const tristar_analysis_t *analysis,
                                                      tristar_analysis_stats *stats);

/* The assembly tree of supernodes, as arrays that live as long as the analysis (for pictures and reports). */
typedef struct tristar_assembly_tree {
  int64_t supernodes;          /* how many there are */
  const int32_t *first_column; /* supernodes + 1, in the final ordering */
  const int32_t *parent;       /* supernodes; -1: a root */
  const int64_t *rows;         /* supernodes + 1: rows[s+1] - rows[s] off-diagonal rows of supernode s */
} tristar_assembly_tree;
/* Gives the assembly tree; the arrays are borrowed from the analysis. */
TRISTAR_API tristar_status tristar_analysis_get_assembly_tree(const tristar_analysis_t *analysis,
                                                              tristar_assembly_tree *tree);

/* Frees the analysis and sets *analysis to NULL; its factors go on. Accepts NULL. */
TRISTAR_API void tristar_analysis_destroy(tristar_analysis_t **analysis);

/* ---- Factorization ----------------------------------------------------------------------------------- */

/* The factors of a matrix, computed here or imported. */
typedef struct tristar_factor_s tristar_factor_t;

/* Factors the matrix whose pattern was analyzed. values: as many and in the same order as in the view of
 * tristar_analyze; they are copied (refinement needs them). LU and LDLT perturb tiny pivots and count them; a
 * matrix that is singular to working precision is refused (tristar_singular); what happens where pivots grow
 * is an option (tristar_growth). Every set of values is compared
 * with what the method of the analysis assumes: L L^T and L D L^T need the values of a GENERAL matrix to be
 * symmetric, or Hermitian as those of the analysis were. Where they are not, METHOD_AUTO analyzes anew for
 * the method that they call for, as it goes on with L D L^T after a pivot that is not positive; a method that
 * was asked for gives ARGUMENT. Errors: ARGUMENT, NOT_FINITE, NOT_POSITIVE_DEFINITE (METHOD_LLT; the message
 * names the row), SINGULAR, MEMORY, RUNTIME; of the estimate of the condition also NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_factor(tristar_analysis_t *analysis, const void *values,
                                                          tristar_factor_t **factor);

/* New values, same pattern. Plans of this factor solve with the new values from their next solve on. Not to
 * be called while a solve with this factor runs or is in flight. After a failure the factor holds no values;
 * solves give ERR_STALE until a later refactor succeeds. The method stays, as plans rely on it: what
 * METHOD_AUTO would do in tristar_factor is an error here, ARGUMENT (values that are not symmetric) or
 * NOT_POSITIVE_DEFINITE, whose message says so. So does the matching of the analysis: where it does not suit
 * the new values, pivots can grow, and plain solves lose digits. By default a warning in the log says so
 * (TRISTAR_GROWTH_WARN), and refined solves are accurate in most cases. Errors: as tristar_factor; STALE
 * (TRISTAR_GROWTH_MATCH). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_refactor(tristar_factor_t *factor, const void *values);

/* Figures of a factor. */
typedef struct tristar_factor_stats {
  int64_t perturbed_pivots; /* pivots too small to divide by, replaced by larger ones */
  /* The smallest and the largest pivot in absolute value, of the scaled matrix and before any was perturbed:
   * entries of D, of the diagonal of U (LU), or squares of those of L (LLT); of a pivot of order 2 the square
   * root of its determinant. 0: imported. */
  double smallest_pivot;
  double largest_pivot;  /* see smallest_pivot */
  int64_t nnz_factor;    /* exact entries: L (LLT, LDLT), L + U without the unit diagonal (LU) */
  int64_t stored_factor; /* entries stored */
  size_t factor_bytes;   /* of the factors as stored */
  size_t peak_bytes;     /* largest memory of the factorization, the factors included; as counted by
                            tristar_get_memory */
  double factor_seconds; /* of the latest factorization, or import, without start_seconds */
  double start_seconds;  /* that StarPU took to start, if that call was the first of its context to need it */
  /* Of the latest factorization (tristar_analysis_options.place): */
  int64_t device_fronts;       /* that devices have factored */
  int64_t device_unfit_fronts; /* large ones that devices have no memory for */
  double device_flops;         /* of those fronts, as they are stored, relaxed merging included */
  double device_bus_bytes;     /* that crossed the buses of devices for them, both ways, by the own count */
  double growth; /* The largest ratio of a pivot to the largest entry of its column, as scaled; LLT: to the
                    diagonal entry. 0: imported. */
  /* What was found out where pivots were suspicious (tristar_singular, tristar_growth). */
  int judged;                  /* 1: solve_error is set */
  double solve_error;          /* Backward error of a trial solve that is not refined; infinite: none. */
  double reciprocal_condition; /* What tristar_condition estimates; -1: not estimated. */
  int singular;                /* 1: the matrix is singular to working precision by that estimate. */
} tristar_factor_stats;
/* Tells the figures of a factor. */
TRISTAR_API tristar_status tristar_factor_get_stats(const tristar_factor_t *factor,
                                                    tristar_factor_stats *stats);

/* Where A went: row_scale[r] A(r, c) column_scale[c] = (L D U)(k, l) with r = row_order[k], c =
 * column_order[l]. Each array has n entries or is NULL. For imported factors this is what was given. */
TRISTAR_API tristar_status tristar_factor_get_order(const tristar_factor_t *factor, int64_t *row_order,
                                                    int64_t *column_order, double *row_scale,
                                                    double *column_scale);

/* The analysis that the factor was made with, borrowed: it lives as long as the factor. Not the one given to
 * tristar_factor if METHOD_AUTO went on from Cholesky to L D L^T. */
TRISTAR_API const tristar_analysis_t *tristar_factor_get_analysis(const tristar_factor_t *factor);

/* Frees the factor and sets *factor to NULL; its plans go on. Accepts NULL. */
TRISTAR_API void tristar_factor_destroy(tristar_factor_t **factor);

/* ---- Factors from elsewhere --------------------------------------------------------------------------- */

/* How a triangular matrix is stored. */
typedef enum tristar_triangle_format {
  TRISTAR_TRIANGLE_COLUMNS,   /* compressed columns */
  TRISTAR_TRIANGLE_ROWS,      /* compressed rows */
  TRISTAR_TRIANGLE_SUPERNODES /* dense blocks of columns that share their rows */
} tristar_triangle_format;

/* A triangular matrix of order n in arrays of the caller, which are only read; numbers count from 0. Its
 * place in tristar_factors says whether it is a lower or an upper one; an entry in the other triangle is an
 * error.
 *
 * COLUMNS, ROWS: line j has the entries ptr[j] .. end[j] - 1 of index and values, in any order; values summed
 * where an index repeats.
 *
 * SUPERNODES (lower triangles only): supernode s holds columns first[s] .. first[s+1] - 1. Its rows are
 * index[ptr[s]] .. index[ptr[s+1] - 1]: first its own columns, ascending, then the rows below in any order.
 * blocks[s] is its dense block, column-major, its leading dimension the number of its rows. What stands above
 * the diagonal is not read. */
typedef struct tristar_triangle {
  tristar_triangle_format format; /* which of the following fields are used */
  int unit_diagonal;        /* 1: ones on the diagonal; what is stored there is not read and may be missing */
  int ptr_bits, index_bits; /* 32 or 64 */
  const void *ptr;          /* n + 1 (supernodes + 1) integers of ptr_bits */
  const void *end;    /* COLUMNS, ROWS: n integers of ptr_bits; NULL: a line ends where the next begins */
  const void *index;  /* integers of index_bits */
  const void *values; /* COLUMNS, ROWS */
  int64_t supernodes; /* SUPERNODES */
  const void *first;  /* SUPERNODES: supernodes + 1 integers of index_bits, 0 first and n last */
  const void *const *blocks; /* SUPERNODES: supernodes pointers */
} tristar_triangle;

/* The factors of a matrix A, made by any solver, in arrays of the caller, which are only read:
 *
 *   row_scale[r] A(r, c) column_scale[c] = (L D U)(k, l)      r = row_order[k], c = column_order[l]
 *
 *   METHOD_LLT   D = I, U = L^T, or L^H if hermitian
 *   METHOD_LDLT  U = L^T, or L^H if hermitian; D diagonal
 *   METHOD_LU    D = I; L and U need not have related structures (partial pivoting) */
typedef struct tristar_factors {
  int64_t n;                               /* order of A */
  tristar_scalar scalar;                   /* type of all values */
  tristar_method method;                   /* LLT, LDLT or LU */
  int hermitian;                           /* complex LLT and LDLT */
  tristar_triangle lower;                  /* L */
  tristar_triangle upper;                  /* U, METHOD_LU only */
  const void *diagonal;                    /* METHOD_LDLT: the n diagonal entries of D, scalars */
  const int64_t *row_order, *column_order; /* n; NULL: 0, 1, 2, ... */
  const double *row_scale, *column_scale;  /* n, by row and column of A; NULL: ones */
  const tristar_view *matrix; /* A, for refinement and condition estimates; NULL: these are not available */
} tristar_factors;

/* Sets all of *factors to zero, NULL and METHOD_LU. */
TRISTAR_API void tristar_factors_init(tristar_factors *factors);

/* Makes a factor of the library from factors that another solver computed. The values are copied (packed,
 * with diagonal blocks inverted), nothing of the caller is kept. Columns of like structure become supernodes,
 * whatever the format; L and U keep their own structures. The factor serves plans and solves like one of
 * tristar_factor; tristar_refactor gives UNSUPPORTED. Errors: ARGUMENT, FORMAT (an index out of its triangle,
 * an order that is no permutation: the message names the place), SINGULAR (a zero or missing diagonal entry),
 * NOT_FINITE (NaN or infinity; or the inverse of a diagonal block is out of the type's range: values are not
 * scaled), TOO_LARGE, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_supernodal(tristar_t *ts,
                                                                     const tristar_factors *factors,
                                                                     tristar_factor_t **factor);

/* New values in the same structure: plans of this factor solve with them from their next solve on, as after
 * tristar_refactor. Errors: as above, and STALE: an entry that is not zero lies outside the structure
 * imported first; the factor then holds no values. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_reimport(tristar_factor_t *factor,
                                                            const tristar_factors *factors);

/* Which triangle of a view is meant. */
typedef enum tristar_uplo {
  TRISTAR_LOWER = 'L', /* on and below the diagonal */
  TRISTAR_UPPER = 'U'  /* on and above it */
} tristar_uplo;

/* Whether the diagonal of a triangle is one. */
typedef enum tristar_diag {
  TRISTAR_UNIT = 'U',    /* ones, whatever is stored */
  TRISTAR_NON_UNIT = 'N' /* as stored */
} tristar_diag;

/* How a triangular matrix is divided into chunks. LEVELS, SUPERSTEPS and WHOLE go by rows: each row is summed
 * from the entry farthest from the diagonal on, so that they give the same bits. SUPERNODES multiply by
 * inverted diagonal blocks, and COLUMN, ROW and RECURSIVE (the block algorithms of Lu, Niu, Liu 2020) sum a
 * row part by part: each of these has bits of its own. Where only some rows of b are given, or of x wanted
 * (b_row, x_row), the last three go by rows, too. With none of them the bits depend on workers or engine. */
typedef enum tristar_partition {
  TRISTAR_PARTITION_AUTO, /* SUPERNODES, if 7 of 10 columns continue the one before; else WHOLE, if level sets
                             have few rows or if, on one core, the given order is faster; else SUPERSTEPS */
  TRISTAR_PARTITION_SUPERNODES, /* columns of like structure, as dense panels: factors of direct solvers */
  TRISTAR_PARTITION_LEVELS, /* row by row, by level sets: rows that do not wait for each other (Anderson and
                               Saad 1989), each shared by the cores; narrow ones come together */
  TRISTAR_PARTITION_SUPERSTEPS, /* row by row, several level sets at a time, in which cores wait for each
                                   other as seldom as the matrix lets them; for one core: window by window of
                                   the given order, in which rows that do not wait for each other follow */
  TRISTAR_PARTITION_WHOLE,      /* row by row, all in one chunk: nothing runs at the same time */
  TRISTAR_PARTITION_COLUMN,     /* triangles on the diagonal, and below each a rectangle with its columns */
  TRISTAR_PARTITION_ROW,        /* the same with rectangles of rows, each left of a triangle */
  TRISTAR_PARTITION_RECURSIVE   /* the same with the lower left quarter as a rectangle, halves cut likewise */
} tristar_partition;

/* What tristar_import_triangle needs to know. Fill it with tristar_triangle_options_init first.
 *
 * T, the triangle, need not be the matrix A that is solved with. As in tristar_factors
 *
 *   row_scale[r] A(r, c) column_scale[c] = T(k, l)      r = row_order[k], c = column_order[l]
 *
 * so that, of A x = b, rows of b are scaled and permuted before the solve with T, and what comes out is
 * permuted to x and scaled. The arrays are copied. */
typedef struct tristar_triangle_options {
  tristar_uplo uplo;                       /* which triangle of the view; default LOWER */
  tristar_diag diag;                       /* whether its diagonal is one; default NON_UNIT */
  tristar_partition partition;             /* how plans divide it; default AUTO */
  const int64_t *row_order, *column_order; /* n; NULL: 0, 1, 2, ... */
  const double *row_scale, *column_scale;  /* n, by row and column of A, none of them 0; NULL: ones */
  int permuted; /* 0: the view has T(k, l) as its entry (k, l); 1: as its entry (row_order[k],
                   column_order[l]), and is GENERAL; as tristar_find_triangle finds it */
} tristar_triangle_options;

/* Sets the defaults. */
TRISTAR_API void tristar_triangle_options_init(tristar_triangle_options *options);

/* A triangular matrix T as a factor on its own: solves with T, T^T and T^H, or, where the options scale or
 * permute, with A, A^T and A^H. Entries of view in the other triangle, and with UNIT those on the diagonal,
 * are not read; a view that is symmetric, skew-symmetric or Hermitian has both triangles, whichever it
 * stores. Refinement works; its matrix is T, or A, whose entries are rounded if scales are no powers of two.
 * Errors: as tristar_import_supernodal; UNSUPPORTED: a permuted view that is not GENERAL. options NULL: the
 * defaults. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_triangle(tristar_t *ts, const tristar_view *view,
                                                                   const tristar_triangle_options *options,
                                                                   tristar_factor_t **factor);
/* The same with TRISTAR_PARTITION_AUTO. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_import_csr(tristar_t *ts, const tristar_view *view,
                                                              tristar_uplo uplo, tristar_diag diag,
                                                              tristar_factor_t **factor);

/* What tristar_find_triangle finds. */
typedef enum tristar_shape {
  TRISTAR_SHAPE_OTHER,   /* no orders of rows and columns make it triangular, or it is singular */
  TRISTAR_SHAPE_LOWER,   /* lower triangular as it stands; also if it is diagonal */
  TRISTAR_SHAPE_UPPER,   /* upper triangular as it stands */
  TRISTAR_SHAPE_PERMUTED /* lower triangular once rows and columns are permuted */
} tristar_shape;

/* Is a matrix triangular, if need be after a permutation of its rows and one of its columns? All entries that
 * are stored count, zeros too; but the diagonal must be stored, and have no zeros if view has values. Then
 * entry (row_order[k], column_order[l]) is entry (k, l) of the triangle; each array has n entries, which are
 * set unless the shape is OTHER, or is NULL. They are what tristar_triangle_options takes, with `permuted`.
 * A symmetric kind of view is OTHER. Rows (of CSR: columns) with one entry are taken out, one after the
 * other, which takes time linear in rows and entries; where there is none to begin with, as in most matrices,
 * entries are only counted. Errors: those of a view, as tristar_analyze has them; RECTANGULAR, MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_find_triangle(tristar_t *ts, const tristar_view *view,
                                                                 tristar_shape *shape, int64_t *row_order,
                                                                 int64_t *column_order);

/* ---- Plan and solve ---------------------------------------------------------------------------------- */

/* A way of solving with a factor: chunks, and the recorded DAG of tasks over them. */
typedef struct tristar_plan_s tristar_plan_t;

/* What runs the DAG. With AUTO a triangular matrix that is not divided into supernodes runs in lanes: what
 * one core is to work through, as many of them as StarPU has CPU workers. The calling thread works on them
 * itself, and StarPU's workers on other cores lend a hand where solves with their help took less time lately;
 * both ways are tried in turns at first, and the other one now and then. There is one lane only, a plain
 * call, where a sweep reads less than 300 kB, has one chunk, or StarPU is not to be used. */
typedef enum tristar_engine {
  TRISTAR_ENGINE_AUTO,   /* StarPU tasks, or a plain call where that is predicted to be faster, unless options
                            say how tasks are to be made; or lanes, see above */
  TRISTAR_ENGINE_SERIAL, /* the DAG in a legal order on the calling thread, no task: the oracle of the tests
                          */
  TRISTAR_ENGINE_TASKS   /* StarPU tasks always */
} tristar_engine;

/* Machines with several NUMA nodes: where the factor lies. Its pages are moved after the first solve of the
 * plan that takes all rows and runs on StarPU: those of each chunk to the node of the core that streamed it.
 * (A workspace needs no moving: its pages come to lie where tasks first write them.) Where a task runs in
 * later solves stays the choice of the scheduler: StarPU has no hint that all of its schedulers follow;
 * naming workers for a task would forbid stealing. lws tends to run a chunk where those that it waits for
 * have run. Of several plans of a factor, the one whose first solve is latest decides. Placement never
 * changes results; where the system refuses it, a line in the log says so. */
typedef enum tristar_placement {
  TRISTAR_PLACEMENT_AUTO, /* with several NUMA nodes */
  TRISTAR_PLACEMENT_OFF,  /* never */
  TRISTAR_PLACEMENT_ON    /* also with one, where it is of no use: for tests */
} tristar_placement;

/* Variants of a solve, to compare them; 0 is what solves fastest here. Yamazaki, Rajamanickam and Ellingwood
 * ("Performance portable supernode-based sparse triangular solver for manycore architectures", ICPP 2020)
 * compare the same choices on GPUs and CPUs. */
typedef enum tristar_scheduling {
  TRISTAR_SCHEDULING_DYNAMIC, /* a task runs as soon as those that it needs are through */
  TRISTAR_SCHEDULING_LEVELS   /* level sets: a barrier after all tasks of the same depth in the DAG */
} tristar_scheduling;

/* How what a chunk contributes to others gets there. */
typedef enum tristar_updates {
  TRISTAR_UPDATES_PULL, /* a chunk gathers what its sources left for it, backward what it needs of x */
  TRISTAR_UPDATES_PUSH  /* tasks of their own, one for each pair of chunks, bring it there: forward they add
                           the  update of a finished source to x of the target, in the order of the sources;
                           backward they copy x of a finished chunk to one that needs it */
} tristar_updates;

/* How much of the factor is one node of the DAG. */
typedef enum tristar_granularity {
  TRISTAR_TASKS_CHUNKS,    /* a task for each chunk: many small supernodes, or slices of a large one */
  TRISTAR_TASKS_SUPERNODES /* a task for each supernode, or piece of it of at most 128 columns (8 with
                              MERGE_NONE), as other solvers have */
} tristar_granularity;

/* SPMV: for each level of the assembly tree a sparse matrix, multiplied by blocks of rows, and a barrier (the
 * partitioned inverse; Alvarado, Pothen, Schreiber 1993). Needs memory for these matrices besides the factor:
 * variant_bytes. It serves whole solves only, with all rows of b and x, and L and U of the same structure;
 * else UNSUPPORTED. Scheduling, updates and granularity have no effect on it. */
typedef enum tristar_kernel {
  TRISTAR_KERNEL_PANELS, /* dense panels of the factor */
  TRISTAR_KERNEL_SPMV    /* the partitioned inverse */
} tristar_kernel;

/* What tristar_plan needs to know. Fill it with tristar_plan_options_init first. */
typedef struct tristar_plan_options {
  tristar_engine engine;   /* what runs the DAG */
  int64_t nrhs;            /* right-hand sides expected per solve; workspace for them is made now. 0: 1 */
  int64_t chunk_bytes_min; /* floor: no chunk lighter than this, unless the problem is; 0: calibrated */
  int64_t chunk_bytes_max; /* ceiling: panels heavier than this are cut into row slices; 0: by the factor */
  unsigned order_seed;     /* ENGINE_SERIAL: which of the legal orders; 0: the natural one */
  tristar_placement placement;     /* where the factor lies */
  tristar_scheduling scheduling;   /* when a task may run */
  tristar_updates updates;         /* how contributions travel */
  tristar_granularity granularity; /* chunks or supernodes */
  tristar_kernel kernel;           /* panels or the partitioned inverse */
  tristar_place place;             /* which subtrees are solved on devices */
  /* Most bytes on a device: of the factor, of tables, and of the workspaces of solves. 0: nine tenths of its
   * memory, if that is known. Solves of more right-hand sides than there is room for are made in blocks. */
  int64_t device_bytes;
  int64_t device_solves; /* solves in flight at a time whose workspaces device_bytes has room for; each
                            further one takes workspace_bytes (tristar_device_stats) beside. 0: 1 */
} tristar_plan_options;

/* ENGINE_AUTO, one right-hand side, PLACEMENT_AUTO, PLACE_CPU, no variant, all else 0. */
TRISTAR_API void tristar_plan_options_init(tristar_plan_options *options);

/* Chooses chunks, builds the DAG, records the tasks. Immutable afterwards; the result of a solve depends, bit
 * for bit, on the plan and the right-hand side only: not on workers, scheduler or order of execution. options
 * may be NULL. Of the variants scheduling and updates do not change a bit of the result. Errors: ARGUMENT,
 * MEMORY, STALE (factor without values), UNSUPPORTED (ENGINE_TASKS in a context without StarPU; KERNEL_SPMV
 * for factors that it does not serve; PLACE_GPU where this build has no devices, or where subtrees cannot be
 * on them), NO_WORKER (PLACE_GPU, but StarPU has no device). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan(tristar_factor_t *factor,
                                                        const tristar_plan_options *options,
                                                        tristar_plan_t **plan);

/* Which system is solved. */
typedef enum tristar_op {
  TRISTAR_N = 'N', /* A X = B */
  TRISTAR_T = 'T', /* A^T X = B */
  TRISTAR_C = 'C'  /* A^H X = B; for real types the same as T */
} tristar_op;

/* X = op(A)^-1 B. b: n x nrhs, column-major, leading dimension ldb >= n; x likewise with ldx. x may be b (ldx
 * == ldb); other overlaps are not allowed. Returns when x is written. Errors: ARGUMENT, MEMORY, STALE,
 * RUNTIME, NOT_FINITE is not checked here (NaN in, NaN out). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve(tristar_plan_t *plan, tristar_op op, int64_t nrhs,
                                                         const void *b, int64_t ldb, void *x, int64_t ldx);

/* Which part of A = L D U is solved with. */
typedef enum tristar_part {
  TRISTAR_PART_ALL, /* op(A) */
  TRISTAR_PART_L,   /* op(L) */
  TRISTAR_PART_D,   /* op(D); D = I but for METHOD_LDLT */
  TRISTAR_PART_U    /* op(U); U = L^T or L^H for LLT and LDLT */
} tristar_part;

/* Tells that a solve has ended, and how. May be called on any thread, also on a StarPU worker: it must not
 * wait for anything, but may start (tristar_solve_start) or insert (tristar_starpu.h) further solves. */
typedef void (*tristar_end_fn)(void *arg, tristar_status status);

/* How tristar_solve_with is to solve. */
typedef struct tristar_solve_options {
  tristar_op op;     /* which system is solved */
  tristar_part part; /* with which part of A */
  /* 0: b and x are in the user's order and scaling where op(A) touches them: the first part to be applied
   * permutes and scales b, the last one x; what stands between parts is in factor order. So, for OP_N, solves
   * with L, D and U one after the other give what ALL gives (for T and C: with U, D and L). 1: b and x are in
   * factor order and not scaled (tristar_factor_get_order); with ALL: (L D U)^-1. */
  int factor_order;
  /* Scalars between consecutive rows and consecutive columns (right-hand sides) of b and x. All 0:
   * column-major without gaps. Row-major: row stride nrhs, column stride 1. */
  int64_t b_row_stride, b_column_stride; /* of b */
  int64_t x_row_stride, x_column_stride; /* of x */
  /* Sparse right-hand sides: b has only b_rows rows; its row i is row b_row[i] of the system (each at most
   * once), all others are zero. NULL: b has all n rows. */
  int64_t b_rows;
  const int64_t *b_row; /* b_rows numbers of rows, in any order */
  /* Rows wanted: x has only x_rows rows; its row i becomes row x_row[i] of the solution. NULL: all n rows. */
  int64_t x_rows;
  const int64_t *x_row; /* x_rows numbers of rows, in any order */
  /* Only for tristar_solve_start; NULL: none. Called once when the solve has ended. */
  tristar_end_fn end;
  void *end_arg; /* handed to end */
  /* x = beta x + alpha times the solution, in one go: each points to a scalar of the type of b and x, which
   * is copied; NULL: alpha is 1, beta 0. Where beta is 0, x is not read. With 1 and 0 a solve has the bits
   * and the speed of one without. Rows of x that are not wanted stay as they are. */
  const void *alpha;
  const void *beta; /* see alpha */
} tristar_solve_options;

/* OP_N, PART_ALL, the user's order, column-major without gaps, all rows, x = the solution. */
TRISTAR_API void tristar_solve_options_init(tristar_solve_options *options);

/* Figures of one solve. */
typedef struct tristar_solve_result {
  double share; /* bytes of factor streamed / bytes that the same solve streams with all rows of b and x */
} tristar_solve_result;

/* X = (the part of op(A))^-1 B, with right-hand sides in any layout, sparse ones, and chosen rows of X:
 * forward, only chunks take part that nonzeros of B lead to, backward only those that the wanted rows need
 * (Gilbert 1994). x may be b where both have the same strides and neither list of rows is given; other
 * overlaps are not allowed. result may be NULL. Errors: as tristar_solve; ARGUMENT also for a row out of
 * range or listed twice (the message names it), strides that are not positive, and a part that an imported
 * triangular matrix does not have. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_with(tristar_plan_t *plan,
                                                              const tristar_solve_options *options,
                                                              int64_t nrhs, const void *b, void *x,
                                                              tristar_solve_result *result);

/* What runs a solve. Results do not depend on it. */
typedef enum tristar_way {
  TRISTAR_WAY_DIRECT, /* one call of the kernels in the calling thread, without a list of steps */
  TRISTAR_WAY_SERIAL, /* the list of steps in the calling thread */
  TRISTAR_WAY_LANES,  /* lanes in the calling thread and helpers, see tristar_engine */
  TRISTAR_WAY_TASKS,  /* StarPU tasks on CPU workers */
  TRISTAR_WAY_DEVICES /* StarPU tasks on CPU workers and GPUs */
} tristar_way;

/* How a solve will run, and why. */
typedef struct tristar_explanation {
  tristar_way way;  /* what runs the solve */
  const char *name; /* static text: "direct", "serial", "lanes", "tasks" or "devices" */
  int threads;      /* CPU threads that work on the solve, at most; the calling thread counts if it works */
  char reason[256]; /* one statement in English, without a full stop; terminated */
} tristar_explanation;

/* Explains how the calling thread would solve now with these options (NULL: the defaults) and so many
 * right-hand sides. Nothing is solved. With options that tristar_solve can express, the explanation is of a
 * call of tristar_solve, else of tristar_solve_with, or, with options->end, of tristar_solve_start. b and x
 * are assumed to be different arrays. Errors: ARGUMENT, MEMORY, UNSUPPORTED, STALE as tristar_solve_with. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_explain(tristar_plan_t *plan,
                                                                const tristar_solve_options *options,
                                                                int64_t nrhs,
                                                                tristar_explanation *explanation);

/* A solve that was started and not yet waited for. */
typedef struct tristar_request_s tristar_request_t;

/* tristar_solve_with that does not wait: submits the tasks and returns. Several requests, of one plan or
 * more, may be in flight, and are not ordered among each other: the forward sweep of one runs while the
 * backward sweep of another ends. Each has a workspace of its own, kept by the plan for later solves. Until
 * test or wait says that the request is done, b must not change, x must be neither read nor written, and the
 * factor must not be refactored; then x has the bits that tristar_solve_with gives. x may be b as there;
 * options and its lists may be freed at once.
 *
 * The request keeps its plan and the context alive, and must be given to tristar_wait. One
 * thread at a time may use a request; it need not be the one that started it. More than 64 right-hand sides
 * are solved in blocks of 64: two are in flight, test and wait submit the next ones.
 *
 * Without StarPU tasks (ENGINE_SERIAL, lanes, a plan of one chunk, few rows), and from inside a StarPU task,
 * which must not wait for others, the call solves, and the request is done when it returns. Errors: as
 * tristar_solve_with; nothing is in flight then.
 *
 * With options->end the tasks of all right-hand sides are submitted at once, also from inside a StarPU task,
 * and `end` is called when the last one is over (before this function returns, where it solves), but not if
 * this function fails. The request is done when `end` has returned, and is given to tristar_wait as any
 * other. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_start(tristar_plan_t *plan,
                                                               const tristar_solve_options *options,
                                                               int64_t nrhs, const void *b, void *x,
                                                               tristar_request_t **request);

/* *done = 1: the request is done, x is written, and tristar_wait will not wait; or the request failed, which
 * tristar_wait tells. Never waits for a task; may submit the next block (inside a StarPU task: solve it).
 * Errors: ARGUMENT. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_test(tristar_request_t *request, int *done);

/* Waits for the request, frees it and sets *request to NULL, also if the solve failed: the status is that of
 * the solve. result may be NULL. Accepts NULL, and a request that is NULL. Errors: as tristar_solve_with;
 * UNSUPPORTED: called from inside a StarPU task while tasks of the request run, which keeps the request; or
 * in the child of a fork(), which gives it up. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_wait(tristar_request_t **request,
                                                        tristar_solve_result *result);

/* The backward error of one right-hand side on its way. A correction that makes it no smaller is given up,
 * and not counted in later points. */
typedef struct tristar_refine_point {
  int64_t column;        /* the right-hand side */
  int steps;             /* corrections made for it so far; 0, without iterations: the first solve */
  int iterations;        /* of FGMRES so far */
  double backward_error; /* of x after them */
} tristar_refine_point;

/* How tristar_solve_refined is to refine. Fill it with tristar_refine_options_init first. */
typedef struct tristar_refine_options {
  int max_steps;      /* at most this many corrections per right-hand side */
  double tolerance;   /* stop at this componentwise backward error; 0: 4 units of roundoff */
  int max_iterations; /* of FGMRES, preconditioned by the factors, where corrections stagnate above 100 units
                         of roundoff; 0: none */
  int forward_error;  /* 1: compute a bound of the forward error too; costs solves, see below */
  tristar_refine_point *history; /* gets the backward error after each correction and each iteration of
                                    FGMRES, for which x is formed each time; NULL: none */
  int64_t history_most;          /* entries of history */
} tristar_refine_options;
/* 5 steps, tolerance 0, 30 iterations, no bound of the forward error, no history. */
TRISTAR_API void tristar_refine_options_init(tristar_refine_options *options);

/* Why refinement ended. */
typedef enum tristar_stop {
  TRISTAR_STOP_CONVERGED, /* the backward error is within the tolerance */
  TRISTAR_STOP_LIMIT,     /* after max_steps or max_iterations, before that */
  TRISTAR_STOP_STAGNATED  /* the backward error no longer fell */
} tristar_stop;

/* What refinement has reached. */
typedef struct tristar_refine_result {
  double backward_error;         /* componentwise, the largest over the right-hand sides; see below */
  double initial_backward_error; /* before the first correction */
  int steps;                     /* corrections made (largest over the right-hand sides) */
  int iterations;                /* of FGMRES (largest over the right-hand sides) */
  tristar_stop stop;             /* why refinement ended (the last in the list, over the right-hand sides) */
  double forward_error;          /* bound, the largest over the right-hand sides; 0: not asked for */
  /* max_i |r_i (b - A x)_i| / max_i |r_i b_i|, r the scaling of the rows; the largest over the right-hand
   * sides. A matrix that is singular to working precision (TRISTAR_SINGULAR_PERTURB) can have an x so large
   * that its backward error is small, though the system has no solution: then this number is not. */
  double residual;
  int64_t history_count; /* points of the history, of which the first history_most are written */
} tristar_refine_result;

/* tristar_solve followed by iterative refinement in the precision of the factors (Arioli, Demmel, Duff 1989;
 * Higham 2002, chapter 12); stops when the error no longer falls by a tenth and keeps the best x. Where this
 * is too early, FGMRES (Saad 1993) with the factors as preconditioner goes on; so pivots that were perturbed,
 * or single factors, need not spoil the result. It leaves rows that are solved as they are. Of errors above
 * 1/2, which say little, the one counts as smaller whose largest residual, as the factors scale it, is. x
 * must not overlap b, which is found out before x is touched. max_steps = 0 only measures the backward error.
 * options may be NULL. The backward error is max_i |b - A x|_i /
 * (|A| |x| + |b|)_i (Arioli, Demmel, Duff): a row whose denominator is nothing but rounding errors (below
 * min(1000 n eps, 1e-3) times ((|A| g)_i max_j(|x_j| / g_j) + |b|_i)) has (|A| |x|)_i + (|A| g)_i max_j(|x_j|
 * / g_j) instead, where g is the scaling of the columns (tristar_factor_get_order) or ones, in each row what
 * gives less. It is computed in the type of the matrix: where the terms of a row are subnormal numbers, a
 * residual below the smallest of them counts as zero.
 *
 * The forward error of x is max_i |x - A^-1 b|_i / max_i |x|_i. options->forward_error = 1 estimates a bound
 * of it as LAPACK's xGERFS does, || |A^-1| (|r| + k eps (|A| |x| + |b|)) || / ||x||: maximum norms, r = b - A
 * x, k_i the entries in row i plus one, eps two units of roundoff. 1 or more: no digit of x is certain. It is
 * an estimate, no proof: the norm is found by a few solves (Higham and Tisseur 2000) and can be too small,
 * seldom by more than a factor 3, which the bound usually has to spare. Infinite: the condition of the matrix
 * is within ten eps, or ten times the backward error that refinement was content with, of singular
 * (tristar_condition), so that no estimate means anything, or a solve found no accurate solution. Cost: 4 to
 * 10 solves, mostly 5, with up to 16 right-hand sides at a time, and as many with one for the condition. If
 * the factors are single, if pivots were perturbed, or if the initial backward error is above 200 units of
 * roundoff, these solves are refined as x was, one right-hand side at a time: such factors alone know too
 * little of the small singular values.
 *
 * Errors: those of tristar_solve; UNSUPPORTED: the factor was imported without its matrix; NOT_FINITE:
 * numbers of a right-hand side, of its solution or of their product are not finite: the message names the row
 * and the column, x has what came out; the other columns are refined, and *result is of them.
 */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_solve_refined(tristar_plan_t *plan, tristar_op op,
                                                                 int64_t nrhs, const void *b, int64_t ldb,
                                                                 void *x, int64_t ldx,
                                                                 const tristar_refine_options *options,
                                                                 tristar_refine_result *result);

/* R = B - op(A) X for the matrix of a factor, and the componentwise backward error of X (as above, the
 * largest over the right-hand sides; NaN if X has one). r may be NULL, or b; backward_error may be NULL.
 * Errors: ARGUMENT, MEMORY, UNSUPPORTED: the factor was imported without its matrix. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_residual(const tristar_factor_t *factor, tristar_op op,
                                                            int64_t nrhs, const void *b, int64_t ldb,
                                                            const void *x, int64_t ldx, void *r, int64_t ldr,
                                                            double *backward_error);

/* Estimate of 1 / (|A| |A^-1|) in the 1-norm, A as scaled for the factorization (Hager 1984, Higham 1988): 4
 * to 10 solves, mostly 5, which are refined if the factors are single or pivots were perturbed. If pivots
 * were perturbed or the number is small, 2 solves more search for a null vector, which lowers it. Where the
 * factors have no scaling (most of LLT, imports), A is equilibrated for the estimate (Ruiz 2001). A value
 * below the unit roundoff means: singular to working precision; 0: not even refined solves were accurate.
 * Errors: those of tristar_solve, and UNSUPPORTED: the factor was imported without its matrix. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_condition(tristar_plan_t *plan, double *reciprocal);

/* Figures of a plan. */
typedef struct tristar_plan_stats {
  tristar_partition partition; /* SUPERNODES, or how the rows of a triangular matrix are divided */
  int64_t chunks;              /* with a diagonal part */
  int64_t slices;              /* row slices of big panels */
  int64_t tasks;               /* StarPU tasks of one replay; 0: a plain call, or lanes */
  int64_t edges;               /* of both directions */
  int64_t width;               /* largest number of nodes at one depth, forward */
  int64_t depth;               /* nodes on the longest path, forward */
  double critical_bytes;       /* bytes streamed on the heaviest path, forward and backward */
  double stream_bytes; /* bytes of factor streamed by one solve, forward and backward, as stored; KERNEL_SPMV:
                          of its matrices */
  double
      exact_bytes; /* (nnz(L) + nnz(U)) * bytes of a scalar of the factors: what GB/s figures are based on */
  double floor_bytes;     /* no chunk lighter than this was wanted, */
  double ceiling_bytes;   /* and none heavier, but for single panels */
  int workers;            /* StarPU workers able to run the tasks; lanes; 1 for a plain call */
  const char *scheduler;  /* static text: of StarPU; "lanes" (see tristar_engine); "serial": a plain call */
  size_t workspace_bytes; /* of the workspace of a solve */
  size_t variant_bytes; /* KERNEL_SPMV: of its matrices, besides the factor; those of op(A) are made at first
                           use */
  double predicted_seconds; /* of a solve with one right-hand side whose factor comes from memory: the larger
                               of all of it at the rate of all workers and the heaviest path at that of one,
                               and the cost of the tasks; by the calibration */
  double plan_seconds;      /* of tristar_plan, without start_seconds */
  double start_seconds; /* that StarPU took to start, if that call was the first of its context to need it */
  double last_solve_seconds; /* of the latest solve to end; of a request: until test or wait saw its end. Of
                                solves with a triangle that take under 2 us one of 16 is timed */
  int64_t solves;            /* with this plan so far */
  int devices;               /* that have subtrees, see tristar_plan_get_device; 0: all is on the cores */
  double unfit_bytes; /* of the factor, of subtrees that were to be on devices, which have no room for them */
  int64_t nrhs_block; /* right-hand sides that are solved with at a time, at most: 64, or as many as devices
                         have room for */
} tristar_plan_stats;
/* Tells the figures of a plan. */
TRISTAR_API tristar_status tristar_plan_get_stats(const tristar_plan_t *plan, tristar_plan_stats *stats);

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

/* A figure of every worker, or of every process: its sum, and its smallest, mean and largest value. */
typedef struct tristar_range {
  double total, min, mean, max; /* over all processes */
} tristar_range;

/* Returns at once; what solves in flight need of the plan lives until the last of them has ended. */
TRISTAR_API void tristar_plan_destroy(tristar_plan_t **plan);

/* Waits until all solves of this plan that were inserted (tristar_starpu.h) or started with an `end` have
 * ended; their `end` has returned then. Others that were started are waited for with tristar_wait. Errors:
 * the first failure of an inserted solve since the last call; ARGUMENT; UNSUPPORTED: called from inside a
 * StarPU task or callback while there are such solves. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_plan_wait(tristar_plan_t *plan);

/* ---- Distributed solves ------------------------------------------------------------------------------- */

/* How grids of processes share the work above the leaves of the separator tree. */
typedef enum tristar_algorithm {
  TRISTAR_ALGORITHM_REPLICATED, /* every grid solves with copies of its ancestors; sums are exchanged once,
                            between the sweeps (Liu, Ding, Williams, Li, SC 2023) */
  TRISTAR_ALGORITHM_LEVELWISE   /* ancestors are solved in one grid each, level after level (Sao, Kannan, Li,
                                  Vuduc, ICS 2019) */
} tristar_algorithm;

/* Which process of a grid has which blocks of the factor. */
typedef enum tristar_map {
  TRISTAR_MAP_SUBTREE, /* balanced subtrees are whole on one process, only what is above them is spread */
  TRISTAR_MAP_CYCLIC   /* all panels are spread block-cyclically */
} tristar_map;

/* The shape of broadcasts and reductions in a grid. */
typedef enum tristar_message_tree {
  TRISTAR_MESSAGE_TREE_BINARY, /* log2 of the processes many steps */
  TRISTAR_MESSAGE_TREE_FLAT    /* one process sends to, or receives from, all others */
} tristar_message_tree;

/* px * py * pz processes, pz grids of px x py: grid z works on leaf z of the separator tree and on the
 * ancestors of that leaf. Rank p + px (q + py z) is process (p, q) of grid z. */
typedef struct tristar_layout {
  int px, py, pz;              /* each at least 1; pz a power of two, at most leaf_parts of the analysis */
  tristar_algorithm algorithm; /* the same for pz = 1 */
  tristar_map map;             /* who has which blocks in a grid */
  tristar_message_tree message_tree; /* the shape of broadcasts and reductions */
} tristar_layout;

/* 1 x 1 x 1, REPLICATED, SUBTREE, BINARY. */
TRISTAR_API void tristar_layout_init(tristar_layout *layout);

/* Messages of one solve, and their bytes. What all processes send together they receive together. */
typedef struct tristar_messages {
  tristar_range sent, received, sent_bytes, received_bytes; /* per process, in one solve */
} tristar_messages;

/* What a solve sends, over all processes, and the factorization before it. */
typedef struct tristar_traffic {
  int64_t ranks;         /* px py pz */
  int64_t chunks;        /* of the solve, copies not counted */
  int64_t spread_chunks; /* that have their rows on several processes of a grid */
  int grid_steps; /* steps of messages between grids, one after the other: log2 pz; LEVELWISE: 2 log2 pz */
  tristar_messages broadcast, reduction; /* within grids: parts of x that go out, sums that come in */
  tristar_messages grids;                /* between grids */
  tristar_messages all;                  /* the sum of these three */
  tristar_range factor_bytes;            /* of one triangular factor as stored, with all copies */
  double balance;                        /* factor_bytes.max / factor_bytes.mean; 1 if there is none */
  tristar_messages fan_in;    /* of tristar_distributed_factor: Schur complements on their way up the tree,
                                 and stripes of fronts that several processes share */
  tristar_range factor_flops; /* of the fronts that a process factors; L D L^T is counted as L L^T */
  tristar_range front_bytes;  /* the most that its fronts and Schur complements take at a time, beside the
                                 factor: one front after the other, complements leave at once */
  double factor_path_flops; /* until the last front is factored, where each process takes its fronts, and its
                               parts of shared ones, one after the other, those with most above them first;
                               messages take time only inside shared fronts */
} tristar_traffic;

/* Counts what a solve with nrhs right-hand sides sends in this layout, forward and backward, and what the
 * factorization sends from front to front, without doing or even preparing it: any number of processes up to
 * 2^20, on one. Values are scalars of the factor. layout may be NULL: the default. Errors: ARGUMENT (nrhs <
 * 1, an unknown enumerator, a layout with a number below 1, or a pz that is no power of two or above
 * leaf_parts), TOO_LARGE (more than 2^20 processes), UNSUPPORTED (factors from elsewhere with different
 * structures of L and U), MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_traffic(const tristar_analysis_t *analysis,
                                                                  const tristar_layout *layout, int64_t nrhs,
                                                                  tristar_traffic *out);

/* What a layout is chosen by. Fill it with tristar_layout_costs_init first. */
typedef struct tristar_layout_costs {
  double bytes_per_second; /* that a process reads, or sends; 0: what a core of this machine reads */
  double message_seconds;  /* of a message beside its bytes: 2e-6 */
  int64_t nrhs;            /* right-hand sides of a solve: 1 */
  int64_t solves;          /* that are to come after each factorization; 0: their time alone counts */
  double process_bytes;    /* the most that a process may need; 0: no limit */
  int grids;               /* the most that a layout may have; 0: no limit */
} tristar_layout_costs;

/* The numbers given above; others are 0. */
TRISTAR_API void tristar_layout_costs_init(tristar_layout_costs *costs);

/* What a layout is expected to take. */
typedef struct tristar_layout_prediction {
  double factor_seconds, solve_seconds; /* of one factorization, of one solve of nrhs right-hand sides */
  double process_bytes; /* of the process with the most: its share of the factor, and the most that its fronts
                           take at a time */
} tristar_layout_prediction;

/* Chooses px, py and pz of *layout, whose algorithm, map and message_tree are given: of all layouts with so
 * many processes, and pz up to leaf_parts and costs->grids, that one that takes the least time for `solves`
 * solves and a factorization, by the counts of tristar_layout_traffic. A model: good enough to tell layouts
 * apart, not to foretell a clock. costs may be NULL: the defaults; prediction may be NULL. After a failure
 * *layout is as before. Errors: those of tristar_layout_traffic; ARGUMENT (numbers below 0, nrhs < 1,
 * processes < 1), MEMORY (also: no layout keeps to process_bytes). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_choose(const tristar_analysis_t *analysis,
                                                                 int64_t processes,
                                                                 const tristar_layout_costs *costs,
                                                                 tristar_layout *layout,
                                                                 tristar_layout_prediction *prediction);

#ifdef __cplusplus
}
#endif
#endif
