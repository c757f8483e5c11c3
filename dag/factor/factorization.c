/* Lists the steps of a factorization: ranges of supernodes and tiled fronts. See factorization.h. */
#include "dag/factor/factorization.h"

#include <math.h>

#include "dag/factor/factorization_builder.h"

#define SUBTREE_SHARE (1.0 / 100) /* Share of all work for one bottom step. */
#define RANGE_SHARE (1.0 / 4)     /* Share of the work limit up to which supernodes join a range. */
#define NEGLIGIBLE_WORK 1e5       /* Less work than a task costs. */

typedef tsi_factorization_builder builder;

static double front_flops(const builder *b, tsi_index s) {
  return tsi_front_flops(b->dag->symbolic, b->dag->method, s);
}

static void weigh(builder *b) {
  const tsi_symbolic *symbolic = b->dag->symbolic;
  double total = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) b->subtree[s] = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    b->subtree[s] += tsi_factorization_work(b, s);
    if (parent != TSI_NONE)
      b->subtree[parent] += b->subtree[s];
    else
      total += b->subtree[s];
  }
  b->limit = fmax(total * SUBTREE_SHARE, b->options.task_work);
}

/* Takes the weights of the whole tree, of which the DAG may have only a part. */
static void take_weights(builder *b, const tsi_front_weights *weights) {
  const tsi_symbolic *symbolic = b->dag->symbolic;
  if (weights == NULL)
    weigh(b);
  else {
    for (tsi_index s = 0; s < symbolic->count; s++) b->subtree[s] = weights->subtree[s];
    b->limit = weights->limit;
  }
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const tsi_index parent = symbolic->parent[s];
    b->tree[s] = parent == TSI_NONE ? b->subtree[s] : b->tree[parent];
  }
}

tristar_status tsi_factorization_weigh(tsi_env *env, const tsi_symbolic *symbolic, tristar_method method,
                                       const tsi_factorization_options *options, tsi_front_weights *weights) {
  tsi_factorization dag = {.symbolic = symbolic, .method = method};
  builder b = {.dag = &dag, .options = *options};
  *weights = (tsi_front_weights){.subtree = NULL};
  TSI_TRY(TSI_ALLOC(env, b.subtree, symbolic->count));
  weigh(&b);
  *weights = (tsi_front_weights){b.subtree, b.limit};
  return TRISTAR_OK;
}

/* ---- Ranges ------------------------------------------------------------------------------------------- */

/* Makes the open range a step. */
static void add_range(builder *b) {
  const tsi_supernode_range *open = &b->open;
  const tsi_front_step part = {
      .first = open->first, .last = open->last, .tiled = TSI_NONE, .panel = TSI_NONE, .work = open->work};
  if (open->first == TSI_NONE) return;
  for (tsi_index s = open->first; s <= open->last; s++) tsi_factorization_receive_children(b, s);
  const tsi_index step =
      tsi_factorization_add_step(b, open->waits ? TSI_STEP_FRONT : TSI_STEP_SUBTREE, open->urgent, &part);
  if (open->waits) tsi_factorization_wait_for_children(b, open->first, open->last, step);
  for (tsi_index s = open->first; s <= open->last; s++) b->done[s] = step;
  tsi_factorization_send(b, open->first, open->last);
  b->open.first = TSI_NONE;
}

/* May supernodes with this work, the next ones, join the open range? */
static bool has_space(const builder *b, double work) {
  return b->open.first != TSI_NONE && b->open.work + work <= RANGE_SHARE * b->limit;
}

/* Does subtree first .. s join its siblings? A tree that waits for nothing should not wait because of roots
 * that do. */
static bool joins_siblings(const builder *b, tsi_index s) {
  const tsi_index *parent = b->dag->symbolic->parent;
  if (!has_space(b, b->subtree[s]) || parent[b->open.last] != parent[s]) return false;
  return !b->open.waits || (parent[s] != TSI_NONE && b->subtree[s] < NEGLIGIBLE_WORK);
}

static bool has_children(const builder *b, tsi_index s) {
  return b->dag->child_ptr[s] < b->dag->child_ptr[s + 1];
}

