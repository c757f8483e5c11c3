/* Rows of a matrix on any number of ranks are gathered to the matrix on rank 0: blocks of rows with indices
 * from 0 and from 1, with and without values. A wrong argument or a failure of one rank is returned by all
 * ranks. */
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"

/* Gathers blocks of rows of all ranks. With three ranks the first block is empty. */
static void check_gather(const world *w, const char *kind, int64_t k) {
  tristar_matrix_t *matrix, *gathered;
  tristar_view view, got;
  view = generated_view(w->ts, kind, k, &matrix);
  const int shift = w->ranks > 2, parts = w->ranks - shift;
  const int64_t n = view.rows, part = w->rank - shift;
  const int64_t first = part < 0 ? 0 : n * part / parts, end = part < 0 ? 0 : n * (part + 1) / parts;
  CLEANUP(release_rows) rows_block mine = take_rows(&view, sizeof(double), first, end, w->rank % 2);
  for (int turn = 0; turn < 2; turn++) {
    const int64_t *ptr = view.ptr;
    if (turn == 1) mine.view.values = NULL;
    CHECK_OK(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered));
    CHECK((gathered == NULL) == (w->rank > 0));
    tristar_matrix_get_view(gathered, &got);
    if (w->rank > 0) continue;
    CHECK(got.rows == n && got.cols == n && got.symmetry == view.symmetry);
    CHECK(memcmp(got.ptr, view.ptr, (size_t)(n + 1) * sizeof(int64_t)) == 0);
    CHECK(memcmp(got.index, view.index, (size_t)ptr[n] * sizeof(int32_t)) == 0);
    CHECK((got.values == NULL) == (turn == 1));
    CHECK(turn == 1 || memcmp(got.values, view.values, (size_t)ptr[n] * sizeof(double)) == 0);
    tristar_matrix_destroy(&gathered);
  }
  mine.view.values = mine.values;
  /* All ranks return an error of one rank's arguments. */
  const tristar_view right = mine.view;
  if (w->rank == w->ranks - 1) mine.view.rows--;
  CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_RECTANGULAR);
  mine.view = right;
  if (w->ranks > 1) {
    if (w->rank == 1) mine.view.values = NULL;
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_ARGUMENT);
    mine.view = right;
    if (w->rank == 1) mine.view.symmetry = TRISTAR_HERMITIAN + 1;
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_ARGUMENT);
    mine.view = right;
  }
  if (w->rank == w->ranks - 1) ((double *)mine.values)[0] = NAN;
  CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered), TRISTAR_ERR_NOT_FINITE);
  CHECK_STATUS(
      tristar_matrix_gather(w->ts, MPI_COMM_WORLD, w->rank == w->ranks - 1 ? NULL : &mine.view, &gathered),
      TRISTAR_ERR_ARGUMENT);
  CHECK(gathered == NULL);
  memset(mine.values, 0, sizeof(double));
  for (int turn = 0; turn < 2; turn++) { /* an allocation fails on the last rank, or on rank 0 */
    allocation_failures failing = fail_allocations_on(turn ? w->ranks - 1 : 0, w->ts);
    while (next_failure(&failing)) {
      const tristar_status status = tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &mine.view, &gathered);
      end_failure_everywhere(&failing, status);
      CHECK(status == TRISTAR_OK || gathered == NULL);
      tristar_matrix_destroy(&gathered);
    }
    CHECK(failing.count > 3);
  }
  tristar_matrix_destroy(&matrix);
}

/* The first and the last rank store both entries of a pair of a symmetric matrix: all ranks return an error
 * that names the pair. In a general matrix they are two entries. */
static void check_gather_pair(const world *w) {
  const int32_t n = 2 * w->ranks, first = 2 * w->rank;
  const bool top = w->rank == 0, bottom = w->rank == w->ranks - 1;
  int32_t index[4], ptr[3] = {0, 0, 0};
  double values[4] = {1, 1, 1, 1};
  tristar_matrix_t *gathered;
  char text[512], pair[64];
  for (int32_t i = 0; i < 2; i++) {
    ptr[i + 1] = ptr[i];
    index[ptr[i + 1]++] = first + i;
    if (top && i == 0) index[ptr[i + 1]++] = n - 1;
    if (bottom && i == 1) index[ptr[i + 1]++] = 0;
  }
  tristar_view view = {.format = TRISTAR_CSR,
                       .scalar = TRISTAR_DOUBLE,
                       .rows = 2,
                       .cols = n,
                       .ptr = ptr,
                       .index = index,
                       .values = values,
                       .ptr_bits = 32,
                       .index_bits = 32};
  CHECK_OK(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &view, &gathered));
  tristar_matrix_destroy(&gathered);
  view.symmetry = TRISTAR_SYMMETRIC;
  for (int turn = 0; turn < 2; turn++) {
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &view, &gathered), TRISTAR_ERR_FORMAT);
    CHECK(gathered == NULL);
    tristar_get_error(w->ts, text, sizeof text);
    snprintf(pair, sizeof pair, "(0,%d) and (%d,0)", n - 1, n - 1);
    CHECK_MSG(strstr(text, pair) != NULL, "%s is not in \"%s\"", pair, text);
    view.values = NULL;
  }
}

/* A Hermitian matrix with one row on each rank: an imaginary number on the diagonal of the last row is an
 * error on all ranks. */
static void check_gather_diagonal(const world *w) {
  const int64_t ptr[] = {0, 1};
  const int32_t index[] = {w->rank};
  for (int imaginary = 0; imaginary < 2; imaginary++) {
    const double value[] = {2, imaginary && w->rank == w->ranks - 1};
    const tristar_view row = {
        TRISTAR_CSR, TRISTAR_HERMITIAN, TRISTAR_COMPLEX_DOUBLE, 1, w->ranks, ptr, index, value, 64, 32, 0};
    CLEANUP(tristar_matrix_destroy) tristar_matrix_t *gathered;
    CHECK_STATUS(tristar_matrix_gather(w->ts, MPI_COMM_WORLD, &row, &gathered),
                 imaginary ? TRISTAR_ERR_FORMAT : TRISTAR_OK);
    CHECK((gathered != NULL) == (w->rank == 0 && !imaginary));
  }
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  CLEANUP(close_world) world w = open_world();
  RUN(check_gather(&w, "convdiff3d", 6));
  RUN(check_gather(&w, "kkt3d", 5));
  RUN(check_gather_pair(&w));
  RUN(check_gather_diagonal(&w));
  return 0;
}
