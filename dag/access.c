/* Lists of accesses, and the proof that steps have no races: see access.h.
 *
 * The ends of all ranges cut the rows of each buffer into segments. Take the steps in their order. A step
 * that reads a segment must come after the latest step that wrote it. A step that writes a segment must come
 * after all steps that have read it since, or, if there are none, after the latest step that wrote it. These
 * pairs are enough, as order is transitive. Pairs that are edges need no proof. The others are proved for 64
 * of the earlier steps at a time: each of these has a bit, which is passed on along the edges. */
#include "dag/access.h"

#include <stdlib.h>

#include "runtime/base/grow.h"

static const char *const names[TSI_BUFFER_KINDS] = {
    [TSI_BUFFER_B] = "b of chunk",
    [TSI_BUFFER_X] = "x of chunk",
    [TSI_BUFFER_SEGMENT] = "segment of chunk",
    [TSI_BUFFER_UPDATE] = "update of chunk",
    [TSI_BUFFER_PARTIAL] = "partial sum of slice",
    [TSI_BUFFER_FORWARD] = "factor of forward node",
    [TSI_BUFFER_BACKWARD] = "factor of backward node",
    [TSI_BUFFER_INBOX] = "inbox",
    [TSI_BUFFER_OUTBOX] = "outbox",
    [TSI_BUFFER_T] = "workspace",
    [TSI_BUFFER_Y] = "second half of the workspace",
    [TSI_BUFFER_FRONT] = "front of supernode",
    [TSI_BUFFER_FRONT_ROWS] = "rows of the front of supernode",
    [TSI_BUFFER_FRONT_COLUMNS] = "columns of the front of supernode",
    [TSI_BUFFER_COMPLEMENT] = "complement of supernode",
    [TSI_BUFFER_POSITION] = "positions of supernode",
    [TSI_BUFFER_VALUES] = "values",
    [TSI_BUFFER_PIVOT] = "pivots",
    [TSI_BUFFER_PANEL] = "panels",
};

/* ---- Lists --------------------------------------------------------------------------------------------- */

void tsi_access_add(tsi_access_lister *l, tsi_access_mode mode, tsi_buffer_kind kind, tsi_index item,
                    tsi_count first, tsi_count end) {
  if (first >= end) return;
  if (l->access) l->access[l->count] = (tsi_access){kind, mode, item, first, end};
  l->count++;
}

tristar_status tsi_access_list_create(tsi_env *env, tsi_index steps,
                                      void (*list_step)(const void *arg, tsi_index step,
                                                        tsi_access_lister *lister),
                                      const void *arg, tsi_access_list **out) {
  tsi_access_lister lister = {NULL, 0};
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_access_list, list, 1);
  list->steps = steps;
  TSI_TRY(TSI_ALLOC_IN(list, list->ptr, (tsi_count)steps + 1));
  for (tsi_index k = 0; k < steps; k++) list_step(arg, k, &lister);
  TSI_TRY(TSI_ALLOC_IN(list, list->access, lister.count));
  lister = (tsi_access_lister){list->access, 0};
  for (tsi_index k = 0; k < steps; k++) {
    list->ptr[k] = lister.count;
    list_step(arg, k, &lister);
  }
  list->ptr[steps] = lister.count;
  *out = tsi_take(&list);
  return TRISTAR_OK;
}

/* ---- Pairs that must be ordered ------------------------------------------------------------------------ */

/* An access, and the step that makes it. */
typedef struct user {
  const tsi_access *access;
  tsi_index step;
} user;

/* Accesses that conflict; `after` comes later. */
typedef struct needed {
  tsi_index before, after;
  const tsi_access *of_before, *of_after;
} needed;

/* A step that has read a segment since the last write to it. */
typedef struct reader {
  tsi_count next; /* -1: no other */
  user by;
} reader;

