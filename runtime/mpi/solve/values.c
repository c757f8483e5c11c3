/* Sends every rank the values of its share, and its rows of the matrix: see distributed.h.
 *
 * For each rank in turn, rank 0 computes its share, copies its panels from the factor piece by piece, and
 * sends them. The receiver has the same list of panels, so it receives each piece directly into the final
 * array. A status precedes the values for a rank: if rank 0 has failed, nothing else follows. */
#include "runtime/process/extract.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/solve/distributed.h"
#include "runtime/mpi/comm/mailbox.h"

#define PIECE_BYTES ((tsi_count)16 << 20) /* or one panel */

/* The list of panels that a rank receives, the same on both sides. */
typedef struct shipment {
  const tsi_share *share;
  const tsi_count *begin;
  size_t scalar_bytes;
} shipment;

/* End of the piece that begins with panel `first`. */
static tsi_index end_of_piece(const shipment *s, tsi_index first) {
  const tsi_index panels = s->share->panels->count;
  const tsi_count most = PIECE_BYTES / (tsi_count)s->scalar_bytes;
  tsi_index end = first + 1;
  while (end < panels && s->begin[end + 1] - s->begin[first] <= most) end++;
  return end;
}

static tsi_count largest_piece(const shipment *s) {
  tsi_count most = 0;
  for (tsi_index j = 0, end; j < s->share->panels->count; j = end) {
    end = end_of_piece(s, j);
    most = tsi_count_max(most, s->begin[end] - s->begin[j]);
  }
  return most;
}

/* Arrays by column: of a process, or on rank 0 for another rank. */
typedef struct columns {
  tsi_index *pivots;
  void *inverse;
  double *row_scale, *col_scale;
} columns;

#define COLUMN_ARRAYS 4

static void list_arrays(const tsi_process *p, size_t count, const columns *c,
                        tsi_array array[COLUMN_ARRAYS]) {
  array[0] = (tsi_array){c->pivots, c->pivots ? count * sizeof *c->pivots : 0};
  array[1] = (tsi_array){c->inverse, c->inverse ? 2 * count * p->scalar_bytes : 0};
  array[2] = (tsi_array){c->row_scale, c->row_scale ? count * sizeof *c->row_scale : 0};
  array[3] = (tsi_array){c->col_scale, c->col_scale ? count * sizeof *c->col_scale : 0};
}

static tristar_status allocate_columns(tsi_env *env, const tsi_process *p, size_t count, columns *c) {
  if (p->kind.pivots) TSI_TRY(TSI_ALLOC(env, c->pivots, count));
  if (p->kind.indefinite) TSI_TRY(TSI_ALLOC_SIZED(env, c->inverse, 2 * count, p->scalar_bytes));
  if (p->kind.scaled) TSI_TRY(TSI_ALLOC(env, c->row_scale, count));
  if (p->kind.scaled) TSI_TRY(TSI_ALLOC(env, c->col_scale, count));
  return TRISTAR_OK;
}

/* Data of rank 0 for one rank. */
typedef struct sender {
  tsi_share *share;
  tsi_count *begin;
  void *piece;
  columns columns;
} sender;

static tristar_status prepare_sender(tristar_distributed_t *d, const tsi_layout *layout,
                                     const tristar_factor_t *factor, int rank, sender *s) {
  tsi_env *env = &d->ts->env;
  const tsi_process *p = d->process;
  TSI_TRY(tsi_share_create(env, layout, factor->analysis->panels, rank, &p->share_options, &s->share));
  TSI_TRY(tsi_place_share(env, s->share, &s->begin));
  const shipment load = {s->share, s->begin, p->scalar_bytes};
  TSI_TRY(TSI_ALLOC_SIZED(env, s->piece, (size_t)largest_piece(&load), p->scalar_bytes));
  return allocate_columns(env, p, (size_t)s->share->panels->start[s->share->panels->count], &s->columns);
}

static void release_sender(sender *s) {
  tsi_release(s->share);
  tsi_release(s->begin);
  tsi_release(s->piece);
  tsi_release(s->columns.pivots);
  tsi_release(s->columns.inverse);
  tsi_release(s->columns.row_scale);
  tsi_release(s->columns.col_scale);
}

