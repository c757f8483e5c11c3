/* One object of each kind that a context can have, for tests of lifetimes: tests use the objects, and destroy
 * them in any order. */
#pragma once

#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/random.h"
#include "tristar_krylov.h"
#include "tristar_trace.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"

typedef enum object_kind {
  CONTEXT,
  MATRIX,
  DENSE,
  ANALYSIS,
  FACTOR,
  PLAN,        /* with tasks, if there is StarPU */
  SERIAL_PLAN, /* of the same factor */
  REQUEST,     /* in flight, if there is StarPU */
  ENDING_REQUEST,
  TRACE,
  TRIANGLE,
  TRIANGLE_PLAN, /* with lanes, if there is StarPU */
  IMPORTED,
  IMPORTED_PLAN,
  KRYLOV,
  ILU,
  FSAI,
  PLAN_PRECOND,
  FUNCTION_PRECOND,
  OBJECT_KINDS
} object_kind;

typedef struct objects {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_dense dense;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor, *triangle, *imported;
  tristar_plan_t *plan, *serial_plan, *triangle_plan, *imported_plan;
  tristar_request_t *request, *ending_request;
  tristar_trace_t *trace;
  tristar_krylov_t *krylov;
  tristar_precond_t *ilu, *fsai, *plan_precond, *function_precond;
  tristar_view view; /* of arrays below */
  int64_t n;
  int64_t *ptr;
  int32_t *index;
  double *values;
  double *b, *x, *in_flight; /* n; n; 2 n */
} objects;

static inline tristar_status copy_vector(void *arg, tristar_op op, int64_t nrhs, const void *b, int64_t ldb,
                                         void *x, int64_t ldx) {
  (void)op;
  for (int64_t c = 0; c < nrhs; c++)
    memmove((double *)x + c * ldx, (const double *)b + c * ldb, (size_t) * (int64_t *)arg * sizeof(double));
  return TRISTAR_OK;
}

static inline void note_end(void *arg, tristar_status status) {
  (void)arg;
  (void)status;
}

/* Copies the matrix to arrays of the test, because a view ends with its matrix. */
static inline void keep_matrix(objects *o) {
  tristar_view view;
  CHECK_OK(tristar_matrix_get_view(o->matrix, &view));
  const int64_t n = view.rows, entries = ((const int64_t *)view.ptr)[n];
  o->n = n;
  o->ptr = malloc((size_t)(n + 1) * sizeof *o->ptr);
  o->index = malloc((size_t)entries * sizeof *o->index);
  o->values = malloc((size_t)entries * sizeof *o->values);
  o->b = malloc((size_t)n * sizeof *o->b);
  o->x = malloc((size_t)n * sizeof *o->x);
  o->in_flight = malloc((size_t)(2 * n) * sizeof *o->in_flight);
  CHECK(o->ptr && o->index && o->values && o->b && o->x && o->in_flight);
  memcpy(o->ptr, view.ptr, (size_t)(n + 1) * sizeof *o->ptr);
  memcpy(o->index, view.index, (size_t)entries * sizeof *o->index);
  memcpy(o->values, view.values, (size_t)entries * sizeof *o->values);
  fill_random(o->b, n, 1);
  o->view = view;
  o->view.ptr = o->ptr;
  o->view.index = o->index;
  o->view.values = o->values;
}

static inline void start_requests(objects *o) {
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  CHECK_OK(tristar_solve_start(o->plan, &options, 1, o->b, o->in_flight, &o->request));
  options.end = note_end;
  CHECK_OK(tristar_solve_start(o->plan, &options, 1, o->b, o->in_flight + o->n, &o->ending_request));
}

