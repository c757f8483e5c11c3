/* Switches: a grid of resistors with 40 switches between neighbours, closed one after the other. Each closed
 * switch changes three entries of the matrix of conductances. Only supernodes on the path from these to the
 * root are factored.
 *
 * The program compares the last voltages with a factorization from the beginning: they have the same bits. */
#include <string.h>

#include "example.h"
#include "tristar_update.h"

enum { K = 60, N = K * K, SWITCHES = 40 };

/* The lower triangle by columns: conductances of 1, and of 1e-3 to the ground. Column j begins with its
 * diagonal entry, and the entry of its neighbour j + 1 is next. */
static tristar_view make_grid(int64_t *ptr, int *row, double *value) {
  int64_t at = 0;
  for (int j = 0; j < N; j++) {
    const int neighbours = (j % K > 0) + (j % K < K - 1) + (j >= K) + (j + K < N);
    ptr[j] = at;
    row[at] = j, value[at++] = neighbours + 1e-3;
    if (j % K < K - 1) row[at] = j + 1, value[at++] = -1;
    if (j + K < N) row[at] = j + K, value[at++] = -1;
  }
  ptr[N] = at;
  return (tristar_view){TRISTAR_CSC, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, N, N, ptr, row, value, 64, 32, 0};
}

/* Closes the switch between j and j + 1, of conductance 9: changes the values, and lists their positions. */
static void close_switch(const int64_t *ptr, int j, double *value, int64_t *entry, double *changed) {
  entry[0] = ptr[j];
  entry[1] = ptr[j] + 1;
  entry[2] = ptr[j + 1];
  value[entry[0]] += 9;
  value[entry[1]] -= 9;
  value[entry[2]] += 9;
  for (int k = 0; k < 3; k++) changed[k] = value[entry[k]];
}

int main(void) {
  static int64_t ptr[N + 1];
  static int row[3 * N];
  static double value[3 * N], b[N], x[N], again[N];
  tristar_t *ts;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor, *whole;
  tristar_plan_t *plan, *other;
  long long fronts = 0;
  tristar_update_result result = {0};
  example_check(NULL, tristar_create(NULL, &ts));
  const tristar_view a = make_grid(ptr, row, value);
  example_check(ts, tristar_analyze(ts, &a, NULL, &analysis));
  example_check(ts, tristar_factor(analysis, value, &factor));
  example_check(ts, tristar_plan(factor, NULL, &plan));
  example_check(ts, tristar_update_begin(factor));
  b[N / 2] = 1; /* a current */
  for (int k = 0; k < SWITCHES; k++) {
    int64_t entry[3];
    double changed[3];
    close_switch(ptr, (k * 89 + 7) % K * K + k % (K - 1), value, entry, changed);
    example_check(ts, tristar_update_entries(factor, 3, entry, changed, &result));
    example_check(ts, tristar_solve(plan, TRISTAR_N, 1, b, N, x, N));
    fronts += result.fronts;
  }
  example_check(ts, tristar_factor(analysis, value, &whole));
  example_check(ts, tristar_plan(whole, NULL, &other));
  example_check(ts, tristar_solve(other, TRISTAR_N, 1, b, N, again, N));
  const int same = memcmp(x, again, sizeof x) == 0;
  printf("%d switches: %.1f of %lld supernodes factored for each, voltage %.6f at the current\n", SWITCHES,
         (double)fronts / SWITCHES, (long long)result.all_fronts, x[N / 2]);
  printf("the bits of a factorization from the beginning: %s\n", same ? "the same" : "others");
  tristar_plan_destroy(&other);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&whole);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_destroy(&ts);
  return same ? 0 : 1;
}
