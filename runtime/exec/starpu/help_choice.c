/* The choice whether work is shared: see helpers.h. */
#include "runtime/exec/starpu/helpers.h"

/* Runs of a trial. The first run counts only if it is the only one: its data is not in the caches. */
#define TRIAL 3
#define AWAITED 20 /* runs of a trial that need not count because no helper entered: workers may sleep */
/* Runs between trials; doubled after each trial that does not change the choice. In the first runs caches are
 * cold, and other programs or machines that share these cores may begin and end at any time. */
#define FIRST_PAUSE 16
#define LONGEST_PAUSE 512
/* A choice that takes so many times as long: the other cores are busy, and the run waited for one of them.
 * The trial ends, and is repeated seldom. */
#define HOPELESS 3
#define HOPELESS_PAUSE 4096
#define MANY 16            /* runs after which the faster choice is sure enough to build data for it */
#define LATEST_WEIGHT 0.25 /* weight of the latest run */
#define CLEARLY 0.9        /* a choice changes only if it takes less than this part of the time */

static void begin_trial(tsi_help_choice *choice, bool helped) {
  choice->trial = helped;
  choice->left = TRIAL;
  choice->missed = 0;
}

static void end_trial(tsi_help_choice *choice) {
  const bool other = !choice->helped;
  const double of_other = choice->seconds[other], own = choice->seconds[choice->helped];
  const bool changes = of_other < CLEARLY * own;
  const int64_t longest = of_other > HOPELESS * own ? HOPELESS_PAUSE : LONGEST_PAUSE;
  choice->helped = changes ? other : choice->helped;
  choice->pause = changes || choice->pause == 0 ? FIRST_PAUSE
                  : choice->pause < longest     ? 2 * choice->pause
                                                : longest;
  choice->next = choice->runs + choice->pause;
}

bool tsi_help_choose(tsi_help_choice *choice) {
  if (choice->runs == 0) /* two trials, one after the other; no helper enters yet */
    begin_trial(choice, true);
  else if (choice->left == 0 && choice->seconds[false] == 0)
    begin_trial(choice, false);
  else if (choice->left == 0 && choice->runs >= choice->next)
    begin_trial(choice, !choice->helped);
  choice->runs++;
  return choice->left > 0 ? choice->trial : choice->helped;
}

bool tsi_help_is_refused(const tsi_help_choice *choice) {
  return choice->runs > MANY && choice->left == 0 && !choice->helped;
}

void tsi_help_note(tsi_help_choice *choice, double seconds, bool came) {
  if (choice->left > 0 && choice->trial && !came && choice->missed++ < AWAITED) return;
  double *latest = &choice->seconds[choice->left > 0 ? choice->trial : choice->helped];
  if (choice->left == 0) {
    *latest += LATEST_WEIGHT * (seconds - *latest);
    if (choice->seconds[!choice->helped] < CLEARLY * *latest) choice->next = choice->runs;
    return;
  }
  if (choice->left >= TRIAL - 1 || seconds < *latest) *latest = seconds; /* the first, the second, or less */
  const double other = choice->seconds[!choice->trial];
  if (choice->left == TRIAL && other > 0 && seconds > HOPELESS * other) choice->left = 1;
  if (--choice->left == 0 && choice->seconds[false] > 0) end_trial(choice);
}
