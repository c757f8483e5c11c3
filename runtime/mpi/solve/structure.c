/* Broadcasts the structure of a factor: see distributed.h. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/solve/distributed.h"

#define BROADCAST(array, count)                                                                              \
  TSI_TRY(tsi_broadcast_bytes(env, comm, (void *)(uintptr_t)(array), (size_t)(count) * sizeof *(array)))

/* Properties that determine the sizes of all arrays. */
typedef struct head {
  tsi_factor_kind kind;
  tsi_index n, supernodes, leaf_parts, panels, width_max;
  tsi_count rows, nnz_stored, nnz_exact, entries;
  bool parts, closed;
} head;

static head describe(const tristar_factor_t *factor) {
  const tsi_symbolic *symbolic = factor->analysis->symbolic;
  head h;
  memset(&h, 0, sizeof h); /* padding is sent, too */
  h.kind = tsi_factor_kind_of(factor);
  h.n = symbolic->n;
  h.supernodes = symbolic->count;
  h.leaf_parts = symbolic->leaf_parts;
  h.panels = factor->analysis->panels->count;
  h.width_max = factor->analysis->panels->width_max;
  h.rows = symbolic->row_ptr[symbolic->count];
  h.nnz_stored = symbolic->nnz_stored;
  h.nnz_exact = symbolic->nnz_exact;
  h.entries = factor->analysis->stats.nnz;
  h.parts = symbolic->part != NULL;
  h.closed = symbolic->closed;
  return h;
}

static tristar_status allocate(tsi_env *env, const head *h, tsi_shared_structure *structure) {
  tsi_symbolic *symbolic;
  tsi_panels *panels;
  TSI_TRY(TSI_ALLOC_ZERO(env, structure->symbolic, 1));
  TSI_TRY(TSI_ALLOC_ZERO(env, structure->panels, 1));
  symbolic = structure->symbolic;
  symbolic->n = h->n;
  symbolic->count = h->supernodes;
  symbolic->leaf_parts = h->leaf_parts;
  symbolic->nnz_stored = h->nnz_stored;
  symbolic->nnz_exact = h->nnz_exact;
  symbolic->closed = h->closed;
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->start, (tsi_count)h->supernodes + 1));
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->parent, h->supernodes));
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->row_ptr, (tsi_count)h->supernodes + 1));
  TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->rows, h->rows));
  if (h->parts) TSI_TRY(TSI_ALLOC_IN(symbolic, symbolic->part, h->supernodes));
  panels = structure->panels;
  panels->count = h->panels;
  panels->width_max = h->width_max;
  TSI_TRY(TSI_ALLOC_IN(panels, panels->start, (tsi_count)h->panels + 1));
  TSI_TRY(TSI_ALLOC_IN(panels, panels->supernode, h->panels));
  TSI_TRY(TSI_ALLOC_IN(panels, panels->height, h->panels));
  return TSI_ALLOC_IN(panels, panels->first, (tsi_count)h->supernodes + 1);
}

static void borrow(const tristar_factor_t *factor, tsi_shared_structure *structure) {
  const tristar_analysis_t *an = factor->analysis;
  structure->borrowed = true;
  structure->symbolic = an->symbolic;
  structure->panels = an->panels;
  structure->in_place = an->in_place;
  structure->out_place = an->out_place;
  structure->in_row = an->in_row;
  structure->out_row = an->out_row;
}

tristar_status tsi_share_structure(tsi_env *env, tsi_transport *transport, const tristar_factor_t *factor,
                                   tsi_shared_structure *structure) {
  tristar_status status = TRISTAR_OK;
  MPI_Comm comm = tsi_transport_comm(transport);
  head h = {.n = 0};
  *structure = (tsi_shared_structure){.borrowed = false};
  if (factor != NULL) h = describe(factor);
  TSI_TRY(tsi_broadcast_bytes(env, comm, &h, sizeof h));
  structure->kind = h.kind;
  structure->entries = h.entries;
  if (factor != NULL)
    borrow(factor, structure);
  else
    status = allocate(env, &h, structure);
  TSI_TRY(tsi_transport_agree(transport, status));
  BROADCAST(structure->symbolic->start, h.supernodes + 1);
  BROADCAST(structure->symbolic->parent, h.supernodes);
  BROADCAST(structure->symbolic->row_ptr, h.supernodes + 1);
  BROADCAST(structure->symbolic->rows, h.rows);
  if (h.parts) BROADCAST(structure->symbolic->part, h.supernodes);
  BROADCAST(structure->panels->start, h.panels + 1);
  BROADCAST(structure->panels->supernode, h.panels);
  BROADCAST(structure->panels->height, h.panels);
  BROADCAST(structure->panels->first, h.supernodes + 1);
  return TRISTAR_OK;
}

void tsi_shared_structure_release(tsi_shared_structure *structure) {
  if (!structure->borrowed) {
    if (structure->symbolic) tsi_release(tsi_take(&structure->symbolic));
    tsi_release(tsi_take(&structure->panels));
  }
  *structure = (tsi_shared_structure){.borrowed = false};
}
