/* Runs the programs of all processes against a clock: see simulate.h. */
#include "dag/simulate.h"

#include <math.h>

double tsi_cluster_share(const tristar_cluster *c) {
  const double cores = (double)c->ranks_per_node * c->cores;
  return c->node_bytes_per_second > 0 ? fmin(c->core_bytes_per_second, c->node_bytes_per_second / cores)
                                      : c->core_bytes_per_second;
}

static tsi_index cores_of(const tsi_simulation *s) {
  return s->world->ranks * s->cluster.cores;
}

/* Does each free core take the next step, ready or not? */
static bool draws(const tsi_simulation *s) {
  return s->cluster.drawn != 0;
}

/* 0: inside grids; 1: between them. */
static int class_of(tsi_message_kind kind) {
  return tsi_traffic_class_of(kind) == TSI_TRAFFIC_GRIDS;
}

static double overhead(const tsi_simulation *s, tsi_index from, tsi_index to) {
  return tsi_cluster_is_local(&s->cluster, from, to) ? s->cluster.local_overhead_seconds
                                                     : s->cluster.overhead_seconds;
}

/* ---- Waits of a step ----------------------------------------------------------------------------------- */

static tristar_status create_rank(tsi_simulation *s, tsi_index number, double resident) {
  const tsi_world_rank *r = &s->world->rank[number];
  tsi_simulated_rank *own = &s->rank[number];
  TSI_TRY(TSI_ALLOC_IN(s, own->begin, r->steps));
  TSI_TRY(TSI_ALLOC_IN(s, own->end, r->steps));
  TSI_TRY(TSI_ALLOC_IN(s, own->work, r->steps));
  TSI_TRY(TSI_ALLOC_IN(s, own->cause, r->steps));
  TSI_TRY(TSI_ALLOC_IN(s, own->waits, r->steps));
  TSI_TRY(TSI_ALLOC_IN(s, own->left, r->sends));
  if (draws(s)) {
    TSI_TRY(TSI_ALLOC_IN(s, own->drawn_by, r->steps));
    for (tsi_index k = 0; k < r->steps; k++) own->drawn_by[k] = TSI_NONE;
  } else
    TSI_TRY(TSI_ALLOC_IN(s, own->ready.entry, r->steps));
  own->idle = s->cluster.cores;
  own->cached = r->bytes * resident <= s->cluster.cache_bytes;
  for (tsi_index k = 0; k < r->steps; k++)
    own->waits[k] = (r->step[k].receive != TSI_NONE) + (tsi_cluster_in_order(&s->cluster) && k > 0);
  for (tsi_count e = 0; !tsi_cluster_in_order(&s->cluster) && e < r->after->ptr[r->steps]; e++)
    own->waits[r->after->list[e]]++;
  return TRISTAR_OK;
}

tristar_status tsi_simulation_create(tsi_env *env, const tsi_world *world, const tristar_cluster *cluster,
                                     double row_bytes, double flops_per_byte, double resident,
                                     tsi_simulation **out) {
  TSI_OWNED tsi_simulation *s = NULL;
  tsi_index items, first = 0;
  *out = NULL;
  if (!tsi_to_index(world->messages + (tsi_count)world->ranks * cluster->cores, &items))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld messages on %d processes", (long long)world->messages,
             world->ranks);
  TSI_TRY(TSI_ALLOC_ZERO(env, s, 1));
  s->env = env;
  s->world = world;
  s->cluster = *cluster;
  s->row_bytes = row_bytes;
  s->flops_per_byte = flops_per_byte;
  TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->rank, world->ranks));
  TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->core, cores_of(s)));
  TSI_TRY(TSI_ALLOC_IN(s, s->sender, world->messages));
  TSI_TRY(TSI_ALLOC_ZERO_IN(s, s->traffic, 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(s->traffic, s->traffic->rank, world->ranks));
  s->traffic->ranks = world->ranks;
  for (tsi_index c = 0; c < cores_of(s); c++) s->core[c].step = TSI_NONE;
  for (tsi_index r = 0; r < world->ranks; r++) {
    TSI_TRY(create_rank(s, r, resident));
    s->rank[r].first_send = first;
    for (tsi_index m = 0; m < world->rank[r].sends; m++) s->sender[first++] = r;
  }
  *out = tsi_take(&s);
  return TRISTAR_OK;
}

