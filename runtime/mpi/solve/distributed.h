/* A factor on many ranks, and its solves: see tristar_mpi.h.
 *
 * Reads   the factor of rank 0, while it is distributed.
 * Writes  a process (runtime/process/process.h) on every rank, its values, its runs.
 * Invariants
 *   - all ranks have the same layout, which each computes from the same structure
 *   - slots: one run and its mailbox for each stride. All ranks create them in the same order, so a tag
 *     identifies the same message on all ranks
 *   - no rank waits in MPI for a rank that has failed: the ranks agree on a status (tsi_transport_agree)
 *     before each collective step */
#pragma once

#include "runtime/mpi/comm/directory.h"
#include "runtime/mpi/matrix/refine_rows.h"
#include "runtime/mpi/oneside/run_port.h"
#include "runtime/mpi/comm/port.h"
#include "runtime/mpi/matrix/rows.h"
#include "tristar_mpi.h"

#define TSI_SLOTS (TSI_NRHS_BLOCK / TSI_ROW_BLOCK + 3) /* strides 1, 2, 4, 8, 16, ... */

typedef struct tsi_slot {
  tsi_process_run *run; /* NULL: not created yet */
  union {               /* transport of messages; NULL: run is NULL */
    tsi_mailbox_port *port;
    tsi_run_port *oneside; /* for TRANSPORT_ONE_SIDED */
  };
  struct tsi_device_run *device; /* NULL: the cores of this process run the steps */
  void *b, *x;                   /* local rows */
  void *buffer;                  /* buffer of tsi_rows_move */
} tsi_slot;

struct tristar_distributed_s {
  tristar_t *ts;
  tristar_distributed_options options;
  tsi_transport *transport;
  tsi_process *process;
  int64_t n;
  int64_t *first;                      /* ranks + 1: first row of the user on each rank */
  tsi_directory *in_place, *out_place; /* final columns of the user's rows of b and of x */
  tsi_directory *in_row, *out_row;     /* the reverse */
  tsi_directory *pivot_order;          /* as in factor.h; NULL: the final order */
  tsi_rows *in, *out;                  /* one object if both places are the same */
  tsi_rows *ordered[2]; /* the same blocks in final order, in factor order; NULL: not needed yet */
  tsi_slot slot[TSI_SLOTS];
  uint64_t structure; /* rank 0: fingerprint of the structure of the factor */
  tristar_distributed_stats stats;
  bool placed;    /* some rank has subtrees on devices */
  bool one_sided; /* TRANSPORT_ONE_SIDED: slots have ports of one-sided messages */
  bool on_device; /* ONE_SIDED with PLACE_GPU: a device of each rank runs the sweeps */
  bool lost;      /* a rank did not reach the end of a solve: nothing is collective any more */
  bool valid;     /* values are in place */
  bool has_matrix : 1, perturbed : 1, misfit : 1; /* the factor has its matrix, perturbed pivots; factor.h */
  double condition;                               /* misfit: tsi_system.condition */
  bool singular;                                  /* the verdict on the factor */
  bool loses_digits;                              /* trial solves without refinement lose digits */
  bool weighted;                                  /* the factor of rank 0 has weights */
  bool of_rows;                  /* factor of rows on all ranks (dmatrix_factor.c): source has no values */
  bool borrows;                  /* another object owns the transport */
  bool one_place;                /* in and out are the same object, and so are their directories */
  tsi_index tags;                /* tags that a slot takes */
  tsi_rows_matrix *matrix;       /* NULL: the factor has no matrix */
  struct tsi_queue *queue;       /* NULL: no solve was inserted or started */
  struct tsi_trace *trace;       /* NULL: the solve is not traced */
  struct tsi_inserted *inserted; /* NULL: no solve was inserted */
  struct tsi_team_factor
      *team_factor; /* state of a factorization by all ranks (team_factor.h); NULL: rank 0 factored */
  void (*team_factor_destroy)(struct tristar_distributed_s *d,
                              struct tsi_team_factor **team_factor); /* set with team_factor */
  tristar_factor_t *source; /* rank 0, with team_factor: values and scalings, no streams */
  uint64_t pattern;         /* of_rows: fingerprint of the pattern of the matrix, for any distribution */
};
typedef struct tsi_team_factor tsi_team_factor;
typedef struct tsi_inserted tsi_inserted;

