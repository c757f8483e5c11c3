/* Chooses powers of two for rows and columns: see scaling.h. */
#include "runtime/factor/scaling_work.h"

#include <math.h>
#include <stdlib.h>

#define EVEN 4           /* Limit for binary orders of magnitude between the largest entries of even rows. */
#define EVENING_SWEEPS 8 /* Sweeps of even_out. */

/* Replaces each number by its largest value on all processes. */
static void unite_largest(tsi_scaling *s, int *largest) {
  const tsi_scaling_team *team = s->lines->team;
  const tristar_status status = team ? team->largest(team->context, s->lines->n, largest) : TRISTAR_OK;
  if (s->united == TRISTAR_OK) s->united = status;
}

/* Has no branch, which no processor could predict. */
static void lift(int *largest, int e) {
  *largest = e > *largest ? e : *largest;
}

/* Finds the exponents of the largest scaled entries of lines (of_lines) and of crossing lines (of_others),
 * among the entries here. plain: no entry is zero, none has a mirror image. All three are constants. */
static inline __attribute__((always_inline)) void find_in_pass(const tsi_scaling *s, const bool of_lines,
                                                               const bool of_others, const bool plain) {
  const tsi_scaling_lines *lines = s->lines;
  const int *own = lines->by_rows ? s->row : s->column, *other = lines->by_rows ? s->column : s->row;
  int *of_own = lines->by_rows ? s->of_row : s->of_column,
      *of_other = lines->by_rows ? s->of_column : s->of_row;
  for (tsi_index i = 0; i < lines->n; i++) s->of_row[i] = s->of_column[i] = TSI_NO_ENTRY;
  for (tsi_index j = 0; j < lines->count; j++) {
    const tsi_index line = lines->first + j;
    const int scale = own[line];
    const tsi_count end = lines->ptr[j + 1];
    int largest = of_own[line];
    for (tsi_count p = lines->ptr[j]; p < end; p++) {
      const tsi_index i = lines->index[p];
      const int e = s->exponent[p];
      if (!plain && e == TSI_NO_ENTRY) continue;
      if (of_lines) lift(&largest, e + other[i] + scale);
      if (of_others) lift(&of_other[i], e + other[i] + scale);
      if (plain || !lines->mirror) continue;
      if (of_others) lift(&of_other[line], e + own[i] + other[line]);
      if (of_lines) lift(&of_own[i], e + own[i] + other[line]);
    }
    lift(&of_own[line], largest);
  }
}

static inline __attribute__((always_inline)) void find_in_lines(const tsi_scaling *s, const bool of_lines,
                                                                const bool of_others) {
  if (s->whole && !s->lines->mirror)
    find_in_pass(s, of_lines, of_others, true);
  else
    find_in_pass(s, of_lines, of_others, false);
}

/* The same for rows, or columns, or both in one pass. */
static void find_largest(tsi_scaling *s, bool rows, bool columns) {
  if (s->measured) {
    s->measured = false;
    return;
  }
  if (rows && columns)
    find_in_lines(s, true, true);
  else if (rows == s->lines->by_rows)
    find_in_lines(s, true, false);
  else
    find_in_lines(s, false, true);
}

/* The same among the entries of all processes, for rows or columns. */
static int *find_largest_of(tsi_scaling *s, bool rows) {
  int *largest = rows ? s->of_row : s->of_column;
  const bool measured = s->measured;
  find_largest(s, rows, !rows);
  if (!measured) unite_largest(s, largest);
  return largest;
}

static void find_all_largest(tsi_scaling *s) {
  const bool measured = s->measured;
  find_largest(s, true, true);
  if (measured) return;
  unite_largest(s, s->of_row);
  unite_largest(s, s->of_column);
}

/* Lowest and highest exponent. */
typedef struct range {
  int low, high;
} range;

#define NO_RANGE ((range){INT32_MAX, INT32_MIN})

static void widen(range *r, int e) {
  if (e == TSI_NO_ENTRY) return;
  if (e < r->low) r->low = e;
  if (e > r->high) r->high = e;
}

static range range_of(tsi_index n, const int *exponent) {
  range r = NO_RANGE;
  for (tsi_index i = 0; i < n; i++) widen(&r, exponent[i]);
  return r;
}

