/* The task graph of the factorization: ranges of supernodes at the bottom and along chains, fronts above
 * them, tiles of big fronts. See numeric.h.
 *
 * A heavy front is cut into tiles. Of the rest a task takes a range of supernodes, in their order, which is a
 * postorder: a subtree whose work is below a fraction of the total, siblings (or roots) with it up to a part
 * of that, and the front above them if all its children are there; so forests and chains of millions of
 * supernodes make no more tasks than one big tree. The work of a supernode counts its flops, its entries and
 * the calls that it takes. The cut depends on the structure only: the same tiles, hence the same bits, on any
 * number of workers, and when the tasks run one after the other without StarPU.
 *
 * Reads   the analysis.   Writes  tasks, a builder that lives meanwhile.
 * Invariants
 *   - supernodes before the open range have their task, those from the one being looked at have none
 *   - what joins a range is whole subtrees, or the front whose children are all in it: no task that was there
 * before waits for more than it did
 *   - to a range that waits for other tasks only negligible work is added that does not have to wait */
#include <limits.h>
#include <math.h>

#include "runtime/starpu/blas.h"
#include "runtime/base/clock.h"
#include "runtime/factor/factor.h"
#include "runtime/factor/numeric.h"
#include "runtime/factor/scaling.h"
#include "runtime/starpu/tasks.h"

#define SUBTREE_SHARE (1.0 / 100) /* of the work, for one bottom task */
#define TASK_WORK 4e6             /* a subtree lighter than this is never worth more than one task */
#define RANGE_SHARE (1.0 / 4)     /* of the largest subtree in one task, for what else joins it */
#define NEGLIGIBLE_WORK 1e5       /* less than a task costs */
#define TILED_FLOPS 1e8           /* a front heavier than this is cut into tiles */
#define TILE_ROWS TSI_TILE
#define FLOPS_PER_MICROSECOND 25e3
#define ENTRY_WORK 4   /* in flops: to clear, assemble and pack an entry, for the most part in caches */
#define FRONT_WORK 1e4 /* in flops: all calls that a front takes */

/* Consecutive supernodes that are to be one task. */
typedef struct range {
  tsi_index first, last; /* first TSI_NONE: there is none */
  double work;
  bool waits; /* for other tasks */
} range;

/* What builds the graph. Work is in flops. */
typedef struct builder {
  tsi_numeric *numeric;
  tsi_tasks *tasks;
  double *subtree; /* by supernode: the work of its subtree */
  double *tree;    /* by supernode: the work of the tree that it is in */
  double limit;    /* of one task */
  tsi_index *done; /* by supernode: the task after which its complement is complete */
  range open;      /* may still grow */
  tsi_index tiled; /* the front that is being cut */
} builder;

static void run_fronts(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_fronts_whole(context, argument[0], argument[1]);
}

/* The tiled front of a task. */
static tsi_open_front *tiled_front(tsi_numeric *numeric, const tsi_index argument[4]) {
  return &numeric->tiled[argument[3]];
}

static void run_open(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_open(context, tiled_front(context, argument));
}
static void run_assemble(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_assemble(context, tiled_front(context, argument), argument[0], argument[1]);
}
static void run_assembled(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_assembled(context, tiled_front(context, argument));
}
static void run_diagonal(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_diagonal(context, &tiled_front(context, argument)->front, argument[0]);
}
static void run_pack(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_pack(context, &tiled_front(context, argument)->front, argument[0]);
}
static void run_close(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_close(context, tiled_front(context, argument));
}

