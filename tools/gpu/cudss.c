/* NVIDIA's cuDSS. It factors its own matrix, A = 6.5 I minus the adjacency matrix of the grid, in the same
 * order, so that its factor has the same structure. The time is that of its solve alone. */
#include <cudss.h>

#include "runtime/base/sort.h"
#include "tools/gpu/board.h"
#include "tools/gpu/cuda_peers.h"

typedef struct solver {
  cudssHandle_t handle;
  cudssConfig_t config;
  cudssData_t data;
  cudssMatrix_t a, b, x;
  size_t bytes;   /* of a vector */
  void *array[5]; /* rows, columns, values, b, x */
} solver;

static void check(cudssStatus_t status, const char *what) {
  CHECK_MSG(status == CUDSS_STATUS_SUCCESS, "cuDSS: %s gave %d", what, (int)status);
}
#define DO(name, ...) check(cudss##name(__VA_ARGS__), #name)

static void *place(const void *from, size_t bytes) {
  void *to = board_allocate(bytes);
  board_copy_in(to, from, bytes);
  return to;
}

/* The upper triangle of A by rows, in the order of the factor, and the product A x. */
typedef struct matrix {
  int32_t *ptr, *index;
  void *values, *b;
} matrix;

static number entry(bool diagonal) {
  return diagonal ? 6.5 : -1;
}

static matrix matrix_of(const problem *p, tsi_index nrhs, const void *x) {
  const pattern *a = &p->a;
  const tsi_index n = a->n, *perm = p->s.symbolic->perm, *inverse = p->s.symbolic->inverse;
  matrix m = {.ptr = calloc((size_t)n + 1, sizeof *m.ptr),
              .index = malloc((size_t)a->ptr[n] * sizeof *m.index),
              .values = malloc((size_t)a->ptr[n] * p->t->bytes),
              .b = malloc((size_t)n * (size_t)nrhs * p->t->bytes)};
  number *sum = malloc((size_t)nrhs * sizeof *sum);
  CHECK(m.ptr && m.index && m.values && m.b && sum);
  for (tsi_index i = 0; i < n; i++) {
    memset(sum, 0, (size_t)nrhs * sizeof *sum);
    m.ptr[i + 1] = m.ptr[i];
    for (tsi_count e = a->ptr[perm[i]]; e < a->ptr[perm[i] + 1]; e++) {
      const tsi_index j = inverse[a->index[e]];
      for (tsi_index c = 0; c < nrhs; c++) sum[c] += entry(i == j) * get(p->t, x, (int64_t)c * n + j);
      if (j >= i) m.index[m.ptr[i + 1]++] = j;
    }
    tsi_sort_indices(m.index + m.ptr[i], m.ptr[i + 1] - m.ptr[i]);
    for (int32_t e = m.ptr[i]; e < m.ptr[i + 1]; e++) put(p->t, m.values, e, entry(m.index[e] == i));
    for (tsi_index c = 0; c < nrhs; c++) put(p->t, m.b, (int64_t)c * n + i, sum[c]);
  }
  free(sum);
  return m;
}

static void create_matrices(solver *s, const problem *p, tsi_index nrhs, const matrix *m) {
  const tsi_index n = p->a.n;
  const cudaDataType type = cuda_type_of(p->t);
  const size_t entries = (size_t)m->ptr[n];
  s->array[0] = place(m->ptr, ((size_t)n + 1) * sizeof *m->ptr);
  s->array[1] = place(m->index, entries * sizeof *m->index);
  s->array[2] = place(m->values, entries * p->t->bytes);
  s->array[3] = place(m->b, s->bytes);
  s->array[4] = board_allocate(s->bytes);
  DO(MatrixCreateCsr, &s->a, n, n, (int64_t)entries, s->array[0], NULL, s->array[1], s->array[2], CUDA_R_32I,
     type, p->t->is_complex ? CUDSS_MTYPE_HPD : CUDSS_MTYPE_SPD, CUDSS_MVIEW_UPPER, CUDSS_BASE_ZERO);
  DO(MatrixCreateDn, &s->b, n, nrhs, n, s->array[3], type, CUDSS_LAYOUT_COL_MAJOR);
  DO(MatrixCreateDn, &s->x, n, nrhs, n, s->array[4], type, CUDSS_LAYOUT_COL_MAJOR);
}

static void *open(const problem *p, tsi_index nrhs, const void *b, const void *x) {
  (void)b;
  solver *s = calloc(1, sizeof *s);
  matrix m = matrix_of(p, nrhs, x);
  int32_t *order = malloc((size_t)p->a.n * sizeof *order); /* the matrix has the factor's already */
  CHECK(s != NULL && order != NULL);
  for (tsi_index i = 0; i < p->a.n; i++) order[i] = i;
  s->bytes = (size_t)p->a.n * (size_t)nrhs * p->t->bytes;
  DO(Create, &s->handle);
  DO(ConfigCreate, &s->config);
  DO(DataCreate, s->handle, &s->data);
  create_matrices(s, p, nrhs, &m);
  DO(DataSet, s->handle, s->data, CUDSS_DATA_USER_PERM, order, (size_t)p->a.n * sizeof *order);
  DO(Execute, s->handle, CUDSS_PHASE_ANALYSIS, s->config, s->data, s->a, s->x, s->b);
  DO(Execute, s->handle, CUDSS_PHASE_FACTORIZATION, s->config, s->data, s->a, s->x, s->b);
  free(order);
  free(m.ptr);
  free(m.index);
  free(m.values);
  free(m.b);
  return s;
}

static void solve(void *arg) {
  solver *s = arg;
  DO(Execute, s->handle, CUDSS_PHASE_SOLVE, s->config, s->data, s->a, s->x, s->b);
}

static void fetch(const void *arg, void *x) {
  const solver *s = arg;
  board_copy_out(x, s->array[4], s->bytes);
}

static void close(void *arg) {
  solver *s = arg;
  DO(MatrixDestroy, s->a);
  DO(MatrixDestroy, s->b);
  DO(MatrixDestroy, s->x);
  DO(DataDestroy, s->handle, s->data);
  DO(ConfigDestroy, s->config);
  DO(Destroy, s->handle);
  for (int k = 0; k < 5; k++) board_release(s->array[k]);
  free(s);
}

const gpu_peer cudss_peer = {"cuDSS", open, solve, fetch, close};
