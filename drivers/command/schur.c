/* `tristar schur`: the Schur complement of the unknowns in a file.
 *
 * On one process it is a part of the factor; on many, see schur_mpi.c. */
#include <stdlib.h>

#include "drivers/command/solve.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/launcher.h"
#include "drivers/report/report.h"
#include "tristar_schur.h"

bool tsi_schur_read_unknowns(tsi_session *s) {
  return tsi_rows_read(s, s->settings->unknowns, s->view.rows, true, &s->schur, &s->schur_count);
}

bool tsi_schur_write(tsi_session *s, const tristar_dense *complement) {
  return tsi_solution_write(s, complement, "Schur complement of %lld unknowns of %s (TriStar %s)",
                            (long long)s->schur_count, s->name, tristar_version());
}

void tsi_schur_report(const tsi_session *s) {
  tsi_report("schur", "%s, a dense matrix of %s", tsi_text_many(s->schur_count, "unknown"),
             tsi_text_bytes((double)s->schur_count * (double)s->schur_count * (double)s->precision->bytes));
  if (s->settings->out != NULL) tsi_report("written", "%s", s->settings->out);
  if (s->settings->reduced != NULL) tsi_report("written", "%s", s->settings->reduced);
  if (s->settings->solution != NULL) tsi_report("written", "%s", s->settings->solution);
}

bool tsi_schur_vectors_read(tsi_session *s, tsi_schur_vectors *v) {
  const tsi_settings *o = s->settings;
  if (o->reduced == NULL && o->interface == NULL) return true;
  if (!tsi_rhs_make(s, &v->b)) return false;
  if (o->reduced != NULL && !tsi_dense_make(s, s->schur_count, v->b.cols, &v->g)) return false;
  if (o->interface == NULL) return true;
  if (!tsi_columns_read(s, o->interface, "Schur complement", s->schur_count, &v->x_s)) return false;
  if (v->x_s.cols != v->b.cols)
    return tsi_session_fail(s, TRISTAR_ERR_ARGUMENT, "%s: %lld columns, but there are %lld right-hand sides",
                            tsi_input_name(o->interface), (long long)v->x_s.cols, (long long)v->b.cols);
  return tsi_dense_make(s, s->view.rows, v->b.cols, &v->x);
}

static bool write_vectors(tsi_session *s, const char *path, const tristar_dense *vectors, const char *what) {
  char comment[400];
  if (path == NULL) return true;
  snprintf(comment, sizeof comment, "%s of %.200s (TriStar %s)", what, s->name, tristar_version());
  return tsi_session_check(s, tristar_dense_write(s->ts, path, vectors, comment), tsi_output_name(path));
}

bool tsi_schur_vectors_write(tsi_session *s, const tsi_schur_vectors *v) {
  return write_vectors(s, s->settings->reduced, &v->g, "right-hand sides of the Schur complement") &&
         write_vectors(s, s->settings->solution, &v->x, "solutions");
}

void tsi_schur_vectors_free(tsi_schur_vectors *v) {
  free(v->b.values);
  free(v->g.values);
  free(v->x_s.values);
  free(v->x.values);
}

/* Condenses the right-hand sides in place, then expands the solutions from them. */
static bool solve(tsi_session *s, tsi_schur_vectors *v) {
  const int64_t n = v->b.rows, nrhs = v->b.cols, count = s->schur_count;
  tristar_dense g = {.values = NULL};
  if (v->b.values == NULL) return true;
  bool ok = tsi_session_plan(s, nrhs) && (v->g.values != NULL || tsi_dense_make(s, count, nrhs, &g));
  ok = ok && tsi_session_check(s,
                               tristar_schur_condense(s->plan, TRISTAR_N, nrhs, v->b.values, n, v->b.values,
                                                      n, v->g.values ? v->g.values : g.values, count),
                               s->name);
  if (v->x_s.values != NULL)
    ok = ok && tsi_session_check(s,
                                 tristar_schur_expand(s->plan, TRISTAR_N, nrhs, v->b.values, n, v->x_s.values,
                                                      count, v->x.values, n),
                                 s->name);
  free(g.values);
  return ok && tsi_schur_vectors_write(s, v);
}

static bool make_complement(tsi_session *s, tristar_dense *complement) {
  return tsi_schur_read_unknowns(s) && tsi_session_analyze(s) && tsi_session_factor(s) &&
         tsi_dense_make(s, s->schur_count, s->schur_count, complement) &&
         tsi_session_check(s, tristar_schur_get(s->factor, complement->values, s->schur_count), s->name) &&
         tsi_schur_write(s, complement);
}

int tsi_command_schur(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tristar_dense complement = {.values = NULL};
  tsi_schur_vectors vectors = {.b = {.values = NULL}};
  if (settings->operand[0] == NULL) return tsi_usage_error("schur", "no MATRIX given");
  if (settings->unknowns == NULL) return tsi_usage_error("schur", "--unknowns FILE is missing");
  if (settings->rhs != NULL && settings->reduced == NULL && settings->interface == NULL)
    return tsi_usage_error("schur", "--rhs needs --reduced FILE or --interface FILE");
  if ((settings->reduced != NULL || settings->interface != NULL) && settings->rhs == NULL)
    return tsi_usage_error("schur", "--reduced and --interface need --rhs FILE");
  if ((settings->interface == NULL) != (settings->solution == NULL))
    return tsi_usage_error("schur", "--interface FILE and --solution FILE need each other");
  if (settings->layout != NULL || tsi_launched().processes > 1) return tsi_schur_distributed(settings);
  if (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0)
    return tsi_usage_error("schur", "--algo, --map and --message-tree need --layout");
  const bool made = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s) &&
                    make_complement(s, &complement) && tsi_schur_vectors_read(s, &vectors) &&
                    solve(s, &vectors);
  if (made && !settings->to_stdout) {
    tsi_console_clear();
    tsi_report_matrix(s);
    tsi_report_analysis(s);
    tsi_report_factor(s);
    tsi_schur_report(s);
    if (s->f.schur_refined)
      tsi_report("", "by refined solves, as %s perturbed",
                 s->f.perturbed_pivots == 1 ? "a pivot was" : "pivots were");
  }
  cJSON *object = tsi_json_session(s);
  if (made) TSI_JSON_NUMBERS(object, {"schur_unknowns", (double)s->schur_count});
  if (made) cJSON_AddBoolToObject(object, "schur_refined", s->f.schur_refined);
  tsi_json_write(s, object);
  free(complement.values);
  tsi_schur_vectors_free(&vectors);
  free(s->schur);
  return tsi_session_close(s);
}