static bool is_wide(range r, int most) {
  return r.low <= r.high && r.high - r.low > most;
}

/* Are the largest entries far from each other, or from one? */
static bool is_bad(range r) {
  return is_wide(r, TSI_SPREAD) || (r.low <= r.high && (r.high > TSI_FAR || r.low < -TSI_FAR));
}

/* The user's number of a row or column. */
static tsi_index number_of(const tsi_scaling *s, tsi_index i) {
  return s->lines->user ? s->lines->user[i] : i;
}

static tristar_status check_lines(const tsi_scaling *s, const int *largest, const char *name) {
  for (tsi_index i = 0; i < s->lines->n; i++)
    if (largest[i] == TSI_NO_ENTRY)
      TSI_FAIL(s->env, TRISTAR_ERR_SINGULAR,
               s->lines->user
                   ? "the rows that are eliminated are singular: all their values in %s %d (counted "
                     "from 0) are zero"
                   : "the matrix is singular: all values in %s %d (counted from 0) are zero",
               name, number_of(s, i));
  return TRISTAR_OK;
}

static tristar_status check_all_lines(const tsi_scaling *s) {
  TSI_TRY(check_lines(s, s->of_row, "row"));
  return check_lines(s, s->of_column, "column");
}

/* ---- The three kinds ----------------------------------------------------------------------------------- */

static void divide_by_largest(tsi_scaling *s, bool rows) {
  int *to = rows ? s->row : s->column;
  const int *largest = find_largest_of(s, rows);
  for (tsi_index i = 0; i < s->lines->n; i++) to[i] = tsi_scaling_clamp(to[i] - largest[i]);
}

static void divide_by_roots(tsi_scaling *s) {
  for (int sweep = 0; sweep < TSI_RUIZ_SWEEPS; sweep++) {
    const int *largest = find_largest_of(s, true);
    for (tsi_index i = 0; i < s->lines->n; i++)
      s->row[i] = tsi_scaling_clamp(s->row[i] - tsi_scaling_half(largest[i]));
  }
}

/* Divides rows and columns by roots of their largest entries, at the same time (Ruiz 2001). So A^T is scaled
 * as A is. */
static void even_out(tsi_scaling *s) {
  for (int sweep = 0; sweep < EVENING_SWEEPS; sweep++) {
    const tsi_index n = s->lines->n;
    find_all_largest(s);
    if (!is_wide(range_of(n, s->of_row), EVEN) && !is_wide(range_of(n, s->of_column), EVEN)) return;
    for (tsi_index i = 0; i < n; i++) {
      s->row[i] = tsi_scaling_clamp(s->row[i] - tsi_scaling_half(s->of_row[i]));
      s->column[i] = tsi_scaling_clamp(s->column[i] - tsi_scaling_half(s->of_column[i]));
    }
  }
}

static void take_matching(const tsi_scaling *s) {
  for (tsi_index i = 0; i < s->lines->n; i++) {
    s->row[i] = tsi_scaling_exponent(s->lines->row_scale[i]) - 1; /* Powers of two. */
    s->column[i] = tsi_scaling_exponent(s->lines->col_scale[i]) - 1;
  }
}

/* Does the scaling of the matching suit these values, which may differ from the matched ones? */
static bool matching_fits(const tsi_scaling *s) {
  const int most = tsi_scaling_fitting(s->lines->factor_scalar);
  for (tsi_index i = 0; i < s->lines->n; i++)
    if (abs(s->of_row[i]) > most || abs(s->of_column[i]) > most) return false;
  return !is_wide(range_of(s->lines->n, s->of_row), TSI_FITTING_SPREAD) &&
         !is_wide(range_of(s->lines->n, s->of_column), TSI_FITTING_SPREAD);
}

/* Limits of sizes. Fitting sizes are from low, and below high. */
typedef struct fitting {
  double low, high;
} fitting;

static fitting fitting_sizes(char factor_scalar) {
  const int most = tsi_scaling_fitting(factor_scalar);
  return (fitting){ldexp(1, -most - 1), ldexp(1, most)};
}

static bool is_fitting(fitting sizes, double largest) {
  return largest >= sizes.low && largest < sizes.high;
}

