/* Redistributes rows, so that fewer entries couple ranks: see tristar_dmatrix_mpi.h.
 *
 * Job. Rank 0 gathers the pattern and cuts its graph into one part for each rank (partition/order/parts.h).
 * It renumbers the rows part by part, in their old order within a part. Each entry is sent to the owner of
 * its new row. Vectors are sent in the same way, and back.
 *
 * Reads   a matrix.   Writes  another matrix, with `origin` and `origins`; vectors.
 * Invariant: origin ascends on each rank. */
#include <inttypes.h>
#include <limits.h>

#include "partition/order/parts.h"
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/matrix/dmatrix.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/solve/request.h"

/* A numbering, and on rank 0 the pattern and the lists from which it is made. */
typedef struct numbering {
  tristar_dmatrix_t *d; /* the old matrix */
  int ranks;
  int64_t *start;       /* ranks + 1: the first new row of each rank */
  tsi_index *number;    /* new numbers of the old rows of this rank */
  tsi_index *ghost;     /* new numbers of its ghosts */
  tsi_index *origin;    /* old numbers of the new rows of this rank */
  tsi_pattern *pattern; /* rank 0 */
  tsi_index *all_number, *all_origin;
} numbering;

static void release(numbering *m) {
  tsi_env *env = &m->d->ts->env;
  TSI_FREE(env, m->start);
  TSI_FREE(env, m->number);
  TSI_FREE(env, m->ghost);
  TSI_FREE(env, m->origin);
  TSI_FREE(env, m->all_number);
  TSI_FREE(env, m->all_origin);
  TSI_FREE(env, m->pattern);
}

/* Local. */
static tristar_status allocate(numbering *m) {
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  const tsi_count all = tsi_transport_rank(d->transport) == 0 ? d->stats.n : 0;
  TSI_TRY(TSI_ALLOC_ZERO(env, m->start, m->ranks + 1));
  TSI_TRY(TSI_ALLOC(env, m->number, d->n));
  TSI_TRY(TSI_ALLOC(env, m->ghost, d->halo->ghosts));
  TSI_TRY(TSI_ALLOC(env, m->all_number, all));
  TSI_TRY(TSI_ALLOC(env, m->all_origin, all));
  if (d->stats.nnz_all > INT_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%" PRId64 " entries: the pattern of at most %d is cut into parts",
             d->stats.nnz_all, INT_MAX);
  return TRISTAR_OK;
}

/* Rank 0. Computes the parts and the numbers. */
static tristar_status number_rows(const numbering *m) {
  tsi_env *env = &m->d->ts->env;
  const tsi_pattern *pattern = m->pattern;
  TSI_OWNED tsi_graph *graph = NULL;
  TSI_SCRATCH(env, tsi_index, part, pattern->n);
  TSI_SCRATCH(env, tsi_count, next, m->ranks);
  TSI_TRY(tsi_graph_create(env, pattern->n, pattern->ptr, pattern->index, NULL, false, &graph));
  TSI_TRY(tsi_graph_parts(env, graph, m->ranks, part));
  for (tsi_index i = 0; i < pattern->n; i++) m->start[part[i] + 1]++;
  for (int r = 0; r < m->ranks; r++) {
    next[r] = m->start[r];
    m->start[r + 1] += m->start[r];
  }
  for (tsi_index i = 0; i < pattern->n; i++) {
    m->all_number[i] = (tsi_index)next[part[i]]++;
    m->all_origin[m->all_number[i]] = i;
  }
  return TRISTAR_OK;
}

/* Collective. Sends each rank the new numbers of its old rows and of its ghosts, and the old numbers of its
 * new rows. */
static tristar_status spread_numbers(numbering *m) {
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int rank = tsi_transport_rank(d->transport);
  TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(m->start, m->ranks + 1, MPI_INT64_T, 0, comm)));
  const int64_t rows = m->start[rank + 1] - m->start[rank];
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(env, m->origin, rows)));
  TSI_TRY(tsi_move_blocks(env, comm, d->start, sizeof *m->number, false, m->all_number, d->n, m->number));
  TSI_TRY(tsi_move_blocks(env, comm, m->start, sizeof *m->origin, false, m->all_origin, rows, m->origin));
  return tsi_halo_fill(env, d->halo, sizeof *m->number, m->number, m->ghost);
}

/* ---- The new matrix ------------------------------------------------------------------------------------ */

