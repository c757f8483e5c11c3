/* Conjugate gradients for several right-hand sides at once (D. P. O'Leary, Linear Algebra Appl. 29 (1980)):
 * see run.h, and tristar_krylov.h for the tests.
 *
 * Vectors are columns of R, Z, P, Q; Z = M^-1 R. The columns of P span the directions:
 *
 *   P = Z + P beta;  Q = A P;  P, Q := P T, Q T so that P^H Q = 1
 *   alpha = P^H R;  X += P alpha;  R -= Q alpha;  Z = M^-1 R;  beta = -Q^H Z
 *
 * T comes from a Cholesky factorization of P^H A P with diagonal pivoting, after its columns are scaled to
 * length one in the norm of A. If the largest remaining pivot is no more than rounding errors, the remaining
 * columns depend on the previous ones. This iteration then uses fewer directions. The part of Z along the
 * unused columns reappears in later iterations once it matters. (H. Ji and Y. Li, BIT 57 (2017), describe a
 * breakdown-free method with an orthonormal P.) A column that ends leaves R. A column whose own direction has
 * no positive curvature also leaves R, and the others continue without that direction. An iteration has two
 * sums for any number of columns.
 *
 * Invariants
 *   - columns 0 .. active - 1 of R belong to runs that have not ended; column j to run `column[j]`
 *   - direction i is column pivot[i] of P and of Q, i < rank */
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/iterate/krylov/run.h"
#include "runtime/iterate/krylov/vector_call.h"

enum { R, Z, P, Q, SETS };    /* sets of the workspace, `block` vectors each */
enum { RZ, ZZ, RR, NUMBERS }; /* scalar products of a column, each a pair of doubles */

int tsi_block_cg_vectors(const tristar_krylov_options *options) {
  return SETS * options->block;
}

int tsi_block_cg_sums(const tristar_krylov_options *options) {
  return 2 * options->block * (2 * options->block + NUMBERS);
}

typedef struct block_cg {
  tristar_krylov_t *k;
  tristar_precond_t *precond;
  tsi_krylov_run *run;
  int stride; /* leading dimension of the small matrices */
  int active, rank;
  int column[TSI_BLOCK_MOST], pivot[TSI_BLOCK_MOST];
  int r, z, p, q;     /* number of the first vector of each set */
  tsi_complex *gram;  /* P^H A P, then its Cholesky factor; rows and columns in the order of pivots */
  tsi_complex *alpha; /* P^H R, then alpha */
  tsi_complex *beta;  /* rank x active */
  double scale[TSI_BLOCK_MOST]; /* scale of each column of P */
  double rz[TSI_BLOCK_MOST];    /* (r, z) of each active column */
} block_cg;

static tsi_complex *entry(const block_cg *s, tsi_complex *matrix, int i, int j) {
  return &matrix[j * s->stride + i];
}

static char *vector(const block_cg *s, int first, int i) {
  return tsi_krylov_vector(s->k, first + i);
}

static int64_t leading(const block_cg *s) {
  return (int64_t)(s->k->work.stride / s->k->bytes);
}

/* ---- Small matrices ------------------------------------------------------------------------------------ */

/* Copies sums to a small matrix. pair: the sums, column by column. */
static void take_sums(const block_cg *s, const double *pair, int rows, int columns, tsi_complex *to) {
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++, pair += 2) *entry(s, to, i, j) = pair[0] + pair[1] * _Complex_I;
}

/* Exchanges rows and columns t and m of the Hermitian matrix `gram`, of which both triangles are stored. */
static void exchange(block_cg *s, int t, int m) {
  const int n = s->active, number = s->pivot[t];
  s->pivot[t] = s->pivot[m];
  s->pivot[m] = number;
  for (int i = 0; i < n; i++) {
    const tsi_complex kept = *entry(s, s->gram, i, t);
    *entry(s, s->gram, i, t) = *entry(s, s->gram, i, m);
    *entry(s, s->gram, i, m) = kept;
  }
  for (int j = 0; j < n; j++) {
    const tsi_complex kept = *entry(s, s->gram, t, j);
    *entry(s, s->gram, t, j) = *entry(s, s->gram, m, j);
    *entry(s, s->gram, m, j) = kept;
  }
}

/* Moves the columns of P with positive length in the norm of A to the front and scales them to length one.
 * Ends the runs of the others. Returns the number of columns at the front. */
