/* `tristar bench`: the solve phase of TriStar and of other solvers, measured side by side.
 *
 * Every contender runs in a process of its own, in turn, round by round: turns spread the disturbances of a
 * shared machine over all contenders. TriStar is this program (`tristar solve ... --json - --on-demand`),
 * once for each number of workers and scheduler; a peer is a program NAME_solve --on-demand MATRIX REPEAT
 * [NRHS], once for each number of threads of the BLAS. The fastest setting of a peer counts. Variants of
 * TriStar (variant.h) run with the largest number of workers; they have a table of their own, and what is
 * told about the best TriStar is about the default.
 *
 * A process prepares its solves (analysis, factorization), solves REPEAT times, and prints its figures as a
 * JSON object. Each line on its standard input asks for as many solves again and another object; the end of
 * its standard input ends it. Between its turns it is halted, so that it takes no core. It is not kept where
 * --fresh asks for that or memory is short; nor is one that ends by itself after its figures: these start
 * again in each round.
 *
 * Reads   matrices, the JSON of the contenders. Writes  tables, a picture, JSON.
 * Invariants
 *   - a time is the median over the rounds of the medians that a process tells
 *   - bytes are those of exact nonzeros of L and U, without padding
 *   - a contender that fails is kept with its message, and does not run again
 *   - a contender that has used up its time (--limit) is ended and takes part in no later round; what it told
 *     in earlier ones counts
 *   - with --quick all contenders of a table share the time (bench_quick.c); none is prepared twice
 *   - with several schedulers a run that takes far longer than the fastest one is ended: it may never end
 *   - all rates of one table are shares of the same two figures, those of the largest number of workers */
#pragma once

#include <limits.h>

#include "drivers/bench/bench_process.h"
#include "drivers/report/json.h"
#include "drivers/session/lists.h"
#include "drivers/session/options.h"

enum { TSI_BENCH_CONTENDERS_MAX = 128, TSI_BENCH_PEERS = 6, TSI_BENCH_OPTIONS_MAX = 20 };

/* The largest backward error with which a solve of a triangle counts: substitution has far less. */
#define TSI_BENCH_ERROR_MAX 1e-10

typedef struct tsi_bench_peer {
  const char *name;  /* on the command line */
  const char *title; /* in tables */
  bool one_thread;   /* it has no threads of its own, and no BLAS that has */
} tsi_bench_peer;

/* Peers that do the same work. */
typedef struct tsi_bench_family {
  tsi_bench_peer peers[TSI_BENCH_PEERS]; /* behind the last one: NULL */
  const char *program;                   /* a format: the name of the program of a peer, from its name */
  const char *packages;                  /* of Debian, that their programs are built with */
  bool threads;                          /* they run with several numbers of threads */
  bool rates;                            /* rates of the machine are measured beside them */
} tsi_bench_family;
extern const tsi_bench_family tsi_bench_solvers;

/* A Krylov method with a preconditioner. */
typedef struct tsi_bench_krylov {
  const char *title;
  int peer;                     /* as of the contender */
  const char *method, *precond; /* words of tristar krylov, icc beside them */
  const char *petsc;            /* options of PETSc; NULL: of others */
} tsi_bench_krylov;

/* A solver in one setting. */
typedef struct tsi_bench_contender {
  char name[96];
  int peer;                       /* of the family; -1: TriStar */
  int threads;                    /* workers of TriStar, threads of the BLAS of a peer */
  char scheduler[32];             /* of TriStar */
  char variant[64];               /* of TriStar, or of a triangle its partition; "": the default */
  const char *option;             /* of `tristar solve`, which makes the variant; NULL: the default */
  char value[64];                 /* of that option */
  const tsi_bench_krylov *krylov; /* of an iterative solver; NULL: it is none */
  int ranks;                      /* of it: processes, several are started by mpiexec */
  char program[PATH_MAX + 32];
} tsi_bench_contender;

/* What is to be measured. */
typedef struct tsi_bench_setup {
  const tsi_settings *settings;
  const tsi_bench_family *family;
  int64_t nrhs[TSI_LIST_MAX];
  int nrhs_count;
  double begin;        /* time of tsi_now at which it was made */
  int workers_most;    /* of any TriStar */
  int schedulers;      /* of each number of workers */
  bool all_schedulers; /* --sched all: the first table shows the fastest only */
  tsi_bench_contender contenders[TSI_BENCH_CONTENDERS_MAX];
  int count;
  bool missing[TSI_BENCH_PEERS];                  /* peers whose programs are not there */
  const char *options[TSI_BENCH_OPTIONS_MAX + 1]; /* further words for all runs of TriStar, up to a NULL */
} tsi_bench_setup;

