/* See signals.h. */
#include "drivers/session/signals.h"

#include <signal.h>
#include <stddef.h>

/* Function of the handler; global, as signal handlers have no argument for it. */
static void (*volatile before_end)(void);

static void end(int number) {
  before_end();
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

static volatile sig_atomic_t interrupted;

static void note(int number) {
  interrupted = 1;
  (void)signal(number, SIG_DFL);
}

void tsi_note_interrupts(void) {
  const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
  struct sigaction before;
  if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
    (void)sigaction(SIGINT, &action, NULL);
}

bool tsi_interrupted(void) {
  return interrupted != 0;
}

void tsi_before_signals(void (*act)(void)) {
  static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
  const struct sigaction action = {.sa_handler = end};
  struct sigaction before;
  before_end = act;
  for (size_t k = 0; k < sizeof signals / sizeof signals[0]; k++)
    if (sigaction(signals[k], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      (void)sigaction(signals[k], &action, NULL);
}
