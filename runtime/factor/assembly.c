/* Builds the assembly lists by counting and filling: see analysis.h. */
#include "runtime/factor/analysis.h"

#include "dag/factor/front_teams.h"

/* A pass over the entries, line by line in their final order. It fills one of the lists from front to end. */
typedef struct walk {
  const tsi_pattern *pattern;
  const tsi_index *line_at;         /* The user's line of each final number. */
  const tsi_index *row_of, *col_of; /* Final numbers of the user's rows and columns. */
  tsi_assembly *list[2];            /* Lower, upper; upper: NULL unless LU. */
} walk;

/* Adds entry (i, j) of the factored matrix to column j of the lower list, or to row i of the upper one. */
static inline void put(const walk *w, bool fill, tsi_index i, tsi_index j, tsi_count source) {
  const tsi_index line = tsi_index_min(i, j);
  tsi_assembly *list = w->list[i < j]; /* Has no branch, which no processor could predict. */
  if (list == NULL) return;
  if (!fill) {
    list->ptr[line + 1]++;
    return;
  }
  const tsi_count q = list->ptr[line]++;
  list->other[q] = tsi_index_max(i, j);
  list->source[q] = source;
}

/* fill: a constant; false: only counts. */
static inline __attribute__((always_inline)) void walk_entries(const walk *w, const bool fill) {
  const tsi_pattern *pattern = w->pattern;
  const bool by_rows = pattern->by_rows, mirror = pattern->symmetry != TRISTAR_GENERAL,
             plain = pattern->symmetry == TRISTAR_SYMMETRIC;
  const tsi_index *own = by_rows ? w->row_of : w->col_of, *other = by_rows ? w->col_of : w->row_of;
  for (tsi_index line = 0; line < pattern->n; line++) {
    const tsi_index j = w->line_at[line];
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index i = pattern->index[p], minor = other[i];
      put(w, fill, by_rows ? line : minor, by_rows ? minor : line, p);
      if (mirror && i != j)
        put(w, fill, by_rows ? own[i] : other[j], by_rows ? other[j] : own[i], plain ? p : ~p);
    }
  }
}

/* L U of a GENERAL matrix: an entry is added to its own line of one list, or crosses lines and is added to
 * the other list. */
typedef struct split {
  const tsi_pattern *pattern;
  const tsi_index *line_at,
      *number; /* The user's line of each final number; final numbers of crossing entries. */
  tsi_assembly *own, *crossing;
} split;

static split split_of(const walk *w) {
  const bool by_rows = w->pattern->by_rows;
  return (split){.pattern = w->pattern,
                 .line_at = w->line_at,
                 .number = by_rows ? w->col_of : w->row_of,
                 .own = w->list[by_rows ? 1 : 0],
                 .crossing = w->list[by_rows ? 0 : 1]};
}

/* Does an entry cross its line? The diagonal is in the lower list. */
static inline bool crosses(const split *s, tsi_index line, tsi_index minor) {
  return minor < line + s->pattern->by_rows;
}

static void count_split(const split *s) {
  const tsi_pattern *pattern = s->pattern;
  for (tsi_index line = 0; line < pattern->n; line++) {
    const tsi_index j = s->line_at[line];
    tsi_count own = 0;
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index minor = s->number[pattern->index[p]];
      const bool away = crosses(s, line, minor);
      s->crossing->ptr[minor + 1] += away; /* Has no branch, which no processor could predict. */
      own += !away;
    }
    s->own->ptr[line + 1] = own;
  }
}

/* Fills both lists. Moves the starts of the crossing list by one line, as walk_entries does. */
static void fill_split(const split *s) {
  const tsi_pattern *pattern = s->pattern;
  tsi_index *const other[2] = {s->own->other, s->crossing->other};
  tsi_count *const source[2] = {s->own->source, s->crossing->source}, *next = s->crossing->ptr;
  for (tsi_index line = 0; line < pattern->n; line++) {
    const tsi_index j = s->line_at[line];
    tsi_count own = s->own->ptr[line];
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index minor = s->number[pattern->index[p]];
      const bool away = crosses(s, line, minor);
      const tsi_count q = away ? next[minor] : own;
      other[away][q] = away ? line : minor;
      source[away][q] = p;
      next[minor] += away;
      own += !away;
    }
  }
}

