/* `tristar trisolve`: solves op(T) X = B from a file for a triangle T of a matrix, and checks X. `tristar
 * solve` uses it for triangular matrices.
 *
 * T is the lower or the upper triangle of the matrix (one sweep), or the product L U (two sweeps), as for a
 * preconditioner. Each sweep has an imported triangle and a plan; nothing is factored. Plain solves are timed
 * and must return the same bits. Then refined solves follow, and the larger backward error of the sweeps is
 * checked.
 *
 * Reads   the matrix, B.   Writes  X, the report, JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/report/accuracy.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/launcher.h"
#include "drivers/report/repeat.h"
#include "drivers/report/report.h"
#include "drivers/session/rhs.h"
#include "drivers/command/info_spread.h"
#include "drivers/command/solve.h"
#include "runtime/matrix/view.h"

enum { LOWER, UPPER, BOTH }; /* words of --uplo */

typedef struct sweep {
  tristar_uplo uplo;
  tristar_diag diag;
  tristar_factor_t *factor;
  tristar_plan_t *plan;
  tristar_plan_stats p;
  int64_t entries; /* entries of the triangle, including its diagonal */
  int64_t levels;  /* number of level sets */
  double import_s, plan_s;
  tristar_explanation way;
  tristar_refine_result refined;
} sweep;

typedef struct solution {
  int uplo;
  tsi_found_triangle found; /* the triangle that `tristar solve` found */
  int sweeps;
  sweep sweep[2];           /* sweeps in their order of execution */
  tristar_dense b, between; /* between: result of the first of two sweeps */
  tristar_dense x;
  tsi_repeated plain;        /* plain solves */
  tsi_bandwidth bandwidth;   /* with --report */
  tristar_solve_stats stats; /* statistics of the latest plain solve, if there is one sweep */
  tsi_accuracy accuracy;
} solution;

/* ---- Triangles ----------------------------------------------------------------------------------------- */

/* Computes the level of each row of T: 0 if the row depends on no other, else one more than the maximum level
 * of the rows that it depends on. Visits columns in the order of the sweep. A column first updates its own
 * level by rows before it, which the view of a symmetric matrix may store in this column; then it updates the
 * levels of later rows. place: position in T of each row of the matrix; column_order: columns of T in order;
 * NULL: no permutation. */
static void find_levels(const tsi_session *s, bool upper, const int64_t *place, const int64_t *column_order,
                        int64_t *level, int64_t *entries) {
  const int64_t n = s->view.cols;
  const bool general = s->view.symmetry == TRISTAR_GENERAL;
  *entries = n;
  for (int64_t k = 0; k < n; k++) {
    const int64_t j = upper ? n - 1 - k : k;
    const int64_t column = column_order ? column_order[j] : j;
    for (int gives = general; gives < 2; gives++)
      for (int64_t e = tsi_view_begin(&s->view, column); e < tsi_view_begin(&s->view, column + 1); e++) {
        const int64_t row = tsi_view_index(&s->view, e), i = place ? place[row] : row;
        const bool later = upper ? i < j : i > j;
        if (i == j || later != gives) continue;
        const int64_t first = later ? j : i, second = later ? i : j;
        if (level[second] <= level[first]) level[second] = level[first] + 1;
        (*entries)++;
      }
  }
}

/* Counts the level sets of a triangle and its entries, including a diagonal that is not stored. */
static bool count_levels(tsi_session *s, const tsi_found_triangle *found, sweep *w) {
  const int64_t n = s->view.cols, *row_order = found->row_order;
  int64_t *level = calloc(n > 0 ? 2 * (size_t)n : 1, sizeof *level);
  if (level == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for %" PRId64 " rows", s->name, n);
  for (int64_t k = 0; k < n && row_order; k++) level[n + row_order[k]] = k;
  find_levels(s, w->uplo == TRISTAR_UPPER, row_order ? level + n : NULL, found->column_order, level,
              &w->entries);
  for (int64_t i = 0; i < n; i++)
    if (level[i] >= w->levels) w->levels = level[i] + 1;
  free(level);
  return true;
}

int tsi_triangle_of(const tristar_view *view) {
  bool below = false, above = false;
  if (view->symmetry != TRISTAR_GENERAL) return BOTH;
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t e = tsi_view_begin(view, j); e < tsi_view_begin(view, j + 1); e++) {
      below = below || tsi_view_index(view, e) > j;
      above = above || tsi_view_index(view, e) < j;
    }
  return below && above ? BOTH : above ? UPPER : LOWER;
}

