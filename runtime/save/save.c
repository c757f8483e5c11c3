/* tristar_..._save, _write, _load, _read: see tristar_save.h. */
#include "runtime/save/file.h"
#include "runtime/save/objects.h"

/* An object to be saved. */
typedef struct saved {
  tsi_env *env;
  const char *kind;
  const tristar_analysis_t *analysis;
  const tristar_factor_t *factor;
  const tristar_plan_t *plan;
} saved;

static tristar_status check_factor(const tristar_factor_t *factor) {
  if (factor->rows != NULL)
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_UNSUPPORTED,
             "the factor is a triangular matrix that is solved by rows or in blocks: save the matrix itself");
  return tsi_factor_need_values(factor);
}

static tristar_status put_all(tsi_sink *sink, const saved *what) {
  const tristar_factor_t *factor = what->plan ? what->plan->factor : what->factor;
  TSI_TRY(tsi_analysis_need_whole(factor ? factor->analysis : what->analysis));
  if (factor != NULL) TSI_TRY(check_factor(factor));
  TSI_TRY(tsi_sink_begin(sink, what->kind));
  TSI_TRY(what->plan     ? tsi_plan_put(sink, what->plan)
          : what->factor ? tsi_factor_put(sink, what->factor)
                         : tsi_analysis_put(sink, what->analysis));
  return tsi_sink_end(sink);
}

static tristar_status write_to_function(const saved *what, tristar_write_fn write, void *arg) {
  tsi_sink sink = {what->env, write, arg};
  if (write == NULL) TSI_FAIL(what->env, TRISTAR_ERR_ARGUMENT, "write is NULL");
  return put_all(&sink, what);
}

static tristar_status write_to_path(const saved *what, const char *path) {
  tsi_sink_file file;
  TSI_TRY(tsi_sink_file_open(what->env, path, &file));
  const tristar_status status = tsi_sink_file_close(&file, put_all(&file.sink, what));
  const tristar_status ended = tsi_sink_file_end(&file, status == TRISTAR_OK);
  return status != TRISTAR_OK ? status : ended;
}

/* ---- Loading --------------------------------------------------------------------------------------------
 */

/* The objects to be read: those whose pointers are not NULL. kind: the largest of them. */
typedef struct requested {
  tristar_t *ts;
  const char *kind;
  tristar_analysis_t **analysis;
  tristar_factor_t **factor;
  tristar_plan_t **plan;
} requested;

static void discard(const requested *w) {
  if (w->analysis) *w->analysis = NULL;
  if (w->factor) *w->factor = NULL;
  if (w->plan) *w->plan = NULL;
}

/* Reads the end, unless the source has a larger object than requested. */
static tristar_status take_end(tsi_source *source, const char *kind, const char *requested_kind) {
  return strcmp(kind, requested_kind) == 0 ? tsi_get_to(source, "end", 1, 0, NULL) : TRISTAR_OK;
}

static tristar_status take_all(tsi_source *source, const requested *w) {
  TSI_CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NULL;
  char kind[TSI_RECORD_NAME];
  TSI_TRY(tsi_source_begin(source, kind));
  const bool has_plan = strcmp(kind, "plan") == 0, has_factor = has_plan || strcmp(kind, "factor") == 0;
  if (strcmp(kind, TSI_SAVED_RANK) == 0)
    TSI_FAIL(source->env, TRISTAR_ERR_FORMAT,
             "%s: it has the share of one rank of a distributed factor: tristar_distributed_load",
             source->subject);
  if (!has_factor && strcmp(kind, "analysis") != 0) TSI_DAMAGED(source, "it has a %s", kind);
  if ((w->plan != NULL && !has_plan) || (w->analysis == NULL && !has_factor))
    TSI_FAIL(source->env, TRISTAR_ERR_FORMAT, "%s: it has %s %s, and no %s", source->subject,
             has_factor ? "a" : "an", kind, w->kind);
  if (w->analysis != NULL) {
    TSI_TRY(tsi_analysis_take(w->ts, source, w->analysis));
    TSI_TRY(take_end(source, kind, "analysis"));
    return (*w->analysis)->imported ? TRISTAR_OK : tsi_assembly_create(source->env, *w->analysis);
  }
  TSI_TRY(tsi_factor_take(w->ts, source, &factor));
  if (w->plan != NULL) TSI_TRY(tsi_plan_take(source, factor, w->plan));
  TSI_TRY(take_end(source, kind, w->plan != NULL ? "plan" : "factor"));
  if (w->factor != NULL) *w->factor = tsi_take(&factor);
  return TRISTAR_OK;
}

