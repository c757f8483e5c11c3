/* `tristar krylov`: solves A X = B from a file by a Krylov method, and checks X.
 *
 * Preconditioner and solver are made once; solves are timed and must return the same bits. A column that does
 * not converge is a failure, but all figures are reported, and X is written.
 *
 * Reads   the matrix, B.   Writes  X, the report, JSON, a picture of the norms. */
#include "drivers/command/krylov.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/launcher.h"
#include "drivers/draw/picture.h"
#include "drivers/session/rhs.h"

/* ---- Set-up -------------------------------------------------------------------------------------------- */

static bool make_factor(tsi_session *s, tsi_krylov_solution *z) {
  return tsi_session_analyze(s) && tsi_session_factor(s) && tsi_session_plan(s, 1) &&
         tsi_session_check(s, tristar_precond_of_plan(s->plan, &z->precond), s->name);
}

tristar_status tsi_krylov_try_precond(tsi_session *s, tsi_krylov_solution *z) {
  return z->words.none ? TRISTAR_OK : tristar_precond(s->ts, &s->view, &z->words.options, &z->precond);
}

bool tsi_krylov_make_precond(tsi_session *s, tsi_krylov_solution *z) {
  const double begin = tsi_now();
  bool ok = true;
  if (z->words.factor) {
    ok = make_factor(s, z);
  } else {
    tristar_status status;
    do status = tsi_krylov_try_precond(s, z);
    while (tsi_krylov_broke_down(status) && tsi_krylov_next_precond(z));
    ok = tsi_session_check(s, status, s->name);
  }
  if (!ok) return false;
  if (z->precond == NULL) return true;
  tristar_precond_get_stats(z->precond, &z->m);
  z->setup_s = tsi_now() - begin - s->f.start_seconds - s->p.start_seconds - z->m.start_seconds;
  return true;
}

static bool has_restarts(const tsi_krylov_solution *z) {
  return z->options.method == TRISTAR_KRYLOV_GMRES || z->options.method == TRISTAR_KRYLOV_FGMRES;
}

/* Sets the method and its name. */
static void set_method(tsi_krylov_solution *z, tristar_krylov_method method) {
  static const char *const names[] = {"auto",   "CG",           "BiCGSTAB", "GMRES",
                                      "FGMRES", "pipelined CG", "block CG"};
  tristar_krylov_options *o = &z->options;
  o->method = method;
  const int number = has_restarts(z) ? o->restart : method == TRISTAR_KRYLOV_BLOCK_CG ? o->block : 0;
  snprintf(z->method, sizeof z->method, number > 0 ? "%s(%d)" : "%s", names[method], number);
}

/* An automatically chosen incomplete factorization may be far from A. GMRES then preconditions on the right,
 * so that it tests the true residual. */
static void set_side(const tsi_session *s, tsi_krylov_solution *z) {
  const int side = s->settings->side;
  const bool gmres = z->options.method == TRISTAR_KRYLOV_GMRES;
  if (side >= 0)
    z->options.side = side == 1 ? TRISTAR_SIDE_RIGHT : TRISTAR_SIDE_LEFT;
  else if (gmres && z->words.automatic)
    z->options.side = TRISTAR_SIDE_RIGHT;
}

/* If the automatic choice was CG and the matrix proves indefinite, switches to GMRES and returns true. Solver
 * and preconditioner must then be made anew. */
static bool gives_up_cg(const tsi_session *s, tsi_krylov_solution *z) {
  bool indefinite = false;
  for (int64_t c = 0; c < z->b.cols; c++)
    indefinite = indefinite || z->result[c].reason == TRISTAR_REASON_INDEFINITE ||
                 z->result[c].reason == TRISTAR_REASON_INDEFINITE_PRECOND;
  if (!indefinite || s->settings->krylov_method != TRISTAR_KRYLOV_AUTO ||
      z->options.method != TRISTAR_KRYLOV_CG || s->settings->norm >= 0)
    return false;
  z->switched = true;
  z->norms.count = 0;
  set_method(z, TRISTAR_KRYLOV_GMRES);
  set_side(s, z);
  tsi_krylov_begin_precond(z);
  tristar_krylov_destroy(&z->krylov);
  tristar_precond_destroy(&z->precond);
  z->m = (tristar_precond_stats){.n = 0};
  return true;
}

