/* Orderings with PT-Scotch by all ranks, which have the rows of a matrix. The graph of each rank's rows is
 * that of the whole matrix. Orders are permutations, the same in each run, and about as good as those of
 * METIS. A factor has the bits of a factor whose order was passed on rank 0. Also: disconnected graphs, dense
 * rows, matchings, ranks without rows, fewer rows than ranks. A failure is returned by all ranks, and no
 * memory is lost. */
#include "partition/order/ordering.h"
#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/mpi/matrix/dmatrix_graph.h"
#include "tests/support/env_allocations.h"
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/subtests.h"

static tristar_dmatrix_t *make_whole(const world *w, const shared_matrix *s) {
  tristar_dmatrix_t *d = make(w, &s->rows);
  CHECK_OK(tsi_dmatrix_need_whole(d));
  return d;
}

/* ---- Graphs -------------------------------------------------------------------------------------------- */

/* Row i is the pivot of column n - 1 - i, if mapped. */
static void check_graph(const world *w, const char *kind, int64_t k, bool mapped) {
  tsi_env *env = tsi_context_env(w->ts);
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, &typed_double, TRISTAR_SYMMETRIC);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d = make_whole(w, &s);
  const tsi_index n = (tsi_index)s.n, first = (tsi_index)s.first, here = (tsi_index)(s.end - s.first);
  OWNED tsi_index *map = xmalloc((size_t)n * sizeof *map);
  tsi_graph *graph;
  tsi_rows_graph own;
  for (tsi_index i = 0; i < n; i++) map[i] = n - 1 - i;
  const bool symmetric = s.view.symmetry != TRISTAR_GENERAL;
  CHECK(!mapped || !symmetric); /* a symmetric view has one triangle */
  CHECK_OK(tsi_graph_create(env, n, s.view.ptr, s.view.index, mapped ? map : NULL, symmetric, &graph));
  CHECK_OK(tsi_rows_graph_create(d, mapped ? map + first : NULL, &own));
  CHECK(own.n == here && own.ptr[0] == 0);
  for (tsi_index i = 0; i < here; i++) {
    const tsi_count begin = graph->ptr[first + i], each = graph->ptr[first + i + 1] - begin;
    CHECK_MSG(own.ptr[i + 1] - own.ptr[i] == each &&
                  memcmp(own.adj + own.ptr[i], graph->adj + begin, (size_t)each * sizeof *own.adj) == 0,
              "%s: other neighbours of vertex %d", kind, first + i);
  }
  tsi_rows_graph_finish(&own);
  TSI_FREE(env, graph);
}

/* ---- Orders -------------------------------------------------------------------------------------------- */

/* Computes the same permutation twice. On rank 0 the caller frees it. */
static int64_t *find_order(const world *w, const char *what, const shared_matrix *s) {
  tsi_env *env = tsi_context_env(w->ts);
  tristar_dmatrix_t *d = make_whole(w, s);
  const size_t n = (size_t)s->n;
  tsi_index *order[2];
  int64_t *permutation = NULL;
  for (int k = 0; k < 2; k++) CHECK_OK(tsi_rows_order(d, 1, false, NULL, &order[k]));
  tristar_dmatrix_destroy(&d);
  CHECK((order[0] != NULL) == (w->rank == 0) && (order[1] != NULL) == (w->rank == 0));
  if (w->rank == 0) {
    OWNED tsi_index *inverse = xmalloc(n * sizeof *inverse + 1);
    permutation = xmalloc(n * sizeof *permutation + 1);
    CHECK_OK(tsi_invert_permutation(env, (tsi_index)n, order[0], inverse));
    CHECK_MSG(n == 0 || memcmp(order[0], order[1], n * sizeof **order) == 0, "%s: another order", what);
    for (size_t i = 0; i < n; i++) permutation[i] = order[0][i];
  }
  for (int k = 0; k < 2; k++) TSI_FREE(env, order[k]);
  return permutation;
}

