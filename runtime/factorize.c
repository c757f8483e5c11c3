/* The task graph of the factorization: subtrees at the bottom, fronts above them, tiles of big fronts. See
 * numeric.h.
 *
 * A subtree whose work is below a fraction of the total is one task, so is a light front above; a heavy front
 * is cut into tiles. The cut depends on the structure only: the same tiles, hence the same bits, on any
 * number of workers, and when the tasks run one after the other without StarPU. */
#include <math.h>

#include "runtime/blas.h"
#include "runtime/clock.h"
#include "runtime/factor.h"
#include "runtime/numeric.h"
#include "runtime/tasks.h"

#define SUBTREE_SHARE (1.0 / 100) /* of the flops, for one bottom task */
#define TASK_FLOPS 4e6            /* a front or subtree lighter than this is never worth more than one task */
#define TILED_FLOPS 1e8           /* a front heavier than this is cut into tiles */
#define TILE_ROWS TSI_TILE
#define FLOPS_PER_MICROSECOND 25e3

/* What builds the graph. */
typedef struct builder {
  tsi_numeric *numeric;
  tsi_tasks *tasks;
  double *front_flops, *subtree_flops; /* by supernode */
  double total;
  tsi_index *done; /* by supernode: the task after which its complement is complete */
} builder;

static void run_subtree(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  for (tsi_index s = argument[0]; s <= argument[1]; s++) tsi_front_whole(context, s);
}
static void run_open(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_open(context, argument[0]);
}
static void run_assemble(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_assemble(context, argument[0], argument[1], argument[2]);
}
static void run_assembled(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_assembled(context, argument[0]);
}
static void run_diagonal(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_diagonal(context, argument[0]);
}
static void run_pack(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_pack(context, argument[0]);
}
static void run_close(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_close(context, argument[0]);
}

/* Panel argument[0], front rows (or columns) argument[1] .. argument[2]-1. */
static void run_below(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_tile(context, argument[0], false, argument[1], argument[2]);
}
static void run_right(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_tile(context, argument[0], true, argument[1], argument[2]);
}
/* Supernode argument[0], tile row argument[1], tile column argument[2] of its complement. */
static void run_schur(void *context, const tsi_index argument[4], int worker) {
  tsi_numeric *numeric = context;
  const tsi_front *front = &numeric->front[argument[0]];
  const tsi_index r0 = argument[1] * TILE_ROWS, c0 = argument[2] * TILE_ROWS;
  (void)worker;
  if (tsi_numeric_failed(numeric)) return;
  numeric->kernels->schur(front, r0, tsi_index_min(front->m, r0 + TILE_ROWS), c0,
                          tsi_index_min(front->m, c0 + TILE_ROWS));
}

static tristar_status add(builder *build, const char *name, tsi_task_run run, tsi_index a0, tsi_index a1,
                          tsi_index a2, tsi_index s, double flops, tsi_index *number) {
  const tsi_index argument[4] = {a0, a1, a2, 0};
  /* what is still to be done above s; within a front earlier tasks come first by their edges */
  const double priority = build->total - build->subtree_flops[s] + build->front_flops[s] + 1;
  return tsi_tasks_add(build->tasks, name, run, build->numeric, argument, priority,
                       1 + flops / FLOPS_PER_MICROSECOND, number);
}

static tristar_status wait_for_children(builder *build, tsi_index s, tsi_index task) {
  tristar_status status = TRISTAR_OK;
  for (tsi_index k = build->numeric->child_ptr[s]; k < build->numeric->child_ptr[s + 1]; k++)
    TSI_TRY(tsi_tasks_after(build->tasks, task, build->done[build->numeric->child[k]]));
out:
  return status;
}

/* The row (column) tiles of a front, as seen from panel `of`: the later panels of the supernode, then pieces
 * of the m rows. */
typedef struct tiling {
  tsi_index count, inner; /* tiles; those inside the supernode, one a panel */
  tsi_index w, f;
  const tsi_index *start; /* first column of the supernode's panels */
} tiling;