/* ---- Events -------------------------------------------------------------------------------------------- */

/* Does the step stand for the messages of a collective call, in a grid or among all ranks? Steps of these
 * kinds that do work have no seconds. */
static bool agrees(const tsi_world_step *step) {
  return (step->kind == TSI_STEP_EXCHANGE || step->kind == TSI_STEP_GRID_FORWARD) && step->seconds > 0;
}

/* The counter that its time is added to. */
static double *place_of(const tsi_world_step *step, double *arithmetic, double message[2]) {
  return agrees(step) ? &message[step->kind == TSI_STEP_GRID_FORWARD] : arithmetic;
}

static tsi_work work_of(const tsi_simulation *s, tsi_index r, tsi_index k) {
  const tristar_cluster *c = &s->cluster;
  const tsi_world_step *step = &s->world->rank[r].step[k];
  if (step->receive != TSI_NONE)
    return (tsi_work){.seconds = overhead(s, s->world->rank[r].receive[step->receive].peer, r)};
  const double arithmetic = s->flops_per_byte / c->flops_per_second; /* Seconds per byte. */
  const double seconds = agrees(step) ? step->seconds : c->step_seconds + step->seconds;
  if (s->rank[r].cached)
    return (tsi_work){.seconds = seconds + step->bytes * fmax(1 / c->cached_bytes_per_second, arithmetic)};
  return (tsi_work){
      .seconds = seconds, .bytes = step->bytes, .rate = 1 / fmax(1 / c->core_bytes_per_second, arithmetic)};
}

static tristar_status begin_work(tsi_simulation *s, tsi_index r, tsi_index core, const tsi_work *work) {
  s->core[core].begin = s->now;
  return s->clock->work(s->clock->context, r, work, core);
}

/* cause: the latest event. */
static tristar_status begin_step(tsi_simulation *s, tsi_index r, tsi_index core, tsi_index step,
                                 tsi_index cause) {
  tsi_simulated_rank *own = &s->rank[r];
  const tsi_work work = work_of(s, r, step);
  own->begin[step] = s->now;
  own->cause[step] = cause;
  if (own->working++ == 0) own->since = s->now;
  s->core[core].step = step;
  s->core[core].next_send = s->world->rank[r].step[step].send;
  return begin_work(s, r, core, &work);
}

/* With `drawn`, an ARRIVAL without overhead takes no core: the steps behind it poll for the message. */
static bool takes_core(const tsi_simulation *s, tsi_index r, tsi_index step) {
  const tsi_world_rank *program = &s->world->rank[r];
  const tsi_index receive = program->step[step].receive;
  return receive == TSI_NONE || overhead(s, program->receive[receive].peer, r) > 0;
}

static tristar_status release(tsi_simulation *s, tsi_index r, tsi_index step, tsi_index cause);

/* Releases the steps of the process that wait for this step. */
static tristar_status release_after(tsi_simulation *s, tsi_index r, tsi_index step) {
  const tsi_adjacency *after = s->world->rank[r].after;
  for (tsi_count e = after->ptr[step]; e < after->ptr[step + 1]; e++)
    TSI_TRY(release(s, r, after->list[e], step));
  return TRISTAR_OK;
}

