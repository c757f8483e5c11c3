/* Tables of distributed triangles: see spread_rows.h. */
#include "runtime/exec/device/spread_rows.h"

#include <string.h>

#include "runtime/base/types.h"

/* ---- Placement ----------------------------------------------------------------------------------------- */

static void deal_tasks(const tsi_lines *lines, tsi_index pes, tsi_index tasks, tsi_index *owner) {
  const tsi_count all = (tsi_count)pes * tasks;
  const tsi_index size = (tsi_index)tsi_count_max(1, (lines->n + all - 1) / all);
  for (tsi_index k = 0; k < lines->n; k++) owner[tsi_line_of(lines, k)] = k / size % pes;
}

/* Rows of a level set with less weight take one PE as long as several. */
#define LEAST_WEIGHT 2048
#define SLACK 1.1 /* a PE may exceed its share by this factor */

typedef struct placing {
  const tsi_lines *lines;
  tsi_index pes;
  tsi_index *owner;
  double *all, *now; /* pes: weight of all rows of a PE; of its rows of the level set */
  double most_all, most_now;
  tsi_index *entries; /* pes: entries of one row; zeros between rows */
  tsi_index latest;   /* PE of the previous row */
} placing;

static double weigh(const tsi_lines *lines, tsi_index i) {
  return 1 + (double)(lines->ptr[i + 1] - lines->ptr[i]);
}

/* Whether the PE can take another row. */
static bool has_space(const placing *p, tsi_index pe) {
  return p->all[pe] < p->most_all && p->now[pe] < p->most_now;
}

/* Among the PEs that can take a row: the PE of most rows that it waits for, else the PE of the previous row.
 * Otherwise the PE with the least weight. */
static tsi_index choose_pe(const placing *p, tsi_index i) {
  tsi_count first, end, e;
  tsi_index best = has_space(p, p->latest) ? p->latest : TSI_NONE, least = 0;
  tsi_lines_inner(p->lines, i, &first, &end);
  for (e = first; e < end; e++) p->entries[p->owner[p->lines->index[e]]]++;
  for (tsi_index pe = 0; pe < p->pes; pe++) {
    if (p->all[pe] < p->all[least]) least = pe;
    if (has_space(p, pe) && p->entries[pe] > (best == TSI_NONE ? 0 : p->entries[best])) best = pe;
  }
  for (e = first; e < end; e++) p->entries[p->owner[p->lines->index[e]]] = 0;
  return best == TSI_NONE ? least : best;
}

static void place_level(placing *p, const tsi_index *row, tsi_index count) {
  double weight = 0;
  for (tsi_index k = 0; k < count; k++) weight += weigh(p->lines, row[k]);
  p->most_now = SLACK * (weight / p->pes > LEAST_WEIGHT ? weight / p->pes : LEAST_WEIGHT);
  for (tsi_index pe = 0; pe < p->pes; pe++) p->now[pe] = 0;
  for (tsi_index k = 0; k < count; k++) {
    const tsi_index pe = choose_pe(p, row[k]);
    p->owner[row[k]] = p->latest = pe;
    p->all[pe] += weigh(p->lines, row[k]);
    p->now[pe] += weigh(p->lines, row[k]);
  }
}

static tristar_status place_near(tsi_env *env, const tsi_lines *lines, tsi_index pes, tsi_index *owner) {
  placing p = {.lines = lines, .pes = pes, .owner = owner};
  TSI_SCRATCH(env, tsi_index, level, lines->n);
  TSI_SCRATCH(env, tsi_index, row, lines->n);
  TSI_SCRATCH_ZERO(env, double, weight, 2 * pes);
  TSI_SCRATCH_ZERO(env, tsi_index, entries, pes);
  const tsi_index levels = tsi_row_levels(lines, level);
  TSI_SCRATCH_ZERO(env, tsi_index, first, (tsi_count)levels + 2);
  p.all = weight;
  p.now = weight + pes;
  p.entries = entries;
  p.most_all = SLACK * ((double)lines->ptr[lines->n] + lines->n) / pes;
  for (tsi_index i = 0; i < lines->n; i++) first[level[i] + 2]++;
  for (tsi_index k = 0; k < levels; k++) first[k + 2] += first[k + 1];
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k);
    row[first[level[i] + 1]++] = i;
  }
  for (tsi_index k = 0; k < levels; k++) place_level(&p, row + first[k], first[k + 1] - first[k]);
  return TRISTAR_OK;
}

