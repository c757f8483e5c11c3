/* Distributes a factor and solves with it: see distributed.h. */
#include "runtime/mpi/solve/distributed.h"

#include <inttypes.h>
#include <starpu.h>
#include <stdlib.h>

#include "runtime/base/fingerprint.h"
#include "runtime/base/variables.h"
#include "runtime/machine/calibration.h"
#include "runtime/base/clock.h"
#include "runtime/base/options.h"
#include "runtime/process/layout_words.h"
#include "runtime/process/process_subtrees.h"
#include "runtime/mpi/solve/device_run.h"
#include "runtime/mpi/solve/inserted.h"
#include "runtime/mpi/solve/queue.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/exec/starpu/idle.h"

void tristar_distributed_options_init_sized(tristar_distributed_options *options, size_t size) {
  tristar_distributed_options defaults = {.transport = TRISTAR_TRANSPORT_AUTO};
  tristar_layout_init(&defaults.layout);
  tsi_options_init(options, size, &defaults, sizeof defaults);
}

/* Fingerprint of the structure: supernodes, rows, panels, permutations. */
static uint64_t fingerprint(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_symbolic *s = an->symbolic;
  const size_t n = (size_t)s->n, count = (size_t)s->count, rows = (size_t)s->row_ptr[s->count];
  uint64_t x = tsi_fingerprint(n, s->start, (count + 1) * sizeof *s->start);
  x = tsi_fingerprint(x, s->parent, count * sizeof *s->parent);
  x = tsi_fingerprint(x, s->row_ptr, (count + 1) * sizeof *s->row_ptr);
  x = tsi_fingerprint(x, s->rows, rows * sizeof *s->rows);
  x = tsi_fingerprint(x, an->panels->start, ((size_t)an->panels->count + 1) * sizeof *an->panels->start);
  x = tsi_fingerprint(x, an->in_place, n * sizeof *an->in_place);
  return tsi_fingerprint(x, an->out_place, n * sizeof *an->out_place);
}

/* Only rank 0 has a factor to check. */
static tristar_status check_factor(tsi_env *env, const tristar_factor_t *factor, int rank) {
  if (rank != 0) {
    if (factor != NULL)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "a factor is passed on rank %d: only rank 0 may have one", rank);
    return TRISTAR_OK;
  }
  if (factor == NULL) TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "factor is NULL on rank 0");
  TSI_TRY(tsi_factor_need_values(factor));
  TSI_TRY(tsi_analysis_need_whole(factor->analysis));
  if (tsi_factor_is_triangle(factor))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "a triangular matrix alone cannot be distributed");
  if (tsi_analysis_sides(factor->analysis) != 1)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "factors L and U of different structure cannot be distributed");
  return TRISTAR_OK;
}

static tristar_status check_options(tsi_env *env, const tristar_distributed_options *o, int ranks) {
  const tristar_layout *l = &o->layout;
  if ((unsigned)o->engine > TRISTAR_ENGINE_TASKS || (unsigned)o->transport > TRISTAR_TRANSPORT_ONE_SIDED ||
      o->nrhs < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "engine %d, transport %d, nrhs %" PRId64, (int)o->engine,
             (int)o->transport, o->nrhs);
  if ((unsigned)o->refine > TRISTAR_REFINE_NEVER)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "refine is %d", (int)o->refine);
  if ((unsigned)o->place > TRISTAR_PLACE_GPU || o->device_bytes < 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "place %d, device bytes %" PRId64, (int)o->place, o->device_bytes);
  if ((unsigned)o->atomic_sums > 1)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "atomic_sums is %d, not 0 or 1", o->atomic_sums);
  TSI_TRY(tsi_layout_check_words(env, l));
  if (!(o->process_bytes >= 0) || o->solves < 0 || o->grids < 0 || !(o->peer_seconds >= 0))
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "process_bytes %g, solves %" PRId64 ", grids %d, peer_seconds %g",
             o->process_bytes, o->solves, o->grids, o->peer_seconds);
  if (l->px == 0) return TRISTAR_OK; /* to be chosen */
  if (l->px < 1 || l->py < 1 || l->pz < 1 || (int64_t)l->px * l->py * l->pz != ranks)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "layout %dx%dx%d has %" PRId64 " processes, the communicator %d",
             l->px, l->py, l->pz, (int64_t)l->px * l->py * l->pz, ranks);
  return TRISTAR_OK;
}

