/* Verifies the invariants of tsi_factorization that factorization.h states. */
#include "dag/factor/factorization.h"

/* The steps of tiled front `tiled` have places base[tiled] .. base[tiled + 1] - 1, in this order: open,
 * assembled, close, device; the pieces (a shared front: its tiles); for each panel its diagonal block, its
 * packing and its tiles below and to the right; the tiles of the complement; the packing of the tiles of a
 * shared front. */
typedef struct checker {
  tsi_env *env;
  const tsi_factorization *dag;
  tsi_index *opened, *done; /* supernodes: the steps that open and complete it; TSI_NONE: none yet */
  tsi_index *came;          /* supernodes: the latest arrival of its complement */
  tsi_index arrived;        /* Number of messages that have arrived. */
  tsi_count *base;          /* tiled fronts + 1 */
  bool *seen;               /* places: a step has it */
  tsi_index *mark;          /* steps: the latest step that was found to wait for it */
} checker;

#define ENDS 3           /* open, assembled, close */
#define FIRST (ENDS + 1) /* place after the one of `device` */

static tsi_count places_to_assemble(const tsi_front_tiles *t) {
  return tsi_index_max(tsi_front_pieces(t), t->count);
}

static tsi_count places_before_packing(const tsi_front_tiles *t) {
  const tsi_count outer = t->count - t->inner;
  return FIRST + places_to_assemble(t) + 2 * (tsi_count)t->inner * t->count + outer * outer;
}

static tsi_count places_of(const tsi_front_tiles *t) {
  return places_before_packing(t) + t->count;
}

/* The tile first .. end-1; TSI_NONE: there is none. */
static tsi_index tile_of(const tsi_front_tiles *t, tsi_index first, tsi_index end) {
  for (tsi_index k = 0; k < t->count; k++)
    if (tsi_front_tile_begin(t, k) == first) return tsi_front_tile_end(t, k) == end ? k : TSI_NONE;
  return TSI_NONE;
}

/* The place of a tile below (side 0) or right (side 1) of a panel. The diagonal block and the packing have
 * the places of the panel's own tile. -1: there is no such step. */
static tsi_count place_in_panel(const tsi_front_tiles *t, tsi_index panel, int side, tsi_index tile) {
  const tsi_index p = panel - t->panel;
  if (p < 0 || p >= t->inner || tile == TSI_NONE || tile < p) return -1;
  return FIRST + places_to_assemble(t) + ((tsi_count)side * t->inner + p) * t->count + tile;
}

static tsi_count place_in_complement(const tsi_front_tiles *t, const tsi_front_step *part, bool lu) {
  const tsi_index i = tile_of(t, t->w + part->row, t->w + part->row_end);
  const tsi_index j = tile_of(t, t->w + part->column, t->w + part->column_end);
  if (i < t->inner || j < t->inner || (!lu && j > i)) return -1;
  return FIRST + places_to_assemble(t) + 2 * (tsi_count)t->inner * t->count +
         (tsi_count)(i - t->inner) * (t->count - t->inner) + j - t->inner;
}

/* The place of a step of a shared front that assembles a stripe of this process or packs any stripe; -1:
 * none. */
static tsi_count place_in_stripes(const checker *c, tsi_step_kind kind, const tsi_front_step *part,
                                  const tsi_front_tiles *t) {
  const tsi_index tile = tile_of(t, part->row, part->row_end);
  if (tile == TSI_NONE) return -1;
  if (kind == TSI_STEP_FRONT_PACK)
    return c->dag->owner[part->first] == c->dag->rank ? places_before_packing(t) + tile : -1;
  return tsi_factorization_has_tile(c->dag, part->first, tile) ? FIRST + tile : -1;
}

