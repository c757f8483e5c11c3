/* Solves with triangles by rows in the emulator, compared with a substitution on the host. */
#pragma once

#include "tests/support/device_rows.h"
#include "tests/support/gpu/run_rows.h"

/* A system with its tables, and the data for a device. */
typedef struct row_solver {
  const system_of *s;
  row_problem problem;
  tsi_device_row_plan plan;
  char *values, *inverse; /* in the order of the tables */
  bool unit, conjugate;   /* ones on the diagonal, conj(F) */
} row_solver;

/* Allocates an array aligned to a sector of memory, like arrays of devices. */
static inline void *device_array(size_t bytes) {
  return aligned_alloc(TSI_CACHE_LINE, (bytes + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE * TSI_CACHE_LINE);
}

static inline row_solver row_solver_open(tsi_env *env, const system_of *s, const row_problem *p, bool unit,
                                         bool conjugate) {
  row_solver r = {.s = s, .problem = *p, .unit = unit, .conjugate = conjugate};
  CHECK_OK(row_problem_create(env, s, p, &r.plan));
  r.values = device_array((size_t)(r.plan.tables.entries + 1) * s->t->bytes);
  r.inverse = device_array((size_t)(r.plan.tables.n + 1) * s->t->bytes);
  CHECK(r.values != NULL && r.inverse != NULL);
  tsi_device_rows_fill(&r.plan, s->t->bytes, s->values[p->columns], r.values);
  tsi_device_rows_place(&r.plan, s->t->bytes, s->inverse, r.inverse);
  return r;
}

static inline void row_solver_close(row_solver *r) {
  tsi_device_rows_destroy(&r->plan);
  free(r->values);
  free(r->inverse);
}

/* Options of a solve. */
typedef struct row_run {
  run_grid grid;
  bool one_launch;
  unsigned solves;
} row_run;

/* b and x: right-hand sides of n scalars each, one after the other. */
static inline run_outcome row_solve(const row_solver *r, const row_run *run, int64_t nrhs, const void *b,
                                    void *x) {
  const int64_t n = r->plan.tables.n;
  const tsi_gpu_rows rows = {.tables = r->plan.tables,
                             .call = {.in_row = r->plan.order,
                                      .out_row = r->plan.order,
                                      .b = b,
                                      .x = x,
                                      .b_row = 1,
                                      .b_column = n,
                                      .x_row = 1,
                                      .x_column = n,
                                      .nrhs = (tsi_index)nrhs},
                             .values = r->values,
                             .inverse = r->unit ? NULL : r->inverse,
                             .conjugate = r->conjugate};
  const char scalars[] = {(char)r->s->t->scalar, 0};
  return run_rows(scalars, &rows, run->one_launch, run->solves, &run->grid);
}

/* Returns entry e, by rows, of the matrix of the solve: F or its transpose, conjugated if requested. */
static inline number row_entry(const row_solver *r, int64_t e) {
  const number a = get(r->s->t, r->s->values[r->problem.backward], e);
  return r->conjugate ? conj(a) : a;
}

/* Computes x by a substitution in double, for one right-hand side, and a bound of its difference from any
 * substitution in the system's type. For a sum of k products in any order, and errors error[j] in rows 0 ..
 * i-1: error[i] = (k + 4) u |inverse| (|b| + sum |a x|) + |inverse| sum |a| error[j] */
static inline void row_reference(const row_solver *r, const char *b, number *x, double *error) {
  const typed *t = r->s->t;
  const triangle_pattern *p = &r->s->pattern[r->problem.backward]; /* columns: rows of the transpose */
  for (int32_t k = 0; k < p->n; k++) {
    const int32_t i = r->problem.backward ? p->n - 1 - k : k;
    number sum = get(t, b, i), inverse = r->unit ? 1 : get(t, r->s->inverse, i);
    double size = magnitude(sum), carried = 0;
    for (int64_t e = p->ptr[i]; e < p->ptr[i + 1]; e++) {
      const int32_t j = p->index[e];
      if (j == i) continue;
      sum -= row_entry(r, e) * x[j];
      size += magnitude(row_entry(r, e)) * magnitude(x[j]);
      carried += magnitude(row_entry(r, e)) * error[j];
    }
    if (r->conjugate) inverse = conj(inverse);
    x[i] = inverse * sum;
    error[i] =
        magnitude(inverse) * ((double)(p->ptr[i + 1] - p->ptr[i] + 4) * 2 * t->roundoff * size + 2 * carried);
  }
}

/* Checks x against the reference, row by row. */
static inline void row_compare(const row_solver *r, int64_t nrhs, const char *b, const char *x) {
  const typed *t = r->s->t;
  const int64_t n = r->plan.tables.n;
  number *right = malloc((size_t)(n + 1) * sizeof *right);
  double *error = malloc((size_t)(n + 1) * sizeof *error);
  CHECK(right != NULL && error != NULL);
  for (int64_t c = 0; c < nrhs; c++) {
    row_reference(r, b + (size_t)(c * n) * t->bytes, right, error);
    for (int64_t i = 0; i < n; i++) {
      const double differs = magnitude(get(t, x, c * n + i) - right[i]);
      CHECK_MSG(differs <= error[i], "row %d, right-hand side %d: differs by %g, %g is roundoff", (int)i,
                (int)c, differs, error[i]);
    }
  }
  free(right);
  free(error);
}
