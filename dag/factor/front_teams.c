/* Distributes tiles of fronts, and describes what is sent: see front_teams.h. */
#include "dag/factor/front_teams.h"

/* ---- Tiles -------------------------------------------------------------------------------------------- */

tsi_front_tiles tsi_front_tiles_of(const tsi_symbolic *symbolic, const tsi_panels *panels, tsi_index tile,
                                   tsi_index s) {
  tsi_front_tiles t;
  t.w = symbolic->start[s + 1] - symbolic->start[s];
  t.f = t.w + (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  t.panel = panels->first[s];
  t.start = panels->start + t.panel;
  t.tile = tile;
  t.inner = panels->first[s + 1] - t.panel;
  t.count = t.inner + (t.f - t.w + t.tile - 1) / t.tile;
  return t;
}

tsi_index tsi_front_tile_of(const tsi_front_tiles *t, tsi_index row) {
  tsi_index k = 0;
  if (row >= t->w) return t->inner + (row - t->w) / t->tile;
  while (tsi_front_tile_end(t, k) <= row) k++;
  return k;
}

bool tsi_front_has_complement(const tsi_front_teams *teams, tsi_index s, tsi_index rank) {
  const tsi_front_tiles t = tsi_front_teams_tiles(teams, s);
  for (tsi_index k = t.inner; k < t.count; k++)
    if (tsi_front_tile_owner(teams, s, k) == rank) return true;
  return false;
}

double tsi_front_stripe_work(const tsi_front_tiles *t, tristar_method method, tsi_index k) {
  const double rows = tsi_front_tile_rows(t, k), o = tsi_front_tile_begin(t, k), w = t->w;
  if (k < t->inner) return rows * (o * o + rows * o + rows * rows / 3);
  return rows * w * (w + 2.0 * (method == TRISTAR_METHOD_LU ? (t->f - w) / 2 : o - w + rows / 2));
}

/* From the last tile, which mostly has the most work, to the first: each is assigned to the process with the
 * least work so far. */
static void share_front(const tsi_front_teams *teams, tsi_index s, double *load) {
  const tsi_front_tiles t = tsi_front_teams_tiles(teams, s);
  const tsi_index begin = teams->begin[s], size = teams->end[s] - begin;
  for (tsi_index r = 0; r < size; r++) load[r] = 0;
  for (tsi_index k = t.count; k-- > 0;) {
    tsi_index least = 0;
    for (tsi_index r = 1; r < size; r++)
      if (load[r] < load[least]) least = r;
    load[least] += tsi_front_stripe_work(&t, teams->method, k);
    teams->tile_owner[teams->tile_ptr[s] + k] = begin + least;
  }
}

/* ---- Life --------------------------------------------------------------------------------------------- */

tristar_status tsi_front_teams_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                      tristar_method method, tsi_index tile, const tsi_index *begin,
                                      const tsi_index *end, tsi_front_teams **out) {
  const tsi_index count = symbolic->count;
  tsi_index largest = 0;
  TSI_SCRATCH_ZERO(env, tsi_front_teams, teams, 1);
  teams->symbolic = symbolic;
  teams->panels = panels;
  teams->method = method;
  teams->tile = tile;
  TSI_TRY(TSI_ALLOC_IN(teams, teams->begin, count));
  TSI_TRY(TSI_ALLOC_IN(teams, teams->end, count));
  TSI_TRY(TSI_ALLOC_IN(teams, teams->tile_ptr, (tsi_count)count + 1));
  teams->tile_ptr[0] = 0;
  for (tsi_index s = 0; s < count; s++) {
    teams->begin[s] = begin[s];
    teams->end[s] = end[s];
    teams->tile_ptr[s + 1] = teams->tile_ptr[s];
    if (!tsi_front_is_shared(teams, s)) continue;
    teams->tile_ptr[s + 1] += tsi_front_teams_tiles(teams, s).count;
    largest = tsi_index_max(largest, end[s] - begin[s]);
  }
  TSI_TRY(TSI_ALLOC_IN(teams, teams->tile_owner, teams->tile_ptr[count]));
  TSI_SCRATCH(env, double, load, largest);
  for (tsi_index s = 0; s < count; s++)
    if (tsi_front_is_shared(teams, s)) share_front(teams, s, load);
  *out = tsi_take(&teams);
  return TRISTAR_OK;
}

