/* Errors as a program meets them: each thread has its own latest message, NULL in the place of an object
 * leaves one, and every failed call sends a line to the log, once. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_adapter.h"
#include "tristar_device.h"
#include "tristar_starpu.h"
#include "tristar_trace.h"
#include "tristar_layout.h"

static tristar_t *ts;
static flow f;

/* ---- NULL ---------------------------------------------------------------------------------------------- */

/* The call must return TRISTAR_ERR_ARGUMENT, and replace the latest message of the calling thread. */
#define REFUSED(function, call, object)                                                                      \
  do {                                                                                                       \
    char text_[512];                                                                                         \
    (void)tristar_adapter_fail(NULL, TRISTAR_ERR_IO, "nothing", "nowhere", 1, "something else");             \
    CHECK_STATUS(call, TRISTAR_ERR_ARGUMENT);                                                                \
    tristar_get_error(ts, text_, sizeof text_);                                                              \
    CHECK_MSG(strstr(text_, object) != NULL && strstr(text_, "NULL") != NULL &&                              \
                  strstr(text_, function) != NULL,                                                           \
              "\"%s\"", text_);                                                                              \
  } while (0)

static void check_null(void) {
  int marks[16];
  void *out = marks; /* any pointer: the call must set it to NULL */
  double b[8] = {0}, x[8];
  tristar_view view;
  tristar_calibration calibration;
  tristar_dense dense;
  tristar_starpu_info info;
  tristar_factors factors;
  tristar_profile_result profile;
  tristar_traffic traffic;
  tristar_memory_stats memory;
  tristar_analysis_stats analysis;
  tristar_assembly_tree tree;
  tristar_factor_stats factor;
  tristar_plan_stats plan;
  tristar_solve_stats solve;
  tristar_device_vectors vectors = DEFAULTS(tristar_device_vectors);
  int done;
#define MADE(function, call, object)                                                                         \
  do {                                                                                                       \
    out = marks;                                                                                             \
    REFUSED(function, call, object);                                                                         \
    CHECK(out == NULL);                                                                                      \
  } while (0)
  MADE("tristar_analyze", tristar_analyze(NULL, &f.view, NULL, (tristar_analysis_t **)&out), "ts");
  MADE("tristar_factor", tristar_factor(NULL, b, (tristar_factor_t **)&out), "analysis");
  MADE("tristar_plan", tristar_plan(NULL, NULL, (tristar_plan_t **)&out), "factor");
  MADE("tristar_matrix_read", tristar_matrix_read(NULL, "x", (tristar_matrix_t **)&out), "ts");
  MADE("tristar_matrix_generate", tristar_matrix_generate(NULL, "s2d9pt", 3, (tristar_matrix_t **)&out),
       "ts");
  MADE("tristar_matrix_laplacian", tristar_matrix_laplacian(NULL, &f.view, (tristar_matrix_t **)&out), "ts");
  MADE("tristar_import_csr",
       tristar_import_csr(NULL, &f.view, TRISTAR_LOWER, TRISTAR_UNIT, (tristar_factor_t **)&out), "ts");
  MADE("tristar_import_supernodal", tristar_import_supernodal(NULL, &factors, (tristar_factor_t **)&out),
       "ts");
  MADE("tristar_solve_start", tristar_solve_start(NULL, NULL, 1, b, x, (tristar_request_t **)&out), "plan");
  MADE("tristar_trace", tristar_trace(NULL, TRISTAR_N, 1, b, 8, x, 8, (tristar_trace_t **)&out), "plan");
  REFUSED("tristar_create", tristar_create(NULL, NULL), "");
  REFUSED("tristar_analyze", tristar_analyze(ts, &f.view, NULL, NULL), "analysis");
  REFUSED("tristar_factor", tristar_factor(f.analysis, f.view.values, NULL), "factor");
  REFUSED("tristar_factor", tristar_factor(f.analysis, NULL, (tristar_factor_t **)&out), "values");
  REFUSED("tristar_plan", tristar_plan(f.factor, NULL, NULL), "plan");
  REFUSED("tristar_refactor", tristar_refactor(NULL, b), "factor");
  REFUSED("tristar_reimport", tristar_reimport(NULL, &factors), "factor");
  REFUSED("tristar_solve", tristar_solve(NULL, TRISTAR_N, 1, b, 8, x, 8), "plan");
  REFUSED("tristar_solve_with", tristar_solve_with(NULL, NULL, 1, b, x, NULL), "plan");
  REFUSED("tristar_solve_refined", tristar_solve_refined(NULL, TRISTAR_N, 1, b, 8, x, 8, NULL, NULL), "plan");
  REFUSED("tristar_solve_insert", tristar_solve_insert(NULL, TRISTAR_N, NULL, NULL), "plan");
  REFUSED("tristar_solve_device", tristar_solve_device(NULL, TRISTAR_N, 1, &vectors), "plan");
  REFUSED("tristar_solve_device", tristar_solve_device(f.plan, TRISTAR_N, 1, NULL), "vectors");
  REFUSED("tristar_test", tristar_test(NULL, &done), "request");
  REFUSED("tristar_residual", tristar_residual(NULL, TRISTAR_N, 1, b, 8, x, 8, NULL, 8, b), "factor");
  REFUSED("tristar_condition", tristar_condition(NULL, b), "plan");
  REFUSED("tristar_condition", tristar_condition(f.plan, NULL), "reciprocal");
  REFUSED("tristar_profile", tristar_profile(NULL, TRISTAR_N, 1, b, 8, x, 8, 1, &profile), "plan");
  REFUSED("tristar_trace", tristar_trace(f.plan, TRISTAR_N, 1, b, 8, x, 8, NULL), "trace");
  REFUSED("tristar_plan_wait", tristar_plan_wait(NULL), "plan");
  REFUSED("tristar_plan_write_dot", tristar_plan_write_dot(NULL, "x"), "plan");
  REFUSED("tristar_plan_write_dot", tristar_plan_write_dot(f.plan, NULL), "path");
  REFUSED("tristar_layout_traffic", tristar_layout_traffic(NULL, NULL, 1, &traffic), "analysis");
  REFUSED("tristar_layout_traffic", tristar_layout_traffic(f.analysis, NULL, 1, NULL), "out");
  REFUSED("tristar_get_starpu", tristar_get_starpu(NULL, &info), "ts");
  REFUSED("tristar_get_starpu", tristar_get_starpu(ts, NULL), "info");
  REFUSED("tristar_calibrate", tristar_calibrate(NULL, &calibration), "ts");
  REFUSED("tristar_get_calibration", tristar_get_calibration(ts, NULL), "calibration");
  REFUSED("tristar_dense_read", tristar_dense_read(NULL, "x", &dense), "ts");
  REFUSED("tristar_dense_read", tristar_dense_read(ts, NULL, &dense), "path");
  REFUSED("tristar_dense_write", tristar_dense_write(NULL, "x", &dense, NULL), "ts");
  REFUSED("tristar_matrix_write", tristar_matrix_write(NULL, "x", &f.view, NULL), "ts");
  REFUSED("tristar_get_memory", tristar_get_memory(NULL, &memory), "ts");
  REFUSED("tristar_get_memory", tristar_get_memory(ts, NULL), "stats");
  REFUSED("tristar_matrix_get_view", tristar_matrix_get_view(NULL, &view), "matrix");
  REFUSED("tristar_matrix_get_view", tristar_matrix_get_view(f.matrix, NULL), "view");
  REFUSED("tristar_analysis_get_stats", tristar_analysis_get_stats(NULL, &analysis), "analysis");
  REFUSED("tristar_analysis_get_stats", tristar_analysis_get_stats(f.analysis, NULL), "stats");
  REFUSED("tristar_analysis_get_assembly_tree", tristar_analysis_get_assembly_tree(NULL, &tree), "analysis");
  REFUSED("tristar_factor_get_stats", tristar_factor_get_stats(NULL, &factor), "factor");
  REFUSED("tristar_factor_get_stats", tristar_factor_get_stats(f.factor, NULL), "stats");
  REFUSED("tristar_factor_get_determinant", tristar_factor_get_determinant(NULL, NULL), "factor");
  REFUSED("tristar_factor_get_inertia", tristar_factor_get_inertia(NULL, NULL), "factor");
  REFUSED("tristar_null_space", tristar_null_space(NULL, TRISTAR_N, 0, NULL, 1, NULL), "plan");
  REFUSED("tristar_factor_get_order", tristar_factor_get_order(NULL, NULL, NULL, NULL, NULL), "factor");
  REFUSED("tristar_plan_get_stats", tristar_plan_get_stats(NULL, &plan), "plan");
  REFUSED("tristar_plan_get_stats", tristar_plan_get_stats(f.plan, NULL), "stats");
  REFUSED("tristar_plan_get_solve_stats", tristar_plan_get_solve_stats(NULL, &solve), "plan");
  REFUSED("tristar_plan_get_solve_stats", tristar_plan_get_solve_stats(f.plan, NULL), "stats");
  REFUSED("tristar_plan_get_worker_seconds", tristar_plan_get_worker_seconds(NULL, 0, b, x), "plan");
  CHECK(tristar_factor_get_analysis(NULL) == NULL && tristar_plan_get_chunk_of_supernode(NULL) == NULL);
}

