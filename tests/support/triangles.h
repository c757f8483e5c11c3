/* Patterns of lower triangular matrices by rows, for the tests of triangular solves: each row ascending, its
 * diagonal entry last. */
#pragma once

#include "tests/support/check.h"
#include "tests/support/random.h"

enum {
  TRIANGLE_RANDOM,
  TRIANGLE_BANDED,
  TRIANGLE_ARROW,
  TRIANGLE_POWER_LAW,
  TRIANGLE_DIAGONAL,
  TRIANGLE_DENSE,
  TRIANGLE_CHAIN,
  TRIANGLE_ONE_LEVEL,  /* all rows but some wait for a few first ones */
  TRIANGLE_EMPTY_ROWS, /* blocks of rows without entries */
  TRIANGLE_ERDOES_RENYI,
  TRIANGLE_GRID, /* lower part of a 5-point stencil */
  TRIANGLE_ROAD, /* a road network: few neighbours, most of them near */
  TRIANGLES
};

static const char *const triangle_names[TRIANGLES] = {"random",     "banded",       "arrow", "power law",
                                                      "diagonal",   "dense",        "chain", "one level",
                                                      "empty rows", "Erdoes-Renyi", "grid",  "road"};

typedef struct triangle_pattern {
  int32_t n;
  int64_t *ptr;
  int32_t *index;
} triangle_pattern;

/* Returns the probability, in 1 / 1024, that row i has an entry in column j < i. */
static inline int triangle_odds(int kind, int32_t n, int32_t i, int32_t j) {
  switch (kind) {
  case TRIANGLE_RANDOM:
    return 8 * 1024 / n + 1;
  case TRIANGLE_BANDED:
    return i - j <= 12 ? 700 : 0;
  case TRIANGLE_ARROW:
    return j == 0 || i == n - 1 ? 1024 : 0;
  case TRIANGLE_POWER_LAW:
    return 1024 / (1 + j / 2);
  case TRIANGLE_DENSE:
    return 1024;
  case TRIANGLE_CHAIN:
    return i - j == 1 ? 1024 : 0;
  case TRIANGLE_ONE_LEVEL:
    return j < n / 8 && i >= n / 8 ? 60 : 0;
  case TRIANGLE_EMPTY_ROWS:
    return i / 16 % 3 == 1 ? 0 : 40;
  case TRIANGLE_ERDOES_RENYI:
    return 3 * 1024 / n + 2;
  case TRIANGLE_GRID: {
    int32_t k = 1;
    while (k * k < n) k++;
    return i - j == k || (i - j == 1 && i % k != 0) ? 1024 : 0;
  }
  case TRIANGLE_ROAD:
    return i - j <= 12 ? 160 : (i - j) % 97 == 0 ? 12 : 0;
  default:
    return 0;
  }
}

static inline triangle_pattern triangle_create(int kind, int32_t n, uint64_t seed) {
  triangle_pattern t = {n, calloc((size_t)n + 1, sizeof *t.ptr), NULL};
  int64_t room = 64, count = 0;
  t.index = malloc((size_t)room * sizeof *t.index);
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int32_t i = 0; i < n; i++) {
    if (count + i + 1 > room) {
      room = 2 * (room + i + 1);
      t.index = realloc(t.index, (size_t)room * sizeof *t.index);
      CHECK(t.index != NULL);
    }
    for (int32_t j = 0; j < i; j++) {
      const int odds = triangle_odds(kind, n, i, j);
      if (odds > 0 && (int)(next_random(&seed) % 1024) < odds) t.index[count++] = j;
    }
    t.index[count++] = i;
    t.ptr[i + 1] = count;
  }
  return t;
}

/* Returns the pattern by columns: each ascending, its diagonal entry first. */
static inline triangle_pattern triangle_transpose(const triangle_pattern *from) {
  const int64_t count = from->ptr[from->n];
  triangle_pattern t = {from->n, calloc((size_t)from->n + 2, sizeof *t.ptr),
                        malloc((size_t)(count + 1) * sizeof *t.index)};
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int64_t e = 0; e < count; e++) t.ptr[from->index[e] + 2]++;
  for (int32_t j = 0; j < t.n; j++) t.ptr[j + 2] += t.ptr[j + 1];
  for (int32_t i = 0; i < t.n; i++)
    for (int64_t e = from->ptr[i]; e < from->ptr[i + 1]; e++) t.index[t.ptr[from->index[e] + 1]++] = i;
  return t;
}

static inline void triangle_free(triangle_pattern *t) {
  free(t->ptr);
  free(t->index);
}
