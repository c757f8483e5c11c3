/* Checks factorized sparse approximate inverses of small matrices in dense arithmetic: computes rows by
 * Gaussian elimination, and checks the equations of rows of G. */
#pragma once

#include "runtime/iterate/precond/fsai_state.h"
#include "runtime/iterate/precond/precond.h"
#include "tests/support/preconds.h"

static const typed *const types[] = {&typed_double, &typed_complex_double, &typed_single,
                                     &typed_complex_single};

typedef struct pattern {
  int count;
  int column[MOST_ROWS]; /* in the order in which they joined */
} pattern;

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* Computes row i of G, g, on its pattern by Gaussian elimination of the whole system. Returns psi. */
static inline double solve_row(const square *s, int i, const pattern *p, number g[MOST_ROWS]) {
  number k[MOST_ROWS][MOST_ROWS + 1];
  const int m = p->count;
  for (int r = 0; r < m; r++) {
    for (int c = 0; c < m; c++) k[r][c] = s->a[p->column[c]][p->column[r]];
    k[r][m] = -s->a[i][p->column[r]];
  }
  for (int d = 0; d < m; d++)
    for (int r = d + 1; r < m; r++)
      for (int c = m; c >= d; c--) k[r][c] -= k[r][d] / k[d][d] * k[d][c];
  for (int j = 0; j < s->n; j++) g[j] = i == j;
  for (int r = m - 1; r >= 0; r--) {
    for (int c = r + 1; c < m; c++) k[r][m] -= k[r][c] * g[p->column[c]];
    g[p->column[r]] = k[r][m] / k[r][r];
  }
  double psi = 0;
  for (int j = 0; j < s->n; j++) psi += creal(g[j] * s->a[j][i]);
  return psi;
}

/* ---- Factors of the library ---------------------------------------------------------------------------- */

/* Returns the library's lower triangle with these values, and checks that columns of rows ascend. */
static inline square triangle_of(const tristar_precond_t *p, const typed *t, const void *values) {
  const tsi_entries *rows = &p->fsai->lower;
  square g = {.n = p->n, .t = t};
  for (int i = 0; i < p->n; i++) {
    CHECK(rows->index[rows->ptr[i + 1] - 1] == i);
    for (int64_t e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      CHECK(e == rows->ptr[i] || rows->index[e - 1] < rows->index[e]);
      g.a[i][rows->index[e]] = get(t, values, e);
      g.there[i][rows->index[e]] = true;
    }
  }
  return g;
}

/* Returns G, or G_L of a pair. */
static inline square factor_of(const tristar_precond_t *p, const typed *t) {
  return triangle_of(p, t, p->fsai->lower.item);
}

/* Checks that each row of G satisfies its equations up to rounding errors. */
static inline void check_equations(const square *a, const square *g, double shift, double roundoff) {
  const int n = a->n;
  for (int i = 0; i < n; i++) {
    number ga[MOST_ROWS] = {0}, one = 0;
    double size = 0, whole = 0;
    for (int j = 0; j < n; j++) {
      for (int k = 0; k <= i; k++) ga[j] += g->a[i][k] * a->a[k][j] * (j == k ? 1 + shift : 1);
      one += ga[j] * conj(g->a[i][j]);
    }
    for (int k = 0; k <= i; k++)
      for (int j = 0; j <= i; j++) {
        const double part = cabs(g->a[i][k]) * cabs(a->a[k][j]);
        if (part > size) size = part;
        whole += part * cabs(g->a[i][j]);
      }
    for (int j = 0; j < i; j++)
      CHECK_MSG(!g->there[i][j] || cabs(ga[j]) <= 40 * n * roundoff * size, "(G A)(%d,%d) is %g of %g", i, j,
                cabs(ga[j]), size);
    CHECK_MSG(cabs(one - 1) <= 40 * n * roundoff * whole, "(G A G^H)(%d,%d) is 1 + %g", i, i, cabs(one - 1));
  }
}

static inline void check_like(const square *g, const square *wanted, double roundoff) {
  for (int i = 0; i < g->n; i++)
    for (int j = 0; j < g->n; j++) {
      CHECK_MSG(g->there[i][j] == wanted->there[i][j], "%s (%d,%d) is %s the pattern", "place", i, j,
                g->there[i][j] ? "in" : "not in");
      CHECK(cabs(g->a[i][j] - wanted->a[i][j]) <= 1000 * g->n * roundoff * cabs(wanted->a[i][i]));
    }
}

