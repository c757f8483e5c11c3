/* The context: messages, memory, log, and whether StarPU is ours or borrowed.
 *
 * Reads   tristar_config, TRISTAR_CHECK, TRISTAR_CALIBRATION, TRISTAR_IDLE, TRISTAR_ISA and the calibration
 * of the machine. Writes  StarPU's state, only if the program had not started StarPU: it is started by the
 * first call that needs workers and stopped by tristar_destroy. Invariants: env is the first member;
 * starpu_owned implies starpu_running. */
#ifndef TSI_RUNTIME_CONTEXT_H
#define TSI_RUNTIME_CONTEXT_H

#include "runtime/base/env.h"

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
  int workers;          /* asked for; 0: StarPU's default */
  int first_core;       /* of the workers; -1: StarPU's choice */
  bool idle_sleep;      /* workers of a StarPU of ours sleep when idle, see idle.h */
  const char *isa;      /* instruction set of the kernels; text of theirs */
  char scheduler[64];   /* asked for; "": StarPU's default rules, then lws */
  pthread_mutex_t lock; /* guards all below */
  bool starpu_running;  /* started by us or found running */
  bool starpu_owned;    /* started by us */
  tristar_calibration calibration;
  struct hwloc_topology *topology; /* NULL: nobody has asked; see topology.h */
};

static inline tsi_env *tsi_context_env(tristar_t *ts) {
  return &ts->env;
}

/* Starts StarPU or finds it running. Errors: RUNTIME, NO_WORKER; UNSUPPORTED in a context without StarPU. */
TRISTAR_CHECKED tristar_status tsi_context_need_starpu(tristar_t *ts);

/* StarPU is ours and its idle workers sleep. Under the lock, or where StarPU is known to run. */
static inline bool tsi_context_sleeps(const tristar_t *ts) {
  return ts->starpu_owned && ts->idle_sleep;
}

/* StarPU runs, and its workers poll when they are idle: it is not ours, or they are not to sleep. */
bool tsi_context_polls(tristar_t *ts);

/* CPU workers that StarPU will have if it is asked for so many (0: its default): STARPU_NCPU, which has
 * precedence, or `asked`, or the cores of this process. */
int tsi_expected_cpu_workers(int asked);

#endif
