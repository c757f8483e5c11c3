/* Cuts of triangular matrices without supernodes. Orders stay triangular, and the off-rows of chunks match
 * the definition, from rows and from columns. Sweeps over chunks are complete DAGs. Their steps read only
 * rows of steps that they wait for, and lanes have all necessary waits and no others. */
#include "dag/dag.h"
#include "dag/lanes.h"
#include "dag/steps.h"
#include "partition/cut/row_chunks.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"

static tsi_env env;

/* Returns F in the order of a cut, by rows. */
static triangle_pattern reorder(const triangle_pattern *t, const tsi_row_cut *cut) {
  triangle_pattern out = {t->n, xcalloc((size_t)t->n + 1, sizeof *out.ptr),
                          xmalloc((size_t)(t->ptr[t->n] + 1) * sizeof *out.index)};
  OWNED int32_t *place = xmalloc((size_t)t->n * sizeof *place + 1);
  int64_t count = 0;
  CHECK(out.ptr != NULL && out.index != NULL);
  for (int32_t k = 0; k < t->n; k++) place[cut->order[k]] = k;
  for (int32_t k = 0; k < t->n; k++) {
    const int32_t i = cut->order[k];
    for (int64_t e = t->ptr[i]; e < t->ptr[i + 1]; e++) out.index[count++] = place[t->index[e]];
    out.ptr[k + 1] = count;
  }
  return out;
}

/* The off-rows of a chunk are the first rows of the later chunks that read it. */
static void check_off_rows(const triangle_pattern *f, const tsi_chunks *chunks) {
  OWNED int32_t *owner = xmalloc((size_t)f->n * sizeof *owner + 1);
  tsi_chunk_owners(chunks, owner);
  for (tsi_index c = 0; c < chunks->count; c++) {
    int32_t at = 0, last = -1;
    for (int32_t i = 0; i < f->n; i++) {
      bool reads = false;
      for (int64_t e = f->ptr[i]; e < f->ptr[i + 1]; e++) reads |= owner[f->index[e]] == c;
      if (!reads || owner[i] == c || owner[i] == last) continue;
      last = owner[i];
      CHECK(chunks->off_ptr[c] + at < chunks->off_ptr[c + 1]);
      CHECK(chunks->off[chunks->off_ptr[c] + at++] == chunks->column[last]);
    }
    CHECK(chunks->off_ptr[c] + at == chunks->off_ptr[c + 1]);
  }
}

/* The waits of the lanes imply every edge, and each wait is necessary. */
static void check_lanes(const tsi_steps *steps, const tsi_row_cut *cut) {
  const tsi_index count = steps->count;
  OWNED tsi_index *order = xmalloc((size_t)count * sizeof *order + 1),
                  *lane = xmalloc((size_t)count * sizeof *lane + 1);
  tsi_lanes *lanes;
  for (tsi_index s = 0; s < count; s++) {
    order[s] = s; /* the steps are in a legal order */
    lane[s] = cut->lane[steps->step[s].argument];
  }
  CHECK_OK(tsi_lanes_create(&env, count, steps->edges, steps->edge, order, cut->lanes, lane, &lanes));
  for (tsi_count w = 0; w < lanes->wait_ptr[count]; w++) {
    tsi_lane_wait *wait = &lanes->wait[w];
    const tsi_lane_wait kept = *wait;
    wait->passed--;
    if (wait->passed == 0)
      *wait = (tsi_lane_wait){kept.lane, 1}; /* the smallest number that a wait can have */
    const tristar_status status = tsi_lanes_check(&env, lanes, count, steps->edges, steps->edge);
    CHECK_MSG(status == (kept.passed > 1 ? TRISTAR_ERR_INTERNAL : TRISTAR_OK), "wait %d of lane %d: %d",
              (int)w, kept.lane, kept.passed);
    *wait = kept;
  }
  TSI_FREE(&env, lanes);
}

