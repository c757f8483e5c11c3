/* The steps of a factorization with numbers, on one thread. In any legal order they give the same bits, for
 * each method, and each step reads and writes only the data that it declares. For that, all data that a step
 * must not read are set to NaN before it runs, which would appear in the factor. */
#include "runtime/factor/factor.h"
#include "runtime/factor/numeric.h"
#include "runtime/exec/starpu/blas.h"
#include "tests/support/context.h"
#include "tests/support/factor_bits.h"
#include "tests/support/dags.h"
#include "tests/support/subtests.h"
#include "tristar_matrix.h"

/* ---- What is in memory, and what a step may do with it ---- */

/* An array that steps may access. It has been freed once *slot no longer points to it. */
typedef struct object {
  void *const *slot;
  char *at;
  size_t size; /* size of an element */
  tsi_count count;
  unsigned char *mode; /* for each element: a tsi_access_mode; 0: not declared */
  char *saved;
} object;

typedef enum phase { CLOSED, ASSEMBLING, TILES } phase;

typedef struct memory {
  tsi_numeric *numeric;
  const tsi_access_list *list;
  phase *phase; /* for each front with tiles */
  tsi_index objects;
  object *object;
  tsi_index step; /* the step that runs next */
} memory;

static unsigned char mode_of(const memory *m, tsi_buffer_kind kind, tsi_index item, tsi_count row) {
  unsigned char mode = 0;
  for (tsi_count q = m->list->ptr[m->step]; q < m->list->ptr[m->step + 1]; q++) {
    const tsi_access *a = &m->list->access[q];
    if (a->kind == kind && a->item == item && row >= a->first && row < a->end) mode |= (unsigned char)a->mode;
  }
  return mode;
}

static object *add_object(memory *m, void *const *slot, size_t size, tsi_count count) {
  object *o = &m->object[m->objects++];
  *o = (object){.slot = slot, .at = *slot, .size = size, .count = count};
  o->mode = xcalloc((size_t)count + 1, 1);
  o->saved = xmalloc((size_t)count * size + 1);
  memcpy(o->saved, o->at, (size_t)count * size);
  return o;
}

/* Returns the tile of a column or row of a front. */
static tsi_index tile_of(const tsi_front_tiles *t, tsi_index j) {
  tsi_index k = 0;
  while (tsi_front_tile_end(t, k) <= j) k++;
  return k;
}

/* Adds the entries of the complement of s: by columns while the front is assembled, later by tiles. */
static void add_complement(memory *m, tsi_index s, bool columns, bool tiles) {
  const tsi_factorization *dag = m->numeric->dag;
  const tsi_front_tiles t = tsi_factorization_tiles(dag, s);
  const tsi_index below = t.f - t.w, side = t.count - t.inner;
  const bool full = m->numeric->full;
  if (m->numeric->complement[s] == NULL) return;
  object *o = add_object(m, &m->numeric->complement[s], m->numeric->kernels->scalar_bytes,
                         tsi_complement_size(below, full));
  for (tsi_index j = 0; j < below; j++) {
    const unsigned char column = columns ? mode_of(m, TSI_BUFFER_FRONT, s, t.w + j) : 0;
    const tsi_index first = tsi_tile_row(j, full);
    unsigned char tile = 0;
    for (tsi_index i = first; i < below; i++) {
      if (tiles && (i == first || i % t.tile == 0))
        tile = mode_of(m, TSI_BUFFER_COMPLEMENT, s, (tsi_count)(i / t.tile) * side + j / t.tile);
      o->mode[tsi_complement_entry(below, i, j, full)] |= column | tile;
    }
  }
}

/* Adds the positions of the children's complements in the front of s. */
static void add_positions(memory *m, const tsi_open_front *open) {
  const tsi_factorization *dag = m->numeric->dag;
  const tsi_count *row_ptr = dag->symbolic->row_ptr;
  tsi_count rows = 0;
  for (tsi_index k = dag->child_ptr[open->s]; k < dag->child_ptr[open->s + 1]; k++)
    rows += row_ptr[dag->child[k] + 1] - row_ptr[dag->child[k]];
  object *o = add_object(m, (void *const *)&open->position, sizeof(tsi_index), rows);
  memset(o->mode, mode_of(m, TSI_BUFFER_POSITION, open->s, 0), (size_t)rows);
}

