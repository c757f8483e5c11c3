/* Steps: the units of work of a solve, or of a factorization (factorization.h), in a legal order.
 *
 * Job. Make the list of steps that the runtime records from the DAG of chunks of a solve: for the whole
 * solve, or for one sweep.
 *
 *   - pull: a step for each task of the DAG, with the edges of the DAG. A forward chunk gathers the updates
 *     of its sources; a backward chunk or slice copies x of the owners of its off-rows.
 *   - push: each pair of chunks (sweep.h) becomes a step of its own in each direction. Forward, it adds the
 *     update of the source to x of the target, as soon as the tasks have run that make the rows of the pair.
 *     The pushes into one target wait for each other in the order of the sources, so that every sum has the
 *     same order as with pull; the first one also reads b. Backward, it copies x of the target to the copy of
 *     the source. Each pair has rows of its own, so it waits only for the task of its target. Tasks that read
 *     the rows of a pair wait for it.
 *   - a chunk on a device has several steps in each direction, one after the other. Forward, the host reads
 *     b, the device does the forward work, and the updates of the off-rows are copied to the host. Backward,
 *     the host copies x of the owners of the off-rows, the device does the backward work, and the host writes
 *     x to the user's memory.
 *
 * Reads   a tsi_dag, a legal order of its tasks, the chunks of both sweeps.
 * Writes  a tsi_steps that owns its arrays and is immutable afterwards.
 * Invariants (tsi_steps_check)
 *   - edges lead upwards: before < item; the list is a legal order
 *   - every task of the chosen sweeps, and with push every pair of them, is one step, or the steps of a
 *     device
 *   - if two steps touch the same memory and one of them writes, edges order them (access.h) */
#pragma once

#include "dag/access.h"
#include "dag/dag.h"
#include "dag/levels.h"

typedef enum tsi_step_kind {                          /* the argument */
                             TSI_STEP_FORWARD_CHUNK,  /* chunk */
                             TSI_STEP_FORWARD_SLICE,  /* slice */
                             TSI_STEP_FORWARD_PUSH,   /* position in by_target of the forward sweep */
                             TSI_STEP_BACKWARD_CHUNK, /* chunk */
                             TSI_STEP_BACKWARD_SLICE, /* slice */
                             TSI_STEP_BACKWARD_PUSH,  /* pair of the backward sweep */
                             TSI_STEP_READ, /* chunk; this and the following: for the partitioned inverse */
                             TSI_STEP_FORWARD_ROWS,  /* block of rows of the forward product */
                             TSI_STEP_DIAGONAL,      /* chunk */
                             TSI_STEP_BACKWARD_ROWS, /* block of rows of the backward product */
                             TSI_STEP_WRITE,         /* chunk */
                             TSI_STEP_ARRIVAL, /* received message; this and the following: see program.h */
                             TSI_STEP_FORWARD_SUM,      /* chunk */
                             TSI_STEP_FORWARD_RECEIVE,  /* chunk */
                             TSI_STEP_BACKWARD_SUM,     /* chunk */
                             TSI_STEP_BACKWARD_RECEIVE, /* chunk */
                             TSI_STEP_EXCHANGE,         /* stage */
                             TSI_STEP_GRID_FORWARD,     /* level */
                             TSI_STEP_GRID_BACKWARD,    /* level */
                             TSI_STEP_FORWARD_BORDER,   /* chunk; this and the following: for a chunk on a
                                                           device */
                             TSI_STEP_BACKWARD_BORDER,  /* chunk */
                             TSI_STEP_SUBTREE,          /* this and the following: position in `part` of
                                                           factorization.h */
                             TSI_STEP_FRONT,
                             TSI_STEP_FRONT_OPEN,
                             TSI_STEP_FRONT_ASSEMBLE,
                             TSI_STEP_FRONT_ASSEMBLED,
                             TSI_STEP_FRONT_DIAGONAL,
                             TSI_STEP_FRONT_BELOW,
                             TSI_STEP_FRONT_RIGHT,
                             TSI_STEP_FRONT_SCHUR,
                             TSI_STEP_FRONT_DEVICE,
                             TSI_STEP_FRONT_PACK,
                             TSI_STEP_FRONT_CLOSE,
                             TSI_STEP_KINDS
} tsi_step_kind;

typedef struct tsi_step {
  tsi_step_kind kind;
  tsi_index argument;
  double priority;  /* Steps of a higher priority run earlier. */
  double bytes;     /* Estimate of the bytes that it moves. */
  bool alone;       /* It must not share a task with other steps, except for the next two flags. */
  bool with_before; /* This step and its only predecessor are one task. */
  bool with_after;  /* This step and its only successor are one task. */
  bool on_device;   /* It runs on a device, or moves data for a step on a device. */
} tsi_step;

typedef struct tsi_steps {
  tsi_index count;
  tsi_step *step;
  tsi_count edges;
  tsi_edge *edge;
} tsi_steps;

/* Sum of the bytes that the steps move. */
double tsi_steps_bytes(const tsi_steps *steps);
/* Does the step belong to the forward sweep of a solve? GRID_FORWARD does, the other steps of messages
 * between grids do not. */
static inline bool tsi_step_is_forward(tsi_step_kind kind) {
  return kind == TSI_STEP_READ || kind == TSI_STEP_FORWARD_CHUNK || kind == TSI_STEP_FORWARD_SLICE ||
         kind == TSI_STEP_FORWARD_SUM || kind == TSI_STEP_FORWARD_RECEIVE ||
         kind == TSI_STEP_FORWARD_BORDER || kind == TSI_STEP_GRID_FORWARD;
}
/* What a step reads of the factor, or computes of it: diagonal blocks, with or without rows below them; only
 * rows below them, or beside them in U; neither (it moves or adds vectors, or entries of fronts). */
typedef enum tsi_step_part {
  TSI_PART_DIAGONAL,
  TSI_PART_ROWS,
  TSI_PART_NEITHER,
  TSI_STEP_PARTS
} tsi_step_part;
tsi_step_part tsi_step_part_of(tsi_step_kind kind);
/* The name of a kind of step, for traces: a static string. */
const char *tsi_step_name(tsi_step_kind kind);

/* What tsi_steps_create reads. */
typedef struct tsi_steps_source {
  const tsi_dag *dag;
  const tsi_index *order;                             /* dag->tasks: a legal order */
  const tsi_chunks *forward_chunks, *backward_chunks; /* Chunks of the two sweeps. */
  bool forward, backward;                             /* The sweeps that run. */
  bool push;
  bool before;   /* INVERSE_PARTITIONED: forward slices read x from before the solve with the triangle. */
  bool in_place; /* x and b may have the same memory. */
  const bool *on_device; /* chunks: the chunk works on a device. Such a chunk has no sources and no slices,
                            and nothing is pushed. NULL: no chunk does */
} tsi_steps_source;

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_steps_create(tsi_env *env, const tsi_steps_source *source,
                                                tsi_steps **out);
TRISTAR_CHECKED tristar_status tsi_steps_check(tsi_env *env, const tsi_steps *steps,
                                               const tsi_steps_source *source);
/* Lists what the steps read and write. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_steps_list_accesses(tsi_env *env, const tsi_steps *steps,
                                                       const tsi_steps_source *source, tsi_access_list **out);