tristar_status tsi_front_teams_check(tsi_env *env, const tsi_front_teams *teams, const tsi_index *owner) {
  for (tsi_index s = 0; s < teams->symbolic->count; s++) {
    const tsi_index begin = teams->begin[s], end = teams->end[s];
    const tsi_count tiles = teams->tile_ptr[s + 1] - teams->tile_ptr[s];
    const bool shared = end - begin > 1;
    if (owner[s] < begin || owner[s] >= end || (shared != (tiles > 0)) || (shared && tiles < end - begin) ||
        (shared && tiles != tsi_front_teams_tiles(teams, s).count))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL,
               "supernode %d of process %d is shared by processes %d to %d: %lld tiles", s, owner[s], begin,
               end - 1, (long long)tiles);
    for (tsi_count k = teams->tile_ptr[s]; k < teams->tile_ptr[s + 1]; k++)
      if (!tsi_front_is_member(teams, s, teams->tile_owner[k]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "process %d has a tile of supernode %d", teams->tile_owner[k], s);
  }
  return TRISTAR_OK;
}

/* ---- Stripes ------------------------------------------------------------------------------------------ */

tsi_stripe tsi_stripe_of(const tsi_front_tiles *t, tristar_method method, tsi_index k) {
  const bool inside = k < t->inner, upper = method != TRISTAR_METHOD_LLT;
  tsi_stripe s = {.begin = tsi_front_tile_begin(t, k), .rows = tsi_front_tile_rows(t, k)};
  s.columns = inside ? s.begin + s.rows : t->w;
  s.above = !upper ? 0 : inside ? s.begin : t->w;
  s.u = (tsi_count)s.rows * s.columns;
  s.pivot = s.u + (tsi_count)s.above * s.rows;
  s.inverse = s.pivot + (inside && upper ? s.rows : 0);
  s.scalars = s.inverse + (inside && method == TRISTAR_METHOD_LDLT ? 2 * (tsi_count)s.rows : 0);
  return s;
}

tsi_count tsi_stripe_goes(const tsi_front_teams *teams, tsi_index s, tsi_index k, tsi_index owner,
                          tsi_index to) {
  const tsi_front_tiles t = tsi_front_teams_tiles(teams, s);
  const bool lu = teams->method == TRISTAR_METHOD_LU, inside = k < t.inner;
  const tsi_index *tile = teams->tile_owner + teams->tile_ptr[s];
  if (tile[k] == to) return -1;
  if (to == owner) return 0;
  for (tsi_index j = lu && !inside ? t.inner : k + 1; j < t.count; j++) {
    if (tile[j] != to) continue;
    const tsi_stripe stripe = tsi_stripe_of(&t, teams->method, k);
    if (!inside) return teams->method == TRISTAR_METHOD_LLT ? 0 : stripe.u;
    return teams->method == TRISTAR_METHOD_LDLT ? (tsi_count)stripe.rows * stripe.begin : 0;
  }
  return -1;
}

tsi_index tsi_front_stripe_owner(const tsi_front_teams *teams, tsi_index s, tsi_index other) {
  const tsi_front_tiles t = tsi_front_teams_tiles(teams, s);
  return tsi_front_tile_owner(teams, s, tsi_front_tile_of(&t, tsi_front_row(teams->symbolic, s, other)));
}

/* ---- Parts -------------------------------------------------------------------------------------------- */

/* The first row of the child's complement at row `row` of the parent's front, or behind it. */
static tsi_index find_row(const tsi_symbolic *symbolic, tsi_index child, tsi_index row) {
  const tsi_index parent = symbolic->parent[child];
  const tsi_index w = symbolic->start[parent + 1] - symbolic->start[parent];
  if (row >= w + (symbolic->row_ptr[parent + 1] - symbolic->row_ptr[parent]))
    return (tsi_index)(symbolic->row_ptr[child + 1] - symbolic->row_ptr[child]);
  const tsi_index requested =
      row < w ? symbolic->start[parent] + row : symbolic->rows[symbolic->row_ptr[parent] + row - w];
  return tsi_row_below(symbolic, child, requested);
}

