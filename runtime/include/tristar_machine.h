/* TriStar: the machine and its StarPU: workers, schedulers, memory, calibration, environment variables;
 * Scotch.
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

/* Version of Scotch that ORDERING_SCOTCH uses, such as "7.0.3"; static text. NULL: built without Scotch. */
TRISTAR_API const char *tristar_scotch_version(void);

/* Returns the i-th environment variable (from 0) of TriStar: its name, its default where it is not set or
 * empty, and its meaning; static texts. The pointers may be NULL. The result is 0 if there is no i-th. */
TRISTAR_API int tristar_get_variable(int i, const char **name, const char **fallback,
                                     const char **description);

/* ---- StarPU ------------------------------------------------------------------------------------------ */

/* Returns the i-th scheduler (from 0) of the StarPU of the program: its name, for tristar_config and
 * STARPU_SCHED, and StarPU's description; static texts. The pointers may be NULL. The result is 0 if there is
 * no i-th. */
TRISTAR_API int tristar_get_scheduler(int i, const char **name, const char **description);

/* The StarPU that runs. */
typedef struct tristar_starpu_info {
  int version[3];        /* Version, such as 1.3.10. */
  const char *scheduler; /* Scheduler, static text. "": StarPU does not run. */
  int owned;             /* 1: TriStar started it, in this context or another. */
  int idle_sleep;        /* 1: its idle workers sleep. */
  double start_seconds;  /* Seconds that this context spent to start it. About 0: it ran before. */
  int workers;           /* Workers of all kinds. */
  int cpu_workers;       /* Workers on CPU cores. */
  int cores;             /* Cores in the affinity mask of the calling thread. 0: unknown. */
  int bound_cores;       /* Different cores that CPU workers are bound to. 0: they are not bound. */
  int devices;           /* GPUs that plans can use, each with a worker (tristar_place). */
  const char *driver;    /* Driver of GPUs, CUDA or HIP, static text. "": this build has none. */
  int max_workers;       /* Most CPU workers of this StarPU, as it was compiled; 4 in Debian. */
  int helper_threads;    /* Threads of TriStar on cores beyond max_workers. They help with work that needs no
                            StarPU task. */
} tristar_starpu_info;

/* Fills *info; starts StarPU if it does not run. The version is set even after a failure. Errors: ARGUMENT,
 * RUNTIME, NO_WORKER, UNSUPPORTED (use_starpu is 0). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_get_starpu(tristar_t *ts, tristar_starpu_info *info);

/* Returns the i-th worker (from 0) of the StarPU of the context: its name, cut to size bytes, and the number
 * of the hwloc processing unit that it is bound to (negative: none). name and core may be NULL. The result is
 * 0 if there is no i-th, or if no call has needed StarPU yet. */
TRISTAR_API int tristar_get_worker(tristar_t *ts, int i, char *name, size_t size, int *core);

/* ---- Memory ------------------------------------------------------------------------------------------ */

/* Memory of a context and its objects. Not counted are allocations by other libraries: StarPU (1 to 2 KB per
 * task of a plan, or of a running factorization), METIS, AMD and helper processes (during the ordering), MPI
 * and BLAS. */
typedef struct tristar_memory_stats {
  size_t current_bytes; /* Bytes that are allocated now. */
  size_t peak_bytes;    /* Largest value of current_bytes so far. */
  int64_t allocations;  /* Number of allocations so far. */
} tristar_memory_stats;
/* Copies the memory statistics of the context to *stats. */
TRISTAR_API tristar_status tristar_get_memory(tristar_t *ts, tristar_memory_stats *stats);

/* For tests: the allocation number k from now on, k >= 1, fails. Its call returns MEMORY, and later
 * allocations succeed. 0: none fails. No other call of the context may run at the same time.
 * tristar_config.fail_allocation does the same from tristar_create on. Errors: ARGUMENT. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_fail_allocation(tristar_t *ts, int64_t k);

/* ---- Calibration ------------------------------------------------------------------------------------- */

/* Origin of a calibration. */
typedef enum tristar_calibration_source {
  TRISTAR_CALIBRATION_DEFAULTS, /* Values of a common machine: the file is missing, off or broken. */
  TRISTAR_CALIBRATION_FILE,     /* A file that tristar_create read. */
  TRISTAR_CALIBRATION_MEASURED  /* tristar_calibrate of this context. */
} tristar_calibration_source;

/* Measured properties of the machine, which decide the granularity of tasks. Only tristar_calibrate measures.
 * So chunks, and with them the bits of results, change only when it is called or a file is replaced.
 *
 * The file of a machine is STARPU_DIR/tristar/HOST.calibration, beside StarPU's performance models.
 * STARPU_DIR is the folder .starpu in XDG_CACHE_HOME, STARPU_HOME or HOME, the first that is set (as in
 * StarPU 1.3 and 1.4). HOST is STARPU_HOSTNAME, or the name of the host up to its first dot. Each line of the
 * file is a key and a whole number. */
typedef struct tristar_calibration {
  tristar_calibration_source source; /* Origin of the values. */
  char path[512];                    /* File that was read, or that tristar_calibrate writes. "": off. */
  double
      task_microseconds; /* Microseconds to submit and run one recorded StarPU task without data, of many. */
  double barrier_microseconds; /* Microseconds from one level of `workers` such tasks to the next. 0: not
                                  measured. */
  double read_gbps_one;        /* 1e9 bytes per second that one core reads from main memory. */
  double read_gbps_all;        /* The same of `workers` cores together. 0: not measured. */
  double multiply_gflops_one;  /* 1e9 operations per second of one core in products of dense matrices, double
                                  precision. 0: not measured, as in files of earlier versions. */
  int workers;                 /* CPU workers of StarPU during the measurement. 0: not measured. */
  int cores, numa_nodes;       /* Cores, NUMA nodes of the machine, by hwloc. 0: unknown. */
  int64_t l2_bytes;            /* Bytes of the L2 cache of a core. 0: unknown. */
  int64_t l3_bytes;            /* Bytes of one L3 cache. 0: unknown. */
  int l3_cores;                /* Cores that share an L3 cache. 0: unknown. */
  double floor_bytes;          /* Desired size of the smallest chunk, in bytes: what one core reads during 16
                                  tasks, rounded to 0.1 MB times a power of two from 1 to 32. So close
                                  measurements give the same chunks. Default: 0.4 MB. */
} tristar_calibration;

/* Measures this machine, writes the file, and uses the values for later plans. *out receives them, unless out
 * is NULL. Takes one to five seconds, 256 MB and all cores. Other work disturbs the measurement, polling
 * workers of StarPU too, so call it before anything else. It measures again if measurements differ or other
 * processes use the cores. If that does not help, the log has a warning. With calibration "off" no file is
 * written. Errors: UNSUPPORTED (a context without StarPU, or a call inside a StarPU task), IO (the message
 * names the path; the context keeps its values), MEMORY, RUNTIME, NO_WORKER. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_calibrate(tristar_t *ts, tristar_calibration *out);

/* Returns the values in use, and their origin. Errors: ARGUMENT; MEMORY and RUNTIME (hwloc). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_get_calibration(tristar_t *ts,
                                                                   tristar_calibration *calibration);

#ifdef __cplusplus
}
#endif
#endif
