/* What the steps of a factorization read and write: see factorization.h. */
#include "dag/factor/factorization.h"

/* The DAG and the receiver of the accesses. */
typedef struct lister {
  const tsi_factorization *dag;
  tsi_access_lister *to;
} lister;

static void add(lister *l, tsi_access_mode mode, tsi_buffer_kind kind, tsi_index item, tsi_count first,
                tsi_count end) {
  tsi_access_add(l->to, mode, kind, item, first, end);
}

/* Number of tiles along a side of a supernode's complement. */
static tsi_count complement_tiles(const tsi_factorization *dag, tsi_index s) {
  const tsi_symbolic *symbolic = dag->symbolic;
  return (symbolic->row_ptr[s + 1] - symbolic->row_ptr[s] + dag->tile - 1) / dag->tile;
}

static void add_complement(lister *l, tsi_access_mode mode, tsi_index s) {
  const tsi_count tiles = complement_tiles(l->dag, s);
  add(l, mode, TSI_BUFFER_COMPLEMENT, s, 0, tiles * tiles);
}

/* Adds the rows of the complement of s that `rank` has. */
static void add_own_complement(lister *l, tsi_access_mode mode, tsi_index s, tsi_index rank) {
  const tsi_count tiles = complement_tiles(l->dag, s);
  const tsi_front_tiles t = tsi_factorization_tiles(l->dag, s);
  if (!tsi_factorization_shares(l->dag, s)) {
    add_complement(l, mode, s);
    return;
  }
  for (tsi_count i = 0; i < tiles; i++)
    if (tsi_front_tile_owner(l->dag->teams, s, t.inner + (tsi_index)i) == rank)
      add(l, mode, TSI_BUFFER_COMPLEMENT, s, i * tiles, (i + 1) * tiles);
}

/* Adds the complements of the children of s before supernode `end`. */
static void add_children(lister *l, tsi_access_mode mode, tsi_index s, tsi_index end) {
  const tsi_factorization *dag = l->dag;
  for (tsi_index k = dag->child_ptr[s]; k < dag->child_ptr[s + 1] && dag->child[k] < end; k++)
    add_complement(l, mode, dag->child[k]);
}

static void add_pivots(lister *l, tsi_access_mode mode, tsi_index first, tsi_index end) {
  if (l->dag->method != TRISTAR_METHOD_LLT) add(l, mode, TSI_BUFFER_PIVOT, 0, first, end);
}

/* Adds columns of the front with U. */
static void add_upper(lister *l, tsi_access_mode mode, tsi_index s, tsi_index first, tsi_index end) {
  if (tsi_factorization_has_upper(l->dag)) add(l, mode, TSI_BUFFER_FRONT_COLUMNS, s, first, end);
}

/* A range writes the complements that other steps assemble. */
static void list_range(lister *l, const tsi_front_step *part) {
  const tsi_factorization *dag = l->dag;
  const tsi_index *parent = dag->symbolic->parent, *start = dag->symbolic->start, *panel = dag->panels->first;
  for (tsi_index s = part->first; s <= part->last; s++) {
    add_children(l, TSI_ACCESS_RW, s, part->first);
    if (parent[s] > part->last) add_complement(l, TSI_ACCESS_W, s);
  }
  add(l, TSI_ACCESS_R, TSI_BUFFER_VALUES, 0, start[part->first], start[part->last + 1]);
  add_pivots(l, TSI_ACCESS_W, panel[part->first], panel[part->last + 1]);
  add(l, TSI_ACCESS_W, TSI_BUFFER_PANEL, 0, panel[part->first], panel[part->last + 1]);
}

/* LU: entries of U are stored with the rows of the supernode, whatever their column. A shared front is
 * assembled by rows. */
static void list_assemble(lister *l, const tsi_front_step *part, const tsi_front_tiles *t) {
  const bool lu = l->dag->method == TRISTAR_METHOD_LU, rows = tsi_factorization_shares(l->dag, part->first);
  const tsi_index s = part->first, column = l->dag->symbolic->start[s];
  add(l, TSI_ACCESS_R, TSI_BUFFER_VALUES, 0, lu ? column : column + part->column,
      column + (lu ? t->w : tsi_index_min(rows ? part->row_end : part->column_end, t->w)));
  add_children(l, TSI_ACCESS_R, s, s);
  add(l, TSI_ACCESS_R, TSI_BUFFER_POSITION, s, 0, 1);
  if (rows)
    add(l, TSI_ACCESS_W, TSI_BUFFER_FRONT, s, part->row, part->row_end);
  else
    add(l, TSI_ACCESS_W, TSI_BUFFER_FRONT, s, part->column, part->column_end);
}

