/* Sparse approximate inverses whose rows share patterns, node by node, against their definition in dense
 * arithmetic: every scalar type, storage, and size of nodes.
 *
 *   rows         the equations of the rows on their patterns; (G A G^H)_ii = 1
 *   patterns     equal to a textbook implementation: rows of a node share all columns but their triangle
 *   nodes        by number, also with a smaller last node, and by equal columns; nodes of one row change no
 * bit new values   on the same pattern failures     the message names a row that is not positive definite; no
 * memory workers      the same bits for 1 to 4, and without tasks */
#include "runtime/context/context.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/fsai.h"
#include "tests/support/subtests.h"

enum { N = FSAI_ROWS };

/* Node k: rows start[k] .. start[k + 1] - 1. */
typedef struct nodes {
  int count, start[MOST_ROWS + 1], of[MOST_ROWS];
} nodes;

static nodes nodes_of(const square *s, int block) {
  nodes all = {.count = 0};
  for (int i = 0; i < s->n; i++) {
    const bool like = i > 0 && memcmp(s->there[i], s->there[i - 1], sizeof s->there[i]) == 0;
    const bool begins = block > 0 ? i % block == 0 : !like || i - all.start[all.count - 1] == 8;
    if (begins) all.start[all.count++] = i;
    all.of[i] = all.count - 1;
  }
  all.start[all.count] = s->n;
  return all;
}

/* ---- The textbook -------------------------------------------------------------------------------------- */

/* The nodes of the pattern, the rows of G of the current node, and the product of psi / psi_0. */
typedef struct progress {
  bool in[MOST_ROWS];
  number g[8][MOST_ROWS];
  double product;
} progress;

static void solve_node(const square *a, const nodes *all, int node, progress *p) {
  p->product = 1;
  for (int i = all->start[node]; i < all->start[node + 1]; i++) {
    number *g = p->g[i - all->start[node]];
    pattern row = {.count = 0};
    for (int j = 0; j < i; j++)
      if (p->in[all->of[j]] || all->of[j] == node) row.column[row.count++] = j;
    const double psi = solve_row(a, i, &row, g);
    for (int j = 0; j < a->n; j++) g[j] /= sqrt(psi);
    p->product *= psi / creal(a->a[i][i]);
  }
}

/* Returns the sum of squares of the node's rows of G in the columns of another node. */
static double measure(const nodes *all, int node, int other, const progress *p) {
  double sum = 0;
  for (int r = 0; r < all->start[node + 1] - all->start[node]; r++)
    for (int j = all->start[other]; j < all->start[other + 1]; j++)
      sum += creal(p->g[r][j]) * creal(p->g[r][j]) + cimag(p->g[r][j]) * cimag(p->g[r][j]);
  return sum;
}

/* Returns the trace of R C^-1 R^H. R: the rows of G A in the columns of another node; C: the diagonal block
 * of A for this node. */
static double weigh(const square *a, const nodes *all, int node, int other, const progress *p) {
  const int first = all->start[other], m = all->start[other + 1] - first;
  double sum = 0;
  for (int r = 0; r < all->start[node + 1] - all->start[node]; r++) {
    number c[8][9], x[8], row[8] = {0};
    for (int j = 0; j < m; j++)
      for (int k = 0; k < a->n; k++) row[j] += p->g[r][k] * a->a[k][first + j];
    for (int j = 0; j < m; j++) {
      for (int k = 0; k < m; k++) c[j][k] = a->a[first + j][first + k];
      c[j][m] = conj(row[j]);
    }
    for (int d = 0; d < m; d++)
      for (int j = d + 1; j < m; j++)
        for (int k = m; k >= d; k--) c[j][k] -= c[j][d] / c[d][d] * c[d][k];
    for (int j = m - 1; j >= 0; j--) {
      x[j] = c[j][m];
      for (int k = j + 1; k < m; k++) x[j] -= c[j][k] * x[k];
      x[j] /= c[j][j];
      sum += creal(row[j] * x[j]);
    }
  }
  return sum;
}

/* Adds the nodes with the largest gradients until they have per_step columns. */
static void take_step(const square *a, const nodes *all, int node, int per_step, progress *p) {
  double weight[MOST_ROWS];
  int columns = 0;
  for (int k = 0; k < node; k++) weight[k] = p->in[k] ? 0 : weigh(a, all, node, k, p);
  while (columns < per_step) {
    int best = -1;
    for (int k = 0; k < node; k++)
      if (weight[k] > 0 && (best < 0 || weight[k] > weight[best])) best = k;
    if (best < 0) return;
    p->in[best] = true;
    weight[best] = 0;
    columns += all->start[best + 1] - all->start[best];
  }
}

