/* `tristar solve MATRIX --layout PXxPYxPZ` under mpiexec: a factor spread over processes.
 *
 * All ranks read rows of the matrix and factor it together; no rank has all rows. If a file cannot be read in
 * parts, rank 0 reads and analyzes the matrix. Rank 0 has b and x, checks x and reports. If any rank fails,
 * rank 0 reports it once, and all ranks end with the same status. */
#include "drivers/command/solve.h"

#include <stdlib.h>

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_solve_distributed(const tsi_settings *settings) {
  return tsi_fail_without_mpi("solve", settings->layout ? "--layout" : NULL);
}

#else

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/session/commands.h"
#include "drivers/session/layout.h"
#include "drivers/session/saved.h"
#include "drivers/report/pivots.h"
#include "drivers/report/rank_figures.h"
#include "drivers/report/report.h"
#include "runtime/base/median.h"
#include "tristar_dmatrix_mpi.h"

typedef struct solution {
  tsi_settings *settings; /* settings of the session */
  tristar_layout layout;
  bool chosen;                         /* rank 0: the library chose the layout */
  tristar_layout_prediction predicted; /* prediction for this choice */
  bool by_rows;                        /* each rank has rows of the matrix; else rank 0 has all rows */
  tsi_solved_system in;
  tsi_pivots pivots;                /* with --inverse-diagonal */
  int64_t solves;                   /* number of plain solves so far */
  double *sweep;                    /* seconds of the sweeps of each of the --repeat plain solves */
  double sweep_s;                   /* median of sweep */
  tristar_distributed_stats *stats; /* rank 0: one per rank */
} solution;

/* ---- Solving ------------------------------------------------------------------------------------------- */

static bool analyze_on_rank_0(tsi_session *s, solution *z) {
  s->leaf_parts = z->layout.pz;
  if (z->chosen)
    for (s->leaf_parts = 1; s->ranks % (2 * s->leaf_parts) == 0;) s->leaf_parts *= 2;
  return tsi_session_read(s) && (z->in.b.values != NULL || tsi_solved_system_make(&z->in)) &&
         tsi_session_analyze(s);
}

static tristar_distributed_options options_of(const tsi_session *s, const solution *z) {
  tristar_distributed_options options;
  tristar_distributed_options_init(&options);
  options.layout = z->layout;
  options.transport = (tristar_transport)s->settings->transport;
  options.atomic_sums = s->settings->atomic_sums;
  options.engine = (tristar_engine)s->settings->engine;
  options.nrhs = z->in.nrhs;
  options.place = (tristar_place)s->settings->place;
  options.device_bytes = s->settings->device_bytes;
  options.solves = s->settings->solves;
  options.process_bytes = (double)s->settings->process_bytes;
  if (s->settings->algo == 2) options.grids = 1;
  return options;
}

/* Records the new factor and its time without the start of StarPU. Rank 0 gets the statistics of the whole
 * factor. */
static bool note_factor(tsi_session *s, solution *z) {
  tristar_distributed_stats own;
  if (!tsi_session_check(s, tristar_distributed_get_stats(z->in.distributed, &own), s->name)) return false;
  s->factor_s -= own.start_seconds;
  z->layout = own.layout;
  z->predicted = own.predicted;
  if (s->rank > 0) return true;
  s->factored = true;
  return tsi_session_check(s, tristar_distributed_get_factor_stats(z->in.distributed, &s->f, &s->a), s->name);
}

