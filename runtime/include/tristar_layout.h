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
                                 fronts    that several processes share. */
  tristar_range factor_flops; /* Operations of the fronts of a process; L D L^T counts as L L^T. */
  tristar_range front_bytes;  /* Largest memory of its fronts and contribution blocks, besides the factor, if
                                 it  factors one front at a time and sends contribution blocks at once. */
  double factor_path_flops;   /* Operations until the last front is factored, if each process takes its fronts
                                 one   after the other, the longest path to the root first. Messages cost time
                                 only   inside shared fronts. */
} tristar_traffic;

/* Counts the messages of a solve with nrhs right-hand sides in this layout, forward and backward, and of the
 * factorization. It neither solves nor prepares a solve, and counts for up to 2^20 processes on one. Values
 * are scalars of the factor. layout may be NULL: the default. Errors: ARGUMENT (nrhs < 1, an unknown
 * enumerator, a number below 1, a pz that is no power of two or above leaf_parts), TOO_LARGE (more than 2^20
 * processes), UNSUPPORTED (imported factors with different structures of L and U), MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_traffic(const tristar_analysis_t *analysis,
                                                                  const tristar_layout *layout, int64_t nrhs,
                                                                  tristar_traffic *out);

/* Criteria of tristar_layout_choose. Call tristar_layout_costs_init first. */
typedef struct tristar_layout_costs {
  size_t size; /* Set by tristar_layout_costs_init. */
  double
      bytes_per_second; /* Rate at which a process reads, or sends. 0: the rate of a core of this machine. */
  double message_seconds; /* Seconds of a message besides its bytes. Default: 2e-6. */
  int64_t nrhs;           /* Right-hand sides of a solve. Default: 1. */
  int64_t solves;         /* Solves after each factorization. 0: only the time of solves counts. */
  double process_bytes;   /* Most bytes of a process. 0: no limit. */
  int grids;              /* Most grids of the layout. 0: no limit. */
} tristar_layout_costs;

/* The defaults of the comments; all else 0. */
#define tristar_layout_costs_init(costs) tristar_layout_costs_init_sized((costs), sizeof *(costs))

/* Prediction for a layout. */
typedef struct tristar_layout_prediction {
  double factor_seconds; /* Seconds of one factorization. */
  double solve_seconds;  /* Seconds of one solve of nrhs right-hand sides. */
  double process_bytes;  /* Largest memory of a process: its share of the factor, and its largest fronts. */
} tristar_layout_prediction;

/* Chooses px, py and pz of *layout; the caller sets algorithm, map and message_tree. The choice is the
 * fastest layout of that many processes, with pz up to leaf_parts and costs->grids, for a factorization and
 * `solves` solves, by the counts of tristar_layout_traffic. The model compares layouts; it does not predict
 * absolute times. costs may be NULL: the defaults; prediction may be NULL. After a failure *layout is
 * unchanged. Errors: those of tristar_layout_traffic; ARGUMENT (numbers below 0, nrhs < 1, processes < 1),
 * MEMORY (also: every layout exceeds process_bytes). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_choose(const tristar_analysis_t *analysis,
                                                                 int64_t processes,
                                                                 const tristar_layout_costs *costs,
                                                                 tristar_layout *layout,
                                                                 tristar_layout_prediction *prediction);

#ifdef __cplusplus
}
#endif
#endif
