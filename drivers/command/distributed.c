/* Solves under mpiexec: see distributed.h. */
#include "drivers/command/distributed.h"

#include <stdlib.h>

#include "drivers/session/console.h"
#include "drivers/session/launcher.h"

#ifndef TSI_HAVE_MPI

int tsi_solve_distributed(const tsi_settings *settings) {
  tsi_console_mute(tsi_launched().rank > 0);
  tsi_console_error("solve: %s: this program was built without MPI (CMake: TRISTAR_WITH_MPI)",
                    settings->layout ? "--layout" : "started as one of several processes");
  return TSI_EXIT_FAILED;
}

#else

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drivers/report/accuracy.h"
#include "drivers/session/commands.h"
#include "drivers/session/files.h"
#include "drivers/session/layout.h"
#include "drivers/draw/picture.h"
#include "drivers/report/in_flight.h"
#include "drivers/report/paths.h"
#include "drivers/plot/plot.h"
#include "drivers/plot/processes_svg.h"
#include "drivers/report/rank_figures.h"
#include "drivers/report/ranks.h"
#include "drivers/report/repeat.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"
#include "runtime/base/median.h"

typedef struct solution {
  int rank, ranks;
  tristar_layout layout;
  bool chosen;                         /* rank 0: the layout is one of ours */
  tristar_layout_prediction predicted; /* then */
  tristar_distributed_t *distributed;
  bool by_rows; /* all ranks have rows of the matrix, not rank 0 all of them */
  int64_t nrhs;
  tristar_dense b, x;      /* rank 0 */
  tsi_paths paths;         /* rank 0 */
  double *sweep, *whole;   /* repeat: seconds of the sweeps, of the solves */
  double sweep_s, whole_s; /* medians, as rank 0 sees them; in flight: the mean from start to start */
  double latency_s;        /* of one of the solves in flight; 0: they were made one by one */
  uint64_t checksum;
  tsi_accuracy accuracy;
  tsi_traced traced;                /* with --gantt */
  tristar_distributed_stats *stats; /* ranks, on rank 0 */
} solution;

