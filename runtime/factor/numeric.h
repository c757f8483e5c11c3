/* State of one multifrontal factorization.
 *
 * Job. Factor B = L L^T, L D L^T or L U, supernode by supernode in postorder. Each supernode assembles a
 * front from the entries of B and the Schur complements ("c" of codelets/cpu/front.h) of its children. It
 * factors the columns of the front, packs the panels into the factor's stream, and leaves its own Schur
 * complement to its parent (Duff and Reid 1983; Liu 1992).
 *
 * Kinds of fronts. Many tasks work on a heavy front: it is tiled, and stored in `tiled` meanwhile. A team of
 * processes may share a tiled front (shared_front.c). Then a process stores its own stripes of the front and,
 * while they are used, stripes of other processes. All other fronts are factored one after the other: one
 * task factors a range of supernodes. It allocates memory once, for the largest of them, because millions of
 * supernodes may have next to no work. Among these, a small front (small_front.h) is factored and packed by
 * one call, which needs no BLAS. Its sizes alone decide whether a front is small.
 *
 * On one process of many (factorization.h) the analysis lists the entries of the own fronts and stripes. A
 * port (numeric_messages.c) sends and receives complements, parts of them (contribution_blocks.c) and
 * stripes. Memory for one of these is allocated when it is made, or, on the receiving process, when it is the
 * next to be received. It is freed after its last use; the sender frees it after the message has been sent.
 * After a failure, steps only send messages, with a failure mark, so that no process waits for this one. One
 * reserve buffer then replaces missing memory on each side.
 *
 * Reads   analysis, the user's values, scalings.
 * Writes  lower, upper, pivots of the factor; fronts of its own.
 * Invariants
 *   - complement[s] exists from the creation of the front of s (if tiled: from its first piece of assembly
 *     that needs it) until its parent has assembled it. A tiled parent gives most of it back earlier. If it
 *     is sent, it exists until its last piece has been sent. If it is received, it exists from the end of the
 *     step before its arrivals. NULL: it does not exist, or has no rows.
 *   - a piece is received into its complement only if the complement existed for its first piece
 *   - a stripe exists from the opening of its front, or from when it may be received, until `uses` is 0. A
 *     part exists from the last step of its front, or from when it may be received, until it is assembled or
 *     sent. After a failure some exist until the end.
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

/* Operations per second of a core that works on fronts, for the estimates of tasks. */
#define TSI_CORE_FLOPS 25e9

/* A stripe of a shared front that is stored here: one of this process, or a received one. The C of an own
 * stripe has separate memory. */
typedef struct tsi_held_stripe {
  tsi_front_stripe at;
  tsi_stripe shape;
  tsi_count skip;  /* The first `skip` scalars are not stored here. */
  char *memory;    /* The other scalars and the failure mark; NULL: not stored here. */
  atomic_int uses; /* Number of steps and parcels that will still use it. */
} tsi_held_stripe;

/* A front in progress; its C is complement[s]. */
typedef struct tsi_open_front {
  tsi_front front; /* Shared: only the sizes are set. */
  tsi_index s;
  tsi_index *position;     /* Rows of the children's complements in this front, child after child. */
  bool *assembled;         /* Not shared: whether each piece of its assembly is done. */
  tsi_index first_pieces;  /* Number of pieces from the first one on that are all assembled. */
  tsi_held_stripe *stripe; /* Shared: by tile; else NULL. */
} tsi_open_front;

/* Sizes of the scaled entries of a matrix, by which tiny pivots are found. */
typedef struct tsi_pivot_sizes {
  double *column; /* By final index: largest scaled entry of a column; LLT: the diagonal one. */
  double tiny;    /* LU, LDLT: pivots below this are perturbed. */
} tsi_pivot_sizes;

/* Chooses the scalings of the factor, and measures its scaled values. Errors: MEMORY, SINGULAR
 * (scaling.h). */
TRISTAR_CHECKED tristar_status tsi_pivot_sizes_measure(tristar_factor_t *factor, tsi_pivot_sizes *sizes);
void tsi_pivot_sizes_release(tsi_pivot_sizes *sizes);
/* tsi_pivot_sizes.tiny of a matrix with this largest scaled entry. */
double tsi_tiny_pivot(const tristar_analysis_t *analysis, double largest);

