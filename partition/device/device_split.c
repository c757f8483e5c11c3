/* See device_split.h. */
#include "partition/device/device_split.h"

#include <float.h>
#include <stdlib.h>

/* The search ends at this number of subtrees for each device and for the cores. */
#define SUBTREES_PER_RESOURCE 32

/* Maximum number of schedules for improving the best placing. */
#define REFINING_RUNS 256

/* Maximum number of supernodes and panels in all schedules of a search together (some seconds), and minimum
 * number of schedules: a chain has a stage for each of its supernodes. */
#define SEARCH_ITEMS 3e8
#define SEARCH_RUNS 256

/* Speeds of the cores that are assumed when subtrees are assigned, as shares of their bandwidth. */
static const double core_shares[] = {1, 0.5, 0.25, 0};
#define SHARES (sizeof core_shares / sizeof *core_shares)

/* Parts of the factor that are tried for devices. */
static const double device_parts[] = {0.75, 0.5, 0.25};
#define PARTS (sizeof device_parts / sizeof *device_parts)

typedef struct placer {
  const tsi_symbolic *symbolic;
  const tsi_device_split_costs *costs;
  tsi_index panels;
  double *entries, *bytes;    /* supernodes: entries of the subtree; its bytes in device memory */
  double *own;                /* supernodes: entries of the supernode itself */
  double *extra, *scratch;    /* supernodes: of the subtree, without its border */
  tsi_index *columns;         /* supernodes: columns of the subtree */
  tsi_index *child, *sibling; /* First child, next sibling; TSI_NONE. */
  tsi_split_subtree *list;    /* Subtrees of the stage, unordered. */
  tsi_index count;
  double above; /* Entries of the ancestors of the subtrees. */
  double total; /* Bytes that a device would keep for the whole factor. */
  tsi_device_split_schedule *schedule;
  tsi_device_split *trial, *best;
  double only_cores; /* Seconds of a solve without devices. */
  double runs;       /* Number of schedules that the search may still compute. */
  double requested;  /* Maximum bytes for devices, limited by their memory; 0: the search minimizes time. */
  double bearable;   /* Maximum seconds of a placing with more bytes on devices. */
} placer;

static void describe_tree(placer *p, const tsi_panels *panels) {
  const tsi_symbolic *symbolic = p->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    p->own[s] = 0;
    p->child[s] = TSI_NONE;
    p->columns[s] = symbolic->start[s + 1] - symbolic->start[s];
    for (tsi_index k = panels->first[s]; k < panels->first[s + 1]; k++)
      p->own[s] += (double)tsi_panel_entries(panels, k);
    p->entries[s] = p->own[s];
    p->bytes[s] = p->costs->stored[s];
    p->extra[s] = p->costs->extra ? p->costs->extra[s] : 0;
    p->scratch[s] = p->costs->scratch ? p->costs->scratch[s] : 0;
    p->total += p->bytes[s] + p->extra[s];
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (parent == TSI_NONE) continue;
    p->entries[parent] += p->entries[s];
    p->bytes[parent] += p->bytes[s];
    p->extra[parent] += p->extra[s];
    p->scratch[parent] += p->scratch[s];
    p->columns[parent] += p->columns[s];
    p->sibling[s] = p->child[parent];
    p->child[parent] = s;
  }
}

/* ---- Stages -------------------------------------------------------------------------------------------- */

static void add_subtree(placer *p, tsi_index root) {
  const tsi_device_split_costs *c = p->costs;
  const tsi_index border = tsi_device_split_border(c, p->symbolic, root);
  p->list[p->count++] =
      (tsi_split_subtree){.root = root,
                          .device = TSI_NONE,
                          .columns = p->columns[root],
                          .border = border,
                          .entries = p->entries[root],
                          .bytes = p->bytes[root],
                          .memory = tsi_device_split_memory(c, p->bytes[root], p->extra[root], border),
                          .scratch = p->scratch[root] + border * c->border_scratch};
}

static tsi_index heaviest(const placer *p) {
  tsi_index best = 0;
  for (tsi_index k = 1; k < p->count; k++)
    if (p->list[k].entries > p->list[best].entries) best = k;
  return best;
}

