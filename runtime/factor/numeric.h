/* State of one multifrontal factorization.
 *
 * Job. B = L L^T or L U, supernode by supernode in postorder. Each supernode assembles a front from the
 * entries of B and from the Schur complements ("c" of codelets/cpu/front.h) of its children, factors its
 * columns, packs the panels into the factor's stream, and leaves its own Schur complement to its parent (Duff
 * and Reid 1983; Liu 1992).
 *
 * Two ways with a front. A heavy one is tiled: many tasks work on it, and it is kept in `tiled` meanwhile.
 * The others are done one after the other, a range of supernodes in one task, in memory that the task
 * allocates once, as large as the largest of them needs: there may be millions that have next to nothing to
 * do.
 *
 * On one process of many (factorization.h) the analysis lists the entries of its own fronts, and complements
 * come from other processes and go there, through a port. A complement has memory from when it is made, or
 * from when its parent is next and it may come, until it is assembled, or gone: who sends keeps it until it
 * is wanted. After a failure steps do nothing but send, so that nobody waits for this process; what they send
 * says so. What has no memory then is sent from, and received into, one piece that was set aside.
 *
 * Reads   analysis, the user's values, scalings.
 * Writes  lower, upper, pivots of the factor; fronts of its own.
 * Invariants
 *   - complement[s] exists from the opening of the front of s until its parent has assembled it; if it goes,
 * until its last piece has; if it comes, from when the step before its arrivals is over. NULL: not there, or
 * without rows
 *   - a piece is received into its complement only if that was there for its first piece
 *   - the rest of a tiled front exists from its opening until it is closed
 *   - after the first failure, which `failure` keeps, tasks return at once
 *   - two steps that may run at the same time write different tiles (dag/factorization.h) */
#ifndef TSI_RUNTIME_FACTOR_NUMERIC_H
#define TSI_RUNTIME_FACTOR_NUMERIC_H

#include "codelets/cpu/front.h"
#include "dag/factorization.h"
#include "runtime/execute/exchange.h"
#include "runtime/factor/factor.h"
#include "runtime/starpu/tasks.h"

/* A front that is being worked on; its C is the complement of s. */
typedef struct tsi_open_front {
  tsi_front front;
  tsi_index s;
  tsi_index *position; /* rows of the children's complements in this front, child after child */
} tsi_open_front;

/* The sizes of a matrix's scaled entries, which tell which pivots are tiny. */
typedef struct tsi_pivot_sizes {
  double *column; /* by final index: the largest scaled entry of a column, LLT: the diagonal one */
  double tiny;    /* LU, LDLT: pivots below this are perturbed */
} tsi_pivot_sizes;

/* Chooses the scalings of the factor, and measures what they make of its values. Errors: MEMORY, SINGULAR
 * (scaling.h). */
TRISTAR_CHECKED tristar_status tsi_pivot_sizes_measure(tristar_factor_t *factor, tsi_pivot_sizes *sizes);
void tsi_pivot_sizes_release(tsi_env *env, tsi_pivot_sizes *sizes);

/* Figures of the pivots. */
typedef struct tsi_pivot_figures {
  int64_t perturbed, stray;
  int64_t dependent; /* the first dependent row's column, by final index; INT_MAX: none */
  double smallest, largest;
} tsi_pivot_figures;

typedef struct tsi_numeric {
  tsi_env *env;
  const tristar_factor_t *factor;
  const tristar_analysis_t *analysis;
  const tsi_front_kernels *kernels;
  const void *values;            /* the user's */
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
  bool fixed;                    /* LU without interchanges, no pivot is perturbed (tsi_factorize); with */
  double *kept;                  /* by final index: pivots, what is left of the entry on the diagonal and */
  _Atomic double *term;          /* the largest of what was subtracted there; both in absolute value */
  tsi_factorization *dag;
  void **complement;     /* by supernode: C of its front */
  tsi_open_front *tiled; /* those of the DAG */
  tsi_failure failure;   /* the first one */
  _Atomic(bool) stopped; /* another process has failed */
  tsi_port port;         /* of messages, if there are any */
  bool *sent;            /* messages */
  bool *expected;        /* received messages: it is received into its complement, or has been */
  atomic_int *left;      /* messages: of the first piece of a complement, pieces that have not gone */
  char *refuse_piece;    /* sent for pieces that were not made: nothing but failure marks */
  void *waste_piece;     /* received into where nothing is made of it */
  tsi_task_list *list;   /* on StarPU: a task for each step, with the same number */
  tsi_tasks *tasks;
  atomic_llong perturbed;
  atomic_llong stray;               /* perturbed pivots that are not those of dependent rows */
  atomic_int dependent;             /* the first dependent row's column, by final index; INT_MAX: none */
  _Atomic double smallest, largest; /* pivots */
  atomic_llong done;                /* supernodes */
  atomic_int percent;               /* last reported */
} tsi_numeric;