typedef struct finder {
  tsi_env *env;
  user *user; /* by buffer, then step */
  tsi_count users;
  tsi_count *cut; /* of one buffer: first rows of its segments, ascending, then the end of the last one */
  tsi_count cuts;
  user *writer;       /* segments: the latest step that wrote it; step TSI_NONE: none yet */
  tsi_count *readers; /* segments: the latest reader after this write; -1: none */
  reader *reader;
  tsi_count read, reader_space;
  needed *pair;
  tsi_count pairs, pair_space;
} finder;

/* A stable sort by counting: moves count elements of `size` bytes to `to`, ascending by key(element), which
 * is from 0 to keys - 1. */
static tristar_status sort_by(tsi_env *env, tsi_count count, size_t size, const void *from, tsi_count keys,
                              tsi_index (*key)(const void *), void *to) {
  const char *element = from;
  TSI_SCRATCH_ZERO(env, tsi_count, at, keys + 1);
  for (tsi_count k = 0; k < count; k++) at[key(element + (size_t)k * size) + 1]++;
  for (tsi_count k = 0; k < keys; k++) at[k + 1] += at[k];
  for (tsi_count k = 0; k < count; k++) {
    const char *now = element + (size_t)k * size;
    memcpy((char *)to + (size_t)at[key(now)]++ * size, now, size);
  }
  return TRISTAR_OK;
}

static tsi_index kind_of(const void *a) {
  return (tsi_index)((const user *)a)->access->kind;
}

static tsi_index item_of(const void *a) {
  return ((const user *)a)->access->item;
}

static tsi_index before_of(const void *a) {
  return ((const needed *)a)->before;
}

static tsi_index after_of(const void *a) {
  return ((const needed *)a)->after;
}

static int by_row(const void *a, const void *b) {
  const tsi_count x = *(const tsi_count *)a, y = *(const tsi_count *)b;
  return (x > y) - (x < y);
}

static tristar_status need(finder *f, const user *before, const user *after) {
  if (before->step == TSI_NONE || before->step == after->step) return TRISTAR_OK;
  TSI_TRY(tsi_reserve(f->env, (void **)&f->pair, sizeof *f->pair, f->pairs, &f->pair_space));
  f->pair[f->pairs++] = (needed){before->step, after->step, before->access, after->access};
  return TRISTAR_OK;
}

/* One access to one segment. */
static tristar_status use_segment(finder *f, tsi_count segment, const user *now) {
  if (now->access->mode == TSI_ACCESS_R) {
    TSI_TRY(need(f, &f->writer[segment], now));
    TSI_TRY(tsi_reserve(f->env, (void **)&f->reader, sizeof *f->reader, f->read, &f->reader_space));
    f->reader[f->read] = (reader){f->readers[segment], *now};
    f->readers[segment] = f->read++;
    return TRISTAR_OK;
  }
  bool others = false; /* Other steps have read it. */
  for (tsi_count r = f->readers[segment]; r >= 0; r = f->reader[r].next) {
    TSI_TRY(need(f, &f->reader[r].by, now));
    others = others || f->reader[r].by.step != now->step;
  }
  if (!others) TSI_TRY(need(f, &f->writer[segment], now));
  f->writer[segment] = *now;
  f->readers[segment] = -1;
  return TRISTAR_OK;
}