/* Panel argument[0], front rows (or columns) argument[1] .. argument[2]-1. */
static void run_below(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_tile(context, &tiled_front(context, argument)->front, argument[0], false, argument[1],
                 argument[2]);
}
static void run_right(void *context, const tsi_index argument[4], int worker) {
  (void)worker;
  tsi_front_tile(context, &tiled_front(context, argument)->front, argument[0], true, argument[1],
                 argument[2]);
}
/* Tile row argument[0], tile column argument[1] of the complement. */
static void run_schur(void *context, const tsi_index argument[4], int worker) {
  tsi_numeric *numeric = context;
  const tsi_front *front = &tiled_front(numeric, argument)->front;
  const tsi_index r0 = argument[0] * TILE_ROWS, c0 = argument[1] * TILE_ROWS;
  (void)worker;
  if (tsi_numeric_failed(numeric)) return;
  numeric->kernels->schur(front, r0, tsi_index_min(front->m, r0 + TILE_ROWS), c0,
                          tsi_index_min(front->m, c0 + TILE_ROWS));
}

/* Flops of a front (Cholesky; LU twice that). */
static double front_flops(const builder *build, tsi_index s) {
  const tsi_symbolic *symbolic = build->numeric->analysis->symbolic;
  const double w = symbolic->start[s + 1] - symbolic->start[s];
  const double m = (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return (build->numeric->upper ? 2 : 1) * (w * w * w / 3 + w * w * m + w * m * m);
}

static double front_work(const builder *build, tsi_index s) {
  const tsi_symbolic *symbolic = build->numeric->analysis->symbolic;
  const double w = symbolic->start[s + 1] - symbolic->start[s];
  const double f = w + (double)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  return front_flops(build, s) + ENTRY_WORK * f * f + FRONT_WORK;
}

static tristar_status add(builder *build, const char *name, tsi_task_run run, tsi_index a0, tsi_index a1,
                          tsi_index a2, tsi_index s, double work, tsi_index *number) {
  const tsi_index argument[4] = {a0, a1, a2, build->tiled};
  /* what its tree has but for what is below s; within a front earlier tasks come first by their edges */
  const double priority = build->tree[s] - build->subtree[s] + front_work(build, s) + 1;
  return tsi_tasks_add(build->tasks, name, run, build->numeric, argument, priority,
                       1 + work / FLOPS_PER_MICROSECOND, number);
}

/* Task `task` takes supernodes first .. last and waits for their children that are not among them, of which
 * consecutive ones are often done by the same task. */
static tristar_status wait_for_children(builder *build, tsi_index first, tsi_index last, tsi_index task) {
  tristar_status status = TRISTAR_OK;
  const tsi_numeric *numeric = build->numeric;
  tsi_index before = TSI_NONE;
  for (tsi_index s = first; s <= last; s++)
    for (tsi_index k = numeric->child_ptr[s]; k < numeric->child_ptr[s + 1] && numeric->child[k] < first;
         k++) {
      if (build->done[numeric->child[k]] == before) continue;
      before = build->done[numeric->child[k]];
      TSI_TRY(tsi_tasks_after(build->tasks, task, before));
    }
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
  TSI_TRY(add(build, "front_open", run_open, 0, 0, 0, s, 1e6, &open));
  TSI_TRY(wait_for_children(build, s, s, open));
  for (tsi_index k = 0; k < pieces; k++) {
    const tsi_index c1 = tsi_index_min(t->f, (k + 1) * TILE_ROWS);
    TSI_TRY(
        add(build, "front_assemble", run_assemble, k * TILE_ROWS, c1, 0, s, 20.0 * TILE_ROWS * t->f, &piece));
    TSI_TRY(tsi_tasks_after(build->tasks, piece, open));
    tasks[k] = piece;
  }
  TSI_TRY(add(build, "front_assembled", run_assembled, 0, 0, 0, s, 0, assembled));
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
      TSI_TRY(add(build, "front_schur", run_schur, i, j, 0, s, 2.0 * TILE_ROWS * TILE_ROWS * t->w, &task));
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
  TSI_TRY(add(build, "front_close", run_close, 0, 0, 0, s, 0, &close));
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
  build->numeric->tiled[build->tiled].s = s;
  t.w = symbolic->start[s + 1] - symbolic->start[s];
  t.f = t.w + (tsi_index)(symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]);
  t.start = an->panels->start + an->panels->first[s];
  t.inner = an->panels->first[s + 1] - an->panels->first[s];
  t.count = t.inner + (t.f - t.w + TILE_ROWS - 1) / TILE_ROWS;
  TSI_TRY(TSI_ALLOC(build->numeric->env, latest, 2 * (tsi_count)t.count));
  TSI_TRY(add_assembly(build, s, &t, &assembled));
  TSI_TRY(add_panels(build, s, &t, assembled, latest, latest + t.count));
  TSI_TRY(add_end(build, s, &t, latest, latest + t.count));
  build->tiled++;
out:
  TSI_FREE(build->numeric->env, latest);
  return status;
}

