/* Every variant of analysis and plan, alone and some together, in four types, with Cholesky, L D L^T and LU,
 * N, T, C, 1 to 17 right-hand sides: as accurate as the default; the same bits for every worker count, engine
 * and legal order, and the same as the default's where only scheduling or updates differ; new values count
 * after a refactorization; what a variant does not serve is told; allocations may fail. */
#include <pthread.h>

#include "runtime/context.h"
#include "tests/typed.h"

typedef struct variant {
  const char *name;
  tristar_merge merge;
  tristar_scheduling scheduling;
  tristar_updates updates;
  tristar_granularity granularity;
  tristar_kernel kernel;
  int same; /* the variant that has the same bits */
} variant;

#define LEVELS TRISTAR_SCHEDULING_LEVELS
#define PUSH TRISTAR_UPDATES_PUSH
#define SUPERNODES TRISTAR_TASKS_SUPERNODES
#define SPMV TRISTAR_KERNEL_SPMV
static const variant variants[] = {
    {"default", 0, 0, 0, 0, 0, 0},
    {"levels", 0, LEVELS, 0, 0, 0, 0},
    {"push", 0, 0, PUSH, 0, 0, 0},
    {"levels, push", 0, LEVELS, PUSH, 0, 0, 0},
    {"supernodes", 0, 0, 0, SUPERNODES, 0, 4},
    {"supernodes, push, levels", 0, LEVELS, PUSH, SUPERNODES, 0, 4},
    {"fundamental", TRISTAR_MERGE_FUNDAMENTAL, 0, 0, 0, 0, 6},
    {"fundamental, push", TRISTAR_MERGE_FUNDAMENTAL, 0, PUSH, 0, 0, 6},
    {"unmerged", TRISTAR_MERGE_NONE, 0, 0, 0, 0, 8},
    {"unmerged, supernodes", TRISTAR_MERGE_NONE, 0, 0, SUPERNODES, 0, 9},
    {"unmerged, supernodes, levels", TRISTAR_MERGE_NONE, LEVELS, 0, SUPERNODES, 0, 9},
    {"spmv", 0, 0, 0, 0, SPMV, 11},
    {"spmv, levels, push, supernodes", 0, LEVELS, PUSH, SUPERNODES, SPMV, 11},
    {"spmv, unmerged", TRISTAR_MERGE_NONE, 0, 0, 0, SPMV, 13},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct system_case {
  const char *kind;
  int64_t k;
  const typed *t;
  tristar_method method;
  tristar_symmetry symmetry; /* that a symmetric kind is declared as in a complex type */
} system_case;

static const system_case systems[] = {
    {"s2d9pt", 20, &typed_double, TRISTAR_METHOD_AUTO, 0},
    {"poisson3d7", 7, &typed_single, TRISTAR_METHOD_AUTO, 0},
    {"elasticity3d", 3, &typed_complex_double, TRISTAR_METHOD_AUTO, TRISTAR_HERMITIAN},
    {"s2d9pt", 14, &typed_complex_single, TRISTAR_METHOD_LDLT, TRISTAR_HERMITIAN},
    {"maxwell3d", 3, &typed_double, TRISTAR_METHOD_LDLT, 0},
    {"maxwell3d", 3, &typed_complex_double, TRISTAR_METHOD_LDLT, TRISTAR_SYMMETRIC},
    {"convdiff3d", 7, &typed_double, TRISTAR_METHOD_LU, 0},
    {"convdiff3d", 6, &typed_complex_single, TRISTAR_METHOD_LU, 0},
    {"circuit", 300, &typed_double, TRISTAR_METHOD_LU, 0},
    {"maxwell3d", 3, &typed_complex_double, TRISTAR_METHOD_LU, TRISTAR_HERMITIAN},
};
enum { SYSTEMS = sizeof systems / sizeof *systems };

/* Of the plain solutions of the serial engine. */
static uint64_t reference[SYSTEMS][VARIANTS];

static uint64_t hash(uint64_t h, const void *x, size_t size) {
  const unsigned char *bytes = x;
  for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

typedef struct problem {
  const typed *t;
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values, *b;
} problem;

static void open_problem(tristar_t *ts, const system_case *c, problem *p) {
  p->t = c->t;
  CHECK_OK(tristar_matrix_generate(ts, c->kind, c->k, &p->matrix));
  tristar_matrix_view(p->matrix, &p->view);
  p->values = make_typed_values(c->t, &p->view);
  if (c->t->is_complex && p->view.symmetry == TRISTAR_SYMMETRIC) p->view.symmetry = c->symmetry;
  p->view.scalar = c->t->scalar;
  p->view.values = p->values;
  p->b = make_rhs(c->t, p->view.rows);
}

static void close_problem(problem *p) {
  tristar_matrix_destroy(&p->matrix);
  free(p->values);
  free(p->b);
}

static tristar_status factor_with(tristar_t *ts, const problem *p, tristar_method method, const variant *v,
                                  tristar_factor_t **f) {
  tristar_analysis_options options;
  tristar_analysis_t *an;
  tristar_analysis_options_init(&options);
  options.method = method;
  options.merge = v->merge;
  *f = NULL;
  tristar_status status = tristar_analyze(ts, &p->view, &options, &an);
  if (status == TRISTAR_OK) status = tristar_factor(an, p->view.values, f);
  tristar_analysis_destroy(&an);
  return status;
}

static tristar_status plan_with(tristar_factor_t *f, const variant *v, tristar_engine engine, unsigned seed,
                                tristar_plan_t **p) {
  tristar_plan_options options;
  tristar_plan_options_init(&options);
  options.engine = engine;
  options.chunk_bytes_max = 4000;
  options.order_seed = seed;
  options.scheduling = v->scheduling;
  options.updates = v->updates;
  options.granularity = v->granularity;
  options.kernel = v->kernel;
  return tristar_plan(f, &options, p);
}

/* The bits of all plain solutions; *worst: their largest backward error, one right-hand side. */
static uint64_t solve_all(const problem *p, tristar_plan_t *plan, double *worst) {
  const int64_t n = p->view.rows;
  char *x = malloc(TYPED_COLUMNS * (size_t)n * p->t->bytes);
  uint64_t h = 14695981039346656037u;
  CHECK(x != NULL);
  if (worst) *worst = 0;
  for (int o = 0; o < TYPED_OPS; o++)
    for (int c = 0; c < TYPED_COUNTS; c++) {
      CHECK_OK(tristar_solve(plan, typed_ops[o], typed_counts[c], p->b, n, x, n));
      h = hash(h, x, (size_t)(typed_counts[c] * n) * p->t->bytes);
      if (!worst) continue;
      const double error =
          error_of(p->t, &p->view, typed_ops[o], p->b, x, typed_counts[c] - 1, COMPONENTWISE, NULL);
      if (!(error <= *worst)) *worst = error;
    }
  free(x);
  return h;
}

/* engine SERIAL: also accuracy, other legal orders, new values. */
static void check_system(tristar_t *ts, int which, tristar_engine engine) {
  const system_case *c = &systems[which];
  problem p;
  double worst, usual = 0;
  const bool serial = engine == TRISTAR_ENGINE_SERIAL;
  open_problem(ts, c, &p);
  for (int k = 0; k < VARIANTS; k++) {
    const variant *v = &variants[k];
    tristar_factor_t *f;
    tristar_plan_t *plan;
    CHECK_OK(factor_with(ts, &p, c->method, v, &f));
    CHECK_OK(plan_with(f, v, engine, 0, &plan));
    const uint64_t h = solve_all(&p, plan, serial ? &worst : NULL);
    if (serial) {
      if (k == 0) usual = worst;
      CHECK_MSG(worst < 30 * (usual + p.t->roundoff), "%s %c, %s: backward error %g, by default %g", c->kind,
                p.t->scalar, v->name, worst, usual);
      const typed_errors refined = worst_errors(p.t, &p.view, plan, p.b, COMPONENTWISE);
      CHECK_MSG(refined.recomputed < 100 * p.t->roundoff, "%s %c, %s: refined to %g", c->kind, p.t->scalar,
                v->name, refined.recomputed);
      reference[which][k] = h;
      tristar_plan_destroy(&plan);
      CHECK_OK(plan_with(f, v, engine, 7, &plan));
      CHECK_MSG(solve_all(&p, plan, NULL) == h, "%s %c, %s: other bits in another order", c->kind,
                p.t->scalar, v->name);
    }
    CHECK_MSG(h == reference[which][v->same], "%s %c, %s: other bits", c->kind, p.t->scalar, v->name);
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&f);
  }
  close_problem(&p);
}

/* A plan solves with the new values after a refactorization; LU, whose interchanges then change as well. */
static void check_refactor(tristar_t *ts, int which) {
  const system_case *c = &systems[which];
  problem p;
  double before, after, *values;
  open_problem(ts, c, &p);
  for (int k = 0; k < VARIANTS; k++) {
    tristar_factor_t *f;
    tristar_plan_t *plan;
    CHECK_OK(factor_with(ts, &p, c->method, &variants[k], &f));
    CHECK_OK(plan_with(f, &variants[k], TRISTAR_ENGINE_SERIAL, 0, &plan));
    (void)solve_all(&p, plan, &before);
    problem other = p;
    const int64_t *ptr = p.view.ptr, n = p.view.rows;
    const int32_t *index = p.view.index;
    values = malloc((size_t)ptr[n] * sizeof *values);
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
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&f);
  }
  close_problem(&p);
}

