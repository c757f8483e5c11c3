/* Chooses powers of two for rows and columns: see scaling.h. */
#include "runtime/factor/scaling.h"

#include <math.h>
#include <stdlib.h>

#define SPREAD 60          /* binary orders of magnitude between the largest entries of rows, or of columns */
#define FAR 400            /* from one */
#define LARGEST_SCALE 1000 /* 2^+-this */
#define FITTING 20         /* binary orders of magnitude that largest entries may be from one */
#define WEAK 10            /* binary orders of magnitude of a pivot below the largest entry */
#define ITERATIONS 100     /* of conjugate gradients */
#define SETTLED 0.01       /* means of exponents that are zero */
#define RUIZ_SWEEPS 4

/* The matrix, and the exponents of the scalings so far. Of lines that several processes share each of them
 * has its own exponents of entries, and the same of everything else. */
typedef struct scaling {
  tsi_env *env;
  const tsi_scaling_lines *lines;
  int *exponent;           /* of each entry, as exponent_of */
  bool symmetric;          /* one scaling: column is row */
  int *row, *column;       /* n */
  int *of_row, *of_column; /* n: exponents of the largest scaled entries; scratch */
  tristar_status united;   /* the first failure of what processes tell each other */
} scaling;

#define NO_ENTRY INT32_MIN /* as the exponent of a zero, or of the largest of none */

/* e with 2^(e-1) <= x < 2^e, 0 <= x: mostly a field of its bits (IEEE 754, which frexp calls a function for).
 */
static int exponent_of(double x) {
  uint64_t bits;
  int e;
  memcpy(&bits, &x, sizeof bits);
  e = (int)(bits >> 52);
  if (e > 0 && e < 0x7ff) return e - 0x3fe;
  if (x == 0) return NO_ENTRY;
  frexp(x, &e);
  return e;
}

/* 2^e of a scaling's exponent: the same field. */
static double power_of_two(int e) {
  const uint64_t bits = (uint64_t)(e + 0x3ff) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Row and column of entry p of line j. */
static void place_of(const tsi_scaling_lines *lines, tsi_index j, tsi_count p, tsi_index *row,
                     tsi_index *column) {
  const tsi_index line = lines->first + j;
  *row = lines->by_rows ? line : lines->index[p];
  *column = lines->by_rows ? lines->index[p] : line;
}

/* Each number becomes the largest that a process has. */
static void unite_largest(scaling *s, int *largest) {
  const tsi_scaling_team *team = s->lines->team;
  const tristar_status status = team ? team->largest(team->context, s->lines->n, largest) : TRISTAR_OK;
  if (s->united == TRISTAR_OK) s->united = status;
}

/* Each number becomes the sum of all processes' ones. */
static void unite_sums(scaling *s, tsi_count count, double *sums) {
  const tsi_scaling_team *team = s->lines->team;
  const tristar_status status = team ? team->sum(team->context, count, sums) : TRISTAR_OK;
  if (s->united == TRISTAR_OK) s->united = status;
}

/* What one process has failed with all of them fail with. */
static tristar_status agree(const scaling *s, tristar_status mine) {
  const tsi_scaling_team *team = s->lines->team;
  return team ? team->agree(team->context, mine) : mine;
}

/* Without a branch, which no processor could predict. */
static void lift(int *largest, int e) {
  *largest = e > *largest ? e : *largest;
}

/* Exponents of the largest scaled entries of rows and columns, among the entries here: one pass for both. */
static void find_largest(const scaling *s) {
  const tsi_scaling_lines *lines = s->lines;
  const int *own = lines->by_rows ? s->row : s->column, *other = lines->by_rows ? s->column : s->row;
  int *of_own = lines->by_rows ? s->of_row : s->of_column,
      *of_other = lines->by_rows ? s->of_column : s->of_row;
  for (tsi_index i = 0; i < lines->n; i++) s->of_row[i] = s->of_column[i] = NO_ENTRY;
  for (tsi_index j = 0; j < lines->count; j++) {
    const tsi_index line = lines->first + j;
    int largest = of_own[line];
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      const tsi_index i = lines->index[p];
      const int e = s->exponent[p];
      if (e == NO_ENTRY) continue;
      lift(&largest, e + other[i] + own[line]);
      lift(&of_other[i], e + other[i] + own[line]);
      if (!lines->mirror) continue;
      lift(&of_other[line], e + own[i] + other[line]);
      lift(&of_own[i], e + own[i] + other[line]);
    }
    lift(&of_own[line], largest);
  }
}

