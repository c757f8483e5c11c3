/* The timed solves of --repeat. All must return the same bits, except with --sums atomic.
 *
 * Bits are compared after the first solve, after every TSI_LOOK_EVERY-th and after the last. They are not
 * compared after each solve: reading x would evict data of the next solve from the caches and slow it down.
 *
 * Reads   --repeat.   Writes  a tsi_repeated; the session's failure. */
#pragma once

#include "drivers/session/session.h"

typedef struct tsi_repeated {
  double median_s, fastest_s;
  uint64_t checksum; /* checksum of x */
} tsi_repeated;

#define TSI_LOOK_EVERY 8

/* Are the bits compared after solve k, from 0, of so many solves? */
static inline bool tsi_repeat_looks(int64_t k, int64_t solves) {
  return k % TSI_LOOK_EVERY == 0 || k + 1 == solves;
}

/* Solves once; returns false if it recorded a failure. *seconds excludes the time for the checksum. checksum
 * NULL: no checksum is computed. */
typedef bool tsi_solve_once(void *context, double *seconds, uint64_t *checksum);

/* Runs the solves of --repeat. If there is more than one, an untimed warm-up comes first. */
bool tsi_repeat_solves(tsi_session *s, tsi_solve_once *solve, void *context, tsi_repeated *repeated);

/* Returns " (median of 5, fastest 1.23 ms)", or "" for a single solve. */
const char *tsi_repeated_text(const tsi_session *s, const tsi_repeated *repeated, char text[static 96]);

/* For --on-demand: flushes standard output, and waits for the next line on standard input. Returns false at
 * its end. */
bool tsi_is_repeated(void);
