/* TriStar: layouts of processes for distributed solves, what they send, and the choice of one.
 *
 * None of these functions needs MPI: they count for any number of processes, on one. */
#include "tristar.h" /* before the guard: see tristar_compat.h */

#ifndef TRISTAR_LAYOUT_H
#define TRISTAR_LAYOUT_H

#include "tristar_stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How grids of processes share the ancestors of the leaves of the separator tree. */
typedef enum tristar_algorithm {
  TRISTAR_ALGORITHM_REPLICATED, /* Every grid solves with copies of its ancestors. Sums are exchanged once,
                                   between the sweeps (Liu, Ding, Sao, Williams, Li, SC 2023). */
  TRISTAR_ALGORITHM_LEVELWISE /* One grid solves each ancestor, level after level (Sao, Kannan, Li, Vuduc, ICS
                                 2019). */
} tristar_algorithm;

/* Owners of the blocks of the factor in a grid. */
typedef enum tristar_map {
  TRISTAR_MAP_SUBTREE, /* One process owns a whole balanced subtree; the ancestors of subtrees are spread. */
  TRISTAR_MAP_CYCLIC   /* All panels are spread block-cyclically. */
} tristar_map;

/* Shape of broadcasts and reductions in a grid. */
typedef enum tristar_message_tree {
  TRISTAR_MESSAGE_TREE_BINARY, /* log2 of the number of processes steps. */
  TRISTAR_MESSAGE_TREE_FLAT    /* One process sends to, or receives from, all others. */
} tristar_message_tree;

/* px * py * pz processes: pz grids of px x py. Grid z works on leaf z of the separator tree and on the
 * ancestors of that leaf. Rank p + px (q + py z) is process (p, q) of grid z. */
typedef struct tristar_layout {
  int px, py, pz;              /* At least 1; pz is a power of two, at most leaf_parts of the analysis. */
  tristar_algorithm algorithm; /* Algorithm between grids; without effect if pz is 1. */
  tristar_map map;             /* Owners of blocks in a grid. */
  tristar_message_tree message_tree; /* Shape of broadcasts and reductions. */
} tristar_layout;

/* 1 x 1 x 1, REPLICATED, SUBTREE, BINARY. */
TRISTAR_API void tristar_layout_init(tristar_layout *layout);

/* Messages of one solve, by process. The totals of sent and received messages are equal. */
typedef struct tristar_messages {
  tristar_range sent;           /* Messages that a process sends. */
  tristar_range received;       /* Messages that a process receives. */
  tristar_range sent_bytes;     /* Bytes that a process sends. */
  tristar_range received_bytes; /* Bytes that a process receives. */
} tristar_messages;

/* Messages of a solve, and of the factorization before it, over all processes. */
typedef struct tristar_traffic {
  int64_t ranks;         /* px py pz. */
  int64_t chunks;        /* Chunks of the solve, without copies. */
  int64_t spread_chunks; /* Chunks whose rows are on several processes of a grid. */
  int grid_steps;        /* Consecutive steps of messages between grids: log2 pz; LEVELWISE: 2 log2 pz. */
  tristar_messages broadcast; /* Inside grids: parts of x. */
  tristar_messages reduction; /* Inside grids: sums. */
  tristar_messages grids;     /* Between grids. */
  tristar_messages all;       /* Sum of these three. */
  tristar_range factor_bytes; /* Bytes of one triangular factor as stored, with all copies. */
  double balance;             /* factor_bytes.max / factor_bytes.mean; 1 without factor. */
  tristar_messages fan_in;    /* tristar_distributed_factor: contribution blocks to ancestors, and stripes of
                                 fronts that several processes share. */
  tristar_range factor_flops; /* Operations of the fronts of a process; L D L^T counts as L L^T. */
  tristar_range front_bytes;  /* Largest memory of its fronts and contribution blocks, besides the factor, if
                                 it factors one front at a time and sends contribution blocks at once. */
  double factor_path_flops;   /* Operations until the last front is factored, if each process takes its fronts
                                 one after the other, the longest path to the root first. Messages cost time
                                 only inside shared fronts. */
} tristar_traffic;

