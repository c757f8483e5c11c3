/* See device_subtree.h. */
#include "partition/device/device_subtree.h"

#include "runtime/base/grow.h"

/* The supernodes of a chunk: first .. end - 1. */
static void supernodes_of(const tsi_chunks *chunks, const tsi_panels *panels, tsi_index chunk,
                          tsi_index *first, tsi_index *end) {
  *first = panels->supernode[chunks->panel[chunk]];
  *end = panels->supernode[chunks->panel[chunk + 1] - 1] + 1;
}

bool tsi_chunk_is_device_subtree(const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                 const tsi_panels *panels, tsi_index chunk) {
  tsi_index first, end;
  if (chunks->entries || tsi_chunk_slices(chunks, chunk) > 0) return false;
  supernodes_of(chunks, panels, chunk, &first, &end);
  if (panels->first[first] != chunks->panel[chunk] || panels->first[end] != chunks->panel[chunk + 1])
    return false; /* it has a part of a supernode */
  /* in a postorder, if another supernode is a child of one of these, then the one before them is */
  return first == 0 || symbolic->parent[first - 1] == TSI_NONE || symbolic->parent[first - 1] >= end;
}

/* Row j of the factor in the numbers of the subtree. *next: the off-row at which the search starts,
 * ascending. */
static tsi_index number_row(const tsi_device_subtree *subtree, tsi_index first_column, const tsi_index *off,
                            tsi_index *next, tsi_index j) {
  if (j < first_column + subtree->columns) return j - first_column;
  while (off[*next] < j) ++*next;
  return subtree->columns + *next;
}

static tristar_status copy_structure(const tsi_chunks *chunks, const tsi_symbolic *symbolic, tsi_index first,
                                     tsi_device_subtree *subtree) {
  tsi_symbolic *own = subtree->symbolic;
  const tsi_index column = chunks->column[subtree->chunk];
  const tsi_index *off = chunks->off + chunks->off_ptr[subtree->chunk];
  const tsi_count begin = symbolic->row_ptr[first];
  TSI_TRY(TSI_ALLOC_IN(own, own->start, (tsi_count)own->count + 1));
  TSI_TRY(TSI_ALLOC_IN(own, own->parent, own->count));
  TSI_TRY(TSI_ALLOC_IN(own, own->row_ptr, (tsi_count)own->count + 1));
  TSI_TRY(TSI_ALLOC_IN(own, own->rows, symbolic->row_ptr[first + own->count] - begin));
  for (tsi_index s = 0; s <= own->count; s++) {
    own->start[s] = symbolic->start[first + s] - column;
    own->row_ptr[s] = symbolic->row_ptr[first + s] - begin;
  }
  for (tsi_index s = 0; s < own->count; s++) {
    const tsi_index parent = symbolic->parent[first + s];
    tsi_index next = 0;
    own->parent[s] = parent == TSI_NONE || parent >= first + own->count ? TSI_NONE : parent - first;
    for (tsi_count r = own->row_ptr[s]; r < own->row_ptr[s + 1]; r++)
      own->rows[r] = number_row(subtree, column, off, &next, symbolic->rows[begin + r]);
  }
  return TRISTAR_OK;
}

static tristar_status copy_panels(const tsi_panels *panels, tsi_index first, tsi_index end,
                                  tsi_device_subtree *subtree) {
  tsi_panels *own = subtree->panels;
  const tsi_index from = panels->first[first], column = panels->start[from];
  own->count = panels->first[end] - from;
  own->width_max = panels->width_max;
  TSI_TRY(TSI_ALLOC_IN(own, own->start, (tsi_count)own->count + 1));
  TSI_TRY(TSI_ALLOC_IN(own, own->supernode, own->count));
  TSI_TRY(TSI_ALLOC_IN(own, own->height, own->count));
  TSI_TRY(TSI_ALLOC_IN(own, own->first, (tsi_count)(end - first) + 1));
  for (tsi_index p = 0; p <= own->count; p++) own->start[p] = panels->start[from + p] - column;
  for (tsi_index p = 0; p < own->count; p++) {
    own->supernode[p] = panels->supernode[from + p] - first;
    own->height[p] = panels->height[from + p];
  }
  for (tsi_index s = first; s <= end; s++) own->first[s - first] = panels->first[s] - from;
  return TRISTAR_OK;
}

tristar_status tsi_device_subtree_create(tsi_env *env, const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                         const tsi_panels *panels, tsi_index chunk,
                                         tsi_device_subtree **out) {
  tsi_index first, end;
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_device_subtree, subtree, 1);
  TSI_TRY(TSI_ALLOC_ZERO_IN(subtree, subtree->symbolic, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(subtree, subtree->panels, 1));
  supernodes_of(chunks, panels, chunk, &first, &end);
  subtree->chunk = chunk;
  subtree->columns = tsi_chunk_columns(chunks, chunk);
  subtree->border = tsi_chunk_off_rows(chunks, chunk);
  subtree->panel = chunks->panel[chunk];
  subtree->symbolic->n = subtree->columns + subtree->border;
  subtree->symbolic->count = end - first;
  subtree->symbolic->closed = symbolic->closed;
  TSI_TRY(copy_structure(chunks, symbolic, first, subtree));
  TSI_TRY(copy_panels(panels, first, end, subtree));
  if (env->check) TSI_TRY(tsi_device_subtree_check(env, subtree, chunks, symbolic, panels));
  *out = tsi_take(&subtree);
  return TRISTAR_OK;
}

