/* Gathers blocks of rows on rank 0, where the matrix is factored: tristar_matrix_gather.
 *
 * Rank 0 receives the blocks one after the other, in pieces of at most PIECE_BYTES; other ranks wait for
 * their turn. All ranks agree on sizes and kinds before the first entry is sent. Then rank 0 receives every
 * announced piece, even after a failure, so that no rank waits forever.
 *
 * Reads   this rank's view.   Writes  a matrix on rank 0; nothing on other ranks.
 * Not kept: single precision of values; a matrix holds double precision. */
#include "runtime/context/context.h"
#include "runtime/matrix/triplets.h"
#include "runtime/matrix/view.h"
#include "runtime/mpi/comm/blocks.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "tristar_mpi.h"

#define PIECE_BYTES ((tsi_count)16 << 20)

/* Position of an entry in a message; the values are in another array. */
typedef struct place {
  tsi_index row, col;
} place;

typedef struct gathering {
  tsi_env *env;
  MPI_Comm comm;
  int rank, ranks;
  const tristar_view *view;
  tsi_rank_block *blocks; /* of all ranks */
  tsi_count most;         /* entries of a piece */
  place *place;
  double *value;
} gathering;

/* Position in this rank's entries, in the order of the view. */
typedef struct walk {
  tsi_count next;
  int64_t major;
} walk;

/* Packs the next entries of this rank, at most one piece; returns their number. */
static tsi_count fill_piece(const gathering *g, int64_t first_row, walk *w) {
  const tristar_view *view = g->view;
  const tsi_rank_block *mine = &g->blocks[g->rank];
  tsi_count count = 0;
  for (; count < g->most && w->next < mine->entries; count++, w->next++) {
    double value[2];
    while (tsi_view_begin(view, w->major + 1) <= w->next) w->major++;
    const int64_t minor = tsi_view_index(view, w->next);
    const bool rows = view->format == TRISTAR_CSR;
    g->place[count] =
        (place){(tsi_index)(first_row + (rows ? w->major : minor)), (tsi_index)(rows ? minor : w->major)};
    tsi_view_value(view, w->next, value);
    memcpy(g->value + count * mine->width, value, (size_t)mine->width * sizeof *value);
  }
  return count;
}

static tristar_status push_piece(const gathering *g, tsi_triplets *triplets, tsi_count count) {
  for (tsi_count k = 0; k < count; k++)
    TSI_TRY(tsi_triplets_push(triplets, g->place[k].row, g->place[k].col, g->value + k * triplets->width));
  return TRISTAR_OK;
}

static tristar_status send_block(const gathering *g) {
  const tsi_rank_block *mine = &g->blocks[g->rank];
  int64_t first_row = 0;
  walk w = {0, 0};
  for (int r = 0; r < g->rank; r++) first_row += g->blocks[r].rows;
  while (w.next < mine->entries) {
    const size_t count = (size_t)fill_piece(g, first_row, &w);
    TSI_TRY(tsi_send_bytes(g->env, g->comm, g->place, count * sizeof *g->place, 0));
    TSI_TRY(tsi_send_bytes(g->env, g->comm, g->value, count * (size_t)mine->width * sizeof *g->value, 0));
  }
  return TRISTAR_OK;
}

/* On rank 0. If entries cannot be stored, *kept gets the error, and the messages continue. Errors: of
 * messages. */
static tristar_status receive_block(const gathering *g, int rank, tsi_triplets *triplets,
                                    tristar_status *kept) {
  const size_t width = (size_t)triplets->width;
  for (tsi_count left = g->blocks[rank].entries; left > 0;) {
    const tsi_count count = left < g->most ? left : g->most;
    TSI_TRY(tsi_receive_bytes(g->env, g->comm, g->place, (size_t)count * sizeof *g->place, rank));
    TSI_TRY(tsi_receive_bytes(g->env, g->comm, g->value, (size_t)count * width * sizeof *g->value, rank));
    if (*kept == TRISTAR_OK) *kept = push_piece(g, triplets, count);
    left -= count;
  }
  return TRISTAR_OK;
}

/* Refuses a pair of which both entries are stored, as tristar_analyze does; called before duplicates are
 * summed. */