/* Counts the messages of a solve with nrhs right-hand sides in this layout, forward and backward, and of the
 * factorization. It neither solves nor prepares a solve, and counts for up to 2^20 processes on one. Values
 * are scalars of the factor. layout may be NULL: the default. Errors: ARGUMENT (nrhs < 1, an unknown
 * enumerator, a number below 1, a pz that is no power of two or above leaf_parts), TOO_LARGE (more than 2^20
 * processes), UNSUPPORTED (imported factors with different structures of L and U), MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_traffic(const tristar_analysis_t *analysis,
                                                                  const tristar_layout *layout, int64_t nrhs,
                                                                  tristar_traffic *out);

/* ---- Simulation, choice ------------------------------------------------------------------------------ */

/* A cluster, as tristar_layout_predict models it. Call tristar_cluster_init first. Rank r runs on node
 * r / ranks_per_node. A message takes overhead_seconds of a core of the sender, then latency_seconds plus its
 * bytes at bytes_per_second, then overhead_seconds of a core of the receiver (the model LogGP, without
 * contention); the fields local_... are those of messages within a node. */
typedef struct tristar_cluster {
  size_t size;                     /* Set by tristar_cluster_init. */
  int ranks_per_node;              /* Processes of a node. Default: 1. */
  int cores;                       /* Cores of a process. 1: it runs its steps in the order of its program,
                                      as the serial engine does. More: by priority. Default: 1. */
  double core_bytes_per_second;    /* Rate at which a core reads memory. Default: 12e9. */
  double node_bytes_per_second;    /* Rate of all cores of a node; its processes have equal shares. 0: no
                                      limit. Default: 0. */
  double cache_bytes;              /* Cache of a process: a factor of at most so many bytes is read from it.
                                      0: none. Default: 0. */
  double cached_bytes_per_second;  /* Rate at which a core reads from that cache. Default: 40e9. */
  double flops_per_second;         /* Arithmetic of a core, in real operations. Default: 20e9. */
  double step_seconds;             /* Seconds of a step besides the bytes that it reads. Default: 1e-6. */
  double latency_seconds;          /* Between nodes. Default: 1.5e-6. */
  double overhead_seconds;         /* Between nodes. Default: 5e-7. */
  double bytes_per_second;         /* Between nodes. Default: 10e9. */
  double local_latency_seconds;    /* Default: 5e-7. */
  double local_overhead_seconds;   /* Default: 3e-7. */
  double local_bytes_per_second;   /* Default: 5e9. */
  double dense_flops_per_second;   /* Arithmetic of a core in products of large matrices of doubles, for
                                      factorizations. Default: 40e9. */
  int by_priority;                 /* 1: a process with one core runs what is ready, by priority, too.
                                      Default: 0. */
  int drawn;                       /* 1: a free core takes the next step of a fixed order and waits until the
                                      step can run, as the blocks of a GPU do. Default: 0. */
  double process_bytes_per_second; /* Rate of all cores of a process that read at the same time. 0: no limit.
                                      Default: 0. */
  double panel_seconds;            /* Seconds of each panel of a chunk, besides step_seconds. Default: 0. */
  int gpu_chunks; /* 1: chunks are as small as those of one-sided solves on GPUs. Default: 0. */
} tristar_cluster;

/* The defaults of the comments. */
#define tristar_cluster_init(cluster) tristar_cluster_init_sized((cluster), sizeof *(cluster))

/* Criteria of tristar_layout_choose. Call tristar_layout_costs_init first. */
typedef struct tristar_layout_costs {
  size_t size;             /* Set by tristar_layout_costs_init. */
  double bytes_per_second; /* Without cluster: rate at which a process reads. 0: the rate of a core of this
                              machine. */
  double message_seconds;  /* Without cluster: seconds of a message besides its bytes. Default: 2e-6. */
  int64_t nrhs;            /* Right-hand sides of a solve. Default: 1. */
  int64_t solves;          /* Solves after each factorization. 0: only the time of solves counts. */
  double process_bytes;    /* Maximum bytes of a process. 0: no limit. */
  int grids;               /* Maximum number of grids of the layout. 0: no limit. */
  const tristar_cluster *cluster; /* Where the processes run. NULL: a cluster with one process a node, which
                                     has one core with the caches of this machine. */
} tristar_layout_costs;