/* before: an earlier failure, which is sent instead of values. */
static tristar_status send_to(tristar_distributed_t *d, const tsi_layout *layout, tristar_status before,
                              const tristar_factor_t *factor, int rank) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const tsi_process *p = d->process;
  TSI_CLEANUP(release_sender) sender s = {.share = NULL};
  tsi_array array[COLUMN_ARRAYS];
  int code = (int)(before == TRISTAR_OK ? prepare_sender(d, layout, factor, rank, &s) : before);
  TSI_TRY(tsi_send_bytes(env, comm, &code, sizeof code, rank));
  TSI_TRY((tristar_status)code);
  const shipment load = {s.share, s.begin, p->scalar_bytes};
  for (int upper = 0; upper < (p->kind.lu ? 2 : 1); upper++)
    for (tsi_index j = 0, end; j < s.share->panels->count; j = end) {
      end = end_of_piece(&load, j);
      tsi_extract_panels(factor, upper, s.share, s.begin, j, end, s.piece);
      TSI_TRY(
          tsi_send_bytes(env, comm, s.piece, (size_t)(s.begin[end] - s.begin[j]) * p->scalar_bytes, rank));
    }
  tsi_extract_columns(factor, s.share, s.share->panel, s.columns.pivots, s.columns.inverse,
                      s.columns.row_scale, s.columns.col_scale);
  list_arrays(p, (size_t)s.share->panels->start[s.share->panels->count], &s.columns, array);
  return tsi_send_arrays(env, comm, COLUMN_ARRAYS, array, rank);
}

/* Copies rank 0's own share. */
static void take_own(tsi_process *p, const tristar_factor_t *factor) {
  for (int upper = 0; upper < (p->kind.lu ? 2 : 1); upper++)
    tsi_extract_panels(factor, upper, p->share, p->begin, 0, p->share->panels->count,
                       (char *)(upper ? p->upper : p->lower) + (size_t)p->begin[0] * p->scalar_bytes);
  tsi_extract_columns(factor, p->share, p->share->panel, p->pivots, p->inverse, p->row_scale, p->col_scale);
}

static tristar_status receive(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  tsi_process *p = d->process;
  const shipment load = {p->share, p->begin, p->scalar_bytes};
  tsi_array array[COLUMN_ARRAYS];
  int code = TRISTAR_OK;
  TSI_TRY(tsi_receive_bytes(env, comm, &code, sizeof code, 0));
  if (code != TRISTAR_OK) return TRISTAR_OK; /* rank 0 returns its failure */
  for (int upper = 0; upper < (p->kind.lu ? 2 : 1); upper++)
    for (tsi_index j = 0, end; j < p->share->panels->count; j = end) {
      end = end_of_piece(&load, j);
      TSI_TRY(tsi_receive_bytes(env, comm,
                                (char *)(upper ? p->upper : p->lower) + (size_t)p->begin[j] * p->scalar_bytes,
                                (size_t)(p->begin[end] - p->begin[j]) * p->scalar_bytes, 0));
    }
  const columns own = {p->pivots, p->inverse, p->row_scale, p->col_scale};
  list_arrays(p, (size_t)p->share->panels->start[p->share->panels->count], &own, array);
  return tsi_receive_arrays(env, comm, COLUMN_ARRAYS, array, 0);
}

/* Local. Releases lists of the factor order, which depends on the pivots. */
static tristar_status make_space(tristar_distributed_t *d, bool scaled) {
  tsi_distributed_release_ordered(d);
  return tsi_process_scale(d->process, scaled);
}

/* kind, from rank 0: pivoted, scaled, has an order, has a matrix, number of perturbed pivots, singular, trial
 * solves lose digits, has weights, misfit. */
tristar_status tsi_agree_on_kind(tristar_distributed_t *d, const tristar_factor_t *factor, bool scaled) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  int64_t kind[9] = {factor && factor->pivoted,
                     scaled,
                     factor && factor->pivot_order != NULL,
                     factor && factor->has_matrix,
                     factor ? factor->stats.perturbed_pivots : 0,
                     factor && factor->stats.singular,
                     factor && tsi_factor_loses_digits(factor),
                     factor && factor->row_weight != NULL,
                     factor && factor->misfit};
  TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(kind, 9, MPI_INT64_T, 0, comm)));
  d->condition = factor ? factor->stats.reciprocal_condition : 0;
  TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(&d->condition, 1, MPI_DOUBLE, 0, comm)));
  d->process->pivoted = kind[0] != 0;
  d->has_matrix = kind[3] != 0;
  d->perturbed = kind[4] > 0;
  d->stats.perturbed_pivots = kind[4];
  d->singular = kind[5] != 0;
  d->loses_digits = kind[6] != 0;
  d->weighted = kind[7] != 0;
  d->misfit = kind[8] != 0;
  TSI_TRY(tsi_transport_agree(d->transport, make_space(d, kind[1] != 0)));
  TSI_FREE(env, d->pivot_order);
  if (kind[2])
    TSI_TRY(
        tsi_directory_create(env, d->transport, d->n, factor ? factor->pivot_order : NULL, &d->pivot_order));
  return TRISTAR_OK;
}

