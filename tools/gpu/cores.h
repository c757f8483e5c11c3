/* The same solve by one core: the serial executor, as it runs the tasks of a plan. */
#ifndef TSI_TOOLS_GPU_CORES_H
#define TSI_TOOLS_GPU_CORES_H

#include "runtime/exec/steps/execution.h"
#include "tools/gpu/problem.h"

typedef struct core_solve {
  tsi_env *env;
  tsi_steps *steps;
  tsi_index *number; /* steps, in their order */
  tsi_solve_data data;
  tsi_execution execution;
} core_solve;

/* L L^T x = b, right-hand sides one after the other, in the order of the problem's matrix. */
void core_solve_open(problem *p, tsi_index nrhs, const void *b, void *x, core_solve *out);
void core_solve_run(core_solve *s);
void core_solve_close(core_solve *s);

#endif