/* One of the events that the step waits for has happened. */
static tristar_status release(tsi_simulation *s, tsi_index r, tsi_index step, tsi_index cause) {
  tsi_simulated_rank *own = &s->rank[r];
  if (--own->waits[step] > 0) return TRISTAR_OK;
  if (!draws(s))
    tsi_heap_push(&own->ready, s->world->rank[r].step[step].priority, step);
  else if (!takes_core(s, r, step)) {
    own->begin[step] = own->end[step] = s->now;
    own->work[step] = 0;
    own->cause[step] = cause;
    own->done++;
    return release_after(s, r, step);
  } else if (own->drawn_by[step] != TSI_NONE)
    return begin_step(s, r, own->drawn_by[step], step, cause);
  return TRISTAR_OK;
}

/* The step that is drawn next; TSI_NONE: all have been. */
static tsi_index next_draw(const tsi_simulation *s, tsi_index r) {
  const tsi_world_rank *program = &s->world->rank[r];
  for (tsi_index *next = &s->rank[r].next; *next < program->steps; ++*next) {
    const tsi_index step = program->draw ? program->draw[*next] : *next;
    if (takes_core(s, r, step)) return step;
  }
  return TSI_NONE;
}

static tristar_status draw(tsi_simulation *s, tsi_index r, tsi_index core, tsi_index cause) {
  tsi_simulated_rank *own = &s->rank[r];
  const tsi_index step = next_draw(s, r);
  own->next++;
  own->drawn_by[step] = core;
  s->core[core].step = step;
  return own->waits[step] == 0 ? begin_step(s, r, core, step, cause) : TRISTAR_OK;
}

/* Free cores begin ready steps, or draw, the first core first. The loop ends with the last free core: a GPU
 * has thousands of cores, and after most events one of them is free. */
static tristar_status dispatch(tsi_simulation *s, tsi_index r, tsi_index cause) {
  tsi_simulated_rank *own = &s->rank[r];
  const tsi_simulated_core *core = s->core + (tsi_count)r * s->cluster.cores;
  for (; own->idle > 0; own->free++) {
    if (draws(s) ? next_draw(s, r) == TSI_NONE : own->ready.count == 0) return TRISTAR_OK;
    if (core[own->free].step != TSI_NONE) continue;
    const tsi_index number = r * s->cluster.cores + own->free;
    own->idle--;
    TSI_TRY(draws(s) ? draw(s, r, number, cause)
                     : begin_step(s, r, number, tsi_heap_pop(&own->ready).item, cause));
  }
  own->free = s->cluster.cores;
  return TRISTAR_OK;
}

static tristar_status leave(tsi_simulation *s, tsi_index r, tsi_index m) {
  const tsi_world_send *send = &s->world->rank[r].send[m];
  s->rank[r].left[m] = s->now;
  return s->clock->send(s->clock->context, r, send->peer, s->row_bytes * send->rows,
                        cores_of(s) + s->rank[r].first_send + m);
}

static tristar_status end_step(tsi_simulation *s, tsi_index r, tsi_simulated_core *core) {
  const tsi_world_rank *program = &s->world->rank[r];
  const tsi_index step = core->step;
  core->step = TSI_NONE;
  s->rank[r].idle++;
  s->rank[r].streaming -= core->streaming;
  core->streaming = 0;
  s->rank[r].free = tsi_index_min(s->rank[r].free, (tsi_index)(core - s->core) - r * s->cluster.cores);
  s->rank[r].end[step] = s->now;
  s->rank[r].done++;
  if (--s->rank[r].working == 0) s->rank[r].active += s->now - s->rank[r].since;
  s->seconds = fmax(s->seconds, s->now);
  if (tsi_cluster_in_order(&s->cluster)) {
    if (step + 1 < program->steps) TSI_TRY(release(s, r, step + 1, step));
  } else
    TSI_TRY(release_after(s, r, step));
  return dispatch(s, r, step);
}