static int scale_columns(block_cg *s) {
  int usable = s->active;
  for (int i = 0; i < s->active; i++) s->pivot[i] = i;
  for (int t = 0; t < usable;) {
    const double square = creal(*entry(s, s->gram, t, t));
    const int i = s->pivot[t];
    if (square > 0 && isfinite(square)) {
      s->scale[i] = 1 / sqrt(square);
      t++;
      continue;
    }
    tsi_krylov_end(&s->run[s->column[i]],
                   isfinite(square) ? TRISTAR_REASON_INDEFINITE : TRISTAR_REASON_NOT_FINITE);
    exchange(s, t, --usable);
  }
  for (int j = 0; j < usable; j++)
    for (int i = 0; i < usable; i++) /* the product of both scales may be out of range */
      *entry(s, s->gram, i, j) = *entry(s, s->gram, i, j) * s->scale[s->pivot[i]] * s->scale[s->pivot[j]];
  return usable;
}

/* Computes the Cholesky factor and the rank. Ends the runs of columns without positive curvature. */
static void factor(block_cg *s) {
  const double least = sqrt(s->k->sparse->epsilon);
  const int usable = scale_columns(s);
  for (s->rank = 0; s->rank < usable; s->rank++) {
    const int t = s->rank;
    int most = t;
    for (int i = t + 1; i < usable; i++)
      if (creal(*entry(s, s->gram, i, i)) > creal(*entry(s, s->gram, most, most))) most = i;
    if (!(creal(*entry(s, s->gram, most, most)) > least)) break;
    exchange(s, t, most);
    const double root = sqrt(creal(*entry(s, s->gram, t, t)));
    *entry(s, s->gram, t, t) = root;
    for (int i = t + 1; i < usable; i++) *entry(s, s->gram, i, t) /= root;
    for (int j = t + 1; j < usable; j++)
      for (int i = t + 1; i < usable; i++)
        *entry(s, s->gram, i, j) -= *entry(s, s->gram, i, t) * conj(*entry(s, s->gram, j, t));
  }
  for (int i = s->rank; i < usable; i++)
    if (creal(*entry(s, s->gram, i, i)) < -least)
      tsi_krylov_end(&s->run[s->column[s->pivot[i]]], TRISTAR_REASON_INDEFINITE);
}

/* Turns alpha for P into alpha for P T: multiplies by T^H. */
static void solve_alpha(const block_cg *s) {
  tsi_complex column[TSI_BLOCK_MOST];
  for (int j = 0; j < s->active; j++) {
    for (int t = 0; t < s->rank; t++) {
      column[t] = s->scale[s->pivot[t]] * *entry(s, s->alpha, s->pivot[t], j);
      for (int i = 0; i < t; i++) column[t] -= *entry(s, s->gram, t, i) * column[i];
      column[t] /= creal(*entry(s, s->gram, t, t));
    }
    memcpy(entry(s, s->alpha, 0, j), column, (size_t)s->rank * sizeof *column);
  }
}

/* ---- Vectors ------------------------------------------------------------------------------------------- */

static void add(const block_cg *s, tsi_index first, tsi_index count, tsi_complex factor, const void *x,
                void *y) {
  const double pair[2] = {creal(factor), cimag(factor)};
  s->k->kernels->axpy(count, pair, tsi_vector_from(s->k, x, first), tsi_vector_to(s->k, y, first));
}

/* Z += P beta */
static void directions_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                             tsi_index end, double *share) {
  const block_cg *s = call->a;
  (void)k;
  (void)share;
  for (int j = 0; j < s->active; j++)
    for (int i = 0; i < s->rank; i++)
      add(s, first, end - first, *entry(s, s->beta, i, j), vector(s, s->p, s->pivot[i]), vector(s, s->z, j));
}

/* Adds the products of all columns of set a with all of set b to the share, as pairs. */
static double *leave_products(const block_cg *s, tsi_index first, tsi_index count, int rows, const int *row,
                              int a, int b, double *share) {
  const tristar_krylov_t *k = s->k;
  for (int j = 0; j < s->active; j++)
    for (int i = 0; i < rows; i++, share += 2)
      k->kernels->dot(count, tsi_vector_from(k, vector(s, a, row != NULL ? row[i] : i), first),
                      tsi_vector_from(k, vector(s, b, j), first), share);
  return share;
}

/* After Q = A P: P^H Q and P^H R. */
static void product_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                          tsi_index end, double *share) {
  const block_cg *s = call->a;
  (void)k;
  share = leave_products(s, first, end - first, s->active, NULL, s->p, s->q, share);
  leave_products(s, first, end - first, s->active, NULL, s->p, s->r, share);
}