/* Checks the forward and the backward sweep, and their steps. */
static void check_steps(const tsi_chunks *chunks, const tsi_row_cut *cut) {
  tsi_sweep *sweep;
  tsi_dag *dag;
  tsi_index *order;
  CHECK_OK(tsi_sweep_create(&env, chunks, NULL, 8, &sweep));
  CHECK_OK(tsi_sweep_check(&env, sweep, chunks));
  CHECK_OK(tsi_dag_create(&env, sweep, sweep, &dag));
  order = xmalloc((size_t)dag->tasks * sizeof *order + 1);
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
    CHECK_OK(tsi_steps_create(
        &env, &source, &steps)); /* with env.check this verifies that each access is ordered by a path */
    CHECK(steps->count == chunks->count);
    check_lanes(steps, cut);
    if (steps->edges > 0) { /* without one edge the check must fail */
      const tsi_edge last = steps->edge[--steps->edges];
      tristar_status status = tsi_steps_check(&env, steps, &source);
      CHECK_MSG(status == TRISTAR_ERR_INTERNAL, "step %d need not wait for %d", last.item, last.before);
    }
    TSI_FREE(&env, steps);
  }
  free(order);
  TSI_FREE(&env, dag);
  TSI_FREE(&env, sweep);
}

static void check_cut(const triangle_pattern *t, const triangle_pattern *columns,
                      const tsi_row_options *options) {
  const tsi_lines by_rows = {t->n, t->ptr, t->index, false},
                  by_columns = {t->n, columns->ptr, columns->index, true};
  for (int turned = 0; turned < 2; turned++) {
    const tsi_lines *lines = turned ? &by_columns : &by_rows;
    tsi_row_cut *cut;
    tsi_chunks *chunks, *alike;
    CHECK_OK(
        tsi_row_cut_create(&env, lines, options, NULL, 0, &cut)); /* with env.check this verifies the cut */
    if (options->way == TSI_ROWS_WHOLE) CHECK(cut->count == (t->n > 0));
    if (options->lanes == 1)
      for (tsi_index c = 0; c < cut->count; c++) CHECK(cut->lane[c] == 0);
    triangle_pattern f = reorder(t, cut);
    CHECK_OK(tsi_row_chunks_create(&env, &by_rows, cut, &chunks));
    CHECK_OK(tsi_row_chunks_create(&env, &by_columns, cut, &alike));
    check_off_rows(&f, chunks);
    check_off_rows(&f, alike);
    if (cut->count > 0) check_steps(chunks, cut);
    TSI_FREE(&env, chunks);
    TSI_FREE(&env, alike);
    triangle_free(&f);
    TSI_FREE(&env, cut);
  }
}

/* A diagonal matrix has one chunk per lane, a chain is a single chunk. */
static void check_shapes(void) {
  triangle_pattern diagonal = triangle_create(TRIANGLE_DIAGONAL, 1000, 1),
                   chain = triangle_create(TRIANGLE_CHAIN, 1000, 1);
  const tsi_lines lines[2] = {{1000, diagonal.ptr, diagonal.index, false},
                              {1000, chain.ptr, chain.index, false}};
  tsi_index level[1000];
  tsi_row_options options;
  tsi_row_cut *cut;
  CHECK(tsi_row_levels(&lines[0], level) == 1 && tsi_row_levels(&lines[1], level) == 1000);
  for (int way = TSI_ROWS_LEVELS; way <= TSI_ROWS_SUPERSTEPS; way++) {
    tsi_row_options_init(&options, (tsi_row_way)way, 4, 8);
    CHECK_OK(tsi_row_cut_create(&env, &lines[0], &options, NULL, 0, &cut));
    CHECK(cut->count == 4 && cut->levels == 1);
    for (tsi_index c = 0; c < 4; c++)
      CHECK(cut->lane[c] == c && cut->start[c + 1] - cut->start[c] >= 249 &&
            cut->start[c + 1] - cut->start[c] <= 251);
    TSI_FREE(&env, cut);
    CHECK_OK(tsi_row_cut_create(&env, &lines[1], &options, NULL, 0, &cut));
    CHECK(cut->count == 1 && cut->levels == 1000);
    TSI_FREE(&env, cut);
  }
  triangle_free(&diagonal);
  triangle_free(&chain);
}

/* With one lane chunks are windows of consecutive rows, ordered by level sets and row lengths. Rows 3k
 * depend on no other row, rows 3k + 1 and 3k + 2 on row 3k; some have one more entry. */