/* Collective. Factors the rows of all ranks. */
static bool factor_rows(tsi_session *s, solution *z, tristar_dmatrix_t **matrix) {
  const int64_t n = s->view.rows;
  MPI_Bcast(&z->in.nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const tristar_distributed_options options = options_of(s, z);
  const tristar_analysis_options analysis = tsi_session_analysis_options(s);
  const double begin = tsi_now();
  const tristar_status status = tristar_dmatrix_factor(*matrix, &analysis, &options, &z->in.distributed);
  tristar_dmatrix_destroy(matrix);
  z->by_rows = true;
  if (!tsi_session_check_factor(s, status) ||
      !tsi_session_check(
          s, tristar_distributed_set_rows(z->in.distributed, s->rank == 0 ? 0 : n, s->rank == 0 ? n : 0),
          s->name))
    return false;
  s->factor_s = tsi_now() - begin;
  if (!note_factor(s, z)) return false;
  if (s->rank == 0) s->analyze_s = s->a.analyze_seconds;
  s->factor_s -= s->analyze_s;
  return true;
}

/* Do the given options agree with the layout of a saved factor? */
static bool fits(const tsi_settings *settings, const tristar_layout *given, const tristar_layout *saved) {
  const bool grids =
      given->px == 0 || (given->px == saved->px && given->py == saved->py && given->pz == saved->pz);
  const bool algorithm = settings->algo < 0 || settings->algo == 2 ? settings->algo < 0 || saved->pz == 1
                                                                   : given->algorithm == saved->algorithm;
  return grids && algorithm && (settings->map < 0 || given->map == saved->map) &&
         (settings->message_tree < 0 || given->message_tree == saved->message_tree);
}

/* Collective. Loads a saved factor. */
static bool load(tsi_session *s, solution *z) {
  tristar_distributed_options options = options_of(s, z);
  tristar_distributed_stats own;
  const tristar_layout given = z->layout;
  const double begin = tsi_now();
  options.layout.px = 0;
  if (!tsi_session_check_saved(s) ||
      !tsi_session_check(
          s, tristar_distributed_load(s->ts, MPI_COMM_WORLD, s->path, &options, &z->in.distributed),
          s->name) ||
      !tsi_session_check(s, tristar_distributed_get_stats(z->in.distributed, &own), s->name) ||
      !tsi_session_check(
          s,
          tristar_distributed_set_rows(z->in.distributed, s->rank == 0 ? 0 : own.n, s->rank == 0 ? own.n : 0),
          s->name) ||
      !note_factor(s, z))
    return false;
  if (!fits(s->settings, &given, &own.layout))
    return tsi_session_fail(s, TRISTAR_ERR_ARGUMENT, "%s: saved in layout %dx%dx%d, %s, %s map, %s trees",
                            s->name, own.layout.px, own.layout.py, own.layout.pz,
                            own.layout.algorithm == TRISTAR_ALGORITHM_LEVELWISE ? "levelwise" : "replicated",
                            tsi_map_name(own.layout.map), tsi_tree_name(own.layout.message_tree));
  z->settings->algo = own.layout.algorithm == TRISTAR_ALGORITHM_LEVELWISE;
  s->precision = tsi_precision_of(own.scalar);
  s->view = (tristar_view){.symmetry = own.symmetry, .scalar = own.scalar, .rows = own.n, .cols = own.n};
  s->single_factors = s->f.factor_bytes < (size_t)s->f.stored_factor * s->precision->bytes;
  s->analyze_s = s->a.analyze_seconds;
  s->factor_s = s->f.factor_seconds;
  s->read_s = tsi_now() - begin - own.start_seconds;
  s->saved = z->by_rows = true;
  z->chosen = false;
  const bool made = tsi_rank_0_says(s->rank > 0 || tsi_solved_system_make(&z->in));
  MPI_Bcast(&z->in.nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return made;
}

/* Collective. Factors the matrix of rank 0. */
static bool factor(tsi_session *s, solution *z) {
  MPI_Bcast(&z->in.nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const tristar_distributed_options options = options_of(s, z);
  const double begin = tsi_now();
  if (!tsi_session_check_factor(s, tristar_distributed_factor(s->ts, MPI_COMM_WORLD, s->analysis,
                                                              s->view.values, &options, &z->in.distributed)))
    return false;
  s->factor_s = tsi_now() - begin;
  return note_factor(s, z);
}

static bool check_file(tsi_session *s) {
  return tsi_session_is_saved(s)
             ? tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                                "%s: a plan of one process: solve without mpiexec and --layout", s->name)
             : tsi_session_check_load(s);
}

/* Loads a saved factor, or reads, analyzes and factors the matrix, if possible by rows on all ranks. */
static bool make_factor(tsi_session *s, solution *z) {
  tristar_dmatrix_t *matrix = NULL;
  if (!tsi_rank_0_says(s->rank > 0 || check_file(s))) return false;
  if (tsi_rank_0_says(s->rank > 0 || tsi_session_is_saved_set(s))) return load(s, z);
  if (!s->settings->laplacian) matrix = tsi_read_rows(s);
  if (matrix != NULL && !tsi_rank_0_says(s->rank > 0 || tsi_solved_system_make(&z->in))) {
    tristar_dmatrix_destroy(&matrix);
    return false;
  }
  if (matrix != NULL && !factor_rows(s, z, &matrix)) return false;
  return z->by_rows || (tsi_rank_0_says(s->rank > 0 || analyze_on_rank_0(s, z)) && factor(s, z));
}

/* A tsi_solve_once. The time and the checksum are from rank 0; all ranks receive its checksum. */
static bool solve_once(void *context, double *seconds, uint64_t *checksum) {
  solution *z = context;
  const tsi_session *s = z->in.s;
  const int64_t number = z->solves++ - (s->settings->repeat > 1); /* -1: warm-up */
  tristar_distributed_stats stats;
  MPI_Barrier(MPI_COMM_WORLD); /* rank 0 may have been busy with the checksum */
  if (!tsi_solved_system_solve(&z->in)) return false;
  tristar_distributed_get_stats(z->in.distributed, &stats);
  *seconds = stats.solve_seconds;
  if (number >= 0) z->sweep[number] = stats.sweep_seconds;
  if (checksum == NULL) return true;
  *checksum = tsi_solved_system_checksum(&z->in);
  return MPI_Bcast(checksum, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

static bool solve_plain(tsi_session *s, solution *z) {
  if (s->settings->in_flight > 1) return tsi_solved_system_solve_in_flight(&z->in);
  if (!tsi_repeat_solves(s, solve_once, z, &z->in.plain)) return false;
  z->sweep_s = tsi_median(z->sweep, (size_t)s->settings->repeat);
  return true;
}

/* ---- Output -------------------------------------------------------------------------------------------- */

/* Lists the figures of a tristar_distributed_stats. */
static int list_figures(const void *of_rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]) {
  const tristar_distributed_stats *s = of_rank;
  const tsi_rank_figure list[] = {
      {"L solve", "forward_s", s->forward_seconds, tsi_text_seconds},
      {"between L and U (Z)", "between_s", s->between_seconds, tsi_text_seconds},
      {"U solve", "backward_s", s->backward_seconds, tsi_text_seconds},
      {"arithmetic", "compute_s", s->compute_seconds, tsi_text_seconds},
      {"XY waiting", "xy_s", s->xy_seconds, tsi_text_seconds},
      {"Z waiting", "z_s", s->z_seconds, tsi_text_seconds},
      {"idle", "idle_s", s->idle_seconds, tsi_text_seconds},
      {"b and x", "redistribute_s", s->redistribute_seconds, tsi_text_seconds},
      {"factor", "factor_bytes", s->factor_bytes, tsi_text_bytes},
      {"factor on GPUs", "device_factor_bytes", s->device_factor_bytes, tsi_text_bytes},
      {"bytes to GPUs", "up_bytes", s->up_bytes, tsi_text_bytes},
      {"bytes from GPUs", "down_bytes", s->down_bytes, tsi_text_bytes},
      {"inboxes", "inbox_bytes", s->inbox_bytes, tsi_text_bytes},
      {"XY messages", "xy_messages", (double)(s->broadcast.messages + s->reduction.messages), NULL},
      {"XY bytes", "xy_bytes", (double)(s->broadcast.bytes + s->reduction.bytes), tsi_text_bytes},
      {"Z messages", "z_messages", (double)s->grids.messages, NULL},
      {"Z bytes", "z_bytes", (double)s->grids.bytes, tsi_text_bytes},
      {"factoring", "factor_s", s->factor_seconds, tsi_text_seconds},
      {"factoring, the peak", "factor_peak_bytes", s->factor_peak_bytes, tsi_text_bytes},
      {"the peak of all", "peak_bytes", s->peak_bytes, tsi_text_bytes},
      {"factoring, messages", "factor_messages", (double)(s->fan_in.messages + s->hand_on.messages), NULL},
      {"complements sent", "fan_in_bytes", (double)s->fan_in.bytes, tsi_text_bytes},
      {"panels sent", "hand_on_bytes", (double)s->hand_on.bytes, tsi_text_bytes}};
  memcpy(figure, list, sizeof list);
  return sizeof list / sizeof list[0];
}

static tsi_rank_records records_of(const tsi_session *s, const solution *z) {
  return (tsi_rank_records){s->ranks, z->stats, sizeof *z->stats, list_figures};
}

/* Returns the number of processes without a share of the factor. */
static int count_idle(const tsi_session *s, const solution *z) {
  int idle = 0;
  for (int r = 0; r < s->ranks; r++) idle += z->stats[r].factor_bytes == 0;
  return idle;
}

/* Prints the lines of the report about devices of ranks. */
static void report_devices(int ranks, const tristar_distributed_stats *stats) {
  const char *name = "devices";
  for (int r = 0; r < ranks; r++) {
    const tristar_distributed_stats *s = &stats[r];
    if (s->devices > 0) {
      tsi_report(name, "rank %d: %s%s: %s, %s of factor; in each solve %s up, %s down", r, s->device,
                 s->devices > 1 ? " and others" : "", tsi_text_many(s->device_chunks, "subtree"),
                 tsi_text_bytes(s->device_factor_bytes), tsi_text_bytes(s->up_bytes),
                 tsi_text_bytes(s->down_bytes));
      name = "";
    }
    if (s->unfit_bytes > 0) {
      tsi_report(name, "rank %d: no room for %s of factor, which stay with the cores", r,
                 tsi_text_bytes(s->unfit_bytes));
      name = "";
    }
  }
}

/* Prints predicted times of solves in other common layouts. */
static void print_rivals(const tristar_layout_prediction *p) {
  const struct {
    const char *what;
    double seconds;
  } rivals[] = {{"a single grid", p->one_grid_seconds},
                {"16 grids", p->sixteen_grids_seconds},
                {"each process a grid", p->process_grids_seconds}};
  for (size_t k = 0; k < sizeof rivals / sizeof *rivals; k++)
    if (rivals[k].seconds > p->solve_seconds)
      tsi_report("", "predicted solves: %.2f times as fast as with %s", rivals[k].seconds / p->solve_seconds,
                 rivals[k].what);
}

static void print_report(const tsi_session *s, const solution *z) {
  const tristar_layout *l = &z->layout;
  const int workers = z->stats[0].workers;
  if (s->settings->to_stdout) return;
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report_factor(s);
  tsi_pivots_report(s, &z->pivots);
  tsi_report("layout", "%d x %d x %d processes, %s algorithm, %s map, %s trees; %s each", l->px, l->py, l->pz,
             tsi_algorithm_name(s->settings), tsi_map_name(l->map), tsi_tree_name(l->message_tree),
             workers > 0 ? tsi_text_many(workers, "worker") : "no StarPU: one thread");
  if (z->by_rows && !s->saved)
    tsi_report("", "each process has read its rows of the matrix, %s",
               s->f.pivot_rounds > 0 ? "the first one had all of it to search pivots" : "none has all of it");
  if (count_idle(s, z) > 0)
    tsi_report("", "%d of %d processes have no part of the factor", count_idle(s, z), s->ranks);
  if (z->chosen)
    tsi_report("", "chosen for %s: predicted %s for a factorization, %s for a solve",
               s->settings->solves > 0 ? tsi_text_many(s->settings->solves, "solve") : "solves alone",
               tsi_text_seconds(z->predicted.factor_seconds), tsi_text_seconds(z->predicted.solve_seconds));
  if (z->chosen) print_rivals(&z->predicted);
  if (s->settings->in_flight > 1)
    tsi_report("solve", "%s a solve, %.4g a second (%s, %" PRId64 " in flight, each for %s)",
               tsi_text_seconds(z->in.plain.median_s), 1 / z->in.plain.median_s,
               tsi_text_many(s->settings->repeat, "solve"), s->settings->in_flight,
               tsi_text_seconds(z->in.latency_s));
  else
    tsi_report("solve",
               "%s for the sweeps, %s with the transfer of b and x from and to rank 0 (median of %s)",
               tsi_text_seconds(z->sweep_s), tsi_text_seconds(z->in.plain.median_s),
               tsi_text_many(s->settings->repeat, "solve"));
  tsi_report_paths(&z->in.paths);
  if (z->in.accuracy.measured) tsi_accuracy_report(s, &z->in.accuracy);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, z->in.plain.checksum);
  report_devices(s->ranks, z->stats);
  const tsi_rank_records records = records_of(s, z);
  tsi_rank_figures_print("A process, latest solve", &records);
}

static cJSON *make_json(const tsi_session *s, const solution *z) {
  cJSON *object = tsi_json_session(s), *o;
  if (z->stats == NULL || z->stats[0].solve_seconds == 0) return object;
  tsi_solved_system_json(&z->in, object);
  tsi_pivots_json(s, &z->pivots, object);
  if (s->settings->in_flight == 1) cJSON_AddNumberToObject(object, "sweep_s", z->sweep_s);
  cJSON_AddStringToObject(object, "matrix_on", z->by_rows ? "all" : "rank 0");
  if (s->analysis == NULL) cJSON_AddBoolToObject(object, "saved", s->saved);
  o = tsi_json_add_layout(object, s, &z->layout);
  if (z->chosen) {
    TSI_JSON_NUMBERS(o, {"solves", (double)s->settings->solves},
                     {"predicted_factor_s", z->predicted.factor_seconds},
                     {"predicted_solve_s", z->predicted.solve_seconds},
                     {"predicted_process_bytes", z->predicted.process_bytes},
                     {"simulated", (double)z->predicted.simulated},
                     {"predicted_one_grid_s", z->predicted.one_grid_seconds},
                     {"predicted_sixteen_grids_s", z->predicted.sixteen_grids_seconds},
                     {"predicted_process_grids_s", z->predicted.process_grids_seconds});
  }
  const tsi_rank_records records = records_of(s, z);
  tsi_rank_figures_json(object, &records);
  return object;
}

static bool write_results(tsi_session *s, solution *z) {
  if (!tsi_solved_system_write(&z->in)) return false;
  if (s->settings->gantt != NULL &&
      !(tsi_traced_choose(s, &z->in.traced) && tsi_gantt_draw(s, s->settings->gantt, &z->in.traced)))
    return false;
  return s->settings->svg == NULL || tsi_processes_svg(s, &z->layout, s->ranks, z->stats);
}

/* Saves the factor if --save is given. */
static bool save(tsi_session *s, const solution *z) {
  const char *prefix = s->settings->save;
  return prefix == NULL || tsi_session_check(s, tristar_distributed_save(z->in.distributed, prefix), prefix);
}

/* Collective. Computes the diagonal of the inverse if --inverse-diagonal is given. */
static bool find_diagonal(tsi_session *s, solution *z) {
  tristar_dense diagonal = {0};
  if (s->settings->inverse_diagonal == NULL) return true;
  bool ok = tsi_rank_0_says(s->rank > 0 || tsi_dense_make(s, s->view.rows, 1, &diagonal));
  const double begin = tsi_now();
  ok = ok && tsi_session_check(s, tristar_distributed_inverse_diagonal(z->in.distributed, diagonal.values),
                               s->name);
  z->pivots = (tsi_pivots){.found = true, .null_vectors = -1, .diagonal_s = tsi_now() - begin};
  ok = tsi_rank_0_says(ok && (s->rank > 0 || tsi_inverse_diagonal_write(s, &diagonal)));
  free(diagonal.values);
  return ok;
}

static bool allocate(tsi_session *s, solution *z) {
  z->sweep = calloc((size_t)s->settings->repeat, sizeof *z->sweep);
  z->stats = calloc((size_t)s->ranks, sizeof *z->stats);
  if (z->sweep == NULL || z->stats == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for %" PRId64 " times",
                            s->settings->repeat);
  return s->settings->gantt == NULL || tsi_traced_allocate(s, &z->in.traced);
}

static bool run(tsi_session *s, void *state) {
  solution *z = state;
  z->in.s = s;
  bool ok = tsi_all_ranks_say(s, allocate(s, z)) && make_factor(s, z) && save(s, z) && find_diagonal(s, z) &&
            solve_plain(s, z) &&
            tsi_session_check(s, tristar_distributed_gather_stats(z->in.distributed, z->stats), s->name) &&
            tsi_solved_system_trace(&z->in) &&
            tsi_solved_system_refine(&z->in, tsi_rank_0_says(tsi_accuracy_needs_condition(s)));
  if (!ok || s->rank > 0) return ok;
  ok = tsi_accuracy_judge(s, &z->in.accuracy) && write_results(s, z);
  print_report(s, z);
  return ok;
}

/* Checks the options that are wrong only under mpiexec, or only without mpiexec. */
static int check_words(tsi_settings *settings, int ranks, void *state) {
  solution *z = state;
  const int status = tsi_check_layout("solve", settings, ranks, &z->layout);
  if (status != TSI_EXIT_OK) return status;
  z->settings = settings;
  z->chosen = z->layout.px == 0;
  if (!z->chosen && settings->process_bytes > 0)
    return tsi_usage_error("solve", "--process-bytes needs --layout auto");
  const int words = tsi_solve_check_words(settings);
  if (words != TSI_EXIT_OK) return words;
  if (settings->variant != NULL || settings->report)
    return tsi_usage_error("solve", "--variant and --report cannot be combined with --layout");
  return tsi_picture_check("solve", "svg", settings->svg);
}

static void print_results(tsi_session *s, void *state) {
  tsi_json_write(s, make_json(s, state));
}

static void release(tsi_session *s, void *state) {
  (void)s;
  solution *z = state;
  tsi_solved_system_free(&z->in);
  free(z->sweep);
  free(z->stats);
}

int tsi_solve_distributed(const tsi_settings *settings) {
  static const tsi_ranks_command command = {check_words, run, print_results, release};
  solution z = {.in = {.accuracy.rcond = NAN}};
  return tsi_run_on_ranks(&command, settings, settings->operand[0], &z);
}

#endif
