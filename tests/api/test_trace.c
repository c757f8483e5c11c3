/* tristar_trace and tristar_plan_get_solve_stats: every task and step once, times in the order of the edges,
 * both chains, sums, the bits of tristar_solve; plans without tasks, level sets, pushes, the partitioned
 * inverse, several blocks of right-hand sides; wrong calls and failing allocations. */
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tristar_trace.h"
#include "tristar_solve.h"

enum { NRHS_MOST = 70 };

/* The items of a list are in a legal order, and each item ends before its successors start. */
static void check_list(const tristar_trace_list *list, int workers, double seconds) {
  int64_t edges = 0;
  for (int64_t k = 0; k < list->count; k++) {
    const tristar_trace_item *item = &list->item[k];
    CHECK(item->worker >= 0 && item->worker < workers);
    CHECK(item->start >= 0 && item->start <= item->end && item->end <= seconds);
    CHECK((unsigned)item->kind < TRISTAR_STEP_KINDS && item->name != NULL && item->bytes >= 0);
    CHECK(item->first_before == edges);
    edges += item->befores;
    for (int64_t e = item->first_before; e < edges; e++) {
      CHECK(list->before[e] >= 0 && list->before[e] < k);
      CHECK_MSG(list->item[list->before[e]].end <= item->start, "item %d begins %g s early", (int)k,
                list->item[list->before[e]].end - item->start);
    }
  }
  CHECK(edges == list->edges);
}

/* The critical items form a chain of edges, and their durations add up to critical_seconds. No other chain
 * is longer. */
static void check_critical(const tristar_trace_list *list) {
  double *longest = xcalloc((size_t)list->count + 1, sizeof *longest), sum = 0, most = 0;
  int64_t previous = -1;
  for (int64_t k = 0; k < list->count; k++) {
    const tristar_trace_item *item = &list->item[k];
    int joined = previous < 0;
    for (int64_t e = item->first_before; e < item->first_before + item->befores; e++) {
      longest[k] = fmax(longest[k], longest[list->before[e]]);
      if (list->before[e] == previous) joined = 1;
    }
    longest[k] += item->end - item->start;
    most = fmax(most, longest[k]);
    if (!item->critical) continue;
    CHECK_MSG(joined, "critical item %d does not wait for %d", (int)k, (int)previous);
    previous = k;
    sum += item->end - item->start;
  }
  CHECK(list->count == 0 || previous >= 0);
  CHECK(fabs(sum - most) <= 1e-9 * most && fabs(list->critical_seconds - most) <= 1e-9 * most);
  free(longest);
}

/* Tasks of one worker do not overlap. The bounding tasks lead from the end back to the beginning. */
static void check_tasks(const tristar_trace_t *t) {
  const tristar_trace_list *tasks = &t->tasks;
  int64_t steps = 0, binding = 0;
  double bytes = 0, last = 0;
  for (int64_t k = 0; k < tasks->count; k++) {
    const tristar_trace_item *item = &tasks->item[k];
    CHECK(item->first_step == steps);
    CHECK((item->steps == 0) == (item->kind == TRISTAR_STEP_BARRIER));
    CHECK((item->steps > 1) == (item->kind == TRISTAR_STEP_BUNDLE));
    for (int64_t q = 0; q < item->steps; q++) {
      const tristar_trace_item *step = &t->steps.item[steps + q];
      CHECK(step->steps == 1 && step->first_step == steps + q && step->worker == item->worker);
      CHECK(q == 0 ? step->start == item->start : step->start == step[-1].end);
      bytes += step->bytes;
    }
    if (item->steps > 0) CHECK(t->steps.item[steps + item->steps - 1].end == item->end);
    steps += item->steps;
    bytes -= item->bytes;
    binding += item->binding;
    last = fmax(last, item->end);
    for (int64_t j = 0; j < k; j++)
      if (tasks->item[j].worker == item->worker)
        CHECK(tasks->item[j].end <= item->start || item->end <= tasks->item[j].start);
  }
  CHECK(steps == t->steps.count && fabs(bytes) < 1);
  CHECK(tasks->count == 0 || binding > 0);
  for (int64_t k = 0; k < tasks->count; k++)
    if (tasks->item[k].end == last) CHECK(tasks->item[k].binding || binding > 1);
}

/* Counts the steps of this kind for each chunk. */
static void count_steps(const tristar_trace_t *t, tristar_step_kind kind, int *count) {
  for (int64_t k = 0; k < t->steps.count; k++) {
    const tristar_trace_item *step = &t->steps.item[k];
    if (step->kind != kind) continue;
    CHECK(step->number == step->chunk && step->chunk >= 0 && step->chunk < t->steps.count);
    count[step->chunk]++;
  }
}

