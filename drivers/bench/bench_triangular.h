/* `tristar bench --triangular`: solves with triangles by TriStar's partitions and by other libraries,
 * measured side by side as bench.h tells.
 *
 * A case is a triangle of a matrix, or a factor of its incomplete factorization, in the order of its file or
 * in that of nested dissection. It is written
 * to a file without a name, which vanishes with this program; all contenders read that. So they solve with
 * the same triangle, and none of them reads what it does not need.
 *
 * Reads   matrices, the JSON of the contenders. Writes  tables, a picture, JSON.
 * Invariants
 *   - a time counts only if the backward error of its solution is at most TSI_BENCH_ERROR_MAX
 *   - the default of TriStar is the automatic partition with the largest number of workers, or, where that
 *     is not asked for, the first one that is; the other partitions that it is compared with have as many
 *   - a matrix that cannot be measured is told with its reason, and the others are measured all the same; so
 *     is a factorization that breaks down, which is no failure */
#pragma once

#include "drivers/bench/bench.h"
#include "drivers/bench/bench_triangle.h"

typedef struct tsi_triangular_case {
  const char *name; /* of the matrix */
  const char *order;
  const char *of; /* word of --of: what it is a triangle of */
  bool broken;    /* there are no such factors, for the reason in message */
  tsi_bench_triangle triangle;
  char title[640];         /* matrix, triangle and order */
  char message[320];       /* why it could not be measured; "": it could */
  tsi_bench_matrix matrix; /* as the contenders have it */
  tsi_bench_case bench;
} tsi_triangular_case;

/* The words of --of; the last one is NULL. */
extern const char *const tsi_triangular_sources[];

/* Everything that one call measures. */
typedef struct tsi_triangular {
  tsi_bench_setup setup;
  tsi_triangular_case *cases;
  int count, expected; /* expected: if all matrices can be measured */
} tsi_triangular;

/* `tristar bench --triangular`. Gives an exit status. */
int tsi_bench_triangular(const tsi_settings *settings);

/* ---- Figures of a case: contenders, or -1 where none solved
 * ------------------------------------------------ */

/* The default of TriStar, whether it solved or not; -1: there is none. */
int tsi_triangular_default(const tsi_bench_setup *setup);
/* The default of TriStar. */
int tsi_triangular_own(const tsi_triangular_case *c);
/* The fastest of the other partitions with as many. */
int tsi_triangular_fixed(const tsi_triangular_case *c);
/* The plain sweep. */
int tsi_triangular_plain(const tsi_triangular_case *c);
/* Its time over that of contender k; 0: one of them did not solve. other: -1 is none. */
double tsi_triangular_speed_up(const tsi_triangular_case *c, int other, int k);
/* Rows of a level set, on average. */
double tsi_triangular_parallelism(const tsi_triangular_case *c);
/* Seconds in which a contender is given the triangle and prepares its solves. */
double tsi_triangular_preparation(const tsi_bench_result *r);

/* ---- Geometric means over cases
 * ---------------------------------------------------------------------------- */

/* Cases with more rows in a level set on average and more entries than these count as parallel. */
#define TSI_PARALLEL_ROWS 100.0
#define TSI_PARALLEL_ENTRIES 100000

/* Speed-ups of the default; 0: of no case. */
typedef struct tsi_triangular_means {
  int cases; /* in which the default solved */
  double plain, peer, fixed;
} tsi_triangular_means;

/* parallel: only over those cases. of: only over those of that source, one of tsi_triangular_sources; NULL:
 * of any. */
tsi_triangular_means tsi_triangular_find_means(const tsi_triangular *t, bool parallel, const char *of);
/* The cases with the least speed-ups over the best peer, the least first; gives their number. */
enum { TSI_TRIANGULAR_WORST = 5 };
int tsi_triangular_find_worst(const tsi_triangular *t, int worst[TSI_TRIANGULAR_WORST]);

/* ---- What comes out
 * ---------------------------------------------------------------------------------------- */

/* bench_triangular_out.c; false: with a message. */
void tsi_triangular_print(const tsi_triangular_case *c);
void tsi_triangular_print_summary(const tsi_triangular *t);
bool tsi_triangular_write_json(const tsi_triangular *t);
bool tsi_triangular_write_svg(const tsi_triangular *t);
