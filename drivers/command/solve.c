/* `tristar solve`: op(A) X = B from a file to a judged X.
 *
 * Plain solves are timed and must repeat bit for bit; where B has rows of zeros, or only some rows of X are
 * wanted, they go along the paths of the DAG. A refined solve of the whole follows, whose backward error is
 * judged:
 *   - 1 / condition below the roundoff: the matrix is singular to working precision
 *   - the same with --singular perturb, and a residual as large as b: the system has no solution
 *   - backward error above --tolerance (default: by the precision): not accurate
 * All end with exit status 1, and x is not written.
 *
 * A matrix that is triangular is solved as `tristar trisolve` does it, unless an option is given that this
 * one does not have: such options want factors, or what only a solve with factors measures. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/command/distributed.h"
#include "drivers/session/files.h"
#include "drivers/report/in_flight.h"
#include "drivers/session/launcher.h"
#include "drivers/report/accuracy.h"
#include "drivers/report/paths.h"
#include "drivers/plot/plot.h"
#include "drivers/report/repeat.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"
#include "drivers/command/trisolve.h"

typedef struct result {
  tristar_dense b, x;
  tsi_paths paths;
  double median_s, fastest_s; /* of one plain solve; 0: none was made; in flight: the mean, and no fastest */
  double latency_s;           /* of one of the solves in flight; 0: they were made one by one */
  uint64_t checksum;          /* of the plain x */
  tristar_solve_stats stats;  /* of the latest plain solve */
  tsi_accuracy accuracy;
  tsi_bandwidth bandwidth;
  tristar_profile_result profile; /* solves 0: none was made */
  double start_s;                 /* of the start of StarPU, where that is timed apart; negative: it is not */
} result;

/* One plain solve, its time, and the checksum of its x; NULL: without that. */
static bool solve_once(tsi_session *s, result *r, double *seconds, uint64_t *checksum) {
  const int64_t n = r->b.rows;
  const tristar_op op = tsi_session_op(s)->op;
  const double begin = tsi_now();
  const bool ok =
      r->paths.used ? tsi_paths_solve(s, op, &r->paths)
                    : tsi_session_check(
                          s, tristar_solve(s->plan, op, r->b.cols, r->b.values, n, r->x.values, n), s->name);
  *seconds = tsi_now() - begin;
  if (checksum != NULL) *checksum = tsi_checksum(r->paths.used ? &r->paths.x : &r->x);
  return ok;
}

typedef struct flight {
  const tsi_session *s;
  tristar_solve_options options;
  const tristar_dense *b;
} flight;

static tristar_status start(const void *context, void *x, void **request) {
  const flight *f = context;
  tristar_request_t *started = NULL;
  const tristar_status status =
      tristar_solve_start(f->s->plan, &f->options, f->b->cols, f->b->values, x, &started);
  *request = started;
  return status;
}

static tristar_status wait_for(void **request) {
  tristar_request_t *started = *request;
  *request = NULL;
  return tristar_wait(&started, NULL);
}

/* --repeat timed solves, --in-flight of them at a time; the bits are those of one alone. */
static bool solve_in_flight(tsi_session *s, result *r) {
  const tristar_op op = tsi_session_op(s)->op;
  const bool paths = r->paths.used;
  const flight f = {s, tsi_paths_options(op, &r->paths), paths ? &r->paths.b : &r->b};
  const tsi_in_flight_calls calls = {&f, start, wait_for};
  tsi_in_flight times = {0, 0};
  double seconds;
  const bool ok = solve_once(s, r, &seconds, &r->checksum) &&
                  tsi_in_flight_solve(s, &calls, paths ? &r->paths.x : &r->x, r->checksum, &times);
  r->median_s = times.solve_s;
  r->latency_s = times.latency_s;
  return ok;
}

typedef struct run {
  tsi_session *s;
  result *r;
} run;

static bool solve_again(void *context, double *seconds, uint64_t *checksum) {
  const run *of = context;
  return solve_once(of->s, of->r, seconds, checksum);
}

static bool solve_one_by_one(tsi_session *s, result *r) {
  run of = {s, r};
  tsi_repeated repeated = {0};
  const bool ok = tsi_repeat_solves(s, solve_again, &of, &repeated);
  r->median_s = repeated.median_s;
  r->fastest_s = repeated.fastest_s;
  r->checksum = repeated.checksum;
  return ok;
}

#define PROFILED_MOST 20
#define PROFILED_SECONDS 0.5

/* With --report: more solves, as many as half a second holds, that StarPU profiles. */
static bool profile(tsi_session *s, result *r) {
  const int64_t n = r->b.rows;
  const double fitting = PROFILED_SECONDS / r->median_s;
  const int repeat = fitting < 1 ? 1 : fitting < PROFILED_MOST ? (int)fitting : PROFILED_MOST;
  if (!s->settings->report || s->p.tasks == 0 || r->paths.used) return true;
  return tsi_session_check(s,
                           tristar_profile(s->plan, tsi_session_op(s)->op, r->b.cols, r->b.values, n,
                                           r->x.values, n, repeat, &r->profile),
                           s->name);
}

