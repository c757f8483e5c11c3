/* One process of a distributed solve: what it holds, and how it runs its part. No MPI here (exchange.h).
 *
 * Job. Find the share of a process (partition/layout/share.h) and its program (dag/program.h), hold its
 * panels, and run the steps as StarPU tasks or on the calling thread.
 *
 * Numbers. Rows and columns are those of the share; b and x of a run are local: row j belongs to local column
 * j, and only the rows of chunks that are read and written here count (`home`).
 *
 * Reads   the structure of the factor, its kind, the values that tsi_process_values points to.
 * Writes  its runs: each owns a workspace, an inbox, an outbox and recorded tasks.
 * Invariants
 *   - everything but the runs is immutable after the values are in place, and devices were told
 * (tsi_process_renew)
 *   - row r of a message area is scalars r * stride .. of it
 *   - a step packs the messages that it sends at its end, and nobody writes the outbox otherwise in that run
 */
#pragma once

#include "codelets/cpu/front.h"
#include "dag/bundles.h"
#include "dag/program.h"
#include "runtime/factor/factor.h"
#include "runtime/exec/device/device_build.h"
#include "runtime/exec/steps/exchange.h"
#include "runtime/exec/steps/tables.h"
#include "runtime/solve/executor.h"
#include "runtime/solve/operation.h"
#include "tristar_solve.h"

/* What all processes know about a factor; plain data. */
typedef struct tsi_factor_kind {
  int64_t n;
  char user_scalar, factor_scalar;
  tsi_inverse inverse;
  bool lu, adjoint, scaled, pivots, indefinite; /* indefinite: L D L^T */
  bool imported;
} tsi_factor_kind;

tsi_factor_kind tsi_factor_kind_of(const tristar_factor_t *factor);

typedef struct tsi_process_options {
  tsi_layout_options layout;
  tsi_tree tree;
  tsi_index rank;
  const char *isa;        /* of the kernels; NULL: the best of this processor */
  int workers;            /* 0: steps run on the calling thread, and nothing is on devices */
  tsi_device_options cut; /* of subtrees on devices, where the layout has some */
  bool later;             /* streams are made by tsi_process_need_streams, unless devices must know of them */
} tsi_process_options;

typedef struct tsi_process {
  tsi_env *env;
  tsi_factor_kind kind;
  size_t user_bytes, scalar_bytes;
  int workers;
  bool pivoted;                      /* some interchange happened */
  tsi_layout_options layout_options; /* that the layout was made with; device: NULL */
  tsi_layout *layout;
  tsi_sweep *whole; /* of the chunks of the layout */
  tsi_share_options share_options;
  tsi_share *share;
  tsi_sweep *sweep;
  tsi_program *program;
  tsi_count *begin; /* local panels + 1: where what is stored of each begins in the streams */
  tsi_tables tables;
  unsigned char *home; /* local chunks: b is read and x written here */
  tsi_solve_messages messages;
  tsi_solve_data data;
  const tsi_node_kernels *nodes;
  struct tsi_plan_subtrees *subtrees; /* subtrees on devices (process_subtrees.h); NULL: none */
  tsi_index *from;                    /* with subtrees: interchanges as permutations, by local column */
  /* Values, by local column */
  void *lower, *upper; /* streams of begin[panels] scalars and TSI_STREAM_PAD; upper: LU. NULL: later */
  tsi_index *pivots;   /* if kind.pivots */
  void *inverse;       /* two scalars a column, if kind.indefinite */
  double *row_scale, *col_scale; /* if kind.scaled: of the user's row, and column, of each local column */
} tsi_process;

/* Structure and room for the values, which are not set. Errors: those of tsi_layout_create; UNSUPPORTED
 * (INVERSE_PARTITIONED). */
TRISTAR_CHECKED tristar_status tsi_process_create(tsi_env *env, const tsi_factor_kind *kind,
                                                  const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                  const tsi_process_options *options, tsi_process **out);
