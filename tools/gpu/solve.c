/* See solve.h. */
#include "tools/gpu/solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/gpu/board.h"

/* ---- Kernels ------------------------------------------------------------------------------------------- */

#define ALL(type, size)                                                                                      \
  {                                                                                                          \
    .scalars = #type, .stored = (size), .work = (size), .sweep = tsi_gpu_launch_##type,                      \
    .sweep_blocks = tsi_gpu_blocks_##type, .rows = tsi_gpu_rows_launch_##type,                               \
    .rows_blocks = tsi_gpu_rows_blocks_##type, .sc23 = tsi_gpu_sc23_##type, .kk20 = tsi_gpu_kk20_##type,     \
    .spmv = tsi_gpu_spmv_launch_##type, .fsai = tsi_gpu_fsai_launch_##type,                                  \
    .fsai_blocks = tsi_gpu_fsai_blocks_##type, .fsai_count = tsi_gpu_fsai_count_##type,                      \
    .fsai_pack = tsi_gpu_fsai_pack_##type, .fsai_adjoin = tsi_gpu_fsai_adjoin_##type                         \
  }
#define SWEEPS(type, size)                                                                                   \
  {                                                                                                          \
    .scalars = #type, .stored = (size), .work = 2 * (size), .sweep = tsi_gpu_launch_##type,                  \
    .sweep_blocks = tsi_gpu_blocks_##type, .spmv = tsi_gpu_spmv_launch_##type                                \
  }
static const gpu_kernels all[] = {ALL(s, 4), ALL(d, 8), ALL(c, 8), ALL(z, 16), SWEEPS(sd, 4), SWEEPS(cz, 8)};

const gpu_kernels *gpu_kernels_of(const char *scalars) {
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (strcmp(all[k].scalars, scalars) == 0) return &all[k];
  fprintf(stderr, "no kernels for %s\n", scalars);
  exit(1);
}

/* ---- Arrays -------------------------------------------------------------------------------------------- */

void *board_take(board_arrays *a, size_t bytes) {
  if (a->count == (int)(sizeof a->at / sizeof *a->at)) abort();
  return a->at[a->count++] = board_allocate(bytes);
}
void *board_place(board_arrays *a, const void *from, size_t bytes) {
  if (from == NULL) return NULL;
  void *to = board_take(a, bytes);
  board_copy_in(to, from, bytes);
  return to;
}
void *board_filled(board_arrays *a, int byte, size_t bytes) {
  void *at = board_take(a, bytes);
  board_fill(at, byte, bytes);
  return at;
}

void board_fetch(const board_arrays *a, void *x) {
  if (a->x_bytes > 0) board_copy_out(x, a->x, a->x_bytes);
}
void board_fetch_workspace(const board_arrays *a, void *workspace) {
  if (a->workspace_bytes > 0) board_copy_out(workspace, a->workspace, a->workspace_bytes);
}
void board_close(board_arrays *a) {
  for (int k = 0; k < a->count; k++) board_release(a->at[k]);
  *a = (board_arrays){.count = 0};
}

/* Number of scalars of an array of the user, up to the last one that the call may access. */
static size_t user_scalars(tsi_index n, const tsi_index *rows, int64_t row, int64_t column, tsi_index nrhs) {
  int64_t last = n - 1;
  if (rows) last = 0;
  for (tsi_index j = 0; rows && j < n; j++)
    if (rows[j] > last) last = rows[j];
  return n > 0 && nrhs > 0 ? (size_t)(last * row + (nrhs - 1) * column + 1) : 0;
}
/* Number of rows of a scale: those up to the last row of the list. */
static size_t scales(tsi_index n, const tsi_index *rows) {
  return user_scalars(n, rows, 1, 0, 1);
}

/* Places the call's workspace; without one allocates a workspace on the board, all NaN. */
static void *place_workspace(board_arrays *a, size_t bytes, void *host) {
  a->workspace_bytes = host ? bytes : 0;
  return a->workspace = host ? board_place(a, host, bytes) : board_filled(a, 0xff, bytes);
}

/* Places the user's rows of the call and D^-1, of n columns, and a workspace of workspace_rows rows. */
static tsi_device_call place_call(board_arrays *a, const gpu_kernels *k, tsi_index n,
                                  tsi_index workspace_rows, const tsi_device_call *host) {
  tsi_device_call c = *host;
  const size_t user = (host->wide ? 2 : 1) * k->stored;
  const size_t list = (size_t)n * sizeof(tsi_index);
  if (c.stride < c.nrhs) c.stride = c.nrhs;
  c.inverse = board_place(a, host->inverse, 2 * (size_t)n * k->stored);
  c.in_scale = board_place(a, host->in_scale, scales(n, host->in_row) * sizeof(double));
  c.out_scale = board_place(a, host->out_scale, scales(n, host->out_row) * sizeof(double));
  c.in_row = board_place(a, host->in_row, list);
  c.out_row = host->out_row == host->in_row ? c.in_row : board_place(a, host->out_row, list);
  a->x_bytes = host->x ? user * user_scalars(n, host->out_row, host->x_row, host->x_column, host->nrhs) : 0;
  c.x = a->x = board_place(a, host->x, a->x_bytes);
  c.b = host->b == host->x
            ? c.x
            : board_place(a, host->b,
                          user * user_scalars(n, host->in_row, host->b_row, host->b_column, host->nrhs));
  c.workspace = place_workspace(a, (size_t)workspace_rows * (size_t)c.stride * k->work, host->workspace);
  return c;
}