/* The segment that begins at a row. */
static tsi_count segment_at(const finder *f, tsi_count row) {
  tsi_count low = 0, high = f->cuts - 1;
  while (low < high) {
    const tsi_count middle = (low + high) / 2;
    if (f->cut[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* All accesses to one buffer: user[begin] .. user[end - 1]. */
static tristar_status use_buffer(finder *f, tsi_count begin, tsi_count end) {
  bool written = false;
  f->cuts = f->read = 0;
  for (tsi_count u = begin; u < end; u++) {
    written = written || f->user[u].access->mode != TSI_ACCESS_R;
    f->cut[f->cuts++] = f->user[u].access->first;
    f->cut[f->cuts++] = f->user[u].access->end;
  }
  if (!written) return TRISTAR_OK;
  qsort(f->cut, (size_t)f->cuts, sizeof *f->cut, by_row);
  tsi_count different = 1;
  for (tsi_count k = 1; k < f->cuts; k++)
    if (f->cut[k] != f->cut[different - 1]) f->cut[different++] = f->cut[k];
  f->cuts = different;
  for (tsi_count s = 0; s < f->cuts; s++) {
    f->writer[s].step = TSI_NONE;
    f->readers[s] = -1;
  }
  for (tsi_count u = begin; u < end; u++)
    for (tsi_count s = segment_at(f, f->user[u].access->first); f->cut[s] < f->user[u].access->end; s++)
      TSI_TRY(use_segment(f, s, &f->user[u]));
  return TRISTAR_OK;
}

static void release_finder(finder *f) {
  tsi_release(f->user);
  tsi_release(f->cut);
  tsi_release(f->writer);
  tsi_release(f->readers);
  tsi_release(f->reader);
  tsi_release(f->pair);
}

static bool same_buffer(const tsi_access *a, const tsi_access *b) {
  return a->kind == b->kind && a->item == b->item;
}

static tristar_status find_pairs(finder *f, const tsi_access_list *list) {
  const tsi_count accesses = list->ptr[list->steps];
  tsi_index last_item = 0;
  TSI_SCRATCH(f->env, user, by_item, accesses);
  TSI_TRY(TSI_ALLOC(f->env, f->user, accesses));
  TSI_TRY(TSI_ALLOC(f->env, f->cut, 2 * accesses));
  TSI_TRY(TSI_ALLOC(f->env, f->writer, 2 * accesses));
  TSI_TRY(TSI_ALLOC(f->env, f->readers, 2 * accesses));
  for (tsi_index k = 0; k < list->steps; k++)
    for (tsi_count e = list->ptr[k]; e < list->ptr[k + 1]; e++) {
      f->user[f->users++] = (user){&list->access[e], k};
      last_item = tsi_index_max(last_item, list->access[e].item);
    }
  TSI_TRY(sort_by(f->env, f->users, sizeof *f->user, f->user, (tsi_count)last_item + 1, item_of, by_item));
  TSI_TRY(sort_by(f->env, f->users, sizeof *f->user, by_item, TSI_BUFFER_KINDS, kind_of, f->user));
  for (tsi_count begin = 0, end; begin < f->users; begin = end) {
    for (end = begin + 1; end < f->users && same_buffer(f->user[begin].access, f->user[end].access);) end++;
    TSI_TRY(use_buffer(f, begin, end));
  }
  return TRISTAR_OK;
}

/* ---- The proof ----------------------------------------------------------------------------------------- */

static bool is_edge(const tsi_adjacency *before, const needed *pair) {
  for (tsi_count e = before->ptr[pair->after]; e < before->ptr[pair->after + 1]; e++)
    if (before->list[e] == pair->before) return true;
  return false;
}

/* Sorts the pairs of so many steps by the earlier step, then the later one; removes edges and repetitions. */
static tristar_status reduce(finder *f, tsi_index steps, const tsi_adjacency *before) {
  tsi_count kept = 0;
  TSI_SCRATCH(f->env, needed, by_after, f->pairs);
  TSI_TRY(sort_by(f->env, f->pairs, sizeof *f->pair, f->pair, steps, after_of, by_after));
  TSI_TRY(sort_by(f->env, f->pairs, sizeof *f->pair, by_after, steps, before_of, f->pair));
  for (tsi_count p = 0; p < f->pairs; p++) {
    const needed *pair = &f->pair[p], *latest = kept > 0 ? &f->pair[kept - 1] : NULL;
    const bool again = latest != NULL && latest->before == pair->before && latest->after == pair->after;
    if (!again && !is_edge(before, pair)) f->pair[kept++] = *pair;
  }
  f->pairs = kept;
  return TRISTAR_OK;
}

/* Proves pairs first .. end - 1, which have at most 64 different earlier steps. mask: zeros on entry and on
 * return. */
static void prove(const finder *f, const tsi_adjacency *before, tsi_count first, tsi_count end,
                  uint64_t *mask, tsi_conflict *conflict) {
  tsi_index last = 0, bit = -1;
  for (tsi_count p = first; p < end; p++) last = tsi_index_max(last, f->pair[p].after);
  for (tsi_count p = first; p < end; p++) {
    if (p == first || f->pair[p].before != f->pair[p - 1].before) bit++;
    mask[f->pair[p].before] |= (uint64_t)1 << bit;
  }
  for (tsi_index k = f->pair[first].before; k <= last; k++)
    for (tsi_count e = before->ptr[k]; e < before->ptr[k + 1]; e++) mask[k] |= mask[before->list[e]];
  bit = -1;
  for (tsi_count p = first; p < end; p++) {
    const needed *pair = &f->pair[p];
    if (p == first || pair->before != f->pair[p - 1].before) bit++;
    if ((mask[pair->after] >> bit & 1) || (conflict->step != TSI_NONE && conflict->other <= pair->after))
      continue;
    *conflict = (tsi_conflict){pair->before, pair->after, *pair->of_before, *pair->of_after};
  }
  for (tsi_index k = f->pair[first].before; k <= last; k++) mask[k] = 0;
}

tristar_status tsi_access_find_conflict(tsi_env *env, const tsi_access_list *list, tsi_count edges,
                                        const tsi_edge *edge, tsi_conflict *conflict) {
  TSI_CLEANUP(release_finder) finder f = {.env = env};
  TSI_OWNED tsi_adjacency *before = NULL;
  conflict->step = conflict->other = TSI_NONE;
  TSI_TRY(find_pairs(&f, list));
  TSI_TRY(tsi_adjacency_create(env, list->steps, edges, edge, TSI_BEFORE, &before));
  TSI_SCRATCH_ZERO(env, uint64_t, mask, list->steps);
  TSI_TRY(reduce(&f, list->steps, before));
  for (tsi_count first = 0, end; first < f.pairs; first = end) {
    int different = 1;
    for (end = first + 1; end < f.pairs; end++)
      if (f.pair[end].before != f.pair[end - 1].before && different++ == 64) break;
    prove(&f, before, first, end, mask, conflict);
  }
  return TRISTAR_OK;
}

static tristar_status refuse(tsi_env *env, const tsi_conflict *found, const char *why) {
  TSI_FAIL(env, TRISTAR_ERR_INTERNAL,
           "steps %d and %d work with the %s %d, rows %lld to %lld and %lld to %lld, and %s", found->step,
           found->other, names[found->access.kind], found->access.item, (long long)found->access.first,
           (long long)found->access.end, (long long)found->against.first, (long long)found->against.end, why);
}

tristar_status tsi_access_check(tsi_env *env, const tsi_access_list *list, tsi_count edges,
                                const tsi_edge *edge) {
  tsi_conflict found;
  TSI_TRY(tsi_access_find_conflict(env, list, edges, edge, &found));
  return found.step != TSI_NONE ? refuse(env, &found, "neither waits for the other one") : TRISTAR_OK;
}

tristar_status tsi_access_check_levels(tsi_env *env, const tsi_access_list *list, const tsi_levels *levels) {
  TSI_CLEANUP(release_finder) finder f = {.env = env};
  TSI_TRY(find_pairs(&f, list));
  TSI_SCRATCH_ZERO(env, tsi_index, level, list->steps);
  for (tsi_index l = 0; l < levels->count; l++)
    for (tsi_index q = levels->ptr[l]; q < levels->ptr[l + 1]; q++) level[levels->item[q]] = l;
  for (tsi_count p = 0; p < f.pairs; p++) {
    const needed *pair = &f.pair[p];
    const tsi_conflict found = {pair->before, pair->after, *pair->of_before, *pair->of_after};
    if (level[pair->before] >= level[pair->after])
      TSI_TRY(refuse(env, &found, "the later one is not of a higher level"));
  }
  return TRISTAR_OK;
}
