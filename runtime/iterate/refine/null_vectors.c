/* A basis of the null space: see null_vectors.h. */
#include "runtime/iterate/refine/null_vectors.h"

#include "runtime/iterate/refine/residual.h"

#define STEPS 3
#define SPARE 4
#define DIRECT 640   /* maximum number of unknowns of a matrix that is itself orthogonalized, for a solve */
#define SHRUNK 0.25  /* exponent of eps: a unit vector that a step makes shorter has no null vector */
#define VANISHED 0.5 /* exponent of eps: below this share of |A| |v|, A v may consist of errors */
#define NULL_VECTOR 0.75 /* exponent of eps: largest |A v| of a null vector relative to |A| |v| */

static void *column_of(const tsi_null_vectors *v, tsi_index column) {
  return v->vector + (size_t)column * v->bytes;
}

static void *product_of(const tsi_null_vectors *v, tsi_index column) {
  return v->product + (size_t)column * v->bytes;
}

void tsi_null_vectors_finish(tsi_null_vectors *v) {
  if (!v->borrowed) tsi_release(tsi_take(&v->vector));
  if (!v->borrowed) tsi_release(tsi_take(&v->product));
  tsi_release(tsi_take(&v->zero));
  tsi_release(tsi_take(&v->spare));
  tsi_release(tsi_take(&v->real));
}

tristar_status tsi_null_vectors_trim(tsi_null_vectors *v) {
  TSI_OWNED char *vector = NULL;
  if (v->count == 0) tsi_null_vectors_finish(v);
  if (v->count == 0 || v->direct) return TRISTAR_OK;
  tsi_release(tsi_take(&v->product));
  tsi_release(tsi_take(&v->zero));
  tsi_release(tsi_take(&v->real));
  TSI_TRY(TSI_ALLOC_SIZED(v->system->env, vector, v->count, v->bytes));
  memcpy(vector, v->vector, (size_t)v->count * v->bytes);
  tsi_release(tsi_take(&v->vector));
  v->vector = tsi_take(&vector);
  v->columns = v->count;
  return TRISTAR_OK;
}

tristar_status tsi_null_vectors_borrow(const tsi_null_vectors *from, const tsi_system *system,
                                       tsi_null_vectors *out) {
  *out = *from;
  out->system = system;
  out->borrowed = true;
  out->zero = out->spare = NULL;
  out->real = NULL;
  return from->count > 0 ? TSI_ALLOC_SIZED(system->env, out->spare, 1, from->bytes) : TRISTAR_OK;
}

/* The user's number of unknown i, which is the same on any layout. */
static int64_t number_of(const tsi_system *system, tristar_op op, tsi_index i) {
  return tsi_system_user_row(system, op, true, i);
}

double tsi_null_vectors_start(const tsi_system *system, tristar_op op, tsi_index i, tsi_index column) {
  const uint32_t number = (uint32_t)number_of(system, op, i);
  const uint64_t mixed =
      ((uint64_t)number << 32 | (uint32_t)column) * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0x5851f42d);
  return ldexp((double)((mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 11), -53) - 0.5;
}

static void scale(const tsi_null_vectors *v, bool divide) {
  const double *weight = tsi_system_column_weight(v->system, v->op);
  for (tsi_index k = 0; k < v->count; k++)
    v->system->kernels->scale(v->system->n, column_of(v, k), weight, divide);
}

