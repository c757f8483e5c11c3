/* All figures of `tristar bench --triangular` as JSON: see bench_triangular.h. */
#include "drivers/bench/bench_triangular.h"

static void add_figures(cJSON *object, const tsi_triangular_case *c, int k) {
  const tsi_bench_result *r = &c->bench.results[k];
  const double preparation = tsi_triangular_preparation(r);
  TSI_JSON_NUMBERS(object, {"solve_s", r->solve_s}, {"solve_least_s", r->least_s},
                   {"solve_most_s", r->most_s}, {"solve_min_s", r->fastest_s}, {"preparation_s", preparation},
                   {"preparation_solves", preparation / r->solve_s}, {"backward_error", r->backward_error});
  TSI_JSON_KNOWN(object, {"speed_up_plain", tsi_triangular_speed_up(c, tsi_triangular_plain(c), k)},
                 {"speed_up_peer", tsi_triangular_speed_up(c, c->bench.best_peer, k)});
}

static cJSON *make_contender(const tsi_triangular_case *c, int k) {
  const tsi_bench_contender *contender = &c->bench.setup->contenders[k];
  const tsi_bench_result *r = &c->bench.results[k];
  cJSON *object = tsi_bench_begin_contender(&c->bench, k, r->ok);
  if (contender->peer < 0) {
    cJSON_AddStringToObject(object, "partition",
                            *contender->variant ? contender->variant : tsi_options_word("partition", 0));
    cJSON_AddNumberToObject(object, "workers", contender->threads);
    cJSON_AddStringToObject(object, "scheduler", contender->scheduler);
  }
  cJSON_AddBoolToObject(object, "kept", r->kept);
  if (r->ok) add_figures(object, c, k);
  cJSON_AddItemToObject(object, "rounds", cJSON_Duplicate(r->rounds, true));
  return object;
}

static cJSON *make_case(const tsi_triangular_case *c) {
  const tsi_bench_setup *setup = c->bench.setup;
  const int own = tsi_triangular_own(c), fixed = tsi_triangular_fixed(c);
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "matrix", c->name);
  if (*c->of) cJSON_AddStringToObject(object, "of", c->of);
  cJSON_AddBoolToObject(object, "broken", c->broken);
  if (c->message[0] != '\0') {
    cJSON_AddStringToObject(object, "message", c->message);
    return object;
  }
  cJSON_AddStringToObject(object, "order", c->order);
  cJSON_AddStringToObject(object, "uplo", c->matrix.uplo);
  TSI_JSON_NUMBERS(object, {"n", (double)c->triangle.n}, {"nnz", (double)c->triangle.nnz},
                   {"repeat", (double)c->bench.repeat}, {"levels", (double)c->triangle.levels},
                   {"parallelism", tsi_triangular_parallelism(c)});
  cJSON_AddBoolToObject(object, "scaled", c->triangle.scaled);
  if (fixed >= 0) cJSON_AddStringToObject(object, "best_partition", setup->contenders[fixed].variant);
  if (c->bench.best_peer >= 0)
    cJSON_AddStringToObject(object, "best_peer", setup->contenders[c->bench.best_peer].name);
  TSI_JSON_KNOWN(object, {"speed_up_plain", tsi_triangular_speed_up(c, tsi_triangular_plain(c), own)},
                 {"speed_up_peer", tsi_triangular_speed_up(c, c->bench.best_peer, own)},
                 {"speed_up_partition", tsi_triangular_speed_up(c, fixed, own)});
  cJSON *list = cJSON_AddArrayToObject(object, "contenders");
  for (int k = 0; k < setup->count; k++) cJSON_AddItemToArray(list, make_contender(c, k));
  return object;
}

static void add_means(cJSON *object, const char *key, const tsi_triangular_means *means) {
  cJSON *to = cJSON_AddObjectToObject(object, key);
  cJSON_AddNumberToObject(to, "cases", means->cases);
  TSI_JSON_KNOWN(to, {"speed_up_plain", means->plain}, {"speed_up_peer", means->peer},
                 {"speed_up_partition", means->fixed});
}

bool tsi_triangular_write_json(const tsi_triangular *t) {
  const tsi_triangular_means all = tsi_triangular_find_means(t, false, NULL);
  const tsi_triangular_means parallel = tsi_triangular_find_means(t, true, NULL);
  int worst[TSI_TRIANGULAR_WORST];
  cJSON *object = tsi_bench_begin_json(&t->setup);
  cJSON_AddNumberToObject(object, "cores", t->setup.workers_most);
  add_means(object, "means", &all);
  add_means(object, "parallel_means", &parallel);
  cJSON *list = cJSON_AddArrayToObject(object, "worst");
  for (int k = 0, count = tsi_triangular_find_worst(t, worst); k < count; k++)
    cJSON_AddItemToArray(list, cJSON_CreateString(t->cases[worst[k]].title));
  list = cJSON_AddArrayToObject(object, "triangles");
  for (int k = 0; k < t->count; k++)
    if (t->cases[k].bench.results != NULL || t->cases[k].message[0] != '\0')
      cJSON_AddItemToArray(list, make_case(&t->cases[k]));
  return tsi_bench_put_json(&t->setup, object);
}
