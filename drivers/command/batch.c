/* `tristar batch`: solves systems with one pattern; each is in a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/report/report.h"
#include "drivers/session/commands.h"
#include "drivers/session/console.h"
#include "tristar_batch.h"

typedef struct batch_run {
  int64_t count, entries; /* number of systems; values per system */
  char *values;           /* count x entries, in the session's precision */
  tristar_dense b, x;     /* b: own_b columns for each system; x: nrhs */
  int64_t nrhs, own_b;    /* own_b 0: all systems have the same b */
  double *error;          /* count */
  tristar_status *status;
  tristar_batch_t *batch;
  tristar_batch_stats stats;
  double batch_s;
} batch_run;

static const char *file_of(const tsi_session *s, int64_t system) {
  return s->settings->operands[system + 1];
}

/* Reads the values of a system, whose pattern must be that of the typical matrix. */
static bool read_values(tsi_session *s, int64_t system, batch_run *r) {
  const char *path = file_of(s, system);
  const int64_t *ptr = s->view.ptr;
  const tristar_view *a = &s->view;
  tristar_matrix_t *matrix = NULL;
  tristar_view v;
  bool ok = tsi_session_check(s, tristar_matrix_read(s->ts, path, &matrix), path);
  if (ok) {
    tristar_matrix_get_view(matrix, &v);
    if (v.rows != a->rows || v.cols != a->cols || v.symmetry != a->symmetry ||
        memcmp(v.ptr, ptr, (size_t)(a->cols + 1) * sizeof *ptr) != 0 ||
        memcmp(v.index, a->index, (size_t)r->entries * sizeof(int32_t)) != 0)
      ok = tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s: not the pattern and the symmetry of %s", path,
                            s->name);
  }
  ok = ok && tsi_session_convert(s, path, v.scalar, v.values, r->entries,
                                 r->values + (size_t)(system * r->entries) * s->precision->bytes);
  tristar_matrix_destroy(&matrix);
  return ok;
}

static bool read_systems(tsi_session *s, batch_run *r) {
  const int64_t *ptr = s->view.ptr;
  r->count = s->settings->operand_count - 1;
  r->entries = ptr[s->view.cols];
  r->values = calloc((size_t)(r->count * r->entries) + 1, s->precision->bytes);
  r->error = calloc((size_t)r->count, sizeof *r->error);
  r->status = calloc((size_t)r->count, sizeof *r->status);
  if (r->values == NULL || r->error == NULL || r->status == NULL)
    return tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for the values of %" PRId64 " systems",
                            r->count);
  for (int64_t k = 0; k < r->count; k++)
    if (!read_values(s, k, r)) return false;
  return true;
}

/* If --rhs has as many columns as there are systems, each system has one. Else all systems have all columns.
 */
static bool make_vectors(tsi_session *s, batch_run *r) {
  if (!tsi_rhs_make(s, &r->b)) return false;
  r->own_b = s->settings->rhs != NULL && r->b.cols == r->count ? 1 : 0;
  r->nrhs = r->own_b > 0 ? 1 : r->b.cols;
  return tsi_dense_make(s, s->view.rows, r->count * r->nrhs, &r->x);
}

/* Returns false if a system failed; the others are solved all the same. */
static bool run_batch(tsi_session *s, batch_run *r) {
  const int64_t n = s->view.rows;
  tristar_batch_options options;
  tristar_batch_options_init(&options);
  const tristar_analysis_options analysis = tsi_session_analysis_options(s);
  options.ordering = analysis.ordering;
  options.matching = analysis.matching;
  options.method = (tristar_method)s->settings->batch_method;
  options.engine = (tristar_engine)s->settings->engine;
  options.systems = r->count;
  if (s->settings->tolerance >= 0) options.tolerance = s->settings->tolerance;
  if (!tsi_session_check(s, tristar_batch(s->ts, &s->view, &options, &r->batch), s->name)) return false;
  const double begin = tsi_now();
  const tristar_status status = tristar_batch_factor_solve(
      r->batch, r->count, r->values, r->entries, tsi_session_op(s)->op, r->nrhs, r->b.values, n, r->own_b * n,
      r->x.values, n, r->nrhs * n, r->error, r->status);
  r->batch_s = tsi_now() - begin;
  tristar_batch_get_stats(r->batch, &r->stats);
  int64_t first = 0; /* first system that failed */
  while (first < r->count && r->status[first] == TRISTAR_OK) first++;
  return tsi_session_check(s, status, first < r->count ? file_of(s, first) : s->name);
}

static double worst_error(const batch_run *r) {
  double worst = 0;
  for (int64_t k = 0; k < r->count; k++)
    if (r->status[k] == TRISTAR_OK && r->error[k] > worst) worst = r->error[k];
  return worst;
}

static int64_t count_failed(const batch_run *r) {
  int64_t failed = 0;
  for (int64_t k = 0; k < r->count; k++) failed += r->status[k] != TRISTAR_OK;
  return failed;
}

