/* Determines which changes leave scalings as they are: see scaling_facts.h. */
#include "runtime/factor/scaling_facts.h"

#include <stdlib.h>

#include "runtime/factor/scaling_work.h"

typedef enum kind { UNKNOWN, MATCHED, LARGEST, ROOTS } kind;

/* Exponents at the beginning of a sweep: of the scaling of the rows, and of their largest scaled entries. */
typedef struct sweep {
  int *row, *most; /* n */
} sweep;

struct tsi_scaling_facts {
  kind kind;
  int low, high;
  bool mirror;
  int *row, *column;            /* n, by the user's rows and columns: exponents of the scaling. */
  sweep sweep[TSI_RUIZ_SWEEPS]; /* ROOTS; LARGEST: only the first one. */
};

/* Handles entry (row, column) with this exponent. */
typedef void (*visit_fn)(void *context, tsi_index row, tsi_index column, int exponent);

/* Visits all nonzero entries, and mirror images. */
static void visit_entries(const tsi_pattern *pattern, const double *magnitude, visit_fn visit,
                          void *context) {
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p], row = pattern->by_rows ? j : i,
                      column = pattern->by_rows ? i : j;
      const int exponent = tsi_scaling_exponent(magnitude[p]);
      if (exponent == TSI_NO_ENTRY) continue;
      visit(context, row, column, exponent);
      if (pattern->symmetry != TRISTAR_GENERAL && row != column) visit(context, column, row, exponent);
    }
}

static bool is_near(const tsi_scaling_facts *facts) {
  return facts->low <= facts->high && facts->high - facts->low <= TSI_SPREAD && facts->high <= TSI_FAR &&
         facts->low >= -TSI_FAR;
}

static void widen(void *context, tsi_index row, tsi_index column, int exponent) {
  tsi_scaling_facts *facts = context;
  (void)row, (void)column;
  if (exponent < facts->low) facts->low = exponent;
  if (exponent > facts->high) facts->high = exponent;
}

/* ---- Recomputing the scaling --------------------------------------------------------------------------- */

/* Search for the largest scaled entries of rows, or of columns. */
typedef struct search {
  const int *row, *column; /* The scaling; NULL: none. */
  int *most;
  bool of_columns;
  int *diagonal;
} search;

static void raise_most(void *context, tsi_index row, tsi_index column, int exponent) {
  const search *s = context;
  const int scaled = exponent + s->row[row] + (s->column ? s->column[column] : 0);
  int *most = &s->most[s->of_columns ? column : row];
  if (scaled > *most) *most = scaled;
  if (s->diagonal && row == column) s->diagonal[row] = scaled;
}

static void find(const tsi_pattern *pattern, const double *magnitude, const search *s) {
  for (tsi_index i = 0; i < pattern->n; i++) s->most[i] = TSI_NO_ENTRY;
  for (tsi_index i = 0; s->diagonal && i < pattern->n; i++) s->diagonal[i] = TSI_NO_ENTRY;
  visit_entries(pattern, magnitude, raise_most, (void *)s);
}

