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

/* The matrix, and the exponents of the scalings so far. */
typedef struct scaling {
  tsi_env *env;
  const tsi_pattern *pattern;
  int *exponent;     /* of each entry, as exponent_of */
  bool symmetric;    /* one scaling: column is row */
  int *row, *column; /* n */
  int *largest;      /* n: scratch */
} scaling;

#define NO_ENTRY INT32_MIN /* as the exponent of a zero, or of the largest of none */

/* e with 2^(e-1) <= x < 2^e */
static int exponent_of(double x) {
  int e;
  if (x == 0) return NO_ENTRY;
  frexp(x, &e);
  return e;
}

/* Row and column of entry p of line j. */
static void place_of(const tsi_pattern *pattern, tsi_index j, tsi_count p, tsi_index *row,
                     tsi_index *column) {
  *row = pattern->by_rows ? j : pattern->index[p];
  *column = pattern->by_rows ? pattern->index[p] : j;
}

static void lift(int *largest, int e) {
  if (e > *largest) *largest = e;
}

/* Exponents of the largest scaled entry of each row, or column. */
static void find_largest(const scaling *s, bool rows) {
  const tsi_pattern *pattern = s->pattern;
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL;
  for (tsi_index i = 0; i < pattern->n; i++) s->largest[i] = NO_ENTRY;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      tsi_index row, column;
      const int e = s->exponent[p];
      if (e == NO_ENTRY) continue;
      place_of(pattern, j, p, &row, &column);
      lift(&s->largest[rows ? row : column], e + s->row[row] + s->column[column]);
      if (mirror) lift(&s->largest[rows ? column : row], e + s->row[column] + s->column[row]);
    }
}

/* Are the largest entries far from each other, or from one? */
static bool far_apart(tsi_index n, const int *largest) {
  int low = INT32_MAX, high = INT32_MIN;
  for (tsi_index i = 0; i < n; i++) {
    if (largest[i] == NO_ENTRY) continue;
    if (largest[i] < low) low = largest[i];
    if (largest[i] > high) high = largest[i];
  }
  return low <= high && (high - low > SPREAD || high > FAR || low < -FAR);
}