static void sum_up(tsi_assembly *list, tsi_index n) {
  for (tsi_index j = 0; j < n; j++) list->ptr[j + 1] += list->ptr[j];
}

/* Computes the places in fronts. at[i]: place of row i in the current front. */
static void place_entries(const tsi_symbolic *symbolic, tsi_assembly *list, tsi_index *at) {
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index first = symbolic->start[s], end = symbolic->start[s + 1];
    const tsi_index *rows = symbolic->rows + symbolic->row_ptr[s];
    for (tsi_index i = 0; i < symbolic->row_ptr[s + 1] - symbolic->row_ptr[s]; i++)
      at[rows[i]] = end - first + i;
    for (tsi_index j = first; j < end; j++) at[j] = j - first;
    for (tsi_count q = list->ptr[first]; q < list->ptr[end]; q++) list->place[q] = at[list->other[q]];
  }
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
  const walk w = {an->pattern,
                  an->pattern->by_rows ? an->in_row : an->out_row,
                  row_of,
                  col_of,
                  {&an->lower, lu ? &an->upper : NULL}};
  const bool splits = lu && an->pattern->symmetry == TRISTAR_GENERAL;
  const split halves = split_of(&w);
  if (splits)
    count_split(&halves);
  else
    walk_entries(&w, false);
  sum_up(&an->lower, n);
  TSI_TRY(TSI_ALLOC(env, an->lower.other, an->lower.ptr[n]));
  TSI_TRY(TSI_ALLOC(env, an->lower.place, an->lower.ptr[n]));
  TSI_TRY(TSI_ALLOC(env, an->lower.source, an->lower.ptr[n]));
  if (lu) {
    sum_up(&an->upper, n);
    TSI_TRY(TSI_ALLOC(env, an->upper.other, an->upper.ptr[n]));
    TSI_TRY(TSI_ALLOC(env, an->upper.place, an->upper.ptr[n]));
    TSI_TRY(TSI_ALLOC(env, an->upper.source, an->upper.ptr[n]));
  }
  if (splits)
    fill_split(&halves);
  else
    walk_entries(&w, true);
  if (!splits || halves.crossing == &an->lower) shift_back(&an->lower, n);
  place_entries(an->symbolic, &an->lower, row_of);
  if (!lu) return TRISTAR_OK;
  if (!splits || halves.crossing == &an->upper) shift_back(&an->upper, n);
  place_entries(an->symbolic, &an->upper, row_of);
  return TRISTAR_OK;
}

void tsi_assembly_finish(tsi_env *env, tristar_analysis_t *an) {
  TSI_FREE(env, an->lower.ptr);
  TSI_FREE(env, an->lower.other);
  TSI_FREE(env, an->lower.place);
  TSI_FREE(env, an->lower.source);
  TSI_FREE(env, an->upper.ptr);
  TSI_FREE(env, an->upper.other);
  TSI_FREE(env, an->upper.place);
  TSI_FREE(env, an->upper.source);
}

/* Counts how often the list has each stored entry, and checks that its line and other index are its row and
 * column. */
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

static tristar_status check_places(tsi_env *env, const tsi_symbolic *symbolic, const tsi_assembly *list) {
  for (tsi_index s = 0; s < symbolic->count; s++)
    for (tsi_count q = list->ptr[symbolic->start[s]]; q < list->ptr[symbolic->start[s + 1]]; q++)
      if (list->place[q] != tsi_front_row(symbolic, s, list->other[q]))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "entry of %d: %d is not its place in the front of supernode %d",
                 list->other[q], list->place[q], s);
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
  TSI_TRY(check_places(env, an->symbolic, &an->lower));
  if (lu) TSI_TRY(check_places(env, an->symbolic, &an->upper));
  for (tsi_index j = 0; j < pattern->n; j++)
    for (tsi_count p = pattern->ptr[j]; p < pattern->ptr[j + 1]; p++) {
      const tsi_index requested = lu && mirror && pattern->index[p] != j ? 2 : 1;
      const bool dropped = !lu && !mirror; /* LLT of a general view uses one of each symmetric pair */
      if (uses[p] != requested && !(dropped && uses[p] == 0))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "entry %lld is assembled %d times", (long long)p, uses[p]);
    }
  return TRISTAR_OK;
}
