/* See branches.h. */
#include "runtime/solve/branches.h"

#include "codelets/columns.h"
#include "runtime/solve/device_choice.h"
#include "runtime/starpu/devices.h"

/* What the steps of a branch do with its data, one after the other. */
typedef enum branch_role { READ, FORWARD, DOWN, UP, BACKWARD, WRITE, ROLES } branch_role;

typedef struct replay_branch {
  tsi_device_data *x, *border, *workspace, *flags;
  tsi_task_data role[ROLES];
} replay_branch;

struct tsi_replay_branches {
  tsi_execution_devices devices;
  const tsi_plan_branches *of;
  const void *workspace; /* of the execution, and its stride, when the data was made */
  tsi_index stride;
  replay_branch *branch;
};

/* ---- Of a plan, or of a process ------------------------------------------------------------------------ */

tristar_status tsi_branches_allocate(tsi_env *env, tsi_index chunks, tsi_plan_branches **out) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->env = env;
  TSI_TRY(TSI_ALLOC(env, (*out)->of_chunk, chunks));
  TSI_TRY(TSI_ALLOC(env, (*out)->on_device, chunks));
  TSI_TRY(TSI_ALLOC_ZERO(env, (*out)->branch, chunks));
out:
  return status;
}

void tsi_branches_release(tsi_env *env, tsi_plan_branches **branches) {
  if (*branches == NULL) return;
  TSI_FREE(env, (*branches)->branch);
  TSI_FREE(env, (*branches)->of_chunk);
  TSI_FREE(env, (*branches)->on_device);
  TSI_FREE(env, *branches);
}

void tsi_branches_note(tsi_plan_branches *all, tsi_index chunk, tsi_index device) {
  all->of_chunk[chunk] = device == TSI_NONE ? TSI_NONE : all->count;
  all->on_device[chunk] = device != TSI_NONE;
  if (device != TSI_NONE)
    all->branch[all->count++] = (tsi_plan_branch){.chunk = chunk, .device = (int)device};
}

