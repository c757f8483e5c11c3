/* tristar_distributed_solve and _solve_with, and the rows of b and x that each rank passes: see
 * distributed.h.
 *
 * A solve. All ranks agree on the arguments and gather the lists of rows of all ranks, if there are any. All
 * find the same active chunks (runtime/solve/reach.h). For each block of right-hand sides, they then send b
 * to the ranks that read it, run their programs, and send x to the ranks that pass it. */
#include <inttypes.h>

#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/solve/reach.h"
#include "runtime/solve/request.h"
#include "runtime/solve/trace.h"

/* ---- Rows of the user --------------------------------------------------------------------------------- */

void tsi_distributed_release_ordered(tristar_distributed_t *d) {
  for (int k = 0; k < 2; k++) tsi_rows_destroy(&d->ordered[k]);
}

void tsi_distributed_release_rows(tristar_distributed_t *d) {
  tsi_distributed_release_ordered(d);
  if (d->out != d->in) tsi_rows_destroy(&d->out);
  d->out = NULL;
  tsi_rows_destroy(&d->in);
}

/* Collective. Lists the block of rows that this rank passes, in the order of `place`. */
static tristar_status list_block(tristar_distributed_t *d, const tsi_directory *place, tsi_rows **out) {
  tsi_env *env = &d->ts->env;
  const tsi_index first = (tsi_index)d->first[tsi_transport_rank(d->transport)],
                  rows = (tsi_index)tsi_distributed_own_rows(d);
  TSI_OWNED tsi_index *column = NULL;
  tristar_status status = TSI_ALLOC(env, column, rows);
  for (tsi_index i = 0; status == TRISTAR_OK && i < rows; i++) column[i] = first + i;
  TSI_TRY(tsi_directory_query(env, d->transport, place, status, rows, column, column));
  return tsi_rows_create(env, d->transport, d->process, rows, column, out);
}

tristar_status tsi_distributed_list_rows(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  tsi_distributed_release_rows(d);
  TSI_TRY(list_block(d, d->in_place, &d->in));
  if (d->one_place)
    d->out = d->in;
  else
    TSI_TRY(list_block(d, d->out_place, &d->out));
  for (int s = 0; s < TSI_SLOTS; s++) TSI_FREE(env, d->slot[s].buffer);
  return TRISTAR_OK;
}

/* Uses the rows on all ranks or on none. */
tristar_status tsi_distributed_use_rows(tristar_distributed_t *d, const int64_t *first) {
  const size_t bytes = (size_t)(tsi_transport_size(d->transport) + 1) * sizeof *first;
  if (d->in && d->out && memcmp(d->first, first, bytes) == 0) return TRISTAR_OK;
  memcpy(d->first, first, bytes);
  const tristar_status status = tsi_distributed_list_rows(d);
  if (status != TRISTAR_OK) tsi_distributed_release_rows(d);
  return status;
}

tristar_status tristar_distributed_set_rows(tristar_distributed_t *d, int64_t first, int64_t rows) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_queue_drain(d);
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport), me = tsi_transport_rank(d->transport);
  const int64_t own[2] = {first, rows};
  int64_t *all = NULL;
  TSI_TRY_OUT(tsi_transport_agree(d->transport, TSI_ALLOC(env, all, 2 * ranks)));
  TSI_TRY_OUT(
      TSI_MPI(env, "MPI_Allgather",
              MPI_Allgather(own, 2, MPI_INT64_T, all, 2, MPI_INT64_T, tsi_transport_comm(d->transport))));
  int64_t next = 0;
  for (int r = 0; r < ranks; r++) {
    if (all[2 * r] != next || all[2 * r + 1] < 0)
      TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT,
                   "rank %d passes %" PRId64 " rows from %" PRId64 " on, row %" PRId64 " comes next%s", r,
                   all[2 * r + 1], all[2 * r], next, r == me ? " (this rank)" : "");
    next += all[2 * r + 1];
  }
  if (next != d->n)
    TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "the ranks pass %" PRId64 " rows together, not %" PRId64, next,
                 d->n);
  for (int r = 0; r < ranks; r++) all[r] = all[2 * r];
  all[ranks] = d->n;
  TSI_TRY_OUT(tsi_distributed_use_rows(d, all));