/* Finds the nodes at a distance of at most `power` entries. Only entries above the filter count. */
static void reach(const square *a, const nodes *all, int node, const tristar_precond_options *o,
                  progress *p) {
  bool reached[MOST_ROWS] = {false}, next[MOST_ROWS];
  reached[node] = true;
  for (int step = 0; step < o->power; step++) {
    memcpy(next, reached, sizeof next);
    for (int i = 0; i < a->n; i++)
      for (int j = 0; j < a->n; j++)
        if (reached[all->of[i]] && a->there[i][j] &&
            cabs(a->a[i][j]) > o->prefilter * sqrt(cabs(a->a[i][i]) * cabs(a->a[j][j])))
          next[all->of[j]] = true;
    memcpy(reached, next, sizeof next);
  }
  for (int k = 0; k < node; k++) p->in[k] = reached[k];
}

static void filter(const nodes *all, int node, double share, progress *p) {
  double sum = measure(all, node, node, p);
  for (int k = 0; k < node; k++) sum += measure(all, node, k, p);
  for (int k = 0; k < node; k++)
    if (measure(all, node, k, p) < share * share * sum) p->in[k] = false;
}

static square textbook(const square *s, const nodes *all, const tristar_precond_options *o) {
  square out = {.n = s->n, .t = s->t}, a = *s;
  for (int i = 0; i < s->n; i++) a.a[i][i] *= 1 + o->shift;
  for (int node = 0; node < all->count; node++) {
    const int first = all->start[node], end = all->start[node + 1];
    progress p = {.product = 1};
    reach(&a, all, node, o, &p);
    solve_node(&a, all, node, &p);
    for (int k = 0; k < o->steps && p.product > pow(o->reduction, end - first); k++) {
      take_step(&a, all, node, (int)o->per_step, &p);
      solve_node(&a, all, node, &p);
    }
    if (o->postfilter > 0) {
      filter(all, node, o->postfilter, &p);
      solve_node(&a, all, node, &p);
    }
    for (int i = first; i < end; i++)
      for (int j = 0; j <= i; j++) {
        out.a[i][j] = p.g[i - first][j];
        out.there[i][j] = p.in[all->of[j]] || all->of[j] == node;
      }
  }
  return out;
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

static void check_case(tristar_t *ts, const square *s, const storage *how,
                       const tristar_precond_options *options) {
  const double roundoff = options->single ? typed_single.roundoff : s->t->roundoff;
  const nodes all = nodes_of(s, options->block);
  CLEANUP(free_stored) tristar_view view = store(s, how);
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, options);
  if (options->block < 0 && 2 * s->n < 3 * all.count) {
    CHECK(p->fsai->nodes.count == 0);
  } else {
    CHECK(p->fsai->nodes.count == all.count);
    for (int k = 0; k <= all.count; k++) CHECK(p->fsai->nodes.start[k] == all.start[k]);
    const square g = factor_of(p, s->t), wanted = textbook(s, &all, options);
    check_equations(s, &g, options->shift, roundoff);
    check_like(&g, &wanted, roundoff);
    check_products(p, &g);
  }
}

static void check_cases(tristar_t *ts, const square *s, const storage *how, int block) {
  tristar_precond_options options[FSAI_CASES];
  list_cases(options);
  options[6].per_step = 4;
  options[7].steps = options[7].per_step = 2;
  for (size_t k = 0; k < FSAI_CASES; k++) {
    options[k].block = block;
    check_case(ts, s, how, &options[k]);
  }
}

/* Gives all rows of a node the same columns by storing zeros. */
static square with_nodes(const square *s, int block) {
  const nodes all = nodes_of(s, block);
  square out = *s;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++)
      for (int k = all.start[all.of[i]]; k < all.start[all.of[i] + 1] && s->there[i][j]; k++)
        for (int l = all.start[all.of[j]]; l < all.start[all.of[j] + 1]; l++) out.there[k][l] = true;
  return out;
}

/* G has the same bits with both values of the option `block`. */
static void check_same(tristar_t *ts, const tristar_view *view, int block, int other) {
  tristar_precond_options options = options_of(5, 3, 0);
  tristar_precond_t *p[2];
  for (int k = 0; k < 2; k++) {
    options.block = k == 0 ? block : other;
    CHECK_OK(tristar_precond(ts, view, &options, &p[k]));
  }
  const tsi_entries *a = &p[0]->fsai->lower, *b = &p[1]->fsai->lower;
  CHECK(memcmp(a->ptr, b->ptr, ((size_t)a->n + 1) * sizeof *a->ptr) == 0);
  CHECK(memcmp(a->index, b->index, (size_t)a->ptr[a->n] * sizeof *a->index) == 0);
  CHECK(memcmp(a->item, b->item, (size_t)a->ptr[a->n] * a->bytes) == 0);
  for (int k = 0; k < 2; k++) tristar_precond_destroy(&p[k]);
}

