/* Every real matrix of the data folder is read and agrees with the folder's index: rows, columns, entries,
 * field and symmetry. Matrices that the folder holds in two formats must be the same.
 *
 * The folder: TRISTAR_DATA, or ../shared/data next to the sources. */
#include "tests/support/data.h"
#include "tests/support/subtests.h"
#include "tests/api/matrix/matrix_files.h"

#define COLUMNS 12
#define LINE_MAX_BYTES 2048

/* Splits the line at its tabs. */
static int split(char *line, char *field[COLUMNS]) {
  int found = 0;
  line[strcspn(line, "\r\n")] = '\0';
  for (char *next = line; next != NULL && found < COLUMNS; found++) {
    field[found] = next;
    next = strchr(next, '\t');
    if (next != NULL) *next++ = '\0';
  }
  return found;
}

static void check_file(tristar_t *ts, char *const field[COLUMNS]) {
  char path[1024];
  static const char *const symmetries[] = {[TRISTAR_GENERAL] = "general",
                                           [TRISTAR_SYMMETRIC] = "symmetric",
                                           [TRISTAR_SKEW_SYMMETRIC] = "skew-symmetric",
                                           [TRISTAR_HERMITIAN] = "hermitian"};
  snprintf(path, sizeof path, "%s/%s", data_folder(), field[1]);
  CLEANUP(free_columns) columns *m = read_matrix(ts, field[1], path);
  const tristar_view view = m->view;
  const int64_t entries = m->ptr[m->cols];
  CHECK_MSG(view.rows == atoll(field[3]) && view.cols == atoll(field[4]), "%s: %lld x %lld", field[1],
            (long long)view.rows, (long long)view.cols);
  CHECK_MSG(entries == atoll(field[5]), "%s: %lld entries", field[1], (long long)entries);
  CHECK_MSG((view.values == NULL) == (strcmp(field[6], "pattern") == 0), "%s", field[1]);
  CHECK_MSG((view.scalar == TRISTAR_COMPLEX_DOUBLE) == (strcmp(field[6], "complex") == 0), "%s", field[1]);
  CHECK_MSG(strcmp(symmetries[view.symmetry], field[7]) == 0, "%s: %s", field[1], symmetries[view.symmetry]);
}

/* Checks that two files contain the same matrix, with values equal up to a relative difference. */
static void check_pair(tristar_t *ts, const char *one, const char *two, double tolerance) {
  char path[2][1024];
  snprintf(path[0], sizeof path[0], "%s/%s", data_folder(), one);
  snprintf(path[1], sizeof path[1], "%s/%s", data_folder(), two);
  CLEANUP(free_columns)
  columns *a = read_matrix(ts, one, path[0]), *b = read_matrix(ts, two, path[1]);
  CHECK(a->rows == b->rows && a->cols == b->cols && a->symmetry == b->symmetry && a->scalar == b->scalar);
  CHECK(memcmp(a->ptr, b->ptr, ((size_t)a->cols + 1) * sizeof *a->ptr) == 0);
  CHECK(memcmp(a->index, b->index, (size_t)a->ptr[a->cols] * sizeof *a->index) == 0);
  for (int64_t v = 0; v < a->ptr[a->cols] * width_of(a->scalar); v++)
    CHECK_MSG(fabs(a->values[v] - b->values[v]) <= tolerance * fabs(a->values[v]),
              "%s: value %lld: %.17g, %.17g", one, (long long)v, a->values[v], b->values[v]);
}

int main(int argc, char **argv) {
  subtests_begin(&argc, argv);
  char path[1024], line[LINE_MAX_BYTES];
  char *field[COLUMNS];
  int files = 0;
  snprintf(path, sizeof path, "%s/INDEX.tsv", data_folder());
  FILE *index = fopen(path, "r");
  if (index == NULL) SKIP("no matrices: %s is not there (TRISTAR_DATA names the folder)", path);
  CLEANUP(close_context) tristar_t *ts = open_context(NULL);
  CHECK(fgets(line, sizeof line, index) != NULL && split(line, field) == COLUMNS);
  CHECK(strcmp(field[1], "file") == 0 && strcmp(field[5], "nnz_stored") == 0);
  for (; fgets(line, sizeof line, index) != NULL; files++) {
    CHECK_MSG(split(line, field) == COLUMNS, "%s", line);
    RUN(check_file(ts, field));
  }
  fclose(index);
  CHECK(files > 0);
  RUN(check_pair(ts, "west0067.mtx.gz", "west0067.rua.gz", 1e-6));
  RUN(check_pair(ts, "mhd1280b.mtx.gz", "mhd1280b.rb.gz", 1e-9));
  return 0;
}
