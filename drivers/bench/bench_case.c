/* Rounds of all contenders for one matrix and one number of right-hand sides, and their medians: see bench.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bench/bench.h"
#include "drivers/session/console.h"
#include "drivers/report/bandwidth.h"
#include "drivers/report/report.h"
#include "drivers/session/session.h"
#include "runtime/machine/bandwidth.h"
#include "runtime/base/median.h"
#include "runtime/context/context.h"

/* Returns a figure of one run; 0 if there is none. */
static double number(const cJSON *figures, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(figures, key);
  return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

double tsi_bench_median(const cJSON *rounds, const char *key, double *least, double *most) {
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

/* ---- Turns -------------------------------------------------------------------------------------------- */

/* Progress of the measurement, for the progress line. */
typedef struct turn {
  const tsi_bench_case *c;
  int64_t round; /* from 0 */
  const char *who;
  double begin; /* start of the turn */
} turn;

/* Returns seconds as coarse text. */
static const char *text_about(double seconds, char *text, size_t size) {
  if (seconds < 120)
    snprintf(text, size, "%.0f s", seconds);
  else if (seconds < 7200)
    snprintf(text, size, "%.0f min", seconds / 60);
  else
    snprintf(text, size, "%.1f h", seconds / 3600);
  return text;
}

/* Does contender k take part in a round, from 0? With --quick none is prepared twice. */
static bool takes_part(const tsi_bench_case *c, int k, int64_t round) {
  const tsi_bench_result *r = &c->results[k];
  return r->ok && !r->over_limit && (round == 0 || r->kept || !c->setup->settings->quick);
}

double tsi_bench_later_round(const tsi_bench_case *c) {
  double seconds = c->rates_s;
  for (int k = 0; k < c->setup->count; k++)
    if (takes_part(c, k, 1)) seconds += c->results[k].later_s;
  return seconds;
}

static void show_progress(void *arg) {
  const turn *t = arg;
  const tsi_bench_case *c = t->c;
  const int64_t rounds = c->setup->settings->rounds;
  const double seconds = tsi_now() - t->begin;
  char text[256], took[32] = "", left[64] = "", about[32];
  bool verbose = c->setup->settings->verbose;
  if (tsi_console_level(verbose) != TRISTAR_LOG_PROGRESS) return;
  if (seconds >= 1) {
    if (verbose) return; /* a line for each turn is enough */
    snprintf(took, sizeof took, " (%.0f s)", seconds);
  }
  if (t->round > 0 && tsi_bench_later_round(c) >= 1)
    snprintf(left, sizeof left, ", %s left",
             text_about(tsi_bench_later_round(c) * (double)(rounds - t->round), about, sizeof about));
  snprintf(text, sizeof text, "[%d/%d] %.30s, nrhs %" PRId64 ", round %" PRId64 " of %" PRId64 "%s: %s%s",
           c->number, c->all, c->matrix->name, c->nrhs, t->round + 1, rounds, left, t->who, took);
  tsi_console_log(&verbose, TRISTAR_LOG_PROGRESS, text);
}

/* Returns the maximum seconds of contender k's next turn; 0: no limit. */
static double turn_limit(const tsi_bench_case *c, int k, int64_t round) {
  if (c->setup->settings->quick) return tsi_bench_quick_share(c, k, round);
  const double left = (double)c->setup->settings->limit - c->results[k].used_s;
  const bool tristar = c->setup->contenders[k].peer < 0;
  const double limit =
      tristar && c->setup->schedulers > 1 && c->shortest_run > 0 ? 30 + 20 * c->shortest_run : 0;
  if (c->setup->settings->limit == 0) return limit;
  return limit > 0 && limit < left ? limit : left;
}

/* Ends a contender whose next turn would exceed the limit. */
static void retire(tsi_bench_case *c, int k) {
  tsi_bench_result *r = &c->results[k];
  r->over_limit = true;
  r->ok = cJSON_GetArraySize(r->rounds) > 0;
  snprintf(r->message, sizeof r->message, "no result within the limit of %" PRId64 " s (--limit)",
           c->setup->settings->limit);
  tsi_bench_process_free(&r->process);
}

/* Records that a contender of --quick could not be started, or was stopped, because time was short. */
static void leave_out(tsi_bench_result *r, const tsi_settings *settings) {
  r->unstarted = !r->late;
  r->over_limit = true;
  r->ok = cJSON_GetArraySize(r->rounds) > 0;
  if (r->late)
    snprintf(r->message, sizeof r->message, "no solution after %.0f s", r->stopped_s);
  else
    snprintf(r->message, sizeof r->message, "not started: the %" PRId64 " s of --limit are used up",
             settings->limit);
}

/* Ends the process of contender k, unless it is needed in a later round and there is enough memory to keep
 * it: twice the largest peak so far, so that others can work meanwhile. */
static void keep_or_end(tsi_bench_case *c, int k, bool last_round) {
  tsi_bench_result *r = &c->results[k];
  r->peak = tsi_peak_memory(r->process.pid);
  if (r->peak > c->largest_peak) c->largest_peak = r->peak;
  r->kept = !c->setup->settings->fresh && c->setup->contenders[k].krylov == NULL &&
            tsi_bench_memory_left() > 2 * c->largest_peak;
  if (last_round || !r->kept) r->ok = tsi_bench_dismiss(r);
}

/* Estimates the seconds of a later turn: the warm-up, the solves, and the profiled solves; or all of this
 * turn. */
static double estimate_later(const tsi_bench_case *c, const tsi_bench_result *r, const cJSON *figures,
                             double seconds) {
  const double solves = number(figures, "solve_s") * (double)(c->repeat + 1);
  const cJSON *profile = cJSON_GetObjectItemCaseSensitive(figures, "profile");
  const double estimate = solves + number(profile, "wall_s");
  return r->kept && estimate < seconds ? estimate : seconds;
}

/* A time counts only if the solution is accurate. For triangles this must be checked here: no refinement
 * follows. */
static bool is_accurate(const cJSON *figures, tsi_bench_result *r) {
  const bool reported = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(figures, "backward_error"));
  const double error = number(figures, "backward_error");
  if (reported && error <= TSI_BENCH_ERROR_MAX) return true;
  if (reported)
    snprintf(r->message, sizeof r->message, "wrong: the backward error is %.1e", error);
  else
    snprintf(r->message, sizeof r->message, "wrong: the backward error is not a number");
  return false;
}

static void run_contender(tsi_bench_case *c, int k, int64_t round) {
  const tsi_settings *settings = c->setup->settings;
  tsi_bench_result *r = &c->results[k];
  turn t = {c, round, c->setup->contenders[k].name, tsi_now()};
  const double limit = turn_limit(c, k, round);
  if (settings->quick && settings->limit > 0 && limit <= 0) {
    leave_out(r, settings);
    return;
  }
  if (!settings->quick && settings->limit > 0 && round > 0 &&
      r->used_s + r->later_s > (double)settings->limit) {
    retire(c, k);
    return;
  }
  show_progress(&t);
  cJSON *figures = tsi_bench_turn(c, k, limit, show_progress, &t);
  const double seconds = tsi_now() - t.begin;
  r->used_s += seconds;
  if (figures == NULL && settings->quick && round > 0 && !r->kept && !r->late) return;
  r->ok = figures != NULL && number(figures, "solve_s") > 0;
  if (figures != NULL && !r->ok) snprintf(r->message, sizeof r->message, "printed no solve_s");
  if (r->ok && c->matrix->uplo != NULL) r->ok = is_accurate(figures, r);
  if (r->ok) {
    if (c->setup->contenders[k].peer < 0 && round == 0 && (c->shortest_run <= 0 || seconds < c->shortest_run))
      c->shortest_run = seconds;
    cJSON_AddItemToArray(r->rounds, figures);
    keep_or_end(c, k, round + 1 == settings->rounds);
    r->later_s = estimate_later(c, r, figures, seconds);
    return;
  }
  cJSON_Delete(figures);
  tsi_bench_process_free(&r->process);
  if (r->late && settings->quick)
    leave_out(r, settings);
  else if (r->late && settings->limit > 0 && r->used_s >= (double)settings->limit)
    retire(c, k);
}

/* ---- Rates of the machine, while all contenders are halted --------------------------------------------- */

/* Measures the bandwidth with an array as large as the largest factor, within the bounds of bandwidth.h. */
static void measure_bandwidth(tsi_bench_case *c) {
  double one = 0, all = 0, bytes = 0;
  tristar_config config;
  tristar_t *ts;
  tristar_config_init(&config);
  config.use_starpu = 0;
  for (int k = 0; k < c->setup->count; k++)
    bytes = fmax(bytes, number(cJSON_GetArrayItem(c->results[k].rounds, 0), "factor_bytes"));
  if (tristar_create(&config, &ts) != TRISTAR_OK) return;
  if (tsi_bandwidth_read(tsi_context_env(ts), tsi_bandwidth_bytes(bytes), c->setup->workers_most, &one,
                         &all) == TRISTAR_OK) {
    cJSON *figures = tsi_json_add_item(c->rates.bandwidths);
    TSI_JSON_NUMBERS(figures, {"bandwidth_one_core_gbps", one}, {"bandwidth_gbps", all});
  }
  tristar_destroy(&ts);
}

static void measure_dgemm(tsi_bench_case *c) {
  const int threads = c->setup->workers_most;
  double square, tall;
  cJSON *figures = tsi_json_add_item(c->rates.dgemms);
  tsi_bench_dgemm(1, c->nrhs, &square, &tall);
  TSI_JSON_NUMBERS(figures, {"dgemm_one_thread_gflops", square}, {"dgemm_tall_one_thread_gflops", tall});
  if (threads > 1) tsi_bench_dgemm(threads, c->nrhs, &square, &tall);
  TSI_JSON_NUMBERS(figures, {"dgemm_gflops", square}, {"dgemm_tall_gflops", tall});
}

static void measure_rates(tsi_bench_case *c, int64_t round) {
  turn t = {c, round, "bandwidth", tsi_now()};
  show_progress(&t);
  measure_bandwidth(c);
  if (c->nrhs > 1) {
    t.who = "DGEMM";
    show_progress(&t);
    measure_dgemm(c);
  }
  if (round == 0) c->rates_s = tsi_now() - t.begin;
}

/* ---- Medians ------------------------------------------------------------------------------------------ */

/* Returns the exact bytes. TriStar reports bytes; peers report the nonzeros of L (and D), or of L and U. */
static double exact_bytes(const tsi_bench_case *c, int k, const cJSON *figures) {
  const char *method = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(figures, "method"));
  if (c->setup->contenders[k].peer < 0) return number(figures, "exact_bytes");
  return number(figures, "nnz_factor") * (method != NULL && strcmp(method, "LU") == 0 ? 1 : 2) *
         (c->matrix->is_complex ? 16 : 8);
}

