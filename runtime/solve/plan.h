/* A plan: chunks, DAG and kernel data of a factor, and the replays that run it.
 *
 * Reads   factor (its streams may get new values by tristar_refactor; its structure never changes).
 * Writes  only its replays: each owns a workspace and recorded tasks, and serves one solve at a time. A solve
 * takes a free replay from the pool or makes one, so concurrent solves of one plan never share a workspace.
 * Requests (request.h) keep their plan alive. Who drops the last share where nothing may be waited for leaves
 * the plan to its context, which frees it later (in_flight.h).
 * Invariants: everything but the pool and the statistics is immutable after tristar_plan. */
#pragma once

#include "runtime/factor/factor.h"
#include "runtime/solve/executor.h"
#include "runtime/solve/operation.h"
#include "runtime/solve/device_split_options.h"
#include "runtime/solve/statistics.h"
#include "runtime/exec/steps/tables.h"
#include "runtime/exec/starpu/insert.h"

typedef struct tsi_spmv tsi_spmv;
typedef struct tsi_replay_subtrees tsi_replay_subtrees;
struct tsi_block_plan;
struct tsi_storage;
struct tsi_plan_subtrees;
struct tsi_kept_vectors;

/* The lists of steps that a plan has, by what they solve with. */
typedef enum tsi_step_list {
  TSI_LIST_SIDES,   /* DAG 0: forward with side 0, backward with the last side; of rows: all solves but OWN */
  TSI_LIST_SWAPPED, /* DAG 1, of two sides: forward with side 1, backward with side 0 */
  TSI_LIST_OWN, /* of rows: the block cut, with all rows of b and x; or one right-hand side that is moved */
  TSI_LISTS
} tsi_step_list;

typedef struct tsi_replay {
  struct tsi_replay *next; /* in the pool */
  tristar_plan_t *plan;
  tsi_execution execution;
  tsi_executor executor[TSI_LISTS][TSI_SWEEPS]; /* made when first needed */
  tsi_help_choice help;
  tsi_count workspace_size;         /* scalars */
  struct tsi_numa_range *processed; /* room for what the tasks of a sweep streamed */
  tsi_replay_subtrees *subtrees;    /* NULL: nothing runs on devices, or nothing was recorded */
  tsi_triangle_data *triangle;      /* likewise, of a triangle by rows */
} tsi_replay;

/* One of the triangular factors, as the solve sees it. */
typedef struct tsi_plan_side {
  tsi_chunks *chunks;
  tsi_sweep *sweep;
  tsi_solve_data data;
  tsi_tables tables;
} tsi_plan_side;

/* Why a solve has its way (way.c). */
typedef enum tsi_why {
  /* of a plan */
  TSI_WHY_ENGINE,       /* the option */
  TSI_WHY_NO_STARPU,    /* the context does without it */
  TSI_WHY_DEVICES,      /* subtrees are on devices */
  TSI_WHY_ONE_CHUNK,    /* there is nothing to share */
  TSI_WHY_ONE_WORKER,   /* it is to work instead of the caller */
  TSI_WHY_POLLING,      /* idle workers would slow the caller down */
  TSI_WHY_TASK_OPTIONS, /* options distinguish tasks */
  TSI_WHY_PREDICTED,    /* by the cost model */
  TSI_WHY_ONE_LANE,     /* of a triangle by rows */
  TSI_WHY_FEW_BYTES,    /* likewise */
  TSI_WHY_LANES,        /* likewise: several */
  /* of a request */
  TSI_WHY_ONE_CALL,    /* small_triangle.c */
  TSI_WHY_DIAGONAL,    /* D alone */
  TSI_WHY_FEW_ROWS,    /* of the factor take part */
  TSI_WHY_INSIDE_TASK, /* a StarPU task, which must not wait for tasks */
  TSI_WHY_TRACE        /* lanes cannot be traced */
} tsi_why;

/* What runs the steps of a block of right-hand sides. */
typedef struct tsi_way {
  tristar_way kind;
  tsi_why why;
  double bytes;      /* FEW_BYTES, FEW_ROWS, ONE_LANE: that a solve reads */
  double seconds[2]; /* PREDICTED: of a plain call, and of tasks */
} tsi_way;

