/* A function that follows a context sees all phases, with shares between 0 and 1, and cancels calls at any
 * moment: they return CANCELLED within a second, nothing is leaked, and later calls give the bits that they
 * give without a function. Time in which threads wait for a core that others use does not count. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/objects.h"
#include "tests/support/random.h"
#include "tests/support/subtests.h"
#include "tristar_batch.h"
#include "tristar_forecast.h"
#include "tristar_inverse.h"
#include "tristar_matrix.h"
#include "tristar_save.h"
#include "tristar_update.h"

enum { COLUMNS = 200, KINDS = 12, SYSTEMS = 300 };
static int rounds = TSI_TESTS_SANITIZED ? 60 : 120; /* with an argument, 300 */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the seconds that the threads of this process have waited for a core, added up; 0: unknown. */
static double waited_for_cores(void) {
  char name[300];
  double seconds = 0, nanoseconds;
  DIR *folder = opendir("/proc/self/task");
  if (folder == NULL) return 0;
  for (const struct dirent *thread; (thread = readdir(folder)) != NULL;) {
    snprintf(name, sizeof name, "/proc/self/task/%s/schedstat", thread->d_name);
    FILE *file = fopen(name, "r"); /* NULL: no thread, or it has ended */
    if (file == NULL) continue;
    if (fscanf(file, "%*s %lf", &nanoseconds) == 1) seconds += 1e-9 * nanoseconds;
    fclose(file);
  }
  closedir(folder);
  return seconds;
}

/* Calls of the progress function. It cancels once the time `from` is reached. */
typedef struct seen {
  double from, cancelled, waited; /* waited: seconds that threads had waited for cores when it cancelled */
  int calls[TRISTAR_PHASE_READ + 1];
} seen;

static int follow(void *arg, const tristar_progress_point *point) {
  seen *s = arg;
  CHECK(point->share >= 0 && point->share <= 1 && (unsigned)point->phase <= TRISTAR_PHASE_READ);
  s->calls[point->phase]++;
  if (now() < s->from) return 0;
  if (s->cancelled == 0) {
    s->waited = waited_for_cores();
    s->cancelled = now();
  }
  return 1;
}

typedef struct problem {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_analysis_t *analysis, *delaying; /* delaying: its factorization searches another order of pivots */
  tristar_matrix_t *other;
  tristar_view other_view;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  double *b, *x, *expected; /* n x COLUMNS */
  tristar_matrix_t *small;
  tristar_view small_view; /* matrix of a batch */
  double *values;          /* values of SYSTEMS systems */
  int64_t nnz;             /* entries of each system */
  tristar_batch_t *batch;
} problem;

static size_t bytes_of(const problem *p) {
  return (size_t)p->view.rows * COLUMNS * sizeof(double);
}

static tristar_status solve(const problem *p) {
  return tristar_solve(p->plan, TRISTAR_N, COLUMNS, p->b, p->view.rows, p->x, p->view.rows);
}

static problem make_problem(tristar_t *ts) {
  problem p = {.ts = ts};
  p.view = read_view(ts, "gen:poisson3d7:17", &p.matrix);
  p.analysis = NEW_ANALYSIS(ts, &p.view, NULL);
  p.factor = NEW_FACTOR(p.analysis, p.view.values);
  p.plan = NEW_PLAN(p.factor, NULL);
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.method = TRISTAR_METHOD_LU;
  options.pivot_threshold = 1;
  options.pivoting = TRISTAR_PIVOTING_DELAYED;
  p.other_view = read_view(ts, "gen:convdiff3d:12", &p.other);
  p.delaying = NEW_ANALYSIS(ts, &p.other_view, &options);
  p.small_view = read_view(ts, "gen:convdiff3d:8", &p.small);
  p.nnz = ((const int64_t *)p.small_view.ptr)[p.small_view.rows];
  CHECK_OK(tristar_batch(ts, &p.small_view, NULL, &p.batch));
  p.values = malloc((size_t)(SYSTEMS * p.nnz) * sizeof *p.values);
  for (int s = 0; s < SYSTEMS; s++)
    memcpy(p.values + s * p.nnz, p.small_view.values, (size_t)p.nnz * sizeof *p.values);
  CHECK_OK(tristar_matrix_write(ts, "progress.mtx", &p.small_view, NULL));
  CHECK_OK(tristar_plan_save(p.plan, "progress.plan"));
  p.b = malloc(bytes_of(&p));
  p.x = malloc(bytes_of(&p));
  p.expected = malloc(bytes_of(&p));
  for (int64_t k = 0; k < p.view.rows * COLUMNS; k++) p.b[k] = (double)(k % 11) - 5;
  CHECK_OK(solve(&p));
  memcpy(p.expected, p.x, bytes_of(&p));
  return p;
}