/* Without --uplo chooses the triangle that contains all entries. */
static bool choose_triangle(tsi_session *s, solution *z) {
  if (z->found.shape != TRISTAR_SHAPE_OTHER) {
    z->uplo = z->found.shape == TRISTAR_SHAPE_UPPER ? UPPER : LOWER;
    return true;
  }
  z->uplo = s->settings->uplo >= 0 ? s->settings->uplo : tsi_triangle_of(&s->view);
  if (s->settings->uplo >= 0 || z->uplo != BOTH) return true;
  s->usage = true;
  return tsi_session_fail(s, TRISTAR_ERR_ARGUMENT,
                          "%s: the matrix has entries in both triangles: choose one, or their product, with "
                          "--uplo L, U or LU",
                          s->name);
}

/* A^-1 of A = L U is U^-1 L^-1; of its transpose L^-T U^-T. */
static void list_sweeps(const tsi_session *s, solution *z) {
  const bool unit = s->settings->diag == 1, backward = tsi_session_op(s)->op != TRISTAR_N;
  z->sweeps = z->uplo == BOTH ? 2 : 1;
  for (int k = 0; k < z->sweeps; k++) {
    sweep *w = &z->sweep[k];
    const bool upper = z->uplo == UPPER || (z->uplo == BOTH && (k == 1) != backward);
    w->uplo = upper ? TRISTAR_UPPER : TRISTAR_LOWER;
    w->diag = unit && !(upper && z->uplo == BOTH) ? TRISTAR_UNIT : TRISTAR_NON_UNIT;
  }
}

static bool make_plan(tsi_session *s, solution *z, sweep *w) {
  tristar_plan_options options;
  tristar_plan_options_init(&options);
  options.engine = (tristar_engine)s->settings->engine;
  options.nrhs = z->b.cols;
  options.chunk_bytes_max = s->settings->chunk_bytes;
  options.place = (tristar_place)s->settings->place;
  options.device_bytes = s->settings->device_bytes;
  const double begin = tsi_now();
  const tristar_triangle_options triangle = {.size = sizeof triangle,
                                             .uplo = w->uplo,
                                             .diag = w->diag,
                                             .partition = (tristar_partition)s->settings->partition,
                                             .row_order = z->found.row_order,
                                             .column_order = z->found.column_order,
                                             .permuted = 1};
  if (!tsi_session_check(s, tristar_import_triangle(s->ts, &s->view, &triangle, &w->factor), s->name))
    return false;
  const double imported = tsi_now();
  if (!tsi_session_check(s, tristar_plan(w->factor, &options, &w->plan), s->name)) return false;
  tristar_plan_get_stats(w->plan, &w->p);
  w->import_s = imported - begin;
  w->plan_s = tsi_now() - imported - w->p.start_seconds;
  if (w->p.tasks > 0 && w == z->sweep) tsi_session_check_workers(s, w->p.workers);
  return true;
}

static bool prepare(tsi_session *s, solution *z) {
  bool ok = choose_triangle(s, z);
  if (ok) list_sweeps(s, z);
  for (int k = 0; k < z->sweeps && ok; k++)
    ok = make_plan(s, z, &z->sweep[k]) && count_levels(s, &z->found, &z->sweep[k]);
  return ok && tsi_dense_make(s, z->b.rows, z->b.cols, &z->x) &&
         (z->sweeps == 1 || tsi_dense_make(s, z->b.rows, z->b.cols, &z->between));
}

