/* TriStar: variants of factorizations and solves that papers compare. The defaults, 0, are the fastest here.
 *
 * The fields of tristar_analysis_options and tristar_plan_options (tristar.h, which includes this header)
 * choose them. Beside these, three fields serve tests: tristar_config.check, tristar_config.fail_allocation
 * and tristar_plan_options.order_seed. */
#ifndef TRISTAR_EXPERIMENTAL_H
#define TRISTAR_EXPERIMENTAL_H

/* What the factorization makes of the diagonal block D of each panel of a triangular factor and of the block
 * G of the rows below it (Yamazaki, Rajamanickam and Ellingwood, Performance portable supernode-based sparse
 * triangular solver for manycore architectures, ICPP 2020). The factors take the same memory, solves read
 * the same bytes. Where D is badly conditioned, solves lose accuracy, least with NONE and most with OFF,
 * which refinement restores. */
typedef enum tristar_inverse {
  TRISTAR_INVERSE_DIAGONAL,   /* D^-1: a solve consists of products */
  TRISTAR_INVERSE_NONE,       /* D, with the reciprocals of its diagonal entries: substitution with D */
  TRISTAR_INVERSE_PARTITIONED /* D^-1 and G D^-1, a partitioned inverse: products that do not wait for each
                         other; costs w^2 m operations more in the factorization of an m x w block G */
} tristar_inverse;

/* Which supernodes are merged, as Yamazaki, Rajamanickam and Ellingwood (ICPP 2020) vary it. */
typedef enum tristar_merge {
  TRISTAR_MERGE_RELAXED,     /* also such of slightly different structure, zeros are stored; the default */
  TRISTAR_MERGE_FUNDAMENTAL, /* columns of the same structure only */
  TRISTAR_MERGE_NONE         /* the same, cut into panels of at most 8 columns, which also bounds where LU and
                                LDLT may exchange pivots */
} tristar_merge;

/* Machines with several NUMA nodes: where the factor lies. Its pages are moved after the first solve of the
 * plan that takes all rows and runs on StarPU: those of each chunk to the node of the core that streamed it.
 * (A workspace needs no moving: its pages come to lie where tasks first write them.) Where a task runs in
 * later solves stays the choice of the scheduler: StarPU has no hint that all of its schedulers follow;
 * naming workers for a task would forbid stealing. lws tends to run a chunk where those that it waits for
 * have run. Of several plans of a factor, the one whose first solve is latest decides. Placement never
 * changes results; where the system refuses it, a line in the log says so. */
typedef enum tristar_placement {
  TRISTAR_PLACEMENT_AUTO, /* with several NUMA nodes */
  TRISTAR_PLACEMENT_OFF,  /* never */
  TRISTAR_PLACEMENT_ON    /* also with one, where it is of no use: for tests */
} tristar_placement;

/* Variants of a solve, to compare them; 0 is what solves fastest here. Yamazaki, Rajamanickam and Ellingwood
 * ("Performance portable supernode-based sparse triangular solver for manycore architectures", ICPP 2020)
 * compare the same choices on GPUs and CPUs. */
typedef enum tristar_scheduling {
  TRISTAR_SCHEDULING_DYNAMIC, /* a task runs as soon as those that it needs are through */
  TRISTAR_SCHEDULING_LEVELS   /* level sets: a barrier after all tasks of the same depth in the DAG */
} tristar_scheduling;

/* How what a chunk contributes to others gets there. */
typedef enum tristar_updates {
  TRISTAR_UPDATES_PULL, /* a chunk gathers what its sources left for it, backward what it needs of x */
  TRISTAR_UPDATES_PUSH  /* tasks of their own, one for each pair of chunks, bring it there: forward they add
                           the  update of a finished source to x of the target, in the order of the sources;
                           backward they copy x of a finished chunk to one that needs it */
} tristar_updates;

/* How much of the factor is one node of the DAG. */
typedef enum tristar_granularity {
  TRISTAR_TASKS_CHUNKS,    /* a task for each chunk: many small supernodes, or slices of a large one */
  TRISTAR_TASKS_SUPERNODES /* a task for each supernode, or piece of it of at most 128 columns (8 with
                              MERGE_NONE), as other solvers have */
} tristar_granularity;

/* SPMV: for each level of the assembly tree a sparse matrix, multiplied by blocks of rows, and a barrier (the
 * partitioned inverse; Alvarado, Pothen, Schreiber 1993). Needs memory for these matrices besides the factor:
 * variant_bytes. It serves whole solves only, with all rows of b and x, and L and U of the same structure;
 * else UNSUPPORTED. Scheduling, updates and granularity have no effect on it. */
typedef enum tristar_kernel {
  TRISTAR_KERNEL_PANELS, /* dense panels of the factor */
  TRISTAR_KERNEL_SPMV    /* the partitioned inverse */
} tristar_kernel;

#endif