/* Replaces the heaviest subtree by its children. */
static void split(placer *p) {
  const tsi_index at = heaviest(p), root = p->list[at].root;
  p->list[at] = p->list[--p->count];
  p->above += p->own[root];
  for (tsi_index s = p->child[root]; s != TSI_NONE; s = p->sibling[s]) add_subtree(p, s);
}

static bool is_shared(const placer *p, tsi_index s) {
  return s != TSI_NONE && p->costs->shared && p->costs->shared[s];
}

static void start(placer *p) {
  p->count = 0;
  p->above = 0;
  for (tsi_index s = 0; s < p->symbolic->count; s++)
    if (is_shared(p, s))
      p->above += p->own[s];
    else if (p->symbolic->parent[s] == TSI_NONE || is_shared(p, p->symbolic->parent[s]))
      add_subtree(p, s);
}

/* ---- Assignment ---------------------------------------------------------------------------------------- */

/* The state of an assignment of subtrees. */
typedef struct deal {
  const tsi_device_split_costs *costs;
  tsi_index devices; /* Number of devices that are used, the first ones. */
  double share;      /* One of core_shares. */
  double space;      /* Bytes of a device that may be used: its memory, or less. */
  double cores;      /* Seconds of a solve that the cores read for their subtrees so far. */
} deal;

/* Seconds of a solve that all cores read these entries, in both directions. */
static double seconds_on_cores(const tsi_device_split_costs *c, double entries) {
  return 2 * entries * c->stream_bytes / c->cores_bandwidth;
}

/* Seconds of a solve on a device with an additional subtree. */
static double busy_with(const tsi_device_split_costs *c, const tsi_device_load *load,
                        const tsi_split_subtree *t) {
  tsi_device_load more = *load;
  tsi_device_load_add(c, t, &more);
  return more.seconds;
}

/* Does a device with its present load have enough memory for the subtree? */
static bool has_space(const deal *d, const tsi_device_load *load, const tsi_split_subtree *t) {
  return load->memory + t->memory + tsi_double_max(load->scratch, t->scratch) <= d->space;
}

/* The device that would end first, among all devices, or (space) those with enough memory for the subtree. */
static tsi_index first_through(const tsi_device_split *placing, const deal *d, const tsi_split_subtree *t,
                               bool space) {
  const tsi_device_split_costs *c = d->costs;
  tsi_index best = TSI_NONE;
  for (tsi_index k = 0; k < d->devices; k++)
    if ((!space || has_space(d, &placing->load[k], t)) &&
        (best == TSI_NONE || busy_with(c, &placing->load[k], t) < busy_with(c, &placing->load[best], t)))
      best = k;
  return best;
}

/* Is the device better than the cores? false for TSI_NONE. */
static bool belongs_on(const tsi_device_split *placing, const deal *d, tsi_index device,
                       const tsi_split_subtree *t) {
  return device != TSI_NONE &&
         (d->costs->devices_first || d->share * busy_with(d->costs, &placing->load[device], t) <
                                         d->cores + seconds_on_cores(d->costs, t->entries));
}

static void place(deal *d, tsi_split_subtree *t, tsi_device_split *placing) {
  const tsi_index device = first_through(placing, d, t, true),
                  requested = first_through(placing, d, t, false);
  t->device = belongs_on(placing, d, device, t) ? device : TSI_NONE;
  if (t->device != TSI_NONE) {
    tsi_device_load_add(d->costs, t, &placing->load[device]);
    return;
  }
  if (d->space == d->costs->device_memory && belongs_on(placing, d, requested, t))
    placing->unfit_bytes += t->bytes;
  d->cores += seconds_on_cores(d->costs, t->entries);
}

static int by_entries(const void *a, const void *b) {
  const tsi_split_subtree *x = a, *y = b;
  if (x->entries != y->entries) return x->entries > y->entries ? -1 : 1;
  return (x->root > y->root) - (x->root < y->root);
}

/* Copies the stage to the trial, without devices. */
static void begin_deal(placer *p) {
  tsi_device_split *trial = p->trial;
  memset(trial->load, 0, (size_t)trial->devices * sizeof *trial->load);
  memcpy(trial->subtree, p->list, (size_t)p->count * sizeof *p->list);
  trial->unfit_bytes = 0;
  trial->count = p->count;
}

