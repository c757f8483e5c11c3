/* `tristar bench --fsai`: compares conjugate gradients with sparse approximate inverses and with other
 * preconditioners, by TriStar, hypre and PETSc, as described in bench.h.
 *
 * All contenders stop by the same test: the norm of the residual itself, relative to the initial one. hypre's
 * inverses are applied in TriStar's iteration. If there are several processes, each has one thread.
 *
 * Reads   matrices, the JSON of the contenders.   Writes  tables, a picture, JSON.
 * Invariants
 *   - contenders that did not converge have a reason instead of figures
 *   - ratios compare contenders with the same number of processes */
#pragma once

#include "drivers/bench/bench.h"

/* Everything that one call measures. */
typedef struct tsi_fsai_bench {
  tsi_bench_setup setup;
  tsi_bench_matrix *matrices;
  tsi_bench_case *cases; /* one for each matrix */
  int count;
} tsi_fsai_bench;

/* Runs `tristar bench --fsai`. Returns an exit status. */
int tsi_bench_fsai(const tsi_settings *settings);

/* Medians over the rounds of a contender that solved. */
typedef struct tsi_fsai_figures {
  double iterations, setup_s, solve_s, iteration_s, total_s; /* total: set-up and solve */
  double entries;                                            /* entries of the preconditioner */
  double product_gbps;  /* GB/s that products with the matrix must read; 0: not reported */
  double product_share; /* its share of the bandwidth of as many cores; 0: unknown */
  double backward_error;
} tsi_fsai_figures;

/* Returns the read bandwidth in GB/s of one core, or of the maximum number of cores of the contenders; 0:
 * unknown. */
double tsi_fsai_bandwidth(const tsi_bench_case *c, int ranks);
/* Computes the figures; returns false if the contender did not solve. */
bool tsi_fsai_find(const tsi_bench_case *c, int k, tsi_fsai_figures *figures);

/* A comparison of two contenders with the same number of processes. */
typedef struct tsi_fsai_claim {
  const char *key;   /* key in JSON */
  const char *title; /* title in the summary */
  const char *over,
      *under; /* titles of two contenders: the ratio is the figure of `over` divided by the one of `under` */
  size_t figure; /* offset of the figure in tsi_fsai_figures */
} tsi_fsai_claim;
extern const tsi_fsai_claim tsi_fsai_claims[];
extern const int tsi_fsai_claim_count;
/* Returns the ratio; 0: one of the two did not solve. */
double tsi_fsai_ratio(const tsi_bench_case *c, const tsi_fsai_claim *claim, int ranks);
/* Returns the geometric mean over the cases; 0: there is none. */
double tsi_fsai_mean(const tsi_fsai_bench *b, const tsi_fsai_claim *claim, int ranks);
/* Lists the numbers of processes; returns the length of the list. */
int tsi_fsai_ranks(const tsi_bench_setup *setup, int ranks[TSI_LIST_MAX]);
/* Returns the contender with this title and number of processes; -1: there is none. */
int tsi_fsai_contender(const tsi_bench_setup *setup, const char *title, int ranks);

/* bench_fsai_out.c: output. Return false with a message on failure. */
void tsi_fsai_print(const tsi_bench_case *c);
void tsi_fsai_print_summary(const tsi_fsai_bench *b);
bool tsi_fsai_write_json(const tsi_fsai_bench *b);
bool tsi_fsai_write_svg(const tsi_fsai_bench *b);
