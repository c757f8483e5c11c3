/* Properties of the values of a distributed matrix: magnitudes, maxima, sums, scalings. See dmatrix_factor.h.
 */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/factor/dmatrix_factor.h"

/* Collective. In pieces, because MPI counts with int. */
static tristar_status unite(const tristar_dmatrix_t *d, tsi_count count, size_t bytes, void *array,
                            MPI_Datatype type, MPI_Op op) {
  for (tsi_count at = 0; at < count; at += TSI_MESSAGE_ITEMS)
    TSI_TRY(tsi_transport_unite(d->transport, (char *)array + (size_t)at * bytes,
                                (int)tsi_count_min(TSI_MESSAGE_ITEMS, count - at), type, op));
  return TRISTAR_OK;
}

tristar_status tsi_rows_unite(const tristar_dmatrix_t *d, tsi_count count, double *largest) {
  return unite(d, count, sizeof *largest, largest, MPI_DOUBLE, MPI_MAX);
}

tristar_status tsi_rows_everywhere(const tristar_dmatrix_t *d, bool here, bool *out) {
  int all = here;
  TSI_TRY(tsi_transport_unite(d->transport, &all, 1, MPI_INT, MPI_MIN));
  *out = all != 0;
  return TRISTAR_OK;
}

static tristar_status agree(void *context, tristar_status mine) {
  return tsi_transport_agree(((const tristar_dmatrix_t *)context)->transport, mine);
}

static tristar_status unite_largest(void *context, tsi_count count, int *values) {
  return unite(context, count, sizeof *values, values, MPI_INT, MPI_MAX);
}

/* Summed on rank 0, because an MPI_Allreduce may return different bits on different ranks. */
static tristar_status unite_sums(void *context, tsi_count count, double *values) {
  const tristar_dmatrix_t *d = context;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const bool root = tsi_transport_rank(d->transport) == 0;
  for (tsi_count at = 0; at < count; at += TSI_MESSAGE_ITEMS) {
    const int items = (int)tsi_count_min(TSI_MESSAGE_ITEMS, count - at);
    TSI_TRY(TSI_MPI(env, "MPI_Reduce",
                    MPI_Reduce(root ? MPI_IN_PLACE : values + at, root ? values + at : NULL, items,
                               MPI_DOUBLE, MPI_SUM, 0, comm)));
  }
  return tsi_broadcast_bytes(env, comm, values, (size_t)count * sizeof *values);
}

tristar_status tsi_rows_measure(const tristar_dmatrix_t *d, double **magnitude) {
  const tsi_rows_matrix *rows = d->whole;
  TSI_TRY(TSI_ALLOC(&d->ts->env, *magnitude, rows->ptr[d->n]));
  d->sparse->part(rows->ptr[d->n], rows->values, TSI_PART_MAGNITUDE, *magnitude);
  return TRISTAR_OK;
}

tristar_status tsi_rows_find_scaling(const tristar_dmatrix_t *d, tristar_method method, char factor_scalar,
                                     double *const matched[2], bool keeps, bool any_pivots,
                                     double *scale[2]) {
  tsi_env *env = &d->ts->env;
  TSI_OWNED double *magnitude = NULL;
  const tsi_scaling_team team = {(void *)(uintptr_t)d, agree, unite_largest, unite_sums};
  TSI_TRY(tsi_transport_agree(d->transport, tsi_rows_measure(d, &magnitude)));
  const tsi_scaling_lines lines = {.n = (tsi_index)d->stats.n,
                                   .count = d->n,
                                   .first = (tsi_index)tsi_dmatrix_first(d),
                                   .by_rows = true,
                                   .ptr = d->whole->ptr,
                                   .index = d->column,
                                   .magnitude = magnitude,
                                   .method = method,
                                   .factor_scalar = factor_scalar,
                                   .row_scale = matched[0],
                                   .col_scale = matched[1],
                                   .keeps_matching = keeps,
                                   .any_pivots = any_pivots,
                                   .team = &team};
  return tsi_scaling_find(env, &lines, &scale[0], &scale[1]);
}
