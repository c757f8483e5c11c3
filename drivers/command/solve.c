/* `tristar solve`: solves op(A) X = B from a file, and checks X.
 *
 * Plain solves are timed and must return the same bits. If B has rows of zeros, or --rows is given, they
 * follow the paths of the DAG. Then a refined solve of the whole system follows. Its backward error is
 * checked:
 *   - 1 / condition below the roundoff: the matrix is singular to working precision
 *   - the same with --singular perturb, and a residual as large as b: the system has no solution
 *   - backward error above --tolerance (default: by the precision): not accurate
 * In all three cases the exit status is 1, and x is not written.
 *
 * In place of a matrix it accepts a file of --save. This has the plan, so there is no analysis or
 * factorization.
 *
 * A triangular matrix is solved as by `tristar trisolve`. Exception: an option is given that trisolve does
 * not have, because it needs factors or figures of a solve with factors. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/launcher.h"
#include "drivers/session/saved.h"
#include "drivers/report/pivots.h"
#include "drivers/report/report.h"
#include "drivers/command/solve.h"

typedef struct result {
  tsi_solved_system in;
  tsi_pivots pivots; /* with --inertia, --determinant, --null-space */
  tristar_explanation way;
  tristar_solve_stats stats; /* statistics of the latest plain solve */
  tsi_bandwidth bandwidth;
  tristar_profile_result profile; /* solves 0: none was made */
  double start_s;                 /* seconds for the start of StarPU; negative: not timed separately */
} result;

static bool solve_again(void *context, double *seconds, uint64_t *checksum) {
  tsi_solved_system *z = context;
  const double begin = tsi_now();
  const bool ok = tsi_solved_system_solve(z);
  *seconds = tsi_now() - begin;
  if (checksum != NULL) *checksum = tsi_solved_system_checksum(z);
  return ok;
}

#define PROFILED_MOST 20
#define PROFILED_SECONDS 0.5

/* With --report: runs more solves, for about half a second, which StarPU profiles. */
static bool profile(tsi_session *s, result *r) {
  const tsi_solved_system *z = &r->in;
  const int64_t n = z->b.rows;
  const double fitting = PROFILED_SECONDS / z->plain.median_s;
  const int repeat = fitting < 1 ? 1 : fitting < PROFILED_MOST ? (int)fitting : PROFILED_MOST;
  if (!s->settings->report || s->p.tasks == 0 || z->paths.used) return true;
  return tsi_session_check(s,
                           tristar_profile(s->plan, tsi_session_op(s)->op, z->nrhs, z->b.values, n,
                                           z->x.values, n, repeat, &r->profile),
                           s->name);
}

static bool solve_plain(tsi_session *s, result *r) {
  const bool ok = s->settings->in_flight > 1 ? tsi_solved_system_solve_in_flight(&r->in)
                                             : tsi_repeat_solves(s, solve_again, &r->in, &r->in.plain);
  tristar_plan_get_solve_stats(s->plan, &r->stats);
  return ok;
}

static bool explain(tsi_session *s, result *r) {
  const tristar_solve_options options = tsi_paths_options(tsi_session_op(s)->op, &r->in.paths);
  return tsi_session_check(s, tristar_plan_explain(s->plan, &options, r->in.nrhs, &r->way), s->name);
}

/* Draws the file of --gantt, if given. */
static bool draw_gantt(tsi_session *s, result *r) {
  if (s->settings->gantt == NULL) return true;
  return tsi_traced_allocate(s, &r->in.traced) && tsi_solved_system_trace(&r->in) &&
         tsi_traced_choose(s, &r->in.traced) && tsi_gantt_draw(s, s->settings->gantt, &r->in.traced);
}

/* Returns the GB/s of the median solve; counts only exact entries of the factors. */
static double solve_gbps(const tsi_session *s, const result *r) {
  const double share = r->in.paths.used ? r->in.paths.share : 1, seconds = r->in.plain.median_s;
  return seconds > 0 ? share * s->p.exact_bytes / seconds / 1e9 : 0;
}

/* A solve does one multiplication and one addition per entry of the factors and right-hand side. */
static double solve_gflops(const tsi_session *s, const result *r) {
  return solve_gbps(s, r) / tsi_session_entry_bytes(s) * tsi_precision_flops(s->precision) *
         (double)r->in.nrhs;
}