/* Returns the memory of the factor, unless a compressed copy replaced it, of copies and variants, and of the
 * workspace. */
static double memory_of(const cJSON *figures) {
  const cJSON *compression = cJSON_GetObjectItemCaseSensitive(figures, "compression");
  const bool released = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(compression, "factor_released"));
  return (released ? 0 : number(figures, "factor_bytes")) + number(figures, "storage_bytes") +
         number(figures, "variant_bytes") + number(figures, "workspace_bytes");
}

static void evaluate(tsi_bench_case *c, int k) {
  tsi_bench_result *r = &c->results[k];
  const cJSON *last = cJSON_GetArrayItem(r->rounds, cJSON_GetArraySize(r->rounds) - 1);
  if (!r->ok) return;
  r->start_s = number(cJSON_GetArrayItem(r->rounds, 0), "starpu_start_s");
  r->analyze_s = tsi_bench_median(r->rounds, "analyze_s", NULL, NULL);
  r->factor_s = tsi_bench_median(r->rounds, "factor_s", NULL, NULL);
  r->plan_s = tsi_bench_median(r->rounds, "plan_s", NULL, NULL);
  r->solve_s = tsi_bench_median(r->rounds, "solve_s", &r->least_s, &r->most_s);
  tsi_bench_median(r->rounds, "solve_min_s", &r->fastest_s, NULL);
  r->bytes = exact_bytes(c, k, last);
  r->backward_error = tsi_bench_median(r->rounds, "backward_error", NULL, NULL);
  r->steps = (int)number(last, "refinement_steps");
  r->outside = cJSON_HasObjectItem(last, "outside_share")
                   ? tsi_bench_median(r->rounds, "outside_share", NULL, NULL)
                   : -1;
  r->memory = memory_of(last);
  r->tasks = number(last, "tasks");
  r->predicted_s = c->nrhs == 1 ? number(last, "predicted_s") : 0;
}