/* The same among the entries of all processes, of rows or of columns. */
static int *find_largest_of(scaling *s, bool rows) {
  int *largest = rows ? s->of_row : s->of_column;
  find_largest(s);
  unite_largest(s, largest);
  return largest;
}

static void find_all_largest(scaling *s) {
  find_largest(s);
  unite_largest(s, s->of_row);
  unite_largest(s, s->of_column);
}

typedef struct range {
  int low, high;
} range;

#define NO_RANGE ((range){INT32_MAX, INT32_MIN})

static void widen(range *r, int e) {
  if (e == NO_ENTRY) return;
  if (e < r->low) r->low = e;
  if (e > r->high) r->high = e;
}

static bool is_bad(range r) {
  return r.low <= r.high && (r.high - r.low > SPREAD || r.high > FAR || r.low < -FAR);
}

/* Are the largest entries far from each other, or from one? */
static bool far_apart(tsi_index n, const int *largest) {
  range r = NO_RANGE;
  for (tsi_index i = 0; i < n; i++) widen(&r, largest[i]);
  return is_bad(r);
}

static tristar_status check_lines(const scaling *s, const int *largest, const char *name) {
  for (tsi_index i = 0; i < s->lines->n; i++)
    if (largest[i] == NO_ENTRY)
      TSI_FAIL(s->env, TRISTAR_ERR_SINGULAR,
               "the matrix is singular: all values in %s %d (counted from 0) are zero", name, i);
  return TRISTAR_OK;
}

static int clamp(int e) {
  return e > LARGEST_SCALE ? LARGEST_SCALE : e < -LARGEST_SCALE ? -LARGEST_SCALE : e;
}

/* ---- Least squares of logarithms ----------------------------------------------------------------------- */

/* The normal equations in the exponents of rows and columns, or of both at once: for each of these lines the
 * scaled exponents of its entries have the mean zero. They are solved by conjugate gradients, preconditioned
 * by the numbers of entries (Curtis and Reid 1972). The gauge, rows by 2 and columns by 1/2, stays where it
 * is. */
typedef struct squares {
  tsi_count lines;  /* n if one scaling serves rows and columns, else 2 n: columns after rows */
  double *all;      /* what follows, in one piece */
  double *x;        /* exponents */
  double *residual; /* sums of scaled exponents, negative */
  double *direction, *image;
  double *count; /* entries */
} squares;

/* image, zeros before, becomes what the normal equations make of `of`, or of the exponents of the entries
 * where that is NULL; counts them in `count` if there is one. */
static void add_sums(scaling *s, const double *of, double *image, double *count) {
  const tsi_scaling_lines *lines = s->lines;
  const tsi_count column_line = s->symmetric ? 0 : lines->n, all = column_line + lines->n;
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      tsi_index row, column;
      if (s->exponent[p] == NO_ENTRY) continue;
      place_of(lines, j, p, &row, &column);
      for (int image_too = lines->mirror && row != column; image_too >= 0; image_too--) {
        const tsi_count a = image_too ? column : row, b = column_line + (image_too ? row : column);
        const double sum = of ? of[a] + of[b] : s->exponent[p];
        image[a] += sum;
        image[b] += sum;
        if (count == NULL) continue;
        count[a]++;
        count[b]++;
      }
    }
  unite_sums(s, all, image);
  if (count != NULL) unite_sums(s, all, count);
}

/* r^T D^-1 r for the numbers D of entries; *largest: the largest mean. */
static double weigh_residual(const squares *q, double *largest) {
  double sum = 0;
  *largest = 0;
  for (tsi_count i = 0; i < q->lines; i++) {
    if (q->count[i] == 0) continue;
    const double mean = q->residual[i] / q->count[i];
    sum += q->residual[i] * mean;
    *largest = fmax(*largest, fabs(mean));
  }
  return sum;
}

