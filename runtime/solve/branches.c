/* See branches.h. */
#include "runtime/solve/branches.h"

#include "codelets/cpu/kernels.h"
#include "runtime/starpu/devices.h"

/* What the steps of a branch do with its data, one after the other. */
typedef enum branch_role { READ, FORWARD, DOWN, UP, BACKWARD, WRITE, ROLES } branch_role;

typedef struct replay_branch {
  tsi_device_data *x, *border, *workspace, *flags;
  tsi_task_data role[ROLES];
} replay_branch;

struct tsi_replay_branches {
  tsi_execution_devices devices;
  const tristar_plan_t *plan;
  const void *workspace; /* of the replay, and its stride, when the data was made */
  tsi_index stride;
  replay_branch *branch;
};

/* ---- Of a plan ----------------------------------------------------------------------------------------- */

static tristar_status create_data(tristar_plan_t *plan, tsi_plan_branches *all, tsi_plan_branch *b) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tristar_factor_t *factor = plan->factor;
  const size_t scalar = factor->scalar_bytes;
  const tsi_device_branch *cut = b->cut;
  const tsi_index column = plan->side[0].chunks->column[cut->branch->chunk], columns = cut->branch->columns;
  void *const stream[2] = {factor->lower, factor->upper};
  for (int k = 0; k < 2; k++)
    if (stream[k])
      TSI_TRY(tsi_device_data_create(env, (char *)stream[k] + (size_t)cut->first_value * scalar,
                                     (size_t)(cut->end_value - cut->first_value + TSI_STREAM_PAD) * scalar,
                                     &b->values[k]));
  if (all->from)
    TSI_TRY(tsi_device_data_create(env, all->from + column, (size_t)columns * sizeof *all->from, &b->from));
  if (factor->inverse)
    TSI_TRY(tsi_device_data_create(env, (char *)factor->inverse + 2 * (size_t)column * scalar,
                                   2 * (size_t)columns * scalar, &b->inverse));
  TSI_TRY(tsi_device_data_create(env, cut->tables.block, cut->tables.bytes, &b->tables));
out:
  return status;
}

static tristar_status create_branches(tristar_plan_t *plan, const tsi_places *places,
                                      tsi_plan_branches *all) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tristar_analysis_t *an = plan->factor->analysis;
  const tsi_chunks *chunks = plan->side[0].chunks;
  const tsi_branch_source source = {chunks, an->symbolic, an->panels, an->panel_values,
                                    tsi_analysis_inverse(an)};
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index d = places->device[an->panels->supernode[chunks->panel[c]]];
    all->of_chunk[c] = d == TSI_NONE ? TSI_NONE : all->count;
    all->on_device[c] = d != TSI_NONE;
    if (d == TSI_NONE) continue;
    tsi_plan_branch *b = &all->branch[all->count++];
    b->device = d;
    TSI_TRY(tsi_device_branch_create(env, &source, c, &places->cut, &b->cut));
    TSI_TRY(create_data(plan, all, b));
  }
out:
  return status;
}

static tristar_status check_plan(const tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const char *obstacle = tsi_places_obstacle(plan->factor, &plan->options);
  if (obstacle) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "subtrees on devices: %s", obstacle);
out:
  return status;
}

/* What factorizations change beside the values. */
static void list_interchanges(const tristar_plan_t *plan, tsi_plan_branches *all) {
  if (all->from) tsi_device_interchanges(plan->factor->analysis->panels, plan->factor->pivots, all->from);
  all->generation = plan->factor->generation;
}

tristar_status tsi_branches_create(tristar_plan_t *plan, const tsi_places *places, tsi_plan_branches **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  const tsi_chunks *chunks = plan->side[0].chunks;
  tsi_plan_branches *all = NULL;
  *out = NULL;
  TSI_TRY(check_plan(plan));
  TSI_TRY(TSI_ALLOC_ZERO(env, all, 1));
  TSI_TRY(TSI_ALLOC(env, all->of_chunk, chunks->count));
  TSI_TRY(TSI_ALLOC(env, all->on_device, chunks->count));
  TSI_TRY(TSI_ALLOC_ZERO(env, all->branch, chunks->count));
  if (plan->factor->pivots) TSI_TRY(TSI_ALLOC(env, all->from, plan->factor->analysis->symbolic->n));
  list_interchanges(plan, all);
  TSI_TRY(create_branches(plan, places, all));
out:
  if (status != TRISTAR_OK) tsi_branches_destroy(env, &all);
  *out = all;
  return status;
}