/* Explains the solve. It allocates what a solve needs, so call it after the first solve, if there is one. */
static bool explain(tsi_session *s, solution *z) {
  const tristar_solve_options options = {.size = sizeof options, .op = tsi_session_op(s)->op};
  bool ok = true;
  for (int k = 0; k < z->sweeps && ok; k++)
    ok = tsi_session_check(s, tristar_plan_explain(z->sweep[k].plan, &options, z->b.cols, &z->sweep[k].way),
                           s->name);
  return ok;
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

/* Return the input and the output of sweep k. */
static const tristar_dense *given(const solution *z, int k) {
  return k == 0 ? &z->b : &z->between;
}
static const tristar_dense *found(const solution *z, int k) {
  return k + 1 == z->sweeps ? &z->x : &z->between;
}

typedef struct run {
  tsi_session *s;
  const solution *z;
} run;

static bool solve_once(void *context, double *seconds, uint64_t *checksum) {
  const run *of = context;
  const solution *z = of->z;
  const int64_t n = z->b.rows;
  const double begin = tsi_now();
  bool ok = true;
  for (int k = 0; k < z->sweeps && ok; k++)
    ok = tsi_session_check(of->s,
                           tristar_solve(z->sweep[k].plan, tsi_session_op(of->s)->op, z->b.cols,
                                         given(z, k)->values, n, found(z, k)->values, n),
                           of->s->name);
  *seconds = tsi_now() - begin;
  if (checksum != NULL) *checksum = tsi_checksum(&z->x);
  return ok;
}

static bool solve_plain(tsi_session *s, solution *z) {
  const bool ok = tsi_repeat_solves(s, solve_once, &(run){s, z}, &z->plain);
  if (ok && z->sweeps == 1) tristar_plan_get_solve_stats(z->sweep[0].plan, &z->stats);
  return ok;
}

/* Returns the larger error; a NaN counts as the largest. */
static double worse(double a, double b) {
  return a >= b || isnan(a) ? a : b;
}

/* Combines the results of both sweeps: keeps the larger errors. */
static void keep_worse(const tristar_refine_result *one, tristar_refine_result *all) {
  all->initial_backward_error = worse(all->initial_backward_error, one->initial_backward_error);
  all->backward_error = worse(all->backward_error, one->backward_error);
  if (one->steps > all->steps) all->steps = one->steps;
  if (one->iterations > all->iterations) all->iterations = one->iterations;
  if (one->stop > all->stop) all->stop = one->stop;
}

static bool solve_refined(tsi_session *s, solution *z) {
  const tristar_refine_options options = tsi_accuracy_options(s);
  const int64_t n = z->b.rows;
  for (int k = 0; k < z->sweeps; k++) {
    sweep *w = &z->sweep[k];
    if (!tsi_session_check(s,
                           tristar_solve_refined(w->plan, tsi_session_op(s)->op, z->b.cols,
                                                 given(z, k)->values, n, found(z, k)->values, n, &options,
                                                 &w->refined),
                           s->name))
      return false;
    keep_worse(&w->refined, &z->accuracy.refined);
  }
  z->accuracy.measured = true;
  return true;
}

/* ---- Output -------------------------------------------------------------------------------------------- */

static bool is_permuted(const solution *z) {
  return z->found.shape == TRISTAR_SHAPE_PERMUTED;
}

static const char *uplo_text(tristar_uplo uplo) {
  return uplo == TRISTAR_UPPER ? "upper" : "lower";
}

static int64_t all_entries(const solution *z) {
  int64_t entries = 0;
  for (int k = 0; k < z->sweeps; k++) entries += z->sweep[k].entries;
  return entries;
}

/* Returns the GB/s of the median solve; counts only entries of the triangles. */
static double solve_gbps(const tsi_session *s, const solution *z) {
  return z->plain.median_s > 0
             ? (double)all_entries(z) * (double)s->precision->bytes / z->plain.median_s / 1e9
             : 0;
}

static double preparation(const solution *z) {
  double seconds = 0;
  for (int k = 0; k < z->sweeps; k++) seconds += z->sweep[k].import_s + z->sweep[k].plan_s;
  return seconds;
}

static void report_sweep(const tsi_session *s, const sweep *w) {
  char work[120] = "no tasks: the calling thread solves";
  if (w->p.tasks > 0)
    snprintf(work, sizeof work, "%s on %s, scheduler %.32s", tsi_text_many(w->p.tasks, "task"),
             tsi_text_many(w->p.workers, "worker"), w->p.scheduler);
  else if (w->p.workers > 1)
    snprintf(work, sizeof work, "%s: this thread, with helpers if that is faster",
             tsi_text_many(w->p.workers, "lane"));
  tsi_report(uplo_text(w->uplo), "%s with%s diagonal; %s, %.1f rows each on average",
             tsi_text_count(w->entries), w->diag == TRISTAR_UNIT ? " a unit" : " its",
             tsi_text_many(w->levels, "level set"),
             w->levels > 0 ? (double)s->view.cols / (double)w->levels : 0);
  tsi_report("", "%s, %s; %s; imported in %s, planned in %s",
             tsi_options_word("partition", (int)w->p.partition), tsi_text_many(w->p.chunks, "chunk"), work,
             tsi_text_seconds(w->import_s), tsi_text_seconds(w->plan_s));
  tsi_report_devices(w->plan, &w->p);
  tsi_report_way(s, &w->way);
}

/* Reports the matrix and its sweeps; needs no solve. */
static void report_plan(const tsi_session *s, const solution *z) {
  const tsi_found_triangle named = {.shape = z->uplo == UPPER ? TRISTAR_SHAPE_UPPER : TRISTAR_SHAPE_LOWER};
  tsi_console_clear();
  tsi_report("matrix", "%s", s->name);
  tsi_report("", "%s, %s; read in %s", tsi_text_many(s->view.rows, "row"), s->precision->text,
             tsi_text_seconds(s->read_s));
  if (s->settings->uplo < 0)
    tsi_report("", "%s", tsi_triangle_text(z->found.shape == TRISTAR_SHAPE_OTHER ? &named : &z->found));
  for (int k = 0; k < z->sweeps; k++) report_sweep(s, &z->sweep[k]);
}

static void print_report(const tsi_session *s, const solution *z) {
  char times[96], columns[64] = "";
  if (s->settings->to_stdout || !z->accuracy.measured) return;
  report_plan(s, z);
  if (z->b.cols > 1)
    snprintf(columns, sizeof columns, " with %s", tsi_text_many(z->b.cols, "right-hand side"));
  tsi_report("solve", "%s%s%s%s, %.1f GB/s of entries", tsi_text_seconds(z->plain.median_s), columns,
             tsi_session_op(s)->op == TRISTAR_N   ? ""
             : tsi_session_op(s)->op == TRISTAR_T ? ", transposed"
                                                  : ", conjugate transposed",
             tsi_repeated_text(s, &z->plain, times), solve_gbps(s, z));
  tsi_report_share(&z->bandwidth, z->sweep[0].p.workers, solve_gbps(s, z), "triangle");
  if (z->bandwidth.one > 0 && z->sweeps == 1) tsi_report_stats(&z->stats);
  tsi_accuracy_report(s, &z->accuracy);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, z->plain.checksum);
  if (s->settings->out != NULL && s->status == TRISTAR_OK) tsi_report("written", "%s", s->settings->out);
}