/* Sparse right-hand sides and few rows of x: pushed updates are those that are pulled. */
static void check_lists(tristar_t *ts) {
  problem p;
  tristar_factor_t *f;
  tristar_plan_t *plan;
  tristar_solve_options options;
  const int64_t given[] = {3, 250, 7}, wanted[] = {0, 300, 11, 4};
  double x[4][4];
  open_problem(ts, &systems[0], &p);
  CHECK_OK(factor_with(ts, &p, TRISTAR_METHOD_AUTO, &variants[0], &f));
  tristar_solve_options_init(&options);
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
  tristar_factor_destroy(&f);
  close_problem(&p);
}

/* Tells what is not served, and refuses what does not exist. */
static void check_refusals(tristar_t *ts) {
  problem p;
  tristar_factor_t *f;
  tristar_plan_t *plan;
  tristar_solve_options options;
  tristar_plan_stats stats;
  tristar_factor_stats factor;
  const int64_t row = 0;
  double reciprocal, x[1];
  char message[512];
  variant v = variants[0];
  open_problem(ts, &systems[6], &p);
  const int64_t n = p.view.rows;
  double *y = malloc((size_t)n * sizeof *y);
  v.merge = (tristar_merge)3;
  CHECK_STATUS(factor_with(ts, &p, TRISTAR_METHOD_AUTO, &v, &f), TRISTAR_ERR_ARGUMENT);
  v = variants[11];
  CHECK_OK(factor_with(ts, &p, TRISTAR_METHOD_AUTO, &v, &f));
  for (int field = 0; field < 4; field++) {
    variant wrong = v;
    if (field == 0) wrong.scheduling = (tristar_scheduling)2;
    if (field == 1) wrong.updates = (tristar_updates)2;
    if (field == 2) wrong.granularity = (tristar_granularity)2;
    if (field == 3) wrong.kernel = (tristar_kernel)2;
    CHECK_STATUS(plan_with(f, &wrong, TRISTAR_ENGINE_SERIAL, 0, &plan), TRISTAR_ERR_ARGUMENT);
    CHECK(plan == NULL);
  }
  CHECK_OK(plan_with(f, &v, TRISTAR_ENGINE_SERIAL, 0, &plan));
  tristar_plan_get_stats(plan, &stats);
  tristar_factor_get_stats(f, &factor);
  CHECK(stats.variant_bytes > factor.factor_bytes);
  const size_t first = stats.variant_bytes;
  CHECK_OK(tristar_solve(plan, TRISTAR_C, 1, p.b, n, y, n));
  tristar_plan_get_stats(plan, &stats);
  CHECK(stats.variant_bytes > first);
  CHECK_OK(tristar_condition(plan, &reciprocal));
  CHECK(reciprocal > 1e-9 && reciprocal <= 1);
  tristar_solve_options_init(&options);
  for (options.part = TRISTAR_PART_L; options.part <= TRISTAR_PART_U; options.part++)
    CHECK_STATUS(tristar_solve_with(plan, &options, 1, p.b, y, NULL), TRISTAR_ERR_UNSUPPORTED);
  options.part = TRISTAR_PART_ALL;
  options.x_rows = 1;
  options.x_row = &row;
  CHECK_STATUS(tristar_solve_with(plan, &options, 1, p.b, x, NULL), TRISTAR_ERR_UNSUPPORTED);
  tristar_error(ts, message, sizeof message);
  CHECK(strstr(message, "KERNEL_SPMV") != NULL);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  close_problem(&p);
  free(y);
}