/* Each chunk and slice has one step per direction and block. A chunk of products has a read and a write; on
 * a device it has them in addition to its sweeps. */
static void check_steps(const tristar_trace_t *t, int blocks) {
  static const tristar_step_kind kinds[] = {TRISTAR_STEP_FORWARD_CHUNK, TRISTAR_STEP_READ,
                                            TRISTAR_STEP_BACKWARD_CHUNK, TRISTAR_STEP_WRITE};
  const size_t most = (size_t)t->steps.count + 1;
  int *count = xcalloc(4 * most, sizeof *count), slices = 0;
  for (size_t k = 0; k < 4; k++) count_steps(t, kinds[k], count + k * most);
  for (int64_t k = 0; k < t->steps.count; k++)
    slices += (t->steps.item[k].kind == TRISTAR_STEP_FORWARD_SLICE) -
              (t->steps.item[k].kind == TRISTAR_STEP_BACKWARD_SLICE);
  CHECK(slices == 0);
  bool more = true;
  for (size_t c = 0; c < most; c++) {
    const int forward = count[c], read = count[most + c], backward = count[2 * most + c],
              write = count[3 * most + c];
    CHECK(forward == backward && read == write);
    CHECK((forward == blocks && (read == 0 || read == blocks)) ||
          (forward == 0 && (read == blocks || read == 0)));
    CHECK(more || forward + read == 0); /* chunks are numbered without gaps */
    more = forward + read > 0;
  }
  free(count);
}

static void check_stats(const tristar_plan_t *plan, const tristar_trace_t *t, int64_t solves) {
  tristar_solve_stats s;
  double compute = 0, traced = 0, bytes = 0, of_worker, idle;
  tristar_plan_get_solve_stats(plan, &s);
  CHECK(s.solves == solves && s.in_flight == 0 && s.workers == t->workers && s.tasks == t->tasks.count);
  CHECK(s.solve_seconds > 0 && s.solve_seconds <= t->seconds);
  for (int w = 0; w < s.workers; w++) {
    tristar_plan_get_worker_seconds(plan, w, &of_worker, &idle);
    CHECK(of_worker >= 0 && idle >= 0 && of_worker <= s.compute_seconds.max && idle <= s.idle_seconds.max);
    CHECK(of_worker + idle >= s.solve_seconds * (1 - 1e-9));
    compute += of_worker;
  }
  for (int64_t k = 0; k < t->tasks.count; k++) {
    traced += t->tasks.item[k].end - t->tasks.item[k].start;
    bytes += t->tasks.item[k].bytes;
  }
  CHECK(fabs(compute - s.compute_seconds.total) <= 1e-9 && compute >= traced - 1e-9);
  if (strcmp(t->scheduler, "serial") != 0)
    CHECK(compute <= traced + 1e-9);
  else
    CHECK(compute == s.solve_seconds);
  CHECK(s.compute_seconds.min <= s.compute_seconds.mean && s.compute_seconds.mean <= s.compute_seconds.max);
  CHECK(fabs(bytes - s.bytes) <= 1e-9 * bytes);
  tristar_plan_get_worker_seconds(plan, s.workers, &of_worker, &idle);
  CHECK(of_worker == 0 && idle == 0);
}

static void check_plan(tristar_factor_t *factor, const tristar_plan_options *options, tristar_op op,
                       int64_t nrhs, int64_t n, const double *b, double *x, double *expected) {
  const size_t size = (size_t)(n * nrhs) * sizeof *x;
  tristar_plan_stats stats;
  tristar_solve_stats none;
  tristar_trace_t *trace;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, options);
  tristar_plan_get_solve_stats(plan, &none);
  CHECK(none.solves == 0 && none.tasks == 0 && none.workers == 0 && none.compute_seconds.total == 0);
  CHECK_OK(tristar_solve(plan, op, nrhs, b, n, expected, n));
  memset(x, 0, size);
  CHECK_OK(tristar_trace(plan, op, nrhs, b, n, x, n, &trace));
  CHECK(memcmp(x, expected, size) == 0);
  tristar_plan_get_stats(plan, &stats);
  const int blocks = (int)((nrhs + stats.nrhs_block - 1) / stats.nrhs_block);
  CHECK(stats.tasks == 0 ||
        trace->tasks.count == blocks * (stats.tasks - 1)); /* except the task that ends the solve */
  CHECK(trace->workers == stats.workers && strcmp(trace->scheduler, stats.scheduler) == 0);
  check_list(&trace->tasks, trace->workers, trace->seconds);
  check_list(&trace->steps, trace->workers, trace->seconds);
  check_critical(&trace->tasks);
  check_critical(&trace->steps);
  check_tasks(trace);
  check_steps(trace, blocks);
  check_stats(plan, trace, 3);
  CHECK(trace->tasks.critical_seconds <= trace->seconds);
  tristar_trace_destroy(&trace);
  CHECK(trace == NULL);
  CHECK_OK(tristar_solve(plan, op, nrhs, b, n, x, n)); /* later solves are not recorded */
  CHECK(memcmp(x, expected, size) == 0);
}