static tristar_status create_branches(tristar_plan_t *plan, const tsi_places *places,
                                      tsi_plan_branches *all) {
  tristar_status status = TRISTAR_OK;
  const tsi_panels *panels = plan->factor->analysis->panels;
  const tsi_chunks *chunks = plan->side[0].chunks;
  all->scalar = plan->factor->analysis->factor_scalar;
  all->scalar_bytes = plan->factor->scalar_bytes;
  all->stream[0] = plan->factor->lower;
  all->stream[1] = plan->factor->upper;
  all->chunk = plan->side[0].tables.chunk;
  for (tsi_index c = 0; c < chunks->count; c++) {
    tsi_branches_note(all, c, places->device[panels->supernode[chunks->panel[c]]]);
    if (all->on_device[c])
      TSI_TRY(
          tsi_resident_take(plan->factor, chunks, c, &places->cut, &all->branch[all->count - 1].resident));
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

tristar_status tsi_branches_create(tristar_plan_t *plan, const tsi_places *places) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  TSI_TRY(check_plan(plan));
  TSI_TRY(tsi_branches_allocate(env, plan->side[0].chunks->count, &plan->branches));
  TSI_TRY(create_branches(plan, places, plan->branches));
out:
  if (status != TRISTAR_OK) tsi_branches_destroy(plan);
  return status;
}

void tsi_branches_destroy(tristar_plan_t *plan) {
  tsi_env *env = &plan->ts->env;
  tsi_plan_branches *all = plan->branches;
  if (all == NULL) return;
  for (tsi_index k = 0; k < all->count; k++) tsi_resident_give_back(plan->factor, &all->branch[k].resident);
  tsi_branches_release(env, &plan->branches);
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

/* Of a sweep on its device, for one right-hand side. */
static double sweep_seconds(const tsi_resident *r, bool backward) {
  return TSI_DEVICE_TASK_SECONDS + r->seconds[backward];
}

/* What crosses the bus in a solve: forward x up, the border down; backward the border up, at the end x down.
 * row: bytes. */
static tristar_subtree_stats figures_of(const tsi_plan_branch *b, double row, tsi_sweeps sweeps) {
  const tsi_resident *r = b->resident;
  const tsi_branch *branch = r->cut->branch;
  const bool forward = sweeps != TSI_BACKWARD, backward = sweeps != TSI_FORWARD;
  tristar_subtree_stats s = {.device = b->device,
                             .chunk = b->chunk,
                             .columns = branch->columns,
                             .border = branch->border,
                             .table_bytes = bytes_of(r->tables),
                             .transfers = 2 + (branch->border > 0 ? forward + backward : 0)};
  s.factor_bytes = bytes_of(r->values[0]) + bytes_of(r->values[1]) + bytes_of(r->from) + bytes_of(r->inverse);
  s.up_bytes = row * (branch->columns + (backward ? branch->border : 0));
  s.down_bytes = row * (branch->columns + (forward ? branch->border : 0));
  return s;
}

tristar_subtree_stats tsi_branch_describe(const tristar_plan_t *plan, tsi_index k) {
  const tsi_plan_branch *b = &plan->branches->branch[k];
  const tsi_branch *branch = b->resident->cut->branch;
  const tsi_index *supernode = plan->factor->analysis->panels->supernode;
  const tsi_index columns = tsi_plan_columns(&plan->options);
  const tsi_sweeps sweeps = tsi_plan_sweeps(plan);
  tristar_subtree_stats s =
      figures_of(b, (double)tsi_workspace_stride(columns) * (double)plan->factor->scalar_bytes, sweeps);
  s.first_supernode = supernode[branch->panel];
  s.supernodes = supernode[branch->panel + branch->panels->count - 1] - s.first_supernode + 1;
  s.predicted_seconds =
      tsi_time_of_columns((int)columns) * ((sweeps != TSI_BACKWARD ? sweep_seconds(b->resident, false) : 0) +
                                           (sweeps != TSI_FORWARD ? sweep_seconds(b->resident, true) : 0));
  return s;
}

static void add_branch(const tsi_plan_branch *b, double row, tsi_sweeps sweeps, tristar_device_stats *stats) {
  const tristar_subtree_stats s = figures_of(b, row, sweeps);
  stats->chunks++;
  stats->factor_bytes += s.factor_bytes;
  stats->table_bytes += s.table_bytes;
  stats->up_bytes += s.up_bytes;
  stats->down_bytes += s.down_bytes;
  stats->transfers += s.transfers;
}

bool tsi_branches_describe_device(const tsi_plan_branches *all, int i, tsi_index stride, tsi_sweeps sweeps,
                                  tristar_device_stats *stats) {
  const int device = all && i >= 0 ? find_device(all, i) : -1;
  if (device < 0) return false;
  const tsi_device_facts facts = tsi_device_describe(device);
  *stats = (tristar_device_stats){.worker = facts.worker, .device = device};
  memcpy(stats->name, facts.name, sizeof stats->name);
  for (tsi_index k = 0; k < all->count; k++)
    if (all->branch[k].device == device)
      add_branch(&all->branch[k], (double)stride * (double)all->scalar_bytes, sweeps, stats);
  return true;
}

bool tsi_branches_describe(const tristar_plan_t *plan, int i, tristar_device_stats *stats) {
  return tsi_branches_describe_device(plan->branches, i,
                                      tsi_workspace_stride(tsi_plan_columns(&plan->options)),
                                      tsi_plan_sweeps(plan), stats);
}

/* ---- Of a replay --------------------------------------------------------------------------------------- */

static void add(tsi_task_data *to, tsi_device_data *data, tsi_use_mode mode) {
  if (data) to->use[to->count++] = (tsi_task_use){data, mode};
}

/* In the order in which start_sweep takes the memory. */
static void describe_sweep(const tsi_plan_branch *b, const replay_branch *r, bool backward,
                           tsi_task_data *role) {
  const tsi_resident *resident = b->resident;
  role->device = b->device;
  role->microseconds = 1e6 * sweep_seconds(resident, backward);
  role->x_bytes = bytes_of(r->x);
  role->border_bytes = bytes_of(r->border);
  for (int v = 0; v < 2; v++) add(role, resident->values[v], TSI_USE_R);
  add(role, resident->from, TSI_USE_R);
  add(role, resident->inverse, TSI_USE_R);
  add(role, resident->tables, TSI_USE_R);
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

static tristar_status create_replay_branch(const tsi_plan_branches *all, const tsi_plan_branch *b,
                                           const tsi_solve_call *call, replay_branch *r) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = all->env;
  const tsi_device_branch *cut = b->resident->cut;
  const tsi_solve_chunk *chunk = &all->chunk[b->chunk];
  const size_t row = (size_t)call->stride * all->scalar_bytes;
  char *x = (char *)call->workspace + (size_t)chunk->workspace * row;
  TSI_TRY(tsi_device_data_create(env, x, (size_t)chunk->columns * row, &r->x));
  if (chunk->off_rows > 0)
    TSI_TRY(tsi_device_data_create(env, x + (size_t)chunk->update * row, (size_t)chunk->off_rows * row,
                                   &r->border));
  TSI_TRY(tsi_device_data_create(env, NULL, (size_t)cut->tables.workspace_rows * row, &r->workspace));
  TSI_TRY(tsi_device_data_create(env, NULL, flag_bytes(cut), &r->flags));
  describe_roles(b, r);
out:
  return status;
}

static const tsi_task_data *data_of(void *context, const tsi_step *step) {
  const tsi_replay_branches *all = context;
  static const branch_role role[TSI_STEP_KINDS] = {
      [TSI_STEP_READ] = READ,          [TSI_STEP_FORWARD_CHUNK] = FORWARD,   [TSI_STEP_FORWARD_BORDER] = DOWN,
      [TSI_STEP_BACKWARD_BORDER] = UP, [TSI_STEP_BACKWARD_CHUNK] = BACKWARD, [TSI_STEP_WRITE] = WRITE};
  return &all->branch[all->of->of_chunk[step->argument]].role[role[step->kind]];
}

/* What a device has of a branch while it works on it. */
typedef struct placed {
  tsi_branch_memory memory;
  void *tables, *border;
  int32_t *flags;
} placed;

static placed place(const tsi_resident *b, const void *const stream[2], const void *wanted,
                    void *const memory[]) {
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
  const tsi_plan_branches *of = all->of;
  const tsi_resident *b = of->branch[of->of_chunk[step->argument]].resident;
  const bool backward = step->kind == TSI_STEP_BACKWARD_CHUNK;
  const size_t row = (size_t)e->call.stride * of->scalar_bytes,
               border_bytes = (size_t)b->cut->branch->border * row;
  const int type = (int)(strchr("sdcz", of->scalar) - "sdcz");
  const placed p = place(b, of->stream, backward ? e->call.backward_values : e->call.forward_values, memory);
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

tristar_status tsi_branch_data_create(const tsi_plan_branches *branches, tsi_execution *e,
                                      tsi_replay_branches **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = branches->env;
  tsi_replay_branches *all;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  all = *out;
  all->of = branches;
  all->workspace = e->call.workspace;
  all->stride = e->call.stride;
  all->devices = (tsi_execution_devices){all, data_of, start_sweep};
  TSI_TRY(TSI_ALLOC_ZERO(env, all->branch, branches->count));
  for (tsi_index k = 0; k < branches->count; k++)
    TSI_TRY(create_replay_branch(branches, &branches->branch[k], &e->call, &all->branch[k]));
  e->devices = &all->devices;
out:
  if (status != TRISTAR_OK) tsi_branch_data_destroy(e, out);
  return status;
}

void tsi_branch_data_destroy(tsi_execution *e, tsi_replay_branches **data) {
  tsi_replay_branches *all = *data;
  if (all == NULL) return;
  tsi_env *env = all->of->env;
  for (tsi_index k = 0; k < all->of->count && all->branch; k++) {
    replay_branch *r = &all->branch[k];
    tsi_device_data_destroy(env, &r->x);
    tsi_device_data_destroy(env, &r->border);
    tsi_device_data_destroy(env, &r->workspace);
    tsi_device_data_destroy(env, &r->flags);
  }
  TSI_FREE(env, all->branch);
  TSI_FREE(env, *data);
  e->devices = NULL;
}

tristar_status tsi_branches_prepare(tsi_replay *replay, bool *anew) {
  tristar_status status = TRISTAR_OK;
  const tsi_replay_branches *all = replay->branches;
  TSI_TRY(tsi_residents_follow(replay->plan->factor));
  *anew = all == NULL || all->workspace != replay->execution.call.workspace ||
          all->stride != replay->execution.call.stride;
  if (*anew && all) TSI_TRY(tsi_tasks_check_waiting(&replay->plan->ts->env));
out:
  return status;
}

tristar_status tsi_branches_renew(tsi_replay *replay) {
  tsi_branches_forget(replay);
  return tsi_branch_data_create(replay->plan->branches, &replay->execution, &replay->branches);
}

void tsi_branches_forget(tsi_replay *replay) {
  tsi_branch_data_destroy(&replay->execution, &replay->branches);
}