/* Finds the contenders that the lists of the command line name. Gives an exit status; a message tells what is
 * wrong. */
int tsi_bench_setup_make(tsi_bench_setup *setup, const tsi_settings *settings);

typedef struct tsi_bench_matrix {
  const char *name;
  const char *path; /* what the contenders read */
  const char *uplo; /* L or U: it is this triangle; NULL: a matrix to be factored */
  int64_t n, nnz;
  bool is_complex, pattern; /* pattern: its Laplacian is solved with */
  bool triangular;          /* `tristar solve` solves with it without factoring; all contenders factor it */
} tsi_bench_matrix;

/* The figures of one contender for one matrix and one number of right-hand sides. */
typedef struct tsi_bench_result {
  bool ok;
  char message[320];         /* where not ok */
  bool over_limit;           /* it used up its time, and takes part in no later round */
  tsi_bench_process process; /* of its own, during the rounds */
  bool late;                 /* the latest turn took longer than it may */
  bool unstarted;            /* --quick: there was no time for it */
  double stopped_s; /* it was ended so long after it had read the matrix, without a solution; 0: not */
  bool kept;        /* the process was kept for later rounds */
  double used_s;    /* of all its turns */
  double later_s;   /* estimate of a turn from the second on */
  double analyze_s, factor_s, plan_s, solve_s; /* medians over the rounds */
  double start_s;                              /* TriStar: of the start of StarPU; in none of these */
  double least_s, most_s;                      /* of a round's solve_s */
  double fastest_s;                            /* the fastest solve of all */
  double bytes;                                /* of the exact nonzeros of L and U; 0: unknown */
  double memory, tasks;                        /* TriStar: bytes of factor, variant, workspace; of a replay */
  double peak;           /* bytes that its process has held at most, after the latest turn */
  double predicted_s;    /* TriStar: of a solve, by its cost model */
  double backward_error; /* after `steps` steps of refinement */
  double outside;        /* share of the time of StarPU's workers outside of kernels; negative: unknown */
  int steps;
  cJSON *rounds; /* array of what the processes told */
} tsi_bench_result;

/* Rates of the machine, medians over the rounds; 0: not measured. */
typedef struct tsi_bench_rates {
  double bandwidth;            /* GB/s of workers_most readers */
  double square, tall;         /* DGEMM, GF/s of workers_most threads */
  double one_square, one_tall; /* of one thread */
  cJSON *bandwidths, *dgemms;  /* arrays: what was measured in each round */
} tsi_bench_rates;

/* All contenders for one matrix and one number of right-hand sides. */
typedef struct tsi_bench_case {
  const tsi_bench_setup *setup;
  const tsi_bench_matrix *matrix;
  int64_t nrhs;
  int64_t repeat; /* timed solves of a run */
  tsi_bench_rates rates;
  tsi_bench_result *results;   /* setup->count */
  int best[TSI_BENCH_PEERS];   /* the contender that counts for a peer; -1: not measured */
  int best_tristar, best_peer; /* the fastest; -1: none */
  int number, all;             /* it is the case of this number, from 1, of so many */
  double shortest_run;         /* the first turn of a TriStar that solved, seconds; 0: none has */
  double rates_s;              /* that measuring the rates took in the first round */
  double largest_peak;         /* bytes of memory that a contender has held */
  double begin;                /* time of tsi_now from which on --quick counts */
  int64_t rounds;              /* that were made */
} tsi_bench_case;

/* bench_run.c: contender k's turn: starts its process, or asks the one that is there, which is halted
 * afterwards. Gives its JSON, or NULL with a message in its result. limit: seconds after which it is ended;
 * 0: none. tick(arg) is called about once a second. */
cJSON *tsi_bench_turn(const tsi_bench_case *c, int k, double limit, void (*tick)(void *), void *arg);
/* Ends a contender's process. false, with a message: it did not end well. */
bool tsi_bench_dismiss(tsi_bench_result *r);

/* bench_memory.c: bytes that processes may still take before the system runs short; infinite: unknown. */
double tsi_bench_memory_left(void);

/* bench_dgemm.c: GF/s of `threads` threads, each with matrices of its own: square ones, and tall ones with
 * nrhs columns. Best of three; 0 without memory. */
