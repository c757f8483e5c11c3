/* Matchings of a distributed matrix: see dmatrix_factor.h.
 *
 * All ranks together find out whether a matching is needed, from the sizes of columns and of the diagonal.
 * Then rank 0 gathers the pattern of the nonzero entries and counts them by columns. It stores their sizes by
 * columns, one rank's rows after the other, as tsi_full_columns does. */
#include "partition/order/matching.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/dmatrix_factor.h"
#include "runtime/mpi/comm/mailbox.h"

/* ---- Is one called for? -------------------------------------------------------------------------------- */

/* Collective. largest: n, the size of the largest entry of each column; *weak: some rank has a weak diagonal
 * entry. */
static tristar_status measure_columns(const tristar_dmatrix_t *d, double *largest, const double *magnitude,
                                      bool *weak) {
  const tsi_rows_matrix *rows = d->whole;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  bool strong_here = true, strong;
  for (tsi_count e = 0; e < rows->ptr[d->n]; e++)
    if (magnitude[e] > largest[d->column[e]]) largest[d->column[e]] = magnitude[e];
  TSI_TRY(tsi_rows_unite(d, d->stats.n, largest));
  for (tsi_index i = 0; i < d->n; i++) {
    double diagonal = 0;
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++)
      if (d->column[e] == first + i) diagonal = magnitude[e];
    strong_here = strong_here && !tsi_diagonal_is_weak(diagonal, largest[first + i]);
  }
  TSI_TRY(tsi_rows_everywhere(d, strong_here, &strong));
  *weak = !strong;
  return TRISTAR_OK;
}

/* Collective. Checks the structural rank, without the entries that are zero. */
static tristar_status check_rank(const tristar_dmatrix_t *d, const tristar_analysis_options *options) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_pattern *pattern = NULL;
  tsi_index rank = 0;
  tsi_watch watch = tsi_watch_begin(options->progress, options->progress_arg);
  TSI_TRY(tsi_dmatrix_gather_pattern(d, false, false, &pattern, NULL));
  if (pattern) status = tsi_structural_rank(env, pattern->n, pattern->ptr, pattern->index, &rank, &watch);
  if (pattern && status == TRISTAR_OK && rank < pattern->n)
    status = tsi_fail_structure(env, pattern->n, rank);
  TSI_FREE(env, pattern);
  return tsi_transport_agree(d->transport, status);
}

tristar_status tsi_rows_need_matching(const tristar_dmatrix_t *d, tristar_method method,
                                      const tristar_analysis_options *options, bool *requested) {
  const tristar_matching matching = options->matching;
  tsi_env *env = &d->ts->env;
  TSI_OWNED double *magnitude = NULL, *largest = NULL;
  bool weak;
  *requested = method != TRISTAR_METHOD_LLT && matching == TRISTAR_MATCHING_ON;
  if (method == TRISTAR_METHOD_LLT || *requested) return TRISTAR_OK;
  tristar_status status = TSI_ALLOC_ZERO(env, largest, d->stats.n);
  if (status == TRISTAR_OK) status = tsi_rows_measure(d, &magnitude);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(measure_columns(d, largest, magnitude, &weak));
  *requested =
      matching == TRISTAR_MATCHING_AUTO && (weak || tsi_scaling_is_far((tsi_index)d->stats.n, largest));
  TSI_FREE(env, largest);
  TSI_FREE(env, magnitude);
  if (weak && !*requested) TSI_TRY(check_rank(d, options));
  return TRISTAR_OK;
}

/* ---- What it is found from ----------------------------------------------------------------------------- */

/* Local. Lists the sizes of this rank's nonzero entries, in an array of *magnitude's length. */
static tristar_status list_sizes(const tristar_dmatrix_t *d, double **magnitude, tsi_count *count) {
  *count = 0;
  TSI_TRY(tsi_rows_measure(d, magnitude));
  for (tsi_count e = 0; e < d->whole->ptr[d->n]; e++)
    if ((*magnitude)[e] != 0) (*magnitude)[(*count)++] = (*magnitude)[e];
  return TRISTAR_OK;
}

