/* Solves by the kernels of codelets/gpu with all that they need in the memory of a board.
 *
 * Job. Copy tables, values and the arrays of a call there; launch; bring back x and the workspace. Pointers
 * of a call are those of the host. How long its arrays are follows from its rows and strides, which are
 * positive; b, x, D^-1 and interchanges have the columns of the factor, not those of a border.
 *
 * Workspace. A call without one (NULL) gets one on the board, which begins with NaN in all rows. That of a
 * call is copied there, up to the last row that the tables name; launches leave in it what they write, from
 * one to the next one.
 *
 * Reads   tables, values, b, the call's workspace.   Writes  x and the workspace, where they are fetched. */
#pragma once

#include "codelets/gpu/tables/fsai_launch.h"
#include "codelets/gpu/tables/launch.h"
#include "codelets/gpu/tables/rows_launch.h"
#include "codelets/gpu/tables/spmv_launch.h"
#include "codelets/gpu/tables/variants.h"

/* The kernels of one scalar type: s, d, c, z, sd, cz; the last two have sweeps and products only. */
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

/* Ends the program where there are none. */
const gpu_kernels *gpu_kernels_of(const char *scalars);

/* What a solve has on the board. */
typedef struct board_arrays {
  void *at[32];
  int count;
  void *x, *workspace;
  size_t x_bytes, workspace_bytes; /* 0: the call has none of the host's */
} board_arrays;

/* Room for so many bytes, which board_close gives back; the same with what an array of the host has (NULL
 * stays NULL), or filled with a byte. */
void *board_take(board_arrays *arrays, size_t bytes);
void *board_place(board_arrays *arrays, const void *from, size_t bytes);
void *board_filled(board_arrays *arrays, int byte, size_t bytes);

typedef struct board_sweeps {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_sweep sweep[2]; /* forward, backward; with the board's pointers */
} board_sweeps;

void board_sweeps_open(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, board_sweeps *out);
/* Launches the sweep, if the call has it. blocks 0: as many as are resident. */
void board_sweeps_run(board_sweeps *s, bool backward, unsigned blocks, unsigned threads);

typedef struct board_rows {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_rows rows;
  const tsi_device_rows *host; /* the caller's tables */
} board_rows;

/* Of `rows` phases, counters and flags are not used: those are made here. */
void board_rows_open(const char *scalars, const tsi_gpu_rows *rows, board_rows *out);
/* All phases: each in a launch of its own, or all in one. */
void board_rows_run(board_rows *s, bool one_launch, unsigned blocks, unsigned threads);

typedef struct board_variant {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_variant sweep[2];
  const tsi_index *level_ptr[2]; /* the caller's */
} board_variant;

/* The call's workspace is not used: that of these solvers has sums in it, which begin with zeros. */
void board_variant_open(const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call, board_variant *out);
void board_variant_sc23(board_variant *s, bool backward, unsigned threads);
void board_variant_kk20(board_variant *s, bool backward, unsigned threads);

/* x of the host := x of the board; the rows that were copied from the call's workspace := those of the board.
 * Either does nothing where the call has none. */
void board_fetch(const board_arrays *arrays, void *x);
void board_fetch_workspace(const board_arrays *arrays, void *workspace);
void board_close(board_arrays *arrays);
