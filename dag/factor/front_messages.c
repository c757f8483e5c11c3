/* Messages of a factorization: complements, parts of them, stripes. See factorization_builder.h.
 *
 * Tags count the messages from one process to another: first messages with complements, in the order of their
 * supernodes, then messages with stripes. */
#include "dag/factor/factorization_builder.h"

typedef tsi_factorization_builder builder;

tsi_index tsi_factorization_pieces(const tsi_factorization *dag, tsi_index s, tsi_index from, tsi_index to) {
  if (dag->owner == NULL || dag->symbolic->parent[s] == TSI_NONE || from == to) return 0;
  if (tsi_front_leaves_parts(dag->teams, s)) {
    if (!tsi_front_has_complement(dag->teams, s, from)) return 0;
    return tsi_front_pieces_of(tsi_part_scalars(dag->teams, s, from, to));
  }
  return tsi_complement_pieces(dag->symbolic, s);
}

/* ---- Tags --------------------------------------------------------------------------------------------- */

/* Numbers the messages with the complement of s that this process sends or receives. */
static void number_complement(builder *b, tsi_index s) {
  const tsi_factorization *dag = b->dag;
  const tsi_index parent = dag->symbolic->parent[s], rank = dag->rank;
  tsi_index end, to_end;
  const tsi_index begin = tsi_factorization_team(dag, s, &end);
  if (parent == TSI_NONE) return;
  const tsi_index to_begin = tsi_factorization_team(dag, parent, &to_end);
  const bool takes = to_begin <= rank && rank < to_end;
  for (tsi_index from = begin; takes && from < end; from++) {
    b->tag[b->tag_ptr[s] + from - begin] = b->received[from];
    b->received[from] += tsi_factorization_pieces(dag, s, from, rank);
  }
  for (tsi_index to = to_begin; begin <= rank && rank < end && to < to_end; to++)
    b->sent[to] += tsi_factorization_pieces(dag, s, rank, to);
}

tristar_status tsi_factorization_find_tags(builder *b) {
  const tsi_factorization *dag = b->dag;
  const tsi_index count = dag->symbolic->count;
  tsi_index end;
  if (dag->owner == NULL) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_IN(b, b->arrival, count));
  TSI_TRY(TSI_ALLOC_IN(b, b->arrivals, count));
  TSI_TRY(TSI_ALLOC_IN(b, b->tag_ptr, (tsi_count)count + 1));
  b->tag_ptr[0] = 0;
  for (tsi_index s = 0; s < count; s++) {
    const tsi_index begin = tsi_factorization_team(dag, s, &end);
    b->tag_ptr[s + 1] = b->tag_ptr[s] + end - begin;
    b->processes = tsi_index_max(b->processes, end);
  }
  TSI_TRY(TSI_ALLOC_IN(b, b->tag, b->tag_ptr[count]));
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->sent, b->processes));
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->received, b->processes));
  TSI_TRY(TSI_ALLOC_IN(b, b->part_tag, b->processes));
  TSI_TRY(TSI_ALLOC_IN(b, b->stripe_sent, b->processes));
  TSI_TRY(TSI_ALLOC_IN(b, b->stripe_received, b->processes));
  for (tsi_index s = 0; s < count; s++) number_complement(b, s);
  return TRISTAR_OK;
}

void tsi_factorization_begin_messages(builder *b) {
  b->sends = b->receives = b->outs = b->ins = 0;
  for (tsi_index p = 0; p < b->processes; p++) {
    b->part_tag[p] = 0;
    b->stripe_sent[p] = b->sent[p];
    b->stripe_received[p] = b->received[p];
  }
  for (tsi_index s = 0; b->arrivals && s < b->dag->symbolic->count; s++) b->arrivals[s] = 0;
}

/* ---- Parcels ------------------------------------------------------------------------------------------ */

/* Adds the messages of a parcel to the latest step. */
static void add_sends(builder *b, const tsi_front_parcel *parcel, tsi_index pieces, tsi_index tag) {
  if (b->writing) b->dag->out[b->outs] = *parcel;
  for (tsi_index piece = 0; piece < pieces; piece++, b->sends++)
    if (b->writing)
      b->dag->send[b->sends] = (tsi_front_message){.parcel = b->outs,
                                                   .supernode = parcel->supernode,
                                                   .peer = parcel->peer,
                                                   .tag = tag + piece,
                                                   .step = (tsi_index)b->steps - 1,
                                                   .piece = piece,
                                                   .pieces = pieces};
  b->outs++;
}

/* Adds an arrival for each message of a parcel. */
static void add_receives(builder *b, const tsi_front_parcel *parcel, tsi_index pieces, tsi_index tag) {
  if (b->writing) b->dag->in[b->ins] = *parcel;
  for (tsi_index piece = 0; piece < pieces; piece++, b->receives++) {
    const tsi_front_step part = {.first = parcel->supernode,
                                 .last = parcel->supernode,
                                 .tiled = TSI_NONE,
                                 .message = b->receives,
                                 .panel = TSI_NONE};
    const tsi_index step = tsi_factorization_add_step(b, TSI_STEP_ARRIVAL, parcel->supernode, &part);
    if (b->writing)
      b->dag->receive[b->receives] = (tsi_front_message){.parcel = b->ins,
                                                         .supernode = parcel->supernode,
                                                         .peer = parcel->peer,
                                                         .tag = tag + piece,
                                                         .step = step,
                                                         .piece = piece,
                                                         .pieces = pieces};
  }
  b->ins++;
}