/* ---- Imported factors --------------------------------------------------------------------------------- */

enum { GIVEN = 240 };

/* A random triangle of GIVEN rows by columns (lower) or rows (upper): blocks coupled to the last lines. */
typedef struct triangle {
  int64_t ptr[GIVEN + 1];
  int32_t index[GIVEN * GIVEN];
  double values[GIVEN * GIVEN];
} triangle;

static void draw(triangle *t, uint64_t state) {
  int64_t at = 0;
  for (int j = 0; j < GIVEN; j++) {
    t->ptr[j] = at;
    for (int i = j; i < GIVEN; i++) {
      const bool near = i >= GIVEN - 40 || i / 25 == j / 25;
      const bool there = next_random(&state) % 100 < 20;
      if (i != j && !(near && there)) continue;
      t->index[at] = i;
      t->values[at++] = i == j ? 2 : (double)(next_random(&state) % 1000) / 4000 - 0.125;
    }
  }
  t->ptr[GIVEN] = at;
}

/* op(L U) x = b with two structures: the same bits for all variants of scheduling and updates. */
static void check_two_structures(tristar_t *ts, tristar_engine engine) {
  triangle *lower = malloc(sizeof *lower), *upper = malloc(sizeof *upper);
  double b[3 * GIVEN], x[3 * GIVEN], kept[2][2][3 * GIVEN];
  tristar_factors factors;
  tristar_factor_t *f;
  tristar_plan_t *plan;
  draw(lower, 1);
  draw(upper, 2);
  fill_random(b, 3 * GIVEN, 5);
  tristar_factors_init(&factors);
  factors.n = GIVEN;
  factors.scalar = TRISTAR_DOUBLE;
  factors.lower = (tristar_triangle){.format = TRISTAR_TRIANGLE_COLUMNS,
                                     .ptr_bits = 64,
                                     .index_bits = 32,
                                     .ptr = lower->ptr,
                                     .index = lower->index,
                                     .values = lower->values};
  factors.upper = factors.lower;
  factors.upper.format = TRISTAR_TRIANGLE_ROWS;
  factors.upper.ptr = upper->ptr;
  factors.upper.index = upper->index;
  factors.upper.values = upper->values;
  CHECK_OK(tristar_import_supernodal(ts, &factors, &f));
  for (int k = 0; k < 6; k++)
    for (int op = 0; op < 2; op++) {
      CHECK_OK(plan_with(f, &variants[k], engine, 0, &plan));
      CHECK_OK(tristar_solve(plan, op ? TRISTAR_T : TRISTAR_N, 3, b, GIVEN, x, GIVEN));
      if (variants[k].same == k) memcpy(kept[k > 0][op], x, sizeof x);
      CHECK_MSG(memcmp(kept[variants[k].same > 0][op], x, sizeof x) == 0, "two structures, %s: other bits",
                variants[k].name);
      tristar_plan_destroy(&plan);
    }
  CHECK_STATUS(plan_with(f, &variants[11], engine, 0, &plan), TRISTAR_ERR_UNSUPPORTED);
  CHECK(plan == NULL);
  tristar_factor_destroy(&f);
  free(lower);
  free(upper);
}