static inline void make_factors(objects *o) {
  tristar_plan_options options;
  tristar_triangle_options triangle = DEFAULTS(tristar_triangle_options);
  const double four[] = {2, 1, 3, 0};
  const int ptr[] = {0, 2, 3}, row[] = {0, 1, 1};
  tristar_factors given;
  CHECK_OK(tristar_analyze(o->ts, &o->view, NULL, &o->analysis));
  CHECK_OK(tristar_factor(o->analysis, o->values, &o->factor));
  triangle.partition = TRISTAR_PARTITION_SUPERSTEPS;
  CHECK_OK(tristar_import_triangle(o->ts, &o->view, &triangle, &o->triangle));
  tristar_factors_init(&given);
  given.n = 2;
  given.scalar = TRISTAR_DOUBLE;
  given.method = TRISTAR_METHOD_LLT;
  given.lower = (tristar_triangle){.format = TRISTAR_TRIANGLE_COLUMNS,
                                   .ptr_bits = 32,
                                   .index_bits = 32,
                                   .ptr = ptr,
                                   .index = row,
                                   .values = four};
  CHECK_OK(tristar_import_supernodal(o->ts, &given, &o->imported));
  tristar_plan_options_init(&options);
  options.chunk_bytes_max = 2000;
  options.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(o->factor, &options, &o->serial_plan));
}

/* starpu: plans have tasks and lanes. */
static inline void make_plans(objects *o, bool starpu) {
  tristar_plan_options options = DEFAULTS(tristar_plan_options);
  options.chunk_bytes_max = 2000;
  options.engine = starpu ? TRISTAR_ENGINE_TASKS : TRISTAR_ENGINE_AUTO;
  CHECK_OK(tristar_plan(o->factor, &options, &o->plan));
  options.engine = TRISTAR_ENGINE_AUTO;
  CHECK_OK(tristar_plan(o->triangle, &options, &o->triangle_plan));
  CHECK_OK(tristar_plan(o->imported, &options, &o->imported_plan));
}

static inline void make_preconds(objects *o) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  CHECK_OK(tristar_krylov_create(o->ts, &o->view, NULL, &o->krylov));
  CHECK_OK(tristar_precond(o->ts, &o->view, NULL, &o->ilu));
  options.kind = TRISTAR_PRECOND_FSAI;
  CHECK_OK(tristar_precond(o->ts, &o->view, &options, &o->fsai));
  CHECK_OK(tristar_precond_of_plan(o->plan, &o->plan_precond));
  CHECK_OK(
      tristar_precond_of_function(o->ts, o->n, TRISTAR_DOUBLE, copy_vector, &o->n, &o->function_precond));
}

/* Writes a dense matrix to the file and reads it. */
static inline void make_dense(objects *o, const char *file) {
  const tristar_dense vector = {.rows = o->n, .cols = 1, .scalar = TRISTAR_DOUBLE, .values = o->b};
  CHECK_OK(tristar_dense_write(o->ts, file, &vector, NULL));
  CHECK_OK(tristar_dense_read(o->ts, file, &o->dense));
}

/* Makes the objects; ts becomes one of them. */
static inline void make_objects(tristar_t *ts, bool starpu, objects *o) {
  *o = (objects){.ts = ts};
  CHECK_OK(tristar_matrix_generate(ts, "s2d9pt", 9, &o->matrix));
  keep_matrix(o);
  make_dense(o, "objects.mtx");
  make_factors(o);
  make_plans(o, starpu);
  make_preconds(o);
  CHECK_OK(tristar_trace(o->plan, TRISTAR_N, 1, o->b, o->n, o->x, o->n, &o->trace));
  start_requests(o);
}

