/* LAPACK and CHOLMOD for truth_mumps, see truth.h. */
#include <cholmod.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/peers/truth.h"

typedef truth_entry entry;

void zgetrf_(const int *, const int *, entry *, const int *, int *, int *);
void zgetrs_(const char *, const int *, const int *, const entry *, const int *, const int *, entry *,
             const int *, int *, size_t);
void zgecon_(const char *, const int *, const entry *, const int *, const double *, double *, entry *,
             double *, int *, size_t);
void zheev_(const char *, const char *, const int *, entry *, const int *, double *, entry *, const int *,
            double *, int *, size_t, size_t);
void zgesvd_(const char *, const char *, const int *, const int *, entry *, const int *, double *, entry *,
             const int *, entry *, const int *, entry *, const int *, double *, int *, size_t, size_t);

/* Dense matrix r A c by columns, scaled by powers of two. */
typedef struct dense {
  int n;
  entry *a;
  double *r, *c;
  int *pivot;
  double reciprocal;
  bool singular; /* a pivot of the LU factors is zero */
} dense;

/* Makes the largest entries of rows and columns nearly 1. Equal factors keep a symmetric matrix symmetric. */
static void equilibrate(dense *d, bool symmetric) {
  const int n = d->n;
  double *row = truth_allocate(2 * n, sizeof *row), *column = row + n;
  for (int sweep = 0; sweep < 8; sweep++) {
    memset(row, 0, 2 * (size_t)n * sizeof *row);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) {
        const double size = cabs(d->a[i + (int64_t)j * n]);
        if (size > row[i]) row[i] = size;
        if (size > column[j]) column[j] = size;
      }
    for (int i = 0; i < n; i++) {
      row[i] = row[i] > 0 ? exp2(-round(log2(row[i]) / 2)) : 1;
      column[i] = symmetric ? row[i] : column[i] > 0 ? exp2(-round(log2(column[i]) / 2)) : 1;
      d->r[i] *= row[i];
      d->c[i] *= column[i];
    }
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) d->a[i + (int64_t)j * n] *= row[i] * column[j];
  }
  free(row);
}

/* The rows and columns of A with positions keep[] >= 0; changed: with W W^H. */
static dense make_dense(const truth_problem *p, const int *keep, int n, bool changed) {
  dense d = {.n = n,
             .a = truth_allocate((int64_t)n * n, sizeof(entry)),
             .r = truth_allocate(n, sizeof(double)),
             .c = truth_allocate(n, sizeof(double)),
             .pivot = truth_allocate(n, sizeof(int)),
             .reciprocal = -1};
  for (int64_t k = 0; k < p->count; k++) {
    const int i = keep[p->row[k]], j = keep[p->column[k]];
    if (i >= 0 && j >= 0) d.a[i + (int64_t)j * n] += p->value[k];
  }
  for (int t = 0; t < p->terms && changed; t++) {
    const int at[2] = {p->term[t].first, p->term[t].second};
    for (int k = 0; k < 4; k++)
      d.a[at[k / 2] + (int64_t)at[k % 2] * n] +=
          (k == 0 || k == 3 ? 1 : -1) * p->term[t].weight * p->term[t].weight;
  }
  for (int i = 0; i < n; i++) d.r[i] = d.c[i] = 1;
  equilibrate(&d, p->hermitian || p->symmetric);
  return d;
}

static void free_dense(dense *d) {
  free(d->a);
  free(d->r);
  free(d->c);
  free(d->pivot);
}

/* Computes LU factors and the condition. */
static void factor(dense *d) {
  const int n = d->n;
  int info;
  double norm = 0;
  entry *work = truth_allocate(2 * n + 1, sizeof *work);
  double *real_work = truth_allocate(2 * n + 1, sizeof *real_work);
  for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += cabs(d->a[i + (int64_t)j * n]);
    norm = fmax(norm, sum);
  }
  zgetrf_(&n, &n, d->a, &n, d->pivot, &info);
  d->singular = info > 0;
  if (d->singular)
    d->reciprocal = 0;
  else
    zgecon_("1", &n, d->a, &n, &norm, &d->reciprocal, work, real_work, &info, 1);
  free(work);
  free(real_work);
}

/* x = A^-1 x for columns of n entries. */
static void solve(const dense *d, entry *x, int columns) {
  int info;
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < d->n; i++) x[i + (int64_t)j * d->n] *= d->r[i];
  zgetrs_("N", &d->n, &columns, d->a, &d->n, d->pivot, x, &d->n, &info, 1);
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < d->n; i++) x[i + (int64_t)j * d->n] *= d->c[i];
}