void tsi_krylov_choose_options(const tsi_session *s, bool positive, tsi_krylov_solution *z) {
  const tsi_settings *settings = s->settings;
  const bool symmetric = s->view.symmetry == TRISTAR_HERMITIAN ||
                         (s->view.symmetry == TRISTAR_SYMMETRIC && s->precision->width == 1);
  tristar_krylov_options *o = &z->options;
  tristar_krylov_options_init(o);
  if (settings->norm >= 0)
    o->norm = settings->norm == 1 ? TRISTAR_NORM_RESIDUAL : TRISTAR_NORM_PRECONDITIONED;
  o->tolerance = settings->tolerance >= 0 ? settings->tolerance : s->precision->epsilon > 1e-10 ? 1e-5 : 1e-8;
  o->max_iterations = settings->max_iterations;
  o->restart = (int)settings->restart;
  o->block = (int)settings->block;
  o->engine = (tristar_engine)settings->engine;
  o->progress = tsi_norms_add;
  o->progress_arg = &z->norms;
  set_method(z, settings->krylov_method != TRISTAR_KRYLOV_AUTO
                    ? (tristar_krylov_method)settings->krylov_method
                : symmetric && positive ? TRISTAR_KRYLOV_CG
                                        : TRISTAR_KRYLOV_GMRES);
  set_side(s, z);
  tsi_krylov_begin_precond(z);
}

bool tsi_krylov_make_results(tsi_session *s, tsi_krylov_solution *z) {
  z->result = calloc(z->b.cols > 0 ? (size_t)z->b.cols : 1, sizeof *z->result);
  return z->result != NULL || tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory", s->name);
}

typedef struct run {
  tsi_session *s;
  tsi_krylov_solution *z;
} run;

/* Makes the preconditioner and the solver. */
static bool make(void *context) {
  const run *of = context;
  tsi_session *s = of->s;
  tsi_krylov_solution *z = of->z;
  if (!tsi_krylov_make_precond(s, z)) return false;
  if (!tsi_session_check(s, tristar_krylov_create(s->ts, &s->view, &z->options, &z->krylov), s->name))
    return false;
  tristar_krylov_get_stats(z->krylov, &z->k);
  z->create_s = z->k.create_seconds;
  return true;
}

