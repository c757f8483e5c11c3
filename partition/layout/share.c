/* Finds the part of a factor on a process, and numbers it anew: see share.h. */
#include "partition/layout/share.h"

#include "partition/layout/participants.h"

typedef struct builder {
  const tsi_layout *layout;
  const tsi_panels *panels;
  const tsi_share_options *options;
  tsi_share *share;
  unsigned char *role; /* Chunks of the layout. */
} builder;

/* Rows first .. end-1 of a chunk, which are columns of the chunk `target`. */
typedef struct target_rows {
  tsi_count first, end;
  tsi_index target;
} target_rows;

/* Can this process have rows of chunk c, which its grid has? */
static bool may_make(const builder *b, tsi_index c) {
  const tsi_layout *layout = b->layout;
  const tsi_index process = b->share->process;
  return layout->whole[c] ? layout->row[c] + layout->px * layout->column[c] == process
                          : layout->column[c] == process / layout->px;
}

/* Finds the next rows of chunk c, from `rows->end` on, that share a target; false: there are none. */
static bool next_rows(const builder *b, tsi_index c, target_rows *rows) {
  const tsi_chunks *chunks = b->layout->chunks;
  if (rows->end == chunks->off_ptr[c + 1]) return false;
  rows->first = rows->end;
  rows->target = tsi_chunk_of(chunks, chunks->off[rows->first]);
  while (rows->end < chunks->off_ptr[c + 1] && chunks->off[rows->end] < chunks->column[rows->target + 1])
    rows->end++;
  return true;
}

/* Finds the next rows with a common target on this process; false: there are none. */
static bool next_made(const builder *b, tsi_index c, target_rows *rows) {
  while (may_make(b, c) && next_rows(b, c, rows))
    if (tsi_layout_maker(b->layout, c, rows->target) == b->share->process) return true;
  return false;
}

static target_rows first_rows(const builder *b, tsi_index c) {
  return (target_rows){.end = b->layout->chunks->off_ptr[c]};
}

/* Does the layout have the rows of chunk c? A part of a layout has them for some spread chunks only
 * (layout.h). */
static bool is_known(const builder *b, tsi_index c) {
  const tsi_chunks *chunks = b->layout->chunks;
  return chunks->local_row != NULL || (!b->layout->whole[c] && chunks->panel[c] < chunks->panel[c + 1]);
}

static bool is_anchor(const builder *b, tsi_index c) {
  return b->layout->row[c] + b->layout->px * b->layout->column[c] == b->share->process;
}

static void find_roles(builder *b) {
  const tsi_layout *layout = b->layout;
  const tsi_chunks *chunks = layout->chunks;
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (!is_known(b, c) || !tsi_layout_has(layout, b->share->z, layout->node[c])) continue;
    const bool held = tsi_layout_holds(layout, b->share->z, layout->node[c]);
    if (is_anchor(b, c)) b->role[c] |= held ? TSI_ROLE_ANCHOR | TSI_ROLE_DIAGONAL : TSI_ROLE_ANCHOR;
    for (target_rows rows = first_rows(b, c); held && next_made(b, c, &rows);) {
      if (!layout->whole[c]) b->role[c] |= TSI_ROLE_HOLDER;
      if (!is_anchor(b, rows.target)) b->role[rows.target] |= TSI_ROLE_CONTRIBUTOR;
    }
  }
}

/* Number of rows of chunk c on this process. */
static tsi_count rows_held(const builder *b, tsi_index c) {
  const tsi_chunks *chunks = b->layout->chunks;
  tsi_count count = 0;
  if (b->layout->whole[c]) return b->role[c] & TSI_ROLE_DIAGONAL ? tsi_chunk_off_rows(chunks, c) : 0;
  if (!(b->role[c] & TSI_ROLE_HOLDER)) return 0;
  for (target_rows rows = first_rows(b, c); next_made(b, c, &rows);) count += rows.end - rows.first;
  return count;
}

/* Is the chunk whole and on this process? Then it keeps its panels. Any other chunk has one panel here,
 * perhaps without rows. */