/* A lower bound of the seconds of a solve, from the subtree's device. */
static double device_bound(const placer *p, const tsi_split_subtree *t) {
  if (t->device == TSI_NONE) return 0;
  return tsi_double_max(2 * tsi_device_split_seconds_alone(p->costs, t), p->trial->load[t->device].seconds);
}

/* Assigns the subtrees of the stage in the trial, the heaviest first. Devices may get the `most` heaviest
 * ones, or this part of the factor. Returns a bound of its seconds. */
static double deal_out(placer *p, tsi_index devices, double share, tsi_index most, double part) {
  deal d = {.costs = p->costs, .devices = devices, .share = share, .space = p->costs->device_memory};
  if (part < 1) d.space = tsi_double_min(d.space, part * p->total / devices);
  double bound = 0;
  begin_deal(p);
  for (tsi_index k = 0; k < p->count; k++) {
    if (k == most) d.devices = 0;
    place(&d, &p->trial->subtree[k], p->trial);
    bound = tsi_double_max(bound, device_bound(p, &p->trial->subtree[k]));
  }
  return tsi_double_max(bound, d.cores + seconds_on_cores(p->costs, p->above));
}

/* The best number of heaviest subtrees for devices, by the bound. */
static tsi_index best_most(placer *p, tsi_index devices) {
  deal d = {.costs = p->costs, .devices = devices, .space = p->costs->device_memory};
  tsi_index best = 0;
  double lowest = DBL_MAX, bound = 0, rest = p->above;
  begin_deal(p);
  for (tsi_index k = 0; k < p->count; k++) rest += p->list[k].entries;
  for (tsi_index k = 0; k < p->count; k++) {
    place(&d, &p->trial->subtree[k], p->trial);
    bound = tsi_double_max(bound, device_bound(p, &p->trial->subtree[k]));
    rest -= p->list[k].entries;
    const double now = tsi_double_max(bound, d.cores + seconds_on_cores(p->costs, rest));
    if (now >= lowest) continue;
    lowest = now;
    best = k + 1;
  }
  return best;
}

static tristar_status run_schedule(tsi_env *env, tsi_device_split_schedule *schedule,
                                   tsi_device_split *placing) {
  tsi_device_split_times times;
  TSI_TRY(tsi_device_split_schedule_run(env, schedule, placing->subtree, placing->count, &times));
  placing->seconds = 2 * times.end;
  placing->cores_seconds = 2 * times.cores;
  placing->above_seconds = 2 * (times.end - times.subtrees);
  return TRISTAR_OK;
}

/* ---- Search -------------------------------------------------------------------------------------------- */

static bool uses_devices(const tsi_device_split *placing) {
  for (tsi_index d = 0; d < placing->devices; d++)
    if (placing->load[d].subtrees > 0) return true;
  return false;
}

static void swap(placer *p) {
  tsi_device_split *better = p->trial;
  p->trial = p->best;
  p->best = better;
}

/* Takes the trial if it has more of the factor on devices, at most the wanted bytes, in bearable time; or as
 * much in less time. If the time of the best placing is not bearable, any faster trial is taken. */
static tristar_status judge_bytes(tsi_env *env, placer *p, double bound) {
  const double bytes = tsi_device_split_bytes(p->trial), best = tsi_device_split_bytes(p->best);
  const bool uses = uses_devices(p->best), late = uses && p->best->seconds > p->bearable;
  const double less = !uses ? DBL_MAX : late || bytes == best ? p->best->seconds : p->bearable;
  if (bytes > p->requested || (bytes < best && !late) || bound >= less || p->runs-- <= 0) return TRISTAR_OK;
  TSI_TRY(run_schedule(env, p->schedule, p->trial));
  if (p->trial->seconds < less) swap(p);
  return TRISTAR_OK;
}

