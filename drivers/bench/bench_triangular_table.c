/* The tables of `tristar bench --triangular` on standard output: see bench_triangular.h. */
#include <math.h>
#include <stdio.h>

#include "drivers/bench/bench_triangular.h"
#include "drivers/report/report.h"

#define NAME_WIDTH 24

/* What the automatic partition chose. */
static const char *chosen_partition(const tsi_triangular_case *c, int k) {
  const tsi_bench_setup *setup = c->bench.setup;
  const char *word = cJSON_GetStringValue(
      cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(c->bench.results[k].rounds, 0), "partition"));
  return setup->contenders[k].peer < 0 && !tsi_bench_is_variant(setup, k) ? word : NULL;
}

static void print_row(const tsi_triangular_case *c, int k) {
  const tsi_bench_contender *contender = &c->bench.setup->contenders[k];
  const tsi_bench_result *r = &c->bench.results[k];
  const char *partition = chosen_partition(c, k);
  if (!r->ok) {
    printf("  %-*s failed: %s\n", NAME_WIDTH, contender->name, r->message);
    return;
  }
  const double preparation = tsi_triangular_preparation(r);
  printf("  %-*s %9s %9s", NAME_WIDTH, contender->name, tsi_text_seconds(r->solve_s),
         tsi_text_seconds(r->fastest_s));
  tsi_bench_print_number(10, 2, tsi_triangular_speed_up(c, tsi_triangular_plain(c), k));
  tsi_bench_print_number(10, 2, tsi_triangular_speed_up(c, c->bench.best_peer, k));
  printf(" %11s %8.0f %9.1e", tsi_text_seconds(preparation), preparation / r->solve_s, r->backward_error);
  if (partition != NULL) printf("  %s", partition);
  tsi_bench_print_end(&c->bench, r);
}

void tsi_triangular_print(const tsi_triangular_case *c) {
  const tsi_settings *settings = c->bench.setup->settings;
  const tsi_triangle *t = &c->triangle;
  printf("%s: %s, %s entries, %s, %.1f rows each; %s; medians of %s, each of %s\n", c->title,
         tsi_text_many(t->n, "row"), tsi_text_count(t->nnz), tsi_text_many(t->levels, "level set"),
         tsi_triangular_parallelism(c), t->scaled ? "rows scaled" : "its own values",
         tsi_text_many(settings->rounds, "round"), tsi_text_many(c->bench.repeat, "solve"));
  printf("  %-*s %9s %9s %21s %20s\n", NAME_WIDTH, "", "", "", "speed-up over", "preparation");
  printf("  %-*s %9s %9s %10s %10s %11s %8s %9s\n", NAME_WIDTH, "contender", "solve", "fastest", "plain",
         "best peer", "time", "solves", "error");
  for (int k = 0; k < c->bench.setup->count; k++) print_row(c, k);
  putchar('\n');
  fflush(stdout);
}

/* ---- Summary --------------------------------------------------------------------------------------------
 */

/* of: NULL: of all cases. */
static void print_means(const tsi_triangular *t, bool parallel, const char *of) {
  const tsi_triangular_means means = tsi_triangular_find_means(t, parallel, of);
  char what[96];
  snprintf(what, sizeof what, "%s%s", of != NULL ? "  of " : "all", of != NULL ? of : "");
  if (parallel)
    snprintf(what, sizeof what, "over %.0f rows a level set, over %s entries", TSI_PARALLEL_ROWS,
             tsi_text_count(TSI_PARALLEL_ENTRIES));
  printf("  %-48s %6d", what, means.cases);
  tsi_bench_print_number(10, 2, means.plain);
  tsi_bench_print_number(10, 2, means.peer);
  tsi_bench_print_number(15, 2, means.fixed);
  putchar('\n');
}

static void print_worst(const tsi_triangular *t) {
  int worst[TSI_TRIANGULAR_WORST];
  const int count = tsi_triangular_find_worst(t, worst);
  if (count > 0) puts("\n  Least speed-ups over the best peer");
  for (int k = 0; k < count; k++) {
    const tsi_triangular_case *c = &t->cases[worst[k]];
    printf("  %6.2f  %s: %s, %s\n", tsi_triangular_speed_up(c, c->bench.best_peer, tsi_triangular_own(c)),
           c->title, c->bench.setup->contenders[c->bench.best_peer].name,
           tsi_text_seconds(c->bench.results[c->bench.best_peer].solve_s));
  }
}

void tsi_triangular_print_summary(const tsi_triangular *t) {
  int measured = 0;
  const int all = tsi_triangular_find_means(t, false, NULL).cases;
  for (int k = 0; k < t->count; k++) {
    measured += t->cases[k].message[0] == '\0';
    if (t->cases[k].message[0] != '\0') printf("Not measured: %s\n", t->cases[k].message);
  }
  if (measured == 0) return;
  const char *own = t->setup.contenders[tsi_triangular_default(&t->setup)].variant;
  printf("Geometric means of the speed-ups of the %s partition with %s\n", *own ? own : "automatic",
         tsi_text_many(t->setup.workers_most, "worker"));
  printf("  %-48s %6s %10s %10s %15s\n", "triangles", "number", "plain", "best peer", "best partition");
  print_means(t, true, NULL);
  print_means(t, false, NULL);
  for (int k = 0; tsi_triangular_sources[k] != NULL; k++) {
    const int some = tsi_triangular_find_means(t, false, tsi_triangular_sources[k]).cases;
    if (some > 0 && some < all) print_means(t, false, tsi_triangular_sources[k]);
  }
  print_worst(t);
}