/* The work of a core, or the overhead of a message, has ended. */
static tristar_status core_happens(tsi_simulation *s, tsi_index number) {
  tsi_simulated_core *core = &s->core[number];
  const tsi_index r = number / s->cluster.cores;
  const tsi_world_rank *program = &s->world->rank[r];
  const tsi_world_step *step = &program->step[core->step];
  const double seconds = s->now - core->begin;
  const bool sends = core->next_send > step->send;
  if (!sends) s->rank[r].work[core->step] = seconds;
  if (sends) {
    const tsi_index m = core->next_send - 1;
    s->rank[r].message[class_of(program->send[m].kind)] += seconds;
    TSI_TRY(leave(s, r, m));
  } else if (step->receive != TSI_NONE) {
    const tsi_world_receive *from = &program->receive[step->receive];
    s->rank[r].message[class_of(tsi_world_sent(s->world, from)->kind)] += seconds;
  } else
    *place_of(step, &s->rank[r].arithmetic, s->rank[r].message) += seconds;
  if (core->next_send == step[1].send) return end_step(s, r, core);
  const tsi_work work = {.seconds = overhead(s, r, program->send[core->next_send++].peer)};
  return begin_work(s, r, number, &work);
}

/* Messages of collective calls have no rows. */
static void count(tsi_traffic_count *count, tsi_index rows) {
  count->messages += rows > 0;
  count->rows += rows;
}

static tristar_status message_happens(tsi_simulation *s, tsi_index number) {
  const tsi_index from = s->sender[number];
  const tsi_world_send *send = &s->world->rank[from].send[number - s->rank[from].first_send];
  const tsi_traffic_class class = tsi_traffic_class_of(send->kind);
  count(&s->traffic->rank[from].sent[class], send->rows);
  count(&s->traffic->rank[send->peer].received[class], send->rows);
  TSI_TRY(release(s, send->peer, send->arrival, TSI_CAUSE_MESSAGE));
  return dispatch(s, send->peer, TSI_CAUSE_MESSAGE);
}

tristar_status tsi_simulation_happen(tsi_simulation *s, double now, tsi_index item) {
  s->now = now;
  return item < cores_of(s) ? core_happens(s, item) : message_happens(s, item - cores_of(s));
}

/* ---- The clock without contention --------------------------------------------------------------------- */

typedef struct loggp {
  tsi_simulation *simulation;
  tsi_heap events; /* keys: negative times */
} loggp;

/* The rate at which a core reads: its share among the cores of its process that read when it begins. */
static double shared_rate(const tsi_simulation *s, tsi_index rank, const tsi_work *work) {
  const double most = s->cluster.process_bytes_per_second;
  const double rate = fmin(work->rate, tsi_cluster_share(&s->cluster)), alone = work->bytes / rate;
  const double reading = s->rank[rank].streaming + alone / (work->seconds + alone);
  if (most <= 0) return rate;
  return fmin(rate, most / fmax(1, reading));
}

static tristar_status loggp_work(void *context, tsi_index rank, const tsi_work *work, tsi_index item) {
  loggp *l = context;
  tsi_simulated_core *core = &l->simulation->core[item];
  double *streaming = &l->simulation->rank[rank].streaming;
  *streaming -= core->streaming;
  const double reads = work->bytes > 0 ? work->bytes / shared_rate(l->simulation, rank, work) : 0;
  const double seconds = work->seconds + reads;
  core->streaming = reads > 0 ? reads / seconds : 0;
  *streaming += core->streaming;
  tsi_heap_push(&l->events, -(l->simulation->now + seconds), item);
  return TRISTAR_OK;
}

static tristar_status loggp_send(void *context, tsi_index from, tsi_index to, double bytes, tsi_index item) {
  loggp *l = context;
  const tristar_cluster *c = &l->simulation->cluster;
  const bool local = tsi_cluster_is_local(c, from, to);
  const double *pair = l->simulation->latency;
  const double latency = pair    ? pair[(tsi_count)from * l->simulation->world->ranks + to]
                         : local ? c->local_latency_seconds
                                 : c->latency_seconds,
               rate = local ? c->local_bytes_per_second : c->bytes_per_second;
  tsi_heap_push(&l->events, -(l->simulation->now + latency + bytes / rate), item);
  return TRISTAR_OK;
}

