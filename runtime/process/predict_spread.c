/* See predict_spread.h. */
#include "runtime/process/predict_spread.h"

#include "dag/simulate.h"
#include "runtime/base/range.h"
#include "runtime/context/context.h"
#include "runtime/exec/device/spread_rows.h"
#include "runtime/factor/factor.h"
#include "runtime/process/predict_published.h"

/* Resident warps per processor, in blocks of 8, limited by the registers of the kernels of rows. */
#define WARPS_OF_PROCESSOR 40
tristar_status tsi_sweep_lines(tsi_env *env, const tsi_row_factor *factor, bool backward, tsi_entries *own,
                               tsi_lines *lines, const void **values) {
  *lines = factor->lines;
  *values = factor->values;
  if (factor->lines.columns == backward) return TRISTAR_OK;
  const tsi_entries given = {lines->n, factor->scalar_bytes, (tsi_count *)lines->ptr,
                             (tsi_index *)lines->index, (void *)factor->values};
  TSI_TRY(tsi_entries_begin(env, given.n, given.bytes, own));
  own->ptr[given.n] = given.ptr[given.n];
  TSI_TRY(tsi_entries_allocate(env, own));
  tsi_entries_transpose(&given, own);
  *lines = (tsi_lines){given.n, own->ptr, own->index, backward};
  *values = own->item;
  return TRISTAR_OK;
}

/* ---- Tables of all GPUs ------------------------------------------------------------------------------- */

typedef struct part { /* part of one GPU */
  tsi_spread_plan plan;
  tsi_index *bundle_of_row, *bundle_of_slot; /* own rows; left sums */
  tsi_index receives;
  tsi_index *arrivals; /* bundles + 1: number of messages before each bundle */
} part;

typedef struct message {
  tsi_index from, source, to, target; /* GPUs, bundles */
  tsi_index rows;
} message;

typedef struct maker {
  tsi_env *env;
  const tsi_spread_model *model;
  part *part; /* pes */
  tsi_count messages;
  message *message; /* by receiver, then by target */
} maker;

static void release(maker *m) {
  for (tsi_index pe = 0; m->part && pe < m->model->pes; pe++) {
    tsi_spread_destroy(m->env, &m->part[pe].plan);
    TSI_FREE(m->env, m->part[pe].bundle_of_row);
    TSI_FREE(m->env, m->part[pe].bundle_of_slot);
    TSI_FREE(m->env, m->part[pe].arrivals);
  }
  TSI_FREE(m->env, m->part);
  TSI_FREE(m->env, m->message);
}

static tristar_status make_part(maker *m, const tsi_lines *lines, const tsi_index *owner, tsi_index pe) {
  part *p = &m->part[pe];
  const tsi_spread_options options = {.pe = pe, .pes = m->model->pes, .owner = owner};
  TSI_TRY(tsi_spread_create(m->env, lines, &options, &p->plan));
  const tsi_gpu_spread *t = &p->plan.tables;
  TSI_TRY(TSI_ALLOC(m->env, p->bundle_of_row, p->plan.rows));
  TSI_TRY(TSI_ALLOC(m->env, p->bundle_of_slot, p->plan.slots));
  TSI_TRY(TSI_ALLOC_ZERO(m->env, p->arrivals, (tsi_count)t->bundles + 1));
  for (tsi_index b = 0; b < t->bundles; b++)
    for (tsi_index i = t->bundle[b].first; i < t->bundle[b].first + t->bundle[b].items; i++)
      (t->bundle[b].kind == TSI_SPREAD_ROWS ? p->bundle_of_row : p->bundle_of_slot)[t->row[i]] = b;
  return TRISTAR_OK;
}

/* Lists the messages to the bundles of one GPU. latest: bundles of all GPUs; those of GPU pe begin at
 * first[pe]. */