static void weigh(builder *build) {
  const tsi_symbolic *symbolic = build->numeric->analysis->symbolic;
  double total = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) build->subtree[s] = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    build->subtree[s] += front_work(build, s);
    if (parent != TSI_NONE)
      build->subtree[parent] += build->subtree[s];
    else
      total += build->subtree[s];
  }
  for (tsi_index s = symbolic->count; s-- > 0;) {
    const tsi_index parent = symbolic->parent[s];
    build->tree[s] = parent == TSI_NONE ? build->subtree[s] : build->tree[parent];
  }
  build->limit = fmax(total * SUBTREE_SHARE, TASK_WORK);
}

/* The open range becomes a task. */
static tristar_status add_range(builder *build) {
  tristar_status status = TRISTAR_OK;
  const range *open = &build->open;
  tsi_index task;
  if (open->first == TSI_NONE) return TRISTAR_OK;
  TSI_TRY(add(build, open->waits ? "front" : "subtree", run_fronts, open->first, open->last, 0, open->last,
              open->work, &task));
  if (open->waits) TSI_TRY(wait_for_children(build, open->first, open->last, task));
  for (tsi_index s = open->first; s <= open->last; s++) build->done[s] = task;
  build->open.first = TSI_NONE;
out:
  return status;
}

/* Is it worth the while to let supernodes of so much work, the next ones, join the open range? */
static bool has_room(const builder *build, double work) {
  return build->open.first != TSI_NONE && build->open.work + work <= RANGE_SHARE * build->limit;
}

/* Subtree first .. s joins its siblings. A tree that waits for nothing would have to wait with roots that do.
 */
static bool joins_siblings(const builder *build, tsi_index s) {
  const tsi_index *parent = build->numeric->analysis->symbolic->parent;
  if (!has_room(build, build->subtree[s]) || parent[build->open.last] != parent[s]) return false;
  return !build->open.waits || (parent[s] != TSI_NONE && build->subtree[s] < NEGLIGIBLE_WORK);
}

static bool has_children(const builder *build, tsi_index s) {
  return build->numeric->child_ptr[s] < build->numeric->child_ptr[s + 1];
}

/* Front s joins its children if they are all in the range. */
static bool joins_children(const builder *build, tsi_index s) {
  return has_children(build, s) && has_room(build, front_work(build, s)) &&
         build->numeric->child[build->numeric->child_ptr[s]] >= build->open.first;
}

/* Puts supernodes first .. last into the open range, or closes that and opens one. */
static tristar_status put(builder *build, tsi_index first, tsi_index last, double work, bool joins,
                          bool waits) {
  tristar_status status = TRISTAR_OK;
  if (joins) {
    build->open.last = last;
    build->open.work += work;
    return TRISTAR_OK;
  }
  TSI_TRY(add_range(build));
  build->open = (range){first, last, work, waits};
out:
  return status;
}

static bool is_subtree(const builder *build, tsi_index s) {
  return build->subtree[s] <= build->limit;
}
static bool is_tiled(const builder *build, tsi_index s) {
  return !is_subtree(build, s) && front_flops(build, s) >= TILED_FLOPS;
}

