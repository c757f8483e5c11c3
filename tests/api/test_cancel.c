/* `progress` follows an analysis and cancels it, with any ordering: within a second tristar_analyze returns
 * CANCELLED, and no process, no file and no memory remains. A later analysis has the same order as without
 * `progress`, also if the helper program is missing. */
#include <errno.h>
#include <time.h>

#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"
#include "tristar_stats.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Calls of the progress function. */
typedef struct seen {
  double after; /* cancels after this many seconds of the analysis; negative: never */
  int calls;
  double latest, longest; /* time of the latest call; longest time between two calls */
  double seconds, share;  /* arguments of the latest call */
} seen;

static int follow(void *arg, const tristar_analysis_point *point) {
  seen *s = arg;
  const double time = now();
  if (s->calls++ > 0 && time - s->latest > s->longest) s->longest = time - s->latest;
  CHECK(point->share >= 0 && point->share <= 1 && point->seconds >= s->seconds);
  s->latest = time;
  s->seconds = point->seconds;
  s->share = point->share;
  return s->after >= 0 && point->seconds >= s->after;
}

static const tristar_ordering all[] = {TRISTAR_ORDERING_METIS, TRISTAR_ORDERING_AMD,
                                       TRISTAR_ORDERING_DISSECTION, TRISTAR_ORDERING_AUTO,
                                       TRISTAR_ORDERING_SCOTCH};
enum { ORDERINGS = sizeof all / sizeof *all };

static bool is_there(tristar_ordering ordering) {
  return ordering != TRISTAR_ORDERING_SCOTCH || tristar_scotch_version() != NULL;
}

/* Cancels an analysis. Returns the longest time between two calls, or between the last call and the end if
 * that is longer. */
static double cancel(tristar_t *ts, const tristar_view *a, tristar_analysis_options *options, double after) {
  const size_t before = bytes_held(ts);
  const int files = open_files();
  tristar_analysis_t *analysis = NULL;
  char message[256];
  seen s = {.after = after};
  options->progress = follow;
  options->progress_arg = &s;
  const tristar_status status = tristar_analyze(ts, a, options, &analysis);
  const double end = now();
  errno = 0;
  CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
  CHECK(open_files() == files);
  if (status == TRISTAR_OK) { /* the analysis ended before */
    CHECK(after > 0);
    tristar_analysis_destroy(&analysis);
  } else {
    CHECK_STATUS(status, TRISTAR_ERR_CANCELLED);
    CHECK(analysis == NULL && tristar_get_error(ts, message, sizeof message) > 0);
    CHECK(strstr(message, "cancelled") != NULL);
  }
  CHECK(bytes_held(ts) == before);
  return end - s.latest > s.longest ? end - s.latest : s.longest;
}

static void check_cancelled(tristar_t *ts, const tristar_view *a, tristar_ordering ordering) {
  static const double after[] = {0, 0.05, 0.2, 0.5};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.ordering = ordering;
  if (!is_there(ordering)) return;
  for (size_t k = 0; k < sizeof after / sizeof *after; k++) {
    double seconds = 2;
    for (int tries = 0; tries < 3 && seconds >= 1; tries++) /* other processes may delay it */
      seconds = cancel(ts, a, &options, after[k]);
    CHECK_MSG(seconds < 1, "ordering %d, cancelled after %g s: %g s later", (int)ordering, after[k], seconds);
  }
}

/* Returns the entries of L, by which orderings can be distinguished. */
static int64_t entries(tristar_t *ts, const tristar_view *a, const tristar_analysis_options *options) {
  tristar_analysis_stats stats;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, a, options);
  CHECK_OK(tristar_analysis_get_stats(analysis, &stats));
  return stats.nnz_lower;
}

static void check_same(tristar_t *ts, const tristar_view *a, tristar_ordering ordering, int leaf_parts) {
  seen s = {.after = -1};
  tristar_analysis_options options = DEFAULTS(tristar_analysis_options);
  options.ordering = ordering;
  options.leaf_parts = leaf_parts;
  if (!is_there(ordering)) return;
  const int64_t plain = entries(ts, a, &options);
  options.progress = follow;
  options.progress_arg = &s;
  CHECK(entries(ts, a, &options) == plain);
  CHECK(s.calls > 0 && s.share == 1);
  s = (seen){.after = -1};
  CHECK(setenv("TRISTAR_HELPERS", "/nowhere", 1) == 0);
  CHECK(entries(ts, a, &options) == plain && s.calls > 0);
  CHECK(unsetenv("TRISTAR_HELPERS") == 0);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_with_starpu(2, false);
  tristar_matrix_t *large, *small;
  tristar_view a, b;
  CHECK_OK(tristar_matrix_read(ts, "gen:s2d9pt:700", &large));
  a = read_view(ts, "gen:s2d9pt:130", &small);
  tristar_matrix_get_view(small, &b);
  for (int k = 0; k < ORDERINGS; k++) {
    RUN(check_cancelled(ts, &a, all[k]));
    RUN(check_same(ts, &b, all[k], 0));
    RUN(check_same(ts, &b, all[k], 4));
  }
  tristar_matrix_destroy(&large);
  tristar_matrix_destroy(&small);
  tristar_destroy(&ts);
  return 0;
}
