/* Memory of fronts, and the parts of their complements for other fronts: see front_teams.h, which defines the
 * parts, and numeric.h. */
#include "runtime/factor/numeric.h"

tristar_status tsi_front_allocate(const tsi_numeric *numeric, tsi_count scalars, void **out) {
  const size_t bytes = numeric->kernels->scalar_bytes;
  if (numeric->dry) return TSI_ALLOC_HOLLOW(numeric->env, *out, scalars, bytes);
  return TSI_ALLOC_SIZED(numeric->env, *out, scalars, bytes);
}

tsi_count tsi_numeric_complement_scalars(const tsi_numeric *numeric, tsi_index s) {
  const tsi_index parent = numeric->dag->symbolic->parent[s], *owner = numeric->dag->owner;
  const bool travels = owner != NULL && parent != TSI_NONE && owner[s] != owner[parent];
  return tsi_numeric_complement_size(numeric, s) + travels;
}

/* Address of entry (i, j) of the complement of s, in the rows of a strip. The rows of the strip below i
 * follow. */
static const char *entry_at(const tsi_numeric *numeric, const tsi_front_tiles *t, tsi_index s,
                            tsi_index strip, tsi_index i, tsi_index j) {
  const tsi_factorization *dag = numeric->dag;
  const size_t bytes = numeric->kernels->scalar_bytes;
  const tsi_index m = t->f - t->w;
  if (!tsi_factorization_shares(dag, s))
    return (const char *)numeric->complement[s] +
           (size_t)tsi_complement_entry(m, i, j, numeric->full) * bytes;
  tsi_index q = 0;
  while (dag->tiled[q] != s) q++;
  const tsi_front_stripe *at = &numeric->tiled[q].stripe[t->inner + strip].at;
  return (const char *)at->c + ((size_t)(t->w + i - at->begin) + (size_t)j * (size_t)at->rows) * bytes;
}

/* Writes a block of a part. */
static void fill_block(const tsi_numeric *numeric, const tsi_part_walk *walk, const tsi_part_block *block,
                       char *to) {
  const size_t bytes = numeric->kernels->scalar_bytes;
  for (tsi_index j = block->column; j < block->column_end; j++) {
    const tsi_index above = numeric->full ? block->row : tsi_index_max(j, block->row),
                    first = tsi_index_min(above, block->row_end);
    const size_t left_out = (size_t)(first - block->row) * bytes, rest = (size_t)(block->row_end - first);
    memset(to, 0, left_out);
    to += left_out;
    if (rest > 0)
      memcpy(to, entry_at(numeric, &walk->below, walk->child, block->strip, first, j), rest * bytes);
    to += rest * bytes;
  }
}

/* Makes the part of the complement of s for process `to`, which may be this one. */
static tristar_status make_part(const tsi_numeric *numeric, tsi_index s, tsi_index to, tsi_count scalars,
                                void **out) {
  const tsi_factorization *dag = numeric->dag;
  tsi_part_walk walk = tsi_part_begin(dag->teams, s, dag->rank, to);
  tsi_part_block block;
  TSI_TRY(tsi_front_allocate(numeric, scalars + 1, out)); /* With the failure mark. */
  while (!numeric->dry && tsi_part_next(&walk, &block))
    fill_block(numeric, &walk, &block, (char *)*out + (size_t)block.at * numeric->kernels->scalar_bytes);
  return TRISTAR_OK;
}

static void free_complement(tsi_numeric *numeric, tsi_index s, const tsi_front_step *part) {
  if (!tsi_factorization_shares(numeric->dag, s)) {
    TSI_FREE(numeric->env, numeric->complement[s]);
    return;
  }
  const tsi_front_tiles t = tsi_factorization_tiles(numeric->dag, s);
  for (tsi_index k = t.inner; k < t.count; k++)
    TSI_FREE(numeric->env, numeric->tiled[part->tiled].stripe[k].at.c);
}