static bool faster(const tsi_bench_case *c, int k, int best) {
  return c->results[k].ok && (best < 0 || c->results[k].solve_s < c->results[best].solve_s);
}

/* Finds the best contenders. A peer that failed in all settings is represented by the first one. */
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

static void find_rates(tsi_bench_case *c) {
  tsi_bench_rates *rates = &c->rates;
  rates->bandwidth = tsi_bench_median(rates->bandwidths, "bandwidth_gbps", NULL, NULL);
  rates->square = tsi_bench_median(rates->dgemms, "dgemm_gflops", NULL, NULL);
  rates->tall = tsi_bench_median(rates->dgemms, "dgemm_tall_gflops", NULL, NULL);
  rates->one_square = tsi_bench_median(rates->dgemms, "dgemm_one_thread_gflops", NULL, NULL);
  rates->one_tall = tsi_bench_median(rates->dgemms, "dgemm_tall_one_thread_gflops", NULL, NULL);
}

/* ---- The case ----------------------------------------------------------------------------------------- */

static bool allocate(tsi_bench_case *c) {
  c->results = calloc((size_t)c->setup->count, sizeof *c->results);
  c->rates.bandwidths = cJSON_CreateArray();
  c->rates.dgemms = cJSON_CreateArray();
  bool ok = c->results != NULL && c->rates.bandwidths != NULL && c->rates.dgemms != NULL;
  for (int k = 0; k < c->setup->count && ok; k++) {
    c->results[k].ok = true;
    c->results[k].rounds = cJSON_CreateArray();
    ok = c->results[k].rounds != NULL;
  }
  if (!ok) tsi_console_error("bench: out of memory");
  return ok;
}