/* Local. Lists the entries of this rank, by their new numbers. */
static tristar_status list_entries(const numbering *m, tsi_dlist *list) {
  const tristar_dmatrix_t *d = m->d;
  tsi_env *env = &d->ts->env;
  list->count = d->stats.nnz;
  TSI_TRY(TSI_ALLOC(env, list->place, list->count));
  TSI_TRY(TSI_ALLOC_SIZED(env, list->value, list->count, d->bytes));
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = d->whole->ptr[i]; e < d->whole->ptr[i + 1]; e++) {
      const tsi_index j = d->whole->index[e];
      list->place[e] = (tsi_dplace){m->number[i], j < d->n ? m->number[j] : m->ghost[j - d->n]};
    }
  if (list->count > 0) memcpy(list->value, d->whole->values, (size_t)list->count * d->bytes);
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status build(numbering *m, const tristar_dmatrix_options *options, tristar_dmatrix_t *out) {
  const tristar_dmatrix_t *d = m->d;
  TSI_CLEANUP(tsi_dlist_release) tsi_dlist list = {.count = 0};
  TSI_TRY(tsi_dmatrix_agree(out, options, tsi_dmatrix_choose_scalar(out, options, d->scalar, true)));
  memcpy(out->start, m->start, (size_t)(m->ranks + 1) * sizeof *m->start);
  TSI_TRY(tsi_transport_agree(d->transport, list_entries(m, &list)));
  TSI_TRY(tsi_dmatrix_assemble(out, &list, TRISTAR_GENERAL));
  out->stats.symmetry = d->stats.symmetry;
  out->origin = tsi_take(&m->origin);
  out->old_rows = d->n;
  TSI_TRY(tsi_dmatrix_connect(d, out->transport, out->n, out->origin, &out->origins));
  return tsi_dmatrix_finish(out, options->engine);
}

/* Local. */
static tristar_status check(tristar_dmatrix_t *d, const tristar_dmatrix_options *options,
                            tristar_dmatrix_t **out) {
  tsi_env *env = &d->ts->env;
  if (out == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "out is NULL");
  if (options->scalar != 0 && options->scalar != (int)d->scalar)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "scalar is %d, but the matrix has %d", options->scalar,
             (int)d->scalar);
  return tsi_dmatrix_need_whole(d);
}

/* Collective. */
static tristar_status repartition(numbering *m, const tristar_dmatrix_options *options,
                                  tristar_dmatrix_t **out) {
  tsi_transport *transport = m->d->transport;
  TSI_TRY(tsi_transport_agree(transport, check(m->d, options, out)));
  TSI_TRY(tsi_transport_agree(transport, allocate(m)));
  TSI_TRY(tsi_dmatrix_gather_pattern(m->d, false, true, &m->pattern, NULL));
  TSI_TRY(tsi_transport_agree(transport, m->pattern ? number_rows(m) : TRISTAR_OK));
  TSI_TRY(spread_numbers(m));
  TSI_TRY(tsi_dmatrix_begin(m->d->ts, tsi_transport_comm(transport), TRISTAR_OK, out));
  return build(m, options, *out);
}

tristar_status tristar_dmatrix_repartition(tristar_dmatrix_t *matrix, const tristar_dmatrix_options *options,
                                           tristar_dmatrix_t **out) {
  const double start = tsi_clock();
  tristar_dmatrix_options full;
  if (out != NULL) *out = NULL;
  TSI_ENTER(matrix, matrix->ts);
  numbering m = {.d = matrix, .ranks = tsi_transport_size(matrix->transport)};
  tristar_status status = tsi_transport_agree(
      matrix->transport, TSI_OPTIONS(&matrix->ts->env, tristar_dmatrix_options, options, &full));
  if (status == TRISTAR_OK) status = repartition(&m, &full, out);
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

/* Local. Checks vectors with from_rows and to_rows rows. */
static tristar_status check_vectors(const tristar_dmatrix_t *d, int64_t nrhs, const void *from,
                                    tsi_index from_rows, int64_t ldf, const void *to, tsi_index to_rows,
                                    int64_t ldt) {
  tsi_env *env = &d->ts->env;
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (nrhs > 0 && ((from == NULL && from_rows > 0) || (to == NULL && to_rows > 0)))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s is NULL", from == NULL && from_rows > 0 ? "from" : "to");
  if (ldf < from_rows || ldt < to_rows)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "leading dimensions %" PRId64 " and %" PRId64 " for vectors of %d and %d rows here", ldf, ldt,
             from_rows, to_rows);
  return TRISTAR_OK;
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
  TSI_TRY_OUT(tsi_transport_same(d->transport, mine, 2, name, wish, 0, NULL));
  for (int64_t c = 0; c < nrhs; c++) {
    const char *source = (const char *)from + (size_t)(c * ldf) * d->bytes;
    char *target = (char *)to + (size_t)(c * ldt) * d->bytes;
    if (d->origins == NULL)
      memmove(target, source, (size_t)d->n * d->bytes);
    else
      TSI_TRY_OUT(back ? tsi_halo_return(env, d->origins, d->bytes, source, target)
                       : tsi_halo_fill(env, d->origins, d->bytes, source, target));
  }
out:
  return tsi_answer(env, status);
}