static void iterate(scaling *s, const squares *q) {
  double largest, before = 1, size = weigh_residual(q, &largest);
  for (int iteration = 0; iteration < ITERATIONS && largest > SETTLED; iteration++) {
    double curvature = 0;
    for (tsi_count i = 0; i < q->lines; i++) {
      const double mean = q->count[i] > 0 ? q->residual[i] / q->count[i] : 0;
      q->direction[i] = mean + (iteration > 0 ? size / before * q->direction[i] : 0);
      q->image[i] = 0;
    }
    add_sums(s, q->direction, q->image, NULL);
    for (tsi_count i = 0; i < q->lines; i++) curvature += q->direction[i] * q->image[i];
    if (!(curvature > 0)) break;
    const double step = size / curvature;
    for (tsi_count i = 0; i < q->lines; i++) {
      q->x[i] += step * q->direction[i];
      q->residual[i] -= step * q->image[i];
    }
    before = size;
    size = weigh_residual(q, &largest);
  }
}

/* Sets the exponents, whatever they are. */
static tristar_status bring_together(scaling *s) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->lines->n;
  squares q = {.lines = s->symmetric ? n : 2 * (tsi_count)n};
  const size_t lines = (size_t)q.lines;
  TSI_TRY_OUT(agree(s, TSI_ALLOC_ZERO(s->env, q.all, 5 * lines)));
  q.x = q.all;
  q.residual = q.x + lines;
  q.direction = q.residual + lines;
  q.image = q.direction + lines;
  q.count = q.image + lines;
  add_sums(s, NULL, q.residual, q.count);
  for (tsi_count i = 0; i < q.lines; i++) q.residual[i] = -q.residual[i];
  iterate(s, &q);
  for (tsi_index i = 0; i < n; i++) {
    s->row[i] = clamp((int)lrint(q.x[i]));
    if (!s->symmetric) s->column[i] = clamp((int)lrint(q.x[n + i]));
  }
out:
  TSI_FREE(s->env, q.all);
  return status;
}

/* ---- The three kinds ----------------------------------------------------------------------------------- */

static void divide_by_largest(scaling *s, bool rows) {
  int *to = rows ? s->row : s->column;
  const int *largest = find_largest_of(s, rows);
  for (tsi_index i = 0; i < s->lines->n; i++) to[i] = clamp(to[i] - largest[i]);
}

/* Half an exponent, rounded up, also a negative one. */
static int half(int e) {
  return (e + (e & 1)) / 2;
}

static void divide_by_roots(scaling *s) {
  for (int sweep = 0; sweep < RUIZ_SWEEPS; sweep++) {
    const int *largest = find_largest_of(s, true);
    for (tsi_index i = 0; i < s->lines->n; i++) s->row[i] = clamp(s->row[i] - half(largest[i]));
  }
}

static void take_matching(const scaling *s) {
  for (tsi_index i = 0; i < s->lines->n; i++) {
    s->row[i] = exponent_of(s->lines->row_scale[i]) - 1; /* powers of two */
    s->column[i] = exponent_of(s->lines->col_scale[i]) - 1;
  }
}

/* The values may be others than those that were matched. */
static bool matching_fits(scaling *s) {
  find_all_largest(s);
  for (tsi_index i = 0; i < s->lines->n; i++)
    if (abs(s->of_row[i]) > FITTING || abs(s->of_column[i]) > FITTING) return false;
  return true;
}

static void scale_by_largest(scaling *s) {
  if (s->symmetric)
    divide_by_roots(s);
  else {
    divide_by_largest(s, true);
    divide_by_largest(s, false);
  }
}