static void scale_by_largest(tsi_scaling *s) {
  if (s->symmetric)
    divide_by_roots(s);
  else {
    divide_by_largest(s, true);
    divide_by_largest(s, false);
  }
}

/* Returns by how much the scaled diagonal is below one, as the sum of exponents. *worst: the largest of
 * them. */
static double weigh_diagonal(tsi_scaling *s, int *worst) {
  const tsi_scaling_lines *lines = s->lines;
  double sum = 0;
  for (tsi_index j = 0; j < lines->n; j++) s->of_row[j] = -2 * TSI_LARGEST_SCALE;
  for (tsi_index j = 0; j < lines->count; j++) {
    const tsi_index line = lines->first + j;
    const tsi_count end = lines->ptr[j + 1];
    for (tsi_count p = lines->ptr[j]; p < end; p++)
      if (lines->index[p] == line && s->exponent[p] != TSI_NO_ENTRY)
        lift(&s->of_row[line], s->exponent[p] + s->row[line] + s->column[line]);
  }
  unite_largest(s, s->of_row);
  *worst = 0;
  for (tsi_index j = 0; j < lines->n; j++) {
    sum -= s->of_row[j];
    lift(worst, -s->of_row[j]);
  }
  return sum;
}

/* Returns how far the scaled entries are from one, as the sum of exponents, each at most TSI_SPREAD. A
 * penalty leaves few entries far from one, but an unsuitable scaling leaves many. */
static double weigh_spread(tsi_scaling *s) {
  const tsi_scaling_lines *lines = s->lines;
  double sum = 0;
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      tsi_index row, column;
      if (s->exponent[p] == TSI_NO_ENTRY) continue;
      tsi_scaling_place(lines, j, p, &row, &column);
      const int far = abs(s->exponent[p] + s->row[row] + s->column[column]);
      const int images = lines->mirror && row != column ? 2 : 1;
      sum += images * (far < TSI_SPREAD ? far : TSI_SPREAD);
    }
  tsi_scaling_unite_sums(s, 1, &sum);
  return sum;
}

/* Start of a scaling. It ends with a division by the largest entries. */
typedef enum start {
  START_NONE,  /* Ones. */
  START_MEANS, /* Means of logarithms. */
  START_EVEN   /* Roots of largest entries, of rows and columns at the same time. */
} start;

static tristar_status scale_from(tsi_scaling *s, start from) {
  if (from == START_MEANS) TSI_TRY(tsi_scaling_bring_together(s));
  for (tsi_index i = 0; i < s->lines->n && from != START_MEANS; i++) s->row[i] = s->column[i] = 0;
  if (from == START_EVEN) even_out(s);
  scale_by_largest(s);
  return TRISTAR_OK;
}

/* Tries another scaling, and keeps the one that makes the diagonal larger. One scaling for rows and columns
 * can make one entry larger at the cost of another, which helps no pivot. So it must gain at least a factor
 * of two per row. *size: of weigh_diagonal; spread: largest distance of entries from one. */
static tristar_status try_scaling(tsi_scaling *s, start from, double *size, double spread) {
  const size_t bytes = (size_t)s->lines->n * sizeof(int);
  int worst;
  TSI_OWNED int *kept = NULL;
  TSI_TRY(tsi_scaling_agree(s, TSI_ALLOC(s->env, kept, 2 * bytes)));
  memcpy(kept, s->row, bytes);
  memcpy(kept + s->lines->n, s->column, bytes);
  TSI_TRY(scale_from(s, from));
  const double now = weigh_diagonal(s, &worst);
  if (now < *size - (s->symmetric ? s->lines->n : 0) && (isinf(spread) || weigh_spread(s) <= spread)) {
    *size = now;
    return TRISTAR_OK;
  }
  memcpy(s->row, kept, bytes);
  memcpy(s->column, kept + s->lines->n, bytes);
  return TRISTAR_OK;
}

/* Without a matching the diagonal must provide pivots. If the first scaling leaves a diagonal entry small,
 * the other ones are tried. Entries that were brought together must stay together, except penalties. */