static inline bool tsi_way_has_tasks(const tsi_way *way) {
  return way->kind == TRISTAR_WAY_TASKS || way->kind == TRISTAR_WAY_DEVICES;
}

/* Solves that are one call (small_triangle.c). */
typedef struct tsi_small_triangle {
  bool takes;      /* there are such solves */
  bool conjugates; /* not with TRISTAR_C: b and x are complex */
  int64_t tasks;   /* of one, and its bytes: for statistics */
  double bytes;
  atomic_int untimed; /* how many solves to come are not timed */
} tsi_small_triangle;

/* Solves that are fused: see fuse.c. All but least and most are under the context's solves.lock. */
typedef struct tsi_fuse {
  tsi_index least; /* columns of the kernels in every solve, at least; 0: nothing is fused */
  struct tristar_request_s *first, *last; /* waiting for the next pass */
  int running, most;                      /* passes at the same time, and at most */
  bool starting;                          /* a thread is starting passes, and will look at the queue again */
  bool lingers;                           /* the end of a pass waits for the queue to grow */
  double begin;                           /* of the latest pass, by tsi_wall_clock() */
} tsi_fuse;

struct tristar_plan_s {
  tsi_insertable insertable; /* first member: see runtime/exec/starpu/insert.h */
  tsi_retired retired;       /* where the last share is dropped, see in_flight.h */
  atomic_int references;     /* the caller's and one for each request */
  tristar_t *ts;
  tristar_factor_t *factor;
  tristar_plan_options options;
  tsi_chunk_options cut; /* of chunks of panels, but for what is on devices; scalar_bytes 0: not chosen yet */
  tsi_way way;
  int sides;
  tsi_plan_side side[2]; /* 0: L (or the only factor), 1: U if its structure is another one */
  tsi_dag *dag[2]; /* 0: forward with side 0; 1: forward with side 1, backward with side 0; NULL: one side */
  tsi_index *order[2]; /* tasks of each DAG in the order in which they are recorded, and run without StarPU */
  tsi_spmv *spmv;      /* NULL but for KERNEL_SPMV */
  struct tsi_block_plan *blocks; /* of a block cut; else NULL */
  struct tsi_storage *storage;   /* copies of the factor in narrower formats; NULL: solves read the factor */
  atomic_llong
      storage_judged;        /* generation of the values that trial solves with these copies were made for */
  atomic_bool storage_loses; /* they lose more than the rounding of the copies */
  tsi_index pieces; /* by rows: of b and x, that are moved where there is one right-hand side; 0: none */
  struct tsi_plan_subtrees *subtrees; /* subtrees on devices; NULL: none */
  tsi_device_triangle *triangle;      /* of rows: on a device, as one chunk; NULL: on the cores */
  tsi_index block;                    /* right-hand sides that are solved with at a time, at most */
  tsi_index followed; /* blocks of a followed request (request.h) that may be in flight at a time */
  tsi_small_triangle direct;
  tsi_fuse fuse;
  const tsi_node_kernels *nodes;
  tsi_index *in_list, *out_list; /* 2 n: local rows, then the user's rows of a tsi_user_rows; out_list may be
                                    in_list; guarded by lock until they are there, see tsi_plan_need_lists */
  tsi_count workspace_rows;
  tsi_index *chunk_of_supernode;
  atomic_int placement; /* see numa.h */
  /* guarded by the context's solves.lock, see in_flight.h */
  int64_t inserted, unfinished;
  tsi_failure failure;  /* the first one of an inserted solve that nobody was told of */
  pthread_mutex_t lock; /* guards the pool and the changing statistics */
  tsi_replay *free_replays;
  /* of a singular matrix: null vectors that solves have found; NULL: none did */
  struct tsi_kept_vectors *kept;
  void (*destroy_kept)(struct tsi_kept_vectors **kept);
  tristar_plan_stats stats;
  tsi_statistics solved; /* what is known of the latest solve */
};

