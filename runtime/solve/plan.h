/* A plan: chunks, DAG and kernel data of a factor, and the replays that run it.
 *
 * Reads   factor (its streams may get new values by tristar_refactor; its structure never changes).
 * Writes  only its replays: each owns a workspace and recorded tasks, and serves one solve at a time. A solve
 * takes a free replay from the pool or makes one, so concurrent solves of one plan never share a workspace.
 * Requests (request.h) keep their plan alive. If a thread that may not wait releases the last reference, the
 * context frees the plan later (in_flight.h).
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

/* The lists of steps of a plan. */
typedef enum tsi_step_list {
  TSI_LIST_SIDES,   /* DAG 0: forward with side 0, backward with the last side; by rows: all solves but OWN */
  TSI_LIST_SWAPPED, /* DAG 1, two sides: forward with side 1, backward with side 0 */
  TSI_LIST_OWN, /* by rows: the block cut, with all rows of b and x; or one right-hand side that is moved */
  TSI_LISTS
} tsi_step_list;

typedef struct tsi_replay {
  struct tsi_replay *next; /* in the pool */
  tristar_plan_t *plan;
  tsi_execution execution;
  tsi_executor executor[TSI_LISTS][TSI_SWEEPS]; /* made when first needed */
  tsi_help_choice help;
  tsi_count workspace_size;         /* scalars */
  struct tsi_numa_range *processed; /* space for the ranges that the tasks of a sweep streamed */
  tsi_replay_subtrees *subtrees;    /* NULL: nothing runs on devices, or nothing was recorded */
  tsi_triangle_data *triangle;      /* the same for a triangle by rows */
} tsi_replay;

/* The data of solves with one of the triangular factors. */
typedef struct tsi_plan_side {
  tsi_chunks *chunks;
  tsi_sweep *sweep;
  tsi_solve_data data;
  tsi_tables tables;
} tsi_plan_side;

/* The reason for the way of a solve (way.c). */
typedef enum tsi_why {
  /* reasons of a plan */
  TSI_WHY_ENGINE,       /* the option `engine` */
  TSI_WHY_NO_STARPU,    /* the context does not use StarPU */
  TSI_WHY_DEVICES,      /* subtrees are on devices */
  TSI_WHY_ONE_CHUNK,    /* there is no work to share */
  TSI_WHY_ONE_WORKER,   /* the only worker shall work instead of the caller */
  TSI_WHY_POLLING,      /* idle workers would slow the caller down */
  TSI_WHY_TASK_OPTIONS, /* options need tasks */
  TSI_WHY_PREDICTED,    /* the cost model decided */
  TSI_WHY_ONE_LANE,     /* a triangle by rows with one lane */
  TSI_WHY_FEW_BYTES,    /* a triangle by rows: a sweep reads few bytes */
  TSI_WHY_LANES,        /* a triangle by rows with several lanes */
  /* reasons of a request */
  TSI_WHY_ONE_CALL,    /* small_triangle.c */
  TSI_WHY_DIAGONAL,    /* solve with D only */
  TSI_WHY_FEW_ROWS,    /* few rows of the factor take part */
  TSI_WHY_INSIDE_TASK, /* the caller is a StarPU task, which must not wait for tasks */
  TSI_WHY_TRACE        /* lanes cannot be traced */
} tsi_why;

/* The way of a block of right-hand sides: what runs its steps, and why. */
typedef struct tsi_way {
  tristar_way kind;
  tsi_why why;
  double bytes;      /* FEW_BYTES, FEW_ROWS, ONE_LANE: bytes that a solve reads */
  double seconds[2]; /* PREDICTED: seconds without tasks, and with tasks */
} tsi_way;

static inline bool tsi_way_has_tasks(const tsi_way *way) {
  return way->kind == TRISTAR_WAY_TASKS || way->kind == TRISTAR_WAY_DEVICES;
}

/* Solves that are one call (small_triangle.c). */
typedef struct tsi_small_triangle {
  bool takes;      /* the plan has such solves */
  bool conjugates; /* b and x are complex, so TRISTAR_C is excluded */
  int64_t tasks;   /* tasks of one solve, and its bytes: for statistics */
  double bytes;
  atomic_int untimed; /* number of next solves that are not timed */
} tsi_small_triangle;

/* Fused solves: see fuse.c. The context's solves.lock guards all members but least and most. */
typedef struct tsi_fuse {
  tsi_index least; /* minimum number of columns for the kernels in every solve; 0: nothing is fused */
  struct tristar_request_s *first, *last; /* queue for the next pass */
  int running, most;                      /* number of running passes; its maximum */
  bool starting;                          /* a thread is starting passes, and will check the queue again */
  bool lingers;                           /* the end of a pass waits until the queue grows */
  double begin;                           /* start of the latest pass, by tsi_wall_clock() */
} tsi_fuse;