static tristar_status strengthen_diagonal(tsi_scaling *s, start first) {
  int worst;
  double size = weigh_diagonal(s, &worst);
  if (worst <= TSI_SMALL_DIAGONAL) return TRISTAR_OK;
  const double spread = first == START_MEANS ? weigh_spread(s) : INFINITY;
  if (first != START_NONE) TSI_TRY(try_scaling(s, START_NONE, &size, spread));
  if (first != START_MEANS) TSI_TRY(try_scaling(s, START_MEANS, &size, spread));
  return TRISTAR_OK;
}

/* Checks for rows of zeros first, because logarithms follow. */
static tristar_status scale_lines(tsi_scaling *s) {
  const tsi_index n = s->lines->n;
  if (s->near && s->lines->row_scale != NULL) { /* No largest entry can be bad then. */
    take_matching(s);
    find_all_largest(s);
    TSI_TRY(check_all_lines(s));
    if (matching_fits(s)) return TRISTAR_OK;
    for (tsi_index i = 0; i < n; i++) s->row[i] = s->column[i] = 0;
  }
  find_all_largest(s);
  TSI_TRY(check_all_lines(s));
  const range rows = range_of(n, s->of_row);
  const bool bad = is_bad(rows) || is_bad(range_of(n, s->of_column));
  const bool matched = (!bad || s->lines->keeps_matching) && s->lines->row_scale != NULL;
  if (matched) {
    take_matching(s);
    find_all_largest(s);
    if (matching_fits(s)) return TRISTAR_OK;
  }
  const start first = bad                                          ? START_MEANS
                      : is_wide(rows, TSI_UNEVEN) && !s->symmetric ? START_EVEN
                                                                   : START_NONE;
  if (matched && bad)
    for (tsi_index i = 0; i < n; i++) s->row[i] = s->column[i] = 0;
  s->measured = !matched && first != START_MEANS; /* The first pass found them. */
  TSI_TRY(scale_from(s, first));
  return s->lines->any_pivots ? TRISTAR_OK : strengthen_diagonal(s, first);
}

/* Computes the scaling for L L^T. Returns whether it is needed. Missing or zero diagonal entries make
 * Cholesky fail with any scaling. */
static bool scale_diagonal(tsi_scaling *s, int limit) {
  const tsi_scaling_lines *lines = s->lines;
  for (tsi_index j = 0; j < lines->n; j++) s->of_row[j] = TSI_NO_ENTRY;
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++)
      if (lines->index[p] == lines->first + j) s->of_row[lines->first + j] = s->exponent[p];
  unite_largest(s, s->of_row);
  for (tsi_index j = 0; j < lines->n; j++) {
    const int e = s->of_row[j];
    if (e == TSI_NO_ENTRY) continue;
    s->row[j] = tsi_scaling_clamp(-tsi_scaling_half(e));
  }
  const range r = range_of(lines->n, s->of_row);
  return r.low <= r.high &&
         (r.high > limit || r.low < -limit || is_wide(r, 2 * tsi_apart_units(lines->factor_scalar)));
}

static int largest_of(tsi_count count, const int *exponent) {
  int largest = TSI_NO_ENTRY;
  for (tsi_count p = 0; p < count; p++) lift(&largest, exponent[p]);
  return largest;
}

/* An entry of a definite matrix is smaller than the product of the roots of the diagonal entries of its
 * row and column. Refuses much larger entries, which would exceed the range of the factors before a pivot
 * fails. */
static tristar_status check_entries(const tsi_scaling *s, int limit) {
  const tsi_scaling_lines *lines = s->lines;
  const int64_t most = largest_of(lines->ptr[lines->count], s->exponent);
  if (most + 2 * (int64_t)largest_of(lines->n, s->row) <= limit) return TRISTAR_OK; /* None is too large. */
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      tsi_index row, column;
      const int e = s->exponent[p];
      tsi_scaling_place(lines, j, p, &row, &column);
      if (row != column && e != TSI_NO_ENTRY && e + s->row[row] + s->column[column] > limit)
        TSI_FAIL(s->env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
                 "the matrix is not positive definite: entry (%d,%d), counted from 0, is far larger than the "
                 "diagonal entries of its row and column",
                 number_of(s, row), number_of(s, column));
    }
  return TRISTAR_OK;
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