/* Makes the initial block, with unknowns in the sizes of the column scaling. */
static tristar_status begin(const tsi_system *system, tristar_op op, tsi_index columns, bool direct,
                            tsi_null_vectors *v) {
  tsi_null_vectors_finish(v);
  *v = (tsi_null_vectors){
      .system = system, .op = op, .direct = direct, .count = columns, .columns = columns, .error = INFINITY};
  v->bytes = (size_t)system->n * system->kernels->scalar_bytes;
  tristar_status status = TSI_ALLOC_SIZED(system->env, v->vector, columns, v->bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(system->env, v->product, columns, v->bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED_ZERO(system->env, v->zero, 1, v->bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(system->env, v->spare, 1, v->bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC(system->env, v->real, system->n);
  TSI_TRY(tsi_team_agree(system->team, status));
  for (tsi_index k = 0; k < columns; k++) {
    for (tsi_index i = 0; i < system->n; i++)
      v->real[i] = direct ? number_of(system, op, i) == k : tsi_null_vectors_start(system, op, i, k);
    system->kernels->fill(system->n, v->real, column_of(v, k));
  }
  scale(v, false);
  return TRISTAR_OK;
}

static bool is_finite(const tsi_null_vectors *v) {
  const tsi_count entries = (tsi_count)v->count * v->system->n;
  return !tsi_team_any(v->system->team, v->system->kernels->first_not_finite(entries, v->vector) < entries);
}

/* V = V - B^-1 A V */
static tristar_status step(const tsi_null_vectors *v) {
  const tsi_system *system = v->system;
  for (tsi_index k = 0; k < v->count; k++)
    TSI_TRY(tsi_system_residual(system, v->op, v->zero, column_of(v, k), product_of(v, k)));
  TSI_TRY(system->functions->solve(system->context, v->op, v->count, v->product, system->n, v->product,
                                   system->n));
  for (tsi_index k = 0; k < v->count; k++) system->kernels->add(system->n, column_of(v, k), product_of(v, k));
  return system->team->failure;
}

/* y^H x */
static void multiply(const tsi_null_vectors *v, const void *y, const void *x, double out[2]) {
  v->system->kernels->dot(v->system->n, y, x, out);
  tsi_team_sum_two(v->system->team, out);
}

/* Removes the component of x along y, which has length one. Returns its size. */
static double make_orthogonal(const tsi_null_vectors *v, const void *y, void *x) {
  double out[2];
  multiply(v, y, x, out);
  v->system->kernels->axpy(v->system->n, (const double[]){-out[0], -out[1]}, y, x);
  return hypot(out[0], out[1]);
}

double tsi_null_vectors_remove(const tsi_null_vectors *v, void *x) {
  double largest = 0;
  for (int time = 0; time < 2; time++)
    for (tsi_index k = 0; k < v->count; k++)
      largest = tsi_larger(largest, make_orthogonal(v, column_of(v, k), x));
  return largest;
}

/* Finds the longest column of an array, from `first` to before `end`, and its length. */
static tsi_index longest(const tsi_null_vectors *v, const char *array, tsi_index first, tsi_index end,
                         double *length) {
  tsi_index best = first;
  *length = -1;
  for (tsi_index k = first; k < end; k++) {
    double out[2];
    const char *column = array + (size_t)k * v->bytes;
    multiply(v, column, column, out);
    if (sqrt(out[0]) > *length) best = k;
    *length = tsi_larger(*length, sqrt(out[0]));
  }
  return best;
}

static void exchange(const tsi_null_vectors *v, void *one, void *other) {
  if (one == other) return;
  memcpy(v->spare, one, v->bytes);
  memcpy(one, other, v->bytes);
  memcpy(other, v->spare, v->bytes);
}

/* Makes the first columns orthonormal. Columns that depend on them, shorter than `least`, are dropped.
 * Returns the smallest remaining length. */
static double orthonormalize(tsi_null_vectors *v, double least) {
  double length, shortest = INFINITY;
  for (tsi_index k = 0; k < v->count; k++) {
    const tsi_index best = longest(v, v->vector, k, v->count, &length);
    if (!(length > least)) {
      v->count = k;
      return shortest;
    }
    shortest = fmin(shortest, length);
    exchange(v, column_of(v, k), column_of(v, best));
    v->system->kernels->multiply(v->system->n, column_of(v, k), 1 / length);
    for (tsi_index other = k + 1; other < v->count; other++)
      for (int time = 0; time < 2; time++) (void)make_orthogonal(v, column_of(v, k), column_of(v, other));
  }
  return shortest;
}

/* The same for columns in the scaling of the unknowns. */
static void orthonormalize_scaled(tsi_null_vectors *v, double least) {
  scale(v, true);
  (void)orthonormalize(v, least);
  scale(v, false);
}

/* Scales columns so that their largest entries are near one, and squares of entries are in range. */
static void bring_to_size(const tsi_null_vectors *v) {
  const tsi_system *system = v->system;
  for (tsi_index k = 0; k < v->count; k++) {
    const double largest =
        tsi_team_largest(system->team, system->kernels->largest_size(system->n, column_of(v, k)));
    system->kernels->multiply(system->n, column_of(v, k), ldexp(1, -tsi_exponent_of(largest)));
  }
}

#define PASSES 6

/* Makes an orthonormal basis. Columns that are nearly equal in these units leave rounding errors, which are
 * not orthogonal to the others. So passes are repeated until no column becomes much shorter. */
static void make_basis(tsi_null_vectors *v) {
  double shortest = 0;
  for (int pass = 0; pass < PASSES && shortest < 0.5; pass++) {
    bring_to_size(v);
    shortest = orthonormalize(v, 0);
  }
}

/* max_i (|A| |v|)_i for column k, in the row scaling. */
static tristar_status find_size(const tsi_null_vectors *v, tsi_index k, double *size) {
  const tsi_system *system = v->system;
  const double *row = tsi_system_row_scale(system, v->op);
  TSI_TRY(tsi_system_bound(system, v->op, column_of(v, k), v->real));
  *size = 0;
  for (tsi_index i = 0; i < system->n; i++) *size = tsi_larger(*size, v->real[i] * (row ? fabs(row[i]) : 1));
  *size = tsi_team_largest(system->team, *size);
  return system->team->failure;
}

/* Does A v consist only of errors relative to |A| |v|? v is column k; length: of A v in the row scaling. */
static tristar_status vanishes(const tsi_null_vectors *v, tsi_index k, double length, bool *does) {
  double size;
  TSI_TRY(find_size(v, k, &size));
  *does = size > 0 && length <= size * pow(v->system->kernels->epsilon, VANISHED);
  return TRISTAR_OK;
}

bool tsi_null_vectors_solve(const tsi_null_vectors *v, const void *b, void *x) {
  const tsi_sparse_kernels *kernels = v->system->kernels;
  if (!v->direct) return false;
  memcpy(v->spare, b, v->bytes);
  memset(x, 0, v->bytes);
  kernels->scale(v->system->n, v->spare, tsi_system_row_scale(v->system, v->op), false);
  for (tsi_index k = v->first; k < v->first + v->others; k++) {
    double square[2], out[2];
    multiply(v, product_of(v, k), product_of(v, k), square);
    multiply(v, product_of(v, k), v->spare, out);
    const double share[2] = {out[0] / square[0], out[1] / square[0]};
    kernels->axpy(v->system->n, share, column_of(v, k), x);
    kernels->axpy(v->system->n, (const double[]){-share[0], -share[1]}, product_of(v, k), v->spare);
  }
  return true;
}

/* Keeps the part of the columns' span that A maps to zero. (Components of a regular part shrink slowly if
 * pivots were perturbed.) Products are made orthogonal one after the other, and the columns are combined in
 * the same way. Columns whose products vanish move to the end. */
static tristar_status leave_null_vectors(tsi_null_vectors *v) {
  const tsi_system *system = v->system;
  tsi_index end = v->count, done = 0;
  double longest_length = 0;
  v->condition = 1;
  for (tsi_index k = 0; k < v->count; k++) {
    TSI_TRY(tsi_system_residual(system, v->op, v->zero, column_of(v, k), product_of(v, k)));
    system->kernels->scale(system->n, product_of(v, k), tsi_system_row_scale(system, v->op), false);
  }
  while (done < end) {
    double length;
    bool is_null;
    const tsi_index best = longest(v, v->product, done, end, &length);
    TSI_TRY(vanishes(v, best, length, &is_null));
    const tsi_index to = is_null ? --end : done;
    exchange(v, column_of(v, to), column_of(v, best));
    exchange(v, product_of(v, to), product_of(v, best));
    if (is_null) continue;
    if (done == 0) longest_length = length;
    v->condition = tsi_larger(v->condition, longest_length / length);
    for (tsi_index k = ++done; k < end; k++) {
      double out[2];
      multiply(v, product_of(v, to), product_of(v, k), out);
      const double share[2] = {-out[0] / length / length, -out[1] / length / length};
      system->kernels->axpy(system->n, share, product_of(v, to), product_of(v, k));
      system->kernels->axpy(system->n, share, column_of(v, to), column_of(v, k));
    }
  }
  v->first = v->count -= end;
  v->others = end;
  for (tsi_index k = 0; k < v->count; k++) { /* null vectors first, the others behind them */
    exchange(v, column_of(v, k), column_of(v, end + k));
    exchange(v, product_of(v, k), product_of(v, end + k));
  }
  return system->team->failure;
}

/* Rounding errors in epsilons of the largest entry of a vector, in the column scaling. Multiplied by
 * condition if necessary. */
#define NOISE 64

static void drop_below(const tsi_null_vectors *v, double epsilons, void *x) {
  const tsi_system *system = v->system;
  const tsi_sparse_kernels *kernels = system->kernels;
  const double *weight = tsi_system_column_weight(system, v->op);
  const double noise = epsilons * kernels->epsilon;
  kernels->scale(system->n, x, weight, true);
  const double largest = tsi_team_largest(system->team, kernels->largest_size(system->n, x));
  kernels->take_large(system->n, x, NULL, noise * largest, v->spare);
  memcpy(x, v->spare, v->bytes);
  kernels->scale(system->n, x, weight, false);
}

void tsi_null_vectors_drop_noise(const tsi_null_vectors *v, void *x) {
  drop_below(v, NOISE * v->condition, x);
}

/* Is A v zero in each row, relative to |A| |v| in that row? If not, v may be a null vector only because the
 * rows that it violates are scaled down. Or these rows contain only rounding errors of v; these are dropped
 * if that helps. */
static tristar_status find_certainty(const tsi_null_vectors *v, bool *certain) {
  const double most = pow(v->system->kernels->epsilon, VANISHED);
  TSI_CLEANUP(tsi_residual_finish) tsi_residual r = {.system = NULL};
  TSI_TRY(tsi_residual_begin(v->system, v->op, &r));
  r.strict = true;
  *certain = true;
  for (tsi_index k = 0; k < v->count; k++) {
    double error, other;
    drop_below(v, NOISE, column_of(v, k));
    TSI_TRY(tsi_residual_find(&r, v->zero, column_of(v, k), &error));
    if (!(error <= most)) {
      memcpy(product_of(v, k), column_of(v, k), v->bytes); /* the product is no longer needed */
      tsi_null_vectors_drop_noise(v, column_of(v, k));
      TSI_TRY(tsi_residual_find(&r, v->zero, column_of(v, k), &other));
      if (!(other < error)) memcpy(column_of(v, k), product_of(v, k), v->bytes);
      error = fmin(error, other);
    }
    *certain = *certain && error <= most;
  }
  return TRISTAR_OK;
}

/* Computes `error`. The vectors are in the user's units. In a row with thousands of entries, rounding errors
 * of the sum can exceed the limit, but not in the next wider precision. */
static tristar_status check_basis(tsi_null_vectors *v) {
  const tsi_system *system = v->system;
  const double *row = tsi_system_row_scale(system, v->op);
  const double limit = pow(system->kernels->epsilon, NULL_VECTOR);
  v->error = 0;
  for (tsi_index k = 0; k < v->count; k++) {
    double size, left = INFINITY;
    TSI_TRY(find_size(v, k, &size));
    for (int precise = 0; precise < 2 && !(left <= limit * size); precise++) {
      TSI_TRY((precise ? tsi_system_precise_residual : tsi_system_residual)(system, v->op, v->zero,
                                                                            column_of(v, k), v->product));
      left = tsi_team_largest(system->team, system->kernels->largest_scaled(system->n, v->product, row));
    }
    if (!(left <= v->error * size) || !(size > 0)) v->error = size > 0 ? left / size : INFINITY;
  }
  v->are_certain = v->error <= limit;
  return system->team->failure;
}

/* Computes the null vectors in the columns' span. */
static tristar_status finish_basis(tsi_null_vectors *v, bool scaled) {
  bool certain = true;
  TSI_TRY(leave_null_vectors(v));
  if (v->direct) TSI_TRY(find_certainty(v, &certain));
  const tsi_index count = v->count;
  if (scaled) scale(v, true);
  make_basis(v); /* a vector that is below the range of numbers beside another one is lost */
  if (scaled) scale(v, false);
  TSI_TRY(check_basis(v));
  v->are_certain = v->are_certain && certain && v->count == count;
  if (scaled) scale(v, true);
  return TRISTAR_OK;
}

/* Searches with a block of `columns` columns. *whole: it contains the whole null space. last: no larger block
 * is tried. */
static tristar_status search(tsi_index columns, bool last, bool scaled, bool direct, const tsi_system *system,
                             tristar_op op, tsi_null_vectors *v, bool *whole) {
  *whole = true;
  TSI_TRY(begin(system, op, columns, direct, v));
  for (int k = 0; k < STEPS && !direct; k++) {
    TSI_TRY(step(v));
    if (!is_finite(v)) return TRISTAR_OK;
    orthonormalize_scaled(v, k + 1 < STEPS ? 0 : pow(system->kernels->epsilon, SHRUNK));
  }
  *whole = v->count + SPARE <= columns || columns == system->team->n;
  if (!*whole && !last) return TRISTAR_OK;
  TSI_TRY(finish_basis(v, scaled));
  v->are_certain = v->are_certain && *whole;
  return TRISTAR_OK;
}

#define MORE 16 /* columns added at a time */

tristar_status tsi_null_vectors_add(tsi_null_vectors *v, const void *column) {
  const tsi_system *system = v->system;
  double square[2];
  if (v->count == v->columns) {
    TSI_OWNED char *vector = NULL, *product = NULL;
    const tsi_index columns = v->columns + MORE;
    tristar_status status = TSI_ALLOC_SIZED(system->env, vector, columns, v->bytes);
    if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(system->env, product, columns, v->bytes);
    TSI_TRY(tsi_team_agree(system->team, status));
    memcpy(vector, v->vector, (size_t)v->count * v->bytes);
    tsi_release(tsi_take(&v->vector));
    tsi_release(tsi_take(&v->product));
    v->vector = tsi_take(&vector);
    v->product = tsi_take(&product);
    v->columns = columns;
  }
  void *last = column_of(v, v->count);
  multiply(v, column, column, square);
  memcpy(last, column, v->bytes);
  system->kernels->multiply(system->n, last, 1 / sqrt(square[0]));
  (void)tsi_null_vectors_remove(v, last);
  v->count++;
  return system->team->failure;
}

void tsi_null_vectors_discard(tsi_null_vectors *v) {
  v->count = 0;
  v->error = 0;
  v->are_certain = true;
}

tristar_status tsi_null_vectors_unscale(tsi_null_vectors *v) {
  const bool certain = v->are_certain;
  const tsi_index count = v->count;
  scale(v, false);
  TSI_TRY(finish_basis(v, false));
  v->are_certain = v->are_certain && certain && v->count == count;
  return TRISTAR_OK;
}

bool tsi_null_vectors_can_be_direct(int64_t n) {
  return n <= DIRECT;
}

tristar_status tsi_null_vectors_find(const tsi_system *system, tristar_op op, tsi_index most, bool scaled,
                                     bool direct, tsi_null_vectors *v) {
  const tsi_index n = (tsi_index)system->team->n;
  const tsi_index largest = most < (n - TSI_NULL_COLUMNS) / 2 ? 2 * most + TSI_NULL_COLUMNS : n;
  bool whole = n == 0;
  v->are_certain = whole;
  for (tsi_index columns = direct ? n : tsi_index_min(TSI_NULL_COLUMNS, largest); !whole;
       columns = tsi_index_min(2 * columns, largest)) {
    /* with a column for each unknown, steps only lose what the identity contains */
    const bool all = direct || (!scaled && columns == n);
    TSI_TRY(search(columns, columns >= largest, scaled, all, system, op, v, &whole));
    if (columns >= largest) break;
  }
  return TRISTAR_OK;
}