/* kind: transport of messages during setup, and of solves unless *requested becomes ONE_SIDED. */
static tristar_status choose_transport(tsi_env *env, tristar_transport *requested, tsi_transport_kind *kind) {
  const char *name = tsi_variable(TSI_VARIABLE_TRANSPORT);
  *kind = *requested == TRISTAR_TRANSPORT_STARPU_MPI ? TSI_TRANSPORT_STARPU_MPI : TSI_TRANSPORT_DIRECT;
  if (*requested != TRISTAR_TRANSPORT_AUTO || name == NULL) return TRISTAR_OK;
  if (strcmp(name, "one_sided") == 0) {
    *requested = TRISTAR_TRANSPORT_ONE_SIDED;
    return TRISTAR_OK;
  }
  for (int k = 0; k < TSI_TRANSPORT_KINDS; k++)
    if (strcmp(name, tsi_transport_kind_name((tsi_transport_kind)k)) == 0) {
      *kind = (tsi_transport_kind)k;
      return TRISTAR_OK;
    }
  TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "TRISTAR_TRANSPORT is \"%s\", not direct, starpu_mpi or one_sided",
           name);
}

/* floor_bytes is the same on all ranks: sizes of chunks must not depend on a rank's own calibration. */
static tsi_process_options process_options(const tristar_distributed_t *d, const tsi_shared_structure *shared,
                                           double floor_bytes) {
  const size_t scalar_bytes = tsi_sparse_kernels_select(shared->kind.factor_scalar)->scalar_bytes;
  return (tsi_process_options){.layout = tsi_layout_options_of(&d->options.layout, floor_bytes,
                                                               shared->symbolic->nnz_stored, scalar_bytes),
                               .tree = tsi_tree_of(&d->options.layout),
                               .rank = tsi_transport_rank(d->transport),
                               .isa = d->ts->isa,
                               .workers = d->stats.workers,
                               .later = true};
}

/* Collective. Distributes the positions of the user's rows in the final order, and the inverse lists. */
static tristar_status share_places(tristar_distributed_t *d, const tsi_shared_structure *shared) {
  tsi_env *env = &d->ts->env;
  int same = shared->in_place != NULL &&
             memcmp(shared->in_place, shared->out_place, (size_t)d->n * sizeof *shared->in_place) == 0;
  TSI_TRY(TSI_MPI(env, "MPI_Bcast", MPI_Bcast(&same, 1, MPI_INT, 0, tsi_transport_comm(d->transport))));
  d->one_place = same != 0;
  TSI_TRY(tsi_directory_create(env, d->transport, d->n, shared->in_place, &d->in_place));
  TSI_TRY(tsi_directory_create(env, d->transport, d->n, shared->in_row, &d->in_row));
  if (d->one_place) {
    d->out_place = d->in_place;
    d->out_row = d->in_row;
    return TRISTAR_OK;
  }
  TSI_TRY(tsi_directory_create(env, d->transport, d->n, shared->out_place, &d->out_place));
  return tsi_directory_create(env, d->transport, d->n, shared->out_row, &d->out_row);
}

/* Local. */
static tristar_status start(tristar_distributed_t *d) {
  if (d->on_device) return tsi_device_run_check(&d->ts->env);
  if (d->options.atomic_sums)
    TSI_FAIL(&d->ts->env, TRISTAR_ERR_UNSUPPORTED, "atomic_sums needs TRANSPORT_ONE_SIDED and PLACE_GPU");
  if (!tsi_distributed_needs_tasks(d)) return TRISTAR_OK;
  TSI_TRY(tsi_context_need_starpu(d->ts, &d->stats.start_seconds));
  d->stats.workers = (int)starpu_cpu_worker_get_count();
  return TRISTAR_OK;
}