/* Does this process run this step of a shared front? */
static bool is_own(const checker *c, tsi_step_kind kind, const tsi_front_step *part,
                   const tsi_front_tiles *t) {
  const tsi_index s = part->first;
  tsi_index row = part->row;
  if (kind == TSI_STEP_FRONT_DIAGONAL) row = tsi_front_tile_begin(t, part->panel - t->panel);
  if (kind == TSI_STEP_FRONT_RIGHT) row = part->column;
  if (kind == TSI_STEP_FRONT_SCHUR) row = t->w + part->row;
  return tsi_factorization_has_tile(c->dag, s, tsi_front_tile_of(t, row));
}

/* Is it a step that a front on a device does not have? */
static bool is_on_cores(tsi_step_kind kind) {
  return kind == TSI_STEP_FRONT_DIAGONAL || kind == TSI_STEP_FRONT_BELOW || kind == TSI_STEP_FRONT_RIGHT ||
         kind == TSI_STEP_FRONT_SCHUR;
}

/* The place of a step in its front; -1: there is no such step. */
static tsi_count find_place(const checker *c, tsi_step_kind kind, const tsi_front_step *part) {
  const tsi_front_tiles t = tsi_factorization_tiles(c->dag, part->first);
  const bool lu = c->dag->method == TRISTAR_METHOD_LU;
  const tsi_index own = part->panel - t.panel, piece = tsi_front_piece_at(&t, part->column);
  const bool on_device = tsi_factorization_device(c->dag, part->first) != TSI_NONE;
  if (on_device ? is_on_cores(kind) : kind == TSI_STEP_FRONT_DEVICE) return -1;
  switch (kind) {
  case TSI_STEP_FRONT_OPEN:
    return 0;
  case TSI_STEP_FRONT_ASSEMBLED:
    return 1;
  case TSI_STEP_FRONT_CLOSE:
    return 2;
  case TSI_STEP_FRONT_DEVICE:
    return ENDS;
  case TSI_STEP_FRONT_ASSEMBLE:
    if (piece == TSI_NONE || part->column_end != tsi_front_piece_end(&t, piece)) return -1;
    return FIRST + piece;
  case TSI_STEP_FRONT_DIAGONAL:
    return place_in_panel(&t, part->panel, 0, own);
  case TSI_STEP_FRONT_PACK:
    return place_in_panel(&t, part->panel, 1, own);
  case TSI_STEP_FRONT_BELOW:
  case TSI_STEP_FRONT_RIGHT: {
    const bool right = kind == TSI_STEP_FRONT_RIGHT;
    const tsi_index tile =
        right ? tile_of(&t, part->column, part->column_end) : tile_of(&t, part->row, part->row_end);
    return tile == own || (right && !lu) ? -1 : place_in_panel(&t, part->panel, right, tile);
  }
  case TSI_STEP_FRONT_SCHUR:
    return place_in_complement(&t, part, lu);
  default:
    return -1;
  }
}

static tsi_count place_of(const checker *c, tsi_step_kind kind, const tsi_front_step *part) {
  const tsi_front_tiles t = tsi_factorization_tiles(c->dag, part->first);
  if (!tsi_factorization_shares(c->dag, part->first)) return find_place(c, kind, part);
  if (kind == TSI_STEP_FRONT_ASSEMBLE || kind == TSI_STEP_FRONT_PACK)
    return place_in_stripes(c, kind, part, &t);
  const tsi_count place = find_place(c, kind, part);
  return place >= FIRST && !is_own(c, kind, part, &t) ? -1 : place;
}

/* Number of steps of a shared front on this process, without arrivals. */
static tsi_count steps_of_stripes(const checker *c, tsi_index s) {
  const tsi_front_tiles t = tsi_factorization_tiles(c->dag, s);
  const bool lu = c->dag->method == TRISTAR_METHOD_LU;
  tsi_count steps = ENDS + (c->dag->owner[s] == c->dag->rank ? t.count : 0);
  for (tsi_index k = 0; k < t.count; k++) {
    const tsi_index before = tsi_index_min(k, t.inner), outer = k - t.inner;
    if (!tsi_factorization_has_tile(c->dag, s, k)) continue;
    steps += 1 + (lu ? 2 : 1) * before;                          /* assemble, below, right */
    steps += outer < 0 ? 1 : lu ? t.count - t.inner : outer + 1; /* diagonal; schur */
  }
  return steps;
}

