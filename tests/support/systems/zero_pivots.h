/* Matrices, and orders of elimination in which static pivots are zero or tiny: columns must be delayed. */
#pragma once

#include "tests/support/typed.h"

enum { H_ROWS = 240, CONSTRAINTS = 90, ROWS = H_ROWS + CONSTRAINTS, MOST = 12 * ROWS };

/* A matrix in compressed columns, and an order of elimination in which pivots fail. */
typedef struct problem {
  const typed *t;
  int64_t ptr[ROWS + 1], order[ROWS];
  int32_t index[MOST];
  char values[MOST * sizeof(number)];
  int64_t entries;
  tristar_view view;
} problem;

static inline void add(problem *p, int32_t row, number value) {
  CHECK(p->entries < MOST);
  p->index[p->entries] = row;
  put(p->t, p->values, p->entries++, value);
}

static inline number phase(const typed *t, uint64_t seed, double size) {
  number x = random_value(seed);
  if (!t->is_complex) __imag__ x = 0;
  return size * x;
}

static inline void finish(problem *p, tristar_symmetry symmetry) {
  p->ptr[ROWS] = p->entries;
  p->view = stored_view(TRISTAR_CSC, symmetry, p->t->scalar, ROWS, ROWS, p->ptr, p->index, p->values);
}

/* [H B; B^H 0] (symmetry: or B^T), H tridiagonal and positive definite, B with three entries in a column;
 * seed: other values. The constraints, whose diagonal is zero, are eliminated first. */
static inline problem *make_saddle(const typed *t, tristar_symmetry symmetry, uint64_t seed) {
  problem *p = xcalloc(1, sizeof *p);
  p->t = t;
  for (int32_t j = 0; j < ROWS; j++) {
    p->ptr[j] = p->entries;
    p->order[j] = (j + H_ROWS) % ROWS;
    if (j >= H_ROWS) continue;
    add(p, j, 2.5 + 0.2 * creal(random_value(seed + (uint64_t)j)));
    if (j + 1 < H_ROWS) add(p, j + 1, phase(t, seed + 1000 + (uint64_t)j, 0.9));
    for (int32_t k = 0; k < 3; k++) /* constraints in row j of B */
      if ((j + 80 * k) % H_ROWS < CONSTRAINTS)
        add(p, H_ROWS + (j + 80 * k) % H_ROWS, phase(t, seed + 2000 + (uint64_t)(3 * j + k), 1));
  }
  finish(p, symmetry);
  return p;
}

/* A cyclic permutation with large entries, and small ones on the diagonal and elsewhere. */
static inline problem *make_cyclic(const typed *t, uint64_t seed) {
  problem *p = xcalloc(1, sizeof *p);
  p->t = t;
  for (int32_t j = 0; j < ROWS; j++) {
    p->ptr[j] = p->entries;
    p->order[j] = j;
    if (j % 3 == 0) add(p, j, phase(t, seed + (uint64_t)j, 1e-14));
    add(p, (j + 1) % ROWS, 1 + phase(t, seed + 500 + (uint64_t)j, 0.5));
    add(p,
        (7 * j + 31) % ROWS == (j + 1) % ROWS || (7 * j + 31) % ROWS == j ? (j + 2) % ROWS
                                                                          : (7 * j + 31) % ROWS,
        phase(t, seed + 900 + (uint64_t)j, 0.3));
  }
  finish(p, TRISTAR_GENERAL);
  return p;
}