/* The defaults of the comments; all else 0. */
#define tristar_layout_costs_init(costs) tristar_layout_costs_init_sized((costs), sizeof *(costs))

/* Prediction for a layout. */
typedef struct tristar_layout_prediction {
  double factor_seconds; /* Seconds of one factorization. */
  double solve_seconds;  /* Seconds of one solve of nrhs right-hand sides. */
  double process_bytes;  /* Largest memory of a process: its share of the factor, and its largest fronts. */
  int64_t simulated;     /* Layouts that were simulated. 0: solve_seconds is estimated by counts. */
  /* For comparison, solve_seconds of layouts that one may try first. 0: there is none, or it exceeds
   * process_bytes of the costs. */
  double one_grid_seconds;      /* A single grid, as square as possible. */
  double sixteen_grids_seconds; /* 16 grids, as square as possible. */
  double process_grids_seconds; /* Each process a grid. */
} tristar_layout_prediction;

/* Chooses px, py and pz of *layout; the caller sets algorithm, map and message_tree. The choice is
 * usually the fastest layout of that many processes, with pz up to leaf_parts and costs->grids, for a
 * factorization and `solves` solves. Solves are simulated (tristar_layout_predict): all shapes of the grids,
 * from the most grids down until three times in a row fewer grids are no faster, and single rows and columns.
 * So are factorizations (tristar_layout_predict_factor). Solves of more than 4,096 processes, and
 * factorizations of more than 256, are estimated by the counts of tristar_layout_traffic. costs may be NULL:
 * the defaults; prediction may be NULL. After a failure *layout is unchanged. Errors: those of
 * tristar_layout_predict; ARGUMENT (numbers below 0, nrhs < 1, processes < 1), MEMORY (also: every layout
 * exceeds process_bytes). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_choose(const tristar_analysis_t *analysis,
                                                                 int64_t processes,
                                                                 const tristar_layout_costs *costs,
                                                                 tristar_layout *layout,
                                                                 tristar_layout_prediction *prediction);

/* Time of a simulated solve. The ranges are core seconds of a process; the four of a process add up to
 * seconds * cores. */
typedef struct tristar_simulated {
  int64_t ranks, steps;           /* Processes, and steps of all of them. */
  double seconds;                 /* From the start of the solve to the end of the last process. */
  tristar_range arithmetic;       /* Steps. */
  tristar_range inside;           /* Overheads of messages inside grids. */
  tristar_range between;          /* Overheads of messages between grids. */
  tristar_range waiting;          /* Nothing to do: messages are on their way, or the process has ended. */
  tristar_range active;           /* Seconds in which at least one core of a process works. */
  tristar_range forward;          /* Of solves: until the last forward step of a process has ended. */
  tristar_range backward;         /* Of solves: from its first backward step until all have ended. */
  double balance;                 /* arithmetic.max / arithmetic.mean. */
  double path_arithmetic_seconds; /* Steps on the critical path; it and the following two add up to seconds.
                                   */
  double path_inside_seconds;     /* Messages inside grids on that path. */
  double path_between_seconds;    /* Messages between grids on that path. */
  int64_t path_messages;          /* Messages on that path. */
  tristar_messages broadcast, reduction, grids, all; /* Counted when they arrive: as tristar_traffic. */
  /* Of path_arithmetic_seconds; the rest adds and copies vectors, or entries of fronts. */
  double path_diagonal_seconds; /* Steps with diagonal blocks: chunks; fronts of one process, and diagonal
                                   tiles. */
  double path_rows_seconds;     /* Steps with only rows below them or beside them: slices; other tiles. */
  int64_t path_steps;           /* Steps with arithmetic on the critical path. */
} tristar_simulated;

