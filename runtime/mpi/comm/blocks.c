/* Gathers and checks the blocks of rows of all ranks: see blocks.h. */
#include "runtime/mpi/comm/blocks.h"

#include <inttypes.h>

#include "runtime/matrix/matrix.h"
#include "runtime/matrix/view.h"
#include "runtime/mpi/comm/mailbox.h"

#define WORDS ((int)(sizeof(tsi_rank_block) / sizeof(int64_t)))

/* Local. */
static tristar_status describe(tsi_env *env, const tristar_view *view, tsi_rank_block *b) {
  if (view == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "rows is NULL");
  if ((unsigned)view->symmetry > TRISTAR_HERMITIAN)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "symmetry is %d", (int)view->symmetry);
  tristar_view rectangle = *view; /* a block of a symmetric matrix */
  rectangle.symmetry = TRISTAR_GENERAL;
  TSI_TRY(tsi_view_check(env, &rectangle));
  b->rows = view->rows;
  b->cols = view->cols;
  b->entries = tsi_view_begin(view, tsi_view_major(view));
  b->symmetry = view->symmetry;
  b->width = view->values ? tsi_scalar_width(view->scalar) : 0;
  return TRISTAR_OK;
}

/* Every rank checks all blocks, so the status is the same on all ranks. */
static tristar_status check_blocks(tsi_env *env, int ranks, const tsi_rank_block *blocks) {
  int64_t rows = 0;
  for (int r = 0; r < ranks; r++) {
    const tsi_rank_block *b = &blocks[r], *first = &blocks[0];
    if (b->cols != first->cols)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "rank %d has %" PRId64 " columns, rank 0 %" PRId64, r, b->cols,
               first->cols);
    if (b->symmetry != first->symmetry)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the symmetry is %d on rank %d, %d on rank 0", (int)b->symmetry, r,
               (int)first->symmetry);
    if (b->width != first->width)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "values on rank %d: %d numbers each, %d on rank 0 (0: no values, 2: complex)", r,
               (int)b->width, (int)first->width);
    rows += b->rows;
  }
  if (rows != blocks[0].cols)
    TSI_FAIL(env, TRISTAR_ERR_RECTANGULAR, "the ranks have %" PRId64 " rows together and %" PRId64 " columns",
             rows, blocks[0].cols);
  return TRISTAR_OK;
}

tristar_status tsi_rank_blocks_gather(tsi_env *env, tsi_transport *transport, tristar_status mine,
                                      const tristar_view *view, tsi_rank_block **blocks) {
  tsi_rank_block own = {0};
  *blocks = NULL;
  if (mine == TRISTAR_OK) mine = describe(env, view, &own);
  if (mine == TRISTAR_OK) mine = TSI_ALLOC(env, *blocks, transport->size);
  TSI_TRY(tsi_transport_agree(transport, mine));
  TSI_TRY(TSI_MPI(env, "MPI_Allgather",
                  MPI_Allgather(&own, WORDS, MPI_INT64_T, *blocks, WORDS, MPI_INT64_T, transport->comm)));
  return check_blocks(env, transport->size, *blocks);
}
