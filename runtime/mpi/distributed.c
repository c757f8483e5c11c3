/* Distributes a factor and solves with it: see distributed.h. */
#include "runtime/mpi/distributed.h"

#include <inttypes.h>
#include <starpu.h>
#include <stdlib.h>

#include "runtime/base/variables.h"
#include "runtime/calibration.h"
#include "runtime/clock.h"
#include "runtime/layout_words.h"
#include "runtime/mpi/mailbox.h"

void tristar_distributed_options_init(tristar_distributed_options *options) {
  memset(options, 0, sizeof *options);
  tristar_layout_init(&options->layout);
}

/* ---- A slot: run, mailbox, local rows ----------------------------------------------------------------- */

static tristar_status slot_begin(void *context) {
  tsi_slot *slot = context;
  const tsi_index receives = slot->distributed->process->program->receives;
  for (tsi_index m = 0; m < receives; m++)
    atomic_store_explicit(&slot->arrived[m], false, memory_order_relaxed);
  return tsi_mailbox_start(slot->mailbox);
}

static tristar_status slot_send(void *context, tsi_index message) {
  return tsi_mailbox_send(((tsi_slot *)context)->mailbox, message);
}

static tristar_status slot_wait(void *context, tsi_index message) {
  tsi_slot *slot = context;
  for (int turn = 0; !atomic_load_explicit(&slot->arrived[message], memory_order_acquire); turn++) {
    tsi_mailbox_progress(slot->mailbox);
    if (turn > 1) tsi_mpi_pause(turn);
  }
  return TRISTAR_OK;
}

static void slot_progress(void *context) {
  tsi_mailbox_progress(((tsi_slot *)context)->mailbox);
}

static tristar_status slot_end(void *context) {
  return tsi_mailbox_wait(((tsi_slot *)context)->mailbox);
}

static void slot_arrived(void *context, tsi_index message) {
  tsi_slot *slot = context;
  atomic_store_explicit(&slot->arrived[message], true, memory_order_release);
  tsi_process_arrived(slot->run, message);
}

static tristar_status list_channels(const tsi_slot *slot, const tsi_message *message, tsi_index count,
                                    tsi_index first_tag, size_t row, void *area, tsi_channel **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(&slot->distributed->ts->env, *out, count));
  for (tsi_index m = 0; m < count; m++)
    (*out)[m] = (tsi_channel){.peer = message[m].peer,
                              .tag = first_tag + message[m].tag,
                              .buffer = (char *)area + (size_t)message[m].row * row,
                              .bytes = (size_t)message[m].rows * row};
out:
  return status;
}

static tristar_status open_mailbox(tsi_slot *slot, tsi_index first_tag, size_t row) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_t *d = slot->distributed;
  tsi_env *env = &d->ts->env;
  const tsi_program *program = d->process->program;
  tsi_channel *receive = NULL, *send = NULL;
  TSI_TRY(list_channels(slot, program->receive, program->receives, first_tag, row,
                        tsi_process_inbox(slot->run), &receive));
  TSI_TRY(list_channels(slot, program->send, program->sends, first_tag, row, tsi_process_outbox(slot->run),
                        &send));
  TSI_TRY(tsi_mailbox_create(d->transport, program->receives, receive, program->sends, send, slot_arrived,
                             slot, &slot->mailbox));
out:
  TSI_FREE(env, receive);
  TSI_FREE(env, send);
  return status;
}

static void release_slot(tsi_slot *slot) {
  tsi_env *env = &slot->distributed->ts->env;
  tsi_mailbox_destroy(&slot->mailbox);
  tsi_process_run_destroy(&slot->run);
  TSI_FREE(env, slot->arrived);
  TSI_FREE(env, slot->b);
  TSI_FREE(env, slot->x);
}

