/* Steps: what a solve, or a factorization (factorization.h), does, task by task, in a legal order.
 *
 * Job. Make the list of tasks that the runtime records out of the DAG of chunks of a solve: all of it, or one
 * sweep.
 *
 *   - pull: a step for each task of the DAG; its edges are those of the DAG. A forward chunk gathers the
 * updates of its sources, a backward chunk or slice copies x of the owners of its off-rows.
 *   - push: each pair of chunks (sweep.h) becomes a step of its own in each direction. Forward, x of the
 * target += the update of the source, as soon as those tasks are through that make the rows of the pair; the
 * pushes into one target wait for each other in the order of the sources, so that every sum has the same
 * order as with pull; the first one also reads b. Backward, the copy of the source := x of the target; all
 * pairs have rows of their own, so they wait for their target's task only, and the tasks that read a pair's
 * rows wait for it.
 *
 *   - a chunk that works on a device has several steps in each direction, one after the other: the host
 * reads b, the device goes forward, the updates of its off-rows come to the host; there x of their owners is
 * copied, the device goes backward, and the host writes x to the user.
 *
 * Reads   a tsi_dag, a legal order of its tasks, the chunks of both sweeps.
 * Writes  a tsi_steps that owns its arrays and is immutable afterwards.
 * Invariants (tsi_steps_check)
 *   - edges lead upwards: before < item; the list is a legal order
 *   - every task of the chosen sweeps, and with push every pair of them, is one step, or the steps of a
 * device
 *   - steps that touch the same memory, one of them writing, are ordered (access.h) */
#pragma once

#include "dag/access.h"
#include "dag/dag.h"
#include "dag/levels.h"

typedef enum tsi_step_kind {                          /* the argument */
                             TSI_STEP_FORWARD_CHUNK,  /* chunk */
                             TSI_STEP_FORWARD_SLICE,  /* slice */
                             TSI_STEP_FORWARD_PUSH,   /* place in by_target of the forward sweep */
                             TSI_STEP_BACKWARD_CHUNK, /* chunk */
                             TSI_STEP_BACKWARD_SLICE, /* slice */
                             TSI_STEP_BACKWARD_PUSH,  /* pair of the backward sweep */
                             TSI_STEP_READ, /* chunk; this and the following: of the partitioned inverse */
                             TSI_STEP_FORWARD_ROWS,  /* block of rows of the forward product */
                             TSI_STEP_DIAGONAL,      /* chunk */
                             TSI_STEP_BACKWARD_ROWS, /* block of rows of the backward product */
                             TSI_STEP_WRITE,         /* chunk */
                             TSI_STEP_ARRIVAL, /* received message; this and the following: of program.h */
                             TSI_STEP_FORWARD_SUM,      /* chunk */
                             TSI_STEP_FORWARD_RECEIVE,  /* chunk */
                             TSI_STEP_BACKWARD_SUM,     /* chunk */
                             TSI_STEP_BACKWARD_RECEIVE, /* chunk */
                             TSI_STEP_EXCHANGE,         /* stage */
                             TSI_STEP_GRID_FORWARD,     /* level */
                             TSI_STEP_GRID_BACKWARD,    /* level */
                             TSI_STEP_FORWARD_BORDER,  /* chunk; this and the following: of one on a device */
                             TSI_STEP_BACKWARD_BORDER, /* chunk */
                             TSI_STEP_SUBTREE, /* this and the following: place in part of factorization.h */
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
  double priority;  /* larger: earlier */
  double bytes;     /* that it moves, about */
  bool alone;       /* must not share a task with others, but for */
  bool with_before; /* this step and its only predecessor: one task */
  bool with_after;  /* this step and its only successor: one task */
  bool on_device;   /* runs on a device, or moves data of a step that does */
} tsi_step;

typedef struct tsi_steps {
  tsi_index count;
  tsi_step *step;
  tsi_count edges;
  tsi_edge *edge;
} tsi_steps;

/* Bytes that all steps move together. */
double tsi_steps_bytes(const tsi_steps *steps);
/* Of the forward sweep of a solve, messages between grids included. */
static inline bool tsi_step_is_forward(tsi_step_kind kind) {
  return kind == TSI_STEP_READ || kind == TSI_STEP_FORWARD_CHUNK || kind == TSI_STEP_FORWARD_SLICE ||
         kind == TSI_STEP_FORWARD_SUM || kind == TSI_STEP_FORWARD_RECEIVE ||
         kind == TSI_STEP_FORWARD_BORDER || kind == TSI_STEP_GRID_FORWARD;
}
/* The name of a kind of step, for traces. The text is static. */
const char *tsi_step_name(tsi_step_kind kind);

/* What steps are made of. */
typedef struct tsi_steps_source {
  const tsi_dag *dag;
  const tsi_index *order;                             /* dag->tasks: a legal order */
  const tsi_chunks *forward_chunks, *backward_chunks; /* of the two sweeps */
  bool forward, backward;                             /* which sweeps run */
  bool push;
  bool before;           /* INVERSE_PARTITIONED: forward slices read x as it was before the triangle */
  bool in_place;         /* x may be b */
  const bool *on_device; /* chunks: works on a device. Such a chunk has no sources and no slices, and nothing
                            is pushed; NULL: none */
} tsi_steps_source;

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_steps_create(tsi_env *env, const tsi_steps_source *source,
                                                tsi_steps **out);
TRISTAR_CHECKED tristar_status tsi_steps_check(tsi_env *env, const tsi_steps *steps,
                                               const tsi_steps_source *source);
/* What the steps read and write. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_steps_list_accesses(tsi_env *env, const tsi_steps *steps,
                                                       const tsi_steps_source *source, tsi_access_list **out);