struct tristar_plan_s {
  tsi_insertable insertable; /* first member: see runtime/exec/starpu/insert.h */
  tsi_retired retired;       /* set if the plan is freed later, see in_flight.h */
  atomic_int references;     /* one of the caller, and one of each request */
  tristar_t *ts;
  tristar_factor_t *factor;
  tristar_plan_options options;
  tsi_chunk_options cut; /* options of chunks of panels, except on devices; scalar_bytes 0: not chosen yet */
  tsi_way way;
  int sides;
  tsi_plan_side side[2]; /* 0: L (or the only factor), 1: U, if it has another structure */
  tsi_dag *dag[2]; /* 0: forward with side 0; 1: forward with side 1, backward with side 0; NULL: one side */
  tsi_index *order[2]; /* tasks of each DAG in the order in which they are recorded, and run without StarPU */
  tsi_spmv *spmv;      /* KERNEL_SPMV; else NULL */
  struct tsi_block_plan *blocks; /* data of a block cut; else NULL */
  struct tsi_storage *storage;   /* copies of the factor in narrower formats; NULL: solves read the factor */
  atomic_llong storage_judged;   /* generation of the values for which trial solves used these copies */
  atomic_bool storage_loses; /* trial solves lost more accuracy than the rounding of the copies explains */
  tsi_index pieces; /* by rows: pieces of b and x that are moved if there is one right-hand side; 0: none */
  struct tsi_plan_subtrees *subtrees; /* subtrees on devices; NULL: none */
  tsi_device_triangle *triangle; /* by rows: the triangle on a device, as one chunk; NULL: on the cores */
  tsi_index block;               /* maximum number of right-hand sides that are solved at a time */
  tsi_index followed;            /* maximum number of blocks of a followed request (request.h) in flight */
  tsi_small_triangle direct;
  tsi_fuse fuse;
  const tsi_node_kernels *nodes;
  bool (*sum_is_finite)(tsi_count count, const void *x); /* kernel for the user's scalars (spmv.h) */
  tsi_index *in_list, *out_list; /* 2 n: local rows, then the user's rows of a tsi_user_rows; out_list may be
                                    in_list; guarded by lock until they are made, see tsi_plan_need_lists */
  tsi_count workspace_rows;
  tsi_index *chunk_of_supernode;
  atomic_int placement; /* see numa.h */
  /* guarded by the context's solves.lock, see in_flight.h */
  int64_t inserted, unfinished;
  tsi_failure failure;  /* first failure of an inserted solve that was not reported yet */
  pthread_mutex_t lock; /* guards the pool and the changing statistics */
  tsi_replay *free_replays;
  /* singular matrix: null vectors that solves found; NULL: none */
  struct tsi_kept_vectors *kept;
  void (*destroy_kept)(struct tsi_kept_vectors **kept);
  tristar_plan_stats stats;
  tsi_statistics solved; /* statistics of the latest solve */
};

/* Returns the list of steps for whole solves with one right-hand side. */
static inline tsi_step_list tsi_plan_list(const tristar_plan_t *plan) {
  return plan->blocks != NULL || plan->pieces > 0 ? TSI_LIST_OWN : TSI_LIST_SIDES;
}

/* Returns the sweeps of a whole solve. */
static inline tsi_sweeps tsi_plan_sweeps(const tristar_plan_t *plan) {
  return !tsi_factor_is_triangle(plan->factor) ? TSI_BOTH : plan->factor->lower ? TSI_FORWARD : TSI_BACKWARD;
}

/* Fails if the factor has no values for the plan. Errors: STALE. */
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

/* Returns the options of the cut into chunks of panels for such a plan, except on devices. */
tsi_chunk_options tsi_plan_chunk_options(const tristar_factor_t *factor, const tristar_plan_options *options);

/* Makes a plan with valid options, after the subtrees on devices were chosen. cut: of the chunks; NULL: by
 * the options. Takes ownership of places->triangle. Errors: as tristar_plan; also UNSUPPORTED (features
 * without support for devices), NO_WORKER. */
TRISTAR_CHECKED tristar_status tsi_plan_create(tristar_factor_t *factor, const tristar_plan_options *options,
                                               const tsi_chunk_options *cut, tsi_device_split_options *places,
                                               tristar_plan_t **out);
/* Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_plan_check_options(const tsi_env *env,
                                                      const tristar_plan_options *options);
/* Does the same as tristar_plan, with this cut into chunks; NULL: by the options. Errors: as tristar_plan. */
TRISTAR_CHECKED tristar_status tsi_plan_cut(tristar_factor_t *factor, const tristar_plan_options *options,
                                            const tsi_chunk_options *cut, tristar_plan_t **out);

/* Chooses the way of a plan that has chunks and DAGs. devices: some of its subtrees are on devices. */
tsi_way tsi_way_of_plan(const tristar_plan_t *plan, bool devices);

/* Decides whether the plan has solves that are one call. Call it last. sweep: the recording of one sweep. */
void tsi_small_triangle_prepare(tristar_plan_t *plan, const tsi_recording *sweep);
/* Can a solve with op(T) be one call now? */
bool tsi_small_triangle_takes(const tristar_plan_t *plan, tristar_op op);
/* Solves op(T) x = b, n rows each, in one call. Returns false without any effect if this is not possible. */
bool tsi_small_triangle_solve(tristar_plan_t *plan, tristar_op op, const void *b, void *x);

/* Frees a plan without references. May wait until StarPU releases its tasks. */
void tsi_plan_free(tristar_plan_t *plan);

/* Makes in_list and out_list if they do not exist yet; a matrix that is solved row by row in place needs
 * none. Any thread may call it. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_plan_need_lists(tristar_plan_t *plan);

/* Returns a replay with a workspace of `stride` scalars per row, from the pool or new. If the caller may not
 * wait, it is a replay whose tasks StarPU has released. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_replay_take(tristar_plan_t *plan, tsi_index stride, tsi_replay **out);
/* Returns the tasks of a list of the plan; records them on first use. Makes, or updates, the data that they
 * need in addition to the factor. replay->execution.call is set, or zero, which means OP_N. Errors: MEMORY.
 */
TRISTAR_CHECKED tristar_status tsi_replay_tasks(tsi_replay *replay, tsi_step_list list, tsi_sweeps sweeps,
                                                tsi_tasks **out);
void tsi_replay_give_back(tsi_replay *replay);
void tsi_replay_destroy(tsi_replay **replay);
