/* See tree_part.h. */
#include "partition/cut/tree_part.h"

typedef struct builder {
  const tsi_symbolic *from;
  const bool *has;
  tsi_tree_part *part;
  tsi_index *number; /* supernodes of the factor: of the part */
  tsi_index *column; /* columns of the factor: of the part */
} builder;

static tristar_status allocate(tsi_env *env, const builder *b) {
  tsi_symbolic *to = b->part->symbolic;
  tsi_count rows = 0;
  for (tsi_index s = 0; s < b->from->count; s++) {
    if (!b->has[s]) continue;
    to->count++;
    rows += b->from->row_ptr[s + 1] - b->from->row_ptr[s];
  }
  TSI_TRY(TSI_ALLOC(env, b->part->supernode, to->count));
  TSI_TRY(TSI_ALLOC(env, to->start, (tsi_count)to->count + 1));
  TSI_TRY(TSI_ALLOC(env, to->parent, to->count));
  TSI_TRY(TSI_ALLOC(env, to->row_ptr, (tsi_count)to->count + 1));
  return TSI_ALLOC(env, to->rows, rows);
}

/* Supernodes and their columns. */
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

/* Rows are columns of ancestors, which all have numbers. */
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
                                    const bool *has, tsi_tree_part *part) {
  tristar_status status = TRISTAR_OK;
  builder b = {.from = symbolic, .has = has, .part = part};
  *part = (tsi_tree_part){.symbolic = NULL};
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, part->symbolic, 1));
  part->symbolic->closed = symbolic->closed;
  part->symbolic->leaf_parts = 1;
  TSI_TRY_OUT(allocate(env, &b));
  TSI_TRY_OUT(TSI_ALLOC(env, b.number, symbolic->count));
  TSI_TRY_OUT(TSI_ALLOC(env, b.column, symbolic->n));
  number(&b);
  copy(&b);
  TSI_TRY_OUT(tsi_panels_create(env, part->symbolic, panels->width_max, &part->panels));
out:
  TSI_FREE(env, b.number);
  TSI_FREE(env, b.column);
  if (status != TRISTAR_OK) tsi_tree_part_destroy(env, part);
  return status;
}

void tsi_tree_part_destroy(tsi_env *env, tsi_tree_part *part) {
  tsi_symbolic_destroy(env, &part->symbolic);
  tsi_panels_destroy(env, &part->panels);
  TSI_FREE(env, part->supernode);
}