/* Index, among the incoming parcels, of the part that process `from` has of the complement of a child. */
static tsi_index parcel_from(const tsi_factorization *dag, tsi_index child, tsi_index from) {
  return dag->in_first[child] + from - dag->teams->begin[child];
}

void tsi_parts_leave(tsi_numeric *numeric, tsi_index step) {
  tristar_status status = TRISTAR_OK;
  const tsi_factorization *dag = numeric->dag;
  const tsi_front_step *part = &dag->part[step];
  const tsi_step_kind kind = dag->steps->step[step].kind;
  if (dag->teams == NULL || (part->tiled != TSI_NONE && kind != TSI_STEP_FRONT_CLOSE)) return;
  if (kind == TSI_STEP_ARRIVAL || tsi_numeric_failed(numeric)) return;
  for (tsi_index m = dag->send_ptr[step]; m < dag->send_ptr[step + 1]; m++) {
    const tsi_front_parcel *parcel = &dag->out[dag->send[m].parcel];
    if (parcel->kind == TSI_PARCEL_PART && dag->send[m].piece == 0)
      TSI_TRY_OUT(make_part(numeric, parcel->supernode, parcel->peer, parcel->scalars,
                            &numeric->out_part[dag->send[m].parcel]));
  }
  for (tsi_index s = part->first; s <= part->last; s++) {
    if (!tsi_front_leaves_parts(dag->teams, s)) continue;
    if (tsi_front_is_member(dag->teams, dag->symbolic->parent[s], dag->rank)) {
      const tsi_index own = parcel_from(dag, s, dag->rank);
      TSI_TRY_OUT(make_part(numeric, s, dag->rank, dag->in[own].scalars, &numeric->in_part[own]));
    }
    free_complement(numeric, s, part);
  }
out:
  tsi_failure_keep(numeric->env, &numeric->failure, status);
}

void tsi_parts_add(const tsi_numeric *numeric, const tsi_open_front *open, tsi_index child,
                   const tsi_index *position, tsi_index k, tsi_index c0, tsi_index c1) {
  const tsi_factorization *dag = numeric->dag;
  const tsi_front_kernels *kernels = numeric->kernels;
  for (tsi_index from = dag->teams->begin[child]; from < dag->teams->end[child]; from++) {
    const char *values = numeric->in_part[parcel_from(dag, child, from)];
    tsi_part_walk walk = tsi_part_begin(dag->teams, child, from, dag->rank);
    tsi_part_block part;
    while (tsi_part_next(&walk, &part)) {
      const tsi_complement_block block = {.values = values + (size_t)part.at * kernels->scalar_bytes,
                                          .position = position,
                                          .row = part.row,
                                          .row_end = part.row_end,
                                          .column = part.column,
                                          .column_end = part.column_end};
      if (k == TSI_NONE)
        kernels->add_block(&open->front, &block, c0, c1);
      else if (part.tile == k)
        kernels->stripe_add_block(&open->stripe[k].at, open->front.w, part.upper, numeric->full, &block);
    }
  }
}

void tsi_parts_free(tsi_numeric *numeric, tsi_index child) {
  const tsi_front_teams *teams = numeric->dag->teams;
  for (tsi_index from = teams->begin[child]; from < teams->end[child]; from++)
    TSI_FREE(numeric->env, numeric->in_part[parcel_from(numeric->dag, child, from)]);
}

tristar_status tsi_factor_need_passing(const tristar_factor_t *factor, bool upper, tsi_index p) {
  const tsi_panels *panels = factor->analysis->panels;
  const tsi_count size = tsi_panel_size(tsi_panel_width(panels, p), panels->height[p]);
  if (factor->analysis->panel_values[p] >= 0 || factor->passing[upper][p] != NULL) return TRISTAR_OK;
  return TSI_ALLOC_SIZED(&factor->ts->env, factor->passing[upper][p], size, factor->scalar_bytes);
}
