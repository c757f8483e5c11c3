/* tsi_spy: with one cell for each entry the picture is the structure of L with its chunks. Coarser, a cell
 * has an owner if any of its entries has one. Also processes of a layout, and failing allocations. */
#include "runtime/process/spy.h"

#include "runtime/solve/plan.h"
#include "tests/support/allocations.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static tsi_index at(const tsi_spy *spy, tsi_index i, tsi_index j) {
  return spy->owner[(size_t)i * (size_t)spy->cells + (size_t)j];
}

/* The picture contains each entry of L once, in the chunk of its column, and nothing else. */
static void check_fine(const flow *f, const tsi_spy *spy) {
  const tsi_symbolic *symbolic = tristar_factor_get_analysis(f->factor)->symbolic;
  const tsi_chunks *chunks = f->plan->side[0].chunks;
  int64_t entries = 0;
  tsi_index chunk = 0;
  CHECK(spy->cells == symbolic->n && spy->owners == chunks->count);
  for (tsi_index j = 0; j < symbolic->n; j++) {
    while (chunks->column[chunk + 1] <= j) chunk++;
    for (tsi_index i = 0; i < symbolic->n; i++) {
      if (at(spy, i, j) == TSI_NONE) continue;
      CHECK(i >= j && at(spy, i, j) == chunk);
      entries++;
    }
    CHECK(at(spy, j, j) == chunk);
  }
  CHECK(entries == symbolic->nnz_stored);
}

static void check_coarse(const tsi_spy *fine, const tsi_spy *coarse) {
  const tsi_count n = fine->cells, cells = coarse->cells;
  OWNED bool *there = xcalloc((size_t)(cells * cells), sizeof *there);
  for (tsi_index i = 0; i < fine->cells; i++)
    for (tsi_index j = 0; j < fine->cells; j++)
      if (at(fine, i, j) != TSI_NONE) there[i * cells / n * cells + j * cells / n] = true;
  for (tsi_count k = 0; k < cells * cells; k++) {
    CHECK((coarse->owner[k] != TSI_NONE) == there[k]);
    CHECK(!there[k] || (coarse->owner[k] >= 0 && coarse->owner[k] < coarse->owners));
  }
}

/* Each process has entries. Returns how often the owner changes along the diagonal. */
static int check_owners(const tristar_analysis_t *analysis, const tristar_layout *layout) {
  bool seen[8] = {false};
  int changes = 0;
  tsi_spy *spy;
  CHECK_OK(tsi_spy_create(analysis, NULL, layout, 1000, &spy));
  CHECK(spy->owners == 8);
  for (tsi_count k = 0; k < (tsi_count)spy->cells * spy->cells; k++)
    if (spy->owner[k] != TSI_NONE) {
      CHECK(spy->owner[k] >= 0 && spy->owner[k] < 8);
      seen[spy->owner[k]] = true;
    }
  for (int r = 0; r < 8; r++) CHECK_MSG(seen[r], "map %d: process %d has nothing", (int)layout->map, r);
  for (tsi_index j = 1; j < spy->cells; j++) changes += at(spy, j, j) != at(spy, j - 1, j - 1);
  tsi_spy_destroy(analysis, &spy);
  return changes;
}

/* With subtree maps, in which a process has whole subtrees, the owner changes less often than with cyclic
 * maps. */
static void check_maps(const tristar_analysis_t *analysis, tristar_layout layout) {
  layout.map = TRISTAR_MAP_SUBTREE;
  const int subtree = check_owners(analysis, &layout);
  layout.map = TRISTAR_MAP_CYCLIC;
  const int cyclic = check_owners(analysis, &layout);
  CHECK_MSG(subtree < cyclic, "%d changes of the owner by subtrees, %d cyclically", subtree, cyclic);
}

static void check_failures(tristar_t *ts, const tristar_analysis_t *analysis, tristar_layout layout) {
  tsi_spy *spy;
  layout.pz = 3;
  CHECK_STATUS(tsi_spy_create(analysis, NULL, &layout, 10, &spy), TRISTAR_ERR_ARGUMENT);
  layout.pz = 2;
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    const tristar_status status = tsi_spy_create(analysis, NULL, &layout, 10, &spy);
    end_failure(&failing, status);
    CHECK((spy == NULL) == (status != TRISTAR_OK));
    tsi_spy_destroy(analysis, &spy);
  }
}

int test_spy(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(flow_destroy) flow f;
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *parted;
  tristar_view view;
  tristar_layout layout;
  tristar_analysis_options options;
  tsi_spy *fine, *coarse;
  flow_create(ts, "s2d9pt", 24, TRISTAR_ENGINE_SERIAL, 8000, &f);
  const tristar_analysis_t *analysis = tristar_factor_get_analysis(f.factor);
  CHECK_OK(tsi_spy_create(analysis, f.plan, NULL, 1 << 20, &fine));
  RUN(check_fine(&f, fine));
  for (int cells = 1; cells < 600; cells = 3 * cells + 1) {
    CHECK_OK(tsi_spy_create(analysis, f.plan, NULL, cells, &coarse));
    CHECK(coarse->cells == cells);
    RUN(check_coarse(fine, coarse));
    tsi_spy_destroy(analysis, &coarse);
    CHECK(coarse == NULL);
  }
  tsi_spy_destroy(analysis, &fine);
  view = generated_view(ts, "s2d9pt", 100, &matrix);
  tristar_analysis_options_init(&options);
  options.leaf_parts = 2;
  CHECK_OK(tristar_analyze(ts, &view, &options, &parted));
  tristar_layout_init(&layout);
  layout.px = layout.py = layout.pz = 2;
  RUN(check_maps(parted, layout));
  RUN(check_failures(ts, parted, layout));
  return 0;
}
