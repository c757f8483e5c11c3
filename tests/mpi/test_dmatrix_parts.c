/* Redistribution of rows to other ranks: the new matrix is the old one in another order. Vectors keep their
 * bits in both directions, and products and solutions agree. A shuffled grid has fewer entries between ranks
 * than before. */
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/subtests.h"

/* Permutes rows and columns of a view at random; the result is compressed columns with all entries. */
static void shuffle(tristar_view *v, int64_t *ptr, int32_t *index, char *values, size_t bytes) {
  const int64_t n = v->cols, *old_ptr = v->ptr;
  const int32_t *old_index = v->index;
  OWNED int32_t *place = xmalloc((size_t)n * sizeof *place);
  OWNED int64_t *where = xmalloc((size_t)n * sizeof *where);
  for (int64_t i = 0; i < n; i++) place[i] = (int32_t)i;
  for (int64_t i = n - 1; i > 0; i--) {
    double draw;
    fill_random(&draw, 1, (uint64_t)i);
    const int64_t j = (int64_t)((draw + 1) / 2 * (double)i);
    const int32_t swap = place[i];
    place[i] = place[j];
    place[j] = swap;
  }
  for (int64_t i = 0; i < n; i++) where[place[i]] = i;
  ptr[0] = 0;
  for (int64_t j = 0; j < n; j++) {
    const int64_t from = where[j], count = old_ptr[from + 1] - old_ptr[from];
    for (int64_t e = 0; e < count; e++) index[ptr[j] + e] = place[old_index[old_ptr[from] + e]];
    memcpy(values + (size_t)ptr[j] * bytes, (const char *)v->values + (size_t)old_ptr[from] * bytes,
           (size_t)count * bytes);
    ptr[j + 1] = ptr[j] + count;
  }
  v->ptr = ptr;
  v->index = index;
  v->values = values;
}

typedef struct problem {
  shared_matrix s;
  int64_t *ptr;
  int32_t *index;
  char *values;
  tristar_dmatrix_t *old, *new;
  tristar_dmatrix_stats before, after;
} problem;

static problem open_problem(const world *w, const char *kind, int64_t k, const typed *t, bool shuffled) {
  problem p = {.s = share_matrix(w, kind, k, t, TRISTAR_GENERAL)};
  const size_t entries = (size_t)((const int64_t *)p.s.view.ptr)[p.s.n];
  p.ptr = xmalloc(((size_t)p.s.n + 1) * sizeof *p.ptr);
  p.index = xmalloc((entries + 1) * sizeof *p.index);
  p.values = xmalloc(entries * t->bytes + 1);
  if (shuffled) {
    shuffle(&p.s.view, p.ptr, p.index, p.values, t->bytes);
    release_rows(&p.s.rows);
    p.s.rows = take_rows(&p.s.view, t->bytes, p.s.first, p.s.end, 0);
  }
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &p.s.rows.view, NULL, &p.old));
  CHECK_OK(tristar_dmatrix_repartition(p.old, NULL, &p.new));
  CHECK_OK(tristar_dmatrix_get_stats(p.old, &p.before));
  CHECK_OK(tristar_dmatrix_get_stats(p.new, &p.after));
  return p;
}

static void close_problem(problem *p) {
  tristar_dmatrix_destroy(&p->old);
  tristar_dmatrix_destroy(&p->new);
  release_shared(&p->s);
  free(p->ptr);
  free(p->index);
  free(p->values);
}