out:
  TSI_FREE(env, all);
  return tsi_answer(env, status);
}

/* ---- Arguments of a solve ----------------------------------------------------------------------------- */

enum { B, X };

/* State of a solve. */
typedef struct job {
  tristar_solve_options o; /* with strides filled in */
  int64_t nrhs;
  tsi_process_call call;
  tsi_operation operation;
  bool listed[2];       /* some rank lists the rows that it passes of b, of x */
  int64_t *first[2];    /* if so: ranks + 1, first row of each rank in the list */
  int64_t *row[2];      /* if so: the lists of all ranks */
  tsi_index *column[2]; /* if so: the final columns of these rows */
  tsi_reach reach;
  const tsi_rows *rows[2];
  tsi_rows *own[2]; /* made for lists */
  void *buffer;     /* buffer for rows that are not those of d; else NULL */
} job;

static void release_job(tsi_env *env, job *j) {
  for (int k = B; k <= X; k++) {
    TSI_FREE(env, j->first[k]);
    TSI_FREE(env, j->row[k]);
    TSI_FREE(env, j->column[k]);
    tsi_rows_destroy(&j->own[k]);
  }
  tsi_reach_finish(&j->reach);
  TSI_FREE(env, j->buffer);
}

tristar_status tsi_distributed_check_ready(const tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  if (!d->valid) TSI_FAIL(env, TRISTAR_ERR_STALE, "the distributed factor holds no values");
  if (d->in == NULL || d->out == NULL)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the latest tristar_distributed_set_rows failed");
  return TRISTAR_OK;
}

/* Local. */
static tristar_status check_options(const tristar_distributed_t *d, const tristar_solve_options *o,
                                    int64_t nrhs, const void *b, const void *x) {
  tsi_env *env = &d->ts->env;
  const int64_t rows = tsi_distributed_own_rows(d);
  const int64_t of_b = o->b_row ? o->b_rows : rows, of_x = o->x_row ? o->x_rows : rows;
  TSI_TRY(tsi_solve_options_check(env, o, nrhs));
  if (o->alpha || o->beta)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "alpha and beta are for solves of one process");
  if (o->b_rows < 0 || o->x_rows < 0 || o->b_rows > d->n || o->x_rows > d->n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "b_rows is %" PRId64 ", x_rows %" PRId64, o->b_rows, o->x_rows);
  if (nrhs > 0 && b == NULL && of_b > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "b is NULL");
  if (nrhs > 0 && x == NULL && of_x > 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x is NULL");
  if (nrhs > 0 && of_b > 0 && of_x > 0) { /* columns of b are read after others of x are written */
    if (b == x && (o->b_row || o->x_row))
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "x is b, which a list of rows does not allow");
    TSI_TRY(tsi_check_in_place(env, (tsi_named_array){"b", b, o->b_row_stride, o->b_column_stride, 0},
                               (tsi_named_array){"x", x, o->x_row_stride, o->x_column_stride, 0}));
  }
  return tsi_distributed_check_ready(d);
}

/* Collective. */
static tristar_status agree_on_arguments(tristar_distributed_t *d, tristar_status mine, job *j) {
  static const char *const name[] = {"nrhs", "op", "part", "factor_order"};
  const int64_t value[] = {j->nrhs, j->o.op, j->o.part, j->o.factor_order};
  j->listed[B] = j->o.b_row != NULL;
  j->listed[X] = j->o.x_row != NULL;
  return tsi_transport_same(d->transport, mine, 4, name, value, 2, j->listed);
}

/* Directory with the final columns of the rows of b, or x, as they are passed; NULL: they have the same
 * numbers. */
static const tsi_directory *places(const tristar_distributed_t *d, const job *j, int which) {
  const tsi_operation *o = &j->operation;
  if (which == B ? o->in_user : o->out_user) return o->by_rows == (which == B) ? d->in_place : d->out_place;
  return (which == B ? o->in_moved : o->out_moved) ? d->pivot_order : NULL;
}