/* Number of scalars of a factor, up to the end of its last panel. */
static size_t factor_scalars(tsi_index panels, const tsi_panel *panel) {
  tsi_count end = 0;
  for (tsi_index p = 0; p < panels; p++)
    end = tsi_count_max(end, panel[p].values + tsi_panel_size(panel[p].width, panel[p].height));
  return (size_t)end;
}

static tsi_device_values place_values(board_arrays *a, const gpu_kernels *k, tsi_index n, size_t scalars,
                                      const tsi_device_values *host) {
  return (tsi_device_values){board_place(a, host->values, scalars * k->stored),
                             board_place(a, host->from, (size_t)n * sizeof(tsi_index))};
}

/* Places the values of both sweeps, which may be the same; scalars: number for each sweep. */
static void place_factors(board_arrays *a, const gpu_kernels *k, tsi_index n, const size_t scalars[2],
                          const tsi_device_call *host, tsi_device_call *c) {
  c->forward = place_values(a, k, n, scalars[0], &host->forward);
  c->backward = host->backward.values == host->forward.values && host->backward.from == host->forward.from
                    ? c->forward
                    : place_values(a, k, n, scalars[1], &host->backward);
}

/* Number of columns of the factor. The columns of a border follow and belong to no panel. */
static tsi_index factor_columns(const tsi_device_tables *t) {
  if (t->panels == 0) return 0;
  const tsi_panel *last = &t->panel[t->panels - 1];
  return last->column + last->width;
}

static bool has_sweep(const tsi_device_call *call, bool backward) {
  return (backward ? call->backward : call->forward).values != NULL;
}

/* ---- Sweeps -------------------------------------------------------------------------------------------- */

void board_sweeps_open(const char *scalars, const tsi_device_tables *forward,
                       const tsi_device_tables *backward, const tsi_device_call *call, board_sweeps *s) {
  const gpu_kernels *k = gpu_kernels_of(scalars);
  const tsi_device_tables *host[2] = {forward, backward};
  board_arrays *a = &s->arrays;
  *s = (board_sweeps){.kernels = k};
  const tsi_index n = factor_columns(forward);
  tsi_device_call c =
      place_call(a, k, n, tsi_index_max(forward->workspace_rows, backward->workspace_rows), call);
  const size_t counts[2] = {factor_scalars(forward->panels, forward->panel),
                            factor_scalars(backward->panels, backward->panel)};
  place_factors(a, k, n, counts, call, &c);
  void *block = board_place(a, forward->block, forward->bytes);
  for (int i = 0; i < 2; i++) {
    if (i == 1 && backward != forward) block = board_place(a, backward->block, backward->bytes);
    const tsi_index tickets = i == 1 ? host[i]->backward.tickets : host[i]->forward.tickets;
    s->sweep[i] = (tsi_gpu_sweep){.tables = tsi_device_tables_move(host[i], block),
                                  .call = c,
                                  .backward = i == 1,
                                  .ticket = board_filled(a, 0, sizeof(int32_t)),
                                  .flag = board_filled(a, 0, ((size_t)tickets + 1) * sizeof(int32_t))};
  }
}

