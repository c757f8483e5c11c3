/* State of one multifrontal factorization.
 *
 * Job. B = L L^T or L U, supernode by supernode in postorder. Each supernode assembles a front from the
 * entries of B and from the Schur complements ("c" of codelets/cpu/front.h) of its children, factors its
 * columns, packs the panels into the factor's stream, and leaves its own Schur complement to its parent (Duff
 * and Reid 1983; Liu 1992).
 *
 * Ways with a front. A heavy one is tiled: many tasks work on it, and it is kept in `tiled` meanwhile.
 * Of a tiled front that a team of processes shares there are stripes: those of this process and, as long as
 * they are used, those of others (shared_front.c). The others are done one after the other, a range of
 * supernodes in one task, in memory that the task allocates once, as large as the largest of them needs:
 * there may be millions that have next to nothing to do. Of these, a small one (small_front.h) is factored
 * and packed by one call, which needs no BLAS. Sizes alone decide which one is small.
 *
 * On one process of many (factorization.h) the analysis lists the entries of its own fronts and stripes;
 * complements, parts of them (contribution_blocks.c) and stripes come from other processes and go there,
 * through a port (numeric_messages.c). Each has memory from when it is made, or from when it is next and may
 * come, until its last use is over: who sends keeps it until it has gone. After a failure steps do nothing
 * but send, so that nobody waits for this process; what they send says so. What has no memory then is sent
 * from, and received into, one piece that was set aside.
 *
 * Reads   analysis, the user's values, scalings.
 * Writes  lower, upper, pivots of the factor; fronts of its own.
 * Invariants
 *   - complement[s] exists from when the front of s is made, that of a tiled one from the first piece of
 * its assembly that has to do with it, until its parent has assembled it; of what a tiled parent has
 * assembled most is given back before that. If it goes, it exists until its last piece has; if it comes, from
 * when the step before its arrivals is over. NULL: not there, or without rows
 *   - a piece is received into its complement only if that was there for its first piece
 *   - a stripe exists from the opening of its front, or from when it may come, until `uses` is 0; a part from
 * the last step of its front, or from when it may come, until it is assembled, or gone. After a failure some
 * exist until the end
 *   - the rest of a tiled front exists from its opening until it is closed
 *   - if complements stay (tsi_numeric_stay), each exists until the end, and none is on a stack
 *   - after the first failure, which `failure` keeps, tasks return at once
 *   - two steps that may run at the same time write different tiles (dag/factor/factorization.h) */
#pragma once

#include "codelets/cpu/small_front.h"
#include "dag/factor/factorization.h"
#include "runtime/base/progress.h"
#include "runtime/exec/steps/exchange.h"
#include "runtime/factor/factor.h"
#include "runtime/exec/starpu/tasks.h"

/* A second, of a core that works on fronts: what tasks are estimated by. */
#define TSI_CORE_FLOPS 25e9

/* A stripe of a shared front that is here: one of this process, or one that came. Its C, if it is this
 * process's, has memory of its own. */
typedef struct tsi_held_stripe {
  tsi_front_stripe at;
  tsi_stripe shape;
  tsi_count skip;  /* scalars that are not here, its first ones */
  char *memory;    /* the others, and the failure mark; NULL: not here */
  atomic_int uses; /* steps and parcels that are yet to use it */
} tsi_held_stripe;

/* A front that is being worked on; its C is the complement of s. */
typedef struct tsi_open_front {
  tsi_front front; /* shared: nothing but sizes */
  tsi_index s;
  tsi_index *position;     /* rows of the children's complements in this front, child after child */
  bool *assembled;         /* of one process: by piece of its assembly */
  tsi_index first_pieces;  /* so many are assembled, one after the other from the first one on */
  tsi_held_stripe *stripe; /* shared: by tile; else NULL */
} tsi_open_front;

/* The sizes of a matrix's scaled entries, which tell which pivots are tiny. */
typedef struct tsi_pivot_sizes {
  double *column; /* by final index: the largest scaled entry of a column, LLT: the diagonal one */
  double tiny;    /* LU, LDLT: pivots below this are perturbed */
} tsi_pivot_sizes;