/* Room for the streams, where there is none yet. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_process_need_streams(tsi_process *process);
/* Makes or frees the room for scalings, as the values to come have some or not. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_process_scale(tsi_process *process, bool scaled);
void tsi_process_destroy(tsi_process **process);

/* Slices of a spread chunk: its size decides, not the number of workers, on which no bit may depend. */
static inline tsi_share_options tsi_share_options_of(const tsi_layout_options *layout) {
  enum { SLICES_MOST = 16 };
  return (tsi_share_options){
      .slice_bytes = layout->slice_bytes, .pieces = SLICES_MOST, .scalar_bytes = layout->scalar_bytes};
}

/* Where what is stored of each panel of a share begins; [panels]: the end. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_place_share(tsi_env *env, const tsi_share *share, tsi_count **begin);

/* The process that reads b and writes x of the columns of a chunk, of a column of the factor. */
static inline tsi_index tsi_home_rank(const tsi_layout *layout, tsi_index chunk) {
  return tsi_layout_anchor(layout, chunk, tsi_layout_home(layout, layout->node[chunk]));
}
static inline tsi_index tsi_home_of(const tsi_layout *layout, tsi_index column) {
  return tsi_home_rank(layout, tsi_chunk_of(layout->chunks, column));
}

/* Bytes of the complement of s as it travels to the process that factors the parent: with a failure mark. */
static inline size_t tsi_front_message_bytes(const tsi_symbolic *symbolic, bool lu, size_t scalar_bytes,
                                             tsi_index s) {
  const tsi_index rows = (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return ((size_t)tsi_complement_size(rows, lu) + 1) * scalar_bytes;
}

/* ---- Runs --------------------------------------------------------------------------------------------- */

typedef struct tsi_process_run tsi_process_run;

/* Room for `stride` scalars a row: tsi_workspace_stride of what it is to solve. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_process_run_create(tsi_process *process, tsi_index stride,
                                                      tsi_process_run **out);
void tsi_process_run_destroy(tsi_process_run **run);
tsi_index tsi_process_stride(const tsi_process_run *run);
/* What runs its steps. */
const tsi_executor *tsi_process_executor(const tsi_process_run *run);
/* The message areas: tsi_message.row counts rows of them. */
void *tsi_process_inbox(tsi_process_run *run);
void *tsi_process_outbox(tsi_process_run *run);
/* Must be set before the first solve. */
void tsi_process_connect(tsi_process_run *run, const tsi_port *port);
/* From now on `sweeps` runs the sweeps of a call, in the place of the recorded steps: a device does. It sends
 * and receives all messages of the program itself, between begin and end of the port. */
void tsi_process_set_sweeps(tsi_process_run *run,
                            tristar_status (*sweeps)(void *context, const tsi_solve_call *call),
                            void *context);
/* A received message is there. From any thread, once for each in every solve. */
void tsi_process_arrived(tsi_process_run *run, tsi_index message);

/* What is to be solved; the same on all processes but for b and x. */
typedef struct tsi_process_call {
  tristar_op op;
  tristar_part part;
  bool factor_order;
  tsi_index nrhs; /* for which the run has the right stride */
  /* local rows x nrhs, column-major, leading dimension the number of local columns; x may be b. */
  const void *b;
  void *x;
  /* chunks of the layout that take part in each direction (reach.h); NULL: all. Where the solve starts, of
   * chunks that take part all rows of b are set. */
  const unsigned char *forward, *backward;
} tsi_process_call;

/* What the call does with the factors. */
tsi_operation tsi_process_operation(const tsi_process *process, const tsi_process_call *call);
/* Returns when this process is through. times may be NULL. Errors: of the port; NO_WORKER, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_process_solve(tsi_process_run *run, const tsi_process_call *call,
                                                 tsi_process_times *times);
/* Which messages the latest solve sent. */
const bool *tsi_process_sent(const tsi_process_run *run);
