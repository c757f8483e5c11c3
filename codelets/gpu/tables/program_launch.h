/* The launch of a distributed solve on devices: both sweeps of a PE in one persistent launch, which sends its
 * messages itself (Liu, Ding, Sao, Williams, Li, SC 2023, algorithm 5, with our order of the work).
 *
 * Steps, in the order of tsi_program_list_draws, are those of a program of processes (dag/program.h); a block
 * draws them one after the other, waits for the flags of the steps before, works, puts the messages of the
 * step into the inboxes of their receivers, and raises the flag of the step. An arrival is a step that waits
 * for the flag of a message: a receiver is a step like any other. The order of all PEs is part of one legal
 * order of all steps: so any number of blocks comes to an end.
 *
 * Sums have a fixed order: own updates by source, then messages in the order of the inbox lists. So the bits
 * do not depend on the schedule. With `adds` (the atomics of SC 2023, for comparison) the parts of a sum that
 * other PEs make are added atomically in one place of the inbox, in any order; the receiver clears the place
 * when it has read it, so it is zero when the inbox may be written again.
 *
 * Memory order. A block puts its message, meets at a barrier, and then one thread raises the flag with
 * release order for the system; one thread of the receiver loads it with acquire order for the system, and
 * its block meets at a barrier. The inboxes and flags are those of runtime/mpi/oneside/run_port.h, with the
 * rule when an inbox may be written again.
 *
 * A wait for another PE ends early when the heap's control says that the run has stopped. Then all steps run
 * to the end with what is there, and the host discards x.
 *
 * All pointers are the device's. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The argument of a step: a message, a chunk or a slice. */
typedef enum tsi_gpu_step_kind {
  TSI_GPU_NOTHING,
  TSI_GPU_ARRIVAL, /* received message */
  TSI_GPU_FORWARD_SUM,
  TSI_GPU_FORWARD_CHUNK,
  TSI_GPU_FORWARD_SLICE, /* slice */
  TSI_GPU_FORWARD_RECEIVE,
  TSI_GPU_BACKWARD_SUM,
  TSI_GPU_BACKWARD_CHUNK,
  TSI_GPU_BACKWARD_SLICE, /* slice */
  TSI_GPU_BACKWARD_RECEIVE,
  TSI_GPU_EXCHANGE /* received message that it adds; -1: none */
} tsi_gpu_step_kind;

typedef struct tsi_gpu_step {
  tsi_index kind, argument;
  tsi_index before, befores; /* waits for steps before[before .. before+befores-1] */
  tsi_index send, sends;     /* puts messages send .. send+sends-1 at its end */
} tsi_gpu_step;

/* Which runs have a message: those with the forward sweep, the backward one, or all. */
enum { TSI_GPU_IN_FORWARD, TSI_GPU_IN_BACKWARD, TSI_GPU_IN_ALL };

typedef struct tsi_gpu_message {
  tsi_index peer, flag; /* of a send: at the receiver; of a receive: here */
  int64_t row;          /* first row of the inbox that it arrives in */
  tsi_index part, parts;
  tsi_index when;
  tsi_index sums; /* 1: it carries the sums of slices; 0: x */
  tsi_index adds; /* 1: it is added to what is there */
} tsi_gpu_message;

/* x of its columns begins at row x of the workspace, its off-rows at x + update, the sums of its slices
 * behind these. */
typedef struct tsi_gpu_chunk {
  int64_t x, forward_x, backward_x; /* rows of the inbox in which its x arrives; -1: it does not */
  tsi_index panel, panels, column, columns, update, off, off_rows, slice, slices;
  tsi_index inbox[2], inboxes[2]; /* forward, backward: rows of the inbox that it adds, in inbox_row */
  tsi_index reads, writes;
} tsi_gpu_chunk;

typedef struct tsi_gpu_piece {
  tsi_index chunk, first, count;
} tsi_gpu_piece;

typedef struct tsi_gpu_program {
  tsi_device_call call; /* columns of this PE; workspace: rows of `stride` scalars */
  tsi_inverse inverse;  /* not TSI_INVERSE_PARTITIONED */
  tsi_index adds;       /* 1: parts of sums have one place; else one each */
  tsi_index steps;
  const tsi_gpu_step *step;
  const tsi_index *before;
  const tsi_gpu_chunk *chunk;
  const tsi_gpu_piece *slice;
  const tsi_panel *panel;
  const tsi_index *row; /* panel.row points into it: rows counted from x of the chunk */
  const tsi_index
      *gather_ptr; /* columns + 1: rows of the workspace that are added to each column, in order */
  const tsi_index *gather;
  const tsi_index *owner; /* off-rows: the row of the workspace with x of the column */
  const tsi_gpu_message *send, *receive;
  const tsi_index *part; /* chunks of messages */
  const int64_t *inbox_row;
  int32_t *ticket;         /* a counter, zero before and after each launch */
  int32_t *flag;           /* steps */
  int32_t epoch;           /* of the run */
  tsi_symmetric_heap heap; /* base: addresses of the device, in its memory */
  int32_t done;            /* the first flag of ended runs, one a PE */
  int64_t inbox;           /* bytes from the begin of the data of a heap to the inbox of this run */
} tsi_gpu_program;

/* stream: a cudaStream_t or hipStream_t. Returns at once: 0, or the error number of the device's runtime. */
typedef int tsi_gpu_program_launch(const tsi_gpu_program *program, unsigned blocks, unsigned threads,
                                   void *stream);
tsi_gpu_program_launch tsi_gpu_program_s, tsi_gpu_program_d, tsi_gpu_program_c, tsi_gpu_program_z;

#ifdef __cplusplus
}
#endif
