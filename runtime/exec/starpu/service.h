/* StarPU as all contexts of a process share it.
 *
 * StarPU exists once in a process and counts who needs it: whoever calls starpu_init first starts it, whoever
 * calls starpu_shutdown last stops it. Each context that runs tasks holds one such count, from its first call
 * that needs workers to its end: so contexts may be made and destroyed in any number and order, by any
 * threads, and no context loses the StarPU that another one, or the program, had started.
 *
 * Reads   what the first context that needs StarPU asks for, STARPU_*.
 * Writes  StarPU. All data is static, as StarPU is.
 * Invariants, under the lock
 *   - lost: in a process that fork() made of one in which StarPU ran; nothing of StarPU is called then
 *   - users counts the contexts that hold StarPU; each holds it once
 *   - ours: StarPU was not running when users rose from 0, so it is as we asked for it; else it is the
 * program's
 *   - there are spare cores only while StarPU runs and is ours
 *   - the thread of idle.h runs while users > 0 if it is ours and its workers are to sleep, and at no other
 * time */
#pragma once

#include "runtime/exec/starpu/simulation.h"

/* What a context wants of a StarPU that it has to start. */
typedef struct tsi_starpu_wishes {
  int workers;                   /* 0: StarPU's default */
  int first_core;                /* of the workers; -1: StarPU's choice */
  int first_device, devices;     /* devices that get workers; first_device -1: all */
  const char *scheduler;         /* "": StarPU's default rules, then lws */
  bool idle_sleep, idle_doze;    /* idle workers sleep; and doze, see idle.h */
  tsi_simulated_costs simulated; /* of workers that are simulated */
} tsi_starpu_wishes;

/* Starts StarPU or joins its users; what was wished in vain goes to the log. Errors: ARGUMENT (no such
 * scheduler), RUNTIME, NO_WORKER, UNSUPPORTED (it is lost); the context holds nothing then. */
TRISTAR_CHECKED tristar_status tsi_starpu_acquire(tsi_env *env, const tsi_starpu_wishes *wishes);
/* Stops StarPU if nobody else needs it. Not from inside a StarPU task. */
void tsi_starpu_release(void);

/* StarPU ran when fork() made this process: no context of it can have StarPU. */
bool tsi_starpu_is_lost(void);

/* TriStar has started the StarPU that runs. */
bool tsi_starpu_is_ours(void);
/* It is ours, and its idle workers sleep. */
bool tsi_starpu_sleeps(void);
/* StarPU runs, and its workers poll when they are idle: it is not ours, or they are not to sleep. */
bool tsi_starpu_polls(void);

/* CPU workers that StarPU can have at most: by its header until it has run, then as it was seen. */
int tsi_starpu_most_workers(void);
/* CPU workers that the user wants of a process with so many cores: STARPU_NCPU, which has precedence, or
 * `asked`, or, if that is 0, one for each core but those of STARPU_RESERVE_NCPU. */
int tsi_starpu_workers_wanted(int asked, int cores);
/* Does the environment list the cores of StarPU's workers? */
bool tsi_starpu_cores_are_listed(void);
/* While a StarPU runs that TriStar has started: the cores that were asked for and have no worker only because
 * StarPU was compiled for fewer workers. None where the environment lists the cores of workers, and none of a
 * simulated machine. Stores the operating system's numbers of their first processing units, -1 where threads
 * are not to be bound (STARPU_WORKERS_NOBIND), of at most `most`. Returns how many these are. cpu: or NULL.
 */
int tsi_starpu_spare_cores(int *cpu, int most);

bool tsi_starpu_runs(void);
/* The caller is a StarPU task, or a callback of one. */
bool tsi_starpu_inside_task(void);
/* While StarPU runs: its CPU workers; all of its workers, whose numbers are 0 .. workers - 1; the numbers of
 * the CPU workers, at most `most` of them, and how many these are; the name of its scheduler, a text of
 * StarPU's. */
int tsi_starpu_cpu_workers(void);
int tsi_starpu_workers(void);
int tsi_starpu_cpu_worker_numbers(int *worker, int most);
const char *tsi_starpu_scheduler(void);
