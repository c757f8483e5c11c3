/* A plan: chunks, DAG and kernel data of a factor, and the replays that run it.
 *
 * Reads   factor (its streams may get new values by tristar_refactor; its structure never changes).
 * Writes  only its replays: each owns a workspace and recorded tasks, and serves one solve at a time. A solve
 * takes a free replay from the pool or makes one, so concurrent solves of one plan never share a workspace.
 * Invariants: everything but the pool and the statistics is immutable after tristar_plan. */
#ifndef TSI_RUNTIME_PLAN_H
#define TSI_RUNTIME_PLAN_H

#include "codelets/cpu/node.h"
#include "dag/dag.h"
#include "runtime/factor.h"
#include "runtime/tasks.h"

#define TSI_NRHS_BLOCK 64 /* more right-hand sides are solved in blocks of this many */

typedef struct tsi_replay {
  struct tsi_replay *next; /* in the pool */
  tristar_plan_t *plan;
  tsi_solve_call call;
  tsi_tasks *tasks;         /* one for every node and direction */
  tsi_count workspace_size; /* scalars */
} tsi_replay;

struct tristar_plan_s {
  tristar_t *ts;
  tristar_factor_t *factor;
  tristar_plan_options options;
  bool use_tasks;
  tsi_chunks *chunks;
  tsi_dag *dag;
  tsi_index *order; /* 2 * nodes tasks in the order in which they are recorded, and run without StarPU */
  tsi_solve_data data;
  const tsi_node_kernels *nodes;
  tsi_solve_chunk *chunk;
  tsi_solve_slice *slice;
  tsi_panel *panel;
  tsi_solve_pair *pair;
  tsi_count workspace_rows;
  tsi_index *chunk_of_supernode;
  pthread_mutex_t lock; /* guards the pool and the changing statistics */
  tsi_replay *free_replays;
  tristar_plan_stats stats;
};

/* A replay with a workspace for `stride` scalars a row, from the pool or new. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_replay_take(tristar_plan_t *plan, tsi_index stride, tsi_replay **out);
void tsi_replay_give_back(tsi_replay *replay);
void tsi_replay_destroy(tsi_replay **replay);

#endif