/* ---- Threads ------------------------------------------------------------------------------------------- */

#define ROUNDS 2000

static void *fail_with(void *arg) {
  const int64_t number = *(int64_t *)arg;
  double b[8] = {0}, x[8];
  char expected[40], message[512];
  snprintf(expected, sizeof expected, "ldb = %lld,", (long long)number);
  for (int k = 0; k < ROUNDS; k++) {
    CHECK_STATUS(tristar_solve(f.plan, TRISTAR_N, 1, b, number, x, number), TRISTAR_ERR_ARGUMENT);
    CHECK(tristar_get_error(ts, message, sizeof message) == strlen(message));
    CHECK_MSG(strstr(message, expected) != NULL, "\"%s\" is not in \"%s\"", expected, message);
  }
  return NULL;
}

/* Two threads with one plan. Each thread only gets its own messages. */
static void check_threads(void) {
  pthread_t thread[2];
  int64_t number[2] = {-1, -2};
  for (int t = 0; t < 2; t++) CHECK(pthread_create(&thread[t], NULL, fail_with, &number[t]) == 0);
  for (int t = 0; t < 2; t++) CHECK(pthread_join(thread[t], NULL) == 0);
}

static void *look(void *arg) {
  CHECK(tristar_get_error(ts, arg, 512) == 0);
  return NULL;
}

