/* Block cuts of triangles. The traffic of dense ones equals the tables of the paper. Every entry is in one
 * part, and checks find cuts that violate this. Features match the definition. Orders stay triangular and
 * within their blocks, level by level. A solve part by part gives x. */
#include "partition/cut/block_features.h"
#include "tests/support/env_allocations.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"

static const tsi_block_scheme schemes[] = {TSI_BLOCKS_COLUMN, TSI_BLOCKS_ROW, TSI_BLOCKS_RECURSIVE};
static tsi_env env;

/* ---- Traffic ------------------------------------------------------------------------------------------- */

static tsi_block_traffic traffic_of(tsi_index n, tsi_block_scheme scheme, tsi_index blocks) {
  tsi_block_cut *cut;
  CHECK_OK(tsi_block_cut_create(&env, n, scheme, blocks, &cut));
  const tsi_block_traffic t = tsi_block_cut_traffic(cut);
  TSI_FREE(&env, cut);
  return t;
}

/* The formulas of blocks.h, and their values in hundredths of n, as in published tables. */
static void check_tables(void) {
  static const struct { tsi_index blocks, depth; } cases[] = {{1, 0}, {4, 2}, {16, 4}, {256, 8}, {65536, 16}};
  for (int rows = 1; rows <= 5; rows += 4)
    for (int k = 0; k < 5; k++) {
      const tsi_index p = cases[k].blocks, n = 65536 * rows, block = n / p;
      const tsi_block_traffic column = traffic_of(n, TSI_BLOCKS_COLUMN, p),
                              row = traffic_of(n, TSI_BLOCKS_ROW, p),
                              recursive = traffic_of(n, TSI_BLOCKS_RECURSIVE, p);
      const tsi_count often = (tsi_count)n * (p - 1) / 2, once = n - block,
                      halves = (tsi_count)n * cases[k].depth / 2;
      CHECK(column.triangles == n && row.triangles == n && recursive.triangles == n);
      CHECK(column.updated == often && column.loaded == once);
      CHECK(row.updated == once && row.loaded == often);
      CHECK(recursive.updated == halves && recursive.loaded == halves);
    }
  static const tsi_index parts[] = {4, 16, 256, 65536};
  static const double b[3][4] = {
      {2.5, 8.5, 128.5, 32768.5}, {1.75, 1.94, 2.0, 2.0}, {2, 3, 5, 9}}; /* schemes: column, row, recursive */
  static const double x[3][4] = {{0.75, 0.94, 1.0, 1.0}, {1.5, 7.5, 127.5, 32767.5}, {1, 2, 4, 8}};
  const tsi_index n = 1 << 17;
  for (int s = 0; s < 3; s++)
    for (int k = 0; k < 4; k++) {
      const tsi_block_traffic t = traffic_of(n, schemes[s], parts[k]);
      const double updated = (double)(t.triangles + t.updated) / n, loaded = (double)t.loaded / n;
      CHECK_MSG(updated > b[s][k] - 0.005 && updated < b[s][k] + 0.005, "%g", updated);
      CHECK_MSG(loaded > x[s][k] - 0.005 && loaded < x[s][k] + 0.005, "%g", loaded);
    }
}

/* ---- Parts --------------------------------------------------------------------------------------------- */

static bool holds(const tsi_block_part *part, tsi_index i, tsi_index j) {
  return i >= part->first_row && i < part->end_row && j >= part->first_column && j < part->end_column;
}

/* Computes the levels of rows within their block. */
static void levels_in_blocks(const triangle_pattern *f, const tsi_index *block, tsi_index *level) {
  for (tsi_index i = 0; i < f->n; i++) {
    level[i] = 0;
    for (int64_t e = f->ptr[i]; e < f->ptr[i + 1]; e++) {
      const tsi_index j = f->index[e];
      if (j != i && block[j] == block[i] && level[j] >= level[i]) level[i] = level[j] + 1;
    }
  }
}

static void check_features(const tsi_block_cut *cut, const triangle_pattern *f, const tsi_index *block,
                           const tsi_index *level, const tsi_block_features *features) {
  for (tsi_index p = 0; p < cut->count; p++) {
    const tsi_block_part *part = &cut->part[p];
    tsi_block_features expected = {0, 0, 0};
    for (tsi_index i = part->first_row; i < part->end_row; i++) {
      const tsi_count before = expected.entries;
      for (int64_t e = f->ptr[i]; e < f->ptr[i + 1]; e++) {
        const tsi_index j = f->index[e];
        if (j == i || !holds(part, i, j)) continue;
        expected.entries++;
        CHECK(tsi_block_part_of(cut, block[i], block[j]) == p);
      }
      expected.filled += expected.entries > before;
      if (part->kind == TSI_BLOCK_TRIANGLE) expected.levels = tsi_index_max(expected.levels, level[i] + 1);
    }
    CHECK(features[p].entries == expected.entries && features[p].filled == expected.filled);
    CHECK(features[p].levels == expected.levels);
    const double empty = tsi_block_empty_share(part, &features[p]);
    CHECK(empty >= 0 && empty <= 1 && tsi_block_entries_a_row(part, &features[p]) >= 1 - empty - 1e-12);
    if (part->kind == TSI_BLOCK_TRIANGLE) CHECK(tsi_block_rows_a_level(part, &features[p]) >= 1);
  }
}