/* Chooses the scalings of the factor, and measures what they make of its values. Errors: MEMORY, SINGULAR
 * (scaling.h). */
TRISTAR_CHECKED tristar_status tsi_pivot_sizes_measure(tristar_factor_t *factor, tsi_pivot_sizes *sizes);
void tsi_pivot_sizes_release(tsi_pivot_sizes *sizes);
/* tsi_pivot_sizes.tiny of a matrix whose largest scaled entry is that. */
double tsi_tiny_pivot(const tristar_analysis_t *analysis, double largest);

/* Figures of the pivots. */
typedef struct tsi_pivot_figures {
  int64_t perturbed, stray;
  int64_t dependent;       /* the first dependent row's column, by final index; INT_MAX: none */
  tsi_index dependent_row; /* the user's row of it; TSI_NONE: none */
  double smallest, largest;
  double weakest,
      strongest;         /* as shares of column_size (front.h); weakest: INFINITY unless it is suspicious */
  tsi_index weakest_row; /* the user's row of the weakest pivot; TSI_NONE: there is none */
} tsi_pivot_figures;

/* The figures of the pivots of one panel, as tsi_pivoting has them. */
typedef struct tsi_panel_figures {
  double smallest, largest, weakest, strongest;
  double deciding; /* the smallest number that was compared with `tiny` */
  double inverse_growth;
  tsi_index weakest_column, perturbed, stray, dependent;
} tsi_panel_figures;

typedef struct tsi_device_front tsi_device_front; /* front_device.h */

typedef struct tsi_numeric {
  tsi_env *env;
  const tristar_factor_t *factor;
  const tristar_analysis_t *analysis;
  const tsi_front_kernels *kernels;
  void (*small)(const tsi_front *front, tsi_small_factors *factors); /* a whole small front; NULL: none */
  const void *values;                                                /* the user's */
  bool wide;                     /* they are of the double type, the factors single */
  bool adjoint;                  /* factor.h */
  double *row_scale, *col_scale; /* by final index; NULL: ones */
  bool full;                     /* LU */
  tsi_index *pivots;             /* n, inside the panel; NULL for LLT */
  char *inverse;                 /* LDLT: D^-1, two scalars a column; else NULL */
  double epsilon;                /* of the factors' type */
  const tsi_pivot_sizes *sizes;  /* in the last panel of a root, where nothing can grow, pivots below
                              epsilon times the largest of these are perturbed */
  bool refuse;                   /* matrices with dependent rows */
  bool dry;                 /* allocates and frees hollow arrays, without arithmetic (factor_forecast.h) */
  bool fixed;               /* LU without interchanges, no pivot is perturbed (tsi_factorize); with */
  double *kept;             /* by final index: pivots, what is left of the entry on the diagonal and */
  _Atomic double *term;     /* the largest of what was subtracted there; both in absolute value */
  float *share;             /* n, by final index: the share of each pivot (front.h); 0: not measured here */
  tsi_panel_figures *panel; /* by panel, if complements stay after their use, for tsi_numeric_run_again; NULL:
                               they do not */
  const bool *touched;      /* by supernode: fronts that a run works on; NULL: all */
  tsi_factorization *dag;
  pthread_mutex_t lock; /* what pieces of a front's assembly have in common (front_pieces.c) */
  bool has_lock;
  void **complement; /* by supernode: C of its front; of a shared one: NULL */
  void **out_part;   /* by parcel that leaves, by parcel that comes: parts of complements */
  void **in_part;
  tsi_open_front *tiled; /* those of the DAG */
  tsi_failure failure;   /* the first one */
  _Atomic(bool) stopped; /* another process has failed */
  tsi_port port;         /* of messages, if there are any */
  bool *sent;            /* messages */
  bool *expected;        /* received messages: it is received into its complement, or has been */
  atomic_int *left;      /* messages: of the first piece of a complement, pieces that have not gone */
  char *refuse_piece;    /* sent for pieces that were not made: nothing but failure marks */
  void *waste_piece;     /* received into where nothing is made of it */
  tsi_index *device;     /* by supernode, as the DAG borrows it (tsi_front_owners); NULL: devices have none */
  tsi_device_front *on_device; /* by tiled front, those that devices have; NULL: none, or not recorded */
  _Atomic(bool) device_failed; /* a device has told an error */
  tsi_task_list *list;         /* on StarPU: a task for each step, with the same number */
  tsi_tasks *tasks;
  atomic_llong perturbed;
  atomic_llong stray;      /* perturbed pivots that are not those of dependent rows */
  atomic_int dependent;    /* the first dependent row's column, by final index; INT_MAX: none */
  tsi_index dependent_row; /* the user's row of it where others have told it; TSI_NONE: out_row says */
  _Atomic double smallest, largest; /* pivots */
  _Atomic double strongest;         /* as in tsi_pivot_figures */
  _Atomic double inverse_growth;    /* of factor.h */
  double weakest;                   /* the same; with */
  tsi_index weakest_row;            /* its row, behind `lock` while steps run */
  atomic_llong done;                /* supernodes */
  double work;                      /* of all steps, in flops */
  _Atomic double worked;            /* of those that are over, if a function follows */
  atomic_int percent;               /* last reported */
} tsi_numeric;