/* Adds P, Q and the positions of an open front; C is a complement. Without U all of P belongs to its rows. */
static void add_front(memory *m, const tsi_open_front *open, bool columns, bool tiles) {
  const tsi_front *front = &open->front;
  const tsi_front_tiles t = tsi_factorization_tiles(m->numeric->dag, open->s);
  const size_t size = m->numeric->kernels->scalar_bytes;
  object *p = add_object(m, &front->p, size, (tsi_count)t.f * t.w);
  OWNED unsigned char *row = xcalloc((size_t)t.f + 1, 1);
  for (tsi_index i = 0; tiles && i < t.f; i++) row[i] = mode_of(m, TSI_BUFFER_FRONT_ROWS, open->s, i);
  for (tsi_index j = 0; j < t.w; j++) {
    const unsigned char whole = columns ? mode_of(m, TSI_BUFFER_FRONT, open->s, j) : 0;
    const unsigned char above = tiles ? mode_of(m, TSI_BUFFER_FRONT_COLUMNS, open->s, j) : 0;
    const tsi_index below = front->q ? tsi_front_tile_begin(&t, tile_of(&t, j)) : 0;
    for (tsi_index i = 0; i < t.f; i++)
      p->mode[(tsi_count)j * t.f + i] |= whole | (i < below ? above : row[i]);
  }
  if (front->q) {
    object *q = add_object(m, &front->q, size, (tsi_count)t.w * (t.f - t.w));
    for (tsi_index j = t.w; j < t.f; j++) {
      const unsigned char whole = columns ? mode_of(m, TSI_BUFFER_FRONT, open->s, j) : 0;
      const unsigned char above = tiles ? mode_of(m, TSI_BUFFER_FRONT_COLUMNS, open->s, j) : 0;
      memset(q->mode + (tsi_count)(j - t.w) * t.w, whole | above, (size_t)t.w);
    }
  }
  if (open->position) add_positions(m, open);
}

/* Adds the factor and the values of the matrix. */
static void add_factor(memory *m, tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t size = factor->scalar_bytes;
  const tsi_index n = an->pattern->n;
  void *const *streams[] = {&factor->lower, &factor->upper};
  object *pivots = NULL, *inverse = NULL;
  for (int k = 0; k < 2; k++) {
    if (*streams[k] == NULL) continue;
    object *o = add_object(m, streams[k], size, an->panel_values[an->panels->count]);
    for (tsi_index p = 0; p < an->panels->count; p++)
      memset(o->mode + an->panel_values[p], mode_of(m, TSI_BUFFER_PANEL, 0, p),
             (size_t)(an->panel_values[p + 1] - an->panel_values[p]));
  }
  if (factor->pivots) pivots = add_object(m, (void *const *)&factor->pivots, sizeof(tsi_index), n);
  if (factor->inverse) inverse = add_object(m, &factor->inverse, 2 * size, n);
  for (tsi_index j = 0, p = 0; j < n; j++) {
    while (an->panels->start[p + 1] <= j) p++;
    if (pivots) pivots->mode[j] = mode_of(m, TSI_BUFFER_PIVOT, 0, p);
    if (inverse) inverse->mode[j] = mode_of(m, TSI_BUFFER_PIVOT, 0, p);
  }
  object *values = add_object(m, &factor->values, size, an->pattern->ptr[n]);
  const tsi_assembly *lists[] = {&an->lower, &an->upper};
  for (int k = 0; k < (tsi_analysis_is_lu(an) ? 2 : 1); k++)
    for (tsi_index j = 0; j < n; j++)
      for (tsi_count q = lists[k]->ptr[j]; q < lists[k]->ptr[j + 1]; q++) {
        const tsi_count e = lists[k]->source[q];
        values->mode[e < 0 ? ~e : e] |= mode_of(m, TSI_BUFFER_VALUES, 0, j);
      }
}

