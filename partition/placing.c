/* See placing.h. */
#include "partition/placing.h"

#include <stdlib.h>

/* The search ends with this many subtrees for each device and the cores. */
#define SUBTREES_PER_RESOURCE 32

typedef struct placer {
  const tsi_symbolic *symbolic;
  const tsi_place_costs *costs;
  double *entries;            /* supernodes: of the subtree */
  double *own;                /* supernodes: of the supernode itself */
  tsi_index *columns;         /* supernodes: of the subtree */
  tsi_index *child, *sibling; /* first child, next sibling; TSI_NONE */
  tsi_placed_subtree *list;   /* of the stage, in no order */
  tsi_index count;
  double above; /* entries above the subtrees */
} placer;

static double larger(double a, double b) {
  return a > b ? a : b;
}

static void describe_tree(placer *p, const tsi_panels *panels) {
  const tsi_symbolic *symbolic = p->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    p->own[s] = 0;
    p->child[s] = TSI_NONE;
    p->columns[s] = symbolic->start[s + 1] - symbolic->start[s];
    for (tsi_index k = panels->first[s]; k < panels->first[s + 1]; k++)
      p->own[s] += (double)tsi_panel_entries(panels, k);
    p->entries[s] = p->own[s];
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (parent == TSI_NONE) continue;
    p->entries[parent] += p->entries[s];
    p->columns[parent] += p->columns[s];
    p->sibling[s] = p->child[parent];
    p->child[parent] = s;
  }
}

/* ---- Stages -------------------------------------------------------------------------------------------- */

