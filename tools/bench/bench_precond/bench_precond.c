/* bench_precond [--rounds N] MATRIX...: the cost of creating a Krylov solver and incomplete factors, compared
 * with plain loops on the same compressed rows of the full matrix, in one process, in turn.
 *
 * - krylov: tristar_krylov_create, compared with 3 products with compressed rows and one copy of them
 * - jacobi: tristar_precond of the diagonal, compared with the same; both together also with 3 products and 3
 *   copies
 * - ILU(0): compared with ILU(0) row by row (Saad, Iterative Methods for Sparse Linear Systems, algorithm
 *   10.4), which copies the rows and factors the copy
 * - IC(0), of symmetric matrices: compared with IC(0) row by row of a copy of the upper triangle
 *
 * Incomplete factors also with the first application, which creates the streams of the sweeps, and for an
 * update with the next application. Times are the smallest of all rounds, to exclude the load of other
 * processes. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "tristar_krylov.h"
#include "tristar_matrix.h"

typedef struct rows {
  int32_t n;
  int64_t *ptr;
  int32_t *index;
  double *values;
} rows;

static void *allocate(int64_t count, size_t size) {
  void *array = malloc((size_t)count * size + 1);
  if (array != NULL) return array;
  fprintf(stderr, "bench_precond: out of memory\n");
  exit(1);
}

static void release(rows *a) {
  free(a->ptr);
  free(a->index);
  free(a->values);
}

static rows make_rows(int32_t n, int64_t entries) {
  return (rows){n, allocate((int64_t)n + 1, sizeof(int64_t)), allocate(entries, sizeof(int32_t)),
                allocate(entries, sizeof(double))};
}

/* ---- Plain loops --------------------------------------------------------------------------------------- */

/* view: from tristar_matrix_get_view. Returns both triangles of a symmetric matrix, with ascending
 * columns. */
static rows full_rows(const tristar_view *view) {
  const int32_t n = (int32_t)view->rows, *index = view->index;
  const int64_t *ptr = view->ptr;
  const bool mirror = view->symmetry != TRISTAR_GENERAL;
  rows a = make_rows(n, (mirror ? 2 : 1) * ptr[n]);
  int64_t *next = allocate((int64_t)n + 2, sizeof *next);
  memset(next, 0, ((size_t)n + 2) * sizeof *next);
  for (int32_t j = 0; j < n; j++)
    for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) {
      next[index[e] + 2]++;
      if (mirror && index[e] != j) next[j + 2]++;
    }
  for (int32_t i = 0; i <= n; i++) next[i + 1] += next[i];
  memcpy(a.ptr, next + 1, ((size_t)n + 1) * sizeof *a.ptr);
  for (int pass = 0; pass < 3; pass++) /* entries left of the diagonal, then others, of either triangle */
    for (int32_t j = 0; j < n; j++)
      for (int64_t e = ptr[j]; e < ptr[j + 1]; e++) {
        const int32_t i = index[e];
        const bool own = mirror ? (i >= j ? pass == 0 : pass == 2) : pass == 0;
        const bool image = mirror && i != j && pass == (i > j ? 1 : 0);
        if (own) {
          a.index[next[i + 1]] = j;
          a.values[next[i + 1]++] = ((const double *)view->values)[e];
        }
        if (image) {
          a.index[next[j + 1]] = i;
          a.values[next[j + 1]++] = ((const double *)view->values)[e];
        }
      }
  free(next);
  return a;
}

static void multiply(const rows *a, const double *x, double *y) {
  for (int32_t i = 0; i < a->n; i++) {
    double sum = 0;
    for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; e++) sum += a->values[e] * x[a->index[e]];
    y[i] = sum;
  }
}

static rows copy_rows(const rows *a) {
  const int64_t entries = a->ptr[a->n];
  rows copy = make_rows(a->n, entries);
  memcpy(copy.ptr, a->ptr, ((size_t)a->n + 1) * sizeof *a->ptr);
  memcpy(copy.index, a->index, (size_t)entries * sizeof *a->index);
  memcpy(copy.values, a->values, (size_t)entries * sizeof *a->values);
  return copy;
}

