/* Bundles of steps: see bundles.h. */
#include "dag/bundles.h"

typedef struct bundler {
  const tsi_steps *steps;
  tsi_adjacency *before, *after;
  double light;
  int workers;
  double *subtree;  /* Bytes of a step with its whole subtree; negative: the subtree is too heavy, or is not
                       its own. */
  tsi_index *group; /* The step that represents its bundle. */
  bool *packed;     /* Joined with siblings, so not part of a chain. */
} bundler;

static tsi_index only(const tsi_adjacency *a, tsi_index i) {
  return tsi_degree(a, i) == 1 ? a->list[a->ptr[i]] : TSI_NONE;
}

/* Steps of other kinds, and steps that must be alone, belong to neither direction. */
static bool is_joinable(const tsi_step *step) {
  return !step->alone && !step->with_before && !step->with_after;
}
static bool is_backward(const bundler *b, tsi_index i) {
  const tsi_step *step = &b->steps->step[i];
  return is_joinable(step) &&
         (step->kind == TSI_STEP_BACKWARD_CHUNK || step->kind == TSI_STEP_BACKWARD_SLICE);
}
static bool is_forward(const bundler *b, tsi_index i) {
  const tsi_step *step = &b->steps->step[i];
  return is_joinable(step) && (step->kind == TSI_STEP_FORWARD_CHUNK || step->kind == TSI_STEP_FORWARD_SLICE);
}
/* Are both steps in the same direction? */
static bool go_together(const bundler *b, tsi_index i, tsi_index j) {
  return (is_forward(b, i) && is_forward(b, j)) || (is_backward(b, i) && is_backward(b, j));
}

/* Forward, the subtree below a step contains the steps that it waits for; backward, the steps that wait for
 * it. */
static const tsi_adjacency *below(const bundler *b, bool backward) {
  return backward ? b->after : b->before;
}
static const tsi_adjacency *above(const bundler *b, bool backward) {
  return backward ? b->before : b->after;
}

/* Bytes of step i with all steps below it; -1 if they exceed `light`, or if other steps need some of them. */
static double weigh(const bundler *b, tsi_index i, bool backward) {
  const tsi_adjacency *down = below(b, backward), *up = above(b, backward);
  double bytes = b->steps->step[i].bytes;
  for (tsi_count e = down->ptr[i]; e < down->ptr[i + 1]; e++) {
    const tsi_index child = down->list[e];
    if (b->subtree[child] < 0 || tsi_degree(up, child) != 1) return -1;
    bytes += b->subtree[child];
  }
  return bytes <= b->light ? bytes : -1;
}

static bool is_subtree(const bundler *b, tsi_index i) {
  return b->subtree[i] >= 0;
}

/* Fills subtree: children before parents. */
static void weigh_all(bundler *b) {
  const tsi_index count = b->steps->count;
  for (tsi_index i = 0; i < count; i++) b->subtree[i] = -1;
  for (tsi_index i = 0; i < count; i++)
    if (is_forward(b, i)) b->subtree[i] = weigh(b, i, false);
  for (tsi_index i = count; i-- > 0;)
    if (is_backward(b, i)) b->subtree[i] = weigh(b, i, true);
}

/* Steps inside a subtree join the step above them. */
static void join_subtrees(bundler *b) {
  const tsi_index count = b->steps->count;
  for (tsi_index k = 0; k < 2 * count; k++) {
    const bool backward = k >= count; /* forward downwards, then backward upwards: parents first */
    const tsi_index i = backward ? k - count : count - 1 - k;
    if (!(backward ? is_backward(b, i) : is_forward(b, i)) || !is_subtree(b, i)) continue;
    const tsi_index parent = only(above(b, backward), i);
    if (parent != TSI_NONE && is_subtree(b, parent) && is_backward(b, parent) == backward)
      b->group[i] = b->group[parent];
  }
}

/* Can s, a neighbour of a step, be joined with its siblings: as a subtree, or, if !subtrees, as a slice? Its
 * only neighbour in `up` must be that step. */
static bool is_sibling(const bundler *b, const tsi_adjacency *up, tsi_index s, bool backward, bool subtrees) {
  return b->group[s] == s && tsi_degree(up, s) == 1 && is_subtree(b, s) == subtrees &&
         (backward ? is_backward(b, s) : is_forward(b, s));
}

