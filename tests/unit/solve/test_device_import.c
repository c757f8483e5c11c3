/* Imported factors, L and U of unrelated structures: each has device tables of its own, and a walk with both
 * of them, x in the same rows of the workspace, solves as the plan does. */
#include "tests/support/context.h"
#include "tests/support/device_solve.h"
#include "tests/support/given_factors.h"
#include "tests/support/subtests.h"

static void check_import(tristar_t *ts, int n, bool is_complex, tristar_method method, bool hermitian) {
  CLEANUP(release) dense m = draw(n, is_complex, method, hermitian);
  CLEANUP(release_view) given_view v;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  make_view(&m, 0, true, &v);
  CHECK_OK(tristar_import_supernodal(ts, &v.factors, &f));
  options.engine = TRISTAR_ENGINE_SERIAL;
  options.chunk_bytes_max = 700;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(f, &options);
  CLEANUP(device_solver_close) device_solver s = device_solver_open(plan, 1000);
  CHECK(s.device->sides == (method == TRISTAR_METHOD_LU ? 2 : 1));
  for (int op = 0; op < 3; op++)
    for (int part = 0; part < 3; part++)
      device_compare(&s, (const tristar_op[]){TRISTAR_N, TRISTAR_T, TRISTAR_C}[op],
                     (const tristar_part[]){TRISTAR_PART_ALL, TRISTAR_PART_L, TRISTAR_PART_U}[part], 2, 1e-9);
}

int test_device_import(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (int is_complex = 0; is_complex < 2; is_complex++) {
    RUN(check_import(ts, 1, is_complex, TRISTAR_METHOD_LLT, false));
    RUN(check_import(ts, 120, is_complex, TRISTAR_METHOD_LU, false));
    RUN(check_import(ts, 90, is_complex, TRISTAR_METHOD_LLT, is_complex));
    RUN(check_import(ts, 90, is_complex, TRISTAR_METHOD_LDLT, is_complex));
    RUN(check_import(ts, 90, is_complex, TRISTAR_METHOD_LDLT, false));
  }
  return 0;
}