static tristar_status take_or_nothing(tsi_source *source, const requested *w) {
  const tristar_status status = take_all(source, w);
  if (status == TRISTAR_OK) return status;
  if (w->analysis) tristar_analysis_destroy(w->analysis);
  if (w->plan) tristar_plan_destroy(w->plan);
  return status;
}

static tristar_status read_from_function(const requested *w, tristar_read_fn read, void *arg) {
  tsi_source source = {
      .env = &w->ts->env, .read = read, .arg = arg, .subject = "the saved object", .left = UINT64_MAX};
  if (read == NULL) TSI_FAIL(&w->ts->env, TRISTAR_ERR_ARGUMENT, "read is NULL");
  return take_or_nothing(&source, w);
}

static tristar_status read_from_path(const requested *w, const char *path) {
  TSI_CLEANUP(tsi_source_file_close) tsi_source_file file;
  TSI_TRY(tsi_source_file_open(w->ts, path, &file));
  return tsi_source_file_explain(&file, take_or_nothing(&file.source, w));
}

/* ---- Public functions -----------------------------------------------------------------------------------
 */

tristar_status tristar_analysis_save(const tristar_analysis_t *analysis, const char *path) {
  TSI_ENTER(analysis, analysis->ts);
  const saved what = {.env = &analysis->ts->env, .kind = "analysis", .analysis = analysis};
  return tsi_answer(what.env, write_to_path(&what, path));
}

tristar_status tristar_analysis_write(const tristar_analysis_t *analysis, tristar_write_fn write, void *arg) {
  TSI_ENTER(analysis, analysis->ts);
  const saved what = {.env = &analysis->ts->env, .kind = "analysis", .analysis = analysis};
  return tsi_answer(what.env, write_to_function(&what, write, arg));
}

tristar_status tristar_factor_save(const tristar_factor_t *factor, const char *path) {
  TSI_ENTER(factor, factor->ts);
  const saved what = {.env = &factor->ts->env, .kind = "factor", .factor = factor};
  return tsi_answer(what.env, write_to_path(&what, path));
}

tristar_status tristar_factor_write(const tristar_factor_t *factor, tristar_write_fn write, void *arg) {
  TSI_ENTER(factor, factor->ts);
  const saved what = {.env = &factor->ts->env, .kind = "factor", .factor = factor};
  return tsi_answer(what.env, write_to_function(&what, write, arg));
}

tristar_status tristar_plan_save(const tristar_plan_t *plan, const char *path) {
  TSI_ENTER(plan, plan->ts);
  const saved what = {.env = &plan->ts->env, .kind = "plan", .plan = plan};
  return tsi_answer(what.env, write_to_path(&what, path));
}

tristar_status tristar_plan_write(const tristar_plan_t *plan, tristar_write_fn write, void *arg) {
  TSI_ENTER(plan, plan->ts);
  const saved what = {.env = &plan->ts->env, .kind = "plan", .plan = plan};
  return tsi_answer(what.env, write_to_function(&what, write, arg));
}

