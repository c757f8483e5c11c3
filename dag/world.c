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

static tristar_status list_keys(tsi_world *world, const tsi_message *message, tsi_index count,
                                tsi_world_key **out) {
  TSI_TRY(TSI_ALLOC_IN(world, *out, count));
  for (tsi_index m = 0; m < count; m++)
    (*out)[m] = (tsi_world_key){.peer = message[m].peer,
                                .tag = message[m].tag,
                                .message = m,
                                .step = message[m].step,
                                .rows = (tsi_index)message[m].rows,
                                .kind = message[m].kind};
  if (count > 0) qsort(*out, (size_t)count, sizeof **out, by_peer_and_tag);
  return TRISTAR_OK;
}

tristar_status tsi_world_add(tsi_env *env, tsi_world *world, const tsi_program *program, bool edges) {
  const tsi_steps *steps = program->steps;
  tsi_world_rank *r = &world->rank[world->ranks];
  r->steps = steps->count;
  r->sends = program->sends;
  r->receives = program->receives;
  TSI_TRY(TSI_ALLOC_IN(world, r->step, (tsi_count)steps->count + 1));
  TSI_TRY(TSI_ALLOC_IN(world, r->send, r->sends));
  TSI_TRY(TSI_ALLOC_IN(world, r->receive, r->receives));
  for (tsi_index s = 0; s <= steps->count; s++) {
    r->step[s] = (tsi_world_step){.send = program->send_ptr[s], .receive = TSI_NONE};
    if (s == steps->count) break;
    r->step[s].bytes = steps->step[s].bytes;
    r->step[s].priority = steps->step[s].priority;
    r->step[s].kind = steps->step[s].kind;
    r->bytes += r->step[s].bytes;
  }
  for (tsi_index m = 0; m < r->receives; m++) r->step[program->receive[m].step].receive = m;
  if (edges) {
    TSI_TRY(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_AFTER, &r->after));
    tsi_own(world, r->after);
  }
  TSI_TRY(list_keys(world, program->send, r->sends, &world->sent[world->ranks]));
  TSI_TRY(list_keys(world, program->receive, r->receives, &world->received[world->ranks]));
  world->steps += r->steps;
  world->messages += r->sends;
  world->ranks++;
  return TRISTAR_OK;
}

/* Processes take what they receive in ascending order of rank, and what a process sends is sorted by the rank
 * that receives it: so what each process sends is met in its order. */
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