/* Does front s join its children? They must all be in the range. */
static bool joins_children(const builder *b, tsi_index s) {
  return has_children(b, s) && has_space(b, tsi_factorization_work(b, s)) &&
         b->dag->child[b->dag->child_ptr[s]] >= b->open.first;
}

/* Adds supernodes first .. last to the open range, or closes it and opens a new one. Supernodes that need not
 * wait do not raise the priority of a range that waits: it could exceed the priority of a predecessor. */
static void put(builder *b, tsi_index first, tsi_index last, double work, bool joins, bool waits) {
  if (joins) {
    b->open.last = last;
    b->open.work += work;
    if (waits || !b->open.waits) b->open.urgent = last;
    return;
  }
  add_range(b);
  b->open = (tsi_supernode_range){first, last, last, work, waits};
}

static bool is_light(const builder *b, tsi_index s) {
  return b->subtree[s] <= b->limit;
}
/* Can the subtree of s be one step? */
static bool is_subtree(const builder *b, tsi_index s) {
  return is_light(b, s) && !b->mixed[s];
}
static bool is_cut(const builder *b, tsi_index s) {
  return !is_light(b, s) && front_flops(b, s) >= b->options.tiled_flops;
}
static bool is_tiled(const builder *b, tsi_index s) {
  return tsi_factorization_has(b->dag, s) && is_cut(b, s);
}

tristar_status tsi_factorization_find_tiled(tsi_env *env, const tsi_symbolic *symbolic, tristar_method method,
                                            const tsi_factorization_options *options, bool *tiled) {
  tsi_factorization dag = {.symbolic = symbolic, .method = method};
  TSI_SCRATCH_ZERO(env, tsi_front_weights, weights, 1);
  TSI_TRY(tsi_factorization_weigh(env, symbolic, method, options, weights));
  tsi_own(weights, weights->subtree);
  const builder b = {.dag = &dag, .options = *options, .subtree = weights->subtree, .limit = weights->limit};
  for (tsi_index s = 0; s < symbolic->count; s++) tiled[s] = is_cut(&b, s);
  return TRISTAR_OK;
}

static void add_supernodes(builder *b) {
  const tsi_symbolic *symbolic = b->dag->symbolic;
  tsi_index first = 0; /* The first supernode of the current subtree. */
  b->steps = b->edges = 0;
  b->tiled = 0;
  tsi_factorization_begin_messages(b);
  b->open.first = TSI_NONE;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (!tsi_factorization_has(b->dag, s)) {
      add_range(b);
    } else if (is_subtree(b, s)) {
      if (parent != TSI_NONE && is_subtree(b, parent)) continue; /* part of a larger one */
      put(b, first, s, b->subtree[s], joins_siblings(b, s), false);
    } else if (is_tiled(b, s)) {
      add_range(b);
      b->dag->tiled[b->tiled] = s;
      tsi_factorization_receive_children(b, s);
      if (tsi_factorization_shares(b->dag, s))
        tsi_factorization_add_shared_front(b, s);
      else
        tsi_factorization_add_front(b, s);
      tsi_factorization_send(b, s, s);
      b->tiled++;
    } else
      put(b, s, s, tsi_factorization_work(b, s), joins_children(b, s), has_children(b, s));
    first = s + 1;
  }
  add_range(b);
}

/* ---- Life --------------------------------------------------------------------------------------------- */

void tsi_factorization_list_children(tsi_factorization *dag) {
  const tsi_symbolic *symbolic = dag->symbolic;
  tsi_index *ptr = dag->child_ptr;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (symbolic->parent[s] != TSI_NONE) ptr[symbolic->parent[s] + 1]++;
  for (tsi_index s = 0; s < symbolic->count; s++) ptr[s + 1] += ptr[s];
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (symbolic->parent[s] != TSI_NONE) dag->child[ptr[symbolic->parent[s]]++] = s;
  for (tsi_index s = symbolic->count; s > 0; s--) ptr[s] = ptr[s - 1];
  ptr[0] = 0;
}

