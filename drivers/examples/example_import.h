/* Helpers shared by example_import_*.c: the matrix named on the command line, a right-hand side, times, and
 * the comparison of two solutions. The examples themselves show how to import factors.
 *
 * Reads   the arguments of the program: a matrix file or gen:KIND:K.
 * Writes  a short table to stdout; messages to stderr.
 *
 * Every function ends the program with status 1 when something fails: these are small programs. */
#ifndef TSI_DRIVERS_EXAMPLES_EXAMPLE_IMPORT_H
#define TSI_DRIVERS_EXAMPLES_EXAMPLE_IMPORT_H

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "example.h"
#include "tristar_matrix.h"

#define EXAMPLE_WORKERS 2
#define EXAMPLE_SOLVES 11 /* Number of solves; their median time is printed. */

typedef struct example_problem {
  tristar_t *ts;
  tristar_matrix_t *matrix;
  tristar_view view; /* Of matrix: one triangle if it is symmetric. */
  int n;
  int *ptr, *row; /* The whole matrix in compressed columns, rows ascending: ptr has n + 1 entries. */
  double *value;
  double *b;     /* A right-hand side: random numbers in [-1, 1). */
  double *x, *y; /* Solutions of the other library and of TriStar. */
} example_problem;

static inline int example_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Median of EXAMPLE_SOLVES times; sorts them. */
static inline double example_median(double *seconds) {
  qsort(seconds, EXAMPLE_SOLVES, sizeof *seconds, example_compare);
  return seconds[EXAMPLE_SOLVES / 2];
}

/* Sorts the columns of a symmetric or skew-symmetric matrix: adds row after row to the columns. */
static inline void example_sort(example_problem *p, double mirror) {
  int *next = example_allocate((size_t)p->n + 1, sizeof *next);
  int *row = example_allocate((size_t)p->ptr[p->n], sizeof *row);
  double *value = example_allocate((size_t)p->ptr[p->n], sizeof *value);
  for (int j = 0; j < p->n; j++) next[j] = p->ptr[j];
  for (int i = 0; i < p->n; i++) /* Row i is column i, or minus column i. */
    for (int q = p->ptr[i]; q < p->ptr[i + 1]; q++) {
      const int j = p->row[q];
      row[next[j]] = i, value[next[j]++] = mirror * p->value[q];
    }
  free(next);
  free(p->row);
  free(p->value);
  p->row = row;
  p->value = value;
}

/* Both triangles of the view, in compressed columns with plain int, the format of most other solvers. */
static inline void example_expand(example_problem *p) {
  const tristar_view *a = &p->view;
  const int64_t *ptr = a->ptr;
  const int32_t *index = a->index;
  const double *values = a->values, mirror = a->symmetry == TRISTAR_SKEW_SYMMETRIC ? -1 : 1;
  const int64_t n = a->cols;
  int64_t *next = example_allocate((size_t)n + 1, sizeof *next);
  for (int64_t j = 0; j < n; j++)
    for (int64_t q = ptr[j]; q < ptr[j + 1]; q++) {
      next[j + 1]++;
      if (a->symmetry != TRISTAR_GENERAL && index[q] != j) next[index[q] + 1]++;
    }
  for (int64_t j = 0; j < n; j++) next[j + 1] += next[j];
  if (next[n] > INT_MAX) example_die("the matrix", "too large for the int of the other library");
  p->n = (int)n;
  p->ptr = example_allocate((size_t)n + 1, sizeof *p->ptr);
  p->row = example_allocate((size_t)next[n], sizeof *p->row);
  p->value = example_allocate((size_t)next[n], sizeof *p->value);
  for (int64_t j = 0; j <= n; j++) p->ptr[j] = (int)next[j];
  for (int64_t j = 0; j < n; j++)
    for (int64_t q = ptr[j]; q < ptr[j + 1]; q++) {
      const int64_t i = index[q];
      p->row[next[j]] = (int)i, p->value[next[j]++] = values[q];
      if (a->symmetry != TRISTAR_GENERAL && i != j)
        p->row[next[i]] = (int)j, p->value[next[i]++] = mirror * values[q];
    }
  free(next);
  if (a->symmetry != TRISTAR_GENERAL) example_sort(p, mirror);
}

/* Creates a context, reads the matrix argv[1] or, without arguments, otherwise_matrix, and makes a right-hand
 * side. The context does not start StarPU yet; later it starts it with EXAMPLE_WORKERS workers. */