/* Number of steps of a tiled front of one process. */
static tsi_count steps_of(const tsi_front_tiles *t, bool lu, bool on_device) {
  const tsi_count inner = t->inner, outer = t->count - inner;
  if (on_device) return ENDS + 1 + tsi_front_pieces(t) + inner;
  const tsi_count tiles = inner * (inner - 1) / 2 + inner * outer;
  return ENDS + tsi_front_pieces(t) + 2 * inner + (lu ? 2 : 1) * tiles +
         (lu ? outer * outer : outer * (outer + 1) / 2);
}

static tristar_status allocate(checker *c) {
  const tsi_factorization *dag = c->dag;
  const tsi_index count = dag->symbolic->count;
  TSI_TRY(TSI_ALLOC_IN(c, c->opened, count));
  TSI_TRY(TSI_ALLOC_IN(c, c->done, count));
  TSI_TRY(TSI_ALLOC_IN(c, c->mark, dag->steps->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->base, (tsi_count)dag->tiled_count + 1));
  TSI_TRY(TSI_ALLOC_IN(c, c->came, count));
  for (tsi_index s = 0; s < count; s++) c->opened[s] = c->done[s] = c->came[s] = TSI_NONE;
  for (tsi_index k = 0; k < dag->steps->count; k++) c->mark[k] = TSI_NONE;
  for (tsi_index q = 0; q < dag->tiled_count; q++) {
    const tsi_front_tiles t = tsi_factorization_tiles(dag, dag->tiled[q]);
    c->base[q + 1] = c->base[q] + places_of(&t);
  }
  return TSI_ALLOC_ZERO_IN(c, c->seen, c->base[dag->tiled_count]);
}

/* Does this process send or receive such a parcel, with the right number of scalars? */
static bool is_parcel(const tsi_factorization *dag, const tsi_front_parcel *parcel, tsi_index from,
                      tsi_index to) {
  const tsi_index s = parcel->supernode, parent = dag->symbolic->parent[s];
  tsi_index end;
  const tsi_index begin = tsi_factorization_team(dag, s, &end);
  if (from < begin || from >= end) return false;
  if (parcel->kind == TSI_PARCEL_STRIPE) {
    const tsi_front_tiles t = tsi_factorization_tiles(dag, s);
    if (!tsi_factorization_shares(dag, s) || parcel->tile < 0 || parcel->tile >= t.count ||
        tsi_front_tile_owner(dag->teams, s, parcel->tile) != from)
      return false;
    const tsi_count skip = tsi_stripe_goes(dag->teams, s, parcel->tile, dag->owner[s], to);
    return skip >= 0 && parcel->skip == skip &&
           parcel->scalars == tsi_stripe_of(&t, dag->method, parcel->tile).scalars - skip;
  }
  if (parent == TSI_NONE) return false;
  const tsi_index to_begin = tsi_factorization_team(dag, parent, &end);
  if (to < to_begin || to >= end) return false;
  const bool part = tsi_front_leaves_parts(dag->teams, s);
  return (parcel->kind == TSI_PARCEL_PART) == part &&
         parcel->scalars == (part ? tsi_part_scalars(dag->teams, s, from, to) : 0);
}

/* Number of messages of a parcel. */
static tsi_index pieces_of(const tsi_factorization *dag, const tsi_front_parcel *parcel, tsi_index from,
                           tsi_index to) {
  return parcel->kind == TSI_PARCEL_STRIPE ? tsi_front_pieces_of(parcel->scalars)
                                           : tsi_factorization_pieces(dag, parcel->supernode, from, to);
}

/* Does message m belong to a parcel from here to its peer, or (receive) from its peer to here? Does it follow
 * the message before? */