static tristar_status check_lines(const scaling *s, const char *name) {
  tristar_status status = TRISTAR_OK;
  for (tsi_index i = 0; i < s->pattern->n; i++)
    if (s->largest[i] == NO_ENTRY)
      TSI_FAIL(s->env, TRISTAR_ERR_SINGULAR,
               "the matrix is singular: all values in %s %d (counted from 0) are zero", name, i);
out:
  return status;
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

/* image += what the normal equations make of `of`, or of the exponents of the entries where that is NULL;
 * counts them in `count` if there is one. */
static void add_sums(const scaling *s, const double *of, double *image, double *count) {
  const tsi_pattern *pattern = s->pattern;
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL;
  const tsi_count column_line = s->symmetric ? 0 : pattern->n;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      tsi_index row, column;
      if (s->exponent[p] == NO_ENTRY) continue;
      place_of(pattern, j, p, &row, &column);
      for (int image_too = mirror && row != column; image_too >= 0; image_too--) {
        const tsi_count a = image_too ? column : row, b = column_line + (image_too ? row : column);
        const double sum = of ? of[a] + of[b] : s->exponent[p];
        image[a] += sum;
        image[b] += sum;
        if (count == NULL) continue;
        count[a]++;
        count[b]++;
      }
    }
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

static void iterate(const scaling *s, const squares *q) {
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
static tristar_status bring_together(const scaling *s) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->pattern->n;
  squares q = {.lines = s->symmetric ? n : 2 * (tsi_count)n};
  const size_t lines = (size_t)q.lines;
  TSI_TRY(TSI_ALLOC_ZERO(s->env, q.all, 5 * lines));
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

static void divide_by_largest(const scaling *s, bool rows) {
  int *to = rows ? s->row : s->column;
  find_largest(s, rows);
  for (tsi_index i = 0; i < s->pattern->n; i++) to[i] = clamp(to[i] - s->largest[i]);
}

/* Half an exponent, rounded up, also a negative one. */
static int half(int e) {
  return (e + (e & 1)) / 2;
}

static void divide_by_roots(const scaling *s) {
  for (int sweep = 0; sweep < RUIZ_SWEEPS; sweep++) {
    find_largest(s, true);
    for (tsi_index i = 0; i < s->pattern->n; i++) s->row[i] = clamp(s->row[i] - half(s->largest[i]));
  }
}

static void take_matching(const scaling *s, const tristar_analysis_t *an) {
  for (tsi_index i = 0; i < s->pattern->n; i++) {
    s->row[i] = exponent_of(an->row_scale[i]) - 1; /* powers of two */
    s->column[i] = exponent_of(an->col_scale[i]) - 1;
  }
}

/* The values may be others than those that were matched. */
static bool matching_fits(const scaling *s) {
  for (int rows = 0; rows < 2; rows++) {
    find_largest(s, rows);
    for (tsi_index i = 0; i < s->pattern->n; i++)
      if (abs(s->largest[i]) > FITTING) return false;
  }
  return true;
}

static void forget(const scaling *s) {
  for (tsi_index i = 0; i < s->pattern->n; i++) s->row[i] = s->column[i] = 0;
}

static void scale_by_largest(const scaling *s) {
  if (s->symmetric)
    divide_by_roots(s);
  else {
    divide_by_largest(s, true);
    divide_by_largest(s, false);
  }
}

/* How far the scaled diagonal lies below one, as the sum of exponents; *worst: the largest of them. */
static double weigh_diagonal(const scaling *s, int *worst) {
  const tsi_pattern *pattern = s->pattern;
  double sum = 0;
  for (tsi_index j = 0; j < pattern->n; j++) s->largest[j] = -2 * LARGEST_SCALE;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++)
      if (pattern->index[p] == j && s->exponent[p] != NO_ENTRY)
        lift(&s->largest[j], s->exponent[p] + s->row[j] + s->column[j]);
  *worst = 0;
  for (tsi_index j = 0; j < pattern->n; j++) {
    sum -= s->largest[j];
    lift(worst, -s->largest[j]);
  }
  return sum;
}

/* Without a matching the diagonal is to give pivots: where the usual scaling leaves an entry of it small,
 * that by means is tried too, and the better one of the two is kept. One scaling for rows and columns can
 * make one entry larger at the cost of another, which helps no pivot: by less than a factor of two for each
 * row, it is not better. */
static tristar_status strengthen_diagonal(scaling *s) {
  tristar_status status = TRISTAR_OK;
  const size_t bytes = (size_t)s->pattern->n * sizeof(int);
  int worst, *kept = NULL;
  const double before = weigh_diagonal(s, &worst);
  if (worst <= WEAK) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(s->env, kept, 2 * bytes));
  memcpy(kept, s->row, bytes);
  memcpy(kept + s->pattern->n, s->column, bytes);
  TSI_TRY(bring_together(s));
  scale_by_largest(s);
  if (weigh_diagonal(s, &worst) >= before - (s->symmetric ? s->pattern->n : 0)) {
    memcpy(s->row, kept, bytes);
    memcpy(s->column, kept + s->pattern->n, bytes);
  }
out:
  TSI_FREE(s->env, kept);
  return status;
}

/* Rows of zeros come first: what follows takes logarithms. */
static tristar_status scale_lines(scaling *s, const tristar_analysis_t *an) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->pattern->n;
  find_largest(s, true);
  TSI_TRY(check_lines(s, "row"));
  bool bad = far_apart(n, s->largest);
  find_largest(s, false);
  TSI_TRY(check_lines(s, "column"));
  bad = bad || far_apart(n, s->largest);
  if (!bad && an->row_scale != NULL) {
    take_matching(s, an);
    if (matching_fits(s)) goto out;
    forget(s);
  }
  if (bad) TSI_TRY(bring_together(s));
  scale_by_largest(s);
  if (!bad) TSI_TRY(strengthen_diagonal(s));
out:
  return status;
}

/* Diagonal entries that are missing or zero make Cholesky fail, whatever their scaling is. */
static bool scale_diagonal(const scaling *s, int limit) {
  const tsi_pattern *pattern = s->pattern;
  bool needed = false;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const int e = s->exponent[p];
      if (pattern->index[p] != j || e == NO_ENTRY) continue;
      s->row[j] = clamp(-half(e));
      needed |= e > limit || e < -limit;
    }
  return needed;
}

