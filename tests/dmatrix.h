/* Matrices on all ranks for the tests, beside the whole one that each rank makes for itself. */
#ifndef TSI_TESTS_DMATRIX_H
#define TSI_TESTS_DMATRIX_H

#include "runtime/context/context.h"
#include "tests/rows_block.h"
#include "tests/typed.h"
#include "tristar_dmatrix_mpi.h"

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
} shared_matrix;

/* Where the rows of a rank begin: blocks of different lengths; of three ranks and more the first and, of
 * four, the third have none. */
static inline int64_t first_row(const world *w, int64_t n, int rank) {
  const int64_t weight[] = {w->ranks > 2 ? 0 : 3, 4, w->ranks > 3 ? 0 : 2, 5};
  int64_t before = 0, all = 0;
  for (int r = 0; r < w->ranks; r++) {
    if (r < rank) before += weight[r % 4];
    all += weight[r % 4];
  }
  return n * before / all;
}

/* As a skew-symmetric matrix has it. */
static inline void clear_diagonal(const typed *t, const tristar_view *v, void *values) {
  const int64_t *ptr = v->ptr;
  const int32_t *index = v->index;
  for (int64_t j = 0; j < v->cols; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++)
      if (index[e] == j) put(t, values, e, 0);
}

static inline shared_matrix share_matrix(const world *w, const char *kind, int64_t k, const typed *t,
                                         tristar_symmetry symmetry) {
  shared_matrix s = {.t = t};
  s.values = typed_matrix(w->ts, kind, k, t, symmetry, &s.matrix, &s.view);
  if (s.view.symmetry == TRISTAR_SKEW_SYMMETRIC) clear_diagonal(t, &s.view, s.values);
  s.n = s.view.rows;
  s.first = first_row(w, s.n, w->rank);
  s.end = first_row(w, s.n, w->rank + 1);
  s.rows = take_rows(&s.view, t->bytes, s.first, s.end, w->rank % 2);
  return s;
}

static inline void release_shared(shared_matrix *s) {
  release_rows(&s->rows);
  free(s->values);
  tristar_matrix_destroy(&s->matrix);
}

static inline world open_world(void) {
  world w = {.ts = NULL};
  tristar_config config;
  int level;
  tristar_config_init(&config);
  config.check = 1;
  CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &w.ranks);
  CHECK_OK(tristar_create(&config, &w.ts));
  return w;
}

static inline void close_world(world *w) {
  tristar_memory_stats memory;
  tristar_get_memory(w->ts, &memory);
  CHECK_MSG(memory.current_bytes == 0, "rank %d: %zu bytes leaked", w->rank, memory.current_bytes);
  tristar_destroy(&w->ts);
  MPI_Finalize();
}

#endif