static tristar_status fill_slot(tristar_distributed_t *d, int number) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_slot *slot = &d->slot[number];
  const tsi_process *p = d->process;
  const tsi_index stride = number == 0 ? 1 : 8 * number;
  const size_t columns = (size_t)p->share->panels->start[p->share->panels->count];
  const tsi_port port = {.context = slot,
                         .begin = slot_begin,
                         .send = slot_send,
                         .wait = slot_wait,
                         .progress = slot_progress,
                         .end = slot_end};
  TSI_TRY(TSI_ALLOC_ZERO(env, slot->arrived, p->program->receives));
  TSI_TRY(tsi_allocate_zero(env, columns * (size_t)stride, p->user_bytes, __func__, __FILE__, __LINE__,
                            &slot->b));
  TSI_TRY(tsi_allocate_zero(env, columns * (size_t)stride, p->user_bytes, __func__, __FILE__, __LINE__,
                            &slot->x));
  TSI_TRY(tsi_process_run_create(d->process, stride, &slot->run));
  TSI_TRY(open_mailbox(slot, d->tags * (number + 1), (size_t)stride * p->scalar_bytes));
  tsi_process_connect(slot->run, &port);
out:
  return status;
}

static int slot_number(tsi_index nrhs) {
  return nrhs == 1 ? 0 : (nrhs + 7) / 8;
}

/* Collective. The slot for nrhs right-hand sides. */
static tristar_status need_slot(tristar_distributed_t *d, tsi_index nrhs, tsi_slot **out) {
  tristar_status status = TRISTAR_OK;
  const int number = slot_number(nrhs);
  *out = &d->slot[number];
  if ((*out)->run) return TRISTAR_OK;
  status = tsi_transport_agree(d->transport, fill_slot(d, number));
  if (status != TRISTAR_OK) release_slot(*out);
  return status;
}

/* ---- Rows of the user --------------------------------------------------------------------------------- */

static void release_rows(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  if (d->out != d->in) tsi_rows_destroy(env, &d->out);
  d->out = NULL;
  tsi_rows_destroy(env, &d->in);
}

/* Local; d->first is set. */
static tristar_status list_rows(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport);
  release_rows(d);
  TSI_TRY(tsi_rows_create(env, d->process, ranks, d->first, d->in_place, &d->in));
  if (memcmp(d->in_place, d->out_place, (size_t)d->n * sizeof *d->in_place) == 0)
    d->out = d->in;
  else
    TSI_TRY(tsi_rows_create(env, d->process, ranks, d->first, d->out_place, &d->out));
  for (int s = 0; s < TSI_SLOTS; s++) TSI_FREE(env, d->slot[s].buffer);
out:
  return status;
}

tristar_status tristar_distributed_set_rows(tristar_distributed_t *d, int64_t first, int64_t rows) {
  tristar_status status = TRISTAR_OK;
  if (d == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport), me = tsi_transport_rank(d->transport);
  const int64_t own[2] = {first, rows};
  int64_t *all = NULL;
  TSI_TRY(tsi_transport_agree(d->transport, TSI_ALLOC(env, all, 2 * ranks)));
  TSI_TRY(TSI_MPI(env, "MPI_Allgather",
                  MPI_Allgather(own, 2, MPI_INT64_T, all, 2, MPI_INT64_T, tsi_transport_comm(d->transport))));
  int64_t next = 0;
  for (int r = 0; r < ranks; r++) {
    if (all[2 * r] != next || all[2 * r + 1] < 0)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
               "rank %d passes %" PRId64 " rows from %" PRId64 " on, row %" PRId64 " comes next%s", r,
               all[2 * r + 1], all[2 * r], next, r == me ? " (this rank)" : "");
    next += all[2 * r + 1];
  }
  if (next != d->n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the ranks pass %" PRId64 " rows together, not %" PRId64, next, d->n);
  for (int r = 0; r < ranks; r++) d->first[r] = all[2 * r];
  d->first[ranks] = d->n;
  TSI_TRY(tsi_transport_agree(d->transport, list_rows(d)));
out:
  TSI_FREE(env, all);
  return status;
}

/* ---- Distribution ------------------------------------------------------------------------------------- */

/* On rank 0; the others have nothing to check. */
static tristar_status check_factor(tsi_env *env, const tristar_factor_t *factor, int rank) {
  tristar_status status = TRISTAR_OK;
  if (rank != 0) {
    if (factor != NULL)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a factor is passed on rank %d: only rank 0 may have one", rank);
    return TRISTAR_OK;
  }
  if (factor == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factor is NULL on rank 0");
  if (!factor->valid)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the factor holds no values: its last refactorization failed");
  if (tsi_factor_is_triangle(factor))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a triangular matrix alone cannot be distributed");
  if (tsi_analysis_sides(factor->analysis) != 1)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "factors L and U of different structure cannot be distributed");
out:
  return status;
}