/* Collective. The slot for nrhs right-hand sides, created at its first use. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_slot_need(tristar_distributed_t *d, tsi_index nrhs, tsi_slot **out);
/* Releases the slot except for its buffer. */
void tsi_slot_release(tristar_distributed_t *d, tsi_slot *slot);

/* Number of rows of b and x that this rank passes. */
static inline int64_t tsi_distributed_own_rows(const tristar_distributed_t *d) {
  const int rank = tsi_transport_rank(d->transport);
  return d->first[rank + 1] - d->first[rank];
}
static inline bool tsi_distributed_needs_tasks(const tristar_distributed_t *d) {
  return d->options.engine == TRISTAR_ENGINE_TASKS ||
         (d->options.engine == TRISTAR_ENGINE_AUTO && d->ts->workers.allowed);
}
/* Local. Errors: RUNTIME, on all remaining ranks, after a rank was lost. */
TRISTAR_CHECKED tristar_status tsi_distributed_check_ranks(const tristar_distributed_t *d);
/* Local. Checks that values and rows exist. Errors: STALE. */
TRISTAR_CHECKED tristar_status tsi_distributed_check_ready(const tristar_distributed_t *d);

/* Collective. Creates d->in and d->out for the blocks of d->first. Errors: MEMORY, RUNTIME, the same on all
 * ranks. */
TRISTAR_CHECKED tristar_status tsi_distributed_list_rows(tristar_distributed_t *d);
void tsi_distributed_release_rows(tristar_distributed_t *d);
void tsi_distributed_release_ordered(tristar_distributed_t *d);
/* Collective. Uses the blocks of `first`: ranks + 1, correct and the same on all ranks. Does nothing if these
 * are the blocks already. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_distributed_use_rows(tristar_distributed_t *d, const int64_t *first);
/* tristar_distributed_solve without refinement. */
TRISTAR_CHECKED tristar_status tsi_distributed_solve_plain(tristar_distributed_t *d, tristar_op op,
                                                           int64_t nrhs, const void *b, int64_t ldb, void *x,
                                                           int64_t ldx);
/* tristar_distributed_solve_with, without waiting for solves in the queue. */
TRISTAR_CHECKED tristar_status tsi_distributed_solve(tristar_distributed_t *d,
                                                     const tristar_solve_options *options, int64_t nrhs,
                                                     const void *b, void *x, tristar_solve_result *result);

/* Collective. Runs a slot, and adds its times and messages to the statistics. check: NOT_FINITE if x of a
 * rank has NaN or infinities. Other errors: those of tsi_process_solve. All ranks return the same status. */
TRISTAR_CHECKED tristar_status tsi_distributed_run(tristar_distributed_t *d, tsi_slot *slot,
                                                   const tsi_process_call *call, bool check);
/* Collective. Creates the buffer of a slot for tsi_rows_move, on all ranks or on none. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_slot_need_buffer(tristar_distributed_t *d, tsi_slot *slot);
void tsi_distributed_reset_times(tristar_distributed_t *d);

/* Structure of a factor that all ranks need to create their shares. On ranks other than 0 it is allocated;
 * tsi_shared_structure_release frees it. */
typedef struct tsi_shared_structure {
  tsi_factor_kind kind;
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  int64_t entries;                                          /* entries of the matrix, both triangles */
  const tsi_index *in_place, *out_place, *in_row, *out_row; /* rank 0; NULL elsewhere */
  bool borrowed;                                            /* rank 0: the arrays belong to the analysis */
} tsi_shared_structure;

