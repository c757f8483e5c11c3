/* Reads and writes of the steps of block plans: no plan has a race, and without any edge of its transitively
 * reduced graph it has one. Every scheme, pattern and direction. Blocks and chunks are smaller than in real
 * plans, so more of them wait for each other. */
#include "runtime/solve/block_plan.h"

#include "runtime/rows/row_factor.h"
#include "tests/support/context.h"
#include "tests/support/races.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"

enum { REMOVED = 8 };

static const tsi_block_scheme schemes[] = {TSI_BLOCKS_COLUMN, TSI_BLOCKS_ROW, TSI_BLOCKS_RECURSIVE};
static const tristar_partition partitions[] = {TRISTAR_PARTITION_COLUMN, TRISTAR_PARTITION_ROW,
                                               TRISTAR_PARTITION_RECURSIVE};

static void check_sweep(tristar_t *ts, const char *name, tristar_plan_t *plan, bool backward,
                        const tsi_block_options *options) {
  tsi_env *env = tsi_context_env(ts);
  tsi_steps *steps;
  tsi_access_list *list;
  TSI_FREE(env, plan->blocks->sweep[backward]);
  CHECK_OK(tsi_block_sweep_create(env, &plan->factor->rows->lines, backward, options, 'd', NULL, NULL,
                                  &plan->blocks->sweep[backward]));
  CHECK_OK(tsi_block_plan_steps(plan, backward, &steps));
  CHECK_OK(tsi_block_plan_list_accesses(plan, backward, steps, &list));
  races_check(env, name, steps, list, REMOVED, (uint64_t)steps->count);
  TSI_FREE(env, list);
  TSI_FREE(env, steps);
}

static void check_triangle(tristar_t *ts, int kind, tsi_index n, int scheme, tsi_index blocks, int lanes) {
  CLEANUP(triangle_free) triangle_pattern t = triangle_create(kind, n, (uint64_t)(kind + n));
  OWNED double *values = xmalloc((size_t)(t.ptr[n] + 1) * sizeof *values);
  const tristar_view view =
      stored_view(TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, n, n, t.ptr, t.index, values);
  const tristar_triangle_options options = {.size = sizeof options,
                                            .uplo = TRISTAR_LOWER,
                                            .diag = TRISTAR_NON_UNIT,
                                            .partition = partitions[scheme]};
  tsi_block_options finer;
  CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
  char name[100];
  for (int64_t e = 0; e < t.ptr[n]; e++) values[e] = 1;
  CHECK_OK(tristar_import_triangle(ts, &view, &options, &factor));
  CLEANUP(tristar_plan_destroy) tristar_plan_t *plan = NEW_PLAN(factor, NULL);
  tsi_block_options_init(&finer, schemes[scheme], blocks, lanes);
  finer.least = 20;
  for (int backward = 0; backward < 2; backward++) {
    snprintf(name, sizeof name, "%s of order %d, scheme %d, %d blocks, %d lanes, backward %d",
             triangle_names[kind], n, scheme, blocks, lanes, backward);
    check_sweep(ts, name, plan, backward, &finer);
  }
}

int test_block_plan(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(tristar_destroy) tristar_t *ts = open_without_starpu(true);
  for (int kind = 0; kind < TRIANGLES; kind++)
    for (int scheme = 0; scheme < 3; scheme++) {
      RUN(check_triangle(ts, kind, 90 + kind, scheme, 8, 3));
      RUN(check_triangle(ts, kind, kind % 3, scheme, 2, 1));
    }
  CHECK_TOTAL(races_removals > 100, "%lld edges were removed", (long long)races_removals);
  return 0;
}