/* All ranks learn whether rank 0 goes on. */
static bool rank_0_says(bool ok) {
  int value = ok;
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

/* ---- Solving ------------------------------------------------------------------------------------------- */

/* On rank 0, once there is a matrix. */
static bool make_rhs(tsi_session *s, solution *z) {
  return tsi_rhs_make(s, &z->b) && tsi_dense_make(s, z->b.rows, z->b.cols, &z->x) &&
         tsi_paths_make(s, &z->b, &z->paths) && (z->nrhs = z->b.cols, true);
}

static bool analyze_on_rank_0(tsi_session *s, solution *z) {
  s->leaf_parts = z->layout.pz;
  if (z->chosen)
    for (s->leaf_parts = 1; z->ranks % (2 * s->leaf_parts) == 0;) s->leaf_parts *= 2;
  return tsi_session_read(s) && (z->b.values != NULL || make_rhs(s, z)) && tsi_session_analyze(s);
}

static tristar_distributed_options options_of(const tsi_session *s, const solution *z) {
  tristar_distributed_options options;
  tristar_distributed_options_init(&options);
  options.layout = z->layout;
  options.transport = (tristar_transport)s->settings->transport;
  options.engine = (tristar_engine)s->settings->engine;
  options.nrhs = z->nrhs;
  options.place = (tristar_place)s->settings->place;
  options.device_bytes = s->settings->device_bytes;
  options.solves = s->settings->solves;
  options.process_bytes = (double)s->settings->process_bytes;
  if (s->settings->algo == 2) options.grids = 1;
  return options;
}

/* The factor is there, and its time, of which the start of StarPU is no part; rank 0 has what reports say of
 * the whole factor. */
static bool note_factor(tsi_session *s, solution *z) {
  tristar_distributed_stats own;
  if (!tsi_session_check(s, tristar_distributed_get_stats(z->distributed, &own), s->name)) return false;
  s->factor_s -= own.start_seconds;
  z->layout = own.layout;
  z->predicted = own.predicted;
  if (z->rank > 0) return true;
  s->factored = true;
  return tsi_session_check(s, tristar_distributed_get_factor_stats(z->distributed, &s->f, &s->a), s->name);
}

/* On all ranks. */
static bool factor_rows(tsi_session *s, solution *z, tristar_dmatrix_t **matrix) {
  const int64_t n = s->view.rows;
  MPI_Bcast(&z->nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const tristar_distributed_options options = options_of(s, z);
  const tristar_analysis_options analysis = tsi_session_analysis_options(s);
  const double begin = tsi_now();
  const tristar_status status = tristar_dmatrix_factor(*matrix, &analysis, &options, &z->distributed);
  tristar_dmatrix_destroy(matrix);
  z->by_rows = true;
  if (!tsi_session_check_factor(s, status) ||
      !tsi_session_check(
          s, tristar_distributed_set_rows(z->distributed, z->rank == 0 ? 0 : n, z->rank == 0 ? n : 0),
          s->name))
    return false;
  s->factor_s = tsi_now() - begin;
  if (!note_factor(s, z)) return false;
  if (z->rank == 0) s->analyze_s = s->a.analyze_seconds;
  s->factor_s -= s->analyze_s;
  return true;
}

/* On all ranks. */
static bool factor(tsi_session *s, solution *z) {
  MPI_Bcast(&z->nrhs, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  const tristar_distributed_options options = options_of(s, z);
  const double begin = tsi_now();
  if (!tsi_session_check_factor(s, tristar_distributed_factor(s->ts, MPI_COMM_WORLD, s->analysis,
                                                              s->view.values, &options, &z->distributed)))
    return false;
  s->factor_s = tsi_now() - begin;
  return note_factor(s, z);
}

/* Reads, analyzes and factors; by rows on all ranks if that can be. */
static bool make_factor(tsi_session *s, solution *z) {
  tristar_dmatrix_t *matrix = NULL;
  if (!s->settings->laplacian) matrix = tsi_rows_read(s);
  if (matrix != NULL && !rank_0_says(z->rank > 0 || make_rhs(s, z))) {
    tristar_dmatrix_destroy(&matrix);
    return false;
  }
  if (matrix != NULL && !factor_rows(s, z, &matrix)) return false;
  return z->by_rows || (rank_0_says(z->rank > 0 || analyze_on_rank_0(s, z)) && factor(s, z));
}

/* What is given, and wanted: all, or the rows of the paths. */
static const tristar_dense *given(const solution *z) {
  return z->paths.used ? &z->paths.b : &z->b;
}
static const tristar_dense *wanted(const solution *z) {
  return z->paths.used ? &z->paths.x : &z->x;
}

/* The same on all ranks; others than rank 0 pass no rows. */
static bool solve_once(tsi_session *s, solution *z) {
  const tristar_solve_options options = tsi_paths_options(tsi_session_op(s)->op, &z->paths);
  tristar_solve_result result = {0};
  const bool ok =
      tsi_session_check(s,
                        tristar_distributed_solve_with(z->distributed, &options, z->nrhs, given(z)->values,
                                                       wanted(z)->values, &result),
                        s->name);
  z->paths.share = result.share;
  return ok;
}

/* ---- Several in flight --------------------------------------------------------------------------------- */

typedef struct flight {
  const tsi_session *s;
  const solution *z;
} flight;

static tristar_status start(const void *context, void *x, void **request) {
  const flight *f = context;
  const tristar_solve_options options = tsi_paths_options(tsi_session_op(f->s)->op, &f->z->paths);
  tristar_distributed_request_t *started = NULL;
  const tristar_status status = tristar_distributed_solve_start(f->z->distributed, &options, f->z->nrhs,
                                                                given(f->z)->values, x, &started);
  *request = started;
  return status;
}

static tristar_status wait_for(void **request) {
  tristar_distributed_request_t *started = *request;
  *request = NULL;
  return tristar_distributed_solve_wait(&started, NULL);
}

/* --repeat solves, --in-flight of them at a time; the bits are those of one alone. */
static bool solve_in_flight(tsi_session *s, solution *z) {
  const flight f = {s, z};
  const tsi_in_flight_calls calls = {&f, start, wait_for};
  tsi_in_flight times = {0, 0};
  if (!solve_once(s, z)) return false;
  z->checksum = tsi_checksum(wanted(z));
  const bool ok = tsi_in_flight_solve(s, &calls, wanted(z), z->checksum, &times);
  z->whole_s = times.solve_s;
  z->latency_s = times.latency_s;
  return ok;
}

/* ---- One by one ---------------------------------------------------------------------------------------- */

/* --repeat timed solves after a warm-up, all with the same bits, which are looked at as in repeat.h. */
static bool solve_one_by_one(tsi_session *s, solution *z) {
  const int64_t repeat = s->settings->repeat, warm_up = repeat > 1;
  for (int64_t k = -warm_up; k < repeat; k++) {
    tristar_distributed_stats stats;
    MPI_Barrier(MPI_COMM_WORLD); /* rank 0 may have been busy with the checksum */
    if (!solve_once(s, z)) return false;
    tristar_distributed_get_stats(z->distributed, &stats);
    if (k >= 0) z->sweep[k] = stats.sweep_seconds;
    if (k >= 0) z->whole[k] = stats.solve_seconds;
    if (!tsi_repeat_looks(k + warm_up, repeat + warm_up)) continue;
    const uint64_t checksum = z->rank == 0 ? tsi_checksum(wanted(z)) : 0;
    if (k == -warm_up) z->checksum = checksum;
    const bool same = checksum == z->checksum;
    if (!rank_0_says(same))
      return tsi_session_fail(s, TRISTAR_ERR_INTERNAL,
                              "%s: solve %" PRId64 " gave other bits: a defect of TriStar", s->name, k + 1);
  }
  z->sweep_s = tsi_median(z->sweep, (size_t)repeat);
  z->whole_s = tsi_median(z->whole, (size_t)repeat);
  return true;
}

/* With --gantt: more solves, which are traced. The trace of each is on rank 0. */
static bool trace_solves(tsi_session *s, solution *z) {
  const int64_t n = z->b.rows > 0 ? z->b.rows : 1;
  bool ok = true;
  for (; z->traced.all && ok && z->traced.solves < s->settings->repeat; z->traced.solves++)
    ok = tsi_session_check(s,
                           tristar_distributed_trace(z->distributed, tsi_session_op(s)->op, z->nrhs,
                                                     z->b.values, n, z->x.values, n,
                                                     &z->traced.all[z->traced.solves]),
                           s->name);
  return ok;
}

/* Solves once more, refines, and measures. */
static bool refine(tsi_session *s, solution *z) {
  const tristar_refine_options options = tsi_accuracy_options(s);
  const int64_t n = z->b.rows > 0 ? z->b.rows : 1;
  if (!tsi_session_check(s,
                         tristar_distributed_solve_refined(z->distributed, tsi_session_op(s)->op, z->nrhs,
                                                           z->b.values, n, z->x.values, n, &options,
                                                           &z->accuracy.refined),
                         s->name))
    return false;
  z->accuracy.measured = true;
  tsi_accuracy_take_condition(s, &z->accuracy);
  if (!rank_0_says(tsi_accuracy_wants_condition(s))) return true;
  return tsi_session_check(s, tristar_distributed_condition(z->distributed, &z->accuracy.rcond), s->name);
}

/* ---- What came out ------------------------------------------------------------------------------------- */

static tsi_rank_records records_of(const solution *z) {
  return (tsi_rank_records){z->ranks, z->stats, sizeof *z->stats};
}

/* Processes that hold nothing of the factor. */
static int count_idle(const solution *z) {
  int idle = 0;
  for (int r = 0; r < z->ranks; r++) idle += z->stats[r].factor_bytes == 0;
  return idle;
}

static void print_report(const tsi_session *s, const solution *z) {
  const tristar_layout *l = &z->layout;
  const int workers = z->stats[0].workers;
  if (s->settings->to_stdout) return;
  tsi_console_clear();
  tsi_report_matrix(s);
  tsi_report_analysis(s);
  tsi_report_factor(s);
  tsi_report("layout", "%d x %d x %d processes, %s algorithm, %s map, %s trees; %s each", l->px, l->py, l->pz,
             tsi_algorithm_name(s->settings), tsi_map_name(l->map), tsi_tree_name(l->message_tree),
             workers > 0 ? tsi_text_many(workers, "worker") : "no StarPU: one thread");
  if (z->by_rows) tsi_report("", "each process has read its rows of the matrix, none has all of it");
  if (count_idle(z) > 0)
    tsi_report("", "%d of %d processes have no part of the factor", count_idle(z), z->ranks);
  if (z->chosen)
    tsi_report("", "chosen for %s: predicted %s for a factorization, %s for a solve",
               s->settings->solves > 0 ? tsi_text_many(s->settings->solves, "solve") : "solves alone",
               tsi_text_seconds(z->predicted.factor_seconds), tsi_text_seconds(z->predicted.solve_seconds));
  if (s->settings->in_flight > 1)
    tsi_report("solve", "%s a solve, %.4g a second (%s, %" PRId64 " in flight, each for %s)",
               tsi_text_seconds(z->whole_s), 1 / z->whole_s, tsi_text_many(s->settings->repeat, "solve"),
               s->settings->in_flight, tsi_text_seconds(z->latency_s));
  else
    tsi_report("solve",
               "%s for the sweeps, %s with the transfer of b and x from and to rank 0 (median of %s)",
               tsi_text_seconds(z->sweep_s), tsi_text_seconds(z->whole_s),
               tsi_text_many(s->settings->repeat, "solve"));
  tsi_report_paths(&z->paths);
  if (z->accuracy.measured) tsi_accuracy_report(s, &z->accuracy);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, z->checksum);
  tsi_report_rank_devices(z->ranks, z->stats);
  const tsi_rank_records records = records_of(z);
  tsi_rank_figures_print("A process, latest solve", TSI_SOLVE_FIGURES, tsi_solve_figures, &records);
}

static cJSON *make_json(const tsi_session *s, const solution *z) {
  char checksum[32];
  cJSON *object = tsi_json_session(s), *o;
  if (z->stats == NULL || z->stats[0].solve_seconds == 0) return object;
  snprintf(checksum, sizeof checksum, "%016" PRIx64, z->checksum);
  cJSON_AddStringToObject(object, "op", tsi_session_op(s)->letter);
  TSI_JSON_NUMBERS(object, {"nrhs", (double)z->nrhs}, {"repeat", (double)s->settings->repeat},
                   {"in_flight", (double)s->settings->in_flight});
  if (s->settings->in_flight > 1)
    cJSON_AddNumberToObject(object, "latency_s", z->latency_s);
  else
    cJSON_AddNumberToObject(object, "sweep_s", z->sweep_s);
  cJSON_AddNumberToObject(object, "solve_s", z->whole_s);
  tsi_json_add_paths(object, &z->paths);
  if (z->accuracy.measured) tsi_accuracy_json(s, &z->accuracy, object);
  cJSON_AddStringToObject(object, "checksum", checksum);
  cJSON_AddStringToObject(object, "matrix_on", z->by_rows ? "all" : "rank 0");
  o = cJSON_AddObjectToObject(object, "layout");
  TSI_JSON_NUMBERS(o, {"px", z->layout.px}, {"py", z->layout.py}, {"pz", z->layout.pz});
  cJSON_AddStringToObject(o, "algorithm", tsi_algorithm_name(s->settings));
  cJSON_AddStringToObject(o, "map", tsi_map_name(z->layout.map));
  cJSON_AddStringToObject(o, "message_tree", tsi_tree_name(z->layout.message_tree));
  if (z->chosen) {
    TSI_JSON_NUMBERS(o, {"solves", (double)s->settings->solves},
                     {"predicted_factor_s", z->predicted.factor_seconds},
                     {"predicted_solve_s", z->predicted.solve_seconds},
                     {"predicted_process_bytes", z->predicted.process_bytes});
  }
  const tsi_rank_records records = records_of(z);
  tsi_rank_figures_json(object, TSI_SOLVE_FIGURES, tsi_solve_figures, &records);
  return object;
}

static bool write_results(tsi_session *s, solution *z) {
  char comment[512];
  snprintf(comment, sizeof comment, "X of op %s, A = %.300s (tristar solve, TriStar %s, %s precision)",
           tsi_session_op(s)->letter, s->name, tristar_version(), s->precision->text);
  const char *path = s->settings->out;
  if (path != NULL &&
      !tsi_session_check(s, tristar_dense_write(s->ts, path, wanted(z), comment), tsi_output_name(path)))
    return false;
  if (s->settings->gantt != NULL &&
      !(tsi_traced_choose(s, &z->traced) && tsi_gantt_draw(s, s->settings->gantt, &z->traced)))
    return false;
  return s->settings->svg == NULL || tsi_processes_svg(s, &z->layout, z->ranks, z->stats);
}

/* Everything after the context; gives what rank 0 found. */
static bool run(tsi_session *s, solution *z) {
  bool ok = make_factor(s, z);
  ok = ok && (s->settings->in_flight > 1 ? solve_in_flight(s, z) : solve_one_by_one(s, z)) &&
       tsi_session_check(s, tristar_distributed_gather_stats(z->distributed, z->stats), s->name) &&
       trace_solves(s, z) && refine(s, z);
  if (!ok || z->rank > 0) return ok;
  ok = tsi_accuracy_judge(s, &z->accuracy);
  if (ok && z->paths.used) tsi_paths_select(&z->x, &z->paths);
  ok = ok && write_results(s, z);
  print_report(s, z);
  return ok;
}

/* The words that are wrong only under mpiexec, or only without. */
static int check_words(const tsi_settings *settings, solution *z) {
  if (settings->layout == NULL)
    return tsi_usage_error(
        "solve", "%d processes need --layout PXxPYxPZ, or --layout auto, to share the work", z->ranks);
  const int status = tsi_layout_read("solve", settings, &z->layout);
  if (status != TSI_EXIT_OK) return status;
  const tristar_layout *l = &z->layout;
  z->chosen = l->px == 0;
  if (l->px > 0 && (int64_t)l->px * l->py * l->pz != z->ranks)
    return tsi_usage_error("solve", "--layout %s: %" PRId64 " processes, but mpiexec has started %d",
                           settings->layout, (int64_t)l->px * l->py * l->pz, z->ranks);
  if (l->px > 0 && settings->solves > 0) return tsi_usage_error("solve", "--solves needs --layout auto");
  if (l->px > 0 && settings->process_bytes > 0)
    return tsi_usage_error("solve", "--process-bytes needs --layout auto");
  const int words = tsi_solve_check_words(settings);
  if (words != TSI_EXIT_OK) return words;
  if (settings->variant != NULL || settings->report)
    return tsi_usage_error("solve", "--variant and --report cannot be combined with --layout");
  return tsi_picture_check("solve", "svg", settings->svg);
}

tsi_settings tsi_settings_of_rank(const tsi_settings *given, int rank) {
  tsi_settings settings = *given;
  tristar_config cores;
  tristar_config_init(&cores);
  cores.workers = (int)settings.workers;
  if (tristar_mpi_share_cores(MPI_COMM_WORLD, &cores) == TRISTAR_OK) {
    settings.workers = cores.workers;
    settings.first_core = cores.first_core;
    settings.first_device = cores.first_device;
    settings.rank_devices = cores.devices;
  }
  if (rank > 0) settings.output_count = 0; /* rank 0 writes */
  return settings;
}

static int solve(const tsi_settings *given) {
  tsi_session session, *s = &session;
  solution z = {.accuracy.rcond = NAN};
  MPI_Comm_rank(MPI_COMM_WORLD, &z.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &z.ranks);
  tsi_console_mute(z.rank > 0); /* rank 0 says the same */
  const int wrong = check_words(given, &z);
  tsi_console_mute(false);
  if (wrong != TSI_EXIT_OK) return wrong;
  tsi_settings settings = tsi_settings_of_rank(given, z.rank);
  bool ok = tsi_session_open(s, &settings, given->operand[0]);
  z.sweep = calloc((size_t)settings.repeat, sizeof *z.sweep);
  z.whole = calloc((size_t)settings.repeat, sizeof *z.whole);
  z.stats = calloc((size_t)z.ranks, sizeof *z.stats);
  if (ok && (z.sweep == NULL || z.whole == NULL || z.stats == NULL))
    ok = tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for %" PRId64 " times", settings.repeat);
  if (ok && settings.gantt != NULL) ok = tsi_traced_allocate(s, &z.traced);
  int all = ok;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (all) ok = rank_0_says(run(s, &z));
  if (z.rank == 0) tsi_json_write(s, make_json(s, &z));
  tristar_distributed_destroy(&z.distributed);
  free(z.b.values);
  free(z.x.values);
  tsi_paths_free(&z.paths);
  tsi_plot_trace_free(&z.traced);
  free(z.sweep);
  free(z.whole);
  free(z.stats);
  if (z.rank > 0) s->status = TRISTAR_OK; /* rank 0 tells */
  const int status = tsi_session_close(s);
  return status != TSI_EXIT_OK ? status : all && ok ? TSI_EXIT_OK : TSI_EXIT_FAILED;
}

int tsi_solve_distributed(const tsi_settings *settings) {
  int level = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
    tsi_console_error("MPI cannot be initialized");
    return TSI_EXIT_FAILED;
  }
  const int status = solve(settings);
  MPI_Finalize();
  return status;
}

#endif
