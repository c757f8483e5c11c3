/* Rows that move to other ranks, so that fewer entries couple ranks: see tristar_dmatrix_mpi.h.
 *
 * Job. Rank 0 gathers the pattern, cuts its graph into as many parts as there are ranks
 * (partition/order/parts.h), and numbers the rows anew, part by part, those of a part in their old order. The
 * entries go to the ranks that have their new rows. Vectors follow the same way, and back.
 *
 * Reads   a matrix.   Writes  another one, with `origin` and `origins`; vectors.
 * Invariant: origin ascends on each rank. */
#include <inttypes.h>
#include <limits.h>

#include "partition/order/parts.h"
#include "runtime/base/clock.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/solve/request.h"

/* A numbering, and on rank 0 what it is made of. */
typedef struct numbering {
  tristar_dmatrix_t *d; /* the old matrix */
  int ranks;
  int *rows, *first;     /* ranks: old rows */
  int *entries, *begin;  /* ranks: their entries */
  int *part_rows, *part; /* ranks: new rows */
  int64_t *start;        /* ranks + 1: the same */
  tsi_index *length;     /* old rows here: their entries */
  tsi_index *number;     /* old rows here: their new numbers */
  tsi_index *ghost;      /* of the ghosts */
  tsi_index *origin;     /* new rows here: their old numbers */
  /* rank 0, of all */
  tsi_index *all_length, *column, *all_number, *all_origin, *where;
  tsi_count *ptr;
} numbering;

static void release(numbering *m) {
  tsi_env *env = &m->d->ts->env;
  int *const counts[] = {m->rows, m->first, m->entries, m->begin, m->part_rows, m->part};
  tsi_index *const lists[] = {m->length, m->number,     m->ghost,      m->origin, m->all_length,
                              m->column, m->all_number, m->all_origin, m->where};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) tsi_release(env, counts[k]);
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) tsi_release(env, lists[k]);
  TSI_FREE(env, m->start);
  TSI_FREE(env, m->ptr);
}

/* ---- The pattern on rank 0 ----------------------------------------------------------------------------- */

/* Local. */
static tristar_status allocate(numbering *m) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  int **const counts[] = {&m->rows, &m->first, &m->entries, &m->begin, &m->part_rows, &m->part};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
    TSI_TRY(TSI_ALLOC_ZERO(env, *counts[k], m->ranks));
  TSI_TRY(TSI_ALLOC_ZERO(env, m->start, m->ranks + 1));
  TSI_TRY(TSI_ALLOC(env, m->length, d->n));
  TSI_TRY(TSI_ALLOC(env, m->number, d->n));
  TSI_TRY(TSI_ALLOC(env, m->ghost, d->halo->ghosts));
  for (tsi_index i = 0; i < d->n; i++) m->length[i] = (tsi_index)(d->whole->ptr[i + 1] - d->whole->ptr[i]);
  if (d->stats.nnz_all > INT_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%" PRId64 " entries: the pattern of at most %d is cut into parts",
             d->stats.nnz_all, INT_MAX);
  if (tsi_transport_rank(d->transport) > 0) goto out;
  const tsi_count n = d->stats.n;
  TSI_TRY(TSI_ALLOC(env, m->all_length, n));
  TSI_TRY(TSI_ALLOC(env, m->column, d->stats.nnz_all));
  TSI_TRY(TSI_ALLOC(env, m->all_number, n));
  TSI_TRY(TSI_ALLOC(env, m->all_origin, n));
  TSI_TRY(TSI_ALLOC(env, m->where, n));
  TSI_TRY(TSI_ALLOC(env, m->ptr, n + 1));
out:
  return status;
}

/* Collective. */
static tristar_status gather_pattern(const numbering *m) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int own = (int)d->stats.nnz;
  TSI_TRY(TSI_MPI(env, "MPI_Allgather", MPI_Allgather(&own, 1, MPI_INT, m->entries, 1, MPI_INT, comm)));
  for (int r = 0; r < m->ranks; r++) {
    m->first[r] = (int)d->start[r];
    m->rows[r] = (int)(d->start[r + 1] - d->start[r]);
    m->begin[r] = r > 0 ? m->begin[r - 1] + m->entries[r - 1] : 0;
  }
  TSI_TRY(TSI_MPI(
      env, "MPI_Gatherv",
      MPI_Gatherv(m->length, d->n, MPI_INT32_T, m->all_length, m->rows, m->first, MPI_INT32_T, 0, comm)));
  TSI_TRY(TSI_MPI(
      env, "MPI_Gatherv",
      MPI_Gatherv(d->column, own, MPI_INT32_T, m->column, m->entries, m->begin, MPI_INT32_T, 0, comm)));
out:
  return status;
}

