/* Matrices of files and generators: a context without StarPU, files made of text, expected failures, and the
 * promises of tristar_matrix.h. */
#pragma once

#include <locale.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/context.h"
#include "tristar_matrix.h"

#define BANNER "%%MatrixMarket matrix coordinate "
#define ARRAY "%%MatrixMarket matrix array "

typedef struct warning_count {
  int warnings;
} warning_count;

static inline void count_warning(void *arg, tristar_log_level level, const char *text) {
  (void)text;
  if (level == TRISTAR_LOG_WARNING) ((warning_count *)arg)->warnings++;
}

/* Opens a context without StarPU that checks every matrix. warnings may be NULL. */
static inline tristar_t *open_context(warning_count *warnings) {
  tristar_config config = context_config(false, true);
  tristar_t *ts;
  if (warnings != NULL) {
    config.log = count_warning;
    config.log_arg = warnings;
    config.log_level = TRISTAR_LOG_WARNING;
  }
  CHECK_OK(tristar_create(&config, &ts));
  return ts;
}

/* Writes `size` bytes to a file, plain or compressed by gzip. */
static inline void make_file(const char *path, const void *bytes, size_t size, int compressed) {
  gzFile file = gzopen(path, compressed ? "wb" : "wbT");
  CHECK(file != NULL);
  CHECK(gzwrite(file, bytes, (unsigned)size) == (int)size);
  CHECK(gzclose(file) == Z_OK);
}

static inline void make_text(const char *path, const char *text, int compressed) {
  make_file(path, text, strlen(text), compressed);
}

/* The latest error message must contain `needle`. */
static inline void check_message(tristar_t *ts, const char *name, const char *needle) {
  char message[512];
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(strstr(message, needle) != NULL, "%s: no \"%s\" in \"%s\"", name, needle, message);
}

static inline void expect_read_failure(tristar_t *ts, const char *name, const char *path,
                                       tristar_status expected, const char *needle) {
  tristar_matrix_t *m = (tristar_matrix_t *)(void *)ts; /* must become NULL */
  tristar_status status = tristar_matrix_read(ts, path, &m);
  CHECK_MSG(status == expected, "%s: %s, expected %s", name, tristar_status_name(status),
            tristar_status_name(expected));
  CHECK_MSG(m == NULL, "%s: a matrix after a failure", name);
  check_message(ts, name, needle);
}

/* Returns the number of doubles (or floats) in one value. */
static inline int width_of(tristar_scalar scalar) {
  return scalar == TRISTAR_COMPLEX_SINGLE || scalar == TRISTAR_COMPLEX_DOUBLE ? 2 : 1;
}

/* A matrix and its arrays. */
typedef struct columns {
  tristar_matrix_t *matrix;
  tristar_view view;
  tristar_symmetry symmetry;
  tristar_scalar scalar;
  int32_t rows, cols;
  const int64_t *ptr;
  const int32_t *index;
  const double *values; /* NULL: only a pattern */
} columns;

/* Takes ownership of the matrix; free the result with free_columns. */
static inline columns *columns_of(tristar_matrix_t *matrix) {
  columns *c = xcalloc(1, sizeof *c);
  tristar_view *v = &c->view;
  CHECK_OK(tristar_matrix_get_view(matrix, v));
  CHECK(v->format == TRISTAR_CSC && v->base == 0 && v->ptr_bits == 64 && v->index_bits == 32);
  CHECK(v->rows >= 0 && v->rows < INT32_MAX && v->cols >= 0 && v->cols < INT32_MAX);
  *c = (columns){matrix,           *v,     v->symmetry, v->scalar, (int32_t)v->rows,
                 (int32_t)v->cols, v->ptr, v->index,    v->values};
  return c;
}

static inline void free_columns(columns **c) {
  if (*c != NULL) tristar_matrix_destroy(&(*c)->matrix);
  free(*c);
  *c = NULL;
}

/* Checks the invariants of all matrices of the library: rows ascend in each column, without duplicates.
 * Symmetric kinds store the lower triangle; the diagonal of skew-symmetric ones is zero, that of Hermitian
 * ones real. Values are finite. */
static inline void check_columns(const columns *c) {
  const int width = width_of(c->scalar);
  CHECK(c->scalar == TRISTAR_DOUBLE || c->scalar == TRISTAR_COMPLEX_DOUBLE);
  CHECK(c->ptr[0] == 0 && (c->symmetry == TRISTAR_GENERAL || c->rows == c->cols));
  for (int32_t j = 0; j < c->cols; j++) {
    CHECK(c->ptr[j] <= c->ptr[j + 1]);
    for (int64_t k = c->ptr[j]; k < c->ptr[j + 1]; k++) {
      const int32_t i = c->index[k];
      CHECK(i >= 0 && i < c->rows && (k == c->ptr[j] || i > c->index[k - 1]));
      CHECK(i >= j || c->symmetry == TRISTAR_GENERAL);
      if (c->values == NULL) continue;
      const double *value = c->values + k * width;
      CHECK(isfinite(value[0]) && isfinite(value[width - 1]));
      if (i == j && c->symmetry == TRISTAR_SKEW_SYMMETRIC) CHECK(!(fabs(value[0]) > 0));
      if (i == j && c->symmetry == TRISTAR_HERMITIAN && width == 2) CHECK(!(fabs(value[1]) > 0));
    }
  }
}

