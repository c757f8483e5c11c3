/* See watch.h. */
#include "runtime/base/watch.h"

#include "runtime/base/clock.h"
#include "runtime/base/progress.h"

#define CALL_SECONDS 0.1
#define LINE_SECONDS 1.0

tsi_watch tsi_watch_begin(tristar_analysis_progress_fn progress, void *arg) {
  const double now = tsi_wall_clock();
  return (tsi_watch){.progress = progress, .arg = arg, .begin = now, .next_line = now + LINE_SECONDS};
}

tristar_status tsi_watch_look(tsi_env *env, tsi_watch *watch, const char *what) {
  if (watch == NULL) return TRISTAR_OK;
  const double now = tsi_wall_clock();
  TSI_TRY(tsi_progress_look(env, TRISTAR_PHASE_ANALYSIS, watch->share));
  if (watch->progress != NULL && !watch->cancelled && now >= watch->next) {
    const tristar_analysis_point point = {.seconds = now - watch->begin, .share = watch->share};
    watch->cancelled = watch->progress(watch->arg, &point) != 0;
    watch->next = now + CALL_SECONDS;
  }
  if (watch->cancelled)
    TSI_FAIL(env, TRISTAR_ERR_CANCELLED, "the function `progress` cancelled the analysis after %.3g s (%s)",
             now - watch->begin, what);
  if (now >= watch->next_line) {
    tsi_log(env, TRISTAR_LOG_PROGRESS, "%s, %.0f s", what, now - watch->begin);
    watch->next_line = now + LINE_SECONDS;
  }
  return TRISTAR_OK;
}
