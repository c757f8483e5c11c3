/* `tristar inverse`: chosen entries of the inverse. On many processes, see inverse_mpi.c. */
#include <stdlib.h>

#include "drivers/command/solve.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "drivers/session/files.h"
#include "drivers/session/launcher.h"
#include "drivers/report/report.h"
#include "tristar_inverse.h"

bool tsi_inverse_entries_read(tsi_session *s, tsi_inverse_entries *e) {
  int64_t *list = NULL, numbers = 0;
  bool ok = tsi_rows_read(s, s->settings->entries, s->view.rows, false, &list, &numbers);
  if (ok && numbers % 2 != 0)
    ok = tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s: an odd number of numbers: entries are rows and columns",
                          tsi_input_name(s->settings->entries));
  e->count = numbers / 2;
  e->row = calloc((size_t)e->count + 1, sizeof *e->row);
  e->column = calloc((size_t)e->count + 1, sizeof *e->column);
  if (ok && (e->row == NULL || e->column == NULL))
    ok = tsi_session_fail(s, TRISTAR_ERR_MEMORY, "%s: out of memory for lists of entries", s->name);
  for (int64_t k = 0; ok && k < e->count; k++) {
    e->row[k] = list[2 * k];
    e->column[k] = list[2 * k + 1];
  }
  free(list);
  return ok;
}

void tsi_inverse_entries_free(tsi_inverse_entries *e) {
  free(e->row);
  free(e->column);
}

static tristar_status compute(const tsi_session *s, const tsi_inverse_entries *e, void *values) {
  if (s->settings->diagonal) return tristar_inverse_diagonal(s->plan, values);
  if (s->settings->pattern) return tristar_inverse_pattern(s->plan, TRISTAR_N, values);
  return tristar_inverse_entries(s->plan, e->count, e->row, e->column, values);
}

bool tsi_inverse_write(tsi_session *s, const tristar_dense *values) {
  char comment[400];
  tristar_view view = s->view;
  if (s->settings->out == NULL) return true;
  snprintf(comment, sizeof comment, "entries of the inverse of %.200s (TriStar %s)", s->name,
           tristar_version());
  if (!s->settings->pattern) return tsi_solution_write(s, values, "%s", comment);
  view.values = values->values;
  return tsi_session_check(s, tristar_matrix_write(s->ts, s->settings->out, &view, comment),
                           tsi_output_name(s->settings->out));
}

void tsi_inverse_report(const tsi_session *s, int64_t values, double seconds, int64_t solves) {
  tsi_report("inverse", "%s in %s", tsi_text_count(values), tsi_text_seconds(seconds));
  if (solves > 0) tsi_report("", "by %s", tsi_text_many(solves, "refined solve"));
  if (s->settings->out != NULL) tsi_report("written", "%s", s->settings->out);
}

static int64_t count_values(const tsi_session *s, const tsi_inverse_entries *e) {
  const int64_t *ptr = s->view.ptr;
  return s->settings->diagonal ? s->view.rows : s->settings->pattern ? ptr[s->view.cols] : e->count;
}

int tsi_command_inverse(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  tsi_inverse_entries e = {.count = 0};
  tristar_dense values = {.values = NULL};
  tristar_plan_stats stats = {.inverse_solves = 0};
  double seconds = 0;
  if (settings->operand[0] == NULL) return tsi_usage_error("inverse", "no MATRIX given");
  if (settings->diagonal + settings->pattern + (settings->entries != NULL) != 1)
    return tsi_usage_error("inverse", "one of --diagonal, --pattern and --entries FILE is needed");
  if (settings->layout != NULL || tsi_launched().processes > 1) return tsi_inverse_distributed(settings);
  if (settings->algo >= 0 || settings->map >= 0 || settings->message_tree >= 0)
    return tsi_usage_error("inverse", "--algo, --map and --message-tree need --layout");
  bool ok = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s) &&
            (settings->entries == NULL || tsi_inverse_entries_read(s, &e)) && tsi_session_analyze(s) &&
            tsi_session_factor(s) && tsi_session_plan(s, 1) &&
            tsi_dense_make(s, count_values(s, &e), 1, &values);
  if (ok) {
    const double begin = tsi_now();
    ok = tsi_session_check(s, compute(s, &e, values.values), s->name);
    seconds = tsi_now() - begin;
  }
  ok = ok && tsi_session_check(s, tristar_plan_get_stats(s->plan, &stats), s->name);
  ok = ok && tsi_inverse_write(s, &values);
  if (ok && !settings->to_stdout) {
    tsi_console_clear();
    tsi_report_matrix(s);
    tsi_report_analysis(s);
    tsi_report_factor(s);
    tsi_inverse_report(s, values.rows, seconds, stats.inverse_solves);
  }
  cJSON *object = tsi_json_session(s);
  if (ok)
    TSI_JSON_NUMBERS(object, {"inverse_entries", (double)values.rows}, {"inverse_s", seconds},
                     {"inverse_solves", (double)stats.inverse_solves});
  tsi_json_write(s, object);
  free(values.values);
  tsi_inverse_entries_free(&e);
  return tsi_session_close(s);
}