static bool fits(const tsi_factorization *dag, bool receive, tsi_index m) {
  const tsi_front_message *message = receive ? &dag->receive[m] : &dag->send[m];
  const tsi_front_parcel *parcels = receive ? dag->in : dag->out;
  if (message->parcel < 0 || message->parcel >= (receive ? dag->ins : dag->outs)) return false;
  const tsi_front_parcel *parcel = &parcels[message->parcel];
  const tsi_index s = parcel->supernode;
  if (s < 0 || s >= dag->symbolic->count || message->supernode != s || message->peer != parcel->peer ||
      parcel->peer == dag->rank)
    return false;
  const tsi_index from = receive ? parcel->peer : dag->rank, to = receive ? dag->rank : parcel->peer;
  if (!is_parcel(dag, parcel, from, to) || message->pieces != pieces_of(dag, parcel, from, to)) return false;
  if (message->pieces == 0 || message->piece >= message->pieces) return false;
  const bool begins = m == 0 || message[-1].parcel != message->parcel;
  if (!begins) return message->piece == message[-1].piece + 1;
  return message->piece == 0 && (m == 0 || message[-1].piece + 1 == message[-1].pieces);
}

/* Verifies that a piece arrives from a process that has it, and that this process needs it. */
static tristar_status check_arrival(checker *c, tsi_index k) {
  const tsi_factorization *dag = c->dag;
  const tsi_front_step *part = &dag->part[k];
  if (part->message < 0 || part->message >= dag->receives || !fits(dag, true, part->message) ||
      dag->receive[part->message].step != k || dag->receive[part->message].supernode != part->first ||
      part->message != c->arrived)
    TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d: message %d of supernode %d arrives", k, part->message,
             part->first);
  c->arrived++;
  if (dag->in[dag->receive[part->message].parcel].kind == TSI_PARCEL_STRIPE) return TRISTAR_OK;
  if (!tsi_factorization_has(dag, part->first)) c->opened[part->first] = c->done[part->first] = k;
  c->came[part->first] = k;
  return TRISTAR_OK;
}

/* Verifies that no other step factors the supernodes of a range. */
static tristar_status check_range(checker *c, tsi_index k) {
  const tsi_front_step *part = &c->dag->part[k];
  if (part->first < 0 || part->last < part->first || part->last >= c->dag->symbolic->count)
    TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d takes supernodes %d to %d", k, part->first, part->last);
  for (tsi_index s = part->first; s <= part->last; s++) {
    if (c->opened[s] != TSI_NONE || !tsi_factorization_has(c->dag, s))
      TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL,
               "steps %d and %d both take supernode %d, or another process does", c->opened[s], k, s);
    c->opened[s] = c->done[s] = k;
  }
  return TRISTAR_OK;
}

/* Verifies that a step of a tiled front is there once. */
static tristar_status check_tiled(checker *c, tsi_index k) {
  const tsi_factorization *dag = c->dag;
  const tsi_step_kind kind = dag->steps->step[k].kind;
  const tsi_front_step *part = &dag->part[k];
  const tsi_index s = part->first;
  if (part->tiled < 0 || part->tiled >= dag->tiled_count || s != dag->tiled[part->tiled] || part->last != s)
    TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d is of tiled front %d, supernode %d", k, part->tiled, s);
  const tsi_count place = place_of(c, kind, part);
  const bool taken = kind == TSI_STEP_FRONT_OPEN && c->opened[s] != TSI_NONE;
  if (place < 0 || c->seen[c->base[part->tiled] + place] || taken)
    TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL,
             "step %d, %s of supernode %d: panel %d, rows %d to %d, columns %d to %d", k, tsi_step_name(kind),
             s, part->panel, part->row, part->row_end, part->column, part->column_end);
  c->seen[c->base[part->tiled] + place] = true;
  if (kind == TSI_STEP_FRONT_OPEN) c->opened[s] = k;
  if (kind == TSI_STEP_FRONT_CLOSE) c->done[s] = k;
  return TRISTAR_OK;
}

