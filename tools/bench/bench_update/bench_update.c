/* bench_update [--low-rank] [--method llt|lu|ldlt] [--rows N] [--rounds N] [--switch] MATRIX...: new values
 * of some rows and columns (tristar_update_values), compared with tristar_refactor, on the calling thread.
 *
 * MATRIX: as for `tristar solve`, such as gen:s2d9pt:316. In each round N random rows get new values: within
 * 1 %, or with --switch a diagonal entry 1000 times as large, which changes scalings. Times are processor
 * times: means over all rounds, in milliseconds. ratio: time of a refactorization divided by the time of an
 * update; flops: the share of the operations of all supernodes; kept: bytes of Schur complements divided by
 * the bytes of the factor. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tristar_matrix.h"
#include "tristar_stats.h"
#include "tristar_update.h"

typedef struct settings {
  tristar_method method;
  int rows, rounds;
  bool switches, low_rank;
} settings;

static void check(tristar_t *ts, tristar_status status) {
  char text[512] = "";
  if (status == TRISTAR_OK) return;
  (void)tristar_get_error(ts, text, sizeof text);
  fprintf(stderr, "bench_update: %s\n", text);
  exit(1);
}

static double cpu_seconds(void) {
  return (double)clock() / CLOCKS_PER_SEC;
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Changes the stored entries of a line. */
static void change_line(const tristar_view *a, int64_t line, bool switches, double *values) {
  const int64_t *ptr = a->ptr;
  const int32_t *index = a->index;
  for (int64_t p = ptr[line]; p < ptr[line + 1]; p++)
    if (index[p] == line)
      values[p] *= switches ? 1000 : 1.003;
    else if (!switches)
      values[p] *= 0.998;
}

/* Adds 0.1 to diagonal entries. */
static void add_low_rank(tristar_t *ts, tristar_factor_t *factor, const tristar_view *a, int columns,
                         uint64_t *state, tristar_update_result *result) {
  enum { MOST = 64 };
  int64_t ptr[MOST + 1] = {0};
  int32_t row[MOST];
  double value[MOST];
  tristar_view w;
  if (columns > MOST) columns = MOST;
  for (int k = 0; k < columns; k++) {
    row[k] = (int32_t)(next_random(state) % (uint64_t)a->rows);
    value[k] = 0.316;
    ptr[k + 1] = k + 1;
  }
  tristar_view_init(&w);
  w.rows = a->rows;
  w.cols = columns;
  w.ptr = ptr;
  w.ptr_bits = 64;
  w.index = row;
  w.values = value;
  check(ts, tristar_update_low_rank(factor, &w, 0, result));
}

static void measure(tristar_t *ts, const char *name, const settings *s) {
  tristar_matrix_t *matrix;
  tristar_view a;
  tristar_analysis_t *analysis;
  tristar_factor_t *factor;
  tristar_analysis_options options;
  tristar_factor_stats stats;
  tristar_update_result all, result;
  uint64_t state = 1;
  double update = 0, refactor = 0, flops = 0;
  tristar_analysis_options_init(&options);
  options.method = s->method;
  check(ts, tristar_matrix_read(ts, name, &matrix));
  tristar_matrix_get_view(matrix, &a);
  const size_t entries = (size_t)((const int64_t *)a.ptr)[a.cols];
  double *values = malloc(entries * sizeof *values), *before = malloc(entries * sizeof *before);
  if (a.scalar != TRISTAR_DOUBLE || values == NULL || before == NULL) {
    fprintf(stderr, "bench_update: %s: not a real matrix, or out of memory\n", name);
    exit(1);
  }
  memcpy(before, a.values, entries * sizeof *before);
  check(ts, tristar_analyze(ts, &a, &options, &analysis));
  check(ts, tristar_factor(analysis, a.values, &factor));
  memcpy(values, before, entries * sizeof *values);
  change_line(&a, 0, false, values);
  check(ts, tristar_update_values(factor, values, &all)); /* of all supernodes */
  if (s->low_rank) tristar_update_end(factor);
  for (int round = 0; round < s->rounds; round++) {
    memcpy(values, before, entries * sizeof *values);
    if (!s->low_rank) check(ts, tristar_update_values(factor, values, NULL));
    for (int k = 0; k < s->rows && !s->low_rank; k++)
      change_line(&a, (int64_t)(next_random(&state) % (uint64_t)a.cols), s->switches, values);
    if (s->low_rank) check(ts, tristar_refactor(factor, values));
    double begin = cpu_seconds();
    if (s->low_rank)
      add_low_rank(ts, factor, &a, s->rows, &state, &result);
    else
      check(ts, tristar_update_values(factor, values, &result));
    update += cpu_seconds() - begin;
    flops += result.flops;
    begin = cpu_seconds();
    check(ts, tristar_refactor(factor, values));
    refactor += cpu_seconds() - begin;
  }
  tristar_factor_get_stats(factor, &stats);
  printf("%-22s n %7lld  refactor %8.2f ms  update %8.3f ms  ratio %6.1f  flops %.4f  kept %.2f\n", name,
         (long long)a.rows, 1e3 * refactor / s->rounds, 1e3 * update / s->rounds, refactor / update,
         flops / s->rounds / all.flops, (double)all.kept_bytes / (double)stats.factor_bytes);
  tristar_factor_destroy(&factor);
  tristar_analysis_destroy(&analysis);
  tristar_matrix_destroy(&matrix);
  free(values);
  free(before);
}

int main(int argc, char **argv) {
  settings s = {.method = TRISTAR_METHOD_AUTO, .rows = 1, .rounds = 10};
  tristar_config config;
  tristar_t *ts;
  tristar_config_init(&config);
  config.use_starpu = 0;
  check(NULL, tristar_create(&config, &ts));
  for (int k = 1; k < argc; k++) {
    if (strcmp(argv[k], "--switch") == 0)
      s.switches = true;
    else if (strcmp(argv[k], "--low-rank") == 0)
      s.low_rank = true;
    else if (k + 1 < argc && strcmp(argv[k], "--rows") == 0)
      s.rows = atoi(argv[++k]);
    else if (k + 1 < argc && strcmp(argv[k], "--rounds") == 0)
      s.rounds = atoi(argv[++k]);
    else if (k + 1 < argc && strcmp(argv[k], "--method") == 0) {
      k++;
      s.method = strcmp(argv[k], "lu") == 0     ? TRISTAR_METHOD_LU
                 : strcmp(argv[k], "ldlt") == 0 ? TRISTAR_METHOD_LDLT
                                                : TRISTAR_METHOD_LLT;
    } else
      measure(ts, argv[k], &s);
  }
  tristar_destroy(&ts);
  return 0;
}
