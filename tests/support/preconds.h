/* Small sparse matrices as dense arrays, for the tests of preconditioners: made at random, stored in any way,
 * and multiplied. */
#pragma once

#include "tests/support/typed.h"
#include "tristar_precond.h"

enum { MOST_ROWS = 40, MOST_COLUMNS = 5 };

typedef struct square {
  int n;
  const typed *t;
  tristar_symmetry symmetry; /* symmetry of the matrix; GENERAL: none */
  number a[MOST_ROWS][MOST_ROWS];
  bool there[MOST_ROWS][MOST_ROWS]; /* the entry is stored */
} square;

/* Storage of a matrix by an application. */
typedef struct storage {
  tristar_format format;
  bool as_general; /* both triangles, whatever the symmetry */
  int triangle;    /* symmetric kinds: 0 lower, 1 upper, 2 entries of both triangles */
  bool reversed;   /* lines descend */
  bool halves;     /* each entry is stored twice, as halves */
} storage;

static const storage storages[] = {
    {TRISTAR_CSR, false, 0, false, false}, {TRISTAR_CSC, true, 0, false, false},
    {TRISTAR_CSC, false, 1, true, false},  {TRISTAR_CSR, true, 0, true, true},
    {TRISTAR_CSR, false, 2, false, true},  {TRISTAR_CSC, false, 0, false, false},
};
enum { STORAGES = sizeof storages / sizeof *storages };

/* Single numbers, so that all types hold the same. dominant: by rows. */
static inline square square_random(const typed *t, int n, int per_row, tristar_symmetry symmetry,
                                   double dominant, uint64_t seed) {
  square s = {.n = n, .t = t, .symmetry = symmetry};
  uint64_t state = seed;
  for (int i = 0; i < n; i++) s.there[i][i] = true;
  for (int e = 0; e < n * per_row; e++) {
    const int i = (int)(next_random(&state) % (uint64_t)n), j = (int)(next_random(&state) % (uint64_t)n);
    double part[2];
    if (i == j) continue;
    fill_random(part, 2, next_random(&state));
    s.there[i][j] = true;
    s.a[i][j] = (double)(float)part[0];
    if (t->is_complex) __imag__ s.a[i][j] = (double)(float)part[1];
    if (symmetry == TRISTAR_GENERAL) continue;
    s.there[j][i] = true;
    s.a[j][i] = symmetry == TRISTAR_HERMITIAN ? conj(s.a[i][j]) : s.a[i][j];
  }
  for (int i = 0; i < n; i++) {
    double sum = 1;
    for (int j = 0; j < n; j++) sum += i == j ? 0 : cabs(s.a[i][j]);
    s.a[i][i] = (double)(float)(dominant * sum);
    if (t->is_complex && symmetry != TRISTAR_HERMITIAN) __imag__ s.a[i][i] = 0.25;
  }
  return s;
}

static inline bool stored(const square *s, const storage *how, int i, int j) {
  if (!s->there[i][j]) return false;
  if (how->as_general || s->symmetry == TRISTAR_GENERAL || i == j) return true;
  const bool lower = how->triangle == 2 ? (i + j) % 3 == 0 : how->triangle == 0;
  return lower ? i > j : i < j;
}

/* Makes a view; free it with free_stored. */
static inline tristar_view store(const square *s, const storage *how) {
  const bool general = how->as_general || s->symmetry == TRISTAR_GENERAL, csr = how->format == TRISTAR_CSR;
  const int times = how->halves ? 2 : 1;
  int64_t *ptr = malloc(((size_t)s->n + 1) * sizeof *ptr), at = 0;
  int32_t *index = malloc((size_t)(2 * s->n * s->n + 1) * sizeof *index);
  void *values = malloc((size_t)(2 * s->n * s->n + 1) * s->t->bytes);
  CHECK(ptr != NULL && index != NULL && values != NULL);
  for (int line = 0; line < s->n; line++) {
    ptr[line] = at;
    for (int k = 0; k < s->n * times; k++) {
      const int other = how->reversed ? s->n - 1 - k % s->n : k % s->n;
      const int i = csr ? line : other, j = csr ? other : line;
      if (!stored(s, how, i, j)) continue;
      put(s->t, values, at, s->a[i][j] / times);
      index[at++] = other;
    }
  }
  ptr[s->n] = at;
  return stored_view(how->format, general ? TRISTAR_GENERAL : s->symmetry, s->t->scalar, s->n, s->n, ptr,
                     index, values);
}

static inline void free_stored(tristar_view *v) {
  free((void *)(uintptr_t)v->ptr);
  free((void *)(uintptr_t)v->index);
  free((void *)(uintptr_t)v->values);
}

/* Checks that the preconditioner solves with M: |B - op(M) X| is small in every entry, for one right-hand
 * side and several, in place and not. size = |L| |U|, the scale of the rounding errors of the sweeps. */
static inline void check_inverse(tristar_precond_t *p, const square *m, const square *size,
                                 const char *what) {
  const int n = m->n;
  const typed *t = m->t;
  OWNED void *b = calloc((size_t)n * MOST_COLUMNS, t->bytes),
             *x = malloc((size_t)n * MOST_COLUMNS * t->bytes);
  for (int i = 0; i < n * MOST_COLUMNS; i++) put(t, b, i, random_value((uint64_t)i + 77));
  for (int o = 0; o < TYPED_OPS; o++)
    for (int run = 0; run < 3; run++) {
      const tristar_op op = typed_ops[o];
      const int columns = run == 0 ? 1 : MOST_COLUMNS;
      memset(x, 0xff, (size_t)n * MOST_COLUMNS * t->bytes);
      if (run == 2) memcpy(x, b, (size_t)n * MOST_COLUMNS * t->bytes);
      CHECK_OK(tristar_precond_apply(p, op, columns, run == 2 ? x : b, n, x, n));
      for (int c = 0; c < columns; c++)
        for (int i = 0; i < n; i++) {
          const number bi = get(t, b, i + c * n);
          number rest = bi;
          double bound = cabs(bi);
          for (int j = 0; j < n; j++) {
            const number e = op == TRISTAR_N ? m->a[i][j] : op == TRISTAR_T ? m->a[j][i] : conj(m->a[j][i]);
            const number xj = get(t, x, j + c * n);
            rest -= e * xj;
            bound += cabs(op == TRISTAR_N ? size->a[i][j] : size->a[j][i]) * cabs(xj);
          }
          CHECK_MSG(cabs(rest) <= 20 * n * t->roundoff * bound, "%s, %c, op %c, run %d: row %d has %g of %g",
                    what, (char)t->scalar, (char)op, run, i, cabs(rest), bound);
        }
    }
}

/* Checks that the bits of a result do not depend on the number of StarPU's workers. apply_with: makes a
 * context with so many workers and returns *size numbers, which are freed here. */
static inline void check_workers(double *(*apply_with)(const char *workers, tristar_engine engine,
                                                       int64_t *size)) {
  static const char *const workers[] = {"1", "2", "3", "4"};
  int64_t size;
  OWNED double *wanted = apply_with("1", TRISTAR_ENGINE_SERIAL, &size);
  for (int w = 0; w < 4; w++) {
    double *x = apply_with(workers[w], TRISTAR_ENGINE_TASKS, &size);
    CHECK(memcmp(x, wanted, (size_t)size * sizeof *x) == 0);
    free(x);
  }
}
