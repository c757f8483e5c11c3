/* Substructuring: the Poisson equation on two squares that share an interface. Each square is a separate
 * system, which TriStar reduces to the interface. The sum of both Schur complements is a small dense system.
 *
 *     +---------+---------+      A = A_1 + A_2, (S_1 + S_2) x_S = g_1 + g_2, S_i the Schur complement of A_i
 *     |    1    S    2    |
 *     +---------+---------+      The program checks A x = b for all points. */
#include <math.h>

#include "example.h"
#include "tristar_schur.h"

enum {
  K = 30,
  N = K * (K + 1),
  DOMAINS = 2
}; /* K + 1 columns of K points; the last column is the interface */

typedef struct domain {
  int ptr[N + 1], row[3 * N];
  double value[3 * N], b[N], x[N];
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
} domain;

/* The five-point operator, lower triangle by columns. Each domain has half of the entries of the
 * interface. */
static tristar_view make_matrix(domain *d) {
  int at = 0;
  for (int j = 0; j < N; j++) {
    const double share = j >= K * K ? 0.5 : 1;
    d->ptr[j] = at;
    d->row[at] = j, d->value[at++] = 4 * share;
    if (j % K < K - 1) d->row[at] = j + 1, d->value[at++] = -share;
    if (j + K < N) d->row[at] = j + K, d->value[at++] = -1;
    d->b[j] = share * (1 + j % 7);
  }
  d->ptr[N] = at;
  return (tristar_view){
      TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, d->ptr, d->row, d->value, 32, 32, 0};
}

/* Dense Cholesky: s, k x k, becomes L; g becomes s^-1 g. */
static void solve_dense(int k, double *s, double *g) {
  for (int j = 0; j < k; j++)
    for (int i = j; i < k; i++) {
      double sum = s[i + j * k];
      for (int l = 0; l < j; l++) sum -= s[i + l * k] * s[j + l * k];
      s[i + j * k] = i == j ? sqrt(sum) : sum / s[j + j * k];
    }
  for (int i = 0; i < k; i++) {
    for (int l = 0; l < i; l++) g[i] -= s[i + l * k] * g[l];
    g[i] /= s[i + i * k];
  }
  for (int i = k - 1; i >= 0; i--) {
    for (int l = i + 1; l < k; l++) g[i] -= s[l + i * k] * g[l];
    g[i] /= s[i + i * k];
  }
}

/* r += A x */
static void add_product(const domain *d, double *r) {
  for (int j = 0; j < N; j++)
    for (int p = d->ptr[j]; p < d->ptr[j + 1]; p++) {
      r[d->row[p]] += d->value[p] * d->x[j];
      if (d->row[p] != j) r[j] += d->value[p] * d->x[d->row[p]];
    }
}

int main(void) {
  static domain domains[DOMAINS];
  static double part[K * K], s[K * K], g[K], of_domain[K], r[DOMAINS][N];
  int64_t interface[K];
  double worst = 0;
  tristar_t *ts;
  tristar_analysis_options options;
  example_check(NULL, tristar_create(NULL, &ts));
  tristar_analysis_options_init(&options);
  for (int k = 0; k < K; k++) interface[k] = K * K + k;
  options.schur = interface;
  options.schur_count = K;
  for (int i = 0; i < DOMAINS; i++) {
    domain *d = &domains[i];
    const tristar_view a = make_matrix(d);
    example_check(ts, tristar_analyze(ts, &a, &options, &d->analysis));
    example_check(ts, tristar_factor(d->analysis, a.values, &d->factor));
    example_check(ts, tristar_plan(d->factor, NULL, &d->plan));
    example_check(ts, tristar_schur_get(d->factor, part, K));
    example_check(ts, tristar_schur_condense(d->plan, TRISTAR_N, 1, d->b, N, d->x, N, of_domain, K));
    for (int k = 0; k < K * K; k++) s[k] += part[k];
    for (int k = 0; k < K; k++) g[k] += of_domain[k];
  }
  solve_dense(K, s, g);
  for (int i = 0; i < DOMAINS; i++) {
    domain *d = &domains[i];
    example_check(ts, tristar_schur_expand(d->plan, TRISTAR_N, 1, d->x, N, g, K, d->x, N));
    add_product(d, r[i]);
  }
  for (int i = 0; i < DOMAINS; i++)
    for (int j = 0; j < N; j++) {
      const int other = DOMAINS - 1 - i;
      const double sum = j < K * K ? r[i][j] - domains[i].b[j]
                                   : r[i][j] + r[other][j] - domains[i].b[j] - domains[other].b[j];
      worst = fmax(worst, fabs(sum));
    }
  printf("%d points, %d of them on the interface: largest residual %.1e\n", DOMAINS * K * K + K, K, worst);
  for (int i = 0; i < DOMAINS; i++) {
    tristar_plan_destroy(&domains[i].plan);
    tristar_factor_destroy(&domains[i].factor);
    tristar_analysis_destroy(&domains[i].analysis);
  }
  tristar_destroy(&ts);
  return worst < 1e-9 ? 0 : 1;
}