/* Makes the DAG; nothing is factored yet. sizes and owners are borrowed; owners as of
 * tsi_factorization_create. options->tile divides TSI_TILE. fixed: LU only. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_numeric_create(tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                                                  const tsi_factorization_options *options,
                                                  const tsi_front_owners *owners, bool fixed,
                                                  tsi_numeric **out);
/* What messages need beside complements. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_prepare_messages(tsi_numeric *numeric);
void tsi_numeric_release_messages(tsi_numeric *numeric);
/* After a step: sends what it is to send, and expects what comes next. */
void tsi_numeric_send(tsi_numeric *numeric, tsi_index step);
/* After the last step: sends what was not sent, and takes what was not expected. */
void tsi_numeric_send_rest(tsi_numeric *numeric);
/* What arrives next, after this step; after TSI_NONE: what is first of all. */
void tsi_numeric_expect_next(tsi_numeric *numeric, tsi_index step);
/* Scalars of the complement of s, alone and with room for the failure mark if it comes or goes. */
static inline tsi_count tsi_numeric_complement_size(const tsi_numeric *numeric, tsi_index s) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  return tsi_complement_size((tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]), numeric->full);
}
tsi_count tsi_numeric_complement_scalars(const tsi_numeric *numeric, tsi_index s);
/* The tasks that the steps will be, as a list. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_list_tasks(tsi_numeric *numeric);
/* Bytes of that list, and of the tasks at StarPU (factor_forecast.c). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_weigh_tasks(tsi_numeric *numeric, size_t *bytes);
/* The steps as tasks of StarPU, which runs. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_record(tsi_numeric *numeric);
/* Frees the tasks. */
void tsi_numeric_forget_tasks(tsi_numeric *numeric);
/* Runs all steps: on StarPU if they are recorded. Errors: those of the port and of StarPU; a failure of a
 * step is told by tsi_numeric_finish. */
TRISTAR_CHECKED tristar_status tsi_numeric_run(tsi_numeric *numeric);
/* Before the first run: complements and the figures of panels are to stay. One process; no devices. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_stay(tsi_numeric *numeric);
/* After a run that did not fail, with other values, scalings or sizes: the fronts that these touch, and their
 * ancestors; the figures become those of all fronts. tasks: on StarPU, which runs. Errors: MEMORY, RUNTIME; a
 * failure of a step is told by tsi_numeric_finish. */
TRISTAR_CHECKED tristar_status tsi_numeric_run_again(tsi_numeric *numeric, const bool *touched, bool tasks);
/* The scalings of the factor, by final index: again where they have changed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_place_scales(tsi_numeric *numeric);
/* Has a pivot of the panel been perturbed, or would it be, with this threshold in the place of the old one?
 */
