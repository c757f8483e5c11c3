/* See lanes.h. */
#include "dag/lanes.h"

/* Sorts steps into lanes, in the legal order. place[s]: position of step s in its lane. */
static void fill_lanes(tsi_lanes *l, tsi_index steps, const tsi_index *order, const tsi_index *lane,
                       tsi_index *place) {
  for (int k = 0; k <= l->count; k++) l->first[k] = 0;
  for (tsi_index s = 0; s < steps; s++) l->first[lane[s] + 1]++;
  for (int k = 0; k < l->count; k++) l->first[k + 1] += l->first[k];
  for (tsi_index q = 0; q < steps; q++) {
    const tsi_index s = order[q], at = l->first[lane[s]]++;
    l->step[at] = s;
    place[s] = at;
  }
  for (int k = l->count; k > 0; k--) l->first[k] = l->first[k - 1];
  l->first[0] = 0;
  for (tsi_index s = 0; s < steps; s++) place[s] -= l->first[lane[s]];
}

/* For each step and lane: the number of steps of the lane that have certainly run when the step ends. In its
 * own lane this includes the step and all steps before it. */
typedef struct clocks {
  int lanes;
  tsi_index *clock; /* steps * lanes */
} clocks;

static tsi_index *clock_of(const clocks *c, tsi_index step) {
  return c->clock + (size_t)step * (size_t)c->lanes;
}

static void learn(int lanes, const tsi_index *from, tsi_index *to) {
  for (int k = 0; k < lanes; k++) to[k] = tsi_index_max(to[k], from[k]);
}

static tsi_index step_of(const tsi_lanes *l, const tsi_lane_wait *wait) {
  return l->step[l->first[wait->lane] + wait->passed - 1];
}

/* Does another wait imply wait k? */
static bool is_implied(const clocks *c, const tsi_lanes *l, int count, const tsi_lane_wait *wait, int k) {
  for (int other = 0; other < count; other++)
    if (other != k && clock_of(c, step_of(l, &wait[other]))[wait[k].lane] >= wait[k].passed) return true;
  return false;
}

/* The waits of one step. For each lane: the latest of its steps that the step waits for. A wait is left out
 * if the step before in the same lane, or another wait, implies it. Returns their number, at most lanes. */
static int find_waits(const clocks *c, const tsi_lanes *l, const tsi_adjacency *before, const tsi_index *lane,
                      const tsi_index *place, tsi_index step, tsi_index *clock, tsi_lane_wait *wait) {
  int count = 0;
  for (tsi_count e = before->ptr[step]; e < before->ptr[step + 1]; e++) {
    const tsi_index s = before->list[e], other = lane[s];
    if (clock[other] > place[s]) continue;
    int k = 0;
    while (k < count && wait[k].lane != other) k++;
    if (k == count) wait[count++] = (tsi_lane_wait){other, 0};
    wait[k].passed = tsi_index_max(wait[k].passed, place[s] + 1);
  }
  for (int k = count; k-- > 0;)
    if (is_implied(c, l, count, wait, k)) wait[k] = wait[--count];
  for (int k = 0; k < count; k++) learn(c->lanes, clock_of(c, step_of(l, &wait[k])), clock);
  return count;
}

static tristar_status fill_waits(tsi_env *env, tsi_lanes *l, tsi_index steps, const tsi_adjacency *before,
                                 const tsi_index *order, const tsi_index *lane, const tsi_index *place) {
  const size_t all = (size_t)steps * (size_t)l->count;
  TSI_SCRATCH(env, clocks, c, 1);
  *c = (clocks){.lanes = l->count};
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->clock, all));
  TSI_SCRATCH(env, tsi_lane_wait, wait, all); /* By step, with memory for `count` waits each. */
  TSI_SCRATCH(env, tsi_index, waits, steps);
  for (tsi_index q = 0; q < steps; q++) {
    const tsi_index s = order[q];
    tsi_index *clock = clock_of(c, s);
    if (place[s] > 0) learn(c->lanes, clock_of(c, l->step[l->first[lane[s]] + place[s] - 1]), clock);
    waits[s] = find_waits(c, l, before, lane, place, s, clock, wait + (size_t)s * (size_t)l->count);
    clock[lane[s]] = place[s] + 1;
  }
  l->wait_ptr[0] = 0;
  for (tsi_index at = 0; at < steps; at++) l->wait_ptr[at + 1] = l->wait_ptr[at] + waits[l->step[at]];
  TSI_TRY(TSI_ALLOC_IN(l, l->wait, l->wait_ptr[steps]));
  for (tsi_index at = 0; at < steps; at++)
    if (waits[l->step[at]] > 0)
      memcpy(l->wait + l->wait_ptr[at], wait + (size_t)l->step[at] * (size_t)l->count,
             (size_t)waits[l->step[at]] * sizeof *wait);
  return TRISTAR_OK;
}

