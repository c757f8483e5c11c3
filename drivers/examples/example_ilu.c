/* BiCGSTAB (van der Vorst 1992) on a convection-diffusion equation in two dimensions with a turning wind.
 * Each step has new values in the same pattern, so the incomplete factors are updated, and their plans stay.
 *
 * example_ilu [K]: on K x K points (default 60). Prints the iterations of each step without a preconditioner,
 * with Jacobi, with ILU of levels 0 and 2, and with ILUT; ends with status 1 if one does not converge. */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <tristar_precond.h>

#include "example.h"

enum { STEPS = 3, KINDS = 5, MOST = 2000 };

typedef struct problem {
  int n, k;
  int *ptr, *column;
  double *value;
  tristar_view view;
} problem;

static problem make_problem(int k) {
  problem p = {.n = k * k, .k = k};
  p.ptr = example_allocate((size_t)p.n + 1, sizeof *p.ptr);
  p.column = example_allocate(5 * (size_t)p.n, sizeof *p.column);
  p.value = example_allocate(5 * (size_t)p.n, sizeof *p.value);
  for (int i = 0, at = 0; i < p.n; p.ptr[++i] = at) {
    if (i >= k) p.column[at++] = i - k;
    if (i % k > 0) p.column[at++] = i - 1;
    p.column[at++] = i;
    if (i % k + 1 < k) p.column[at++] = i + 1;
    if (i + k < p.n) p.column[at++] = i + k;
  }
  p.view = (tristar_view){
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, p.n, p.n, p.ptr, p.column, p.value, 32, 32, 0};
  return p;
}

/* Sets diffusion, and upwind differences of a wind from that direction. */
static void set_wind(problem *p, double angle) {
  const double east = cos(angle), north = sin(angle);
  for (int i = 0; i < p->n; i++)
    for (int e = p->ptr[i]; e < p->ptr[i + 1]; e++) {
      const int step = p->column[e] - i;
      const double wind = step == 1 ? -east : step == -1 ? east : step == p->k ? -north : north;
      p->value[e] = step == 0 ? 4 + fabs(east) + fabs(north) + 0.01 : -1 - fmax(wind, 0);
    }
}

static void multiply(const problem *p, const double *x, double *y) {
  for (int i = 0; i < p->n; i++) {
    y[i] = 0;
    for (int e = p->ptr[i]; e < p->ptr[i + 1]; e++) y[i] += p->value[e] * x[p->column[e]];
  }
}

static double dot(int n, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* y = A M^-1 x, z = M^-1 x */
static void step_along(tristar_t *ts, const problem *p, tristar_precond_t *m, const double *x, double *z,
                       double *y) {
  example_check(ts, tristar_precond_apply(m, TRISTAR_N, 1, x, p->n, z, p->n));
  multiply(p, z, y);
}

/* Iterations until the residual is 1e-10 of b; x is zero at first. */
static int solve(tristar_t *ts, const problem *p, tristar_precond_t *m, const double *b, double *x) {
  const int n = p->n;
  double *all = example_allocate(7 * (size_t)n, sizeof *all);
  double *r = all, *start = r + n, *d = start + n, *v = d + n, *t = v + n, *dm = t + n, *sm = dm + n;
  const double goal = 1e-10 * sqrt(dot(n, b, b));
  double rho = 1, alpha = 1, omega = 1;
  int iteration = 0;
  memset(x, 0, (size_t)n * sizeof *x);
  memcpy(r, b, (size_t)n * sizeof *r);
  memcpy(start, b, (size_t)n * sizeof *r);
  for (; sqrt(dot(n, r, r)) > goal && iteration < MOST; iteration++) {
    const double now = dot(n, start, r), beta = now / rho * alpha / omega;
    for (int i = 0; i < n; i++) d[i] = r[i] + beta * (d[i] - omega * v[i]);
    step_along(ts, p, m, d, dm, v);
    alpha = now / dot(n, start, v);
    for (int i = 0; i < n; i++) r[i] -= alpha * v[i];
    step_along(ts, p, m, r, sm, t);
    omega = dot(n, t, r) / dot(n, t, t);
    for (int i = 0; i < n; i++) {
      x[i] += alpha * dm[i] + omega * sm[i];
      r[i] -= omega * t[i];
    }
    rho = now;
  }
  multiply(p, x, t);
  for (int i = 0; i < n; i++) r[i] = b[i] - t[i];
  const bool converged = sqrt(dot(n, r, r)) <= 100 * goal;
  free(all);
  return converged ? iteration : MOST;
}

int main(int argc, char **argv) {
  static const tristar_precond_kind kinds[KINDS] = {TRISTAR_PRECOND_NONE, TRISTAR_PRECOND_JACOBI,
                                                    TRISTAR_PRECOND_ILU, TRISTAR_PRECOND_ILU,
                                                    TRISTAR_PRECOND_ILUT};
  static const char *const names[KINDS] = {"none", "Jacobi", "ILU(0)", "ILU(2)", "ILUT"};
  problem p = make_problem(argc > 1 ? example_number(argv[1], 2, 1000) : 60);
  tristar_t *ts;
  double *b = example_allocate((size_t)p.n, sizeof *b), *x = example_allocate((size_t)p.n, sizeof *x);
  int worst = 0;
  for (int i = 0; i < p.n; i++) b[i] = 1;
  example_check(NULL, tristar_create(NULL, &ts));
  for (int kind = 0; kind < KINDS; kind++) {
    tristar_precond_options options;
    tristar_precond_t *m = NULL;
    tristar_precond_stats stats;
    tristar_precond_options_init(&options);
    options.kind = kinds[kind];
    options.level = kind == 3 ? 2 : 0;
    printf("%s:", names[kind]);
    for (int step = 0; step < STEPS; step++) {
      set_wind(&p, 0.4 + step);
      if (step == 0)
        example_check(ts, tristar_precond(ts, &p.view, &options, &m));
      else
        example_check(ts, tristar_precond_update(m, &p.view));
      const int iterations = solve(ts, &p, m, b, x);
      printf(" %d", iterations);
      if (iterations > worst) worst = iterations;
    }
    example_check(ts, tristar_precond_get_stats(m, &stats));
    printf(" iterations, %.2f times the entries of A, latest set-up %.2g s\n", stats.fill,
           stats.setup_seconds);
    tristar_precond_destroy(&m);
  }
  tristar_destroy(&ts);
  free(p.ptr);
  free(p.column);
  free(p.value);
  free(b);
  free(x);
  return worst < MOST ? EXIT_SUCCESS : EXIT_FAILURE;
}
