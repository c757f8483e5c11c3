/* The timed solves of --repeat: all must have the same bits, but with --sums atomic.
 *
 * Bits are looked at after the first solve, every TSI_LOOK_EVERY of them, and the last one. Not after each:
 * x would come into the caches in the place of what the next solve needs, which would then take longer than
 * solves that follow each other do.
 *
 * Reads   --repeat.   Writes  a tsi_repeated; the session's failure. */
#pragma once

#include "drivers/session/session.h"

typedef struct tsi_repeated {
  double median_s, fastest_s;
  uint64_t checksum; /* of x */
} tsi_repeated;

#define TSI_LOOK_EVERY 8

/* Are the bits of solve k, from 0, of so many looked at? */
static inline bool tsi_repeat_looks(int64_t k, int64_t solves) {
  return k % TSI_LOOK_EVERY == 0 || k + 1 == solves;
}

/* Solves once; false: a failure is recorded. seconds: without the time of the checksum. checksum NULL: it is
 * not looked at. */
typedef bool tsi_solve_once(void *context, double *seconds, uint64_t *checksum);

/* More than one solve follow an untimed warm-up. */
bool tsi_repeat_solves(tsi_session *s, tsi_solve_once *solve, void *context, tsi_repeated *repeated);

/* " (median of 5, fastest 1.23 ms)"; "" of a single solve. */
const char *tsi_repeated_text(const tsi_session *s, const tsi_repeated *repeated, char text[static 96]);

/* --on-demand: writes what is still to be written to standard output; has another line come on standard
 * input? */
bool tsi_asked_again(void);