/* Number of messages that this process sends, or (receive) receives. */
static tsi_count count_messages(const tsi_factorization *dag, bool receive) {
  tsi_count all = 0;
  for (tsi_index s = 0; dag->owner && s < dag->symbolic->count; s++) {
    const tsi_index parent = dag->symbolic->parent[s], other = receive ? s : parent;
    tsi_index end = 0, first = 0;
    if (other != TSI_NONE) first = tsi_factorization_team(dag, other, &end);
    const bool takes_part =
        receive ? parent != TSI_NONE && tsi_factorization_has(dag, parent) : tsi_factorization_has(dag, s);
    for (tsi_index r = first; takes_part && r < end; r++)
      all += tsi_factorization_pieces(dag, s, receive ? r : dag->rank, receive ? dag->rank : r);
    if (!tsi_factorization_shares(dag, s) || !tsi_factorization_has(dag, s)) continue;
    const tsi_front_tiles t = tsi_factorization_tiles(dag, s);
    first = tsi_factorization_team(dag, s, &end);
    for (tsi_index k = 0; k < t.count; k++)
      for (tsi_index r = receive ? dag->rank : first; r < (receive ? dag->rank + 1 : end); r++) {
        const tsi_count skip = tsi_stripe_goes(dag->teams, s, k, dag->owner[s], r);
        if (skip < 0 || tsi_factorization_has_tile(dag, s, k) == receive) continue;
        all += tsi_front_pieces_of(tsi_stripe_of(&t, dag->method, k).scalars - skip);
      }
  }
  return all;
}

/* Is the parcel complete after this step? It must be the last step of the supernode. For a stripe: the step
 * that factors its panel, or the last one on its rows. */
static bool is_complete(const checker *c, const tsi_front_parcel *parcel, tsi_index step) {
  const tsi_factorization *dag = c->dag;
  const tsi_front_step *part = &dag->part[step];
  const tsi_index s = parcel->supernode;
  if (parcel->kind != TSI_PARCEL_STRIPE) return step == c->done[s];
  const tsi_front_tiles t = tsi_factorization_tiles(dag, s);
  const bool inside = parcel->tile < t.inner;
  return part->first == s && part->panel == t.panel + (inside ? parcel->tile : t.inner - 1) &&
         dag->steps->step[step].kind == (inside ? TSI_STEP_FRONT_DIAGONAL : TSI_STEP_FRONT_BELOW) &&
         (inside || part->row == tsi_front_tile_begin(&t, parcel->tile));
}

/* Verifies that this process sends all pieces after the step that completes them, and that each received
 * message has an arrival. */
static tristar_status check_sends(const checker *c) {
  const tsi_factorization *dag = c->dag;
  const tsi_count leave = count_messages(dag, false), come = count_messages(dag, true);
  if (leave != dag->sends || come != dag->receives || c->arrived != dag->receives)
    TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "%d messages are sent, of %lld, and %d of %d received, of %lld",
             dag->sends, (long long)leave, c->arrived, dag->receives, (long long)come);
  for (tsi_index m = 0; m < dag->sends; m++) {
    const tsi_front_message *message = &dag->send[m];
    if (!fits(dag, false, m) || message->step < 0 || message->step >= dag->steps->count ||
        m < dag->send_ptr[message->step] || m >= dag->send_ptr[message->step + 1] ||
        !is_complete(c, &dag->out[message->parcel], message->step))
      TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "piece %d of supernode %d is sent to %d by step %d",
               message->piece, message->supernode, message->peer, message->step);
  }
  return TRISTAR_OK;
}