static tristar_status add_supernodes(builder *build) {
  tristar_status status = TRISTAR_OK;
  const tsi_symbolic *symbolic = build->numeric->analysis->symbolic;
  tsi_index first = 0; /* of the subtree that is being walked */
  build->open.first = TSI_NONE;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (is_subtree(build, s)) {
      if (parent != TSI_NONE && is_subtree(build, parent)) continue; /* inside a larger one */
      TSI_TRY(put(build, first, s, build->subtree[s], joins_siblings(build, s), false));
    } else if (is_tiled(build, s)) {
      TSI_TRY(add_range(build));
      TSI_TRY(add_tiled_front(build, s));
    } else
      TSI_TRY(put(build, s, s, front_work(build, s), joins_children(build, s), has_children(build, s)));
    first = s + 1;
  }
  TSI_TRY(add_range(build));
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
  TSI_TRY(TSI_ALLOC(env, build.subtree, count));
  TSI_TRY(TSI_ALLOC(env, build.tree, count));
  TSI_TRY(TSI_ALLOC(env, build.done, count));
  weigh(&build);
  for (tsi_index s = 0; s < count; s++) numeric->tiled_count += is_tiled(&build, s);
  TSI_TRY(TSI_ALLOC_ZERO(env, numeric->tiled, numeric->tiled_count));
  TSI_TRY(add_supernodes(&build));
out:
  TSI_FREE(env, build.subtree);
  TSI_FREE(env, build.tree);
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
  atomic_init(&numeric->perturbed, 0);
  atomic_init(&numeric->stray, 0);
  atomic_init(&numeric->dependent, INT_MAX);
  atomic_init(&numeric->smallest, INFINITY);
  atomic_init(&numeric->largest, 0);
  atomic_init(&numeric->done, 0);
  atomic_init(&numeric->percent, 0);
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->complement, count));
  TSI_TRY(TSI_ALLOC_ZERO(numeric->env, numeric->child_ptr, (tsi_count)count + 1));
  TSI_TRY(TSI_ALLOC(numeric->env, numeric->child, count));
  list_children(numeric);
out:
  return status;
}

/* Frees also what a failed factorization left behind. */
static void finish(tsi_numeric *numeric, tsi_index count) {
  for (tsi_index s = 0; numeric->complement && s < count; s++) TSI_FREE(numeric->env, numeric->complement[s]);
  for (tsi_index k = 0; numeric->tiled && k < numeric->tiled_count; k++) {
    TSI_FREE(numeric->env, numeric->tiled[k].front.p);
    TSI_FREE(numeric->env, numeric->tiled[k].front.q);
    TSI_FREE(numeric->env, numeric->tiled[k].position);
  }
  TSI_FREE(numeric->env, numeric->complement);
  TSI_FREE(numeric->env, numeric->tiled);
  TSI_FREE(numeric->env, numeric->child_ptr);
  TSI_FREE(numeric->env, numeric->child);
}

/* The entries of one list, those of U if upper: raises the sizes of their columns; gives the largest. */
static double gather_sizes(const tsi_numeric *numeric, const tsi_assembly *list, const double *magnitude,
                           bool upper, double *size) {
  const tristar_analysis_t *an = numeric->analysis;
  const bool llt = numeric->pivots == NULL, ldlt = numeric->inverse != NULL;
  double largest = 0;
  for (tsi_index j = 0; j < an->pattern->n; j++)
    for (tsi_count q = list->ptr[j]; q < list->ptr[j + 1]; q++) {
      const tsi_index other = list->other[q], row = upper ? j : other, column = upper ? other : j;
      const tsi_count p = list->source[q] < 0 ? ~list->source[q] : list->source[q];
      const double a = numeric->row_scale
                           ? tsi_scaled(magnitude[p], numeric->row_scale[row], numeric->col_scale[column])
                           : magnitude[p];
      if (a > largest) largest = a;
      if ((!llt || row == column) && a > size[column]) size[column] = a;
      if (ldlt && a > size[row]) size[row] = a;
    }
  return largest;
}

