/* cuSPARSE's SpSV, one right-hand side, and SpSM, several: L and L^T by rows, each analyzed once. */
#include <cusparse.h>

#include "tools/gpu/board.h"
#include "tools/gpu/cuda_peers.h"

typedef struct sweep {
  cusparseSpMatDescr_t matrix;
  cusparseSpSVDescr_t one;
  cusparseSpSMDescr_t several;
  cusparseDnVecDescr_t from, to;
  cusparseDnMatDescr_t from_all, to_all;
  void *array[4]; /* rows, columns, values, buffer */
} sweep;

typedef struct solver {
  cusparseHandle_t handle;
  cudaDataType type;
  tsi_index n, nrhs;
  size_t bytes;    /* of a vector */
  void *vector[3]; /* b, L^-1 b, x */
  sweep sweep[2];
} solver;

static void check(cusparseStatus_t status, const char *what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  fprintf(stderr, "cuSPARSE: %s: %s\n", what, cusparseGetErrorString(status));
  exit(1);
}
#define DO(name, ...) check(cusparse##name(__VA_ARGS__), #name)

static const float one_c[2] = {1, 0};
static const double one_z[2] = {1, 0};
static const void *one_of(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_C_32F ? (const void *)one_c : one_z;
}

static void *place(const void *from, size_t bytes) {
  void *to = board_allocate(bytes);
  if (from) board_copy_in(to, from, bytes);
  return to;
}

static void set_matrix(const solver *s, sweep *w, const csr *m, size_t scalar, bool upper) {
  cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  const size_t entries = (size_t)m->ptr[m->n];
  int32_t *ptr = malloc(((size_t)m->n + 1) * sizeof *ptr);
  for (tsi_index i = 0; i <= m->n; i++) ptr[i] = (int32_t)m->ptr[i];
  w->array[0] = place(ptr, ((size_t)m->n + 1) * sizeof *ptr);
  w->array[1] = place(m->index, entries * sizeof *m->index);
  w->array[2] = place(m->values, entries * scalar);
  free(ptr);
  DO(CreateCsr, &w->matrix, m->n, m->n, m->ptr[m->n], w->array[0], w->array[1], w->array[2],
     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type);
  DO(SpMatSetAttribute, w->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill);
  DO(SpMatSetAttribute, w->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal);
}

#define N CUSPARSE_OPERATION_NON_TRANSPOSE

static void analyze_one(const solver *s, sweep *w, void *from, void *to) {
  size_t bytes = 0;
  DO(CreateDnVec, &w->from, s->n, from, s->type);
  DO(CreateDnVec, &w->to, s->n, to, s->type);
  DO(SpSV_createDescr, &w->one);
  DO(SpSV_bufferSize, s->handle, N, one_of(s->type), w->matrix, w->from, w->to, s->type,
     CUSPARSE_SPSV_ALG_DEFAULT, w->one, &bytes);
  w->array[3] = board_allocate(bytes);
  DO(SpSV_analysis, s->handle, N, one_of(s->type), w->matrix, w->from, w->to, s->type,
     CUSPARSE_SPSV_ALG_DEFAULT, w->one, w->array[3]);
}

static void analyze_several(const solver *s, sweep *w, void *from, void *to) {
  size_t bytes = 0;
  DO(CreateDnMat, &w->from_all, s->n, s->nrhs, s->n, from, s->type, CUSPARSE_ORDER_COL);
  DO(CreateDnMat, &w->to_all, s->n, s->nrhs, s->n, to, s->type, CUSPARSE_ORDER_COL);
  DO(SpSM_createDescr, &w->several);
  DO(SpSM_bufferSize, s->handle, N, N, one_of(s->type), w->matrix, w->from_all, w->to_all, s->type,
     CUSPARSE_SPSM_ALG_DEFAULT, w->several, &bytes);
  w->array[3] = board_allocate(bytes);
  DO(SpSM_analysis, s->handle, N, N, one_of(s->type), w->matrix, w->from_all, w->to_all, s->type,
     CUSPARSE_SPSM_ALG_DEFAULT, w->several, w->array[3]);
}

static void *open(const problem *p, tsi_index nrhs, const void *b, const void *x) {
  (void)x;
  if (p->lower.ptr[p->a.n] > INT32_MAX) return NULL;
  solver *s = calloc(1, sizeof *s);
  CHECK(s != NULL);
  s->type = cuda_type_of(p->t);
  s->n = p->a.n;
  s->nrhs = nrhs;
  s->bytes = (size_t)s->n * (size_t)nrhs * p->t->bytes;
  for (int k = 0; k < 3; k++) s->vector[k] = place(k == 0 ? b : NULL, s->bytes);
  DO(Create, &s->handle);
  for (int k = 0; k < 2; k++) {
    set_matrix(s, &s->sweep[k], k == 0 ? &p->lower : &p->upper, p->t->bytes, k == 1);
    (nrhs == 1 ? analyze_one : analyze_several)(s, &s->sweep[k], s->vector[k], s->vector[k + 1]);
  }
  return s;
}

static void solve(void *arg) {
  solver *s = arg;
  for (int k = 0; k < 2; k++) {
    const sweep *w = &s->sweep[k];
    if (s->nrhs == 1)
      DO(SpSV_solve, s->handle, N, one_of(s->type), w->matrix, w->from, w->to, s->type,
         CUSPARSE_SPSV_ALG_DEFAULT, w->one);
    else
      DO(SpSM_solve, s->handle, N, N, one_of(s->type), w->matrix, w->from_all, w->to_all, s->type,
         CUSPARSE_SPSM_ALG_DEFAULT, w->several);
  }
}

static void fetch(const void *arg, void *x) {
  const solver *s = arg;
  board_copy_out(x, s->vector[2], s->bytes);
}

static void close_sweep(const solver *s, sweep *w) {
  if (s->nrhs == 1) {
    DO(SpSV_destroyDescr, w->one);
    DO(DestroyDnVec, w->from);
    DO(DestroyDnVec, w->to);
  } else {
    DO(SpSM_destroyDescr, w->several);
    DO(DestroyDnMat, w->from_all);
    DO(DestroyDnMat, w->to_all);
  }
  DO(DestroySpMat, w->matrix);
  for (int k = 0; k < 4; k++) board_release(w->array[k]);
}

static void close(void *arg) {
  solver *s = arg;
  for (int k = 0; k < 2; k++) close_sweep(s, &s->sweep[k]);
  DO(Destroy, s->handle);
  for (int k = 0; k < 3; k++) board_release(s->vector[k]);
  free(s);
}

const gpu_peer cusparse_peer = {"cuSPARSE", open, solve, fetch, close};