static tsi_index tile_begin(const tiling *t, tsi_index k) {
  return k < t->inner ? t->start[k] - t->start[0] : t->w + (k - t->inner) * TILE_ROWS;
}
static tsi_index tile_end(const tiling *t, tsi_index k) {
  return k < t->inner ? t->start[k + 1] - t->start[0]
                      : tsi_index_min(t->f, t->w + (k - t->inner + 1) * TILE_ROWS);
}

static double tile_flops(const tiling *t, tsi_index panel, tsi_index k) {
  const double b = tile_end(t, panel) - tile_begin(t, panel), rows = tile_end(t, k) - tile_begin(t, k);
  return 2 * rows * b * (tile_begin(t, panel) + b / 2);
}

/* Opens the front and assembles it in column pieces; *assembled: the task after all of them. */
static tristar_status add_assembly(builder *build, tsi_index s, const tiling *t, tsi_index *assembled) {
  tristar_status status = TRISTAR_OK;
  tsi_index open, piece;
  const tsi_index pieces = (t->f + TILE_ROWS - 1) / TILE_ROWS;
  tsi_index *tasks = NULL;
  TSI_TRY(TSI_ALLOC(build->numeric->env, tasks, pieces));
  TSI_TRY(add(build, "front_open", run_open, s, 0, 0, s, 1e6, &open));
  TSI_TRY(wait_for_children(build, s, open));
  for (tsi_index k = 0; k < pieces; k++) {
    const tsi_index c1 = tsi_index_min(t->f, (k + 1) * TILE_ROWS);
    TSI_TRY(
        add(build, "front_assemble", run_assemble, s, k * TILE_ROWS, c1, s, 20.0 * TILE_ROWS * t->f, &piece));
    TSI_TRY(tsi_tasks_after(build->tasks, piece, open));
    tasks[k] = piece;
  }
  TSI_TRY(add(build, "front_assembled", run_assembled, s, 0, 0, s, 0, assembled));
  for (tsi_index k = 0; k < pieces; k++) TSI_TRY(tsi_tasks_after(build->tasks, *assembled, tasks[k]));
out:
  TSI_FREE(build->numeric->env, tasks);
  return status;
}

/* The columns of the supernode: for each panel its diagonal block, the tiles below and (LU) to the right.
 * below[k], right[k]: the latest task on tile k; the earlier panels' tiles of the same row are finished
 * before it. */
static tristar_status add_panels(builder *build, tsi_index s, const tiling *t, tsi_index assembled,
                                 tsi_index *below, tsi_index *right) {
  tristar_status status = TRISTAR_OK;
  const tsi_index first = build->numeric->analysis->panels->first[s];
  const bool lu = build->numeric->upper != NULL;
  for (tsi_index k = 0; k < t->count; k++) below[k] = right[k] = assembled;
  for (tsi_index panel = 0; panel < t->inner; panel++) {
    tsi_index diagonal;
    TSI_TRY(add(build, "front_diagonal", run_diagonal, first + panel, 0, 0, s, tile_flops(t, panel, panel),
                &diagonal));
    TSI_TRY(tsi_tasks_after(build->tasks, diagonal, below[panel])); /* its row left of the block */
    if (lu && panel > 0)
      TSI_TRY(tsi_tasks_after(build->tasks, diagonal, right[panel])); /* and its column above */
    for (tsi_index k = panel + 1; k < t->count; k++) {
      const tsi_index begin = tile_begin(t, k), end = tile_end(t, k);
      const double flops = tile_flops(t, panel, k);
      tsi_index task;
      TSI_TRY(add(build, "front_below", run_below, first + panel, begin, end, s, flops, &task));
      TSI_TRY(tsi_tasks_after(build->tasks, task, diagonal));
      if (panel > 0) TSI_TRY(tsi_tasks_after(build->tasks, task, below[k]));
      below[k] = task;
      if (!lu) continue;
      TSI_TRY(add(build, "front_right", run_right, first + panel, begin, end, s, flops, &task));
      TSI_TRY(tsi_tasks_after(build->tasks, task, diagonal));
      if (panel > 0) TSI_TRY(tsi_tasks_after(build->tasks, task, right[k]));
      right[k] = task;
    }
    below[panel] = diagonal; /* complete from here on */
    right[panel] = diagonal;
  }
out:
  return status;
}

