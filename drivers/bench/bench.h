/* `tristar bench`: the solve phase of TriStar and of other solvers, measured side by side.
 *
 * Each contender runs in its own process. The contenders take turns in several rounds, so that disturbances
 * of a shared machine are spread over all of them. TriStar is this program (`tristar solve ... --json -
 * --on-demand`), once for each number of workers and scheduler. A peer is a program NAME_solve --on-demand
 * MATRIX REPEAT [NRHS], once for each number of threads of the BLAS; its fastest setting counts. Variants of
 * TriStar (variant.h) run with the largest number of workers and have a separate table. Statements about the
 * best TriStar refer to the default.
 *
 * A process prepares its solves (analysis, factorization), solves REPEAT times, and prints its figures as a
 * JSON object. Each line on its standard input starts as many solves again, and it prints another object. It
 * ends at the end of its standard input. Between its turns it is halted, so that it occupies no core. A
 * process is started again in each round with --fresh, if memory is short, or if it ends by itself after its
 * figures.
 *
 * Reads   matrices, the JSON of the contenders.   Writes  tables, a picture, JSON.
 * Invariants
 *   - a time is the median over the rounds of the medians that a process reports
 *   - bytes count exact nonzeros of L and U, without padding
 *   - a contender that fails is listed with its message, and does not run again
 *   - a contender that exceeds its time (--limit) is ended and has no later rounds; its figures of earlier
 *     rounds count
 *   - with --quick all contenders of a table share the time (bench_quick.c); none is prepared twice
 *   - with several schedulers a run that takes far longer than the fastest one is ended: it may never end
 *   - all rates of one table are shares of the same two figures: those of the largest number of workers */
#pragma once

#include <limits.h>

#include "drivers/bench/bench_process.h"
#include "drivers/report/json.h"
#include "drivers/session/lists.h"
#include "drivers/session/options.h"

enum { TSI_BENCH_CONTENDERS_MAX = 128, TSI_BENCH_PEERS = 6, TSI_BENCH_OPTIONS_MAX = 20 };

/* Maximum backward error of a solve with a triangle that counts. Errors of substitution are far smaller. */
#define TSI_BENCH_ERROR_MAX 1e-10

typedef struct tsi_bench_peer {
  const char *name;  /* name on the command line */
  const char *title; /* title in tables */
  bool one_thread;   /* neither it nor its BLAS has threads */
} tsi_bench_peer;

/* Peers that do the same work. */
typedef struct tsi_bench_family {
  tsi_bench_peer peers[TSI_BENCH_PEERS]; /* the name after the last one is NULL */
  const char *program;                   /* format of the name of a peer's program, with the peer's name */
  const char *packages;                  /* Debian packages needed to build their programs */
  bool threads;                          /* they run with several numbers of threads */
  bool rates;                            /* rates of the machine are measured, too */
} tsi_bench_family;
extern const tsi_bench_family tsi_bench_solvers;

/* A Krylov method with a preconditioner. */
typedef struct tsi_bench_krylov {
  const char *title;
  int peer;                     /* as in tsi_bench_contender */
  const char *method, *precond; /* words of `tristar krylov`, and icc */
  const char *petsc;            /* options of PETSc; NULL: another peer */
} tsi_bench_krylov;

/* A solver in one setting. */
typedef struct tsi_bench_contender {
  char name[96];
  int peer;                       /* number in the family; -1: TriStar */
  int threads;                    /* workers of TriStar, or threads of the BLAS of a peer */
  char scheduler[32];             /* scheduler of TriStar */
  char variant[64];               /* variant of TriStar; for a triangle its partition; "": the default */
  const char *option;             /* option of `tristar solve` for the variant; NULL: the default */
  char value[64];                 /* value of this option */
  const tsi_bench_krylov *krylov; /* an iterative solver; NULL: a direct one */
  int ranks;                      /* processes of an iterative solver; mpiexec starts several */
  char program[PATH_MAX + 32];
} tsi_bench_contender;

/* The contenders and options of a benchmark. */
typedef struct tsi_bench_setup {
  const tsi_settings *settings;
  const tsi_bench_family *family;
  int64_t nrhs[TSI_LIST_MAX];
  int nrhs_count;
  double begin;        /* time of tsi_now at which it was made */
  int workers_most;    /* maximum number of workers of TriStar */
  int schedulers;      /* number of schedulers for each number of workers */
  bool all_schedulers; /* --sched all: the first table shows only the fastest */
  tsi_bench_contender contenders[TSI_BENCH_CONTENDERS_MAX];
  int count;
  bool missing[TSI_BENCH_PEERS]; /* peers without a program */
  const char
      *options[TSI_BENCH_OPTIONS_MAX + 1]; /* more options for all runs of TriStar; the last one is NULL */
} tsi_bench_setup;

