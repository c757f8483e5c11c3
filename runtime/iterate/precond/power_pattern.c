/* Lower triangles of powers of a pattern: see power_pattern.h. */
#include "runtime/iterate/precond/power_pattern.h"

#include <math.h>

#include "runtime/base/grow.h"
#include "runtime/base/sort.h"

/* The off-diagonal entries that count. */
static tristar_status filter(tsi_env *env, const tsi_factor_rows *a, const double *magnitude, double least,
                             tsi_entries *kept) {
  TSI_TRY(tsi_entries_begin(env, a->n, 0, kept));
  TSI_TRY(TSI_ALLOC(env, kept->index, a->ptr[a->n]));
  for (tsi_index i = 0; i < a->n; i++) {
    tsi_count at = kept->ptr[i];
    for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
      const tsi_index j = a->index[e];
      const double own = sqrt(magnitude[a->diagonal[i]]), other = sqrt(magnitude[a->diagonal[j]]);
      if (j != i && magnitude[e] > least * own * other) kept->index[at++] = j;
    }
    kept->ptr[i + 1] = at;
  }
  return TRISTAR_OK;
}

/* Replaces rows by nodes, in place. Node k gets the nodes of the columns of its rows, each once. */
static tristar_status join_rows(tsi_env *env, const tsi_fsai_nodes *nodes, tsi_entries *kept) {
  tsi_count at = 0;
  TSI_SCRATCH(env, tsi_index, seen, nodes->count);
  for (tsi_index k = 0; k < nodes->count; k++) seen[k] = TSI_NONE;
  for (tsi_index k = 0; k < nodes->count; k++) {
    const tsi_count begin = kept->ptr[nodes->start[k]], end = kept->ptr[nodes->start[k + 1]];
    kept->ptr[k] = at;
    for (tsi_count e = begin; e < end; e++) {
      const tsi_index other = nodes->of[kept->index[e]];
      if (other == k || seen[other] == k) continue;
      seen[other] = k;
      kept->index[at++] = other;
    }
  }
  kept->n = nodes->count;
  kept->ptr[kept->n] = at;
  return TRISTAR_OK;
}

/* Rows that were reached, level by level. seen: n, the latest row from which a row was reached. */
typedef struct search {
  tsi_index *list, *seen;
} search;

/* Lists the rows within `power` entries of row i, itself first; returns their number. */
static tsi_index reach(const tsi_entries *kept, tsi_index i, tsi_index power, const search *s) {
  tsi_index begin = 0, count = 0;
  s->list[count++] = i;
  s->seen[i] = i;
  for (tsi_index level = 0; level < power && begin < count; level++)
    for (const tsi_index end = count; begin < end; begin++)
      for (tsi_count e = kept->ptr[s->list[begin]]; e < kept->ptr[s->list[begin] + 1]; e++) {
        const tsi_index j = kept->index[e];
        if (s->seen[j] == i) continue;
        s->seen[j] = i;
        s->list[count++] = j;
      }
  return count;
}

static tristar_status fill(tsi_env *env, const tsi_entries *kept, tsi_index power, const search *s,
                           tsi_entries *out) {
  tsi_count capacity = 0;
  TSI_TRY(tsi_reserve(env, (void **)&out->index, sizeof *out->index, 0, &capacity));
  for (tsi_index i = 0; i < kept->n; i++) {
    const tsi_index count = reach(kept, i, power, s);
    tsi_count at = out->ptr[i];
    for (tsi_index k = 0; k < count; k++) {
      if (s->list[k] >= i) continue;
      TSI_TRY(tsi_reserve(env, (void **)&out->index, sizeof *out->index, at, &capacity));
      out->index[at++] = s->list[k];
    }
    out->ptr[i + 1] = at;
    tsi_sort_indices(out->index + out->ptr[i], at - out->ptr[i]);
  }
  return TRISTAR_OK;
}

tristar_status tsi_power_pattern(tsi_env *env, const tsi_factor_rows *a, const double *magnitude,
                                 double least, tsi_index power, const tsi_fsai_nodes *nodes,
                                 tsi_entries *out) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries kept = {.ptr = NULL};
  TSI_TRY(filter(env, a, magnitude, least, &kept));
  if (nodes->count > 0) TSI_TRY(join_rows(env, nodes, &kept));
  TSI_TRY(tsi_entries_begin(env, kept.n, 0, out));
  TSI_SCRATCH(env, tsi_index, list, a->n);
  TSI_SCRATCH(env, tsi_index, seen, a->n);
  for (tsi_index i = 0; i < a->n; i++) seen[i] = TSI_NONE;
  return fill(env, &kept, power, &(search){list, seen}, out);
}
