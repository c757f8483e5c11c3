/* The workers of a context: its requests for StarPU, and whether it holds StarPU.
 *
 * Reads   the requests in tristar_config, STARPU_NCPU.
 * Writes  one count of StarPU's users (service.h), from the first call that needs workers to the end of the
 * context.
 * Invariant: running: this context holds StarPU, and one count of OpenBLAS with one thread (blas.h). */
#pragma once

#include "runtime/exec/starpu/service.h"
#include "tristar_machine.h"

typedef struct tsi_workers {
  tsi_env *env;
  bool allowed;             /* the context may use StarPU */
  tsi_starpu_wishes wishes; /* its scheduler points to the text below */
  char scheduler[64];
  pthread_mutex_t lock; /* guards all fields below */
  bool running;
  double start_seconds; /* time in which this context started StarPU; 0: it has not, or StarPU was running */
} tsi_workers;

/* Copies the requests of the configuration, which are checked later. Errors: RUNTIME; nothing is held then.
 */
TRISTAR_CHECKED tristar_status tsi_workers_init(tsi_env *env, tsi_workers *workers,
                                                const tristar_config *config);
/* Releases StarPU. Must not be called inside a StarPU task. */
void tsi_workers_finish(tsi_workers *workers);

/* Starts StarPU or joins its users. Adds the time of this to *start_seconds, if it is not NULL, so that
 * callers can subtract it from their times. Errors: ARGUMENT, RUNTIME, NO_WORKER; UNSUPPORTED in a context
 * without StarPU. */
TRISTAR_CHECKED tristar_status tsi_workers_need(tsi_workers *workers, double *start_seconds);
/* start_seconds so far. */
double tsi_workers_start_seconds(tsi_workers *workers);
/* A clock that stands still while this context starts StarPU. */
double tsi_workers_clock(tsi_workers *workers);

/* Number of CPU workers that StarPU will have if `requested` are requested (0: its default): STARPU_NCPU,
 * which has precedence, or `requested`, or the cores of this process; at most the number for which StarPU was
 * compiled.
 */
int tsi_expected_cpu_workers(int requested);
/* Number of cores that will share work without tasks (helpers.h), with the caller's: the same without
 * StarPU's limit, but at most the cores of this process if that exceeds the limit. */
int tsi_expected_helping_cores(int requested);

/* tristar_get_starpu and tristar_get_worker, with memory of the caller. */
TRISTAR_CHECKED tristar_status tsi_workers_describe(tsi_workers *workers, tristar_starpu_info *info);
bool tsi_workers_name(tsi_workers *workers, int i, char *name, size_t size, int *core);
