/* The launch of a distributed solve on devices: both sweeps of a PE in one persistent launch, which sends its
 * messages itself (Liu, Ding, Sao, Williams, Li, SC 2023, algorithm 5, with our order of the work).
 *
 * Steps are those of a program of processes (dag/program.h), in the order of tsi_program_list_draws. A block
 * draws a step, waits for the flags of the steps before it, works, puts the messages of the step into the
 * inboxes of their receivers, and raises the flag of the step. An arrival is a step that waits for the flag
 * of a message, so receives are steps, too. The orders of all PEs belong to one legal order of all steps, so
 * the launch ends with any number of blocks.
 *
 * Sums have a fixed order: own updates by source, then messages in the order of the inbox lists. So the bits
 * do not depend on the schedule. With `adds` (the atomics of SC 2023, for comparison) PEs add their parts of
 * a sum atomically to one row of the inbox, in any order. The receiver reads the row and clears it, so it is
 * zero when the inbox may be written again.
 *
 * Memory order. A block puts its message and passes a barrier; then one thread raises the flag with release
 * order at system scope. One thread of the receiver loads the flag with acquire order at system scope; then
 * its block passes a barrier. Inboxes and flags are those of runtime/mpi/oneside/run_port.h, which also
 * defines when an inbox may be written again.
 *
 * A wait for another PE ends early if the heap's control is stopped. Then all steps run to the end with the
 * data at hand, and the host discards x.
 *
 * All pointers are device pointers. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "codelets/gpu/tables/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of steps. The argument of a step is a chunk, or what the comment names. */
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
  TSI_GPU_EXCHANGE /* received message to add; -1: none */
} tsi_gpu_step_kind;

typedef struct tsi_gpu_step {
  tsi_index kind, argument;
  tsi_index before, befores; /* the step waits for steps before[before .. before+befores-1] */
  tsi_index send, sends;     /* the step ends with puts of messages send .. send+sends-1 */
} tsi_gpu_step;

/* Runs that have a message: runs with the forward sweep, runs with the backward sweep, or all. */
enum { TSI_GPU_IN_FORWARD, TSI_GPU_IN_BACKWARD, TSI_GPU_IN_ALL };

typedef struct tsi_gpu_message {
  tsi_index peer, flag; /* the other PE; flag at the receiver */
  int64_t row;          /* first row of the message in the inbox of the receiver */
  tsi_index part, parts;
  tsi_index when;
  tsi_index sums; /* 1: the message holds sums of slices; 0: x */
  tsi_index adds; /* 1: it is added to the rows of the inbox; 0: it overwrites them */
} tsi_gpu_message;

/* A chunk. x of its columns begins at row x of the workspace, its off-rows at x + update; the sums of its
 * slices follow. */
typedef struct tsi_gpu_chunk {
  int64_t x, forward_x, backward_x; /* forward, backward: row of the inbox that receives its x; -1: none */
  tsi_index panel, panels, column, columns, update, off, off_rows, slice, slices;
  tsi_index inbox[2], inboxes[2]; /* forward, backward: its range in inbox_row, the rows that it adds */
  tsi_index reads, writes;
} tsi_gpu_chunk;

typedef struct tsi_gpu_piece {
  tsi_index chunk, first, count;
} tsi_gpu_piece;

typedef struct tsi_gpu_program {
  tsi_device_call call; /* columns of this PE; workspace: rows of `stride` scalars */
  tsi_inverse inverse;  /* not TSI_INVERSE_PARTITIONED */
  tsi_index adds;       /* 1: all parts of a sum have one row of the inbox; 0: each part has its own */
  tsi_index steps;
  const tsi_gpu_step *step;
  const tsi_index *before;
  const tsi_gpu_chunk *chunk;
  const tsi_gpu_piece *slice;
  const tsi_panel *panel;
  const tsi_index *row; /* panel.row points into it: rows counted from x of the chunk */
  const tsi_index
      *gather_ptr; /* columns + 1: range in gather of the rows that are added to each column, in order */
  const tsi_index *gather;
  const tsi_index *owner; /* off-rows: the row of the workspace with x of the column */
  const tsi_gpu_message *send, *receive;
  const tsi_index *part; /* chunks of messages: message.part points into it */
  const int64_t *inbox_row;
  int32_t *ticket;         /* a counter, zero before and after each launch */
  int32_t *flag;           /* steps */
  int32_t epoch;           /* epoch of the run */
  tsi_symmetric_heap heap; /* base: addresses of the device, in its memory */
  int32_t done;            /* first of the flags for ended runs, one per PE */
  int64_t inbox;           /* bytes from the start of the data of a heap to the inbox of this run */
} tsi_gpu_program;

/* stream: a cudaStream_t or hipStream_t. Returns at once: 0, or the error number of the device's runtime. */
typedef int tsi_gpu_program_launch(const tsi_gpu_program *program, unsigned blocks, unsigned threads,
                                   void *stream);
tsi_gpu_program_launch tsi_gpu_program_s, tsi_gpu_program_d, tsi_gpu_program_c, tsi_gpu_program_z;

#ifdef __cplusplus
}
#endif
