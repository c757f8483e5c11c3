/* Factors of matrices whose rows lie on all ranks: for all layouts with that many processes, methods and
 * scalar types the bits of each rank's part, and of all solutions, are those of the same factor of a matrix
 * that rank 0 has; with new values in other blocks of rows too. No rank has an array of all values.
 *
 *   test_dmatrix_factor [MATRIX] */
#include "tests/support/mpi/dmatrix_factor.h"
#include "tests/support/subtests.h"

/* ---- The same bits ------------------------------------------------------------------------------------- */

typedef struct option {
  tristar_symmetry
      symmetry; /* of a symmetric kind in a complex type; GENERAL: declared so, with both triangles */
  tristar_method method;
  bool single;
  int every; /* layouts */
  tristar_matching matching;
  bool rounded; /* symmetry GENERAL: some mirror images differ by rounding errors */
} option;

/* Both triangles of a symmetric matrix, declared general. */
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
  s->view.ptr = ptr; /* until the end of the test */
  s->view.index = full;
  s->view.values = values;
  s->rows = take_rows(&s->view, bytes, s->first, s->end, 0);
}

/* Every `every`-th layout of the ranks, of more than 4 ranks every third at least, one algorithm and map or
 * the other. */
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

/* ---- Memory -------------------------------------------------------------------------------------------- */

/* Dense blocks along the diagonal: many entries, a short structure. No rank has an array of all values, no
 * one but rank 0 an index of each entry. */
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
  return 0;
}
