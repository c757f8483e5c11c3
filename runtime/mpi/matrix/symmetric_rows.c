/* Compares mirror images, and sends them to the owners of their rows: see symmetric_rows.h. */
#include "runtime/mpi/matrix/symmetric_rows.h"

#include <inttypes.h>

#include "runtime/mpi/comm/mailbox.h"

/* ---- Mirror images ------------------------------------------------------------------------------------- */

/* Local. Finds the first entry, and its row, that is no mirror image of its counterpart, if both are in near.
 * If there is none, *entry is the number of entries. */
static tristar_status find_unlike(const tristar_dmatrix_t *d, const tsi_near_rows *near, tsi_index *row,
                                  tsi_count *entry) {
  tsi_env *env = &d->ts->env;
  const tsi_sparse a = {near->a.n, true, TRISTAR_GENERAL, near->a.ptr, near->a.index, near->a.values};
  bool rounded = false;
  *row = 0;
  TSI_SCRATCH(env, tsi_count, next, a.n);
  *entry = d->sparse->first_unlike(&a, true, TSI_SAME, next, &rounded);
  while (*entry < a.ptr[a.n] && a.ptr[*row + 1] <= *entry) (*row)++;
  return TRISTAR_OK;
}

/* Local. */
static tristar_status report_unlike(const tristar_dmatrix_t *d, const tsi_near_rows *near, tsi_index i,
                                    tsi_count e) {
  char text[TSI_UNLIKE_TEXT];
  if (e < near->a.ptr[near->a.n])
    TSI_FAIL(
        &d->ts->env, TRISTAR_ERR_ARGUMENT,
        "a sparse approximate inverse is that of a symmetric (complex: Hermitian) matrix, but %s; a pair "
        "of factors (option pair) takes such a matrix",
        tsi_unlike_text(&(tsi_unlike){.row = near->number[i], .column = near->number[near->a.index[e]]},
                        false, text));
  return TRISTAR_OK;
}

/* All entries that couple ranks and whose images are near have been compared. If each coupling has an image,
 * as many couplings lead to smaller ranks as to larger ranks. */
tristar_status tsi_compare_images(const tristar_dmatrix_t *d, const tsi_near_rows *near, tristar_pair *pair) {
  tsi_env *env = &d->ts->env;
  const int rank = tsi_transport_rank(d->transport);
  tsi_index row;
  tsi_count entry = 0;
  int64_t sums[2] = {0, 0}; /* ranks with unlike entries; surplus of couplings to smaller ranks */
  TSI_TRY(tsi_transport_agree(d->transport, find_unlike(d, near, &row, &entry)));
  if (*pair == TRISTAR_PAIR_NEVER)
    TSI_TRY(tsi_transport_agree(d->transport, report_unlike(d, near, row, entry)));
  sums[0] = entry < near->a.ptr[near->a.n];
  for (int o = 0; o < d->owners; o++) {
    const tsi_entries *block = &d->form[TSI_DPLAIN].block[o];
    sums[1] += d->owner[o].rank < rank ? block->ptr[block->n] : -block->ptr[block->n];
  }
  TSI_TRY(tsi_transport_unite(d->transport, sums, 2, MPI_INT64_T, MPI_SUM));
  if (*pair == TRISTAR_PAIR_AUTO)
    *pair = sums[0] != 0 || sums[1] != 0 ? TRISTAR_PAIR_ALWAYS : TRISTAR_PAIR_NEVER;
  else if (sums[1] != 0)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT,
             "a sparse approximate inverse is that of a symmetric (complex: Hermitian) matrix, but of the "
             "entries that couple ranks %" PRId64 " have no mirror image",
             sums[1] < 0 ? -sums[1] : sums[1]);
  return TRISTAR_OK;
}

/* ---- A symmetric pattern ------------------------------------------------------------------------------- */

/* If another rank owns the image's row, the image is always sent: its owner may or may not have it. */
static bool sends_image(const tristar_dmatrix_t *d, tsi_index row, tsi_index column) {
  return !tsi_dmatrix_has_row(d, column) || tsi_dmatrix_find(d, column, row) < 0;
}

/* Local. Lists all entries, and images with the value zero. */
static tristar_status list_entries(const tristar_dmatrix_t *d, const tristar_dmatrix_t *out,
                                   tsi_dlist *list) {
  const tsi_count *ptr = d->whole->ptr;
  const tsi_index first = (tsi_index)tsi_dmatrix_first(d);
  tsi_count at = ptr[d->n];
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = ptr[i]; e < ptr[i + 1]; e++) at += sends_image(d, first + i, d->column[e]);
  TSI_TRY(tsi_dlist_make(out, at, list));
  at = ptr[d->n];
  if (at > 0) memcpy(list->value, d->whole->values, (size_t)at * d->bytes);
  if (list->count > at) memset(list->value + (size_t)at * d->bytes, 0, (size_t)(list->count - at) * d->bytes);
  for (tsi_index i = 0; i < d->n; i++)
    for (tsi_count e = ptr[i]; e < ptr[i + 1]; e++) {
      list->place[e] = (tsi_dplace){first + i, d->column[e]};
      if (sends_image(d, first + i, d->column[e])) list->place[at++] = (tsi_dplace){d->column[e], first + i};
    }
  return TRISTAR_OK;
}

/* Collective. */
static tristar_status fill(const tristar_dmatrix_t *d, tristar_dmatrix_t *out) {
  const tristar_dmatrix_options options = {.engine = TRISTAR_ENGINE_SERIAL};
  const size_t ranks = (size_t)tsi_transport_size(d->transport);
  TSI_CLEANUP(tsi_dlist_release) tsi_dlist list = {.count = 0};
  memcpy(out->start, d->start, (ranks + 1) * sizeof *out->start);
  tristar_status status = tsi_dmatrix_choose_scalar(out, &options, d->scalar, true);
  if (status == TRISTAR_OK) status = list_entries(d, out, &list);
  TSI_TRY(tsi_transport_agree(out->transport, status));
  TSI_TRY(tsi_dmatrix_assemble(out, &list, TRISTAR_GENERAL));
  TSI_TRY(tsi_dmatrix_finish(out, options.engine));
  return tsi_transport_agree(out->transport, tsi_dmatrix_need_whole(out));
}

tristar_status tsi_symmetric_rows(const tristar_dmatrix_t *d, tristar_dmatrix_t **out) {
  tristar_status status = TRISTAR_OK;
  *out = NULL;
  TSI_TRY_OUT(tsi_dmatrix_begin(d->ts, tsi_transport_comm(d->transport), TRISTAR_OK, out));
  TSI_TRY_OUT(fill(d, *out));
out:
  if (status != TRISTAR_OK) tristar_dmatrix_destroy(out);
  return status;
}