static void check_windows(bool columns) {
  enum { N = 3000 };
  static int64_t ptr[N + 1];
  static int32_t index[3 * N];
  tsi_row_options options;
  tsi_row_cut *cut;
  int64_t entries = 0;
  for (int32_t line = 0; line < N; line++) {
    const int32_t k = columns ? N - 1 - line : line, step = columns ? 1 : -1, back = k % 3;
    ptr[line] = entries;
    if (columns) index[entries++] = line;
    if (back > 0) index[entries++] = line + step * back;
    if (back > 0 && k % 5 == 0 && k > 5) index[entries++] = line + step * (back + 3);
    if (!columns) index[entries++] = line;
  }
  ptr[N] = entries;
  const tsi_lines lines = {N, ptr, index, columns};
  tsi_row_options_init(&options, TSI_ROWS_SUPERSTEPS, 1, 8);
  options.step_bytes = 20000;
  CHECK_OK(tsi_row_cut_create(&env, &lines, &options, NULL, 0, &cut));
  CHECK_OK(tsi_row_cut_check(&env, cut, &lines));
  CHECK_MSG(cut->count > 5 && cut->levels == 2 * cut->count, "%d windows, %d levels", cut->count,
            cut->levels);
  int changes = 0; /* of the row length, in the order of the sweep */
  for (tsi_index c = 0; c < cut->count; c++) {
    tsi_index least = N, most = 0;
    for (tsi_index k = cut->start[c]; k < cut->start[c + 1]; k++) {
      const tsi_index row = cut->order[k], before = cut->order[k > 0 ? k - 1 : 0];
      least = tsi_index_min(least, row);
      most = tsi_index_max(most, row);
      changes += ptr[row + 1] - ptr[row] != ptr[before + 1] - ptr[before];
    }
    CHECK(most - least + 1 == cut->start[c + 1] - cut->start[c]);
  }
  CHECK_MSG(changes < 5 * cut->count, "%d changes in %d windows", changes, cut->count);
  TSI_FREE(&env, cut);
}

/* The columns of the sweep's rows give the same cut, and the numbers of entries of the rows. The latter
 * also if level sets are too narrow. */
static void check_across(const triangle_pattern *t, const triangle_pattern *columns,
                         const tsi_row_options *given) {
  const tsi_lines by_rows = {t->n, t->ptr, t->index, false},
                  by_columns = {t->n, columns->ptr, columns->index, true};
  tsi_row_options options = *given;
  for (int backward = 0; backward < 2; backward++) {
    const tsi_lines *rows = backward ? &by_columns : &by_rows, *across = backward ? &by_rows : &by_columns;
    tsi_row_cut *cut, *other;
    options.across = false;
    CHECK_OK(tsi_row_cut_create(&env, rows, &options, NULL, 0, &cut));
    CHECK(cut->entries == NULL);
    options.across = true;
    CHECK_OK(tsi_row_cut_create(&env, across, &options, NULL, 0, &other));
    CHECK(cut->way == other->way && cut->count == other->count && cut->levels == other->levels);
    for (tsi_index c = 0; c <= cut->count; c++) CHECK(cut->start[c] == other->start[c]);
    for (tsi_index c = 0; c < cut->count; c++) CHECK(cut->lane[c] == other->lane[c]);
    for (tsi_index k = 0; k < t->n; k++) {
      CHECK_MSG(cut->order[k] == other->order[k], "row %d for %d", other->order[k], cut->order[k]);
      if (cut->way != TSI_ROWS_WHOLE) CHECK(other->entries[k] == rows->ptr[k + 1] - rows->ptr[k]);
    }
    TSI_FREE(&env, cut);
    TSI_FREE(&env, other);
  }
}

/* With too few rows in a level set the way is WHOLE, for one lane and several, by rows and by columns. With
 * just enough rows it stays. */
