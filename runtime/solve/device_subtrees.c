/* See device_subtrees.h. */
#include "runtime/solve/device_subtrees.h"

#include "runtime/solve/device_memory.h"
#include "runtime/exec/starpu/devices.h"

/* The steps of a subtree, in their order. */
typedef enum subtree_role { READ, FORWARD, DOWN, UP, BACKWARD, WRITE, ROLES } subtree_role;

typedef struct replay_subtree {
  tsi_device_data *x, *border[2]; /* border: by side; NULL: none */
  tsi_task_data role[2][ROLES];   /* by side: the side of the triangle that the sweep uses */
} replay_subtree;

struct tsi_replay_subtrees {
  tsi_execution_devices devices;
  const tsi_plan_subtrees *of;
  const void *workspace; /* workspace of the execution, and its stride, when the data was made */
  tsi_index stride;
  replay_subtree *subtree;
  tsi_device_data *scratch[TSI_DEVICES_MOST]; /* by device with subtrees: scratch for one subtree at a time */
};

/* ---- Of a plan, or of a process ------------------------------------------------------------------------ */

tristar_status tsi_device_subtrees_allocate(tsi_env *env, tsi_index chunks, tsi_plan_subtrees **out) {
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  (*out)->env = env;
  TSI_TRY(TSI_ALLOC_IN(*out, (*out)->of_chunk, chunks));
  TSI_TRY(TSI_ALLOC_IN(*out, (*out)->on_device, chunks));
  return TSI_ALLOC_ZERO_IN(*out, (*out)->subtree, chunks);
}

void tsi_device_subtrees_note(tsi_plan_subtrees *all, tsi_index chunk, tsi_index device) {
  all->of_chunk[chunk] = device == TSI_NONE ? TSI_NONE : all->count;
  all->on_device[chunk] = device != TSI_NONE;
  if (device != TSI_NONE)
    all->subtree[all->count++] = (tsi_plan_subtree){.chunk = chunk, .device = (int)device};
}

static tristar_status create_subtrees(tristar_plan_t *plan, const tsi_device_split_options *places,
                                      tsi_plan_subtrees *all) {
  const tsi_panels *panels = plan->factor->analysis->panels;
  const tsi_chunks *const chunks[2] = {plan->side[0].chunks, plan->side[1].chunks};
  all->scalar = plan->factor->analysis->factor_scalar;
  all->scalar_bytes = plan->factor->scalar_bytes;
  all->stream[0] = plan->factor->lower;
  all->stream[1] = plan->factor->upper;
  all->sides = plan->sides;
  for (int i = 0; i < all->sides; i++) all->chunk[i] = plan->side[i].tables.chunk;
  for (tsi_index c = 0; c < chunks[0]->count; c++) {
    tsi_device_subtrees_note(all, c, places->device[panels->supernode[chunks[0]->panel[c]]]);
    if (all->on_device[c])
      TSI_TRY(
          tsi_resident_take(plan->factor, chunks, c, &places->cut, &all->subtree[all->count - 1].resident));
  }
  return TRISTAR_OK;
}

static tristar_status check_plan(const tristar_plan_t *plan) {
  tsi_env *env = &plan->ts->env;
  const char *obstacle = tsi_device_split_options_obstacle(plan->factor, &plan->options);
  if (obstacle) TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "subtrees on devices: %s", obstacle);
  return TRISTAR_OK;
}

tristar_status tsi_device_subtrees_create(tristar_plan_t *plan, const tsi_device_split_options *places) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &plan->ts->env;
  TSI_TRY_OUT(check_plan(plan));
  TSI_TRY_OUT(tsi_device_subtrees_allocate(env, plan->side[0].chunks->count, &plan->subtrees));
  TSI_TRY_OUT(create_subtrees(plan, places, plan->subtrees));
out:
  if (status != TRISTAR_OK) tsi_device_subtrees_destroy(plan);
  return status;
}

void tsi_device_subtrees_destroy(tristar_plan_t *plan) {
  tsi_env *env = &plan->ts->env;
  tsi_plan_subtrees *all = plan->subtrees;
  if (all == NULL) return;
  for (tsi_index k = 0; k < all->count; k++) tsi_resident_give_back(plan->factor, &all->subtree[k].resident);
  TSI_FREE(env, plan->subtrees);
}

/* ---- Of a replay --------------------------------------------------------------------------------------- */

static void add(tsi_task_data *to, tsi_device_data *data, tsi_use_mode mode) {
  if (data) to->use[to->count++] = (tsi_task_use){data, mode};
}

/* Does a sweep with the triangle of a side read values v? If both triangles have the same tables, one
 * recording serves both, so its tasks have the values of both. */
static bool reads_values(const tsi_resident *resident, int v, int side) {
  return resident->values[v] != NULL && (resident->sides == 1 || v == side);
}

static double bytes_of(const tsi_device_data *data) {
  return data ? (double)tsi_device_data_bytes(data) : 0;
}