/* A triangular matrix alone: one sweep. */
static void check_triangle(tristar_t *ts, tristar_engine engine) {
  triangle *t = malloc(sizeof *t);
  double b[GIVEN], x[GIVEN], kept[2][GIVEN];
  tristar_factor_t *f;
  tristar_plan_t *plan;
  draw(t, 3);
  fill_random(b, GIVEN, 6);
  const tristar_view view = {
      TRISTAR_CSC, TRISTAR_GENERAL, TRISTAR_DOUBLE, GIVEN, GIVEN, t->ptr, t->index, t->values, 64, 32, 0};
  CHECK_OK(tristar_import_csr(ts, &view, TRISTAR_LOWER, TRISTAR_NON_UNIT, &f));
  for (int k = 0; k < 4; k++)
    for (int op = 0; op < 2; op++) {
      CHECK_OK(plan_with(f, &variants[k], engine, 0, &plan));
      CHECK_OK(tristar_solve(plan, op ? TRISTAR_T : TRISTAR_N, 1, b, GIVEN, x, GIVEN));
      if (k == 0) memcpy(kept[op], x, sizeof x);
      CHECK_MSG(memcmp(kept[op], x, sizeof x) == 0, "triangle, %s: other bits", variants[k].name);
      tristar_plan_destroy(&plan);
    }
  CHECK_STATUS(plan_with(f, &variants[11], engine, 0, &plan), TRISTAR_ERR_UNSUPPORTED);
  tristar_factor_destroy(&f);
  free(t);
}

