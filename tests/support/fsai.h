/* Factorized sparse approximate inverses of small matrices in dense arithmetic: rows by Gaussian elimination,
 * and the equations that rows of G fulfil. */
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

/* ---- Rows -----------------------------------------------------------------------------------------------
 */

/* g of row i on its pattern, by Gaussian elimination of the whole system; returns psi. */
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

/* ---- What the library has ------------------------------------------------------------------------------ */

static inline square factor_of(const tristar_precond_t *p, const typed *t) {
  const tsi_entries *rows = &p->fsai->lower;
  square g = {.n = p->n, .t = t};
  for (int i = 0; i < p->n; i++) {
    CHECK(rows->index[rows->ptr[i + 1] - 1] == i);
    for (int64_t e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      CHECK(e == rows->ptr[i] || rows->index[e - 1] < rows->index[e]);
      g.a[i][rows->index[e]] = get(t, rows->item, e);
      g.there[i][rows->index[e]] = true;
    }
  }
  return g;
}

/* The equations of the rows, with rounding errors of that unit. */
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

/* X = op(G^H G) B for all ops, also in place, within rounding errors. */
static inline void check_products(tristar_precond_t *p, const square *g) {
  const int n = g->n, columns = 11;
  const typed *t = g->t;
  char *b = calloc((size_t)(n * columns), t->bytes), *x = calloc((size_t)(n * columns), t->bytes);
  double part[2];
  CHECK(b != NULL && x != NULL);
  for (int i = 0; i < n * columns; i++) {
    fill_random(part, 2, (uint64_t)i + 5);
    number z = part[0];
    __imag__ z = part[1];
    put(t, b, i, z);
  }
  for (int o = 0; o < TYPED_OPS; o++)
    for (int in_place = 0; in_place < 2; in_place++) {
      const bool conjugated = typed_ops[o] == TRISTAR_T;
      if (in_place) memcpy(x, b, (size_t)(n * columns) * t->bytes);
      CHECK_OK(tristar_precond_apply(p, typed_ops[o], columns, in_place ? x : b, n, x, n));
      for (int c = 0; c < columns; c++) {
        number y[MOST_ROWS] = {0};
        double size[MOST_ROWS] = {0};
        for (int i = 0; i < n; i++)
          for (int j = 0; j <= i; j++) {
            const number e = conjugated ? conj(g->a[i][j]) : g->a[i][j];
            y[i] += e * get(t, b, j + c * n);
            size[i] += cabs(e * get(t, b, j + c * n));
          }
        for (int j = 0; j < n; j++) {
          number sum = 0;
          double bound = 0;
          for (int i = j; i < n; i++) {
            const number e = conjugated ? g->a[i][j] : conj(g->a[i][j]);
            sum += e * y[i];
            bound += cabs(e) * size[i];
          }
          CHECK(cabs(get(t, x, j + c * n) - sum) <= 10 * n * t->roundoff * bound);
        }
      }
    }
  free(b);
  free(x);
}

static inline tristar_precond_options options_of(int64_t steps, int64_t per_step, double reduction) {
  tristar_precond_options options;
  tristar_precond_options_init(&options);
  options.kind = TRISTAR_PRECOND_FSAI;
  options.steps = steps;
  options.per_step = per_step;
  options.reduction = reduction;
  return options;
}
