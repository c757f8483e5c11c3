/* tristar_profile: figures in their ranges, the same bits as tristar_solve, StarPU's profiling as before;
 * what it refuses. */
#include <starpu.h>
#include <starpu_profiling.h>

#include "tests/support/flow.h"
#include "tests/support/host_task.h"
#include "tests/support/subtests.h"
#include "tristar_trace.h"

static void check_result(const tristar_profile_result *r, int solves) {
  CHECK(r->solves == solves && r->workers == (int)starpu_cpu_worker_get_count());
  CHECK(r->wall_seconds > 0 && r->kernel_seconds > 0);
  CHECK_MSG(r->outside_share >= 0 && r->outside_share < 1, "share %g", r->outside_share);
  CHECK(r->idlest_seconds >= 0 && r->idlest_seconds <= r->busiest_seconds);
  CHECK(r->kernel_seconds <= r->workers * r->busiest_seconds * (1 + 1e-9));
}

typedef struct inner {
  flow *f;
  double *x;
  tristar_status status;
} inner;

static void profile_in_task(void *buffers[], void *arg) {
  inner *in = *(inner **)arg;
  const int64_t n = in->f->view.rows;
  tristar_profile_result result;
  (void)buffers;
  in->status = tristar_profile(in->f->plan, TRISTAR_N, 1, in->x, n, in->x, n, 1, &result);
}
static struct starpu_codelet codelet = {.cpu_funcs = {profile_in_task}, .nbuffers = 0};

static void run(tristar_t *ts, int borrowed) {
  CLEANUP(flow_destroy) flow f;
  tristar_profile_result result;
  tristar_plan_options options;
  struct starpu_profiling_worker_info info;
  flow_create(ts, "poisson3d7", 14, TRISTAR_ENGINE_TASKS, 20000, &f);
  const int64_t n = f.view.rows;
  const size_t size = 3 * (size_t)n * sizeof(double);
  OWNED double *b = xmalloc(size), *x = xcalloc(1, size), *expected = xmalloc(size);
  fill_random(b, 3 * n, 7);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 3, b, n, expected, n));
  CHECK_OK(tristar_profile(f.plan, TRISTAR_N, 3, b, n, x, n, 20, &result));
  check_result(&result, 20);
  CHECK(memcmp(x, expected, size) == 0);
  CHECK(starpu_profiling_status_get() == STARPU_PROFILING_DISABLE);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 3, b, n, x, n));
  CHECK(memcmp(x, expected, size) == 0);
  CHECK_STATUS(tristar_profile(f.plan, TRISTAR_N, 3, b, n, x, n, 0, &result), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_profile(f.plan, TRISTAR_N, 3, b, n, x, n, 1, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_profile(NULL, TRISTAR_N, 3, b, n, x, n, 1, &result), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_profile(f.plan, TRISTAR_N, 3, b, n - 1, x, n, 1, &result), TRISTAR_ERR_ARGUMENT);
  CHECK(starpu_profiling_status_get() ==
        STARPU_PROFILING_DISABLE); /* profiling is off, also after a failure */

  inner in = {&f, x, TRISTAR_OK}, *arg = &in;
  CHECK(starpu_task_wait(submit(&codelet, &arg)) == 0);
  CHECK_STATUS(in.status, TRISTAR_ERR_UNSUPPORTED);

  starpu_profiling_status_set(STARPU_PROFILING_ENABLE); /* the program uses the profiling of StarPU */
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, n, x, n));
  CHECK_STATUS(tristar_profile(f.plan, TRISTAR_N, 1, b, n, x, n, 2, &result),
               borrowed ? TRISTAR_ERR_UNSUPPORTED : TRISTAR_OK);
  CHECK(starpu_profiling_status_get() == STARPU_PROFILING_ENABLE);
  int executed = 0;
  for (int w = 0; w < (int)starpu_worker_get_count(); w++) {
    CHECK(starpu_profiling_worker_get_info(w, &info) == 0);
    executed += info.executed_tasks;
  }
  CHECK(executed > 0 || !borrowed); /* the library does not reset the program's counters */
  starpu_profiling_status_set(STARPU_PROFILING_DISABLE);

  tristar_plan_destroy(&f.plan);
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(f.factor, &options, &f.plan));
  CHECK_STATUS(tristar_profile(f.plan, TRISTAR_N, 1, b, n, x, n, 2, &result), TRISTAR_ERR_UNSUPPORTED);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts;
  CHECK_OK(tristar_create(NULL, &ts));
  RUN(run(ts, 0));
  tristar_destroy(&ts);
  CHECK(starpu_init(NULL) == 0);
  CHECK_OK(tristar_create(NULL, &ts));
  RUN(run(ts, 1));
  tristar_destroy(&ts);
  starpu_shutdown();
  return 0;
}
