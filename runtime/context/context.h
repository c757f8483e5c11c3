/* The context: memory and log, and the services that all its objects use: workers, properties of the machine,
 * the count of solves in flight.
 *
 * Reads   tristar_config, TRISTAR_CHECK, TRISTAR_CALIBRATION, TRISTAR_IDLE, TRISTAR_ISA.
 * Writes  its members.
 * Invariants: env is the first member; the context ends with its last owner (env.life): the program, from
 * tristar_create to tristar_destroy, or an object. */
#pragma once

#include <stddef.h>

#include "dag/factor/front_grain.h"
#include "runtime/context/solves.h"
#include "runtime/machine/machine.h"
#include "runtime/exec/starpu/helpers.h"
#include "runtime/exec/starpu/workers.h"

struct tristar_s {
  tsi_env env;
  tsi_solves solves;
  tsi_workers workers;
  tsi_machine machine;
  tsi_helpers helpers;
  tsi_factorization_options fronts; /* how fronts are cut and shared */
  const char *isa;                  /* instruction set of the kernels; their static text */
  atomic_bool blas_reported;        /* the log has the warning that OpenBLAS is slow here */
  atomic_bool dropped;              /* by tristar_destroy: it exists only for its objects */
};
_Static_assert(offsetof(struct tristar_s, env) == 0, "tsi_context_env");

/* Calls run(arg), which may wait for tasks and end the context: here or, inside a StarPU task, in a new
 * thread. A failure is logged, and run is not called then. */
void tsi_context_call_waiting(tristar_t *ts, void (*run)(void *arg), void *arg);

/* tsi_workers_need of the context. */
TRISTAR_CHECKED tristar_status tsi_context_need_starpu(tristar_t *ts, double *start_seconds);