/* An entry of a definite matrix is smaller than the roots of the diagonal entries of its row and column. One
 * that is so much larger would be beyond the range of the factors before a pivot shows that. */
static tristar_status check_entries(const scaling *s, int limit) {
  tristar_status status = TRISTAR_OK;
  const tsi_pattern *pattern = s->pattern;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      tsi_index row, column;
      const int e = s->exponent[p];
      place_of(pattern, j, p, &row, &column);
      if (row != column && e != NO_ENTRY && e + s->row[row] + s->column[column] > limit)
        TSI_FAIL(s->env, TRISTAR_ERR_NOT_POSITIVE_DEFINITE,
                 "the matrix is not positive definite: entry (%d,%d), counted from 0, is far larger than the "
                 "diagonal entries of its row and column",
                 row, column);
    }
out:
  return status;
}

/* ---- Factors ------------------------------------------------------------------------------------------- */

static tristar_status allocate(scaling *s, const double *magnitude) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->pattern->n;
  const tsi_count entries = s->pattern->ptr[n];
  TSI_TRY(TSI_ALLOC(s->env, s->exponent, entries));
  for (tsi_count p = 0; p < entries; p++) s->exponent[p] = exponent_of(magnitude[p]);
  TSI_TRY(TSI_ALLOC_ZERO(s->env, s->row, n));
  if (s->symmetric)
    s->column = s->row;
  else
    TSI_TRY(TSI_ALLOC_ZERO(s->env, s->column, n));
  TSI_TRY(TSI_ALLOC(s->env, s->largest, n));
out:
  return status;
}

static void release(scaling *s) {
  if (s->column != s->row) TSI_FREE(s->env, s->column);
  TSI_FREE(s->env, s->row);
  TSI_FREE(s->env, s->exponent);
  TSI_FREE(s->env, s->largest);
}

static tristar_status keep(const scaling *s, tristar_factor_t *factor) {
  tristar_status status = TRISTAR_OK;
  const tsi_index n = s->pattern->n;
  if (factor->row_scale == NULL) TSI_TRY(TSI_ALLOC(s->env, factor->row_scale, n));
  if (factor->col_scale == NULL) TSI_TRY(TSI_ALLOC(s->env, factor->col_scale, n));
  for (tsi_index i = 0; i < n; i++) {
    factor->row_scale[i] = ldexp(1, s->row[i]);
    factor->col_scale[i] = ldexp(1, s->column[i]);
  }
out:
  return status;
}

tristar_status tsi_scaling_choose(tristar_factor_t *factor, const double *magnitude) {
  tristar_status status = TRISTAR_OK;
  const tristar_analysis_t *an = factor->analysis;
  const bool cholesky = an->stats.method == TRISTAR_METHOD_LLT;
  const bool single = tsi_sparse_kernels_select(an->factor_scalar)->epsilon > 1e-10;
  scaling s = {.env = &factor->ts->env, .pattern = an->pattern, .symmetric = !tsi_analysis_is_lu(an)};
  const int limit = single ? 40 : 300; /* of exponents that need no scaling */
  bool needed = true;
  TSI_TRY(allocate(&s, magnitude));
  if (cholesky) {
    needed = scale_diagonal(&s, limit);
    TSI_TRY(check_entries(&s, limit));
  } else
    TSI_TRY(scale_lines(&s, an));
  if (needed)
    TSI_TRY(keep(&s, factor));
  else {
    TSI_FREE(s.env, factor->row_scale);
    TSI_FREE(s.env, factor->col_scale);
  }
out:
  release(&s);
  return status;
}

bool tsi_scaling_is_bad(const tsi_entries *a) {
  const double *values = a->item;
  int low = INT32_MAX, high = INT32_MIN;
  for (tsi_index j = 0; j < a->n; j++) {
    int largest = NO_ENTRY;
    for (tsi_count p = a->ptr[j]; p < a->ptr[j + 1]; p++) lift(&largest, exponent_of(values[p]));
    if (largest == NO_ENTRY) continue;
    if (largest < low) low = largest;
    if (largest > high) high = largest;
  }
  return low <= high && (high - low > SPREAD || high > FAR || low < -FAR);
}
