/* Sources of matrices whose rows are on all ranks: arrays, generators, files. The rows are those of the whole
 * matrix. An error of one rank is returned by all ranks. */
#include "tests/support/mpi/dmatrix.h"
#include "tests/support/mpi/rank_allocations.h"
#include "tests/support/subtests.h"

static void check_generated(const world *w, const char *kind, int64_t k, const typed *t) {
  CLEANUP(tristar_matrix_destroy) tristar_matrix_t *matrix;
  tristar_dmatrix_options options;
  tristar_dmatrix_stats stats;
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  const double *from;
  tristar_view view = generated_view(w->ts, kind, k, &matrix);
  from = view.values;
  const int64_t entries = ((const int64_t *)view.ptr)[view.cols];
  OWNED void *values = xmalloc((size_t)entries * t->bytes);
  for (int64_t e = 0; e < entries; e++) put(t, values, e, from[e]);
  view.values = values;
  tristar_dmatrix_options_init(&options);
  options.scalar = (int)t->scalar;
  CHECK_OK(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, kind, k, &options, &d));
  check_view(t, &view, d);
  tristar_dmatrix_get_stats(d, &stats);
  CHECK(stats.symmetry ==
        (t->is_complex && view.symmetry == TRISTAR_SYMMETRIC ? TRISTAR_HERMITIAN : view.symmetry));
}

/* ---- Arrays -------------------------------------------------------------------------------------------- */

/* The matrix of these rows equals the reference. */
static void check_rows(const world *w, const shared_matrix *s, const tristar_view *rows, const typed *t) {
  tristar_dmatrix_options options = DEFAULTS(tristar_dmatrix_options);
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  options.scalar = (int)t->scalar;
  CHECK_OK(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, rows, &options, &d));
  check_view(t, &s->view, d);
}

/* Each row from its end, in halves that are added up; on even ranks unchanged. */
static void check_halves(const world *w, const shared_matrix *s) {
  const tristar_view *rows = &s->rows.view;
  const typed *t = s->t;
  const int64_t n = rows->rows, base = rows->base, *from = rows->ptr, *column = rows->index;
  const size_t room = 2 * (size_t)(from[n] - base) + 1;
  OWNED int64_t *ptr = xmalloc(((size_t)n + 1) * sizeof *ptr), *index = xmalloc(room * sizeof *index);
  OWNED char *values = xmalloc(room * t->bytes);
  tristar_view view = *rows;
  ptr[0] = base;
  for (int64_t i = 0, to = 0; i < n; i++) {
    for (int half = 0; half < 2; half++)
      for (int64_t e = from[i + 1] - base; e-- > from[i] - base; to++) {
        index[to] = column[e];
        put(t, values, to, get(t, rows->values, e) / 2);
      }
    ptr[i + 1] = to + base;
  }
  view.ptr = ptr;
  view.index = index;
  view.values = values;
  check_rows(w, s, w->rank % 2 ? &view : rows, t);
}

/* The rows as compressed columns. */
static void check_columns(const world *w, const shared_matrix *s) {
  const int64_t *from = s->view.ptr, n = s->view.cols;
  const int32_t *row = s->view.index;
  OWNED int64_t *ptr = xmalloc(((size_t)n + 1) * sizeof *ptr);
  OWNED int32_t *index = xmalloc(((size_t)from[n] + 1) * sizeof *index);
  OWNED char *values = xmalloc(((size_t)from[n] + 1) * s->t->bytes);
  tristar_view view = s->view;
  ptr[0] = 0;
  for (int64_t j = 0, to = 0; j < n; j++) {
    for (int64_t e = from[j]; e < from[j + 1]; e++) {
      if (row[e] < s->first || row[e] >= s->end) continue;
      index[to] = (int32_t)(row[e] - s->first);
      put(s->t, values, to++, get(s->t, s->view.values, e));
    }
    ptr[j + 1] = to;
  }
  view.rows = s->end - s->first;
  view.ptr = ptr;
  view.index = index;
  view.values = values;
  check_rows(w, s, &view, s->t);
}

