/* The command line of `tristar`: every subcommand and every option, each in one row of a table.
 *
 * Reads   argv.
 * Writes  a tsi_settings; help on stdout; messages about wrong usage on stderr.
 * Invariants
 *   - a value that reaches tsi_settings is in the range that its row gives
 *   - the help texts and the parser use the same table, so they cannot disagree */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Exit statuses of the program. */
enum { TSI_EXIT_OK = 0, TSI_EXIT_FAILED = 1, TSI_EXIT_USAGE = 2 };

#define TSI_OPERANDS_MAX 2
#define TSI_OUTPUTS_MAX 7

typedef struct tsi_settings {
  const char *operand[TSI_OPERANDS_MAX]; /* the first words that are not options; NULL: not given */
  char *const *operands;                 /* all words that are not options */
  int operand_count;
  bool needs_factors; /* an option is given that `tristar solve` has, but `tristar trisolve` has not */
  /* the system */
  const char *rhs;
  const char *rows;               /* file with the rows of x to be computed */
  const char *unknowns;           /* file with the unknowns of a Schur complement */
  const char *interface;          /* file with the values of these unknowns */
  const char *reduced, *solution; /* files to be written: right-hand sides of the complement, solutions */
  const char *entries;            /* file with the positions of entries of the inverse */
  bool diagonal, pattern;         /* compute the diagonal of the inverse, its entries in the pattern of A */
  int64_t nrhs;                   /* 0: not given */
  bool laplacian;
  int precision; /* 0 ..: one of s, d, c, z, sd, cz; negative: the type of the file */
  /* analysis, factorization, plan: enumerators of tristar.h */
  int method, matching, pivoting, singular, engine, place, factor_place;
  int batch_method;       /* a tristar_method */
  double pivot_threshold; /* negative: not given */
  int ordering;           /* 0 ..: one of the words of --ordering */
  int bench_ordering;     /* 0 ..: one of the words of --ordering of `tristar bench` */
  int64_t order_seed, workers, chunk_bytes, device_bytes;
  int64_t memory_limit;  /* bytes; 0: none */
  bool forecast;         /* info: forecast time and memory, without a factorization */
  const char *scheduler; /* StarPU's scheduler; NULL: STARPU_SCHED, or lws */
  int what;              /* 0 ..: a picture; negative: not given */
  const char *from;      /* a file of `tristar bench --json`; NULL: none */
  const char *variant;   /* WORD[+WORD...], known words; NULL: none */
  /* a distributed solve; negative: not given */
  const char *layout;             /* PXxPYxPZ; NULL: none */
  int algo, map, message_tree;    /* 0 ..: one of replicated, levelwise, 2d; enumerators of tristar.h */
  int transport;                  /* enumerator of tristar_mpi.h */
  int64_t tasks_per_gpu;          /* trisolve; 0: not given */
  int polls_all;                  /* trisolve */
  int atomic_sums;                /* solve */
  int first_core;                 /* first core of the workers of this process; set by on_ranks.c */
  int first_device, rank_devices; /* first device of this process, their number; set by on_ranks.c */
  /* solve */
  int64_t devices;        /* number of devices for --gpu and --platform; 0: not given */
  int platform;           /* 0 ..: a node of platform.h */
  int64_t ranks;          /* info; 0: not given */
  const char *machine;    /* description of a cluster; NULL: none */
  int network;            /* 1: simgrid */
  int64_t solves;         /* number of solves, for --ordering auto and --layout auto; 0: not given */
  int64_t factorizations; /* number of factorizations, for --ordering auto; 0: not given */
  int64_t process_bytes;  /* memory of a process, for --layout auto; 0: not given */
  int gpu;                /* 0 ..: a device of the cost model; negative: not given */
  int op;                 /* 0 ..: one of N, T, C */
  int uplo;               /* 0 ..: one of L, U, LU; negative: not given */
  int diag;               /* 0 ..: one of nonunit, unit */
  int partition;          /* a tristar_partition */
  int64_t refine, repeat, in_flight, fuse;
  double tolerance; /* negative: the default of the precision */
  double accuracy;  /* 0: not given */
  int store;        /* a tristar_storage; negative: not given */
  double compress;  /* negative: not given */
  bool condition, forward_error;
  bool inertia, determinant;
  const char *null_space, *inverse_diagonal, *save; /* files to be written */
  const char *load;                                 /* file made by --save; NULL: none */
  /* Krylov methods; negative: not given */
  int krylov_method, side,
      norm;            /* a tristar_krylov_method; a tristar_krylov_side, a tristar_krylov_norm less one */
  int split;           /* division of rows among processes: 0 in blocks, 1 in parts by METIS */
  const char *precond; /* WORD of krylov.c; NULL: none */
  const char *fsai;    /* NAME=NUMBER,... of krylov_precond.c; NULL: not given */
  int64_t max_iterations, restart, block, overlap, fill;
  double drop, omega, shift;
  /* benchmark: lists with commas; NULL: not given */
  const char *nrhs_list, *workers_list, *sched_list, *peers_list, *variants_list, *compress_list, *store_list;
  int64_t rounds, limit; /* limit: seconds for a contender, with --quick for all together; 0: none */
  int64_t run_ms;        /* minimum time of the solves with a triangle, in milliseconds */
  const char *partitions_list, *orders_list, *of_list, *uplo_list; /* --triangular */
  bool reuse, fresh, triangular, quick;
  const char *ranks_list; /* bench --fsai, simulate */
  bool factorization;     /* simulate a factorization instead of a solve */
  bool square;            /* simulate only the grid shape nearest to a square */
  bool bench_fsai;
  int64_t steps, per_step; /* bench --fsai: steps of a pattern, entries per step; 0: not given */
  /* what comes out */
  const char *out, *json, *tree, *dot, *svg, *gantt, *goal, *cluster;
  const char *outputs[TSI_OUTPUTS_MAX]; /* the output files that are given */
  int output_count;
  bool to_stdout;         /* one output is "-": it replaces the report */
  char environment[1024]; /* changes of the environment for StarPU (environment.h); "": none */
  bool checksum, explain, report, list, verbose, on_demand;
} tsi_settings;

