/* Fused solves: a column has the same bits by itself, in a call with others, and in a pass with other
 * callers; what waits for a pass shares the next one; NaN and failures reach no other column. */
#include <math.h>
#include <pthread.h>
#include <starpu.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"
#include "tests/support/typed.h"
#include "tristar_solve.h"
#include "tristar_stats.h"

enum { CALLERS = 8, TURNS = 6 };
static const tristar_op ops[] = {TRISTAR_N, TRISTAR_T, TRISTAR_C};
static const tristar_engine engines[] = {TRISTAR_ENGINE_SERIAL, TRISTAR_ENGINE_TASKS};

static tristar_plan_t *new_plan(tristar_factor_t *factor, tristar_engine engine, int64_t columns) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.engine = engine;
  options.chunk_bytes_max = 3000;
  options.fuse_columns = columns;
  return NEW_PLAN(factor, &options);
}

/* ---- Bits of a column ---------------------------------------------------------------------------------- */

/* Compares calls with every number of columns, in place or not, with calls for one column. */
static void check_columns(const typed *t, tristar_factor_t *factor, int64_t n, tristar_engine engine,
                          int64_t columns) {
  static const int counts[] = {2, 3, 4, 5, 7, 8, 9, 12, TYPED_COLUMNS};
  const size_t column = (size_t)n * t->bytes;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = new_plan(factor, engine, columns);
  OWNED char *b = make_rhs(t, n), *x = xmalloc(TYPED_COLUMNS * column),
             *alone = xmalloc(TYPED_COLUMNS * column);
  for (int o = 0; o < 3; o++) {
    for (size_t c = 0; c < TYPED_COLUMNS; c++)
      CHECK_OK(tristar_solve(plan, ops[o], 1, b + c * column, n, alone + c * column, n));
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      memcpy(x, b, TYPED_COLUMNS * column);
      CHECK_OK(tristar_solve(plan, ops[o], counts[k], x, n, x, n));
      CHECK_MSG(memcmp(x, alone, (size_t)counts[k] * column) == 0,
                "%c, %c: other bits in %d columns, fused to %d", t->scalar, ops[o], counts[k], (int)columns);
    }
  }
}

static void check_bits(tristar_t *ts, const typed *t, const char *kind, int64_t k, tristar_method method) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m;
  tristar_view v;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  OWNED void *values = typed_matrix(ts, kind, k, t, TRISTAR_SYMMETRIC, &m, &v);
  options.method = method;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(ts, &v, &options);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(an, values);
  check_columns(t, factor, v.rows, TRISTAR_ENGINE_SERIAL, 8);
  check_columns(t, factor, v.rows, TRISTAR_ENGINE_TASKS, 64);
}

/* ---- Callers ------------------------------------------------------------------------------------------- */

/* A solve that a caller repeats, and its expected result. */
typedef struct caller {
  tristar_plan_t *plan;
  tristar_op op;
  int64_t n, nrhs;
  bool in_place, refined;
  tristar_status status; /* of its solves */
  double *b, *x, *expected;
} caller;

static void caller_solve(const caller *c, double *x) {
  const double *b = c->b;
  if (c->in_place) b = memcpy(x, c->b, (size_t)(c->n * c->nrhs) * sizeof *x);
  CHECK_STATUS(c->refined ? tristar_solve_refined(c->plan, c->op, c->nrhs, b, c->n, x, c->n, NULL, NULL)
                          : tristar_solve(c->plan, c->op, c->nrhs, b, c->n, x, c->n),
               c->status);
}

static void caller_create(tristar_plan_t *plan, int64_t n, int k, caller *c) {
  const bool refined = k % 4 == 3;
  tristar_plan_stats stats;
  *c =
      (caller){plan, ops[k % 5 == 4], n, 1 + k % 3, !refined && k % 2, refined, TRISTAR_OK, NULL, NULL, NULL};
  const int64_t count = n * c->nrhs;
  c->b = xmalloc((size_t)count * sizeof *c->b);
  c->x = xmalloc((size_t)count * sizeof *c->x);
  c->expected = xmalloc((size_t)count * sizeof *c->x);
  fill_random(c->b, count, (uint64_t)k + 1);
  tristar_plan_get_stats(plan, &stats);
  if (k == 5 && !stats.refines) { /* only this column is affected; x replaces b, so it is an error */
    c->b[n / 2] = NAN;
    c->status = TRISTAR_ERR_NOT_FINITE;
  }
  caller_solve(c, c->expected);
}

