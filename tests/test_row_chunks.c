/* Cuts of triangular matrices without supernodes: orders that stay triangular, chunks whose off-rows are
 * those of the definition, whether rows or columns are given; sweeps over them are complete DAGs, and their
 * steps read what they wait for; what a cut is said to cost is the heaviest path. */
#include "dag/dag.h"
#include "dag/steps.h"
#include "partition/row_chunks.h"
#include "tests/triangles.h"

static tsi_env env;

/* F in the order of a cut, by rows. */
static triangle_pattern reorder(const triangle_pattern *t, const tsi_row_cut *cut) {
  triangle_pattern out = {t->n, calloc((size_t)t->n + 1, sizeof *out.ptr),
                          malloc((size_t)(t->ptr[t->n] + 1) * sizeof *out.index)};
  int32_t *place = malloc((size_t)t->n * sizeof *place + 1);
  int64_t count = 0;
  CHECK(out.ptr != NULL && out.index != NULL && place != NULL);
  for (int32_t k = 0; k < t->n; k++) place[cut->order[k]] = k;
  for (int32_t k = 0; k < t->n; k++) {
    const int32_t i = cut->order[k];
    for (int64_t e = t->ptr[i]; e < t->ptr[i + 1]; e++) out.index[count++] = place[t->index[e]];
    out.ptr[k + 1] = count;
  }
  free(place);
  return out;
}

static void check_off_rows(const triangle_pattern *f, const tsi_chunks *chunks) {
  int32_t *owner = malloc((size_t)f->n * sizeof *owner + 1), at = 0;
  CHECK(owner != NULL);
  tsi_chunk_owners(chunks, owner);
  for (tsi_index c = 0; c < chunks->count; c++) {
    int64_t entries = 0;
    at = 0;
    for (int32_t i = 0; i < f->n; i++) {
      bool reads = false;
      for (int64_t e = f->ptr[i]; e < f->ptr[i + 1]; e++) reads |= owner[f->index[e]] == c;
      if (owner[i] == c) entries += f->ptr[i + 1] - f->ptr[i];
      if (!reads || owner[i] == c) continue;
      CHECK(chunks->off_ptr[c] + at < chunks->off_ptr[c + 1]);
      CHECK(chunks->off[chunks->off_ptr[c] + at++] == i);
    }
    CHECK(chunks->off_ptr[c] + at == chunks->off_ptr[c + 1]);
    CHECK(chunks->entries[c] == entries);
  }
  free(owner);
}

/* Sweeps forward and backward, and the steps of each. */
static void check_steps(const tsi_chunks *chunks) {
  tsi_sweep *sweep;
  tsi_dag *dag;
  tsi_index *order;
  CHECK_OK(tsi_sweep_create(&env, chunks, NULL, 8, &sweep));
  CHECK_OK(tsi_sweep_check(&env, sweep, chunks));
  CHECK_OK(tsi_dag_create(&env, sweep, sweep, &dag));
  order = malloc((size_t)dag->tasks * sizeof *order + 1);
  CHECK(order != NULL);
  CHECK_OK(tsi_dag_order(&env, dag, 3, order));
  for (int backward = 0; backward < 2; backward++) {
    const tsi_steps_source source = {.dag = dag,
                                     .order = order,
                                     .forward_chunks = chunks,
                                     .backward_chunks = chunks,
                                     .forward = !backward,
                                     .backward = backward,
                                     .in_place = true};
    tsi_steps *steps;
    CHECK_OK(tsi_steps_create(&env, &source, &steps)); /* checked there: every access is ordered by a path */
    CHECK(steps->count == chunks->count);
    if (steps->edges > 0) { /* and one edge less is found */
      const tsi_edge last = steps->edge[--steps->edges];
      tristar_status status = tsi_steps_check(&env, steps, &source);
      CHECK_MSG(status == TRISTAR_ERR_INTERNAL, "step %d need not wait for %d", last.item, last.before);
    }
    tsi_steps_destroy(&env, &steps);
  }
  free(order);
  tsi_dag_destroy(&env, &dag);
  tsi_sweep_destroy(&env, &sweep);
}