/* Joins siblings among the neighbours of step i, within the weight `light`. */
static void join_siblings(bundler *b, const tsi_adjacency *siblings, const tsi_adjacency *up, tsi_index i,
                          bool backward, bool subtrees, double light) {
  tsi_index open = TSI_NONE;
  double weight = 0;
  for (tsi_count e = siblings->ptr[i]; e < siblings->ptr[i + 1]; e++) {
    const tsi_index s = siblings->list[e];
    if (!is_sibling(b, up, s, backward, subtrees)) continue;
    const double more = subtrees ? b->subtree[s] : b->steps->step[s].bytes;
    if (open == TSI_NONE || weight + more > light) {
      open = s;
      weight = 0;
    } else
      b->packed[s] = b->packed[open] = true;
    b->group[s] = open;
    weight += more;
  }
}

/* Joins the slices of step i. */
static void join_slices(bundler *b, const tsi_adjacency *slices, const tsi_adjacency *up, tsi_index i,
                        bool backward) {
  double light = 0;
  for (tsi_count e = slices->ptr[i]; e < slices->ptr[i + 1]; e++)
    if (is_sibling(b, up, slices->list[e], backward, false)) light += b->steps->step[slices->list[e]].bytes;
  light /= b->workers;
  join_siblings(b, slices, up, i, backward, false, light < b->light / 4 ? light : b->light / 4);
}

static void join_chains(bundler *b) {
  for (tsi_index i = 0; i < b->steps->count; i++) {
    const tsi_index before = only(b->before, i);
    if (before == TSI_NONE || tsi_degree(b->after, before) != 1 || is_subtree(b, i) ||
        is_subtree(b, before) || b->packed[i] || b->packed[before] || !go_together(b, i, before))
      continue;
    b->group[i] = b->group[before];
  }
}

/* Joins steps that must be with their only neighbour. */
static void join_partners(bundler *b) {
  for (tsi_index i = 0; i < b->steps->count; i++) {
    const tsi_step *step = &b->steps->step[i];
    const tsi_index partner = step->with_before  ? only(b->before, i)
                              : step->with_after ? only(b->after, i)
                                                 : TSI_NONE;
    if (partner != TSI_NONE) b->group[i] = b->group[partner];
  }
}

/* If both directions are light, makes each one bundle and returns true. */
static bool join_directions(bundler *b) {
  double bytes[2] = {0, 0};
  tsi_index first[2] = {TSI_NONE, TSI_NONE};
  for (tsi_index i = 0; i < b->steps->count; i++) {
    if (!is_forward(b, i) && !is_backward(b, i)) return false;
    bytes[is_backward(b, i)] += b->steps->step[i].bytes;
  }
  if (bytes[0] > b->light || bytes[1] > b->light) return false;
  for (tsi_index i = 0; i < b->steps->count; i++) {
    const bool backward = is_backward(b, i);
    if (first[backward] == TSI_NONE) first[backward] = i;
    b->group[i] = first[backward];
  }
  return true;
}

static void join(bundler *b) {
  if (join_directions(b)) return;
  weigh_all(b);
  join_subtrees(b);
  for (tsi_index i = 0; i < b->steps->count; i++)
    for (int backward = 0; backward < 2; backward++) { /* a step in neither direction may be between both */
      const tsi_adjacency *down = below(b, backward), *up = above(b, backward);
      if (backward ? is_forward(b, i) : is_backward(b, i)) continue;
      if (!is_subtree(b, i)) join_siblings(b, down, up, i, backward, true, b->light);
      join_slices(b, up, down, i, backward);
    }
  join_chains(b);
  join_partners(b);
  for (tsi_index i = 0; i < b->steps->count; i++)
    while (b->group[i] != b->group[b->group[i]]) b->group[i] = b->group[b->group[i]];
}

/* ---- From groups to bundles --------------------------------------------------------------------------- */

/* The steps of each group, ascending. */
static tristar_status list_members(tsi_env *env, const bundler *b, tsi_adjacency **members) {
  const tsi_index items = b->steps->count;
  TSI_SCRATCH(env, tsi_edge, member, items);
  for (tsi_index i = 0; i < items; i++) member[i] = (tsi_edge){.item = b->group[i], .before = i};
  return tsi_adjacency_create(env, items, items, member, TSI_BEFORE, members);
}

