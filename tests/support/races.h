/* Races: two steps access the same rows of a buffer, one of them writes, and neither waits for the other.
 * Here all pairs and all paths are searched for races, and the result is compared with
 * tsi_access_find_conflict. If one edge of the transitively reduced graph is missing, a race must be found.
 */
#pragma once

#include "dag/steps.h"
#include "tests/support/check.h"
#include "tests/support/patterns.h"

typedef struct reach {
  tsi_index steps, words;
  uint64_t *bit; /* steps x words: bit b of row k: a path leads from b to k */
  tsi_count pairs;
  tsi_edge *pair; /* pairs of steps that must be ordered; each once */
} reach;

static inline bool reaches(const reach *r, tsi_index from, tsi_index to) {
  return r->bit[(size_t)to * (size_t)r->words + (size_t)from / 64] >> (from % 64) & 1;
}

/* Finds the paths. before: edges by item, ascending; edge `without` is left out. */
static inline void find_paths(reach *r, const tsi_adjacency *before, tsi_count without) {
  const size_t words = (size_t)r->words;
  memset(r->bit, 0, (size_t)r->steps * words * sizeof *r->bit);
  for (tsi_index k = 0; k < r->steps; k++)
    for (tsi_count e = before->ptr[k]; e < before->ptr[k + 1]; e++) {
      const size_t b = (size_t)before->list[e];
      if (e == without) continue;
      r->bit[(size_t)k * words + b / 64] |= (uint64_t)1 << (b % 64);
      for (size_t w = 0; w < words; w++) r->bit[(size_t)k * words + w] |= r->bit[b * words + w];
    }
}

static inline bool conflict(const tsi_access *a, const tsi_access *b) {
  return a->kind == b->kind && a->item == b->item && a->first < b->end && b->first < a->end &&
         ((a->mode | b->mode) & TSI_ACCESS_W);
}

/* Each access is compared with all earlier accesses to the same buffer. */
static inline void find_pairs(reach *r, const tsi_access_list *list) {
  const tsi_count accesses = list->ptr[list->steps];
  tsi_count room = 64, last_item = -1;
  for (tsi_count p = 0; p < accesses; p++)
    if (list->access[p].item > last_item) last_item = list->access[p].item;
  for (tsi_count p = 0; p < accesses; p++) CHECK(list->access[p].item >= 0);
  const size_t items = (size_t)last_item + 1;
  OWNED tsi_count *last = xcalloc(TSI_BUFFER_KINDS * items + 1, sizeof *last); /* 1 + access, by buffer */
  OWNED tsi_count *previous = xcalloc((size_t)accesses + 1, sizeof *previous);
  OWNED tsi_index *step = xcalloc((size_t)accesses + 1, sizeof *step);
  OWNED bool *conflicts = xcalloc((size_t)list->steps + 1, sizeof *conflicts);
  r->pair = malloc((size_t)room * sizeof *r->pair);
  r->pairs = 0;
  for (tsi_index k = 0; k < list->steps; k++) {
    for (tsi_count p = list->ptr[k]; p < list->ptr[k + 1]; p++) {
      const tsi_access *a = &list->access[p];
      tsi_count *head = &last[(size_t)a->kind * items + (size_t)a->item];
      step[p] = k;
      for (tsi_count q = *head; q > 0; q = previous[q - 1])
        if (conflict(a, &list->access[q - 1])) conflicts[step[q - 1]] = true;
      previous[p] = *head;
      *head = p + 1;
    }
    for (tsi_index l = 0; l < k; l++) {
      if (!conflicts[l]) continue;
      if (r->pairs == room) r->pair = realloc(r->pair, (size_t)(room *= 2) * sizeof *r->pair);
      r->pair[r->pairs++] = (tsi_edge){k, l};
    }
    memset(conflicts, 0, (size_t)k + 1);
  }
}

/* Returns the first pair without a path; -1: there is none. */
static inline tsi_count find_race(const reach *r) {
  for (tsi_count p = 0; p < r->pairs; p++)
    if (!reaches(r, r->pair[p].before, r->pair[p].item)) return p;
  return -1;
}