/* Lists the memory of all fronts. While a front is converted to tiles, both forms are listed. */
static void list_memory(memory *m, tristar_factor_t *factor) {
  const tsi_factorization *dag = m->numeric->dag;
  const tsi_front_step *part = &dag->part[m->step];
  m->objects = 0;
  for (tsi_index s = 0, k = 0; s < dag->symbolic->count; s++) {
    bool columns = false, tiles = true;
    if (k < dag->tiled_count && dag->tiled[k] == s) {
      const bool turns = part->tiled == k && dag->steps->step[m->step].kind == TSI_STEP_FRONT_ASSEMBLED;
      columns = m->phase[k] == ASSEMBLING;
      tiles = m->phase[k] == TILES || turns || m->phase[k] == CLOSED;
      if (m->numeric->tiled[k].front.p) add_front(m, &m->numeric->tiled[k], columns, tiles);
      k++;
    }
    add_complement(m, s, columns, tiles);
  }
  add_factor(m, factor);
}

/* Returns the end of the elements from e on that have the same mode. */
static tsi_count same_until(const object *o, tsi_count e) {
  tsi_count end = e + 1;
  while (end < o->count && o->mode[end] == o->mode[e]) end++;
  return end;
}

/* Fills memory that the step must not read with NaN or -1. */
static void spoil(const memory *m) {
  for (tsi_index k = 0; k < m->objects; k++) {
    const object *o = &m->object[k];
    for (tsi_count e = 0, end; e < o->count; e = end) {
      end = same_until(o, e);
      if (!(o->mode[e] & TSI_ACCESS_R))
        memset(o->at + (size_t)e * o->size, 0xff, (size_t)(end - e) * o->size);
    }
  }
}

static bool is_spoilt(const char *at, size_t bytes) {
  return (unsigned char)at[0] == 0xff && memcmp(at, at + 1, bytes - 1) == 0;
}

/* Memory that the step must not write is unchanged, and is restored. Freed memory must have been declared
 * as written. */
static void check_memory(memory *m, const char *name) {
  const tsi_step_kind kind = m->numeric->dag->steps->step[m->step].kind;
  for (tsi_index k = 0; k < m->objects; k++) {
    object *o = &m->object[k];
    const bool gone = *o->slot != (void *)o->at;
    for (tsi_count e = 0, end; e < o->count; e = end) {
      end = same_until(o, e);
      if (o->mode[e] & TSI_ACCESS_W) continue;
      CHECK_MSG(!gone, "%s: step %d, %s, frees what it may not write", name, m->step, tsi_step_name(kind));
      char *at = o->at + (size_t)e * o->size, *before = o->saved + (size_t)e * o->size;
      const size_t bytes = (size_t)(end - e) * o->size;
      CHECK_MSG(o->mode[e] ? memcmp(at, before, bytes) == 0 : is_spoilt(at, bytes),
                "%s: step %d, %s, writes what it does not declare", name, m->step, tsi_step_name(kind));
      memcpy(at, before, bytes);
    }
    free(o->mode);
    free(o->saved);
  }
}

static void run_declared(memory *m, tristar_factor_t *factor, const char *name) {
  const tsi_step_kind kind = m->numeric->dag->steps->step[m->step].kind;
  const tsi_index tiled = m->numeric->dag->part[m->step].tiled;
  list_memory(m, factor);
  spoil(m);
  tsi_numeric_run_step(m->numeric, m->step);
  check_memory(m, name);
  if (kind == TSI_STEP_FRONT_OPEN) m->phase[tiled] = ASSEMBLING;
  if (kind == TSI_STEP_FRONT_ASSEMBLED) m->phase[tiled] = TILES;
  if (kind == TSI_STEP_FRONT_CLOSE) m->phase[tiled] = CLOSED;
}

/* ---- Runs ---- */

static tsi_count seen[TSI_STEP_KINDS]; /* number of steps in all runs */

