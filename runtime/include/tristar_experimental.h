/* TriStar: variants of factorizations and solves that papers compare. The default of each is 0, the fastest
 * here.
 *
 * Fields of tristar_analysis_options and tristar_plan_options (tristar.h, which includes this header) choose
 * them. Tests use tristar_config.check, tristar_config.fail_allocation, tristar_fail_allocation and
 * tristar_plan_options.order_seed.
 *
 * Yamazaki, Rajamanickam and Ellingwood (Performance portable supernode-based sparse triangular solver for
 * manycore architectures, ICPP 2020) compare the same choices on GPUs and CPUs. */
#ifndef TRISTAR_EXPERIMENTAL_H
#define TRISTAR_EXPERIMENTAL_H

/* Treatment of the diagonal block D of a panel, and of the block G of the rows below it. All take the same
 * memory, and solves read the same bytes. If D is badly conditioned, solves lose accuracy: least with NONE,
 * most with PARTITIONED. Refinement restores it. */
typedef enum tristar_inverse {
  TRISTAR_INVERSE_DIAGONAL,   /* D^-1: a solve consists of products. */
  TRISTAR_INVERSE_NONE,       /* D with the reciprocals of its diagonal: substitution with D. */
  TRISTAR_INVERSE_PARTITIONED /* D^-1 and G D^-1, a partitioned inverse: independent products. The
                                 factorization needs w^2 m operations more for an m x w block G. */
} tristar_inverse;

/* Merging of supernodes. */
typedef enum tristar_merge {
  TRISTAR_MERGE_RELAXED,     /* Also supernodes of slightly different structure; zeros are stored. */
  TRISTAR_MERGE_FUNDAMENTAL, /* Columns of equal structure only. */
  TRISTAR_MERGE_NONE /* As FUNDAMENTAL, cut into panels of at most 8 columns. LU and LDLT exchange pivots
                        inside a panel only. */
} tristar_merge;

/* NUMA placement of the factor. After the first whole solve of a plan that runs on StarPU, the pages of each
 * chunk are moved to the node of the core that read it. Pages of a workspace need no move: tasks allocate
 * them by their first write. The scheduler chooses the core of a task in later solves. StarPU has no hint
 * that all schedulers follow, and naming workers would forbid stealing; lws tends to run a chunk on the core
 * of its predecessors. Of several plans of a factor, the one whose first solve is latest decides. Placement
 * never changes results. If the system refuses it, the log has a line. */
typedef enum tristar_placement {
  TRISTAR_PLACEMENT_AUTO, /* On machines with several NUMA nodes. */
  TRISTAR_PLACEMENT_OFF,  /* Never. */
  TRISTAR_PLACEMENT_ON    /* Also with one node, without benefit: for tests. */
} tristar_placement;

/* When a task may run. */
typedef enum tristar_scheduling {
  TRISTAR_SCHEDULING_DYNAMIC, /* As soon as its predecessors have ended. */
  TRISTAR_SCHEDULING_LEVELS   /* By level sets: a barrier follows all tasks of the same depth. */
} tristar_scheduling;

/* How contributions of a chunk reach other chunks. */
typedef enum tristar_updates {
  TRISTAR_UPDATES_PULL, /* A chunk gathers the contributions of its sources, backward the entries of x. */
  TRISTAR_UPDATES_PUSH /* A task for each pair of chunks. Forward it adds an update to x of the target, in the
                          order of the sources. Backward it copies x. */
} tristar_updates;

/* Size of a node of the graph. */
typedef enum tristar_granularity {
  TRISTAR_TASKS_CHUNKS,    /* A chunk: many small supernodes, or slices of a large one. */
  TRISTAR_TASKS_SUPERNODES /* A panel: a supernode, or a piece of it of at most 256 columns (8 with
                              MERGE_NONE). */
} tristar_granularity;

/* Kernel of a solve. SPMV multiplies, for each level of the assembly tree, a sparse matrix by blocks of rows,
 * with a barrier after each level (the partitioned inverse; Alvarado, Pothen, Schreiber 1993). It needs
 * variant_bytes of memory more. It serves whole solves of factors whose L and U have the same structure; else
 * UNSUPPORTED. Scheduling, updates and granularity have no effect on it. */
typedef enum tristar_kernel {
  TRISTAR_KERNEL_PANELS, /* Dense panels of the factor. */
  TRISTAR_KERNEL_SPMV    /* The partitioned inverse. */
} tristar_kernel;

#endif