void tsi_branches_destroy(tsi_env *env, tsi_plan_branches **branches) {
  tsi_plan_branches *all = *branches;
  if (all == NULL) return;
  for (tsi_index k = 0; k < all->count; k++) {
    tsi_plan_branch *b = &all->branch[k];
    for (int v = 0; v < 2; v++) tsi_device_data_destroy(env, &b->values[v]);
    tsi_device_data_destroy(env, &b->from);
    tsi_device_data_destroy(env, &b->inverse);
    tsi_device_data_destroy(env, &b->tables);
    tsi_device_branch_destroy(env, &b->cut);
  }
  TSI_FREE(env, all->branch);
  TSI_FREE(env, all->of_chunk);
  TSI_FREE(env, all->on_device);
  TSI_FREE(env, all->from);
  TSI_FREE(env, *branches);
}

/* ---- Figures ------------------------------------------------------------------------------------------- */

int tsi_branches_devices(const tsi_plan_branches *all) {
  bool seen[TSI_DEVICES_MOST] = {false};
  int count = 0;
  for (tsi_index k = 0; k < all->count; k++) {
    count += !seen[all->branch[k].device];
    seen[all->branch[k].device] = true;
  }
  return count;
}

/* The number of the i-th device that has branches; -1: there is none. */
static int find_device(const tsi_plan_branches *all, int i) {
  bool seen[TSI_DEVICES_MOST] = {false};
  for (tsi_index k = 0; k < all->count; k++) seen[all->branch[k].device] = true;
  for (int d = 0; d < TSI_DEVICES_MOST; d++)
    if (seen[d] && i-- == 0) return d;
  return -1;
}

static double bytes_of(const tsi_device_data *data) {
  return data ? (double)tsi_device_data_bytes(data) : 0;
}

/* What crosses the bus in a solve: forward x up, the border down; backward the border up, at the end x down.
 */
static void add_branch(const tristar_plan_t *plan, const tsi_plan_branch *b, tristar_device_stats *stats) {
  const tsi_sweeps sweeps = tsi_plan_sweeps(plan);
  const int64_t nrhs = tsi_count_min(tsi_count_max(plan->options.nrhs, 1), TSI_NRHS_BLOCK);
  const double row = (double)tsi_workspace_stride((tsi_index)nrhs) * (double)plan->factor->scalar_bytes;
  const tsi_branch *branch = b->cut->branch;
  stats->chunks++;
  stats->factor_bytes +=
      bytes_of(b->values[0]) + bytes_of(b->values[1]) + bytes_of(b->from) + bytes_of(b->inverse);
  stats->table_bytes += bytes_of(b->tables);
  stats->up_bytes += row * (branch->columns + (sweeps == TSI_FORWARD ? 0 : branch->border));
  stats->down_bytes += row * (branch->columns + (sweeps == TSI_BACKWARD ? 0 : branch->border));
}

bool tsi_branches_describe(const tristar_plan_t *plan, int i, tristar_device_stats *stats) {
  const tsi_plan_branches *all = plan->branches;
  const int device = all && i >= 0 ? find_device(all, i) : -1;
  if (device < 0) return false;
  const tsi_device_facts facts = tsi_device_describe(device);
  *stats = (tristar_device_stats){.worker = facts.worker};
  memcpy(stats->name, facts.name, sizeof stats->name);
  for (tsi_index k = 0; k < all->count; k++)
    if (all->branch[k].device == device) add_branch(plan, &all->branch[k], stats);
  return true;
}

/* ---- New values ---------------------------------------------------------------------------------------- */

static tristar_status renew(tsi_env *env, const tsi_plan_branch *b) {
  tristar_status status = TRISTAR_OK;
  tsi_device_data *const data[] = {b->values[0], b->values[1], b->from, b->inverse};
  for (size_t k = 0; k < sizeof data / sizeof *data; k++)
    if (data[k]) TSI_TRY(tsi_device_data_renew(env, data[k]));
out:
  return status;
}

/* Before waiting for StarPU's transfers. */
static tristar_status check_waiting(const tsi_env *env) {
  tristar_status status = TRISTAR_OK;
  if (!tsi_tasks_may_wait())
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED,
             "a StarPU task cannot wait for devices: the first solve after a factorization, or with more "
             "right-hand sides, by a plan with subtrees on devices is to be started outside of tasks");
out:
  return status;
}