/* Local. Creates all data that follow from the structure. */
static tristar_status prepare(tristar_distributed_t *d, const tsi_shared_structure *shared,
                              const tsi_process_options *options) {
  d->n = shared->kind.n;
  TSI_TRY(
      tsi_process_create(&d->ts->env, &shared->kind, shared->symbolic, shared->panels, options, &d->process));
  const int ranks = tsi_transport_size(d->transport);
  TSI_TRY(TSI_ALLOC(&d->ts->env, d->first, ranks + 1));
  d->first[0] = 0;
  for (int r = 1; r <= ranks; r++) d->first[r] = d->n;
  return TRISTAR_OK;
}

/* Counts the tags of the messages of one run on any rank. */
static tristar_status count_tags(tristar_distributed_t *d) {
  const tsi_program *program = d->process->program;
  int own = 1, all = 1;
  for (tsi_index m = 0; m < program->sends; m++)
    own = own > program->send[m].tag ? own : program->send[m].tag + 1;
  for (tsi_index m = 0; m < program->receives; m++)
    own = own > program->receive[m].tag ? own : program->receive[m].tag + 1;
  TSI_TRY(TSI_MPI(&d->ts->env, "MPI_Allreduce",
                  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MAX, tsi_transport_comm(d->transport))));
  d->tags = all;
  return TRISTAR_OK;
}

static void fill_stats(tristar_distributed_t *d) {
  const tsi_process *p = d->process;
  d->stats.layout = d->options.layout;
  d->stats.n = d->n;
  d->stats.scalar = (tristar_scalar)p->kind.user_scalar;
  d->stats.symmetry = d->source ? d->source->analysis->pattern->symmetry : TRISTAR_GENERAL;
  d->stats.chunks = p->share->chunks->count;
  d->stats.tasks = p->program->steps->count;
  d->stats.factor_bytes = (double)(p->begin[p->share->panels->count] - p->begin[0]) *
                          (double)p->scalar_bytes * (p->kind.lu ? 2 : 1);
}

/* Collective. Creates the slot for the right-hand sides of the options. */
static tristar_status need_first_slot(tristar_distributed_t *d) {
  tsi_slot *slot;
  return tsi_slot_need(d, tsi_columns_of(d->options.nrhs), &slot);
}

/* Collective. With different options on the ranks, their messages would not match. */
static tristar_status agree_on_options(const tristar_distributed_t *d, tristar_status mine) {
  const tristar_layout *l = &d->options.layout;
  static const char *const name[] = {"px of the layout",
                                     "py of the layout",
                                     "pz of the layout",
                                     "the algorithm of the layout",
                                     "the map of the layout",
                                     "the tree of the layout",
                                     "the engine",
                                     "nrhs",
                                     "refine",
                                     "the place of subtrees",
                                     "the number of solves",
                                     "the most grids",
                                     "one-sided messages",
                                     "atomic_sums",
                                     "the version of TriStar (major)",
                                     "the version of TriStar (minor)"};
  const int64_t value[] = {l->px,
                           l->py,
                           l->pz,
                           l->algorithm,
                           l->map,
                           l->message_tree,
                           d->options.engine,
                           d->options.nrhs,
                           d->options.refine,
                           d->options.place,
                           d->options.solves,
                           d->options.grids,
                           d->one_sided,
                           d->options.atomic_sums,
                           TRISTAR_VERSION_MAJOR,
                           TRISTAR_VERSION_MINOR};
  return tsi_transport_same(d->transport, mine, (int)(sizeof value / sizeof *value), name, value, 0, NULL);
}

tristar_status tsi_distributed_agree(tristar_distributed_t *d, tristar_status mine) {
  const tristar_status status = check_options(&d->ts->env, &d->options, tsi_transport_size(d->transport));
  return agree_on_options(d, status == TRISTAR_OK ? mine : status);
}