static cJSON *sweep_json(const sweep *w, bool solved) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "uplo", w->uplo == TRISTAR_UPPER ? "U" : "L");
  cJSON_AddStringToObject(object, "diag", w->diag == TRISTAR_UNIT ? "unit" : "nonunit");
  TSI_JSON_NUMBERS(object, {"nnz", (double)w->entries}, {"levels", (double)w->levels});
  cJSON_AddStringToObject(object, "partition", tsi_options_word("partition", (int)w->p.partition));
  TSI_JSON_NUMBERS(object, {"chunks", (double)w->p.chunks}, {"tasks", (double)w->p.tasks},
                   {"import_s", w->import_s}, {"plan_s", w->plan_s});
  tsi_json_add_devices(w->plan, &w->p, object);
  tsi_json_add_way(object, &w->way);
  if (!solved) return object;
  TSI_JSON_NUMBERS(object, {"initial_backward_error", w->refined.initial_backward_error},
                   {"backward_error", w->refined.backward_error});
  return object;
}

static void add_plan_json(const tsi_session *s, const solution *z, cJSON *object) {
  int64_t levels = 0;
  for (int k = 0; k < z->sweeps; k++) levels += z->sweep[k].levels;
  TSI_JSON_NUMBERS(object, {"n", (double)s->view.rows}, {"nnz", (double)all_entries(z)});
  cJSON_AddStringToObject(object, "precision", s->precision->letter);
  cJSON_AddNumberToObject(object, "read_s", s->read_s);
  cJSON_AddStringToObject(object, "uplo", tsi_options_word("uplo", z->uplo));
  cJSON_AddBoolToObject(object, "permuted", is_permuted(z));
  cJSON_AddStringToObject(object, "diag", tsi_options_word("diag", s->settings->diag));
  cJSON_AddStringToObject(object, "partition", tsi_options_word("partition", (int)z->sweep[0].p.partition));
  TSI_JSON_NUMBERS(object, {"levels", (double)levels}, {"plan_s", preparation(z)},
                   {"workers", z->sweep[0].p.workers});
  cJSON_AddStringToObject(object, "scheduler", z->sweep[0].p.scheduler);
  cJSON *sweeps = cJSON_AddArrayToObject(object, "sweeps");
  for (int k = 0; k < z->sweeps; k++)
    cJSON_AddItemToArray(sweeps, sweep_json(&z->sweep[k], z->accuracy.measured));
}