static void free_problem(problem *p) {
  tristar_plan_destroy(&p->plan);
  tristar_factor_destroy(&p->factor);
  tristar_analysis_destroy(&p->analysis);
  tristar_analysis_destroy(&p->delaying);
  tristar_matrix_destroy(&p->other);
  tristar_batch_destroy(&p->batch);
  tristar_matrix_destroy(&p->small);
  free(p->values);
  tristar_matrix_destroy(&p->matrix);
  free(p->b);
  free(p->x);
  free(p->expected);
}

/* A cancelled batch has no factors at all. */
static tristar_status run_batch(const problem *p) {
  const int64_t n = p->small_view.rows;
  tristar_status status = tristar_batch_factor(p->batch, SYSTEMS, p->values, p->nnz, NULL);
  if (status == TRISTAR_OK)
    status = tristar_batch_solve(p->batch, TRISTAR_N, 1, p->b, n, 0, p->x, n, n, NULL, NULL);
  else
    CHECK_STATUS(tristar_batch_solve(p->batch, TRISTAR_N, 1, p->b, n, 0, p->x, n, n, NULL, NULL),
                 TRISTAR_ERR_STALE);
  CHECK_OK(
      tristar_batch_factor(p->batch, 0, p->values, p->nnz, NULL)); /* frees the memory that the batch keeps */
  return status;
}

static tristar_status call(const problem *p, int kind) {
  tristar_plan_options compressed = DEFAULTS(tristar_plan_options);
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  tristar_matrix_t *matrix = NULL;
  tristar_factor_stats stats;
  tristar_status status = TRISTAR_OK;
  switch (kind) {
  case 0:
    status = tristar_analyze(p->ts, &p->view, NULL, &analysis);
    CHECK((status == TRISTAR_OK) == (analysis != NULL));
    break;
  case 1:
    status = tristar_factor(p->analysis, p->view.values, &factor);
    CHECK((status == TRISTAR_OK) == (factor != NULL));
    break;
  case 2:
    status = tristar_refactor(p->factor, p->view.values);
    break;
  case 3:
    status = tristar_plan(p->factor, NULL, &plan);
    CHECK((status == TRISTAR_OK) == (plan != NULL));
    break;
  case 4:
    status = solve(p);
    break;
  case 5:
    status = tristar_factor(p->delaying, p->other_view.values, &factor);
    CHECK((status == TRISTAR_OK) == (factor != NULL));
    if (factor != NULL) CHECK_OK(tristar_factor_get_stats(factor, &stats));
    CHECK(factor == NULL || stats.pivot_rounds > 0);
    break;
  case 7:
    compressed.compress = 1e-4;
    status = tristar_plan(p->factor, &compressed, &plan);
    CHECK((status == TRISTAR_OK) == (plan != NULL));
    break;
  case 8:
    status = run_batch(p);
    break;
  case 9:
    status = tristar_inverse_diagonal(p->plan, p->x);
    break;
  case 10:
    status = tristar_matrix_read(p->ts, "progress.mtx", &matrix);
    CHECK((status == TRISTAR_OK) == (matrix != NULL));
    break;
  case 11:
    status = tristar_plan_load(p->ts, "progress.plan", NULL, &plan);
    CHECK((status == TRISTAR_OK) == (plan != NULL));
    break;
  default:
    status = tristar_solve_refined(p->plan, TRISTAR_N, COLUMNS, p->b, p->view.rows, p->x, p->view.rows, NULL,
                                   NULL);
  }
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  return status;
}

/* Cancels a call after this many seconds. Returns whether the call was still running. */
static bool cancel(const problem *p, int kind, double after) {
  const size_t before = bytes_held(p->ts);
  seen s = {.from = now() + after};
  CHECK_OK(tristar_set_progress(p->ts, follow, &s));
  const tristar_status status = call(p, kind);
  const double end = now();
  CHECK_OK(tristar_set_progress(p->ts, NULL, NULL));
  CHECK(status == TRISTAR_OK || status == TRISTAR_ERR_CANCELLED);
  if (status == TRISTAR_ERR_CANCELLED && end - s.cancelled >= 1) {
    const double waited = waited_for_cores() - s.waited;
    CHECK_MSG(end - s.cancelled - waited < 1, "call %d ended %g s later; threads waited %g s for cores", kind,
              end - s.cancelled, waited);
  }
  CHECK_MSG(bytes_held(p->ts) == before || kind == 4 || kind == 6, "call %d leaks %zu bytes", kind,
            bytes_held(p->ts) - before);
  if (kind == 2 && status == TRISTAR_ERR_CANCELLED) {
    CHECK_STATUS(solve(p), TRISTAR_ERR_STALE);
    CHECK_OK(tristar_refactor(p->factor, p->view.values));
  }
  return status == TRISTAR_ERR_CANCELLED;
}