/* Finds the contenders in the lists of the command line. Prints an error if there is one; returns an exit
 * status. */
int tsi_bench_setup_make(tsi_bench_setup *setup, const tsi_settings *settings);

typedef struct tsi_bench_matrix {
  const char *name;
  const char *path; /* file that the contenders read */
  const char *uplo; /* L or U: the file has this triangle; NULL: a matrix to be factored */
  int64_t n, nnz;
  bool is_complex, pattern; /* pattern: solves use its Laplacian */
  bool triangular;          /* `tristar solve` would not factor it; here all contenders do */
} tsi_bench_matrix;

/* The figures of one contender for one matrix and one number of right-hand sides. */
typedef struct tsi_bench_result {
  bool ok;
  char message[320];         /* the error, if not ok */
  bool over_limit;           /* it exceeded its time, and has no later rounds */
  tsi_bench_process process; /* its process during the rounds */
  bool late;                 /* the latest turn exceeded its limit */
  bool unstarted;            /* --quick: there was no time for it */
  double stopped_s; /* seconds after it read the matrix until it was ended without a solution; 0: not ended */
  bool kept;        /* the process was kept for later rounds */
  double used_s;    /* seconds of all its turns */
  double later_s;   /* estimated seconds of a turn from the second on */
  double analyze_s, factor_s, plan_s, solve_s; /* medians over the rounds */
  double start_s;                              /* TriStar: start of StarPU; not contained in the others */
  double least_s, most_s;                      /* minimum and maximum of solve_s over the rounds */
  double fastest_s;                            /* fastest solve of all rounds */
  double bytes;                                /* bytes of the exact nonzeros of L and U; 0: unknown */
  double memory, tasks;  /* TriStar: bytes of factor, variant, workspace; tasks of a replay */
  double peak;           /* peak memory of its process in bytes, after the latest turn */
  double predicted_s;    /* TriStar: predicted seconds of a solve, by its cost model */
  double backward_error; /* after `steps` steps of refinement */
  double outside;        /* share of the time of StarPU's workers outside of kernels; negative: unknown */
  int steps;
  cJSON *rounds; /* array of the JSON objects of the process */
} tsi_bench_result;

/* Rates of the machine, medians over the rounds; 0: not measured. */
typedef struct tsi_bench_rates {
  double bandwidth;            /* GB/s of workers_most readers */
  double square, tall;         /* DGEMM, GF/s of workers_most threads */
  double one_square, one_tall; /* DGEMM, GF/s of one thread */
  cJSON *bandwidths, *dgemms;  /* arrays: the measurements of each round */
} tsi_bench_rates;

/* All contenders for one matrix and one number of right-hand sides. */
typedef struct tsi_bench_case {
  const tsi_bench_setup *setup;
  const tsi_bench_matrix *matrix;
  int64_t nrhs;
  int64_t repeat; /* number of timed solves of a run */
  tsi_bench_rates rates;
  tsi_bench_result *results;   /* setup->count */
  int best[TSI_BENCH_PEERS];   /* the fastest contender of each peer; -1: not measured */
  int best_tristar, best_peer; /* the fastest ones; -1: none */
  int number, all;             /* number of the case, from 1; number of cases */
  double shortest_run;         /* seconds of the shortest first turn of a TriStar that solved; 0: none */
  double rates_s;              /* seconds to measure the rates in the first round */
  double largest_peak;         /* largest peak memory of a contender in bytes */
  double begin;                /* time of tsi_now at which the time of --quick begins */
  int64_t rounds;              /* number of rounds so far */
} tsi_bench_case;

/* bench_run.c: runs a turn of contender k. Starts its process, or continues the existing one, and halts it
 * afterwards. Returns its JSON, or NULL with a message in its result. limit: seconds after which it is ended;
 * 0: none. tick(arg) is called about once a second. */
cJSON *tsi_bench_turn(const tsi_bench_case *c, int k, double limit, void (*tick)(void *), void *arg);
/* Ends a contender's process. Returns false, with a message, if it ended with an error. */
bool tsi_bench_dismiss(tsi_bench_result *r);

/* bench_memory.c: returns the bytes that processes may still use before memory is short; infinity: unknown.
 */
double tsi_bench_memory_left(void);

/* bench_dgemm.c: measures the GF/s of `threads` threads, each with its own matrices: square ones, and tall
 * ones with nrhs columns. Best of three; 0 if there is not enough memory. */
