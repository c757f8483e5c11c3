/* The variants of analysis and plan, and systems to solve with them in all types, for the tests. */
#pragma once

#include "tests/support/typed.h"
#include "tristar_machine.h"

typedef struct variant {
  const char *name;
  tristar_merge merge;
  tristar_scheduling scheduling;
  tristar_updates updates;
  tristar_granularity granularity;
  tristar_kernel kernel;
  int same; /* variant with the same bits */
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
  tristar_symmetry symmetry; /* declared symmetry of a symmetric kind in a complex type */
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

static inline uint64_t hash(uint64_t h, const void *x, size_t size) {
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

static inline void open_problem(tristar_t *ts, const system_case *c, problem *p) {
  p->t = c->t;
  p->values = typed_matrix(ts, c->kind, c->k, c->t, c->symmetry, &p->matrix, &p->view);
  p->b = make_rhs(c->t, p->view.rows);
}

static inline void close_problem(problem *p) {
  tristar_matrix_destroy(&p->matrix);
  free(p->values);
  free(p->b);
}

static inline tristar_status factor_with(tristar_t *ts, const problem *p, tristar_method method,
                                         const variant *v, tristar_factor_t **f) {
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an;
  options.method = method;
  options.merge = v->merge;
  *f = NULL;
  tristar_status status = tristar_analyze(ts, &p->view, &options, &an);
  if (status == TRISTAR_OK) status = tristar_factor(an, p->view.values, f);
  return status;
}

static inline tristar_status plan_with(tristar_factor_t *f, const variant *v, tristar_engine engine,
                                       unsigned seed, tristar_plan_t **p) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.engine = engine;
  options.chunk_bytes_max = 4000;
  options.order_seed = seed;
  options.scheduling = v->scheduling;
  options.updates = v->updates;
  options.granularity = v->granularity;
  options.kernel = v->kernel;
  return tristar_plan(f, &options, p);
}

/* Returns a checksum of all plain solutions. *worst: their largest backward error, for one right-hand side.
 */
static inline uint64_t solve_all(const problem *p, tristar_plan_t *plan, double *worst) {
  const int64_t n = p->view.rows;
  OWNED char *x = malloc(TYPED_COLUMNS * (size_t)n * p->t->bytes);
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
  return h;
}

/* Runs the checks without StarPU, then with 1 and 2 workers, each in a new context; no memory may be leaked.
 */
static inline void with_each_engine(void (*check)(tristar_t *ts, tristar_engine engine)) {
  for (int workers = 0; workers <= 2; workers++) {
    tristar_config config = DEFAULTS(tristar_config);
    tristar_t *ts;
    tristar_memory_stats memory;
    if (TSI_TESTS_RACES && workers == 1) continue;
    config.use_starpu = workers > 0;
    config.check = 1;
    if (workers > 0) setenv("STARPU_NCPU", workers == 1 ? "1" : "2", 1);
    CHECK_OK(tristar_create(&config, &ts));
    check(ts, workers > 0 ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_SERIAL);
    tristar_get_memory(ts, &memory);
    CHECK_MSG(memory.current_bytes == 0, "%zu bytes leaked", memory.current_bytes);
    tristar_destroy(&ts);
  }
}
