/* Factorized sparse approximate inverses against their definition, on small random matrices in dense
 * arithmetic: every scalar type and storage.
 *
 *   rows         (G A)_ij = 0 at places (i, j) of the pattern left of the diagonal, (G A G^H)_ii = 1
 *   patterns     equal to a textbook implementation, which solves a new system in each step; ties
 *   long rows    which are computed alone, in the same matrix as others
 *   application  G^H G, for N, T and C, one right-hand side and several
 *   workers      the same bits for 1 to 4, and without tasks */
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/fsai.h"
#include "tests/support/subtests.h"

enum { N = FSAI_ROWS };

/* ---- The textbook -------------------------------------------------------------------------------------- */

/* Returns the column outside of the pattern with the largest entry of the gradient; -1: all entries are
 * zero. */
static int find_largest(int i, const pattern *p, const number gradient[MOST_ROWS]) {
  int best = -1;
  for (int j = 0; j < i; j++) {
    bool inside = false;
    for (int r = 0; r < p->count; r++) inside = inside || p->column[r] == j;
    if (!inside && gradient[j] != 0 && (best < 0 || cabs(gradient[j]) > cabs(gradient[best]))) best = j;
  }
  return best;
}

static void take_step(const square *s, int i, int per_step, const number g[MOST_ROWS], pattern *p) {
  number gradient[MOST_ROWS] = {0};
  for (int j = 0; j < i; j++)
    for (int k = 0; k < s->n; k++) gradient[j] += g[k] * s->a[k][j];
  for (int k = 0; k < per_step; k++) {
    const int best = find_largest(i, p, gradient);
    if (best < 0) return;
    p->column[p->count++] = best;
  }
}

/* Returns the columns left of i at a distance of at most `power` entries. Only entries above the filter
 * count. */
static pattern reach(const square *s, int i, const tristar_precond_options *o) {
  bool reached[MOST_ROWS] = {false}, next[MOST_ROWS];
  pattern p = {.count = 0};
  reached[i] = true;
  for (int step = 0; step < o->power; step++) {
    memcpy(next, reached, sizeof next);
    for (int j = 0; j < s->n; j++)
      for (int k = 0; k < s->n; k++)
        if (reached[j] && s->there[j][k] &&
            cabs(s->a[j][k]) > o->prefilter * sqrt(cabs(s->a[j][j]) * cabs(s->a[k][k])))
          next[k] = true;
    memcpy(reached, next, sizeof next);
  }
  for (int j = 0; j < i; j++)
    if (reached[j]) p.column[p.count++] = j;
  return p;
}

static void filter(pattern *p, double share, const number g[MOST_ROWS]) {
  double sum = 1;
  int kept = 0;
  for (int r = 0; r < p->count; r++) sum += cabs(g[p->column[r]]) * cabs(g[p->column[r]]);
  for (int r = 0; r < p->count; r++)
    if (cabs(g[p->column[r]]) >= share * sqrt(sum)) p->column[kept++] = p->column[r];
  p->count = kept;
}

/* Computes G as the lower triangle of a square. */
static square textbook(const square *s, const tristar_precond_options *o) {
  square out = {.n = s->n, .t = s->t};
  square a = *s;
  for (int i = 0; i < s->n; i++) a.a[i][i] *= 1 + o->shift;
  for (int i = 0; i < s->n; i++) {
    number g[MOST_ROWS];
    pattern p = reach(&a, i, o);
    double psi = solve_row(&a, i, &p, g);
    for (int k = 0; k < o->steps && psi > o->reduction * creal(a.a[i][i]); k++) {
      take_step(&a, i, (int)o->per_step, g, &p);
      psi = solve_row(&a, i, &p, g);
    }
    if (o->postfilter > 0) {
      filter(&p, o->postfilter, g);
      psi = solve_row(&a, i, &p, g);
    }
    for (int j = 0; j <= i; j++) out.a[i][j] = g[j] / sqrt(psi);
    for (int r = 0; r < p.count; r++) out.there[i][p.column[r]] = true;
    out.there[i][i] = true;
  }
  return out;
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

static void check_case(tristar_t *ts, const square *s, const storage *how,
                       const tristar_precond_options *options) {
  const double roundoff = options->single ? typed_single.roundoff : s->t->roundoff;
  CLEANUP(free_stored) tristar_view view = store(s, how);
  tristar_precond_stats stats;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, options);
  const square g = factor_of(p, s->t), wanted = textbook(s, options);
  check_equations(s, &g, options->shift, roundoff);
  check_like(&g, &wanted, roundoff);
  check_products(p, &g);
  CHECK_OK(tristar_precond_get_stats(p, &stats));
  CHECK(stats.nnz_lower == p->fsai->lower.ptr[s->n] && stats.nnz_upper == 0 && stats.levels_lower == 0);
  CHECK(stats.fill == (2.0 * (double)(stats.nnz_lower - s->n) + s->n) / (double)stats.nnz);
}

static void check_cases(tristar_t *ts, const square *s, const storage *how) {
  tristar_precond_options options[FSAI_CASES];
  list_cases(options);
  for (size_t k = 0; k < FSAI_CASES; k++) {
    options[k].nrhs = (int64_t)k;
    check_case(ts, s, how, &options[k]);
  }
}