/* Destroys an object. A request is waited for first; this must return the status `waited`. */
static inline void destroy_object(objects *o, object_kind kind, tristar_status waited) {
  switch (kind) {
  case CONTEXT:
    tristar_destroy(&o->ts);
    break;
  case MATRIX:
    tristar_matrix_destroy(&o->matrix);
    break;
  case DENSE:
    tristar_dense_destroy(NULL, &o->dense);
    break;
  case ANALYSIS:
    tristar_analysis_destroy(&o->analysis);
    break;
  case FACTOR:
    tristar_factor_destroy(&o->factor);
    break;
  case PLAN:
    tristar_plan_destroy(&o->plan);
    break;
  case SERIAL_PLAN:
    tristar_plan_destroy(&o->serial_plan);
    break;
  case REQUEST:
    CHECK_STATUS(tristar_wait(&o->request, NULL), waited);
    CHECK(o->request == NULL);
    break;
  case ENDING_REQUEST:
    CHECK_STATUS(tristar_wait(&o->ending_request, NULL), waited);
    CHECK(o->ending_request == NULL);
    break;
  case TRACE:
    tristar_trace_destroy(&o->trace);
    break;
  case TRIANGLE:
    tristar_factor_destroy(&o->triangle);
    break;
  case TRIANGLE_PLAN:
    tristar_plan_destroy(&o->triangle_plan);
    break;
  case IMPORTED:
    tristar_factor_destroy(&o->imported);
    break;
  case IMPORTED_PLAN:
    tristar_plan_destroy(&o->imported_plan);
    break;
  case KRYLOV:
    tristar_krylov_destroy(&o->krylov);
    break;
  case ILU:
    tristar_precond_destroy(&o->ilu);
    break;
  case FSAI:
    tristar_precond_destroy(&o->fsai);
    break;
  case PLAN_PRECOND:
    tristar_precond_destroy(&o->plan_precond);
    break;
  case FUNCTION_PRECOND:
    tristar_precond_destroy(&o->function_precond);
    break;
  case OBJECT_KINDS:
    break;
  }
}

/* Calls functions that compute with the objects that exist; each must return the status `expected`. */
static inline void use_objects(objects *o, tristar_status expected) {
  tristar_plan_t *const plans[] = {o->plan, o->serial_plan, o->triangle_plan};
  tristar_precond_t *const preconds[] = {o->ilu, o->fsai, o->plan_precond, o->function_precond};
  tristar_krylov_result result;
  for (int k = 0; k < 3; k++)
    if (plans[k]) CHECK_STATUS(tristar_solve(plans[k], TRISTAR_N, 1, o->b, o->n, o->x, o->n), expected);
  for (int k = 0; k < 4; k++)
    if (preconds[k])
      CHECK_STATUS(tristar_precond_apply(preconds[k], TRISTAR_N, 1, o->b, o->n, o->x, o->n), expected);
  for (int k = 0; k < 4 && o->krylov; k++)
    if (preconds[k])
      CHECK_STATUS(tristar_krylov_solve(o->krylov, preconds[k], 1, o->b, o->n,
                                        memset(o->x, 0, (size_t)o->n * 8), o->n, &result),
                   expected);
  if (o->ts) {
    tristar_matrix_t *another;
    CHECK_STATUS(tristar_matrix_generate(o->ts, "s2d9pt", 4, &another), expected);
    tristar_matrix_destroy(&another);
  }
  if (o->analysis) {
    tristar_factor_t *another;
    CHECK_STATUS(tristar_factor(o->analysis, o->values, &another), expected);
    tristar_factor_destroy(&another);
  }
}

/* Checks the solution of a plan of A. */
static inline void check_solution(objects *o, tristar_plan_t *plan) {
  double error;
  if (plan == NULL || o->factor == NULL) return;
  CHECK_OK(tristar_solve(plan, TRISTAR_N, 1, o->b, o->n, o->x, o->n));
  CHECK_OK(tristar_residual(o->factor, TRISTAR_N, 1, o->b, o->n, o->x, o->n, NULL, 0, &error));
  CHECK(error < 1e-13);
}

/* Frees the arrays of the test. */
static inline void free_arrays(objects *o) {
  free(o->ptr);
  free(o->index);
  free(o->values);
  free(o->b);
  free(o->x);
  free(o->in_flight);
}

/* An order of destruction. */
static inline void shuffle_kinds(uint64_t seed, int count, int *kind) {
  for (int k = 0; k < count; k++) kind[k] = k;
  for (int k = count - 1; k > 0; k--) {
    double place;
    fill_random(&place, 1, seed * 1000 + (uint64_t)k); /* from -1 to 1 */
    const int other = (int)((place + 1) / 2 * (k + 1)) % (k + 1), kept = kind[k];
    kind[k] = kind[other];
    kind[other] = kept;
  }
}