/* Collective. Gathers the lists of all ranks, for b or x; a rank without a list passes no row. */
static tristar_status gather_list(const tristar_distributed_t *d, job *j, int which) {
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const int ranks = tsi_transport_size(d->transport);
  const int64_t *row = which == B ? j->o.b_row : j->o.x_row;
  const int64_t own = row == NULL ? 0 : which == B ? j->o.b_rows : j->o.x_rows;
  TSI_OWNED int *place = NULL, *count = NULL;
  int64_t *first = NULL;
  TSI_OWNED tsi_index *column = NULL;
  tristar_status status = TSI_ALLOC_ZERO(env, j->first[which], ranks + 1);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, count, ranks);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, place, ranks);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, column, own);
  for (int64_t i = 0; status == TRISTAR_OK && i < own; i++)
    column[i] = row[i] >= 0 && row[i] < d->n ? (tsi_index)row[i] : TSI_NONE; /* reach.h reports it */
  TSI_TRY(tsi_directory_query(env, d->transport, places(d, j, which), status, own, column, column));
  first = j->first[which];
  TSI_TRY(
      TSI_MPI(env, "MPI_Allgather", MPI_Allgather(&own, 1, MPI_INT64_T, first + 1, 1, MPI_INT64_T, comm)));
  for (int r = 0; r < ranks; r++) first[r + 1] += first[r];
  if (first[ranks] > d->n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "the ranks list %" PRId64 " rows of %s together, the matrix has %" PRId64, first[ranks],
             which == B ? "b" : "x", d->n);
  status = TSI_ALLOC(env, j->row[which], first[ranks]);
  if (status == TRISTAR_OK) status = TSI_ALLOC(env, j->column[which], first[ranks]);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  for (int r = 0; r < ranks; r++) {
    count[r] = (int)(first[r + 1] - first[r]);
    place[r] = (int)first[r];
  }
  TSI_TRY(
      TSI_MPI(env, "MPI_Allgatherv",
              MPI_Allgatherv(row, (int)own, MPI_INT64_T, j->row[which], count, place, MPI_INT64_T, comm)));
  return TSI_MPI(
      env, "MPI_Allgatherv",
      MPI_Allgatherv(column, (int)own, MPI_INT32_T, j->column[which], count, place, MPI_INT32_T, comm));
}

/* Collective. Chooses the rows of b or x. */
static tristar_status choose_rows(tristar_distributed_t *d, job *j, int which) {
  const int rank = tsi_transport_rank(d->transport);
  const tsi_directory *place = places(d, j, which);
  if (j->listed[which]) {
    const int64_t *first = j->first[which];
    TSI_TRY(tsi_rows_create(&d->ts->env, d->transport, d->process, (tsi_index)(first[rank + 1] - first[rank]),
                            j->column[which] + first[rank], &j->own[which]));
    j->rows[which] = j->own[which];
  } else if (place && (place == d->in_place || place == d->out_place))
    j->rows[which] = place == d->in_place ? d->in : d->out;
  else {
    tsi_rows **ordered = &d->ordered[place != NULL];
    if (*ordered == NULL) TSI_TRY(list_block(d, place, ordered));
    j->rows[which] = *ordered;
  }
  return TRISTAR_OK;
}

/* Local. Finds the active chunks. */
static tristar_status choose_chunks(const tristar_distributed_t *d, job *j) {
  const tsi_process *p = d->process;
  const int ranks = tsi_transport_size(d->transport);
  tsi_reach_source source = {
      .chunks = p->layout->chunks,
      .forward = j->operation.sweeps != TSI_BACKWARD ? p->whole : NULL,
      .backward = j->operation.sweeps != TSI_FORWARD ? p->whole : NULL,
      .given = {.row = j->row[B], .final = j->column[B], .name = "b_row, of all ranks,"},
      .requested = {.row = j->row[X], .final = j->column[X], .name = "x_row, of all ranks,"}};
  if (j->listed[B]) source.given.count = j->first[B][ranks];
  if (j->listed[X]) source.requested.count = j->first[X][ranks];
  TSI_TRY(tsi_reach_create(&d->ts->env, &source, &j->reach));
  j->call.forward = j->reach.forward;
  j->call.backward = j->reach.backward;
  return TRISTAR_OK;
}