/* Finds the subtrees with supernodes of other processes. */
static tristar_status find_mixed(builder *b) {
  const tsi_symbolic *symbolic = b->dag->symbolic;
  const tsi_index *owner = b->dag->owner;
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->mixed, symbolic->count));
  for (tsi_index s = 0; owner && s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (parent == TSI_NONE) continue;
    if (b->mixed[s] || owner[s] != owner[parent] || tsi_front_leaves_parts(b->dag->teams, s))
      b->mixed[parent] = true;
  }
  return TRISTAR_OK;
}

static tristar_status allocate(builder *b, const tsi_front_weights *weights) {
  tsi_factorization *dag = b->dag;
  const tsi_index count = dag->symbolic->count;
  tsi_index tiles = 0;
  TSI_TRY(TSI_ALLOC_IN(b, b->subtree, count));
  TSI_TRY(TSI_ALLOC_IN(b, b->tree, count));
  TSI_TRY(TSI_ALLOC_IN(b, b->done, count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(dag, dag->child_ptr, (tsi_count)count + 1));
  TSI_TRY(TSI_ALLOC_IN(dag, dag->child, count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(dag, dag->steps, 1));
  tsi_factorization_list_children(dag);
  TSI_TRY(find_mixed(b));
  TSI_TRY(tsi_factorization_find_tags(b));
  take_weights(b, weights);
  for (tsi_index s = 0; s < count; s++) {
    if (!is_tiled(b, s)) continue;
    dag->tiled_count++;
    tiles = tsi_index_max(tiles, tsi_factorization_tiles(dag, s).count);
  }
  TSI_TRY(TSI_ALLOC_IN(dag, dag->tiled, dag->tiled_count));
  return TSI_ALLOC_IN(b, b->latest, 2 * (tsi_count)tiles);
}

/* Messages are in the order of their steps. */
static void place_sends(tsi_factorization *dag) {
  for (tsi_index k = 0, m = 0; k <= dag->steps->count; k++) {
    while (m < dag->sends && dag->send[m].step < k) m++;
    dag->send_ptr[k] = m;
  }
}

/* Counts, then writes. */
static tristar_status list_steps(tsi_env *env, builder *b) {
  tsi_steps *steps = b->dag->steps;
  add_supernodes(b);
  if (!tsi_to_index(b->steps, &steps->count)) TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  steps->edges = b->edges;
  TSI_TRY(TSI_ALLOC_IN(steps, steps->step, steps->count));
  TSI_TRY(TSI_ALLOC_IN(steps, steps->edge, steps->edges));
  TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->part, steps->count));
  b->dag->sends = b->sends;
  b->dag->receives = b->receives;
  b->dag->outs = b->outs;
  b->dag->ins = b->ins;
  TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->out, b->outs));
  TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->in, b->ins));
  if (b->dag->teams) TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->in_first, b->dag->symbolic->count));
  for (tsi_index s = 0; b->dag->teams && s < b->dag->symbolic->count; s++) b->dag->in_first[s] = TSI_NONE;
  TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->send, b->sends));
  TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->receive, b->receives));
  TSI_TRY(TSI_ALLOC_IN(b->dag, b->dag->send_ptr, (tsi_count)steps->count + 1));
  b->writing = true;
  add_supernodes(b);
  place_sends(b->dag);
  return TRISTAR_OK;
}

tristar_status tsi_factorization_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                        tristar_method method, const tsi_factorization_options *options,
                                        const tsi_front_owners *owners, tsi_factorization **out) {
  *out = NULL;
  TSI_SCRATCH(env, builder, b, 1);
  *b = (builder){.options = *options};
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->dag, 1));
  b->dag->symbolic = symbolic;
  b->dag->panels = panels;
  b->dag->method = method;
  b->dag->tile = options->tile;
  if (owners != NULL) {
    b->dag->owner = owners->owner;
    b->dag->rank = owners->rank;
    b->dag->teams = owners->teams;
    b->dag->device = owners->device;
  }
  TSI_TRY(allocate(b, owners ? owners->weights : NULL));
  TSI_TRY(list_steps(env, b));
  if (env->check) TSI_TRY(tsi_factorization_check(env, b->dag));
  tsi_own(NULL, b->dag);
  *out = b->dag;
  return TRISTAR_OK;
}