static void check_cancelled(tristar_t *ts) {
  static const double longest[] = {0.2, 0.2, 0.2, 0.01, 0.2,  0.6,
                                   0.3, 0.1, 0.3, 0.2,  0.01, 0.02}; /* approximate durations of the calls */
  int cancelled[KINDS] = {0};
  uint64_t state = 7;
  problem p = make_problem(ts);
  for (int k = 0; k < rounds; k++) {
    const int kind = k % KINDS;
    const double share = (double)(next_random(&state) % 1000) / 1000;
    cancelled[kind] += cancel(&p, kind, k < KINDS ? 0 : share * longest[kind]);
  }
  for (int kind = 0; kind < KINDS; kind++)
    CHECK_MSG(cancelled[kind] > 0, "call %d was never cancelled", kind);
  CHECK_OK(solve(&p));
  CHECK(memcmp(p.x, p.expected, bytes_of(&p)) == 0);
  free_problem(&p);
}

static void check_followed(tristar_t *ts) {
  problem p = make_problem(ts);
  seen s = {.from = now() + 1e6};
  CHECK_OK(tristar_set_progress(ts, follow, &s));
  for (int kind = 0; kind < KINDS; kind++) CHECK_OK(call(&p, kind));
  CHECK_OK(solve(&p));
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  for (int phase = 0; phase <= TRISTAR_PHASE_READ; phase++) CHECK(s.calls[phase] > 0);
  CHECK(memcmp(p.x, p.expected, bytes_of(&p)) == 0);
  CHECK_STATUS(tristar_set_progress(NULL, follow, NULL), TRISTAR_ERR_ARGUMENT);
  free_problem(&p);
}

/* Two alternating phases: each is reported at most ten times a second. */
static void check_rate(tristar_t *ts) {
  problem p = make_problem(ts);
  seen s = {.from = now() + 1e6};
  const double begin = now();
  CHECK_OK(tristar_set_progress(ts, follow, &s));
  for (int k = 0; k < 50; k++) {
    CHECK_OK(call(&p, 3));
    CHECK_OK(tristar_solve(p.plan, TRISTAR_N, 1, p.b, p.view.rows, p.x, p.view.rows));
  }
  const double most = 2 + 10 * (now() - begin);
  CHECK(s.calls[TRISTAR_PHASE_PLAN] <= most && s.calls[TRISTAR_PHASE_SOLVE] <= most);
  CHECK(s.calls[TRISTAR_PHASE_PLAN] > 0 && s.calls[TRISTAR_PHASE_SOLVE] > 0);
  /* no calls after progress was switched off, also by a failure */
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  const seen last = s;
  for (int kind = 0; kind < 6; kind++) CHECK_OK(call(&p, kind));
  CHECK(memcmp(&s, &last, sizeof s) == 0);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    const tristar_status status = tristar_set_progress(ts, follow, &s);
    end_failure(&failing, status);
    CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  }
  CHECK(failing.count > 0);
  free_problem(&p);
}

/* If an update of low rank is cancelled while it factors the whole matrix, the factor is unchanged. */
static void check_low_rank(tristar_t *ts) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_matrix_t *matrix;
  const tristar_view view = read_view(ts, "gen:poisson3d7:10", &matrix);
  options.method = TRISTAR_METHOD_LDLT;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &options);
  tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  const int64_t n = view.rows;
  double *x = calloc((size_t)n, 2 * sizeof *x), *expected = x + n,
         value = 1e9; /* so large that the whole matrix is factored */
  int32_t ptr[] = {0, 1}, row = 0;
  tristar_view w;
  tristar_view_init(&w);
  w.rows = n;
  w.cols = 1;
  w.ptr = ptr;
  w.index = &row;
  w.values = &value;
  for (int64_t i = 0; i < n; i++) x[i] = expected[i] = (double)(i % 5) - 2;
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, expected, n, expected, n));
  seen s = {.from = 0};
  CHECK_OK(tristar_set_progress(ts, follow, &s));
  CHECK_STATUS(tristar_update_low_rank(factor, &w, 0, NULL), TRISTAR_ERR_CANCELLED);
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, x, n, x, n));
  CHECK(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  free(x);
}