/* Reads the exponents, usually as fields of the numbers, without a branch. `near` is unknown if processes
 * share the entries. */
static void read_exponents(tsi_scaling *s, tsi_count entries) {
  range r = NO_RANGE;
  for (tsi_count p = 0; p < entries; p++) {
    uint64_t bits;
    memcpy(&bits, &s->lines->magnitude[p], sizeof bits);
    const int e = s->exponent[p] = (int)(bits >> 52) - 0x3fe;
    r.low = e < r.low ? e : r.low;
    r.high = e > r.high ? e : r.high;
  }
  s->whole = r.low > -0x3fe && r.high < 0x7ff - 0x3fe;
  if (!s->whole) { /* Zeros, tiny or infinite entries. */
    r = NO_RANGE;
    for (tsi_count p = 0; p < entries; p++) {
      s->exponent[p] = tsi_scaling_exponent(s->lines->magnitude[p]);
      widen(&r, s->exponent[p]);
    }
  }
  s->near = !is_bad(r) && s->lines->team == NULL;
}

static tristar_status allocate(tsi_scaling *s) {
  const tsi_index n = s->lines->n;
  const tsi_count entries = s->lines->ptr[s->lines->count];
  TSI_TRY(TSI_ALLOC(s->env, s->exponent, entries));
  read_exponents(s, entries);
  TSI_TRY(TSI_ALLOC_ZERO(s->env, s->row, n));
  if (s->symmetric)
    s->column = s->row;
  else
    TSI_TRY(TSI_ALLOC_ZERO(s->env, s->column, n));
  TSI_TRY(TSI_ALLOC(s->env, s->of_row, n));
  return TSI_ALLOC(s->env, s->of_column, n);
}

/* Bytes that `allocate` allocates. */
static size_t bytes_of(tsi_index n, tsi_count entries, bool symmetric) {
  const tsi_scaling *s;
  const size_t row = sizeof *s->row + sizeof *s->of_row + sizeof *s->of_column;
  return (size_t)entries * sizeof *s->exponent + (size_t)n * (row + (symmetric ? 0 : sizeof *s->column));
}

static void release(tsi_scaling *s) {
  if (s->column != s->row) TSI_FREE(s->env, s->column);
  TSI_FREE(s->env, s->row);
  TSI_FREE(s->env, s->exponent);
  TSI_FREE(s->env, s->of_row);
  TSI_FREE(s->env, s->of_column);
}

static tristar_status keep(const tsi_scaling *s, double **row_scale, double **col_scale) {
  const tsi_index n = s->lines->n;
  if (*row_scale == NULL) TSI_TRY(TSI_ALLOC(s->env, *row_scale, n));
  if (*col_scale == NULL) TSI_TRY(TSI_ALLOC(s->env, *col_scale, n));
  for (tsi_index i = 0; i < n; i++) {
    (*row_scale)[i] = tsi_scaling_power(s->row[i]);
    (*col_scale)[i] = tsi_scaling_power(s->column[i]);
  }
  return TRISTAR_OK;
}

bool tsi_scaling_llt_is_free(char factor_scalar, int low, int high, int most) {
  const int limit = tsi_scaling_limit(factor_scalar), apart = 2 * tsi_apart_units(factor_scalar);
  if (low > high || low < -limit || high > limit || high - low > apart) return false;
  const int scale = -tsi_scaling_half(low) > 0 ? -tsi_scaling_half(low)
                                               : 0; /* The largest scaling; 0 for a missing diagonal entry. */
  return most <= limit - 2 * scale;
}

tristar_status tsi_scaling_find(tsi_env *env, const tsi_scaling_lines *lines, double **row_scale,
                                double **col_scale) {
  tristar_status status = TRISTAR_OK;
  const int limit = tsi_scaling_limit(lines->factor_scalar);
  tsi_scaling s = {.env = env, .lines = lines, .symmetric = lines->method != TRISTAR_METHOD_LU};
  bool needed = true;
  TSI_TRY_OUT(tsi_scaling_agree(&s, allocate(&s)));
  if (lines->method == TRISTAR_METHOD_LLT) {
    needed = scale_diagonal(&s, limit);
    TSI_TRY_OUT(tsi_scaling_agree(&s, check_entries(&s, limit)));
  } else
    TSI_TRY_OUT(scale_lines(&s));
  TSI_TRY_OUT(tsi_scaling_agree(&s, s.united));
  if (needed)
    TSI_TRY_OUT(tsi_scaling_agree(&s, keep(&s, row_scale, col_scale)));
  else {
    TSI_FREE(env, *row_scale);
    TSI_FREE(env, *col_scale);
  }
out:
  release(&s);
  return status;
}

