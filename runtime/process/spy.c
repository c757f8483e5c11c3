/* Counts the entries of cells by their owners: see spy.h. */
#include "runtime/process/spy.h"

#include "codelets/cpu/rows/sparse.h"
#include "runtime/machine/calibration.h"
#include "runtime/process/layout_words.h"
#include "runtime/solve/plan.h"

/* For a cell: the owner of the longest run of entries, and of the current run. */
typedef struct cell_count {
  tsi_index best, now;
  tsi_count best_entries, entries;
} cell_count;

typedef struct spy_maker {
  tsi_index n;
  tsi_spy *spy;
  const tsi_chunks *chunks;
  const tsi_layout *layout; /* NULL: chunks are the owners */
  tsi_index *chunk_of;      /* n */
  cell_count *cell;
} spy_maker;

static tsi_index cell_of(const spy_maker *m, tsi_index i) {
  return (tsi_index)((tsi_count)i * m->spy->cells / m->n);
}

/* The first column of cell j. */
static tsi_index cell_begin(const spy_maker *m, tsi_index j) {
  return (tsi_index)(((tsi_count)j * m->n + m->spy->cells - 1) / m->spy->cells);
}

/* Owner of the entries of a chunk's columns in this row. */
static tsi_index owner_of(const spy_maker *m, tsi_index row, tsi_index chunk) {
  const tsi_layout *layout = m->layout;
  if (layout == NULL) return chunk;
  return tsi_layout_maker(layout, chunk, m->chunk_of[row]) +
         layout->px * layout->py * tsi_layout_home(layout, layout->node[chunk]);
}

static void add_entries(spy_maker *m, tsi_index row, tsi_index column_cell, tsi_index chunk,
                        tsi_count entries) {
  cell_count *cell = &m->cell[(tsi_count)cell_of(m, row) * m->spy->cells + column_cell];
  const tsi_index owner = owner_of(m, row, chunk);
  if (owner != cell->now) {
    cell->now = owner;
    cell->entries = 0;
  }
  cell->entries += entries;
  if (cell->entries <= cell->best_entries) return;
  cell->best = owner;
  cell->best_entries = cell->entries;
}

/* Counts columns first .. end-1 of supernode s, which are in one chunk and one cell. */
static void add_columns(spy_maker *m, const tsi_symbolic *symbolic, tsi_index s, tsi_index first,
                        tsi_index end) {
  const tsi_index chunk = m->chunk_of[first], column_cell = cell_of(m, first);
  for (tsi_index row = first; row < symbolic->start[s + 1]; row++)
    add_entries(m, row, column_cell, chunk, tsi_index_min(end, row + 1) - first);
  for (tsi_count e = symbolic->row_ptr[s]; e < symbolic->row_ptr[s + 1]; e++)
    add_entries(m, symbolic->rows[e], column_cell, chunk, end - first);
}

static void add_supernode(spy_maker *m, const tsi_symbolic *symbolic, tsi_index s) {
  const tsi_index last = symbolic->start[s + 1];
  for (tsi_index first = symbolic->start[s], end; first < last; first = end) {
    const tsi_index chunk = m->chunk_of[first];
    end = tsi_index_min(last, cell_begin(m, cell_of(m, first) + 1));
    end = tsi_index_min(end, m->chunks->column[chunk + 1]);
    add_columns(m, symbolic, s, first, end);
  }
}

static tristar_status make_layout(const tristar_analysis_t *analysis, const tristar_layout *layout,
                                  tsi_layout **out) {
  tsi_env *env = &analysis->ts->env;
  TSI_TRY(tsi_layout_check_words(env, layout));
  const size_t scalar_bytes = tsi_sparse_kernels_select(analysis->factor_scalar)->scalar_bytes;
  const tsi_layout_options options =
      tsi_layout_options_of(layout, tsi_calibration_now(&analysis->ts->machine).floor_bytes,
                            analysis->symbolic->nnz_stored, scalar_bytes);
  return tsi_layout_create(env, analysis->symbolic, analysis->panels, &options, out);
}

static tristar_status fill(tsi_env *env, const tsi_symbolic *symbolic, spy_maker *m) {
  tristar_status status = TRISTAR_OK;
  const tsi_count cells = (tsi_count)m->spy->cells * m->spy->cells;
  TSI_TRY_OUT(TSI_ALLOC(env, m->chunk_of, m->n));
  TSI_TRY_OUT(TSI_ALLOC(env, m->cell, cells));
  TSI_TRY_OUT(TSI_ALLOC(env, m->spy->owner, cells));
  tsi_chunk_owners(m->chunks, m->chunk_of);
  for (tsi_count k = 0; k < cells; k++) m->cell[k] = (cell_count){TSI_NONE, TSI_NONE, 0, 0};
  for (tsi_index s = 0; s < symbolic->count; s++) add_supernode(m, symbolic, s);
  for (tsi_count k = 0; k < cells; k++) m->spy->owner[k] = m->cell[k].best;
out:
  TSI_FREE(env, m->chunk_of);
  TSI_FREE(env, m->cell);
  return status;
}

tristar_status tsi_spy_create(const tristar_analysis_t *analysis, const tristar_plan_t *plan,
                              const tristar_layout *layout, int cells, tsi_spy **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &analysis->ts->env;
  tsi_layout *made = NULL;
  spy_maker m = {.n = analysis->symbolic->n};
  *out = NULL;
  if (layout != NULL) TSI_TRY_OUT(make_layout(analysis, layout, &made));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, m.spy, 1));
  m.layout = made;
  m.chunks = made ? made->chunks : plan->side[0].chunks;
  m.spy->cells = tsi_index_min(cells, m.n);
  m.spy->owners = made ? tsi_layout_ranks(made) : m.chunks->count;
  TSI_TRY_OUT(fill(env, analysis->symbolic, &m));
  *out = tsi_take(&m.spy);
out:
  tsi_spy_destroy(analysis, &m.spy);
  TSI_FREE(env, made);
  return status;
}

void tsi_spy_destroy(const tristar_analysis_t *analysis, tsi_spy **spy) {
  if (*spy == NULL) return;
  TSI_FREE(&analysis->ts->env, (*spy)->owner);
  TSI_FREE(&analysis->ts->env, *spy);
}
