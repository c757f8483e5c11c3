/* See device_variants.h. */
#include "runtime/exec/device/device_variants.h"

#include <string.h>

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

/* ---- Rows and segments --------------------------------------------------------------------------------- */

/* Final columns of the workspace's rows that contain x, and panels of columns. */
typedef struct places {
  tsi_index *column; /* workspace_rows */
  tsi_index *panel;  /* n */
} places;

static void find_places(const tsi_device_tables *from, places *at) {
  for (tsi_index v = 0; v < from->chunks; v++)
    for (tsi_index j = 0; j < from->node[v].columns; j++)
      at->column[from->node[v].x + j] = at->column[from->node[v].solution + j] = from->node[v].column + j;
  for (tsi_index p = 0; p < from->panels; p++)
    for (tsi_index j = 0; j < from->panel[p].width; j++) at->panel[from->panel[p].column + j] = p;
}

/* The final column of row i of a panel of a node. */
static tsi_index column_of(const tsi_device_tables *from, const places *at, const tsi_device_node *node,
                           const tsi_panel *panel, tsi_index i) {
  const tsi_index row = from->row[panel->row + i];
  const tsi_index off = node->x + row - node->update;
  return at->column[row < node->columns ? node->x + row : from->owner[node->off + off]];
}

static void name_rows(const tsi_device_tables *from, const places *at, tsi_panel *panel, tsi_index *row) {
  memcpy(panel, from->panel, (size_t)from->panels * sizeof *panel);
  for (tsi_index v = 0; v < from->chunks; v++)
    for (tsi_index p = from->node[v].panel; p < from->node[v].panel + from->node[v].panels; p++) {
      for (tsi_index i = 0; i < panel[p].height; i++)
        row[panel[p].row + i] = column_of(from, at, &from->node[v], &panel[p], i);
      panel[p].x = panel[p].column;
    }
}

/* Cuts the rows of each panel where the target changes. segment NULL: only counts. */
static tsi_index cut_rows(const tsi_variant_tables *t, const places *at, tsi_index *segment_ptr,
                          tsi_variant_segment *segment) {
  tsi_index count = 0;
  for (tsi_index p = 0; p < t->panels; p++) {
    const tsi_index *row = t->row + t->panel[p].row, height = t->panel[p].height;
    segment_ptr[p] = count;
    for (tsi_index i = 0, next; i < height; i = next) {
      const tsi_index target = at->panel[row[i]];
      for (next = i + 1; next < height && at->panel[row[next]] == target; next++) continue;
      if (segment) segment[count] = (tsi_variant_segment){p, target, i, next - i};
      count++;
    }
  }
  segment_ptr[t->panels] = count;
  return count;
}

/* ---- Lists that follow from the segments --------------------------------------------------------------- */

/* Sets item[ptr[k] .. ptr[k+1]-1] to the e with key(e) = k, ascending. key: a member of structures of `size`
 * bytes. */
static void list_by_key(tsi_index keys, tsi_index items, const tsi_index *key, size_t size, tsi_index *ptr,
                        tsi_index *item) {
#define KEY(e) (*(const tsi_index *)((const char *)key + (size_t)(e)*size))
  memset(ptr, 0, ((size_t)keys + 1) * sizeof *ptr);
  for (tsi_index e = 0; e < items; e++) ptr[KEY(e) + 1]++;
  for (tsi_index k = 0; k < keys; k++) ptr[k + 1] += ptr[k];
  for (tsi_index e = 0; e < items; e++) item[ptr[KEY(e)]++] = e;
  for (tsi_index k = keys; k > 0; k--) ptr[k] = ptr[k - 1];
  ptr[0] = 0;
#undef KEY
}

/* The level of each panel: one more than the highest level of the panels with segments in it. Returns the
 * number of levels. */