/* Lists the groups in a legal order (Kahn 1962), close to the order of the steps. order: receives *count
 * groups. */
static tristar_status order_groups(tsi_env *env, const bundler *b, const tsi_adjacency *members,
                                   tsi_index *order, tsi_index *count) {
  const tsi_index items = b->steps->count;
  tsi_index head = 0, tail = 0;                  /* Of the queue, which is the list itself. */
  TSI_SCRATCH_ZERO(env, tsi_count, open, items); /* Edges into the group from other groups. */
  for (tsi_count e = 0; e < b->steps->edges; e++) {
    const tsi_edge *edge = &b->steps->edge[e];
    open[b->group[edge->item]] += b->group[edge->item] != b->group[edge->before];
  }
  tsi_index groups = 0;
  for (tsi_index i = 0; i < items; i++) {
    if (b->group[i] != i) continue;
    groups++;
    if (open[i] == 0) order[tail++] = i;
  }
  while (head < tail) {
    const tsi_index g = order[head++];
    for (tsi_count q = members->ptr[g]; q < members->ptr[g + 1]; q++) {
      const tsi_index i = members->list[q];
      for (tsi_count e = b->after->ptr[i]; e < b->after->ptr[i + 1]; e++) {
        const tsi_index next = b->group[b->after->list[e]];
        if (next != g && --open[next] == 0) order[tail++] = next;
      }
    }
  }
  if (tail != groups)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%d of %d bundles wait for each other", groups - tail, groups);
  *count = groups;
  return TRISTAR_OK;
}

/* Fills ptr and item, and numbers the groups: number[group]. order: bundles->count groups. */
static tristar_status list_items(const bundler *b, const tsi_adjacency *members, const tsi_index *order,
                                 tsi_index *number, tsi_bundles *bundles) {
  tsi_index at = 0;
  TSI_TRY(TSI_ALLOC_IN(bundles, bundles->ptr, (tsi_count)bundles->count + 1));
  TSI_TRY(TSI_ALLOC_IN(bundles, bundles->item, b->steps->count));
  for (tsi_index k = 0; k < bundles->count; k++) {
    const tsi_index g = order[k];
    number[g] = k;
    bundles->ptr[k] = at;
    for (tsi_count q = members->ptr[g]; q < members->ptr[g + 1]; q++) bundles->item[at++] = members->list[q];
  }
  bundles->ptr[bundles->count] = at;
  return TRISTAR_OK;
}

/* Fills edge, without repetitions. */
static tristar_status list_edges(tsi_env *env, const bundler *b, const tsi_index *number,
                                 tsi_bundles *bundles) {
  TSI_SCRATCH(env, tsi_index, seen, bundles->count); /* the last bundle found to wait for this one */
  TSI_TRY(TSI_ALLOC_IN(bundles, bundles->edge, b->steps->edges));
  for (tsi_index k = 0; k < bundles->count; k++) seen[k] = TSI_NONE;
  for (tsi_index k = 0; k < bundles->count; k++)
    for (tsi_index q = bundles->ptr[k]; q < bundles->ptr[k + 1]; q++) {
      const tsi_index i = bundles->item[q];
      for (tsi_count e = b->before->ptr[i]; e < b->before->ptr[i + 1]; e++) {
        const tsi_index before = number[b->group[b->before->list[e]]];
        if (before == k || seen[before] == k) continue;
        seen[before] = k;
        bundles->edge[bundles->edges++] = (tsi_edge){k, before};
      }
    }
  return TRISTAR_OK;
}