static void check_narrow(void) {
  enum { N = 1200, ROWS = 5 };
  CLEANUP(triangle_free)
  triangle_pattern t = {N, xcalloc(N + 1, sizeof *t.ptr), xmalloc(2 * N * sizeof *t.index)};
  CHECK(t.ptr != NULL && t.index != NULL);
  int64_t entries = 0;
  for (int32_t i = 0; i < N; i++) { /* N / ROWS sets */
    if (i >= ROWS) t.index[entries++] = i - ROWS;
    t.index[entries++] = i;
    t.ptr[i + 1] = entries;
  }
  CLEANUP(triangle_free) triangle_pattern columns = triangle_transpose(&t);
  for (int lanes = 1; lanes < 4; lanes += 2)
    for (tsi_index least = ROWS; least <= ROWS + 1; least++)
      for (int way = 0; way < 4; way++) {
        const bool across = way % 2,
                   windows = way / 2; /* several windows of one lane, so each has smaller level sets */
        if (windows && least == ROWS) continue;
        const tsi_lines lines = {N, across ? columns.ptr : t.ptr, across ? columns.index : t.index, across};
        tsi_row_options options;
        tsi_row_cut *cut;
        tsi_row_options_init(&options, TSI_ROWS_SUPERSTEPS, lanes, 8);
        options.across = across;
        options.rows_a_level = least;
        options.step_bytes = windows ? 2000 : 1e9;
        CHECK_OK(tsi_row_cut_create(&env, &lines, &options, NULL, 0, &cut));
        CHECK_MSG(cut->way == (least > ROWS ? TSI_ROWS_WHOLE : TSI_ROWS_SUPERSTEPS),
                  "way %d, %d lanes, %d rows", (int)cut->way, lanes, least);
        if (least > ROWS)
          CHECK(cut->count == 1 && cut->levels == 0 && cut->start[1] == N && cut->order[N - 1] == N - 1);
        for (tsi_index k = 0; k < N && cut->entries; k++) CHECK(cut->entries[k] == t.ptr[k + 1] - t.ptr[k]);
        TSI_FREE(&env, cut);
      }
}

/* A chain with two rows per superstep has more phases than a word can count, so the counters restart. */
static void check_many_phases(void) {
  enum { N = 2200000 };
  CLEANUP(triangle_free)
  triangle_pattern t = {N, xcalloc(N + 1, sizeof *t.ptr), xmalloc((size_t)2 * N * sizeof *t.index)};
  tsi_row_options options;
  int64_t entries = 0;
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int32_t i = 0; i < N; i++) {
    if (i > 0) t.index[entries++] = i - 1;
    t.index[entries++] = i;
    t.ptr[i + 1] = entries;
  }
  CLEANUP(triangle_free) triangle_pattern columns = triangle_transpose(&t);
  tsi_row_options_init(&options, TSI_ROWS_SUPERSTEPS, 2, 8);
  options.step_bytes = options.row_bytes + 2.5 * options.entry_bytes;
  env.check = false; /* the checks would take long */
  check_across(&t, &columns, &options);
  env.check = true;
}

/* Most windows depend on all earlier ones in their first rows. One of them needs its last row for that, or
 * never depends on one of them. No dependency may be missing or superfluous. */
static void check_wide_windows(bool last) {
  enum { N = 3000, WINDOWS = 10, ROWS = N / WINDOWS, SOURCE = 4, TARGET = 7 };
  CLEANUP(triangle_free)
  triangle_pattern t = {N, xcalloc(N + 1, sizeof *t.ptr), xmalloc(3 * N * sizeof *t.index)};
  tsi_row_options options;
  tsi_row_cut *cut;
  int64_t entries = 0;
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int32_t i = 0; i < N; i++) {
    const int32_t window = i / ROWS, source = window > 0 ? i % window : 0;
    const bool rare = window == TARGET && source == SOURCE;
    if (rare ? last && i == (TARGET + 1) * ROWS - 1 - (ROWS * (TARGET + 1) - 1 - SOURCE) % TARGET
             : window > 0)
      t.index[entries++] = source * ROWS + i % ROWS;
    t.index[entries++] = i;
    t.ptr[i + 1] = entries;
  }
  CLEANUP(triangle_free) triangle_pattern columns = triangle_transpose(&t);
  const tsi_lines lines[2] = {{N, t.ptr, t.index, false}, {N, columns.ptr, columns.index, true}};
  tsi_row_options_init(&options, TSI_ROWS_SUPERSTEPS, 1, 8);
  options.step_bytes = (options.row_bytes * N + options.entry_bytes * (double)entries) / (WINDOWS - 0.5);
  CHECK_OK(tsi_row_cut_create(&env, &lines[0], &options, NULL, 0, &cut));
  CHECK(cut->count == WINDOWS);
  CLEANUP(triangle_free) triangle_pattern f = reorder(&t, cut);
  for (int k = 0; k < 2; k++) {
    tsi_chunks *chunks;
    CHECK_OK(tsi_row_chunks_create(&env, &lines[k], cut, &chunks));
    check_off_rows(&f, chunks);
    CHECK(chunks->off_ptr[WINDOWS] == WINDOWS * (WINDOWS - 1) / 2 - !last);
    TSI_FREE(&env, chunks);
  }
  TSI_FREE(&env, cut);
}

