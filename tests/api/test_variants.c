/* Every variant of analysis and plan, alone and some together, in four types, with Cholesky, L D L^T and LU,
 * N, T, C, 1 to 17 right-hand sides: as accurate as the default; the same bits for every worker count, engine
 * and legal order, and the same as the default's where only scheduling or updates differ; new values count
 * after a refactorization. */
#include <pthread.h>

#include "tests/support/subtests.h"
#include "tests/support/variants.h"
#include "tristar_solve.h"

/* Checksums of the plain solutions of the serial engine. */
static uint64_t reference[SYSTEMS][VARIANTS];

/* engine SERIAL: also checks accuracy, other legal orders and new values. */
static void check_system(tristar_t *ts, int which, tristar_engine engine) {
  const system_case *c = &systems[which];
  CLEANUP(close_problem) problem p;
  double worst, usual = 0;
  const bool serial = engine == TRISTAR_ENGINE_SERIAL;
  open_problem(ts, c, &p);
  for (int k = 0; k < VARIANTS; k++) {
    const variant *v = &variants[k];
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
    CHECK_OK(factor_with(ts, &p, c->method, v, &f));
    CHECK_OK(plan_with(f, v, engine, 0, &plan));
    const uint64_t h = solve_all(&p, plan, serial ? &worst : NULL);
    if (serial) {
      if (k == 0) usual = worst;
      CHECK_MSG(worst < 30 * (usual + p.t->roundoff), "%s %c, %s: backward error %g, by default %g", c->kind,
                p.t->scalar, v->name, worst, usual);
      const typed_errors refined = worst_errors(p.t, &p.view, NULL, plan, p.b, COMPONENTWISE);
      CHECK_MSG(refined.recomputed < 100 * p.t->roundoff, "%s %c, %s: refined to %g", c->kind, p.t->scalar,
                v->name, refined.recomputed);
      reference[which][k] = h;
      tristar_plan_destroy(&plan);
      CHECK_OK(plan_with(f, v, engine, 7, &plan));
      CHECK_MSG(solve_all(&p, plan, NULL) == h, "%s %c, %s: other bits in another order", c->kind,
                p.t->scalar, v->name);
    }
    CHECK_MSG(h == reference[which][v->same], "%s %c, %s: other bits", c->kind, p.t->scalar, v->name);
  }
}

/* After a refactorization a plan solves with the new values. With LU, other rows are interchanged. */
static void check_refactor(tristar_t *ts, int which) {
  const system_case *c = &systems[which];
  CLEANUP(close_problem) problem p;
  double before, after, *values;
  open_problem(ts, c, &p);
  for (int k = 0; k < VARIANTS; k++) {
    CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
    CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
    CHECK_OK(factor_with(ts, &p, c->method, &variants[k], &f));
    CHECK_OK(plan_with(f, &variants[k], TRISTAR_ENGINE_SERIAL, 0, &plan));
    (void)solve_all(&p, plan, &before);
    problem other = p;
    const int64_t *ptr = p.view.ptr, n = p.view.rows;
    const int32_t *index = p.view.index;
    values = xmalloc((size_t)ptr[n] * sizeof *values);
    for (int64_t j = 0; j < n; j++)
      for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
        values[e] = ((const double *)p.values)[e] *
                    (index[e] == j ? 1.25 : 0.5 + 0.25 * (double)((index[e] + j) % 3));
    other.view.values = values;
    CHECK_OK(tristar_refactor(f, values));
    (void)solve_all(&other, plan, &after);
    CHECK_MSG(after < 1e-10 + 100 * before, "%s: backward error %g with new values, %g before",
              variants[k].name, after, before);
    free(values);
  }
}

/* Sparse right-hand sides and few rows of x: pushed and pulled updates give the same bits. */
static void check_lists(tristar_t *ts) {
  CLEANUP(close_problem) problem p;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  tristar_plan_t *plan;
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  const int64_t given[] = {3, 250, 7}, wanted[] = {0, 300, 11, 4};
  double x[4][4];
  open_problem(ts, &systems[0], &p);
  CHECK_OK(factor_with(ts, &p, TRISTAR_METHOD_AUTO, &variants[0], &f));
  options.b_rows = 3;
  options.b_row = given;
  options.x_rows = 4;
  options.x_row = wanted;
  for (int k = 0; k < 4; k++) {
    CHECK_OK(plan_with(f, &variants[k], TRISTAR_ENGINE_SERIAL, 0, &plan));
    CHECK_OK(tristar_solve_with(plan, &options, 1, p.b, x[k], NULL));
    CHECK_MSG(memcmp(x[k], x[0], sizeof x[0]) == 0, "%s: other bits along paths", variants[k].name);
    tristar_plan_destroy(&plan);
  }
}

/* ---- Several threads --------------------------------------------------------------------------- */

typedef struct job {
  const problem *p;
  tristar_plan_t *plan;
  uint64_t hash;
} job;

static void *solve_job(void *arg) {
  job *j = arg;
  j->hash = solve_all(j->p, j->plan, NULL);
  return NULL;
}

/* Two threads need the matrices for op T at the same time. */
static void check_threads(tristar_t *ts) {
  CLEANUP(close_problem) problem p;
  pthread_t thread[2];
  job jobs[2];
  CLEANUP(tristar_factor_destroy) tristar_factor_t *f;
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan;
  open_problem(ts, &systems[6], &p);
  CHECK_OK(factor_with(ts, &p, systems[6].method, &variants[11], &f));
  CHECK_OK(plan_with(f, &variants[11], TRISTAR_ENGINE_TASKS, 0, &plan));
  for (int k = 0; k < 2; k++) {
    jobs[k] = (job){&p, plan, 0};
    CHECK(pthread_create(&thread[k], NULL, solve_job, &jobs[k]) == 0);
  }
  for (int k = 0; k < 2; k++) CHECK(pthread_join(thread[k], NULL) == 0);
  for (int k = 0; k < 2; k++) CHECK(jobs[k].hash == reference[6][11]);
}

static void check_all(tristar_t *ts, tristar_engine engine) {
  for (int s = 0; s < SYSTEMS; s += TSI_TESTS_SANITIZED ? 2 : 1) check_system(ts, s, engine);
  if (engine == TRISTAR_ENGINE_SERIAL) {
    check_refactor(ts, 0);
    check_refactor(ts, 6);
    check_refactor(ts, 8);
    check_lists(ts);
  } else
    check_threads(ts);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  RUN(with_each_engine(check_all));
  return 0;
}
