/* `tristar trisolve --transport one_sided --place gpu` under mpiexec: the rows of a triangle are spread over
 * the GPUs of all processes of a node. Rank 0 reads the matrix, has B and X, checks X and reports. If any
 * rank fails, rank 0 reports it once, and all ranks end with the same status.
 *
 * Reads   the matrix, B.   Writes  X, the report, JSON. */
#include "drivers/command/solve.h"

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_trisolve_spread(const tsi_settings *settings) {
  (void)settings;
  return tsi_fail_without_mpi("trisolve", NULL);
}

#else

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/report/rank_figures.h"
#include "drivers/session/commands.h"
#include "drivers/session/rhs.h"
#include "tristar_mpi.h"
#include "tristar_triangle.h"

enum { LOWER, UPPER, BOTH }; /* words of --uplo */

typedef struct spread {
  tsi_session *s;
  int uplo;
  tristar_factor_t *factor; /* rank 0 */
  tristar_spread_triangle_t *triangle;
  double import_s, spread_s;
  tristar_dense b, x; /* rank 0 */
  int64_t nrhs;
  tsi_repeated plain;
  tsi_accuracy accuracy;
  tristar_spread_stats *stats; /* rank 0: one per rank */
} spread;

/* ---- The triangle -------------------------------------------------------------------------------------- */

static bool import(spread *z) {
  tsi_session *s = z->s;
  const double begin = tsi_now();
  tristar_triangle_options options;
  tristar_triangle_options_init(&options);
  options.uplo = z->uplo == UPPER ? TRISTAR_UPPER : TRISTAR_LOWER;
  options.diag = s->settings->diag == 1 ? TRISTAR_UNIT : TRISTAR_NON_UNIT;
  options.partition = TRISTAR_PARTITION_WHOLE; /* matters only to plans, and there is none */
  if (!tsi_session_check(s, tristar_import_triangle(s->ts, &s->view, &options, &z->factor), s->name))
    return false;
  z->import_s = tsi_now() - begin;
  return true;
}

/* On rank 0: reads the matrix and B, and imports the triangle. */
static bool read(spread *z) {
  tsi_session *s = z->s;
  if (!tsi_session_read(s)) return false;
  z->uplo = s->settings->uplo >= 0 ? s->settings->uplo : tsi_triangle_of(&s->view);
  if (z->uplo == BOTH) {
    s->usage = true;
    return tsi_session_fail(s, TRISTAR_ERR_ARGUMENT,
                            "%s: --uplo L or U is needed: one triangle is distributed over the GPUs",
                            s->name);
  }
  z->stats = calloc((size_t)z->s->ranks, sizeof *z->stats);
  if (z->stats == NULL) return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory", s->name);
  if (!tsi_rhs_make(s, &z->b) || !tsi_dense_make(s, z->b.rows, z->b.cols, &z->x) || !import(z)) return false;
  z->nrhs = z->b.cols;
  return true;
}

