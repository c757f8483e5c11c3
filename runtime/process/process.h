/* One process of a distributed solve: its data, and the runs of its program. This folder does not call MPI
 * (exchange.h).
 *
 * Job. Compute the share of a process (partition/layout/share.h) and its program (dag/program.h), store its
 * panels, and run the steps as StarPU tasks or on the calling thread.
 *
 * Numbers. Rows and columns are local to the share. In b and x of a run, row j belongs to local column j;
 * only the rows of chunks with `home` set are read and written.
 *
 * Reads   the structure of the factor, its kind, the values in the arrays of tsi_process.
 * Writes  its runs: each owns a workspace, an inbox, an outbox and recorded tasks.
 * Invariants
 *   - all data except the runs are immutable once the values are set, and tsi_process_renew has sent them to
 *     devices
 *   - row r of a message area is scalars r * stride .. of it
 *   - a step packs the messages that it sends at its end; nothing else writes to the outbox in a run */
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

/* Properties of a factor that all processes share; plain data. */
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
  const char *isa;        /* instruction set of the kernels; NULL: the best of this processor */
  int workers;            /* 0: steps run on the calling thread, and nothing is on devices */
  tsi_device_options cut; /* for subtrees on devices, if the layout has some */
  bool later;             /* tsi_process_need_streams creates the streams, unless devices need them earlier */
} tsi_process_options;

typedef struct tsi_process {
  tsi_env *env;
  tsi_factor_kind kind;
  size_t user_bytes, scalar_bytes;
  int workers;
  bool pivoted;                      /* the factor has interchanges */
  tsi_layout_options layout_options; /* options of the layout; device: NULL */
  tsi_layout *layout;
  tsi_sweep *whole; /* sweep of all chunks of the layout */
  tsi_share_options share_options;
  tsi_share *share;
  tsi_sweep *sweep;
  tsi_program *program;
  tsi_count *begin; /* local panels + 1: position in the streams of the stored part of each panel */
  tsi_tables tables;
  unsigned char *home; /* local chunks: this process reads b and writes x */
  tsi_solve_messages messages;
  tsi_solve_data data;
  const tsi_node_kernels *nodes;
  struct tsi_plan_subtrees *subtrees; /* subtrees on devices (process_subtrees.h); NULL: none */
  tsi_index *from; /* if there are subtrees: interchanges as permutations, by local column */
  /* Values, by local column */
  void *lower, *upper; /* streams of begin[panels] scalars and TSI_STREAM_PAD; upper: LU. NULL: later */
  tsi_index *pivots;   /* if kind.pivots */
  void *inverse;       /* two scalars a column, if kind.indefinite */
  double *row_scale, *col_scale; /* if kind.scaled: of the user's row, column, by local column */
} tsi_process;

/* Creates the structure, and allocates the values without setting them. Errors: those of tsi_layout_create;
 * UNSUPPORTED (INVERSE_PARTITIONED). */
TRISTAR_CHECKED tristar_status tsi_process_create(tsi_env *env, const tsi_factor_kind *kind,
                                                  const tsi_symbolic *symbolic, const tsi_panels *panels,
                                                  const tsi_process_options *options, tsi_process **out);
/* Allocates the streams, unless they exist. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_process_need_streams(tsi_process *process);
/* Allocates or frees the scalings, for new values with or without them. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_process_scale(tsi_process *process, bool scaled);
void tsi_process_destroy(tsi_process **process);

/* Options for slices of a large chunk. They depend on its size but not on the number of workers, so that the
 * bits of results do not depend on the workers. */
static inline tsi_share_options tsi_share_options_of(const tsi_layout_options *layout) {
  enum { SLICES_MOST = 16 };
  return (tsi_share_options){
      .slice_bytes = layout->slice_bytes, .pieces = SLICES_MOST, .scalar_bytes = layout->scalar_bytes};
}

/* Positions in the stream of the stored part of each panel of a share; [panels]: the end. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_place_share(tsi_env *env, const tsi_share *share, tsi_count **begin);

/* The process that reads b and writes x for the columns of a chunk; for a column of the factor. */
static inline tsi_index tsi_home_rank(const tsi_layout *layout, tsi_index chunk) {
  return tsi_layout_anchor(layout, chunk, tsi_layout_home(layout, layout->node[chunk]));
}
static inline tsi_index tsi_home_of(const tsi_layout *layout, tsi_index column) {
  return tsi_home_rank(layout, tsi_chunk_of(layout->chunks, column));
}

/* Bytes of the message with the Schur complement of s for the process that factors its parent, with a failure
 * mark. */
static inline size_t tsi_front_message_bytes(const tsi_symbolic *symbolic, bool lu, size_t scalar_bytes,
                                             tsi_index s) {
  const tsi_index rows = (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return ((size_t)tsi_complement_size(rows, lu) + 1) * scalar_bytes;
}

/* ---- Runs --------------------------------------------------------------------------------------------- */

typedef struct tsi_process_run tsi_process_run;

/* Creates a run with `stride` scalars per row: tsi_workspace_stride of the right-hand sides. Errors: MEMORY,
 * TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_process_run_create(tsi_process *process, tsi_index stride,
                                                      tsi_process_run **out);
void tsi_process_run_destroy(tsi_process_run **run);
tsi_index tsi_process_stride(const tsi_process_run *run);
/* The executor of its steps. */
const tsi_executor *tsi_process_executor(const tsi_process_run *run);
/* The message areas: tsi_message.row counts rows of them. */
void *tsi_process_inbox(tsi_process_run *run);
void *tsi_process_outbox(tsi_process_run *run);
/* Sets the port, before the first solve. */
void tsi_process_connect(tsi_process_run *run, const tsi_port *port);
/* From now on `sweeps`, on a device, runs the sweeps of a call instead of the recorded steps. It sends and
 * receives all messages of the program itself, between begin and end of the port. */
void tsi_process_set_sweeps(tsi_process_run *run,
                            tristar_status (*sweeps)(void *context, const tsi_solve_call *call),
                            void *context);
/* Reports that a message has arrived. Called from any thread, once for each received message of a solve. */
void tsi_process_arrived(tsi_process_run *run, tsi_index message);

/* Arguments of a solve; the same on all processes except for b and x. */
typedef struct tsi_process_call {
  tristar_op op;
  tristar_part part;
  bool factor_order;
  tsi_index nrhs; /* number of right-hand sides; the run has a suitable stride */
  /* local rows x nrhs, column-major, leading dimension the number of local columns; x may be b. */
  const void *b;
  void *x;
  /* Active chunks of the layout in each direction (reach.h); NULL: all. In the first direction of the solve,
   * all rows of b of active chunks are set. */
  const unsigned char *forward, *backward;
} tsi_process_call;

/* The operation of a call. */
tsi_operation tsi_process_operation(const tsi_process *process, const tsi_process_call *call);
/* Returns when this process has ended the solve. times may be NULL. Errors: of the port; NO_WORKER, RUNTIME.
 */
TRISTAR_CHECKED tristar_status tsi_process_solve(tsi_process_run *run, const tsi_process_call *call,
                                                 tsi_process_times *times);
/* By message: whether the latest solve sent it. */
const bool *tsi_process_sent(const tsi_process_run *run);