/* Adds this process's rows of a front, by one of their names. */
static void add_stripes(lister *l, tsi_access_mode mode, tsi_buffer_kind kind, tsi_index s,
                        const tsi_front_tiles *t) {
  if (!tsi_factorization_shares(l->dag, s)) {
    add(l, mode, kind, s, 0, t->f);
    return;
  }
  for (tsi_index k = 0; k < t->count; k++)
    if (tsi_factorization_has_tile(l->dag, s, k))
      add(l, mode, kind, s, tsi_front_tile_begin(t, k), tsi_front_tile_end(t, k));
}

/* Columns become tiles. */
static void list_assembled(lister *l, tsi_index s, const tsi_front_tiles *t) {
  add_children(l, TSI_ACCESS_W, s, s);
  add(l, TSI_ACCESS_W, TSI_BUFFER_POSITION, s, 0, 1);
  add_stripes(l, TSI_ACCESS_R, TSI_BUFFER_FRONT, s, t);
  add_stripes(l, TSI_ACCESS_W, TSI_BUFFER_FRONT_ROWS, s, t);
  if (tsi_factorization_has_upper(l->dag)) add_stripes(l, TSI_ACCESS_W, TSI_BUFFER_FRONT_COLUMNS, s, t);
  add_own_complement(l, TSI_ACCESS_W, s, l->dag->rank);
}

/* The steps of a panel, whose diagonal block is in rows and columns o .. o + b - 1 of the front. */
static void list_panel(lister *l, tsi_step_kind kind, const tsi_front_step *part, const tsi_front_tiles *t) {
  const tsi_index s = part->first, p = part->panel;
  const tsi_index o = tsi_front_tile_begin(t, p - t->panel), end = tsi_front_tile_end(t, p - t->panel);
  const bool ldlt = l->dag->method == TRISTAR_METHOD_LDLT;
  const bool own = tsi_factorization_has_tile(l->dag, s, p - t->panel); /* else the stripe has the pivots */
  if (kind == TSI_STEP_FRONT_DIAGONAL) {
    add(l, TSI_ACCESS_RW, TSI_BUFFER_FRONT_ROWS, s, o, end);
    add_upper(l, TSI_ACCESS_R, s, o, end);
    add_pivots(l, TSI_ACCESS_W, p, p + 1);
  } else if (kind == TSI_STEP_FRONT_BELOW) {
    add(l, TSI_ACCESS_RW, TSI_BUFFER_FRONT_ROWS, s, part->row, part->row_end);
    add(l, TSI_ACCESS_R, TSI_BUFFER_FRONT_ROWS, s, o, end);
    add_upper(l, TSI_ACCESS_R, s, o, end);
    if (ldlt) add_upper(l, TSI_ACCESS_RW, s, part->row, part->row_end);
    if (ldlt && own) add_pivots(l, TSI_ACCESS_R, p, p + 1);
  } else {
    add(l, TSI_ACCESS_RW, TSI_BUFFER_FRONT_COLUMNS, s, part->column, part->column_end);
    add(l, TSI_ACCESS_R, TSI_BUFFER_FRONT_ROWS, s, o, end);
    if (own) add_pivots(l, TSI_ACCESS_R, p, p + 1);
  }
}

static void list_schur(lister *l, const tsi_front_step *part, const tsi_front_tiles *t) {
  const tsi_index s = part->first, w = t->w;
  const tsi_count tile = part->row / t->tile * complement_tiles(l->dag, s) + part->column / t->tile;
  add(l, TSI_ACCESS_RW, TSI_BUFFER_COMPLEMENT, s, tile, tile + 1);
  add(l, TSI_ACCESS_R, TSI_BUFFER_FRONT_ROWS, s, w + part->row, w + part->row_end);
  if (tsi_factorization_has_upper(l->dag))
    add_upper(l, TSI_ACCESS_R, s, w + part->column, w + part->column_end);
  else if (part->row != part->column)
    add(l, TSI_ACCESS_R, TSI_BUFFER_FRONT_ROWS, s, w + part->column, w + part->column_end);
}

/* Adds all panels and the complement. */
static void list_device(lister *l, tsi_index s, const tsi_front_tiles *t) {
  add(l, TSI_ACCESS_RW, TSI_BUFFER_FRONT_ROWS, s, 0, t->f);
  add_upper(l, TSI_ACCESS_RW, s, 0, t->f);
  add_complement(l, TSI_ACCESS_RW, s);
  add_pivots(l, TSI_ACCESS_W, t->panel, t->panel + t->inner);
}

