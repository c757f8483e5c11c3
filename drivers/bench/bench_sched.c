/* `tristar bench` with several schedulers: a separate table, the fastest first: see bench.h.
 *
 * It compares defaults of TriStar (no variants) with the largest number of workers. Medians are ratios to the
 * best one. A scheduler cannot be distinguished from the best one if its median does not exceed the best
 * one's slowest round. */
#include <stdio.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/report/report.h"

#define NAME_WIDTH 32

typedef struct ranking {
  int contender[TSI_BENCH_CONTENDERS_MAX]; /* solved ones first, the fastest first */
  int count, solved;
} ranking;

static bool before(const tsi_bench_result *a, const tsi_bench_result *b) {
  return a->ok && (!b->ok || a->solve_s < b->solve_s);
}

/* Sorts by insertion, which keeps the order of failed contenders. */
static void rank(const tsi_bench_case *c, ranking *r) {
  const tsi_bench_setup *setup = c->setup;
  r->count = r->solved = 0;
  for (int k = 0; k < setup->count; k++) {
    if (setup->contenders[k].peer >= 0 || tsi_bench_is_variant(setup, k) ||
        setup->contenders[k].threads != setup->workers_most)
      continue;
    int at = r->count++;
    for (; at > 0 && before(&c->results[k], &c->results[r->contender[at - 1]]); at--)
      r->contender[at] = r->contender[at - 1];
    r->contender[at] = k;
    r->solved += c->results[k].ok;
  }
}

static void print_row(const tsi_bench_case *c, int k, const tsi_bench_result *best) {
  const char *name = c->setup->contenders[k].scheduler;
  const tsi_bench_result *r = &c->results[k];
  char spread[48];
  if (!r->ok) {
    printf("  %-*s skipped: %s\n", NAME_WIDTH, name, r->message);
    return;
  }
  snprintf(spread, sizeof spread, "%s .. %s", tsi_text_seconds(r->least_s), tsi_text_seconds(r->most_s));
  printf("  %-*s %9s %20s %10.2f", NAME_WIDTH, name, tsi_text_seconds(r->solve_s), spread,
         r->solve_s / best->solve_s);
  if (r->outside >= 0)
    printf(" %6.1f %%\n", 100 * r->outside);
  else
    printf(" %8s\n", "-");
}

static void print_best(const tsi_bench_case *c, const ranking *r) {
  const tsi_bench_contender *contenders = c->setup->contenders;
  const char *workers = tsi_text_many(c->setup->workers_most, "worker");
  const tsi_bench_result *best = &c->results[r->contender[0]];
  if (r->solved == 0) {
    printf("  No scheduler solved %s\n\n", c->matrix->name);
    return;
  }
  if (best->tasks <= 0) {
    printf("  %s is solved without tasks: no scheduler takes part\n\n", c->matrix->name);
    return;
  }
  printf("  Best scheduler for %s on this machine, %s: %s", c->matrix->name, workers,
         contenders[r->contender[0]].scheduler);
  for (int k = 1; k < r->solved && c->results[r->contender[k]].solve_s <= best->most_s; k++)
    printf("%s%s", k == 1 ? "; no slower than its slowest round: " : ", ",
           contenders[r->contender[k]].scheduler);
  puts("\n");
}

void tsi_bench_print_schedulers(const tsi_bench_case *c) {
  ranking r;
  if (c->setup->schedulers < 2) return;
  rank(c, &r);
  printf("%s: schedulers of StarPU, %s\n", tsi_text_many(c->nrhs, "right-hand side"),
         tsi_text_many(c->setup->workers_most, "worker"));
  printf("  %-*s %9s %20s %10s %8s\n", NAME_WIDTH, "scheduler", "solve", "min .. max", "to best", "outside");
  for (int k = 0; k < r.count; k++) print_row(c, r.contender[k], &c->results[r.contender[0]]);
  print_best(c, &r);
}

void tsi_bench_add_schedulers(cJSON *object, const tsi_bench_case *c) {
  ranking r;
  if (c->setup->schedulers < 2) return;
  rank(c, &r);
  const tsi_bench_result *best = &c->results[r.contender[0]];
  if (r.solved > 0 && best->tasks > 0)
    cJSON_AddStringToObject(object, "best_scheduler", c->setup->contenders[r.contender[0]].scheduler);
  cJSON *list = cJSON_AddArrayToObject(object, "schedulers");
  for (int k = 0; k < r.count; k++) {
    const tsi_bench_result *result = &c->results[r.contender[k]];
    cJSON *row = tsi_json_add_item(list);
    cJSON_AddStringToObject(row, "scheduler", c->setup->contenders[r.contender[k]].scheduler);
    cJSON_AddNumberToObject(row, "workers", c->setup->workers_most);
    cJSON_AddBoolToObject(row, "solved", result->ok);
    if (result->ok) {
      TSI_JSON_NUMBERS(row, {"solve_s", result->solve_s}, {"solve_least_s", result->least_s},
                       {"solve_most_s", result->most_s}, {"to_best", result->solve_s / best->solve_s});
    } else
      cJSON_AddStringToObject(row, "message", result->message);
  }
}
