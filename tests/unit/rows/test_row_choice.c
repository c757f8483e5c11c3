/* The choice of a partition by rows. One core solves small triangles. Several cores share larger ones, unless
 * they would wait for each other too often, which depends on their number. By rows and by columns alike. */
#include "runtime/rows/row_choice.h"
#include "tests/support/context.h"
#include "tests/support/subtests.h"
#include "tests/support/triangles.h"

enum { N = 80000, CHAINS = 8 };

/* Row i depends on the rows i - waits[0], i - waits[1], ..., if they exist. */
static triangle_pattern make(int32_t n, int count, const int32_t *waits) {
  triangle_pattern t = {n, xcalloc((size_t)n + 1, sizeof *t.ptr),
                        xmalloc((size_t)n * (size_t)(count + 1) * sizeof *t.index)};
  int64_t entries = 0;
  CHECK(t.ptr != NULL && t.index != NULL);
  for (int32_t i = 0; i < n; i++) {
    for (int k = 0; k < count; k++)
      if (i >= waits[k]) t.index[entries++] = i - waits[k];
    t.index[entries++] = i;
    t.ptr[i + 1] = entries;
  }
  return t;
}

/* Checks the way and the lanes of the cut for this number of workers. */
static void check(int workers, tristar_partition partition, const triangle_pattern *t, tsi_row_way way,
                  int lanes) {
  CLEANUP(close_context) tristar_t *ts = open_with_starpu(workers, false);
  CLEANUP(triangle_free) triangle_pattern columns = triangle_transpose(t);
  const tsi_lines lines[2] = {{t->n, t->ptr, t->index, false}, {t->n, columns.ptr, columns.index, true}};
  for (int k = 0; k < 2; k++) {
    tsi_row_choice choice = tsi_row_choose(ts, t->n, t->ptr[t->n], sizeof(double), partition);
    tsi_row_cut *cut;
    tsi_row_choice_look(&lines[k], &choice);
    CHECK(!choice.supernodes);
    CHECK_OK(tsi_row_choice_cut(&ts->env, &choice, &lines[k], true, NULL, 0, &cut));
    CHECK_MSG(cut->way == way && cut->lanes == lanes, "way %d for %d, %d lanes for %d", (int)cut->way,
              (int)way, cut->lanes, lanes);
    CHECK_OK(tsi_row_cut_check(&ts->env, cut, &lines[k]));
    TSI_FREE(&ts->env, cut);
  }
}

int test_row_choice(int argc, char **argv) {
  subtests_begin(&argc, argv);
  static const int32_t apart[] = {N / 2, 40, 35}, chains[] = {2 * CHAINS, CHAINS},
                       mixed[] = {CHAINS + 1, CHAINS};
  CHECK(unsetenv("STARPU_NCPU") == 0); /* it would override the number of workers */
  CLEANUP(triangle_free) triangle_pattern t = make(N, 1, apart);
  RUN(check(2, TRISTAR_PARTITION_AUTO, &t, TSI_ROWS_SUPERSTEPS, 2));
  RUN(check(1, TRISTAR_PARTITION_AUTO, &t, TSI_ROWS_SUPERSTEPS, 1));
  triangle_free(&t);
  t = make(N / 8, 1, (const int32_t[]){N / 16});
  RUN(check(2, TRISTAR_PARTITION_AUTO, &t, TSI_ROWS_SUPERSTEPS, 1)); /* too small for several lanes */
  RUN(check(2, TRISTAR_PARTITION_SUPERSTEPS, &t, TSI_ROWS_SUPERSTEPS, 2));
  triangle_free(&t);
  t = make(N, 2, chains); /* each core gets some of the chains */
  RUN(check(2, TRISTAR_PARTITION_AUTO, &t, TSI_ROWS_SUPERSTEPS, 2));
  triangle_free(&t);
  t = make(N, 2, mixed); /* in each level set all cores would wait for each other */
  RUN(check(2, TRISTAR_PARTITION_AUTO, &t, TSI_ROWS_SUPERSTEPS, 1));
  RUN(check(2, TRISTAR_PARTITION_SUPERSTEPS, &t, TSI_ROWS_SUPERSTEPS, 2));
  RUN(check(2, TRISTAR_PARTITION_LEVELS, &t, TSI_ROWS_LEVELS, 2));
  triangle_free(&t);
  t = make(N, 3, apart); /* level sets of 35 rows are small for two cores */
  RUN(check(2, TRISTAR_PARTITION_AUTO, &t, TSI_ROWS_SUPERSTEPS, 1));
  return 0;
}