static bool is_copy(const builder *b, tsi_index c) {
  return b->layout->whole[c] && (b->role[c] & TSI_ROLE_DIAGONAL);
}

static tsi_index panels_of(const builder *b, tsi_index c) {
  return is_copy(b, c) ? b->layout->chunks->panel[c + 1] - b->layout->chunks->panel[c] : 1;
}

/* Length of the part of local_row for a whole chunk of the layout. */
static tsi_count local_rows_of(const tsi_chunks *chunks, tsi_index c) {
  const tsi_index next = chunks->panel[c + 1];
  const tsi_count end = c + 1 < chunks->count ? chunks->panel_row[next] : chunks->local_rows;
  return end - chunks->panel_row[chunks->panel[c]];
}

/* Rows in each slice of a spread chunk with `rows` rows and `columns` columns. */
static tsi_index rows_per_slice(const builder *b, tsi_index rows, tsi_index columns) {
  const double bytes = (double)rows * columns * (double)b->options->scalar_bytes;
  double pieces = bytes / b->options->slice_bytes;
  if (pieces > b->options->pieces) pieces = b->options->pieces;
  const tsi_index count = pieces < 1.5 ? 1 : (tsi_index)(pieces + 0.5);
  return ((rows + count - 1) / count + 7) / 8 * 8;
}

/* Computes all sizes, then allocates. */
static tristar_status allocate(builder *b) {
  const tsi_chunks *chunks = b->layout->chunks;
  tsi_share *share = b->share;
  tsi_count count = 0, panels = 0, off = 0, local = 0, slices = 0, rows = 0;
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (!b->role[c]) continue;
    const tsi_count held = rows_held(b, c);
    count++;
    panels += panels_of(b, c);
    off += held;
    local += is_copy(b, c) ? local_rows_of(chunks, c) : held;
    slices += is_copy(b, c) ? tsi_chunk_slices(chunks, c) : held > 0 ? b->options->pieces + 1 : 0;
    for (tsi_index p = chunks->panel[c]; is_copy(b, c) && p < chunks->panel[c + 1]; p++)
      rows += b->panels->height[p];
    if (!is_copy(b, c)) rows += held;
  }
  tsi_chunks *to;
  TSI_TRY(TSI_ALLOC_ZERO_IN(share, share->chunks, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(share, share->panels, 1));
  TSI_TRY(TSI_ALLOC_IN(share, share->chunk, count));
  TSI_TRY(TSI_ALLOC_IN(share, share->role, count));
  TSI_TRY(TSI_ALLOC_IN(share, share->panel, panels));
  TSI_TRY(TSI_ALLOC_IN(share, share->row_ptr, panels + 1));
  TSI_TRY(TSI_ALLOC_IN(share, share->row, rows));
  TSI_TRY(TSI_ALLOC_IN(share->panels, share->panels->start, panels + 1));
  TSI_TRY(TSI_ALLOC_IN(share->panels, share->panels->height, panels));
  to = share->chunks;
  TSI_TRY(TSI_ALLOC_IN(to, to->panel, count + 1));
  TSI_TRY(TSI_ALLOC_IN(to, to->column, count + 1));
  TSI_TRY(TSI_ALLOC_IN(to, to->off_ptr, count + 1));
  TSI_TRY(TSI_ALLOC_IN(to, to->off, off));
  TSI_TRY(TSI_ALLOC_IN(to, to->first_off, count));
  TSI_TRY(TSI_ALLOC_IN(to, to->panel_row, panels));
  TSI_TRY(TSI_ALLOC_IN(to, to->local_row, local));
  TSI_TRY(TSI_ALLOC_IN(to, to->slice_ptr, count + 1));
  return TSI_ALLOC_IN(to, to->slice_row, slices);
}

/* Appends panel p of the factor with `height` rows. */
static void append_panel(builder *b, tsi_index p, tsi_index height) {
  tsi_panels *panels = b->share->panels;
  const tsi_index j = panels->count++;
  b->share->panel[j] = p;
  panels->height[j] = height;
  panels->start[j + 1] = panels->start[j] + tsi_panel_width(b->panels, p);
}