/* Rank 0: the parts, and numbers that follow from them. */
static tristar_status number_rows(const numbering *m) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  const tsi_index n = (tsi_index)d->stats.n;
  tsi_graph *graph = NULL;
  if (m->ptr == NULL) return TRISTAR_OK; /* another rank */
  m->ptr[0] = 0;
  for (tsi_index i = 0; i < n; i++) m->ptr[i + 1] = m->ptr[i] + m->all_length[i];
  TSI_TRY(tsi_graph_create(env, n, m->ptr, m->column, NULL, false, &graph));
  TSI_TRY(tsi_graph_parts(env, graph, m->ranks, m->where));
  for (tsi_index i = 0; i < n; i++) m->start[m->where[i] + 1]++;
  for (int r = 0; r < m->ranks; r++) m->start[r + 1] += m->start[r];
  for (int r = 0; r < m->ranks; r++) m->part[r] = (int)m->start[r];
  for (tsi_index i = 0; i < n; i++) {
    m->all_number[i] = m->part[m->where[i]]++;
    m->all_origin[m->all_number[i]] = i;
  }
out:
  tsi_graph_destroy(env, &graph);
  return status;
}

/* Collective. To each rank the new numbers of its old rows and of its ghosts, and the old ones of its new
 * rows. */
static tristar_status spread_numbers(numbering *m) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(m->start, m->ranks + 1, MPI_INT64_T, 0, comm)));
  for (int r = 0; r < m->ranks; r++) {
    m->part[r] = (int)m->start[r];
    m->part_rows[r] = (int)(m->start[r + 1] - m->start[r]);
  }
  const int rows = m->part_rows[tsi_transport_rank(d->transport)];
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(env, m->origin, rows)));
  TSI_TRY(TSI_MPI(
      env, "MPI_Scatterv",
      MPI_Scatterv(m->all_number, m->rows, m->first, MPI_INT32_T, m->number, d->n, MPI_INT32_T, 0, comm)));
  TSI_TRY(TSI_MPI(env, "MPI_Scatterv",
                  MPI_Scatterv(m->all_origin, m->part_rows, m->part, MPI_INT32_T, m->origin, rows,
                               MPI_INT32_T, 0, comm)));
  TSI_TRY(tsi_halo_fill(env, d->halo, sizeof *m->number, m->number, m->ghost));
out:
  return status;
}

/* ---- The new matrix ------------------------------------------------------------------------------------ */

/* Local. The entries here, by their new numbers. */
static tristar_status list_entries(const numbering *m, tsi_dlist *list) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  list->count = d->stats.nnz;
  TSI_TRY(TSI_ALLOC(env, list->place, list->count));
  TSI_TRY(
      tsi_allocate(env, (size_t)list->count, d->bytes, __func__, __FILE__, __LINE__, (void **)&list->value));
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = d->whole->ptr[i]; e < d->whole->ptr[i + 1]; e++) {
      const tsi_index j = d->whole->index[e];
      list->place[e] = (tsi_dplace){m->number[i], j < d->n ? m->number[j] : m->ghost[j - d->n]};
    }
  if (list->count > 0) memcpy(list->value, d->whole->values, (size_t)list->count * d->bytes);
out:
  return status;
}

/* Collective. Who has the vectors' entries of the new rows in the old blocks. */
static tristar_status connect(numbering *m, tristar_dmatrix_t *out) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  int *owner = NULL;
  out->origin = m->origin;
  m->origin = NULL;
  out->old_rows = d->n;
  TSI_TRY(tsi_transport_agree(out->transport, TSI_ALLOC(env, owner, out->n)));
  for (tsi_index i = 0; i < out->n; i++) owner[i] = tsi_dmatrix_owner(d, out->origin[i]);
  TSI_TRY(tsi_halo_create(env, out->transport, d->n, d->whole->column, out->n, out->origin, owner,
                          &out->origins));
out:
  TSI_FREE(env, owner);
  return status;
}

/* Collective. */
static tristar_status build(numbering *m, const tristar_dmatrix_options *options, tristar_dmatrix_t *out) {
  tristar_status status = TRISTAR_OK;
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  tsi_dlist list = {.count = 0};
  TSI_TRY(tsi_dmatrix_agree(out, options, tsi_dmatrix_choose_scalar(out, options, d->scalar, true)));
  memcpy(out->start, m->start, (size_t)(m->ranks + 1) * sizeof *m->start);
  TSI_TRY(tsi_transport_agree(d->transport, list_entries(m, &list)));
  TSI_TRY(tsi_dmatrix_assemble(out, &list, TRISTAR_GENERAL));
  out->stats.symmetry = d->stats.symmetry;
  TSI_TRY(connect(m, out));
  TSI_TRY(tsi_dmatrix_finish(out, options->engine));
out:
  TSI_FREE(env, list.place);
  TSI_FREE(env, list.value);
  return status;
}

/* Local. */
static tristar_status check(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                            tristar_dmatrix_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  if (out == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "out is NULL");
  if (options->scalar != 0 && options->scalar != (int)d->scalar)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "scalar is %d, but the matrix has %d", options->scalar,
             (int)d->scalar);
  TSI_TRY(tsi_dmatrix_need_whole(d));
out:
  return status;
}