/* Collective. Spreads the rows of the triangle over the GPUs. */
static bool spread_rows(spread *z) {
  const tsi_settings *settings = z->s->settings;
  const double begin = tsi_now();
  tristar_spread_options options;
  MPI_Bcast(&z->nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  tristar_spread_options_init(&options);
  options.op = tsi_session_op(z->s)->op;
  options.tasks = (int)settings->tasks_per_gpu;
  options.polls_all = settings->polls_all;
  options.nrhs = z->nrhs;
  if (!tsi_session_check(z->s,
                         tristar_spread_triangle(z->s->ts, MPI_COMM_WORLD, z->factor, &options, &z->triangle),
                         z->s->name))
    return false;
  z->spread_s = tsi_now() - begin;
  return true;
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* A tsi_solve_once. */
static bool solve_once(void *context, double *seconds, uint64_t *checksum) {
  spread *z = context;
  tristar_spread_stats stats;
  MPI_Barrier(MPI_COMM_WORLD); /* rank 0 may have been busy with the checksum */
  if (!tsi_session_check(
          z->s, tristar_spread_solve(z->triangle, z->nrhs, z->b.values, z->b.rows, z->x.values, z->x.rows),
          z->s->name))
    return false;
  tristar_spread_get_stats(z->triangle, &stats);
  *seconds = stats.solve_seconds;
  if (checksum == NULL) return true;
  if (z->s->rank == 0) *checksum = tsi_checksum(&z->x);
  return MPI_Bcast(checksum, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

static bool gather_stats(spread *z) {
  tristar_spread_stats own;
  const int bytes = (int)sizeof own;
  tristar_spread_get_stats(z->triangle, &own);
  return MPI_Gather(&own, bytes, MPI_BYTE, z->stats, bytes, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

/* On rank 0: computes and checks the backward error of X. */
static bool judge(spread *z) {
  tsi_session *s = z->s;
  const int64_t n = z->b.rows;
  double error = NAN;
  if (!tsi_session_check(s,
                         tristar_residual(z->factor, tsi_session_op(s)->op, z->nrhs, z->b.values, n,
                                          z->x.values, n, NULL, n, &error),
                         s->name))
    return false;
  z->accuracy.refined.initial_backward_error = z->accuracy.refined.backward_error = error;
  z->accuracy.measured = true;
  return tsi_accuracy_judge(s, &z->accuracy);
}

static bool run(tsi_session *s, void *state) {
  spread *z = state;
  z->s = s;
  if (!tsi_rank_0_says(z->s->rank > 0 || read(z))) return false;
  const bool ok = spread_rows(z) && tsi_repeat_solves(s, solve_once, z, &z->plain) && gather_stats(z);
  if (!ok || z->s->rank > 0) return ok;
  return judge(z) && tsi_solution_write(s, &z->x, "X of the triangle %s of %.300s (TriStar %s)",
                                        z->uplo == UPPER ? "U" : "L", s->name, tristar_version());
}

/* ---- Output -------------------------------------------------------------------------------------------- */

/* Lists the figures of a tristar_spread_stats. */
static int list_figures(const void *of_rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]) {
  const tristar_spread_stats *s = of_rank;
  const tsi_rank_figure list[] = {{"sweep", "sweep_s", s->sweep_seconds, tsi_text_seconds},
                                  {"rows", "rows", (double)s->rows, NULL},
                                  {"entries", "entries", (double)s->entries, NULL},
                                  {"sums for others", "sums", (double)s->sums, NULL},
                                  {"sums of others", "gets", (double)s->gets, NULL},
                                  {"if all rows had them", "most_gets", (double)s->most_gets, NULL},
                                  {"in-degrees read", "polls", (double)s->polls, NULL},
                                  {"bytes read", "read_bytes", (double)s->bytes, tsi_text_bytes}};
  memcpy(figure, list, sizeof list);
  return sizeof list / sizeof list[0];
}

static tsi_rank_records records_of(const spread *z) {
  return (tsi_rank_records){z->s->ranks, z->stats, sizeof *z->stats, list_figures};
}

static void sum_gets(const spread *z, int64_t *gets, int64_t *most) {
  *gets = *most = 0;
  for (int r = 0; r < z->s->ranks; r++) {
    *gets += z->stats[r].gets;
    *most += z->stats[r].most_gets;
  }
}

static void print_report(const tsi_session *s, const spread *z) {
  char times[96];
  int64_t gets, most;
  if (s->settings->to_stdout) return;
  sum_gets(z, &gets, &most);
  tsi_console_clear();
  tsi_report("matrix", "%s", s->name);
  tsi_report("", "%s, %s; read in %s", tsi_text_many(s->view.rows, "row"), s->precision->text,
             tsi_text_seconds(s->read_s));
  tsi_report(z->uplo == UPPER ? "upper" : "lower", "on %s; imported in %s, distributed in %s",
             tsi_text_many(z->s->ranks, "GPU"), tsi_text_seconds(z->import_s), tsi_text_seconds(z->spread_s));
  if (s->settings->tasks_per_gpu > 0)
    tsi_report("", "%s of consecutive rows for each GPU, round robin",
               tsi_text_many(s->settings->tasks_per_gpu, "task"));
  else
    tsi_report("", "a row is on the GPU that has most of the rows that it depends on");
  tsi_report("", "%s of other GPUs, of at most %s", tsi_text_many(gets, "sum"), tsi_text_count(most));
  tsi_report("solve", "%s with the transfer of b and x from and to rank 0%s",
             tsi_text_seconds(z->plain.median_s), tsi_repeated_text(s, &z->plain, times));
  tsi_accuracy_report(s, &z->accuracy);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, z->plain.checksum);
  if (s->settings->out != NULL && s->status == TRISTAR_OK) tsi_report("written", "%s", s->settings->out);
  const tsi_rank_records records = records_of(z);
  tsi_rank_figures_print("A process, latest solve", &records);
}

static cJSON *make_json(const tsi_session *s, const spread *z) {
  cJSON *object = tsi_json_session(s);
  int64_t gets, most;
  if (!z->accuracy.measured) return object;
  sum_gets(z, &gets, &most);
  TSI_JSON_NUMBERS(object, {"n", (double)s->view.rows});
  cJSON_AddStringToObject(object, "precision", s->precision->letter);
  cJSON_AddStringToObject(object, "uplo", z->uplo == UPPER ? "U" : "L");
  cJSON_AddStringToObject(object, "diag", tsi_options_word("diag", s->settings->diag));
  cJSON_AddStringToObject(object, "op", tsi_session_op(s)->letter);
  TSI_JSON_NUMBERS(object, {"read_s", s->read_s}, {"import_s", z->import_s}, {"spread_s", z->spread_s},
                   {"nrhs", (double)z->nrhs}, {"repeat", (double)s->settings->repeat},
                   {"tasks_per_gpu", (double)s->settings->tasks_per_gpu}, {"gets", (double)gets},
                   {"most_gets", (double)most}, {"solve_s", z->plain.median_s},
                   {"solve_min_s", z->plain.fastest_s});
  tsi_accuracy_json(s, &z->accuracy, object);
  tsi_json_add_checksum(object, z->plain.checksum);
  const tsi_rank_records records = records_of(z);
  tsi_rank_figures_json(object, &records);
  return object;
}

/* ---- The command --------------------------------------------------------------------------------------- */

static int check_words(tsi_settings *settings, int ranks, void *state) {
  (void)state;
  if (settings->transport != TRISTAR_TRANSPORT_ONE_SIDED || settings->place != TRISTAR_PLACE_GPU)
    return tsi_usage_error("trisolve",
                           "%d processes need --transport one_sided --place gpu, to share the rows", ranks);
  if (settings->uplo == BOTH)
    return tsi_usage_error("trisolve", "--uplo LU cannot be combined with --transport");
  if (settings->report || settings->on_demand || settings->explain)
    return tsi_usage_error("trisolve",
                           "--report, --on-demand and --explain cannot be combined with --transport");
  return TSI_EXIT_OK;
}

static void print_results(tsi_session *s, void *state) {
  const spread *z = state;
  if (z->accuracy.measured) print_report(s, z);
  tsi_json_write(s, make_json(s, z));
}

static void release(tsi_session *s, void *state) {
  (void)s;
  spread *z = state;
  tristar_spread_destroy(&z->triangle);
  tristar_factor_destroy(&z->factor);
  free(z->b.values);
  free(z->x.values);
  free(z->stats);
}

int tsi_trisolve_spread(const tsi_settings *settings) {
  static const tsi_ranks_command command = {check_words, run, print_results, release};
  spread z = {.accuracy.rcond = NAN};
  return tsi_run_on_ranks(&command, settings, settings->operand[0], &z);
}

#endif
