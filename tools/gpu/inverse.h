/* Products by rows and rows of sparse approximate inverses by the kernels of codelets/gpu, with all that they
 * need in the memory of a board: see solve.h.
 *
 * Reads   matrices, vectors, patterns of the host.   Writes  y, rows of G, where they are fetched. */
#pragma once

#include "tools/gpu/solve.h"

/* Its arrays' x is y of the product: board_fetch brings it. */
typedef struct board_spmv {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_spmv product;
} board_spmv;

/* columns: of the matrix. */
void board_spmv_open(const char *scalars, const tsi_gpu_spmv *product, tsi_index columns, board_spmv *out);
void board_spmv_run(board_spmv *s, unsigned blocks, unsigned threads);

typedef struct board_fsai {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_fsai rows; /* with the board's pointers */
  tsi_gpu_fsai_rows packed;
  unsigned threads, blocks; /* that it is made for */
} board_fsai;

/* For so many blocks (0: as many as are resident) of so many threads, in warps of so many lanes; n: of A. Of
 * `rows` the workspace is not used. shared: in shared memory, if a block of as many threads or fewer has room
 * for it. */
void board_fsai_open(const char *scalars, const tsi_gpu_fsai *rows, tsi_index n, bool shared, unsigned lanes,
                     unsigned threads, unsigned blocks, board_fsai *out);
/* Lists of the host in their place, which can be packed only. */
void board_fsai_open_lists(const char *scalars, const tsi_gpu_fsai_rows *rows, board_fsai *out);
/* By blocks of as many threads or fewer; as many more blocks. */
void board_fsai_run(board_fsai *s, unsigned threads);
void board_fsai_pack(board_fsai *s, unsigned blocks, unsigned threads);
/* To the arrays of `rows` and of `packed`; NULL: these are not fetched. */
void board_fsai_fetch(const board_fsai *s, const tsi_gpu_fsai *rows, const tsi_gpu_fsai_rows *packed);

typedef struct board_adjoint {
  const gpu_kernels *kernels;
  board_arrays arrays;
  tsi_gpu_fsai_adjoint adjoint; /* with the board's pointers */
} board_adjoint;

/* Of G of the host. */
void board_adjoint_open(const char *scalars, const tsi_gpu_fsai_adjoint *adjoint, board_adjoint *out);
void board_adjoint_run(board_adjoint *s, unsigned blocks, unsigned threads);
/* To the arrays of `adjoint`. */
void board_adjoint_fetch(const board_adjoint *s, const tsi_gpu_fsai_adjoint *adjoint);