static tsi_scaling_lines lines_of(const tristar_analysis_t *an, const double *magnitude) {
  const tsi_pattern *pattern = an->pattern;
  return (tsi_scaling_lines){.n = pattern->n,
                             .count = pattern->n,
                             .by_rows = pattern->by_rows,
                             .mirror = pattern->symmetry != TRISTAR_GENERAL,
                             .ptr = pattern->ptr,
                             .index = pattern->index,
                             .magnitude = magnitude,
                             .method = an->stats.method,
                             .factor_scalar = an->factor_scalar,
                             .row_scale = an->row_scale,
                             .col_scale = an->col_scale,
                             .keeps_matching = an->keeps_scaling,
                             .any_pivots = an->options.pivoting == TRISTAR_PIVOTING_DELAYED};
}

/* Has no branch, which no processor could predict. */
static double larger(double a, double b) {
  return a > b ? a : b;
}

static double smaller(double a, double b) {
  return a < b ? a : b;
}

/* Range of the exponents of nonzero numbers from low to high. */
static range range_between(double low, double high) {
  range r = NO_RANGE;
  if (low > high) return r;
  widen(&r, tsi_scaling_exponent(low));
  widen(&r, tsi_scaling_exponent(high));
  return r;
}

/* Smallest and largest of the numbers. */
static fitting sizes_of(size_t n, const double *size) {
  fitting r = {INFINITY, 0};
  for (size_t i = 0; i < n; i++) {
    r.low = smaller(size[i], r.low);
    r.high = larger(size[i], r.high);
  }
  return r;
}

static bool all_fit(fitting limits, fitting r) {
  return is_fitting(limits, r.low) && is_fitting(limits, r.high) &&
         !is_wide(range_between(r.low, r.high), TSI_FITTING_SPREAD);
}

/* Computes the largest entries of lines and crossing lines in the scaling of the matching. `crossing` is zero
 * before. Returns the largest entry without a scaling. */
static double find_sizes(const tsi_scaling_lines *lines, double *restrict crossing,
                         double *restrict own_size) {
  const double *const restrict own = lines->by_rows ? lines->row_scale : lines->col_scale;
  const double *const restrict other = lines->by_rows ? lines->col_scale : lines->row_scale;
  const tsi_index *const restrict index = lines->index;
  const tsi_count *const restrict ptr = lines->ptr;
  const double *const restrict magnitude = lines->magnitude;
  double most_plain = 0;
  for (tsi_index j = 0; j < lines->n; j++) {
    const double of_own = own[j];
    double most = 0;
    const tsi_count end = ptr[j + 1];
    for (tsi_count p = ptr[j]; p < end; p++) {
      const ptrdiff_t i = index[p];
      const double size = magnitude[p] * larger(of_own, other[i]) * smaller(of_own, other[i]);
      most_plain = larger(magnitude[p], most_plain);
      most = larger(size, most);
      crossing[i] = larger(size, crossing[i]);
    }
    own_size[j] = most;
  }
  return most_plain;
}

/* Is it certain that the largest entries of all lines and crossing lines are near each other and near one
 * without the scaling? least: the smallest of them in the scaling; most: the largest entry of the matrix. */
static bool are_near(const tsi_scaling_lines *lines, double least, double most) {
  double row = 0, column = 0;
  for (tsi_index i = 0; i < lines->n; i++) {
    row = larger(lines->row_scale[i], row);
    column = larger(lines->col_scale[i], column);
  }
  least = least / row / column;
  return least > 0 && !is_bad(range_between(least, most));
}

/* Without a scaling, are the largest entries of lines, or of crossing lines, far from each other or from one?
 */
