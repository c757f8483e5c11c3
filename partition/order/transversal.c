/* Maximum transversal: see transversal.h.
 *
 * Each phase labels the columns by their distance from the unmatched ones, along alternating paths (breadth
 * first), and then augments along disjoint shortest paths (depth first, each entry looked at once). */
#include "partition/order/transversal.h"

#include "partition/order/matching.h"

typedef struct search {
  tsi_index n;
  const tsi_count *ptr;
  const tsi_index *index;
  tsi_index *row_of, *column_of;
  tsi_index *level; /* of a column, TSI_NONE: not reached, or a dead end */
  tsi_count *next;  /* the entry of a column to be looked at next */
  tsi_index *queue; /* columns; then the path of the depth-first search */
} search;

/* Each unmatched column takes its first free row; returns how many columns are matched then. */
static tsi_index match_greedily(search *s) {
  tsi_index matched = 0;
  for (tsi_index j = 0; j < s->n; j++) {
    for (tsi_count p = s->ptr[j]; p < s->ptr[j + 1] && s->row_of[j] == TSI_NONE; p++) {
      tsi_index i = s->index[p];
      if (s->column_of[i] != TSI_NONE) continue;
      s->column_of[i] = j;
      s->row_of[j] = i;
    }
    matched += s->row_of[j] != TSI_NONE;
  }
  return matched;
}

/* Labels the columns, up to the distance of the nearest free row; false: no free row can be reached. */
static bool label_columns(search *s) {
  tsi_index head = 0, tail = 0, last = s->n;
  bool found = false;
  for (tsi_index j = 0; j < s->n; j++) {
    s->level[j] = s->row_of[j] == TSI_NONE ? 0 : TSI_NONE;
    s->next[j] = s->ptr[j];
    if (s->level[j] == 0) s->queue[tail++] = j;
  }
  while (head < tail) {
    tsi_index j = s->queue[head++];
    if (s->level[j] >= last) break;
    for (tsi_count p = s->ptr[j]; p < s->ptr[j + 1]; p++) {
      tsi_index up = s->column_of[s->index[p]];
      if (up == TSI_NONE) {
        found = true;
        last = s->level[j];
      } else if (s->level[up] == TSI_NONE) {
        s->level[up] = s->level[j] + 1;
        s->queue[tail++] = up;
      }
    }
  }
  return found;
}

/* Matches the columns of the path in queue[0 .. length-1], each with the row it has just looked at. */
static void augment(search *s, tsi_index length) {
  for (tsi_index k = 0; k < length; k++) {
    tsi_index j = s->queue[k], i = s->index[s->next[j] - 1];
    s->row_of[j] = i;
    s->column_of[i] = j;
  }
}

/* Looks for a path from the free column j, one level at a step. */
static bool augment_from(search *s, tsi_index j) {
  tsi_index length = 1;
  s->queue[0] = j;
  while (length > 0) {
    j = s->queue[length - 1];
    if (s->next[j] == s->ptr[j + 1]) {
      s->level[j] = TSI_NONE;
      length--;
      continue;
    }
    tsi_index up = s->column_of[s->index[s->next[j]++]];
    if (up == TSI_NONE) {
      augment(s, length);
      return true;
    }
    if (s->level[up] == s->level[j] + 1) s->queue[length++] = up;
  }
  return false;
}

tristar_status tsi_transversal(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                               tsi_index *row_of, tsi_index *column_of, tsi_index *rank) {
  *rank = 0;
  TSI_SCRATCH(env, search, s, 1);
  *s = (search){.n = n, .ptr = ptr, .index = index, .row_of = row_of, .column_of = column_of};
  TSI_TRY(TSI_ALLOC_IN(s, s->level, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->next, n));
  TSI_TRY(TSI_ALLOC_IN(s, s->queue, n));
  *rank = match_greedily(s);
  while (*rank < n && label_columns(s))
    for (tsi_index j = 0; j < n; j++)
      if (row_of[j] == TSI_NONE && s->level[j] == 0) *rank += augment_from(s, j);
  return TRISTAR_OK;
}

tristar_status tsi_structural_rank(tsi_env *env, tsi_index n, const tsi_count *ptr, const tsi_index *index,
                                   tsi_index *rank) {
  *rank = 0;
  TSI_SCRATCH(env, tsi_index, row_of, n);
  TSI_SCRATCH(env, tsi_index, column_of, n);
  for (tsi_index i = 0; i < n; i++) row_of[i] = column_of[i] = TSI_NONE;
  return tsi_transversal(env, n, ptr, index, row_of, column_of, rank);
}