/* The complement of s, or the part of it, from one process to another. */
static tsi_front_parcel parcel_of(const tsi_factorization *dag, tsi_index s, tsi_index from, tsi_index to) {
  const bool part = tsi_front_leaves_parts(dag->teams, s);
  return (tsi_front_parcel){.kind = part ? TSI_PARCEL_PART : TSI_PARCEL_WHOLE,
                            .supernode = s,
                            .peer = from == dag->rank ? to : from,
                            .tiled = TSI_NONE,
                            .tile = TSI_NONE,
                            .scalars = part ? tsi_part_scalars(dag->teams, s, from, to) : 0};
}

void tsi_factorization_receive_children(builder *b, tsi_index s) {
  const tsi_factorization *dag = b->dag;
  for (tsi_index k = dag->child_ptr[s]; dag->owner && k < dag->child_ptr[s + 1]; k++) {
    const tsi_index child = dag->child[k];
    const bool parts = tsi_front_leaves_parts(dag->teams, child);
    tsi_index end;
    const tsi_index begin = tsi_factorization_team(dag, child, &end);
    b->arrival[child] = (tsi_index)b->steps;
    if (b->writing && dag->teams) b->dag->in_first[child] = b->ins;
    for (tsi_index from = begin; from < end; from++) {
      const tsi_index pieces = tsi_factorization_pieces(dag, child, from, dag->rank);
      if (pieces == 0 && !parts) continue;
      const tsi_front_parcel parcel = parcel_of(dag, child, from, dag->rank);
      add_receives(b, &parcel, pieces, b->tag[b->tag_ptr[child] + from - begin]);
    }
    b->arrivals[child] = (tsi_index)b->steps - b->arrival[child];
  }
}

void tsi_factorization_send(builder *b, tsi_index first, tsi_index last) {
  const tsi_factorization *dag = b->dag;
  for (tsi_index s = first; dag->owner && s <= last; s++) {
    const tsi_index parent = dag->symbolic->parent[s];
    tsi_index end;
    if (parent == TSI_NONE) continue;
    for (tsi_index to = tsi_factorization_team(dag, parent, &end); to < end; to++) {
      const tsi_index pieces = tsi_factorization_pieces(dag, s, dag->rank, to);
      if (pieces == 0) continue;
      const tsi_front_parcel parcel = parcel_of(dag, s, dag->rank, to);
      add_sends(b, &parcel, pieces, b->part_tag[to]);
      b->part_tag[to] += pieces;
    }
  }
}

/* skip: number of scalars of the stripe that are not sent. */
static tsi_front_parcel stripe_parcel(const builder *b, tsi_index s, tsi_index k, tsi_index peer,
                                      tsi_count skip) {
  const tsi_front_tiles t = tsi_factorization_tiles(b->dag, s);
  return (tsi_front_parcel){.kind = TSI_PARCEL_STRIPE,
                            .supernode = s,
                            .peer = peer,
                            .tiled = b->tiled,
                            .tile = k,
                            .skip = skip,
                            .scalars = tsi_stripe_of(&t, b->dag->method, k).scalars - skip};
}

tsi_index tsi_factorization_receive_stripe(builder *b, tsi_index s, tsi_index k, tsi_index *pieces) {
  const tsi_factorization *dag = b->dag;
  const tsi_index first = (tsi_index)b->steps, from = tsi_front_tile_owner(dag->teams, s, k);
  const tsi_count skip = tsi_stripe_goes(dag->teams, s, k, dag->owner[s], dag->rank);
  *pieces = 0;
  if (skip < 0) return TSI_NONE;
  const tsi_front_parcel parcel = stripe_parcel(b, s, k, from, skip);
  *pieces = tsi_front_pieces_of(parcel.scalars);
  add_receives(b, &parcel, *pieces, b->stripe_received[from]);
  b->stripe_received[from] += *pieces;
  return first;
}

void tsi_factorization_send_stripe(builder *b, tsi_index s, tsi_index k) {
  const tsi_factorization *dag = b->dag;
  tsi_index end;
  for (tsi_index to = tsi_factorization_team(dag, s, &end); to < end; to++) {
    const tsi_count skip = tsi_stripe_goes(dag->teams, s, k, dag->owner[s], to);
    if (skip < 0) continue;
    const tsi_front_parcel parcel = stripe_parcel(b, s, k, to, skip);
    const tsi_index pieces = tsi_front_pieces_of(parcel.scalars);
    add_sends(b, &parcel, pieces, b->stripe_sent[to]);
    b->stripe_sent[to] += pieces;
  }
}