/* Lists the data of the role in the order that start_sweep expects. */
static void describe_sweep(const tsi_plan_subtree *b, const replay_subtree *r, tsi_device_data *scratch,
                           int side, bool backward, tsi_task_data *role) {
  const tsi_resident *resident = b->resident;
  role->device = b->device;
  role->microseconds = 1e6 * tsi_device_subtree_sweep_seconds(b, backward);
  role->x_bytes = bytes_of(r->x);
  role->border_bytes = bytes_of(r->border[side]);
  for (int v = 0; v < 2; v++)
    if (reads_values(resident, v, side)) add(role, resident->values[v], TSI_USE_R);
  add(role, resident->from, TSI_USE_R);
  add(role, resident->inverse, TSI_USE_R);
  add(role, resident->tables[side], TSI_USE_R);
  add(role, r->x, TSI_USE_RW);
  add(role, r->border[side], backward ? TSI_USE_R : TSI_USE_W);
  add(role, scratch, TSI_USE_SCRATCH);
}

static void describe_roles(const tsi_plan_subtree *b, tsi_device_data *scratch, int side, replay_subtree *r) {
  tsi_task_data *role = r->role[side];
  for (int k = 0; k < ROLES; k++) role[k] = (tsi_task_data){.device = -1};
  describe_sweep(b, r, scratch, side, false, &role[FORWARD]);
  describe_sweep(b, r, scratch, side, true, &role[BACKWARD]);
  add(&role[READ], r->x, TSI_USE_W);
  add(&role[DOWN], r->border[side], TSI_USE_R);
  add(&role[UP], r->border[side], TSI_USE_W);
  add(&role[WRITE], r->x, TSI_USE_R);
}

/* Makes the scratch of each device. */
static tristar_status create_scratch(tsi_replay_subtrees *all) {
  const tsi_plan_subtrees *of = all->of;
  size_t bytes[TSI_DEVICES_MOST] = {0};
  for (tsi_index k = 0; k < of->count; k++) {
    const size_t needs = tsi_device_subtree_scratch(&of->subtree[k], (size_t)all->stride * of->scalar_bytes);
    if (bytes[of->subtree[k].device] < needs) bytes[of->subtree[k].device] = needs;
  }
  for (int d = 0; d < TSI_DEVICES_MOST; d++)
    if (bytes[d] > 0) TSI_TRY(tsi_device_data_create(of->env, NULL, bytes[d], &all->scratch[d]));
  return TRISTAR_OK;
}

static tristar_status create_replay_subtree(tsi_replay_subtrees *all, tsi_index k) {
  const tsi_plan_subtrees *of = all->of;
  const tsi_plan_subtree *b = &of->subtree[k];
  replay_subtree *r = &all->subtree[k];
  const size_t row = (size_t)all->stride * of->scalar_bytes;
  char *x = (char *)all->workspace + (size_t)of->chunk[0][b->chunk].workspace * row;
  TSI_TRY(tsi_device_data_create(of->env, x, (size_t)of->chunk[0][b->chunk].columns * row, &r->x));
  for (int i = 0; i < of->sides; i++) {
    const tsi_solve_chunk *chunk = &of->chunk[i][b->chunk];
    if (chunk->off_rows > 0)
      TSI_TRY(tsi_device_data_create(of->env, x + (size_t)chunk->update * row, (size_t)chunk->off_rows * row,
                                     &r->border[i]));
    describe_roles(b, all->scratch[b->device], i, r);
  }
  return TRISTAR_OK;
}

/* Returns the side whose triangle a sweep of an execution uses. The first recording of a plan has no data
 * yet: it is for L forward, and for U backward, if U has its own side. */
static int side_of(const tsi_plan_subtrees *of, const tsi_execution *e, bool backward) {
  const tsi_solve_data *data = backward ? e->backward : e->forward;
  if (of->sides == 1) return 0;
  return data ? data->chunk == of->chunk[1] : backward;
}

static const tsi_task_data *data_of(void *context, const tsi_execution *e, const tsi_step *step) {
  const tsi_replay_subtrees *all = context;
  static const subtree_role role[TSI_STEP_KINDS] = {
      [TSI_STEP_READ] = READ,          [TSI_STEP_FORWARD_CHUNK] = FORWARD,   [TSI_STEP_FORWARD_BORDER] = DOWN,
      [TSI_STEP_BACKWARD_BORDER] = UP, [TSI_STEP_BACKWARD_CHUNK] = BACKWARD, [TSI_STEP_WRITE] = WRITE};
  const bool backward = role[step->kind] >= UP;
  return &all->subtree[all->of->of_chunk[step->argument]]
              .role[side_of(all->of, e, backward)][role[step->kind]];
}

/* The memory of a subtree on a device during a sweep. */
typedef struct placed {
  tsi_subtree_memory memory;
  void *tables, *border;
  int32_t *flags;
} placed;