tristar_status tsi_bundles_create(tsi_env *env, const tsi_steps *steps, double light, int workers,
                                  tsi_bundles **out) {
  TSI_OWNED tsi_adjacency *members = NULL;
  *out = NULL;
  TSI_SCRATCH(env, bundler, b, 1);
  *b = (bundler){.steps = steps, .light = light, .workers = workers};
  TSI_SCRATCH_ZERO(env, tsi_bundles, bundles, 1);
  TSI_TRY(TSI_ALLOC_IN(b, b->subtree, steps->count));
  TSI_TRY(TSI_ALLOC_IN(b, b->group, steps->count));
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->packed, steps->count));
  TSI_SCRATCH(env, tsi_index, order, steps->count);
  TSI_SCRATCH(env, tsi_index, number, steps->count);
  TSI_TRY(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_BEFORE, &b->before));
  tsi_own(b, b->before);
  TSI_TRY(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_AFTER, &b->after));
  tsi_own(b, b->after);
  for (tsi_index i = 0; i < steps->count; i++) b->group[i] = i;
  if (light > 0) join(b);
  TSI_TRY(list_members(env, b, &members));
  TSI_TRY(order_groups(env, b, members, order, &bundles->count));
  TSI_TRY(list_items(b, members, order, number, bundles));
  TSI_TRY(list_edges(env, b, number, bundles));
  if (env->check) TSI_TRY(tsi_bundles_check(env, bundles, steps));
  *out = tsi_take(&bundles);
  return TRISTAR_OK;
}

void tsi_bundle_weigh(const tsi_bundles *bundles, const tsi_steps *steps, tsi_index bundle, double *priority,
                      double *bytes) {
  *priority = *bytes = 0;
  for (tsi_index q = bundles->ptr[bundle]; q < bundles->ptr[bundle + 1]; q++) {
    const tsi_step *step = &steps->step[bundles->item[q]];
    if (step->priority > *priority) *priority = step->priority;
    *bytes += step->bytes;
  }
}

/* ---- Check -------------------------------------------------------------------------------------------- */

static tristar_status check_items(tsi_env *env, const tsi_bundles *bundles, const tsi_steps *steps,
                                  tsi_index *bundle_of) {
  for (tsi_index i = 0; i < steps->count; i++) bundle_of[i] = TSI_NONE;
  if (bundles->ptr[0] != 0 || bundles->ptr[bundles->count] != steps->count)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "bundles hold %d of %d steps", bundles->ptr[bundles->count],
             steps->count);
  for (tsi_index k = 0; k < bundles->count; k++)
    for (tsi_index q = bundles->ptr[k]; q < bundles->ptr[k + 1]; q++) {
      const tsi_index i = bundles->item[q];
      if (i < 0 || i >= steps->count || bundle_of[i] != TSI_NONE ||
          (q > bundles->ptr[k] && i <= bundles->item[q - 1]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "bundle %d holds step %d", k, i);
      bundle_of[i] = k;
    }
  return TRISTAR_OK;
}

/* Edges are sorted by the bundle that waits; each leads upwards and is listed once. first[k]: the first edge
 * of bundle k. */
static tristar_status check_edges(tsi_env *env, const tsi_bundles *bundles, tsi_count *first) {
  tsi_count e = 0;
  TSI_SCRATCH(env, tsi_index, seen, bundles->count);
  for (tsi_index k = 0; k < bundles->count; k++) seen[k] = TSI_NONE;
  for (tsi_index k = 0; k < bundles->count; k++) {
    first[k] = e;
    for (; e < bundles->edges && bundles->edge[e].item == k; e++) {
      const tsi_index before = bundles->edge[e].before;
      if (before < 0 || before >= k || seen[before] == k)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "bundle %d waits for bundle %d", k, before);
      seen[before] = k;
    }
  }
  first[bundles->count] = e;
  if (e != bundles->edges)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "edge %lld of the bundles is out of order", (long long)e);
  return TRISTAR_OK;
}

tristar_status tsi_bundles_check(tsi_env *env, const tsi_bundles *bundles, const tsi_steps *steps) {
  TSI_SCRATCH(env, tsi_index, bundle_of, steps->count);
  TSI_SCRATCH(env, tsi_count, first, (tsi_count)bundles->count + 1);
  TSI_TRY(check_items(env, bundles, steps, bundle_of));
  TSI_TRY(check_edges(env, bundles, first));
  for (tsi_count e = 0; e < steps->edges; e++) {
    const tsi_index item = bundle_of[steps->edge[e].item], before = bundle_of[steps->edge[e].before];
    tsi_count f = first[item];
    if (item == before) continue;
    while (f < first[item + 1] && bundles->edge[f].before != before) f++;
    if (f == first[item + 1])
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "bundle %d does not wait for bundle %d", item, before);
  }
  return TRISTAR_OK;
}
