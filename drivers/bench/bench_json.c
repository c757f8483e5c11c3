/* All figures of `tristar bench` as JSON: see bench.h. */
#include <errno.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/session/console.h"
#include "tristar.h"

/* Returns rate / limit; 0: unknown. */
static double share(double rate, double limit) {
  return rate > 0 && limit > 0 ? rate / limit : 0;
}

static void add_figures(cJSON *object, const tsi_bench_case *c, const tsi_bench_result *r) {
  const double gbps = tsi_bench_gbps(r), gflops = tsi_bench_gflops(c, r);
  TSI_JSON_NUMBERS(object, {"analyze_s", r->analyze_s}, {"factor_s", r->factor_s}, {"plan_s", r->plan_s},
                   {"solve_s", r->solve_s}, {"solve_least_s", r->least_s}, {"solve_most_s", r->most_s});
  TSI_JSON_PRESENT(object, {"exact_bytes", r->bytes}, {"gbps", gbps},
                   {"bandwidth_share", share(gbps, c->rates.bandwidth)}, {"gflops", gflops},
                   {"dgemm_share", share(gflops, c->rates.square)},
                   {"dgemm_tall_share", share(gflops, c->rates.tall)});
  TSI_JSON_NUMBERS(object, {"backward_error", r->backward_error}, {"refinement_steps", r->steps});
  if (r->outside >= 0) cJSON_AddNumberToObject(object, "outside_share", r->outside);
  TSI_JSON_PRESENT(object, {"peak_bytes", r->peak}, {"memory_bytes", r->memory}, {"tasks", r->tasks},
                   {"predicted_s", r->predicted_s});
  TSI_JSON_NUMBERS(object, {"total_1_s", tsi_bench_total(r, 1)}, {"total_10_s", tsi_bench_total(r, 10)},
                   {"total_1000_s", tsi_bench_total(r, 1000)});
  if (c->best_tristar < 0) return;
  const tsi_bench_result *tristar = &c->results[c->best_tristar];
  TSI_JSON_NUMBERS(object, {"speed_up", r->solve_s / tristar->solve_s},
                   {"first_speed_up", tsi_bench_total(r, 1) / tsi_bench_total(tristar, 1)});
}

cJSON *tsi_bench_begin_contender(const tsi_bench_case *c, int k, bool solved) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", contender->name);
  cJSON_AddStringToObject(object, "solver",
                          contender->peer < 0 ? "tristar" : c->setup->family->peers[contender->peer].name);
  cJSON_AddBoolToObject(object, "solved", solved);
  cJSON_AddBoolToObject(object, "over_limit", r->over_limit);
  cJSON_AddNumberToObject(object, "used_s", r->used_s);
  if (r->stopped_s > 0) cJSON_AddNumberToObject(object, "stopped_s", r->stopped_s);
  if (!solved || r->over_limit) cJSON_AddStringToObject(object, "message", r->message);
  return object;
}

static cJSON *make_contender(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  cJSON *object = tsi_bench_begin_contender(c, k, r->ok);
  cJSON_AddNumberToObject(object, contender->peer < 0 ? "workers" : "threads", contender->threads);
  if (contender->peer < 0) cJSON_AddStringToObject(object, "scheduler", contender->scheduler);
  if (contender->peer < 0) cJSON_AddStringToObject(object, "variant", contender->variant);
  cJSON_AddBoolToObject(object, "shown", tsi_bench_shown(c, k));
  cJSON_AddBoolToObject(object, "kept", r->kept);
  if (*tsi_bench_ordering(c, k)) cJSON_AddStringToObject(object, "ordering", tsi_bench_ordering(c, k));
  if (r->ok && contender->peer < 0) cJSON_AddNumberToObject(object, "starpu_start_s", r->start_s);
  if (r->ok) add_figures(object, c, r);
  cJSON_AddItemToObject(object, "rounds", cJSON_Duplicate(r->rounds, true));
  return object;
}

static void add_rates(cJSON *object, const tsi_bench_case *c) {
  cJSON_AddNumberToObject(object, "cores", c->setup->workers_most);
  TSI_JSON_PRESENT(object, {"bandwidth_gbps", c->rates.bandwidth}, {"dgemm_gflops", c->rates.square},
                   {"dgemm_tall_gflops", c->rates.tall}, {"dgemm_one_thread_gflops", c->rates.one_square},
                   {"dgemm_tall_one_thread_gflops", c->rates.one_tall});
  cJSON_AddItemToObject(object, "dgemm_rounds", cJSON_Duplicate(c->rates.dgemms, true));
  cJSON_AddItemToObject(object, "bandwidth_rounds", cJSON_Duplicate(c->rates.bandwidths, true));
}

static cJSON *make_case(const tsi_bench_case *c) {
  const tsi_bench_contender *contenders = c->setup->contenders;
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "matrix", c->matrix->name);
  cJSON_AddBoolToObject(object, "laplacian", c->matrix->pattern);
  cJSON_AddBoolToObject(object, "triangular", c->matrix->triangular);
  TSI_JSON_NUMBERS(object, {"n", (double)c->matrix->n}, {"nnz", (double)c->matrix->nnz});
  cJSON_AddStringToObject(object, "precision", c->matrix->is_complex ? "z" : "d");
  cJSON_AddNumberToObject(object, "nrhs", (double)c->nrhs);
  cJSON_AddNumberToObject(object, "rounds", (double)c->rounds);
  add_rates(object, c);
  if (c->best_tristar >= 0) cJSON_AddStringToObject(object, "best_tristar", contenders[c->best_tristar].name);
  if (c->best_peer >= 0) cJSON_AddStringToObject(object, "best_peer", contenders[c->best_peer].name);
  if (c->best_tristar >= 0 && c->best_peer >= 0)
    cJSON_AddNumberToObject(object, "speed_up",
                            c->results[c->best_peer].solve_s / c->results[c->best_tristar].solve_s);
  tsi_bench_add_schedulers(object, c);
  cJSON *list = cJSON_AddArrayToObject(object, "contenders");
  for (int k = 0; k < c->setup->count; k++) cJSON_AddItemToArray(list, make_contender(c, k));
  return object;
}

cJSON *tsi_bench_begin_json(const tsi_bench_setup *setup) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "version", tristar_version());
  TSI_JSON_NUMBERS(object, {"rounds", (double)setup->settings->rounds},
                   {"repeat", (double)setup->settings->repeat}, {"limit_s", (double)setup->settings->limit});
  cJSON *missing = cJSON_AddArrayToObject(object, "peers_missing");
  for (int k = 0; k < TSI_BENCH_PEERS; k++)
    if (setup->missing[k]) cJSON_AddItemToArray(missing, cJSON_CreateString(setup->family->peers[k].name));
  return object;
}

bool tsi_bench_put_json(const tsi_bench_setup *setup, cJSON *object) {
  const bool ok = tsi_json_put(setup->settings->json, object);
  if (!ok) tsi_console_error("cannot write %s: %s", setup->settings->json, strerror(errno));
  return ok;
}

bool tsi_bench_write_json(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count) {
  cJSON *object = tsi_bench_begin_json(setup), *list;
  cJSON_AddBoolToObject(object, "quick", setup->settings->quick);
  list = cJSON_AddArrayToObject(object, "cases");
  for (int k = 0; k < count; k++)
    if (cases[k].results != NULL) cJSON_AddItemToArray(list, make_case(&cases[k]));
  return tsi_bench_put_json(setup, object);
}