static truth_determinant determinant(const dense *d) {
  long double _Complex sign = 1;
  long double log_abs = 0;
  for (int k = 0; k < d->n; k++) {
    const long double _Complex pivot = d->a[k + (int64_t)k * d->n];
    const long double size = cabsl(pivot);
    sign *= (d->pivot[k] == k + 1 ? 1 : -1) * pivot / size;
    log_abs += logl(size) - logl(d->r[k]) - logl(d->c[k]);
  }
  return (truth_determinant){(entry)sign, (double)log_abs};
}

static void query_eigenvalues(const truth_problem *p, const dense *d, truth_answers *a) {
  const int n = d->n, most = 66 * n;
  int info;
  double largest = 0, *values = truth_allocate(n, sizeof *values),
         *real_work = truth_allocate(5 * n, sizeof *values);
  entry *copy = truth_allocate((int64_t)n * n, sizeof *copy), *work = truth_allocate(most, sizeof *work);
  memcpy(copy, d->a, (size_t)n * (size_t)n * sizeof *copy);
  if (p->hermitian)
    zheev_("N", "L", &n, copy, &n, values, work, &most, real_work, &info, 1, 1);
  else
    zgesvd_("N", "N", &n, &n, copy, &n, values, NULL, &n, NULL, &n, work, &most, real_work, &info, 1, 1);
  for (int k = 0; k < n; k++) largest = fmax(largest, fabs(values[k]));
  const bool is_single = p->view.scalar == TRISTAR_SINGLE || p->view.scalar == TRISTAR_COMPLEX_SINGLE;
  const double least = 3 * sqrt(n) * (is_single ? FLT_EPSILON : DBL_EPSILON) * largest;
  for (int k = 0; k < n; k++)
    if (fabs(values[k]) <= least)
      a->zero++;
    else
      values[k] > 0 ? a->positive++ : a->negative++;
  a->null = a->zero;
  a->has_null = info == 0;
  a->has_inertia = info == 0 && p->hermitian;
  free(values);
  free(real_work);
  free(copy);
  free(work);
}

static void query_inverse(const truth_problem *p, const dense *d, truth_answers *a) {
  entry *x = truth_allocate((int64_t)p->entries * p->n, sizeof *x);
  for (int k = 0; k < p->entries; k++) x[p->entry_column[k] + (int64_t)k * p->n] = 1;
  solve(d, x, p->entries);
  for (int k = 0; k < p->entries; k++) a->inverse[k] = x[p->entry_row[k] + (int64_t)k * p->n];
  a->has_inverse = p->entries > 0;
  free(x);
}

static void query_update(const truth_problem *p, const int *all, truth_answers *a) {
  dense d = make_dense(p, all, p->n, true);
  factor(&d);
  a->has_update = !d.singular;
  if (a->has_update) {
    a->updated = determinant(&d);
    a->x = truth_allocate(p->n, sizeof *a->x);
    for (int i = 0; i < p->n; i++) a->x[i] = truth_rhs(i);
    solve(&d, a->x, 1);
  }
  free_dense(&d);
}

static void query_schur(const truth_problem *p, truth_answers *a) {
  const int s = p->schur_count, m = p->n - s;
  int *inner = truth_allocate(2 * p->n, sizeof *inner), *outer = inner + p->n;
  entry *x = truth_allocate((int64_t)m * s, sizeof *x);
  for (int i = 0, k = 0; i < p->n; i++) {
    outer[i] = k < s && p->schur[k] == i ? k++ : -1;
    inner[i] = outer[i] < 0 ? i - k : -1;
  }
  dense d = make_dense(p, inner, m, false);
  factor(&d);
  a->schur_reciprocal = d.reciprocal;
  a->has_schur = !d.singular;
  for (int64_t k = 0; k < p->count; k++) {
    const int i = p->row[k], j = p->column[k];
    if (outer[j] >= 0 && inner[i] >= 0) x[inner[i] + (int64_t)outer[j] * m] += p->value[k];
    if (outer[j] >= 0 && outer[i] >= 0) a->schur[outer[i] + outer[j] * s] += p->value[k];
  }
  if (a->has_schur) solve(&d, x, s);
  for (int64_t k = 0; k < p->count; k++) {
    const int i = p->row[k], j = p->column[k];
    if (outer[i] >= 0 && inner[j] >= 0)
      for (int c = 0; c < s; c++) a->schur[outer[i] + c * s] -= p->value[k] * x[inner[j] + (int64_t)c * m];
  }
  free(inner);
  free(x);
  free_dense(&d);
}

