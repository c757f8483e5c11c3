/* The context: messages, memory, log, and whether StarPU is ours or borrowed.
 *
 * Reads   tristar_config, TRISTAR_CHECK, TRISTAR_CALIBRATION, TRISTAR_IDLE and the calibration of the
 * machine. Writes  StarPU's state, only if the program had not started StarPU: it is started by the first
 * call that needs workers and stopped by tristar_destroy. Invariants: env is the first member; starpu_owned
 * implies starpu_running. */
#ifndef TSI_RUNTIME_CONTEXT_H
#define TSI_RUNTIME_CONTEXT_H

#include "runtime/base/env.h"

struct tristar_s {
  tsi_env env;
  bool use_starpu;
  int workers;          /* asked for; 0: StarPU's default */
  int first_core;       /* of the workers; -1: StarPU's choice */
  bool idle_sleep;      /* workers of a StarPU of ours sleep when idle, see idle.h */
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

/* CPU workers that StarPU will have if it is asked for so many (0: its default): STARPU_NCPU, which has
 * precedence, or `asked`, or the cores of this process. */
int tsi_expected_cpu_workers(int asked);

#endif