/* Factors in a random legal order. If `declared`, checks the accesses of each step. */
static char *factor_in_order(tristar_factor_t *factor, const char *name,
                             const tsi_factorization_options *options, uint64_t seed, bool declared,
                             size_t *size) {
  tsi_env *env = &factor->ts->env;
  memory m = {0};
  tsi_access_list *list;
  tsi_pivot_sizes sizes;
  CHECK_OK(tsi_pivot_sizes_measure(factor, &sizes));
  /* every other front with tiles has the steps of a device, which cores run here */
  tsi_index *device = xmalloc((size_t)(factor->analysis->symbolic->count + 1) * sizeof *device);
  for (tsi_index s = 0; s < factor->analysis->symbolic->count; s++) device[s] = s % 2 ? 0 : TSI_NONE;
  const tsi_front_owners owners = {.device = device};
  CHECK_OK(tsi_numeric_create(factor, &sizes, options, &owners, false, &m.numeric));
  const tsi_factorization *dag = m.numeric->dag;
  CHECK_MSG(dag->tiled_count > 1, "%s: %d fronts are tiled", name, dag->tiled_count);
  tsi_index *order = xmalloc((size_t)(dag->steps->count + 1) * sizeof *order);
  CHECK_OK(tsi_factorization_list_accesses(env, dag, &list));
  m.list = list;
  m.phase = xcalloc((size_t)dag->tiled_count + 1, sizeof *m.phase);
  m.object = xmalloc((size_t)(dag->symbolic->count + 3 * dag->tiled_count + 8) * sizeof *m.object);
  choose_order(env, dag->steps, seed, order);
  for (tsi_index k = 0; k < dag->steps->count; k++) {
    m.step = order[k];
    seen[dag->steps->step[m.step].kind]++;
    if (declared)
      run_declared(&m, factor, name);
    else
      tsi_numeric_run_step(m.numeric, m.step);
  }
  CHECK_OK(tsi_numeric_finish(m.numeric, factor));
  TSI_FREE(env, list);
  tsi_numeric_destroy(&m.numeric);
  tsi_pivot_sizes_release(&sizes);
  free(device);
  free(m.phase);
  free(m.object);
  free(order);
  return bits_of(factor, size);
}

/* orders: number of orders in addition to the listed one. */
static void check(tristar_t *ts, const char *kind, int64_t k, tristar_method method, int orders,
                  bool declared, const tsi_factorization_options *options) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_analysis_options wish = DEFAULTS(tristar_analysis_options);
  size_t size, other;
  tristar_view view = generated_view(ts, kind, k, &matrix);
  wish.method = method;
  wish.merge = TRISTAR_MERGE_NONE; /* panels of 8 columns */
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *analysis = NEW_ANALYSIS(ts, &view, &wish);
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor = NEW_FACTOR(analysis, view.values);
  CHECK(factor->analysis->stats.method == method);
  OWNED char *reference = factor_in_order(factor, kind, options, 0, false, &size);
  for (int seed = 0; seed <= orders; seed++) {
    OWNED char *bits = factor_in_order(factor, kind, options, (uint64_t)seed, declared, &other);
    CHECK_MSG(other == size && memcmp(bits, reference, size) == 0, "%s: other bits in order %d", kind, seed);
  }
}

int test_factorization_orders(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const tsi_factorization_options small = {16, 2e4, 2e5, 0}, large = {64, 2e5, 1e6, 0};
  CLEANUP(close_context) tristar_t *ts = open_without_starpu(true);
  tsi_blas_acquire();
  RUN(check(ts, "poisson3d7", 12, TRISTAR_METHOD_LLT, 6, false, &small));
  RUN(check(ts, "poisson3d27", 14, TRISTAR_METHOD_LLT, 6, false, &large));
  RUN(check(ts, "convdiff3d", 12, TRISTAR_METHOD_LU, 6, false, &small));
  RUN(check(ts, "fusion2d", 8, TRISTAR_METHOD_LU, 6, false, &large));
  RUN(check(ts, "kkt3d", 8, TRISTAR_METHOD_LDLT, 6, false, &small));
  RUN(check(ts, "maxwell3d", 7, TRISTAR_METHOD_LDLT, 6, false, &large));
  RUN(check(ts, "poisson3d7", 7, TRISTAR_METHOD_LLT, 1, true, &small));
  RUN(check(ts, "convdiff3d", 7, TRISTAR_METHOD_LU, 1, true, &small));
  RUN(check(ts, "kkt3d", 6, TRISTAR_METHOD_LDLT, 1, true, &small));
  tsi_blas_release();
  for (tsi_step_kind k = TSI_STEP_SUBTREE; k <= TSI_STEP_FRONT_CLOSE; k++)
    CHECK_TOTAL(seen[k] > 0, "no step %s", tsi_step_name(k));
  return 0;
}
