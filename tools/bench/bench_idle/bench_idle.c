/* bench_idle [PAUSE_MS [ROUNDS]]: the cost of idle workers for the rest of a program, and the cost of their
 * sleep for a solve.
 *
 * For workers that poll and workers that sleep, in turn, round by round, medians of
 *   compute   a fixed computation of the main thread, beside idle workers; first without any, as the unit
 *   cpu       processor time of the process in a pause of 50 ms, as a number of cores
 *   solve     a small solve with tasks immediately after another one
 *   paused    the same after a pause of PAUSE_MS (default 10), in which the main thread also sleeps
 * Times on a shared machine are noisy: compare ratios, of more than one run. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/median.h"
#include "runtime/base/clock.h"
#include "tristar.h"
#include "tristar_matrix.h"

enum { ROUNDS_MAX = 101, STEPS = 20000000, SOLVES = 50 };

enum { COMPUTE, CPU, SOLVE, PAUSED, FIGURES };
static const char *const figure_name[FIGURES] = {"compute", "cpu", "solve", "paused"};

typedef struct figures {
  double value[FIGURES][ROUNDS_MAX];
} figures;

static void rest(double seconds) {
  const struct timespec t = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
  (void)nanosleep(&t, NULL);
}

static double compute(void) {
  const double begin = tsi_clock();
  volatile double sum = 0;
  for (int k = 0; k < STEPS; k++) sum = 0.5 * sum + k;
  return tsi_clock() - begin;
}

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static tristar_status time_solves(tristar_plan_t *plan, double *x, int64_t n, double pause, double *seconds) {
  double each[SOLVES];
  tristar_status status = tristar_solve(plan, TRISTAR_N, 1, x, n, x, n);
  for (int k = 0; k < SOLVES && status == TRISTAR_OK; k++) {
    if (pause > 0) rest(pause);
    const double begin = tsi_clock();
    status = tristar_solve(plan, TRISTAR_N, 1, x, n, x, n);
    each[k] = tsi_clock() - begin;
  }
  *seconds = tsi_median(each, SOLVES);
  return status;
}

static tristar_status measure(tristar_plan_t *plan, double *x, int64_t n, double pause, figures *f,
                              int round) {
  tristar_status status = time_solves(plan, x, n, 0, &f->value[SOLVE][round]);
  if (status == TRISTAR_OK) status = time_solves(plan, x, n, pause, &f->value[PAUSED][round]);
  rest(0.01);
  f->value[COMPUTE][round] = compute();
  const double cpu = processor_seconds(), begin = tsi_clock();
  rest(0.05);
  f->value[CPU][round] = (processor_seconds() - cpu) / (tsi_clock() - begin);
  return status;
}

/* A context of its own, which starts and stops StarPU. */
static tristar_status run(int idle_sleep, double pause, figures *f, int round) {
  tristar_config config;
  tristar_t *ts = NULL;
  tristar_matrix_t *matrix = NULL;
  tristar_analysis_t *analysis = NULL;
  tristar_factor_t *factor = NULL;
  tristar_plan_t *plan = NULL;
  tristar_plan_options options;
  tristar_view view;
  double *x = NULL;
  tristar_config_init(&config);
  tristar_plan_options_init(&options);
  config.idle_sleep = idle_sleep;
  options.engine = TRISTAR_ENGINE_TASKS;
  tristar_status status = tristar_create(&config, &ts);
  if (status == TRISTAR_OK) status = tristar_matrix_generate(ts, "s2d9pt", 150, &matrix);
  if (status == TRISTAR_OK) {
    tristar_matrix_get_view(matrix, &view);
    x = calloc((size_t)view.rows, sizeof *x);
    status = x == NULL ? TRISTAR_ERR_MEMORY : tristar_analyze(ts, &view, NULL, &analysis);
  }
  if (status == TRISTAR_OK) status = tristar_factor(analysis, view.values, &factor);
  if (status == TRISTAR_OK) status = tristar_plan(factor, &options, &plan);
  if (status == TRISTAR_OK) status = measure(plan, x, view.rows, pause, f, round);
  free(x);
  tristar_plan_destroy(&plan);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  tristar_destroy(&ts);
  return status;
}

int main(int argc, char **argv) {
  static figures poll, asleep;
  static double alone[ROUNDS_MAX];
  const double pause = argc > 1 ? 1e-3 * strtod(argv[1], NULL) : 0.01;
  const int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
  if (!(pause > 0 && pause < 10) || rounds < 1 || rounds > ROUNDS_MAX) {
    fprintf(stderr, "usage: bench_idle [PAUSE_MS [ROUNDS]]\n");
    return 2;
  }
  tristar_status status = TRISTAR_OK;
  for (int r = 0; r < rounds && status == TRISTAR_OK; r++) {
    alone[r] = compute();
    status = run(0, pause, &poll, r);
    if (status == TRISTAR_OK) status = run(1, pause, &asleep, r);
  }
  if (status != TRISTAR_OK) {
    fprintf(stderr, "bench_idle: %s\n", tristar_status_name(status));
    return 1;
  }
  const double unit = tsi_median(alone, (size_t)rounds);
  printf("          %14s %14s   sleep/poll\n", "poll", "sleep");
  for (int k = 0; k < FIGURES; k++) {
    const double p = tsi_median(poll.value[k], (size_t)rounds),
                 s = tsi_median(asleep.value[k], (size_t)rounds);
    const double scale = k == COMPUTE ? 1 / unit : k == CPU ? 1 : 1e6;
    printf("%-9s %11.3f %-2s %11.3f %-2s %12.3f\n", figure_name[k], scale * p, k > CPU ? "us" : "", scale * s,
           k > CPU ? "us" : "", s / p);
  }
  return 0;
}
