/* Adds the program of a process of a factorization to a world: see front_program.h. */
#include "runtime/process/front_program.h"

/* Tags of messages to one process: messages of the DAG, then of agreements, then of panels. */
enum { AGREE_TAG = 1 << 29, PANEL_TAG = 1 << 30 };

/* Counts in a first pass, writes in a second pass. */
typedef struct adder {
  const tsi_front_program *program;
  const tsi_factorization *dag;
  tsi_world_rank *to; /* NULL: counts */
  tsi_world_key *sent, *received;
  tsi_edge *edge;
  tsi_index steps, sends, receives, ranks;
  tsi_count edges;
} adder;

/* ---- Fronts ------------------------------------------------------------------------------------------- */

static tsi_message_kind kind_of(const adder *a, tsi_message_kind inside, tsi_index peer) {
  const bool between = peer / a->program->grid != a->dag->rank / a->program->grid;
  return between ? inside + TSI_MESSAGE_GRID_STRIPE - TSI_MESSAGE_STRIPE : inside;
}

static tsi_world_key key_of(const adder *a, const tsi_front_parcel *parcel, const tsi_front_message *message,
                            tsi_index number) {
  const bool stripe = parcel->kind == TSI_PARCEL_STRIPE;
  const tsi_symbolic *symbolic = a->dag->symbolic;
  const tsi_index s = parcel->supernode, rows = (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  const tsi_count scalars = parcel->kind == TSI_PARCEL_WHOLE
                                ? tsi_complement_size(rows, a->dag->method == TRISTAR_METHOD_LU)
                                : parcel->scalars;
  return (tsi_world_key){.peer = message->peer,
                         .tag = message->tag,
                         .message = number,
                         .step = message->step,
                         .rows = (tsi_index)tsi_front_message_scalars(message, scalars),
                         .kind =
                             kind_of(a, stripe ? TSI_MESSAGE_STRIPE : TSI_MESSAGE_COMPLEMENT, message->peer)};
}

static void add_fronts(adder *a) {
  const tsi_factorization *dag = a->dag;
  a->steps = dag->steps->count;
  a->sends = dag->sends;
  a->receives = dag->receives;
  a->edges = dag->steps->edges;
  if (a->to == NULL) return;
  for (tsi_index k = 0; k < a->steps; k++) {
    tsi_world_step *step = &a->to->step[k];
    step->kind = dag->steps->step[k].kind;
    step->priority = dag->steps->step[k].priority;
    step->send = dag->send_ptr[k];
    tsi_front_cost_of(a->program->rates, dag, k, &step->seconds, &step->bytes);
  }
  for (tsi_count e = 0; a->edge && e < a->edges; e++) a->edge[e] = dag->steps->edge[e];
  for (tsi_index m = 0; m < a->sends; m++)
    a->sent[m] = key_of(a, &dag->out[dag->send[m].parcel], &dag->send[m], m);
  for (tsi_index m = 0; m < a->receives; m++) {
    a->received[m] = key_of(a, &dag->in[dag->receive[m].parcel], &dag->receive[m], m);
    a->to->step[dag->receive[m].step].receive = m;
  }
}

/* ---- Steps after the fronts --------------------------------------------------------------------------- */

static void add_edge(adder *a, tsi_index item, tsi_index before) {
  if (a->edge) a->edge[a->edges] = (tsi_edge){item, before};
  a->edges++;
}

static void add_step(adder *a, tsi_step_kind kind, double seconds, double bytes) {
  const tsi_index fronts = a->dag->steps->count;
  if (a->to)
    a->to->step[a->steps] = (tsi_world_step){
        .kind = kind, .seconds = seconds, .bytes = bytes, .send = a->sends, .receive = TSI_NONE};
  for (tsi_index k = 0; a->steps == fronts && k < fronts; k++) add_edge(a, a->steps, k);
  if (a->steps > fronts) add_edge(a, a->steps, a->steps - 1);
  a->steps++;
}

/* Key of a message of the last added step. */
static tsi_world_key key_to(const adder *a, tsi_index peer, tsi_index tag, tsi_count rows) {
  const tsi_message_kind kind = kind_of(a, rows == 0 ? TSI_MESSAGE_AGREE : TSI_MESSAGE_PANELS, peer);
  return (tsi_world_key){
      .peer = peer, .tag = tag, .step = a->steps - 1, .rows = (tsi_index)rows, .kind = kind};
}

static void add_send(adder *a, tsi_index peer, tsi_index tag, tsi_count rows) {
  if (a->to) {
    a->sent[a->sends] = key_to(a, peer, tag, rows);
    a->sent[a->sends].message = a->sends;
  }
  a->sends++;
}

static void add_arrival(adder *a, tsi_index peer, tsi_index tag, tsi_count rows) {
  add_step(a, TSI_STEP_ARRIVAL, 0, 0);
  if (a->to) {
    a->to->step[a->steps - 1].receive = a->receives;
    a->received[a->receives] = key_to(a, peer, tag, rows);
    a->received[a->receives].message = a->receives;
  }
  a->receives++;
}

static tsi_step_kind agreement_kind(const adder *a) {
  return a->program->grid < a->ranks ? TSI_STEP_GRID_FORWARD : TSI_STEP_EXCHANGE;
}

/* Adds the agreement that all processes have ended: a message to each process at a distance of a power of
 * two. */
static void add_agreement(adder *a) {
  const tsi_index rank = a->dag->rank;
  for (tsi_index k = 0; a->ranks > 1 && k < 31 && 1 << k < a->ranks; k++) {
    const tsi_index far = 1 << k;
    add_step(a, agreement_kind(a), 0, 0);
    add_send(a, (tsi_index)(((tsi_count)rank + far) % a->ranks), AGREE_TAG + k, 0);
    add_arrival(a, (rank + a->ranks - far) % a->ranks, AGREE_TAG + k, 0);
  }
}

/* Adds the messages of a piece; returns the next tag. */
static tsi_index add_piece(adder *a, const tsi_handed_piece *piece, bool receive, tsi_index tag) {
  for (tsi_count left = piece->scalars; left > 0; left -= TSI_HANDED_ITEMS) {
    const tsi_count rows = left < TSI_HANDED_ITEMS ? left : TSI_HANDED_ITEMS;
    if (receive)
      add_arrival(a, piece->from, tag++, rows);
    else
      add_send(a, piece->to, tag++, rows);
  }
  return tag;
}

/* Adds one stream of a round: the k-th pieces are sent and received at the same time. */
static void add_swaps(adder *a, tsi_index given, tsi_handed_piece *const *give, tsi_index taken,
                      const tsi_handed_piece *take, tsi_index tag[2]) {
  const double copied = 2 * a->program->rates->scalar_bytes; /* read and write */
  for (tsi_index k = 0; k < given || k < taken; k++) {
    if (k < given) {
      add_step(a, TSI_STEP_FRONT_PACK, 0, copied * (double)give[k]->scalars);
      tag[0] = add_piece(a, give[k], false, tag[0]);
    }
    if (k < taken) {
      tag[1] = add_piece(a, &take[k], true, tag[1]);
      add_step(a, TSI_STEP_FRONT_PACK, 0, copied * (double)take[k].scalars);
    }
  }
}

/* piece NULL: after all rounds. */
static tsi_index round_at(const adder *a, const tsi_handed_piece *piece) {
  return piece ? tsi_handing_round(a->program->handing, piece->from, piece->to) : a->ranks;
}

/* Adds the agreements up to this round that are not added yet; round = ranks: all that are left. */
static void add_round_agreements(adder *a, tsi_index round, tsi_index *agreements) {
  const tsi_index requested = tsi_index_min(round, a->ranks - 1) / TSI_HANDED_ROUNDS + 1;
  if (requested > *agreements)
    add_step(a, agreement_kind(a), a->program->agree_seconds * (requested - *agreements), 0);
  *agreements = requested;
}

static void add_rounds(adder *a) {
  const tsi_handing *handing = a->program->handing;
  const tsi_index rank = a->dag->rank, takes = handing->count[rank];
  const tsi_count give_end = handing->sent_ptr[rank + 1];
  tsi_count give = handing->sent_ptr[rank];
  for (tsi_index take = 0, agreements = 0, round = 0; round < a->ranks;) {
    tsi_handed_piece *const *gives = handing->sent + give;
    const tsi_handed_piece *taken = handing->piece[rank] + take;
    const tsi_index next[2] = {round_at(a, give < give_end ? *gives : NULL),
                               round_at(a, take < takes ? taken : NULL)};
    tsi_index tag[2] = {PANEL_TAG, PANEL_TAG}, count[2] = {0, 0};
    round = tsi_index_min(next[0], next[1]);
    while (give < give_end && round_at(a, handing->sent[give]) == round) give++, count[0]++;
    while (take < takes && round_at(a, &handing->piece[rank][take]) == round) take++, count[1]++;
    add_round_agreements(a, round, &agreements);
    for (int upper = 0; upper < (a->program->lu ? 2 : 1); upper++)
      add_swaps(a, count[0], gives, count[1], taken, tag);
  }
}

static void add_all(adder *a) {
  add_fronts(a);
  if (a->ranks > 1) {
    add_agreement(a);
    add_rounds(a);
  }
  if (a->to) a->to->step[a->steps].send = a->sends;
}

tristar_status tsi_front_program_add(tsi_env *env, const tsi_front_program *program, tsi_world *world) {
  adder a = {.program = program, .dag = program->dag, .ranks = program->handing->ranks};
  TSI_OWNED tsi_edge *edge = NULL;
  add_all(&a);
  TSI_TRY(tsi_world_begin(world, a.steps, a.sends, a.receives));
  if (program->edges) TSI_TRY(TSI_ALLOC(env, edge, a.edges));
  a.to = &world->rank[world->ranks];
  a.sent = world->sent[world->ranks];
  a.received = world->received[world->ranks];
  a.edge = edge;
  add_all(&a);
  return tsi_world_end(env, world, program->edges, a.edges, edge);
}