/* How far the scaled diagonal lies below one, as the sum of exponents; *worst: the largest of them. */
static double weigh_diagonal(scaling *s, int *worst) {
  const tsi_scaling_lines *lines = s->lines;
  double sum = 0;
  for (tsi_index j = 0; j < lines->n; j++) s->of_row[j] = -2 * LARGEST_SCALE;
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      const tsi_index line = lines->first + j;
      if (lines->index[p] == line && s->exponent[p] != NO_ENTRY)
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

/* By means: rows and columns are brought together first. */
static tristar_status scale_from(scaling *s, bool means) {
  if (means) TSI_TRY(bring_together(s));
  for (tsi_index i = 0; i < s->lines->n && !means; i++) s->row[i] = s->column[i] = 0;
  scale_by_largest(s);
  return TRISTAR_OK;
}

/* Without a matching the diagonal is to give pivots: where the first scaling leaves an entry of it small, the
 * other one, by means or not, is tried too, and the better one of the two is kept. One scaling for rows and
 * columns can make one entry larger at the cost of another, which helps no pivot: by less than a factor of
 * two for each row, it is not better. */
static tristar_status strengthen_diagonal(scaling *s, bool other_means) {
  const size_t bytes = (size_t)s->lines->n * sizeof(int);
  int worst;
  TSI_OWNED int *kept = NULL;
  const double before = weigh_diagonal(s, &worst);
  if (worst <= WEAK) return TRISTAR_OK;
  TSI_TRY(agree(s, TSI_ALLOC(s->env, kept, 2 * bytes)));
  memcpy(kept, s->row, bytes);
  memcpy(kept + s->lines->n, s->column, bytes);
  TSI_TRY(scale_from(s, other_means));
  if (weigh_diagonal(s, &worst) >= before - (s->symmetric ? s->lines->n : 0)) {
    memcpy(s->row, kept, bytes);
    memcpy(s->column, kept + s->lines->n, bytes);
  }
  return TRISTAR_OK;
}

/* Rows of zeros come first: what follows takes logarithms. */
static tristar_status scale_lines(scaling *s) {
  const tsi_index n = s->lines->n;
  find_all_largest(s);
  TSI_TRY(check_lines(s, s->of_row, "row"));
  TSI_TRY(check_lines(s, s->of_column, "column"));
  const bool bad = far_apart(n, s->of_row) || far_apart(n, s->of_column);
  if (!bad && s->lines->row_scale != NULL) {
    take_matching(s);
    if (matching_fits(s)) return TRISTAR_OK;
  }
  TSI_TRY(scale_from(s, bad));
  return strengthen_diagonal(s, !bad);
}

/* Diagonal entries that are missing or zero make Cholesky fail, whatever their scaling is. */
static bool scale_diagonal(scaling *s, int limit) {
  const tsi_scaling_lines *lines = s->lines;
  bool needed = false;
  for (tsi_index j = 0; j < lines->n; j++) s->of_row[j] = NO_ENTRY;
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++)
      if (lines->index[p] == lines->first + j) s->of_row[lines->first + j] = s->exponent[p];
  unite_largest(s, s->of_row);
  for (tsi_index j = 0; j < lines->n; j++) {
    const int e = s->of_row[j];
    if (e == NO_ENTRY) continue;
    s->row[j] = clamp(-half(e));
    needed |= e > limit || e < -limit;
  }
  return needed;
}

static int largest_of(tsi_count count, const int *exponent) {
  int largest = NO_ENTRY;
  for (tsi_count p = 0; p < count; p++) lift(&largest, exponent[p]);
  return largest;
}

/* An entry of a definite matrix is smaller than the roots of the diagonal entries of its row and column. One
 * that is so much larger would be beyond the range of the factors before a pivot shows that. */
