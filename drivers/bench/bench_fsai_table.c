/* The tables of `tristar bench --fsai` on standard output: see bench_fsai.h. */
#include <stdio.h>

#include "drivers/bench/bench_fsai.h"
#include "drivers/report/report.h"

#define NAME_WIDTH 38

static void print_row(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  tsi_fsai_figures f;
  if (!tsi_fsai_find(c, k, &f)) {
    printf("  %-*s failed: %s\n", NAME_WIDTH, contender->name, r->message);
    return;
  }
  printf("  %-*s %10.0f %9s %9s %9s %9s", NAME_WIDTH, contender->name, f.iterations,
         tsi_text_seconds(f.setup_s), tsi_text_seconds(f.iteration_s), tsi_text_seconds(f.solve_s),
         tsi_text_seconds(f.total_s));
  tsi_bench_print_share(9, f.product_share, 1);
  printf(" %12s %9.1e", f.entries > 0 ? tsi_text_count((int64_t)f.entries) : "-", f.backward_error);
  tsi_bench_print_end(c, r);
}

void tsi_fsai_print(const tsi_bench_case *c) {
  tsi_bench_print_matrix(c->setup, c->matrix);
  printf("  %-*s %10s %9s %9s %9s %9s %9s %12s %9s\n", NAME_WIDTH, "contender", "iterations", "set-up",
         "iteration", "solve", "total", "products", "entries", "error");
  for (int k = 0; k < c->setup->count; k++) print_row(c, k);
  putchar('\n');
  fflush(stdout);
}

/* A line for each claim, a column for each number of processes. */
void tsi_fsai_print_summary(const tsi_fsai_bench *b) {
  int ranks[TSI_BENCH_LIST_MAX];
  const int count = tsi_fsai_ranks(&b->setup, ranks);
  printf("Geometric means over %s; processes:", b->count == 1 ? "1 matrix" : "the matrices");
  for (int r = 0; r < count; r++) printf(" %d", ranks[r]);
  putchar('\n');
  for (int k = 0; k < tsi_fsai_claim_count; k++) {
    printf("  %-54s", tsi_fsai_claims[k].title);
    for (int r = 0; r < count; r++)
      tsi_bench_print_number(7, 2, tsi_fsai_mean(b, &tsi_fsai_claims[k], ranks[r]));
    putchar('\n');
  }
}
