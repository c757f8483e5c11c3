/* Gathers the pattern of a distributed matrix on rank 0: see dmatrix.h.
 *
 * Each rank sends the lengths of its rows and their columns, and values if requested. Once all ranks have
 * agreed on the sizes, rank 0 receives them directly in the final arrays, one rank after the other. */
#include <inttypes.h>

#include "runtime/base/fingerprint.h"
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/comm/mailbox.h"
#include "runtime/mpi/matrix/dmatrix.h"

/* Data that this rank sends. */
typedef struct rows {
  tsi_index *length; /* d->n */
  tsi_index *column;
  char *value; /* NULL: no values */
  int64_t entries;
} rows;

typedef struct choice {
  bool triangle, zeros, values;
} choice;

/* End of the entries of row i that may be sent; columns ascend. */
static tsi_count end_of(const tristar_dmatrix_t *d, choice which, tsi_index i) {
  tsi_count end = d->whole->ptr[i + 1];
  while (which.triangle && end > d->whole->ptr[i] && d->column[end - 1] > tsi_dmatrix_first(d) + i) end--;
  return end;
}

static bool is_zero(const tristar_dmatrix_t *d, tsi_count e) {
  double size;
  d->sparse->part(1, (const char *)d->whole->values + (size_t)e * d->bytes, TSI_PART_MAGNITUDE, &size);
  return size == 0;
}

/* Local. */
static tristar_status list_rows(const tristar_dmatrix_t *d, choice which, rows *own) {
  tsi_env *env = &d->ts->env;
  const tsi_count *ptr = d->whole->ptr;
  tsi_count most = 0;
  for (tsi_index i = 0; i < d->n; i++) most += end_of(d, which, i) - ptr[i];
  TSI_TRY(TSI_ALLOC(env, own->length, d->n));
  TSI_TRY(TSI_ALLOC(env, own->column, most));
  if (which.values) TSI_TRY(TSI_ALLOC_SIZED(env, own->value, most, d->bytes));
  for (tsi_index i = 0; i < d->n; i++) {
    const int64_t before = own->entries;
    const tsi_count end = end_of(d, which, i);
    for (tsi_count e = ptr[i]; e < end; e++) {
      if (!which.zeros && is_zero(d, e)) continue;
      if (which.values)
        memcpy(own->value + (size_t)own->entries * d->bytes,
               (const char *)d->whole->values + (size_t)e * d->bytes, d->bytes);
      own->column[own->entries++] = d->column[e];
    }
    own->length[i] = (tsi_index)(own->entries - before);
  }
  return TRISTAR_OK;
}

/* Rank 0. begin: ranks + 1, the first entry of each rank. */
static tristar_status allocate(const tristar_dmatrix_t *d, choice which, int64_t *begin, tsi_index **length,
                               tsi_pattern **out, void **values) {
  tsi_env *env = &d->ts->env;
  const int ranks = tsi_transport_size(d->transport);
  tsi_pattern *pattern;
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, 1));
  pattern = *out;
  *pattern = (tsi_pattern){
      .n = (tsi_index)d->stats.n, .by_rows = true, .scalar = (char)d->scalar, .given = begin[ranks]};
  if (which.triangle) pattern->symmetry = d->stats.symmetry;
  if (pattern->symmetry == TRISTAR_HERMITIAN && !d->sparse->is_complex) pattern->symmetry = TRISTAR_SYMMETRIC;
  TSI_TRY(TSI_ALLOC_IN(pattern, pattern->ptr, (tsi_count)pattern->n + 1));
  TSI_TRY(TSI_ALLOC_IN(pattern, pattern->index, begin[ranks]));
  if (which.values) TSI_TRY(TSI_ALLOC_SIZED(env, *values, (size_t)begin[ranks], d->bytes));
  return TSI_ALLOC(env, *length, pattern->n);
}

tristar_status tsi_dmatrix_gather_pattern(const tristar_dmatrix_t *d, bool triangle, bool zeros,
                                          tsi_pattern **out, void **values) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  MPI_Comm comm = tsi_transport_comm(d->transport);
  const choice which = {triangle && d->stats.symmetry != TRISTAR_GENERAL, zeros, values != NULL};
  const bool root = tsi_transport_rank(d->transport) == 0;
  rows own = {.entries = 0};
  int64_t *begin = NULL;
  tsi_index *length = NULL;
  *out = NULL;
  if (which.values) *values = NULL;
  status = list_rows(d, which, &own);
  if (status == TRISTAR_OK && root) status = TSI_ALLOC_ZERO(env, begin, tsi_transport_size(d->transport) + 1);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  TSI_TRY_OUT(tsi_gather_first(env, comm, own.entries, begin));
  TSI_TRY_OUT(
      tsi_transport_agree(d->transport, root ? allocate(d, which, begin, &length, out, values) : TRISTAR_OK));
  tsi_pattern *pattern = *out;
  status = tsi_move_blocks(env, comm, d->start, sizeof *length, true, length, d->n, own.length);
  if (status == TRISTAR_OK)
    status = tsi_move_blocks(env, comm, begin, sizeof *own.column, true, root ? pattern->index : NULL,
                             own.entries, own.column);
  if (status == TRISTAR_OK && which.values)
    status = tsi_move_blocks(env, comm, begin, d->bytes, true, *values, own.entries, own.value);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  if (root) pattern->ptr[0] = 0;
  for (tsi_index i = 0; root && i < pattern->n; i++) pattern->ptr[i + 1] = pattern->ptr[i] + length[i];
out:
  TSI_FREE(env, own.length);
  TSI_FREE(env, own.column);
  TSI_FREE(env, own.value);
  TSI_FREE(env, begin);
  TSI_FREE(env, length);
  if (status != TRISTAR_OK) TSI_FREE(env, *out);
  if (status != TRISTAR_OK && which.values) TSI_FREE(env, *values);
  return status;
}

/* A sum over the entries, independent of their order and ranks. */
tristar_status tsi_dmatrix_fingerprint(const tristar_dmatrix_t *d, uint64_t *out) {
  const uint64_t first = (uint64_t)tsi_dmatrix_first(d);
  uint64_t sum = 0;
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = d->whole->ptr[i]; e < d->whole->ptr[i + 1]; e++)
      sum += tsi_fingerprint_word(0, (first + (uint64_t)i) << 32 | (uint64_t)d->column[e]);
  TSI_TRY(tsi_transport_unite(d->transport, &sum, 1, MPI_UINT64_T, MPI_SUM));
  *out = tsi_fingerprint_word(sum, (uint64_t)d->stats.n);
  return TRISTAR_OK;
}