static void add_subtree(placer *p, tsi_index root) {
  const tsi_symbolic *symbolic = p->symbolic;
  p->list[p->count++] =
      (tsi_placed_subtree){.root = root,
                           .device = TSI_NONE,
                           .columns = p->columns[root],
                           .border = (tsi_index)(symbolic->row_ptr[root + 1] - symbolic->row_ptr[root]),
                           .entries = p->entries[root]};
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

static void start(placer *p) {
  p->count = 0;
  p->above = 0;
  for (tsi_index s = 0; s < p->symbolic->count; s++)
    if (p->symbolic->parent[s] == TSI_NONE) add_subtree(p, s);
}

/* ---- Dealing ------------------------------------------------------------------------------------------- */

/* Seconds of both directions. */
static double seconds_on_device(const tsi_place_costs *c, const tsi_placed_subtree *t) {
  const double bus = c->bus_seconds + c->row_bytes * ((double)t->columns + t->border) / c->bus_bandwidth;
  return 2 * larger(c->task_seconds + t->entries * c->stream_bytes / c->device_bandwidth, bus);
}
static double seconds_on_cores(const tsi_place_costs *c, double entries) {
  return 2 * entries * c->stream_bytes / c->cores_bandwidth;
}

static void load_device(const tsi_place_costs *c, const tsi_placed_subtree *t, tsi_device_load *load) {
  const double rows = (double)t->columns + t->border;
  load->subtrees++;
  load->bytes += t->entries * c->stored_bytes;
  load->up += rows * c->row_bytes;
  load->down += rows * c->row_bytes;
  load->seconds += seconds_on_device(c, t);
}

/* The device that has the least to do: of those with room for so many bytes, or of all. */
static tsi_index least_loaded(const tsi_placing *placing, const tsi_place_costs *c, double bytes, bool room) {
  tsi_index best = TSI_NONE;
  for (tsi_index d = 0; d < placing->devices; d++)
    if ((!room || placing->load[d].bytes + bytes <= c->device_memory) &&
        (best == TSI_NONE || placing->load[d].seconds < placing->load[best].seconds))
      best = d;
  return best;
}

/* Is a device the place for it? TSI_NONE is not. */
static bool belongs_on(const tsi_placing *placing, const tsi_place_costs *c, tsi_index device,
                       const tsi_placed_subtree *t) {
  return device != TSI_NONE &&
         (c->devices_first || placing->load[device].seconds + seconds_on_device(c, t) <
                                  placing->cores_seconds + seconds_on_cores(c, t->entries));
}

static void place(const tsi_place_costs *c, tsi_placed_subtree *t, tsi_placing *placing) {
  const double bytes = t->entries * c->stored_bytes;
  const tsi_index device = least_loaded(placing, c, bytes, true),
                  wanted = least_loaded(placing, c, bytes, false);
  t->device = belongs_on(placing, c, device, t) ? device : TSI_NONE;
  if (t->device != TSI_NONE) {
    load_device(c, t, &placing->load[device]);
    return;
  }
  if (belongs_on(placing, c, wanted, t)) placing->unfit_bytes += bytes;
  placing->cores_seconds += seconds_on_cores(c, t->entries);
}

static int by_entries(const void *a, const void *b) {
  const tsi_placed_subtree *x = a, *y = b;
  if (x->entries != y->entries) return x->entries > y->entries ? -1 : 1;
  return (x->root > y->root) - (x->root < y->root);
}

/* Deals out the subtrees of the stage; sorted: room for them. */
static void deal(const placer *p, tsi_placed_subtree *sorted, tsi_placing *placing) {
  double last;
  memcpy(sorted, p->list, (size_t)p->count * sizeof *sorted);
  qsort(sorted, (size_t)p->count, sizeof *sorted, by_entries);
  memset(placing->load, 0, (size_t)placing->devices * sizeof *placing->load);
  placing->cores_seconds = placing->unfit_bytes = 0;
  placing->above_seconds = seconds_on_cores(p->costs, p->above);
  for (tsi_index k = 0; k < p->count; k++) place(p->costs, &sorted[k], placing);
  last = placing->cores_seconds;
  for (tsi_index d = 0; d < placing->devices; d++) last = larger(last, placing->load[d].seconds);
  placing->seconds = last + placing->above_seconds;
}

static bool goes_on(const placer *p) {
  if (p->count == 0 || p->child[p->list[heaviest(p)].root] == TSI_NONE) return false;
  return p->count <= SUBTREES_PER_RESOURCE * (p->costs->devices + 1);
}

static bool uses_devices(const tsi_placing *placing) {
  for (tsi_index d = 0; d < placing->devices; d++)
    if (placing->load[d].subtrees > 0) return true;
  return false;
}

/* The number of splits of the best stage. */
static tsi_index best_splits(placer *p, tsi_placed_subtree *sorted, tsi_placing *placing) {
  tsi_index best = 0, splits = 0;
  double lowest = -1;
  bool uses = false; /* the best stage has subtrees on devices, where that comes first */
  for (start(p);; split(p), splits++) {
    deal(p, sorted, placing);
    const bool now = p->costs->devices_first && uses_devices(placing);
    if (lowest < 0 || (now == uses ? placing->seconds < lowest : now)) {
      lowest = placing->seconds;
      uses = now;
      best = splits;
    }
    if (!goes_on(p)) return best;
  }
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static tristar_status allocate(tsi_env *env, placer *p) {
  tristar_status status = TRISTAR_OK;
  const tsi_index count = p->symbolic->count;
  TSI_TRY(TSI_ALLOC(env, p->entries, count));
  TSI_TRY(TSI_ALLOC(env, p->own, count));
  TSI_TRY(TSI_ALLOC(env, p->columns, count));
  TSI_TRY(TSI_ALLOC(env, p->child, count));
  TSI_TRY(TSI_ALLOC(env, p->sibling, count));
  TSI_TRY(TSI_ALLOC(env, p->list, count));
out:
  return status;
}

tristar_status tsi_placing_create(tsi_env *env, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                  const tsi_place_costs *costs, tsi_placing **out) {
  tristar_status status = TRISTAR_OK;
  placer p = {.symbolic = symbolic, .costs = costs};
  tsi_placing *placing = NULL;
  *out = NULL;
  if (!symbolic->closed)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "subtrees of factors whose rows are not those of a factorization cannot be placed on devices");
  TSI_TRY(allocate(env, &p));
  TSI_TRY(TSI_ALLOC_ZERO(env, placing, 1));
  placing->devices = costs->devices;
  TSI_TRY(TSI_ALLOC_ZERO(env, placing->load, costs->devices));
  TSI_TRY(TSI_ALLOC(env, placing->subtree, symbolic->count));
  describe_tree(&p, panels);
  const tsi_index splits = best_splits(&p, placing->subtree, placing);
  start(&p);
  for (tsi_index k = 0; k < splits; k++) split(&p);
  deal(&p, placing->subtree, placing);
  placing->count = p.count;
  for (tsi_index s = 0; s < symbolic->count; s++) placing->only_cores += seconds_on_cores(costs, p.own[s]);
  if (env->check) TSI_TRY(tsi_placing_check(env, placing, symbolic, panels, costs));
out:
  TSI_FREE(env, p.entries);
  TSI_FREE(env, p.own);
  TSI_FREE(env, p.columns);
  TSI_FREE(env, p.child);
  TSI_FREE(env, p.sibling);
  TSI_FREE(env, p.list);
  if (status != TRISTAR_OK) tsi_placing_destroy(env, &placing);
  *out = placing;
  return status;
}

void tsi_placing_destroy(tsi_env *env, tsi_placing **placing) {
  if (*placing == NULL) return;
  TSI_FREE(env, (*placing)->subtree);
  TSI_FREE(env, (*placing)->load);
  TSI_FREE(env, *placing);
}

void tsi_placing_devices(const tsi_placing *placing, const tsi_symbolic *symbolic, tsi_index *device) {
  for (tsi_index s = 0; s < symbolic->count; s++) device[s] = TSI_NONE;
  for (tsi_index k = 0; k < placing->count; k++)
    device[placing->subtree[k].root] = placing->subtree[k].device;
  for (tsi_index s = symbolic->count; s-- > 0;) /* parents come later: devices go down */
    if (symbolic->parent[s] != TSI_NONE && device[symbolic->parent[s]] != TSI_NONE)
      device[s] = device[symbolic->parent[s]];
}

/* ---- Check --------------------------------------------------------------------------------------------- */

/* The subtree that supernode s is in, by its root; TSI_NONE: it is above. root: of parents, known. */
static tristar_status find_root(tsi_env *env, const tsi_symbolic *symbolic, tsi_index s, bool is_root,
                                tsi_index *root) {
  tristar_status status = TRISTAR_OK;
  const tsi_index parent = symbolic->parent[s], above = parent == TSI_NONE ? TSI_NONE : root[parent];
  if (is_root && above != TSI_NONE)
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "subtree %d is in subtree %d", s, above);
  root[s] = is_root ? s : above;
out:
  return status;
}