/* Devices forget the values of an older factorization. */
static tristar_status follow_factor(tristar_plan_t *plan) {
  tristar_status status = TRISTAR_OK;
  tsi_plan_branches *all = plan->branches;
  pthread_mutex_lock(&plan->lock);
  if (all->generation == plan->factor->generation) goto out;
  TSI_TRY(check_waiting(&plan->ts->env));
  for (tsi_index k = 0; k < all->count; k++) TSI_TRY(renew(&plan->ts->env, &all->branch[k]));
  list_interchanges(plan, all);
out:
  pthread_mutex_unlock(&plan->lock);
  return status;
}

/* ---- Of a replay --------------------------------------------------------------------------------------- */

static void add(tsi_task_data *to, tsi_device_data *data, tsi_use_mode mode) {
  if (data) to->use[to->count++] = (tsi_task_use){data, mode};
}

/* In the order in which start_sweep takes the memory. */
static void describe_sweep(const tsi_plan_branch *b, const replay_branch *r, bool backward,
                           tsi_task_data *role) {
  role->device = b->device;
  for (int v = 0; v < 2; v++) add(role, b->values[v], TSI_USE_R);
  add(role, b->from, TSI_USE_R);
  add(role, b->inverse, TSI_USE_R);
  add(role, b->tables, TSI_USE_R);
  add(role, r->x, TSI_USE_RW);
  add(role, r->border, backward ? TSI_USE_R : TSI_USE_W);
  add(role, r->workspace, TSI_USE_SCRATCH);
  add(role, r->flags, TSI_USE_SCRATCH);
}

static void describe_roles(const tsi_plan_branch *b, replay_branch *r) {
  for (int k = 0; k < ROLES; k++) r->role[k] = (tsi_task_data){.device = -1};
  describe_sweep(b, r, false, &r->role[FORWARD]);
  describe_sweep(b, r, true, &r->role[BACKWARD]);
  add(&r->role[READ], r->x, TSI_USE_W);
  add(&r->role[DOWN], r->border, TSI_USE_R);
  add(&r->role[UP], r->border, TSI_USE_W);
  add(&r->role[WRITE], r->x, TSI_USE_R);
}

/* The counter of tickets, then flags. */
static size_t flag_bytes(const tsi_device_branch *cut) {
  return (1 + (size_t)tsi_index_max(cut->tables.forward.tickets, cut->tables.backward.tickets)) *
         sizeof(int32_t);
}

static tristar_status create_replay_branch(const tsi_replay *replay, const tsi_plan_branch *b,
                                           replay_branch *r) {
  tristar_status status = TRISTAR_OK;
  const tristar_plan_t *plan = replay->plan;
  tsi_env *env = &plan->ts->env;
  const tsi_solve_chunk *chunk = &plan->side[0].tables.chunk[b->cut->branch->chunk];
  const size_t row = (size_t)replay->execution.call.stride * plan->factor->scalar_bytes;
  char *x = (char *)replay->execution.call.workspace + (size_t)chunk->workspace * row;
  TSI_TRY(tsi_device_data_create(env, x, (size_t)chunk->columns * row, &r->x));
  if (chunk->off_rows > 0)
    TSI_TRY(tsi_device_data_create(env, x + (size_t)chunk->update * row, (size_t)chunk->off_rows * row,
                                   &r->border));
  TSI_TRY(tsi_device_data_create(env, NULL, (size_t)b->cut->tables.workspace_rows * row, &r->workspace));
  TSI_TRY(tsi_device_data_create(env, NULL, flag_bytes(b->cut), &r->flags));
  describe_roles(b, r);
out:
  return status;
}

static const tsi_task_data *data_of(void *context, const tsi_step *step) {
  const tsi_replay_branches *all = context;
  static const branch_role role[TSI_STEP_KINDS] = {
      [TSI_STEP_READ] = READ,          [TSI_STEP_FORWARD_CHUNK] = FORWARD,   [TSI_STEP_FORWARD_BORDER] = DOWN,
      [TSI_STEP_BACKWARD_BORDER] = UP, [TSI_STEP_BACKWARD_CHUNK] = BACKWARD, [TSI_STEP_WRITE] = WRITE};
  return &all->branch[all->plan->branches->of_chunk[step->argument]].role[role[step->kind]];
}

/* What a device has of a branch while it works on it. */
typedef struct placed {
  tsi_branch_memory memory;
  void *tables, *border;
  int32_t *flags;
} placed;