static tristar_status check_options(tsi_env *env, const tristar_distributed_options *o, int ranks) {
  tristar_status status = TRISTAR_OK;
  const tristar_layout *l = &o->layout;
  if ((unsigned)o->engine > TRISTAR_ENGINE_TASKS || (unsigned)o->transport > TRISTAR_TRANSPORT_STARPU_MPI ||
      o->nrhs < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "engine %d, transport %d, nrhs %" PRId64, (int)o->engine,
             (int)o->transport, o->nrhs);
  TSI_TRY(tsi_layout_check_words(env, l));
  if (l->px < 1 || l->py < 1 || l->pz < 1 || (int64_t)l->px * l->py * l->pz != ranks)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "layout %dx%dx%d has %" PRId64 " processes, the communicator %d",
             l->px, l->py, l->pz, (int64_t)l->px * l->py * l->pz, ranks);
out:
  return status;
}

static tristar_status choose_transport(tsi_env *env, tristar_transport wanted, tsi_transport_kind *kind) {
  tristar_status status = TRISTAR_OK;
  const char *name = tsi_variable(TSI_VARIABLE_TRANSPORT);
  *kind = wanted == TRISTAR_TRANSPORT_STARPU_MPI ? TSI_TRANSPORT_STARPU_MPI : TSI_TRANSPORT_DIRECT;
  if (wanted != TRISTAR_TRANSPORT_AUTO || name == NULL) return TRISTAR_OK;
  for (int k = 0; k < TSI_TRANSPORT_KINDS; k++)
    if (strcmp(name, tsi_transport_kind_name((tsi_transport_kind)k)) == 0) {
      *kind = (tsi_transport_kind)k;
      return TRISTAR_OK;
    }
  TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "TRISTAR_TRANSPORT is \"%s\", not direct or starpu_mpi", name);
out:
  return status;
}

/* The same on all ranks: sizes of chunks must not depend on a rank's own calibration. */
static tsi_process_options process_options(const tristar_distributed_t *d, const tsi_known *known,
                                           double floor_bytes) {
  const size_t scalar_bytes = tsi_sparse_kernels_select(known->kind.factor_scalar)->scalar_bytes;
  return (tsi_process_options){.layout = tsi_layout_options_of(&d->options.layout, floor_bytes,
                                                               known->symbolic->nnz_stored, scalar_bytes),
                               .tree = tsi_tree_of(&d->options.layout),
                               .rank = tsi_transport_rank(d->transport),
                               .workers = d->stats.workers};
}

static tristar_status copy_places(tristar_distributed_t *d, const tsi_known *known) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport);
  TSI_TRY(TSI_ALLOC(env, d->in_place, d->n));
  TSI_TRY(TSI_ALLOC(env, d->out_place, d->n));
  TSI_TRY(TSI_ALLOC(env, d->first, ranks + 1));
  memcpy(d->in_place, known->in_place, (size_t)d->n * sizeof *d->in_place);
  memcpy(d->out_place, known->out_place, (size_t)d->n * sizeof *d->out_place);
  d->first[0] = 0;
  for (int r = 1; r <= ranks; r++) d->first[r] = d->n;
out:
  return status;
}

/* Local: everything that follows from the structure. */
static tristar_status prepare(tristar_distributed_t *d, const tsi_known *known, double floor_bytes) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const bool tasks = d->options.engine == TRISTAR_ENGINE_TASKS ||
                     (d->options.engine == TRISTAR_ENGINE_AUTO && d->ts->use_starpu);
  d->n = known->kind.n;
  d->panels = known->panels->count;
  d->nnz_stored = known->symbolic->nnz_stored;
  if (tasks) {
    TSI_TRY(tsi_context_need_starpu(d->ts));
    d->stats.workers = (int)starpu_cpu_worker_get_count();
  }
  const tsi_process_options options = process_options(d, known, floor_bytes);
  TSI_TRY(tsi_process_create(env, &known->kind, known->symbolic, known->panels, &options, &d->process));
  TSI_TRY(copy_places(d, known));
  TSI_TRY(list_rows(d));
out:
  return status;
}