/* Statistics of the pivots. */
typedef struct tsi_pivot_figures {
  int64_t perturbed, stray;
  int64_t dependent;       /* Column of the first dependent row, by final index; INT_MAX: none. */
  tsi_index dependent_row; /* The user's number of that row; TSI_NONE: none. */
  double smallest, largest;
  double weakest, strongest; /* As shares of column_size (front.h); weakest: INFINITY unless suspicious. */
  tsi_index weakest_row;     /* The user's row of the weakest pivot; TSI_NONE: none. */
} tsi_pivot_figures;

/* Statistics of the pivots of one panel, as in tsi_pivoting. */
typedef struct tsi_panel_figures {
  double smallest, largest, weakest, strongest;
  double deciding; /* Smallest number that was compared with `tiny`. */
  double inverse_growth;
  tsi_index weakest_column, perturbed, stray, dependent;
} tsi_panel_figures;

typedef struct tsi_device_front tsi_device_front; /* front_device.h */

typedef struct tsi_numeric {
  tsi_env *env;
  const tristar_factor_t *factor;
  const tristar_analysis_t *analysis;
  const tsi_front_kernels *kernels;
  void (*small)(const tsi_front *front, tsi_small_factors *factors); /* Factors a small front, or NULL. */
  const void *values;                                                /* The user's values. */
  bool wide;                     /* `values` are double, the factors single. */
  bool adjoint;                  /* As in factor.h. */
  double *row_scale, *col_scale; /* By final index; NULL: ones. */
  bool full;                     /* LU. */
  tsi_index *pivots;             /* n, inside the panel; NULL for LLT. */
  char *inverse;                 /* LDLT: D^-1, two scalars a column; else NULL. */
  double epsilon;                /* Epsilon of the factors' type. */
  const tsi_pivot_sizes *sizes;  /* In the last panel of a root, where nothing can grow, pivots below epsilon
                                    times the largest of these are perturbed. */
  bool refuse;                   /* Refuse matrices with dependent rows. */
  bool dry;     /* Dry run: allocates and frees hollow arrays, without arithmetic (factor_forecast.h). */
  bool fixed;   /* LU without interchanges, which perturbs no pivot (tsi_factorize). Uses kept and term. */
  double *kept; /* By final index: |pivot|, the remainder of the diagonal entry after all subtractions. */
  _Atomic double *term;     /* By final index: largest absolute value subtracted from that entry. */
  float *share;             /* n, by final index: share of each pivot (front.h); 0: not measured here. */
  tsi_panel_figures *panel; /* By panel, for tsi_numeric_run_again; NULL unless complements stay. */
  const bool *touched;      /* By supernode: the fronts that a run factors; NULL: all. */
  tsi_factorization *dag;
  pthread_mutex_t lock; /* Guards the state shared by the pieces of a front's assembly (front_pieces.c). */
  bool has_lock;
  void **complement; /* By supernode: C of its front; NULL for a shared front. */
  void **out_part;   /* Parts of complements, by outgoing and by incoming parcel. */
  void **in_part;
  tsi_open_front *tiled; /* The tiled fronts of the DAG. */
  tsi_failure failure;   /* The first failure. */
  _Atomic(bool) stopped; /* Another process has failed. */
  tsi_port port;         /* Port of messages, if there are any. */
  bool *sent;            /* By outgoing message: it was sent. */
  bool *expected;        /* By incoming message: it is, or has been, received into its complement. */
  atomic_int *left;      /* By first message of a parcel: number of its pieces not yet sent. */
  char *refuse_piece;    /* Sent in place of pieces that were not made: only failure marks. */
  void *waste_piece;     /* Buffer for received pieces that are not used. */
  tsi_index *device; /* By supernode, lent to the DAG (tsi_front_owners); NULL: no front is on a device. */
  tsi_device_front *on_device; /* By tiled front; NULL: no front is on a device, or not recorded. */
  _Atomic(bool) device_failed; /* A device has reported an error. */
  tsi_task_list *list;         /* On StarPU: one task for each step, with the same number. */
  tsi_tasks *tasks;
  atomic_llong perturbed;
  atomic_llong stray;      /* Perturbed pivots of rows that are not dependent. */
  atomic_int dependent;    /* Column of the first dependent row, by final index; INT_MAX: none. */
  tsi_index dependent_row; /* The user's row of it, if another process sent it; TSI_NONE: see out_row. */
  _Atomic double smallest, largest; /* Of the pivots. */
  _Atomic double strongest;         /* As in tsi_pivot_figures. */
  _Atomic double inverse_growth;    /* As in factor.h. */
  double weakest;                   /* As in tsi_pivot_figures. */
  tsi_index weakest_row;            /* Row of the weakest pivot; while steps run, `lock` guards both. */
  atomic_llong done;                /* Number of supernodes done. */
  double work;                      /* Operations of all steps. */
  _Atomic double worked; /* Operations of the finished steps; counted only if a function follows. */
  atomic_int percent;    /* Last percentage reported. */
} tsi_numeric;

