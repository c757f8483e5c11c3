/* Constraints: points are connected by springs, and the mean displacement of groups of points is zero. This
 * is a saddle point system [K B; B^T 0], in which the diagonal entry of a constraint is zero. The program
 * prescribes an order of elimination that begins with the constraints. Static pivots are then perturbed.
 * Delayed pivots are eliminated later, with suitable rows. New stiffnesses keep the order that was found, and
 * the plan. */
#include "example.h"
#include "tristar_stats.h"

enum { POINTS = 600, GROUPS = 75, N = POINTS + GROUPS, ENTRIES = 3 * POINTS };

/* Lower triangle by columns; point j belongs to group j % GROUPS. */
static tristar_view make_system(double stiffness, int *ptr, int *row, double *value) {
  int at = 0;
  for (int j = 0; j < N; j++) {
    ptr[j] = at;
    if (j >= POINTS) continue;
    row[at] = j, value[at++] = 2 * stiffness + 0.01;
    if (j + 1 < POINTS) row[at] = j + 1, value[at++] = -stiffness;
    row[at] = POINTS + j % GROUPS, value[at++] = 1;
  }
  ptr[N] = at;
  return (tristar_view){TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, value, 32, 32, 0};
}

/* The backward error of x without refinement. */
static double solve(tristar_t *ts, const tristar_factor_t *factor, tristar_plan_t *plan) {
  static double b[N], x[N];
  double error;
  for (int i = 0; i < N; i++) b[i] = i < POINTS ? 1 : 0;
  example_check(ts, tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
  example_check(ts, tristar_residual(factor, TRISTAR_N, 1, b, N, x, N, NULL, N, &error));
  return error;
}

int main(void) {
  static const char *const names[] = {"static", "delayed"};
  static int ptr[N + 1], row[ENTRIES];
  static double value[ENTRIES];
  static int64_t order[N];
  tristar_t *ts;
  tristar_factor_stats stats;
  double worst = 0;
  example_check(NULL, tristar_create(NULL, &ts));
  for (int k = 0; k < N; k++) order[k] = (k + POINTS) % N;
  for (int delayed = 0; delayed < 2; delayed++) {
    const tristar_view a = make_system(1, ptr, row, value);
    tristar_analysis_t *analysis;
    tristar_factor_t *factor;
    tristar_plan_t *plan;
    tristar_analysis_options options;
    tristar_plan_options unrefined;
    tristar_analysis_options_init(&options);
    options.ordering = TRISTAR_ORDERING_USER;
    options.permutation = order;
    options.matching = TRISTAR_MATCHING_OFF;
    options.singular = TRISTAR_SINGULAR_PERTURB;
    options.pivoting = delayed ? TRISTAR_PIVOTING_DELAYED : TRISTAR_PIVOTING_STATIC;
    tristar_plan_options_init(&unrefined);
    unrefined.refine = TRISTAR_REFINE_NEVER;
    example_check(ts, tristar_analyze(ts, &a, &options, &analysis));
    example_check(ts, tristar_factor(analysis, a.values, &factor));
    example_check(ts, tristar_plan(factor, &unrefined, &plan));
    example_check(ts, tristar_factor_get_stats(factor, &stats));
    worst = solve(ts, factor, plan);
    printf("%s: %lld perturbed pivots, %lld delayed, %lld entries; backward error %.1e", names[delayed],
           (long long)stats.perturbed_pivots, (long long)stats.delayed_pivots, (long long)stats.nnz_factor,
           worst);
    (void)make_system(3, ptr, row, value);
    example_check(ts, tristar_refactor(factor, value));
    const double again = solve(ts, factor, plan);
    printf(", %.1e with new stiffnesses\n", again);
    if (again > worst) worst = again;
    tristar_plan_destroy(&plan);
    tristar_factor_destroy(&factor);
    tristar_analysis_destroy(&analysis);
  }
  tristar_destroy(&ts);
  /* The pivots were delayed, so none was perturbed. */
  return stats.perturbed_pivots == 0 && worst < 1e-12 ? 0 : 1;
}
