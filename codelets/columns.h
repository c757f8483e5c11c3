/* The cost of right-hand sides. */
#pragma once

/* Returns the ratio of the time for so many right-hand sides, at most a block of them, to the time for one. A
 * worker reads a task's part of the factor once and multiplies each right-hand side by it. Measured ratios
 * for factors larger than the caches: 1.2 to 1.4 for 2 right-hand sides, 1.6 to 1.8 for 4, 2 to 2.3 for
 * 8, 2.7 to 4 for 16. */
static inline double tsi_time_of_columns(int columns) {
  return (5 + columns) / 6.0;
}