/* Solves F x = b part by part. Entries are 1, the diagonal is 2; for small n all x are small integers, so
 * the solution is exact. */
static void check_solve(const tsi_block_cut *cut, const triangle_pattern *f) {
  OWNED double *b = xcalloc((size_t)f->n + 1, sizeof *b);
  for (tsi_index i = 0; i < f->n; i++)
    for (int64_t e = f->ptr[i]; e < f->ptr[i + 1]; e++)
      b[i] += (f->index[e] == i ? 2 : 1) * (double)(f->index[e] % 7 + 1);
  for (tsi_index p = 0; p < cut->count; p++)
    for (tsi_index i = cut->part[p].first_row; i < cut->part[p].end_row; i++) {
      for (int64_t e = f->ptr[i]; e < f->ptr[i + 1]; e++)
        if (f->index[e] != i && holds(&cut->part[p], i, f->index[e])) b[i] -= b[f->index[e]];
      if (cut->part[p].kind == TSI_BLOCK_TRIANGLE) b[i] /= 2;
    }
  for (tsi_index i = 0; i < f->n; i++) CHECK(b[i] >= i % 7 + 1 && b[i] <= i % 7 + 1);
}

/* Even without entries the check detects parts that read undefined rows, and triangles that are not the
 * blocks. */
static void check_broken(tsi_block_cut *cut, const tsi_lines *lines) {
  for (tsi_index p = 0; p < cut->count; p++) {
    tsi_block_part *part = &cut->part[p];
    BROKEN(part->first_row, part->first_row - 1, tsi_block_cut_check(&env, cut, lines));
    BROKEN(part->end_row, cut->n + 1, tsi_block_cut_check(&env, cut, lines));
    BROKEN(part->end_row, part->first_row, tsi_block_cut_check(&env, cut, lines));
    BROKEN(part->end_column, part->end_column + 1, tsi_block_cut_check(&env, cut, lines));
    BROKEN(part->first_column, -1, tsi_block_cut_check(&env, cut, lines));
    BROKEN(part->kind, part->kind == TSI_BLOCK_TRIANGLE ? TSI_BLOCK_RECTANGLE : TSI_BLOCK_TRIANGLE,
           tsi_block_cut_check(&env, cut, lines));
  }
  BROKEN(cut->n, cut->n + 1, tsi_block_cut_check(&env, cut, lines));
  if (cut->blocks > 1) BROKEN(cut->start[1], cut->start[1] + 1, tsi_block_cut_check(&env, cut, lines));
  if (cut->blocks > 0) BROKEN(cut->blocks, cut->blocks - 1, tsi_block_cut_check(&env, cut, lines));
  CHECK_OK(tsi_block_cut_check(&env, cut, lines));
}

/* With all entries the check detects an entry that is in no part or in two. */
static void check_broken_dense(void) {
  CLEANUP(triangle_free)
  triangle_pattern t = triangle_create(TRIANGLE_DENSE, 24, 1), columns = triangle_transpose(&t);
  const tsi_lines lines[2] = {{t.n, t.ptr, t.index, false}, {t.n, columns.ptr, columns.index, true}};
  for (int s = 0; s < 3; s++) {
    tsi_block_cut *cut;
    CHECK_OK(tsi_block_cut_create(&env, t.n, schemes[s], 6, &cut));
    for (tsi_index p = 1; p < cut->count; p += 2)
      for (int by = 0; by < 2; by++) {
        tsi_block_part *part = &cut->part[p];
        BROKEN(part->first_row, part->first_row + 1, tsi_block_cut_check(&env, cut, &lines[by]));
        BROKEN(part->end_row, part->end_row - 1, tsi_block_cut_check(&env, cut, &lines[by]));
        BROKEN(part->first_column, part->first_column + 1, tsi_block_cut_check(&env, cut, &lines[by]));
        BROKEN(part->end_column, part->end_column - 1, tsi_block_cut_check(&env, cut, &lines[by]));
        if (part->first_column > 0)
          BROKEN(part->first_column, part->first_column - 1, tsi_block_cut_check(&env, cut, &lines[by]));
        if (part->end_row < cut->n)
          BROKEN(part->end_row, part->end_row + 1, tsi_block_cut_check(&env, cut, &lines[by]));
      }
    TSI_FREE(&env, cut);
  }
}