/* Creates the DAG; nothing is factored yet. sizes and owners are borrowed; owners as in
 * tsi_factorization_create. options->tile divides TSI_TILE. fixed: LU only. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_numeric_create(tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                                                  const tsi_factorization_options *options,
                                                  const tsi_front_owners *owners, bool fixed,
                                                  tsi_numeric **out);
/* Allocates everything that messages need except complements. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_prepare_messages(tsi_numeric *numeric);
void tsi_numeric_release_messages(tsi_numeric *numeric);
/* Sends the messages of a step that has run. (tsi_numeric_expect_next posts the receives.) */
void tsi_numeric_send(tsi_numeric *numeric, tsi_index step);
/* After the last step: sends all messages not sent yet, and receives the unexpected ones. */
void tsi_numeric_send_rest(tsi_numeric *numeric);
/* Posts the receives of the arrivals that follow this step; TSI_NONE: the first arrivals of all. */
void tsi_numeric_expect_next(tsi_numeric *numeric, tsi_index step);
/* Number of scalars of the complement of s, alone and with space for the failure mark if it is sent or
 * received. */
static inline tsi_count tsi_numeric_complement_size(const tsi_numeric *numeric, tsi_index s) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  return tsi_complement_size((tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]), numeric->full);
}
tsi_count tsi_numeric_complement_scalars(const tsi_numeric *numeric, tsi_index s);
/* Makes the list of the tasks of the steps. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_list_tasks(tsi_numeric *numeric);
/* Bytes of that list and of its StarPU tasks (factor_forecast.c). Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_weigh_tasks(tsi_numeric *numeric, size_t *bytes);
/* Makes StarPU tasks of the steps. StarPU must run. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_record(tsi_numeric *numeric);
/* Frees the tasks. */
void tsi_numeric_discard_tasks(tsi_numeric *numeric);
/* Runs all steps: on StarPU if they are recorded. tsi_numeric_finish returns the failure of a step. Errors:
 * those of the port and of StarPU. */
TRISTAR_CHECKED tristar_status tsi_numeric_run(tsi_numeric *numeric);
/* Before the first run: keep complements and the statistics of panels. One process; no devices. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_stay(tsi_numeric *numeric);
/* After a run without failure, with other values, scalings or sizes: factors the touched fronts and their
 * ancestors. Afterwards the statistics cover all fronts. tasks: run on StarPU, which must run.
 * tsi_numeric_finish returns the failure of a step. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_numeric_run_again(tsi_numeric *numeric, const bool *touched, bool tasks);
/* Copies the scalings of the factor in final order; needed again after they change. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_place_scales(tsi_numeric *numeric);
/* Has a pivot of the panel been perturbed, or would it be with the threshold `tiny` instead of the old
 * one? */
bool tsi_numeric_depends_on(const tsi_numeric *numeric, tsi_index panel, double tiny);
/* Resets the statistics before a run; adds the statistics of a panel to them. */
void tsi_numeric_clear_figures(tsi_numeric *numeric);
void tsi_numeric_add_figures(tsi_numeric *numeric, tsi_index panel);
/* Bytes of an outgoing or (receive) incoming message. */
size_t tsi_numeric_piece_bytes(const tsi_numeric *numeric, bool receive, const tsi_front_message *message);
/* Message `received` has been received; message `sent` has been sent. From any thread. */
void tsi_numeric_arrived(tsi_numeric *numeric, tsi_index received);
void tsi_numeric_departed(tsi_numeric *numeric, tsi_index sent);
/* Runs a step of the DAG after the steps that it waits for. BLAS must use one thread (blas.h). */
void tsi_numeric_run_step(tsi_numeric *numeric, tsi_index step);
/* Statistics of the pivots; to be combined over several processes. */
tsi_pivot_figures tsi_numeric_figures(const tsi_numeric *numeric);
/* After a run without a failure: must LU without interchanges be tried (tsi_factorize)? */
bool tsi_numeric_needs_fixed(tsi_numeric *numeric);
void tsi_numeric_set_figures(tsi_numeric *numeric, const tsi_pivot_figures *figures);
/* After all steps: returns the first failure, or sets the statistics of the factor. Of many processes,
 * `share` has the pivots of all processes in columns of the part; the inherited error is the largest along
 * paths of the part. Errors: also MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_finish(tsi_numeric *numeric, tristar_factor_t *factor);
void tsi_numeric_destroy(tsi_numeric **numeric);

/* The functions below implement the steps. Each returns at once if the factorization has failed, and records
 * its own failure. */