bool tsi_numeric_depends_on(const tsi_numeric *numeric, tsi_index panel, double tiny);
/* The figures of a run begin with none, and with those of a panel. */
void tsi_numeric_clear_figures(tsi_numeric *numeric);
void tsi_numeric_add_figures(tsi_numeric *numeric, tsi_index panel);
/* Bytes of a message that leaves or (receive) comes. */
size_t tsi_numeric_piece_bytes(const tsi_numeric *numeric, bool receive, const tsi_front_message *message);
/* Message `received` is there, message `sent` has gone. From any thread. */
void tsi_numeric_arrived(tsi_numeric *numeric, tsi_index received);
void tsi_numeric_departed(tsi_numeric *numeric, tsi_index sent);
/* A step of the DAG; those that it waits for have run. BLAS must be on one thread (blas.h). */
void tsi_numeric_run_step(tsi_numeric *numeric, tsi_index step);
/* What the pivots were like; of several processes together. */
tsi_pivot_figures tsi_numeric_figures(const tsi_numeric *numeric);
/* After a run without a failure: should another one try LU without interchanges (tsi_factorize)? */
bool tsi_numeric_needs_fixed(tsi_numeric *numeric);
void tsi_numeric_set_figures(tsi_numeric *numeric, const tsi_pivot_figures *figures);
/* After all steps: the first failure, or the figures of the factor. Of many processes, `share` has the pivots
 * of all in columns of the part; the inherited error is the largest along paths of the part. Errors: also
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_finish(tsi_numeric *numeric, tristar_factor_t *factor);
void tsi_numeric_destroy(tsi_numeric **numeric);

/* What steps are made of. Each returns at once if the factorization has failed, and records its own failure.
 */

/* Supernodes first .. last, whole: the children of each are complete or in the range. */
void tsi_fronts_whole(tsi_numeric *numeric, tsi_index first, tsi_index last);

/* The steps of a tiled front of one process. open->s is set. */
void tsi_front_open(tsi_numeric *numeric, tsi_open_front *open);
/* A piece of its assembly, which begins with column c0: see front_pieces.c. */
void tsi_front_piece(tsi_numeric *numeric, tsi_open_front *open, tsi_index c0, tsi_index c1);
/* Columns c0 .. c1-1 of the front: zeroes them, adds entries of B and the children's complements. */
void tsi_front_assemble(tsi_numeric *numeric, const tsi_open_front *open, tsi_index c0, tsi_index c1);
/* After all of the front is assembled, shared or not: frees what the children left. */
void tsi_front_assembled(tsi_numeric *numeric, tsi_open_front *open);
/* The stripe of a panel, of a front with f rows. */
void tsi_front_diagonal(tsi_numeric *numeric, const tsi_front_stripe *stripe, tsi_index f, tsi_index panel);
/* Rows begin .. end-1 below the panel's diagonal block, or (right, LU) columns to the right of it; the
 * diagonal block is done. */
void tsi_front_tile(tsi_numeric *numeric, const tsi_front *front, tsi_index panel, bool right,
                    tsi_index begin, tsi_index end);
/* All panels and the complement, one after the other: what a device does with its front, on a core. */
void tsi_front_factor(tsi_numeric *numeric, const tsi_front *front, tsi_index s);
/* Is the front of s, of these sizes, small (small_front.h)? */
static inline bool tsi_front_takes_small(const tsi_numeric *numeric, const tsi_front *front, tsi_index s) {
  const tsi_panels *panels = numeric->analysis->panels;
  return numeric->small != NULL && tsi_front_is_small(front->w, front->m) &&
         panels->first[s + 1] - panels->first[s] == 1;
}
/* Such a front, assembled: factors and packs it. Errors: MEMORY, those of pivots. */
TRISTAR_CHECKED tristar_status tsi_front_small(tsi_numeric *numeric, const tsi_front *front, tsi_index s);
void tsi_front_pack(tsi_numeric *numeric, const tsi_front *front, tsi_index panel);
/* After the last use of its columns: frees all but the complement. */
void tsi_front_close(tsi_numeric *numeric, tsi_open_front *open);