/* Collective. Fills j except for its arrays. */
static tristar_status prepare(tristar_distributed_t *d, tristar_status mine, job *j) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  TSI_TRY(agree_on_arguments(d, mine, j));
  if (d->on_device && (j->listed[B] || j->listed[X]))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "lists of rows with one-sided solves on GPUs");
  j->call = (tsi_process_call){.op = j->o.op, .part = j->o.part, .factor_order = j->o.factor_order};
  j->operation = tsi_process_operation(d->process, &j->call);
  if (j->listed[B]) TSI_TRY(gather_list(d, j, B));
  if (j->listed[X]) TSI_TRY(gather_list(d, j, X));
  if (j->listed[B] || j->listed[X]) TSI_TRY(tsi_transport_agree(d->transport, choose_chunks(d, j)));
  TSI_TRY(choose_rows(d, j, B));
  TSI_TRY(choose_rows(d, j, X));
  if (j->listed[B] || j->listed[X] || !j->operation.in_user || !j->operation.out_user) {
    const tsi_index stride = tsi_workspace_stride((tsi_index)tsi_count_min(TSI_NRHS_BLOCK, j->nrhs));
    if (status == TRISTAR_OK)
      status = TSI_ALLOC_SIZED(env, j->buffer,
                               (size_t)tsi_count_max(tsi_rows_moved(j->rows[B]), tsi_rows_moved(j->rows[X])),
                               (size_t)stride * d->process->user_bytes);
    status = tsi_transport_agree(d->transport, status);
  }
  return status;
}

/* ---- Solves ------------------------------------------------------------------------------------------- */

tristar_status tsi_slot_need_buffer(tristar_distributed_t *d, tsi_slot *slot) {
  if (slot->buffer) return TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tsi_index stride = tsi_process_stride(slot->run);
  const tsi_count rows = tsi_count_max(tsi_rows_moved(d->in), tsi_rows_moved(d->out));
  const tristar_status status = tsi_transport_agree(
      d->transport, TSI_ALLOC_SIZED(env, slot->buffer, rows * stride, d->process->user_bytes));
  if (status != TRISTAR_OK) TSI_FREE(env, slot->buffer);
  return status;
}

static void add_times(tristar_distributed_stats *stats, const tsi_process_times *times) {
  stats->sweep_seconds += times->wall;
  stats->compute_seconds += times->compute;
  stats->xy_seconds += times->xy;
  stats->z_seconds += times->z;
  stats->idle_seconds += times->idle;
  stats->forward_seconds += times->forward;
  stats->between_seconds += times->between;
  stats->backward_seconds += times->backward;
}

static void count_messages(tristar_distributed_t *d, const tsi_process_run *run, tsi_index stride) {
  const tsi_program *program = d->process->program;
  const bool *sent = tsi_process_sent(run);
  for (tsi_index m = 0; m < program->sends; m++) {
    if (!sent[m]) continue;
    const tsi_message *message = &program->send[m];
    tristar_message_count *count =
        message->kind >= TSI_MESSAGE_EXCHANGE ? &d->stats.grids
        : message->kind == TSI_MESSAGE_FORWARD_X || message->kind == TSI_MESSAGE_BACKWARD_X
            ? &d->stats.broadcast
            : &d->stats.reduction;
    count->messages++;
    count->bytes += message->rows * stride * (int64_t)d->process->scalar_bytes;
  }
}

/* Local. Are all entries of local vectors finite? */
static bool are_finite(const tristar_distributed_t *d, tsi_index nrhs, const void *vectors) {
  const tsi_process *p = d->process;
  const tsi_count count = (tsi_count)p->share->panels->start[p->share->panels->count] * nrhs;
  return tsi_spmv_kernels_select(p->kind.user_scalar, d->ts->isa)->sum_is_finite(count, vectors) ||
         tsi_sparse_kernels_select(p->kind.user_scalar)->first_not_finite(count, vectors) == count;
}

