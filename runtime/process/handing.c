/* Lists the panels that processes hand on: see handing.h. */
#include "runtime/process/handing.h"

#include <stdlib.h>

/* A panel of a share that another process factors. */
typedef struct foreign {
  tsi_index round, panel;
} foreign;

static int compare(const void *a, const void *b) {
  const foreign *x = a, *y = b;
  if (x->round != y->round) return x->round < y->round ? -1 : 1;
  return (x->panel > y->panel) - (x->panel < y->panel);
}

/* Lists the panels of the share that other processes factor, by round. list: one item per panel. */
static tsi_index list_foreign(const tsi_handing *handing, const tsi_share *share, const tsi_panels *panels,
                              const tsi_index *owner, const tsi_count *begin, foreign *list) {
  tsi_index count = 0;
  for (tsi_index j = 0; j < share->panels->count; j++) {
    const tsi_index from = owner[panels->supernode[share->panel[j]]];
    if (from != share->rank && begin[j + 1] > begin[j])
      list[count++] = (foreign){tsi_handing_round(handing, from, share->rank), j};
  }
  if (count > 0) qsort(list, (size_t)count, sizeof *list, compare);
  return count;
}

/* Cuts the list into pieces; returns their number. piece NULL: only counts. */
static tsi_index cut(const tsi_handing *handing, const foreign *list, tsi_index count, const tsi_count *begin,
                     tsi_count most, tsi_index rank, tsi_handed_piece *piece) {
  tsi_index pieces = 0;
  tsi_count scalars = 0; /* of the current piece */
  for (tsi_index k = 0; k < count; k++) {
    const tsi_count more = begin[list[k].panel + 1] - begin[list[k].panel];
    scalars += more;
    const bool last = k + 1 == count || list[k + 1].round != list[k].round;
    const tsi_count next = last ? 0 : begin[list[k + 1].panel + 1] - begin[list[k + 1].panel];
    if (!last && scalars + next <= most) continue;
    if (piece != NULL)
      piece[pieces] =
          (tsi_handed_piece){(rank + handing->ranks - list[k].round) % handing->ranks, rank, scalars};
    pieces++;
    scalars = 0;
  }
  return pieces;
}

static tristar_status list_rank(tsi_env *env, const tsi_layout *layout, const tsi_panels *panels,
                                const tsi_share_options *options, const tsi_index *owner, tsi_index rank,
                                tsi_handing *handing) {
  const tsi_count most = TSI_HANDED_BYTES / (tsi_count)options->scalar_bytes;
  TSI_OWNED tsi_share *share = NULL;
  TSI_OWNED tsi_count *begin = NULL;
  TSI_TRY(tsi_share_create(env, layout, panels, rank, options, &share));
  TSI_TRY(tsi_place_share(env, share, &begin));
  TSI_SCRATCH(env, foreign, list, share->panels->count);
  const tsi_index count = list_foreign(handing, share, panels, owner, begin, list);
  handing->count[rank] = cut(handing, list, count, begin, most, rank, NULL);
  TSI_TRY(TSI_ALLOC_IN(handing, handing->piece[rank], handing->count[rank]));
  cut(handing, list, count, begin, most, rank, handing->piece[rank]);
  return TRISTAR_OK;
}

/* Adds the pieces for processes after (else: before) their sender to its list. */
static void place_sent(tsi_handing *handing, bool after) {
  for (tsi_index r = 0; r < handing->ranks; r++)
    for (tsi_index k = 0; k < handing->count[r]; k++) {
      tsi_handed_piece *piece = &handing->piece[r][k];
      if ((r > piece->from) == after) handing->sent[handing->sent_ptr[piece->from]++] = piece;
    }
}

/* Lists the same pieces by sender. */
static tristar_status list_sent(tsi_handing *handing) {
  tsi_count *ptr = handing->sent_ptr;
  for (tsi_index r = 0; r < handing->ranks; r++)
    for (tsi_index k = 0; k < handing->count[r]; k++) ptr[handing->piece[r][k].from + 1]++;
  for (tsi_index r = 0; r < handing->ranks; r++) ptr[r + 1] += ptr[r];
  TSI_TRY(TSI_ALLOC_IN(handing, handing->sent, ptr[handing->ranks]));
  place_sent(handing, true);
  place_sent(handing, false);
  for (tsi_index r = handing->ranks; r > 0; r--) ptr[r] = ptr[r - 1];
  ptr[0] = 0;
  return TRISTAR_OK;
}

tristar_status tsi_handing_create(tsi_env *env, const tsi_layout *layout, const tsi_panels *panels,
                                  const tsi_share_options *options, const tsi_index *owner,
                                  tsi_handing **out) {
  TSI_OWNED tsi_handing *handing = NULL;
  *out = NULL;
  TSI_TRY(TSI_ALLOC_ZERO(env, handing, 1));
  handing->ranks = tsi_layout_ranks(layout);
  TSI_TRY(TSI_ALLOC_ZERO_IN(handing, handing->count, handing->ranks));
  TSI_TRY(TSI_ALLOC_ZERO_IN(handing, handing->piece, handing->ranks));
  TSI_TRY(TSI_ALLOC_ZERO_IN(handing, handing->sent_ptr, (tsi_count)handing->ranks + 1));
  for (tsi_index r = 0; r < handing->ranks; r++)
    TSI_TRY(list_rank(env, layout, panels, options, owner, r, handing));
  TSI_TRY(list_sent(handing));
  *out = tsi_take(&handing);
  return TRISTAR_OK;
}
