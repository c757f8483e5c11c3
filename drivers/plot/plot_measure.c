/* Timed solves, and the limits of the machine, for pictures: see plot.h. */
#include <stdlib.h>

#include "drivers/bench/bench.h"
#include "drivers/plot/plot.h"
#include "drivers/report/report.h"
#include "runtime/base/median.h"

enum { BLOCK = 64 }; /* maximum number of right-hand sides that a plan solves at a time */

bool tsi_plot_limits(tsi_session *s, int64_t nrhs, tsi_limits *limits) {
  if (!tsi_bandwidth_measure(s, tsi_expected_workers(s->settings), &limits->bandwidth)) return false;
  tsi_bench_dgemm(limits->bandwidth.cores, nrhs, &limits->square, &limits->tall);
  return (limits->square > 0 && limits->tall > 0) ||
         tsi_session_fail(s, TRISTAR_ERR_MEMORY, "no memory or no threads to measure DGEMM with");
}

void tsi_plot_add_limits(cJSON *figures, const tsi_limits *limits) {
  tsi_json_add_bandwidth(figures, &limits->bandwidth);
  TSI_JSON_NUMBERS(figures, {"dgemm_gflops", limits->square}, {"dgemm_tall_gflops", limits->tall});
}

static void count_work(const tsi_session *s, tristar_part part, tsi_timed *t) {
  const double share = part == TRISTAR_PART_ALL ? 1 : 0.5;
  const double factor = share * s->p.exact_bytes, blocks = (double)((t->nrhs + BLOCK - 1) / BLOCK);
  const double entries = factor / (double)s->precision->bytes * (s->single_factors ? 2 : 1);
  t->flops = entries * tsi_precision_flops(s->precision) * (double)t->nrhs;
  t->bytes = blocks * factor + 2 * (double)(t->nrhs * s->a.n) * (double)s->precision->bytes;
}

bool tsi_plot_time(tsi_session *s, tristar_part part, int64_t nrhs, const tristar_dense *b,
                   const tristar_dense *x, tsi_timed *out) {
  tristar_solve_options options;
  const int64_t repeat = s->settings->repeat;
  double *seconds = malloc((size_t)(repeat + 1) * sizeof *seconds);
  bool ok = seconds != NULL ||
            tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for %lld times", (long long)repeat);
  tristar_solve_options_init(&options);
  options.part = part;
  if (part == TRISTAR_PART_ALL) options.op = tsi_session_op(s)->op;
  for (int64_t k = 0; k <= repeat && ok; k++) {
    const double begin = tsi_now();
    ok = tsi_session_check(s, tristar_solve_with(s->plan, &options, nrhs, b->values, x->values, NULL),
                           s->name);
    seconds[k] = tsi_now() - begin;
  }
  if (ok) {
    *out = (tsi_timed){.nrhs = nrhs, .seconds = tsi_median(seconds + 1, (size_t)repeat)};
    out->least = seconds[1]; /* the median has sorted them */
    out->most = seconds[repeat];
    count_work(s, part, out);
  }
  free(seconds);
  return ok;
}

cJSON *tsi_plot_make_timed(const tsi_timed *t) {
  cJSON *object = cJSON_CreateObject();
  TSI_JSON_NUMBERS(object, {"nrhs", (double)t->nrhs}, {"solve_s", t->seconds}, {"least_s", t->least},
                   {"most_s", t->most}, {"flops", t->flops}, {"bytes", t->bytes},
                   {"gflops", t->flops / t->seconds / 1e9}, {"gbps", t->bytes / t->seconds / 1e9});
  return object;
}
