/* Small random matrices that are difficult to judge as regular or singular: widely different scales, small
 * diagonals, exactly and nearly singular ones, arrows, saddle points. Entries are integers times powers of
 * two, or integers and one small number, so they are exact in every type. */
#pragma once

#include "tests/support/typed.h"

enum { NASTY_MOST = 32 };

typedef enum nasty_kind {
  NASTY_UNITS,
  NASTY_SMALL_DIAGONAL,
  NASTY_SINGULAR,
  NASTY_NEARLY,
  NASTY_ARROW,
  NASTY_SADDLE,
  NASTY_SINGULAR_UNITS,
  NASTY_TREE,
  NASTY_KINDS
} nasty_kind;

static const char *const nasty_name[NASTY_KINDS] = {
    "units", "small diagonal", "singular",        "nearly singular",
    "arrow", "saddle point",   "singular, units", "tree"};

typedef struct nasty {
  int n;
  nasty_kind kind;
  tristar_method method;
  number a[NASTY_MOST * NASTY_MOST]; /* by rows */
} nasty;

static inline number *nasty_at(nasty *m, int i, int j) {
  return &m->a[i * m->n + j];
}

static inline int nasty_draw(uint64_t *seed, int first, int last) {
  return first + (int)(next_random(seed) % (uint64_t)(last - first + 1));
}

/* Exponents of units, and of small numbers. */
static inline int nasty_units(const typed *t) {
  return t->is_single ? 20 : 50;
}

/* Draws a full diagonal, and a random share of the other entries. */
static inline void nasty_fill(nasty *m, uint64_t *seed) {
  const int share = nasty_draw(seed, 1, 5);
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++)
      *nasty_at(m, i, j) = i == j || nasty_draw(seed, 0, 9) < share ? nasty_draw(seed, -9, 9) : 0;
  for (int i = 0; i < m->n; i++)
    if (*nasty_at(m, i, i) == 0) *nasty_at(m, i, i) = 5;
}

/* Replaces a row by the sum of two others. */
static inline void nasty_make_dependent(nasty *m, uint64_t *seed) {
  const int row = nasty_draw(seed, 0, m->n - 1), one = (row + 1) % m->n, two = (row + 2) % m->n;
  for (int j = 0; j < m->n; j++) *nasty_at(m, row, j) = *nasty_at(m, one, j) + *nasty_at(m, two, j);
}

/* LDLT: S M S^T with a diagonal S of ones and minus ones, or M + M^T; LLT: M M^T. */
static inline void nasty_make_symmetric(nasty *m, bool product, uint64_t *seed) {
  static nasty from;
  int sign[NASTY_MOST];
  from = *m;
  for (int i = 0; i < m->n; i++) sign[i] = m->method == TRISTAR_METHOD_LLT || nasty_draw(seed, 0, 1) ? 1 : -1;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      number sum = *nasty_at(&from, i, j) + *nasty_at(&from, j, i);
      if (product) sum = 0;
      for (int k = 0; k < m->n && product; k++)
        sum += sign[k] * *nasty_at(&from, i, k) * *nasty_at(&from, j, k);
      *nasty_at(m, i, j) = sum;
    }
}

/* Makes an arrow; its diagonal is small unless it must be definite. */
static inline void nasty_make_arrow(nasty *m, const typed *t, uint64_t *seed) {
  const int tip = nasty_draw(seed, 0, 1) ? 0 : m->n - 1;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      number *entry = nasty_at(m, i, j);
      if (i == j)
        *entry = ldexp(nasty_draw(seed, 1, 9), -nasty_draw(seed, 0, nasty_units(t)));
      else if (i == tip || j == tip)
        *entry = m->method == TRISTAR_METHOD_LU || j < i ? nasty_draw(seed, 1, 9) : 0;
      else
        *entry = 0;
    }
  for (int i = 0; i < m->n && m->method != TRISTAR_METHOD_LU; i++)
    for (int j = 0; j < i; j++) *nasty_at(m, j, i) = *nasty_at(m, i, j);
}