static void check_contexts(void) {
  tristar_t *other;
  tristar_config config;
  pthread_t thread;
  char message[512] = "x";
  CHECK_OK(tristar_create(NULL, &other));
  CHECK_STATUS(tristar_get_starpu(ts, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_get_error(ts, NULL, 0) > 0 && tristar_get_error(other, NULL, 0) == 0);
  CHECK_STATUS(tristar_get_starpu(other, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK(tristar_get_error(other, NULL, 0) > 0);
  CHECK(pthread_create(&thread, NULL, look, message) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(message[0] == '\0');
  tristar_destroy(&other);
  CHECK_OK(tristar_create(NULL, &other)); /* may have the address of the destroyed context */
  CHECK(tristar_get_error(other, NULL, 0) == 0);
  tristar_destroy(&other);
  tristar_config_init(&config);
  config.workers = -3;
  CHECK_STATUS(tristar_create(&config, &other), TRISTAR_ERR_ARGUMENT);
  CHECK(other == NULL && tristar_get_error(NULL, message, sizeof message) > 0);
  CHECK(strstr(message, "-3 workers") != NULL);
}

/* ---- Vectors on a device ------------------------------------------------------------------------------- */

/* Pointers to host memory are refused. Without a device every pointer is refused. Other errors of the
 * arguments are reported first. */
static void check_device(void) {
  const int64_t n = f.view.rows;
  tristar_starpu_info info;
  tristar_device_vectors v = DEFAULTS(tristar_device_vectors);
  char message[512];
  OWNED double *b = xcalloc((size_t)n, sizeof *b);
  CHECK_OK(tristar_get_starpu(ts, &info));
  v.b = v.x = b;
  v.ldb = n, v.ldx = n - 1;
  CHECK_STATUS(tristar_solve_device(f.plan, TRISTAR_N, 1, &v), TRISTAR_ERR_ARGUMENT);
  v.ldx = n + 1;
  CHECK_STATUS(tristar_solve_device(f.plan, TRISTAR_N, 1, &v), TRISTAR_ERR_ARGUMENT);
  CHECK_ERROR(ts, "x is b, but their strides differ");
  v.ldx = n;
  CHECK_STATUS(tristar_solve_device(f.plan, TRISTAR_N, 1, &v),
               info.devices > 0 ? TRISTAR_ERR_ARGUMENT : TRISTAR_ERR_UNSUPPORTED);
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, info.devices > 0         ? "b is not memory of a device"
                            : info.driver[0] == '\0' ? "built without CUDA and HIP"
                                                     : "StarPU has no worker of"),
            "%s", message);
}

/* ---- Log ----------------------------------------------------------------------------------------------- */

typedef struct lines {
  _Atomic(int) errors;
  char last[512];
} lines;

static void keep(void *arg, tristar_log_level level, const char *text) {
  lines *l = arg;
  if (level != TRISTAR_LOG_ERROR) return;
  atomic_fetch_add(&l->errors, 1);
  snprintf(l->last, sizeof l->last, "%s", text);
}

static void check_log(void) {
  tristar_config config = DEFAULTS(tristar_config);
  CLEANUP(tristar_destroy) tristar_t *own;
  lines got = {.errors = 0};
  tristar_factor_t *factor;
  CLEANUP(flow_destroy) flow g;
  char message[512];
  double b[8] = {0}, x[8];
  config.log = keep;
  config.log_arg = &got;
  config.log_level = TRISTAR_LOG_ERROR;
  CHECK_OK(tristar_create(&config, &own));
  flow_create(own, "kkt3d", 2, TRISTAR_ENGINE_AUTO, 0, &g); /* Cholesky may fail first, which is no error */
  CHECK(got.errors == 0);
  CHECK_STATUS(tristar_solve(g.plan, (tristar_op)'Q', 1, b, g.view.rows, x, g.view.rows),
               TRISTAR_ERR_ARGUMENT);
  CHECK(got.errors == 1);
  CHECK_STATUS(tristar_solve_refined(g.plan, (tristar_op)'Q', 1, b, g.view.rows, x, g.view.rows, NULL, NULL),
               TRISTAR_ERR_ARGUMENT);
  CHECK(got.errors == 2); /* one error, although a refined solve calls a solve */
  tristar_get_error(own, message, sizeof message);
  CHECK(strcmp(message, got.last) == 0);
  flow_destroy(&g);
  /* if a worker fails, the call returns the error with its text */
  flow_create(own, "poisson3d7", 20, TRISTAR_ENGINE_AUTO, 0, &g);
  tristar_memory_stats memory;
  CHECK_OK(tristar_get_memory(own, &memory));
  const int64_t before = memory.allocations;
  CHECK_OK(tristar_factor(g.analysis, g.view.values, &factor));
  tristar_factor_destroy(&factor);
  CHECK_OK(tristar_get_memory(own, &memory));
  const int64_t all = memory.allocations - before;
  CHECK(all > 200);
  for (int64_t later = all / 4; later < all; later += all / 5) {
    CHECK_OK(tristar_fail_allocation(own, later));
    got.errors = 0;
    CHECK_STATUS(tristar_factor(g.analysis, g.view.values, &factor), TRISTAR_ERR_MEMORY);
    CHECK(got.errors == 1 && strstr(got.last, "out of memory") != NULL);
    tristar_get_error(own, message, sizeof message);
    CHECK(strcmp(message, got.last) == 0);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CHECK_OK(tristar_create(NULL, &ts));
  flow_create(ts, "poisson3d7", 6, TRISTAR_ENGINE_AUTO, 0, &f);
  RUN(check_null());
  RUN(check_threads());
  RUN(check_contexts());
  RUN(check_device());
  RUN(check_log());
  flow_destroy(&f);
  tristar_destroy(&ts);
  return 0;
}