/* Takes the trial if it is better. bound: of its seconds. */
static tristar_status judge(tsi_env *env, placer *p, tsi_index devices, double bound) {
  const bool first = p->costs->devices_first, uses = uses_devices(p->best);
  if (!uses_devices(p->trial)) return TRISTAR_OK;
  if (first && devices < p->costs->devices && p->trial->unfit_bytes > 0) return TRISTAR_OK;
  if (p->requested > 0) return judge_bytes(env, p, bound);
  if (bound >= p->best->seconds && (!first || uses)) return TRISTAR_OK;
  if (p->runs-- <= 0) return TRISTAR_OK;
  TSI_TRY(run_schedule(env, p->schedule, p->trial));
  if (p->trial->seconds < p->best->seconds || (first && !uses)) swap(p);
  return TRISTAR_OK;
}

/* Notes the unfit bytes if the trial, like the best placing so far, uses the cores alone only for lack of
 * memory. */
static void note_unfit(placer *p) {
  if (!uses_devices(p->trial) && !uses_devices(p->best))
    p->best->unfit_bytes = tsi_double_max(p->best->unfit_bytes, p->trial->unfit_bytes);
}

/* Tries all assignments of the stage. */
static tristar_status try_stage(tsi_env *env, placer *p) {
  const tsi_device_split_costs *c = p->costs;
  qsort(p->list, (size_t)p->count, sizeof *p->list, by_entries);
  for (tsi_index devices = 1; devices <= c->devices; devices++) {
    for (size_t k = 0; k < (c->devices_first ? 1 : SHARES); k++) {
      const double bound = deal_out(p, devices, core_shares[k], p->count, 1);
      if (k == 0) note_unfit(p);
      TSI_TRY(judge(env, p, devices, bound));
    }
    if (c->devices_first) continue;
    const tsi_index most = best_most(p, devices);
    TSI_TRY(judge(env, p, devices, deal_out(p, devices, 0, most, 1)));
    for (size_t k = 0; k < PARTS; k++)
      TSI_TRY(judge(env, p, devices, deal_out(p, devices, 0, p->count, device_parts[k])));
  }
  return TRISTAR_OK;
}

static bool goes_on(const placer *p) {
  if (p->count == 0 || p->child[p->list[heaviest(p)].root] == TSI_NONE) return false;
  return p->count <= SUBTREES_PER_RESOURCE * (p->costs->devices + 1);
}

/* Makes the trial from the best placing, with subtree k on another device or on the cores. Returns a bound of
 * its seconds; negative: memory is too small. */
static double move(placer *p, tsi_index k, tsi_index device) {
  const tsi_device_split_costs *c = p->costs;
  tsi_device_split *trial = p->trial;
  double bound = 0;
  trial->count = p->best->count;
  trial->unfit_bytes = p->best->unfit_bytes;
  memcpy(trial->subtree, p->best->subtree, (size_t)trial->count * sizeof *trial->subtree);
  memset(trial->load, 0, (size_t)trial->devices * sizeof *trial->load);
  trial->subtree[k].device = device;
  for (tsi_index j = 0; j < trial->count; j++) {
    const tsi_split_subtree *t = &trial->subtree[j];
    if (t->device == TSI_NONE) continue;
    tsi_device_load_add(c, t, &trial->load[t->device]);
    bound = tsi_double_max(
        bound, tsi_double_max(2 * tsi_device_split_seconds_alone(c, t), trial->load[t->device].seconds));
  }
  return device != TSI_NONE && tsi_device_load_memory(&trial->load[device]) > c->device_memory ? -1 : bound;
}

/* Another resource for subtree k of the best placing: the cores, or the device that would end first. */
static tsi_index elsewhere(const placer *p, tsi_index k) {
  const tsi_split_subtree *t = &p->best->subtree[k];
  const deal d = {.costs = p->costs, .devices = p->costs->devices, .space = p->costs->device_memory};
  return t->device == TSI_NONE ? first_through(p->best, &d, t, true) : TSI_NONE;
}

/* Moves single subtrees of the best placing, among its heaviest, between devices and cores as long as this
 * helps. */
static tristar_status refine(tsi_env *env, placer *p) {
  tsi_index since = 0; /* Subtrees tried since the last improvement. */
  const tsi_index most = tsi_index_min(p->best->count, SUBTREES_PER_RESOURCE * (p->costs->devices + 1));
  if (p->costs->devices_first || !uses_devices(p->best)) return TRISTAR_OK;
  for (tsi_index k = 0; since < most && p->runs > 0; k = (k + 1) % most) {
    const double before = p->best->seconds;
    const tsi_index device = elsewhere(p, k);
    const double bound =
        device == p->best->subtree[k].device ? -1 : move(p, k, device); /* no device has enough memory */
    since++;
    if (bound < 0 || bound >= before || !uses_devices(p->trial)) continue;
    TSI_TRY(judge(env, p, p->costs->devices, bound));
    if (p->best->seconds < before) since = 0;
  }
  return TRISTAR_OK;
}