/* Checks X = op(G_U G_L) B up to rounding errors, for all ops, also in place. lower: G_L; upper: G_U^T. */
static inline void check_pair_products(tristar_precond_t *p, const square *lower, const square *upper) {
  enum { COLUMNS = 11 };
  const int n = lower->n;
  const typed *t = lower->t;
  OWNED char *b = xcalloc((size_t)(n * COLUMNS), t->bytes), *x = xcalloc((size_t)(n * COLUMNS), t->bytes);
  for (int i = 0; i < n * COLUMNS; i++) put(t, b, i, random_value((uint64_t)i + 5));
  for (int run = 0; run < 2 * TYPED_OPS; run++) {
    const tristar_op op = typed_ops[run / 2];
    const square *first = op == TRISTAR_N ? lower : upper, *second = op == TRISTAR_N ? upper : lower;
    if (run % 2) memcpy(x, b, (size_t)(n * COLUMNS) * t->bytes);
    CHECK_OK(tristar_precond_apply(p, op, COLUMNS, run % 2 ? x : b, n, x, n));
    for (int c = 0; c < COLUMNS; c++) {
      number y[MOST_ROWS] = {0};
      double size[MOST_ROWS] = {0};
      for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
          const number e = op == TRISTAR_C ? conj(first->a[i][j]) : first->a[i][j];
          y[i] += e * get(t, b, j + c * n);
          size[i] += cabs(e * get(t, b, j + c * n));
        }
      for (int j = 0; j < n; j++) {
        number sum = 0;
        double bound = 0;
        for (int i = j; i < n; i++) {
          const number e = op == TRISTAR_C ? conj(second->a[i][j]) : second->a[i][j];
          sum += e * y[i];
          bound += cabs(e) * size[i];
        }
        CHECK(cabs(get(t, x, j + c * n) - sum) <= 10 * n * t->roundoff * bound);
      }
    }
  }
}

/* Checks X = op(G^H G) B in the same way. */
static inline void check_products(tristar_precond_t *p, const square *g) {
  square conjugate = *g;
  for (int i = 0; i < g->n; i++)
    for (int j = 0; j < g->n; j++) conjugate.a[i][j] = conj(g->a[i][j]);
  check_pair_products(p, g, &conjugate);
}

static inline tristar_precond_options options_of(int64_t steps, int64_t per_step, double reduction) {
  tristar_precond_options options = DEFAULTS(tristar_precond_options);
  options.kind = TRISTAR_PRECOND_FSAI;
  options.steps = steps;
  options.per_step = per_step;
  options.reduction = reduction;
  return options;
}

enum { FSAI_ROWS = 30, FSAI_CASES = 10 };

/* Lists options: patterns that grow, patterns of powers, filters, a shift, factors in single precision. */
static inline void list_cases(tristar_precond_options options[FSAI_CASES]) {
  const tristar_precond_options cases[FSAI_CASES] = {
      options_of(5, 3, 0), options_of(FSAI_ROWS, 1, 0), options_of(3, FSAI_ROWS, 0), options_of(6, 1, 0.7),
      options_of(0, 1, 0), options_of(0, 1, 0),         options_of(2, 2, 0),         options_of(0, 1, 0),
      options_of(4, 3, 0), options_of(4, 3, 0)};
  memcpy(options, cases, sizeof cases);
  options[4].power = 1;
  options[5].power = 3;
  options[6].power = 1;
  options[6].prefilter = 0.1;
  options[7].power = 2;
  options[7].prefilter = 0.1;
  options[8].postfilter = 0.05;
  options[8].shift = 0.1;
  options[9].single = 1;
}

/* Checks updates with new values, then with the old ones: the pattern is kept, and the equations hold. */
static inline void check_update(tristar_t *ts, const typed *t, tristar_symmetry symmetry, int block) {
  const square s = square_random(t, FSAI_ROWS, 3, symmetry, 1.1, 8);
  square other = s;
  for (int i = 0; i < FSAI_ROWS; i++)
    for (int j = 0; j < FSAI_ROWS; j++) other.a[i][j] *= i == j ? 3 : 0.5 + 0.5 * ((i + j) % 3);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]), next = store(&other, &storages[0]);
  tristar_precond_options options = options_of(4, 2, 1e-3);
  options.postfilter = 0.02;
  options.block = block;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  const square before = factor_of(p, t);
  for (int k = 0; k < 2; k++) {
    CHECK_OK(tristar_precond_update(p, k == 0 ? &next : &view));
    const square g = factor_of(p, t);
    CHECK(memcmp(g.there, before.there, sizeof g.there) == 0);
    check_equations(k == 0 ? &other : &s, &g, 0, t->roundoff);
    check_products(p, &g);
    if (k == 1) check_like(&g, &before, t->roundoff);
  }
}
