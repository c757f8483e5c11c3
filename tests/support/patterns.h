/* Small sparse patterns for the tests of the symbolic layer. */
#pragma once

#include "runtime/base/types.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

static inline uint32_t lcg(uint64_t *state) {
  return (uint32_t)next_random(state);
}
static inline tsi_index lcg_below(uint64_t *state, tsi_index limit) {
  return (tsi_index)(lcg(state) % (uint32_t)limit);
}

/* Column-compressed; entries of a column in the order in which they were added, duplicates kept. */
typedef struct pattern {
  tsi_index n;
  tsi_count *ptr;
  tsi_index *index;
  tsi_index (*entry)[2]; /* row, column: until pattern_finish */
  tsi_count count, room;
} pattern;

static inline pattern pattern_begin(tsi_index n) {
  pattern a = {.n = n, .room = 64};
  a.entry = malloc((size_t)a.room * sizeof *a.entry);
  CHECK(a.entry != NULL);
  return a;
}

static inline void pattern_add(pattern *a, tsi_index row, tsi_index column) {
  if (a->count == a->room) {
    a->room *= 2;
    a->entry = realloc(a->entry, (size_t)a->room * sizeof *a->entry);
    CHECK(a->entry != NULL);
  }
  a->entry[a->count][0] = row;
  a->entry[a->count++][1] = column;
}

static inline void pattern_add_both(pattern *a, tsi_index i, tsi_index j) {
  pattern_add(a, i, j);
  pattern_add(a, j, i);
}

static inline void pattern_finish(pattern *a) {
  a->ptr = calloc((size_t)a->n + 2, sizeof *a->ptr);
  a->index = malloc((size_t)(a->count + 1) * sizeof *a->index);
  CHECK(a->ptr != NULL && a->index != NULL);
  tsi_count *next = a->ptr + 1; /* next[j] becomes ptr[j + 1] */
  for (tsi_count e = 0; e < a->count; e++)
    if (a->entry[e][1] + 1 < a->n) next[a->entry[e][1] + 1]++;
  for (tsi_index j = 1; j < a->n; j++) next[j] += next[j - 1];
  for (tsi_count e = 0; e < a->count; e++) a->index[next[a->entry[e][1]]++] = a->entry[e][0];
  free(a->entry);
  a->entry = NULL;
}

static inline void pattern_free(pattern *a) {
  free(a->ptr);
  free(a->index);
  *a = (pattern){0};
}

static inline pattern pattern_diagonal(tsi_index n) {
  pattern a = pattern_begin(n);
  for (tsi_index i = 0; i < n; i++) pattern_add(&a, i, i);
  pattern_finish(&a);
  return a;
}

static inline pattern pattern_empty(tsi_index n) {
  pattern a = pattern_begin(n);
  pattern_finish(&a);
  return a;
}

static inline pattern pattern_dense(tsi_index n) {
  pattern a = pattern_begin(n);
  for (tsi_index j = 0; j < n; j++)
    for (tsi_index i = 0; i < n; i++) pattern_add(&a, i, j);
  pattern_finish(&a);
  return a;
}

/* Vertices in the order 0, 1, 2, ... with an edge from each to the next. */
static inline pattern pattern_chain(tsi_index n) {
  pattern a = pattern_begin(n);
  for (tsi_index i = 0; i + 1 < n; i++) pattern_add_both(&a, i, i + 1);
  pattern_finish(&a);
  return a;
}

/* A grid of kx * ky * kz points; diagonals: neighbours in x-y planes also along the diagonals. */
static inline pattern pattern_grid(tsi_index kx, tsi_index ky, tsi_index kz, bool diagonals) {
  pattern a = pattern_begin(kx * ky * kz);
  for (tsi_index z = 0; z < kz; z++)
    for (tsi_index y = 0; y < ky; y++)
      for (tsi_index x = 0; x < kx; x++) {
        tsi_index i = (z * ky + y) * kx + x;
        pattern_add(&a, i, i);
        if (x + 1 < kx) pattern_add_both(&a, i, i + 1);
        if (y + 1 < ky) pattern_add_both(&a, i, i + kx);
        if (z + 1 < kz) pattern_add_both(&a, i, i + kx * ky);
        if (diagonals && y + 1 < ky && x + 1 < kx) pattern_add_both(&a, i, i + kx + 1);
        if (diagonals && y + 1 < ky && x > 0) pattern_add_both(&a, i, i + kx - 1);
      }
  pattern_finish(&a);
  return a;
}

/* `hubs` vertices, numbered first, are neighbours of all vertices. */
static inline pattern pattern_arrow(tsi_index n, tsi_index hubs) {
  pattern a = pattern_begin(n);
  for (tsi_index h = 0; h < hubs; h++)
    for (tsi_index i = h; i < n; i++) pattern_add_both(&a, i, h);
  pattern_finish(&a);
  return a;
}

/* Unsymmetric; with loops and duplicates. */
static inline pattern pattern_random(tsi_index n, tsi_index entries, uint64_t seed) {
  pattern a = pattern_begin(n);
  for (tsi_index e = 0; e < entries; e++) {
    tsi_index row = lcg_below(&seed, n);
    pattern_add(&a, row, lcg_below(&seed, n));
  }
  pattern_finish(&a);
  return a;
}

/* Copies of a random graph side by side, their vertices interleaved, and some vertices without edges. */
static inline pattern pattern_disconnected(tsi_index copies, tsi_index size, uint64_t seed) {
  pattern a = pattern_begin(copies * size + 5);
  for (tsi_index e = 0; e < 2 * size; e++) {
    tsi_index i = lcg_below(&seed, size), j = lcg_below(&seed, size);
    for (tsi_index c = 0; c < copies; c++) pattern_add(&a, i * copies + c, j * copies + c);
  }
  pattern_finish(&a);
  return a;
}

/* The i-th of a list of small cases of at most 150 vertices; false: there is none. */
static inline bool pattern_case(int i, const char **name, pattern *a) {
  switch (i) {
  case 0:
    *name = "no vertex", *a = pattern_empty(0);
    return true;
  case 1:
    *name = "one vertex", *a = pattern_diagonal(1);
    return true;
  case 2:
    *name = "two vertices", *a = pattern_chain(2);
    return true;
  case 3:
    *name = "no edges", *a = pattern_empty(40);
    return true;
  case 4:
    *name = "diagonal", *a = pattern_diagonal(17);
    return true;
  case 5:
    *name = "chain", *a = pattern_chain(100);
    return true;
  case 6:
    *name = "5-point grid", *a = pattern_grid(12, 12, 1, false);
    return true;
  case 7:
    *name = "9-point grid", *a = pattern_grid(11, 12, 1, true);
    return true;
  case 8:
    *name = "7-point grid", *a = pattern_grid(5, 5, 5, false);
    return true;
  case 9:
    *name = "dense", *a = pattern_dense(30);
    return true;
  case 10:
    *name = "arrow", *a = pattern_arrow(50, 1);
    return true;
  case 11:
    *name = "two-hub arrow", *a = pattern_arrow(130, 2);
    return true;
  case 12:
    *name = "components", *a = pattern_disconnected(4, 30, 7);
    return true;
  default:
    if (i >= 40) return false;
    *name = "random";
    tsi_index n = 2 + (tsi_index)((i * 37) % 140);
    *a = pattern_random(n, n / 2 + n * (i % 5) / 2, (uint64_t)i);
    return true;
  }
}
