/* `tristar schur`: the Schur complement of unknowns that a file names.
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
  if (settings->operand[0] == NULL) return tsi_usage_error("schur", "no MATRIX given");
  if (settings->unknowns == NULL) return tsi_usage_error("schur", "--unknowns FILE is missing");
  if (settings->layout != NULL || tsi_launched().processes > 1) return tsi_schur_distributed(settings);
  if (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0)
    return tsi_usage_error("schur", "--algo, --map and --message-tree need --layout");
  const bool made = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s) &&
                    make_complement(s, &complement);
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
  free(s->schur);
  return tsi_session_close(s);
}