static bool are_equal(tsi_index n, const int *a, const int *b) {
  return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Is the diagonal large enough that no other scaling is tried? */
static bool has_diagonal(tsi_index n, const int *diagonal) {
  for (tsi_index i = 0; i < n; i++)
    if (diagonal[i] < -TSI_SMALL_DIAGONAL) return false;
  return true;
}

/* Was the matrix scaled by the largest entries of rows, then of columns? work: 2 n. */
static bool is_by_largest(const tsi_scaling_facts *facts, const tsi_pattern *pattern, const double *magnitude,
                          int *work) {
  const tsi_index n = pattern->n;
  int low = INT32_MAX, high = INT32_MIN, *zero = facts->sweep[0].row, *most = facts->sweep[0].most;
  for (tsi_index i = 0; i < n; i++) zero[i] = 0;
  find(pattern, magnitude, &(search){.row = zero, .most = most});
  for (tsi_index i = 0; i < n; i++) {
    if (most[i] == TSI_NO_ENTRY || facts->row[i] != -most[i]) return false;
    low = most[i] < low ? most[i] : low;
    high = most[i] > high ? most[i] : high;
  }
  if (high - low > TSI_UNEVEN) return false;
  find(pattern, magnitude,
       &(search){.row = facts->row,
                 .column = facts->column,
                 .most = work,
                 .of_columns = true,
                 .diagonal = work + n});
  for (tsi_index j = 0; j < n; j++)
    if (work[j] != 0) return false;
  return has_diagonal(n, work + n);
}

/* Was the matrix scaled by the roots of largest entries? */
static bool is_by_roots(const tsi_scaling_facts *facts, const tsi_pattern *pattern, const double *magnitude,
                        int *work) {
  const tsi_index n = pattern->n;
  for (tsi_index i = 0; i < n; i++) work[i] = 0;
  for (int k = 0; k < TSI_RUIZ_SWEEPS; k++) {
    const sweep *s = &facts->sweep[k];
    memcpy(s->row, work, (size_t)n * sizeof *work);
    find(pattern, magnitude, &(search){.row = s->row, .column = s->row, .most = s->most});
    for (tsi_index i = 0; i < n; i++) {
      if (s->most[i] == TSI_NO_ENTRY) return false;
      work[i] = tsi_scaling_clamp(work[i] - tsi_scaling_half(s->most[i]));
    }
  }
  if (!are_equal(n, work, facts->row)) return false;
  find(pattern, magnitude,
       &(search){.row = facts->row, .column = facts->row, .most = work, .diagonal = work + n});
  return has_diagonal(n, work + n);
}

static bool takes_matching(const tristar_factor_t *factor) {
  const tristar_analysis_t *an = factor->analysis;
  const size_t bytes = (size_t)an->pattern->n * sizeof(double);
  return memcmp(factor->row_scale, an->row_scale, bytes) == 0 &&
         memcmp(factor->col_scale, an->col_scale, bytes) == 0;
}

#define MATCHED_MOST (TSI_FITTING_SPREAD / 2) /* Largest exponent, in absolute value, of largest entries. */

/* Are the largest scaled entries of all rows and columns near one? */
static bool are_near_one(const tsi_scaling_facts *facts, const tsi_pattern *pattern, const double *magnitude,
                         int *work) {
  for (int of_columns = 0; of_columns < 2; of_columns++) {
    find(pattern, magnitude,
         &(search){.row = facts->row, .column = facts->column, .most = work, .of_columns = of_columns});
    for (tsi_index i = 0; i < pattern->n; i++)
      if (work[i] == TSI_NO_ENTRY || abs(work[i]) > MATCHED_MOST) return false;
  }
  return true;
}

static kind find_kind(const tristar_factor_t *factor, const tsi_scaling_facts *facts, const double *magnitude,
                      int *work) {
  const tristar_analysis_t *an = factor->analysis;
  if (!is_near(facts)) return UNKNOWN;
  if (an->row_scale != NULL)
    return takes_matching(factor) && are_near_one(facts, an->pattern, magnitude, work) ? MATCHED : UNKNOWN;
  if (tsi_analysis_is_lu(an)) return is_by_largest(facts, an->pattern, magnitude, work) ? LARGEST : UNKNOWN;
  return is_by_roots(facts, an->pattern, magnitude, work) ? ROOTS : UNKNOWN;
}

tristar_status tsi_scaling_facts_create(const tristar_factor_t *factor, tsi_scaling_facts **out) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  const tsi_pattern *pattern = an->pattern;
  const int sweeps = an->row_scale ? 0 : tsi_analysis_is_lu(an) ? 1 : TSI_RUIZ_SWEEPS;
  TSI_OWNED tsi_scaling_facts *facts = NULL;
  TSI_OWNED double *magnitude = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, facts, 1));
  facts->low = INT32_MAX;
  facts->high = INT32_MIN;
  facts->mirror = pattern->symmetry != TRISTAR_GENERAL;
  if (factor->row_scale != NULL && an->stats.method != TRISTAR_METHOD_LLT) {
    TSI_SCRATCH(env, int, work, 2 * (tsi_count)pattern->n);
    TSI_TRY(TSI_ALLOC_IN(facts, facts->row, pattern->n));
    TSI_TRY(TSI_ALLOC_IN(facts, facts->column, pattern->n));
    for (int k = 0; k < sweeps; k++) {
      TSI_TRY(TSI_ALLOC_IN(facts, facts->sweep[k].row, pattern->n));
      TSI_TRY(TSI_ALLOC_IN(facts, facts->sweep[k].most, pattern->n));
    }
    for (tsi_index i = 0; i < pattern->n; i++) {
      facts->row[i] = tsi_scaling_exponent(factor->row_scale[i]) - 1; /* Powers of two. */
      facts->column[i] = tsi_scaling_exponent(factor->col_scale[i]) - 1;
    }
    TSI_TRY(tsi_pattern_part(env, pattern, factor->values, TSI_PART_MAGNITUDE, &magnitude));
    visit_entries(pattern, magnitude, widen, facts);
    facts->kind = find_kind(factor, facts, magnitude, work);
  }
  *out = tsi_take(&facts);
  return TRISTAR_OK;
}

/* ---- Changes ------------------------------------------------------------------------------------------- */

/* Is the entry with this exponent smaller than the largest ones? */
static bool is_small(const tsi_scaling_facts *facts, tsi_index row, tsi_index column, int exponent) {
  if (exponent == TSI_NO_ENTRY) return true;
  if (facts->kind == LARGEST)
    return exponent + facts->row[row] < 0 && exponent + facts->row[row] + facts->column[column] < 0;
  for (int k = 0; k < TSI_RUIZ_SWEEPS; k++) {
    const sweep *s = &facts->sweep[k];
    const int scaled = exponent + s->row[row] + s->row[column];
    if (scaled >= s->most[row] || scaled >= s->most[column]) return false;
  }
  return true;
}

static bool is_harmless(const tsi_scaling_facts *facts, tsi_index row, tsi_index column, int before,
                        int now) {
  const int scaled = now == TSI_NO_ENTRY ? -TSI_LARGEST_SCALE : now + facts->row[row] + facts->column[column];
  if (facts->kind == MATCHED) return abs(scaled) <= MATCHED_MOST;
  if (row == column && scaled < -TSI_SMALL_DIAGONAL) return false;
  return is_small(facts, row, column, before) && is_small(facts, row, column, now);
}

bool tsi_scaling_facts_allow(tsi_scaling_facts *facts, tsi_index row, tsi_index column, int before, int now) {
  if (facts->kind == UNKNOWN) return false;
  if (now != TSI_NO_ENTRY) widen(facts, row, column, now);
  const bool allowed = is_near(facts) && is_harmless(facts, row, column, before, now) &&
                       (!facts->mirror || is_harmless(facts, column, row, before, now));
  if (!allowed) facts->kind = UNKNOWN;
  return allowed;
}
