/* Rows of block cuts in chunks for lanes. Reordered patterns match the definition. Chunks in any order that
 * their waits allow give the x of the solve by rows, bit for bit. Lanes share rows if that pays; checks find
 * planted faults. */
#include "partition/cut/block_features.h"
#include "partition/cut/block_rows.h"
#include "tests/support/env_allocations.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"

static const tsi_block_scheme schemes[] = {TSI_BLOCKS_COLUMN, TSI_BLOCKS_ROW, TSI_BLOCKS_RECURSIVE};
static tsi_env env;

/* ---- Patterns ------------------------------------------------------------------------------------------ */

/* Each entry of the pattern is the entry of the lines that `source` contains, and rows ascend. */
static void check_pattern(const tsi_lines *lines, const tsi_index *order, const tsi_block_pattern *pattern) {
  tsi_count below = 0;
  CHECK(pattern->lines.n == lines->n && pattern->lines.ptr == pattern->ptr && !pattern->lines.columns);
  TSI_FOR_EACH_BELOW(lines, i, j, {
    (void)i;
    (void)j;
    below++;
  });
  CHECK(pattern->ptr[lines->n] == below);
  for (tsi_index k = 0; k < lines->n; k++)
    for (tsi_count e = pattern->ptr[k]; e < pattern->ptr[k + 1]; e++) {
      const tsi_index i = order ? order[k] : k, j = order ? order[pattern->index[e]] : pattern->index[e];
      const tsi_index line = lines->columns ? j : i, other = lines->columns ? i : j;
      CHECK(pattern->index[e] < k && (e == pattern->ptr[k] || pattern->index[e] > pattern->index[e - 1]));
      CHECK(pattern->source[e] >= lines->ptr[line] && pattern->source[e] < lines->ptr[line + 1]);
      CHECK(lines->index[pattern->source[e]] == other);
    }
}

/* ---- Solves -------------------------------------------------------------------------------------------- */

static double value_of(tsi_count source) {
  return 1.0 / (double)(3 + source * 7 % 11);
}
static double rhs_of(tsi_index i) {
  return 1 + i % 5;
}

static void run_chunk(const tsi_block_rows *rows, const tsi_block_cut *cut, const tsi_block_pattern *pattern,
                      tsi_index c, double *x) {
  for (tsi_count k = rows->start[c]; k < rows->start[c + 1]; k++) {
    double sum = 0;
    for (tsi_count e = rows->ptr[k]; e < rows->ptr[k + 1]; e++)
      sum += value_of(pattern->source[rows->entry[e]]) * x[rows->column[e]];
    x[rows->row[k]] -= sum;
    if (cut->part[rows->part[c]].kind == TSI_BLOCK_TRIANGLE) x[rows->row[k]] /= 3;
  }
}

/* Runs the chunks in another legal order: the last ones first, or randomly. */
static void run_in_any_order(const tsi_block_rows *rows, const tsi_block_cut *cut,
                             const tsi_block_pattern *pattern, uint64_t seed, double *x) {
  OWNED bool *done = xcalloc((size_t)rows->count + 1, sizeof *done);
  for (tsi_index left = rows->count; left > 0;) {
    const tsi_index before = left;
    for (tsi_index c = rows->count; c-- > 0;) {
      bool ready = !done[c] && (seed == 0 || next_random(&seed) % 3 == 0);
      for (tsi_count w = rows->wait_ptr[c]; w < rows->wait_ptr[c + 1] && ready; w++)
        ready = done[rows->wait[w]];
      if (!ready) continue;
      run_chunk(rows, cut, pattern, c, x);
      done[c] = true;
      left--;
    }
    CHECK(seed != 0 || left < before);
  }
}

static void check_solve(const tsi_block_rows *rows, const tsi_block_cut *cut,
                        const tsi_block_pattern *pattern) {
  const size_t bytes = (size_t)cut->n * sizeof(double);
  OWNED double *x = xmalloc(bytes + 1), *other = xmalloc(bytes + 1);
  for (tsi_index i = 0; i < cut->n; i++) x[i] = rhs_of(i);
  for (tsi_index c = 0; c < rows->count; c++) run_chunk(rows, cut, pattern, c, x);
  for (tsi_index i = 0; i < cut->n; i++) {
    double rest = rhs_of(i) - 3 * x[i], size = rhs_of(i);
    for (tsi_count e = pattern->ptr[i]; e < pattern->ptr[i + 1]; e++) {
      const double product = value_of(pattern->source[e]) * x[pattern->index[e]];
      rest -= product;
      size += product > 0 ? product : -product;
    }
    CHECK_MSG(rest <= 1e-13 * size && rest >= -1e-13 * size, "row %d", i);
  }
  for (uint64_t seed = 0; seed < 3; seed++) {
    for (tsi_index i = 0; i < cut->n; i++) other[i] = rhs_of(i);
    run_in_any_order(rows, cut, pattern, seed, other);
    CHECK(memcmp(x, other, bytes) == 0);
  }
}