tristar_status tsi_distributed_run(tristar_distributed_t *d, tsi_slot *slot, const tsi_process_call *call,
                                   bool check) {
  tristar_status status = TRISTAR_OK;
  tsi_process_times times;
  const tsi_executor *executor = tsi_process_executor(slot->run);
  if (d->trace) TSI_TRY_OUT(tsi_transport_agree(d->transport, tsi_trace_begin(d->trace, executor)));
  /* a rank that fails continues with the others; afterwards all ranks return its failure */
  tristar_status mine = tsi_process_solve(slot->run, call, &times);
  if (check && mine == TRISTAR_OK && !are_finite(d, call->nrhs, call->x)) mine = TRISTAR_ERR_NOT_FINITE;
  if (d->one_sided) {
    status = tsi_run_port_meet(slot->oneside);
    d->lost = status != TRISTAR_OK;
    TSI_TRY_OUT(status);
  }
  TSI_TRY_OUT(tsi_transport_agree(d->transport, mine));
  if (d->trace) tsi_trace_note(d->trace, executor);
  add_times(&d->stats, &times);
  count_messages(d, slot->run, tsi_process_stride(slot->run));
out:
  if (d->trace) tsi_trace_discard(executor);
  return status;
}

/* Sets rows of b that no rank passes to zero, in the chunks that read them. */
static void clear_rows(const tristar_distributed_t *d, const job *j, tsi_slot *slot) {
  const tsi_process *p = d->process;
  const unsigned char *part = j->operation.sweeps == TSI_BACKWARD ? j->reach.backward : j->reach.forward;
  const size_t columns = (size_t)p->share->panels->start[p->share->panels->count], bytes = p->user_bytes;
  for (tsi_index k = 0; k < p->share->chunks->count; k++) {
    const size_t first = (size_t)p->share->chunks->column[k],
                 count = (size_t)tsi_chunk_columns(p->share->chunks, k);
    if (!p->home[k] || !(part[p->share->chunk[k]] || j->operation.diagonal)) continue;
    for (size_t c = 0; c < (size_t)j->call.nrhs; c++)
      memset((char *)slot->b + (c * columns + first) * bytes, 0, count * bytes);
  }
}

/* Local. tsi_numbers_first_not_finite of rows of the user, or of a slot. */
static int64_t first_not_finite(const tristar_distributed_t *d, tsi_row_array of, int64_t rows, int64_t c) {
  const tsi_numbers numbers = {of.data, rows, of.row, of.column};
  return tsi_numbers_first_not_finite(d->process->kind.user_scalar, &numbers, c);
}

/* Collective. Some x of a block may not be finite: fails, unless b is not finite in the same columns. first:
 * the first column of the block. The slot still has b if x has replaced it. */
static tristar_status judge_range(const tristar_distributed_t *d, const job *j, const tsi_slot *slot,
                                  int64_t first, tsi_row_array b, tsi_row_array x) {
  enum { X_ROW, B_FINITE };
  const tsi_process *p = d->process;
  const tsi_index columns = p->share->panels->start[p->share->panels->count];
  const int64_t own = tsi_distributed_own_rows(d), rows = j->listed[X] ? (j->o.x_row ? j->o.x_rows : 0) : own;
  const int64_t of_b = j->listed[B] ? (j->o.b_row ? j->o.b_rows : 0) : columns;
  int64_t found[2][TSI_NRHS_BLOCK];
  if (!j->listed[B]) b = (tsi_row_array){slot->b, 1, columns};
  for (tsi_index c = 0; c < TSI_NRHS_BLOCK; c++) found[X_ROW][c] = found[B_FINITE][c] = INT64_MAX;
  for (tsi_index c = 0; c < j->call.nrhs; c++) {
    const int64_t i = first_not_finite(d, x, rows, c);
    if (i < rows)
      found[X_ROW][c] = j->listed[X] ? j->o.x_row[i] : d->first[tsi_transport_rank(d->transport)] + i;
    if (first_not_finite(d, b, of_b, c) < of_b) found[B_FINITE][c] = 0;
  }
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Allreduce",
                  MPI_Allreduce(MPI_IN_PLACE, found, 2 * TSI_NRHS_BLOCK, MPI_INT64_T, MPI_MIN,
                                tsi_transport_comm(d->transport))));
  for (tsi_index c = 0; c < j->call.nrhs; c++)
    if (found[X_ROW][c] < INT64_MAX && found[B_FINITE][c])
      TSI_FAIL(&d->ts->env, TRISTAR_ERR_NOT_FINITE,
               "row %" PRId64 " of x, column %" PRId64 " (counted from 0), is beyond the range of numbers",
               found[X_ROW][c], first + c);
  return TRISTAR_OK;
}

