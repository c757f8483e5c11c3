/* TriStar inside a StarPU application: StarPU is borrowed, several threads and a task use plans, the
 * application's own tasks are not affected, and a missing CPU worker is a clear error. */
#include <pthread.h>
#include <starpu.h>

#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/host_task.h"

#define THREADS 3
#define SOLVES 25

typedef struct job {
  flow *f;
  double *x;
  const double *b;
  tristar_status status;
} job;

static void *solve_many(void *arg) {
  job *j = arg;
  const int64_t n = j->f->view.rows;
  for (int k = 0; k < SOLVES && j->status == TRISTAR_OK; k++)
    j->status = tristar_solve(j->f->plan, TRISTAR_N, 1, j->b, n, j->x, n);
  return NULL;
}

static void solve_in_task(void *buffers[], void *arg) {
  (void)buffers;
  (void)solve_many(*(void **)arg);
}
static struct starpu_codelet codelet = {.cpu_funcs = {solve_in_task}, .nbuffers = 0};

static volatile int release_foreign;
static void wait_for_release(void *buffers[], void *arg) {
  (void)buffers;
  (void)arg;
  while (!get_flag(&release_foreign)) starpu_sleep(0.001f);
}
static struct starpu_codelet foreign_codelet = {.cpu_funcs = {wait_for_release}, .nbuffers = 0};

int main(void) {
  flow f;
  job jobs[THREADS];
  pthread_t threads[THREADS];
  CHECK(starpu_init(NULL) == 0);
  tristar_t *ts = open_with_starpu(0, false);
  struct starpu_task *foreign = submit(&foreign_codelet, NULL); /* never ends: no call may wait for it */
  flow_create(ts, "poisson3d7", 12, TRISTAR_ENGINE_TASKS, 20000, &f);
  const size_t n = (size_t)f.view.rows;
  double *b = xmalloc(n * sizeof *b), *expected = xmalloc(n * sizeof *expected);
  fill_random(b, (int64_t)n, 2);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, (int64_t)n, expected, (int64_t)n));
  for (int t = 0; t < THREADS; t++) {
    jobs[t] = (job){&f, xmalloc(n * sizeof(double)), b, TRISTAR_OK};
    CHECK(pthread_create(&threads[t], NULL, solve_many, &jobs[t]) == 0);
  }
  for (int t = 0; t < THREADS; t++) CHECK(pthread_join(threads[t], NULL) == 0);
  for (int t = 0; t < THREADS; t++) {
    CHECK_OK(jobs[t].status);
    CHECK_MSG(memcmp(jobs[t].x, expected, n * sizeof *expected) == 0, "thread %d has other bits", t);
    memset(jobs[t].x, 0, n * sizeof *expected);
  }
  void *arg = &jobs[0]; /* a StarPU task may call the library too */
  struct starpu_task *task = submit(&codelet, &arg);
  CHECK(starpu_task_wait(task) == 0);
  CHECK_OK(jobs[0].status);
  CHECK(memcmp(jobs[0].x, expected, n * sizeof *expected) == 0);
  flow_destroy(&f);
  close_context(&ts);
  CHECK(starpu_is_initialized()); /* the program started StarPU, so it still runs */
  set_flag(&release_foreign, 1);
  CHECK(starpu_task_wait(foreign) == 0);
  for (int t = 0; t < THREADS; t++) free(jobs[t].x);
  free(b);
  free(expected);
  starpu_shutdown();
  return 0;
}