static tristar_status check_subtree(tsi_env *env, const tsi_placing *placing, const tsi_symbolic *symbolic,
                                    const tsi_panels *panels, tsi_index k, const tsi_index *root) {
  tristar_status status = TRISTAR_OK;
  const tsi_placed_subtree *t = &placing->subtree[k];
  tsi_index columns = 0;
  double entries = 0;
  for (tsi_index s = 0; s <= t->root; s++) {
    if (root[s] != t->root) continue;
    columns += symbolic->start[s + 1] - symbolic->start[s];
    for (tsi_index p = panels->first[s]; p < panels->first[s + 1]; p++)
      entries += (double)tsi_panel_entries(panels, p);
  }
  if (t->columns != columns || t->entries != entries ||
      t->border != symbolic->row_ptr[t->root + 1] - symbolic->row_ptr[t->root] ||
      (t->device != TSI_NONE && (t->device < 0 || t->device >= placing->devices)))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "subtree %d on device %d: %d columns, a border of %d, %g entries",
             t->root, t->device, t->columns, t->border, t->entries);
out:
  return status;
}

static tristar_status check_loads(tsi_env *env, const tsi_placing *placing, const tsi_place_costs *costs) {
  tristar_status status = TRISTAR_OK;
  for (tsi_index d = 0; d < placing->devices; d++) {
    const tsi_device_load *load = &placing->load[d];
    tsi_device_load sum = {0};
    for (tsi_index k = 0; k < placing->count; k++)
      if (placing->subtree[k].device == d) load_device(costs, &placing->subtree[k], &sum);
    if (sum.subtrees != load->subtrees || sum.bytes != load->bytes || sum.up != load->up ||
        sum.down != load->down || sum.seconds != load->seconds || load->bytes > costs->device_memory)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "device %d: %d subtrees of %g bytes, %g bytes up, %g down", d,
               load->subtrees, load->bytes, load->up, load->down);
  }
out:
  return status;
}

tristar_status tsi_placing_check(tsi_env *env, const tsi_placing *placing, const tsi_symbolic *symbolic,
                                 const tsi_panels *panels, const tsi_place_costs *costs) {
  tristar_status status = TRISTAR_OK;
  bool *is_root = NULL;
  tsi_index *root = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, is_root, symbolic->count));
  TSI_TRY(TSI_ALLOC(env, root, symbolic->count));
  for (tsi_index k = 0; k < placing->count; k++) is_root[placing->subtree[k].root] = true;
  for (tsi_index s = symbolic->count; s-- > 0;) TSI_TRY(find_root(env, symbolic, s, is_root[s], root));
  for (tsi_index k = 0; k < placing->count; k++)
    TSI_TRY(check_subtree(env, placing, symbolic, panels, k, root));
  TSI_TRY(check_loads(env, placing, costs));
out:
  TSI_FREE(env, is_root);
  TSI_FREE(env, root);
  return status;
}