static int cancel_late(void *arg, const tristar_progress_point *point) {
  (void)arg;
  if (point->phase == TRISTAR_PHASE_PLAN && point->share < 0.4)
    nanosleep(&(struct timespec){.tv_nsec = 110000000},
              NULL); /* longer than the interval of reports, so the next report is not skipped */
  return point->phase == TRISTAR_PHASE_SOLVE || point->share > 0.6;
}

static int cancel_within(void *arg, const tristar_progress_point *point) {
  (void)arg;
  nanosleep(&(struct timespec){.tv_nsec = 110000000}, NULL);
  return point->share > 0.5 && point->share < 0.9;
}

/* Loading is cancelled within a large record: the entries of L, which are most of the file. */
static void check_loading(tristar_t *ts) {
  static const char path[] = "test_progress.tristar";
  tristar_matrix_t *matrix;
  const tristar_view view = read_view(ts, "gen:poisson3d7:24", &matrix);
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, NULL);
  tristar_factor_t *factor = NEW_FACTOR(analysis, view.values), *loaded;
  CHECK_OK(tristar_factor_save(factor, path));
  CHECK_OK(tristar_set_progress(ts, cancel_within, NULL));
  CHECK_STATUS(tristar_factor_load(ts, path, &loaded), TRISTAR_ERR_CANCELLED);
  CHECK(loaded == NULL);
  CHECK_ERROR(ts, "reading of a file");
  CHECK_OK(tristar_set_progress(ts, NULL, NULL));
  CHECK_OK(tristar_factor_load(ts, path, &loaded));
  tristar_factor_destroy(&loaded);
  remove(path);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
}

static int cancel_copies(void *arg, const tristar_progress_point *point) {
  (void)arg;
  if (point->share < 0.4) nanosleep(&(struct timespec){.tv_nsec = 110000000}, NULL);
  return point->phase == TRISTAR_PHASE_PLAN && point->share > 0.4 && point->share < 0.6;
}

/* After a cancelled copy that releases the factor, the factor has no entries until a refactorization. While
 * trial solves have not accepted the copy, the factor keeps them. */
static void check_release(tristar_t *ts) {
  static const tristar_progress_fn cancels[] = {cancel_late, cancel_late, cancel_copies};
  problem p = make_problem(ts);
  const int64_t n = p.small_view.rows;
  tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &p.small_view, NULL);
  tristar_factor_t *factor = NEW_FACTOR(analysis, p.small_view.values);
  tristar_plan_t *other = NEW_PLAN(factor, NULL);
  for (int k = 0; k < 3; k++) {
    const bool tries = k == 0;
    tristar_plan_options options = DEFAULTS(tristar_plan_options);
    tristar_plan_t *plan;
    options.storage = tries ? TRISTAR_STORAGE_AUTO : TRISTAR_STORAGE_SINGLE;
    options.accuracy = tries ? 1e-5 : 0;
    options.release_factor = 1;
    CHECK_OK(tristar_set_progress(ts, cancels[k], NULL));
    CHECK_STATUS(tristar_plan(factor, &options, &plan), TRISTAR_ERR_CANCELLED);
    CHECK(plan == NULL);
    if (!tries) CHECK_ERROR(ts, "tristar_refactor makes them again");
    CHECK_OK(tristar_set_progress(ts, NULL, NULL));
    CHECK_STATUS(tristar_solve(other, TRISTAR_N, 1, p.b, n, p.x, n), tries ? TRISTAR_OK : TRISTAR_ERR_STALE);
    CHECK_OK(tristar_refactor(factor, p.small_view.values));
    CHECK_OK(tristar_solve(other, TRISTAR_N, 1, p.b, n, p.x, n));
  }
  tristar_plan_destroy(&other);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  free_problem(&p);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  if (argc > 1) rounds = 300;
  tristar_t *ts = open_without_starpu(false);
  RUN_ONE_THREAD(check_rate(ts));
  RUN_ONE_THREAD(check_low_rank(ts));
  RUN_ONE_THREAD(check_release(ts));
  RUN_ONE_THREAD(check_loading(ts));
  RUN_ONE_THREAD(check_followed(ts));
  RUN_ONE_THREAD(check_cancelled(ts));
  close_context(&ts);
  ts = open_with_starpu(2, false);
  RUN(check_followed(ts));
  RUN(check_cancelled(ts));
  close_context(&ts);
  return 0;
}
