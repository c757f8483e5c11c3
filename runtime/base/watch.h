/* The caller's function that follows a long call, and may cancel it.
 *
 * Job. Long work calls tsi_watch_look now and then, in the thread of the call. At most ten times a second
 * this calls tristar_analysis_options.progress, and once a second it writes a line of LOG_PROGRESS.
 *
 * Reads   the clock.
 * Writes  log lines.
 * Invariant: once cancelled, each look fails. */
#pragma once

#include "runtime/base/env.h"

typedef struct tsi_watch {
  tristar_analysis_progress_fn progress; /* NULL: only the function of the context (progress.h) */
  void *arg;
  double begin;           /* times of tsi_wall_clock: start of the call, */
  double next, next_line; /* next call of the function, next line of the log */
  double share;           /* finished part of the present ordering, 0 to 1 */
  double from, part;      /* share before the present component, and share of the component */
  bool cancelled;
} tsi_watch;

/* Begins a watch. */
tsi_watch tsi_watch_begin(tristar_analysis_progress_fn progress, void *arg);
/* Sets the finished part of the present component, from 0 to 1. watch may be NULL. */
static inline void tsi_watch_note(tsi_watch *watch, double done) {
  if (watch != NULL) watch->share = watch->from + done * watch->part;
}
/* what: the work, for the log. watch NULL: does nothing. Errors: CANCELLED. */
TRISTAR_CHECKED tristar_status tsi_watch_look(tsi_env *env, tsi_watch *watch, const char *what);