static tristar_status check_supernode(tsi_env *env, const tsi_device_subtree *subtree,
                                      const tsi_chunks *chunks, const tsi_symbolic *symbolic, tsi_index first,
                                      tsi_index s) {
  const tsi_symbolic *own = subtree->symbolic;
  const tsi_index column = chunks->column[subtree->chunk];
  const tsi_index *off = chunks->off + chunks->off_ptr[subtree->chunk];
  const tsi_count rows = own->row_ptr[s + 1] - own->row_ptr[s], from = symbolic->row_ptr[first + s];
  if (own->start[s] + column != symbolic->start[first + s] || rows != symbolic->row_ptr[first + s + 1] - from)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d of a subtree is not %d", s, first + s);
  if (own->parent[s] == TSI_NONE ? rows > 0 && own->rows[own->row_ptr[s]] < subtree->columns
                                 : own->parent[s] + first != symbolic->parent[first + s])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d of a subtree has the parent %d", s, own->parent[s]);
  for (tsi_count r = 0; r < rows; r++) {
    const tsi_index j = own->rows[own->row_ptr[s] + r];
    if (j < 0 || j >= own->n ||
        (j < subtree->columns ? j + column : off[j - subtree->columns]) != symbolic->rows[from + r])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %lld of supernode %d of a subtree is %d", (long long)r, s, j);
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_subtree_check(tsi_env *env, const tsi_device_subtree *subtree,
                                        const tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                        const tsi_panels *panels) {
  const tsi_panels *own = subtree->panels;
  const tsi_index from = subtree->panel;
  tsi_index first, end;
  supernodes_of(chunks, panels, subtree->chunk, &first, &end);
  if (!tsi_chunk_is_device_subtree(chunks, symbolic, panels, subtree->chunk) ||
      subtree->symbolic->count != end - first ||
      subtree->symbolic->n !=
          tsi_chunk_columns(chunks, subtree->chunk) + tsi_chunk_off_rows(chunks, subtree->chunk) ||
      subtree->columns != tsi_chunk_columns(chunks, subtree->chunk))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d is not the subtree", subtree->chunk);
  for (tsi_index s = 0; s < subtree->symbolic->count; s++)
    TSI_TRY(check_supernode(env, subtree, chunks, symbolic, first, s));
  if (own->count != chunks->panel[subtree->chunk + 1] - from || from != chunks->panel[subtree->chunk])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d panels in a subtree from panel %d on", own->count, from);
  for (tsi_index p = 0; p < own->count; p++)
    if (own->start[p] + panels->start[from] != panels->start[from + p] ||
        own->height[p] != panels->height[from + p] ||
        own->supernode[p] + first != panels->supernode[from + p])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d of a subtree is not %d", p, from + p);
  return TRISTAR_OK;
}

#define GROW(env, array, used, capacity) tsi_grow(env, (void **)&(array), sizeof *(array), used, capacity)

/* Appends chunks without panels for the border. */
static tristar_status append_border(tsi_env *env, const tsi_device_subtree *subtree, tsi_chunks *chunks) {
  const tsi_index before = chunks->count,
                  more = (subtree->border + TSI_BORDER_COLUMNS - 1) / TSI_BORDER_COLUMNS;
  const tsi_count count = (tsi_count)before + more;
  TSI_TRY(GROW(env, chunks->panel, (tsi_count)before + 1, count + 1));
  TSI_TRY(GROW(env, chunks->column, (tsi_count)before + 1, count + 1));
  TSI_TRY(GROW(env, chunks->off_ptr, (tsi_count)before + 1, count + 1));
  TSI_TRY(GROW(env, chunks->slice_ptr, (tsi_count)before + 1, count + 1));
  TSI_TRY(GROW(env, chunks->first_off, before, count));
  for (tsi_index c = before; c < before + more; c++) {
    const tsi_index end = tsi_index_min(chunks->column[c] + TSI_BORDER_COLUMNS, subtree->symbolic->n);
    chunks->panel[c + 1] = chunks->panel[c];
    chunks->column[c + 1] = end;
    chunks->off_ptr[c + 1] = chunks->off_ptr[c];
    chunks->slice_ptr[c + 1] = chunks->slice_ptr[c];
    chunks->first_off[c] = end - chunks->column[c];
  }
  chunks->count = before + more;
  return TRISTAR_OK;
}

tristar_status tsi_device_subtree_cut(tsi_env *env, const tsi_device_subtree *subtree,
                                      const tsi_chunk_options *options, tsi_chunks **out) {
  tristar_status status = TRISTAR_OK;
  const tsi_side side = {subtree->symbolic, subtree->panels};
  *out = NULL;
  TSI_TRY_OUT(tsi_chunks_create(env, 1, &side, options, out));
  TSI_TRY_OUT(append_border(env, subtree, *out));
out:
  if (status != TRISTAR_OK) TSI_FREE(env, *out);
  return status;
}
