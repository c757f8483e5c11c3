/* StarPU, shared by all contexts of a process.
 *
 * StarPU exists once in a process and counts its users: the first starpu_init starts it, the last
 * starpu_shutdown stops it. Each context that runs tasks holds one such count, from its first call that needs
 * workers to its end. So contexts may be created and destroyed in any number and order, by any threads. A
 * context never loses a StarPU that another context, or the program, has started.
 *
 * Reads   the requests of the first context that needs StarPU, STARPU_*.
 * Writes  StarPU. All data is static, like StarPU.
 * Invariants, under the lock
 *   - lost: the process was forked from a process in which StarPU ran; then no function of StarPU is called
 *   - users counts the contexts that hold StarPU; each holds it once
 *   - ours: StarPU was not running when users rose from 0, so it has the requested settings; else the program
 *     has started it
 *   - there are spare cores only while StarPU runs and is ours
 *   - the thread of idle.h runs exactly while users > 0, StarPU is ours and its workers are to sleep */
#pragma once

#include "runtime/exec/starpu/simulation.h"

/* Requests of a context for a StarPU that it has to start. */
typedef struct tsi_starpu_wishes {
  int workers;                   /* 0: StarPU's default */
  int first_core;                /* of the workers; -1: StarPU's choice */
  int first_device, devices;     /* devices with workers; first_device -1: all */
  const char *scheduler;         /* "": StarPU's default rules, then lws */
  bool idle_sleep, idle_doze;    /* idle workers sleep; and doze, see idle.h */
  tsi_simulated_costs simulated; /* costs of simulated workers */
} tsi_starpu_wishes;

/* Starts StarPU or joins its users; requests that are not met are logged. Errors: ARGUMENT (no such
 * scheduler), RUNTIME, NO_WORKER, UNSUPPORTED (StarPU is lost); the context holds nothing then. */
TRISTAR_CHECKED tristar_status tsi_starpu_acquire(tsi_env *env, const tsi_starpu_wishes *wishes);
/* Stops StarPU if it has no other users. Must not be called inside a StarPU task. */
void tsi_starpu_release(void);

/* StarPU ran when fork() created this process: its contexts cannot use StarPU. */
bool tsi_starpu_is_lost(void);

/* Whether StarPU runs and TriStar has started it. */
bool tsi_starpu_is_ours(void);
/* Whether it is ours, and its idle workers sleep. */
bool tsi_starpu_sleeps(void);
/* Whether StarPU runs and its idle workers poll: it is not ours, or workers are not to sleep. */
bool tsi_starpu_polls(void);

/* Largest number of CPU workers that StarPU can have: from its header until it has run, then as observed. */
int tsi_starpu_most_workers(void);
/* Number of CPU workers that the user requests for a process with `cores` cores: STARPU_NCPU, which has
 * precedence, or `requested`. If that is 0: one for each core except those of STARPU_RESERVE_NCPU. */
int tsi_starpu_workers_requested(int requested, int cores);
/* Whether the environment lists the cores of StarPU's workers. */
bool tsi_starpu_cores_are_listed(void);
/* The spare cores, while a StarPU runs that TriStar has started: requested cores that have no worker only
 * because StarPU was compiled for fewer workers. There are none if the environment lists the cores of
 * workers, or if the machine is simulated. cpu: NULL, or receives the operating system's numbers of their
 * first processing units, at most `most`; -1 if threads are not to be bound (STARPU_WORKERS_NOBIND). Returns
 * their number. */
int tsi_starpu_spare_cores(int *cpu, int most);

bool tsi_starpu_runs(void);
/* Whether the caller is a StarPU task, or a callback of one. */
bool tsi_starpu_inside_task(void);
/* While StarPU runs: number of its CPU workers; number of all of its workers, which are numbered 0 .. workers
 * - 1; lists the numbers of the CPU workers, at most `most`, and returns their number; name of its scheduler,
 * a text of StarPU. */
int tsi_starpu_cpu_workers(void);
int tsi_starpu_workers(void);
int tsi_starpu_cpu_worker_numbers(int *worker, int most);
const char *tsi_starpu_scheduler(void);
