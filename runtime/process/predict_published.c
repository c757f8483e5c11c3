/* See predict_published.h. */
#include "runtime/process/predict_published.h"

#include "runtime/base/types.h"

/* The host starts the launches of a GPU one after the other. */
#define LAUNCH_SECONDS 5e-6

enum { LANES = 32, SENDS = 1, RECEIVES = 2 };

typedef struct maker {
  tsi_env *env;
  const tsi_lines *lines;
  const tsi_spread_model *model;
  tsi_index size, launches; /* rows of a task; tasks of each GPU */
  tsi_index *at;            /* n: the step of a row, on its GPU */
  tsi_index *below;         /* n: entries in its column */
  uint8_t *crosses;         /* n: whether a row SENDS to other GPUs, or RECEIVES */
} maker;

/* Numbers of steps, messages and edges of a GPU. */
typedef struct counts {
  tsi_index steps, sends, receives;
  tsi_count edges;
} counts;

static tsi_index task_of(const maker *m, tsi_index row) {
  const tsi_index place = m->lines->columns ? m->lines->n - 1 - row : row;
  return place / m->size;
}

static tsi_index owner_of(const maker *m, tsi_index row) {
  return task_of(m, row) % m->model->pes;
}

static tsi_index launch_of(const maker *m, tsi_index row) {
  return task_of(m, row) / m->model->pes;
}

/* Steps of a GPU: its launches, then each row with the messages that it waits for before it. */
static tristar_status number_steps(maker *m, counts *count, tsi_count *gets) {
  const tsi_lines *lines = m->lines;
  TSI_SCRATCH(m->env, tsi_index, latest, m->model->pes);
  *gets = 0;
  for (tsi_index pe = 0; pe < m->model->pes; pe++) {
    count[pe] = (counts){.steps = m->launches, .edges = m->launches};
    latest[pe] = TSI_NONE;
  }
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k), pe = owner_of(m, i);
    counts *own = &count[pe];
    tsi_count e, end;
    tsi_lines_inner(lines, i, &e, &end);
    own->edges += end - e + 1;
    for (; e < end; e++) {
      const tsi_index j = lines->index[e], from = owner_of(m, j);
      m->below[j]++;
      if (from == pe) continue;
      *gets += latest[from] != i;
      latest[from] = i;
      m->crosses[j] |= SENDS;
      m->crosses[i] |= RECEIVES;
      count[from].sends++;
      own->receives++;
      own->steps++;
    }
    m->at[i] = own->steps++;
  }
  return TRISTAR_OK;
}

/* A warp loads from all other GPUs at once, so the slowest load counts. */
static double load_seconds(const tsi_spread_model *model, tsi_index pe) {
  if (model->pes == 1) return 0;
  for (tsi_index other = 0; other < model->pes; other++)
    if (!tsi_spread_linked(model->device, pe, other)) return TSI_SPREAD_BUS_SECONDS;
  return TSI_SPREAD_LOAD_SECONDS;
}

/* load: seconds of the warp to load left sums. */
static void fill_row(const maker *m, tsi_index i, double load, tsi_world_step *step) {
  const double bytes = (double)(m->model->scalar_bytes + sizeof(tsi_index));
  const tsi_index more = tsi_index_max(0, m->below[i] - 1) / LANES;
  step->kind = TSI_STEP_FORWARD_CHUNK;
  step->bytes = 3 * bytes * (1 + m->below[i]);
  step->seconds = TSI_SPREAD_GROUP_SECONDS + more * TSI_SPREAD_STEP_SECONDS;
  if (m->model->unified)
    step->seconds +=
        ((m->crosses[i] & SENDS) / SENDS + (m->crosses[i] & RECEIVES) / RECEIVES) * TSI_SPREAD_FAULT_SECONDS;
  else
    step->seconds += load;
}

static tsi_count fill_launches(const maker *m, tsi_world_step *step, tsi_edge *edge) {
  tsi_count edges = 0;
  for (tsi_index k = 0; k < m->launches; k++) {
    step[k].kind = TSI_STEP_FORWARD_CHUNK;
    step[k].seconds = LAUNCH_SECONDS - TSI_SPREAD_DRAW_SECONDS;
    if (k > 0) edge[edges++] = (tsi_edge){k, k - 1};
  }
  return edges;
}

