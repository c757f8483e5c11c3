/* Factors with a device plan, and the call of a solve on a device: for tests of GPU kernels. */
#pragma once

#include "tests/support/context.h"
#include "tests/support/device_solve.h"
#include "tests/support/gpu/runs.h"
#include "tests/support/typed.h"
#include "tristar_matrix.h"

typedef struct problem {
  const char *kind;
  int64_t size;
  tristar_method method;
  tristar_symmetry symmetry; /* declared symmetry of a symmetric kind in a complex type */
  tristar_inverse inverse;
  double node_bytes;
} problem;

typedef struct solver {
  tristar_matrix_t *matrix;
  void *values;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  device_solver device;
  int64_t n;
  size_t bytes; /* bytes of a user's scalar */
} solver;

/* The scalar types, and the names of their kernels. */
static const struct {
  const char *scalars;
  const typed *type;
} types[] = {
    {"s", &typed_single}, {"d", &typed_double}, {"c", &typed_complex_single}, {"z", &typed_complex_double}};

/* Makes a solver for a view of the caller; the view must outlive it. */
static inline solver solver_of(tristar_t *ts, const problem *p, const tristar_view *view, size_t bytes,
                               bool single_factors) {
  solver s = {.n = view->rows, .bytes = bytes};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  tristar_plan_options plan = DEFAULTS(tristar_plan_options);
  options.method = p->method;
  options.ordering = TRISTAR_ORDERING_METIS; /* gives panels of the widths that tests of kernels need */
  options.inverse = p->inverse;
  options.single_factors = single_factors;
  CHECK_OK(tristar_analyze(ts, view, &options, &s.analysis));
  CHECK_OK(tristar_factor(s.analysis, view->values, &s.factor));
  plan.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(s.factor, &plan, &s.plan));
  s.device = device_solver_open(s.plan, p->node_bytes);
  return s;
}

static inline solver solver_open(tristar_t *ts, const problem *p, const typed *t, bool single_factors) {
  tristar_matrix_t *matrix;
  tristar_view view;
  void *values = typed_matrix(ts, p->kind, p->size, t, p->symmetry, &matrix, &view);
  solver s = solver_of(ts, p, &view, t->bytes, single_factors);
  s.matrix = matrix;
  s.values = values;
  return s;
}

static inline void solver_close(solver *s) {
  device_solver_close(&s->device);
  tristar_plan_destroy(&s->plan);
  tristar_factor_destroy(&s->factor);
  tristar_analysis_destroy(&s->analysis);
  tristar_matrix_destroy(&s->matrix);
  free(s->values);
}

/* The data of a solve on a device. */
typedef struct device_sweeps {
  tristar_request_t request;
  tsi_device_call call;
  const tsi_device_tables *forward, *backward;
} device_sweeps;

static inline void device_sweeps_open(const solver *s, const tristar_solve_options *options, int64_t nrhs,
                                      const void *b, void *x, device_sweeps *out) {
  const device_solver *d = &s->device;
  tristar_request_t *r = &out->request;
  CHECK_OK(tsi_request_prepare(r, s->plan, options, nrhs));
  r->call.b = b;
  r->call.x = x;
  r->call.nrhs = (tsi_index)nrhs;
  out->call = tsi_device_call_of(&r->call, d->from);
  out->forward = &d->device->side[r->forward ? r->forward - s->plan->side : 0].tables;
  out->backward = &d->device->side[r->backward ? r->backward - s->plan->side : 0].tables;
}

static inline void device_sweeps_close(device_sweeps *d) {
  tsi_request_cancel(&d->request);
}

/* Makes a right-hand side of `count` random scalars with parts below 1. */
static inline void *random_scalars(const typed *t, int64_t count, uint64_t seed) {
  char *out = malloc((size_t)count * t->bytes + 1);
  CHECK(out != NULL);
  for (int64_t i = 0; i < count; i++) put(t, out, i, random_value(seed + (uint64_t)i));
  return out;
}

/* Returns the largest difference of x and y, relative to the largest entry of x; NaN if there is one. */
static inline double difference(const typed *t, int64_t count, const void *x, const void *y) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < count; i++) {
    const double d = cabs(get(t, x, i) - get(t, y, i));
    largest = fmax(largest, cabs(get(t, x, i)));
    worst = larger_error(worst, d);
  }
  return largest > 0 ? worst / largest : worst;
}

/* ---- Solves in many schedules -------------------------------------------------------------------------- */

typedef struct trial {
  const char *scalars; /* type of the kernels */
  const typed *user;   /* type of b and x */
  double tolerance;    /* maximum difference from x of the serial executor, relative to its largest entry */
  tristar_op op;
  tristar_part part;
  int64_t nrhs;
  unsigned warp;
  unsigned first, schedules; /* seeds of the schedules: first, first + 1, ... */
} trial;

/* Returns a grid of 1 to 8 resident blocks of 32 to 256 threads; not both are large, which would take too
 * long. */
static inline run_grid grid_of(unsigned warp, unsigned seed) {
  static const unsigned threads[] = {64, 256, 128, 192};
  run_grid grid = {.warp = warp, .seed = (uint64_t)seed * 7919 + warp};
  grid.resident = 1 + seed * 3 % 8;
  grid.blocks = grid.resident + seed % 3;
  grid.threads = threads[grid.resident > 4 ? seed % 5 % 2 * 2 : (seed + seed / 8) % 4];
  if (warp == 32 && seed % 5 == 3) grid.threads = 32;
  return grid;
}

#define TRIAL_FORMAT "%s, op %d, part %d, %d right-hand sides, warps of %u"
#define TRIAL_ARGS(t) (t)->scalars, (int)(t)->op, (int)(t)->part, (int)(t)->nrhs, (t)->warp

/* Checks that the kernels agree with the serial executor up to the tolerance, with the same bits in all
 * schedules. */
static inline void check_trial(const solver *s, const trial *t) {
  const int64_t count = s->n * t->nrhs;
  const size_t bytes = (size_t)count * s->bytes;
  void *b = random_scalars(t->user, count, 7 + t->first);
  void *x = calloc(bytes + 1, 1), *first = calloc(bytes + 1, 1), *y = calloc(bytes + 1, 1);
  tristar_solve_options options = DEFAULTS(tristar_solve_options);
  device_sweeps sweeps;
  options.op = t->op;
  options.part = t->part;
  CHECK(x && first && y);
  CHECK_OK(tristar_solve_with(s->plan, &options, t->nrhs, b, x, NULL));
  device_sweeps_open(s, &options, t->nrhs, b, x, &sweeps);
  for (unsigned k = 0; k < t->schedules; k++) {
    const run_grid grid = grid_of(t->warp, t->first + k);
    sweeps.call.x = k == 0 ? first : y;
    const run_outcome got = run_sweeps(t->scalars, sweeps.forward, sweeps.backward, &sweeps.call, &grid);
    CHECK_MSG(got.ended, TRIAL_FORMAT ": %s", TRIAL_ARGS(t), got.problem);
    CHECK_MSG(k == 0 || memcmp(first, y, bytes) == 0, TRIAL_FORMAT ": other bits", TRIAL_ARGS(t));
  }
  const double differs = difference(t->user, count, x, first);
  CHECK_MSG(differs <= t->tolerance, TRIAL_FORMAT ": differs by %g", TRIAL_ARGS(t), differs);
  device_sweeps_close(&sweeps);
  free(b);
  free(x);
  free(first);
  free(y);
}