/* ---- --on-demand: for benchmarks that run many contenders in turn -------------------------------------- */

/* Starts StarPU and times the start, so that no other figure contains it. Does not measure the read
 * bandwidth: the benchmark does. */
static bool start_apart(tsi_session *s, result *r) {
  tristar_starpu_info info;
  const double begin = tsi_now();
  if (!s->settings->on_demand || s->settings->engine == TRISTAR_ENGINE_SERIAL) return true;
  const bool ok = tsi_session_check(s, tristar_get_starpu(s->ts, &info), s->name);
  r->start_s = tsi_now() - begin;
  return ok;
}

static void report_solve(const tsi_session *s, const result *r) {
  const tsi_solved_system *z = &r->in;
  char times[128] = "", rate[64] = "";
  if (s->settings->in_flight > 1)
    snprintf(times, sizeof times, " a solve, %.4g a second (%s, %" PRId64 " in flight, each for %s)",
             1 / z->plain.median_s, tsi_text_many(s->settings->repeat, "solve"), s->settings->in_flight,
             tsi_text_seconds(z->latency_s));
  else
    tsi_repeated_text(s, &z->plain, times);
  if (z->nrhs > 1)
    snprintf(rate, sizeof rate, ", %.1f GF/s with %s", solve_gflops(s, r),
             tsi_text_many(z->nrhs, "right-hand side"));
  tsi_report("solve", "%s%s%s, %.1f GB/s of factor%s", tsi_text_seconds(z->plain.median_s),
             tsi_session_op(s)->text, times, solve_gbps(s, r), rate);
  tsi_report_share(&r->bandwidth, s->p.workers, solve_gbps(s, r), "factor");
  if (s->settings->report) tsi_report_stats(&r->stats);
  if (r->profile.solves > 0)
    tsi_report("StarPU", "%.1f %% of the workers' time is not spent in kernels (profiled over %s)",
               100 * r->profile.outside_share, tsi_text_many(r->profile.solves, "solve"));
  tsi_report_paths(&z->paths);
  tsi_accuracy_report(s, &z->accuracy);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, z->plain.checksum);
  if (s->settings->out != NULL && s->status == TRISTAR_OK) tsi_report("written", "%s", s->settings->out);
}

static void report_fused(const tsi_session *s) {
  tristar_plan_stats stats;
  if (s->settings->fuse <= 1) return;
  tristar_plan_get_stats(s->plan, &stats);
  tsi_report("", "%s shared %" PRId64 " passes over the factor", tsi_text_many(stats.fused, "solve"),
             stats.fused_passes);
}

static void print_report(const tsi_session *s, const result *r) {
  if (s->settings->to_stdout) return;
  if (!r->in.accuracy.measured) return; /* the message has the cause */
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report_forecast(s);
  tsi_report_factor(s);
  tsi_pivots_report(s, &r->pivots);
  tsi_report_plan(s);
  tsi_report_way(s, &r->way);
  tsi_report_memory(s, &r->bandwidth);
  report_solve(s, r);
  report_fused(s);
}

static cJSON *make_json(const tsi_session *s, const result *r) {
  const tsi_repeated *plain = &r->in.plain;
  cJSON *object = tsi_json_session(s);
  tsi_pivots_json(s, &r->pivots, object);
  if (!r->in.accuracy.measured) return object;
  tsi_solved_system_json(&r->in, object);
  TSI_JSON_NUMBERS(object, {"solves_per_s", 1 / plain->median_s}, {"solve_gbps", solve_gbps(s, r)});
  if (s->settings->fuse > 1) {
    tristar_plan_stats stats;
    tristar_plan_get_stats(s->plan, &stats);
    TSI_JSON_NUMBERS(object, {"fuse_columns", (double)s->settings->fuse}, {"fused", (double)stats.fused},
                     {"fused_passes", (double)stats.fused_passes});
  }
  if (s->settings->in_flight == 1) cJSON_AddNumberToObject(object, "solve_min_s", plain->fastest_s);
  tsi_json_add_way(object, &r->way);
  tsi_json_add_bandwidth(object, &r->bandwidth);
  if (r->start_s >= 0) cJSON_AddNumberToObject(object, "starpu_start_s", r->start_s);
  tsi_json_add_profile(object, &r->profile);
  tsi_json_add_stats(object, &r->stats);
  return object;
}