static void append_copy(builder *b, tsi_index c) {
  const tsi_chunks *chunks = b->layout->chunks;
  tsi_share *share = b->share;
  tsi_chunks *to = share->chunks;
  const tsi_count shift = to->local_rows - chunks->panel_row[chunks->panel[c]];
  for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++) {
    const tsi_index j = share->panels->count;
    to->panel_row[j] = chunks->panel_row[p] + shift;
    append_panel(b, p, b->panels->height[p]);
    share->row_ptr[j + 1] = share->row_ptr[j] + b->panels->height[p];
    for (tsi_index i = 0; i < b->panels->height[p]; i++) share->row[share->row_ptr[j] + i] = i;
  }
  memcpy(to->local_row + to->local_rows, chunks->local_row + chunks->panel_row[chunks->panel[c]],
         (size_t)local_rows_of(chunks, c) * sizeof *to->local_row);
  to->local_rows += local_rows_of(chunks, c);
  for (tsi_index k = chunks->slice_ptr[c]; k < chunks->slice_ptr[c + 1]; k++)
    to->slice_row[to->slices++] = chunks->slice_row[k];
}

static void append_rest(builder *b, tsi_index c) {
  const tsi_chunks *chunks = b->layout->chunks;
  tsi_share *share = b->share;
  tsi_chunks *to = share->chunks;
  const tsi_index j = share->panels->count, columns = tsi_chunk_columns(chunks, c);
  tsi_index held = 0, first = 0; /* rows of the first target, rounded up */
  to->panel_row[j] = to->local_rows;
  for (target_rows rows = first_rows(b, c); (b->role[c] & TSI_ROLE_HOLDER) && next_made(b, c, &rows);) {
    for (tsi_count i = rows.first; i < rows.end; i++, held++) {
      share->row[share->row_ptr[j] + held] = (tsi_index)(i - chunks->off_ptr[c]);
      to->local_row[to->local_rows++] = columns + held;
    }
    if (first == 0) first = (held + 7) / 8 * 8;
  }
  append_panel(b, chunks->panel[c], held);
  share->panels->start[j + 1] = share->panels->start[j] + columns;
  share->row_ptr[j + 1] = share->row_ptr[j] + held;
  if (held == 0) return;
  to->slice_row[to->slices++] = 0;
  if (first >= held) return;
  const tsi_index rows = rows_per_slice(b, held - first, columns);
  for (tsi_index row = first; row < held; row += rows) to->slice_row[to->slices++] = row;
}

/* Appends columns and panels of the local chunks, in order. */
static void append_all(builder *b) {
  tsi_share *share = b->share;
  tsi_chunks *to = share->chunks;
  share->panels->start[0] = 0;
  share->row_ptr[0] = 0;
  to->slice_ptr[0] = 0;
  for (tsi_index c = 0; c < b->layout->chunks->count; c++) {
    share->local[c] = TSI_NONE;
    if (!b->role[c]) continue;
    const tsi_index k = to->count++;
    share->local[c] = k;
    share->chunk[k] = c;
    share->role[k] = b->role[c];
    to->panel[k] = share->panels->count;
    to->column[k] = share->panels->start[share->panels->count];
    to->first_off[k] = tsi_chunk_columns(b->layout->chunks, c);
    if (is_copy(b, c))
      append_copy(b, c);
    else
      append_rest(b, c);
    to->slice_ptr[k + 1] = to->slices;
  }
  to->panel[to->count] = share->panels->count;
  to->column[to->count] = share->panels->start[share->panels->count];
}

/* Lists off-rows in local numbers, after all chunks have been numbered. */
static void list_off_rows(builder *b) {
  const tsi_chunks *chunks = b->layout->chunks;
  const tsi_share *share = b->share;
  tsi_chunks *to = share->chunks;
  to->off_ptr[0] = 0;
  for (tsi_index k = 0; k < to->count; k++) {
    const tsi_index c = share->chunk[k];
    tsi_count at = to->off_ptr[k];
    const bool any = is_copy(b, c) || (share->role[k] & TSI_ROLE_HOLDER);
    for (target_rows rows = first_rows(b, c); any && next_made(b, c, &rows);)
      for (tsi_count i = rows.first; i < rows.end; i++)
        to->off[at++] = to->column[share->local[rows.target]] + chunks->off[i] - chunks->column[rows.target];
    to->off_ptr[k + 1] = at;
  }
}

