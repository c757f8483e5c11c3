/* No CPU worker: a clear error, nothing hangs, and the context still works without tasks. */
#include "tests/support/context.h"
#include "tests/support/flow.h"

int main(void) {
  tristar_matrix_t *m;
  tristar_analysis_t *an;
  tristar_factor_t *f;
  tristar_view v;
  tristar_plan_t *p;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  char message[512];
  setenv("STARPU_NCPU", "0", 1);
  setenv("STARPU_NOPENCL", "0", 1);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 5, &m));
  tristar_matrix_get_view(m, &v);
  CHECK_OK(tristar_analyze(ts, &v, NULL, &an));
  CHECK_OK(tristar_factor(an, v.values, &f)); /* one task: needs no worker */
  options.engine = TRISTAR_ENGINE_TASKS;
  CHECK_STATUS(tristar_plan(f, &options, &p), TRISTAR_ERR_NO_WORKER);
  CHECK(p == NULL);
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, "no ") != NULL, "message '%s'", message);
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(f, &options, &p));
  tristar_plan_destroy(&p);
  tristar_factor_destroy(&f);
  tristar_analysis_destroy(&an);
  tristar_matrix_destroy(&m);
  return 0;
}
