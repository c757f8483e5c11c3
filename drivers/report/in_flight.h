/* The same solve again and again, several in flight at the same time: how many there are a second.
 *
 * Reads   how a solve is started and waited for.
 * Writes  X, and as many others less one as there are solves in flight; times in seconds.
 * Invariants: a solve starts when the one as many places before it has ended; every request is waited for,
 * also after a failure. */
#ifndef TSI_DRIVERS_REPORT_IN_FLIGHT_H
#define TSI_DRIVERS_REPORT_IN_FLIGHT_H

#include "drivers/session/rhs.h"

typedef struct tsi_in_flight {
  double solve_s;   /* from the first start to the last end, divided by the number of solves */
  double latency_s; /* from start to end of one solve; the median */
} tsi_in_flight;

/* A request is whatever start sets; wait sets it to NULL. */
typedef struct tsi_in_flight_calls {
  const void *context;
  tristar_status (*start)(const void *context, void *x, void **request);
  tristar_status (*wait)(void **request);
} tsi_in_flight_calls;

/* --repeat solves, --in-flight at a time, after a warm-up of as many as are in flight. The last X of each
 * place, the first of which is x, must have this checksum. x->values may be NULL: nothing is wanted here. */
bool tsi_in_flight_solve(tsi_session *s, const tsi_in_flight_calls *calls, const tristar_dense *x,
                         uint64_t checksum, tsi_in_flight *times);

#endif