static cJSON *make_json(const tsi_session *s, const solution *z) {
  cJSON *object = tsi_json_session(s);
  if (!z->accuracy.measured) return object;
  add_plan_json(s, z, object);
  cJSON_AddStringToObject(object, "op", tsi_session_op(s)->letter);
  TSI_JSON_NUMBERS(object, {"nrhs", (double)z->b.cols}, {"repeat", (double)s->settings->repeat},
                   {"solve_s", z->plain.median_s}, {"solve_min_s", z->plain.fastest_s},
                   {"solve_gbps", solve_gbps(s, z)});
  tsi_json_add_bandwidth(object, &z->bandwidth);
  tsi_accuracy_json(s, &z->accuracy, object);
  tsi_json_add_checksum(object, z->plain.checksum);
  return object;
}

static void release(solution *z) {
  for (int k = 0; k < z->sweeps; k++) {
    tristar_plan_destroy(&z->sweep[k].plan);
    tristar_factor_destroy(&z->sweep[k].factor);
  }
  free(z->b.values);
  free(z->between.values);
  free(z->x.values);
  tsi_triangle_free(&z->found);
}

int tsi_trisolve_info(tsi_session *s, const tsi_found_triangle *found) {
  solution z = {.found = *found, .b = {.rows = s->view.rows, .cols = 1}};
  const char *dot = s->settings->dot;
  const bool tree = s->settings->tree != NULL;
  bool ok = true;
  const bool spread = s->settings->gpu >= 0 && s->settings->devices > 0;
  tsi_info_spread predicted = {.gpus = 0};
  if (tree || (s->settings->gpu >= 0 && !spread))
    ok = tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED, "%s: %s; for %s of its factors give --method lu%s",
                          s->name, tsi_triangle_text(found), tree ? "the tree" : "the prediction",
                          tree ? "" : "; --devices N predicts a solve with its rows on N GPUs");
  ok = ok && prepare(s, &z) && explain(s, &z);
  if (ok && spread) ok = tsi_info_spread_make(s, z.sweep[0].factor, &predicted);
  if (ok && dot != NULL) ok = tsi_session_check(s, tristar_plan_write_dot(z.sweep[0].plan, dot), dot);
  if (ok && !s->settings->to_stdout) report_plan(s, &z);
  if (ok && !s->settings->to_stdout) tsi_info_spread_print(&predicted);
  cJSON *object = tsi_json_session(s);
  if (ok) add_plan_json(s, &z, object);
  if (ok) tsi_info_spread_add_json(object, &predicted);
  tsi_json_write(s, object);
  release(&z);
  return tsi_session_close(s);
}

int tsi_trisolve(tsi_session *s, bool read, const tsi_found_triangle *found) {
  solution z = {.accuracy.rcond = NAN};
  if (found) z.found = *found;
  const bool solved =
      read && tsi_rhs_make(s, &z.b) &&
      (!s->settings->report || tsi_bandwidth_measure(s, tsi_expected_cores(s->settings), &z.bandwidth)) &&
      prepare(s, &z) && solve_plain(s, &z) && explain(s, &z) && solve_refined(s, &z) &&
      tsi_accuracy_judge(s, &z.accuracy);
  if (solved)
    tsi_solution_write(s, &z.x, "X of the triangle %s of %.300s (TriStar %s)",
                       tsi_options_word("uplo", z.uplo), s->name, tristar_version());
  print_report(s, &z);
  tsi_json_write(s, make_json(s, &z));
  for (bool again = solved; again && s->settings->on_demand && tsi_is_repeated();) {
    again = solve_plain(s, &z);
    tsi_json_write(s, make_json(s, &z));
  }
  release(&z);
  return tsi_session_close(s);
}

int tsi_command_trisolve(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  if (settings->operand[0] == NULL) return tsi_usage_error("trisolve", "no MATRIX given");
  const int status = tsi_check_rhs("trisolve", settings);
  if (status != TSI_EXIT_OK) return status;
  if (settings->on_demand && (settings->json == NULL || strcmp(settings->json, "-") != 0))
    return tsi_usage_error("trisolve", "--on-demand needs --json -");
  if (tsi_launched().processes > 1) return tsi_trisolve_spread(settings);
  if (settings->tasks_per_gpu > 0 || settings->polls_all || settings->transport > 0)
    return tsi_usage_error("trisolve", "--transport, --tasks-per-gpu and --poll need mpiexec");
  return tsi_trisolve(s, tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s), NULL);
}
