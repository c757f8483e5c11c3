/* The k-th allocation fails, for every k, while matrices are read, generated and written: the status is
 * MEMORY, no matrix comes out, nothing leaks. */
#include "tests/support/allocations.h"
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

static const char mtx[] = "alloc_test.mtx";
static const char rua[] = "alloc_test.rua";
static const char array[] = "alloc_array.mtx";
static const char text[] = "alloc_text.txt";
static const char out[] = "alloc_out.mtx.gz";

/* More entries than the initial capacity of the reader, so that an enlargement fails, too. Entries are
 * unsorted, with duplicates, some above the diagonal, and comments between them. */
static void make_files(void) {
  FILE *file = fopen(mtx, "w");
  CHECK(file != NULL);
  fprintf(file, "%%%%MatrixMarket matrix coordinate complex hermitian\n300 300 40000\n");
  for (int k = 0; k < 40000; k++) {
    const int a = k * 7 % 300 + 1, b = k * 11 % 300 + 1;
    const bool above = (a + b) % 2 == 1;
    fprintf(file, "%s%d %d %d %d\n", k % 1000 == 0 ? "% comment\n" : "", above == (a < b) ? a : b,
            above == (a < b) ? b : a, k, a == b ? 0 : 1);
  }
  CHECK(fclose(file) == 0);
  make_text(rua,
            "title\n1 1 1 1 0\nRUA 3 3 4 0\n(8I2) (8I2) (8F4.0)\n 1 3 4 5\n 3 1 2 3\n"
            "  1.  2.  3.  4.\n",
            0);
  make_text(text, "1 2\n3 4\n", 0);
  make_text(array, "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n", 0);
}

/* The operations; each cleans up after itself. */
static tristar_status read_path(tristar_t *ts, const char *path) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  tristar_status status = tristar_matrix_read(ts, path, &m);
  CHECK((m == NULL) == (status != TRISTAR_OK));
  return status;
}

static tristar_status read_array(tristar_t *ts, const char *path) {
  tristar_dense d;
  tristar_status status = tristar_dense_read(ts, path, &d);
  CHECK((d.values == NULL) == (status != TRISTAR_OK));
  tristar_dense_destroy(ts, &d);
  return status;
}

static const int64_t ptr[] = {0, 1, 2};
static const int32_t index32[] = {1, 0};
static const double values[] = {1, 2};
static const tristar_view view = {.format = TRISTAR_CSC,
                                  .scalar = TRISTAR_DOUBLE,
                                  .rows = 2,
                                  .cols = 2,
                                  .ptr = ptr,
                                  .index = index32,
                                  .values = values,
                                  .ptr_bits = 64,
                                  .index_bits = 32};

static tristar_status write_path(tristar_t *ts, const char *path) {
  return tristar_matrix_write(ts, path, &view, NULL);
}

static tristar_status laplacian(tristar_t *ts, const char *unused) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *m = NULL;
  (void)unused;
  tristar_status status = tristar_matrix_laplacian(ts, &view, &m);
  CHECK((m == NULL) == (status != TRISTAR_OK));
  return status;
}

/* Each allocation of the operation fails in turn. */
static void fail_each(const char *name, tristar_status (*operation)(tristar_t *, const char *),
                      const char *argument, int allocations_at_least) {
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  allocation_failures failing = fail_allocations_of(ts);
  while (next_failure(&failing)) {
    const tristar_status status = operation(ts, argument);
    end_failure(&failing, status);
    if (status == TRISTAR_ERR_MEMORY) check_message(ts, name, "out of memory");
  }
  CHECK_MSG(failing.count >= allocations_at_least, "%s: only %d allocations", name, (int)failing.count);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  const char *kind = NULL;
  char path[64];
  make_files();
  RUN(fail_each("coordinate", read_path, mtx, 23));
  RUN(fail_each("harwell", read_path, rua, 10));
  RUN(fail_each("array", read_array, array, 3));
  RUN(fail_each("array as matrix", read_path, array, 6));
  RUN(fail_each("text", read_array, text, 3));
  RUN(fail_each("coordinate as dense", read_array, mtx, 23));
  RUN(fail_each("write", write_path, out, 1));
  RUN(fail_each("laplacian", laplacian, NULL, 5));
  for (int i = 0; tristar_get_generator(i, &kind, NULL); i++) {
    snprintf(path, sizeof path, "gen:%s:3", kind);
    RUN(fail_each(kind, read_path, path, 5));
  }
  remove(mtx);
  remove(rua);
  remove(array);
  remove(text);
  remove(out);
  return 0;
}
