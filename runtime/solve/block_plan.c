/* Sweeps of block cuts in plans: see block_plan.h. */
#include "runtime/solve/block_plan.h"

#include "dag/product_steps.h"
#include "runtime/base/threads.h"
#include "runtime/rows/row_factor.h"

tristar_status tsi_block_plan_create(const tristar_plan_t *plan, tsi_block_plan **out) {
  tsi_env *env = &plan->ts->env;
  const tsi_row_factor *rows = plan->factor->rows;
  *out = NULL;
  if (rows == NULL || rows->cut->way < TSI_ROWS_COLUMN_BLOCKS) return TRISTAR_OK;
  TSI_SCRATCH_ZERO(env, tsi_block_plan, blocks, 1);
  TSI_TRY(tsi_mutex_init(env, &blocks->lock));
  *out = tsi_take(&blocks);
  return TRISTAR_OK;
}

void tsi_block_plan_destroy(tsi_env *env, tsi_block_plan **blocks) {
  if (*blocks == NULL) return;
  for (int k = 0; k < 2; k++) TSI_FREE(env, (*blocks)->sweep[k]);
  pthread_mutex_destroy(&(*blocks)->lock);
  TSI_FREE(env, *blocks);
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Makes the sweep, or brings its values up to date. The lock is held. */
static tristar_status need_sweep(const tristar_plan_t *plan, bool backward) {
  tsi_block_plan *blocks = plan->blocks;
  const tsi_row_factor *rows = plan->factor->rows;
  tsi_block_options options;
  tsi_block_options_init(&options, tsi_block_scheme_of(rows->cut->way), tsi_index_max(1, rows->cut->count),
                         rows->cut->lanes);
  if (blocks->sweep[backward] == NULL)
    TSI_TRY(tsi_block_sweep_create(&plan->ts->env, &rows->lines, backward, &options,
                                   plan->factor->analysis->factor_scalar, plan->ts->isa, NULL,
                                   &blocks->sweep[backward]));
  if (blocks->generation[backward] == plan->factor->generation) return TRISTAR_OK;
  tsi_block_sweep_fill(blocks->sweep[backward], rows->values);
  blocks->program[backward] = tsi_block_sweep_program(blocks->sweep[backward], rows->inverse);
  blocks->generation[backward] = plan->factor->generation;
  return TRISTAR_OK;
}

tristar_status tsi_block_plan_prepare(const tristar_plan_t *plan, bool backward,
                                      const tsi_block_program **out) {
  tsi_block_plan *blocks = plan->blocks;
  pthread_mutex_lock(&blocks->lock);
  const tristar_status status = need_sweep(plan, backward);
  pthread_mutex_unlock(&blocks->lock);
  *out = &blocks->program[backward];
  return status;
}

/* ---- Steps --------------------------------------------------------------------------------------------- */

/* The steps that are being listed: steps that read chunks, steps of the sweep, steps that write chunks. */
typedef struct builder {
  const tsi_chunks *chunks; /* of rows */
  const tsi_block_sweep *sweep;
  tsi_steps *steps;  /* edge NULL: edges are only counted */
  tsi_index *owner;  /* n: the chunk of each row */
  bool *touched;     /* n: a step of the sweep has worked on the row */
  tsi_index *latest; /* chunks: the latest step of the sweep with an edge from or to the chunk */
} builder;

static void add_edge(builder *b, tsi_index item, tsi_index before) {
  if (b->steps->edge) b->steps->edge[b->steps->edges] = (tsi_edge){item, before};
  b->steps->edges++;
}

static inline tsi_index row_of(const tsi_block_chunk *chunk, tsi_index k) {
  return chunk->rows.row ? chunk->rows.row[k] : chunk->rows.first_row + k;
}

/* Adds edges: the first step on a row waits until the row was read. */
static void wait_for_reads(builder *b, tsi_index c) {
  const tsi_block_chunk *chunk = &b->sweep->chunk[c];
  for (tsi_index k = 0; k < chunk->count; k++) {
    const tsi_index row = row_of(chunk, k), owner = b->owner[row];
    if (b->touched[row]) continue;
    b->touched[row] = true;
    if (b->latest[owner] != c) add_edge(b, b->chunks->count + c, owner);
    b->latest[owner] = c;
  }
}

/* Adds edges: a chunk is written when all its rows are finished. */
static void wait_for_rows(builder *b, tsi_index c) {
  const tsi_block_chunk *chunk = &b->sweep->chunk[c];
  for (tsi_index k = 0; k < chunk->count && chunk->triangle; k++) {
    const tsi_index owner = b->owner[row_of(chunk, k)];
    if (b->latest[owner] != c)
      add_edge(b, b->chunks->count + b->sweep->rows->count + owner, b->chunks->count + c);
    b->latest[owner] = c;
  }
}

static void add_edges(builder *b) {
  const tsi_block_rows *rows = b->sweep->rows;
  b->steps->edges = 0;
  for (tsi_index i = 0; i < rows->n; i++) b->touched[i] = false;
  for (tsi_index o = 0; o < b->chunks->count; o++) b->latest[o] = TSI_NONE;
  for (tsi_index c = 0; c < rows->count; c++) {
    wait_for_reads(b, c);
    for (tsi_count w = rows->wait_ptr[c]; w < rows->wait_ptr[c + 1]; w++)
      add_edge(b, b->chunks->count + c, b->chunks->count + rows->wait[w]);
  }
  for (tsi_index o = 0; o < b->chunks->count; o++) b->latest[o] = TSI_NONE;
  for (tsi_index c = 0; c < rows->count; c++) wait_for_rows(b, c);
}

static void add_steps(builder *b, bool backward) {
  const double scalar = (double)b->sweep->scalar_bytes;
  const tsi_block_rows *rows = b->sweep->rows;
  tsi_step *step = b->steps->step;
  for (tsi_index o = 0; o < b->chunks->count; o++)
    *step++ = (tsi_step){
        .kind = TSI_STEP_READ, .argument = o, .bytes = 2 * tsi_chunk_columns(b->chunks, o) * scalar};
  for (tsi_index c = 0; c < rows->count; c++) {
    const tsi_block_chunk *chunk = &b->sweep->chunk[c];
    const double index = chunk->rows.column ? sizeof(tsi_index) : sizeof(uint16_t);
    const double entries = (double)chunk->rows.ptr[chunk->count];
    *step++ =
        (tsi_step){.kind = backward ? TSI_STEP_BACKWARD_ROWS : TSI_STEP_FORWARD_ROWS,
                   .argument = c,
                   .bytes = entries * (scalar + index) + chunk->count * (2 * scalar + sizeof(tsi_count))};
  }
  for (tsi_index o = 0; o < b->chunks->count; o++)
    *step++ = (tsi_step){
        .kind = TSI_STEP_WRITE, .argument = o, .bytes = 2 * tsi_chunk_columns(b->chunks, o) * scalar};
  for (tsi_index s = 0; s < b->steps->count; s++) /* the cut lists steps in the order of its longest path */
    b->steps->step[s].priority = b->steps->count - s;
}

/* ---- Accesses ------------------------------------------------------------------------------------------ */

typedef struct described {
  const tsi_chunks *chunks;
  const tsi_block_sweep *sweep;
  const tsi_steps *steps;
  int64_t
      *listed; /* n: the chunk of the sweep, in the current pass over the steps, that listed the row last */
} described;

static void list_row(const described *d, int64_t now, tsi_access_mode mode, tsi_index row,
                     tsi_access_lister *lister) {
  if (d->listed[row] != now) tsi_access_add(lister, mode, TSI_BUFFER_T, 0, row, (tsi_count)row + 1);
  d->listed[row] = now;
}

/* Lists the rows of a chunk; then the rows of its columns, except those that it finished itself. */
static void list_chunk(const described *d, tsi_index c, tsi_access_lister *lister) {
  const tsi_block_chunk *chunk = &d->sweep->chunk[c];
  const tsi_rectangle *rows = &chunk->rows;
  const int64_t now = 2 * (int64_t)c + (lister->access != NULL);
  for (tsi_index k = 0; k < chunk->count; k++) list_row(d, now, TSI_ACCESS_RW, row_of(chunk, k), lister);
  for (tsi_count e = 0; e < rows->ptr[chunk->count]; e++)
    list_row(d, now, TSI_ACCESS_R,
             rows->column ? rows->column[e] : rows->first_column + rows->short_column[e], lister);
}

static void list_step(const void *arg, tsi_index number, tsi_access_lister *lister) {
  const described *d = arg;
  const tsi_step *step = &d->steps->step[number];
  if (step->kind == TSI_STEP_READ || step->kind == TSI_STEP_WRITE)
    tsi_access_add_move(d->chunks, step, true, lister);
  else
    list_chunk(d, step->argument, lister);
}

tristar_status tsi_block_plan_list_accesses(const tristar_plan_t *plan, bool backward, const tsi_steps *steps,
                                            tsi_access_list **out) {
  tsi_env *env = &plan->ts->env;
  *out = NULL;
  TSI_SCRATCH(env, described, d, 1);
  *d = (described){plan->side[0].chunks, plan->blocks->sweep[backward], steps, NULL};
  TSI_TRY(TSI_ALLOC_IN(d, d->listed, d->sweep->rows->n));
  for (tsi_index i = 0; i < d->sweep->rows->n; i++) d->listed[i] = -1;
  return tsi_access_list_create(env, steps->count, list_step, d, out);
}

static tristar_status check_steps(const tristar_plan_t *plan, bool backward, const tsi_steps *steps) {
  tsi_env *env = &plan->ts->env;
  TSI_OWNED tsi_access_list *accesses = NULL;
  TSI_TRY(tsi_block_plan_list_accesses(plan, backward, steps, &accesses));
  return tsi_access_check(env, accesses, steps->edges, steps->edge);
}

/* ---- All ----------------------------------------------------------------------------------------------- */

tristar_status tsi_block_plan_steps(const tristar_plan_t *plan, bool backward, tsi_steps **out) {
  tsi_env *env = &plan->ts->env;
  TSI_SCRATCH(env, builder, b, 1);
  *b = (builder){.chunks = plan->side[0].chunks, .sweep = plan->blocks->sweep[backward]};
  const tsi_index n = b->sweep->rows->n;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO_IN(b, b->steps, 1));
  if (!tsi_to_index(2 * (tsi_count)b->chunks->count + b->sweep->rows->count, &b->steps->count))
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "more than 2^31 tasks");
  TSI_TRY(TSI_ALLOC_IN(b->steps, b->steps->step, b->steps->count));
  TSI_TRY(TSI_ALLOC_IN(b, b->owner, n));
  TSI_TRY(TSI_ALLOC_IN(b, b->touched, n));
  TSI_TRY(TSI_ALLOC_IN(b, b->latest, b->chunks->count));
  tsi_chunk_owners(b->chunks, b->owner);
  add_steps(b, backward);
  add_edges(b);
  TSI_TRY(TSI_ALLOC_IN(b->steps, b->steps->edge, b->steps->edges));
  add_edges(b);
  if (env->check) TSI_TRY(check_steps(plan, backward, b->steps));
  tsi_own(NULL, b->steps);
  *out = b->steps;
  return TRISTAR_OK;
}

void tsi_block_plan_lanes(const tristar_plan_t *plan, bool backward, const tsi_steps *steps,
                          tsi_index *lane) {
  const tsi_block_rows *rows = plan->blocks->sweep[backward]->rows;
  for (tsi_index s = 0; s < steps->count; s++) {
    const tsi_step *step = &steps->step[s];
    const bool chunk_of_rows = step->kind == TSI_STEP_READ || step->kind == TSI_STEP_WRITE;
    lane[s] = chunk_of_rows ? step->argument % rows->lanes : rows->lane[step->argument];
  }
}