static tristar_status loggp_run(void *context, tsi_simulation *s) {
  loggp *l = context;
  while (l->events.count > 0) {
    const tsi_keyed event = tsi_heap_pop(&l->events);
    TSI_TRY(tsi_simulation_happen(s, -event.key, event.item));
  }
  return TRISTAR_OK;
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static tristar_status run(tsi_simulation *s, const tsi_simulation_clock *clock) {
  s->clock = clock;
  for (tsi_index r = 0; r < s->world->ranks; r++) {
    for (tsi_index k = 0; k < s->world->rank[r].steps && !draws(s); k++)
      if (s->rank[r].waits[k] == 0) tsi_heap_push(&s->rank[r].ready, s->world->rank[r].step[k].priority, k);
    TSI_TRY(dispatch(s, r, TSI_CAUSE_START));
  }
  TSI_TRY(clock->run(clock->context, s));
  for (tsi_index r = 0; r < s->world->ranks; r++)
    if (s->rank[r].done < s->world->rank[r].steps)
      TSI_FAIL(s->env, TRISTAR_ERR_INTERNAL, "simulation: rank %d ends after %d of %d steps", r,
               s->rank[r].done, s->world->rank[r].steps);
  return TRISTAR_OK;
}

tristar_status tsi_simulation_run(tsi_simulation *s, const tsi_simulation_clock *clock) {
  if (clock != NULL) return run(s, clock);
  TSI_SCRATCH(s->env, tsi_keyed, entry, cores_of(s) + s->world->messages);
  loggp l = {.simulation = s, .events = {.entry = entry}};
  return run(s, &(tsi_simulation_clock){&l, loggp_work, loggp_send, loggp_run});
}

/* Seconds of overheads of messages first .. end-1 of rank r, by class. */
static void add_overheads(const tsi_simulation *s, tsi_index r, tsi_index first, tsi_index end,
                          tsi_simulated_path *path) {
  for (tsi_index m = first; m < end; m++) {
    const tsi_world_send *send = &s->world->rank[r].send[m];
    path->message[class_of(send->kind)] += overhead(s, r, send->peer);
  }
}

/* Follows the causes of the steps from the end back to the start. */
tsi_simulated_path tsi_simulation_path(const tsi_simulation *s) {
  tsi_simulated_path path = {0};
  tsi_index r = 0, step = TSI_CAUSE_START;
  double end = s->seconds;
  for (tsi_index q = 0; q < s->world->ranks && step < 0; q++)
    for (tsi_index k = 0; k < s->world->rank[q].steps; k++)
      if (s->rank[q].end[k] == end) r = q, step = k;
  tsi_index sent = step < 0 ? 0 : s->world->rank[r].step[step + 1].send; /* end of its messages */
  while (step >= 0) {
    const tsi_world_rank *program = &s->world->rank[r];
    const tsi_index cause = s->rank[r].cause[step], receive = program->step[step].receive;
    const double begin = s->rank[r].begin[step];
    const tsi_world_receive *from = receive != TSI_NONE ? &program->receive[receive] : NULL;
    const int class = from ? class_of(tsi_world_sent(s->world, from)->kind) : 0;
    add_overheads(s, r, program->step[step].send, sent, &path);
    if (from) path.message[class] += end - begin;
    if (!from) *place_of(&program->step[step], &path.arithmetic, path.message) += end - begin;
    if (!from && !agrees(&program->step[step])) {
      path.part[tsi_step_part_of(program->step[step].kind)] += s->rank[r].work[step];
      path.steps++;
    }
    if (cause != TSI_CAUSE_MESSAGE) {
      end = begin;
      step = cause;
      if (step >= 0) sent = program->step[step + 1].send;
      continue;
    }
    r = from->peer;
    end = s->rank[r].left[from->send];
    path.message[class] += begin - end;
    path.messages++;
    step = tsi_world_sent(s->world, from)->step;
    sent = from->send + 1;
  }
  path.arithmetic = fmax(0, s->seconds - path.message[0] - path.message[1]);
  return path;
}