/* Rank 0. Sends the shares of all other ranks. If it has freed the rows of the layout, it recomputes them. */
static tristar_status send_shares(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  const tsi_process *p = d->process;
  const tristar_analysis_t *an = factor->analysis;
  tsi_layout *again = NULL;
  if (!tsi_layout_has_rows(p->layout))
    status = tsi_layout_create(&d->ts->env, an->symbolic, an->panels, &p->layout_options, &again);
  for (int rank = 1; rank < tsi_transport_size(d->transport); rank++) { /* each must receive a failure */
    const tristar_status sent = send_to(d, again ? again : p->layout, status, factor, rank);
    if (status == TRISTAR_OK) status = sent;
  }
  TSI_FREE(&d->ts->env, again);
  return status;
}

tristar_status tsi_send_values(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_agree_on_kind(d, factor, factor != NULL && factor->row_scale != NULL));
  if (factor == NULL)
    status = receive(d);
  else {
    status = send_shares(d, factor);
    take_own(d->process, factor);
  }
  TSI_TRY(tsi_transport_agree(d->transport, status));
  return tsi_send_matrix(d, factor);
}

/* Collective. */
static tristar_status name_rows(tristar_distributed_t *d, tsi_rows_matrix *m) {
  tsi_env *env = &d->ts->env;
  const tsi_directory *const row[2] = {d->in_row, d->out_row};
  for (int k = 0; k < 2; k++) {
    const tristar_status mine = TSI_ALLOC_IN(m, m->user[k], m->n);
    TSI_TRY(tsi_directory_query(env, d->transport, row[k], mine, m->n, m->column, m->user[k]));
  }
  return TRISTAR_OK;
}

tristar_status tsi_bring_matrix(tristar_distributed_t *d, tristar_status mine,
                                const tsi_rows_source *source) {
  if (!d->has_matrix)
    tsi_rows_matrix_destroy(&d->matrix);
  else if (d->matrix)
    TSI_TRY(tsi_rows_matrix_update(&d->ts->env, d->transport, d->process, mine, source, d->matrix));
  else {
    TSI_TRY(tsi_rows_matrix_create(&d->ts->env, d->transport, d->process, mine, source, &d->matrix));
    const tristar_status named = name_rows(d, d->matrix);
    if (named != TRISTAR_OK) tsi_rows_matrix_destroy(&d->matrix);
    TSI_TRY(named);
  }
  return TRISTAR_OK;
}

/* Collective. Sends rank 0's weights of each rank's rows. */
static tristar_status send_weights(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tsi_env *env = &d->ts->env;
  tsi_rows_matrix *m = d->matrix;
  TSI_OWNED double *whole = NULL;
  if (!d->weighted) {
    for (int k = 0; k < 2; k++) TSI_FREE(env, m->weight[k]);
    return TRISTAR_OK;
  }
  tristar_status mine = TSI_ALLOC(env, whole, d->n);
  for (int k = 0; k < 2 && mine == TRISTAR_OK; k++)
    if (m->weight[k] == NULL) mine = TSI_ALLOC_IN(m, m->weight[k], m->n);
  TSI_TRY(tsi_transport_agree(d->transport, mine));
  for (int k = 0; k < 2; k++) {
    const size_t bytes = (size_t)d->n * sizeof *whole;
    if (factor) memcpy(whole, k == 0 ? factor->row_weight : factor->col_weight, bytes);
    TSI_TRY(tsi_broadcast_bytes(env, tsi_transport_comm(d->transport), whole, bytes));
    for (tsi_index i = 0; i < m->n; i++) m->weight[k][i] = whole[m->user[k][i]];
  }
  return TRISTAR_OK;
}

tristar_status tsi_send_matrix(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tsi_rows_of_factor rows;
  tristar_status status = tsi_rows_of_factor_begin(&d->ts->env, d->has_matrix ? factor : NULL, &rows);
  status = tsi_bring_matrix(d, status, &rows.source);
  tsi_rows_of_factor_finish(&rows);
  if (status != TRISTAR_OK || d->matrix == NULL) return status;
  return send_weights(d, factor);
}