static void list_messages(maker *m, tsi_index pe, const tsi_index *first, tsi_index *latest) {
  part *p = &m->part[pe];
  const tsi_gpu_spread *t = &p->plan.tables;
  const tsi_index others = m->model->pes - 1;
  const tsi_count begin = m->messages;
  for (tsi_index k = 0; k < first[m->model->pes]; k++) latest[k] = TSI_NONE;
  for (tsi_index b = 0; b < t->bundles; b++) {
    const tsi_spread_bundle *bundle = &t->bundle[b];
    const tsi_count before = m->messages;
    for (tsi_index i = bundle->first; i < bundle->first + bundle->items && bundle->kind == TSI_SPREAD_ROWS;
         i++)
      for (tsi_index q = 0; q < others; q++) {
        const tsi_index slot = t->slot[(tsi_count)t->row[i] * others + q], from = q < pe ? q : q + 1;
        if (slot == TSI_NONE) continue;
        const tsi_index source = m->part[from].bundle_of_slot[slot];
        tsi_index *seen = &latest[first[from] + source];
        if (*seen == TSI_NONE || begin + *seen < before) {
          *seen = (tsi_index)(m->messages - begin);
          m->message[m->messages++] = (message){from, source, pe, b, 0};
        }
        m->message[begin + *seen].rows++;
      }
    p->arrivals[b + 1] = (tsi_index)(m->messages - begin);
  }
  p->receives = (tsi_index)(m->messages - begin);
}

static tristar_status make_messages(maker *m) {
  const tsi_index pes = m->model->pes;
  tsi_count gets = 0;
  TSI_SCRATCH_ZERO(m->env, tsi_index, first, (tsi_count)pes + 1);
  for (tsi_index pe = 0; pe < pes; pe++) {
    gets += m->part[pe].plan.gets;
    if (first[pe] > TSI_INDEX_MAX - m->part[pe].plan.tables.bundles)
      TSI_FAIL(m->env, TRISTAR_ERR_TOO_LARGE, "more bundles of rows than 32-bit numbers");
    first[pe + 1] = first[pe] + m->part[pe].plan.tables.bundles;
  }
  if (gets > TSI_INDEX_MAX)
    TSI_FAIL(m->env, TRISTAR_ERR_TOO_LARGE, "%lld left sums that are read", (long long)gets);
  TSI_SCRATCH(m->env, tsi_index, latest, first[pes]);
  TSI_TRY(TSI_ALLOC(m->env, m->message, gets));
  for (tsi_index pe = 0; pe < pes; pe++) list_messages(m, pe, first, latest);
  return TRISTAR_OK;
}

/* ---- The world ---------------------------------------------------------------------------------------- */

/* The step of a bundle: the steps of its arrivals are just before it. */
static tsi_index step_of(const part *p, tsi_index bundle) {
  return bundle + p->arrivals[bundle + 1];
}

static void fill_step(const maker *m, const tsi_gpu_spread *t, tsi_index b, tsi_world_step *step) {
  const tsi_spread_bundle *bundle = &t->bundle[b];
  const double scalar = (double)m->model->scalar_bytes, index = sizeof(tsi_index);
  const double entries = t->begin[bundle->first + bundle->items] - t->begin[bundle->first];
  const tsi_index groups = (bundle->items * t->threads + TSI_SPREAD_LANES - 1) / TSI_SPREAD_LANES;
  step->kind = bundle->kind == TSI_SPREAD_ROWS ? TSI_STEP_FORWARD_CHUNK : TSI_STEP_FORWARD_SUM;
  step->bytes = entries * (2 * scalar + 2 * index) + bundle->items * (3 * scalar + 3 * index);
  step->seconds =
      groups * (TSI_SPREAD_GROUP_SECONDS + tsi_index_max(0, bundle->steps - 1) * TSI_SPREAD_STEP_SECONDS);
}

/* Numbers the messages that a GPU sends, by step, and stores their positions in its list. */
static void fill_sends(const maker *m, tsi_world *world, tsi_index pe, tsi_index *tags) {
  const part *p = &m->part[pe];
  tsi_world_rank *r = &world->rank[pe];
  tsi_world_key *key = world->sent[pe];
  for (tsi_count k = 0; k < m->messages; k++)
    if (m->message[k].from == pe) r->step[step_of(p, m->message[k].source) + 1].send++;
  for (tsi_index s = 0; s < r->steps; s++) r->step[s + 1].send += r->step[s].send;
  for (tsi_count k = m->messages - 1; k >= 0; k--) { /* from the end of each step to its start */
    const message *g = &m->message[k];
    if (g->from != pe) continue;
    const tsi_index step = step_of(p, g->source), at = --r->step[step + 1].send;
    key[at] = (tsi_world_key){.peer = g->to,
                              .tag = --tags[(tsi_count)pe * m->model->pes + g->to],
                              .message = at,
                              .step = step,
                              .rows = g->rows,
                              .kind = TSI_MESSAGE_FORWARD_SUM};
  }
  for (tsi_index s = 0; s < r->steps; s++) r->step[s].send = r->step[s + 1].send;
  r->step[r->steps].send = r->sends;
}

