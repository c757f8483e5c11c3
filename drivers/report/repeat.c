/* See repeat.h. */
#include "drivers/report/repeat.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/report/report.h"
#include "runtime/base/median.h"

bool tsi_repeat_solves(tsi_session *s, tsi_solve_once *solve, void *context, tsi_repeated *repeated) {
  const int64_t repeat = s->settings->repeat, warm_up = repeat > 1;
  double *seconds = malloc((size_t)(repeat + warm_up) * sizeof *seconds);
  bool ok = seconds != NULL ||
            tsi_session_fail(s, TRISTAR_ERR_MEMORY, "out of memory for %" PRId64 " times", repeat);
  for (int64_t k = 0; k < repeat + warm_up && ok; k++) {
    uint64_t checksum;
    const bool look = tsi_repeat_looks(k, repeat + warm_up);
    ok = solve(context, &seconds[k], look ? &checksum : NULL);
    if (k == 0) repeated->checksum = checksum;
    if (ok && look && !s->settings->atomic_sums && checksum != repeated->checksum)
      ok = tsi_session_fail(s, TRISTAR_ERR_INTERNAL,
                            "%s: solve %" PRId64 " gave other bits (%016" PRIx64
                            ") than the first (%016" PRIx64 "): a defect of TriStar",
                            s->name, k + 1, checksum, repeated->checksum);
  }
  if (ok) {
    double *timed = seconds + warm_up;
    repeated->median_s = tsi_median(timed, (size_t)repeat); /* sorts */
    repeated->fastest_s = timed[0];
  }
  free(seconds);
  return ok;
}

const char *tsi_repeated_text(const tsi_session *s, const tsi_repeated *repeated, char text[static 96]) {
  const int64_t repeat = s->settings->repeat;
  *text = '\0';
  if (repeat > 1)
    snprintf(text, 96, " (median of %" PRId64 ", fastest %s)", repeat, tsi_text_seconds(repeated->fastest_s));
  return text;
}

bool tsi_is_repeated(void) {
  int c;
  if (fflush(stdout) != 0) return false;
  while ((c = getchar()) != EOF)
    if (c == '\n') return true;
  return false;
}
