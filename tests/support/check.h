/* Assertions of the tests: a failure prints the place and the values and ends the test with status 1. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tristar_matrix.h"

#define CHECK(cond)                                                                                          \
  do {                                                                                                       \
    if (!(cond)) {                                                                                           \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                                     \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* As CHECK, with a printf-style explanation. */
#define CHECK_MSG(cond, ...)                                                                                 \
  do {                                                                                                       \
    if (!(cond)) {                                                                                           \
      fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #cond);                                     \
      fprintf(stderr, __VA_ARGS__);                                                                          \
      fputc('\n', stderr);                                                                                   \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* The call must return this status. */
#define CHECK_STATUS(expr, expected)                                                                         \
  do {                                                                                                       \
    tristar_status check_got = (expr);                                                                       \
    if (check_got != (expected)) {                                                                           \
      fprintf(stderr, "%s:%d: %s gave %s, expected %s\n", __FILE__, __LINE__, #expr,                         \
              tristar_status_name(check_got), tristar_status_name(expected));                                \
      exit(1);                                                                                               \
    }                                                                                                        \
  } while (0)

/* Is this a build with the thread sanitizer? It then omits tests of one thread, and tests only one scalar
 * type: all types have the same steps and edges. The other builds run these tests. */
#if defined __SANITIZE_THREAD__
#define TSI_TESTS_RACES 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define TSI_TESTS_RACES 1
#endif
#endif
#ifndef TSI_TESTS_RACES
#define TSI_TESTS_RACES 0
#endif
/* Is this a build with any sanitizer? The kernels of all scalars have one source and access memory alike, so
 * it tests fewer types. */
#if TSI_TESTS_RACES || defined __SANITIZE_ADDRESS__
#define TSI_TESTS_SANITIZED 1
#else
#define TSI_TESTS_SANITIZED 0
#endif

#define CHECK_OK(expr) CHECK_STATUS(expr, TRISTAR_OK)

/* Sets `place` of a structure to a wrong `value`; the call `check` must then fail. Restores the old value. */
#define BROKEN(place, value, check)                                                                          \
  do {                                                                                                       \
    const __typeof__(place) check_kept = (place);                                                            \
    (place) = (value);                                                                                       \
    CHECK_STATUS(check, TRISTAR_ERR_INTERNAL);                                                               \
    (place) = check_kept;                                                                                    \
  } while (0)

/* Variables that are released at the end of their scope. Objects by their own function:
 *
 *   CLEANUP(tristar_factor_destroy) tristar_factor_t *factor;
 *
 * Arrays by free(): OWNED double *x = xmalloc(bytes); */
#define CLEANUP(release) __attribute__((cleanup(release), unused))
#define OWNED __attribute__((cleanup(free_owned), unused))

static inline void free_owned(void *pointer) {
  free(*(void **)pointer);
}

/* malloc and calloc, which must succeed; also of 0 bytes. */
static inline void *xmalloc(size_t size) {
  void *memory = malloc(size > 0 ? size : 1);
  CHECK(memory != NULL);
  return memory;
}
static inline void *xcalloc(size_t count, size_t size) {
  void *memory = calloc(count > 0 ? count : 1, size);
  CHECK(memory != NULL);
  return memory;
}

/* Returns the larger one, or NaN if one is NaN, so that a maximum of errors does not hide a NaN. */
static inline double larger_error(double a, double b) {
  return a >= b || isnan(a) ? a : b;
}

/* Ends the test as skipped. */
#define SKIP(...)                                                                                            \
  do {                                                                                                       \
    printf("skipped: " __VA_ARGS__);                                                                         \
    putchar('\n');                                                                                           \
    exit(77);                                                                                                \
  } while (0)

/* The latest message of the calling thread contains the text. */
#define CHECK_ERROR(ts, text)                                                                                \
  do {                                                                                                       \
    char error_[1024];                                                                                       \
    (void)tristar_get_error((ts), error_, sizeof error_);                                                    \
    CHECK_MSG(strstr(error_, (text)) != NULL, "\"%s\" is not in \"%s\"", (text), error_);                    \
  } while (0)

/* Create objects; creation must succeed. */
#define NEW_ANALYSIS(ts, view, options) CHECK_NEW(tristar_analysis_t, tristar_analyze, ts, view, options)
#define NEW_FACTOR(analysis, values) CHECK_NEW(tristar_factor_t, tristar_factor, analysis, values)
#define NEW_PLAN(factor, options) CHECK_NEW(tristar_plan_t, tristar_plan, factor, options)
#define NEW_PRECOND(ts, view, options) CHECK_NEW(tristar_precond_t, tristar_precond, ts, view, options)
#define CHECK_NEW(type, create, ...)                                                                         \
  ({                                                                                                         \
    type *new_;                                                                                              \
    CHECK_OK(create(__VA_ARGS__, &new_));                                                                    \
    new_;                                                                                                    \
  })

/* A struct of this type with the defaults of its tristar_..._init. */
#define DEFAULTS(type)                                                                                       \
  ({                                                                                                         \
    type defaults_;                                                                                          \
    type##_init(&defaults_);                                                                                 \
    defaults_;                                                                                               \
  })

/* A view of compressed columns or rows that begin at 0. */
static inline tristar_view stored_view(tristar_format format, tristar_symmetry symmetry,
                                       tristar_scalar scalar, int64_t rows, int64_t cols, const int64_t *ptr,
                                       const int32_t *index, const void *values) {
  return (tristar_view){.format = format,
                        .symmetry = symmetry,
                        .scalar = scalar,
                        .rows = rows,
                        .cols = cols,
                        .ptr = ptr,
                        .index = index,
                        .values = values,
                        .ptr_bits = 64,
                        .index_bits = 32,
                        .base = 0};
}

/* Returns the view of a generated matrix, or of one that is read. Destroy the matrix. */
static inline tristar_view generated_view(tristar_t *ts, const char *kind, int64_t size,
                                          tristar_matrix_t **matrix) {
  tristar_view view;
  CHECK_OK(tristar_matrix_generate(ts, kind, size, matrix));
  CHECK_OK(tristar_matrix_get_view(*matrix, &view));
  return view;
}
static inline tristar_view read_view(tristar_t *ts, const char *path, tristar_matrix_t **matrix) {
  tristar_view view;
  CHECK_OK(tristar_matrix_read(ts, path, matrix));
  CHECK_OK(tristar_matrix_get_view(*matrix, &view));
  return view;
}