/* Lists the own rows that the entries of a bundle wait for, and its messages. Returns the number of edges. */
static tsi_count list_edges(const part *p, tsi_index *latest, tsi_edge *edge) {
  const tsi_gpu_spread *t = &p->plan.tables;
  tsi_count edges = 0;
  for (tsi_index b = 0; b < t->bundles; b++) latest[b] = TSI_NONE;
  for (tsi_index b = 0; b < t->bundles; b++) {
    const tsi_index step = step_of(p, b);
    for (tsi_index s = step - (p->arrivals[b + 1] - p->arrivals[b]); s < step; s++)
      edge[edges++] = (tsi_edge){step, s};
    for (tsi_index e = t->begin[t->bundle[b].first]; e < t->begin[t->bundle[b].first + t->bundle[b].items];
         e++) {
      const tsi_index before = p->bundle_of_row[t->column[e]];
      if (latest[before] == b) continue;
      latest[before] = b;
      edge[edges++] = (tsi_edge){step, step_of(p, before)};
    }
  }
  return edges;
}

static tristar_status add_rank(const maker *m, tsi_world *world, tsi_index pe, const message *mine,
                               const tsi_index *sends, tsi_index *tags) {
  const part *p = &m->part[pe];
  const tsi_gpu_spread *t = &p->plan.tables;
  TSI_SCRATCH(m->env, tsi_index, latest, t->bundles);
  TSI_SCRATCH(m->env, tsi_edge, edge, p->plan.entries + p->receives);
  TSI_SCRATCH_ZERO(m->env, tsi_index, met, m->model->pes);
  TSI_TRY(tsi_world_begin(world, t->bundles + p->receives, sends[pe], p->receives));
  tsi_world_step *step = world->rank[pe].step;
  for (tsi_index b = 0; b < t->bundles; b++) fill_step(m, t, b, &step[step_of(p, b)]);
  for (tsi_index k = 0; k < p->receives; k++) {
    const tsi_index at = mine[k].target + k;
    step[at].kind = TSI_STEP_ARRIVAL;
    step[at].receive = k;
    world->received[pe][k] = (tsi_world_key){.peer = mine[k].from,
                                             .tag = met[mine[k].from]++,
                                             .message = k,
                                             .step = at,
                                             .rows = mine[k].rows,
                                             .kind = TSI_MESSAGE_FORWARD_SUM};
  }
  fill_sends(m, world, pe, tags);
  return tsi_world_end(m->env, world, true, list_edges(p, latest, edge), edge);
}

static tristar_status make_world(const maker *m, tsi_world **out) {
  const tsi_index pes = m->model->pes;
  TSI_OWNED tsi_world *world = NULL;
  TSI_SCRATCH_ZERO(m->env, tsi_index, sends, pes);
  TSI_SCRATCH_ZERO(m->env, tsi_index, tags, (tsi_count)pes * pes);
  for (tsi_count k = 0; k < m->messages; k++) {
    sends[m->message[k].from]++;
    tags[(tsi_count)m->message[k].from * pes + m->message[k].to]++;
  }
  TSI_TRY(tsi_world_create(m->env, pes, &world));
  const message *mine = m->message;
  for (tsi_index pe = 0; pe < pes; mine += m->part[pe++].receives)
    TSI_TRY(add_rank(m, world, pe, mine, sends, tags));
  TSI_TRY(tsi_world_join(m->env, world));
  *out = tsi_take(&world);
  return TRISTAR_OK;
}

/* ---- All ---------------------------------------------------------------------------------------------- */

static tristar_cluster cluster_of(const tsi_spread_model *model) {
  tristar_cluster c = tsi_device_cluster(model->device);
  c.ranks_per_node = model->pes;
  c.cores = WARPS_OF_PROCESSOR * model->device->processors;
  c.core_bytes_per_second = tsi_device_costs_of(model->device).warp_bandwidth;
  c.step_seconds = TSI_SPREAD_DRAW_SECONDS;
  c.panel_seconds = 0;
  c.local_overhead_seconds = 0;
  return c;
}

