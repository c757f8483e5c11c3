/* Gathers the structure of a factor of rows on rank 0 again: see tsi_team_factor_remember_rows.
 *
 * The owner of a front has its parent and its rows; directories have the orders; the layout has the nodes of
 * the separator tree. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/factor/team_factor.h"

/* A supernode of the factor, its parent (TSI_NONE: it is a root), and its number of rows. */
typedef struct head {
  tsi_index supernode, parent, rows;
} head;

/* Supernodes whose fronts a rank owns. On rank 0, after they are gathered: the supernodes of all ranks, one
 * rank after the other. */
typedef struct fronts {
  int64_t heads, rows;
  head *head;
  tsi_index *row; /* columns of the factor */
} fronts;

static void release_fronts(fronts *f) {
  tsi_release(f->head);
  tsi_release(f->row);
}

/* Local. */
static tristar_status list_fronts(const tristar_distributed_t *d, fronts *own) {
  tsi_env *env = &d->ts->env;
  const tsi_front_part *part = &d->team_factor->fronts;
  const tsi_tree_part *tree = part->tree;
  const tsi_symbolic *sy = tree->symbolic;
  const tsi_index rank = tsi_transport_rank(d->transport);
  for (tsi_index s = 0; s < sy->count; s++) {
    if (part->owner[s] != rank) continue;
    own->heads++;
    own->rows += sy->row_ptr[s + 1] - sy->row_ptr[s];
  }
  TSI_TRY(TSI_ALLOC(env, own->head, own->heads));
  TSI_TRY(TSI_ALLOC(env, own->row, own->rows));
  head *next = own->head;
  tsi_index *row = own->row;
  for (tsi_index s = 0; s < sy->count; s++) {
    if (part->owner[s] != rank) continue;
    const tsi_index above = sy->parent[s];
    *next++ = (head){tree->supernode[s], above == TSI_NONE ? TSI_NONE : tree->supernode[above],
                     (tsi_index)(sy->row_ptr[s + 1] - sy->row_ptr[s])};
    for (tsi_count r = sy->row_ptr[s]; r < sy->row_ptr[s + 1]; r++)
      *row++ = tsi_front_part_there(part, sy->rows[r]);
  }
  return TRISTAR_OK;
}

/* Collective. Gathers the items of all ranks on rank 0, one rank after the other. */
static tristar_status gather(const tristar_distributed_t *d, size_t bytes, int64_t count, void *own,
                             int64_t *count_all, void **all) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int ranks = tsi_transport_size(d->transport);
  tristar_status status = TRISTAR_OK;
  TSI_OWNED int64_t *first = NULL;
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC_ZERO(env, first, ranks + 1)));
  TSI_TRY(tsi_gather_first(env, comm, count, first));
  *count_all = first[ranks];
  if (tsi_transport_rank(d->transport) == 0) status = TSI_ALLOC_SIZED(env, *all, *count_all, bytes);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  return tsi_transport_agree(d->transport, tsi_move_blocks(env, comm, first, bytes, true, *all, count, own));
}

/* Rank 0. */
static tristar_status place_rows(tsi_env *env, const fronts *all, tsi_symbolic *sy) {
  if (all->heads != sy->count)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the ranks own %lld of %d fronts", (long long)all->heads, sy->count);
  TSI_TRY(TSI_ALLOC_IN(sy, sy->parent, sy->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(sy, sy->row_ptr, (tsi_count)sy->count + 1));
  TSI_TRY(TSI_ALLOC_IN(sy, sy->rows, all->rows));
  for (tsi_index k = 0; k < sy->count; k++) {
    sy->parent[all->head[k].supernode] = all->head[k].parent;
    sy->row_ptr[all->head[k].supernode + 1] = all->head[k].rows;
  }
  for (tsi_index s = 0; s < sy->count; s++) sy->row_ptr[s + 1] += sy->row_ptr[s];
  const tsi_index *from = all->row;
  for (tsi_index k = 0; k < sy->count; from += all->head[k++].rows)
    if (all->head[k].rows > 0)
      memcpy(sy->rows + sy->row_ptr[all->head[k].supernode], from, (size_t)all->head[k].rows * sizeof *from);
  return TRISTAR_OK;
}

/* Rank 0. The separator tree gets one leaf for each grid: the layout does not use the levels below. */
static tristar_status place_parts(const tsi_layout *layout, tsi_symbolic *sy) {
  sy->leaf_parts = layout->pz;
  if (layout->pz == 1) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(sy, sy->part, sy->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(sy, sy->part_columns, 2 * (tsi_count)layout->pz - 1));
  for (tsi_index s = 0; s < sy->count; s++) {
    sy->part[s] = layout->node[tsi_chunk_of(layout->chunks, sy->start[s])];
    sy->part_columns[sy->part[s]] += sy->start[s + 1] - sy->start[s];
  }
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status gather_orders(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  tristar_analysis_t *an = d->source ? d->source->analysis : NULL;
  tristar_status status = TRISTAR_OK;
  if (an) status = TSI_ALLOC_IN(an->symbolic, an->symbolic->perm, d->n);
  if (an) an->out_row = an->in_row = an->symbolic->perm;
  if (an && status == TRISTAR_OK && !d->one_place) status = TSI_ALLOC(env, an->in_row, d->n);
  TSI_TRY(tsi_directory_gather(env, d->transport, d->out_row, status, an ? an->out_row : NULL));
  if (d->one_place) return TRISTAR_OK;
  return tsi_directory_gather(env, d->transport, d->in_row, TRISTAR_OK, an ? an->in_row : NULL);
}

tristar_status tsi_team_factor_remember_rows(tristar_distributed_t *d) {
  TSI_CLEANUP(release_fronts) fronts own = {.heads = 0}, all = {.heads = 0};
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_transport_agree(d->transport, list_fronts(d, &own)));
  TSI_TRY(gather(d, sizeof *own.head, own.heads, own.head, &all.heads, (void **)&all.head));
  TSI_TRY(gather(d, sizeof *own.row, own.rows, own.row, &all.rows, (void **)&all.row));
  if (d->source) status = place_rows(&d->ts->env, &all, d->source->analysis->symbolic);
  if (d->source && status == TRISTAR_OK)
    status = place_parts(d->process->layout, d->source->analysis->symbolic);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  return gather_orders(d);
}
