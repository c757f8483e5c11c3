/* See front_part.h. */
#include "dag/factor/front_part.h"

/* Does the process have this front, or stripes of it? */
static bool is_own(const tsi_front_whole *whole, tsi_index rank, tsi_index s) {
  return whole->owner[s] == rank || (whole->teams && tsi_front_is_member(whole->teams, s, rank));
}

/* Chooses the fronts of the process, shared fronts, their ancestors, and the children of all of these. */
static void choose(const tsi_front_whole *whole, tsi_index rank, bool *requested) {
  const tsi_symbolic *symbolic = whole->fronts->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) { /* parents come later */
    const tsi_index parent = symbolic->parent[s];
    requested[s] = requested[s] || is_own(whole, rank, s) || tsi_front_is_shared(whole->teams, s);
    if (requested[s] && parent != TSI_NONE) requested[parent] = true;
  }
  for (tsi_index s = 0; s < symbolic->count; s++) { /* an added child adds none: its children come earlier */
    const tsi_index parent = symbolic->parent[s];
    if (parent != TSI_NONE && requested[parent]) requested[s] = true;
  }
}

/* Takes the arrays of the part from the arrays of all supernodes. */
static tristar_status take_fronts(tsi_env *env, const tsi_front_whole *whole, tsi_front_part *part) {
  const tsi_front_structure *fronts = whole->fronts;
  const tsi_index count = part->tree->symbolic->count;
  const tsi_index *from = part->tree->supernode;
  TSI_SCRATCH_ZERO(env, tsi_front_weights, found, 1);
  const tsi_front_weights *weights = whole->weights ? whole->weights : found;
  if (weights == found)
    TSI_TRY(tsi_factorization_weigh(env, fronts->symbolic, fronts->method, fronts->options, found));
  tsi_own(found, found->subtree);
  TSI_TRY(TSI_ALLOC(env, part->column, count));
  TSI_TRY(TSI_ALLOC(env, part->owner, count));
  TSI_TRY(TSI_ALLOC(env, part->weights.subtree, count));
  part->weights.limit = weights->limit;
  for (tsi_index s = 0; s < count; s++) {
    part->column[s] = fronts->symbolic->start[from[s]];
    part->owner[s] = whole->owner[from[s]];
    part->weights.subtree[s] = weights->subtree[from[s]];
  }
  if (whole->teams == NULL) return TRISTAR_OK;
  TSI_SCRATCH(env, tsi_index, begin, count);
  TSI_SCRATCH(env, tsi_index, end, count);
  for (tsi_index s = 0; s < count; s++) {
    begin[s] = whole->teams->begin[from[s]];
    end[s] = whole->teams->end[from[s]];
  }
  return tsi_front_teams_create(env, part->tree->symbolic, part->tree->panels, fronts->method,
                                fronts->options->tile, begin, end, &part->teams);
}

/* Adds a range, unless it continues the last one. begin NULL: only counts. */
static void add_range(tsi_front_part *part, tsi_index begin, tsi_index who, tsi_index *last) {
  if (part->ranges > 0 && *last == who) return;
  if (part->begin) part->begin[part->ranges] = begin;
  if (part->begin) part->who[part->ranges] = who;
  part->ranges++;
  *last = who;
}

static void list_ranges(const tsi_front_whole *whole, tsi_front_part *part) {
  const tsi_symbolic *symbolic = whole->fronts->symbolic;
  tsi_index here = 0, last = TSI_NONE;
  part->ranges = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    while (here + 1 < part->tree->symbolic->count && part->tree->supernode[here] < s) here++;
    const bool shared = tsi_front_is_shared(whole->teams, s);
    add_range(part, symbolic->start[s], shared ? ~here : whole->owner[s], &last);
  }
}

tristar_status tsi_front_part_create(tsi_env *env, const tsi_front_whole *whole, tsi_index rank,
                                     bool *requested, tsi_front_part *part) {
  tristar_status status = TRISTAR_OK;
  const tsi_front_structure *fronts = whole->fronts;
  *part = (tsi_front_part){.column = NULL};
  choose(whole, rank, requested);
  TSI_TRY_OUT(tsi_tree_part_create(env, fronts->symbolic, fronts->panels, requested, &part->tree));
  TSI_TRY_OUT(take_fronts(env, whole, part));
  list_ranges(whole, part);
  TSI_TRY_OUT(TSI_ALLOC(env, part->who, part->ranges));
  TSI_TRY_OUT(TSI_ALLOC(env, part->begin, part->ranges));
  list_ranges(whole, part);
  if (env->check) TSI_TRY_OUT(tsi_front_part_check(env, part, whole, rank));
out:
  if (status != TRISTAR_OK) tsi_front_part_destroy(env, part);
  return status;
}

void tsi_front_part_destroy(tsi_env *env, tsi_front_part *part) {
  TSI_FREE(env, part->teams);
  TSI_FREE(env, part->tree);
  TSI_FREE(env, part->column);
  TSI_FREE(env, part->owner);
  TSI_FREE(env, part->weights.subtree);
  TSI_FREE(env, part->begin);
  TSI_FREE(env, part->who);
  *part = (tsi_front_part){.column = NULL};
}

/* Verifies that supernode s of the part is the same as in the whole tree. */
static tristar_status check_supernode(tsi_env *env, const tsi_front_part *part, const tsi_front_whole *whole,
                                      tsi_index s) {
  const tsi_symbolic *here = part->tree->symbolic, *there = whole->fronts->symbolic;
  const tsi_index from = part->tree->supernode[s], parent = here->parent[s];
  const tsi_count rows = here->row_ptr[s + 1] - here->row_ptr[s];
  if ((parent == TSI_NONE ? TSI_NONE : part->tree->supernode[parent]) != there->parent[from] ||
      here->start[s + 1] - here->start[s] != there->start[from + 1] - there->start[from] ||
      rows != there->row_ptr[from + 1] - there->row_ptr[from])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d of a part is not supernode %d", s, from);
  for (tsi_count r = 0; r < rows; r++)
    if (tsi_front_part_there(part, here->rows[here->row_ptr[s] + r]) != there->rows[there->row_ptr[from] + r])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %lld of supernode %d of a part is another one", (long long)r,
               s);
  if (part->owner[s] != whole->owner[from])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d of a part is of process %d, not %d", s, part->owner[s],
             whole->owner[from]);
  return TRISTAR_OK;
}

tristar_status tsi_front_part_check(tsi_env *env, const tsi_front_part *part, const tsi_front_whole *whole,
                                    tsi_index rank) {
  const tsi_symbolic *all = whole->fronts->symbolic;
  const tsi_index count = part->tree->symbolic->count;
  for (tsi_index s = 0, k = 0; s < all->count; s++) {
    const bool has = k < count && part->tree->supernode[k] == s;
    const bool shared = tsi_front_is_shared(whole->teams, s);
    const tsi_index who = part->who[tsi_find_range(part->begin, part->ranges, all->start[s])];
    if (!has && (shared || is_own(whole, rank, s)))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "a part of process %d has no supernode %d", rank, s);
    if (shared ? who != ~k : who != whole->owner[s])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "supernode %d is in the range of process %d", s, who);
    if (!has) continue;
    TSI_TRY(check_supernode(env, part, whole, k));
    k++;
  }
  return TRISTAR_OK;
}