/* What they and those of a shared front (shared_front.c) have in common. */
TRISTAR_CHECKED tristar_status tsi_front_allocate(const tsi_numeric *numeric, tsi_count scalars, void **out);
/* The complement of a front, unless that is there. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_need_complement(tsi_numeric *numeric, tsi_open_front *open);
/* w, m, f and full of the front of s. */
void tsi_front_set_sizes(const tsi_numeric *numeric, tsi_index s, tsi_front *front);
/* Front rows of its parent that the rows of s, below its own columns, fall on: both lists ascend. */
void tsi_front_place_child(const tsi_symbolic *symbolic, tsi_index s, tsi_index *position);
/* Rows of all complements that s assembles, and where these go in its front: child after child. */
tsi_count tsi_front_children_rows(const tsi_numeric *numeric, tsi_index s);
void tsi_front_place_children(const tsi_numeric *numeric, tsi_index s, tsi_index *position);
/* Frees the complements of the children of s; those that are NULL have been used up. */
void tsi_front_free_children(tsi_numeric *numeric, tsi_index s);
/* The front of the rows that are not eliminated, assembled: it becomes the factor's Schur complement, and a
 * unit matrix. Errors: NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_front_keep_schur(tsi_numeric *numeric, const tsi_front *front);
/* Packs a panel. work: tsi_pack_work scalars. Errors: MEMORY, NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_front_pack_in(tsi_numeric *numeric, const tsi_front *front,
                                                 tsi_index panel, void *work);
/* Sizes, and where the complements of the children go. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_begin(tsi_numeric *numeric, tsi_open_front *open);
/* Entries on their way into a front, or a stripe of one. */
typedef struct tsi_entry_batch {
  const tsi_numeric *numeric;
  const tsi_front *front;         /* either */
  const tsi_front_stripe *stripe; /* or */
  tsi_count count;
  tsi_front_entry entry[128];
} tsi_entry_batch;
void tsi_entry_batch_flush(tsi_entry_batch *batch);
/* Entry q of a list, at row i and column j of the front; row and column in final numbering decide the
 * scaling. */
static inline void tsi_entry_batch_put(tsi_entry_batch *batch, const tsi_assembly *list, tsi_count q,
                                       tsi_index row, tsi_index column, tsi_index i, tsi_index j) {
  const tsi_numeric *numeric = batch->numeric;
  const tristar_symmetry symmetry = numeric->analysis->pattern->symmetry;
  const tsi_count source = tsi_assembly_source(list, q);
  const bool image = source < 0;
  const double sign = image && symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  const double r = numeric->row_scale ? numeric->row_scale[row] : 1,
               c = numeric->row_scale ? numeric->col_scale[column] : 1;
  batch->entry[batch->count++] = (tsi_front_entry){.source = image ? ~source : source,
                                                   .factor = sign * (r > c ? r : c),
                                                   .second = r > c ? c : r,
                                                   .row = i,
                                                   .column = j,
                                                   .conjugate = image && symmetry == TRISTAR_HERMITIAN};
  if (batch->count == (tsi_count)(sizeof batch->entry / sizeof *batch->entry)) tsi_entry_batch_flush(batch);
}
/* term: |L(i,k) U(k,i)| of row `row` of the front of s. */
void tsi_numeric_raise_term(tsi_numeric *numeric, tsi_index s, tsi_index row, double term);
/* Notes the growth of its inverse, too. Errors: NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_front_check_packed(tsi_numeric *numeric, tsi_index panel, bool upper);
/* Scalars of work that packing a panel of width b takes. */
static inline tsi_count tsi_pack_work(tsi_index b) {
  return (tsi_count)b * TSI_PANEL_WIDTH_MAX;
}
void tsi_numeric_report(tsi_numeric *numeric, tsi_index supernodes);
/* Errors: CANCELLED. */
TRISTAR_CHECKED static inline tristar_status tsi_numeric_look(tsi_numeric *numeric) {
  if (!tsi_progress_follows(numeric->env)) return TRISTAR_OK;
  const double share = numeric->work > 0 ? fmin(1, atomic_load(&numeric->worked) / numeric->work) : 0;
  return tsi_progress_call(numeric->env, TRISTAR_PHASE_FACTOR, share);
}