/* The complement's tiles, packing, and the end of a front. */
static tristar_status add_end(builder *build, tsi_index s, const tiling *t, const tsi_index *below,
                              const tsi_index *right) {
  tristar_status status = TRISTAR_OK;
  const bool lu = build->numeric->upper != NULL;
  const tsi_index outer = t->count - t->inner, first = build->numeric->analysis->panels->first[s];
  tsi_index task, close, *last = NULL, count = 0;
  TSI_TRY(TSI_ALLOC(build->numeric->env, last, (tsi_count)outer * outer + t->inner));
  for (tsi_index i = 0; i < outer; i++)
    for (tsi_index j = 0; j < (lu ? outer : i + 1); j++) {
      TSI_TRY(add(build, "front_schur", run_schur, s, i, j, s, 2.0 * TILE_ROWS * TILE_ROWS * t->w, &task));
      TSI_TRY(tsi_tasks_after(build->tasks, task, below[t->inner + i]));
      if (lu)
        TSI_TRY(tsi_tasks_after(build->tasks, task, right[t->inner + j]));
      else if (i != j)
        TSI_TRY(tsi_tasks_after(build->tasks, task, below[t->inner + j]));
      last[count++] = task;
    }
  for (tsi_index panel = 0; panel < t->inner; panel++) {
    TSI_TRY(
        add(build, "front_pack", run_pack, first + panel, 0, 0, s, 10.0 * TSI_PANEL_WIDTH_MAX * t->f, &task));
    TSI_TRY(tsi_tasks_after(build->tasks, task, below[panel]));
    for (tsi_index k = panel + 1; k < t->count; k++) {
      TSI_TRY(tsi_tasks_after(build->tasks, task, below[k]));
      if (lu) TSI_TRY(tsi_tasks_after(build->tasks, task, right[k]));
    }
    last[count++] = task;
  }
  TSI_TRY(add(build, "front_close", run_close, s, 0, 0, s, 0, &close));
  for (tsi_index k = 0; k < count; k++) TSI_TRY(tsi_tasks_after(build->tasks, close, last[k]));
  build->done[s] = close;
out:
  TSI_FREE(build->numeric->env, last);
  return status;
}

static tristar_status add_tiled_front(builder *build, tsi_index s) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = build->numeric->analysis;
  const tsi_symbolic *symbolic = an->symbolic;
  tiling t;
  tsi_index assembled, *latest = NULL;
  t.w = symbolic->start[s + 1] - symbolic->start[s];
  t.f = t.w + (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  t.start = an->panels->start + an->panels->first[s];
  t.inner = an->panels->first[s + 1] - an->panels->first[s];
  t.count = t.inner + (t.f - t.w + TILE_ROWS - 1) / TILE_ROWS;
  TSI_TRY(TSI_ALLOC(build->numeric->env, latest, 2 * (tsi_count)t.count));
  TSI_TRY(add_assembly(build, s, &t, &assembled));
  TSI_TRY(add_panels(build, s, &t, assembled, latest, latest + t.count));
  TSI_TRY(add_end(build, s, &t, latest, latest + t.count));
out:
  TSI_FREE(build->numeric->env, latest);
  return status;
}

