/* Products by rows and rows of sparse approximate inverses by the kernels of codelets/gpu, with all their
 * data in the memory of a board: see solve.h.
 *
 * Reads   matrices, vectors, patterns of the host.   Writes  y and rows of G, when they are fetched. */
#pragma once

#include "tools/gpu/solve.h"

/* arrays.x is y of the product: board_fetch copies it to the host. */
typedef struct board_spmv {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_spmv product;
} board_spmv;

/* columns: number of columns of the matrix. */
void board_spmv_open(const char *scalars, const tsi_gpu_spmv *product, tsi_index columns, board_spmv *out);
void board_spmv_run(board_spmv *s, unsigned blocks, unsigned threads);

typedef struct board_fsai {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_fsai rows; /* with pointers to the board */
  tsi_gpu_fsai_rows packed;
  unsigned threads, blocks; /* for which the workspace is allocated */
} board_fsai;

/* For `blocks` blocks (0: as many as are resident) of `threads` threads, in warps of `lanes` lanes; n: order
 * of A. The workspace of `rows` is not used. shared: uses shared memory if it suffices for a block of at most
 * `threads` threads. */
void board_fsai_open(const char *scalars, const tsi_gpu_fsai *rows, tsi_index n, bool shared, unsigned lanes,
                     unsigned threads, unsigned blocks, board_fsai *out);
/* Places lists of the host on the board; they can only be packed. */
void board_fsai_open_lists(const char *scalars, const tsi_gpu_fsai_rows *rows, board_fsai *out);
/* Runs with at most `threads` threads in a block, and accordingly more blocks. */
void board_fsai_run(board_fsai *s, unsigned threads);
void board_fsai_pack(board_fsai *s, unsigned blocks, unsigned threads);
/* Copies to the arrays of `rows` and of `packed`. NULL: does not copy these. */
void board_fsai_fetch(const board_fsai *s, const tsi_gpu_fsai *rows, const tsi_gpu_fsai_rows *packed);

typedef struct board_adjoint {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_fsai_adjoint adjoint; /* with pointers to the board */
} board_adjoint;

/* G is in host memory. */
void board_adjoint_open(const char *scalars, const tsi_gpu_fsai_adjoint *adjoint, board_adjoint *out);
void board_adjoint_run(board_adjoint *s, unsigned blocks, unsigned threads);
/* Copies to the arrays of `adjoint`. */
void board_adjoint_fetch(const board_adjoint *s, const tsi_gpu_fsai_adjoint *adjoint);