/* Scalings by final index; the sizes of scaled entries tell which pivots are tiny. */
static void scale(tsi_numeric *numeric, const tristar_factor_t *factor, const double *magnitude, double *row,
                  double *col, double *size) {
  const tristar_analysis_t *an = factor->analysis;
  if (factor->row_scale) {
    for (tsi_index j = 0; j < an->pattern->n; j++) {
      row[j] = factor->row_scale[an->in_row[j]];
      col[j] = factor->col_scale[an->out_row[j]];
    }
    numeric->row_scale = row;
    numeric->col_scale = col;
  }
  double largest = gather_sizes(numeric, &an->lower, magnitude, false, size);
  if (tsi_analysis_is_lu(an))
    largest = fmax(largest, gather_sizes(numeric, &an->upper, magnitude, true, size));
  numeric->epsilon = tsi_sparse_kernels_select(an->factor_scalar)->epsilon;
  numeric->tiny = sqrt(numeric->epsilon) * (largest > 0 ? largest : 1);
  numeric->size = size;
  numeric->refuse = an->options.singular == TRISTAR_SINGULAR_REFUSE && !numeric->wide;
}

/* Once per context. */
static void warn_of_blas(tristar_t *ts) {
  const char *took, *better;
  if (!tsi_blas_mistaken(&took, &better) || atomic_exchange(&ts->blas_told, true)) return;
  tsi_log(&ts->env, TRISTAR_LOG_WARNING,
          "OpenBLAS does not know this processor and takes it for a %s, which factors at half the speed: set "
          "OPENBLAS_CORETYPE=%s before the program starts",
          took, better);
}

tristar_status tsi_factorize(tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  tsi_numeric numeric = {.env = env,
                         .analysis = an,
                         .kernels = tsi_front_kernels_select(an->factor_scalar),
                         .values = factor->values,
                         .wide = an->factor_scalar != an->pattern->scalar,
                         .adjoint = factor->adjoint,
                         .lower = factor->lower,
                         .upper = factor->upper,
                         .pivots = factor->pivots,
                         .inverse = factor->inverse};
  tsi_tasks *tasks = NULL;
  double *row = NULL, *col = NULL, *magnitude = NULL, *size = NULL;
  bool blas = false;
  TSI_TRY(start(&numeric, factor));
  TSI_TRY(tsi_pattern_part(env, an->pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  TSI_TRY(tsi_scaling_choose(factor, magnitude));
  if (factor->row_scale) {
    TSI_TRY(TSI_ALLOC(env, row, an->pattern->n));
    TSI_TRY(TSI_ALLOC(env, col, an->pattern->n));
  }
  TSI_TRY(TSI_ALLOC_ZERO(env, size, an->pattern->n));
  scale(&numeric, factor, magnitude, row, col, size);
  TSI_FREE(env, magnitude);
  TSI_TRY(build_tasks(&numeric, &tasks));
  if (factor->ts->workers.allowed && tsi_tasks_count(tasks) > 1) {
    TSI_TRY(tsi_context_need_starpu(factor->ts, &factor->stats.start_seconds));
    TSI_TRY(tsi_tasks_record(tasks));
  }
  warn_of_blas(factor->ts);
  tsi_blas_acquire();
  blas = true;
  TSI_TRY(tsi_tasks_run(tasks, false));
  TSI_TRY(tsi_failure_tell(env, &numeric.failure));
  TSI_TRY(tsi_numeric_check_dependent(&numeric));
  factor->stats.perturbed_pivots = atomic_load(&numeric.perturbed);
  factor->stats.smallest_pivot = an->pattern->n > 0 ? atomic_load(&numeric.smallest) : 0;
  factor->stats.largest_pivot = atomic_load(&numeric.largest);
out:
  if (blas) tsi_blas_release();
  tsi_tasks_destroy(&tasks);
  finish(&numeric, an->symbolic->count);
  TSI_FREE(env, row);
  TSI_FREE(env, col);
  TSI_FREE(env, size);
  TSI_FREE(env, magnitude);
  return status;
}