/* Factors supernodes first .. last completely. The children of each are complete or in the range. */
void tsi_fronts_whole(tsi_numeric *numeric, tsi_index first, tsi_index last);

/* Steps of a tiled front of one process. open->s is set. */
void tsi_front_open(tsi_numeric *numeric, tsi_open_front *open);
/* Assembles the piece that begins with column c0: see front_pieces.c. */
void tsi_front_piece(tsi_numeric *numeric, tsi_open_front *open, tsi_index c0, tsi_index c1);
/* Columns c0 .. c1-1 of the front: sets them to zero, adds entries of B and the children's complements. */
void tsi_front_assemble(tsi_numeric *numeric, const tsi_open_front *open, tsi_index c0, tsi_index c1);
/* After the assembly of the whole front, shared or not: frees the complements of the children. */
void tsi_front_assembled(tsi_numeric *numeric, tsi_open_front *open);
/* Factors the stripe of a panel, in a front with f rows. */
void tsi_front_diagonal(tsi_numeric *numeric, const tsi_front_stripe *stripe, tsi_index f, tsi_index panel);
/* Computes rows begin .. end-1 below the panel's diagonal block, or (right, LU) columns to the right of it.
 * The diagonal block is done. */
void tsi_front_tile(tsi_numeric *numeric, const tsi_front *front, tsi_index panel, bool right,
                    tsi_index begin, tsi_index end);
/* Factors all panels and the complement one after the other: what a device does with its front, on a core. */
void tsi_front_factor(tsi_numeric *numeric, const tsi_front *front, tsi_index s);
/* Is the front of s, with these sizes, small (small_front.h)? */
static inline bool tsi_front_takes_small(const tsi_numeric *numeric, const tsi_front *front, tsi_index s) {
  const tsi_panels *panels = numeric->analysis->panels;
  return numeric->small != NULL && tsi_front_is_small(front->w, front->m) &&
         panels->first[s + 1] - panels->first[s] == 1;
}
/* Factors and packs such a front after its assembly. Errors: MEMORY, those of pivots. */
TRISTAR_CHECKED tristar_status tsi_front_small(tsi_numeric *numeric, const tsi_front *front, tsi_index s);
void tsi_front_pack(tsi_numeric *numeric, const tsi_front *front, tsi_index panel);
/* After the last use of its columns: frees everything but the complement. */
void tsi_front_close(tsi_numeric *numeric, tsi_open_front *open);

/* Functions shared by the fronts above and by shared fronts (shared_front.c). */
TRISTAR_CHECKED tristar_status tsi_front_allocate(const tsi_numeric *numeric, tsi_count scalars, void **out);
/* Allocates the complement of a front, unless it exists. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_need_complement(tsi_numeric *numeric, tsi_open_front *open);
/* Sets w, m, f and full of the front of s. */
void tsi_front_set_sizes(const tsi_numeric *numeric, tsi_index s, tsi_front *front);
/* Computes the rows of the parent's front that correspond to the off-diagonal rows of s. Both lists
 * ascend. */
void tsi_front_place_child(const tsi_symbolic *symbolic, tsi_index s, tsi_index *position);
/* Number of rows of all complements that s assembles, and their positions in its front, child after child. */
tsi_count tsi_front_children_rows(const tsi_numeric *numeric, tsi_index s);
void tsi_front_place_children(const tsi_numeric *numeric, tsi_index s, tsi_index *position);
/* Frees the complements of the children of s. Complements that are NULL have been used up. */
void tsi_front_free_children(tsi_numeric *numeric, tsi_index s);
/* Handles the assembled front of the rows that are not eliminated: it becomes the factor's Schur complement,
 * and its panels a unit matrix. Errors: NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_front_keep_schur(tsi_numeric *numeric, const tsi_front *front);
/* Packs a panel. work: tsi_pack_work scalars. Errors: MEMORY, NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_front_pack_in(tsi_numeric *numeric, const tsi_front *front,
                                                 tsi_index panel, void *work);
/* Sets the sizes, and the positions of the children's complements. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_begin(tsi_numeric *numeric, tsi_open_front *open);
/* Entries to be added to a front, or to a stripe of one. */
typedef struct tsi_entry_batch {
  const tsi_numeric *numeric;
  const tsi_front *front;         /* Either this */
  const tsi_front_stripe *stripe; /* or this is set. */
  tsi_count count;
  tsi_front_entry entry[128];
} tsi_entry_batch;
void tsi_entry_batch_flush(tsi_entry_batch *batch);
/* Adds entry q of a list, at row i and column j of the front. row and column are in final numbering and
 * select the scaling. */
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
/* term: |L(i,k) U(k,i)| in row `row` of the front of s. */
void tsi_numeric_raise_term(tsi_numeric *numeric, tsi_index s, tsi_index row, double term);
/* Checks a packed panel, and records the growth of its inverse. Errors: NOT_FINITE. */
TRISTAR_CHECKED tristar_status tsi_front_check_packed(tsi_numeric *numeric, tsi_index panel, bool upper);
/* Scalars of workspace for packing a panel of width b. */
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