static bool solve_plain(tsi_session *s, result *r) {
  const bool ok = s->settings->in_flight > 1 ? solve_in_flight(s, r) : solve_one_by_one(s, r);
  tristar_plan_get_solve_stats(s->plan, &r->stats);
  return ok;
}

/* With --gantt. */
static bool draw_gantt(tsi_session *s, const result *r) {
  tsi_traced traced;
  if (s->settings->gantt == NULL) return true;
  const bool ok =
      tsi_trace_solves(s, &r->b, &r->x, &traced) && tsi_gantt_draw(s, s->settings->gantt, &traced);
  tsi_plot_trace_free(&traced);
  return ok;
}

static bool solve_refined(tsi_session *s, result *r) {
  const tristar_refine_options options = tsi_accuracy_options(s);
  const int64_t n = r->b.rows;
  r->accuracy.measured =
      tsi_session_check(s,
                        tristar_solve_refined(s->plan, tsi_session_op(s)->op, r->b.cols, r->b.values, n,
                                              r->x.values, n, &options, &r->accuracy.refined),
                        s->name);
  return r->accuracy.measured;
}

static bool estimate_condition(tsi_session *s, result *r) {
  tsi_accuracy_take_condition(s, &r->accuracy);
  if (!tsi_accuracy_wants_condition(s)) return true;
  return tsi_session_check(s, tristar_condition(s->plan, &r->accuracy.rcond), s->name);
}

static bool write_x(tsi_session *s, const result *r) {
  const char *path = s->settings->out;
  char comment[512];
  if (path == NULL) return true;
  snprintf(comment, sizeof comment, "X of %s, A = %.300s (tristar solve, TriStar %s, %s precision)",
           tsi_session_op(s)->system, s->name, tristar_version(), s->precision->text);
  return tsi_session_check(s, tristar_dense_write(s->ts, path, r->paths.used ? &r->paths.x : &r->x, comment),
                           tsi_output_name(path));
}

/* Bytes per second of one median solve, as exact entries of the factors. */
static double solve_gbps(const tsi_session *s, const result *r) {
  const double share = r->paths.used ? r->paths.share : 1;
  return r->median_s > 0 ? share * s->p.exact_bytes / r->median_s / 1e9 : 0;
}

/* Each entry of the factors is multiplied and added once for each right-hand side. */
static double solve_gflops(const tsi_session *s, const result *r) {
  return solve_gbps(s, r) / (double)s->precision->bytes * tsi_precision_flops(s->precision) *
         (double)r->b.cols;
}

/* ---- --on-demand: for benchmarks, that ask many contenders in turn ------------------------------------- */

/* Starts StarPU, so that its start is in no other figure, and times it. The read bandwidth is the benchmark's
 * own business. */
static bool start_apart(tsi_session *s, result *r) {
  tristar_starpu_info info;
  const double begin = tsi_now();
  if (!s->settings->on_demand || s->settings->engine == TRISTAR_ENGINE_SERIAL) return true;
  const bool ok = tsi_session_check(s, tristar_get_starpu(s->ts, &info), s->name);
  r->start_s = tsi_now() - begin;
  return ok;
}

static void report_accuracy(const tsi_session *s, const result *r) {
  tsi_report_paths(&r->paths);
  tsi_accuracy_report(s, &r->accuracy);
}

static void report_solve(const tsi_session *s, const result *r) {
  const int64_t repeat = s->settings->repeat, nrhs = r->b.cols;
  char times[128] = "", rate[64] = "";
  if (s->settings->in_flight > 1)
    snprintf(times, sizeof times, " a solve, %.4g a second (%s, %" PRId64 " in flight, each for %s)",
             1 / r->median_s, tsi_text_many(repeat, "solve"), s->settings->in_flight,
             tsi_text_seconds(r->latency_s));
  else if (repeat > 1)
    snprintf(times, sizeof times, " (median of %" PRId64 ", fastest %s)", repeat,
             tsi_text_seconds(r->fastest_s));
  if (nrhs > 1)
    snprintf(rate, sizeof rate, ", %.1f GF/s with %s", solve_gflops(s, r),
             tsi_text_many(nrhs, "right-hand side"));
  tsi_report("solve", "%s%s%s, %.1f GB/s of factor%s", tsi_text_seconds(r->median_s), tsi_session_op(s)->text,
             times, solve_gbps(s, r), rate);
  if (r->bandwidth.one > 0) {
    const double limit = tsi_bandwidth_of(&r->bandwidth, s->p.workers);
    const int cores = s->p.workers > 1 ? r->bandwidth.cores : 1;
    tsi_report("", "%.0f %% of the read bandwidth of %s, %.1f GB/s%s", 100 * solve_gbps(s, r) / limit,
               tsi_text_many(cores, "core"), limit,
               solve_gbps(s, r) > limit ? " (the factor stays in the caches)" : "");
  }
  if (s->settings->report) tsi_report_stats(&r->stats);
  if (r->profile.solves > 0)
    tsi_report("StarPU", "%.1f %% of the workers' time is not spent in kernels (profiled over %s)",
               100 * r->profile.outside_share, tsi_text_many(r->profile.solves, "solve"));
  report_accuracy(s, r);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, r->checksum);
  if (s->settings->out != NULL && s->status == TRISTAR_OK) tsi_report("written", "%s", s->settings->out);
}