/* Collective. Creates a process and, if it uses devices, the first slot, because that can fail. */
static tristar_status make_process(tristar_distributed_t *d, const tsi_shared_structure *shared,
                                   const tsi_process_options *options) {
  TSI_TRY(tsi_transport_agree(d->transport, prepare(d, shared, options)));
  TSI_TRY(share_places(d, shared));
  if (!d->of_rows) TSI_TRY(tsi_distributed_list_rows(d)); /* else the blocks of the matrix come first */
  TSI_TRY(count_tags(d));
  d->placed = options->layout.device != NULL;
  if (d->placed) TSI_TRY(need_first_slot(d));
  return TRISTAR_OK;
}

/* Collective. Places subtrees on devices or, if PLACE_AUTO fails to do so, everything on the cores. */
static tristar_status make_placed(tristar_distributed_t *d, const tsi_shared_structure *shared,
                                  tsi_process_options *options) {
  TSI_OWNED tsi_index *device = NULL;
  TSI_TRY(tsi_distributed_choose_devices(d, shared, options, &device));
  tristar_status status = make_process(d, shared, options);
  if (status != TRISTAR_OK && device && d->options.place == TRISTAR_PLACE_AUTO) {
    tsi_log(&d->ts->env, TRISTAR_LOG_WARNING, "PLACE_AUTO: all ranks solve on their cores: %s",
            tsi_error_text(&d->ts->env));
    tsi_distributed_release_layout(d);
    options->layout.device = NULL;
    d->stats.unfit_bytes = 0;
    status = make_process(d, shared, options);
  }
  return status;
}

tristar_status tsi_distributed_lay_out(tristar_distributed_t *d, const tristar_factor_t *factor,
                                       double floor_bytes, tsi_shared_structure *shared) {
  tsi_env *env = &d->ts->env;
  if (floor_bytes == 0)
    floor_bytes = d->on_device ? TSI_GPU_FLOOR_BYTES : tsi_calibration_now(&d->ts->machine).floor_bytes;
  if (factor != NULL) d->structure = fingerprint(factor);
  TSI_TRY(tsi_distributed_choose_layout(d, factor != NULL ? factor->analysis : NULL));
  TSI_TRY(tsi_share_structure(env, d->transport, factor, shared));
  TSI_TRY(
      TSI_MPI(env, "MPI_Bcast", MPI_Bcast(&floor_bytes, 1, MPI_DOUBLE, 0, tsi_transport_comm(d->transport))));
  TSI_TRY(tsi_transport_agree(d->transport, start(d)));
  tsi_process_options options = process_options(d, shared, floor_bytes);
  return make_placed(d, shared, &options);
}

tristar_status tsi_distributed_take_values(tristar_distributed_t *d) {
  if (d->placed) TSI_TRY(tsi_transport_agree(d->transport, tsi_process_renew(d->process)));
  for (int s = 0; s < TSI_SLOTS; s++)
    if (d->slot[s].device) tsi_device_run_renew(d->slot[s].device);
  d->valid = true;
  return TRISTAR_OK;
}

tristar_status tsi_distributed_make_ready(tristar_distributed_t *d) {
  fill_stats(d);
  tsi_distributed_describe_devices(d);
  TSI_TRY(tsi_distributed_take_values(d));
  return need_first_slot(d);
}

void tsi_distributed_discard_structure(tristar_distributed_t *d) {
  if (tsi_transport_rank(d->transport) != 0 || (d->of_rows && !d->placed))
    tsi_layout_discard_rows(&d->ts->env, d->process->layout);
}

static tristar_status distribute(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tsi_env *env = &d->ts->env;
  TSI_CLEANUP(tsi_shared_structure_release) tsi_shared_structure shared = {.borrowed = false};
  TSI_TRY(tsi_distributed_agree(d, check_factor(env, factor, tsi_transport_rank(d->transport))));
  TSI_TRY(tsi_distributed_lay_out(d, factor, 0, &shared));
  tsi_shared_structure_release(&shared);
  tsi_distributed_discard_structure(d);
  TSI_TRY(tsi_transport_agree(d->transport, tsi_process_need_streams(d->process)));
  TSI_TRY(tsi_send_values(d, factor));
  return tsi_distributed_make_ready(d);
}

