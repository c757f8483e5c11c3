/* Factors with a device plan, and the call of a solve as a device takes it: for tests of GPU kernels. */
#ifndef TSI_TESTS_GPU_DEVICE_PROBLEM_H
#define TSI_TESTS_GPU_DEVICE_PROBLEM_H

#include "tests/device_solve.h"
#include "tests/gpu/emulated_sweeps.h"
#include "tests/typed.h"

typedef struct problem {
  const char *kind;
  int64_t size;
  tristar_method method;
  tristar_symmetry symmetry; /* of a complex matrix of a symmetric kind */
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
  size_t bytes; /* of a user's scalar */
} solver;

static inline solver solver_open(tristar_t *ts, const problem *p, const typed *t, bool single_factors) {
  solver s = {0};
  tristar_view view;
  tristar_analysis_options options;
  tristar_plan_options plan;
  s.values = typed_matrix(ts, p->kind, p->size, t, p->symmetry, &s.matrix, &view);
  tristar_analysis_options_init(&options);
  options.method = p->method;
  options.inverse = p->inverse;
  options.single_factors = single_factors;
  CHECK_OK(tristar_analyze(ts, &view, &options, &s.analysis));
  CHECK_OK(tristar_factor(s.analysis, view.values, &s.factor));
  tristar_plan_options_init(&plan);
  plan.engine = TRISTAR_ENGINE_SERIAL;
  CHECK_OK(tristar_plan(s.factor, &plan, &s.plan));
  s.device = device_solver_open(s.plan, p->node_bytes);
  s.n = view.rows;
  s.bytes = t->bytes;
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

/* What a solve gives to a device. */
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

/* A right-hand side of numbers below 1, as many as count scalars of the type have. */
static inline void *random_scalars(const typed *t, int64_t count, uint64_t seed) {
  double part[2];
  char *out = malloc((size_t)count * t->bytes + 1);
  CHECK(out != NULL);
  for (int64_t i = 0; i < count; i++) {
    fill_random(part, 2, seed + (uint64_t)i);
    number value = part[0];
    __imag__ value = part[1];
    put(t, out, i, value);
  }
  return out;
}

/* The largest difference of x and y, by the largest of x; NaN where there is one. */
static inline double difference(const typed *t, int64_t count, const void *x, const void *y) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < count; i++) {
    const double d = cabs(get(t, x, i) - get(t, y, i));
    largest = fmax(largest, cabs(get(t, x, i)));
    if (!(d <= worst)) worst = d;
  }
  return largest > 0 ? worst / largest : worst;
}

#endif