/* After the first round: prints the estimated time of the rest, if it is long. */
static void announce(const tsi_bench_case *c, double first_s) {
  const int64_t more = c->setup->settings->rounds - 1, cases = c->all - c->number;
  const double rest = tsi_bench_later_round(c) * (double)more, others = (first_s + rest) * (double)cases;
  bool always = true;
  char text[320], first[32], about[32], like[160] = "", total[32];
  if (rest + others < 10 && !c->setup->settings->verbose) return;
  if (cases > 0)
    snprintf(like, sizeof like, "; %s more, if each is like this one: about %s",
             tsi_text_many(cases, "table"), text_about(others, total, sizeof total));
  snprintf(text, sizeof text, "[%d/%d] %.60s, nrhs %" PRId64 ": the first round took %s; %s more: about %s%s",
           c->number, c->all, c->matrix->name, c->nrhs, text_about(first_s, first, sizeof first),
           tsi_text_many(more, "round"), text_about(rest, about, sizeof about), like);
  tsi_console_log(&always, TRISTAR_LOG_INFO, text);
}

bool tsi_bench_case_measure(tsi_bench_case *c) {
  const bool quick = c->setup->settings->quick;
  const double begin = tsi_now();
  if (!allocate(c)) return false;
  for (; c->rounds < c->setup->settings->rounds; c->rounds++) {
    if (quick && c->rounds > 0 && !tsi_bench_quick_goes_on(c)) break;
    for (int k = 0; k < c->setup->count; k++)
      if (takes_part(c, k, c->rounds)) run_contender(c, k, c->rounds);
    if (c->setup->family->rates && !quick) measure_rates(c, c->rounds);
    if (c->rounds == 0 && !quick) announce(c, tsi_now() - begin);
  }
  tsi_console_clear();
  for (int k = 0; k < c->setup->count; k++) {
    tsi_bench_process_free(&c->results[k].process);
    evaluate(c, k);
  }
  find_best(c);
  find_rates(c);
  return true;
}

void tsi_bench_case_free(tsi_bench_case *c) {
  for (int k = 0; c->results != NULL && k < c->setup->count; k++) {
    tsi_bench_process_free(&c->results[k].process);
    cJSON_Delete(c->results[k].rounds);
  }
  cJSON_Delete(c->rates.bandwidths);
  cJSON_Delete(c->rates.dgemms);
  free(c->results);
  c->results = NULL;
  c->rates.bandwidths = c->rates.dgemms = NULL;
}

/* ---- Figures for tables, picture and JSON ------------------------------------------------------------- */

double tsi_bench_gbps(const tsi_bench_result *r) {
  return r->ok ? r->bytes / r->solve_s / 1e9 : 0;
}

/* A solve does one multiplication and one addition per entry of the factors and right-hand side. */
double tsi_bench_gflops(const tsi_bench_case *c, const tsi_bench_result *r) {
  return tsi_bench_gbps(r) / (c->matrix->is_complex ? 16 : 8) * (c->matrix->is_complex ? 8 : 2) *
         (double)c->nrhs;
}

double tsi_bench_total(const tsi_bench_result *r, double solves) {
  return r->analyze_s + r->factor_s + r->plan_s + solves * r->solve_s;
}

const char *tsi_bench_ordering(const tsi_bench_case *c, int k) {
  const cJSON *round = cJSON_GetArrayItem(c->results[k].rounds, 0);
  const char *ordering = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(round, "ordering"));
  return ordering != NULL ? ordering : "";
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
