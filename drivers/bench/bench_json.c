/* All figures of `tristar bench` as JSON: see bench.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "tristar.h"

/* Only what is known. */
static void add_positive(cJSON *object, const char *key, double value) {
  if (value > 0) cJSON_AddNumberToObject(object, key, value);
}

static void add_share(cJSON *object, const char *key, double rate, double limit) {
  if (rate > 0 && limit > 0) cJSON_AddNumberToObject(object, key, rate / limit);
}

static void add_figures(cJSON *object, const tsi_bench_case *c, const tsi_bench_result *r) {
  const double gbps = tsi_bench_gbps(r), gflops = tsi_bench_gflops(c, r);
  TSI_JSON_NUMBERS(object, {"analyze_s", r->analyze_s}, {"factor_s", r->factor_s}, {"plan_s", r->plan_s},
                   {"solve_s", r->solve_s}, {"solve_least_s", r->least_s}, {"solve_most_s", r->most_s});
  add_positive(object, "exact_bytes", r->bytes);
  add_positive(object, "gbps", gbps);
  add_share(object, "bandwidth_share", gbps, c->rates.bandwidth);
  add_positive(object, "gflops", gflops);
  add_share(object, "dgemm_share", gflops, c->rates.square);
  add_share(object, "dgemm_tall_share", gflops, c->rates.tall);
  TSI_JSON_NUMBERS(object, {"backward_error", r->backward_error}, {"refinement_steps", r->steps});
  if (r->outside >= 0) cJSON_AddNumberToObject(object, "outside_share", r->outside);
  add_positive(object, "memory_bytes", r->memory);
  add_positive(object, "tasks", r->tasks);
  add_positive(object, "predicted_s", r->predicted_s);
  TSI_JSON_NUMBERS(object, {"total_1_s", tsi_bench_total(r, 1)}, {"total_10_s", tsi_bench_total(r, 10)},
                   {"total_1000_s", tsi_bench_total(r, 1000)});
  if (c->best_tristar >= 0)
    cJSON_AddNumberToObject(object, "speed_up", r->solve_s / c->results[c->best_tristar].solve_s);
}

static cJSON *make_contender(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contender = &c->setup->contenders[k];
  const tsi_bench_result *r = &c->results[k];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", contender->name);
  cJSON_AddStringToObject(object, "solver",
                          contender->peer < 0 ? "tristar" : c->setup->family->peers[contender->peer].name);
  cJSON_AddNumberToObject(object, contender->peer < 0 ? "workers" : "threads", contender->threads);
  if (contender->peer < 0) cJSON_AddStringToObject(object, "scheduler", contender->scheduler);
  if (contender->peer < 0) cJSON_AddStringToObject(object, "variant", contender->variant);
  cJSON_AddBoolToObject(object, "solved", r->ok);
  cJSON_AddBoolToObject(object, "shown", tsi_bench_shown(c, k));
  cJSON_AddBoolToObject(object, "over_limit", r->over_limit);
  cJSON_AddBoolToObject(object, "kept", r->kept);
  cJSON_AddNumberToObject(object, "used_s", r->used_s);
  if (r->ok && contender->peer < 0) cJSON_AddNumberToObject(object, "starpu_start_s", r->start_s);
  if (r->ok) add_figures(object, c, r);
  if (!r->ok || r->over_limit) cJSON_AddStringToObject(object, "message", r->message);
  cJSON_AddItemToObject(object, "rounds", cJSON_Duplicate(r->rounds, true));
  return object;
}

static void add_rates(cJSON *object, const tsi_bench_case *c) {
  cJSON_AddNumberToObject(object, "cores", c->setup->workers_most);
  add_positive(object, "bandwidth_gbps", c->rates.bandwidth);
  add_positive(object, "dgemm_gflops", c->rates.square);
  add_positive(object, "dgemm_tall_gflops", c->rates.tall);
  add_positive(object, "dgemm_one_thread_gflops", c->rates.one_square);
  add_positive(object, "dgemm_tall_one_thread_gflops", c->rates.one_tall);
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

void tsi_bench_add_missing(cJSON *object, const tsi_bench_setup *setup) {
  cJSON *missing = cJSON_AddArrayToObject(object, "peers_missing");
  for (int k = 0; k < TSI_BENCH_PEERS; k++)
    if (setup->missing[k]) cJSON_AddItemToArray(missing, cJSON_CreateString(setup->family->peers[k].name));
}

static cJSON *make_json(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "version", tristar_version());
  TSI_JSON_NUMBERS(object, {"rounds", (double)setup->settings->rounds},
                   {"repeat", (double)setup->settings->repeat}, {"limit_s", (double)setup->settings->limit});
  tsi_bench_add_missing(object, setup);
  cJSON *list = cJSON_AddArrayToObject(object, "cases");
  for (int k = 0; k < count; k++)
    if (cases[k].results != NULL) cJSON_AddItemToArray(list, make_case(&cases[k]));
  return object;
}

bool tsi_bench_put_json(const char *path, cJSON *object) {
  char *text = cJSON_Print(object);
  bool ok = text != NULL;
  cJSON_Delete(object);
  if (!ok)
    tsi_console_error("bench: out of memory for JSON");
  else if (strcmp(path, "-") == 0)
    puts(text); /* the program looks at errors of stdout when it ends */
  else {
    tsi_output_file output;
    FILE *file = tsi_output_open(path, &output);
    ok = tsi_output_close(file, &output, file != NULL && fprintf(file, "%s\n", text) > 0);
    if (!ok) tsi_console_error("cannot write %s: %s", path, strerror(errno));
  }
  cJSON_free(text);
  return ok;
}

bool tsi_bench_write_json(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count) {
  return tsi_bench_put_json(setup->settings->json, make_json(setup, cases, count));
}
