/* TriStar: the machine and its StarPU: workers, schedulers, memory, calibration, environment variables.
 *
 * Options of StarPU in tristar_config. The cores are bound from first_core on unless STARPU_WORKERS_CPUID is
 * set. GPUs are used from first_device on unless STARPU_WORKERS_CUDAID (_HIPID) is set. Polling workers
 * (idle_sleep 0, TRISTAR_IDLE=poll) occupy their cores, but start tasks faster after a pause. calibration
 * NULL: the file TRISTAR_CALIBRATION, or that of this machine, see tristar_calibration.
 *
 * How StarPU starts. The first call that needs workers starts StarPU, or joins a StarPU that the program or
 * another context has started. Before it starts StarPU, that call checks the environment. It returns RUNTIME
 * where StarPU would end the program (STARPU_NCPU=abc, a folder for performance models that cannot be
 * written), ARGUMENT for an unknown scheduler, or NO_WORKER. The last context to end stops a StarPU that
 * TriStar has started, unless the program needs it. With idle_sleep its workers sleep where nothing was
 * submitted for about 2 ms. They wake up when TriStar submits tasks, or about 1 ms after the program has
 * submitted its own. In a process that fork() made while StarPU ran, contexts work without StarPU, as with
 * use_starpu 0, and the log has a warning. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_MACHINE_H
#define TRISTAR_MACHINE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The i-th environment variable (from 0) that TriStar looks at: its name, what is taken where it is not set
 * or empty, and its meaning, static texts. The pointers may be NULL. Returns 0 when there is no i-th. */
TRISTAR_API int tristar_get_variable(int i, const char **name, const char **fallback,
                                     const char **description);

/* ---- StarPU -----------------------------------------------------------------------------------------------
 */

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
} tristar_starpu_info;

/* Fills *info; starts StarPU if it does not run. The version is there even if that fails. Errors: ARGUMENT,
 * RUNTIME, NO_WORKER, UNSUPPORTED (use_starpu is 0). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_get_starpu(tristar_t *ts, tristar_starpu_info *info);

/* The i-th worker (from 0) of the StarPU that the context uses: its name, cut to size bytes, and the core
 * that it is bound to, as hwloc counts processing units, negative: none. Both may be NULL. Returns 0 when
 * there is no i-th, or no call has needed StarPU yet. */
TRISTAR_API int tristar_get_worker(tristar_t *ts, int i, char *name, size_t size, int *core);

/* ---- Memory -----------------------------------------------------------------------------------------------
 */

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

#ifdef __cplusplus
}
#endif
#endif