static placed place(const tsi_resident *b, int side, const void *const stream[2], const void *requested,
                    size_t row, void *const memory[]) {
  placed p = {.border = NULL};
  int k = 0;
  for (int v = 0; v < 2; v++) {
    if (!reads_values(b, v, side)) continue;
    if (stream[v] == requested) p.memory.values = memory[k];
    k++;
  }
  if (b->from) p.memory.from = memory[k++];
  if (b->inverse) p.memory.inverse = memory[k++];
  p.tables = memory[k++];
  p.memory.x = memory[k++];
  if (b->cut[side]->subtree->border > 0) p.border = memory[k++];
  p.memory.workspace = memory[k];
  p.flags = (int32_t *)((char *)memory[k] + tsi_device_scratch_flags(&b->cut[side]->tables, row));
  return p;
}

static int start_sweep(void *context, const tsi_execution *e, const tsi_step *step, void *const memory[]) {
  const tsi_replay_subtrees *all = context;
  const tsi_plan_subtrees *of = all->of;
  const tsi_resident *b = of->subtree[of->of_chunk[step->argument]].resident;
  const bool backward = step->kind == TSI_STEP_BACKWARD_CHUNK;
  const void *requested = backward ? e->call.backward_values : e->call.forward_values;
  const int side = tsi_resident_side(b, requested == of->stream[1]);
  const tsi_subtree_tables *cut = b->cut[side];
  const size_t row = (size_t)e->call.stride * of->scalar_bytes,
               border_bytes = (size_t)cut->subtree->border * row,
               flag_bytes =
                   tsi_device_scratch_bytes(&cut->tables, row) - tsi_device_scratch_flags(&cut->tables, row);
  const int type = (int)(strchr("sdcz", of->scalar) - "sdcz");
  const placed p = place(b, side, of->stream, requested, row, memory);
  const tsi_gpu_sweep sweep = {.tables = tsi_device_tables_move(&cut->tables, p.tables),
                               .call = tsi_subtree_tables_call(&e->call, backward, &p.memory),
                               .backward = backward,
                               .ticket = p.flags,
                               .flag = p.flags + 1,
                               .epoch = 1};
  char *border = (char *)p.memory.workspace + (size_t)cut->border_row * row;
  void *stream = tsi_devices.stream();
  unsigned blocks = 0;
  if (!tsi_takes_part(&e->call, backward, step->argument)) return 0;
  int error = tsi_devices.clear(p.flags, flag_bytes, stream);
  if (error == 0 && backward && border_bytes > 0)
    error = tsi_devices.copy(border, p.border, border_bytes, stream);
  if (error == 0) error = tsi_devices.blocks[type](&sweep, TSI_GPU_THREADS, &blocks);
  if (error == 0) error = tsi_devices.launch[type](&sweep, blocks, TSI_GPU_THREADS, stream);
  if (error == 0 && !backward && border_bytes > 0)
    error = tsi_devices.copy(p.border, border, border_bytes, stream);
  return error;
}

tristar_status tsi_device_subtree_data_create(const tsi_plan_subtrees *subtrees, tsi_execution *e,
                                              tsi_replay_subtrees **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = subtrees->env;
  tsi_replay_subtrees *all;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, *out, 1));
  all = *out;
  all->of = subtrees;
  all->workspace = e->call.workspace;
  all->stride = e->call.stride;
  all->devices = (tsi_execution_devices){all, data_of, start_sweep};
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, all->subtree, subtrees->count));
  TSI_TRY_OUT(create_scratch(all));
  for (tsi_index k = 0; k < subtrees->count; k++) TSI_TRY_OUT(create_replay_subtree(all, k));
  e->devices = &all->devices;
out:
  if (status != TRISTAR_OK) tsi_device_subtree_data_destroy(e, out);
  return status;
}

void tsi_device_subtree_data_destroy(tsi_execution *e, tsi_replay_subtrees **data) {
  tsi_replay_subtrees *all = *data;
  if (all == NULL) return;
  tsi_env *env = all->of->env;
  for (tsi_index k = 0; k < all->of->count && all->subtree; k++) {
    replay_subtree *r = &all->subtree[k];
    tsi_device_data_destroy(&r->x);
    for (int i = 0; i < 2; i++) tsi_device_data_destroy(&r->border[i]);
  }
  for (int d = 0; d < TSI_DEVICES_MOST; d++) tsi_device_data_destroy(&all->scratch[d]);
  TSI_FREE(env, all->subtree);
  TSI_FREE(env, *data);
  e->devices = NULL;
}

tristar_status tsi_device_subtrees_prepare(tsi_replay *replay, bool *changed) {
  const tsi_replay_subtrees *all = replay->subtrees;
  TSI_TRY(tsi_residents_follow(replay->plan->factor));
  *changed = all == NULL || all->workspace != replay->execution.call.workspace ||
             all->stride != replay->execution.call.stride;
  if (*changed && all) TSI_TRY(tsi_tasks_check_waiting(&replay->plan->ts->env));
  return TRISTAR_OK;
}

tristar_status tsi_device_subtrees_renew(tsi_replay *replay) {
  tsi_device_subtrees_discard(replay);
  return tsi_device_subtree_data_create(replay->plan->subtrees, &replay->execution, &replay->subtrees);
}

void tsi_device_subtrees_discard(tsi_replay *replay) {
  tsi_device_subtree_data_destroy(&replay->execution, &replay->subtrees);
}
