/* Matrices on all ranks for tests; each rank also makes the whole matrix for comparison. */
#pragma once

#include "tests/support/context.h"
#include "tests/support/typed.h"
#include "tristar_dmatrix_mpi.h"

/* The rows that a rank passes: a block in compressed rows. */

/* Rows first .. end - 1 of a view in compressed columns, as compressed rows of a block. */
typedef struct rows_block {
  int64_t *ptr;
  int64_t *index;
  char *values;
  tristar_view view;
} rows_block;

static inline rows_block take_rows(const tristar_view *view, size_t bytes, int64_t first, int64_t end,
                                   int base) {
  const int64_t *ptr = view->ptr;
  const int32_t *index = view->index;
  const size_t entries = (size_t)ptr[view->cols];
  rows_block o = {.ptr = calloc((size_t)(end - first) + 2, sizeof *o.ptr),
                  .index = malloc(entries * sizeof *o.index + 1),
                  .values = malloc(entries * bytes + 1)};
  int64_t *next = o.ptr + 1; /* first counts, shifted by one more; then position of the next entry of a row */
  for (int64_t k = 0; k < ptr[view->cols]; k++)
    if (index[k] >= first && index[k] < end && index[k] + 1 < end) next[index[k] - first + 1]++;
  for (int64_t i = 1; i <= end - first; i++) o.ptr[i] += o.ptr[i - 1];
  for (int64_t j = 0; j < view->cols; j++)
    for (int64_t k = ptr[j]; k < ptr[j + 1]; k++) {
      if (index[k] < first || index[k] >= end) continue;
      const int64_t at = next[index[k] - first]++;
      o.index[at] = j + base;
      memcpy(o.values + (size_t)at * bytes, (const char *)view->values + (size_t)k * bytes, bytes);
    }
  for (int64_t i = 0; i <= end - first; i++) o.ptr[i] += base;
  o.view = *view;
  o.view.format = TRISTAR_CSR;
  o.view.rows = end - first;
  o.view.ptr = o.ptr;
  o.view.index = o.index;
  o.view.values = o.values;
  o.view.index_bits = 64;
  o.view.base = base;
  return o;
}

static inline void release_rows(rows_block *o) {
  free(o->ptr);
  free(o->index);
  free(o->values);
}

typedef struct world {
  tristar_t *ts;
  int rank, ranks;
} world;

/* A matrix of one scalar type: all of it, as compressed columns, and this rank's rows of it. */
typedef struct shared_matrix {
  const typed *t;
  tristar_matrix_t *matrix;
  void *values;
  tristar_view view;
  int64_t n, first, end;
  rows_block rows;
  double error; /* bound for backward errors after refinement */
} shared_matrix;

/* Returns the first row of a rank. Blocks have different lengths: with three ranks or more the first one has
 * no rows, with four also the third. */
static inline int64_t first_row(const world *w, int64_t n, int rank) {
  const int64_t weight[] = {w->ranks > 2 ? 0 : 3, 4, w->ranks > 3 ? 0 : 2, 5};
  int64_t before = 0, all = 0;
  for (int r = 0; r < w->ranks; r++) {
    if (r < rank) before += weight[r % 4];
    all += weight[r % 4];
  }
  return n * before / all;
}