void tsi_bench_dgemm(int threads, int64_t nrhs, double *square, double *tall);

/* bench_case.c: runs the rounds of all contenders, then computes medians. */
bool tsi_bench_case_measure(tsi_bench_case *c);
void tsi_bench_case_free(tsi_bench_case *c);
/* Returns the median of a figure over the rounds, and its extremes, unless NULL. 0 without rounds or memory.
 */
double tsi_bench_median(const cJSON *rounds, const char *key, double *least, double *most);
/* Return the GB/s of exact nonzeros; the GF/s of the solve. */
double tsi_bench_gbps(const tsi_bench_result *r);
double tsi_bench_gflops(const tsi_bench_case *c, const tsi_bench_result *r);
/* Returns the seconds of analysis, factorization, plan and `solves` solves. */
double tsi_bench_total(const tsi_bench_result *r, double solves);
/* Returns the largest number of solves, from 1 to `most`, that has the same answer as 1 solve. The answer
 * changes at most once; `most` also means that it does not change. */
int64_t tsi_bench_changes(bool (*answer)(const void *of, double solves), const void *of, int64_t most);
/* Is contender k a row of the tables? True for TriStar, with --sched all only with the fastest scheduler, and
 * for the fastest setting of a peer. */
bool tsi_bench_shown(const tsi_bench_case *c, int k);
/* Is it a variant of TriStar, not the default? */
bool tsi_bench_is_variant(const tsi_bench_setup *setup, int k);
/* Returns the default TriStar with the same setting as variant k. */
int tsi_bench_default_of(const tsi_bench_setup *setup, int k);
/* Returns the contender of a solver with the smallest total time for so many solves; -1: none solved. */
int tsi_bench_least_total(const tsi_bench_case *c, int peer, double solves);

/* bench.c: reads the properties of a matrix, without StarPU. Prints an error if there is one; returns an exit
 * status. */
int tsi_bench_inspect(const tsi_settings *settings, const char *name, tsi_bench_matrix *m);
/* Prints the peers that are not available, if any. */
void tsi_bench_print_missing(const tsi_bench_setup *setup);

/* bench_table.c */
void tsi_bench_print_matrix(const tsi_bench_setup *setup, const tsi_bench_matrix *m);
void tsi_bench_print(const tsi_bench_case *c);
void tsi_bench_print_variants(const tsi_bench_case *c);
void tsi_bench_print_reuse(const tsi_bench_case *c);
/* Prints a number with so many digits after the point, or "-" if it is unknown (0), in a column of this
 * width. */
void tsi_bench_print_number(int width, int digits, double value);
/* Does the same for a share in percent; "-" unless both are known. */
void tsi_bench_print_share(int width, double rate, double limit);
/* Prints the end of the line of a contender, with a remark if it exceeded its time. */
void tsi_bench_print_end(const tsi_bench_case *c, const tsi_bench_result *r);

/* bench_sched.c: the table of several schedulers, and the same as JSON of a case; nothing for one scheduler.
 */
void tsi_bench_print_schedulers(const tsi_bench_case *c);
void tsi_bench_add_schedulers(cJSON *object, const tsi_bench_case *c);

/* bench_quick.c: returns the seconds that contender k may use in this round of --quick; 0, with a message:
 * too little time is left. */
double tsi_bench_quick_share(const tsi_bench_case *c, int k, int64_t round);
/* Is there time for another round? */
bool tsi_bench_quick_goes_on(const tsi_bench_case *c);
/* Prints the table of --quick. */
void tsi_bench_quick_print(const tsi_bench_case *c);
/* bench_case.c: returns the estimated seconds of a round, from the second on. */
double tsi_bench_later_round(const tsi_bench_case *c);
/* Returns the ordering that contender k used; "": unknown. */
const char *tsi_bench_ordering(const tsi_bench_case *c, int k);

/* bench_json.c, bench_svg.c: return false with a message on failure. cases: cases of one matrix are adjacent.
 */
bool tsi_bench_write_json(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count);
/* Returns an object with the data that all kinds of benchmarks have in common. */
cJSON *tsi_bench_begin_json(const tsi_bench_setup *setup);
/* Does the same for a contender. solved: it has figures. */
cJSON *tsi_bench_begin_contender(const tsi_bench_case *c, int k, bool solved);
/* Writes --json and frees the object. */
bool tsi_bench_put_json(const tsi_bench_setup *setup, cJSON *object);
/* The line at 1 in a picture of ratios; the axis shows at least 0.5 to 2. */
extern const struct tsi_series tsi_bench_even;
bool tsi_bench_write_svg(const tsi_bench_setup *setup, const tsi_bench_case *cases, int count);
