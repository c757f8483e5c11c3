/* Conjugate gradients on a 3D Poisson equation, preconditioned by a symmetric Gauss-Seidel sweep:
 *
 *   M = (D + L) D^-1 (D + L^T)
 *
 * where A = L + D + L^T, of which the lower triangle is stored. Both triangles are imported from the same
 * view; nothing is factored. Compares the iterations with plain conjugate gradients.
 *
 * example_smoother [K]: on K x K x K points (default 24). */
#include <math.h>
#include <string.h>

#include "example.h"
#include "tristar_triangle.h"

typedef struct problem {
  int n;
  int *ptr, *row; /* the lower triangle by columns */
  double *value, *diagonal;
  tristar_view view;
} problem;

static problem make_problem(int k) {
  problem p = {.n = k * k * k};
  const int step[3] = {1, k, k * k};
  p.ptr = example_allocate((size_t)p.n + 1, sizeof *p.ptr);
  p.row = example_allocate(4 * (size_t)p.n, sizeof *p.row);
  p.value = example_allocate(4 * (size_t)p.n, sizeof *p.value);
  p.diagonal = example_allocate((size_t)p.n, sizeof *p.diagonal);
  for (int j = 0, at = 0; j < p.n; p.ptr[++j] = at) {
    p.diagonal[j] = 6;
    p.row[at] = j, p.value[at++] = 6;
    for (int d = 0; d < 3; d++) {
      if (j / step[d] % k + 1 == k) continue; /* the last point of its line */
      p.row[at] = j + step[d], p.value[at++] = -1;
    }
  }
  p.view = (tristar_view){
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, p.n, p.n, p.ptr, p.row, p.value, 32, 32, 0};
  return p;
}

/* y = A x */
static void multiply(const problem *p, const double *x, double *y) {
  memset(y, 0, (size_t)p->n * sizeof *y);
  for (int j = 0; j < p->n; j++)
    for (int e = p->ptr[j]; e < p->ptr[j + 1]; e++) {
      const int i = p->row[e];
      y[i] += p->value[e] * x[j];
      if (i != j) y[j] += p->value[e] * x[i];
    }
}

static double dot(int n, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* A triangle and its plan. */
typedef struct triangle {
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} triangle;

static triangle import(tristar_t *ts, const problem *p, tristar_uplo uplo) {
  triangle t;
  example_check(ts, tristar_import_csr(ts, &p->view, uplo, TRISTAR_NON_UNIT, &t.factor));
  example_check(ts, tristar_plan(t.factor, NULL, &t.plan));
  return t;
}

/* z = M^-1 r */
static void precondition(tristar_t *ts, const problem *p, const triangle *lower, const triangle *upper,
                         const double *r, double *z) {
  example_check(ts, tristar_solve(lower->plan, TRISTAR_N, 1, r, p->n, z, p->n));
  for (int i = 0; i < p->n; i++) z[i] *= p->diagonal[i];
  example_check(ts, tristar_solve(upper->plan, TRISTAR_N, 1, z, p->n, z, p->n));
}

/* Iterations until the residual is 1e-10 of b; lower NULL: without a preconditioner. */
static int solve(tristar_t *ts, const problem *p, const triangle *lower, const triangle *upper,
                 const double *b, double *x) {
  const size_t n = (size_t)p->n;
  double *r = example_allocate(n, sizeof *r), *z = example_allocate(n, sizeof *z),
         *d = example_allocate(n, sizeof *d), *q = example_allocate(n, sizeof *q);
  const double goal = 1e-10 * sqrt(dot(p->n, b, b));
  double before = 0;
  int iteration = 0;
  memset(x, 0, n * sizeof *x);
  memcpy(r, b, n * sizeof *r);
  for (; sqrt(dot(p->n, r, r)) > goal && iteration < 10000; iteration++) {
    if (lower)
      precondition(ts, p, lower, upper, r, z);
    else
      memcpy(z, r, n * sizeof *z);
    const double now = dot(p->n, r, z), beta = iteration > 0 ? now / before : 0;
    for (size_t i = 0; i < n; i++) d[i] = z[i] + beta * d[i];
    multiply(p, d, q);
    const double alpha = now / dot(p->n, d, q);
    for (size_t i = 0; i < n; i++) {
      x[i] += alpha * d[i];
      r[i] -= alpha * q[i];
    }
    before = now;
  }
  free(r);
  free(z);
  free(d);
  free(q);
  return iteration;
}

int main(int argc, char **argv) {
  const int k = argc > 1 ? example_number(argv[1], 2, 200) : 24;
  problem p = make_problem(k);
  tristar_t *ts;
  double *b = example_allocate((size_t)p.n, sizeof *b), *x = example_allocate((size_t)p.n, sizeof *x),
         *y = example_allocate((size_t)p.n, sizeof *y), difference = 0, size = 0;
  for (int i = 0; i < p.n; i++) b[i] = 1;
  example_check(NULL, tristar_create(NULL, &ts));
  triangle lower = import(ts, &p, TRISTAR_LOWER), upper = import(ts, &p, TRISTAR_UPPER);
  double begin = example_seconds();
  const int plain = solve(ts, &p, NULL, NULL, b, y);
  const double plain_s = example_seconds() - begin;
  begin = example_seconds();
  const int swept = solve(ts, &p, &lower, &upper, b, x);
  const double swept_s = example_seconds() - begin;
  for (int i = 0; i < p.n; i++) {
    difference = fmax(difference, fabs(x[i] - y[i]));
    size = fmax(size, fabs(y[i]));
  }
  printf("%d rows: %d iterations in %.3g s; with Gauss-Seidel %d in %.3g s\n", p.n, plain, plain_s, swept,
         swept_s);
  tristar_plan_destroy(&lower.plan);
  tristar_plan_destroy(&upper.plan);
  tristar_factor_destroy(&lower.factor);
  tristar_factor_destroy(&upper.factor);
  tristar_destroy(&ts);
  free(p.ptr);
  free(p.row);
  free(p.value);
  free(p.diagonal);
  free(b);
  free(x);
  free(y);
  return swept < plain && difference < 1e-7 * size ? EXIT_SUCCESS : EXIT_FAILURE;
}