/* Returns the entries of L on all ranks. */
static int64_t entries_of(const tristar_distributed_t *d) {
  tristar_factor_stats f;
  tristar_analysis_stats a = {.nnz_lower = 0};
  if (d->source != NULL) CHECK_OK(tristar_distributed_get_factor_stats(d, &f, &a));
  MPI_Bcast(&a.nnz_lower, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return a.nnz_lower;
}

/* Three factors in one layout: by PT-Scotch, with the order passed on rank 0 (if known), and by METIS. */
static void check_layout(const world *w, const char *what, const shared_matrix *s, wish o, bool known,
                         const int64_t *permutation, double fill) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  tristar_distributed_t *d, *given, *metis;
  o.analysis.ordering = TRISTAR_ORDERING_PTSCOTCH;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  o.analysis.ordering = TRISTAR_ORDERING_USER;
  o.analysis.permutation = permutation;
  if (known) {
    CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &given));
    check_same(what, d, given);
    same_solutions(what, s, d, given);
    tristar_distributed_destroy(&given);
  } else
    same_solutions(what, s, d, d);
  o.analysis.ordering = TRISTAR_ORDERING_METIS;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &metis));
  const int64_t here = entries_of(d), there = entries_of(metis);
  CHECK_MSG((double)here <= fill * (double)there, "%s: %lld entries, METIS %lld", what, (long long)here,
            (long long)there);
  if (w->rank == 0)
    fprintf(stderr, "%s, %dx%dx%d: %.2f times the entries of METIS\n", what, o.options.layout.px,
            o.options.layout.py, o.options.layout.pz, (double)here / (double)(there > 0 ? there : 1));
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  same_solutions(what, s, d, d);
  tristar_distributed_destroy(&metis);
  tristar_distributed_destroy(&d);
}

/* All layouts. */
static void check_matrix(const world *w, const char *what, const shared_matrix *s, tristar_method method,
                         double fill) {
  OWNED int64_t *permutation = find_order(w, what, s);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px++) {
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      if (px * layout.py * pz == w->ranks)
        check_layout(w, what, s, wish_of(&layout, method), true, permutation, fill);
    }
}

static void check_model(const world *w, const char *kind, int64_t k, const typed *t, double fill) {
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, t, TRISTAR_HERMITIAN);
  check_matrix(w, kind, &s, TRISTAR_METHOD_AUTO, fill);
}

/* ---- Graphs that are not connected, or have dense vertices --------------------------------------------- */

enum { SIDE = 12, PIECES = 7, SINGLE = 90, VERTICES = PIECES * SIDE * SIDE + SINGLE };

typedef struct pieces {
  int64_t ptr[VERTICES + 1];
  int32_t index[4 * VERTICES];
  double values[4 * VERTICES];
  shared_matrix s;
} pieces;

/* The lower triangle by columns. It consists of grids, with consecutive vertices in different grids, and of
 * single vertices. hub: the last vertex is adjacent to all others. */
static pieces *make_pieces(const world *w, int64_t n, bool edges, bool hub) {
  pieces *p = xcalloc(1, sizeof *p);
  int64_t at = 0;
  CHECK(n <= VERTICES);
  for (int64_t j = 0; j < n; j++) {
    const int64_t place = j / PIECES, below[2] = {j + PIECES, j + PIECES * SIDE};
    p->ptr[j] = at;
    p->index[at] = (int32_t)j;
    p->values[at++] = hub && j == n - 1 ? 2 * (double)n : 6;
    for (int k = 0; k < 2; k++) {
      const bool inside = k == 0 ? (place + 1) % SIDE != 0 : place + SIDE < SIDE * SIDE;
      if (!edges || j >= PIECES * SIDE * SIDE || !inside || below[k] >= n - hub) continue;
      p->index[at] = (int32_t)below[k];
      p->values[at++] = -1;
    }
    if (!hub || j == n - 1) continue;
    p->index[at] = (int32_t)(n - 1);
    p->values[at++] = -1;
  }
  p->ptr[n] = at;
  p->s = (shared_matrix){.t = &typed_double,
                         .values = p->values,
                         .error = 1e-13,
                         .view = {.format = TRISTAR_CSC,
                                  .scalar = TRISTAR_DOUBLE,
                                  .symmetry = TRISTAR_SYMMETRIC,
                                  .rows = n,
                                  .cols = n,
                                  .ptr = p->ptr,
                                  .index = p->index,
                                  .values = p->values,
                                  .ptr_bits = 64,
                                  .index_bits = 32}};
  share_rows(w, &p->s);
  return p;
}

static void check_pieces(const world *w, const char *what, int64_t n, bool edges, bool hub) {
  OWNED pieces *p = make_pieces(w, n, edges, hub);
  check_matrix(w, what, &p->s, TRISTAR_METHOD_LLT, 1.3);
  release_rows(&p->s.rows);
}

/* ---- Matchings ----------------------------------------------------------------------------------------- */

/* A matrix with reversed rows: without the map of the matching its graph would be different. */
static void check_matching(const world *w) {
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, "convdiff3d", 9, &typed_double, TRISTAR_GENERAL);
  const tristar_layout layout = some_grid(w);
  const int64_t entries = ((const int64_t *)s.view.ptr)[s.n];
  int32_t *index = xmalloc((size_t)entries * sizeof *index);
  for (int64_t e = 0; e < entries; e++) index[e] = (int32_t)(s.n - 1) - ((const int32_t *)s.view.index)[e];
  release_rows(&s.rows);
  s.view.index = index;
  share_rows(w, &s);
  check_layout(w, "reversed rows", &s, wish_of(&layout, TRISTAR_METHOD_LU), false, NULL, 1.3);
  release_shared(&s);
  free(index);
  s = share_matrix(w, "kkt3d", 5, &typed_double, TRISTAR_SYMMETRIC);
  check_layout(w, "pairs", &s, wish_of(&layout, TRISTAR_METHOD_LDLT), false, NULL, 1.5);
}