/* Multiplies a set by T, direction by direction. */
static void transform(const block_cg *s, tsi_index first, tsi_index count, int set) {
  const tristar_krylov_t *k = s->k;
  for (int t = 0; t < s->rank; t++) {
    char *own = vector(s, set, s->pivot[t]);
    const double root = creal(*entry(s, s->gram, t, t));
    k->kernels->scale(count, s->scale[s->pivot[t]] / root, tsi_vector_from(k, own, first),
                      tsi_vector_to(k, own, first));
    for (int i = 0; i < t; i++)
      add(s, first, count, -conj(*entry(s, s->gram, t, i)) / root, vector(s, set, s->pivot[i]), own);
  }
}

/* P := P T, Q := Q T; X += P alpha; R -= Q alpha */
static void step_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first, tsi_index end,
                       double *share) {
  const block_cg *s = call->a;
  const tsi_index count = end - first;
  (void)k;
  (void)share;
  transform(s, first, count, s->p);
  transform(s, first, count, s->q);
  for (int j = 0; j < s->active; j++)
    for (int i = 0; i < s->rank; i++) {
      const tsi_complex alpha = *entry(s, s->alpha, i, j);
      add(s, first, count, alpha, vector(s, s->p, s->pivot[i]), s->run[s->column[j]].x);
      add(s, first, count, -alpha, vector(s, s->q, s->pivot[i]), vector(s, s->r, j));
    }
}

/* The scalar products of each column, and Q^H Z. */
static void numbers_block(const tristar_krylov_t *k, const tsi_vector_call *call, tsi_index first,
                          tsi_index end, double *share) {
  const block_cg *s = call->a;
  for (int j = 0; j < s->active; j++, share += 2 * NUMBERS) {
    const char *r = tsi_vector_from(k, vector(s, s->r, j), first);
    const char *z = tsi_vector_from(k, vector(s, s->z, j), first);
    k->kernels->dot(end - first, r, z, share + 2 * RZ);
    k->kernels->dot(end - first, z, z, share + 2 * ZZ);
    k->kernels->dot(end - first, r, r, share + 2 * RR);
  }
  leave_products(s, first, end - first, s->rank, s->pivot, s->q, s->z, share);
}

static tristar_status operate(block_cg *s,
                              void (*run)(const tristar_krylov_t *, const tsi_vector_call *, tsi_index,
                                          tsi_index, double *),
                              int sums) {
  return tsi_vectors_run(s->k, &(tsi_vector_call){.run = run, .vectors = 4 * s->active, .a = s}, sums);
}

/* ---- Products and preconditioner ----------------------------------------------------------------------- */

/* Divides the time of a product or an application equally among the active columns. */
static void account(const block_cg *s, double seconds, bool product) {
  for (int j = 0; j < s->active; j++) {
    tristar_krylov_result *result = &s->run[s->column[j]].result;
    *(product ? &result->product_seconds : &result->precond_seconds) += seconds / s->active;
    ++*(product ? &result->products : &result->preconditionings);
  }
}

/* Q = A P by a function: all columns at once, or one by one. */
static tristar_status call_function(const block_cg *s) {
  const tsi_krylov_operator *matrix = &s->k->matrix;
  if (matrix->columns != NULL && s->k->scales.matrix == 1)
    return matrix->columns(matrix->arg, s->active, vector(s, s->p, 0), vector(s, s->q, 0), leading(s));
  for (int j = 0; j < s->active; j++)
    TSI_TRY(tsi_vectors_multiply(s->k, vector(s, s->p, j), vector(s, s->q, j), NULL, NULL));
  return TRISTAR_OK;
}

/* Q = A P, P^H Q and P^H R. */
static tristar_status multiply(block_cg *s) {
  tristar_krylov_t *k = s->k;
  const int entries = s->active * s->active;
  const double begin = tsi_clock();
  tsi_vector_call call = {.run = product_block, .a = s};
  if (k->matrix.function != NULL || k->scales.matrix != 1) {
    TSI_TRY(tsi_krylov_defer(k, call_function(s)));
    call.vectors = 3 * s->active;
  } else {
    call.from = vector(s, s->p, 0);
    call.to = vector(s, s->q, 0);
    call.columns = s->active;
    call.ld = leading(s);
  }
  TSI_TRY(tsi_vectors_run(k, &call, 4 * entries));
  take_sums(s, k->work.total, s->active, s->active, s->gram);
  take_sums(s, k->work.total + 2 * entries, s->active, s->active, s->alpha);
  account(s, tsi_clock() - begin, true);
  return TRISTAR_OK;
}