static void check_bits(tristar_t *ts) {
  static const char *const kinds[] = {"gen:poisson3d7:9", "gen:elasticity3d:3"};
  tristar_matrix_t *matrix;
  tristar_view view;
  for (int k = 0; k < 2; k++) {
    view = read_view(ts, kinds[k], &matrix);
    check_same(ts, &view, 0, 1);
    check_same(ts, &view, k == 0 ? 0 : 3, TRISTAR_PRECOND_BLOCK_AUTO); /* one unknown per point, or three */
    tristar_matrix_destroy(&matrix);
  }
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

/* The matrix must be refused, and the message must name this row. */
static void must_fail(tristar_t *ts, const square *s, int block, int row) {
  CLEANUP(free_stored) tristar_view view = store(s, &storages[1]);
  tristar_precond_options options = options_of(5, 3, 0);
  tristar_precond_t *p;
  char wanted[40];
  options.block = block;
  snprintf(wanted, sizeof wanted, "row %d,", row);
  CHECK_STATUS(tristar_precond(ts, &view, &options, &p), TRISTAR_ERR_NOT_POSITIVE_DEFINITE);
  CHECK_ERROR(ts, wanted);
}

static void check_indefinite(tristar_t *ts) {
  for (int block = 2; block <= 8; block++) {
    square s = square_random(&typed_double, N, 3, TRISTAR_SYMMETRIC, 1.1, 8);
    s.a[17][17] = -1;
    must_fail(ts, &s, block, 17);
    s.a[17][17] = 1; /* too small for the entries that couple it with the previous row */
    s.a[17][16] = s.a[16][17] = 100;
    s.there[17][16] = s.there[16][17] = true;
    must_fail(ts, &s, block, 17);
  }
}

/* Each allocation fails in turn; no memory is lost. */
static void check_memory(tristar_t *ts) {
  const square s = square_random(&typed_complex_single, N, 3, TRISTAR_HERMITIAN, 1.1, 8);
  CLEANUP(free_stored) tristar_view view = store(&s, &storages[0]);
  tristar_precond_options options = options_of(3, 2, 0);
  tristar_precond_t *p;

  options.power = 1;
  options.block = 3;
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    end_failure(&failing, tristar_precond(ts, &view, &options, &p));
    tristar_precond_destroy(&p);
  }
  CHECK(failing.count >= 30);
}

/* ---- Workers ------------------------------------------------------------------------------------------- */

/* Returns X after an update; the caller frees it. */
static double *apply_with(const char *workers, tristar_engine engine, int64_t *size) {
  tristar_precond_stats stats;
  tristar_precond_options options = options_of(4, 2, 1e-2);
  CHECK(setenv("STARPU_NCPU", workers, 1) == 0);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_view view = read_view(ts, "gen:elasticity3d:6", &matrix);
  options.engine = engine;
  options.block = TRISTAR_PRECOND_BLOCK_AUTO;
  CLEANUP(tristar_precond_destroy) tristar_precond_t *p = NEW_PRECOND(ts, &view, &options);
  CHECK_OK(tristar_precond_get_stats(p, &stats));
  CHECK(stats.nodes == view.rows / 3);
  *size = view.rows;
  double *b = xmalloc((size_t)*size * sizeof *b), *x = xmalloc((size_t)*size * sizeof *x);
  fill_random(b, *size, 4);
  CHECK_OK(tristar_precond_update(p, &view));
  CHECK_OK(tristar_precond_apply(p, TRISTAR_N, 1, b, *size, x, *size));
  free(b);
  return x;
}

int test_fsai_nodes(int argc, char **argv) {
  subtests_begin(&argc, argv);
  tristar_t *ts = open_without_starpu(true);
  int round = 0;
  for (int t = 0; t < 4 && !TSI_TESTS_RACES; t++) { /* one thread */
    const tristar_symmetry symmetry = types[t]->is_complex ? TRISTAR_HERMITIAN : TRISTAR_SYMMETRIC;
    for (int block = 2; block <= 8; block += 1 + 2 * TSI_TESTS_SANITIZED, round++) {
      const square s = square_random(types[t], N - round % 5, 3, symmetry, 1.1, (uint64_t)(round + 3));
      const square uniform = with_nodes(&s, block);
      RUN(check_cases(ts, &s, &storages[round % STORAGES], block));
      RUN(check_cases(ts, &uniform, &storages[(round + 1) % STORAGES], block));
      RUN(check_cases(ts, &uniform, &storages[0], TRISTAR_PRECOND_BLOCK_AUTO));
    }
    const square one = square_random(types[t], 1, 3, symmetry, 1.1, 3);
    RUN(check_cases(ts, &one, &storages[0], 3));
    RUN(check_update(ts, types[t], symmetry, 3));
    RUN(check_update(ts, types[t], symmetry, 5));
  }
  RUN(check_bits(ts));
  RUN(check_indefinite(ts));
  RUN(check_memory(ts));
  close_context(&ts);
  RUN(check_workers(apply_with));
  return 0;
}