/* Collective. The transport has no mailboxes yet. */
static tristar_status create_empty(tristar_t *ts, tsi_transport *transport,
                                   const tristar_distributed_options *options, tristar_distributed_t **out) {
  TSI_OWNED tristar_distributed_t *d = NULL;
  *out = NULL;
  TSI_TRY(tsi_transport_agree(transport, TSI_ALLOC_ZERO(&ts->env, d, 1)));
  d->ts = ts;
  tsi_env_retain(&ts->env);
  d->options = *options;
  d->transport = transport;
  d->one_sided = options->transport == TRISTAR_TRANSPORT_ONE_SIDED;
  d->on_device = d->one_sided && options->place == TRISTAR_PLACE_GPU;
  d->stats.rank = tsi_transport_rank(transport);
  *out = tsi_take(&d);
  return TRISTAR_OK;
}

tristar_status tsi_distributed_create_twin(tristar_distributed_t *d, tristar_distributed_t **out) {
  TSI_TRY(create_empty(d->ts, d->transport, &d->options, out));
  (*out)->borrows = true;
  return TRISTAR_OK;
}

/* The transport is created even after a failure on one rank, so that all ranks can agree on it. */
tristar_status tsi_distributed_create(tristar_t *ts, MPI_Comm comm,
                                      const tristar_distributed_options *options,
                                      tristar_distributed_t *const *requested, tristar_distributed_t **out) {
  tristar_distributed_options full;
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &ts->env;
  tristar_distributed_t *d = NULL;
  tsi_transport *transport = NULL;
  tsi_transport_kind kind = TSI_TRANSPORT_DIRECT;
  double start_seconds = 0;
  tristar_status mine = TSI_OPTIONS(env, tristar_distributed_options, options, &full);
  if (mine == TRISTAR_OK) mine = choose_transport(env, &full.transport, &kind);
  if (mine == TRISTAR_OK && requested == NULL)
    mine = tsi_fail(env, TRISTAR_ERR_ARGUMENT, __func__, __FILE__, __LINE__, "distributed is NULL");
  if (mine == TRISTAR_OK && kind == TSI_TRANSPORT_STARPU_MPI)
    mine = tsi_context_need_starpu(ts, &start_seconds);
  TSI_TRY_OUT(tsi_transport_create(env, comm, kind, !ts->workers.allowed, mine, &transport));
  TSI_TRY_OUT(create_empty(ts, transport, &full, &d));
  d->stats.start_seconds = start_seconds;
out:
  if (status != TRISTAR_OK) tsi_transport_destroy(&transport);
  *out = d;
  return status;
}

tristar_status tristar_distribute(tristar_t *ts, MPI_Comm comm, tristar_factor_t *factor,
                                  const tristar_distributed_options *options, tristar_distributed_t **out) {
  tristar_status status = TRISTAR_OK;
  tristar_distributed_t *d = NULL;
  TSI_ENTER(ts, ts);
  tsi_env *env = &ts->env;
  const double begin = tsi_clock();
  if (out != NULL) *out = NULL;
  tsi_idle_dismiss();
  TSI_TRY_OUT(tsi_distributed_create(ts, comm, options, out, &d));
  TSI_TRY_OUT(distribute(d, factor));
  d->stats.distribute_seconds = tsi_clock() - begin - d->stats.start_seconds;
  tsi_log(
      env, TRISTAR_LOG_INFO,
      "distributed: rank %d of %d, %lld chunks, %lld steps, %d messages sent, %.1f MB of the factor, %.3g s",
      d->stats.rank, tsi_transport_size(d->transport), (long long)d->stats.chunks, (long long)d->stats.tasks,
      (int)d->process->program->sends, d->stats.factor_bytes / 1e6, d->stats.distribute_seconds);
out:
  tsi_idle_recall();
  if (status != TRISTAR_OK) tristar_distributed_destroy(&d);
  if (out != NULL) *out = d;
  return tsi_answer(env, status);
}