static void check_failures(tristar_t *ts, tristar_plan_t *plan, int64_t n, const double *b, double *x,
                           const double *expected) {
  tristar_trace_t *trace;
  CHECK_STATUS(tristar_trace(NULL, TRISTAR_N, 1, b, n, x, n, &trace), TRISTAR_ERR_ARGUMENT);
  CHECK(trace == NULL);
  CHECK_STATUS(tristar_trace(plan, TRISTAR_N, 1, b, n, x, n, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_trace(plan, TRISTAR_N, 1, x, n, x, n, &trace), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_trace(plan, TRISTAR_N, 1, b, n - 1, x, n, &trace), TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_trace(plan, TRISTAR_N, 0, b, n, x, n, &trace));
  CHECK(trace->tasks.count == 0 && trace->steps.count == 0);
  tristar_trace_destroy(&trace);
  tristar_trace_destroy(&trace);
  tristar_trace_destroy(NULL);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* requests are kept */
  while (next_failure(&failing)) {
    const tristar_status status = tristar_trace(plan, TRISTAR_N, 1, b, n, x, n, &trace);
    end_failure(&failing, status);
    CHECK((trace == NULL) == (status != TRISTAR_OK));
    tristar_trace_destroy(&trace);
  }
  CHECK_MSG(failing.count > 10, "%d allocations failed", (int)failing.count);
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
  CHECK(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
}

/* Requests in flight, and finished requests. */
static void check_in_flight(tristar_plan_t *plan, int64_t n, const double *b, double *x) {
  tristar_request_t *request[2];
  tristar_solve_stats stats;
  tristar_plan_get_solve_stats(plan, &stats);
  const int64_t before = stats.solves;
  for (int k = 0; k < 2; k++) CHECK_OK(tristar_solve_start(plan, NULL, 1, b, x + k * n, &request[k]));
  tristar_plan_get_solve_stats(plan, &stats);
  CHECK(stats.in_flight >= 1 && stats.in_flight <= 2 && stats.in_flight + stats.solves == before + 2);
  for (int k = 0; k < 2; k++) CHECK_OK(tristar_wait(&request[k], NULL));
  tristar_plan_get_solve_stats(plan, &stats);
  CHECK(stats.in_flight == 0 && stats.solves == before + 2);
}

static void run(tristar_t *ts, const char *kind, int64_t k) {
  CLEANUP(flow_destroy) flow f;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  flow_create(ts, kind, k, TRISTAR_ENGINE_TASKS, 20000, &f);
  const int64_t n = f.view.rows;
  const size_t size = NRHS_MOST * (size_t)n * sizeof(double);
  OWNED double *b = xmalloc(size), *x = xmalloc(size), *expected = xmalloc(size);
  fill_random(b, NRHS_MOST * n, 7);
  options.chunk_bytes_max = 20000;
  options.engine = TRISTAR_ENGINE_TASKS;
  check_plan(f.factor, &options, TRISTAR_N, 1, n, b, x, expected);
  check_plan(f.factor, &options, TRISTAR_T, NRHS_MOST, n, b, x, expected);
  options.updates = TRISTAR_UPDATES_PUSH;
  check_plan(f.factor, &options, TRISTAR_N, 2, n, b, x, expected);
  options.scheduling = TRISTAR_SCHEDULING_LEVELS;
  check_plan(f.factor, &options, TRISTAR_N, 1, n, b, x, expected);
  options.kernel = TRISTAR_KERNEL_SPMV;
  check_plan(f.factor, &options, TRISTAR_N, 1, n, b, x, expected);
  tristar_plan_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL;
  check_plan(f.factor, &options, TRISTAR_N, 1, n, b, x, expected);
  options.chunk_bytes_max = 20000;
  check_plan(f.factor, &options, TRISTAR_N, NRHS_MOST, n, b, x, expected);
  CHECK_OK(tristar_solve(f.plan, TRISTAR_N, 1, b, n, expected, n));
  check_failures(ts, f.plan, n, b, x, expected);
  check_in_flight(f.plan, n, b, x);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  RUN(run(ts, "poisson3d7", 11));
  RUN(run(ts, "convdiff3d", 9));
  return 0;
}
