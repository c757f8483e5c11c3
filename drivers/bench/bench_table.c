/* The tables of `tristar bench` on standard output: see bench.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/report/report.h"

#define NAME_WIDTH 30

void tsi_bench_print_matrix(const tsi_bench_setup *setup, const tsi_bench_matrix *m) {
  const tsi_settings *settings = setup->settings;
  printf("%s%s: %s, %s entries, %s; ", m->pattern ? "Laplacian of " : "", m->name, tsi_text_many(m->n, "row"),
         tsi_text_count(m->nnz), m->is_complex ? "complex double" : "double");
  if (settings->quick)
    puts("each solver is prepared once, with all cores");
  else
    printf("medians of %s, each of %s\n", tsi_text_many(settings->rounds, "round"),
           tsi_text_many(settings->repeat, "solve"));
  if (m->triangular)
    puts("The matrix is triangular. tristar solve does not factor it (see tristar bench --triangular); here "
         "all contenders factor it.");
}

static void print_rates(const tsi_bench_case *c) {
  const tsi_bench_rates *rates = &c->rates;
  const int workers = c->setup->workers_most;
  printf("%s", tsi_text_many(c->nrhs, "right-hand side"));
  if (rates->bandwidth > 0)
    printf("; read bandwidth %.1f GB/s of %s", rates->bandwidth, tsi_text_many(workers, "core"));
  if (rates->square > 0) printf("; DGEMM %.1f GF/s, tall %.1f GF/s", rates->square, rates->tall);
  putchar('\n');
}

void tsi_bench_print_share(int width, double rate, double limit) {
  if (rate > 0 && limit > 0)
    printf(" %*.0f %%", width - 2, 100 * rate / limit);
  else
    printf(" %*s", width, "-");
}

void tsi_bench_print_number(int width, int digits, double value) {
  if (value > 0)
    printf(" %*.*f", width, digits, value);
  else
    printf(" %*s", width, "-");
}

void tsi_bench_print_end(const tsi_bench_case *c, const tsi_bench_result *r) {
  if (r->over_limit)
    printf("  (%s; then over the limit of %.0f s)", tsi_text_many(cJSON_GetArraySize(r->rounds), "round"),
           (double)c->setup->settings->limit);
  putchar('\n');
}

static void print_head(const tsi_bench_case *c) {
  printf("  %-*s %9s %20s %6s %9s", NAME_WIDTH, "solver", "solve", "min .. max", "GB/s", "bandwidth");
  if (c->nrhs > 1) printf(" %7s %6s %6s", "GF/s", "DGEMM", "tall");
  printf(" %7s %9s %13s", "outside", "memory", "error (steps)");
  puts(c->best_peer >= 0 && c->best_tristar >= 0 ? "  speed-up of the best TriStar" : "");
}

static void print_row(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  if (!r->ok) {
    printf("  %-*s failed: %s\n", NAME_WIDTH,
           contender->peer < 0 ? contender->name : c->setup->family->peers[contender->peer].title,
           r->message);
    return;
  }
  char spread[48], error[32];
  snprintf(spread, sizeof spread, "%s .. %s", tsi_text_seconds(r->least_s), tsi_text_seconds(r->most_s));
  snprintf(error, sizeof error, "%.1e (%d)", r->backward_error, r->steps);
  printf("  %-*s %9s %20s", NAME_WIDTH, contender->name, tsi_text_seconds(r->solve_s), spread);
  tsi_bench_print_number(6, 1, tsi_bench_gbps(r));
  tsi_bench_print_share(9, tsi_bench_gbps(r), c->rates.bandwidth);
  if (c->nrhs > 1) {
    tsi_bench_print_number(7, 1, tsi_bench_gflops(c, r));
    tsi_bench_print_share(6, tsi_bench_gflops(c, r), c->rates.square);
    tsi_bench_print_share(6, tsi_bench_gflops(c, r), c->rates.tall);
  }
  if (r->outside >= 0)
    printf(" %5.1f %%", 100 * r->outside);
  else
    printf(" %7s", "-");
  printf(" %9s %13s", r->peak > 0 ? tsi_text_bytes(r->peak) : "-", error);
  if (contender->peer >= 0 && c->best_tristar >= 0)
    printf("  %.2f", r->solve_s / c->results[c->best_tristar].solve_s);
  tsi_bench_print_end(c, r);
}

/* Prints the orderings of the peers, once per peer, if they differ from METIS, with which TriStar is
 * compared. */
static void print_orderings(const tsi_bench_case *c) {
  int latest = -1;
  for (int k = 0; k < c->setup->count; k++) {
    const int peer = c->setup->contenders[k].peer;
    const char *ordering = c->results[k].ok ? tsi_bench_ordering(c, k) : "";
    if (peer < 0 || peer == latest || *ordering == '\0' || strncmp(ordering, "METIS", 5) == 0) continue;
    printf("  Ordering of %s: %s\n", c->setup->family->peers[peer].title, ordering);
    latest = peer;
  }
}

void tsi_bench_print(const tsi_bench_case *c) {
  print_rates(c);
  print_head(c);
  for (int k = 0; k < c->setup->count; k++)
    if (tsi_bench_shown(c, k) && !tsi_bench_is_variant(c->setup, k)) print_row(c, k);
  if (c->best_tristar >= 0 && c->best_peer >= 0)
    printf("  Speed-up of the best TriStar (%s) over the best peer (%s): %.2f\n",
           c->setup->contenders[c->best_tristar].name + strlen("TriStar, "),
           c->setup->contenders[c->best_peer].name,
           c->results[c->best_peer].solve_s / c->results[c->best_tristar].solve_s);
  print_orderings(c);
  putchar('\n');
}

