/* Sparse right-hand sides and chosen rows: see reach.h. */
#include "runtime/solve/reach.h"

#include <inttypes.h>

#include "runtime/base/sort.h"

static tristar_status check_rows(tsi_env *env, const tsi_row_list *list, tsi_index n) {
  if (list->count < 0 || list->count > n)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s has %" PRId64 " rows, the matrix %d", list->name, list->count, n);
  for (int64_t i = 0; i < list->count; i++)
    if (list->row[i] < 0 || list->row[i] >= n)
      TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "%s[%" PRId64 "] = %" PRId64 " is outside 0 .. %d", list->name, i,
               list->row[i], n - 1);
  return TRISTAR_OK;
}

/* Returns the final row of entry i. */
static tsi_index final_row(const tsi_row_list *list, int64_t i) {
  if (list->final) return list->final[i];
  return list->place ? list->place[list->row[i]] : (tsi_index)list->row[i];
}

/* Sorts a list by chunk: arrays ptr (chunks + 1), local row, row of the user's compact array. */
static tristar_status sort_rows(tsi_env *env, const tsi_chunks *chunks, const tsi_row_list *list, tsi_index n,
                                tsi_index **ptr, tsi_index **local, tsi_index **compact) {
  tristar_status status = TRISTAR_OK;
  unsigned char *seen = NULL;
  tsi_index *chunk = NULL;
  if (list->row == NULL) return TRISTAR_OK;
  TSI_TRY_OUT(check_rows(env, list, n));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, *ptr, (tsi_count)chunks->count + 2));
  TSI_TRY_OUT(TSI_ALLOC(env, *local, list->count));
  TSI_TRY_OUT(TSI_ALLOC(env, *compact, list->count));
  TSI_TRY_OUT(TSI_ALLOC(env, chunk, list->count));
  for (int64_t i = 0; i < list->count; i++) {
    chunk[i] = tsi_find_range(chunks->column, chunks->count, final_row(list, i));
    (*ptr)[chunk[i] + 2]++;
  }
  for (tsi_index c = 0; c < chunks->count; c++) (*ptr)[c + 2] += (*ptr)[c + 1];
  for (int64_t i = 0; i < list->count; i++) { /* ptr[c + 1] moves from the start of c's rows to their end */
    const tsi_index at = (*ptr)[chunk[i] + 1]++;
    (*local)[at] = final_row(list, i) - chunks->column[chunk[i]];
    (*compact)[at] = (tsi_index)i;
  }
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, seen, n));
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index e = (*ptr)[c]; e < (*ptr)[c + 1]; e++) {
      const tsi_index j = chunks->column[c] + (*local)[e];
      if (seen[j])
        TSI_FAIL_OUT(env, TRISTAR_ERR_ARGUMENT, "%s lists row %" PRId64 " twice", list->name,
                     list->row[(*compact)[e]]);
      seen[j] = 1;
    }
out:
  TSI_FREE(env, seen);
  TSI_FREE(env, chunk);
  return status;
}

static bool listed(const tsi_index *ptr, tsi_index c) {
  return ptr == NULL || ptr[c + 1] > ptr[c];
}

/* Sets part[c] for chunks with listed rows, and for all chunks that their off-rows lead to. */
static void spread(const tsi_sweep *sweep, const tsi_index *ptr, unsigned char *part) {
  for (tsi_index c = 0; c < sweep->chunks; c++) part[c] = listed(ptr, c);
  for (tsi_index c = 0; c < sweep->chunks; c++)
    for (tsi_count q = sweep->source_ptr[c]; part[c] && q < sweep->source_ptr[c + 1]; q++)
      part[sweep->pair[q].target] = 1;
}

/* Drops chunks whose updates reach no requested chunk. */
static void drop_useless(const tsi_sweep *sweep, const unsigned char *requested, unsigned char *part,
                         unsigned char *useful) {
  for (tsi_index c = sweep->chunks; c-- > 0;) {
    useful[c] = requested[c];
    for (tsi_count q = sweep->source_ptr[c]; !useful[c] && q < sweep->source_ptr[c + 1]; q++)
      useful[c] = useful[sweep->pair[q].target];
    part[c] = part[c] && useful[c];
  }
}

static void count_bytes(const tsi_sweep *sweep, const unsigned char *part, tsi_reach *reach) {
  for (tsi_index v = 0; v < sweep->nodes; v++) {
    reach->all_bytes += sweep->bytes[v];
    if (part[v < sweep->chunks ? v : sweep->slice_chunk[v - sweep->chunks]]) reach->bytes += sweep->bytes[v];
  }
}

tristar_status tsi_reach_create(tsi_env *env, const tsi_reach_source *source, tsi_reach *reach) {
  tristar_status status = TRISTAR_OK;
  const tsi_chunks *chunks = source->chunks;
  const tsi_index count = chunks->count, n = chunks->column[count];
  unsigned char *useful = NULL;
  memset(reach, 0, sizeof *reach);
  TSI_TRY_OUT(
      sort_rows(env, chunks, &source->given, n, &reach->lists[0], &reach->lists[1], &reach->lists[2]));
  TSI_TRY_OUT(
      sort_rows(env, chunks, &source->requested, n, &reach->lists[3], &reach->lists[4], &reach->lists[5]));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, reach->forward, count));
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, reach->backward, count));
  TSI_TRY_OUT(TSI_ALLOC(env, useful, count));
  if (source->backward)
    spread(source->backward, reach->lists[3], reach->backward);
  else /* the forward sweep itself writes x */
    for (tsi_index c = 0; c < count; c++) reach->backward[c] = listed(reach->lists[3], c);
  if (source->forward) {
    spread(source->forward, reach->lists[0], reach->forward);
    drop_useless(source->forward, reach->backward, reach->forward, useful);
    if (!source->backward) /* the forward sweep must also write the zeros in requested rows */
      for (tsi_index c = 0; c < count; c++) reach->forward[c] |= reach->backward[c];
    count_bytes(source->forward, reach->forward, reach);
  }
  if (source->backward) count_bytes(source->backward, reach->backward, reach);
  reach->sparse = (tsi_solve_sparse){reach->forward,  reach->backward, reach->lists[0], reach->lists[1],
                                     reach->lists[2], reach->lists[3], reach->lists[4], reach->lists[5]};
out:
  TSI_FREE(env, useful);
  if (status != TRISTAR_OK) tsi_reach_finish(reach);
  return status;
}

void tsi_reach_finish(tsi_reach *reach) {
  tsi_release(tsi_take(&reach->forward));
  tsi_release(tsi_take(&reach->backward));
  for (int i = 0; i < 6; i++) tsi_release(tsi_take(&reach->lists[i]));
}