/* The list of whole solves with one right-hand side. */
static inline tsi_step_list tsi_plan_list(const tristar_plan_t *plan) {
  return plan->blocks != NULL || plan->pieces > 0 ? TSI_LIST_OWN : TSI_LIST_SIDES;
}

/* The sweeps of a whole solve. */
static inline tsi_sweeps tsi_plan_sweeps(const tristar_plan_t *plan) {
  return !tsi_factor_is_triangle(plan->factor) ? TSI_BOTH : plan->factor->lower ? TSI_FORWARD : TSI_BACKWARD;
}

/* Errors: STALE (the factor has no values that the plan could solve with). */
TRISTAR_CHECKED static inline tristar_status tsi_plan_need_values(const tristar_plan_t *plan) {
  return plan->storage ? tsi_factor_need_valid(plan->factor) : tsi_factor_need_values(plan->factor);
}

/* Does tristar_solve refine? */
static inline bool tsi_plan_refines(const tristar_plan_t *plan) {
  if (plan->options.accuracy > 0) return true;
  return plan->options.refine != TRISTAR_REFINE_NEVER && plan->factor->has_matrix &&
         (tsi_factor_needs_refinement(plan->factor) || atomic_load(&plan->storage_loses));
}

/* The functions of its insertable (insert.c). */
extern const tsi_insertable_functions tsi_plan_insertion;

/* How the chunks of panels of such a plan are cut, but for what is on devices. */
tsi_chunk_options tsi_plan_chunk_options(const tristar_factor_t *factor, const tristar_plan_options *options);

/* tristar_plan with options that are valid, once it is known which subtrees are on devices. cut: of the
 * chunks; NULL: by the options. Takes over places->triangle. Errors: also UNSUPPORTED (what plans with
 * devices cannot do), NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_plan_create(tristar_factor_t *factor, const tristar_plan_options *options,
                                               const tsi_chunk_options *cut, tsi_device_split_options *places,
                                               tristar_plan_t **out);
/* Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_plan_check_options(const tsi_env *env,
                                                      const tristar_plan_options *options);
/* tristar_plan with chunks that are cut like this; NULL: by the options. Errors: theirs. */
TRISTAR_CHECKED tristar_status tsi_plan_cut(tristar_factor_t *factor, const tristar_plan_options *options,
                                            const tsi_chunk_options *cut, tristar_plan_t **out);

/* The way of a plan that has chunks and DAGs. devices: some of its subtrees are on devices. */
tsi_way tsi_way_of_plan(const tristar_plan_t *plan, bool devices);

/* Once all else of the plan is there: can there be solves that are one call? sweep: the recording of one. */
void tsi_small_triangle_prepare(tristar_plan_t *plan, const tsi_recording *sweep);
/* Can it solve with op(T) so now? */
bool tsi_small_triangle_takes(const tristar_plan_t *plan, tristar_op op);
/* Solves op(T) x = b, n rows each, if it can be done so. false: nothing has happened. */
bool tsi_small_triangle_solve(tristar_plan_t *plan, tristar_op op, const void *b, void *x);

/* Frees a plan that nobody has a share of. May wait for StarPU to let go of its tasks. */
void tsi_plan_free(tristar_plan_t *plan);

/* Makes in_list and out_list, if they are not there: a matrix that is solved row by row in place needs none.
 * Any thread may ask. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_plan_need_lists(tristar_plan_t *plan);

/* A replay with a workspace for `stride` scalars a row, from the pool or new. Where nothing may be waited
 * for, StarPU has let go of its tasks. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_replay_take(tristar_plan_t *plan, tsi_index stride, tsi_replay **out);
/* The tasks of a list of the plan, recorded if this is their first use; what they need beside the factor is
 * made, or brought up to date. replay->execution.call is set, or zero: then for OP_N. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_replay_tasks(tsi_replay *replay, tsi_step_list list, tsi_sweeps sweeps,
                                                tsi_tasks **out);
void tsi_replay_give_back(tsi_replay *replay);
void tsi_replay_destroy(tsi_replay **replay);