static void check_cut(const triangle_pattern *t, const triangle_pattern *columns,
                      const tsi_row_weights *weights, tsi_row_way way, tsi_index rows) {
  const tsi_lines by_rows = {t->n, t->ptr, t->index, false},
                  by_columns = {t->n, columns->ptr, columns->index, true};
  tsi_row_cut *cut, *same;
  tsi_chunks *chunks, *alike;
  CHECK_OK(tsi_row_cut_create(&env, &by_rows, weights, way, rows, &cut));
  CHECK_OK(tsi_row_cut_create(&env, &by_columns, weights, way, rows, &same));
  CHECK(cut->count == same->count && cut->bytes >= same->bytes && cut->bytes <= same->bytes);
  CHECK(cut->critical >= same->critical && cut->critical <= same->critical && cut->critical <= cut->bytes);
  CHECK(memcmp(cut->order, same->order, (size_t)t->n * sizeof *cut->order) == 0);
  CHECK(memcmp(cut->start, same->start, ((size_t)cut->count + 1) * sizeof *cut->start) == 0);
  if (way == TSI_ROWS_WHOLE) CHECK(cut->count == (t->n > 0) && cut->critical >= cut->bytes);
  triangle_pattern f = reorder(t, cut), f_columns = triangle_transpose(&f);
  const tsi_lines lines = {f.n, f.ptr, f.index, false},
                  lines_columns = {f.n, f_columns.ptr, f_columns.index, true};
  CHECK_OK(tsi_row_chunks_create(&env, &lines, cut->count, cut->start, &chunks));
  CHECK_OK(tsi_row_chunks_create(&env, &lines_columns, cut->count, cut->start, &alike));
  check_off_rows(&f, chunks);
  check_off_rows(&f, alike);
  if (cut->count > 0) check_steps(chunks);
  tsi_chunks_destroy(&env, &chunks);
  tsi_chunks_destroy(&env, &alike);
  triangle_free(&f);
  triangle_free(&f_columns);
  tsi_row_cut_destroy(&env, &cut);
  tsi_row_cut_destroy(&env, &same);
}

/* A diagonal: as many chunks as workers, one task deep; a chain: one chunk, however it is cut. */
static void check_levels(void) {
  triangle_pattern diagonal = triangle_create(TRIANGLE_DIAGONAL, 1000, 1),
                   chain = triangle_create(TRIANGLE_CHAIN, 1000, 1);
  const tsi_row_weights weights = {.entry = 12, .row = 40, .task = 1000, .workers = 4};
  const tsi_lines lines[2] = {{1000, diagonal.ptr, diagonal.index, false},
                              {1000, chain.ptr, chain.index, false}};
  tsi_index level[1000];
  tsi_row_cut *cut;
  CHECK(tsi_row_levels(&lines[0], level) == 1 && tsi_row_levels(&lines[1], level) == 1000);
  CHECK_OK(tsi_row_cut_create(&env, &lines[0], &weights, TSI_ROWS_LEVELS, 0, &cut));
  CHECK(cut->count == 4 && cut->critical < 0.3 * cut->bytes);
  tsi_row_cut_destroy(&env, &cut);
  CHECK_OK(tsi_row_cut_create(&env, &lines[1], &weights, TSI_ROWS_LEVELS, 0, &cut));
  CHECK(cut->count == 1);
  tsi_row_cut_destroy(&env, &cut);
  triangle_free(&diagonal);
  triangle_free(&chain);
}

int main(void) {
  static const int32_t orders[] = {0, 1, 2, 37, 150};
  tsi_env_init(&env);
  env.check = true;
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int k = 0; k < 5; k++) {
      triangle_pattern t = triangle_create(kind, orders[k], (uint64_t)(kind + 10 * k)),
                       columns = triangle_transpose(&t);
      for (int workers = 1; workers < 6; workers += 2)
        for (int task = 1; task < 100000; task *= 30) {
          const tsi_row_weights weights = {.entry = 12, .row = 40, .task = task, .workers = workers};
          check_cut(&t, &columns, &weights, TSI_ROWS_WHOLE, 0);
          check_cut(&t, &columns, &weights, TSI_ROWS_LEVELS, 0);
          check_cut(&t, &columns, &weights, TSI_ROWS_BLOCKS, 1 + task % 16);
        }
      triangle_free(&t);
      triangle_free(&columns);
    }
  check_levels();
  return 0;
}