/* Eight chains whose rows alternate. Each of four lanes has two chains, and no chunk waits for another
 * lane. */
static void check_chains(void) {
  enum { N = 4000, CHAINS = 8 };
  static int64_t ptr[N + 1];
  static int32_t index[2 * N];
  tsi_row_options options;
  tsi_row_cut *cut;
  tsi_chunks *chunks;
  int64_t entries = 0;
  for (int32_t i = 0; i < N; i++) {
    ptr[i] = entries;
    if (i >= CHAINS) index[entries++] = i - CHAINS;
    index[entries++] = i;
  }
  ptr[N] = entries;
  const tsi_lines lines = {N, ptr, index, false};
  tsi_row_options_init(&options, TSI_ROWS_SUPERSTEPS, 4, 8);
  options.step_bytes = 5000;
  CHECK_OK(tsi_row_cut_create(&env, &lines, &options, NULL, 0, &cut));
  CHECK_OK(tsi_row_chunks_create(&env, &lines, cut, &chunks));
  CHECK_MSG(cut->count < N / 50, "%d chunks", cut->count);
  for (tsi_index c = 0; c < cut->count; c++)
    for (tsi_count e = chunks->off_ptr[c]; e < chunks->off_ptr[c + 1]; e++) {
      tsi_index target = 0;
      while (chunks->column[target + 1] <= chunks->off[e]) target++;
      CHECK(cut->lane[target] == cut->lane[c]);
    }
  TSI_FREE(&env, chunks);
  TSI_FREE(&env, cut);
}

/* Level sets of a few rows. If the lengths of these rows differ, windows are four times as wide as usual. */
static void check_ragged(bool ragged) {
  enum { N = 6400, WINDOWS = 10, ROWS = 8 };
  CLEANUP(triangle_free)
  triangle_pattern t = {N, xcalloc(N + 1, sizeof *t.ptr), xmalloc((size_t)N * (ROWS + 1) * sizeof *t.index)};
  uint64_t seed = 1;
  int64_t entries = 0;
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = i - ROWS; j < i; j++)
      if (j >= 0 && (ragged ? j == i - 4 || next_random(&seed) % 2 == 0 : j == i - 4)) t.index[entries++] = j;
    t.index[entries++] = i;
    t.ptr[i + 1] = entries;
  }
  CLEANUP(triangle_free) triangle_pattern columns = triangle_transpose(&t);
  const tsi_lines rows = {N, t.ptr, t.index, false};
  tsi_row_options options;
  tsi_row_cut *cut;
  tsi_row_options_init(&options, TSI_ROWS_SUPERSTEPS, 1, 8);
  options.step_bytes = (options.row_bytes * N + options.entry_bytes * (double)entries) / (WINDOWS - 0.5);
  check_across(&t, &columns, &options);
  CHECK_OK(tsi_row_cut_create(&env, &rows, &options, NULL, 0, &cut));
  CHECK(cut->count == (ragged ? (WINDOWS + 3) / 4 : WINDOWS));
  TSI_FREE(&env, cut);
}

int test_row_chunks(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const int32_t orders[] = {0, 1, 2, 37, 150};
  tsi_env_init(&env);
  env.check = true;
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int k = 0; k < 5; k++) {
      triangle_pattern t = triangle_create(kind, orders[k], (uint64_t)(kind + 10 * k)),
                       columns = triangle_transpose(&t);
      for (int lanes = 1; lanes < 6; lanes += 2)
        for (int way = TSI_ROWS_WHOLE; way <= TSI_ROWS_SUPERSTEPS; way++) {
          tsi_row_options options;
          tsi_row_options_init(&options, (tsi_row_way)way, lanes, 8);
          for (double bytes = 100; bytes < 1e6; bytes *= 30) {
            options.step_bytes = bytes;
            RUN(check_cut(&t, &columns, &options));
            if (way != TSI_ROWS_WHOLE) RUN(check_across(&t, &columns, &options));
          }
        }
      triangle_free(&t);
      triangle_free(&columns);
    }
  RUN(check_shapes());
  RUN(check_windows(false));
  RUN(check_windows(true));
  RUN(check_wide_windows(false));
  RUN(check_wide_windows(true));
  RUN(check_ragged(false));
  RUN(check_ragged(true));
  RUN(check_chains());
  RUN(check_narrow());
  RUN(check_many_phases());
  return 0;
}
