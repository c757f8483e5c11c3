/* Saved plans: see saved.h. */
#include "drivers/session/saved.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/session/files.h"
#include "tristar_save.h"

static bool is_saved(const char *path) {
  char begin[sizeof TRISTAR_SAVED_MAGIC - 1];
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return false; /* the next function that reads the file reports the error */
  const size_t found = fread(begin, 1, sizeof begin, file);
  fclose(file);
  return found == sizeof begin && memcmp(begin, TRISTAR_SAVED_MAGIC, sizeof begin) == 0;
}

bool tsi_session_is_saved(const tsi_session *s) {
  return !tsi_file_is_standard(s->path) && strncmp(s->path, "gen:", 4) != 0 && is_saved(s->path);
}

bool tsi_session_is_saved_set(const tsi_session *s) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s.0", s->path);
  return access(s->path, F_OK) != 0 && is_saved(path);
}

bool tsi_session_check_load(tsi_session *s) {
  if (s->settings->load == NULL || tsi_session_is_saved(s) || tsi_session_is_saved_set(s)) return true;
  if (access(s->path, R_OK) != 0)
    return tsi_session_fail(s, TRISTAR_ERR_IO, "cannot open %s: %s", s->name, strerror(errno));
  return tsi_session_fail(s, TRISTAR_ERR_FORMAT, "%s: not a file that tristar solve --save has written",
                          s->name);
}

bool tsi_session_check_saved(tsi_session *s) {
  if (!s->settings->laplacian && s->settings->precision < 0) return true;
  return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                          "%s: a saved plan or factor has its matrix and its precision: without --laplacian "
                          "and --precision",
                          s->name);
}

bool tsi_session_load(tsi_session *s) {
  const double begin = tsi_now();
  if (!tsi_session_check_saved(s)) return false;
  if (s->settings->store >= 0 || s->settings->compress > 0)
    return tsi_session_fail(s, TRISTAR_ERR_UNSUPPORTED,
                            "%s: a saved plan has its storage: without --store and --compress", s->name);
  if (!tsi_session_check(s, tristar_plan_load(s->ts, s->path, &s->factor, &s->plan), s->name) ||
      !tsi_session_check(s, tristar_factor_get_matrix(s->factor, &s->view), s->name))
    return false;
  tristar_analysis_get_stats(tristar_factor_get_analysis(s->factor), &s->a);
  tristar_factor_get_stats(s->factor, &s->f);
  tristar_plan_get_stats(s->plan, &s->p);
  s->factored = s->saved = true;
  s->precision = tsi_precision_of(s->view.scalar);
  s->single_factors = s->f.factor_bytes < (size_t)s->f.stored_factor * s->precision->bytes;
  s->analyze_s = s->a.analyze_seconds;
  s->factor_s = s->f.factor_seconds;
  s->plan_s = s->p.plan_seconds;
  s->read_s = tsi_now() - begin;
  return true;
}

bool tsi_session_save(tsi_session *s) {
  const char *path = s->settings->save;
  return path == NULL || tsi_session_check(s, tristar_plan_save(s->plan, path), path);
}