/* place: n entries, all -1. diagonal: n entries. */
static rows plain_ilu(const rows *a, int64_t *place, int64_t *diagonal) {
  rows f = copy_rows(a);
  for (int32_t i = 0; i < f.n; i++) {
    const int64_t first = f.ptr[i], end = f.ptr[i + 1];
    int64_t e = first;
    for (int64_t q = first; q < end; q++) place[f.index[q]] = q;
    for (; f.index[e] < i; e++) {
      const int32_t k = f.index[e];
      const double multiplier = f.values[e] /= f.values[diagonal[k]];
      for (int64_t q = diagonal[k] + 1; q < f.ptr[k + 1]; q++)
        if (place[f.index[q]] >= 0) f.values[place[f.index[q]]] -= multiplier * f.values[q];
    }
    diagonal[i] = e;
    for (int64_t q = first; q < end; q++) place[f.index[q]] = -1;
  }
  return f;
}

/* Returns the rows of U, where U^T U ~ A. */
static rows plain_ic(const rows *a) {
  rows u = make_rows(a->n, a->ptr[a->n]);
  int64_t to = 0;
  for (int32_t i = 0; i < a->n; i++) {
    u.ptr[i] = to;
    for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
      if (a->index[e] < i) continue;
      u.index[to] = a->index[e];
      u.values[to++] = a->values[e];
    }
  }
  u.ptr[a->n] = to;
  for (int32_t k = 0; k < u.n; k++) {
    const int64_t first = u.ptr[k], end = u.ptr[k + 1];
    const double root = u.values[first] = sqrt(u.values[first]);
    for (int64_t e = first + 1; e < end; e++) u.values[e] /= root;
    for (int64_t e = first + 1; e < end; e++) {
      int64_t at = u.ptr[u.index[e]];
      const int64_t last = u.ptr[u.index[e] + 1];
      for (int64_t q = e; q < end; q++) {
        while (at < last && u.index[at] < u.index[q]) at++;
        if (at < last && u.index[at] == u.index[q]) u.values[at] -= u.values[e] * u.values[q];
      }
    }
  }
  return u;
}

/* ---- Rounds -------------------------------------------------------------------------------------------- */

enum {
  PRODUCT,
  COPY,
  PLAIN_ILU,
  PLAIN_IC,
  KRYLOV,
  JACOBI,
  ILU,
  ILU_FIRST,
  ILU_UPDATE,
  IC,
  IC_FIRST,
  IC_UPDATE,
  TIMES
};

typedef struct measured {
  tristar_t *ts;
  rows a;
  tristar_view view;
  double *b, *x;
  int64_t *place, *diagonal;
  bool symmetric;
  double least[TIMES];
  tristar_status status;
} measured;

#define TIME(m, which, ...)                                                                                  \
  do {                                                                                                       \
    const double begin_ = tsi_clock();                                                                       \
    __VA_ARGS__;                                                                                             \
    (m)->least[which] = fmin((m)->least[which], tsi_clock() - begin_);                                       \
  } while (0)

/* Keeps the first failure. */
static void keep(measured *m, tristar_status status) {
  if (m->status == TRISTAR_OK) m->status = status;
}

static void run_plain(measured *m) {
  rows made;
  TIME(m, PRODUCT, multiply(&m->a, m->b, m->x));
  TIME(m, COPY, made = copy_rows(&m->a); release(&made));
  for (int32_t i = 0; i < m->a.n; i++) m->place[i] = -1;
  TIME(m, PLAIN_ILU, made = plain_ilu(&m->a, m->place, m->diagonal));
  release(&made);
  if (!m->symmetric) return;
  TIME(m, PLAIN_IC, made = plain_ic(&m->a));
  release(&made);
}

static void apply(measured *m, tristar_precond_t *p) {
  if (m->status == TRISTAR_OK) keep(m, tristar_precond_apply(p, TRISTAR_N, 1, m->b, m->a.n, m->x, m->a.n));
}

/* which: the time of the set-up. The next ones are the times with the first application, and of an update. */
static void run_incomplete(measured *m, tristar_precond_kind kind, int which) {
  tristar_precond_options options;
  tristar_precond_t *p;
  tristar_precond_options_init(&options);
  options.kind = kind;
  TIME(m, which, keep(m, tristar_precond(m->ts, &m->view, &options, &p)));
  tristar_precond_destroy(&p);
  TIME(m, which + 1, keep(m, tristar_precond(m->ts, &m->view, &options, &p)); apply(m, p));
  if (m->status == TRISTAR_OK) TIME(m, which + 2, keep(m, tristar_precond_update(p, &m->view)); apply(m, p));
  tristar_precond_destroy(&p);
}