/* Number of tiles of the parent; a parent that is not shared counts as one. */
static tsi_index tiles_above(const tsi_part_walk *w) {
  return tsi_front_is_shared(w->teams, w->teams->symbolic->parent[w->child]) ? w->above.count : 1;
}

static void find_rows(tsi_part_walk *w) {
  const bool whole =
      tiles_above(w) == 1 && !tsi_front_is_shared(w->teams, w->teams->symbolic->parent[w->child]);
  w->strip = 0;
  w->upper = false;
  if (w->tile >= tiles_above(w)) return;
  w->row = whole ? 0 : find_row(w->teams->symbolic, w->child, tsi_front_tile_begin(&w->above, w->tile));
  w->row_end = whole ? w->m : find_row(w->teams->symbolic, w->child, tsi_front_tile_end(&w->above, w->tile));
}

tsi_part_walk tsi_part_begin(const tsi_front_teams *teams, tsi_index child, tsi_index from, tsi_index to) {
  tsi_part_walk w = {.teams = teams, .child = child, .from = from, .to = to};
  const tsi_index parent = teams->symbolic->parent[child];
  w.below = tsi_front_teams_tiles(teams, child);
  w.above = tsi_front_teams_tiles(teams, parent);
  w.m = w.below.f - w.below.w;
  w.split = find_row(teams->symbolic, child, w.above.w);
  find_rows(&w);
  return w;
}

/* The rows first .. end-1 of the complement that are in a strip of the child, a tile behind its supernode. */
static bool cut_rows(const tsi_part_walk *w, tsi_index first, tsi_index end, tsi_part_block *block) {
  const bool shared = tsi_front_is_shared(w->teams, w->child);
  const tsi_index k = w->below.inner + w->strip;
  if (tsi_front_tile_owner(w->teams, w->child, k) != w->from) return false;
  block->strip = w->strip;
  block->row = shared ? tsi_index_max(first, tsi_front_tile_begin(&w->below, k) - w->below.w) : first;
  block->row_end = shared ? tsi_index_min(end, tsi_front_tile_end(&w->below, k) - w->below.w) : end;
  return block->row < block->row_end;
}

bool tsi_part_next(tsi_part_walk *w, tsi_part_block *block) {
  const tsi_index parent = w->teams->symbolic->parent[w->child];
  const bool lu = w->teams->method == TRISTAR_METHOD_LU, shared = tsi_front_is_shared(w->teams, parent);
  const tsi_index strips = tsi_front_is_shared(w->teams, w->child) ? w->below.count - w->below.inner : 1;
  for (; w->tile < tiles_above(w); w->tile++, find_rows(w)) {
    if (tsi_front_tile_owner(w->teams, parent, w->tile) != w->to || w->row == w->row_end) continue;
    for (int side = w->upper; side < (lu && shared ? 2 : 1); side++, w->strip = 0) {
      w->upper = side;
      const tsi_index first = side ? 0 : w->row, end = side ? tsi_index_min(w->row, w->split) : w->row_end;
      for (; w->strip < strips; w->strip++) {
        if (!cut_rows(w, first, end, block)) continue;
        const bool inside = shared && w->tile < w->above.inner;
        block->tile = w->tile;
        block->upper = side;
        block->column = side ? w->row : 0;
        block->column_end = side ? w->row_end : !lu ? block->row_end : inside ? w->row_end : w->m;
        block->at = w->at;
        w->at += (tsi_count)(block->row_end - block->row) * (block->column_end - block->column);
        w->strip++;
        return true;
      }
    }
  }
  return false;
}

tsi_count tsi_part_scalars(const tsi_front_teams *teams, tsi_index child, tsi_index from, tsi_index to) {
  tsi_part_walk walk = tsi_part_begin(teams, child, from, to);
  tsi_part_block block;
  while (tsi_part_next(&walk, &block)) continue;
  return walk.at;
}