/* Flops of every front (Cholesky; LU twice that) and subtree. */
static void weigh(builder *build) {
  const tsi_symbolic *symbolic = build->numeric->analysis->symbolic;
  const double factor = build->numeric->upper ? 2 : 1;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const double w = symbolic->start[s + 1] - symbolic->start[s];
    const double m = (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
    build->front_flops[s] = factor * (w * w * w / 3 + w * w * m + w * m * m);
    build->subtree_flops[s] = 0;
  }
  build->total = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    build->subtree_flops[s] += build->front_flops[s];
    build->total += build->front_flops[s];
    if (symbolic->parent[s] != TSI_NONE) build->subtree_flops[symbolic->parent[s]] += build->subtree_flops[s];
  }
}

static tristar_status add_supernodes(builder *build) {
  tristar_status status = TRISTAR_OK;
  const tsi_symbolic *symbolic = build->numeric->analysis->symbolic;
  double limit = build->total * SUBTREE_SHARE;
  tsi_index first = 0; /* of the subtree that is being walked */
  if (limit < TASK_FLOPS) limit = TASK_FLOPS;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (build->subtree_flops[s] <= limit) {
      if (parent != TSI_NONE && build->subtree_flops[parent] <= limit) continue; /* inside a larger one */
      TSI_TRY(add(build, "subtree", run_subtree, first, s, 0, s, build->subtree_flops[s], &build->done[s]));
    } else if (build->front_flops[s] < TILED_FLOPS) {
      TSI_TRY(add(build, "front", run_subtree, s, s, 0, s, build->front_flops[s], &build->done[s]));
      TSI_TRY(wait_for_children(build, s, build->done[s]));
    } else
      TSI_TRY(add_tiled_front(build, s));
    first = s + 1;
  }
out:
  return status;
}

static tristar_status build_tasks(tsi_numeric *numeric, tsi_tasks **tasks) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = numeric->env;
  const tsi_index count = numeric->analysis->symbolic->count;
  builder build = {.numeric = numeric};
  TSI_TRY(tsi_tasks_create(env, tasks));
  build.tasks = *tasks;
  TSI_TRY(TSI_ALLOC(env, build.front_flops, count));
  TSI_TRY(TSI_ALLOC(env, build.subtree_flops, count));
  TSI_TRY(TSI_ALLOC(env, build.done, count));
  weigh(&build);
  TSI_TRY(add_supernodes(&build));
out:
  TSI_FREE(env, build.front_flops);
  TSI_FREE(env, build.subtree_flops);
  TSI_FREE(env, build.done);
  return status;
}

/* Children lists, ascending. */
static void list_children(tsi_numeric *numeric) {
  const tsi_symbolic *symbolic = numeric->analysis->symbolic;
  tsi_index *ptr = numeric->child_ptr;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (symbolic->parent[s] != TSI_NONE) ptr[symbolic->parent[s] + 1]++;
  for (tsi_index s = 0; s < symbolic->count; s++) ptr[s + 1] += ptr[s];
  for (tsi_index s = 0; s < symbolic->count; s++)
    if (symbolic->parent[s] != TSI_NONE) numeric->child[ptr[symbolic->parent[s]]++] = s;
  for (tsi_index s = symbolic->count; s > 0; s--) ptr[s] = ptr[s - 1];
  ptr[0] = 0;
}

static tristar_status start(tsi_numeric *numeric, tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  const tsi_index count = factor->analysis->symbolic->count;
  atomic_init(&numeric->status, TRISTAR_OK);
  atomic_init(&numeric->perturbed, 0);
  atomic_init(&numeric->done, 0);
  atomic_init(&numeric->percent, 0);
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->front, count));
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->position, count));
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->child_ptr, (tsi_count)count + 1));
  TSI_TRY(TSI_ALLOC(numeric->env, numeric->child, count));
  list_children(numeric);
out:
  return status;
}

