/* Symmetric patterns: see hermitian_part.h. */
#include "runtime/iterate/precond/hermitian_part.h"

#include "codelets/cpu/fsai/fsai_pair.h"
#include "codelets/cpu/rows/sparse.h"
#include "runtime/matrix/entries.h"
#include "runtime/iterate/precond/factor_rows.h"

/* ---- Mirror images ------------------------------------------------------------------------------------- */

/* In the order of rows, the entries of each column must appear in the order of that column's row. next: n,
 * scratch. */
static bool is_symmetric(const tsi_factor_rows *a, tsi_count *next) {
  for (tsi_index i = 0; i < a->n; i++) next[i] = a->ptr[i];
  for (tsi_index i = 0; i < a->n; i++)
    for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
      tsi_count *image = &next[a->index[e]];
      if (*image == a->ptr[a->index[e] + 1] || a->index[*image] != i) return false;
      (*image)++;
    }
  return true;
}

tristar_status tsi_symmetrize_magnitudes(tsi_env *env, const tsi_factor_rows *a, double *magnitude) {
  TSI_SCRATCH(env, tsi_count, next, a->n);
  for (tsi_index i = 0; i < a->n; i++) next[i] = a->ptr[i];
  for (tsi_index i = 0; i < a->n; i++)
    for (tsi_count e = a->ptr[i]; e < a->ptr[i + 1]; e++) {
      double *image = &magnitude[next[a->index[e]]++];
      if (*image < magnitude[e]) *image = magnitude[e];
      magnitude[e] = *image;
    }
  return TRISTAR_OK;
}

/* ---- Both triangles ------------------------------------------------------------------------------------ */

/* Row i of the union of two patterns. to NULL: only counts it. Otherwise from[k] is the index in `a` of entry
 * k, or TSI_NONE. Returns the number of entries. */
static tsi_count merge_row(const tsi_factor_rows *a, const tsi_entries *b, tsi_index i, tsi_index *to,
                           tsi_count *from) {
  tsi_count x = a->ptr[i], y = b->ptr[i], count = 0;
  while (x < a->ptr[i + 1] || y < b->ptr[i + 1]) {
    const tsi_index left = x < a->ptr[i + 1] ? a->index[x] : TSI_INDEX_MAX;
    const tsi_index right = y < b->ptr[i + 1] ? b->index[y] : TSI_INDEX_MAX;
    if (to != NULL) {
      to[count] = tsi_index_min(left, right);
      from[count] = left <= right ? x : TSI_NONE;
    }
    x += left <= right;
    y += right <= left;
    count++;
  }
  return count;
}

/* Makes the rows on the union of both patterns. */
static tristar_status unite(tsi_env *env, size_t bytes, const tsi_factor_rows *a, const tsi_entries *other,
                            tsi_factor_rows *out) {
  tsi_count longest = 0;
  out->n = a->n;
  TSI_TRY(TSI_ALLOC(env, out->ptr, (tsi_count)a->n + 1));
  out->ptr[0] = 0;
  for (tsi_index i = 0; i < a->n; i++) {
    const tsi_count count = merge_row(a, other, i, NULL, NULL);
    out->ptr[i + 1] = out->ptr[i] + count;
    longest = tsi_count_max(longest, count);
  }
  TSI_TRY(TSI_ALLOC(env, out->index, out->ptr[a->n]));
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, out->values, out->ptr[a->n], bytes));
  TSI_SCRATCH(env, tsi_count, from, longest);
  for (tsi_index i = 0; i < a->n; i++) {
    const tsi_count count = merge_row(a, other, i, out->index + out->ptr[i], from);
    for (tsi_count k = 0; k < count; k++)
      if (from[k] >= 0)
        memcpy((char *)out->values + (size_t)(out->ptr[i] + k) * bytes,
               (const char *)a->values + (size_t)from[k] * bytes, bytes);
  }
  return tsi_find_diagonal(env, out);
}

static tristar_status add_images(tsi_env *env, size_t bytes, const tsi_factor_rows *a, tsi_factor_rows *out) {
  const tsi_entries rows = {.n = a->n, .ptr = a->ptr, .index = a->index};
  TSI_CLEANUP(tsi_entries_finish) tsi_entries other = {.ptr = NULL};
  TSI_TRY(tsi_entries_begin(env, a->n, 0, &other));
  other.ptr[a->n] = a->ptr[a->n];
  TSI_TRY(tsi_entries_allocate(env, &other));
  tsi_entries_transpose(&rows, &other);
  return unite(env, bytes, a, &other, out);
}

/* ---- The whole ----------------------------------------------------------------------------------------- */

static tristar_status make_part(tristar_t *ts, char scalar, size_t bytes, tsi_count *next,
                                tsi_symmetrized *s) {
  tsi_env *env = &ts->env;
  const tsi_fsai_pair_kernels *kernels = tsi_fsai_pair_kernels_select(scalar, ts->isa);
  TSI_OWNED void *phase = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, phase, s->rows.n, bytes));
  TSI_TRY(TSI_ALLOC_SIZED(env, s->part, s->rows.ptr[s->rows.n], bytes));
  kernels->find_phases(&s->rows, phase);
  kernels->take_part(&s->rows, phase, next, s->part);
  return TRISTAR_OK;
}

tristar_status tsi_symmetrize(tristar_t *ts, char scalar, const tsi_factor_rows *a, bool part,
                              tsi_symmetrized *out) {
  tsi_env *env = &ts->env;
  const size_t bytes = tsi_sparse_kernels_select(scalar)->scalar_bytes;
  *out = (tsi_symmetrized){.rows = *a};
  TSI_SCRATCH(env, tsi_count, next, a->n);
  if (!is_symmetric(a, next)) {
    out->own = true;
    out->rows = (tsi_factor_rows){.values = NULL};
    TSI_TRY(add_images(env, bytes, a, &out->rows));
  }
  if (env->check) {
    TSI_TRY(tsi_factor_rows_check(env, &out->rows));
    if (!is_symmetric(&out->rows, next))
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "an entry of a symmetric pattern has no mirror image");
  }
  if (part) TSI_TRY(make_part(ts, scalar, bytes, next, out));
  return TRISTAR_OK;
}

void tsi_symmetrized_finish(tsi_symmetrized *s) {
  if (s->own) tsi_factor_rows_finish(&s->rows);
  tsi_release(tsi_take(&s->part));
  *s = (tsi_symmetrized){.part = NULL};
}
