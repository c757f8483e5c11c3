/* See signals.h. */
#include "drivers/session/signals.h"

#include <signal.h>
#include <stddef.h>

/* The handler's, which belongs to the whole program. */
static void (*volatile before_end)(void);

static void end(int number) {
  before_end();
  (void)signal(number, SIG_DFL);
  (void)raise(number);
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