/* ---- Shared fronts (shared_front.c) ---- */

/* The stripes of all shared fronts, without memory. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_stripes_prepare(tsi_numeric *numeric);
void tsi_stripes_release(tsi_numeric *numeric);
/* Room for what comes of stripe k but its first `skip` scalars. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_stripe_make_room(const tsi_numeric *numeric, tsi_open_front *open,
                                                    tsi_index k, tsi_count skip);
/* A parcel has gone that used it. */
void tsi_stripe_use_up(tsi_numeric *numeric, tsi_held_stripe *stripe);
/* A step of a shared front but for ASSEMBLED. */
void tsi_shared_front_run(tsi_numeric *numeric, tsi_step_kind kind, const tsi_front_step *part);

/* ---- Parts of complements (contribution_blocks.c) ---- */

/* After a step of the DAG: what it leaves to other fronts in parts. */
void tsi_parts_leave(tsi_numeric *numeric, tsi_index step);
/* Adds the parts of a child's complement to columns c0 .. c1-1 of a front, or to tile k of a shared one.
 * position: of the child's rows. */
void tsi_parts_add(const tsi_numeric *numeric, const tsi_open_front *open, tsi_index child,
                   const tsi_index *position, tsi_index k, tsi_index c0, tsi_index c1);
void tsi_parts_free(tsi_numeric *numeric, tsi_index child);

/* After the last front: the final index of a row of which nothing but rounding errors is left, in the last
 * panel of a root or, LLT, anywhere, if such matrices are to be refused; TSI_NONE: there is none, or another
 * pivot was perturbed, which lets that say nothing. */
tsi_index tsi_numeric_dependent(const tsi_numeric *numeric);
/* The user's row of the first dependent row; TSI_NONE: there is none. */
tsi_index tsi_numeric_dependent_row(const tsi_numeric *numeric);
/* Errors: SINGULAR, NOT_POSITIVE_DEFINITE: there is such a row. */
TRISTAR_CHECKED tristar_status tsi_numeric_check_dependent(const tsi_numeric *numeric);

/* With fixed pivots, of several processes together: what is_accurate looks at, 2 n numbers, the largest of
 * all processes' each. */
void tsi_numeric_get_terms(const tsi_numeric *numeric, double *terms);
void tsi_numeric_set_terms(tsi_numeric *numeric, const double *terms);
/* After the last front, LU: does a second opinion, that of fixed pivots, matter if there were interchanges? A
 * row is dependent, or PERTURB has met tiny pivots where units are far apart: others repair themselves. */
bool tsi_numeric_is_doubtful(const tsi_numeric *numeric);
/* After the last step of a factorization with fixed pivots: is half of the digits left of every pivot? */
bool tsi_numeric_is_accurate(const tsi_numeric *numeric);

/* Is the front left as it is? */
static inline bool tsi_numeric_skips(const tsi_numeric *numeric, tsi_index s) {
  return numeric->touched != NULL && !numeric->touched[s];
}

static inline bool tsi_numeric_failed(tsi_numeric *numeric) {
  return tsi_failure_exists(&numeric->failure) ||
         atomic_load_explicit(&numeric->stopped, memory_order_acquire);
}

/* Are steps to compute? Else they have failed, or only allocate and free. */
static inline bool tsi_numeric_computes(tsi_numeric *numeric) {
  return !numeric->dry && !tsi_numeric_failed(numeric);
}

/* D^-1 from a column on; NULL unless LDLT. */
static inline void *tsi_numeric_inverse(const tsi_numeric *numeric, tsi_index column) {
  return numeric->inverse ? numeric->inverse + 2 * (size_t)column * numeric->kernels->scalar_bytes : NULL;
}
