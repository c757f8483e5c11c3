/* All figures of `tristar bench --fsai` as JSON: see bench_fsai.h. */
#include "drivers/bench/bench_fsai.h"

static cJSON *make_contender(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  tsi_fsai_figures f;
  const bool solved = tsi_fsai_find(c, k, &f);
  cJSON *object = tsi_bench_begin_contender(c, k, solved);
  cJSON_AddStringToObject(object, "method", contender->krylov->method);
  cJSON_AddStringToObject(object, "precond", contender->krylov->precond);
  cJSON_AddNumberToObject(object, "ranks", contender->ranks);
  if (solved) {
    TSI_JSON_NUMBERS(object, {"iterations", f.iterations}, {"setup_s", f.setup_s}, {"solve_s", f.solve_s},
                     {"solve_least_s", r->least_s}, {"solve_most_s", r->most_s},
                     {"iteration_s", f.iteration_s}, {"total_s", f.total_s}, {"nnz_factor", f.entries},
                     {"backward_error", f.backward_error});
    TSI_JSON_KNOWN(object, {"product_gbps", f.product_gbps}, {"product_bandwidth_share", f.product_share});
  }
  cJSON_AddItemToObject(object, "rounds", cJSON_Duplicate(r->rounds, true));
  return object;
}

/* A member for each claim that is known; c NULL: their means. */
static cJSON *make_ratios(const tsi_fsai_bench *b, const tsi_bench_case *c, int ranks) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "ranks", ranks);
  for (int k = 0; k < tsi_fsai_claim_count; k++) {
    const tsi_fsai_claim *claim = &tsi_fsai_claims[k];
    const double ratio = c != NULL ? tsi_fsai_ratio(c, claim, ranks) : tsi_fsai_mean(b, claim, ranks);
    TSI_JSON_KNOWN(object, {claim->key, ratio});
  }
  return object;
}

static void add_ratios(cJSON *object, const char *key, const tsi_fsai_bench *b, const tsi_bench_case *c) {
  int ranks[TSI_BENCH_LIST_MAX];
  const int count = tsi_fsai_ranks(&b->setup, ranks);
  cJSON *list = cJSON_AddArrayToObject(object, key);
  for (int r = 0; r < count; r++) cJSON_AddItemToArray(list, make_ratios(b, c, ranks[r]));
}

static cJSON *make_case(const tsi_fsai_bench *b, const tsi_bench_case *c) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "matrix", c->matrix->name);
  TSI_JSON_NUMBERS(object, {"n", (double)c->matrix->n}, {"nnz", (double)c->matrix->nnz},
                   {"bandwidth_one_core_gbps", tsi_fsai_bandwidth(c, 1)},
                   {"bandwidth_gbps", c->rates.bandwidth});
  add_ratios(object, "ratios", b, c);
  cJSON *list = cJSON_AddArrayToObject(object, "contenders");
  for (int k = 0; k < c->setup->count; k++) cJSON_AddItemToArray(list, make_contender(c, k));
  return object;
}

bool tsi_fsai_write_json(const tsi_fsai_bench *b) {
  cJSON *object = tsi_bench_begin_json(&b->setup);
  add_ratios(object, "means", b, NULL);
  cJSON *list = cJSON_AddArrayToObject(object, "cases");
  for (int m = 0; m < b->count; m++) cJSON_AddItemToArray(list, make_case(b, &b->cases[m]));
  return tsi_bench_put_json(&b->setup, object);
}