static bool prepare(tsi_session *s, tsi_krylov_solution *z) {
  tsi_krylov_choose_options(s, tsi_krylov_has_positive_diagonal(&s->view), z);
  return tsi_krylov_make_results(s, z) && tsi_dense_make(s, z->b.rows, z->b.cols, &z->x);
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

static bool solve_once(void *context, double *seconds, uint64_t *checksum) {
  const run *of = context;
  tsi_krylov_solution *z = of->z;
  const int64_t n = z->b.rows;
  const double begin = tsi_now();
  const tristar_status status =
      tristar_krylov_solve(z->krylov, z->precond, z->b.cols, z->b.values, n, z->x.values, n, z->result);
  *seconds = tsi_now() - begin;
  if (checksum != NULL) *checksum = tsi_checksum(&z->x);
  if (!tsi_session_check(of->s, status, of->s->name)) return false;
  return !z->norms.full || tsi_session_fail(of->s, TRISTAR_ERR_MEMORY, "out of memory for the norms");
}

bool tsi_krylov_run(tsi_session *s, tsi_krylov_solution *z, bool (*make_solver)(void *),
                    tsi_solve_once *solve_with, void *context) {
  if (!make_solver(context) || !tsi_repeat_solves(s, solve_with, context, &z->times)) return false;
  if (gives_up_cg(s, z) && !(make_solver(context) && tsi_repeat_solves(s, solve_with, context, &z->times)))
    return false;
  z->solved = true;
  return true;
}

static bool solve(tsi_session *s, tsi_krylov_solution *z) {
  const int64_t n = z->b.rows;
  if (!tsi_krylov_run(s, z, make, solve_once, &(run){s, z})) return false;
  return tsi_session_check(s,
                           tristar_krylov_residual(z->krylov, z->b.cols, z->b.values, n, z->x.values, n, NULL,
                                                   n, &z->backward_error),
                           s->name);
}

/* Keeps the larger value; a NaN stays. */
static void keep_larger(double *largest, double value) {
  if (!(value <= *largest) && !isnan(*largest)) *largest = value;
}

/* Combines the results of all columns: maximum of iterations and residuals, sums of times, and the first
 * reason that is not convergence. */
static tristar_krylov_result sum_up(const tsi_krylov_solution *z) {
  tristar_krylov_result all = {.reason = TRISTAR_REASON_CONVERGED, .converged = 1};
  for (int64_t c = 0; c < z->b.cols; c++) {
    const tristar_krylov_result *one = &z->result[c];
    if (all.converged && !one->converged) all.reason = one->reason;
    all.converged = all.converged && one->converged;
    if (one->iterations > all.iterations) all.iterations = one->iterations;
    keep_larger(&all.residual, one->residual);
    keep_larger(&all.true_residual, one->true_residual);
    all.products += one->products;
    all.preconditionings += one->preconditionings;
    all.seconds += one->seconds;
    all.product_seconds += one->product_seconds;
    all.precond_seconds += one->precond_seconds;
    all.vector_seconds += one->vector_seconds;
  }
  return all;
}

bool tsi_krylov_judge_columns(tsi_session *s, const tsi_krylov_solution *z) {
  for (int64_t c = 0; c < z->b.cols; c++)
    if (!z->result[c].converged)
      return tsi_session_fail(s, TRISTAR_ERR_ACCURACY,
                              "%s: right-hand side %" PRId64 ", iteration %" PRId64 ": %s", s->name, c + 1,
                              z->result[c].iterations, tristar_krylov_reason_text(z->result[c].reason));
  return true;
}

/* ---- Output -------------------------------------------------------------------------------------------- */

/* Returns the tested norm as text. */
static const char *norm_text(const tsi_krylov_solution *z) {
  const bool right = z->options.side == TRISTAR_SIDE_RIGHT || z->options.method == TRISTAR_KRYLOV_FGMRES;
  return z->precond == NULL || right || z->options.norm == TRISTAR_NORM_RESIDUAL
             ? "norm of the residual"
             : "norm of the preconditioned residual";
}

static int64_t nnz_factor(const tsi_session *s, const tsi_krylov_solution *z) {
  return z->words.factor ? s->f.nnz_factor : z->m.nnz_lower + z->m.nnz_upper;
}

/* Returns the word of --precond, with the shift of an automatic choice. */
static const char *precond_text(const tsi_krylov_solution *z, char text[static 32]) {
  const double shift = z->words.automatic ? z->words.options.shift : 0;
  snprintf(text, 32, shift > 0 && !z->words.none ? "%s, shift %g" : "%s", z->words.word, shift);
  return text;
}

static void report_precond(const tsi_session *s, const tsi_krylov_solution *z) {
  const int64_t entries = nnz_factor(s, z);
  const bool incomplete = z->m.fill > 0 || z->m.nodes > 0;
  const char *place = z->m.on_device ? "; applied on a GPU" : "";
  char word[32], size[64] = "", nodes[48] = "", density[32] = "", memory[48] = "";
  if (z->precond == NULL) {
    tsi_report("precond", "none");
    return;
  }
  if (incomplete || entries > 0)
    snprintf(size, sizeof size, ", %s entries in its factors", tsi_text_count(entries));
  if (z->m.nodes > 0) snprintf(nodes, sizeof nodes, ", by %s", tsi_text_many(z->m.nodes, "node"));
  if (incomplete) snprintf(density, sizeof density, ", density %.2f", z->m.fill);
  if (incomplete && z->m.bytes > 0)
    snprintf(memory, sizeof memory, ", takes %s", tsi_text_bytes((double)z->m.bytes));
  tsi_report("precond", "%s%s%s%s; set up in %s%s%s", precond_text(z, word), size, nodes, density,
             tsi_text_seconds(z->setup_s), memory, place);
}

static void report_solve(const tsi_session *s, const tsi_krylov_solution *z,
                         const tristar_krylov_result *all) {
  char times[96], columns[64] = "";
  if (z->b.cols > 1)
    snprintf(columns, sizeof columns, " with %s", tsi_text_many(z->b.cols, "right-hand side"));
  tsi_report("solve", "%s%s%s, %s%s", tsi_text_seconds(z->times.median_s), columns,
             tsi_repeated_text(s, &z->times, times), z->b.cols > 1 ? "at most " : "",
             tsi_text_many(all->iterations, "iteration"));
  const double seconds = all->seconds > 0 ? all->seconds : 1;
  tsi_report("", "%.0f %% in products, %.0f %% in the preconditioner, %.0f %% in vectors",
             100 * all->product_seconds / seconds, 100 * all->precond_seconds / seconds,
             100 * all->vector_seconds / seconds);
  tsi_report("accuracy", "%s", tristar_krylov_reason_text(all->reason));
  tsi_report("", "%s %.1e, tolerance %.1e", norm_text(z), all->residual, z->options.tolerance);
  tsi_report("", "true residual %.1e, backward error %.1e", all->true_residual, z->backward_error);
}

void tsi_krylov_report(const tsi_session *s, const tsi_krylov_solution *z) {
  if (s->settings->to_stdout || !z->solved) return;
  const tristar_krylov_result all = sum_up(z);
  tsi_console_clear();
  tsi_report("matrix", "%s", s->name);
  tsi_report("", "%s, %s entries, %s, %s; read in %s", tsi_text_many(s->view.rows, "row"),
             tsi_text_count(z->k.nnz), s->precision->text, tsi_symmetry_text(s->view.symmetry),
             tsi_text_seconds(s->read_s));
  report_precond(s, z);
  tsi_report("method", "%s on %s, %s of workspace; made in %s", z->method,
             tsi_text_many(z->k.workers, "worker"), tsi_text_bytes((double)z->k.workspace_bytes),
             tsi_text_seconds(z->create_s));
  if (z->switched) tsi_report("", "CG, the first choice for a symmetric matrix, has found it indefinite");
  report_solve(s, z, &all);
  if (s->settings->checksum) tsi_report("checksum", "%016" PRIx64, z->times.checksum);
  if (s->settings->out != NULL && z->written) tsi_report("written", "%s", s->settings->out);
}

static void add_columns(cJSON *object, const tsi_krylov_solution *z) {
  cJSON *residuals = cJSON_AddArrayToObject(object, "residuals");
  for (int64_t k = 0; k < z->norms.count; k++) {
    if (z->norms.point[k].column > 0) continue; /* columns of a group alternate */
    cJSON_AddItemToArray(residuals, isfinite(z->norms.point[k].residual)
                                        ? cJSON_CreateNumber(z->norms.point[k].residual)
                                        : cJSON_CreateNull());
  }
  cJSON *columns = cJSON_AddArrayToObject(object, "columns");
  for (int64_t c = 0; c < z->b.cols; c++) {
    cJSON *one = tsi_json_add_item(columns);
    cJSON_AddNumberToObject(one, "iterations", (double)z->result[c].iterations);
    cJSON_AddStringToObject(one, "reason", tristar_krylov_reason_text(z->result[c].reason));
    TSI_JSON_NUMBERS(one, {"relative_residual", z->result[c].residual},
                     {"true_residual", z->result[c].true_residual});
  }
}

cJSON *tsi_krylov_json(const tsi_session *s, const tsi_krylov_solution *z) {
  static const char *const words[] = {"auto",   "cg",           "bicgstab", "gmres",
                                      "fgmres", "pipelined-cg", "block-cg"};
  tsi_session plain = *s; /* without the figures of complete factors */
  plain.analysis = NULL;
  plain.factored = false;
  plain.plan = NULL;
  cJSON *object = tsi_json_session(&plain);
  if (!z->solved) return object;
  const tristar_krylov_result all = sum_up(z);
  TSI_JSON_NUMBERS(object, {"n", (double)z->k.n}, {"nnz", (double)z->k.nnz});
  cJSON_AddStringToObject(object, "precision", s->precision->letter);
  cJSON_AddNumberToObject(object, "read_s", s->read_s);
  cJSON_AddStringToObject(object, "method", words[z->options.method]);
  if (z->options.method == TRISTAR_KRYLOV_BLOCK_CG)
    cJSON_AddNumberToObject(object, "block", z->options.block);
  if (has_restarts(z)) cJSON_AddNumberToObject(object, "restart", z->options.restart);
  cJSON_AddStringToObject(object, "precond", z->words.word);
  cJSON_AddBoolToObject(object, "precond_on_device", z->m.on_device);
  TSI_JSON_NUMBERS(
      object, {"nnz_factor", (double)nnz_factor(s, z)}, {"density", z->m.fill}, {"nodes", (double)z->m.nodes},
      {"precond_bytes", (double)z->m.bytes}, {"setup_s", z->setup_s}, {"create_s", z->create_s},
      {"workspace_bytes", (double)z->k.workspace_bytes}, {"product_read_bytes", (double)z->k.product_bytes},
      {"workers", z->k.workers}, {"nrhs", (double)z->b.cols}, {"repeat", (double)s->settings->repeat},
      {"solve_s", z->times.median_s}, {"solve_min_s", z->times.fastest_s}, {"product_s", all.product_seconds},
      {"precond_s", all.precond_seconds}, {"vector_s", all.vector_seconds},
      {"iterations", (double)all.iterations}, {"products", (double)all.products},
      {"preconditionings", (double)all.preconditionings});
  cJSON_AddBoolToObject(object, "converged", all.converged);
  cJSON_AddStringToObject(object, "reason", tristar_krylov_reason_text(all.reason));
  TSI_JSON_NUMBERS(object, {"tolerance", z->options.tolerance}, {"relative_residual", all.residual},
                   {"true_residual", all.true_residual}, {"backward_error", z->backward_error});
  tsi_json_add_checksum(object, z->times.checksum);
  add_columns(object, z);
  return object;
}

bool tsi_krylov_write(tsi_session *s, tsi_krylov_solution *z) {
  const tristar_krylov_result all = sum_up(z);
  z->written = tsi_solution_write(s, &z->x, "X of %.300s by %s (tristar krylov, TriStar %s)", s->name,
                                  z->method, tristar_version());
  return z->written && (s->settings->svg == NULL || tsi_krylov_draw(s, z, &all, norm_text(z)));
}

void tsi_krylov_release(tsi_krylov_solution *z) {
  tristar_krylov_destroy(&z->krylov);
  tristar_precond_destroy(&z->precond);
  free(z->b.values);
  free(z->x.values);
  free(z->result);
  free(z->norms.point);
}

static int check_words(const tsi_settings *settings, tsi_krylov_solution *z) {
  if (settings->operand[0] == NULL) return tsi_usage_error("krylov", "no MATRIX given");
  int status = tsi_check_rhs("krylov", settings);
  if (status == TSI_EXIT_OK) status = tsi_picture_check("krylov", "svg", settings->svg);
  return status != TSI_EXIT_OK ? status : tsi_krylov_precond_read(settings, &z->words);
}

int tsi_command_krylov(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tsi_krylov_solution z = {.solved = false};
  const int wrong = check_words(settings, &z);
  if (wrong != TSI_EXIT_OK) return wrong;
  if (tsi_launched().processes > 1) return tsi_krylov_distributed(settings, &z.words);
  if (settings->overlap > 0)
    return tsi_usage_error("krylov", "--overlap needs several processes, by mpiexec");
  const bool solved = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s) &&
                      tsi_rhs_make(s, &z.b) && prepare(s, &z) && solve(s, &z);
  if (solved && tsi_krylov_write(s, &z)) (void)tsi_krylov_judge_columns(s, &z);
  tsi_krylov_report(s, &z);
  tsi_json_write(s, tsi_krylov_json(s, &z));
  tsi_krylov_release(&z);
  return tsi_session_close(s);
}
