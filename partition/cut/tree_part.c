/* See tree_part.h. */
#include "partition/cut/tree_part.h"

typedef struct builder {
  const tsi_symbolic *from;
  const bool *has;
  tsi_tree_part *part;
  tsi_index *number; /* supernodes of the factor: number in the part */
  tsi_index *column; /* columns of the factor: number in the part */
} builder;

static tristar_status allocate(const builder *b) {
  tsi_symbolic *to = b->part->symbolic;
  tsi_count rows = 0;
  for (tsi_index s = 0; s < b->from->count; s++) {
    if (!b->has[s]) continue;
    to->count++;
    rows += b->from->row_ptr[s + 1] - b->from->row_ptr[s];
  }
  TSI_TRY(TSI_ALLOC_IN(b->part, b->part->supernode, to->count));
  TSI_TRY(TSI_ALLOC_IN(to, to->start, (tsi_count)to->count + 1));
  TSI_TRY(TSI_ALLOC_IN(to, to->parent, to->count));
  TSI_TRY(TSI_ALLOC_IN(to, to->row_ptr, (tsi_count)to->count + 1));
  return TSI_ALLOC_IN(to, to->rows, rows);
}

/* Numbers the supernodes and their columns. */
static void number(builder *b) {
  const tsi_symbolic *from = b->from;
  tsi_symbolic *to = b->part->symbolic;
  tsi_index next = 0;
  for (tsi_index s = 0; s < from->count; s++) {
    if (!b->has[s]) continue;
    b->number[s] = next;
    b->part->supernode[next] = s;
    to->start[next++] = to->n;
    for (tsi_index j = from->start[s]; j < from->start[s + 1]; j++) b->column[j] = to->n++;
  }
  to->start[next] = to->n;
}

/* Copies rows: they are columns of ancestors, which all have numbers. */
static void copy(const builder *b) {
  const tsi_symbolic *from = b->from;
  tsi_symbolic *to = b->part->symbolic;
  tsi_count at = 0;
  for (tsi_index k = 0; k < to->count; k++) {
    const tsi_index s = b->part->supernode[k];
    const tsi_count width = from->start[s + 1] - from->start[s];
    to->parent[k] = from->parent[s] == TSI_NONE ? TSI_NONE : b->number[from->parent[s]];
    to->row_ptr[k] = at;
    for (tsi_count r = from->row_ptr[s]; r < from->row_ptr[s + 1]; r++)
      to->rows[at++] = b->column[from->rows[r]];
    to->nnz_stored += width * (width + 1) / 2 + width * (at - to->row_ptr[k]);
  }
  to->row_ptr[to->count] = at;
}

tristar_status tsi_tree_part_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                    const bool *has, tsi_tree_part **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_tree_part, part, 1);
  TSI_SCRATCH(env, builder, b, 1);
  *b = (builder){.from = symbolic, .has = has, .part = part};
  TSI_TRY(TSI_ALLOC_ZERO_IN(part, part->symbolic, 1));
  part->symbolic->closed = symbolic->closed;
  part->symbolic->leaf_parts = 1;
  TSI_TRY(allocate(b));
  TSI_TRY(TSI_ALLOC_IN(b, b->number, symbolic->count));
  TSI_TRY(TSI_ALLOC_IN(b, b->column, symbolic->n));
  number(b);
  copy(b);
  TSI_TRY(tsi_panels_create(env, part->symbolic, panels->width_max, &part->panels));
  tsi_own(part, part->panels);
  *out = tsi_take(&part);
  return TRISTAR_OK;
}