/* How fronts are cut where nobody asks for something else. */
void tsi_numeric_options_init(tsi_factorization_options *options);
/* Makes the DAG; nothing is factored yet. sizes and owners are borrowed; owners as of
 * tsi_factorization_create. options->tile divides TSI_TILE. fixed: LU only. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_numeric_create(tristar_factor_t *factor, const tsi_pivot_sizes *sizes,
                                                  const tsi_factorization_options *options,
                                                  const tsi_front_owners *owners, bool fixed,
                                                  tsi_numeric **out);
/* What messages need beside complements. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_prepare_messages(tsi_numeric *numeric);
void tsi_numeric_release_messages(tsi_numeric *numeric);
/* Scalars of the complement of s, with room for the failure mark if it comes or goes. */
tsi_count tsi_numeric_complement_scalars(const tsi_numeric *numeric, tsi_index s);
/* The steps as tasks of StarPU, which runs. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_numeric_record(tsi_numeric *numeric);
/* Runs all steps: on StarPU if they are recorded. Errors: those of the port and of StarPU; a failure of a
 * step is told by tsi_numeric_finish. */
TRISTAR_CHECKED tristar_status tsi_numeric_run(tsi_numeric *numeric);
/* Bytes of a piece of a complement. */
size_t tsi_numeric_piece_bytes(const tsi_numeric *numeric, const tsi_front_message *message);
/* Message `received` is there, message `sent` has gone. From any thread. */
void tsi_numeric_arrived(tsi_numeric *numeric, tsi_index received);
void tsi_numeric_departed(tsi_numeric *numeric, tsi_index sent);
/* A step of the DAG; those that it waits for have run. BLAS must be on one thread (blas.h). */
void tsi_numeric_run_step(tsi_numeric *numeric, tsi_index step);
/* What the pivots were like; of several processes together. */
tsi_pivot_figures tsi_numeric_figures(const tsi_numeric *numeric);
void tsi_numeric_set_figures(tsi_numeric *numeric, const tsi_pivot_figures *figures);
/* After all steps: the first failure, or the figures of the factor. */
TRISTAR_CHECKED tristar_status tsi_numeric_finish(tsi_numeric *numeric, tristar_factor_t *factor);
void tsi_numeric_destroy(tsi_numeric **numeric);

/* What steps are made of. Each returns at once if the factorization has failed, and records its own failure.
 */

/* Supernodes first .. last, whole: the children of each are complete or in the range. */
void tsi_fronts_whole(tsi_numeric *numeric, tsi_index first, tsi_index last);

/* The steps of a tiled front. open->s is set. */
void tsi_front_open(tsi_numeric *numeric, tsi_open_front *open);
/* Columns c0 .. c1-1 of the front: zeroes them, adds entries of B and the children's complements. */
void tsi_front_assemble(tsi_numeric *numeric, const tsi_open_front *open, tsi_index c0, tsi_index c1);
/* After all columns are assembled: frees what the children left. */
void tsi_front_assembled(tsi_numeric *numeric, tsi_open_front *open);
void tsi_front_diagonal(tsi_numeric *numeric, const tsi_front *front, tsi_index panel);
/* Rows begin .. end-1 below the panel's diagonal block, or (right, LU) columns to the right of it; the
 * diagonal block is done. */
void tsi_front_tile(tsi_numeric *numeric, const tsi_front *front, tsi_index panel, bool right,
                    tsi_index begin, tsi_index end);
void tsi_front_pack(tsi_numeric *numeric, const tsi_front *front, tsi_index panel);
/* After the last use of its columns: frees all but the complement. */
void tsi_front_close(tsi_numeric *numeric, tsi_open_front *open);

/* After the last front: the final index of a row of which nothing but rounding errors is left, in the last
 * panel of a root or, LLT, anywhere, if such matrices are to be refused; TSI_NONE: there is none, or another
 * pivot was perturbed, which lets that say nothing. */
tsi_index tsi_numeric_dependent(const tsi_numeric *numeric);
/* Errors: SINGULAR, NOT_POSITIVE_DEFINITE: there is such a row. */
TRISTAR_CHECKED tristar_status tsi_numeric_check_dependent(const tsi_numeric *numeric);

/* With fixed pivots, of several processes together: what is_accurate looks at, 2 n numbers, the largest of
 * all processes' each. */
void tsi_numeric_get_terms(const tsi_numeric *numeric, double *terms);
void tsi_numeric_set_terms(tsi_numeric *numeric, const double *terms);
/* After the last step of a factorization with fixed pivots: is half of the digits left of every pivot? */
bool tsi_numeric_is_accurate(const tsi_numeric *numeric);
/* Exchanges the two if that factorization, with fixed pivots, is accurate. */
void tsi_numeric_prefer(tsi_numeric **numeric, tsi_numeric **fixed);

static inline bool tsi_numeric_failed(tsi_numeric *numeric) {
  return tsi_failure_exists(&numeric->failure) ||
         atomic_load_explicit(&numeric->stopped, memory_order_acquire);
}

/* D^-1 from a column on; NULL unless LDLT. */
static inline void *tsi_numeric_inverse(const tsi_numeric *numeric, tsi_index column) {
  return numeric->inverse ? numeric->inverse + 2 * (size_t)column * numeric->kernels->scalar_bytes : NULL;
}

#endif