/* Collective. Broadcasts the structure of factor from rank 0. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_share_structure(tsi_env *env, tsi_transport *transport,
                                                   const tristar_factor_t *factor,
                                                   tsi_shared_structure *shared);
void tsi_shared_structure_release(tsi_shared_structure *shared);

/* Collective. Rank 0 sends each rank the values of its share. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_send_values(tristar_distributed_t *d, const tristar_factor_t *factor);
/* Collective. The part of tsi_send_values without panels: properties that may change with the values. These
 * are pivots, scalings (scaled: on rank 0), and whether there is a matrix. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_agree_on_kind(tristar_distributed_t *d, const tristar_factor_t *factor,
                                                 bool scaled);
/* Collective. Brings the matrix, or its new values, from the source. d->has_matrix is true. mine: an earlier
 * failure of this rank. Errors: mine; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_bring_matrix(tristar_distributed_t *d, tristar_status mine,
                                                const tsi_rows_source *source);
/* Collective. Brings the matrix of the factor of rank 0. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_send_matrix(tristar_distributed_t *d, const tristar_factor_t *factor);

/* Steps that create a distributed factor; all are collective. */

/* Creates an object with only a transport. options may be NULL. requested: the user's pointer for the result;
 * must not be NULL. Errors: those of tsi_transport_create. */
TRISTAR_CHECKED tristar_status tsi_distributed_create(tristar_t *ts, MPI_Comm comm,
                                                      const tristar_distributed_options *options,
                                                      tristar_distributed_t *const *requested,
                                                      tristar_distributed_t **out);
/* Creates a second object with the transport and the options of d. d is not used meanwhile, and exists
 * longer. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_distributed_create_twin(tristar_distributed_t *d,
                                                           tristar_distributed_t **out);
/* Checks that all ranks pass the same options. mine: an earlier failure of this rank. Errors: mine; ARGUMENT.
 */
TRISTAR_CHECKED tristar_status tsi_distributed_agree(tristar_distributed_t *d, tristar_status mine);
/* Measures the cluster of the ranks: their nodes, messages of rank 0 to another rank of its node and to the
 * first rank of another node, and the calibration of rank 0. Other fields are those of tristar_cluster_init.
 * cores: of a rank. The result is the same on all ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_measure_cluster(tristar_t *ts, tsi_transport *transport, int cores,
                                                   tristar_cluster *cluster);
/* Chooses d->options.layout if the user has not. analysis: on rank 0. Errors: those of tristar_layout_choose;
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_choose_layout(tristar_distributed_t *d,
                                                             const tristar_analysis_t *analysis);
/* Creates all data that follow from the structure. factor: on rank 0. floor_bytes, on rank 0: of whole chunks
 * (layout.h); 0: as rank 0 is calibrated. The caller releases `shared`, whatever the status. Errors: those of
 * tsi_process_create. */
TRISTAR_CHECKED tristar_status tsi_distributed_lay_out(tristar_distributed_t *d,
                                                       const tristar_factor_t *factor, double floor_bytes,
                                                       tsi_shared_structure *shared);
/* Frees the rows of the layout, except on a rank 0 that needs them to send values. With subtrees on devices
 * rank 0 always keeps them, because it could not recompute the layout (values.c). */
void tsi_distributed_discard_structure(tristar_distributed_t *d);
/* Releases the layout and the slots. */
void tsi_distributed_release_layout(tristar_distributed_t *d);
/* Makes the object ready to solve, when it has its values. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_make_ready(tristar_distributed_t *d);
/* Makes the object use its new values. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_take_values(tristar_distributed_t *d);

/* Called by tsi_distributed_lay_out (devices.c). Chooses the subtrees of all ranks that are on devices.
 * *device: the device of each supernode, NULL if no rank has subtrees on devices; the caller frees it, also
 * after a failure. options: all fields except cut and layout.device, which this function sets. StarPU runs if
 * it may. Errors: PLACE_GPU: UNSUPPORTED, NO_WORKER; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_choose_devices(tristar_distributed_t *d,
                                                              const tsi_shared_structure *shared,
                                                              tsi_process_options *options,
                                                              tsi_index **device);
/* Copies the statistics of this rank's devices. */
void tsi_distributed_describe_devices(tristar_distributed_t *d);