/* ---- Failures ------------------------------------------------------------------------------------------ */

static void expect_text(const world *w, const char *text) {
  CHECK_ERROR(w->ts, text);
}

/* Cancels the analysis at once. */
static int cancel(void *arg, const tristar_analysis_point *point) {
  ++*(int *)arg;
  return point->seconds >= 0;
}

/* Rank 0 cancels, and all ranks return the same status. after: the step that ends. */
static void check_cancelled(const world *w, const char *name, tristar_symmetry symmetry, const char *after) {
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, name, 6, &typed_double, symmetry);
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  int calls = 0;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s.rows);
  o.analysis.progress = cancel;
  o.analysis.progress_arg = &calls;
  CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_CANCELLED);
  expect_text(w, "cancelled the analysis");
  expect_text(w, after);
  CHECK(calls == (w->rank == 0) && d == NULL);
  o.analysis.progress = NULL;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
}

/* One process alone has the matrix; ranks request different orderings. */
static void check_refusals(const world *w) {
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  const tristar_layout layout = some_grid(w);
  wish o = wish_of(&layout, TRISTAR_METHOD_AUTO);
  tristar_analysis_t *analysis;
  tristar_distributed_t *d;
  o.analysis.ordering = TRISTAR_ORDERING_PTSCOTCH;
  CHECK_STATUS(tristar_analyze(w->ts, &s.view, &o.analysis, &analysis), TRISTAR_ERR_UNSUPPORTED);
  expect_text(w, "PT-Scotch orders matrices whose rows lie on all ranks");
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s.rows);
  if (w->ranks > 1) {
    if (w->rank > 0) o.analysis.ordering = TRISTAR_ORDERING_METIS;
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_ARGUMENT);
    expect_text(w, "the ordering");
    o.analysis.ordering = TRISTAR_ORDERING_PTSCOTCH;
  }
  if (tristar_ptscotch_version() == NULL) {
    CHECK_STATUS(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d), TRISTAR_ERR_UNSUPPORTED);
    expect_text(w, "built without PT-Scotch");
  }
}

/* Each allocation of an ordering fails in turn, on one rank. */
static void check_memory(const world *w) {
  tsi_env *env = tsi_context_env(w->ts);
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, "convdiff3d", 4, &typed_double, TRISTAR_GENERAL);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d = make_whole(w, &s);
  tsi_index *order, *map = xmalloc((size_t)s.n * sizeof *map);
  for (tsi_index i = 0; i < (tsi_index)s.n; i++) map[i] = i;
  for (int who = 0; who < w->ranks; who++) {
    allocation_failures failing = fail_allocations(env);
    failing.elsewhere = w->rank != who;
    while (next_failure(&failing)) {
      const tristar_status status = tsi_rows_order(d, 1, true, w->rank == 0 ? map : NULL, &order);
      end_failure(&failing, status);
      CHECK(status == TRISTAR_OK || order == NULL);
      TSI_FREE(env, order);
    }
    CHECK(failing.count >= 5);
  }
  free(map);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check_graph(&w, "poisson3d7", 6, false));
  RUN(check_graph(&w, "convdiff3d", 6, false));
  RUN(check_graph(&w, "convdiff3d", 6, true));
  RUN(check_graph(&w, "circuit", 300, false));
  RUN(check_graph(&w, "circuit", 300, true));
  RUN(check_refusals(&w));
  RUN(check_cancelled(&w, "poisson3d7", TRISTAR_SYMMETRIC, "reading the pattern"));
  RUN(check_cancelled(&w, "kkt3d", TRISTAR_SYMMETRIC, "matching"));
  if (tristar_ptscotch_version() != NULL) {
    RUN(check_model(&w, "poisson3d7", 16, &typed_double, 1.3));
    RUN(check_model(&w, "s2d9pt", 64, &typed_double, 1.3));
    RUN(check_model(&w, "convdiff3d", 9, &typed_complex_single, 1.3));
    RUN(check_pieces(&w, "pieces", VERTICES, true, false));
    RUN(check_pieces(&w, "pieces with a hub", VERTICES, true, true));
    RUN(check_pieces(&w, "a diagonal matrix", 200, false, false));
    RUN(check_pieces(&w, "an arrow", 200, false, true));
    for (int64_t n = 0; n < 4; n++) RUN(check_pieces(&w, "a tiny matrix", n, false, n > 1));
    RUN(check_matching(&w));
    RUN(check_memory(&w));
  }
  return 0;
}
