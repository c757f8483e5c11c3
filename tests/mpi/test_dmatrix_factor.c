/* Factors of matrices whose rows are on all ranks, for all layouts with that many processes, methods and
 * scalar types. The share of each rank and all solutions have the bits of the same factor of a matrix on rank
 * 0, also for new values in other blocks of rows. No rank has an array of all values. Delayed pivots are
 * those of one process, and no pivot is perturbed.
 *
 *   test_dmatrix_factor [MATRIX] */
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/subtests.h"
#include "tests/support/systems/zero_pivots.h"

/* ---- The same bits ------------------------------------------------------------------------------------- */

typedef struct option {
  tristar_symmetry
      symmetry; /* of a symmetric kind in a complex type; GENERAL: declared so, with both triangles */
  tristar_method method;
  bool single;
  int every; /* every `every`-th layout */
  tristar_matching matching;
  bool rounded; /* symmetry GENERAL: some mirror images differ by rounding errors */
} option;

/* Stores both triangles of a symmetric matrix and declares it general. */
static void declare_general(const world *w, shared_matrix *s, bool rounded) {
  tristar_dmatrix_t *d = make(w, &s->rows);
  int64_t *ptr = xcalloc((size_t)s->n + 1, sizeof *ptr), at = 0;
  const int64_t *old = s->view.ptr;
  const int32_t *index = s->view.index;
  const size_t bytes = s->t->bytes;
  tristar_dmatrix_destroy(&d);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t p = old[j]; p < old[j + 1]; p++) {
      ptr[j + 1]++;
      if (index[p] != j) ptr[index[p] + 1]++;
    }
  for (int64_t j = 0; j < s->n; j++) ptr[j + 1] += ptr[j];
  at = ptr[s->n];
  int32_t *full = xmalloc((size_t)at * sizeof *full);
  char *values = xmalloc((size_t)at * bytes);
  int64_t *next = xmalloc((size_t)s->n * sizeof *next);
  memcpy(next, ptr, (size_t)s->n * sizeof *next);
  for (int64_t j = 0; j < s->n; j++)
    for (int64_t p = old[j]; p < old[j + 1]; p++)
      for (int image = 0; image < (index[p] != j ? 2 : 1); image++) {
        const int64_t q = next[image ? index[p] : j]++;
        const number a = get(s->t, s->values, p);
        full[q] = image ? (int32_t)j : index[p];
        const double rounding = rounded && p % 5 == 0 ? 1 + 2 * s->t->roundoff : 1;
        put(s->t, values, q, image ? mirrored(s->view.symmetry, a) * rounding : a);
      }
  free(next);
  release_rows(&s->rows);
  free(s->values);
  s->values = values;
  s->view.symmetry = TRISTAR_GENERAL;
  s->view.ptr = ptr; /* freed at the end of the test */
  s->view.index = full;
  s->view.values = values;
  s->rows = take_rows(&s->view, bytes, s->first, s->end, 0);
}

/* Every `every`-th layout of the ranks (on more than 4 ranks at most one in three), with alternating
 * algorithm and map. */
static void check_matrix(const world *w, const char *only, const char *kind, int64_t k, const typed *t,
                         option o) {
  int turn = 0;
  const bool general = o.symmetry == TRISTAR_GENERAL;
  if (only != NULL && strcmp(only, kind) != 0) return;
  if (w->rank == 0)
    fprintf(stderr, "%s %c, method %d, symmetry %d\n", kind, t->scalar, (int)o.method, (int)o.symmetry);
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, kind, k, t, general ? TRISTAR_HERMITIAN : o.symmetry);
  const bool own = general && s.view.symmetry != TRISTAR_GENERAL;
  if (own) declare_general(w, &s, o.rounded);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px++) {
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      layout.algorithm = turn % 2 ? TRISTAR_ALGORITHM_LEVELWISE : TRISTAR_ALGORITHM_REPLICATED;
      layout.map = turn % 3 == 2 ? TRISTAR_MAP_CYCLIC : TRISTAR_MAP_SUBTREE;
      if (px * layout.py * pz != w->ranks || turn++ % (w->ranks > 4 ? 3 : o.every) != 0) continue;
      wish y = wish_of(&layout, o.method);
      y.analysis.single_factors = o.single;
      y.analysis.matching = o.matching;
      compare_inputs(w, kind, &s, &y);
    }
  if (own) {
    free((void *)(uintptr_t)s.view.ptr);
    free((void *)(uintptr_t)s.view.index);
  }
}

