/* Inserted solves that fail, because memory is missing or StarPU refuses a task. Each failure is reported
 * once, the handles are released, nothing leaks, and the next solve works. */
#include <errno.h>
#include <stdatomic.h>
#include <starpu.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/stream.h"
#include "tests/support/subtests.h"

/* The k-th allocation fails, during the insertion or later. b is copied and gathered from two blocks of
 * rows. */
static void check_allocations(tristar_t *ts, tristar_engine engine) {
  CLEANUP(flow_destroy) flow f;
  const int64_t nrhs = 70;
  int failed_here = 0, failed_later = 0;
  flow_create(ts, "convdiff3d", 4, engine, 3000, &f);
  const int64_t n = f.view.rows, half = n / 2;
  OWNED double *b = xmalloc((size_t)(n * nrhs) * sizeof *b);
  fill_random(b, n * nrhs, 3);
  starpu_data_handle_t piece[2];
  for (int k = 0; k < 2; k++)
    starpu_matrix_data_register(&piece[k], STARPU_MAIN_RAM, (uintptr_t)(b + k * half * nrhs), (uint32_t)half,
                                (uint32_t)half, (uint32_t)nrhs, sizeof *b);
  CHECK(n == 2 * half);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* a plan that is created in a round */
  while (!failing.over) {
    tristar_plan_options plan_options = DEFAULTS(tristar_plan_options);
    tristar_insert_options options = DEFAULTS(tristar_insert_options);
    end_result t = {0, TRISTAR_OK};
    const size_t before = memory_now(ts);
    plan_options.engine = engine;
    plan_options.chunk_bytes_max = 3000;
    tristar_plan_t *plan = NEW_PLAN(f.factor, &plan_options);
    options.end = record_end;
    options.end_arg = &t;
    CHECK(next_failure(&failing));
    tristar_status status = tristar_solve_insert_pieces(plan, &options, 2, piece, 2, piece);
    const bool inserted = status == TRISTAR_OK;
    failed_here += !inserted;
    const tristar_status later = tristar_plan_wait(plan);
    CHECK(t.calls == inserted && t.status == later);
    if (inserted) status = later;
    failed_later += later != TRISTAR_OK;
    end_failure(&failing, status);
    CHECK_OK(tristar_plan_wait(plan)); /* an error is returned only once */
    CHECK_OK(tristar_solve_insert_pieces(plan, NULL, 2, piece, 2, piece));
    tristar_plan_destroy(&plan); /* while the solve may still run */
    for (int i = 0; i < 2; i++) CHECK(starpu_data_acquire(piece[i], STARPU_W) == 0);
    fill_random(b, n * nrhs,
                3); /* x replaces b: in thousands of rounds it would leave the range of numbers */
    for (int i = 0; i < 2; i++) starpu_data_release(piece[i]);
    while (memory_now(ts) != before) { /* the memory of the last solve is freed by a later call */
      CHECK_OK(tristar_plan(f.factor, &plan_options, &plan));
      tristar_plan_destroy(&plan);
    }
  }
  CHECK(failed_here > 2 && failed_later > 0);
  for (int k = 0; k < 2; k++) starpu_data_unregister(piece[k]);
}

/* The library's k-th submission of a task fails, for every k. The error is returned, the handles are
 * released, and the next solve succeeds. */
static atomic_int submissions, failing_submission;
#define NOTED 1000
static struct starpu_codelet *noted[NOTED]; /* codelets in the order of submission */
int __real_starpu_task_submit(struct starpu_task *task);
__attribute__((visibility("default"))) int __wrap_starpu_task_submit(struct starpu_task *task);
int __wrap_starpu_task_submit(struct starpu_task *task) {
  const int number = atomic_fetch_add(&submissions, 1);
  if (number < NOTED) noted[number] = task->cl;
  return number + 1 == failing_submission ? -ENODEV : __real_starpu_task_submit(task);
}

/* Checks a solve without failures. Returns its number of tasks, and records their codelets. */
static int solve_well(const flow *f, const stream *s) {
  failing_submission = submissions = 0;
  CHECK_OK(tristar_solve(f->plan, TRISTAR_N, 1, s->b, s->n, s->x, s->n));
  CHECK(memcmp(s->x, s->expected, (size_t)s->n * sizeof(double)) == 0);
  return submissions;
}

static void check_submissions(const flow *f) {
  CLEANUP(stream_destroy) stream s;
  tristar_status status = TRISTAR_ERR_NO_WORKER;
  int failed = 0;
  stream_create(f->plan, f->view.rows, 3, &s);
  for (int k = 1; status != TRISTAR_OK; k++) {
    tristar_insert_options options = DEFAULTS(tristar_insert_options);
    end_result t = {0, TRISTAR_OK};
    options.end = record_end;
    options.end_arg = &t;
    submissions = 0;
    failing_submission = k;
    CHECK_OK(tristar_solve_insert_with(f->plan, &options, s.hb, s.hx));
    status = tristar_plan_wait(f->plan);
    failing_submission = 0;
    CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_NO_WORKER);
    CHECK(t.calls == 1 && t.status == status);
    failed += status != TRISTAR_OK;
    insert(&s, count_end);
    CHECK_OK(tristar_plan_wait(f->plan));
    CHECK(s.ended == k && s.wrong == 0);
  }
  CHECK(failed > 0);
  static struct starpu_codelet *before[NOTED];
  const int tasks = solve_well(f, &s);
  CHECK(tasks < NOTED);
  memcpy(before, noted, sizeof before);
  for (int k = 2; k <= tasks; k += 1 + tasks / 5) {
    submissions = 0;
    failing_submission = k;
    CHECK_STATUS(tristar_solve(f->plan, TRISTAR_N, 1, s.b, s.n, s.x, s.n), TRISTAR_ERR_NO_WORKER);
    CHECK(solve_well(f, &s) == tasks); /* the same tasks with the same models and colours */
    CHECK(memcmp(noted, before, (size_t)tasks * sizeof *before) == 0);
  }
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tristar_engine engines[] = {TRISTAR_ENGINE_SERIAL, TRISTAR_ENGINE_TASKS};
  flow f;
  CHECK(starpu_init(NULL) == 0);
  tristar_t *ts = open_with_starpu(0, false);
  for (int e = 0; e < 2; e++) {
    RUN(check_allocations(ts, engines[e]));
    flow_create(ts, "convdiff3d", 5, engines[e], 4000, &f);
    RUN(check_submissions(&f));
    flow_destroy(&f);
  }
  close_context(&ts);
  starpu_shutdown();
  return 0;
}
