/* Solves by the kernels of codelets/gpu, with all their data in the memory of a board.
 *
 * Job. Copies tables, values and the arrays of a call to the board; launches; copies x and the workspace
 * back. Pointers of a call are to host memory. The lengths of its arrays follow from its rows and strides,
 * which are positive; b, x, D^-1 and interchanges have the columns of the factor, without those of a border.
 *
 * Workspace. A call with workspace NULL gets one on the board, with NaN in all rows. Otherwise the workspace
 * of the call is copied there, up to the last row in the tables. Each launch keeps the results of earlier
 * launches in it.
 *
 * Reads   tables, values, b, the call's workspace.   Writes  x and the workspace, when they are fetched. */
#pragma once

#include "codelets/gpu/tables/fsai_launch.h"
#include "codelets/gpu/tables/launch.h"
#include "codelets/gpu/tables/rows_launch.h"
#include "codelets/gpu/tables/spmv_launch.h"
#include "codelets/gpu/tables/variants.h"

/* The kernels of one scalar type: s, d, c, z, sd, cz; the last two have only sweeps and products. */
typedef struct gpu_kernels {
  const char *scalars;
  size_t stored, work; /* bytes of a scalar of the factor, of the workspace */
  tsi_gpu_launch *sweep;
  tsi_gpu_blocks *sweep_blocks;
  tsi_gpu_spmv_launch *spmv;
  tsi_gpu_rows_launch *rows;
  tsi_gpu_rows_blocks *rows_blocks;
  tsi_gpu_sc23 *sc23;
  tsi_gpu_kk20 *kk20;
  tsi_gpu_fsai_launch *fsai;
  tsi_gpu_fsai_blocks *fsai_blocks;
  tsi_gpu_fsai_pass *fsai_count, *fsai_pack;
  tsi_gpu_fsai_adjoin *fsai_adjoin;
} gpu_kernels;

/* Ends the program if there are none. */
const gpu_kernels *gpu_kernels_of(const char *scalars);

/* Arrays of a solve on the board. */
typedef struct board_arrays {
  void *at[32];
  int count;
  void *x, *workspace;
  size_t x_bytes, workspace_bytes; /* 0: the call has no such array on the host */
} board_arrays;

/* Allocates `bytes` bytes, which board_close releases. board_place copies an array of the host (NULL stays
 * NULL), board_filled fills with a byte. */
void *board_take(board_arrays *arrays, size_t bytes);
void *board_place(board_arrays *arrays, const void *from, size_t bytes);
void *board_filled(board_arrays *arrays, int byte, size_t bytes);

typedef struct board_sweeps {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_sweep sweep[2]; /* forward, backward; with pointers to the board */
} board_sweeps;

void board_sweeps_open(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, board_sweeps *out);
/* Launches the sweep if the call has it. blocks 0: as many as are resident. */
void board_sweeps_run(board_sweeps *s, bool backward, unsigned blocks, unsigned threads);

typedef struct board_rows {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_rows rows;
  const tsi_device_rows *host; /* tables of the caller */
} board_rows;

/* Allocates phases, counters and flags; those of `rows` are not used. */
void board_rows_open(const char *scalars, const tsi_gpu_rows *rows, board_rows *out);
/* Runs all phases: each in a launch of its own, or all in one launch. */
void board_rows_run(board_rows *s, bool one_launch, unsigned blocks, unsigned threads);

typedef struct board_variant {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_variant sweep[2];
  const tsi_index *level_ptr[2]; /* of the caller */
} board_variant;

/* The call's workspace is not used: the workspace of these solvers holds sums and is initially zero. */
void board_variant_open(const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call, board_variant *out);
void board_variant_sc23(board_variant *s, bool backward, unsigned threads);
void board_variant_kk20(board_variant *s, bool backward, unsigned threads);

/* Copies x to the host, and the rows of the call's workspace that were copied from the host. Does nothing if
 * the call has no such array. */
void board_fetch(const board_arrays *arrays, void *x);
void board_fetch_workspace(const board_arrays *arrays, void *workspace);
void board_close(board_arrays *arrays);