tristar_status tsi_lanes_create(tsi_env *env, tsi_index steps, tsi_count edges, const tsi_edge *edge,
                                const tsi_index *order, int count, const tsi_index *lane, tsi_lanes **out) {
  TSI_OWNED tsi_adjacency *before = NULL;
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_lanes, lanes, 1);
  lanes->count = count;
  TSI_TRY(TSI_ALLOC_IN(lanes, lanes->first, count + 1));
  TSI_TRY(TSI_ALLOC_IN(lanes, lanes->step, steps));
  TSI_TRY(TSI_ALLOC_IN(lanes, lanes->wait_ptr, (tsi_count)steps + 1));
  TSI_SCRATCH(env, tsi_index, place, steps);
  TSI_TRY(tsi_adjacency_create(env, steps, edges, edge, TSI_BEFORE, &before));
  fill_lanes(lanes, steps, order, lane, place);
  TSI_TRY(fill_waits(env, lanes, steps, before, order, lane, place));
  if (env->check) TSI_TRY(tsi_lanes_check(env, lanes, steps, edges, edge));
  *out = tsi_take(&lanes);
  return TRISTAR_OK;
}

/* ---- Check --------------------------------------------------------------------------------------------- */

/* Waits refer to steps that the lanes have. */
static tristar_status check_waits(tsi_env *env, const tsi_lanes *l, tsi_index steps) {
  const tsi_count all = l->wait_ptr[steps];
  if (l->wait_ptr[0] != 0)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the first wait is %lld", (long long)l->wait_ptr[0]);
  for (tsi_index at = 0; at < steps; at++)
    if (l->wait_ptr[at] < 0 || l->wait_ptr[at] > l->wait_ptr[at + 1] || l->wait_ptr[at + 1] > all)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "place %d has waits %lld to %lld of %lld", at,
               (long long)l->wait_ptr[at], (long long)l->wait_ptr[at + 1], (long long)all);
  for (tsi_count w = 0; w < all; w++) {
    const tsi_lane_wait *wait = &l->wait[w];
    if (wait->lane < 0 || wait->lane >= l->count || wait->passed < 1 ||
        wait->passed > tsi_lane_steps(l, wait->lane))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "wait %lld is for %d steps of lane %d", (long long)w, wait->passed,
               wait->lane);
  }
  return TRISTAR_OK;
}

/* Runs the lanes as one thread would. Computes the clock of each step from the waits alone. */
static tristar_status walk(tsi_env *env, const tsi_lanes *l, tsi_index steps, tsi_index *passed,
                           const clocks *c) {
  tsi_index done = 0, before;
  for (int k = 0; k < l->count; k++) passed[k] = 0;
  do {
    before = done;
    for (int k = 0; k < l->count; k++)
      for (bool ready = true; ready && passed[k] < tsi_lane_steps(l, k);) {
        const tsi_index at = l->first[k] + passed[k];
        for (tsi_count w = l->wait_ptr[at]; w < l->wait_ptr[at + 1]; w++)
          ready = ready && passed[l->wait[w].lane] >= l->wait[w].passed;
        if (!ready) break;
        tsi_index *clock = clock_of(c, l->step[at]);
        if (passed[k] > 0) learn(c->lanes, clock_of(c, l->step[at - 1]), clock);
        for (tsi_count w = l->wait_ptr[at]; w < l->wait_ptr[at + 1]; w++)
          learn(c->lanes, clock_of(c, l->step[l->first[l->wait[w].lane] + l->wait[w].passed - 1]), clock);
        clock[k] = ++passed[k];
        done++;
      }
  } while (done > before);
  if (done < steps)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the lanes come to a stop after %d of %d steps", done, steps);
  return TRISTAR_OK;
}

tristar_status tsi_lanes_check(tsi_env *env, const tsi_lanes *l, tsi_index steps, tsi_count edges,
                               const tsi_edge *edge) {
  TSI_SCRATCH(env, clocks, c, 1);
  *c = (clocks){.lanes = l->count};
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->clock, (size_t)steps * (size_t)l->count));
  TSI_SCRATCH(env, tsi_index, passed, l->count);
  TSI_SCRATCH(env, tsi_index, lane, steps);
  TSI_SCRATCH(env, tsi_index, place, steps);
  for (tsi_index s = 0; s < steps; s++) lane[s] = TSI_NONE;
  if (l->first[0] != 0 || l->first[l->count] != steps)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "lanes have %d of %d steps", l->first[l->count], steps);
  for (int k = 0; k < l->count; k++)
    if (tsi_lane_steps(l, k) < 0 || l->first[k + 1] > steps)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "lane %d has %d steps", k, tsi_lane_steps(l, k));
  for (int k = 0; k < l->count; k++)
    for (tsi_index at = l->first[k]; at < l->first[k + 1]; at++) {
      const tsi_index s = l->step[at];
      if (s < 0 || s >= steps || lane[s] != TSI_NONE)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d is listed twice", s);
      lane[s] = k;
      place[s] = at - l->first[k];
    }
  TSI_TRY(check_waits(env, l, steps));
  TSI_TRY(walk(env, l, steps, passed, c));
  for (tsi_count e = 0; e < edges; e++) {
    const tsi_index s = edge[e].item, before = edge[e].before;
    const bool ahead =
        lane[s] == lane[before] ? place[before] < place[s] : clock_of(c, s)[lane[before]] > place[before];
    if (!ahead)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "step %d of lane %d does not wait for step %d of lane %d", s,
               lane[s], before, lane[before]);
  }
  return TRISTAR_OK;
}
