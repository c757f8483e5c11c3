/* The timed solves of --repeat: all must have the same bits.
 *
 * Reads   --repeat.   Writes  a tsi_repeated; the session's failure. */
#ifndef TSI_DRIVERS_REPEAT_H
#define TSI_DRIVERS_REPEAT_H

#include "drivers/session.h"

typedef struct tsi_repeated {
  double median_s, fastest_s;
  uint64_t checksum; /* of x */
} tsi_repeated;

/* Solves once; false: a failure is recorded. seconds: without the time of the checksum. */
typedef bool tsi_solve_once(void *context, double *seconds, uint64_t *checksum);

/* More than one solve follow an untimed warm-up. */
bool tsi_repeat_solves(tsi_session *s, tsi_solve_once *solve, void *context, tsi_repeated *repeated);

/* --on-demand: writes what is still to be written to standard output; has another line come on standard
 * input? */
bool tsi_asked_again(void);

#endif
