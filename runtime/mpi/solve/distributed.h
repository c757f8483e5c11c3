/* A factor on many ranks, and its solves: see tristar_mpi.h.
 *
 * Reads   the factor of rank 0, while it is distributed.
 * Writes  a process (runtime/process/process.h) on every rank, its values, its runs.
 * Invariants
 *   - all ranks hold the same layout, found by each of them from the same structure
 *   - slots: one run and its mailbox for each stride; made by all ranks in the same order, so that a tag
 * means the same to all
 *   - no rank waits in MPI for one that has failed: the ranks agree on a status (tsi_transport_agree) before
 *     each step that needs the others */
#pragma once

#include "runtime/mpi/comm/directory.h"
#include "runtime/mpi/matrix/refine_rows.h"
#include "runtime/mpi/oneside/run_port.h"
#include "runtime/mpi/comm/port.h"
#include "runtime/mpi/matrix/rows.h"
#include "tristar_mpi.h"

#define TSI_SLOTS (TSI_NRHS_BLOCK / TSI_ROW_BLOCK + 3) /* strides 1, 2, 4, 8, 16, ... */

typedef struct tsi_slot {
  tsi_process_run *run; /* NULL: not made yet */
  union {               /* of messages; NULL: run is NULL */
    tsi_mailbox_port *port;
    tsi_run_port *oneside; /* for TRANSPORT_ONE_SIDED */
  };
  struct tsi_device_run *device; /* NULL: the steps run on this process's cores */
  void *b, *x;                   /* local rows */
  void *buffer;                  /* of rows.h */
} tsi_slot;

struct tristar_distributed_s {
  tristar_t *ts;
  tristar_distributed_options options;
  tsi_transport *transport;
  tsi_process *process;
  int64_t n;
  int64_t *first;                      /* ranks + 1: blocks of rows of the user */
  tsi_directory *in_place, *out_place; /* final column of the user's rows of b and of x */
  tsi_directory *in_row, *out_row;     /* the reverse */
  tsi_directory *pivot_order;          /* as in factor.h; NULL: the final order */
  tsi_rows *in, *out;                  /* the same if both places are */
  tsi_rows *ordered[2];                /* the same blocks in final, in factor order; NULL: not needed yet */
  tsi_slot slot[TSI_SLOTS];
  uint64_t structure; /* rank 0: a fingerprint of the factor's, to know it again */
  tristar_distributed_stats stats;
  bool placed;    /* some rank has subtrees on devices */
  bool one_sided; /* TRANSPORT_ONE_SIDED: slots have ports of one-sided messages */
  bool on_device; /* the same with PLACE_GPU: a device of each rank runs the sweeps */
  bool lost;      /* a rank did not come to the end of a solve: nothing is collective any more */
  bool valid;     /* values are in place */
  bool has_matrix : 1, perturbed : 1, misfit : 1; /* the factor has its matrix, perturbed pivots; factor.h */
  bool singular;                                  /* the verdict on the factor */
  bool loses_digits;                              /* its trial solves, without refinement */
  bool weighted;                                  /* the factor of rank 0 has weights */
  bool of_rows;            /* made of rows that all ranks have (dmatrix_factor.c): source has no values */
  bool borrows;            /* the transport: another one owns it */
  bool one_place;          /* in and out are the same, and these the same directories */
  tsi_index tags;          /* that a slot takes */
  tsi_rows_matrix *matrix; /* NULL: without */
  struct tsi_queue *queue; /* NULL: no solve was inserted or started */
  struct tsi_trace *trace; /* NULL: the solve is not traced */
  struct tsi_inserted *inserted; /* NULL: no solve was inserted */
  struct tsi_team_factor
      *team_factor; /* state of a factorization by all ranks (team_factor.h); NULL: rank 0 factored */
  void (*team_factor_destroy)(struct tristar_distributed_s *d,
                              struct tsi_team_factor **team_factor); /* set with team_factor */
  tristar_factor_t *source; /* rank 0, with team_factor: values and scalings, no streams */
  uint64_t pattern;         /* of_rows: a fingerprint of the matrix's, however it is shared */
};
typedef struct tsi_team_factor tsi_team_factor;
typedef struct tsi_inserted tsi_inserted;

/* Collective. The slot for nrhs right-hand sides, made at its first use. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_slot_need(tristar_distributed_t *d, tsi_index nrhs, tsi_slot **out);
/* All but its buffer. */
void tsi_slot_release(tristar_distributed_t *d, tsi_slot *slot);

/* How many rows of b and x this rank passes. */
static inline int64_t tsi_distributed_own_rows(const tristar_distributed_t *d) {
  const int rank = tsi_transport_rank(d->transport);
  return d->first[rank + 1] - d->first[rank];
}
static inline bool tsi_distributed_wants_tasks(const tristar_distributed_t *d) {
  return d->options.engine == TRISTAR_ENGINE_TASKS ||
         (d->options.engine == TRISTAR_ENGINE_AUTO && d->ts->workers.allowed);
}
/* Local. Errors: RUNTIME, on all ranks that are left, after one was lost. */
TRISTAR_CHECKED tristar_status tsi_distributed_check_ranks(const tristar_distributed_t *d);
/* Values and rows are there. Local. Errors: STALE. */
TRISTAR_CHECKED tristar_status tsi_distributed_check_ready(const tristar_distributed_t *d);