/* Values of single precision in a matrix of double precision. */
static void check_wider(const world *w) {
  CLEANUP(release_shared)
  shared_matrix narrow = share_matrix(w, "convdiff3d", 4, &typed_single, TRISTAR_GENERAL);
  CLEANUP(release_shared)
  shared_matrix wide = share_matrix(w, "convdiff3d", 4, &typed_double, TRISTAR_GENERAL);
  const int64_t entries = ((const int64_t *)wide.view.ptr)[wide.n];
  for (int64_t e = 0; e < entries; e++)
    put(&typed_double, wide.values, e, get(&typed_single, narrow.values, e));
  check_rows(w, &wide, &narrow.rows.view, &typed_double);
}

static void check_arrays(const world *w, const typed *t) {
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, "convdiff3d", 4, t, TRISTAR_GENERAL);
  check_halves(w, &s);
  check_columns(w, &s);
}

/* ---- Files --------------------------------------------------------------------------------------------- */

/* The name of one file for all ranks of this run. */
static void name_file(const char *ending, char path[64]) {
  int process = (int)getpid();
  MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(path, 64, "dmatrix.%d.%s", process, ending);
}

static void remove_file(const world *w, const char *path) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (w->rank == 0) CHECK(remove(path) == 0);
}

static void check_file(const world *w, const char *kind, int64_t k, const typed *t, tristar_symmetry symmetry,
                       const char *ending) {
  char path[64];
  CLEANUP(release_shared) shared_matrix s = share_matrix(w, kind, k, t, symmetry);
  tristar_dmatrix_options options = DEFAULTS(tristar_dmatrix_options);
  tristar_dmatrix_t *d;
  name_file(ending, path);
  if (w->rank == 0) CHECK_OK(tristar_matrix_write(w->ts, path, &s.view, "a comment"));
  MPI_Barrier(MPI_COMM_WORLD);
  options.scalar = (int)t->scalar;
  CHECK_OK(tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, path, &options, &d));
  check_view(t, &s.view, d);
  tristar_dmatrix_destroy(&d);
  remove_file(w, path);
}

/* Reads a file with this text: its status, and a piece of the message or, if OK, the sum of all values. */
static void check_text(const world *w, const char *text, tristar_status expected, const char *part,
                       double sum) {
  char path[64], message[512];
  tristar_dmatrix_t *d;
  name_file("txt", path);
  if (w->rank == 0) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const tristar_status status = tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, path, NULL, &d);
  tristar_get_error(w->ts, message, sizeof message);
  CHECK_MSG(status == expected, "%s: %s", tristar_status_name(status), message);
  CHECK((d == NULL) == (status != TRISTAR_OK));
  if (status != TRISTAR_OK) CHECK_MSG(strstr(message, part) != NULL, "%s is not in \"%s\"", part, message);
  if (d != NULL) {
    tristar_view view;
    double own = 0;
    CHECK_OK(tristar_dmatrix_get_view(d, &view));
    for (int64_t e = 0; e < ((const int64_t *)view.ptr)[view.rows]; e++)
      own += ((const double *)view.values)[e];
    MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(own == sum);
  }
  tristar_dmatrix_destroy(&d);
  remove_file(w, path);
}

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
static void check_texts(const world *w) {
  CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
  check_text(w, GENERAL "% rows\n\n4 4 5\n1 1 1\n% here\n\n2 1 2\n4 4 4\n4 4 4\n3 2 16", TRISTAR_OK, "", 27);
  check_text(w, GENERAL "1 1 1\r\n1 1 3\r\n\r\n", TRISTAR_OK, "", 3);
  check_text(w, GENERAL "3 3 0\n", TRISTAR_OK, "", 0);
  check_text(w, "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n1 2 1\n", TRISTAR_OK, "", 3);
  check_text(w, GENERAL "4 4 5\n1 1 1\n2 2 1\n3 3 1\n4 4 1\n5 1 1\n", TRISTAR_ERR_FORMAT,
             "txt:7: row outside 1..4", 0);
  check_text(w, GENERAL "%\n4 4 5\n1 1 1\n\n2 2 x\n3 3 1\n4 4 1\n2 1 1\n", TRISTAR_ERR_FORMAT, "txt:6: ", 0);
  check_text(w, GENERAL "4 4 5\n1 1 1\n2 2 1\n3 3 1\n", TRISTAR_ERR_FORMAT, "3 entries, line 2 announces 5",
             0);
  check_text(w, GENERAL "4 4 1\n1 1 1\n2 2 1\n3 3 1\n", TRISTAR_ERR_FORMAT, "3 entries, line 2 announces 1",
             0);
  check_text(w, GENERAL "4 3 1\n1 1 1\n", TRISTAR_ERR_RECTANGULAR, "not square", 0);
  check_text(w, "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", TRISTAR_ERR_ARGUMENT,
             "no values", 0);
  check_text(w, "%%MatrixMarket matrix array real general\n1 1\n1\n", TRISTAR_ERR_UNSUPPORTED, "coordinate",
             0);
  check_text(w, "a title\n", TRISTAR_ERR_UNSUPPORTED, "Matrix Market", 0);
  check_text(w, "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1\n2 1 1\n", TRISTAR_ERR_FORMAT,
             "are both stored", 0);
  CHECK_STATUS(tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, "no/such.mtx", NULL, &d), TRISTAR_ERR_IO);
  CHECK_STATUS(tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, NULL, NULL, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, "gen:poisson3d7:x", NULL, &d),
               TRISTAR_ERR_ARGUMENT);
  CHECK_OK(tristar_dmatrix_read(w->ts, MPI_COMM_WORLD, "gen:poisson3d7:3", NULL, &d));
}

