/* Builds the assembly lists by counting and filling: see assembly.h. */
#include "runtime/factor/assembly.h"

/* An entry of the factored matrix in final numbering. */
typedef struct walk {
  tristar_analysis_t *an;
  const tsi_index *row_of, *col_of; /* user's row and column to final numbers */
  bool fill;                        /* false: count only */
} walk;

static void put(tsi_assembly *list, bool fill, tsi_index line, tsi_index other, tsi_count source) {
  const tsi_count q = fill ? list->ptr[line]++ : list->ptr[line + 1]++;
  if (!fill) return;
  list->other[q] = other;
  list->source[q] = source;
}

/* Entry (row, col) of A in the user's numbering. */
static void place(const walk *w, tsi_index row, tsi_index col, tsi_count source) {
  const tsi_index i = w->row_of[row], j = w->col_of[col];
  if (i >= j)
    put(&w->an->lower, w->fill, j, i, source);
  else if (tsi_analysis_is_lu(w->an))
    put(&w->an->upper, w->fill, i, j, source);
}

static void walk_entries(const walk *w) {
  const tsi_pattern *pattern = w->an->pattern;
  const bool mirror = pattern->symmetry != TRISTAR_GENERAL, plain = pattern->symmetry == TRISTAR_SYMMETRIC;
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p];
      const tsi_index row = pattern->by_rows ? j : i, col = pattern->by_rows ? i : j;
      place(w, row, col, p);
      if (mirror && i != j) place(w, col, row, plain ? p : ~p);
    }
}

static void sum_up(tsi_assembly *list, tsi_index n) {
  for (tsi_index j = 0; j < n; j++) list->ptr[j + 1] += list->ptr[j];
}

static void shift_back(tsi_assembly *list, tsi_index n) {
  for (tsi_index j = n; j > 0; j--) list->ptr[j] = list->ptr[j - 1];
  list->ptr[0] = 0;
}

tristar_status tsi_assembly_create(tsi_env *env, tristar_analysis_t *an) {
  const tsi_index n = an->pattern->n;
  const bool lu = tsi_analysis_is_lu(an);
  TSI_SCRATCH(env, tsi_index, row_of, n);
  TSI_SCRATCH(env, tsi_index, col_of, n);
  for (tsi_index j = 0; j < n; j++) {
    row_of[an->in_row[j]] = j;
    col_of[an->out_row[j]] = j;
  }
  TSI_TRY(TSI_ALLOC_ZERO(env, an->lower.ptr, (tsi_count)n + 1));
  if (lu) TSI_TRY(TSI_ALLOC_ZERO(env, an->upper.ptr, (tsi_count)n + 1));
  walk w = {an, row_of, col_of, false};
  walk_entries(&w);
  sum_up(&an->lower, n);
  TSI_TRY(TSI_ALLOC(env, an->lower.other, an->lower.ptr[n]));
  TSI_TRY(TSI_ALLOC(env, an->lower.source, an->lower.ptr[n]));
  if (lu) {
    sum_up(&an->upper, n);
    TSI_TRY(TSI_ALLOC(env, an->upper.other, an->upper.ptr[n]));
    TSI_TRY(TSI_ALLOC(env, an->upper.source, an->upper.ptr[n]));
  }
  w.fill = true;
  walk_entries(&w);
  shift_back(&an->lower, n);
  if (lu) shift_back(&an->upper, n);
  return TRISTAR_OK;
}

void tsi_assembly_finish(tsi_env *env, tristar_analysis_t *an) {
  TSI_FREE(env, an->lower.ptr);
  TSI_FREE(env, an->lower.other);
  TSI_FREE(env, an->lower.source);
  TSI_FREE(env, an->upper.ptr);
  TSI_FREE(env, an->upper.other);
  TSI_FREE(env, an->upper.source);
}

/* How often each stored entry stands in the list, and that its line and other index are its row and column.
 */
static tristar_status count_uses(tsi_env *env, const tristar_analysis_t *an, const tsi_assembly *list,
                                 bool lower, tsi_index *uses) {
  for (tsi_index j = 0; j < an->pattern->n; j++)
    for (tsi_count q = list->ptr[j]; q < list->ptr[j + 1]; q++) {
      const tsi_count source = list->source[q] < 0 ? ~list->source[q] : list->source[q];
      if (list->other[q] >= an->pattern->n || (lower ? list->other[q] < j : list->other[q] <= j))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "%s list, line %d: entry of %d", lower ? "lower" : "upper", j,
                 list->other[q]);
      uses[source]++;
    }
  return TRISTAR_OK;
}

tristar_status tsi_analysis_check(tsi_env *env, const tristar_analysis_t *an) {
  const tsi_pattern *pattern = an->pattern;
  const bool lu = tsi_analysis_is_lu(an), mirror = pattern->symmetry != TRISTAR_GENERAL;
  TSI_SCRATCH_ZERO(env, tsi_index, uses, pattern->ptr[pattern->n]);
  TSI_SCRATCH_ZERO(env, tsi_index, seen, pattern->n);
  for (tsi_index j = 0; j < pattern->n; j++) seen[an->in_row[j]] |= 1, seen[an->out_row[j]] |= 2;
  for (tsi_index j = 0; j < pattern->n; j++)
    if (seen[j] != 3)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row or column %d is missing in the final ordering", j);
  TSI_TRY(count_uses(env, an, &an->lower, true, uses));
  if (lu) TSI_TRY(count_uses(env, an, &an->upper, false, uses));
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index wanted = lu && mirror && pattern->index[p] != j ? 2 : 1;
      const bool dropped = !lu && !mirror; /* LLT of a general view uses one of each symmetric pair */
      if (uses[p] != wanted && !(dropped && uses[p] == 0))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "entry %lld is assembled %d times", (long long)p, uses[p]);
    }
  return TRISTAR_OK;
}