/* Sets the diagonal to zero, for a skew-symmetric matrix. */
static inline void clear_diagonal(const typed *t, const tristar_view *v, void *values) {
  const int64_t *ptr = v->ptr;
  const int32_t *index = v->index;
  for (int64_t j = 0; j < v->cols; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
      if (index[e] == j) put(t, values, e, 0);
}

/* This rank's rows of the view. */
static inline void share_rows(const world *w, shared_matrix *s) {
  s->n = s->view.rows;
  s->first = first_row(w, s->n, w->rank);
  s->end = first_row(w, s->n, w->rank + 1);
  s->rows = take_rows(&s->view, s->t->bytes, s->first, s->end, w->rank % 2);
}

static inline shared_matrix share_matrix(const world *w, const char *kind, int64_t k, const typed *t,
                                         tristar_symmetry symmetry) {
  shared_matrix s = {.t = t, .error = t->is_single ? 1e-5 : 1e-13};
  s.values = typed_matrix(w->ts, kind, k, t, symmetry, &s.matrix, &s.view);
  if (s.view.symmetry == TRISTAR_SKEW_SYMMETRIC) clear_diagonal(t, &s.view, s.values);
  share_rows(w, &s);
  return s;
}

static inline void release_shared(shared_matrix *s) {
  release_rows(&s->rows);
  free(s->values);
  tristar_matrix_destroy(&s->matrix);
}

/* Number of vectors; number of strips of a product with all of them: 8, 4 and 1 columns. */
enum { COLUMNS = 13, STRIPS = 3 };

/* Makes the whole X, by columns, the same on all ranks. */
static inline void *make_vectors(const typed *t, int64_t n, uint64_t seed) {
  void *x = malloc((size_t)n * COLUMNS * t->bytes + 1);
  CHECK(x != NULL);
  for (int64_t i = 0; i < n * COLUMNS; i++) put(t, x, i, random_value(seed + (uint64_t)i));
  return x;
}

/* Copies the rows of this rank from all columns. */
static inline void *take_vectors(const shared_matrix *s, const void *x) {
  const size_t rows = (size_t)(s->end - s->first), bytes = s->t->bytes;
  char *own = malloc(rows * COLUMNS * bytes + 1);
  CHECK(own != NULL);
  for (size_t c = 0; c < COLUMNS; c++)
    memcpy(own + c * rows * bytes, (const char *)x + (c * (size_t)s->n + (size_t)s->first) * bytes,
           rows * bytes);
  return own;
}

/* Checks that view and statistics of this rank agree with rows first .. first + rows - 1 of the whole matrix.
 */
static inline void check_view(const typed *t, const tristar_view *whole, tristar_dmatrix_t *d) {
  const int64_t n = whole->rows, *at = whole->ptr;
  const int32_t *index = whole->index;
  OWNED number *row = malloc((size_t)n * sizeof *row);
  tristar_dmatrix_stats stats;
  tristar_view view;
  int64_t all = 0;
  CHECK(row != NULL);
  tristar_dmatrix_get_stats(d, &stats);
  CHECK_OK(tristar_dmatrix_get_view(d, &view));
  const int64_t *ptr = view.ptr;
  const int32_t *column = view.index;
  CHECK(view.format == TRISTAR_CSR && view.symmetry == TRISTAR_GENERAL && view.scalar == t->scalar);
  CHECK(view.rows == stats.rows && view.cols == n && stats.n == n && ptr[view.rows] == stats.nnz);
  for (int64_t i = 0; i < view.rows; i++) {
    int64_t entries = 0;
    for (int64_t j = 0; j < n; j++) row[j] = 0;
    for (int64_t j = 0; j < n; j++)
      for (int64_t e = at[j]; e < at[j + 1]; e++) {
        const bool image = whole->symmetry != TRISTAR_GENERAL && index[e] != j && j == stats.first + i;
        if (index[e] == stats.first + i) row[j] = get(t, whole->values, e);
        if (image) row[index[e]] = mirrored(whole->symmetry, get(t, whole->values, e));
        entries += image + (index[e] == stats.first + i);
      }
    CHECK(ptr[i + 1] - ptr[i] == entries);
    for (int64_t e = ptr[i]; e < ptr[i + 1]; e++) {
      CHECK(e == ptr[i] || column[e] > column[e - 1]);
      CHECK(get(t, view.values, e) == row[column[e]]);
    }
  }
  MPI_Allreduce(&stats.nnz, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  CHECK(stats.nnz_all == all);
  CHECK_OK(tristar_dmatrix_get_diagonal(d, &view));
  CHECK(view.rows == stats.rows && view.cols == stats.rows);
}

static inline world open_world_of(bool tasks) {
  world w = {.ts = NULL};
  const tristar_config config = context_config(tasks, true);
  int level;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  return w;
}

static inline world open_world(void) {
  return open_world_of(true);
}

static inline void close_world(world *w) {
  close_context(&w->ts);
  MPI_Finalize();
}