/* ---- Chunks -------------------------------------------------------------------------------------------- */

static tsi_count weight_of(const tsi_block_rows *rows, tsi_index c) {
  return rows->start[c + 1] - rows->start[c] + rows->ptr[rows->start[c + 1]] - rows->ptr[rows->start[c]];
}

/* Chunks of lanes above 0 are shares. Each is at least as large as intended, except for one row. */
static void check_shares(const tsi_block_rows *rows, tsi_count least) {
  for (tsi_index c = 0; c < rows->count; c++) {
    tsi_count widest = 0;
    for (tsi_count k = rows->start[c]; k < rows->start[c + 1]; k++)
      widest = tsi_count_max(widest, 1 + rows->ptr[k + 1] - rows->ptr[k]);
    if (c > 0 && rows->start[c] > 0) {
      const tsi_count k = rows->start[c] - 1; /* the previous share may have included this row */
      widest = tsi_count_max(widest, 1 + rows->ptr[k + 1] - rows->ptr[k]);
    }
    if (rows->lane[c] > 0) CHECK(weight_of(rows, c) + widest >= least && rows->part[c] == rows->part[c - 1]);
  }
}

static void check_broken(tsi_block_rows *rows, const tsi_block_cut *cut, const tsi_block_pattern *pattern) {
  for (tsi_index c = 0; c < rows->count; c++) {
    BROKEN(rows->lane[c], rows->lanes, tsi_block_rows_check(&env, rows, cut, pattern));
    BROKEN(rows->part[c], -1, tsi_block_rows_check(&env, rows, cut, pattern));
    if (c > 0) BROKEN(rows->start[c], rows->start[c - 1], tsi_block_rows_check(&env, rows, cut, pattern));
    for (tsi_count w = rows->wait_ptr[c]; w < rows->wait_ptr[c + 1]; w++) {
      BROKEN(rows->wait[w], c, tsi_block_rows_check(&env, rows, cut, pattern));
      if (w + 1 < rows->wait_ptr[c + 1]) /* a wait is missing */
        BROKEN(rows->wait[w], rows->wait[w + 1], tsi_block_rows_check(&env, rows, cut, pattern));
    }
    if (rows->wait_ptr[c + 1] == rows->wait_ptr[c] + 1 && c + 1 == rows->count)
      BROKEN(rows->wait_ptr[c + 1], rows->wait_ptr[c], tsi_block_rows_check(&env, rows, cut, pattern));
  }
  for (tsi_count k = 0; rows->count > 0 && k < rows->start[rows->count]; k++)
    BROKEN(rows->row[k], rows->row[k] == 0 ? cut->n : rows->row[k] - 1,
           tsi_block_rows_check(&env, rows, cut, pattern));
  for (tsi_count e = 0; e < pattern->ptr[cut->n]; e++) {
    BROKEN(rows->entry[e], (rows->entry[e] + 1) % pattern->ptr[cut->n] + (pattern->ptr[cut->n] == 1),
           tsi_block_rows_check(&env, rows, cut, pattern));
    BROKEN(rows->column[e], rows->column[e] + 1, tsi_block_rows_check(&env, rows, cut, pattern));
  }
  CHECK_OK(tsi_block_rows_check(&env, rows, cut, pattern));
}

static void check_rows(const tsi_block_cut *cut, const tsi_block_pattern *pattern, int lanes, tsi_count least,
                       bool broken) {
  tsi_block_rows *rows;
  CHECK_OK(tsi_block_rows_create(&env, cut, pattern, lanes, least,
                                 &rows)); /* with env.check this verifies the result */
  CHECK(rows->n == cut->n && rows->lanes == lanes);
  check_shares(rows, least);
  check_solve(rows, cut, pattern);
  if (broken) check_broken(rows, cut, pattern);
  TSI_FREE(&env, rows);
}

