/* The workers of a context: what it wants of StarPU, and whether it holds StarPU.
 *
 * Reads   what tristar_config asks for, STARPU_NCPU.
 * Writes  one count of StarPU's users (service.h), from the first call that needs workers to the end of the
 * context.
 * Invariants: running: this context holds StarPU, and one count of OpenBLAS with one thread (blas.h). */
#pragma once

#include "runtime/exec/starpu/service.h"
#include "tristar_machine.h"

typedef struct tsi_workers {
  tsi_env *env;
  bool allowed;             /* the context may use StarPU */
  tsi_starpu_wishes wishes; /* its scheduler is the text below */
  char scheduler[64];
  pthread_mutex_t lock; /* guards all below */
  bool running;
  double start_seconds; /* that it took this context to start StarPU; 0: it has not, or found it running */
} tsi_workers;

/* Takes what the configuration asks for, which is checked later. Errors: RUNTIME; nothing is held then. */
TRISTAR_CHECKED tristar_status tsi_workers_init(tsi_env *env, tsi_workers *workers,
                                                const tristar_config *config);
/* Lets go of StarPU. Not from inside a StarPU task. */
void tsi_workers_finish(tsi_workers *workers);

/* Starts StarPU or joins its users. start_seconds, if not NULL, is increased by the time that this call took
 * for it, so that others can leave that out of theirs. Errors: ARGUMENT, RUNTIME, NO_WORKER; UNSUPPORTED in a
 * context without StarPU. */
TRISTAR_CHECKED tristar_status tsi_workers_need(tsi_workers *workers, double *start_seconds);
/* start_seconds so far. */
double tsi_workers_start_seconds(tsi_workers *workers);
/* A clock that stands still while this context starts StarPU. */
double tsi_workers_clock(tsi_workers *workers);

/* CPU workers that StarPU will have if it is asked for so many (0: its default), and that run tasks:
 * STARPU_NCPU, which has precedence, or `asked`, or the cores of this process; at most those that StarPU was
 * compiled for. */
int tsi_expected_cpu_workers(int asked);
/* Cores that will share work without tasks (helpers.h), the caller's included: the same without StarPU's
 * limit, but not more than this process has cores where that exceeds the limit. */
int tsi_expected_helping_cores(int asked);

/* tristar_get_starpu and tristar_get_worker, whose memory is the caller's. */
TRISTAR_CHECKED tristar_status tsi_workers_describe(tsi_workers *workers, tristar_starpu_info *info);
bool tsi_workers_name(tsi_workers *workers, int i, char *name, size_t size, int *core);