/* Rank 0. Allocates the columns of a pattern by rows, and a buffer for the sizes from one rank. */
static tristar_status make_space(const tristar_dmatrix_t *d, const tsi_pattern *pattern, double **received,
                                 tsi_entries *out) {
  tsi_env *env = &d->ts->env;
  tsi_count most = 0;
  for (int r = 1; r < tsi_transport_size(d->transport); r++)
    most = tsi_count_max(most, pattern->ptr[d->start[r + 1]] - pattern->ptr[d->start[r]]);
  TSI_TRY(TSI_ALLOC(env, *received, most));
  TSI_TRY(tsi_entries_begin(env, pattern->n, sizeof(double), out));
  for (tsi_count e = 0; e < pattern->ptr[pattern->n]; e++) out->ptr[pattern->index[e] + 1]++;
  return tsi_entries_reserve(env, out);
}

/* Rank 0. */
static void put_sizes(const tsi_pattern *pattern, int64_t begin, int64_t end, const double *size,
                      tsi_entries *out) {
  const tsi_count first = pattern->ptr[begin];
  for (int64_t i = begin; i < end; i++)
    for (tsi_count e = pattern->ptr[i]; e < pattern->ptr[i + 1]; e++)
      ((double *)out->item)[tsi_entries_put(out, pattern->index[e], (tsi_index)i)] = size[e - first];
}

/* Rank 0. */
static tristar_status receive_sizes(const tristar_dmatrix_t *d, const tsi_pattern *pattern, const double *own,
                                    double *received, tsi_entries *out) {
  put_sizes(pattern, d->start[0], d->start[1], own, out);
  for (int r = 1; r < tsi_transport_size(d->transport); r++) {
    const tsi_count entries = pattern->ptr[d->start[r + 1]] - pattern->ptr[d->start[r]];
    TSI_TRY(tsi_receive_bytes(&d->ts->env, tsi_transport_comm(d->transport), received,
                              (size_t)entries * sizeof *received, r));
    put_sizes(pattern, d->start[r], d->start[r + 1], received, out);
  }
  tsi_entries_end(out);
  return TRISTAR_OK;
}

tristar_status tsi_rows_gather_sizes(const tristar_dmatrix_t *d, tsi_entries *out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const bool root = tsi_transport_rank(d->transport) == 0;
  tsi_pattern *pattern = NULL;
  double *magnitude = NULL, *received = NULL;
  tsi_count count = 0;
  *out = (tsi_entries){.n = 0};
  TSI_TRY_OUT(tsi_dmatrix_gather_pattern(d, false, false, &pattern, NULL));
  status = list_sizes(d, &magnitude, &count);
  if (status == TRISTAR_OK && root) status = make_space(d, pattern, &received, out);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  status = root ? receive_sizes(d, pattern, magnitude, received, out)
                : tsi_send_bytes(env, tsi_transport_comm(d->transport), magnitude,
                                 (size_t)count * sizeof *magnitude, 0);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
out:
  TSI_FREE(env, pattern);
  TSI_FREE(env, magnitude);
  TSI_FREE(env, received);
  if (status != TRISTAR_OK) tsi_entries_finish(out);
  return status;
}

tristar_status tsi_rows_share_matching(const tristar_dmatrix_t *d, const tristar_factor_t *source,
                                       double *scale[2], bool *keeps) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const tristar_analysis_t *analysis = source ? source->analysis : NULL;
  const size_t n = (size_t)d->stats.n;
  int matched[2] = {analysis && analysis->row_scale != NULL, analysis && analysis->keeps_scaling};
  TSI_TRY_OUT(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(matched, 2, MPI_INT, 0, comm)));
  *keeps = matched[1] != 0;
  if (!matched[0]) goto out;
  for (int k = 0; k < 2 && status == TRISTAR_OK; k++) status = TSI_ALLOC(env, scale[k], n);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  if (analysis) {
    memcpy(scale[0], analysis->row_scale, n * sizeof(double));
    memcpy(scale[1], analysis->col_scale, n * sizeof(double));
  }
  for (int k = 0; k < 2; k++) TSI_TRY_OUT(tsi_broadcast_bytes(env, comm, scale[k], n * sizeof(double)));
out:
  return status;
}