/* Solves with j->call.nrhs columns from `first` on. If x is listed, the slot may have rows of other solves,
 * so its rows are checked afterwards. */
static tristar_status solve_block(tristar_distributed_t *d, job *j, int64_t first, tsi_row_array b,
                                  tsi_row_array x) {
  tsi_env *env = &d->ts->env;
  const tsi_process *p = d->process;
  const tsi_index columns = p->share->panels->start[p->share->panels->count], nrhs = j->call.nrhs;
  tsi_slot *slot;
  TSI_TRY(tsi_slot_need(d, nrhs, &slot));
  if (j->buffer == NULL) TSI_TRY(tsi_slot_need_buffer(d, slot));
  void *buffer = j->buffer ? j->buffer : slot->buffer;
  const double begin = tsi_clock();
  if (j->listed[B]) clear_rows(d, j, slot);
  TSI_TRY(tsi_rows_move(env, j->rows[B], p->user_bytes, nrhs, b, (tsi_row_array){slot->b, 1, columns}, false,
                        buffer));
  const double there = tsi_clock();
  j->call.b = slot->b;
  j->call.x = slot->x;
  const tristar_status solved_well = tsi_distributed_run(d, slot, &j->call, !j->listed[X]);
  if (d->lost) return solved_well;
  const double solved = tsi_clock();
  TSI_TRY(tsi_rows_move(env, j->rows[X], p->user_bytes, nrhs, x, (tsi_row_array){slot->x, 1, columns}, true,
                        buffer));
  d->stats.redistribute_seconds += there - begin + tsi_clock() - solved;
  const bool suspect = solved_well == TRISTAR_ERR_NOT_FINITE || (j->listed[X] && solved_well == TRISTAR_OK);
  return suspect ? judge_range(d, j, slot, first, b, x) : solved_well;
}

void tsi_distributed_reset_times(tristar_distributed_t *d) {
  tristar_distributed_stats *stats = &d->stats;
  stats->solve_seconds = stats->redistribute_seconds = stats->sweep_seconds = 0;
  stats->compute_seconds = stats->xy_seconds = stats->z_seconds = stats->idle_seconds = 0;
  stats->forward_seconds = stats->between_seconds = stats->backward_seconds = 0;
  stats->broadcast = stats->reduction = stats->grids = (tristar_message_count){0, 0};
}

tristar_status tsi_distributed_check_ranks(const tristar_distributed_t *d) {
  for (int s = 0; s < TSI_SLOTS; s++)
    if (d->one_sided && d->slot[s].oneside) TSI_TRY(tsi_oneside_check(d->slot[s].oneside->oneside));
  return TRISTAR_OK;
}