/* ---- --variants --------------------------------------------------------------------------------------- */

/* base: the default to which ratios refer. */
static void print_variant(const tsi_bench_case *c, int k, int base) {
  const char *name = k == base ? "default" : c->setup->contenders[k].variant;
  const tsi_bench_result *r = &c->results[k];
  char error[32];
  if (!r->ok) {
    printf("  %-*s failed: %s\n", NAME_WIDTH, name, r->message);
    return;
  }
  snprintf(error, sizeof error, "%.1e (%d)", r->backward_error, r->steps);
  printf("  %-*s %9s", NAME_WIDTH, name, tsi_text_seconds(r->solve_s));
  tsi_bench_print_number(10, 2, c->results[base].ok ? r->solve_s / c->results[base].solve_s : 0);
  printf(" %9s %9s %13s %9s\n", r->predicted_s > 0 ? tsi_text_seconds(r->predicted_s) : "-",
         tsi_text_bytes(r->memory), error, tsi_text_count((int64_t)r->tasks));
}

void tsi_bench_print_variants(const tsi_bench_case *c) {
  int base = -1;
  for (int k = 0; k < c->setup->count; k++) {
    if (!tsi_bench_is_variant(c->setup, k)) continue;
    if (base < 0) {
      base = tsi_bench_default_of(c->setup, k);
      printf("%s: variants of %s; memory: factor or copies, matrices of the variant, workspace\n",
             tsi_text_many(c->nrhs, "right-hand side"), c->setup->contenders[base].name);
      printf("  %-*s %9s %10s %9s %9s %13s %9s\n", NAME_WIDTH, "variant", "solve", "to default", "predicted",
             "memory", "error (steps)", "tasks");
      print_variant(c, base, base);
    }
    print_variant(c, k, base);
  }
  if (base >= 0) putchar('\n');
}

/* ---- --reuse ------------------------------------------------------------------------------------------ */

static const double solves[] = {1, 10, 1000};
enum { SOLVES = sizeof solves / sizeof solves[0] };

/* TriStar and a peer. */
typedef struct pair {
  const tsi_bench_case *c;
  int peer;
} pair;

/* Does TriStar take less time in all than the peer, each in its best setting for so many solves? */
static bool takes_less(const void *of, double count) {
  const pair *p = of;
  const int tristar = tsi_bench_least_total(p->c, -1, count),
            other = tsi_bench_least_total(p->c, p->peer, count);
  return tsi_bench_total(&p->c->results[tristar], count) < tsi_bench_total(&p->c->results[other], count);
}

int64_t tsi_bench_changes(bool (*answer)(const void *of, double solves), const void *of, int64_t most) {
  int64_t few = 1, many = most;
  const bool first = answer(of, (double)few);
  if (answer(of, (double)many) == first) return most;
  while (many - few > 1) {
    const int64_t middle = few + (many - few) / 2;
    *(answer(of, (double)middle) == first ? &few : &many) = middle;
  }
  return few;
}

/* Prints the numbers of solves for which TriStar takes less time. */
static void print_pays(const tsi_bench_case *c, int peer) {
  const int64_t most = 1000000000;
  const pair p = {c, peer};
  const bool first = takes_less(&p, 1);
  const int64_t few = tsi_bench_changes(takes_less, &p, most);
  if (few == most)
    printf("  %s", first ? "always" : "never");
  else
    printf(first ? "  up to %s" : "  from %s on", tsi_text_many(first ? few : few + 1, "solve"));
}

/* Returns the smallest time of a phase over all settings. */
static double least_phase(const tsi_bench_case *c, int peer, bool analysis) {
  double least = INFINITY;
  for (int k = 0; k < c->setup->count; k++) {
    const tsi_bench_result *r = &c->results[k];
    const double seconds = analysis ? r->analyze_s : r->factor_s + r->plan_s;
    if (c->setup->contenders[k].peer == peer && r->ok && !tsi_bench_is_variant(c->setup, k) &&
        seconds < least)
      least = seconds;
  }
  return least;
}

/* Peer -1: TriStar. */
static void print_reuse_row(const tsi_bench_case *c, int peer) {
  if (tsi_bench_least_total(c, peer, 1) < 0) return;
  printf("  %-*s %10s %10s", NAME_WIDTH, peer < 0 ? "TriStar" : c->setup->family->peers[peer].title,
         tsi_text_seconds(least_phase(c, peer, true)), tsi_text_seconds(least_phase(c, peer, false)));
  for (int k = 0; k < SOLVES; k++) {
    const int best = tsi_bench_least_total(c, peer, solves[k]);
    printf(" %11s", tsi_text_seconds(tsi_bench_total(&c->results[best], solves[k])));
  }
  if (peer >= 0 && c->best_tristar >= 0) print_pays(c, peer);
  putchar('\n');
}

void tsi_bench_print_reuse(const tsi_bench_case *c) {
  if (c->best_tristar < 0 && c->best_peer < 0) return;
  printf("%s: total time, with analysis and factorization (each figure in the setting that is best for it)\n",
         tsi_text_many(c->nrhs, "right-hand side"));
  printf("  %-*s %10s %10s %11s %11s %11s%s\n", NAME_WIDTH, "solver", "analysis", "factor", "1 solve",
         "10 solves", "1000 solves", c->best_peer >= 0 && c->best_tristar >= 0 ? "  TriStar takes less" : "");
  for (int peer = -1; peer < TSI_BENCH_PEERS; peer++) print_reuse_row(c, peer);
  putchar('\n');
}