static tristar_status refuse_pair(const gathering *g, const tsi_triplets *triplets) {
  tsi_entry_pair pair;
  TSI_TRY(tsi_triplets_find_pair(triplets, &pair));
  if (pair.first >= 0)
    TSI_FAIL(g->env, TRISTAR_ERR_FORMAT,
             "entries (%d,%d) and (%d,%d), counted from 0, are both stored: of a %s matrix only one of them "
             "is, unless it is declared general",
             pair.col, pair.row, pair.row, pair.col, tsi_symmetry_name(triplets->symmetry));
  return TRISTAR_OK;
}

static tristar_status receive_all(const gathering *g, tristar_matrix_t **matrix) {
  tristar_status status = TRISTAR_OK, kept = TRISTAR_OK;
  const tsi_rank_block *own = &g->blocks[0];
  tsi_triplets triplets;
  tsi_count entries = 0;
  walk w = {0, 0};
  for (int r = 0; r < g->ranks; r++) entries += g->blocks[r].entries;
  tsi_triplets_init(&triplets, g->env, (tsi_index)own->cols, (tsi_index)own->cols,
                    (tristar_symmetry)own->symmetry, (int)own->width, entries);
  while (kept == TRISTAR_OK && w.next < own->entries) kept = push_piece(g, &triplets, fill_piece(g, 0, &w));
  for (int r = 1; r < g->ranks; r++) TSI_TRY_OUT(receive_block(g, r, &triplets, &kept));
  TSI_TRY_OUT(kept);
  TSI_TRY_OUT(refuse_pair(g, &triplets));
  TSI_TRY_OUT(tsi_triplets_finish(&triplets, matrix));
  tristar_view view;
  tristar_matrix_get_view(*matrix, &view);
  TSI_TRY_OUT(tsi_view_check(g->env, &view)); /* the diagonal, unless symmetric or general */
  if (g->env->check) TSI_TRY_OUT(tsi_matrix_check(*matrix));
out:
  tsi_triplets_free(&triplets);
  if (status != TRISTAR_OK) tristar_matrix_destroy(matrix);
  return status;
}

static tristar_status allocate_pieces(gathering *g) {
  const int64_t width = g->blocks[0].width;
  const int64_t bytes = (int64_t)sizeof *g->place + width * (int64_t)sizeof *g->value;
  tsi_count most = 1;
  for (int r = 0; r < g->ranks; r++)
    if (r == g->rank || g->rank == 0) most = tsi_count_max(most, g->blocks[r].entries);
  g->most = PIECE_BYTES / bytes;
  most = most < g->most ? most : g->most;
  TSI_TRY(TSI_ALLOC(g->env, g->place, most));
  return TSI_ALLOC(g->env, g->value, most * width);
}

static tristar_status gather(gathering *g, tsi_transport *transport, tristar_matrix_t **matrix) {
  tristar_status status = TRISTAR_OK;
  tristar_status mine = TRISTAR_OK;
  if (matrix == NULL)
    mine = tsi_fail(g->env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "matrix is NULL");
  TSI_TRY_OUT(tsi_rank_blocks_gather(g->env, transport, mine, g->view, &g->blocks));
  TSI_TRY_OUT(tsi_transport_agree(transport, allocate_pieces(g)));
  status = g->rank == 0 ? receive_all(g, matrix) : send_block(g);
  TSI_TRY_OUT(tsi_transport_agree(transport, status));
out:
  TSI_FREE(g->env, g->blocks);
  TSI_FREE(g->env, g->place);
  TSI_FREE(g->env, g->value);
  return status;
}

tristar_status tristar_matrix_gather(tristar_t *ts, MPI_Comm comm, const tristar_view *rows,
                                     tristar_matrix_t **matrix) {
  tristar_status status = TRISTAR_OK;
  tsi_transport *transport = NULL;
  if (matrix != NULL) *matrix = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  TSI_TRY_OUT(
      tsi_transport_create(env, comm, TSI_TRANSPORT_DIRECT, !ts->workers.allowed, TRISTAR_OK, &transport));
  gathering g = {.env = env,
                 .comm = tsi_transport_comm(transport),
                 .rank = tsi_transport_rank(transport),
                 .ranks = tsi_transport_size(transport),
                 .view = rows};
  status = gather(&g, transport, matrix);
  if (status != TRISTAR_OK) tristar_matrix_destroy(matrix); /* another rank may have failed */
out:
  tsi_transport_destroy(&transport);
  return tsi_answer(env, status);
}
