/* Rounds of all contenders for one matrix and one number of right-hand sides, and their medians: see bench.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bench.h"
#include "drivers/console.h"
#include "drivers/session.h"
#include "runtime/base/median.h"

/* A figure of one run; 0 where there is none. */
static double number(const cJSON *figures, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(figures, key);
  return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Median of a figure over the rounds; its extremes, where asked for. 0 without rounds or memory. */
static double median(const cJSON *rounds, const char *key, double *least, double *most) {
  const int count = cJSON_GetArraySize(rounds);
  double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values), middle = 0;
  const cJSON *round;
  int k = 0;
  if (values == NULL || count == 0) {
    free(values);
    return 0;
  }
  cJSON_ArrayForEach(round, rounds) values[k++] = number(round, key);
  middle = tsi_median(values, (size_t)count);
  if (least != NULL) *least = values[0];
  if (most != NULL) *most = values[count - 1];
  free(values);
  return middle;
}

/* ---- Rounds ------------------------------------------------------------------------------------------- */

static void show_progress(const tsi_bench_case *c, const char *place, int64_t round, const char *who) {
  char text[256];
  bool verbose = c->setup->settings->verbose;
  if (tsi_console_level(verbose) != TRISTAR_LOG_PROGRESS) return;
  snprintf(text, sizeof text, "%s %.40s, nrhs %" PRId64 ", round %" PRId64 ": %s", place, c->matrix->name,
           c->nrhs, round + 1, who);
  tsi_console_log(&verbose, TRISTAR_LOG_PROGRESS, text);
}

static void run_contender(tsi_bench_case *c, int k) {
  const tsi_settings *settings = c->setup->settings;
  tsi_bench_result *r = &c->results[k];
  const bool tristar = c->setup->contenders[k].peer < 0;
  const double limit =
      tristar && c->setup->schedulers > 1 && c->shortest_run > 0 ? 30 + 20 * c->shortest_run : 0;
  const double begin = tsi_now();
  cJSON *figures =
      tsi_bench_run(&c->setup->contenders[k], c, settings->repeat, limit, r->message, sizeof r->message);
  const double seconds = tsi_now() - begin;
  r->ok = figures != NULL && number(figures, "solve_s") > 0;
  if (figures != NULL && !r->ok) snprintf(r->message, sizeof r->message, "told no solve_s");
  if (r->ok && tristar && (c->shortest_run <= 0 || seconds < c->shortest_run)) c->shortest_run = seconds;
  if (r->ok)
    cJSON_AddItemToArray(r->rounds, figures);
  else
    cJSON_Delete(figures);
}

static void measure_dgemm(tsi_bench_case *c) {
  const int threads = c->setup->workers_most;
  double square, tall;
  cJSON *figures = cJSON_CreateObject();
  tsi_bench_dgemm(1, c->nrhs, &square, &tall);
  cJSON_AddNumberToObject(figures, "dgemm_one_thread_gflops", square);
  cJSON_AddNumberToObject(figures, "dgemm_tall_one_thread_gflops", tall);
  if (threads > 1) tsi_bench_dgemm(threads, c->nrhs, &square, &tall);
  cJSON_AddNumberToObject(figures, "dgemm_gflops", square);
  cJSON_AddNumberToObject(figures, "dgemm_tall_gflops", tall);
  cJSON_AddItemToArray(c->rates.rounds, figures);
}

/* ---- Medians ------------------------------------------------------------------------------------------ */

/* TriStar tells the bytes; of a peer the nonzeros of L (and D), or of L and U, are known. */
static double exact_bytes(const tsi_bench_case *c, int k, const cJSON *figures) {
  const char *method = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "method"));
  if (c->setup->contenders[k].peer < 0) return number(figures, "exact_bytes");
  return number(figures, "nnz_factor") * (method != NULL && strcmp(method, "LU") == 0 ? 1 : 2) *
         (c->matrix->is_complex ? 16 : 8);
}

static void evaluate(tsi_bench_case *c, int k) {
  tsi_bench_result *r = &c->results[k];
  const cJSON *last = cJSON_GetArrayItem(r->rounds, cJSON_GetArraySize(r->rounds) - 1);
  if (!r->ok) return;
  r->analyze_s = median(r->rounds, "analyze_s", NULL, NULL);
  r->factor_s = median(r->rounds, "factor_s", NULL, NULL);
  r->plan_s = median(r->rounds, "plan_s", NULL, NULL);
  r->solve_s = median(r->rounds, "solve_s", &r->least_s, &r->most_s);
  r->bytes = exact_bytes(c, k, last);
  r->backward_error = median(r->rounds, "backward_error", NULL, NULL);
  r->steps = (int)number(last, "refinement_steps");
  r->outside =
      cJSON_HasObjectItem(last, "outside_share") ? median(r->rounds, "outside_share", NULL, NULL) : -1;
  r->memory = number(last, "factor_bytes") + number(last, "variant_bytes") + number(last, "workspace_bytes");
  r->tasks = number(last, "tasks");
  r->predicted_s = c->nrhs == 1 ? number(last, "predicted_s") : 0;
}

static bool faster(const tsi_bench_case *c, int k, int best) {
  return c->results[k].ok && (best < 0 || c->results[k].solve_s < c->results[best].solve_s);
}