static tristar_status find_bad(tsi_env *env, const tsi_scaling_lines *lines, bool *bad) {
  TSI_SCRATCH_ZERO(env, double, crossing, lines->n);
  double low = INFINITY, high = 0;
  for (tsi_index j = 0; j < lines->n; j++) {
    double most = 0;
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      most = larger(lines->magnitude[p], most);
      crossing[lines->index[p]] = larger(lines->magnitude[p], crossing[lines->index[p]]);
    }
    low = smaller(most, low);
    high = larger(most, high);
  }
  const fitting sizes = sizes_of((size_t)lines->n, crossing);
  *bad = is_bad(range_between(low, high)) || is_bad(range_between(sizes.low, sizes.high));
  return TRISTAR_OK;
}

tristar_status tsi_scaling_take_matching(tristar_factor_t *factor, const double *magnitude, double *size,
                                         bool *taken) {
  const tristar_analysis_t *an = factor->analysis;
  tsi_env *env = &factor->ts->env;
  const tsi_scaling_lines lines = lines_of(an, magnitude);
  const size_t n = (size_t)lines.n;
  const fitting limits = fitting_sizes(lines.factor_scalar);
  TSI_OWNED double *crossing = NULL; /* Followed by the lines. */
  bool bad = false;
  *taken = false;
  if (lines.row_scale == NULL || lines.method != TRISTAR_METHOD_LU || lines.mirror || an->schur_count > 0)
    return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC_ZERO(env, crossing, 2 * n));
  const double most = find_sizes(&lines, crossing, crossing + n);
  const fitting of_crossing = sizes_of(n, crossing), of_lines = sizes_of(n, crossing + n);
  if (!all_fit(limits, of_crossing) || !all_fit(limits, of_lines)) return TRISTAR_OK;
  if (!are_near(&lines, smaller(of_crossing.low, of_lines.low), most)) TSI_TRY(find_bad(env, &lines, &bad));
  if (bad) return TRISTAR_OK;
  if (factor->row_scale == NULL) TSI_TRY(TSI_ALLOC(env, factor->row_scale, n));
  if (factor->col_scale == NULL) TSI_TRY(TSI_ALLOC(env, factor->col_scale, n));
  memcpy(factor->row_scale, lines.row_scale, n * sizeof(double));
  memcpy(factor->col_scale, lines.col_scale, n * sizeof(double));
  for (size_t j = 0; j < n; j++) size[an->out_place[j]] = crossing[lines.by_rows ? j : n + j];
  *taken = true;
  return TRISTAR_OK;
}

size_t tsi_scaling_bytes(const tristar_analysis_t *an) {
  const bool lu = tsi_analysis_is_lu(an);
  const tsi_index n = an->pattern->n;
  if (lu && an->row_scale != NULL && an->pattern->symmetry == TRISTAR_GENERAL && an->schur_count == 0)
    return (size_t)n * 3 * sizeof(double);
  const size_t schur = an->schur_count > 0 ? tsi_scaling_schur_bytes(n, an->pattern->ptr[n]) : 0;
  return schur + bytes_of(n, an->pattern->ptr[n], !lu);
}

tristar_status tsi_scaling_choose(tristar_factor_t *factor, const double *magnitude) {
  const tsi_scaling_lines lines = lines_of(factor->analysis, magnitude);
  if (factor->analysis->schur_count > 0) return tsi_scaling_choose_schur(factor, &lines);
  return tsi_scaling_find(&factor->ts->env, &lines, &factor->row_scale, &factor->col_scale);
}

/* Are units far apart: sums of sizes of two rows, or of two columns? *far is false if a sum is zero. */
static tristar_status find_far_units(const tristar_factor_t *factor, bool *far) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_sparse_kernels *kernels = tsi_sparse_kernels_select(an->pattern->scalar);
  const tsi_sparse a = tsi_pattern_sparse(an->pattern, factor->values);
  TSI_OWNED double *sum = NULL;
  TSI_TRY(TSI_ALLOC(&factor->ts->env, sum, a.n));
  *far = false;
  for (int transposed = 0; transposed < 2; transposed++) {
    double least = INFINITY, most = 0;
    kernels->weigh(&a, transposed ? TRISTAR_T : TRISTAR_N, NULL, sum);
    for (tsi_index i = 0; i < a.n; i++) {
      least = sum[i] < least ? sum[i] : least;
      most = sum[i] > most ? sum[i] : most;
    }
    *far = *far || least < ldexp(most, -tsi_apart_units(an->factor_scalar));
    if (least == 0) {
      *far = false;
      break;
    }
  }
  return TRISTAR_OK;
}