/* Verifies that each supernode and each tile has one step. */
static tristar_status check_steps(checker *c) {
  const tsi_factorization *dag = c->dag;
  const bool lu = dag->method == TRISTAR_METHOD_LU;
  tsi_count ranges = 0, expected = 0;
  for (tsi_index k = 0; k < dag->steps->count; k++) {
    const tsi_step *step = &dag->steps->step[k];
    const bool arrival = step->kind == TSI_STEP_ARRIVAL;
    const bool range = step->kind == TSI_STEP_SUBTREE || step->kind == TSI_STEP_FRONT;
    if (step->argument != k || (range || arrival) != (dag->part[k].tiled == TSI_NONE))
      TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d: kind %d of %d, tiled front %d", k, (int)step->kind,
               step->argument, dag->part[k].tiled);
    TSI_TRY(arrival ? check_arrival(c, k) : range ? check_range(c, k) : check_tiled(c, k));
    ranges += range || arrival;
  }
  for (tsi_index q = 0; q < dag->tiled_count; q++) {
    const tsi_front_tiles t = tsi_factorization_tiles(dag, dag->tiled[q]);
    const bool shared = tsi_factorization_shares(dag, dag->tiled[q]);
    expected += shared ? steps_of_stripes(c, dag->tiled[q])
                       : steps_of(&t, lu, tsi_factorization_device(dag, dag->tiled[q]) != TSI_NONE);
  }
  if (dag->steps->count != ranges + expected)
    TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "%d steps: %lld ranges and arrivals, %lld of tiled fronts",
             dag->steps->count, (long long)ranges, (long long)expected);
  for (tsi_index s = 0; s < dag->symbolic->count; s++)
    if (tsi_factorization_has(dag, s) && (c->opened[s] == TSI_NONE || c->done[s] == TSI_NONE))
      TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "no step takes supernode %d", s);
  return TRISTAR_OK;
}

static tristar_status check_edges(const checker *c) {
  const tsi_steps *steps = c->dag->steps;
  for (tsi_count e = 0; e < steps->edges; e++) {
    const tsi_index item = steps->edge[e].item, before = steps->edge[e].before;
    if (before < 0 || before >= item || item >= steps->count)
      TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d waits for step %d", item, before);
    if (steps->step[before].priority < steps->step[item].priority)
      TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d waits for step %d, which is less urgent", item, before);
  }
  return TRISTAR_OK;
}

/* Verifies that the step that opens a supernode waits for the steps that complete its children. Supernodes of
 * a range are consecutive. */
static tristar_status check_children(checker *c) {
  const tsi_factorization *dag = c->dag;
  TSI_OWNED tsi_adjacency *before = NULL;
  TSI_TRY(tsi_adjacency_create(c->env, dag->steps->count, dag->steps->edges, dag->steps->edge, TSI_BEFORE,
                               &before));
  for (tsi_index s = 0; s < dag->symbolic->count; s++) {
    const tsi_index step = c->opened[s];
    if (!tsi_factorization_has(dag, s)) continue;
    for (tsi_count e = before->ptr[step]; c->mark[step] != step && e < before->ptr[step + 1]; e++)
      c->mark[before->list[e]] = step;
    c->mark[step] = step;
    for (tsi_index q = dag->child_ptr[s]; q < dag->child_ptr[s + 1]; q++) {
      const tsi_index child = dag->child[q];
      const tsi_index came = c->came[child];
      const bool silent = tsi_factorization_has(dag, child) && !tsi_factorization_leaves(dag, child);
      if (dag->symbolic->parent[child] != s || c->done[child] == TSI_NONE ||
          (!silent && c->mark[c->done[child]] != step) || (came != TSI_NONE && c->mark[came] != step))
        TSI_FAIL(c->env, TRISTAR_ERR_INTERNAL, "step %d opens supernode %d without waiting for its child %d",
                 step, s, child);
    }
  }
  return TRISTAR_OK;
}

tristar_status tsi_factorization_check(tsi_env *env, const tsi_factorization *factorization) {
  const tsi_steps *steps = factorization->steps;
  TSI_OWNED tsi_access_list *accesses = NULL;
  TSI_SCRATCH(env, checker, c, 1);
  *c = (checker){.env = env, .dag = factorization};
  TSI_TRY(allocate(c));
  TSI_TRY(check_steps(c));
  TSI_TRY(check_sends(c));
  TSI_TRY(check_edges(c));
  TSI_TRY(check_children(c));
  TSI_TRY(tsi_factorization_list_accesses(env, factorization, &accesses));
  return tsi_access_check(env, accesses, steps->edges, steps->edge);
}