bool tsi_spread_linked(const tsi_device *device, tsi_index a, tsi_index b) {
  if (device->group == device->per_node) return true;
  if (a / device->per_node != b / device->per_node) return false;
  return a / device->group == b / device->group || a % device->group == b % device->group;
}

/* latency[from * pes + to]: from the end of a step to a left sum that another GPU has. TriStar's warps load
 * the flag, then the sum, and faults hold no warp. A warp of the published solver loads all sums in its own
 * time, and faults in it. */
static void list_latencies(const tsi_spread_model *model, double *latency) {
  const int loads = model->published ? 1 : 2;
  for (tsi_index a = 0; a < model->pes; a++)
    for (tsi_index b = 0; b < model->pes; b++)
      latency[a * model->pes + b] = model->unified ? 2 * TSI_SPREAD_FAULT_SECONDS * !model->published
                                    : tsi_spread_linked(model->device, a, b) ? loads * TSI_SPREAD_LOAD_SECONDS
                                                                             : loads * TSI_SPREAD_BUS_SECONDS;
}

static tristar_status simulate(const maker *m, const tsi_world *world, tsi_spread_predicted *out) {
  const tsi_index pes = m->model->pes;
  const tristar_cluster cluster = cluster_of(m->model);
  TSI_OWNED tsi_simulation *simulation = NULL;
  TSI_SCRATCH(m->env, double, latency, (tsi_count)pes *pes);
  TSI_TRY(tsi_simulation_create(m->env, world, &cluster, (double)m->model->scalar_bytes, 0, 1, &simulation));
  list_latencies(m->model, latency);
  simulation->latency = latency;
  TSI_TRY(tsi_simulation_run(simulation, NULL));
  out->seconds = simulation->seconds;
  for (tsi_index pe = 0; pe < pes; pe++) tsi_range_add(&out->active, simulation->rank[pe].active, pe);
  return TRISTAR_OK;
}

static tristar_status predict(maker *m, const tsi_lines *lines, tsi_spread_predicted *out) {
  const tsi_index pes = m->model->pes;
  TSI_OWNED tsi_world *world = NULL;
  TSI_SCRATCH(m->env, tsi_index, owner, lines->n);
  if (m->model->published) {
    TSI_TRY(tsi_published_world(m->env, lines, m->model, &world, &out->gets));
    return simulate(m, world, out);
  }
  TSI_TRY(tsi_spread_place(m->env, lines, pes, m->model->tasks, owner));
  TSI_TRY(TSI_ALLOC_ZERO(m->env, m->part, pes));
  for (tsi_index pe = 0; pe < pes; pe++) {
    TSI_TRY(make_part(m, lines, owner, pe));
    out->gets += m->part[pe].plan.gets;
  }
  TSI_TRY(make_messages(m));
  TSI_TRY(make_world(m, &world));
  return simulate(m, world, out);
}

tristar_status tsi_spread_predict(tsi_env *env, const tsi_lines *lines, const tsi_spread_model *model,
                                  tsi_spread_predicted *out) {
  maker m = {.env = env, .model = model};
  memset(out, 0, sizeof *out);
  if (model->pes < 1 || model->pes > TSI_SPREAD_PES)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a triangle on %d GPUs: 1 to %d", model->pes, TSI_SPREAD_PES);
  const tristar_status status = predict(&m, lines, out);
  release(&m);
  return status;
}

tristar_status tsi_spread_predict_factor(const tristar_factor_t *factor, const tsi_spread_model *model,
                                         tsi_spread_predicted *out) {
  tsi_env *env = tsi_context_env(factor->analysis->ts);
  tsi_entries own = {.n = 0};
  tsi_lines lines;
  const void *values;
  tsi_spread_model full = *model;
  if (factor->rows == NULL || factor->moves_rows || factor->moves_columns)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "GPUs share rows of triangles by rows, without orders");
  full.scalar_bytes = factor->rows->scalar_bytes;
  tristar_status status = tsi_sweep_lines(env, factor->rows, factor->lower == NULL, &own, &lines, &values);
  if (status == TRISTAR_OK) status = tsi_spread_predict(env, &lines, &full, out);
  tsi_entries_finish(&own);
  return status;
}