/* ---- What is wrong on one rank ------------------------------------------------------------------------- */

/* A matrix of two rows, or of as many rows as ranks if that is more. Both ranks store the off-diagonal
 * entries of the first and the last row, which are one entry by symmetry. */
static void check_pair(const world *w) {
  const int64_t n = w->ranks > 2 ? w->ranks : 2, first = w->rank == 0 ? 0 : n - w->ranks + w->rank;
  const int64_t end = n - w->ranks + w->rank + 1;
  int64_t ptr[3] = {0}, index[4];
  double value[4] = {1, 1, 1, 1};
  char text[512];
  tristar_dmatrix_t *d;
  for (int64_t i = first; i < end; i++) {
    int64_t *to = &ptr[i - first + 1];
    *to = ptr[i - first];
    if (i == n - 1) index[(*to)++] = 0;
    index[(*to)++] = i;
    if (i == 0) index[(*to)++] = n - 1;
  }
  const tristar_view rows = {.format = TRISTAR_CSR,
                             .symmetry = TRISTAR_SYMMETRIC,
                             .scalar = TRISTAR_DOUBLE,
                             .rows = end - first,
                             .cols = n,
                             .ptr = ptr,
                             .index = index,
                             .values = value,
                             .ptr_bits = 64,
                             .index_bits = 64};
  CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &rows, NULL, &d), TRISTAR_ERR_FORMAT);
  tristar_get_error(w->ts, text, sizeof text);
  CHECK_MSG(d == NULL && strstr(text, "are both stored") != NULL, "rank %d: %s", w->rank, text);
}

static void check_errors(const world *w) {
  const bool last = w->rank == w->ranks - 1;
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_double, TRISTAR_SYMMETRIC);
  tristar_dmatrix_options options = DEFAULTS(tristar_dmatrix_options);
  tristar_dmatrix_t *d = NULL;
  const tristar_view right = s.rows.view;