tristar_status tsi_share_create(tsi_env *env, const tsi_layout *layout, const tsi_panels *panels,
                                tsi_index rank, const tsi_share_options *options, tsi_share **out) {
  const tsi_index grid = layout->px * layout->py;
  *out = NULL;
  TSI_SCRATCH(env, builder, b, 1);
  *b = (builder){.layout = layout, .panels = panels, .options = options};
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->share, 1));
  b->share->rank = rank;
  b->share->z = rank / grid;
  b->share->process = rank % grid;
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->role, layout->chunks->count));
  TSI_TRY(TSI_ALLOC_IN(b->share, b->share->local, layout->chunks->count));
  find_roles(b);
  TSI_TRY(allocate(b));
  append_all(b);
  list_off_rows(b);
  if (env->check && layout->chunks->local_row) TSI_TRY(tsi_share_check(env, b->share, layout, panels));
  tsi_own(NULL, b->share);
  *out = b->share;
  return TRISTAR_OK;
}

/* Verifies the rows of local panel j of local chunk k. */
static tristar_status check_panel(tsi_env *env, const tsi_share *share, const tsi_layout *layout,
                                  const tsi_panels *panels, tsi_index k, tsi_index j) {
  const tsi_index c = share->chunk[k], p = share->panel[j];
  const tsi_chunks *global = layout->chunks, *local = share->chunks;
  const tsi_count first = share->row_ptr[j];
  if (share->row_ptr[j + 1] - first != share->panels->height[j])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d of a share lists %lld rows of %d", j,
             (long long)(share->row_ptr[j + 1] - first), share->panels->height[j]);
  for (tsi_index i = 0; i < share->panels->height[j]; i++) {
    const tsi_index row = share->row[first + i];
    if (row < 0 || row >= panels->height[p] || (i > 0 && row <= share->row[first + i - 1]))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d of a share: row %d is %d of %d", j, i, row,
               panels->height[p]);
    const tsi_index here = local->local_row[local->panel_row[j] + i],
                    there = global->local_row[global->panel_row[p] + row];
    const tsi_index columns = tsi_chunk_columns(local, k);
    if ((here < columns) != (there < columns) || (here < columns && here != there))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d of a share: row %d is local %d, not %d", j, i, here,
               there);
    if (here < columns) continue;
    const tsi_index target = global->off[global->off_ptr[c] + there - global->first_off[c]],
                    off = local->off[local->off_ptr[k] + here - columns];
    tsi_index t = k; /* the local chunk of off-row `off` */
    while (t < local->count && local->column[t + 1] <= off) t++;
    if (t == local->count || global->column[share->chunk[t]] + off - local->column[t] != target)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d of a share: row %d is column %d, not %d", j, i, off,
               target);
  }
  return TRISTAR_OK;
}

tristar_status tsi_share_check(tsi_env *env, const tsi_share *share, const tsi_layout *layout,
                               const tsi_panels *panels) {
  const tsi_chunks *local = share->chunks;
  for (tsi_index k = 0; k < local->count; k++) {
    const tsi_index c = share->chunk[k];
    if (share->local[c] != k || (k > 0 && c <= share->chunk[k - 1]) ||
        tsi_chunk_columns(local, k) != tsi_chunk_columns(layout->chunks, c))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d of a share is chunk %d with %d columns", k, c,
               tsi_chunk_columns(local, k));
    if (!layout->whole[c] && tsi_chunk_off_rows(local, k) > 0 && tsi_chunk_slices(local, k) == 0)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "chunk %d of a share has rows and no slice", k);
    for (tsi_index j = local->panel[k]; j < local->panel[k + 1]; j++)
      TSI_TRY(check_panel(env, share, layout, panels, k, j));
  }
  return TRISTAR_OK;
}