/* ---- Orders -------------------------------------------------------------------------------------------- */

static triangle_pattern reorder(const triangle_pattern *t, const tsi_index *order) {
  triangle_pattern out = {t->n, xcalloc((size_t)t->n + 1, sizeof *out.ptr),
                          xmalloc((size_t)(t->ptr[t->n] + 1) * sizeof *out.index)};
  OWNED int32_t *place = xmalloc((size_t)t->n * sizeof *place + 1);
  int64_t count = 0;
  CHECK(out.ptr != NULL && out.index != NULL);
  for (int32_t k = 0; k < t->n; k++) place[k] = -1;
  for (int32_t k = 0; k < t->n; k++) {
    CHECK(order[k] >= 0 && order[k] < t->n && place[order[k]] == -1); /* a permutation */
    place[order[k]] = k;
  }
  for (int32_t k = 0; k < t->n; k++) {
    for (int64_t e = t->ptr[order[k]]; e < t->ptr[order[k] + 1]; e++) {
      out.index[count++] = place[t->index[e]];
      CHECK(place[t->index[e]] <= k); /* triangular */
    }
    out.ptr[k + 1] = count;
  }
  return out;
}

static void check_order(const tsi_block_cut *cut, const triangle_pattern *t, const tsi_lines lines[2],
                        const tsi_index *block, bool whole) {
  const size_t bytes = (size_t)t->n * sizeof(tsi_index);
  OWNED tsi_index *order = xmalloc(bytes + 1), *same = xmalloc(bytes + 1), *level = xmalloc(bytes + 1);
  CHECK_OK(tsi_block_order(&env, cut, &lines[0], whole, order));
  CHECK_OK(tsi_block_order(&env, cut, &lines[1], whole, same));
  CHECK(memcmp(order, same, bytes) == 0);
  CLEANUP(triangle_free) triangle_pattern f = reorder(t, order);
  levels_in_blocks(&f, block, level);
  for (tsi_index k = 0; k < t->n; k++) {
    if (!whole) CHECK(block[order[k]] == block[k]);
    if (k > 0 && block[k] == block[k - 1]) {
      CHECK(level[k] >= level[k - 1]);
      if (!whole && level[k] == level[k - 1]) CHECK(order[k] > order[k - 1]);
    }
  }
  const tsi_lines ordered = {f.n, f.ptr, f.index, false};
  CHECK_OK(tsi_block_cut_check(&env, cut, &ordered));
  check_solve(cut, &f);
}

/* ---- Cases --------------------------------------------------------------------------------------------- */

static void check_cut(const triangle_pattern *t, const triangle_pattern *columns, tsi_block_scheme scheme,
                      tsi_index blocks) {
  const tsi_lines lines[2] = {{t->n, t->ptr, t->index, false}, {t->n, columns->ptr, columns->index, true}};
  tsi_block_cut *cut;
  CHECK_OK(tsi_block_cut_create(&env, t->n, scheme, blocks, &cut));
  CHECK(cut->blocks == tsi_index_min(blocks, t->n));
  CHECK(cut->count == (t->n > 0 ? 2 * cut->blocks - 1 : 0));
  for (tsi_index k = 0; k < cut->blocks; k++) {
    const tsi_index rows = cut->start[k + 1] - cut->start[k];
    CHECK(rows >= t->n / cut->blocks && rows <= t->n / cut->blocks + 1);
  }
  CHECK_OK(tsi_block_cut_check(&env, cut, &lines[0]));
  CHECK_OK(tsi_block_cut_check(&env, cut, &lines[1]));
  const size_t n = (size_t)t->n + 1, parts = (size_t)cut->count + 1;
  tsi_index *block = xmalloc(n * sizeof *block), *level = xmalloc(n * sizeof *level);
  tsi_block_features *features = xmalloc(2 * parts * sizeof *features);
  tsi_block_owners(cut, block);
  levels_in_blocks(t, block, level);
  for (int by = 0; by < 2; by++) {
    CHECK_OK(tsi_block_features_find(&env, cut, &lines[by], features));
    check_features(cut, t, block, level, features);
  }
  check_solve(cut, t);
  for (int by = 0; by < 2 && t->n <= 40; by++) check_broken(cut, &lines[by]);
  check_order(cut, t, lines, block, false);
  check_order(cut, t, lines, block, true);
  free(block);
  free(level);
  free(features);
  TSI_FREE(&env, cut);
}

