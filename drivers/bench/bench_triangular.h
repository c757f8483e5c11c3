/* `tristar bench --triangular`: compares solves with triangles by TriStar's partitions and by other
 * libraries, as described in bench.h.
 *
 * A case is a triangle of a matrix, or a factor of its incomplete factorization, in the order of its file or
 * of nested dissection. It is written to a file without a name, which vanishes with this program. All
 * contenders read this file. So they solve with the same triangle, and do not read unnecessary data.
 *
 * Reads   matrices, the JSON of the contenders.   Writes  tables, a picture, JSON.
 * Invariants
 *   - a time counts only if the backward error of its solution is at most TSI_BENCH_ERROR_MAX
 *   - the default of TriStar is the automatic partition with the largest number of workers, or, if it is not
 *     requested, the first requested partition; it is compared with other partitions with the same number of
 *     workers
 *   - a matrix that cannot be measured is reported with the reason, and the others are still measured. The
 *     same holds for an incomplete factorization that breaks down, but this is no failure */
#pragma once

#include "drivers/bench/bench.h"
#include "drivers/bench/bench_triangle.h"

typedef struct tsi_triangular_case {
  const char *name; /* name of the matrix */
  const char *order;
  const char *of; /* word of --of: the source of the triangle */
  bool broken;    /* the incomplete factorization broke down; message has the reason */
  tsi_bench_triangle triangle;
  char title[640];         /* matrix, triangle and order */
  char message[320];       /* reason why it could not be measured; "": none */
  tsi_bench_matrix matrix; /* the triangle for the contenders */
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

/* Runs `tristar bench --triangular`. Returns an exit status. */
int tsi_bench_triangular(const tsi_settings *settings);

/* ---- Figures of a case: contenders, or -1 if none solved ----------------------------------------------- */

/* The default of TriStar, whether it solved or not; -1: there is none. */
int tsi_triangular_default(const tsi_bench_setup *setup);
/* The default of TriStar. */
int tsi_triangular_own(const tsi_triangular_case *c);
/* The fastest of the other partitions with the same number of workers. */
int tsi_triangular_fixed(const tsi_triangular_case *c);
/* The plain sweep. */
int tsi_triangular_plain(const tsi_triangular_case *c);
/* Returns the time of contender `other` (-1: none) divided by the time of contender k; 0: one of them did not
 * solve. */
double tsi_triangular_speed_up(const tsi_triangular_case *c, int other, int k);
/* Returns the average number of rows of a level set. */
double tsi_triangular_parallelism(const tsi_triangular_case *c);
/* Returns the seconds in which a contender receives the triangle and prepares its solves. */
double tsi_triangular_preparation(const tsi_bench_result *r);

/* ---- Geometric means over cases ------------------------------------------------------------------------ */

/* Cases with more rows in a level set on average and more entries than these count as parallel. */
#define TSI_PARALLEL_ROWS 100.0
#define TSI_PARALLEL_ENTRIES 100000

/* Mean speed-ups of the default; 0: no case. */
typedef struct tsi_triangular_means {
  int cases; /* number of cases in which the default solved */
  double plain, peer, fixed;
} tsi_triangular_means;

/* Computes the means. parallel: only over parallel cases. of: only over cases of this source, one of
 * tsi_triangular_sources; NULL: any source. */
tsi_triangular_means tsi_triangular_find_means(const tsi_triangular *t, bool parallel, const char *of);
/* Lists the cases with the smallest speed-ups over the best peer, the smallest first; returns their number.
 */
enum { TSI_TRIANGULAR_WORST = 5 };
int tsi_triangular_find_worst(const tsi_triangular *t, int worst[TSI_TRIANGULAR_WORST]);

/* ---- Output ------------------------------------------------------------------------------------------ */

/* bench_triangular_out.c: output. Return false with a message on failure. */
void tsi_triangular_print(const tsi_triangular_case *c);
void tsi_triangular_print_summary(const tsi_triangular *t);
bool tsi_triangular_write_json(const tsi_triangular *t);
bool tsi_triangular_write_svg(const tsi_triangular *t);