static void print_report(const tsi_session *s, const result *r) {
  if (s->settings->to_stdout) return;
  if (!r->accuracy.measured) return; /* the message tells all */
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report_factor(s);
  tsi_report_plan(s);
  tsi_report_memory(s, &r->bandwidth);
  report_solve(s, r);
}

static cJSON *make_json(const tsi_session *s, const result *r) {
  char checksum[32];
  cJSON *object = tsi_json_session(s);
  if (!r->accuracy.measured) return object;
  snprintf(checksum, sizeof checksum, "%016" PRIx64, r->checksum);
  cJSON_AddStringToObject(object, "op", tsi_session_op(s)->letter);
  TSI_JSON_NUMBERS(object, {"nrhs", (double)r->b.cols}, {"repeat", (double)s->settings->repeat},
                   {"solve_s", r->median_s}, {"solves_per_s", 1 / r->median_s},
                   {"in_flight", (double)s->settings->in_flight});
  if (s->settings->in_flight > 1)
    cJSON_AddNumberToObject(object, "latency_s", r->latency_s);
  else
    cJSON_AddNumberToObject(object, "solve_min_s", r->fastest_s);
  cJSON_AddNumberToObject(object, "solve_gbps", solve_gbps(s, r));
  tsi_json_add_paths(object, &r->paths);
  tsi_json_add_bandwidth(object, &r->bandwidth);
  if (r->start_s >= 0) cJSON_AddNumberToObject(object, "starpu_start_s", r->start_s);
  tsi_json_add_profile(object, &r->profile);
  tsi_json_add_stats(object, &r->stats);
  tsi_accuracy_json(s, &r->accuracy, object);
  cJSON_AddStringToObject(object, "checksum", checksum);
  return object;
}

int tsi_solve_check_words(const tsi_settings *settings) {
  if (settings->rhs != NULL && settings->nrhs > 0)
    return tsi_usage_error("solve", "--nrhs and --rhs exclude each other: their number is that of the file");
  if (settings->repeat < settings->in_flight)
    return tsi_usage_error("solve", "--in-flight %" PRId64 " needs --repeat N with an N that is not smaller",
                           settings->in_flight);
  return tsi_timeline_check("solve", "gantt", settings->gantt);
}

int tsi_command_solve(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tsi_found_triangle found;
  result r = {.accuracy.rcond = NAN, .start_s = -1};
  if (settings->operand[0] == NULL) return tsi_usage_error("solve", "no MATRIX given");
  if (settings->on_demand &&
      (settings->json == NULL || strcmp(settings->json, "-") != 0 || settings->layout != NULL))
    return tsi_usage_error("solve", "--on-demand needs --json -, and goes without --layout");
  if (settings->layout != NULL || tsi_launched().processes > 1) return tsi_solve_distributed(settings);
  if (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0 || settings->transport > 0 ||
      settings->svg != NULL)
    return tsi_usage_error("solve", "--algo, --map, --message-tree, --transport and --svg need --layout");
  if (settings->solves > 0) return tsi_usage_error("solve", "--solves needs --layout auto");
  if (settings->process_bytes > 0) return tsi_usage_error("solve", "--process-bytes needs --layout auto");
  const int words = tsi_solve_check_words(settings);
  if (words != TSI_EXIT_OK) return words;
  const bool read = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s);
  if (read && tsi_goes_without_factors(s, &found)) return tsi_trisolve(s, read, &found);
  bool solved = read && tsi_rhs_make(s, &r.b) && tsi_dense_make(s, r.b.rows, r.b.cols, &r.x) &&
                tsi_paths_make(s, &r.b, &r.paths) && tsi_session_analyze(s) &&
                (!settings->report || settings->on_demand || tsi_bandwidth_measure(s, &r.bandwidth)) &&
                start_apart(s, &r) && tsi_session_factor(s) && tsi_session_plan(s, r.b.cols) &&
                solve_plain(s, &r) && profile(s, &r) && draw_gantt(s, &r) && solve_refined(s, &r) &&
                estimate_condition(s, &r) && tsi_accuracy_judge(s, &r.accuracy);
  if (solved && r.paths.used) tsi_paths_select(&r.x, &r.paths);
  if (solved) write_x(s, &r);
  print_report(s, &r);
  tsi_json_write(s, make_json(s, &r));
  while (solved && settings->on_demand && tsi_asked_again()) {
    solved = solve_plain(s, &r) && profile(s, &r);
    tsi_json_write(s, make_json(s, &r));
  }
  free(r.b.values);
  free(r.x.values);
  tsi_paths_free(&r.paths);
  return tsi_session_close(s);
}
