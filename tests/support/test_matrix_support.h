/* What the tests of the matrix layer share: a context without StarPU, files made of text, expected failures.
 */
#ifndef TSI_TESTS_SUPPORT_TEST_MATRIX_SUPPORT_H
#define TSI_TESTS_SUPPORT_TEST_MATRIX_SUPPORT_H

#include <locale.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/context/context.h"
#include "runtime/matrix/matrix.h"
#include "tests/support/context.h"

#define BANNER "%%MatrixMarket matrix coordinate "
#define ARRAY "%%MatrixMarket matrix array "

typedef struct warning_count {
  int warnings;
} warning_count;

static inline void count_warning(void *arg, tristar_log_level level, const char *text) {
  (void)text;
  if (level == TRISTAR_LOG_WARNING) ((warning_count *)arg)->warnings++;
}

/* A context without StarPU that checks every matrix. warnings may be NULL. */
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

/* Writes size bytes to a file, gzip-compressed or as they are. */
static inline void make_file(const char *path, const void *bytes, size_t size, int compressed) {
  gzFile file = gzopen(path, compressed ? "wb" : "wbT");
  CHECK(file != NULL);
  CHECK(gzwrite(file, bytes, (unsigned)size) == (int)size);
  CHECK(gzclose(file) == Z_OK);
}

static inline void make_text(const char *path, const char *text, int compressed) {
  make_file(path, text, strlen(text), compressed);
}

/* The message of the latest error must hold the text. */
static inline void check_message(tristar_t *ts, const char *name, const char *needle) {
  char message[TSI_MESSAGE_SIZE];
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

static inline tristar_matrix_t *read_matrix(tristar_t *ts, const char *name, const char *path) {
  tristar_matrix_t *m = NULL;
  char message[TSI_MESSAGE_SIZE];
  tristar_status status = tristar_matrix_read(ts, path, &m);
  tristar_get_error(ts, message, sizeof message);
  CHECK_MSG(status == TRISTAR_OK, "%s: %s", name, message);
  CHECK_OK(tsi_matrix_check(m));
  return m;
}

/* FNV-1a over bytes, to be continued. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *b = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* Of sizes, symmetry, scalar and all three arrays: equal matrices have equal hashes. */
static inline uint64_t hash_matrix(const tristar_matrix_t *m) {
  const int32_t head[4] = {m->rows, m->cols, (int32_t)m->symmetry,
                           m->values == NULL ? 0 : (int32_t)m->scalar};
  const size_t entries = (size_t)m->ptr[m->cols];
  uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), head, sizeof head);
  hash = hash_bytes(hash, m->ptr, ((size_t)m->cols + 1) * sizeof *m->ptr);
  hash = hash_bytes(hash, m->index, entries * sizeof *m->index);
  if (m->values != NULL)
    hash = hash_bytes(hash, m->values, entries * (size_t)tsi_scalar_width(m->scalar) * sizeof *m->values);
  return hash;
}

/* Runs a test under a locale with a decimal comma, which must not reach files. Such locales are not
 * everywhere. */
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

#endif
