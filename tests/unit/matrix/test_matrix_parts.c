/* Rows of generated matrices that are generated part by part, as on ranks. */
#include "runtime/context/context.h"
#include "runtime/matrix/matrix.h"
#include "tests/api/matrix/generated.h"
#include "tests/support/subtests.h"

/* Rows generated in parts have the bits of those of the whole matrix. There may be more parts than rows. */
static void check_parts(tristar_t *ts, const char *kind, int64_t k, int parts) {
  CLEANUP(free_columns) columns *m = generate(ts, kind, k);
  const int64_t n = m->rows;
  OWNED double *dense = expand(m);
  int64_t row = 0, entries = 0, expected = 0;
  for (int number = 0; number < parts; number++) {
    CLEANUP(tristar_matrix_destroy) tristar_matrix_t *rows;
    tsi_matrix_part part = {.number = number, .parts = parts};
    CHECK_OK(tsi_matrix_generate(tsi_context_env(ts), kind, k, &part, &rows));
    CHECK(part.symmetry == m->symmetry);
    CHECK_OK(tsi_matrix_check(rows));
    CHECK(rows->symmetry == TRISTAR_GENERAL && rows->rows == n);
    for (tsi_index i = 0; i < rows->cols; i++, row++)
      for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++)
        CHECK_MSG(dense[row + n * rows->index[e]] == rows->values[e], "%s:%d, row %d, column %d", kind,
                  (int)k, (int)row, (int)rows->index[e]);
    entries += rows->ptr[rows->cols];
  }
  for (tsi_index j = 0; j < n; j++)
    for (tsi_count e = m->ptr[j]; e < m->ptr[j + 1]; e++)
      expected += m->symmetry != TRISTAR_GENERAL && m->index[e] != j ? 2 : 1;
  CHECK(row == n && entries == expected);
}

int test_matrix_parts(int argc, char **argv) {
  subtests_begin(&argc, argv);
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  const char *kind;
  for (int i = 0; tristar_get_generator(i, &kind, NULL); i++) {
    tristar_matrix_t *rows;
    if (counts_rows(kind)) {
      CHECK_STATUS(tsi_matrix_generate(tsi_context_env(ts), kind, 9, &(tsi_matrix_part){.parts = 2}, &rows),
                   TRISTAR_ERR_UNSUPPORTED);
      continue;
    }
    RUN(check_parts(ts, kind, 3, 1));
    RUN(check_parts(ts, kind, 3, 4));
    RUN(check_parts(ts, kind, 1, 7));
  }
  return 0;
}