tristar_status tsi_spread_place(tsi_env *env, const tsi_lines *lines, tsi_index pes, tsi_index tasks,
                                tsi_index *owner) {
  if (tasks == 0) return place_near(env, lines, pes, owner);
  deal_tasks(lines, pes, tasks, owner);
  return TRISTAR_OK;
}

/* ---- Tables -------------------------------------------------------------------------------------------- */

typedef struct maker {
  tsi_env *env;
  const tsi_lines *lines;
  const tsi_spread_options *options;
  tsi_spread_plan *plan;
  tsi_index *level; /* n */
  tsi_index *local; /* n: number of the own row */
  tsi_index *next;  /* keys + 1: number of items of each key, then position of the next one */
  tsi_index keys;
  tsi_index *made; /* pes: number of left sums so far */
} maker;

/* Properties of a row for a PE. */
typedef struct part {
  uint64_t pes;      /* PEs that have entries of the row */
  tsi_index entries; /* own entries */
  tsi_index key;     /* key of the item */
  bool own;
} part;

static part look_at(const maker *m, tsi_index i) {
  const tsi_spread_options *o = m->options;
  tsi_count e, end;
  tsi_index level = -1;
  part p = {.own = o->owner[i] == o->pe};
  tsi_lines_inner(m->lines, i, &e, &end);
  for (; e < end; e++) {
    const tsi_index j = m->lines->index[e];
    p.pes |= (uint64_t)1 << o->owner[j];
    if (o->owner[j] != o->pe) continue;
    p.entries++;
    level = tsi_index_max(level, m->level[j]);
  }
  p.key = 2 * (p.own ? m->level[i] : level + 1) + (p.own ? TSI_SPREAD_ROWS : TSI_SPREAD_SUMS);
  return p;
}

static bool makes_item(const part *p) {
  return p->own || p->entries > 0;
}
static bool sends(const tsi_spread_options *o, const part *p, tsi_index i, tsi_index pe) {
  return pe != o->owner[i] && (p->pes >> pe & 1) != 0;
}
static tristar_status count(maker *m) {
  const tsi_lines *lines = m->lines;
  const tsi_spread_options *o = m->options;
  tsi_spread_plan *plan = m->plan;
  TSI_SCRATCH_ZERO(m->env, tsi_index, rows, o->pes);
  for (tsi_index k = 0; k < lines->n; k++) {
    const tsi_index i = tsi_line_of(lines, k);
    const part p = look_at(m, i);
    rows[o->owner[i]]++;
    for (tsi_index pe = 0; pe < o->pes; pe++) {
      m->made[pe] += sends(o, &p, i, pe);
      plan->gets += p.own && sends(o, &p, i, pe);
    }
    if (!makes_item(&p)) continue;
    if (p.own) m->local[i] = plan->rows++;
    plan->items++;
    plan->entries += p.entries;
    m->next[p.key + 1]++;
  }
  plan->slots = m->made[o->pe];
  for (tsi_index pe = 0; pe < o->pes; pe++) {
    plan->most_rows = tsi_index_max(plan->most_rows, rows[pe]);
    plan->most_slots = tsi_index_max(plan->most_slots, m->made[pe]);
  }
  if (plan->entries > TSI_INDEX_MAX)
    TSI_FAIL(m->env, TRISTAR_ERR_TOO_LARGE, "%lld entries of a triangle on one PE", (long long)plan->entries);
  return TRISTAR_OK;
}

