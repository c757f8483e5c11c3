/* Nodes of rows: see fsai_nodes.h. */
#include "runtime/iterate/precond/fsai_nodes.h"

static bool have_same_columns(const tsi_factor_rows *a, tsi_index i, tsi_index j) {
  const tsi_count count = a->ptr[i + 1] - a->ptr[i];
  return count == a->ptr[j + 1] - a->ptr[j] &&
         memcmp(a->index + a->ptr[i], a->index + a->ptr[j], (size_t)count * sizeof *a->index) == 0;
}

/* Does node `count` begin at row i? */
static bool begins(int block, const tsi_factor_rows *a, const tsi_index *number, const uint8_t *link,
                   tsi_index i, tsi_index previous) {
  if (i == 0 || (link != NULL && link[i] == TSI_ROW_APART)) return true;
  if (block > 0) return (number != NULL ? number[i] : i) % block == 0;
  if (i - previous == TSI_FSAI_NODE_MOST) return true;
  return link != NULL ? link[i] != TSI_ROW_ALIKE : !have_same_columns(a, i - 1, i);
}

tristar_status tsi_fsai_nodes_make(tsi_env *env, int block, const tsi_factor_rows *a, const tsi_index *number,
                                   const uint8_t *link, tsi_fsai_nodes *out) {
  *out = (tsi_fsai_nodes){.count = 0};
  if (block == 0 || block == 1) return TRISTAR_OK;
  TSI_TRY(TSI_ALLOC(env, out->start, (tsi_count)a->n + 1));
  TSI_TRY(TSI_ALLOC(env, out->of, a->n));
  TSI_TRY(TSI_ALLOC(env, out->alike, a->n));
  for (tsi_index i = 0; i < a->n; i++) {
    if (begins(block, a, number, link, i, i > 0 ? out->start[out->count - 1] : 0)) {
      out->alike[out->count] = true;
      out->start[out->count++] = i;
    } else
      out->alike[out->count - 1] = out->alike[out->count - 1] && have_same_columns(a, i - 1, i);
    out->of[i] = out->count - 1;
    out->most = tsi_index_max(out->most, i + 1 - out->start[out->count - 1]);
  }
  out->start[out->count] = a->n;
  if (env->check) TSI_TRY(tsi_fsai_nodes_check(env, out, a));
  return TRISTAR_OK;
}

void tsi_fsai_nodes_finish(tsi_fsai_nodes *nodes) {
  tsi_release(tsi_take(&nodes->start));
  tsi_release(tsi_take(&nodes->of));
  tsi_release(tsi_take(&nodes->alike));
  nodes->count = 0;
}

tristar_status tsi_fsai_nodes_check(tsi_env *env, const tsi_fsai_nodes *nodes, const tsi_factor_rows *a) {
  for (tsi_index k = 0; k < nodes->count; k++) {
    const tsi_index first = nodes->start[k], size = nodes->start[k + 1] - first;
    if (size < 1 || size > nodes->most || size > TSI_FSAI_NODE_MOST)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "node %d has %d rows", k, size);
    for (tsi_index r = 0; r < size; r++) {
      if (nodes->of[first + r] != k)
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "row %d is said to be in node %d, not %d", first + r,
                 nodes->of[first + r], k);
      if (nodes->alike[k] && !have_same_columns(a, first, first + r))
        TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "rows %d and %d have not the same columns", first, first + r);
    }
  }
  if (nodes->count > 0 && (nodes->start[0] != 0 || nodes->start[nodes->count] != a->n))
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "nodes have rows %d to %d of %d", nodes->start[0],
             nodes->start[nodes->count], a->n);
  return TRISTAR_OK;
}

tristar_status tsi_fsai_nodes_spread(tsi_env *env, const tsi_fsai_nodes *nodes, tsi_entries *lines) {
  const tsi_index n = nodes->start[nodes->count];
  tsi_count *ptr;
  TSI_TRY(TSI_ALLOC(env, ptr, (tsi_count)n + 1));
  for (tsi_index i = 0; i < n; i++) {
    const tsi_index k = nodes->of[i];
    ptr[i] = lines->ptr[i == nodes->start[k] ? k : k + 1];
  }
  ptr[n] = lines->ptr[nodes->count];
  for (tsi_count e = 0; e < ptr[n]; e++) lines->index[e] = nodes->start[lines->index[e]];
  TSI_FREE(env, lines->ptr);
  lines->ptr = ptr;
  lines->n = n;
  return TRISTAR_OK;
}