static void check_bits(const world *w, const char *only) {
  const tristar_method any = TRISTAR_METHOD_AUTO;
  const tristar_matching find = TRISTAR_MATCHING_AUTO;
  check_matrix(w, only, "poisson3d7", 9, &typed_double,
               (option){TRISTAR_SYMMETRIC, any, false, 1, find, false});
  check_matrix(w, only, "poisson3d7", 7, &typed_single,
               (option){TRISTAR_SYMMETRIC, any, false, 3, find, false});
  check_matrix(w, only, "poisson3d7", 8, &typed_double,
               (option){TRISTAR_GENERAL, any, false, 3, find, false});
  check_matrix(w, only, "poisson3d7", 8, &typed_double,
               (option){TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, true, 3, find, false});
  check_matrix(w, only, "poisson3d7", 7, &typed_double, (option){TRISTAR_GENERAL, any, false, 3, find, true});
  check_matrix(w, only, "poisson3d7", 5, &typed_complex_double,
               (option){TRISTAR_GENERAL, any, false, 3, find, true});
  check_matrix(w, only, "s2d9pt", 20, &typed_double,
               (option){TRISTAR_GENERAL, TRISTAR_METHOD_LDLT, false, 3, find, false});
  check_matrix(w, only, "s2d9pt", 16, &typed_double,
               (option){TRISTAR_SYMMETRIC, TRISTAR_METHOD_LU, false, 3, find, false});
  check_matrix(w, only, "convdiff3d", 8, &typed_double,
               (option){TRISTAR_GENERAL, any, false, 1, find, false});
  check_matrix(w, only, "convdiff3d", 6, &typed_single,
               (option){TRISTAR_GENERAL, any, false, 3, find, false});
  check_matrix(w, only, "convdiff3d", 6, &typed_complex_single,
               (option){TRISTAR_GENERAL, any, false, 3, find, false});
  check_matrix(w, only, "convdiff3d", 5, &typed_complex_double,
               (option){TRISTAR_GENERAL, TRISTAR_METHOD_LU, true, 3, find, false});
  check_matrix(w, only, "poisson3d7", 6, &typed_complex_double,
               (option){TRISTAR_HERMITIAN, any, false, 3, find, false});
  check_matrix(w, only, "poisson3d7", 6, &typed_complex_single,
               (option){TRISTAR_GENERAL, any, false, 3, find, false});
  check_matrix(w, only, "poisson3d7", 6, &typed_complex_double,
               (option){TRISTAR_SYMMETRIC, any, false, 3, find, false});
  check_matrix(w, only, "maxwell3d", 4, &typed_complex_double,
               (option){TRISTAR_HERMITIAN, TRISTAR_METHOD_LDLT, false, 3, find, false});
  for (int k = 0; k < 2; k++) {
    const tristar_matching matching = k > 0 ? find : TRISTAR_MATCHING_OFF;
    check_matrix(w, only, "kkt3d", 4, &typed_double,
                 (option){TRISTAR_SYMMETRIC, TRISTAR_METHOD_LDLT, false, 3, matching, false});
    check_matrix(w, only, "kkt3d", 4, &typed_double,
                 (option){TRISTAR_GENERAL, TRISTAR_METHOD_LU, false, 3, matching, false});
  }
  check_matrix(w, only, "convdiff3d", 5, &typed_complex_single,
               (option){TRISTAR_GENERAL, TRISTAR_METHOD_LU, false, 3, TRISTAR_MATCHING_ON, false});
}

/* ---- Delayed pivots ------------------------------------------------------------------------------------ */

static tristar_factor_stats stats_of(const tristar_distributed_t *d) {
  tristar_factor_stats stats;
  CHECK_OK(tristar_distributed_get_factor_stats(d, &stats, NULL));
  return stats;
}