/* The public function must receive a pointer to the object; other requested objects are in w. */
#define MUST_HAVE(env, object)                                                                               \
  if ((object) == NULL)                                                                                      \
  return tsi_answer(                                                                                         \
      (env), tsi_fail((env), TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "%s is NULL", #object))

tristar_status tristar_analysis_load(tristar_t *ts, const char *path, tristar_analysis_t **analysis) {
  const requested w = {.ts = ts, .kind = "analysis", .analysis = analysis};
  discard(&w);
  TSI_ENTER(ts, ts);
  MUST_HAVE(&ts->env, analysis);
  return tsi_answer(&ts->env, read_from_path(&w, path));
}

tristar_status tristar_analysis_read(tristar_t *ts, tristar_read_fn read, void *arg,
                                     tristar_analysis_t **analysis) {
  const requested w = {.ts = ts, .kind = "analysis", .analysis = analysis};
  discard(&w);
  TSI_ENTER(ts, ts);
  MUST_HAVE(&ts->env, analysis);
  return tsi_answer(&ts->env, read_from_function(&w, read, arg));
}

tristar_status tristar_factor_load(tristar_t *ts, const char *path, tristar_factor_t **factor) {
  const requested w = {.ts = ts, .kind = "factor", .factor = factor};
  discard(&w);
  TSI_ENTER(ts, ts);
  MUST_HAVE(&ts->env, factor);
  return tsi_answer(&ts->env, read_from_path(&w, path));
}

tristar_status tristar_factor_read(tristar_t *ts, tristar_read_fn read, void *arg,
                                   tristar_factor_t **factor) {
  const requested w = {.ts = ts, .kind = "factor", .factor = factor};
  discard(&w);
  TSI_ENTER(ts, ts);
  MUST_HAVE(&ts->env, factor);
  return tsi_answer(&ts->env, read_from_function(&w, read, arg));
}

tristar_status tristar_plan_load(tristar_t *ts, const char *path, tristar_factor_t **factor,
                                 tristar_plan_t **plan) {
  const requested w = {.ts = ts, .kind = "plan", .factor = factor, .plan = plan};
  discard(&w);
  TSI_ENTER(ts, ts);
  MUST_HAVE(&ts->env, plan);
  return tsi_answer(&ts->env, read_from_path(&w, path));
}

tristar_status tristar_plan_read(tristar_t *ts, tristar_read_fn read, void *arg, tristar_factor_t **factor,
                                 tristar_plan_t **plan) {
  const requested w = {.ts = ts, .kind = "plan", .factor = factor, .plan = plan};
  discard(&w);
  TSI_ENTER(ts, ts);
  MUST_HAVE(&ts->env, plan);
  return tsi_answer(&ts->env, read_from_function(&w, read, arg));
}

static tristar_status need_matrix(const tristar_factor_t *factor) {
  if (!factor->has_matrix)
    TSI_FAIL(&factor->ts->env, TRISTAR_ERR_UNSUPPORTED, "the factor was imported without the matrix");
  return TRISTAR_OK;
}

tristar_status tristar_factor_get_matrix(const tristar_factor_t *factor, tristar_view *view) {
  if (view != NULL) tristar_view_init(view);
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  MUST_HAVE(env, view);
  const tristar_status status = need_matrix(factor);
  if (status == TRISTAR_OK) *view = tsi_pattern_view(factor->analysis->pattern, factor->values);
  return tsi_answer(env, status);
}

tristar_status tristar_factor_get_places(const tristar_factor_t *factor, int64_t *count,
                                         const int64_t **place) {
  if (count != NULL) *count = 0;
  if (place != NULL) *place = NULL;
  TSI_ENTER(factor, factor->ts);
  tsi_env *env = &factor->ts->env;
  MUST_HAVE(env, count);
  MUST_HAVE(env, place);
  const tristar_status status = need_matrix(factor);
  if (status == TRISTAR_OK) {
    *count = factor->analysis->pattern->given;
    *place = factor->analysis->pattern->place;
  }
  return tsi_answer(env, status);
}