static void caller_check(const caller *c) {
  CHECK_MSG(memcmp(c->x, c->expected, (size_t)(c->n * c->nrhs) * sizeof *c->x) == 0,
            "other bits than by itself, op %c, %d columns", c->op, (int)c->nrhs);
}

static void caller_free(caller *c) {
  free(c->b);
  free(c->x);
  free(c->expected);
}

static void *solve_in_thread(void *arg) {
  const caller *c = arg;
  for (int turn = 0; turn < TURNS; turn++) {
    memset(c->x, 0, (size_t)(c->n * c->nrhs) * sizeof *c->x);
    caller_solve(c, c->x);
    caller_check(c);
  }
  return NULL;
}

/* The callers differ in operation, number of columns, refinement and placement; one has a NaN. kkt3d: LU,
 * with different orders of b and x. */
static void check_threads(tristar_t *ts, const char *kind, int64_t k, tristar_method method,
                          tristar_engine engine, int64_t columns) {
  CLEANUP(flow_destroy) flow f;
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  caller callers[CALLERS];
  pthread_t thread[CALLERS];
  tristar_plan_stats stats;
  options.method = method;
  f.view = generated_view(ts, kind, k, &f.matrix);
  f.analysis = NEW_ANALYSIS(ts, &f.view, &options);
  f.factor = NEW_FACTOR(f.analysis, f.view.values);
  f.plan = new_plan(f.factor, engine, columns);
  for (int c = 0; c < CALLERS; c++) caller_create(f.plan, f.view.rows, c, &callers[c]);
  for (int c = 0; c < CALLERS; c++)
    CHECK(pthread_create(&thread[c], NULL, solve_in_thread, &callers[c]) == 0);
  for (int c = 0; c < CALLERS; c++) CHECK(pthread_join(thread[c], NULL) == 0);
  tristar_plan_get_stats(f.plan, &stats);
  CHECK(stats.solves >= CALLERS * (TURNS + 1) && stats.nrhs_block == columns);
  CHECK(stats.fused >= 2 * stats.fused_passes);
  for (int c = 0; c < CALLERS; c++) caller_free(&callers[c]);
}

/* ---- Passes -------------------------------------------------------------------------------------------- */

typedef struct ended {
  int calls;
  tristar_status status;
} ended;

static void note_end(void *arg, tristar_status status) {
  ended *e = arg;
  e->status = status;
  __atomic_add_fetch(&e->calls, 1, __ATOMIC_ACQ_REL);
}

/* While StarPU pauses the first request starts. The others wait for it and then share one pass per op. Half
 * of them have a function `end`. */
static void check_pass(tristar_t *ts) {
  CLEANUP(flow_destroy) flow f;
  caller callers[CALLERS];
  tristar_request_t *request[CALLERS];
  ended ends[CALLERS] = {{0, TRISTAR_OK}};
  tristar_plan_stats before, after;
  flow_create(ts, "poisson3d7", 7, TRISTAR_ENGINE_TASKS, 3000, &f);
  tristar_plan_destroy(&f.plan);
  f.plan = new_plan(f.factor, TRISTAR_ENGINE_TASKS, 64);
  for (int c = 0; c < CALLERS; c++) caller_create(f.plan, f.view.rows, c, &callers[c]);
  tristar_plan_get_stats(f.plan, &before);
  starpu_pause();
  for (int c = 0; c < CALLERS; c++) {
    tristar_solve_options options = DEFAULTS(tristar_solve_options);
    options.op = c < CALLERS / 2 ? TRISTAR_N : TRISTAR_T;
    if (c % 2) options.end = note_end, options.end_arg = &ends[c];
    callers[c].op = options.op;
    CHECK_OK(tristar_solve_start(f.plan, &options, callers[c].nrhs, callers[c].b, callers[c].x, &request[c]));
  }
  int done;
  CHECK_OK(tristar_test(request[CALLERS - 1], &done));
  CHECK(!done);
  starpu_resume();
  for (int c = CALLERS; c-- > 0;) CHECK_OK(tristar_wait(&request[c], NULL));
  tristar_plan_get_stats(f.plan, &after);
  CHECK(after.solves == before.solves + CALLERS);
  CHECK_MSG(after.fused == CALLERS - 1 && after.fused_passes == 2, "%d solves shared %d passes",
            (int)after.fused, (int)after.fused_passes);
  for (int c = 0; c < CALLERS; c++) {
    CHECK(ends[c].calls == c % 2 && ends[c].status == TRISTAR_OK);
    callers[c].refined = false;
    caller_solve(&callers[c], callers[c].expected);
    caller_check(&callers[c]);
    caller_free(&callers[c]);
  }
}