/* Returns the largest |b - op(A) x| of plain solves divided by the largest |b|. */
static double plain_error(const shared_matrix *s, tristar_dmatrix_t *matrix, tristar_distributed_t *d) {
  const int64_t rows = s->end - s->first, ld = rows > 0 ? rows : 1;
  OWNED char *all = make_some_rhs(s->t, s->n, 1), *x = xcalloc((size_t)ld, s->t->bytes),
             *y = xcalloc((size_t)ld, s->t->bytes);
  const char *b = all + (size_t)s->first * s->t->bytes;
  double error[2] = {0, 0};
  for (int o = 0; o < TYPED_OPS; o++) {
    CHECK_OK(tristar_distributed_solve(d, typed_ops[o], 1, b, ld, x, ld));
    CHECK_OK(tristar_dmatrix_multiply(matrix, typed_ops[o], 1, NULL, x, ld, NULL, y, ld));
    for (int64_t i = 0; i < rows; i++) {
      error[0] = larger_error(error[0], cabs(get(s->t, b, i) - get(s->t, y, i)));
      error[1] = fmax(error[1], cabs(get(s->t, b, i)));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, error, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return error[0] / error[1];
}

/* Compares with the factor that rank 0 computes alone, which must delay the same pivots as all ranks. Without
 * delays static pivots are perturbed. */
static void compare_to_one(const world *w, const char *what, const shared_matrix *s, const wish *o,
                           const tristar_distributed_t *together) {
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *alone = NULL;
  if (w->rank == 0) {
    tristar_analysis_options plain = o->analysis;
    plain.pivoting = TRISTAR_PIVOTING_STATIC;
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *an = NEW_ANALYSIS(w->ts, &s->view, &o->analysis);
    CLEANUP(tristar_analysis_destroy) tristar_analysis_t *other = NEW_ANALYSIS(w->ts, &s->view, &plain);
    CLEANUP(tristar_factor_destroy) tristar_factor_t *perturbed = NEW_FACTOR(other, s->values);
    tristar_factor_stats f;
    CHECK_OK(tristar_factor_get_stats(perturbed, &f));
    CHECK_MSG(f.perturbed_pivots > 0, "%s: static pivots serve", what);
    CHECK_OK(tristar_factor(an, s->values, &alone));
    CHECK_OK(tristar_factor_get_stats(alone, &f));
    const tristar_factor_stats g = stats_of(together);
    CHECK_MSG(g.pivot_rounds > 0 && g.delayed_pivots > 0 && g.perturbed_pivots == 0 && g.unstable_pivots == 0,
              "%s: %lld delayed in %d rounds, %lld perturbed, %lld unstable", what,
              (long long)g.delayed_pivots, g.pivot_rounds, (long long)g.perturbed_pivots,
              (long long)g.unstable_pivots);
    CHECK_MSG(f.pivot_rounds == g.pivot_rounds && f.delayed_pivots == g.delayed_pivots &&
                  f.added_entries == g.added_entries && f.unstable_pivots == g.unstable_pivots &&
                  f.nnz_factor == g.nnz_factor,
              "%s: %lld delayed, %lld on one process", what, (long long)g.delayed_pivots,
              (long long)f.delayed_pivots);
  }
  CHECK_OK(tristar_distribute(w->ts, MPI_COMM_WORLD, alone, &o->options, &d));
  check_same(what, together, d);
}

/* Rows on all ranks, and a matrix on rank 0. New values keep the structure. */
static void check_delayed(const world *w, const shared_matrix *s, const wish *o, const char *what) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix = make(w, &s->rows);
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  CHECK_OK(tristar_dmatrix_factor(matrix, &o->analysis, &o->options, &d));
  compare_to_one(w, what, s, o, d);
  const double most = 1e5 * s->t->roundoff, error = plain_error(s, matrix, d);
  CHECK_MSG(error < most, "%s: error %g", what, error);
  tristar_factor_stats first = {.pivot_rounds = 0}, second = first;
  if (w->rank == 0) first = stats_of(d);
  shared_matrix next = *s;
  next.values = scaled_values(s, 0.75);
  next.view.values = next.values;
  rows_block rows = take_rows(&next.view, s->t->bytes, s->first, s->end, 0);
  CHECK_OK(tristar_dmatrix_update(matrix, &rows.view));
  CHECK_OK(tristar_dmatrix_refactor(matrix, d));
  if (w->rank == 0) second = stats_of(d);
  CHECK(first.pivot_rounds == second.pivot_rounds && first.nnz_factor == second.nnz_factor &&
        first.delayed_pivots == second.delayed_pivots && second.perturbed_pivots == 0);
  CHECK_MSG(plain_error(s, matrix, d) < most, "%s: new values", what);
  release_rows(&rows);
  free(next.values);
}

/* symmetry GENERAL: unsymmetric values. */
static void check_delayed_pivots(const world *w, const typed *t, tristar_symmetry symmetry,
                                 tristar_method method) {
  OWNED problem *p = symmetry == TRISTAR_GENERAL ? make_cyclic(t, 5) : make_saddle(t, symmetry, 1);
  shared_matrix s = {.t = t, .values = p->values, .view = p->view, .error = t->is_single ? 1e-5 : 1e-13};
  share_rows(w, &s);
  for (int pz = 1; pz <= w->ranks; pz *= 2)
    for (int px = 1; px * pz <= w->ranks; px += w->ranks / pz > 1 ? w->ranks / pz - 1 : 1) {
      char what[100];
      tristar_layout layout = grid(w, pz);
      layout.px = px;
      layout.py = w->ranks / px / pz;
      wish o = delaying(&layout, method, p->order);
      o.analysis.singular = TRISTAR_SINGULAR_PERTURB;
      o.options.refine = TRISTAR_REFINE_NEVER;
      snprintf(what, sizeof what, "delayed pivots, %c, symmetry %d, method %d, %dx%dx%d", t->scalar,
               (int)symmetry, (int)method, layout.px, layout.py, layout.pz);
      check_delayed(w, &s, &o, what);
      compare_inputs(w, what, &s, &o);
    }
  release_rows(&s.rows);
}

/* ---- Memory -------------------------------------------------------------------------------------------- */

/* Dense blocks along the diagonal: many entries, a short structure. No rank has an array of all values, and
 * only rank 0 has an index of each entry. */
static void check_arrays(const world *w) {
  enum { LINKS = 64, WIDTH = 40, ORDER = LINKS * WIDTH };
  const tristar_layout layout = grid(w, w->ranks);
  const wish o = wish_of(&layout, TRISTAR_METHOD_LU);
  const int64_t first = ORDER * w->rank / w->ranks, end = ORDER * (w->rank + 1) / w->ranks;
  const size_t room = (size_t)(end - first) * 3 * WIDTH, entries = (size_t)(3 * LINKS - 2) * WIDTH * WIDTH;
  int64_t *ptr = xmalloc((size_t)(end - first + 1) * sizeof *ptr), at = 0;
  OWNED int32_t *index = xmalloc(room * sizeof *index);
  OWNED double *values = xmalloc(room * sizeof *values);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *matrix;
  CLEANUP(tristar_distributed_destroy) tristar_distributed_t *d;
  ptr[0] = 0;
  for (int64_t i = first; i < end; i++) {
    const int64_t link = i / WIDTH, low = link > 0 ? link - 1 : 0, high = link < LINKS - 1 ? link + 1 : link;
    for (int64_t j = low * WIDTH; j < (high + 1) * WIDTH; j++) {
      index[at] = (int32_t)j;
      values[at++] = i == j ? 4 * WIDTH : 1 - 0.25 * (double)(i > j) / (double)(1 + llabs(i - j));
    }
    ptr[i - first + 1] = at;
  }
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, end - first, ORDER, ptr, index, values);
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &view, NULL, &matrix));
  atomic_store(&tsi_context_env(w->ts)->memory.largest, 0);
  CHECK_OK(tristar_dmatrix_factor(matrix, &o.analysis, &o.options, &d));
  const size_t largest = atomic_load(&tsi_context_env(w->ts)->memory.largest);
  fprintf(stderr, "rank %d: an array of %zu bytes, %zu entries\n", w->rank, largest, entries);
  CHECK_MSG(largest < entries * (w->rank == 0 ? sizeof(double) : sizeof(tsi_index)), "rank %d: %zu bytes",
            w->rank, largest);
  free(ptr);
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CHECK(argc <= 2);
  CLEANUP(close_world) world w = open_world();
  RUN(check_bits(&w, argc > 1 ? argv[1] : NULL));
  if (w.ranks == 4) RUN(check_arrays(&w));
  if (argc > 1) return 0;
  const tristar_method ldlt = TRISTAR_METHOD_LDLT, lu = TRISTAR_METHOD_LU;
  RUN(check_delayed_pivots(&w, &typed_double, TRISTAR_SYMMETRIC, ldlt));
  RUN(check_delayed_pivots(&w, &typed_double, TRISTAR_SYMMETRIC, lu));
  RUN(check_delayed_pivots(&w, &typed_single, TRISTAR_SYMMETRIC, ldlt));
  RUN(check_delayed_pivots(&w, &typed_complex_double, TRISTAR_HERMITIAN, ldlt));
  RUN(check_delayed_pivots(&w, &typed_complex_double, TRISTAR_SYMMETRIC, ldlt));
  RUN(check_delayed_pivots(&w, &typed_complex_single, TRISTAR_HERMITIAN, lu));
  RUN(check_delayed_pivots(&w, &typed_double, TRISTAR_GENERAL, lu));
  RUN(check_delayed_pivots(&w, &typed_complex_double, TRISTAR_GENERAL, lu));
  return 0;
}