/* Adds the rows of a GPU, the arrivals of their messages, and their edges. tag: pes zeros. */
static tsi_count fill_rows(const maker *m, tsi_world *world, tsi_index pe, tsi_index *tag, tsi_edge *edge) {
  const tsi_lines *lines = m->lines;
  tsi_world_step *step = world->rank[pe].step;
  tsi_world_key *key = world->received[pe];
  const double load = load_seconds(m->model, pe);
  tsi_index receives = 0;
  tsi_count edges = fill_launches(m, step, edge);
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k);
    if (owner_of(m, i) != pe) continue;
    tsi_index arrival = m->at[i];
    tsi_count e, end;
    fill_row(m, i, load, &step[arrival]);
    edge[edges++] = (tsi_edge){m->at[i], launch_of(m, i)};
    for (tsi_lines_inner(lines, i, &e, &end); e < end; e++) {
      const tsi_index j = lines->index[e], from = owner_of(m, j);
      const bool remote = from != pe;
      edge[edges++] = (tsi_edge){m->at[i], remote ? --arrival : m->at[j]};
      if (!remote) continue;
      step[arrival].kind = TSI_STEP_ARRIVAL;
      step[arrival].receive = receives;
      key[receives] = (tsi_world_key){.peer = from,
                                      .tag = tag[from]++,
                                      .message = receives,
                                      .step = arrival,
                                      .rows = 1,
                                      .kind = TSI_MESSAGE_FORWARD_SUM};
      receives++;
    }
  }
  return edges;
}

/* Lists the left sums that a GPU sends, one for each entry. Pass 0 counts the messages of step s in
 * step[s + 1].send; before pass 1, step[s].send is the first message of step s. tag, used: zeros before
 * pass 1, pes and n entries. */
static void fill_sends(const maker *m, tsi_world *world, tsi_index pe, int pass, tsi_index *tag,
                       tsi_index *used) {
  const tsi_lines *lines = m->lines;
  tsi_world_step *step = world->rank[pe].step;
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k), to = owner_of(m, i);
    tsi_count e, end;
    for (tsi_lines_inner(lines, i, &e, &end); e < end && to != pe; e++) {
      const tsi_index j = lines->index[e];
      if (owner_of(m, j) != pe) continue;
      if (pass == 0) {
        step[m->at[j] + 1].send++;
        continue;
      }
      const tsi_index send = step[m->at[j]].send + used[j]++;
      world->sent[pe][send] = (tsi_world_key){.peer = to,
                                              .tag = tag[to]++,
                                              .message = send,
                                              .step = m->at[j],
                                              .rows = 1,
                                              .kind = TSI_MESSAGE_FORWARD_SUM};
    }
  }
}

static tristar_status add_rank(const maker *m, tsi_world *world, tsi_index pe, const counts *count) {
  TSI_SCRATCH_ZERO(m->env, tsi_index, received, m->model->pes);
  TSI_SCRATCH_ZERO(m->env, tsi_index, sent, m->model->pes);
  TSI_SCRATCH_ZERO(m->env, tsi_index, used, m->lines->n);
  TSI_SCRATCH(m->env, tsi_edge, edge, count->edges);
  TSI_TRY(tsi_world_begin(world, count->steps, count->sends, count->receives));
  tsi_world_step *step = world->rank[pe].step;
  const tsi_count edges = fill_rows(m, world, pe, received, edge);
  fill_sends(m, world, pe, 0, sent, used);
  for (tsi_index s = 0; s < count->steps; s++) step[s + 1].send += step[s].send;
  fill_sends(m, world, pe, 1, sent, used);
  return tsi_world_end(m->env, world, true, edges, edge);
}

static tristar_status make(maker *m, tsi_world **out, tsi_count *gets) {
  const tsi_index n = m->lines->n, pes = m->model->pes, tasks = tsi_index_max(1, m->model->tasks);
  const tsi_count all = (tsi_count)pes * tasks;
  TSI_OWNED tsi_world *world = NULL;
  TSI_SCRATCH(m->env, tsi_index, at, n);
  TSI_SCRATCH_ZERO(m->env, tsi_index, below, n);
  TSI_SCRATCH_ZERO(m->env, uint8_t, crosses, n);
  TSI_SCRATCH(m->env, counts, count, pes);
  m->at = at;
  m->below = below;
  m->crosses = crosses;
  m->size = (tsi_index)tsi_count_max(1, (n + all - 1) / all);
  m->launches = (n + m->size * pes - 1) / (m->size * pes);
  TSI_TRY(number_steps(m, count, gets));
  TSI_TRY(tsi_world_create(m->env, pes, &world));
  for (tsi_index pe = 0; pe < pes; pe++) TSI_TRY(add_rank(m, world, pe, &count[pe]));
  TSI_TRY(tsi_world_join(m->env, world));
  *out = tsi_take(&world);
  return TRISTAR_OK;
}

tristar_status tsi_published_world(tsi_env *env, const tsi_lines *lines, const tsi_spread_model *model,
                                   tsi_world **out, tsi_count *gets) {
  maker m = {.env = env, .lines = lines, .model = model};
  *out = NULL;
  *gets = 0;
  if (lines->ptr[lines->n] + lines->n > TSI_INDEX_MAX / 2)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld entries of a triangle", (long long)lines->ptr[lines->n]);
  return make(&m, out, gets);
}