/* Lanes of a row: at least the average number of entries, and one for each PE that it may poll. */
static tsi_index choose_threads(const tsi_spread_plan *plan, tsi_index pes) {
  const tsi_count average = plan->items > 0 ? plan->entries / plan->items : 0;
  tsi_index threads = 1;
  while (threads < TSI_SPREAD_LANES && (threads < average || threads < pes - 1)) threads *= 2;
  return threads;
}

static tsi_index bundles_of(tsi_index items, tsi_index threads) {
  const tsi_index each = TSI_SPREAD_BUNDLE / threads;
  return (items + each - 1) / each;
}

#define ARRAYS(A)                                                                                            \
  A(tsi_spread_bundle, bundle, plan->tables.bundles)                                                         \
  A(tsi_index, row, plan->items)                                                                             \
  A(tsi_index, begin, plan->items + 1)                                                                       \
  A(tsi_index, column, plan->entries)                                                                        \
  A(tsi_index, slot, (tsi_count)plan->rows *(plan->pes - 1))

/* Sets the pointers of *to into a block; returns its bytes. */
static size_t lay_out(const tsi_spread_plan *plan, char *block, tsi_gpu_spread *to) {
  size_t at = 0;
#define PLACE(type, member, count)                                                                           \
  to->member = block ? (type *)(void *)(block + at) : NULL;                                                  \
  at += ((size_t)(count) * sizeof(type) + TSI_CACHE_LINE - 1) / TSI_CACHE_LINE * TSI_CACHE_LINE;
  ARRAYS(PLACE)
#undef PLACE
  return at;
}

tsi_gpu_spread tsi_spread_move(const tsi_spread_plan *plan, void *block) {
  tsi_gpu_spread moved = plan->tables;
  (void)lay_out(plan, block, &moved);
  return moved;
}

static tristar_status allocate(maker *m) {
  tsi_spread_plan *plan = m->plan;
  for (tsi_index key = 0; key < m->keys; key++)
    plan->tables.bundles += bundles_of(m->next[key + 1], plan->tables.threads);
  plan->bytes = lay_out(plan, NULL, &plan->tables);
  TSI_TRY(TSI_ALLOC(m->env, plan->block, plan->bytes));
  (void)lay_out(plan, plan->block, &plan->tables);
  TSI_TRY(TSI_ALLOC(m->env, plan->order, plan->rows));
  return TSI_ALLOC(m->env, plan->source, plan->entries);
}

/* Creates bundles of consecutive items of a key. */
static void bundle_items(const maker *m) {
  const tsi_gpu_spread *t = &m->plan->tables;
  tsi_spread_bundle *to = (tsi_spread_bundle *)t->bundle;
  const tsi_index each = TSI_SPREAD_BUNDLE / t->threads;
  for (tsi_index key = 0; key < m->keys; key++)
    for (tsi_index first = m->next[key]; first < m->next[key + 1]; first += each)
      *to++ = (tsi_spread_bundle){key % 2, first, tsi_index_min(each, m->next[key + 1] - first), 0};
}

/* Numbers the items, and finds the start of the entries of each. */
static void number_items(maker *m, tsi_index *item_of) {
  tsi_spread_plan *plan = m->plan;
  tsi_index *begin = (tsi_index *)plan->tables.begin;
  begin[0] = 0;
  for (tsi_index k = 0; k < m->lines->n; k++) {
    const tsi_index i = tsi_line_of(m->lines, k);
    const part p = look_at(m, i);
    item_of[i] = makes_item(&p) ? m->next[p.key]++ : TSI_NONE;
    if (makes_item(&p)) begin[item_of[i] + 1] = p.entries;
  }
  for (tsi_index t = 0; t < plan->items; t++) begin[t + 1] += begin[t];
}