/* [eps I, B^T; B, eps I] */
static inline void nasty_make_saddle(nasty *m, const typed *t, uint64_t *seed) {
  const int upper = m->n - m->n / nasty_draw(seed, 2, 3);
  const double small = nasty_draw(seed, 0, 2) ? ldexp(1, -nasty_draw(seed, 0, nasty_units(t))) : 0;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j <= i; j++) {
      const bool off = i >= upper && j < upper;
      const number entry = i == j ? small : off && nasty_draw(seed, 0, 9) < 6 ? nasty_draw(seed, -9, 9) : 0;
      *nasty_at(m, i, j) = *nasty_at(m, j, i) = entry;
    }
}

/* Makes the Laplacian of a tree, with widely different weights; usually an additional weight in one row makes
 * it regular. */
static inline void nasty_make_tree(nasty *m, const typed *t, uint64_t *seed) {
  const int most = nasty_draw(seed, 4, nasty_units(t));
  for (int i = 0; i < m->n * m->n; i++) m->a[i] = 0;
  for (int i = 1; i < m->n; i++) {
    const int j = nasty_draw(seed, i > 3 ? i - 3 : 0, i - 1);
    const double weight = ldexp(1, nasty_draw(seed, 0, most));
    *nasty_at(m, i, j) = *nasty_at(m, j, i) = -weight;
    *nasty_at(m, i, i) += weight;
    *nasty_at(m, j, j) += weight;
  }
  const int anchor = nasty_draw(seed, 0, m->n - 1);
  if (nasty_draw(seed, 0, 4)) *nasty_at(m, anchor, anchor) += ldexp(1, nasty_draw(seed, 0, most));
}

static inline void nasty_scale(nasty *m, const typed *t, uint64_t *seed) {
  int row[NASTY_MOST], column[NASTY_MOST];
  const int most = nasty_draw(seed, 1, nasty_units(t));
  for (int i = 0; i < m->n; i++) {
    row[i] = nasty_draw(seed, -most, most);
    column[i] = m->method != TRISTAR_METHOD_LU ? row[i] : nasty_draw(seed, -most, most);
  }
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) *nasty_at(m, i, j) *= ldexp(1, row[i] + column[j]);
}

static inline void nasty_make(const typed *t, nasty_kind kind, tristar_method method, uint64_t seed,
                              nasty *m) {
  const bool symmetric = method != TRISTAR_METHOD_LU;
  m->kind = kind;
  m->method = method;
  m->n = nasty_draw(&seed, 3, nasty_draw(&seed, 0, 1) ? NASTY_MOST : 9);
  nasty_fill(m, &seed);
  if (kind == NASTY_SINGULAR || kind == NASTY_NEARLY || kind == NASTY_SINGULAR_UNITS)
    nasty_make_dependent(m, &seed);
  if (symmetric) nasty_make_symmetric(m, kind != NASTY_UNITS || method == TRISTAR_METHOD_LLT, &seed);
  if (kind == NASTY_NEARLY) *nasty_at(m, 0, 0) += ldexp(1, -nasty_draw(&seed, 0, t->is_single ? 16 : 44));
  if (kind == NASTY_SMALL_DIAGONAL)
    for (int i = 0; i < m->n; i++)
      if (nasty_draw(&seed, 0, 2)) *nasty_at(m, i, i) = ldexp(1, -nasty_draw(&seed, 0, nasty_units(t)));
  if (kind == NASTY_ARROW) nasty_make_arrow(m, t, &seed);
  if (kind == NASTY_SADDLE) nasty_make_saddle(m, t, &seed);
  if (kind == NASTY_TREE) nasty_make_tree(m, t, &seed);
  if (kind == NASTY_UNITS || kind == NASTY_SINGULAR_UNITS) nasty_scale(m, t, &seed);
  if (kind == NASTY_ARROW && nasty_draw(&seed, 0, 1)) nasty_scale(m, t, &seed);
}

/* Makes well-conditioned values for the same pattern. */
static inline void nasty_make_tame(const nasty *m, nasty *tame) {
  *tame = *m;
  for (int i = 0; i < m->n; i++)
    for (int j = 0; j < m->n; j++) {
      const number a = m->a[i * m->n + j];
      *nasty_at(tame, i, j) = i == j ? 2 * m->n : a == 0 ? 0 : 1;
    }
}
