/* What right-hand sides cost. */
#pragma once

/* How many times as long as one so many right-hand sides take, at most a block of them: a worker reads a
 * task's part of the factor once and multiplies with each of them. With factors beyond the caches 2 take 1.2
 * to 1.4 times as long, 4 1.6 to 1.8, 8 2 to 2.3, 16 2.7 to 4.
 */
static inline double tsi_time_of_columns(int columns) {
  return (5 + columns) / 6.0;
}