static void fill_entries(const maker *m, tsi_index i, tsi_index at) {
  tsi_index *column = (tsi_index *)m->plan->tables.column;
  tsi_count e, end;
  for (tsi_lines_inner(m->lines, i, &e, &end); e < end; e++) {
    const tsi_index j = m->lines->index[e];
    if (m->options->owner[j] != m->options->pe) continue;
    column[at] = m->local[j];
    m->plan->source[at++] = e;
  }
}

static void fill_row(const maker *m, const part *p, tsi_index i) {
  const tsi_spread_options *o = m->options;
  tsi_index *slot = (tsi_index *)m->plan->tables.slot + (tsi_count)m->local[i] * (o->pes - 1);
  m->plan->order[m->local[i]] = i;
  for (tsi_index pe = 0; pe < o->pes; pe++)
    if (pe != o->pe) *slot++ = sends(o, p, i, pe) ? m->made[pe] : TSI_NONE;
}

static void fill_items(maker *m, const tsi_index *item_of) {
  const tsi_spread_options *o = m->options;
  const tsi_gpu_spread *t = &m->plan->tables;
  memset(m->made, 0, (size_t)o->pes * sizeof *m->made);
  for (tsi_index k = 0; k < m->lines->n; k++) {
    const tsi_index i = tsi_line_of(m->lines, k), item = item_of[i];
    const part p = look_at(m, i);
    if (item != TSI_NONE) {
      ((tsi_index *)t->row)[item] = p.own ? m->local[i] : m->made[o->pe];
      fill_entries(m, i, t->begin[item]);
    }
    if (p.own) fill_row(m, &p, i);
    for (tsi_index pe = 0; pe < o->pes; pe++) m->made[pe] += sends(o, &p, i, pe);
  }
}

static void count_steps(const tsi_gpu_spread *t) {
  tsi_spread_bundle *bundle = (tsi_spread_bundle *)t->bundle;
  for (tsi_index k = 0; k < t->bundles; k++)
    for (tsi_index item = bundle[k].first; item < bundle[k].first + bundle[k].items; item++) {
      const tsi_index entries = t->begin[item + 1] - t->begin[item];
      bundle[k].steps = tsi_index_max(bundle[k].steps, (entries + t->threads - 1) / t->threads);
    }
}

static tristar_status make(maker *m) {
  TSI_SCRATCH(m->env, tsi_index, item_of, m->lines->n);
  TSI_TRY(count(m));
  m->plan->tables.threads = choose_threads(m->plan, m->options->pes);
  TSI_TRY(allocate(m));
  for (tsi_index key = 0; key < m->keys; key++) m->next[key + 1] += m->next[key];
  bundle_items(m);
  number_items(m, item_of);
  fill_items(m, item_of);
  count_steps(&m->plan->tables);
  return TRISTAR_OK;
}

tristar_status tsi_spread_create(tsi_env *env, const tsi_lines *lines, const tsi_spread_options *options,
                                 tsi_spread_plan *plan) {
  maker m = {.env = env, .lines = lines, .options = options, .plan = plan};
  *plan = (tsi_spread_plan){.pes = options->pes};
  TSI_SCRATCH(env, tsi_index, level, lines->n);
  TSI_SCRATCH(env, tsi_index, local, lines->n);
  TSI_SCRATCH_ZERO(env, tsi_index, made, options->pes);
  m.keys = 2 * (tsi_row_levels(lines, level) + 1);
  TSI_SCRATCH_ZERO(env, tsi_index, next, m.keys + 1);
  m.level = level;
  m.local = local;
  m.made = made;
  m.next = next;
  tristar_status status = make(&m);
  if (status == TRISTAR_OK && env->check) status = tsi_spread_check(env, lines, options, plan);
  if (status != TRISTAR_OK) tsi_spread_destroy(env, plan);
  return status;
}

void tsi_spread_destroy(tsi_env *env, tsi_spread_plan *plan) {
  TSI_FREE(env, plan->block);
  TSI_FREE(env, plan->order);
  TSI_FREE(env, plan->source);
  *plan = (tsi_spread_plan){.block = NULL};
}