/* If entries of the gradient are equal, the smaller columns join. */
static void check_ties(tristar_t *ts) {
  square s = {.n = 6, .t = &typed_double, .symmetry = TRISTAR_SYMMETRIC};
  const tristar_precond_options options = options_of(1, 2, 0);
  for (int i = 0; i < s.n; i++)
    for (int j = 0; j < s.n; j++) {
      s.a[i][j] = i == j ? 10 : (i + j) % 2 ? 1 : -1;
      s.there[i][j] = true;
    }
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[3]);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  const square g = factor_of(p, s.t);
  for (int i = 0; i < s.n; i++)
    for (int j = 0; j < s.n; j++) CHECK(g.there[i][j] == (i == j || (j < i && j < 2)));
}

/* ---- Long rows ----------------------------------------------------------------------------------------- */

enum { ARROW = 2100 };

/* Column 0 has entries in odd rows, all different; all other entries are on the diagonal. */
static double arrow(int i, int j) {
  const int k = i > j ? i : j;
  if (i == j) return 10;
  return (i == 0 || j == 0) && k % 2 == 1 ? -0.05 * (1 + (double)(k * 1009 % ARROW) / ARROW) : 0;
}

/* Row i of G has column 0 and the `most` columns before i with the largest entries, and solves its system. */
static void check_arrow_row(const tsi_entries *g, int i, int most) {
  const double *values = g->item;
  const int64_t begin = g->ptr[i], end = g->ptr[i + 1];
  double smallest = INFINITY, one = 0;
  int larger = 0;
  for (int64_t e = begin; e < end; e++) {
    double ga = 0;
    for (int64_t k = begin; k < end; k++) ga += values[k] * arrow(g->index[k], g->index[e]);
    CHECK(fabs(ga) <= (g->index[e] == i ? 10 : 1e-12));
    one += ga * values[e];
    if (g->index[e] > 0 && g->index[e] < i) smallest = fmin(smallest, -arrow(0, g->index[e]));
  }
  CHECK(fabs(one - 1) <= 1e-12 && g->index[end - 1] == i);
  if (i % 2 == 0) {
    CHECK(end - begin == 1);
    return;
  }
  for (int j = 1; j < i; j++) larger += -arrow(0, j) > smallest;
  CHECK(end - begin == 2 + (i / 2 < most ? i / 2 : most) && larger == (i > 1 ? end - begin - 3 : 0));
  CHECK(g->index[begin] == 0);
}

/* Some rows reach too many columns to be computed side by side with others. */
static void check_arrow(tristar_t *ts) {
  static int32_t ptr[ARROW + 1], column[2 * ARROW];
  static double values[2 * ARROW];
  int count = 0;
  for (int i = 0; i < ARROW; i++) {
    for (int j = 0; j <= i; j += i > 0 ? i : 1) {
      if (arrow(i, j) == 0) continue;
      column[count] = j;
      values[count++] = arrow(i, j);
    }
    ptr[i + 1] = count;
  }
  const tristar_view view = {
      TRISTAR_CSR, TRISTAR_SYMMETRIC, TRISTAR_DOUBLE, ARROW, ARROW, ptr, column, values, 32, 32, 0};
  const tristar_precond_options options = options_of(3, 2, 0);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  for (int i = 0; i < ARROW; i++) check_arrow_row(&p->fsai->lower, i, 4);
}

static void check_refused(tristar_t *ts) {
  const square s = square_random(&typed_complex_double, 9, 3, TRISTAR_SYMMETRIC, 1.1, 8);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  const tristar_precond_options options = options_of(5, 3, 0);
  tristar_precond_t *p;
  char message[400];
  CHECK_STATUS(tristar_precond(ts, &view, &options, &p), TRISTAR_ERR_ARGUMENT);
  (void)tristar_get_error(ts, message, sizeof message);
  CHECK(strstr(message, "complex symmetric") != NULL && p == NULL);
}

/* ---- Workers ------------------------------------------------------------------------------------------- */

/* Applies the preconditioner to three right-hand sides, twice, once after an update. Returns X, which the
 * caller frees. */
static double *apply_with(const char *workers, tristar_engine engine, int64_t *size) {
  tristar_precond_options options = options_of(4, 2, 1e-2);
  CHECK(setenv("STARPU_NCPU", workers, 1) == 0);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = read_view(ts, "gen:poisson3d7:13", &matrix);
  options.engine = engine;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  const int64_t n = view.rows;
  *size = 6 * n;
  double *b = xmalloc((size_t)(3 * n) * sizeof *b), *x = xmalloc((size_t)*size * sizeof *x);
  fill_random(b, 3 * n, 4);
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 3, b, n, x, n));
  CHECK_OK(tristar_precond_update(p, &view));
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 3, b, n, x + 3 * n, n));
  free(b);
  return x;
}

int test_fsai(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(true);
  int round = 0;
  for (int t = 0; t < 4; t++) {
    const tristar_symmetry symmetry = types[t]->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    for (int n = 1; n <= N; n += 7, round++) {
      const square s = square_random(types[t], n, 3, symmetry, 1.1, (uint64_t)(round + 3));
      RUN(check_cases(ts, &s, &storages[round % STORAGES]));
    }
    RUN(check_update(ts, types[t], symmetry, 0));
  }
  RUN(check_ties(ts));
  RUN(check_arrow(ts));
  RUN(check_refused(ts));
  close_context(&ts);
  RUN(check_workers(apply_with));
  return 0;
}