/* Collective. */
static tristar_status repartition(numbering *m, const tristar_dmatrix_options *options,
                                  tristar_dmatrix_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_transport *transport = m->d->transport;
  TSI_TRY(tsi_transport_agree(transport, check(m->d, options, out)));
  TSI_TRY(tsi_transport_agree(transport, allocate(m)));
  TSI_TRY(gather_pattern(m));
  TSI_TRY(tsi_transport_agree(transport, number_rows(m)));
  TSI_TRY(spread_numbers(m));
  TSI_TRY(tsi_dmatrix_begin(m->d->ts, tsi_transport_comm(transport), TRISTAR_OK, out));
  TSI_TRY(build(m, options, *out));
out:
  return status;
}

tristar_status tristar_dmatrix_repartition(tristar_dmatrix_t *matrix, const tristar_dmatrix_options *options,
                                           tristar_dmatrix_t **out) {
  const double start = tsi_clock();
  tristar_dmatrix_options defaults;
  if (out != NULL) *out = NULL;
  TSI_ENTER(matrix, matrix->ts);
  tristar_dmatrix_options_init(&defaults);
  numbering m = {.d = matrix, .ranks = tsi_transport_size(matrix->transport)};
  const tristar_status status = repartition(&m, options != NULL ? options : &defaults, out);
  release(&m);
  if (status != TRISTAR_OK && out != NULL) tristar_dmatrix_destroy(out);
  if (status == TRISTAR_OK) (*out)->stats.create_seconds = tsi_clock() - start - (*out)->stats.start_seconds;
  return tsi_answer(&matrix->ts->env, status);
}

/* ---- Vectors ------------------------------------------------------------------------------------------- */

tristar_status tristar_dmatrix_get_origin(const tristar_dmatrix_t *matrix, int64_t *row) {
  TSI_ENTER(matrix, matrix->ts);
  if (row == NULL && matrix->n > 0) return TSI_NULL(row);
  for (tsi_index i = 0; i < matrix->n; i++)
    row[i] = matrix->origin != NULL ? matrix->origin[i] : tsi_dmatrix_first(matrix) + i;
  return TRISTAR_OK;
}

/* Local: of vectors of so many rows. */
static tristar_status check_vectors(const tristar_dmatrix_t *d, int64_t nrhs, const void *from,
                                    tsi_index from_rows, int64_t ldf, const void *to, tsi_index to_rows,
                                    int64_t ldt) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (nrhs > 0 && ((from == NULL && from_rows > 0) || (to == NULL && to_rows > 0)))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", from == NULL && from_rows > 0 ? "from" : "to");
  if (ldf < from_rows || ldt < to_rows)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "leading dimensions %" PRId64 " and %" PRId64 " for vectors of %d and %d rows here", ldf, ldt,
             from_rows, to_rows);
out:
  return status;
}

/* Collective. What each rank was asked for goes back to whom it belongs to. */
static tristar_status return_column(const tristar_dmatrix_t *d, const char *from, char *to) {
  tristar_status status = TRISTAR_OK;
  const tsi_halo *halo = d->origins;
  const tsi_items sent = {halo->ghost_count, halo->ghost_first},
                  received = {halo->asked_count, halo->asked_first};
  TSI_TRY(tsi_exchange_items(&d->ts->env, halo->comm, d->bytes, from, sent, halo->buffer, received));
  for (tsi_index k = 0; k < halo->asked; k++)
    memcpy(to + (size_t)halo->own[k] * d->bytes, (const char *)halo->buffer + (size_t)k * d->bytes, d->bytes);
out:
  return status;
}

tristar_status tristar_dmatrix_move(const tristar_dmatrix_t *matrix, tristar_dmatrix_direction direction,
                                    int64_t nrhs, const void *from, int64_t ldf, void *to, int64_t ldt) {
  static const char *const name[] = {"direction", "nrhs"};
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(matrix, matrix->ts);
  const tristar_dmatrix_t *d = matrix;
  tsi_env *env = &d->ts->env;
  const bool back = direction == TRISTAR_TO_ORIGIN;
  const tsi_index old = d->origins != NULL ? d->old_rows : d->n;
  const int64_t wish[] = {direction, nrhs};
  tristar_status mine = check_vectors(d, nrhs, from, back ? d->n : old, ldf, to, back ? old : d->n, ldt);
  if ((unsigned)direction > TRISTAR_TO_ORIGIN)
    mine =
        tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "direction is %d", (int)direction);
  TSI_TRY(tsi_transport_same(d->transport, mine, 2, name, wish, 0, NULL));
  for (int64_t c = 0; c < nrhs; c++) {
    const char *source = (const char *)from + (size_t)(c * ldf) * d->bytes;
    char *target = (char *)to + (size_t)(c * ldt) * d->bytes;
    if (d->origins == NULL)
      memmove(target, source, (size_t)d->n * d->bytes);
    else
      TSI_TRY(back ? return_column(d, source, target)
                   : tsi_halo_fill(env, d->origins, d->bytes, source, target));
  }
out:
  return tsi_answer(env, status);
}