/* Z = M^-1 R */
static tristar_status precondition(block_cg *s) {
  tristar_status status = TRISTAR_OK;
  tristar_krylov_t *k = s->k;
  const double begin = tsi_clock();
  if (s->precond == NULL) {
    memcpy(vector(s, s->z, 0), vector(s, s->r, 0), (size_t)s->active * k->work.stride);
    return status;
  }
  if (k->scales.precond != 1) {
    for (int j = 0; j < s->active; j++)
      TSI_TRY(tsi_krylov_precondition(&s->run[s->column[j]], vector(s, s->r, j), vector(s, s->z, j)));
    return status;
  }
  TSI_TRY(tsi_krylov_defer(k, tristar_precond_apply(s->precond, TRISTAR_N, s->active, vector(s, s->r, 0),
                                                    leading(s), vector(s, s->z, 0), leading(s))));
  account(s, tsi_clock() - begin, false);
  return status;
}

/* ---- Columns ------------------------------------------------------------------------------------------- */

/* Removes column j; the last column takes its index. */
static void drop(block_cg *s, int j) {
  const int last = --s->active;
  const size_t bytes = (size_t)s->k->n * s->k->bytes;
  if (j == last) return;
  memcpy(vector(s, s->r, j), vector(s, s->r, last), bytes);
  memcpy(vector(s, s->z, j), vector(s, s->z, last), bytes);
  for (int i = 0; i < s->rank; i++) {
    *entry(s, s->alpha, i, j) = *entry(s, s->alpha, i, last);
    *entry(s, s->beta, i, j) = *entry(s, s->beta, i, last);
  }
  s->rz[j] = s->rz[last];
  s->column[j] = s->column[last];
}

static void drop_ended(block_cg *s) {
  for (int j = s->active - 1; j >= 0; j--)
    if (s->run[s->column[j]].ended) drop(s, j);
}

/* Computes Z and beta, and tests the columns. initial: before the first iteration. */
static tristar_status test(block_cg *s, bool initial) {
  const tristar_krylov_t *k = s->k;
  const bool residual = k->options.norm == TRISTAR_NORM_RESIDUAL;
  double norm[TSI_BLOCK_MOST];
  TSI_TRY(precondition(s));
  TSI_TRY(operate(s, numbers_block, 2 * s->active * (NUMBERS + s->rank)));
  const double *number = k->work.total;
  for (int j = 0; j < s->active; j++, number += 2 * NUMBERS) {
    s->rz[j] = number[2 * RZ];
    norm[j] = sqrt(number[2 * (residual ? RR : ZZ)]);
  }
  take_sums(s, number, s->rank, s->active, s->beta);
  for (int j = 0; j < s->active; j++) {
    tsi_krylov_run *run = &s->run[s->column[j]];
    for (int i = 0; i < s->rank; i++) *entry(s, s->beta, i, j) *= -1;
    if (initial) TSI_TRY(tsi_krylov_refer(run, norm[j], vector(s, s->q, 0)));
    (void)tsi_krylov_judge(run, norm[j]);
  }
  drop_ended(s);
  return TRISTAR_OK;
}

static tristar_status iterate(block_cg *s) {
  for (int j = 0; j < s->active; j++) {
    tsi_krylov_run *run = &s->run[s->column[j]];
    run->result.iterations++;
    if (!(s->rz[j] > 0))
      tsi_krylov_end(run, isnan(s->rz[j]) ? TRISTAR_REASON_NOT_FINITE : TRISTAR_REASON_INDEFINITE_PRECOND);
  }
  drop_ended(s);
  if (s->active == 0) return TRISTAR_OK;
  if (s->rank > 0) TSI_TRY(operate(s, directions_block, 0));
  const int directions = s->z;
  s->z = s->p;
  s->p = directions;
  TSI_TRY(multiply(s));
  factor(s);
  solve_alpha(s);
  drop_ended(s); /* the last iterate of an ended column is its result */
  if (s->active == 0) return TRISTAR_OK;
  TSI_TRY(operate(s, step_block, 0));
  return test(s, false);
}

static tristar_status begin(block_cg *s, int count) {
  double square;
  for (int c = 0; c < count; c++) {
    if (s->run[c].ended) continue;
    TSI_TRY(tsi_krylov_residual(&s->run[c], vector(s, s->r, s->active), &square));
    s->column[s->active++] = c;
  }
  return test(s, true);
}

tristar_status tsi_block_cg(tsi_krylov_run *run, int count) {
  tristar_krylov_t *k = run->k;
  const int block = k->options.block, entries = k->work.runs * k->work.runs;
  block_cg s = {.k = k,
                .precond = run->precond,
                .run = run,
                .stride = k->work.runs,
                .r = R * block,
                .z = Z * block,
                .p = P * block,
                .q = Q * block,
                .gram = k->work.square,
                .alpha = k->work.square + entries,
                .beta = k->work.square + 2 * entries};
  TSI_TRY(begin(&s, count));
  while (s.active > 0) TSI_TRY(iterate(&s));
  return TRISTAR_OK;
}