void tsi_distributed_release_layout(tristar_distributed_t *d) {
  tsi_env *env = &d->ts->env;
  for (int s = 0; s < TSI_SLOTS; s++) tsi_slot_release(d, &d->slot[s]);
  if (d->team_factor != NULL) d->team_factor_destroy(d, &d->team_factor);
  tsi_distributed_release_rows(d);
  tsi_process_destroy(&d->process);
  TSI_FREE(env, d->first);
  if (d->out_place != d->in_place) TSI_FREE(env, d->out_place);
  if (d->out_row != d->in_row) TSI_FREE(env, d->out_row);
  TSI_FREE(env, d->in_place);
  TSI_FREE(env, d->in_row);
  d->out_place = d->out_row = NULL;
  TSI_FREE(env, d->pivot_order);
  tsi_rows_matrix_destroy(&d->matrix);
}

void tristar_distributed_destroy(tristar_distributed_t **distributed) {
  if (distributed == NULL || *distributed == NULL) return;
  tristar_distributed_t *d = *distributed;
  tsi_env *env = &d->ts->env;
  *distributed = NULL;
  if (tsi_env_abandon(env, d)) return;
  tsi_queue_destroy(d);
  tsi_inserted_destroy(d);
  tsi_distributed_release_layout(d);
  for (int s = 0; s < TSI_SLOTS; s++) TSI_FREE(env, d->slot[s].buffer);
  tristar_factor_destroy(&d->source);
  if (!d->borrows) tsi_transport_destroy(&d->transport);
  TSI_FREE(env, d);
  tsi_env_release(env);
}

/* On rank 0. Checks that the distributed factor can take the values of this factor. */
static tristar_status check_same(const tristar_distributed_t *d, const tristar_factor_t *factor) {
  tsi_env *env = &d->ts->env;
  const tsi_factor_kind its = tsi_factor_kind_of(factor), *mine = &d->process->kind;
  const char *other = its.n != mine->n                                           ? "order"
                      : its.user_scalar != mine->user_scalar                     ? "scalar type"
                      : its.factor_scalar != mine->factor_scalar                 ? "precision of the factors"
                      : its.lu != mine->lu || its.indefinite != mine->indefinite ? "method"
                      : its.inverse != mine->inverse        ? "treatment of diagonal blocks"
                      : its.adjoint != mine->adjoint        ? "symmetry (Hermitian or not)"
                      : its.pivots != mine->pivots          ? "pivoting"
                      : fingerprint(factor) != d->structure ? "structure or permutation"
                                                            : NULL;
  if (other != NULL)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "the factor has another %s than the one that was distributed", other);
  return TRISTAR_OK;
}

/* Statistics for values of a factor that rank 0 has made alone. */
static void note_update(tristar_distributed_t *d, const tristar_factor_t *factor) {
  tristar_distributed_stats *stats = &d->stats;
  stats->factor_seconds = stats->factor_peak_bytes = 0;
  stats->fan_in = stats->hand_on = (tristar_message_count){0, 0};
  if (d->source) d->source->stats = factor->stats;
}

tristar_status tristar_distributed_update(tristar_distributed_t *d, tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  TSI_ENTER(d, d->ts);
  tsi_queue_drain(d);
  tsi_idle_dismiss();
  tsi_env *env = &d->ts->env;
  status = check_factor(env, factor, tsi_transport_rank(d->transport));
  if (status == TRISTAR_OK && factor != NULL) status = check_same(d, factor);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  d->valid = false;
  TSI_TRY_OUT(tsi_send_values(d, factor));
  TSI_TRY_OUT(tsi_distributed_take_values(d));
  note_update(d, factor);
out:
  tsi_idle_recall();
  return tsi_answer(env, status);
}
