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

/* How grids of processes share the work above the leaves of the separator tree. */
typedef enum tristar_algorithm {
  TRISTAR_ALGORITHM_REPLICATED, /* every grid solves with copies of its ancestors; sums are exchanged once,
                            between the sweeps (Liu, Ding, Williams, Li, SC 2023) */
  TRISTAR_ALGORITHM_LEVELWISE   /* ancestors are solved in one grid each, level after level (Sao, Kannan, Li,
                                  Vuduc, ICS 2019) */
} tristar_algorithm;

/* Which process of a grid has which blocks of the factor. */
typedef enum tristar_map {
  TRISTAR_MAP_SUBTREE, /* balanced subtrees are whole on one process, only what is above them is spread */
  TRISTAR_MAP_CYCLIC   /* all panels are spread block-cyclically */
} tristar_map;

/* The shape of broadcasts and reductions in a grid. */
typedef enum tristar_message_tree {
  TRISTAR_MESSAGE_TREE_BINARY, /* log2 of the processes many steps */
  TRISTAR_MESSAGE_TREE_FLAT    /* one process sends to, or receives from, all others */
} tristar_message_tree;

/* px * py * pz processes, pz grids of px x py: grid z works on leaf z of the separator tree and on the
 * ancestors of that leaf. Rank p + px (q + py z) is process (p, q) of grid z. */
typedef struct tristar_layout {
  int px, py, pz;              /* each at least 1; pz a power of two, at most leaf_parts of the analysis */
  tristar_algorithm algorithm; /* the same for pz = 1 */
  tristar_map map;             /* who has which blocks in a grid */
  tristar_message_tree message_tree; /* the shape of broadcasts and reductions */
} tristar_layout;

/* 1 x 1 x 1, REPLICATED, SUBTREE, BINARY. */
TRISTAR_API void tristar_layout_init(tristar_layout *layout);

/* Messages of one solve, and their bytes. What all processes send together they receive together. */
typedef struct tristar_messages {
  tristar_range sent, received, sent_bytes, received_bytes; /* per process, in one solve */
} tristar_messages;

/* What a solve sends, over all processes, and the factorization before it. */
typedef struct tristar_traffic {
  int64_t ranks;         /* px py pz */
  int64_t chunks;        /* of the solve, copies not counted */
  int64_t spread_chunks; /* that have their rows on several processes of a grid */
  int grid_steps; /* steps of messages between grids, one after the other: log2 pz; LEVELWISE: 2 log2 pz */
  tristar_messages broadcast, reduction; /* within grids: parts of x that go out, sums that come in */
  tristar_messages grids;                /* between grids */
  tristar_messages all;                  /* the sum of these three */
  tristar_range factor_bytes;            /* of one triangular factor as stored, with all copies */
  double balance;                        /* factor_bytes.max / factor_bytes.mean; 1 if there is none */
  tristar_messages fan_in;    /* of tristar_distributed_factor: Schur complements on their way up the tree,
                                 and stripes of fronts that several processes share */
  tristar_range factor_flops; /* of the fronts that a process factors; L D L^T is counted as L L^T */
  tristar_range front_bytes;  /* the most that its fronts and Schur complements take at a time, beside the
                                 factor: one front after the other, complements leave at once */
  double factor_path_flops; /* until the last front is factored, where each process takes its fronts, and its
                               parts of shared ones, one after the other, those with most above them first;
                               messages take time only inside shared fronts */
} tristar_traffic;

/* Counts what a solve with nrhs right-hand sides sends in this layout, forward and backward, and what the
 * factorization sends from front to front, without doing or even preparing it: any number of processes up to
 * 2^20, on one. Values are scalars of the factor. layout may be NULL: the default. Errors: ARGUMENT (nrhs <
 * 1, an unknown enumerator, a layout with a number below 1, or a pz that is no power of two or above
 * leaf_parts), TOO_LARGE (more than 2^20 processes), UNSUPPORTED (factors from elsewhere with different
 * structures of L and U), MEMORY. */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_traffic(const tristar_analysis_t *analysis,
                                                                  const tristar_layout *layout, int64_t nrhs,
                                                                  tristar_traffic *out);

/* What a layout is chosen by. Fill it with tristar_layout_costs_init first. */
typedef struct tristar_layout_costs {
  size_t size;             /* Set by tristar_layout_costs_init. */
  double bytes_per_second; /* that a process reads, or sends; 0: what a core of this machine reads */
  double message_seconds;  /* of a message beside its bytes: 2e-6 */
  int64_t nrhs;            /* right-hand sides of a solve: 1 */
  int64_t solves;          /* that are to come after each factorization; 0: their time alone counts */
  double process_bytes;    /* the most that a process may need; 0: no limit */
  int grids;               /* the most that a layout may have; 0: no limit */
} tristar_layout_costs;

/* The numbers given above; others are 0. */
#define tristar_layout_costs_init(costs) tristar_layout_costs_init_sized((costs), sizeof *(costs))

/* What a layout is expected to take. */
typedef struct tristar_layout_prediction {
  double factor_seconds, solve_seconds; /* of one factorization, of one solve of nrhs right-hand sides */
  double process_bytes; /* of the process with the most: its share of the factor, and the most that its fronts
                           take at a time */
} tristar_layout_prediction;

/* Chooses px, py and pz of *layout, whose algorithm, map and message_tree are given: of all layouts with so
 * many processes, and pz up to leaf_parts and costs->grids, that one that takes the least time for `solves`
 * solves and a factorization, by the counts of tristar_layout_traffic. A model: good enough to tell layouts
 * apart, not to foretell a clock. costs may be NULL: the defaults; prediction may be NULL. After a failure
 * *layout is as before. Errors: those of tristar_layout_traffic; ARGUMENT (numbers below 0, nrhs < 1,
 * processes < 1), MEMORY (also: no layout keeps to process_bytes). */
TRISTAR_API TRISTAR_CHECKED tristar_status tristar_layout_choose(const tristar_analysis_t *analysis,
                                                                 int64_t processes,
                                                                 const tristar_layout_costs *costs,
                                                                 tristar_layout *layout,
                                                                 tristar_layout_prediction *prediction);

#ifdef __cplusplus
}
#endif
#endif
