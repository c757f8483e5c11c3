/* The context: memory, log, and what the program wants of StarPU, which the first call that needs workers
 * starts or joins (starpu/service.h).
 *
 * Reads   tristar_config, TRISTAR_CHECK, TRISTAR_CALIBRATION, TRISTAR_IDLE, TRISTAR_ISA and the calibration
 * of the machine. Writes  one count of StarPU's users. Invariants: env is the first member; starpu_running:
 * this context holds StarPU. */
#ifndef TSI_RUNTIME_CONTEXT_H
#define TSI_RUNTIME_CONTEXT_H

#include "runtime/base/env.h"
#include "runtime/starpu/service.h"

/* Solves that nobody waits for: see in_flight.h. */
typedef struct tsi_solves {
  pthread_mutex_t lock;    /* guards all below, and what plans say of it */
  pthread_cond_t changed;  /* a solve has ended */
  int64_t unfinished;      /* of all plans */
  tristar_plan_t *retired; /* plans that are to be freed where that may wait */
  pthread_mutex_t order;   /* held while an insertion asks for its handles */
} tsi_solves;

struct tristar_s {
  tsi_env env;
  tsi_solves solves;
  bool use_starpu;
  tsi_starpu_wishes wishes; /* its scheduler is the text below */
  char scheduler[64];
  const char *isa;       /* instruction set of the kernels; text of theirs */
  pthread_mutex_t lock;  /* guards all below */
  bool starpu_running;   /* and held by this context */
  atomic_bool blas_told; /* that OpenBLAS is slow here */
  double start_seconds;  /* that it took this context to start StarPU; 0: it has not, or found it running */
  tristar_calibration calibration;
  struct hwloc_topology *topology; /* NULL: nobody has asked; see topology.h */
};

static inline tsi_env *tsi_context_env(tristar_t *ts) {
  return &ts->env;
}

/* Starts StarPU or joins its users. start_seconds, if not NULL, is increased by the time that this call took
 * for it, so that others can leave that out of theirs. Errors: ARGUMENT, RUNTIME, NO_WORKER; UNSUPPORTED in a
 * context without StarPU. */
TRISTAR_CHECKED tristar_status tsi_context_need_starpu(tristar_t *ts, double *start_seconds);

/* CPU workers that StarPU will have if it is asked for so many (0: its default): STARPU_NCPU, which has
 * precedence, or `asked`, or the cores of this process. */
int tsi_expected_cpu_workers(int asked);

#endif