/* If an allocation fails, all requests of the pass end with the error, and the plan can still be used. */
static void check_allocations(tristar_t *ts) {
  CLEANUP(flow_destroy) flow f;
  flow_create(ts, "poisson3d7", 6, TRISTAR_ENGINE_TASKS, 3000, &f);
  const int64_t n = f.view.rows;
  OWNED double *b = xmalloc((size_t)n * sizeof *b), *x = xmalloc((size_t)(4 * n) * sizeof *x);
  fill_random(b, n, 3);
  allocation_failures failing = fail_allocations_of(ts);
  failing.keeps_memory = true; /* a plan that is created in a round */
  while (!failing.over) {
    tristar_request_t *request[4];
    const size_t before = bytes_held(ts);
    tristar_plan_t *plan = new_plan(f.factor, TRISTAR_ENGINE_TASKS, 8);
    tristar_status status = TRISTAR_OK;
    starpu_pause();
    CHECK(next_failure(&failing));
    for (int k = 0; k < 4; k++) {
      const tristar_status one = tristar_solve_start(plan, NULL, 1, b, x + k * n, &request[k]);
      CHECK((request[k] == NULL) == (one != TRISTAR_OK));
      if (one != TRISTAR_OK) status = one;
    }
    starpu_resume();
    for (int k = 0; k < 4; k++) {
      const tristar_status one = tristar_wait(&request[k], NULL);
      if (one != TRISTAR_OK) status = one;
    }
    end_failure(&failing, status);
    CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, b, n, x, n));
    tristar_plan_destroy(&plan);
    CHECK_MSG(bytes_held(ts) == before, "allocation %d: %zu bytes leaked", (int)failing.at,
              bytes_held(ts) - before);
  }
  CHECK(failing.count > 4);
}

static void check_refused(tristar_t *ts) {
  CLEANUP(flow_destroy) flow f;
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  tristar_plan_t *plan;
  flow_create(ts, "poisson3d7", 4, TRISTAR_ENGINE_SERIAL, 0, &f);
  options.fuse_columns = 65;
  CHECK_STATUS(tristar_plan(f.factor, &options, &plan), TRISTAR_ERR_ARGUMENT);
  options.fuse_columns = -1;
  CHECK_STATUS(tristar_plan(f.factor, &options, &plan), TRISTAR_ERR_ARGUMENT);
  options.fuse_columns = 8;
  options.kernel = TRISTAR_KERNEL_SPMV;
  CHECK_STATUS(tristar_plan(f.factor, &options, &plan), TRISTAR_ERR_UNSUPPORTED);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(2, true);
  RUN(check_bits(ts, &typed_double, "poisson3d7", 8, TRISTAR_METHOD_AUTO));
  RUN(check_bits(ts, &typed_double, "convdiff3d", 7, TRISTAR_METHOD_LU));
  RUN(check_bits(ts, &typed_single, "s2d9pt", 20, TRISTAR_METHOD_LDLT));
  RUN(check_bits(ts, &typed_complex_double, "poisson3d7", 7, TRISTAR_METHOD_AUTO));
  RUN(check_bits(ts, &typed_complex_single, "s2d9pt", 15, TRISTAR_METHOD_LU));
  for (int e = 0; e < 2; e++) {
    RUN(check_threads(ts, "poisson3d7", 7, TRISTAR_METHOD_AUTO, engines[e], 8));
    RUN(check_threads(ts, "kkt3d", 3, TRISTAR_METHOD_LU, engines[e], 64));
  }
  RUN(check_pass(ts));
  RUN(check_allocations(ts));
  RUN(check_refused(ts));
  return 0;
}