/* Finds the best placing of all stages, starting with the cores alone. */
static tristar_status search_stages(tsi_env *env, placer *p) {
  start(p);
  p->runs = tsi_double_max(SEARCH_RUNS, SEARCH_ITEMS / ((double)p->symbolic->count + p->panels + 1));
  (void)deal_out(p, 0, 1, 0, 1);
  TSI_TRY(run_schedule(env, p->schedule, p->trial));
  p->only_cores = p->trial->seconds;
  swap(p);
  TSI_TRY(try_stage(env, p));
  while (goes_on(p) && p->runs > 0) {
    split(p);
    TSI_TRY(try_stage(env, p));
  }
  return TRISTAR_OK;
}

/* Finds the assignment that devices would have with enough memory; if memory is too small, as much of it as
 * fits. */
static tristar_status search_devices_first(tsi_env *env, placer *p) {
  const tsi_device_split_costs *costs = p->costs;
  tsi_device_split_costs roomy = *costs;
  roomy.device_memory = DBL_MAX;
  p->costs = &roomy;
  tristar_status status = search_stages(env, p);
  p->costs = costs;
  if (status != TRISTAR_OK || tsi_device_split_has_space(costs, p->best)) return status;
  p->requested = tsi_device_split_bytes(p->best);
  p->bearable = tsi_double_max(p->only_cores, p->best->seconds);
  TSI_TRY(search_stages(env, p));
  p->best->unfit_bytes = p->requested - tsi_device_split_bytes(p->best);
  return status;
}

static tristar_status search(tsi_env *env, placer *p) {
  TSI_TRY(p->costs->devices_first ? search_devices_first(env, p) : search_stages(env, p));
  const double only_cores = p->only_cores;
  p->runs = REFINING_RUNS;
  TSI_TRY(refine(env, p));
  p->best->only_cores = only_cores;
  for (tsi_index k = 0; k < p->best->count; k++) {
    tsi_split_subtree *t = &p->best->subtree[k];
    t->seconds = t->device == TSI_NONE ? 0 : 2 * tsi_device_split_device_seconds(p->costs, t);
  }
  return TRISTAR_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static tristar_status create_placing(placer *p, tsi_device_split **out) {
  TSI_TRY(TSI_ALLOC_ZERO_IN(p, *out, 1));
  (*out)->devices = p->costs->devices;
  TSI_TRY(TSI_ALLOC_ZERO_IN(*out, (*out)->load, p->costs->devices));
  return TSI_ALLOC_IN(*out, (*out)->subtree, p->symbolic->count);
}

static tristar_status allocate(tsi_env *env, const tsi_panels *panels, placer *p) {
  const tsi_index count = p->symbolic->count;
  TSI_TRY(TSI_ALLOC_IN(p, p->entries, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->bytes, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->extra, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->scratch, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->own, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->columns, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->child, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->sibling, count));
  TSI_TRY(TSI_ALLOC_IN(p, p->list, count));
  TSI_TRY(tsi_device_split_schedule_create(env, p->symbolic, panels, p->costs, &p->schedule));
  tsi_own(p, p->schedule);
  TSI_TRY(create_placing(p, &p->trial));
  return create_placing(p, &p->best);
}

tristar_status tsi_device_split_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                       const tsi_device_split_costs *costs, tsi_device_split **out) {
  *out = NULL;
  TSI_SCRATCH(env, placer, p, 1);
  *p = (placer){.symbolic = symbolic, .costs = costs, .panels = panels->count};
  TSI_TRY(allocate(env, panels, p));
  describe_tree(p, panels);
  TSI_TRY(search(env, p));
  if (env->check) TSI_TRY(tsi_device_split_check(env, p->best, symbolic, panels, costs));
  tsi_own(NULL, p->best);
  *out = p->best;
  return TRISTAR_OK;
}
