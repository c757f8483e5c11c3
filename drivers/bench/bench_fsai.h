/* `tristar bench --fsai`: conjugate gradients with sparse approximate inverses and with other
 * preconditioners, by TriStar, hypre and PETSc, measured side by side as bench.h tells.
 *
 * All contenders end by the same test, of the norm of the residual itself, which all of them begin with;
 * hypre's inverses are applied in TriStar's iteration. Of several processes each has one thread.
 *
 * Reads   matrices, the JSON of the contenders. Writes  tables, a picture, JSON.
 * Invariants
 *   - what did not converge has no figures, but a reason
 *   - ratios are of contenders with as many processes */
#pragma once

#include "drivers/bench/bench.h"

/* Everything that one call measures. */
typedef struct tsi_fsai_bench {
  tsi_bench_setup setup;
  tsi_bench_matrix *matrices;
  tsi_bench_case *cases; /* one for each matrix */
  int count;
} tsi_fsai_bench;

/* `tristar bench --fsai`. Gives an exit status. */
int tsi_bench_fsai(const tsi_settings *settings);

/* Medians over the rounds of a contender that solved. */
typedef struct tsi_fsai_figures {
  double iterations, setup_s, solve_s, iteration_s, total_s; /* total: set-up and solve */
  double entries;                                            /* of the preconditioner */
  double product_gbps;  /* what products with the matrix have to read, over their time; 0: not told */
  double product_share; /* the same, of what as many cores read; 0: not known */
  double backward_error;
} tsi_fsai_figures;

/* 1e9 bytes a second that one core reads, or as many as the contenders have at most; 0: not known. */
double tsi_fsai_bandwidth(const tsi_bench_case *c, int ranks);
/* false: the contender did not solve. */
bool tsi_fsai_find(const tsi_bench_case *c, int k, tsi_fsai_figures *figures);

/* What is told of TriStar against others, on as many processes. */
typedef struct tsi_fsai_claim {
  const char *key;   /* in JSON */
  const char *title; /* in the summary */
  const char *over,
      *under;    /* titles of two contenders: the ratio is the figure of the first over that of the second */
  size_t figure; /* where it is in tsi_fsai_figures */
} tsi_fsai_claim;
extern const tsi_fsai_claim tsi_fsai_claims[];
extern const int tsi_fsai_claim_count;
/* 0: one of the two did not solve. */
double tsi_fsai_ratio(const tsi_bench_case *c, const tsi_fsai_claim *claim, int ranks);
/* The geometric mean over the cases; 0: there is none. */
double tsi_fsai_mean(const tsi_fsai_bench *b, const tsi_fsai_claim *claim, int ranks);
/* The numbers of processes, one after the other; gives how many there are. */
int tsi_fsai_ranks(const tsi_bench_setup *setup, int ranks[TSI_LIST_MAX]);
/* The contender of that title and number of processes; -1: there is none. */
int tsi_fsai_contender(const tsi_bench_setup *setup, const char *title, int ranks);

/* bench_fsai_out.c; false: with a message. */
void tsi_fsai_print(const tsi_bench_case *c);
void tsi_fsai_print_summary(const tsi_fsai_bench *b);
bool tsi_fsai_write_json(const tsi_fsai_bench *b);
bool tsi_fsai_write_svg(const tsi_fsai_bench *b);