static placed place(const tsi_plan_branch *b, const tristar_factor_t *factor, const void *wanted,
                    void *const memory[]) {
  const void *const stream[2] = {factor->lower, factor->upper};
  placed p = {.border = NULL};
  int k = 0;
  for (int v = 0; v < 2; v++) {
    if (b->values[v] == NULL) continue;
    if (stream[v] == wanted) p.memory.values = memory[k];
    k++;
  }
  if (b->from) p.memory.from = memory[k++];
  if (b->inverse) p.memory.inverse = memory[k++];
  p.tables = memory[k++];
  p.memory.x = memory[k++];
  if (b->cut->branch->border > 0) p.border = memory[k++];
  p.memory.workspace = memory[k++];
  p.flags = memory[k];
  return p;
}

static int start_sweep(void *context, const tsi_execution *e, const tsi_step *step, void *const memory[]) {
  const tsi_replay_branches *all = context;
  const tristar_factor_t *factor = all->plan->factor;
  const tsi_plan_branch *b = &all->plan->branches->branch[all->plan->branches->of_chunk[step->argument]];
  const bool backward = step->kind == TSI_STEP_BACKWARD_CHUNK;
  const size_t row = (size_t)e->call.stride * factor->scalar_bytes,
               border_bytes = (size_t)b->cut->branch->border * row;
  const int type = (int)(strchr("sdcz", factor->analysis->factor_scalar) - "sdcz");
  const placed p = place(b, factor, backward ? e->call.backward_values : e->call.forward_values, memory);
  const tsi_gpu_sweep sweep = {.tables = tsi_device_tables_move(&b->cut->tables, p.tables),
                               .call = tsi_device_branch_call(&e->call, backward, &p.memory),
                               .backward = backward,
                               .ticket = p.flags,
                               .flag = p.flags + 1,
                               .epoch = 1};
  char *border = (char *)p.memory.workspace + (size_t)b->cut->border_row * row;
  void *stream = tsi_devices.stream();
  unsigned blocks = 0;
  if (!tsi_takes_part(&e->call, backward, step->argument)) return 0;
  int error = tsi_devices.clear(p.flags, flag_bytes(b->cut), stream);
  if (error == 0 && backward && border_bytes > 0)
    error = tsi_devices.copy(border, p.border, border_bytes, stream);
  if (error == 0) error = tsi_devices.blocks[type](&sweep, TSI_GPU_THREADS, &blocks);
  if (error == 0) error = tsi_devices.launch[type](&sweep, blocks, TSI_GPU_THREADS, stream);
  if (error == 0 && !backward && border_bytes > 0)
    error = tsi_devices.copy(p.border, border, border_bytes, stream);
  return error;
}

static tristar_status create_replay_branches(tsi_replay *replay) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &replay->plan->ts->env;
  const tsi_plan_branches *of_plan = replay->plan->branches;
  tsi_replay_branches *all;
  TSI_TRY(TSI_ALLOC_ZERO(env, replay->branches, 1));
  all = replay->branches;
  all->plan = replay->plan;
  all->workspace = replay->execution.call.workspace;
  all->stride = replay->execution.call.stride;
  all->devices = (tsi_execution_devices){all, data_of, start_sweep};
  TSI_TRY(TSI_ALLOC_ZERO(env, all->branch, of_plan->count));
  for (tsi_index k = 0; k < of_plan->count; k++)
    TSI_TRY(create_replay_branch(replay, &of_plan->branch[k], &all->branch[k]));
  replay->execution.devices = &all->devices;
out:
  if (status != TRISTAR_OK) tsi_branches_forget(replay);
  return status;
}

tristar_status tsi_branches_prepare(tsi_replay *replay, bool *anew) {
  tristar_status status = TRISTAR_OK;
  const tsi_replay_branches *all = replay->branches;
  TSI_TRY(follow_factor(replay->plan));
  *anew = all == NULL || all->workspace != replay->execution.call.workspace ||
          all->stride != replay->execution.call.stride;
  if (*anew && all) TSI_TRY(check_waiting(&replay->plan->ts->env));
out:
  return status;
}

tristar_status tsi_branches_renew(tsi_replay *replay) {
  tsi_branches_forget(replay);
  return create_replay_branches(replay);
}

void tsi_branches_forget(tsi_replay *replay) {
  tsi_replay_branches *all = replay->branches;
  if (all == NULL) return;
  tsi_env *env = &all->plan->ts->env;
  for (tsi_index k = 0; k < all->plan->branches->count && all->branch; k++) {
    replay_branch *r = &all->branch[k];
    tsi_device_data_destroy(env, &r->x);
    tsi_device_data_destroy(env, &r->border);
    tsi_device_data_destroy(env, &r->workspace);
    tsi_device_data_destroy(env, &r->flags);
  }
  TSI_FREE(env, all->branch);
  TSI_FREE(env, replay->branches);
  replay->execution.devices = NULL;
}