#define EXPECT(expected)                                                                                     \
  do {                                                                                                       \
    CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, &options, &d), expected);       \
    CHECK(d == NULL);                                                                                        \
    s.rows.view = right;                                                                                     \
    tristar_dmatrix_options_init(&options);                                                                  \
  } while (0)
  if (last) s.rows.view.rows--;
  EXPECT(TRISTAR_ERR_RECTANGULAR);
  s.rows.view.values = NULL;
  EXPECT(TRISTAR_ERR_ARGUMENT);
  options.scalar = 'x';
  EXPECT(TRISTAR_ERR_ARGUMENT);
  if (last) s.rows.view.cols++;
  EXPECT(w->ranks > 1 ? TRISTAR_ERR_ARGUMENT : TRISTAR_ERR_RECTANGULAR);
  if (w->ranks > 1) {
    if (last) options.engine = TRISTAR_ENGINE_SERIAL;
    EXPECT(TRISTAR_ERR_ARGUMENT);
    if (last) options.scalar = TRISTAR_SINGLE;
    EXPECT(TRISTAR_ERR_ARGUMENT);
  }
  if (last) ((double *)s.rows.values)[0] = NAN;
  EXPECT(TRISTAR_ERR_NOT_FINITE);
  if (last) ((double *)s.rows.values)[0] = 1;
  CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, last ? NULL : &right, NULL, &d),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &right, NULL, last ? NULL : &d),
               TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_create(NULL, MPI_COMM_WORLD, &right, NULL, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, "circuit", 9, NULL, &d),
               TRISTAR_ERR_UNSUPPORTED);
  CHECK_STATUS(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, "nothing", 9, NULL, &d), TRISTAR_ERR_ARGUMENT);
  CHECK_STATUS(tristar_dmatrix_generate(w->ts, MPI_COMM_WORLD, NULL, 9, NULL, &d), TRISTAR_ERR_ARGUMENT);
}

/* An allocation fails on one rank: all ranks return the error, and a later attempt succeeds. */
static void check_memory(const world *w) {
  CLEANUP(release_shared)
  shared_matrix s = share_matrix(w, "poisson3d7", 4, &typed_complex_double, TRISTAR_HERMITIAN);
  const int64_t rows = s.end - s.first;
  OWNED void *all = make_vectors(s.t, s.n, 1), *x = take_vectors(&s, all), *y = take_vectors(&s, all);
  const number half = 0.5;
  for (int who = 0; who < w->ranks; who++) {
    allocation_failures failing = fail_allocations_on(who, w->ts);
    while (next_failure(&failing)) {
      CLEANUP(tristar_dmatrix_destroy) tristar_dmatrix_t *d;
      tristar_view view;
      tristar_status status = tristar_dmatrix_create(w->ts, MPI_COMM_WORLD, &s.rows.view, NULL, &d);
      CHECK((d == NULL) == (status != TRISTAR_OK));
      if (d != NULL) status = tristar_dmatrix_multiply(d, TRISTAR_C, 9, &half, x, rows, NULL, y, rows);
      end_failure_everywhere(&failing, status);
      if (d != NULL) CHECK_OK(tristar_dmatrix_multiply(d, TRISTAR_C, 9, &half, x, rows, NULL, y, rows));
      if (d != NULL) CHECK_OK(tristar_dmatrix_get_view(d, &view));
    }
    CHECK(failing.count > 40);
  }
}

int main(int argc, char **argv) {
  subtests_begin_here(&argc, argv);
  static const typed *const types[] = {&typed_single, &typed_double, &typed_complex_single,
                                       &typed_complex_double};
  CLEANUP(close_world) world w = open_world();
  for (int t = 0; t < 4; t++) RUN(check_generated(&w, "elasticity3d", 2, types[t]));
  for (int t = 0; t < 4; t++) RUN(check_arrays(&w, types[t]));
  RUN(check_wider(&w));
  RUN(check_generated(&w, "poisson3d7", 1, &typed_double));
  RUN(check_generated(&w, "fusion2d", 1, &typed_double));
  RUN(check_file(&w, "convdiff3d", 5, &typed_double, TRISTAR_GENERAL, "mtx"));
  RUN(check_file(&w, "poisson3d7", 5, &typed_complex_double, TRISTAR_HERMITIAN, "mtx"));
  RUN(check_file(&w, "poisson3d27", 4, &typed_complex_single, TRISTAR_SKEW_SYMMETRIC, "mtx"));
  RUN(check_file(&w, "elasticity3d", 2, &typed_single, TRISTAR_SYMMETRIC, "mtx.gz"));
  RUN(check_texts(&w));
  RUN(check_pair(&w));
  RUN(check_errors(&w));
  RUN(check_memory(&w));
  return 0;
}
