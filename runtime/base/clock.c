/* The clock of simulations: see clock.h. */
#include "runtime/base/clock.h"

#ifdef TSI_SIMULATED

#include <stdatomic.h>

static _Atomic(double) latest; /* last time, after the simulation has ended */
static double (*_Atomic source)(void);

double tsi_clock(void) {
  double (*const now)(void) = atomic_load(&source);
  return now ? now() : atomic_load(&latest);
}

void tsi_clock_follow(double (*now)(void)) {
  if (now == NULL) atomic_store(&latest, tsi_clock());
  atomic_store(&source, now);
}

#endif