static tristar_status find_weights(tristar_factor_t *factor, const double *magnitude) {
  tristar_status status = TRISTAR_OK;
  const tsi_scaling_lines lines = lines_of(factor->analysis, magnitude);
  tsi_scaling s = {.env = &factor->ts->env, .lines = &lines};
  TSI_TRY_OUT(allocate(&s));
  find_all_largest(&s);
  TSI_TRY_OUT(scale_from(&s, is_bad(range_of(lines.n, s.of_row)) ? START_MEANS : START_EVEN));
  TSI_TRY_OUT(keep(&s, &factor->row_weight, &factor->col_weight));
out:
  release(&s);
  return status;
}

tristar_status tsi_scaling_weigh(tristar_factor_t *factor) {
  tsi_env *env = &factor->ts->env;
  TSI_OWNED double *magnitude = NULL;
  bool far;
  TSI_FREE(env, factor->row_weight);
  TSI_FREE(env, factor->col_weight);
  TSI_TRY(find_far_units(factor, &far));
  if (!far) return TRISTAR_OK;
  TSI_TRY(tsi_pattern_part(env, factor->analysis->pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
  return find_weights(factor, magnitude);
}

bool tsi_scaling_is_far(tsi_index n, const double *largest) {
  range r = NO_RANGE;
  for (tsi_index j = 0; j < n; j++) widen(&r, tsi_scaling_exponent(largest[j]));
  return is_bad(r);
}

bool tsi_scaling_is_bad(const tsi_entries *a) {
  const double *values = a->item;
  range r = NO_RANGE;
  for (tsi_index j = 0; j < a->n; j++) {
    int largest = TSI_NO_ENTRY;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) lift(&largest, tsi_scaling_exponent(values[p]));
    widen(&r, largest);
  }
  return is_bad(r);
}

int tsi_scaling_spread_of(tsi_index n, const double *rows, const double *columns) {
  const double *scales[] = {rows, columns};
  int spread = 0;
  for (int s = 0; s < 2; s++) {
    uint64_t low = UINT64_MAX, high = 0; /* Bits, which order unsigned numbers as well; 0 is no scale. */
    for (tsi_index i = 0; scales[s] && i < n; i++) {
      uint64_t bits;
      memcpy(&bits, &scales[s][i], sizeof bits);
      bits <<= 1;
      low = bits - 1 < low ? bits - 1 : low;
      high = bits > high ? bits : high;
    }
    if (high == 0) continue;
    const int first = (int)((low + 1) >> 53), last = (int)(high >> 53);
    if (last - first > spread) spread = last - first;
  }
  return spread;
}

/* The spread without the rows of the complement. These have the same places in both orders (method.c). */
static int spread_of_eliminated(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_index first = tsi_analysis_schur_first(an), end = first + an->schur_count;
  range rows = NO_RANGE, columns = NO_RANGE;
  for (tsi_index i = 0; factor->row_scale && i < an->pattern->n; i++) {
    if (an->out_place[i] >= first && an->out_place[i] < end) continue;
    widen(&rows, tsi_scaling_exponent(factor->row_scale[i]));
    widen(&columns, tsi_scaling_exponent(factor->col_scale[i]));
  }
  if (rows.low > rows.high) return 0;
  return rows.high - rows.low > columns.high - columns.low ? rows.high - rows.low
                                                           : columns.high - columns.low;
}

int tsi_scaling_spread(const tristar_factor_t *factor) {
  const bool imported = factor->analysis->imported;
  if (factor->part_spread > 0) return factor->part_spread;
  if (factor->analysis->schur_count > 0) return spread_of_eliminated(factor);
  return tsi_scaling_spread_of(factor->analysis->pattern->n,
                               imported ? factor->row_weight : factor->row_scale,
                               imported ? factor->col_weight : factor->col_scale);
}