/* Tags that the messages of one run take on any rank. */
static tristar_status count_tags(tristar_distributed_t *d) {
  tristar_status status = TRISTAR_OK;
  const tsi_program *program = d->process->program;
  int own = 1, all = 1;
  for (tsi_index m = 0; m < program->sends; m++)
    own = own > program->send[m].tag ? own : program->send[m].tag + 1;
  for (tsi_index m = 0; m < program->receives; m++)
    own = own > program->receive[m].tag ? own : program->receive[m].tag + 1;
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Allreduce",
                  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MAX, tsi_transport_comm(d->transport))));
  d->tags = all;
out:
  return status;
}

static void fill_stats(tristar_distributed_t *d) {
  const tsi_process *p = d->process;
  d->stats.rank = tsi_transport_rank(d->transport);
  d->stats.chunks = p->share->chunks->count;
  d->stats.tasks = p->program->steps->count;
  d->stats.factor_bytes = (double)(p->begin[p->share->panels->count] - p->begin[0]) *
                          (double)p->scalar_bytes * (p->kind.lu ? 2 : 1);
}

static tristar_status distribute(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  tsi_known known = {.borrowed = false};
  tsi_slot *slot;
  double floor_bytes = tsi_calibration_now(d->ts).floor_bytes;
  const int ranks = tsi_transport_size(d->transport), rank = tsi_transport_rank(d->transport);
  const int64_t nrhs = d->options.nrhs > 0 ? d->options.nrhs : 1;
  status = check_options(env, &d->options, ranks);
  if (status == TRISTAR_OK) status = check_factor(env, factor, rank);
  TSI_TRY(tsi_transport_agree(d->transport, status));
  TSI_TRY(tsi_know_structure(env, d->transport, factor, &known));
  TSI_TRY(
      TSI_MPI(env, "MPI_Bcast", MPI_Bcast(&floor_bytes, 1, MPI_DOUBLE, 0, tsi_transport_comm(d->transport))));
  TSI_TRY(tsi_transport_agree(d->transport, prepare(d, &known, floor_bytes)));
  TSI_TRY(count_tags(d));
  TSI_TRY(tsi_send_values(d, factor));
  d->valid = true;
  fill_stats(d);
  TSI_TRY(need_slot(d, (tsi_index)tsi_count_min(nrhs, TSI_NRHS_BLOCK), &slot));
out:
  tsi_known_release(env, &known);
  return status;
}

/* Collective. What can fail on one rank comes after the communicator, over which it is told. */
static tristar_status create(tristar_t *ts, MPI_Comm comm, const tristar_distributed_options *options,
                             tristar_distributed_t **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_distributed_t *d = NULL;
  tsi_transport *transport = NULL;
  tsi_transport_kind kind;
  tristar_status mine = choose_transport(env, options->transport, &kind);
  if (mine == TRISTAR_OK && kind == TSI_TRANSPORT_STARPU_MPI) mine = tsi_context_need_starpu(ts);
  TSI_TRY(tsi_transport_create(env, comm, mine == TRISTAR_OK ? kind : TSI_TRANSPORT_DIRECT, &transport));
  if (mine == TRISTAR_OK) mine = TSI_ALLOC_ZERO(env, d, 1);
  TSI_TRY(tsi_transport_agree(transport, mine));
  d->ts = ts;
  d->options = *options;
  d->transport = transport;
  for (int s = 0; s < TSI_SLOTS; s++) d->slot[s].distributed = d;
out:
  if (status != TRISTAR_OK) {
    tsi_transport_destroy(&transport);
    TSI_FREE(env, d);
  }
  *out = d;
  return status;
}

