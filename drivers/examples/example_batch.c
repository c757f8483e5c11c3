/* An ensemble: heat flows through a plate whose conductivity is uncertain. The plate is solved with many
 * random conductivities, all at once: the matrices have one pattern. The program prints the mean temperature
 * of the middle of the plate and its variation.
 *
 *   example_batch [SAMPLES]
 *
 * -div(c grad u) = 1 on a K x K grid, u = 0 around it. c is 1 times a random factor at each point. */
#include <math.h>
#include <stdbool.h>

#include "example.h"
#include "tristar_batch.h"

enum { K = 30, N = K * K, ENTRIES = 5 * N };

/* A random number between 0 and 1. */
static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / 9007199254740992.0;
}

/* The five-point operator by rows: values for the conductivities c of all points. */
static int assemble(const double *c, int *ptr, int *column, double *value) {
  const int step[4] = {-K, -1, 1, K};
  int at = 0;
  for (int i = 0; i < N; i++) {
    const bool inside[4] = {i >= K, i % K > 0, i % K < K - 1, i < N - K};
    const int diagonal = at++;
    ptr[i] = diagonal;
    column[diagonal] = i;
    value[diagonal] = 0;
    for (int side = 0; side < 4; side++) {
      const double between = inside[side] ? (c[i] + c[i + step[side]]) / 2 : c[i];
      value[diagonal] += between;
      if (!inside[side]) continue;
      column[at] = i + step[side];
      value[at++] = -between;
    }
  }
  ptr[N] = at;
  return at;
}

int main(int argc, char **argv) {
  static int ptr[N + 1], column[ENTRIES];
  static double typical[ENTRIES], c[N], b[N];
  const int samples = argc > 1 ? atoi(argv[1]) : 200;
  tristar_t *ts;
  tristar_batch_t *batch;
  tristar_batch_stats stats;
  double sum = 0, squares = 0, worst = 0;
  uint64_t state = 1;
  example_check(NULL, tristar_create(NULL, &ts));
  for (int i = 0; i < N; i++) c[i] = b[i] = 1;
  const int entries = assemble(c, ptr, column, typical);
  const tristar_view a = {
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, N, N, ptr, column, typical, 32, 32, 0};
  example_check(ts, tristar_batch(ts, &a, NULL, &batch));

  double *values = calloc((size_t)samples * (size_t)entries, sizeof *values);
  double *u = calloc((size_t)samples * N, sizeof *u), *error = calloc((size_t)samples, sizeof *error);
  if (values == NULL || u == NULL || error == NULL) return 1;
  for (int s = 0; s < samples; s++) {
    for (int i = 0; i < N; i++) c[i] = 0.5 + uniform(&state);
    assemble(c, ptr, column, values + (size_t)s * (size_t)entries);
  }
  /* One right-hand side for all of them: its stride is 0. */
  example_check(ts, tristar_batch_factor_solve(batch, samples, values, entries, TRISTAR_N, 1, b, N, 0, u, N,
                                               N, error, NULL));
  for (int s = 0; s < samples; s++) {
    const double middle = u[(size_t)s * N + K / 2 * K + K / 2];
    sum += middle;
    squares += middle * middle;
    worst = fmax(worst, error[s]);
  }
  const double mean = sum / samples;
  tristar_batch_get_stats(batch, &stats);
  printf("%d systems of %lld rows, %d at a time: %.1f microseconds each, backward error %.1e\n", samples,
         (long long)stats.n, stats.lanes, 1e6 * stats.factor_seconds / samples, worst);
  printf("middle of the plate: %.4g, standard deviation %.2g\n", mean,
         sqrt(fmax(0, squares / samples - mean * mean)));
  tristar_batch_destroy(&batch);
  tristar_destroy(&ts);
  free(values);
  free(u);
  free(error);
  return worst < 1e-11 && mean > 0 ? 0 : 1;
}