/* Simulates a solve with nrhs right-hand sides, forward and backward, on all processes of a layout: their
 * programs, as a real solve runs them, step by step. No process is started. The time is the same to the last
 * bit in each call. layout NULL: the default; cluster NULL: its defaults. Memory grows with the steps of all
 * processes. Errors: those of tristar_layout_traffic; ARGUMENT: a number of *cluster is negative, or 0 where
 * it divides, or `drawn` and by_priority are both 1. Model: Alexandrov, Ionescu, Schauser, Scheiman, "LogGP",
 * SPAA 1995. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_predict(const tristar_analysis_t *analysis,
                                                                  const tristar_layout *layout, int64_t nrhs,
                                                                  const tristar_cluster *cluster,
                                                                  tristar_simulated *out);

/* Simulates a factorization on all processes of a layout, as tristar_distributed_factor runs it: from when
 * each process has the entries of its fronts until each has the panels that it holds. Not in it: the
 * analysis, the scaling and the way of the entries. In *out, broadcast counts stripes of shared fronts and
 * panels, reduction counts contribution blocks, both inside grids; grids counts all of these between grids.
 * Collective calls count in between (inside, if there is one grid), but not as messages. Otherwise as
 * tristar_layout_predict. Errors: the same; UNSUPPORTED: imported factors, or a cluster with `drawn`: its
 * processes are GPUs, which do not factor together. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_predict_factor(const tristar_analysis_t *analysis,
                                                                         const tristar_layout *layout,
                                                                         const tristar_cluster *cluster,
                                                                         tristar_simulated *out);

/* ---- Forecast ---------------------------------------------------------------------------------------- */

/* What a factorization and solves take on the ranks of a layout. Bytes are those that tristar_get_memory
 * counts; the ranges are over ranks. */
typedef struct tristar_ranks_forecast {
  int64_t ranks;                   /* px py pz. */
  tristar_range factor_bytes;      /* Bytes of the panels of a rank: both factors, with copies. */
  tristar_range factor_peak_bytes; /* Maximum additional bytes of a rank during the factorization, those of
                                      its share included: factor_peak_bytes of tristar_distributed_stats. */
  tristar_range solve_bytes;       /* Bytes of the workspace of a solve with nrhs columns. */
  tristar_range peak_bytes; /* Maximum additional bytes of a rank: of the factorization, or afterwards of its
                               share and a solve. */
  double search_peak_bytes; /* Maximum additional bytes of rank 0 if the values call for its search of
                               PIVOTING_DELAYED and this delays no column. Each delayed column adds to it. 0
                               without PIVOTING_DELAYED. Not in the other fields. */
  double factor_seconds;    /* Seconds of the factorization, without the analysis. */
  double solve_seconds;     /* Seconds of a solve with nrhs columns. */
} tristar_ranks_forecast;

/* Forecasts a factorization and solves on the ranks of a layout (tristar_dmatrix_factor,
 * tristar_mpi.h), on one process. It makes the steps of each rank, one after the other, but does no
 * arithmetic. Seconds are simulated: tristar_layout_predict_factor, tristar_layout_predict; cluster NULL: as
 * in tristar_layout_costs. layout NULL: the default. Assumed are one worker a rank, and rows of the matrix
 * that are equally long and as many on each rank. Not included: the analysis on rank 0, the rows of the
 * matrix that ranks pass, larger factors in an order of PIVOTING_DELAYED, a second factorization or another
 * method that the values may call for, trial solves, refinement, GPUs, and the memory of MPI. Errors: those
 * of tristar_layout_predict_factor; ARGUMENT (NULL; nrhs < 1), STALE, UNSUPPORTED (imported factors, rows of
 * a Schur complement), MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_forecast(tristar_analysis_t *analysis,
                                                                   const tristar_layout *layout, int64_t nrhs,
                                                                   const tristar_cluster *cluster,
                                                                   tristar_ranks_forecast *out);

#ifdef __cplusplus
}
#endif
#endif