/* Lists the edges that no other path makes redundant. */
static inline tsi_count reduce(const reach *r, const tsi_adjacency *before, tsi_edge *kept) {
  tsi_count count = 0;
  for (tsi_index k = 0; k < r->steps; k++)
    for (tsi_count e = before->ptr[k]; e < before->ptr[k + 1]; e++) {
      bool needed = true;
      for (tsi_count f = before->ptr[k]; f < before->ptr[k + 1]; f++)
        needed = needed && !reaches(r, before->list[e], before->list[f]) &&
                 (f >= e || before->list[f] != before->list[e]);
      if (needed) kept[count++] = (tsi_edge){k, before->list[e]};
    }
  return count;
}

/* Checks that the library finds a race if and only if there is one; returns whether there is one. */
static inline bool races_there(tsi_env *env, const char *name, const reach *r, const tsi_access_list *list,
                               tsi_count edges, const tsi_edge *edge) {
  tsi_conflict found;
  tsi_index first = TSI_NONE;
  for (tsi_count p = 0; p < r->pairs; p++)
    if (!reaches(r, r->pair[p].before, r->pair[p].item) && (first == TSI_NONE || r->pair[p].item < first))
      first = r->pair[p].item;
  CHECK_OK(tsi_access_find_conflict(env, list, edges, edge, &found));
  CHECK_MSG(found.other == first && (first == TSI_NONE) == (found.step == TSI_NONE),
            "%s: the first step with a race is %d, reported is %d", name, first, found.other);
  return first != TSI_NONE;
}

static tsi_count races_removals;

/* Checks that there is a race without an edge of the reduced graph: for `most` random edges. */
static inline void check_removals(tsi_env *env, const char *name, const tsi_steps *steps,
                                  const tsi_access_list *list, reach *r, const tsi_adjacency *before,
                                  tsi_index most, uint64_t seed) {
  OWNED tsi_edge *kept = malloc((size_t)(steps->edges + 1) * sizeof *kept);
  tsi_adjacency *reduced;
  const tsi_count count = reduce(r, before, kept);
  CHECK_OK(tsi_adjacency_create(env, steps->count, count, kept, TSI_BEFORE, &reduced));
  find_paths(r, reduced, -1);
  CHECK_MSG(!races_there(env, name, r, list, count, kept), "%s: the reduced graph has other paths", name);
  for (tsi_index q = 0; q < most && count > 0; q++) {
    const tsi_count e = lcg_below(&seed, (tsi_index)count);
    const tsi_edge removed = kept[e], last = kept[count - 1];
    find_paths(r, reduced, e);
    kept[e] = last;
    CHECK_MSG(races_there(env, name, r, list, count - 1, kept),
              "%s: nothing needs the edge from step %d, %s, to step %d, %s", name, removed.before,
              tsi_step_name(steps->step[removed.before].kind), removed.item,
              tsi_step_name(steps->step[removed.item].kind));
    kept[e] = removed;
    kept[count - 1] = last;
    races_removals++;
  }
  TSI_FREE(env, reduced);
}

/* most: edges to remove, one at a time. */
static inline void races_check(tsi_env *env, const char *name, const tsi_steps *steps,
                               const tsi_access_list *list, tsi_index most, uint64_t seed) {
  tsi_adjacency *before;
  reach r = {.steps = steps->count, .words = steps->count / 64 + 1};
  r.bit = malloc((size_t)(r.steps + 1) * (size_t)r.words * sizeof *r.bit);
  CHECK(list->steps == steps->count);
  for (tsi_count q = 0; q < list->ptr[list->steps]; q++) CHECK(list->access[q].first < list->access[q].end);
  CHECK_OK(tsi_adjacency_create(env, steps->count, steps->edges, steps->edge, TSI_BEFORE, &before));
  find_pairs(&r, list);
  find_paths(&r, before, -1);
  const tsi_count race = find_race(&r);
  CHECK_MSG(race < 0, "%s: steps %d, %s, and %d, %s, are not ordered", name, r.pair[race].before,
            tsi_step_name(steps->step[r.pair[race].before].kind), r.pair[race].item,
            tsi_step_name(steps->step[r.pair[race].item].kind));
  CHECK(!races_there(env, name, &r, list, steps->edges, steps->edge));
  check_removals(env, name, steps, list, &r, before, most, seed);
  TSI_FREE(env, before);
  free(r.bit);
  free(r.pair);
}