/* Each old row is one new row with the same entries. */
static void check_rows(const problem *p) {
  const int64_t n = p->s.n, rows = p->after.rows;
  OWNED int64_t *origin = xmalloc((size_t)rows * sizeof *origin + 1),
                *place = xcalloc((size_t)n, sizeof *place);
  OWNED int64_t *seen = xcalloc((size_t)n, sizeof *seen);
  tristar_view view;
  CHECK_OK(tristar_dmatrix_get_origin(p->new, origin));
  for (int64_t i = 0; i < rows; i++) {
    CHECK(origin[i] >= 0 && origin[i] < n && (i == 0 || origin[i] > origin[i - 1]));
    seen[origin[i]] = 1;
    place[origin[i]] = p->after.first + i;
  }
  MPI_Allreduce(MPI_IN_PLACE, seen, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, place, (int)n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (int64_t i = 0; i < n; i++) CHECK(seen[i] == 1);
  CHECK(p->after.n == n && p->after.nnz_all == p->before.nnz_all && p->after.symmetry == p->before.symmetry &&
        p->after.scalar == p->before.scalar);
  CHECK_OK(tristar_dmatrix_get_view(p->new, &view));
  const int64_t *ptr = view.ptr, *all = p->s.view.ptr;
  const int32_t *column = view.index, *index = p->s.view.index;
  for (int64_t j = 0; j < n; j++) /* the whole matrix by columns */
    for (int64_t e = all[j]; e < all[j + 1]; e++) {
      const int64_t i = place[index[e]] - p->after.first;
      if (i < 0 || i >= rows) continue;
      int64_t at = ptr[i];
      while (at < ptr[i + 1] && column[at] != place[j]) at++;
      CHECK(at < ptr[i + 1] && get(p->s.t, view.values, at) == get(p->s.t, p->s.view.values, e));
    }
}

/* Y = op(A) X in both orders. X returns with its bits. */
static void check_vectors(const problem *p, tristar_op op) {
  const typed *t = p->s.t;
  const size_t old = (size_t)p->before.rows, new = (size_t)p->after.rows;
  OWNED void *all = make_vectors(t, p->s.n, 7), *x = take_vectors(&p->s, all);
  OWNED void *y = xmalloc(old * COLUMNS * t->bytes + 1), *back = xmalloc(old * COLUMNS * t->bytes + 1);
  OWNED void *moved = xmalloc(new *COLUMNS * t->bytes + 1), *product = xmalloc(new *COLUMNS * t->bytes + 1);
  CHECK_OK(
      tristar_dmatrix_move(p->new, TRISTAR_FROM_ORIGIN, COLUMNS, x, p->before.rows, moved, p->after.rows));
  CHECK_OK(
      tristar_dmatrix_move(p->new, TRISTAR_TO_ORIGIN, COLUMNS, moved, p->after.rows, back, p->before.rows));
  CHECK(memcmp(back, x, old * COLUMNS * t->bytes) == 0);
  CHECK_OK(tristar_dmatrix_multiply(p->old, op, COLUMNS, NULL, x, p->before.rows, NULL, y, p->before.rows));
  CHECK_OK(tristar_dmatrix_multiply(p->new, op, COLUMNS, NULL, moved, p->after.rows, NULL, product,
                                    p->after.rows));
  CHECK_OK(
      tristar_dmatrix_move(p->new, TRISTAR_TO_ORIGIN, COLUMNS, product, p->after.rows, back, p->before.rows));
  for (size_t i = 0; i < old * COLUMNS; i++) {
    const number a = get(t, back, (int64_t)i), b = get(t, y, (int64_t)i);
    CHECK(magnitude(a - b) <= 1000 * t->roundoff * (1 + magnitude(b)));
  }
}

static void check(const world *w, const char *kind, int64_t k, const typed *t, bool shuffled) {
  CLEANUP(close_problem) problem p = open_problem(w, kind, k, t, shuffled);
  check_rows(&p);
  for (int op = 0; op < 3; op++) check_vectors(&p, (tristar_op[]){TRISTAR_N, TRISTAR_T, TRISTAR_C}[op]);
  int64_t ghosts[2] = {p.before.ghosts, p.after.ghosts};
  MPI_Allreduce(MPI_IN_PLACE, ghosts, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (w->rank == 0)
    printf("%s:%d on %d ranks: %d columns of others, %d before\n", kind, (int)k, w->ranks, (int)ghosts[1],
           (int)ghosts[0]);
  if (shuffled && k >= 8 && w->ranks > 1) /* smaller grids have few inner rows */
    CHECK(3 * ghosts[1] < 2 * ghosts[0]);
}

static void check_arguments(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  CLEANUP(close_problem) problem p = open_problem(w, "poisson3d7", 4, &typed_double, false);
  const int64_t old = p.before.rows, new = p.after.rows;
  tristar_dmatrix_options options = {.size = sizeof options, .scalar = last ? TRISTAR_SINGLE : 0};
  tristar_dmatrix_t *other;
  OWNED double *x = xcalloc((size_t)(old + new) + 1, sizeof *x),
               *y = xcalloc((size_t)(old + new) + 1, sizeof *y);
  CHECK_STATUS(tristar_dmatrix_repartition(NULL, NULL, &other), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_repartition(p.old, NULL, last ? NULL : &other), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_repartition(p.old, &options, &other), TRISTAR_ERR_ARGUMENT);
  CHECK(other == NULL);
  CHECK_STATUS(tristar_dmatrix_get_origin(NULL, NULL), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_move(NULL, TRISTAR_TO_ORIGIN, 1, x, new, y, old), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_move(p.new, (tristar_dmatrix_direction)2, 1, x, new, y, old),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_move(p.new, TRISTAR_TO_ORIGIN, last ? -1 : 1, x, new, y, old),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_move(p.new, TRISTAR_TO_ORIGIN, 1, x, last ? new - 1 : new, y, old),
               TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_dmatrix_move(p.old, TRISTAR_TO_ORIGIN, 1, x, old, y, old));
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check(&w, "poisson3d7", 8, &typed_double, true));
  RUN(check(&w, "poisson3d7", 6, &typed_double, false));
  RUN(check(&w, "convdiff3d", 5, &typed_complex_single, true));
  RUN(check(&w, "circuit", 300, &typed_single, false));
  RUN(check(&w, "poisson3d7", 5, &typed_complex_double, false));
  RUN(check(&w, "poisson3d7", 1, &typed_double, false)); /* one row */
  RUN(check_arguments(&w));
  return 0;
}