/* A word of the command line and its meaning. */
typedef struct tsi_word {
  const char *word, *meaning;
} tsi_word;

typedef struct tsi_command {
  unsigned bit;          /* bit that marks its rows in the table of options */
  const char *name;      /* the word after `tristar` */
  const char *operands;  /* as the help shows them */
  const char *summary;   /* one line */
  const char *text;      /* the rest of its help; each line is a paragraph */
  const tsi_word *words; /* words for its operand WHAT; the last one is NULL. NULL: it has no such operand */
  int operands_max;
  int (*run)(const tsi_settings *settings); /* returns an exit status */
} tsi_command;

/* The bits of the subcommands. */
enum {
  TSI_SOLVE = 1,
  TSI_GEN = 2,
  TSI_INFO = 4,
  TSI_PLOT = 8,
  TSI_BENCH = 16,
  TSI_CALIBRATE = 32,
  TSI_ENV = 64,
  TSI_TRISOLVE = 128,
  TSI_KRYLOV = 256,
  TSI_SIMULATE = 512,
  TSI_SCHUR = 1024,
  TSI_INVERSE = 2048,
  TSI_BATCH = 4096
};

/* Prints the help of a subcommand. */
void tsi_options_help(const tsi_command *command);

/* Parses argv[1 ..] (argv[0] is the subcommand). Returns true if the command shall run. Otherwise *status is
 * the exit status: help was printed, or an error message for wrong usage. */
bool tsi_options_parse(const tsi_command *command, int argc, char **argv, tsi_settings *settings,
                       int *status);

/* Returns word number `choice` of the option with this name; NULL after the last word. */
const char *tsi_options_word(const char *name, int choice);
/* Returns the word of --ordering of `tristar bench`. */
const char *tsi_options_bench_ordering(const tsi_settings *settings);

/* Returns an exit status: a usage error if --rhs and --nrhs are both given. */
int tsi_check_rhs(const char *command, const tsi_settings *settings);

/* Prints the error and how to get help on stderr; returns TSI_EXIT_USAGE. command may be NULL. */
__attribute__((format(printf, 2, 3))) int tsi_usage_error(const char *command, const char *format, ...);