static tristar_status solve(tristar_distributed_t *d, tristar_status mine,
                            const tristar_solve_options *options, int64_t nrhs, const void *b, void *x,
                            tristar_solve_result *result) {
  tristar_status status = tsi_distributed_check_ranks(d);
  if (status != TRISTAR_OK) return status;
  const double begin = tsi_clock();
  const size_t bytes = d->process->user_bytes;
  job j = {.o = *options, .nrhs = nrhs};
  tsi_failure failure = {0};
  TSI_TRY_OUT(prepare(d, mine, &j));
  tsi_distributed_reset_times(d);
  for (int64_t first = 0; first < nrhs; first += TSI_NRHS_BLOCK) {
    j.call.nrhs = (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, nrhs - first);
    char *of_b = (char *)(uintptr_t)b + (size_t)(first * j.o.b_column_stride) * bytes;
    const tristar_status solved =
        solve_block(d, &j, first, (tsi_row_array){of_b, j.o.b_row_stride, j.o.b_column_stride},
                    (tsi_row_array){(char *)x + (size_t)(first * j.o.x_column_stride) * bytes,
                                    j.o.x_row_stride, j.o.x_column_stride});
    if (solved != TRISTAR_ERR_NOT_FINITE) TSI_TRY_OUT(solved);
    tsi_failure_keep(&d->ts->env, &failure, solved); /* the other columns are solved all the same */
  }
  d->stats.solve_seconds = tsi_clock() - begin;
  if (result)
    *result = (tristar_solve_result){.share = j.reach.all_bytes > 0 ? j.reach.bytes / j.reach.all_bytes : 1,
                                     .perturbed_pivots = d->stats.perturbed_pivots};
  status = tsi_failure_report(&d->ts->env, &failure);
out:
  release_job(&d->ts->env, &j);
  return status;
}

tristar_status tsi_distributed_solve(tristar_distributed_t *d, const tristar_solve_options *options,
                                     int64_t nrhs, const void *b, void *x, tristar_solve_result *result) {
  tristar_solve_options o;
  tristar_status mine = TSI_OPTIONS(&d->ts->env, tristar_solve_options, options, &o);
  o = tsi_solve_options_fill(&o, tsi_distributed_own_rows(d));
  if (mine == TRISTAR_OK) mine = check_options(d, &o, nrhs, b, x);
  return solve(d, mine, &o, nrhs, b, x, result);
}

tristar_status tristar_distributed_solve_with(tristar_distributed_t *d, const tristar_solve_options *options,
                                              int64_t nrhs, const void *b, void *x,
                                              tristar_solve_result *result) {
  TSI_ENTER(d, d->ts);
  tsi_queue_drain(d);
  return tsi_answer(&d->ts->env, tsi_distributed_solve(d, options, nrhs, b, x, result));
}

tristar_status tsi_distributed_solve_plain(tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                                           const void *b, int64_t ldb, void *x, int64_t ldx) {
  tsi_queue_drain(d);
  const tristar_solve_options o = tsi_solve_options_columns(op, ldb, ldx);
  tristar_status mine = tsi_check_columns(&d->ts->env, tsi_distributed_own_rows(d), nrhs, b, ldb, x, ldx);
  if (mine == TRISTAR_OK) mine = check_options(d, &o, nrhs, b, x);
  return solve(d, mine, &o, nrhs, b, x, NULL);
}

/* ---- Statistics --------------------------------------------------------------------------------------- */

static tristar_distributed_stats stats_now(const tristar_distributed_t *d) {
  tristar_distributed_stats stats = d->stats;
  stats.peak_bytes = (double)atomic_load(&d->ts->env.memory.peak);
  return stats;
}

tristar_status tristar_distributed_get_stats(const tristar_distributed_t *d,
                                             tristar_distributed_stats *stats) {
  TSI_GET(d, stats, (tsi_queue_drain(d), stats_now(d)));
}

tristar_status tristar_distributed_gather_stats(const tristar_distributed_t *d,
                                                tristar_distributed_stats *all) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_queue_drain(d);
  const tristar_distributed_stats own = stats_now(d);
  TSI_TRY_OUT(TSI_MPI(&d->ts->env, "MPI_Gather",
                      MPI_Gather(&own, (int)sizeof own, MPI_BYTE, all, (int)sizeof own, MPI_BYTE, 0,
                                 tsi_transport_comm(d->transport))));
out:
  return tsi_answer(&d->ts->env, status);
}