/* A peer that failed in all settings is represented by the first of them. */
static void find_best(tsi_bench_case *c) {
  c->best_tristar = c->best_peer = -1;
  for (int peer = 0; peer < TSI_BENCH_PEERS; peer++) c->best[peer] = -1;
  for (int k = 0; k < c->setup->count; k++) {
    const int peer = c->setup->contenders[k].peer;
    if (peer < 0) {
      if (!tsi_bench_is_variant(c->setup, k) && faster(c, k, c->best_tristar)) c->best_tristar = k;
      continue;
    }
    if (c->best[peer] < 0 || (!c->results[c->best[peer]].ok && c->results[k].ok) ||
        faster(c, k, c->best[peer]))
      c->best[peer] = k;
    if (faster(c, k, c->best_peer)) c->best_peer = k;
  }
}

/* The bandwidth is measured by TriStar's own processes, before their workers start. */
static void find_rates(tsi_bench_case *c) {
  tsi_bench_rates *rates = &c->rates;
  for (int k = 0; k < c->setup->count; k++) {
    const tsi_bench_contender *contender = &c->setup->contenders[k];
    if (contender->peer >= 0 || contender->threads != c->setup->workers_most) continue;
    const double gbps = median(c->results[k].rounds, "bandwidth_gbps", NULL, NULL);
    if (gbps > rates->bandwidth) rates->bandwidth = gbps;
  }
  rates->square = median(rates->rounds, "dgemm_gflops", NULL, NULL);
  rates->tall = median(rates->rounds, "dgemm_tall_gflops", NULL, NULL);
  rates->one_square = median(rates->rounds, "dgemm_one_thread_gflops", NULL, NULL);
  rates->one_tall = median(rates->rounds, "dgemm_tall_one_thread_gflops", NULL, NULL);
}

static bool allocate(tsi_bench_case *c) {
  c->results = calloc((size_t)c->setup->count, sizeof *c->results);
  c->rates.rounds = cJSON_CreateArray();
  bool ok = c->results != NULL && c->rates.rounds != NULL;
  for (int k = 0; k < c->setup->count && ok; k++) {
    c->results[k].ok = true;
    c->results[k].rounds = cJSON_CreateArray();
    ok = c->results[k].rounds != NULL;
  }
  if (!ok) tsi_console_error("bench: out of memory");
  return ok;
}

bool tsi_bench_case_measure(tsi_bench_case *c, const char *place) {
  if (!allocate(c)) return false;
  for (int64_t round = 0; round < c->setup->settings->rounds; round++) {
    for (int k = 0; k < c->setup->count; k++) {
      if (!c->results[k].ok) continue; /* failed before */
      show_progress(c, place, round, c->setup->contenders[k].name);
      run_contender(c, k);
    }
    if (c->nrhs == 1) continue;
    show_progress(c, place, round, "DGEMM");
    measure_dgemm(c);
  }
  tsi_console_clear();
  for (int k = 0; k < c->setup->count; k++) evaluate(c, k);
  find_best(c);
  find_rates(c);
  return true;
}

void tsi_bench_case_free(tsi_bench_case *c) {
  for (int k = 0; c->results != NULL && k < c->setup->count; k++) cJSON_Delete(c->results[k].rounds);
  cJSON_Delete(c->rates.rounds);
  free(c->results);
  c->results = NULL;
  c->rates.rounds = NULL;
}

/* ---- What tables, picture and JSON ask ---------------------------------------------------------------- */

double tsi_bench_gbps(const tsi_bench_result *r) {
  return r->ok ? r->bytes / r->solve_s / 1e9 : 0;
}

/* Each entry of the factors is multiplied and added once for each right-hand side. */
double tsi_bench_gflops(const tsi_bench_case *c, const tsi_bench_result *r) {
  return tsi_bench_gbps(r) / (c->matrix->is_complex ? 16 : 8) * (c->matrix->is_complex ? 8 : 2) *
         (double)c->nrhs;
}

double tsi_bench_total(const tsi_bench_result *r, double solves) {
  return r->analyze_s + r->factor_s + r->plan_s + solves * r->solve_s;
}

bool tsi_bench_shown(const tsi_bench_case *c, int k) {
  const tsi_bench_contender *contenders = c->setup->contenders;
  const int peer = contenders[k].peer;
  if (peer >= 0) return c->best[peer] == k;
  if (!c->setup->all_schedulers || tsi_bench_is_variant(c->setup, k)) return true;
  int best = -1;
  for (int d = 0; d < c->setup->count; d++)
    if (contenders[d].peer < 0 && contenders[d].threads == contenders[k].threads &&
        !tsi_bench_is_variant(c->setup, d) && faster(c, d, best))
      best = d;
  return best == k;
}

bool tsi_bench_is_variant(const tsi_bench_setup *setup, int k) {
  return *setup->contenders[k].variant != '\0';
}

int tsi_bench_default_of(const tsi_bench_setup *setup, int k) {
  const tsi_bench_contender *variant = &setup->contenders[k];
  for (int d = 0; d < k; d++)
    if (setup->contenders[d].threads == variant->threads && !tsi_bench_is_variant(setup, d) &&
        strcmp(setup->contenders[d].scheduler, variant->scheduler) == 0)
      return d;
  return k;
}

int tsi_bench_least_total(const tsi_bench_case *c, int peer, double solves) {
  int least = -1;
  for (int k = 0; k < c->setup->count; k++)
    if (c->setup->contenders[k].peer == peer && c->results[k].ok && !tsi_bench_is_variant(c->setup, k) &&
        (least < 0 || tsi_bench_total(&c->results[k], solves) < tsi_bench_total(&c->results[least], solves)))
      least = k;
  return least;
}