/* A shared front: the part of a stripe in all panels up to its own. */
static void list_pack_stripe(lister *l, const tsi_front_step *part, const tsi_front_tiles *t) {
  const tsi_index k = tsi_front_tile_of(t, part->row), before = tsi_index_min(k, t->inner);
  add(l, TSI_ACCESS_R, TSI_BUFFER_FRONT_ROWS, part->first, part->row, part->row_end);
  if (l->dag->method == TRISTAR_METHOD_LU) add_upper(l, TSI_ACCESS_R, part->first, part->row, part->row_end);
  add(l, TSI_ACCESS_RW, TSI_BUFFER_PANEL, 0, t->panel, t->panel + before);
  if (k < t->inner) add(l, TSI_ACCESS_W, TSI_BUFFER_PANEL, 0, t->panel + k, t->panel + k + 1);
}

static void list_pack(lister *l, const tsi_front_step *part, const tsi_front_tiles *t) {
  const tsi_index s = part->first, k = part->panel - t->panel;
  add(l, TSI_ACCESS_R, TSI_BUFFER_FRONT_ROWS, s, tsi_front_tile_begin(t, k), t->f);
  if (l->dag->method == TRISTAR_METHOD_LU) add_upper(l, TSI_ACCESS_R, s, tsi_front_tile_end(t, k), t->f);
  add(l, TSI_ACCESS_W, TSI_BUFFER_PANEL, 0, part->panel, part->panel + 1);
}

static void list_tiled(lister *l, tsi_step_kind kind, const tsi_front_step *part) {
  const tsi_index s = part->first;
  const tsi_front_tiles t = tsi_factorization_tiles(l->dag, s);
  if (kind == TSI_STEP_FRONT_OPEN) {
    add(l, TSI_ACCESS_W, TSI_BUFFER_POSITION, s, 0, 1);
    add_stripes(l, TSI_ACCESS_W, TSI_BUFFER_FRONT, s, &t);
  } else if (kind == TSI_STEP_FRONT_ASSEMBLE) {
    list_assemble(l, part, &t);
  } else if (kind == TSI_STEP_FRONT_ASSEMBLED) {
    list_assembled(l, s, &t);
  } else if (kind == TSI_STEP_FRONT_SCHUR) {
    list_schur(l, part, &t);
  } else if (kind == TSI_STEP_FRONT_DEVICE) {
    list_device(l, s, &t);
  } else if (kind == TSI_STEP_FRONT_PACK) {
    (tsi_factorization_shares(l->dag, s) ? list_pack_stripe : list_pack)(l, part, &t);
  } else if (kind == TSI_STEP_FRONT_CLOSE) {
    add_stripes(l, TSI_ACCESS_W, TSI_BUFFER_FRONT_ROWS, s, &t);
    if (tsi_factorization_has_upper(l->dag)) add_stripes(l, TSI_ACCESS_W, TSI_BUFFER_FRONT_COLUMNS, s, &t);
    if (tsi_front_leaves_parts(l->dag->teams, s)) add_own_complement(l, TSI_ACCESS_RW, s, l->dag->rank);
  } else {
    list_panel(l, kind, part, &t);
  }
}

/* Adds the rows of a message when its last piece arrives. */
static void list_arrival(lister *l, const tsi_front_message *message) {
  const tsi_front_parcel *parcel = &l->dag->in[message->parcel];
  if (message->piece + 1 < message->pieces) return;
  if (parcel->kind == TSI_PARCEL_STRIPE) {
    const tsi_front_tiles t = tsi_factorization_tiles(l->dag, parcel->supernode);
    const tsi_index begin = tsi_front_tile_begin(&t, parcel->tile),
                    end = tsi_front_tile_end(&t, parcel->tile);
    add(l, TSI_ACCESS_W, TSI_BUFFER_FRONT_ROWS, parcel->supernode, begin, end);
    add_upper(l, TSI_ACCESS_W, parcel->supernode, begin, end);
  } else
    add_own_complement(l, TSI_ACCESS_W, parcel->supernode, parcel->peer);
}

/* Rows that arrive in pieces count as received with the last piece: readers wait for it. */
static void list_step(const void *arg, tsi_index k, tsi_access_lister *to) {
  const tsi_factorization *dag = arg;
  const tsi_front_step *part = &dag->part[k];
  lister l = {dag, to};
  if (dag->steps->step[k].kind == TSI_STEP_ARRIVAL) {
    list_arrival(&l, &dag->receive[part->message]);
  } else if (part->tiled == TSI_NONE)
    list_range(&l, part);
  else
    list_tiled(&l, dag->steps->step[k].kind, part);
}

tristar_status tsi_factorization_list_accesses(tsi_env *env, const tsi_factorization *factorization,
                                               tsi_access_list **out) {
  return tsi_access_list_create(env, factorization->steps->count, list_step, factorization, out);
}