void truth_query_lapack(const truth_problem *p, truth_answers *a) {
  if (p->n > p->most_dense) return;
  int *all = truth_allocate(p->n, sizeof *all);
  for (int i = 0; i < p->n; i++) all[i] = i;
  dense d = make_dense(p, all, p->n, false);
  query_eigenvalues(p, &d, a);
  factor(&d);
  a->reciprocal = d.reciprocal;
  a->has_determinant = true;
  if (!d.singular) {
    a->determinant = determinant(&d);
    query_inverse(p, &d, a);
  }
  free_dense(&d);
  if (p->schur_count > 0) query_schur(p, a);
  if (p->terms > 0) query_update(p, all, a);
  free(all);
}

/* ---- CHOLMOD ------------------------------------------------------------------------------------------ */

static cholmod_sparse *make_sparse(const truth_problem *p, cholmod_common *common) {
  cholmod_triplet *t =
      cholmod_allocate_triplet((size_t)p->n, (size_t)p->n, (size_t)p->count, -1, CHOLMOD_REAL, common);
  for (int64_t k = 0; t != NULL && k < p->count; k++)
    if (p->row[k] >= p->column[k]) {
      ((int *)t->i)[t->nnz] = p->row[k];
      ((int *)t->j)[t->nnz] = p->column[k];
      ((double *)t->x)[t->nnz++] = creal(p->value[k]);
    }
  cholmod_sparse *a = cholmod_triplet_to_sparse(t, 0, common);
  cholmod_free_triplet(&t, common);
  return a;
}

/* Returns W with rows in the order of the factor. */
static cholmod_sparse *make_term(const truth_problem *p, const cholmod_factor *l, cholmod_common *common) {
  cholmod_triplet *t =
      cholmod_allocate_triplet((size_t)p->n, (size_t)p->terms, 2 * (size_t)p->terms, 0, CHOLMOD_REAL, common);
  int *place = truth_allocate(p->n, sizeof *place);
  for (int k = 0; k < p->n; k++) place[((int *)l->Perm)[k]] = k;
  for (int k = 0; t != NULL && k < 2 * p->terms; k++) {
    const truth_term *term = &p->term[k / 2];
    ((int *)t->i)[k] = place[k % 2 ? term->second : term->first];
    ((int *)t->j)[k] = k / 2;
    ((double *)t->x)[k] = (k % 2 ? -1 : 1) * term->weight;
    t->nnz++;
  }
  cholmod_sparse *w = cholmod_triplet_to_sparse(t, 0, common);
  cholmod_free_triplet(&t, common);
  free(place);
  return w;
}

/* Computes the determinant of L D L^T, and a solution. */
static void take_update(const truth_problem *p, cholmod_factor *l, truth_answers *a, cholmod_common *common) {
  cholmod_dense *b = cholmod_zeros((size_t)p->n, 1, CHOLMOD_REAL, common);
  for (int i = 0; i < p->n; i++) ((double *)b->x)[i] = truth_rhs(i);
  cholmod_dense *x = cholmod_solve(CHOLMOD_A, l, b, common);
  long double log_abs = 0;
  for (int j = 0; j < p->n; j++) log_abs += logl(((double *)l->x)[((int *)l->p)[j]]);
  a->updated = (truth_determinant){1, (double)log_abs};
  a->x = truth_allocate(p->n, sizeof *a->x);
  for (int i = 0; i < p->n && x != NULL; i++) a->x[i] = ((double *)x->x)[i];
  a->has_update = x != NULL;
  cholmod_free_dense(&b, common);
  cholmod_free_dense(&x, common);
}

/* L D L^T of CHOLMOD also accepts negative pivots, but an update is then undefined. */
static bool positive(const truth_problem *p) {
  for (int64_t k = 0; k < p->count; k++)
    if (p->row[k] == p->column[k] && !(creal(p->value[k]) > 0)) return false;
  return true;
}

void truth_query_cholmod(const truth_problem *p, truth_answers *a) {
  if (p->terms == 0 || p->view.scalar != TRISTAR_DOUBLE) return;
  cholmod_common common;
  cholmod_start(&common);
  common.print = 0;
  cholmod_sparse *matrix = make_sparse(p, &common);
  cholmod_factor *l = cholmod_analyze(matrix, &common);
  if (l != NULL && cholmod_factorize(matrix, l, &common) && common.status == CHOLMOD_OK && positive(p)) {
    cholmod_sparse *w = make_term(p, l, &common);
    if (cholmod_updown(1, w, l, &common) && common.status == CHOLMOD_OK) take_update(p, l, a, &common);
    cholmod_free_sparse(&w, &common);
  }
  cholmod_free_factor(&l, &common);
  cholmod_free_sparse(&matrix, &common);
  cholmod_finish(&common);
}
