/* `tristar bench --quick`: distribution of the time among the contenders of a table, and the table: see
 * bench.h.
 *
 * TriStar runs first, and may use all of the time. Then each peer is started in turn. It gets two thirds of
 * the remaining time, or all of it if the rest would not suffice for the next peer: each peer needs at least
 * as much time as TriStar used. A peer without a solution by then is stopped. Time for two more rounds of
 * solves is reserved. Contenders that solved keep their factors and solve again, round by round, as long as
 * there is time. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "drivers/bench/bench.h"
#include "drivers/report/report.h"
#include "drivers/session/session.h"

#define SHARE (2.0 / 3)
#define LATER_ROUNDS 2 /* number of rounds for which time is reserved */
#define NAME_WIDTH 30
#define ORDERING_WIDTH 14

/* ---- Time --------------------------------------------------------------------------------------------- */

static double time_left(const tsi_bench_case *c) {
  const int64_t limit = c->setup->settings->limit;
  return limit == 0 ? INFINITY : (double)limit - (tsi_now() - c->begin);
}

double tsi_bench_quick_share(const tsi_bench_case *c, int k, int64_t round) {
  const double left = time_left(c);
  if (isinf(left)) return 0;
  if (round > 0) return fmax(left, 1e-3);
  const double preparing =
      left - LATER_ROUNDS * tsi_bench_later_round(c) + LATER_ROUNDS * c->results[k].later_s;
  if (c->setup->contenders[k].peer < 0) return fmax(preparing, 0);
  if (preparing <= c->shortest_run) return 0;
  const double share = fmax(SHARE * preparing, c->shortest_run);
  return k + 1 == c->setup->count || preparing - share < c->shortest_run ? preparing : share;
}

bool tsi_bench_quick_goes_on(const tsi_bench_case *c) {
  return time_left(c) >= tsi_bench_later_round(c);
}

/* ---- The table ---------------------------------------------------------------------------------------- */

static double first_solution(const tsi_bench_result *r) {
  return tsi_bench_total(r, 1);
}

static void print_head(const tsi_bench_case *c) {
  const bool ratios = c->best_tristar >= 0 && c->setup->contenders[c->setup->count - 1].peer >= 0;
  printf("  %-*s %-*s %9s %9s %9s %9s %20s %13s%s\n", NAME_WIDTH, "solver", ORDERING_WIDTH, "ordering",
         "analysis", "factor", "first", "solve", "min .. max", "error (steps)",
         ratios ? "  speed-up: first, solve" : "");
}

/* Prints a stopped peer, with a lower bound of its time and of the ratio. */
static void print_stopped(const tsi_bench_case *c, int k) {
  const tsi_bench_result *r = &c->results[k];
  char least[32];
  snprintf(least, sizeof least, "> %s", tsi_text_seconds(r->stopped_s));
  printf("  %-*s %-*s %9s %9s %9s  stopped", NAME_WIDTH, c->setup->contenders[k].name, ORDERING_WIDTH, "-",
         "-", "-", least);
  if (c->setup->contenders[k].peer >= 0 && c->best_tristar >= 0)
    printf("; speed-up of the first solution > %.2f",
           r->stopped_s / first_solution(&c->results[c->best_tristar]));
  putchar('\n');
}

static void print_solved(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  char spread[48], error[32];
  snprintf(spread, sizeof spread, "%s .. %s", tsi_text_seconds(r->least_s), tsi_text_seconds(r->most_s));
  snprintf(error, sizeof error, "%.1e (%d)", r->backward_error, r->steps);
  printf("  %-*s %-*s %9s %9s %9s %9s %20s %13s", NAME_WIDTH, contender->name, ORDERING_WIDTH,
         *tsi_bench_ordering(c, k) ? tsi_bench_ordering(c, k) : "-", tsi_text_seconds(r->analyze_s),
         tsi_text_seconds(r->factor_s + r->plan_s), tsi_text_seconds(first_solution(r)),
         tsi_text_seconds(r->solve_s), spread, error);
  if (contender->peer >= 0 && c->best_tristar >= 0) {
    const tsi_bench_result *tristar = &c->results[c->best_tristar];
    printf("  %.2f, %.2f", first_solution(r) / first_solution(tristar), r->solve_s / tristar->solve_s);
  }
  putchar('\n');
}

static void print_row(const tsi_bench_case *c, int k) {
  const tsi_bench_result *r = &c->results[k];
  if (r->ok)
    print_solved(c, k);
  else if (r->stopped_s > 0)
    print_stopped(c, k);
  else
    printf("  %-*s %s%s\n", NAME_WIDTH, c->setup->contenders[k].name,
           r->unstarted ? "" : "failed: ", r->message);
}

/* Prints the result in one sentence. */
static void print_result(const tsi_bench_case *c) {
  const int least = c->best_peer >= 0 ? c->best_peer : -1;
  int stopped = 0;
  for (int k = 0; k < c->setup->count; k++) stopped += !c->results[k].ok && c->results[k].over_limit;
  if (c->best_tristar >= 0 && least >= 0) {
    int first = least;
    for (int k = 0; k < c->setup->count; k++)
      if (c->setup->contenders[k].peer >= 0 && c->results[k].ok &&
          first_solution(&c->results[k]) < first_solution(&c->results[first]))
        first = k;
    printf("  Speed-up of TriStar over the fastest peer: first solution %.2f (%s), solve %.2f (%s)\n",
           first_solution(&c->results[first]) / first_solution(&c->results[c->best_tristar]),
           c->setup->contenders[first].name, c->results[least].solve_s / c->results[c->best_tristar].solve_s,
           c->setup->contenders[least].name);
  } else if (c->best_tristar >= 0 && c->setup->contenders[c->setup->count - 1].peer >= 0)
    puts("  No peer has solved: only TriStar has times of solves");
  if (stopped > 0)
    printf("  %s had too little of the %" PRId64 " s: --limit gives more\n", tsi_text_many(stopped, "solver"),
           c->setup->settings->limit);
}

void tsi_bench_quick_print(const tsi_bench_case *c) {
  printf("%s; medians of %s, each of %s; first: analysis, factorization and one solve\n",
         tsi_text_many(c->nrhs, "right-hand side"), tsi_text_many(c->rounds, "round"),
         tsi_text_many(c->repeat, "solve"));
  print_head(c);
  for (int k = 0; k < c->setup->count; k++)
    if (tsi_bench_shown(c, k) && !tsi_bench_is_variant(c->setup, k)) print_row(c, k);
  print_result(c);
  putchar('\n');
}
