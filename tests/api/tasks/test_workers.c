/* No CPU worker: a clear error, nothing hangs, and the context still works without tasks. */
#include "tests/support/context.h"
#include "tests/support/flow.h"

int main(void) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  setenv("STARPU_NCPU", "0", 1);
  setenv("STARPU_NOPENCL", "0", 1);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *p;
  tristar_view v = generated_view(ts, "s2d9pt", 5, &m);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, NULL);
  CHECK_OK(tristar_factor(an, v.values, &f)); /* a single task needs no worker */
  options.engine = TRISTAR_ENGINE_TASKS;
  CHECK_STATUS(tristar_plan(f, &options, &p), TRISTAR_ERR_NO_WORKER);
  CHECK(p == NULL);
  CHECK_ERROR(ts, "no ");
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(f, &options, &p));
  return 0;
}