static inline columns *read_matrix(tristar_t *ts, const char *name, const char *path) {
  tristar_matrix_t *m = NULL;
  char message[512];
  tristar_status status = tristar_matrix_read(ts, path, &m);
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(status == TRISTAR_OK, "%s: %s", name, message);
  columns *c = columns_of(m);
  check_columns(c);
  return c;
}

/* ---- Tables of files ----------------------------------------------------------------------------------- */

/* A file that the reader accepts, and its matrix. */
typedef struct good_file {
  const char *name, *text;
  struct {
    tristar_symmetry symmetry;
    char scalar; /* 'p': only a pattern */
    int rows, cols, entries, warnings;
  } is;
  int at[5][2];       /* row and column of the entries, by columns */
  double value[5][2]; /* real, imaginary */
} good_file;

static inline void check_good(const good_file *f, const char *path, int compressed) {
  warning_count warnings = {0};
  CLEANUP(close_context) tristar_t *ts = open_context(&warnings);
  make_text(path, f->text, compressed);
  CLEANUP(free_columns) columns *m = read_matrix(ts, f->name, path);
  const int width = width_of(m->scalar);
  CHECK_MSG(m->rows == f->is.rows && m->cols == f->is.cols && m->ptr[m->cols] == f->is.entries,
            "%s: %d x %d, %lld", f->name, m->rows, m->cols, (long long)m->ptr[m->cols]);
  CHECK_MSG(m->symmetry == f->is.symmetry && (m->values == NULL) == (f->is.scalar == 'p'), "%s", f->name);
  CHECK_MSG(m->scalar == (f->is.scalar == 'z' ? TRISTAR_COMPLEX_DOUBLE : TRISTAR_DOUBLE), "%s", f->name);
  for (int j = 0; j < m->cols; j++)
    for (int64_t k = m->ptr[j]; k < m->ptr[j + 1]; k++) {
      CHECK_MSG(m->index[k] == f->at[k][0] && j == f->at[k][1], "%s: entry %lld", f->name, (long long)k);
      for (int c = 0; c < width && m->values != NULL; c++)
        CHECK_MSG(m->values[k * width + c] == f->value[k][c], "%s: entry %lld", f->name, (long long)k);
    }
  CHECK_MSG(warnings.warnings == f->is.warnings, "%s: %d warnings", f->name, warnings.warnings);
}

/* A file that the reader refuses, the status, and a part of the message: the line number and the cause or
 * the offending text. */
typedef struct bad_file {
  const char *name, *text;
  tristar_status status;
  const char *needle;
} bad_file;

static inline void check_bad(tristar_t *ts, const bad_file *f, const char *path, int compressed) {
  make_text(path, f->text, compressed);
  expect_read_failure(ts, f->name, path, f->status, f->needle);
}

/* Continues an FNV-1a hash over these bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *b = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* Hashes sizes, symmetry, scalar and all three arrays. Equal matrices have equal hashes. */
static inline uint64_t hash_matrix(const columns *m) {
  const int32_t head[4] = {m->rows, m->cols, (int32_t)m->symmetry,
                           m->values == NULL ? 0 : (int32_t)m->scalar};
  const size_t entries = (size_t)m->ptr[m->cols];
  uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), head, sizeof head);
  hash = hash_bytes(hash, m->ptr, ((size_t)m->cols + 1) * sizeof *m->ptr);
  hash = hash_bytes(hash, m->index, entries * sizeof *m->index);
  if (m->values != NULL)
    hash = hash_bytes(hash, m->values, entries * (size_t)width_of(m->scalar) * sizeof *m->values);
  return hash;
}

/* Runs a test under a locale with a decimal comma, which must not affect files. Not every system has such a
 * locale. */
static inline void with_decimal_comma(void (*test)(void)) {
  static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "it_IT.UTF-8"};
  size_t i = 0;
  while (i < 4 && setlocale(LC_ALL, commas[i]) == NULL) i++;
  if (i == 4) return;
  CHECK(localeconv()->decimal_point[0] == ',');
  test();
  CHECK(localeconv()->decimal_point[0] == ',');
  setlocale(LC_ALL, "C");
}
