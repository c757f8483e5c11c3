/* tsi_spy: with one cell for each entry it is the structure of L with its chunks; coarser, a cell has an
 * owner where any of its entries is; processes of a layout; failing allocations. */
#include "runtime/process/spy.h"

#include "runtime/solve/plan.h"
#include "tests/support/context.h"
#include "tests/support/flow.h"
#include "tests/support/subtests.h"

static tsi_index at(const tsi_spy *spy, tsi_index i, tsi_index j) {
  return spy->owner[(size_t)i * (size_t)spy->cells + (size_t)j];
}

/* Every entry of L once, in the chunk of its column; nothing else. */
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

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(0, false);
  CLEANUP(flow_destroy) flow f;
  tristar_layout layout;
  tristar_analysis_options options;
  CLEANUP(tristar_analysis_destroy) tristar_analysis_t *parted;
  tristar_memory_stats memory;
  tsi_spy *fine, *coarse, *owners;
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
  tristar_analysis_options_init(&options);
  options.leaf_parts = 2;
  CHECK_OK(tristar_analyze(ts, &f.view, &options, &parted));
  tristar_layout_init(&layout);
  layout.px = layout.py = layout.pz = 2;
  for (int map = 0; map < 2; map++) {
    bool seen[8] = {false};
    layout.map = (tristar_map)map;
    CHECK_OK(tsi_spy_create(parted, NULL, &layout, 576, &owners));
    CHECK(owners->owners == 8);
    for (int k = 0; k < 576 * 576; k++)
      if (owners->owner[k] != TSI_NONE) {
        CHECK(owners->owner[k] >= 0 && owners->owner[k] < 8);
        seen[owners->owner[k]] = true;
      }
    for (int r = 0; r < 8; r++) CHECK_MSG(seen[r] || map == 0, "process %d has nothing", r);
    tsi_spy_destroy(parted, &owners);
  }
  layout.pz = 3;
  CHECK_STATUS(tsi_spy_create(parted, NULL, &layout, 10, &owners), TRISTAR_ERR_ARGUMENT);
  layout.pz = 2;
  tristar_status status = TRISTAR_ERR_MEMORY;
  for (int k = 1; status == TRISTAR_ERR_MEMORY; k++) {
    tristar_get_memory(ts, &memory);
    tsi_context_env(ts)->memory.fail_at = memory.allocations + k;
    status = tsi_spy_create(parted, NULL, &layout, 10, &owners);
    tsi_context_env(ts)->memory.fail_at = 0;
    CHECK((owners == NULL) == (status != TRISTAR_OK));
  }
  CHECK(status == TRISTAR_OK);
  tsi_spy_destroy(parted, &owners);
  tsi_spy_destroy(analysis, &fine);
  return 0;
}