static tsi_index find_levels(const tsi_variant_tables *t, tsi_index *level_of) {
  tsi_index levels = 0;
  memset(level_of, 0, (size_t)t->panels * sizeof *level_of);
  for (tsi_index e = 0; e < t->segments; e++) { /* panels ascend, so s->panel has its level */
    const tsi_variant_segment *s = &t->segment[e];
    level_of[s->target] = tsi_index_max(level_of[s->target], level_of[s->panel] + 1);
  }
  for (tsi_index p = 0; p < t->panels; p++) levels = tsi_index_max(levels, level_of[p] + 1);
  return levels;
}

/* ---- The tables ---------------------------------------------------------------------------------------- */

static tristar_status make_segments(tsi_env *env, const tsi_device_tables *from, const places *at,
                                    tsi_variant_tables *t) {
  tsi_panel *panel;
  tsi_index *row, *segment_ptr, *into_ptr, *into;
  tsi_variant_segment *segment;
  TSI_TRY(TSI_ALLOC(env, panel, t->panels));
  t->panel = panel;
  TSI_TRY(TSI_ALLOC(env, row, t->rows));
  t->row = row;
  name_rows(from, at, panel, row);
  TSI_TRY(TSI_ALLOC(env, segment_ptr, t->panels + 1));
  t->segment_ptr = segment_ptr;
  t->segments = cut_rows(t, at, segment_ptr, NULL);
  TSI_TRY(TSI_ALLOC(env, segment, t->segments));
  t->segment = segment;
  (void)cut_rows(t, at, segment_ptr, segment);
  TSI_TRY(TSI_ALLOC(env, into_ptr, t->panels + 1));
  t->into_ptr = into_ptr;
  TSI_TRY(TSI_ALLOC(env, into, t->segments));
  t->into = into;
  list_by_key(t->panels, t->segments, t->segments > 0 ? &segment->target : NULL, sizeof *segment, into_ptr,
              into);
  return TRISTAR_OK;
}

static tristar_status make_levels(tsi_env *env, tsi_variant_tables *t) {
  tsi_index *level_ptr, *level;
  TSI_SCRATCH(env, tsi_index, level_of, t->panels);
  t->levels = find_levels(t, level_of);
  TSI_TRY(TSI_ALLOC(env, level_ptr, t->levels + 1));
  t->level_ptr = level_ptr;
  TSI_TRY(TSI_ALLOC(env, level, t->panels));
  t->level = level;
  list_by_key(t->levels, t->panels, level_of, sizeof *level_of, level_ptr, level);
  return TRISTAR_OK;
}

tristar_status tsi_variant_tables_create(tsi_env *env, const tsi_device_tables *from,
                                         tsi_variant_tables *tables) {
  *tables = (tsi_variant_tables){
      .inverse = from->inverse, .n = from->n, .panels = from->panels, .rows = from->rows};
  TSI_SCRATCH(env, tsi_index, column, from->workspace_rows);
  TSI_SCRATCH(env, tsi_index, panel, from->n);
  places at = {column, panel};
  find_places(from, &at);
  TSI_TRY(make_segments(env, from, &at, tables));
  TSI_TRY(make_levels(env, tables));
  return env->check ? tsi_variant_tables_check(env, tables) : TRISTAR_OK;
}

void tsi_variant_tables_destroy(tsi_variant_tables *tables) {
  tsi_release(tsi_take(&tables->panel));
  tsi_release(tsi_take(&tables->row));
  tsi_release(tsi_take(&tables->segment_ptr));
  tsi_release(tsi_take(&tables->segment));
  tsi_release(tsi_take(&tables->into_ptr));
  tsi_release(tsi_take(&tables->into));
  tsi_release(tsi_take(&tables->level_ptr));
  tsi_release(tsi_take(&tables->level));
  *tables = (tsi_variant_tables){0};
}

/* ---- Invariants ---------------------------------------------------------------------------------------- */

