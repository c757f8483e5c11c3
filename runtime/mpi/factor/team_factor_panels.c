/* Panels from the ranks that factor them to those that hold them: see team_factor.h.
 *
 * In round k each rank sends to the k-th one after it, and receives from the k-th one before it, piece by
 * piece. Both know which panels these are, and cut the list in the same way. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/team_factor.h"
#include "runtime/process/extract.h"
#include "runtime/process/handing.h"

/* Panels of a share that one rank has factored, on their way to who has the share. */
typedef struct way {
  const tsi_team_factor *team_factor;
  const tsi_share *share;
  const tsi_index *panel; /* its panels: numbers in the part */
  const tsi_count *begin;
  tsi_index from;
  tsi_index next; /* panel of the share */
  void *piece;
} way;

static bool travels(const way *w, tsi_index j) {
  const tsi_team_factor *team_factor = w->team_factor;
  const tsi_index panel = w->panel[j];
  const bool placed = w->from == w->share->rank && team_factor->analysis.panel_values[panel] >= 0;
  return team_factor->fronts.owner[team_factor->fronts.tree->panels->supernode[panel]] == w->from && !placed;
}

/* The next piece: scalars from the panels next .. *end - 1. */
static tsi_count cut_piece(const way *w, tsi_index *end) {
  const tsi_count most = TSI_HANDED_BYTES / (tsi_count)w->team_factor->part.scalar_bytes;
  tsi_count scalars = 0;
  for (*end = w->next; *end < w->share->panels->count; ++*end) {
    const tsi_count more = travels(w, *end) ? w->begin[*end + 1] - w->begin[*end] : 0;
    if (scalars > 0 && scalars + more > most) break;
    scalars += more;
  }
  return scalars;
}

static tsi_count largest_piece(way w) {
  tsi_count most = 0;
  for (tsi_index end; w.next < w.share->panels->count; w.next = end)
    most = tsi_count_max(most, cut_piece(&w, &end));
  return most;
}

static size_t panel_bytes(const way *w, tsi_index j) {
  return (size_t)(w->begin[j + 1] - w->begin[j]) * w->team_factor->part.scalar_bytes;
}

static void fill_piece(const way *w, bool upper, tsi_index end) {
  char *at = w->piece;
  for (tsi_index j = w->next; j < end; j++) {
    if (!travels(w, j)) continue;
    tsi_extract_panels(&w->team_factor->part, upper, w->share, w->begin, j, j + 1, at);
    at += panel_bytes(w, j);
  }
}

static void spread_piece(const way *w, const tsi_process *p, bool upper, tsi_index end) {
  const char *at = w->piece;
  for (tsi_index j = w->next; j < end; j++) {
    if (!travels(w, j)) continue;
    memcpy((char *)(upper ? p->upper : p->lower) + (size_t)w->begin[j] * p->scalar_bytes, at,
           panel_bytes(w, j));
    at += panel_bytes(w, j);
  }
}

/* One stream in both directions. */
static tristar_status swap(tristar_distributed_t *d, way gives, way takes, bool upper) {
  const size_t bytes = gives.team_factor->part.scalar_bytes;
  const bool leaves = gives.share->rank != gives.from;
  tristar_message_count *count = &d->stats.hand_on;
  tsi_index gives_end, takes_end;
  for (;; gives.next = gives_end, takes.next = takes_end) {
    const tsi_count given = cut_piece(&gives, &gives_end), taken = cut_piece(&takes, &takes_end);
    if (given == 0 && taken == 0) return TRISTAR_OK;
    fill_piece(&gives, upper, gives_end);
    TSI_TRY(tsi_swap_items(&d->ts->env, tsi_transport_comm(d->transport), TSI_TAG_PANELS, bytes,
                           TSI_HANDED_ITEMS, (tsi_items_way){gives.piece, given, gives.share->rank},
                           (tsi_items_way){takes.piece, taken, takes.from}));
    spread_piece(&takes, d->process, upper, takes_end);
    count->messages += leaves ? tsi_item_messages(given, TSI_HANDED_ITEMS) : 0;
    count->bytes += leaves ? given * (int64_t)bytes : 0;
  }
  return TRISTAR_OK;
}

/* With the ranks `round` after and before this one; round 0 is what stays. */
static tristar_status hand_on(tristar_distributed_t *d, const tsi_team_factor *team_factor, int round) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &d->ts->env;
  const tsi_process *p = d->process;
  const size_t bytes = p->scalar_bytes;
  const int ranks = tsi_transport_size(d->transport), rank = tsi_transport_rank(d->transport);
  tsi_share *share = NULL;
  tsi_count *begin = NULL;
  void *pieces[2] = {NULL, NULL};
  status = tsi_share_create(env, team_factor->layout, team_factor->fronts.tree->panels,
                            (rank + round) % ranks, &p->share_options, &share);
  if (status == TRISTAR_OK) status = tsi_place_share(env, share, &begin);
  way gives = {.team_factor = team_factor,
               .share = share,
               .panel = share ? share->panel : NULL,
               .begin = begin,
               .from = rank},
      takes = {.team_factor = team_factor,
               .share = p->share,
               .panel = team_factor->panel,
               .begin = p->begin,
               .from = (rank + ranks - round) % ranks};
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, pieces[0], (size_t)largest_piece(gives), bytes);
  if (status == TRISTAR_OK) status = TSI_ALLOC_SIZED(env, pieces[1], (size_t)largest_piece(takes), bytes);
  TSI_TRY_OUT(tsi_transport_agree(d->transport, status));
  gives.piece = pieces[0];
  takes.piece = pieces[1];
  for (int upper = 0; upper < (p->kind.lu ? 2 : 1); upper++) TSI_TRY_OUT(swap(d, gives, takes, upper));
out:
  TSI_FREE(env, share);
  TSI_FREE(env, begin);
  for (int k = 0; k < 2; k++) TSI_FREE(env, pieces[k]);
  return status;
}

tristar_status tsi_team_factor_hand_on(tristar_distributed_t *d, const tsi_team_factor *team_factor) {
  d->stats.hand_on = (tristar_message_count){0, 0};
  for (int round = 0; round < tsi_transport_size(d->transport); round++)
    TSI_TRY(hand_on(d, team_factor, round));
  return TRISTAR_OK;
}