static tristar_status check_entries(const scaling *s, int limit) {
  const tsi_scaling_lines *lines = s->lines;
  const int64_t most = largest_of(lines->ptr[lines->count], s->exponent);
  if (most + 2 * (int64_t)largest_of(lines->n, s->row) <= limit) return TRISTAR_OK; /* none can be */
  for (tsi_index j = 0; j < lines->count; j++)
    for (tsi_count p = lines->ptr[j]; p < lines->ptr[j + 1]; p++) {
      tsi_index row, column;
      const int e = s->exponent[p];
      place_of(lines, j, p, &row, &column);
      if (row != column && e != NO_ENTRY && e + s->row[row] + s->column[column] > limit)
        TSI_FAIL(s->env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
                 "the matrix is not positive definite: entry (%d,%d), counted from 0, is far larger than the "
                 "diagonal entries of its row and column",
                 row, column);
    }
  return TRISTAR_OK;
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

static tristar_status allocate(scaling *s) {
  const tsi_index n = s->lines->n;
  const tsi_count entries = s->lines->ptr[s->lines->count];
  TSI_TRY(TSI_ALLOC(s->env, s->exponent, entries));
  for (tsi_count p = 0; p < entries; p++) s->exponent[p] = exponent_of(s->lines->magnitude[p]);
  TSI_TRY(TSI_ALLOC_ZERO(s->env, s->row, n));
  if (s->symmetric)
    s->column = s->row;
  else
    TSI_TRY(TSI_ALLOC_ZERO(s->env, s->column, n));
  TSI_TRY(TSI_ALLOC(s->env, s->of_row, n));
  return TSI_ALLOC(s->env, s->of_column, n);
}

static void release(scaling *s) {
  if (s->column != s->row) TSI_FREE(s->env, s->column);
  TSI_FREE(s->env, s->row);
  TSI_FREE(s->env, s->exponent);
  TSI_FREE(s->env, s->of_row);
  TSI_FREE(s->env, s->of_column);
}

static tristar_status keep(const scaling *s, double **row_scale, double **col_scale) {
  const tsi_index n = s->lines->n;
  if (*row_scale == NULL) TSI_TRY(TSI_ALLOC(s->env, *row_scale, n));
  if (*col_scale == NULL) TSI_TRY(TSI_ALLOC(s->env, *col_scale, n));
  for (tsi_index i = 0; i < n; i++) {
    (*row_scale)[i] = power_of_two(s->row[i]);
    (*col_scale)[i] = power_of_two(s->column[i]);
  }
  return TRISTAR_OK;
}

tristar_status tsi_scaling_find(tsi_env *env, const tsi_scaling_lines *lines, double **row_scale,
                                double **col_scale) {
  tristar_status status = TRISTAR_OK;
  const bool single = tsi_sparse_kernels_select(lines->factor_scalar)->epsilon > 1e-10;
  const int limit = single ? 40 : 300; /* of exponents that need no scaling */
  scaling s = {.env = env, .lines = lines, .symmetric = lines->method != TRISTAR_METHOD_LU};
  bool needed = true;
  TSI_TRY_OUT(agree(&s, allocate(&s)));
  if (lines->method == TRISTAR_METHOD_LLT) {
    needed = scale_diagonal(&s, limit);
    TSI_TRY_OUT(agree(&s, check_entries(&s, limit)));
  } else
    TSI_TRY_OUT(scale_lines(&s));
  TSI_TRY_OUT(agree(&s, s.united));
  if (needed)
    TSI_TRY_OUT(agree(&s, keep(&s, row_scale, col_scale)));
  else {
    TSI_FREE(env, *row_scale);
    TSI_FREE(env, *col_scale);
  }
out:
  release(&s);
  return status;
}

tristar_status tsi_scaling_choose(tristar_factor_t *factor, const double *magnitude) {
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  const tsi_scaling_lines lines = {.n = pattern->n,
                                   .count = pattern->n,
                                   .by_rows = pattern->by_rows,
                                   .mirror = pattern->symmetry != TRISTAR_GENERAL,
                                   .ptr = pattern->ptr,
                                   .index = pattern->index,
                                   .magnitude = magnitude,
                                   .method = an->stats.method,
                                   .factor_scalar = an->factor_scalar,
                                   .row_scale = an->row_scale,
                                   .col_scale = an->col_scale};
  return tsi_scaling_find(&factor->ts->env, &lines, &factor->row_scale, &factor->col_scale);
}

bool tsi_scaling_is_far(tsi_index n, const double *largest) {
  range r = NO_RANGE;
  for (tsi_index j = 0; j < n; j++) widen(&r, exponent_of(largest[j]));
  return is_bad(r);
}

bool tsi_scaling_is_bad(const tsi_entries *a) {
  const double *values = a->item;
  range r = NO_RANGE;
  for (tsi_index j = 0; j < a->n; j++) {
    int largest = NO_ENTRY;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) lift(&largest, exponent_of(values[p]));
    widen(&r, largest);
  }
  return is_bad(r);
}
