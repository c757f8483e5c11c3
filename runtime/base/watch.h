/* The caller's function that follows a long call, and may cancel it.
 *
 * Job. What works for long looks at the watch now and then, in the thread of the call. Ten times a second at
 * most that calls tristar_analysis_options.progress, and once a second it writes a line of LOG_PROGRESS.
 *
 * Reads   the clock.
 * Writes  log lines.
 * Invariant: once cancelled, each look fails. */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_watch {
  tristar_analysis_progress_fn progress; /* NULL: that of the context alone (progress.h) */
  void *arg;
  double begin;           /* times of tsi_wall_clock: of the call, */
  double next, next_line; /* and from which on the function is called, and a line is written */
  double share;           /* of the present ordering that is done, 0 to 1 */
  double from, part;      /* the share before the present component, and the share of the component */
  bool cancelled;
} tsi_watch;

/* Begins a watch. */
tsi_watch tsi_watch_begin(tristar_analysis_progress_fn progress, void *arg);
/* So much of the present component is done, from 0 to 1. watch may be NULL. */
static inline void tsi_watch_note(tsi_watch *watch, double done) {
  if (watch != NULL) watch->share = watch->from + done * watch->part;
}
/* what: the work, for the log. watch NULL: nothing is done. Errors: CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_watch_look(tsi_env *env, tsi_watch *watch, const char *what);