static void run_round(measured *m) {
  tristar_krylov_t *k;
  tristar_precond_t *p;
  tristar_precond_options options;
  run_plain(m);
  TIME(m, KRYLOV, keep(m, tristar_krylov_create(m->ts, &m->view, NULL, &k)));
  tristar_krylov_destroy(&k);
  tristar_precond_options_init(&options);
  options.kind = TRISTAR_PRECOND_JACOBI;
  TIME(m, JACOBI, keep(m, tristar_precond(m->ts, &m->view, &options, &p)));
  tristar_precond_destroy(&p);
  run_incomplete(m, TRISTAR_PRECOND_ILU, ILU);
  if (m->symmetric) run_incomplete(m, TRISTAR_PRECOND_IC, IC);
}

static void print_kind(const measured *m, const char *name, int plain, int which) {
  const double unit = m->least[plain];
  printf("  %-6s plain %9.3f ms, set-up %5.2f, with the first application %5.2f, update with one %5.2f times "
         "that\n",
         name, 1e3 * unit, m->least[which] / unit, m->least[which + 1] / unit, m->least[which + 2] / unit);
}

static void print(const char *path, const measured *m) {
  const double unit = 3 * m->least[PRODUCT] + m->least[COPY];
  printf("%s: n %d, %lld entries\n", path, m->a.n, (long long)m->a.ptr[m->a.n]);
  const double both = m->least[KRYLOV] + m->least[JACOBI];
  printf("  3 products and a copy %.3f ms, krylov %.2f, jacobi %.2f, both %.2f times that, %.2f times 3 "
         "products "
         "and 3 copies\n",
         1e3 * unit, m->least[KRYLOV] / unit, m->least[JACOBI] / unit, both / unit,
         both / (unit + 2 * m->least[COPY]));
  print_kind(m, "ILU(0)", PLAIN_ILU, ILU);
  if (m->symmetric) print_kind(m, "IC(0)", PLAIN_IC, IC);
}

static tristar_status measure(tristar_t *ts, const char *path, int rounds) {
  tristar_matrix_t *matrix = NULL;
  tristar_view view;
  measured m = {.ts = ts};
  tristar_status status = tristar_matrix_read(ts, path, &matrix);
  if (status != TRISTAR_OK) return status;
  tristar_matrix_get_view(matrix, &view);
  if (view.rows != view.cols || view.scalar != TRISTAR_DOUBLE || view.values == NULL) {
    tristar_matrix_destroy(&matrix);
    return TRISTAR_ERR_UNSUPPORTED;
  }
  m.a = full_rows(&view);
  m.symmetric = view.symmetry == TRISTAR_SYMMETRIC;
  tristar_matrix_destroy(&matrix);
  m.view = (tristar_view){
      TRISTAR_CSR, TRISTAR_GENERAL, TRISTAR_DOUBLE, m.a.n, m.a.n, m.a.ptr, m.a.index, m.a.values, 64, 32, 0};
  m.b = allocate(m.a.n, sizeof *m.b);
  m.x = allocate(m.a.n, sizeof *m.x);
  m.place = allocate(m.a.n, sizeof *m.place);
  m.diagonal = allocate(m.a.n, sizeof *m.diagonal);
  for (int32_t i = 0; i < m.a.n; i++) m.b[i] = 1 + i % 7;
  for (int t = 0; t < TIMES; t++) m.least[t] = INFINITY;
  for (int r = 0; r < rounds && m.status == TRISTAR_OK; r++) run_round(&m);
  if (m.status == TRISTAR_OK) print(path, &m);
  release(&m.a);
  free(m.b);
  free(m.x);
  free(m.place);
  free(m.diagonal);
  return m.status;
}

int main(int argc, char **argv) {
  char message[512] = "";
  tristar_t *ts = NULL;
  const bool given = argc > 2 && strcmp(argv[1], "--rounds") == 0;
  const int first = given ? 3 : 1, rounds = given ? atoi(argv[2]) : 20;
  if (first >= argc || rounds < 1) {
    fprintf(stderr, "usage: bench_precond [--rounds N] MATRIX...\n");
    return 2;
  }
  tristar_status status = tristar_create(NULL, &ts);
  for (int k = first; k < argc && status == TRISTAR_OK; k++) status = measure(ts, argv[k], rounds);
  (void)tristar_get_error(ts, message, sizeof message);
  if (status != TRISTAR_OK) fprintf(stderr, "bench_precond: %s %s\n", tristar_status_name(status), message);
  tristar_destroy(&ts);
  return status != TRISTAR_OK;
}