/* Describes the stripes of all shared fronts, without their memory. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_stripes_prepare(tsi_numeric *numeric);
void tsi_stripes_release(tsi_numeric *numeric);
/* Allocates memory to receive stripe k except its first `skip` scalars. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_stripe_make_space(const tsi_numeric *numeric, tsi_open_front *open,
                                                     tsi_index k, tsi_count skip);
/* A parcel that used the stripe has been sent. */
void tsi_stripe_use_up(tsi_numeric *numeric, tsi_held_stripe *stripe);
/* Runs a step of a shared front of any kind but ASSEMBLED. */
void tsi_shared_front_run(tsi_numeric *numeric, tsi_step_kind kind, const tsi_front_step *part);

/* ---- Parts of complements (contribution_blocks.c) ---- */

/* After a step of the DAG: makes the parts that it leaves to other fronts. */
void tsi_parts_leave(tsi_numeric *numeric, tsi_index step);
/* Adds the parts of a child's complement to columns c0 .. c1-1 of a front, or to tile k of a shared one.
 * position: positions of the child's rows. */
void tsi_parts_add(const tsi_numeric *numeric, const tsi_open_front *open, tsi_index child,
                   const tsi_index *position, tsi_index k, tsi_index c0, tsi_index c1);
void tsi_parts_free(tsi_numeric *numeric, tsi_index child);

/* After the last front: final index of a dependent row, of which only rounding errors are left. It is in the
 * last panel of a root or, LLT, anywhere. TSI_NONE: none, or such matrices are not refused, or another pivot
 * was perturbed, which makes this no evidence. */
tsi_index tsi_numeric_dependent(const tsi_numeric *numeric);
/* The user's row of the first dependent row; TSI_NONE: none. */
tsi_index tsi_numeric_dependent_row(const tsi_numeric *numeric);
/* Errors: SINGULAR, NOT_POSITIVE_DEFINITE (there is such a row). */
TRISTAR_CHECKED tristar_status tsi_numeric_check_dependent(const tsi_numeric *numeric);

/* With fixed pivots, on several processes: the 2 n numbers that tsi_numeric_is_accurate examines. Each
 * becomes the largest over all processes. */
void tsi_numeric_get_terms(const tsi_numeric *numeric, double *terms);
void tsi_numeric_set_terms(tsi_numeric *numeric, const double *terms);
/* After the last front of LU with interchanges: does a second factorization with fixed pivots matter? It does
 * if a row is dependent, or if PERTURB met tiny pivots where units are far apart; other cases repair
 * themselves. */
bool tsi_numeric_is_doubtful(const tsi_numeric *numeric);
/* After the last step of a factorization with fixed pivots: is half of the digits left of every pivot? */
bool tsi_numeric_is_accurate(const tsi_numeric *numeric);

/* Does this run leave the front of s as it is? */
static inline bool tsi_numeric_skips(const tsi_numeric *numeric, tsi_index s) {
  return numeric->touched != NULL && !numeric->touched[s];
}

static inline bool tsi_numeric_failed(tsi_numeric *numeric) {
  return tsi_failure_exists(&numeric->failure) ||
         atomic_load_explicit(&numeric->stopped, memory_order_acquire);
}

/* Do steps compute? If not, they have failed, or only allocate and free. */
static inline bool tsi_numeric_computes(tsi_numeric *numeric) {
  return !numeric->dry && !tsi_numeric_failed(numeric);
}

/* D^-1 from a column on; NULL unless LDLT. */
static inline void *tsi_numeric_inverse(const tsi_numeric *numeric, tsi_index column) {
  return numeric->inverse ? numeric->inverse + 2 * (size_t)column * numeric->kernels->scalar_bytes : NULL;
}