/* Frees also what a failed factorization left behind. */
static void finish(tsi_numeric *numeric, tsi_index count) {
  for (tsi_index s = 0; numeric->front && s < count; s++) {
    TSI_FREE(numeric->env, numeric->front[s].p);
    TSI_FREE(numeric->env, numeric->front[s].q);
    TSI_FREE(numeric->env, numeric->front[s].c);
  }
  for (tsi_index s = 0; numeric->position && s < count; s++) TSI_FREE(numeric->env, numeric->position[s]);
  TSI_FREE(numeric->env, numeric->front);
  TSI_FREE(numeric->env, numeric->position);
  TSI_FREE(numeric->env, numeric->child_ptr);
  TSI_FREE(numeric->env, numeric->child);
}

/* Scalings by final index; the largest scaled entry gives the size of a tiny pivot. */
static void scale(tsi_numeric *numeric, const tristar_factor_t *factor, const double *magnitude, double *row,
                  double *col) {
  const tristar_analysis_t *an = factor->analysis;
  double largest = 0;
  if (factor->row_scale)
    for (tsi_index j = 0; j < an->pattern->n; j++) {
      row[j] = factor->row_scale[an->in_row[j]];
      col[j] = factor->col_scale[an->out_row[j]];
    }
  for (tsi_index j = 0; j < an->pattern->n; j++) {
    for (tsi_count q = an->lower.ptr[j]; q < an->lower.ptr[j + 1]; q++) {
      const tsi_count p = an->lower.source[q] < 0 ? ~an->lower.source[q] : an->lower.source[q];
      const double a = magnitude[p] * (factor->row_scale ? row[an->lower.other[q]] * col[j] : 1.0);
      if (a > largest) largest = a;
    }
  }
  if (largest == 0) largest = 1;
  const double epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  numeric->tiny = sqrt(epsilon) * largest;
  numeric->tiny_last = epsilon * largest;
  if (factor->row_scale) {
    numeric->row_scale = row;
    numeric->col_scale = col;
  }
}

tristar_status tsi_factorize(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  tsi_numeric numeric = {.env = env,
                         .analysis = an,
                         .kernels = tsi_front_kernels_select(an->factor_scalar),
                         .values = factor->values,
                         .lower = factor->lower,
                         .upper = factor->upper,
                         .pivots = factor->pivots,
                         .inverse = factor->inverse};
  tsi_tasks *tasks = NULL;
  double *row = NULL, *col = NULL, *magnitude = NULL;
  void *narrow = NULL;
  bool blas = false;
  TSI_TRY(start(&numeric, factor));
  if (factor->row_scale) {
    TSI_TRY(TSI_ALLOC(env, row, an->pattern->n));
    TSI_TRY(TSI_ALLOC(env, col, an->pattern->n));
  }
  TSI_TRY(tsi_pattern_part(env, an->pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  scale(&numeric, factor, magnitude, row, col);
  TSI_FREE(env, magnitude);
  if (an->factor_scalar != an->pattern->scalar) {
    const tsi_count entries = an->pattern->ptr[an->pattern->n];
    TSI_TRY(tsi_allocate(env, (size_t)entries, factor->scalar_bytes, __func__, __FILE__, __LINE__, &narrow));
    tsi_sparse_kernels_select(an->factor_scalar)->narrow(entries, factor->values, narrow);
    numeric.values = narrow;
  }
  TSI_TRY(build_tasks(&numeric, &tasks));
  if (factor->ts->use_starpu && tsi_tasks_count(tasks) > 1) {
    TSI_TRY(tsi_context_need_starpu(factor->ts));
    TSI_TRY(tsi_tasks_record(tasks));
  }
  tsi_blas_acquire();
  blas = true;
  TSI_TRY(tsi_tasks_run(tasks, false));
  TSI_TRY((tristar_status)atomic_load(&numeric.status));
  factor->stats.perturbed_pivots = atomic_load(&numeric.perturbed);
out:
  if (blas) tsi_blas_release();
  tsi_tasks_destroy(&tasks);
  finish(&numeric, an->symbolic->count);
  TSI_FREE(env, row);
  TSI_FREE(env, col);
  TSI_FREE(env, magnitude);
  TSI_FREE(env, narrow);
  return status;
}