/* ---- Several threads, failing allocations ---------------------------------------------------------------
 */

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

/* Two threads that need the matrices of T at the same time. */
static void check_threads(tristar_t *ts) {
  problem p;
  pthread_t thread[2];
  job jobs[2];
  tristar_factor_t *f;
  tristar_plan_t *plan;
  open_problem(ts, &systems[6], &p);
  CHECK_OK(factor_with(ts, &p, systems[6].method, &variants[11], &f));
  CHECK_OK(plan_with(f, &variants[11], TRISTAR_ENGINE_TASKS, 0, &plan));
  for (int k = 0; k < 2; k++) {
    jobs[k] = (job){&p, plan, 0};
    CHECK(pthread_create(&thread[k], NULL, solve_job, &jobs[k]) == 0);
  }
  for (int k = 0; k < 2; k++) CHECK(pthread_join(thread[k], NULL) == 0);
  for (int k = 0; k < 2; k++) CHECK(jobs[k].hash == reference[6][11]);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&f);
  close_problem(&p);
}

static void check_failures(tristar_t *ts, const variant *v, tristar_engine engine) {
  problem p;
  tristar_factor_t *f;
  tristar_memory_stats memory;
  open_problem(ts, &systems[7], &p);
  const int64_t n = p.view.rows;
  char *x = malloc((size_t)n * p.t->bytes);
  CHECK_OK(factor_with(ts, &p, systems[7].method, v, &f));
  tristar_memory(ts, &memory);
  const size_t before = memory.current_bytes;
  int64_t fails = 0;
  for (;; fails++) {
    tristar_plan_t *plan;
    tristar_memory(ts, &memory);
    tsi_context_env(ts)->memory.fail_at = memory.allocations + fails + 1;
    tristar_status status = plan_with(f, v, engine, 0, &plan);
    CHECK((plan != NULL) == (status == TRISTAR_OK));
    if (status == TRISTAR_OK) status = tristar_solve(plan, TRISTAR_N, 1, p.b, n, x, n);
    if (status == TRISTAR_OK) status = tristar_solve(plan, TRISTAR_T, 1, p.b, n, x, n);
    tsi_context_env(ts)->memory.fail_at = 0;
    if (plan != NULL) CHECK_OK(tristar_solve(plan, TRISTAR_T, 1, p.b, n, x, n));
    tristar_plan_destroy(&plan);
    tristar_memory(ts, &memory);
    CHECK_MSG(memory.current_bytes == before, "%s: %zu bytes leaked", v->name, memory.current_bytes - before);
    if (status == TRISTAR_OK) break;
    CHECK(status == TRISTAR_ERR_MEMORY);
  }
  CHECK(fails > 30);
  tristar_factor_destroy(&f);
  close_problem(&p);
  free(x);
}

/* workers 0: the serial engine. */
static void check_all(const char *workers) {
  tristar_config config;
  tristar_t *ts;
  tristar_memory_stats memory;
  const bool serial = *workers == '0';
  const tristar_engine engine = serial ? TRISTAR_ENGINE_SERIAL : TRISTAR_ENGINE_TASKS;
  tristar_config_init(&config);
  config.use_starpu = !serial;
  config.check = 1;
  if (!serial) setenv("STARPU_NCPU", workers, 1);
  CHECK_OK(tristar_create(&config, &ts));
  for (int s = 0; s < SYSTEMS; s++) check_system(ts, s, engine);
  check_two_structures(ts, engine);
  check_triangle(ts, engine);
  if (serial) {
    check_refactor(ts, 0);
    check_refactor(ts, 6);
    check_refactor(ts, 8);
    check_lists(ts);
    check_refusals(ts);
  } else
    check_threads(ts);
  check_failures(ts, &variants[3], engine);
  check_failures(ts, &variants[11], engine);
  tristar_memory(ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
  tristar_destroy(&ts);
}

int main(void) {
  check_all("0");
  check_all("1");
  check_all("2");
  return 0;
}