static inline void example_begin(example_problem *p, int argc, char **argv, const char *otherwise_matrix) {
  const char *path = argc > 1 ? argv[1] : otherwise_matrix;
  tristar_config config;
  uint64_t state = 1;
  *p = (example_problem){0};
  if (argc > 2 || path[0] == '-') example_die(argv[0], "[matrix file or gen:KIND:K]");
  tristar_config_init(&config);
  config.workers = EXAMPLE_WORKERS;
  example_check(NULL, tristar_create(&config, &p->ts));
  example_check(p->ts, tristar_matrix_read(p->ts, path, &p->matrix));
  tristar_matrix_get_view(p->matrix, &p->view);
  if (p->view.rows != p->view.cols || p->view.rows == 0) example_die(path, "the matrix is not square");
  if (p->view.scalar != TRISTAR_DOUBLE || p->view.values == NULL)
    example_die(path, "the examples want a real matrix with values");
  example_expand(p);
  p->b = example_allocate((size_t)p->n, sizeof *p->b);
  p->x = example_allocate((size_t)p->n, sizeof *p->x);
  p->y = example_allocate((size_t)p->n, sizeof *p->y);
  for (int i = 0; i < p->n; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    p->b[i] = (double)(state >> 33) / 1073741824.0 - 1.0;
  }
  printf("%s: %d rows, %d entries\n", path, p->n, p->ptr[p->n]);
}

/* max |r| / max (|A| |v| + |b|) of a solution v, where r is its residual b - A v or, with other = 1, the
 * change r = A (v - x) from the other library's solution x. Unlike fmax, it keeps a NaN. */
static inline double example_error(const example_problem *p, const double *v, int other) {
  double *r = example_allocate((size_t)p->n, sizeof *r), error = 0;
  double *size = example_allocate((size_t)p->n, sizeof *size), largest = 0;
  for (int i = 0; i < p->n; i++) {
    r[i] = other ? 0 : p->b[i];
    size[i] = fabs(p->b[i]);
  }
  for (int j = 0; j < p->n; j++)
    for (int q = p->ptr[j]; q < p->ptr[j + 1]; q++) {
      r[p->row[q]] -= p->value[q] * (other ? v[j] - p->x[j] : v[j]);
      size[p->row[q]] += fabs(p->value[q] * v[j]);
    }
  for (int i = 0; i < p->n; i++) {
    if (!(fabs(r[i]) <= error) && !isnan(error)) error = fabs(r[i]);
    if (!(size[i] <= largest)) largest = size[i];
  }
  free(r);
  free(size);
  return error / largest;
}

/* Solves with TriStar, into y. Returns the median of the times, in seconds. */
static inline double example_solve(example_problem *p, tristar_plan_t *plan) {
  double seconds[EXAMPLE_SOLVES];
  for (int k = 0; k < EXAMPLE_SOLVES; k++) {
    const double begin = example_seconds();
    example_check(p->ts, tristar_solve(plan, TRISTAR_N, 1, p->b, p->n, p->y, p->n));
    seconds[k] = example_seconds() - begin;
  }
  return example_median(seconds);
}

/* Prints both times (medians, in seconds), the backward errors, and the distance of the solutions x and y.
 * Returns the exit status of the program: failure if y is worse than x. That is the case if A (y - x)
 * exceeds a modest multiple of roundoff, or of the error of x. (y - x itself grows with the condition
 * number of A.) */
static inline int example_end(example_problem *p, const char *library, double their_seconds,
                              double our_seconds) {
  const double their_error = example_error(p, p->x, 0), our_error = example_error(p, p->y, 0);
  const double apart = example_error(p, p->y, 1);
  printf("%-20s %10.3f ms a solve, backward error %.1e\n", library, 1e3 * their_seconds, their_error);
  printf("TriStar, %d workers   %10.3f ms a solve, backward error %.1e, %.2f times as fast\n",
         EXAMPLE_WORKERS, 1e3 * our_seconds, our_error, their_seconds / our_seconds);
  printf("the solutions are apart by the error       %.1e\n", apart);
  const int good = apart <= 1e4 * fmax(DBL_EPSILON, their_error);
  if (!good) fprintf(stderr, "the solutions differ by more than roundoff\n"); /* Or are NaN. */
  free(p->ptr);
  free(p->row);
  free(p->value);
  free(p->b);
  free(p->x);
  free(p->y);
  tristar_matrix_destroy(&p->matrix);
  tristar_destroy(&p->ts);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