static tristar_status check_segment(tsi_env *env, const tsi_variant_tables *t, tsi_index e) {
  const tsi_variant_segment *s = &t->segment[e];
  if (s->target <= s->panel || s->target >= t->panels || s->count <= 0)
    BROKEN("segment %d: %d rows of panel %d are in panel %d", e, s->count, s->panel, s->target);
  const tsi_panel *target = &t->panel[s->target];
  const tsi_index *row = t->row + t->panel[s->panel].row + s->first;
  for (tsi_index i = 0; i < s->count; i++)
    if (row[i] < target->column || row[i] >= target->column + target->width ||
        (i > 0 && row[i] <= row[i - 1]))
      BROKEN("segment %d: row %d of panel %d is %d", e, s->first + i, s->panel, row[i]);
  return TRISTAR_OK;
}

static tristar_status check_panels(tsi_env *env, const tsi_variant_tables *t) {
  tsi_index column = 0, segment = 0;
  for (tsi_index p = 0; p < t->panels; p++) {
    const tsi_panel *panel = &t->panel[p];
    tsi_index row = 0;
    if (panel->column != column) BROKEN("panel %d begins with column %d, not %d", p, panel->column, column);
    column += panel->width;
    if (t->segment_ptr[p] != segment) BROKEN("panel %d begins with segment %d", p, t->segment_ptr[p]);
    for (; segment < t->segment_ptr[p + 1]; segment++) {
      const tsi_variant_segment *s = &t->segment[segment];
      if (s->panel != p || s->first != row)
        BROKEN("segment %d of panel %d: from row %d of panel %d on", segment, p, s->first, s->panel);
      TSI_TRY(check_segment(env, t, segment));
      row += s->count;
    }
    if (row != panel->height) BROKEN("panel %d: segments cover %d of %d rows", p, row, panel->height);
  }
  if (column != t->n || segment != t->segments) BROKEN("%d of %d columns are in panels", column, t->n);
  return TRISTAR_OK;
}

static tristar_status check_into(tsi_env *env, const tsi_variant_tables *t) {
  if (t->into_ptr[0] != 0 || t->into_ptr[t->panels] != t->segments)
    BROKEN("%d of %d segments are listed by target", t->into_ptr[t->panels], t->segments);
  for (tsi_index p = 0; p < t->panels; p++)
    for (tsi_index e = t->into_ptr[p]; e < t->into_ptr[p + 1]; e++)
      if (t->into[e] < 0 || t->into[e] >= t->segments || t->segment[t->into[e]].target != p ||
          (e > t->into_ptr[p] && t->into[e] <= t->into[e - 1]))
        BROKEN("segment %d is listed with panel %d", t->into[e], p);
  return TRISTAR_OK;
}

static tristar_status check_levels(tsi_env *env, const tsi_variant_tables *t) {
  TSI_SCRATCH_ZERO(env, tsi_index, level_of, t->panels); /* counted from 1 */
  if (t->level_ptr[0] != 0 || t->level_ptr[t->levels] != t->panels)
    BROKEN("%d of %d panels are in levels", t->level_ptr[t->levels], t->panels);
  for (tsi_index k = 0; k < t->levels; k++)
    for (tsi_index q = t->level_ptr[k]; q < t->level_ptr[k + 1]; q++) {
      const tsi_index p = t->level[q];
      if (p < 0 || p >= t->panels || level_of[p] != 0) BROKEN("panel %d is in level %d, too", p, k);
      level_of[p] = k + 1;
    }
  for (tsi_index e = 0; e < t->segments; e++)
    if (level_of[t->segment[e].target] <= level_of[t->segment[e].panel])
      BROKEN("panel %d is not after panel %d in levels", t->segment[e].target, t->segment[e].panel);
  return TRISTAR_OK;
}

tristar_status tsi_variant_tables_check(tsi_env *env, const tsi_variant_tables *tables) {
  TSI_TRY(check_panels(env, tables));
  TSI_TRY(check_into(env, tables));
  return check_levels(env, tables);
}