static int solve(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tsi_found_triangle found;
  result r = {.in = {.s = s, .accuracy.rcond = NAN}, .start_s = -1};
  if (settings->operand[0] == NULL) return tsi_usage_error("solve", "no MATRIX given");
  if (settings->on_demand &&
      (settings->json == NULL || strcmp(settings->json, "-") != 0 || settings->layout != NULL))
    return tsi_usage_error("solve", "--on-demand needs --json -, and goes without --layout");
  const bool many = settings->layout != NULL || tsi_launched().processes > 1;
  if (many && settings->fuse > 1)
    return tsi_usage_error("solve", "--fuse is for one process, without --layout");
  if (many && (settings->store >= 0 || settings->compress >= 0))
    return tsi_usage_error("solve", "--store and --compress are for one process, without --layout");
  if (settings->compress >= 0 && !(settings->compress > 0 && settings->compress < 1))
    return tsi_usage_error("solve", "--compress %g: not between 0 and 1", settings->compress);
  if (many && (settings->inertia || settings->determinant || settings->null_space))
    return tsi_usage_error("solve", "--inertia, --determinant and --null-space are for one process, without "
                                    "--layout");
  if (many)
    return settings->explain ? tsi_usage_error("solve", "--explain is for one process, without --layout")
                             : tsi_solve_distributed(settings);
  if (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0 || settings->transport > 0 ||
      settings->atomic_sums || settings->svg != NULL)
    return tsi_usage_error("solve",
                           "--algo, --map, --message-tree, --transport, --sums and --svg need --layout");
  if (settings->process_bytes > 0) return tsi_usage_error("solve", "--process-bytes needs --layout auto");
  const int words = tsi_solve_check_words(settings);
  if (words != TSI_EXIT_OK) return words;
  const bool opened = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_check_load(s);
  const bool saved = opened && tsi_session_is_saved(s);
  const bool alone =
      opened && (!tsi_session_is_saved_set(s) ||
                 tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                                  "%s: files of a factor on many processes, such as %s.0: solve with as many "
                                  "processes, and --layout",
                                  s->name, s->name));
  const bool read = alone && (saved ? tsi_session_load(s) : tsi_session_read(s));
  if (read && !saved && tsi_goes_without_factors(s, &found)) return tsi_trisolve(s, read, &found);
  bool solved = read && tsi_solved_system_make(&r.in) && (saved || tsi_session_analyze(s)) &&
                (saved || s->settings->memory_limit == 0 || tsi_session_forecast(s, r.in.nrhs, false)) &&
                (!settings->report || settings->on_demand ||
                 tsi_bandwidth_measure(s, tsi_expected_workers(s->settings), &r.bandwidth)) &&
                start_apart(s, &r) && (saved || tsi_session_factor(s)) && tsi_pivots_find(s, &r.pivots) &&
                (saved || tsi_session_plan(s, r.in.nrhs)) && tsi_session_save(s) &&
                tsi_null_space_find(s, &r.in.b, &r.in.x, &r.pivots) &&
                tsi_inverse_diagonal_find(s, &r.pivots) && solve_plain(s, &r) && explain(s, &r) &&
                profile(s, &r) && draw_gantt(s, &r) && tsi_session_goes_on(s) &&
                tsi_solved_system_refine(&r.in, tsi_accuracy_needs_condition(s)) && tsi_session_goes_on(s) &&
                tsi_accuracy_judge(s, &r.in.accuracy);
  if (solved) tsi_solved_system_write(&r.in);
  print_report(s, &r);
  tsi_json_write(s, make_json(s, &r));
  while (solved && settings->on_demand && tsi_is_repeated()) {
    solved = solve_plain(s, &r) && profile(s, &r);
    tsi_json_write(s, make_json(s, &r));
  }
  tsi_solved_system_free(&r.in);
  return tsi_session_close(s);
}

int tsi_command_solve(const tsi_settings *given) {
  tsi_settings settings = *given;
  if (settings.load != NULL) {
    if (settings.operand[0] != NULL) return tsi_usage_error("solve", "--load takes the place of MATRIX");
    if (tsi_file_is_standard(settings.load))
      return tsi_usage_error("solve", "--load needs a file, not standard input");
    settings.operand[0] = settings.load;
  }
  return solve(&settings);
}