/* Pairs of rows; the second one depends on the first. In the natural order each half has two levels.
 * Ordered by levels, the second rows form the lower half, and each triangle has one level. */
static void check_levels_gone(void) {
  enum { N = 64 };
  int64_t ptr[N + 1] = {0};
  int32_t index[2 * N], order[N];
  for (int32_t i = 0; i < N; i++) {
    int64_t e = ptr[i];
    if (i % 2) index[e++] = i - 1;
    index[e++] = i;
    ptr[i + 1] = e;
  }
  const triangle_pattern t = {N, ptr, index};
  const tsi_lines lines = {N, ptr, index, false};
  tsi_block_cut *cut;
  tsi_block_features f[3];
  CHECK_OK(tsi_block_cut_create(&env, N, TSI_BLOCKS_RECURSIVE, 2, &cut));
  CHECK_OK(tsi_block_features_find(&env, cut, &lines, f));
  CHECK(f[0].levels == 2 && f[2].levels == 2 && f[0].entries == 16 && f[1].entries == 0);
  CHECK(tsi_block_empty_share(&cut->part[1], &f[1]) >= 1);
  CHECK_OK(tsi_block_order(&env, cut, &lines, true, order));
  triangle_pattern ordered = reorder(&t, order);
  const tsi_lines ordered_lines = {N, ordered.ptr, ordered.index, false};
  CHECK_OK(tsi_block_features_find(&env, cut, &ordered_lines, f));
  CHECK(f[0].levels == 1 && f[2].levels == 1 && f[0].entries == 0 && f[2].entries == 0);
  CHECK(f[1].entries == 32 && f[1].filled == 32 && f[1].levels == 0);
  triangle_free(&ordered);
  TSI_FREE(&env, cut);
}

static void check_errors(void) {
  CHECK(tsi_block_default(0, 16) == 2 && tsi_block_default(1000000, 8) == 128);
  tsi_block_cut *cut;
  CHECK_STATUS(tsi_block_cut_create(&env, 5, TSI_BLOCKS_ROW, 0, &cut), TRISTAR_ERR_ARGUMENT);
  CHECK(cut == NULL);
  CHECK_STATUS(tsi_block_cut_create(&env, -1, TSI_BLOCKS_ROW, 1, &cut), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tsi_block_cut_create(&env, TSI_INDEX_MAX, TSI_BLOCKS_ROW, TSI_INDEX_MAX, &cut),
               TRISTAR_ERR_TOO_LARGE);
  CHECK(cut == NULL);
}

/* Each allocation fails in turn; no memory is lost. */
static void check_memory(void) {
  CLEANUP(triangle_free) triangle_pattern t = triangle_create(TRIANGLE_RANDOM, 30, 3);
  const tsi_lines lines = {t.n, t.ptr, t.index, false};
  tsi_env plain; /* without checks, which also allocate */
  tsi_env_init(&plain);
  allocation_failures failing = fail_allocations(&plain);
  while (next_failure(&failing)) {
    tsi_block_cut *cut = NULL;
    tsi_block_features features[15];
    tsi_index order[30];
    tristar_status status = tsi_block_cut_create(&plain, t.n, TSI_BLOCKS_RECURSIVE, 8, &cut);
    CHECK((cut != NULL) == (status == TRISTAR_OK));
    if (status == TRISTAR_OK) status = tsi_block_cut_check(&plain, cut, &lines);
    if (status == TRISTAR_OK) status = tsi_block_features_find(&plain, cut, &lines, features);
    if (status == TRISTAR_OK) status = tsi_block_order(&plain, cut, &lines, true, order);
    end_failure(&failing, status);
    TSI_FREE(&plain, cut);
  }
  CHECK(failing.count > 10);
}

int test_blocks(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const int32_t orders[] = {0, 1, 2, 5, 37, 150};
  static const tsi_index parts[] = {1, 2, 3, 4, 7, 16, 64, 1000};
  tsi_env_init(&env);
  env.check = true;
  RUN(check_tables());
  RUN(check_levels_gone());
  RUN(check_broken_dense());
  RUN(check_errors());
  RUN(check_memory());
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int k = 0; k < 6; k++) {
      triangle_pattern t = triangle_create(kind, orders[k], (uint64_t)(kind + 10 * k)),
                       columns = triangle_transpose(&t);
      for (int s = 0; s < 3; s++)
        for (int b = 0; b < 8; b++) RUN(check_cut(&t, &columns, schemes[s], parts[b]));
      triangle_free(&t);
      triangle_free(&columns);
    }
  return 0;
}
