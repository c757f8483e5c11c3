/* Cuts supernodes into panels: see panels.h. */
#include "partition/cut/panels.h"

/* Width of the pieces of w columns: as few pieces as possible, nearly equal, multiples of 8. */
static tsi_index piece_width(tsi_index w, tsi_index width_max) {
  const tsi_index pieces = (w + width_max - 1) / width_max;
  const tsi_index width = (w + pieces - 1) / pieces;
  return tsi_index_min(width_max, (width + 7) / 8 * 8);
}

static tsi_index pieces_of(tsi_index w, tsi_index width_max) {
  const tsi_index width = piece_width(w, width_max);
  return (w + width - 1) / width;
}

tristar_status tsi_panels_create(tsi_env *env, const tsi_symbolic *symbolic, tsi_index width_max,
                                 tsi_panels **out) {
  tsi_index count = 0;
  *out = NULL;
  for (tsi_index s = 0; s < symbolic->count; s++)
    count += pieces_of(symbolic->start[s + 1] - symbolic->start[s], width_max);
  TSI_SCRATCH_ZERO(env, tsi_panels, panels, 1);
  panels->count = count;
  panels->width_max = width_max;
  TSI_TRY(TSI_ALLOC_IN(panels, panels->start, (tsi_count)count + 1));
  TSI_TRY(TSI_ALLOC_IN(panels, panels->supernode, count));
  TSI_TRY(TSI_ALLOC_IN(panels, panels->height, count));
  TSI_TRY(TSI_ALLOC_IN(panels, panels->first, (tsi_count)symbolic->count + 1));
  tsi_index p = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index end = symbolic->start[s + 1];
    const tsi_index rows = (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
    const tsi_index width = piece_width(end - symbolic->start[s], width_max);
    panels->first[s] = p;
    for (tsi_index column = symbolic->start[s]; column < end; column += width, p++) {
      panels->start[p] = column;
      panels->supernode[p] = s;
      panels->height[p] = tsi_index_max(0, end - column - width) + rows;
    }
  }
  panels->first[symbolic->count] = p;
  panels->start[p] = symbolic->n;
  if (env->check && symbolic->count > 0) TSI_TRY(tsi_panels_check(env, panels, symbolic));
  *out = tsi_take(&panels);
  return TRISTAR_OK;
}

tristar_status tsi_panels_check(tsi_env *env, const tsi_panels *panels, const tsi_symbolic *symbolic) {
  if (panels->start[0] != 0 || panels->start[panels->count] != symbolic->n)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panels cover columns %d to %d of %d", panels->start[0],
             panels->start[panels->count], symbolic->n);
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (panels->start[panels->first[s]] != symbolic->start[s] ||
        panels->start[panels->first[s + 1]] != symbolic->start[s + 1])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d is not made of its panels %d to %d", s,
               panels->first[s], panels->first[s + 1] - 1);
  for (tsi_index p = 0; p < panels->count; p++) {
    const tsi_index s = panels->supernode[p], w = tsi_panel_width(panels, p);
    const tsi_count height =
        symbolic->start[s + 1] - panels->start[p + 1] + symbolic->row_ptr[s + 1] - symbolic->row_ptr[s];
    if (w < 1 || w > panels->width_max) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d has width %d", p, w);
    if (p < panels->first[s] || p >= panels->first[s + 1] || panels->height[p] != height)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "panel %d of supernode %d has height %d", p, s, panels->height[p]);
  }
  return TRISTAR_OK;
}