void tsi_bench_dgemm(int threads, int64_t nrhs, double *square, double *tall);

/* bench_case.c: rounds of all contenders, then medians. */
bool tsi_bench_case_measure(tsi_bench_case *c);
void tsi_bench_case_free(tsi_bench_case *c);
/* The median of a figure over the rounds; its extremes, unless NULL. 0 without rounds or memory. */
double tsi_bench_median(const cJSON *rounds, const char *key, double *least, double *most);
/* GB/s of exact nonzeros; GF/s of the solve. */
double tsi_bench_gbps(const tsi_bench_result *r);
double tsi_bench_gflops(const tsi_bench_case *c, const tsi_bench_result *r);
/* Seconds of analysis, factorization, plan and `solves` solves. */
double tsi_bench_total(const tsi_bench_result *r, double solves);
/* Returns the largest number of solves, from 1 to `most`, that has the same answer as 1 solve. The answer
 * changes at most once; `most` also means that it does not change. */
int64_t tsi_bench_changes(bool (*answer)(const void *of, double solves), const void *of, int64_t most);
/* Is contender k a row of the tables: TriStar, of --sched all with the fastest scheduler, or the setting of a
 * peer that counts? */
bool tsi_bench_shown(const tsi_bench_case *c, int k);
/* Is it TriStar, but not the default one? */
bool tsi_bench_is_variant(const tsi_bench_setup *setup, int k);
/* The default TriStar with the setting of variant k. */
int tsi_bench_default_of(const tsi_bench_setup *setup, int k);
/* The contender of the same solver with the least total of so many solves; -1: none solved. */
int tsi_bench_least_total(const tsi_bench_case *c, int peer, double solves);

/* bench.c: looks at a matrix, without StarPU. Gives an exit status; a message tells what is wrong. */
int tsi_bench_inspect(const tsi_settings *settings, const char *name, tsi_bench_matrix *m);
/* Which peers are not there, if any. */
void tsi_bench_print_missing(const tsi_bench_setup *setup);

/* bench_table.c */
void tsi_bench_print_matrix(const tsi_bench_setup *setup, const tsi_bench_matrix *m);
void tsi_bench_print(const tsi_bench_case *c);
void tsi_bench_print_variants(const tsi_bench_case *c);
void tsi_bench_print_reuse(const tsi_bench_case *c);
/* A number of so many digits behind the point, or "-" where it is not known (0), in a column of this width.
 */
void tsi_bench_print_number(int width, int digits, double value);
/* The same of a share in per cent, where both are known. */
void tsi_bench_print_share(int width, double rate, double limit);
/* The end of the line of a contender: whether it has used up its time. */
void tsi_bench_print_end(const tsi_bench_case *c, const tsi_bench_result *r);

/* bench_sched.c: the table of several schedulers, and the same as JSON of a case; nothing with one. */
void tsi_bench_print_schedulers(const tsi_bench_case *c);
void tsi_bench_add_schedulers(cJSON *object, const tsi_bench_case *c);

/* bench_quick.c: seconds that contender k may take in this round of --quick. 0: too few are left for it, with
 * a message. */
double tsi_bench_quick_share(const tsi_bench_case *c, int k, int64_t round);
/* Is there time for another round? */
bool tsi_bench_quick_goes_on(const tsi_bench_case *c);
/* The table of --quick. */
void tsi_bench_quick_print(const tsi_bench_case *c);
/* bench_case.c: seconds that a round will take, from the second on. */
double tsi_bench_later_round(const tsi_bench_case *c);
/* The order of elimination that contender k used; "": unknown. */
const char *tsi_bench_ordering(const tsi_bench_case *c, int k);

/* bench_json.c, bench_svg.c: false with a message. cases: those of a matrix follow each other. */
bool tsi_bench_write_json(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count);
/* An object with the words and figures that all kinds of benchmarks have. */
cJSON *tsi_bench_begin_json(const tsi_bench_setup *setup);
/* The same of a contender. solved: it has figures. */
cJSON *tsi_bench_begin_contender(const tsi_bench_case *c, int k, bool solved);
/* Writes --json and frees the object. */
bool tsi_bench_put_json(const tsi_bench_setup *setup, cJSON *object);
/* The line at 1 of a picture of ratios, whose axis shows 0.5 to 2 at least. */
extern const struct tsi_series tsi_bench_even;
bool tsi_bench_write_svg(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count);