tristar_status tristar_distribute(tristar_t *ts, MPI_Comm comm, tristar_factor_t *factor,
                                  const tristar_distributed_options *options, tristar_distributed_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_options defaults;
  tristar_distributed_t *d = NULL;
  if (ts == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &ts->env;
  const double begin = tsi_clock();
  if (out == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "distributed is NULL");
  *out = NULL;
  tristar_distributed_options_init(&defaults);
  TSI_TRY(create(ts, comm, options ? options : &defaults, &d));
  TSI_TRY(distribute(d, factor));
  d->stats.distribute_seconds = tsi_clock() - begin;
  tsi_log(
      env, TRISTAR_LOG_INFO,
      "distributed: rank %d of %d, %lld chunks, %lld steps, %d messages sent, %.1f MB of the factor, %.3g s",
      d->stats.rank, tsi_transport_size(d->transport), (long long)d->stats.chunks, (long long)d->stats.tasks,
      (int)d->process->program->sends, d->stats.factor_bytes / 1e6, d->stats.distribute_seconds);
out:
  if (status != TRISTAR_OK) tristar_distributed_destroy(&d);
  if (out != NULL) *out = d;
  return status;
}

void tristar_distributed_destroy(tristar_distributed_t **distributed) {
  if (distributed == NULL || *distributed == NULL) return;
  tristar_distributed_t *d = *distributed;
  tsi_env *env = &d->ts->env;
  *distributed = NULL;
  for (int s = 0; s < TSI_SLOTS; s++) {
    release_slot(&d->slot[s]);
    TSI_FREE(env, d->slot[s].buffer);
  }
  release_rows(d);
  tsi_process_destroy(&d->process);
  TSI_FREE(env, d->first);
  TSI_FREE(env, d->in_place);
  TSI_FREE(env, d->out_place);
  tsi_transport_destroy(&d->transport);
  TSI_FREE(env, d);
}

tristar_status tristar_distributed_update(tristar_distributed_t *d, tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  if (d == NULL) return TRISTAR_ERR_ARGUMENT;
  tsi_env *env = &d->ts->env;
  status = check_factor(env, factor, tsi_transport_rank(d->transport));
  if (status == TRISTAR_OK && factor != NULL) {
    const tsi_factor_kind kind = tsi_factor_kind_of(factor), *mine = &d->process->kind;
    if (kind.n != mine->n || kind.factor_scalar != mine->factor_scalar || kind.lu != mine->lu ||
        kind.indefinite != mine->indefinite || kind.scaled != mine->scaled ||
        factor->analysis->panels->count != d->panels ||
        factor->analysis->symbolic->nnz_stored != d->nnz_stored)
      status = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__,
                        "the factor has another structure than the one that was distributed");
  }
  TSI_TRY(tsi_transport_agree(d->transport, status));
  d->valid = false;
  TSI_TRY(tsi_send_values(d, factor));
  d->valid = true;
out:
  return status;
}

/* ---- Solves ------------------------------------------------------------------------------------------- */

static tristar_status check_arguments(const tristar_distributed_t *d, tristar_op op, int64_t nrhs,
                                      const void *b, int64_t ldb, const void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int rank = tsi_transport_rank(d->transport);
  const int64_t rows = d->first[rank + 1] - d->first[rank];
  if (op != TRISTAR_N && op != TRISTAR_T && op != TRISTAR_C)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "op is %d", (int)op);
  if (nrhs < 0) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "nrhs is %" PRId64, nrhs);
  if (nrhs > 0 && rows > 0 && (b == NULL || x == NULL)) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "b or x is NULL");
  if (nrhs > 1 && (ldb < rows || ldx < rows))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "ldb %" PRId64 " or ldx %" PRId64 " is below %" PRId64 ", this rank's rows", ldb, ldx, rows);
  if (!d->valid) TSI_FAIL(env, TRISTAR_ERR_STALE, "the distributed factor holds no values");
  if (d->in == NULL || d->out == NULL)
    TSI_FAIL(env, TRISTAR_ERR_STALE, "the latest tristar_distributed_set_rows failed");
out:
  return status;
}

/* Collective. All ranks' arguments must be right (mine: what this one found), and the same; the smallest and
 * the largest of each tell. */
static tristar_status agree_on_arguments(const tristar_distributed_t *d, tristar_status mine, tristar_op op,
                                         int64_t nrhs) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const int64_t own[5] = {nrhs, -nrhs, op, -(int64_t)op, mine};
  int64_t most[5];
  TSI_TRY(TSI_MPI(env, "MPI_Allreduce",
                  MPI_Allreduce(own, most, 5, MPI_INT64_T, MPI_MAX, tsi_transport_comm(d->transport))));
  if (most[4] != TRISTAR_OK) return tsi_transport_agree(d->transport, mine); /* who, and why */
  if (most[0] != -most[1])
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the ranks pass %" PRId64 " to %" PRId64 " right-hand sides",
             -most[1], most[0]);
  if (most[2] != -most[3]) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the ranks pass different op");
out:
  return status;
}