void board_sweeps_run(board_sweeps *s, bool backward, unsigned blocks, unsigned threads) {
  tsi_gpu_sweep *sweep = &s->sweep[backward];
  if (!has_sweep(&sweep->call, backward)) return;
  sweep->epoch++;
  if (blocks == 0) board_check(s->kernels->sweep_blocks(sweep, threads, &blocks), "the blocks of a sweep");
  board_check(s->kernels->sweep(sweep, blocks, threads, NULL), "the launch of a sweep");
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

void board_rows_open(const char *scalars, const tsi_gpu_rows *rows, board_rows *s) {
  const gpu_kernels *k = gpu_kernels_of(scalars);
  const tsi_device_rows *t = &rows->tables;
  board_arrays *a = &s->arrays;
  *s = (board_rows){.kernels = k, .host = t, .rows = *rows};
  s->rows.tables = tsi_device_rows_move(t, board_place(a, t->block, t->bytes));
  s->rows.call = place_call(a, k, t->n, t->n, &rows->call);
  s->rows.values = board_place(a, rows->values, (size_t)t->entries * k->stored);
  s->rows.inverse = board_place(a, rows->inverse, (size_t)t->n * k->stored);
  s->rows.ticket = board_filled(a, 0, sizeof(int32_t));
  s->rows.done = board_filled(a, 0, ((size_t)t->phases + 1) * sizeof(int32_t));
  s->rows.flag = board_filled(a, 0, ((size_t)t->n + 1) * sizeof(int32_t));
  s->rows.epoch = 0;
}

void board_rows_run(board_rows *s, bool one_launch, unsigned blocks, unsigned threads) {
  tsi_gpu_rows *r = &s->rows;
  r->epoch++;
  r->phases = one_launch ? r->tables.phases : 1;
  if (blocks == 0) board_check(s->kernels->rows_blocks(r, threads, &blocks), "the blocks of rows");
  for (r->phase = 0; r->phase < r->tables.phases; r->phase += r->phases) {
    const tsi_index tickets = s->host->phase[r->phase].tickets;
    const unsigned enough = one_launch || (unsigned)tickets > blocks ? blocks : (unsigned)tickets;
    board_check(s->kernels->rows(r, enough, threads, NULL), "the launch of rows");
  }
}

/* ---- Published solvers --------------------------------------------------------------------------------- */

static tsi_variant_tables place_variant(board_arrays *a, const tsi_variant_tables *host) {
  tsi_variant_tables t = *host;
  const size_t index = sizeof(tsi_index), panels = (size_t)host->panels, segments = (size_t)host->segments;
  t.panel = board_place(a, host->panel, panels * sizeof *host->panel);
  t.row = board_place(a, host->row, (size_t)host->rows * index);
  t.segment_ptr = board_place(a, host->segment_ptr, (panels + 1) * index);
  t.segment = board_place(a, host->segment, segments * sizeof *host->segment);
  t.into_ptr = board_place(a, host->into_ptr, (panels + 1) * index);
  t.into = board_place(a, host->into, segments * index);
  t.level_ptr = board_place(a, host->level_ptr, ((size_t)host->levels + 1) * index);
  t.level = board_place(a, host->level, panels * index);
  return t;
}

/* Number of pending contributions of each panel before a sweep. */
static int32_t *place_left(board_arrays *a, const tsi_variant_tables *t, bool backward) {
  const tsi_index *ptr = backward ? t->segment_ptr : t->into_ptr;
  const size_t bytes = ((size_t)t->panels + 1) * sizeof(int32_t);
  int32_t *left = calloc(1, bytes);
  if (left == NULL) abort();
  for (tsi_index p = 0; p < t->panels; p++) left[p] = ptr[p + 1] - ptr[p];
  int32_t *at = board_place(a, left, bytes);
  free(left);
  return at;
}

void board_variant_open(const char *scalars, const tsi_variant_tables *forward,
                        const tsi_variant_tables *backward, const tsi_device_call *call, board_variant *s) {
  const gpu_kernels *k = gpu_kernels_of(scalars);
  const tsi_variant_tables *host[2] = {forward, backward};
  board_arrays *a = &s->arrays;
  *s = (board_variant){.kernels = k, .level_ptr = {forward->level_ptr, backward->level_ptr}};
  tsi_device_call own = *call;
  own.workspace = NULL;
  tsi_device_call c = place_call(a, k, forward->n, 2 * forward->n, &own);
  const size_t counts[2] = {factor_scalars(forward->panels, forward->panel),
                            factor_scalars(backward->panels, backward->panel)};
  const size_t half = (size_t)forward->n * (size_t)c.stride * k->work;
  board_fill((char *)c.workspace + half, 0, half);
  place_factors(a, k, forward->n, counts, call, &c);
  for (int i = 0; i < 2; i++)
    s->sweep[i] = (tsi_gpu_variant){.tables = i == 1 && backward == forward ? s->sweep[0].tables
                                                                            : place_variant(a, host[i]),
                                    .call = c,
                                    .backward = i == 1,
                                    .ticket = board_filled(a, 0, sizeof(int32_t)),
                                    .left = place_left(a, host[i], i == 1)};
}

void board_variant_sc23(board_variant *s, bool backward, unsigned threads) {
  if (!has_sweep(&s->sweep[backward].call, backward)) return;
  board_check(s->kernels->sc23(&s->sweep[backward], threads, NULL), "the launch of SC23");
}
void board_variant_kk20(board_variant *s, bool backward, unsigned threads) {
  if (!has_sweep(&s->sweep[backward].call, backward)) return;
  board_check(s->kernels->kk20(&s->sweep[backward], s->level_ptr[backward], threads, NULL),
              "the launches of KK20");
}