/* Collective. d->in and d->out for the blocks of d->first. Errors: MEMORY, RUNTIME, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_distributed_list_rows(tristar_distributed_t *d);
void tsi_distributed_release_rows(tristar_distributed_t *d);
void tsi_distributed_release_ordered(tristar_distributed_t *d);
/* Collective. first: ranks + 1, the same on all ranks and right; nothing is done if these are the blocks
 * already. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_distributed_use_rows(tristar_distributed_t *d, const int64_t *first);
/* tristar_distributed_solve without refinement. */
TRISTAR_CHECKED tristar_status tsi_distributed_solve_plain(tristar_distributed_t *d, tristar_op op,
                                                           int64_t nrhs, const void *b, int64_t ldb, void *x,
                                                           int64_t ldx);
/* tristar_distributed_solve_with, while solves may be inserted. */
TRISTAR_CHECKED tristar_status tsi_distributed_solve(tristar_distributed_t *d,
                                                     const tristar_solve_options *options, int64_t nrhs,
                                                     const void *b, void *x, tristar_solve_result *result);

/* Collective. A run of a slot: what it says of times and messages is added to the statistics. Errors: those
 * of tsi_process_solve, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_distributed_run(tristar_distributed_t *d, tsi_slot *slot,
                                                   const tsi_process_call *call);
/* Collective. The buffer of a slot for rows.h: on all ranks or on none. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_slot_need_buffer(tristar_distributed_t *d, tsi_slot *slot);
void tsi_distributed_reset_times(tristar_distributed_t *d);

/* What all ranks must know of a factor before they can make their shares; on ranks other than 0 allocated, to
 * be freed by tsi_known_release. */
typedef struct tsi_known {
  tsi_factor_kind kind;
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  int64_t entries;                                          /* of the matrix, both triangles */
  const tsi_index *in_place, *out_place, *in_row, *out_row; /* rank 0; NULL elsewhere */
  bool borrowed;                                            /* of the analysis: rank 0 */
} tsi_known;

/* Collective: rank 0 gives the structure of factor to all. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_know_structure(tsi_env *env, tsi_transport *transport,
                                                  const tristar_factor_t *factor, tsi_known *known);
void tsi_known_release(tsi_known *known);

/* Collective: rank 0 sends everyone the values of its share. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_send_values(tristar_distributed_t *d, const tristar_factor_t *factor);
/* The part of it that has nothing to do with panels: collective. What may change from one set of values to
 * the next: pivots, scalings (scaled: on rank 0), whether there is a matrix. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_agree_on_kind(tristar_distributed_t *d, const tristar_factor_t *factor,
                                                 bool scaled);
/* The matrix, or its new values; mine: an earlier failure of this rank, which d->has_matrix. Errors: that
 * one; MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_bring_matrix(tristar_distributed_t *d, tristar_status mine,
                                                const tsi_rows_source *source);
/* That of the factor of rank 0. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_send_matrix(tristar_distributed_t *d, const tristar_factor_t *factor);

/* How a distributed factor comes to be, step by step; all collective. */

/* A transport, and nothing on it. options may be NULL; wanted: what the user passes for the result, which
 * must not be NULL. Errors: those of tsi_transport_create. */
TRISTAR_CHECKED tristar_status tsi_distributed_create(tristar_t *ts, MPI_Comm comm,
                                                      const tristar_distributed_options *options,
                                                      tristar_distributed_t *const *wanted,
                                                      tristar_distributed_t **out);
/* A second one with the transport and the options of d, which is not used meanwhile and lives longer. Errors:
 * MEMORY. */
TRISTAR_CHECKED tristar_status tsi_distributed_create_beside(tristar_distributed_t *d,
                                                             tristar_distributed_t **out);
/* All ranks want the same; mine: what this one has found. Errors: ARGUMENT. */
TRISTAR_CHECKED tristar_status tsi_distributed_agree(tristar_distributed_t *d, tristar_status mine);
/* Collective. The cluster of the ranks: their nodes, messages of rank 0 to another rank of its node and to
 * the first rank of another node, the calibration of rank 0; all else as tristar_cluster_init. cores: of a
 * rank. The same on all ranks. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_measure_cluster(tristar_t *ts, tsi_transport *transport, int cores,
                                                   tristar_cluster *cluster);
/* d->options.layout, where the library is to choose it; analysis: on rank 0. Errors: those of
 * tristar_layout_choose; RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_choose_layout(tristar_distributed_t *d,
                                                             const tristar_analysis_t *analysis);
/* Everything that follows from the structure; factor: on rank 0. floor_bytes, on rank 0: of whole chunks
 * (layout.h); 0: as rank 0 is calibrated. known is to be released, whatever the status. Errors: those of
 * tsi_process_create. */
TRISTAR_CHECKED tristar_status tsi_distributed_lay_out(tristar_distributed_t *d,
                                                       const tristar_factor_t *factor, double floor_bytes,
                                                       tsi_known *known);
/* What only a rank 0 that has the values needs of the layout from now on, for other ones, goes elsewhere; not
 * where subtrees are on devices, as the layout could not be found again then (values.c). */
void tsi_distributed_forget_structure(tristar_distributed_t *d);
/* The undoing of it, and of slots. */
void tsi_distributed_release_layout(tristar_distributed_t *d);
/* The values are there: it can solve. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_make_ready(tristar_distributed_t *d);
/* New values are there. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_take_values(tristar_distributed_t *d);

/* Collective, in tsi_distributed_lay_out (devices.c). Chooses the subtrees of all ranks that are on devices.
 * *device: supernodes, NULL where no rank has any; the caller's, also after a failure. options: all but cut
 * and layout.device, which are set; StarPU runs where it may. Errors: PLACE_GPU: UNSUPPORTED, NO_WORKER;
 * MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_distributed_choose_devices(tristar_distributed_t *d,
                                                              const tsi_known *known,
                                                              tsi_process_options *options,
                                                              tsi_index **device);
/* What is known of the devices of this rank. */
void tsi_distributed_describe_devices(tristar_distributed_t *d);