/* Collective. The buffer of a slot for rows.h. */
static tristar_status need_buffer(tristar_distributed_t *d, tsi_slot *slot, tsi_index stride) {
  if (slot->buffer) return TRISTAR_OK;
  const tsi_count rows = tsi_count_max(d->in->users + d->in->homes, d->out->users + d->out->homes);
  return tsi_transport_agree(d->transport,
                             tsi_allocate(&d->ts->env, (size_t)(rows * stride), d->process->user_bytes,
                                          __func__, __FILE__, __LINE__, &slot->buffer));
}

static void add_times(tristar_distributed_stats *stats, const tsi_process_times *times) {
  stats->sweep_seconds += times->wall;
  stats->compute_seconds += times->compute;
  stats->xy_seconds += times->xy;
  stats->z_seconds += times->z;
  stats->idle_seconds += times->idle;
}

static void count_messages(tristar_distributed_t *d, tsi_index stride) {
  const tsi_program *program = d->process->program;
  for (tsi_index m = 0; m < program->sends; m++) {
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

/* nrhs <= TSI_NRHS_BLOCK columns. */
static tristar_status solve_block(tristar_distributed_t *d, tristar_op op, tsi_index nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const tsi_process *p = d->process;
  const bool plain = op == TRISTAR_N || !p->kind.lu;
  const tsi_index columns = p->share->panels->start[p->share->panels->count];
  const tsi_index stride = tsi_workspace_stride(nrhs);
  tsi_process_times times;
  tsi_slot *slot;
  TSI_TRY(need_slot(d, nrhs, &slot));
  TSI_TRY(need_buffer(d, slot, stride));
  const double begin = tsi_clock();
  TSI_TRY(tsi_rows_to_homes(env, plain ? d->in : d->out, comm, p->user_bytes, nrhs, b, ldb, slot->b, columns,
                            slot->buffer));
  const double there = tsi_clock();
  TSI_TRY(tsi_process_solve(slot->run, op, nrhs, slot->b, slot->x, &times));
  const double solved = tsi_clock();
  TSI_TRY(tsi_rows_to_users(env, plain ? d->out : d->in, comm, p->user_bytes, nrhs, slot->x, columns, x, ldx,
                            slot->buffer));
  d->stats.redistribute_seconds += there - begin + tsi_clock() - solved;
  add_times(&d->stats, &times);
  count_messages(d, stride);
out:
  return status;
}

static void reset_stats(tristar_distributed_stats *stats) {
  stats->solve_seconds = stats->redistribute_seconds = stats->sweep_seconds = 0;
  stats->compute_seconds = stats->xy_seconds = stats->z_seconds = stats->idle_seconds = 0;
  stats->broadcast = stats->reduction = stats->grids = (tristar_message_count){0, 0};
}

tristar_status tristar_distributed_solve(tristar_distributed_t *d, tristar_op op, int64_t nrhs, const void *b,
                                         int64_t ldb, void *x, int64_t ldx) {
  tristar_status status = TRISTAR_OK;
  if (d == NULL) return TRISTAR_ERR_ARGUMENT;
  const double begin = tsi_clock();
  const size_t bytes = d->process->user_bytes;
  TSI_TRY(agree_on_arguments(d, check_arguments(d, op, nrhs, b, ldb, x, ldx), op, nrhs));
  reset_stats(&d->stats);
  for (int64_t first = 0; first < nrhs; first += TSI_NRHS_BLOCK)
    TSI_TRY(solve_block(d, op, (tsi_index)tsi_count_min(TSI_NRHS_BLOCK, nrhs - first),
                        (const char *)b + (size_t)(first * ldb) * bytes, ldb,
                        (char *)x + (size_t)(first * ldx) * bytes, ldx));
  d->stats.solve_seconds = tsi_clock() - begin;
out:
  return status;
}

/* ---- Statistics --------------------------------------------------------------------------------------- */

void tristar_distributed_get_stats(const tristar_distributed_t *d, tristar_distributed_stats *stats) {
  *stats = d->stats;
}

tristar_status tristar_distributed_gather_stats(const tristar_distributed_t *d,
                                                tristar_distributed_stats *all) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Gather",
                  MPI_Gather(&d->stats, (int)sizeof d->stats, MPI_BYTE, all, (int)sizeof d->stats, MPI_BYTE,
                             0, tsi_transport_comm(d->transport))));
out:
  return status;
}