static void report(const tsi_session *s, const batch_run *r) {
  enum { SHOWN = 10 };
  int shown = 0;
  const tristar_batch_stats *t = &r->stats;
  tsi_report("matrix", "%s: %s, %s", s->name, tsi_text_many(t->n, "row"), tsi_text_many(r->entries, "value"));
  tsi_report("factor", "%" PRId64 " entries of L and %s of a system, %.3g operations", t->nnz_factor,
             t->method == TRISTAR_METHOD_LU ? "U" : "D", t->flops);
  tsi_report("batch", "%s, %d at a time on each of %s", tsi_text_many(r->count, "system"), t->lanes,
             tsi_text_many(t->workers, "worker"));
  tsi_report("solve", "%s, %s for a system", tsi_text_seconds(r->batch_s),
             tsi_text_seconds(r->batch_s / (double)r->count));
  tsi_report("accuracy", "backward error %.1e", worst_error(r));
  if (t->apart > 0) tsi_report("", "%s with pivots of their own", tsi_text_many(t->apart, "system"));
  for (int64_t k = 0; k < r->count && shown < SHOWN; k++)
    if (r->status[k] != TRISTAR_OK && shown++ >= 0)
      tsi_report("failed", "%s: %s", file_of(s, k), tristar_status_name(r->status[k]));
  if (count_failed(r) > shown) tsi_report("", "and %" PRId64 " others", count_failed(r) - shown);
  if (s->settings->out != NULL) tsi_report("written", "%s", s->settings->out);
}

static void add_json(const tsi_session *s, const batch_run *r, cJSON *object) {
  const tristar_batch_stats *t = &r->stats;
  TSI_JSON_NUMBERS(object, {"batch_systems", (double)r->count}, {"batch_failed", (double)count_failed(r)},
                   {"batch_apart", (double)t->apart}, {"batch_lanes", t->lanes},
                   {"batch_workers", t->workers}, {"batch_factor_entries", (double)t->nnz_factor},
                   {"batch_flops", t->flops}, {"batch_group_bytes", t->group_bytes}, {"batch_s", r->batch_s},
                   {"batch_backward_error", worst_error(r)});
  cJSON_AddStringToObject(object, "batch_method", tsi_method_name(t->method));
  cJSON *systems = cJSON_AddArrayToObject(object, "systems");
  for (int64_t k = 0; k < r->count; k++) {
    cJSON *item = tsi_json_add_item(systems);
    cJSON_AddStringToObject(item, "file", file_of(s, k));
    cJSON_AddStringToObject(item, "status", tristar_status_name(r->status[k]));
    if (r->status[k] == TRISTAR_OK) TSI_JSON_NUMBERS(item, {"backward_error", r->error[k]});
  }
}

/* Writes the solutions of all systems that did not fail. */
static bool write_solutions(tsi_session *s, batch_run *r) {
  const tristar_status failed = s->status;
  const size_t each = (size_t)(s->view.rows * r->nrhs) * s->precision->bytes;
  tristar_dense solved = r->x;
  solved.cols = 0;
  for (int64_t k = 0; k < r->count; k++) {
    if (r->status[k] != TRISTAR_OK) continue;
    memmove((char *)r->x.values + (size_t)(solved.cols / r->nrhs) * each,
            (char *)r->x.values + (size_t)k * each, each);
    solved.cols += r->nrhs;
  }
  if (solved.cols == 0) return true;
  s->status = TRISTAR_OK;
  const bool written = tsi_solution_write(
      s, &solved, "X of %lld of %lld systems of the pattern of %.200s (TriStar %s)",
      (long long)(r->count - count_failed(r)), (long long)r->count, s->name, tristar_version());
  if (written) s->status = failed;
  return written;
}

int tsi_command_batch(const tsi_settings *settings) {
  tsi_session session, *s = &session;
  batch_run r = {.count = 0};
  if (settings->operand[0] == NULL) return tsi_usage_error("batch", "no MATRIX given");
  if (settings->operand_count < 2)
    return tsi_usage_error("batch", "no VALUES given: a matrix file for each system");
  const bool ready = tsi_session_open(s, settings, settings->operand[0]) && tsi_session_read(s) &&
                     read_systems(s, &r) && make_vectors(s, &r);
  const bool ran = ready && (run_batch(s, &r) || r.batch_s > 0);
  if (ran) (void)write_solutions(s, &r);
  if (ran && !settings->to_stdout) {
    tsi_console_clear();
    report(s, &r);
  }
  cJSON *object = tsi_json_session(s);
  if (ran) add_json(s, &r, object);
  tsi_json_write(s, object);
  tristar_batch_destroy(&r.batch);
  free(r.values);
  free(r.b.values);
  free(r.x.values);
  free(r.error);
  free(r.status);
  return tsi_session_close(s);
}
