/* Collects the programs of all processes: see world.h. */
#include "dag/world.h"

#include <stdlib.h>

tristar_status tsi_world_create(tsi_env *env, tsi_index ranks, tsi_world **out) {
  TSI_OWNED tsi_world *world = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, world, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(world, world->rank, ranks));
  TSI_TRY(TSI_ALLOC_ZERO_IN(world, world->sent, ranks));
  TSI_TRY(TSI_ALLOC_ZERO_IN(world, world->received, ranks));
  *out = tsi_take(&world);
  return TRISTAR_OK;
}

static int by_peer_and_tag(const void *a, const void *b) {
  const tsi_world_key *x = a, *y = b;
  if (x->peer != y->peer) return x->peer < y->peer ? -1 : 1;
  return (x->tag > y->tag) - (x->tag < y->tag);
}

tristar_status tsi_world_begin(tsi_world *world, tsi_index steps, tsi_index sends, tsi_index receives) {
  tsi_world_rank *r = &world->rank[world->ranks];
  r->steps = steps;
  r->sends = sends;
  r->receives = receives;
  TSI_TRY(TSI_ALLOC_ZERO_IN(world, r->step, (tsi_count)steps + 1));
  TSI_TRY(TSI_ALLOC_IN(world, r->send, sends));
  TSI_TRY(TSI_ALLOC_IN(world, r->receive, receives));
  TSI_TRY(TSI_ALLOC_IN(world, world->sent[world->ranks], sends));
  TSI_TRY(TSI_ALLOC_IN(world, world->received[world->ranks], receives));
  for (tsi_index s = 0; s <= steps; s++) r->step[s].receive = TSI_NONE;
  return TRISTAR_OK;
}

static void sort_keys(tsi_world_key *key, tsi_index count) {
  if (count > 0) qsort(key, (size_t)count, sizeof *key, by_peer_and_tag);
}

tristar_status tsi_world_end(tsi_env *env, tsi_world *world, bool edges, tsi_count count,
                             const tsi_edge *edge) {
  tsi_world_rank *r = &world->rank[world->ranks];
  for (tsi_index s = 0; s < r->steps; s++) r->bytes += r->step[s].bytes;
  if (edges) {
    TSI_TRY(tsi_adjacency_create(env, r->steps, count, edge, TSI_AFTER, &r->after));
    tsi_own(world, r->after);
  }
  sort_keys(world->sent[world->ranks], r->sends);
  sort_keys(world->received[world->ranks], r->receives);
  world->steps += r->steps;
  world->messages += r->sends;
  world->ranks++;
  return TRISTAR_OK;
}

static void list_keys(const tsi_message *message, tsi_index count, tsi_world_key *out) {
  for (tsi_index m = 0; m < count; m++)
    out[m] = (tsi_world_key){.peer = message[m].peer,
                             .tag = message[m].tag,
                             .message = m,
                             .step = message[m].step,
                             .rows = (tsi_index)message[m].rows,
                             .kind = message[m].kind};
}

tristar_status tsi_world_add(tsi_env *env, tsi_world *world, const tsi_program *program, bool edges) {
  const tsi_steps *steps = program->steps;
  TSI_TRY(tsi_world_begin(world, steps->count, program->sends, program->receives));
  tsi_world_step *step = world->rank[world->ranks].step;
  for (tsi_index s = 0; s <= steps->count; s++) {
    step[s].send = program->send_ptr[s];
    if (s == steps->count) break;
    step[s].bytes = steps->step[s].bytes;
    step[s].priority = steps->step[s].priority;
    step[s].kind = steps->step[s].kind;
  }
  for (tsi_index m = 0; m < program->receives; m++) step[program->receive[m].step].receive = m;
  list_keys(program->send, program->sends, world->sent[world->ranks]);
  list_keys(program->receive, program->receives, world->received[world->ranks]);
  return tsi_world_end(env, world, edges, steps->edges, steps->edge);
}

tristar_status tsi_world_draw(tsi_env *env, tsi_world *world, const tsi_program *program,
                              const tsi_layout *layout, const tsi_share *share) {
  tsi_world_rank *r = &world->rank[world->ranks - 1];
  TSI_TRY(TSI_ALLOC_IN(world, r->draw, r->steps));
  return tsi_program_list_draws(env, program, layout, share, r->draw);
}

/* Receivers are visited in ascending order of rank, and the messages of a sender are sorted by receiver: so
 * the messages of each sender are met in their order. */
tristar_status tsi_world_join(tsi_env *env, tsi_world *world) {
  tsi_count received = 0;
  TSI_SCRATCH_ZERO(env, tsi_index, met, world->ranks);
  for (tsi_index r = 0; r < world->ranks; r++)
    for (tsi_index m = 0; m < world->rank[r].receives; m++, received++) {
      const tsi_world_key *key = &world->received[r][m];
      tsi_world_rank *from = &world->rank[key->peer];
      const tsi_world_key *sent =
          met[key->peer] < from->sends ? &world->sent[key->peer][met[key->peer]++] : NULL;
      if (sent == NULL || sent->peer != r || sent->tag != key->tag || sent->kind != key->kind ||
          sent->rows != key->rows)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "rank %d receives a message %d from rank %d that is not sent", r,
                 key->tag, key->peer);
      from->send[sent->message] = (tsi_world_send){
          .peer = r, .arrival = key->step, .step = sent->step, .rows = sent->rows, .kind = sent->kind};
      world->rank[r].receive[key->message] = (tsi_world_receive){.peer = key->peer, .send = sent->message};
    }
  if (received != world->messages)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%lld messages are sent, %lld received", (long long)world->messages,
             (long long)received);
  for (tsi_index r = 0; r < world->ranks; r++) {
    TSI_FREE(env, world->sent[r]);
    TSI_FREE(env, world->received[r]);
  }
  return TRISTAR_OK;
}
