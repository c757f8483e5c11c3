/* Real matrices: a walk of device tables solves as the plan does. The folder: TRISTAR_DATA, or ../shared/data
 * next to the sources. */
#include "tests/support/context.h"
#include "tests/support/data.h"
#include "tests/support/device_solve.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

/* Bound of the difference between two orders of sums, relative to the largest entry of x. It depends on the
 * condition. */
static const struct {
  const char *file;
  tristar_method method;
  double tolerance;
} sources[] = {
    {"bcsstk07.mtx.gz", TRISTAR_METHOD_LLT, 1e-6},
    {"494_bus.mtx.gz", TRISTAR_METHOD_LLT, 1e-8},
    {"gr_30_30.mtx.gz", TRISTAR_METHOD_LLT, 1e-10},
    {"mhd1280b.mtx.gz", TRISTAR_METHOD_LLT, 1e-5},
    {"sherman1.mtx.gz", TRISTAR_METHOD_LDLT, 1e-9},
    {"hangGlider_2.mtx.gz", TRISTAR_METHOD_LDLT, 1e-5},
    {"KKT_POWELL20.mtx.gz", TRISTAR_METHOD_LDLT, 1e-8},
    {"nlevp_railtrack_sB.mtx.gz", TRISTAR_METHOD_LU, 1e-5},
    {"west0479.mtx.gz", TRISTAR_METHOD_LU, 1e-6},
    {"orsirr_1.rua.gz", TRISTAR_METHOD_LU, 1e-8},
    {"young1c.mtx.gz", TRISTAR_METHOD_LU, 1e-8},
    {"utm300.rua.gz", TRISTAR_METHOD_LU, 1e-7},
};

static void check_source(tristar_t *ts, size_t k, double node_bytes) {
  char path[1024];
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  snprintf(path, sizeof path, "%s/%s", data_folder(), sources[k].file);
  tristar_view view = read_view(ts, path, &matrix);
  options.method = sources[k].method;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  CLEANUP(device_solver_close) device_solver s = device_solver_open(plan, node_bytes);
  for (int op = 0; op < 3; op++)
    device_compare(&s, (const tristar_op[]){TRISTAR_N, TRISTAR_T, TRISTAR_C}[op], TRISTAR_PART_ALL, 1,
                   sources[k].tolerance);
}

int test_device_data(int argc, char **argv) {
  subtests_begin(&argc, argv);
  char path[1024];
  snprintf(path, sizeof path, "%s/INDEX.tsv", data_folder());
  FILE *index = fopen(path, "r");
  if (index == NULL) SKIP("no real matrices: %s cannot be read", path);
  fclose(index);
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
    RUN(check_source(ts, k, k % 2 ? 2000 : 16000));
  return 0;
}