/* Four lanes share a diagonal: 4 chunks per block, without waits. A dense rectangle is also shared. */
static void check_lanes(void) {
  triangle_pattern diagonal = triangle_create(TRIANGLE_DIAGONAL, 800, 1),
                   dense = triangle_create(TRIANGLE_DENSE, 80, 1);
  const tsi_lines lines[2] = {{800, diagonal.ptr, diagonal.index, false},
                              {80, dense.ptr, dense.index, false}};
  tsi_block_cut *cut;
  tsi_block_pattern *pattern;
  tsi_block_rows *rows;
  CHECK_OK(tsi_block_cut_create(&env, 800, TSI_BLOCKS_RECURSIVE, 2, &cut));
  CHECK_OK(tsi_block_pattern_create(&env, &lines[0], NULL, &pattern));
  CHECK_OK(tsi_block_rows_create(&env, cut, pattern, 4, 50, &rows));
  CHECK(rows->count == 8 && rows->wait_ptr[8] == 0);
  for (tsi_index c = 0; c < 8; c++) CHECK(rows->lane[c] == c % 4 && weight_of(rows, c) == 100);
  TSI_FREE(&env, rows);
  CHECK_OK(tsi_block_rows_create(&env, cut, pattern, 4, 1000, &rows));
  CHECK(rows->count == 2 && rows->lane[1] == 0);
  TSI_FREE(&env, rows);
  TSI_FREE(&env, pattern);
  TSI_FREE(&env, cut);
  CHECK_OK(tsi_block_cut_create(&env, 80, TSI_BLOCKS_RECURSIVE, 2, &cut));
  CHECK_OK(tsi_block_pattern_create(&env, &lines[1], NULL, &pattern));
  CHECK_OK(tsi_block_rows_create(&env, cut, pattern, 4, 100, &rows));
  CHECK(rows->count == 6); /* a chain, 4 shares, a chain */
  for (tsi_index c = 1; c < 5; c++) CHECK(weight_of(rows, c) == 410 && rows->wait_ptr[c + 1] == c);
  CHECK(rows->wait_ptr[6] == 8); /* the last chunk waits for all shares */
  TSI_FREE(&env, rows);
  TSI_FREE(&env, pattern);
  TSI_FREE(&env, cut);
  triangle_free(&diagonal);
  triangle_free(&dense);
}

static void check_memory(void) {
  CLEANUP(triangle_free) triangle_pattern t = triangle_create(TRIANGLE_RANDOM, 30, 3);
  const tsi_lines lines = {t.n, t.ptr, t.index, false};
  allocation_failures failing = fail_allocations(&env);
  while (next_failure(&failing)) {
    tsi_block_cut *cut = NULL;
    tsi_block_pattern *pattern = NULL;
    tsi_block_rows *rows = NULL;
    tristar_status status = tsi_block_cut_create(&env, t.n, TSI_BLOCKS_COLUMN, 5, &cut);
    if (status == TRISTAR_OK) status = tsi_block_pattern_create(&env, &lines, NULL, &pattern);
    if (status == TRISTAR_OK) status = tsi_block_rows_create(&env, cut, pattern, 2, 10, &rows);
    end_failure(&failing, status);
    CHECK((rows != NULL) == (status == TRISTAR_OK));
    TSI_FREE(&env, rows);
    TSI_FREE(&env, pattern);
    TSI_FREE(&env, cut);
  }
  CHECK(failing.count > 20);
}

static void check_cut(const tsi_lines lines[2], tsi_block_scheme scheme, tsi_index blocks, int reorder) {
  OWNED tsi_index *order = xmalloc((size_t)lines->n * sizeof *order + 1);
  tsi_block_cut *cut;
  tsi_block_pattern *pattern, *same;
  CHECK_OK(tsi_block_cut_create(&env, lines->n, scheme, blocks, &cut));
  if (reorder) CHECK_OK(tsi_block_order(&env, cut, &lines[0], reorder == 2, order));
  CHECK_OK(tsi_block_pattern_create(&env, &lines[0], reorder ? order : NULL, &pattern));
  CHECK_OK(tsi_block_pattern_create(&env, &lines[1], reorder ? order : NULL, &same));
  check_pattern(&lines[0], reorder ? order : NULL, pattern);
  check_pattern(&lines[1], reorder ? order : NULL, same);
  CHECK_OK(tsi_block_cut_check(&env, cut, &pattern->lines));
  check_rows(cut, pattern, 1, 1, false);
  check_rows(cut, pattern, 3, 1, cut->n < 40 && reorder == 2);
  check_rows(cut, pattern, 3, 40, false);
  check_rows(cut, same, 2, 20, cut->n < 40 && reorder == 0);
  TSI_FREE(&env, pattern);
  TSI_FREE(&env, same);
  TSI_FREE(&env, cut);
}

int test_block_rows(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const int32_t orders[] = {0, 1, 2, 19, 120};
  static const tsi_index parts[] = {1, 3, 8, 1000};
  tsi_env_init(&env);
  env.check = true;
  RUN(check_lanes());
  RUN(check_memory());
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int k = 0; k < 5; k++) {
      triangle_pattern t = triangle_create(kind, orders[k], (uint64_t)(kind + 10 * k)),
                       columns = triangle_transpose(&t);
      const tsi_lines lines[2] = {{t.n, t.ptr, t.index, false}, {t.n, columns.ptr, columns.index, true}};
      for (int s = 0; s < 3; s++)
        for (int b = 0; b < 4; b++)
          for (int reorder = 0; reorder < 3; reorder += 1 + TSI_TESTS_SANITIZED)
            RUN(check_cut(lines, schemes[s], parts[b], reorder));
      triangle_free(&t);
      triangle_free(&columns);
    }
  return 0;
}
