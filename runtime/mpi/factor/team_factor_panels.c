/* Sends panels from the ranks that factored them to the ranks that store them: see team_factor.h.
 *
 * In round k each rank sends to the k-th rank after it, and receives from the k-th rank before it, piece by
 * piece. Both ranks find the same list of panels, and cut it into the same pieces.
 *
 * All ranks agree once for TSI_HANDED_ROUNDS rounds: by then the lists and the memory of these rounds exist,
 * and only messages can still fail. So either no rank sends anything in these rounds, or each rank sends all
 * messages that its peers wait for. Ranks may be in different rounds: the messages of a round, in their
 * order, wait only for earlier ones and for their own peers. */
#include "runtime/mpi/comm/bytes.h"
#include "runtime/mpi/factor/team_factor.h"
#include "runtime/process/extract.h"
#include "runtime/process/handing.h"

/* Panels of a share that one rank has factored, on the way to the rank with this share. */
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

/* The next piece: panels next .. *end - 1. Returns its number of scalars. */
static tsi_count cut_piece(const way *w, tsi_index *end) {
  const tsi_count most = TSI_HANDED_BYTES / (tsi_count)w->team_factor->part.scalar_bytes;
  tsi_count scalars = 0;
  for (*end = w->next; w->share != NULL && *end < w->share->panels->count; ++*end) {
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

/* Sends and receives the panels of one stream. */
static tristar_status swap(tristar_distributed_t *d, way gives, way takes, bool upper) {
  const size_t bytes = gives.team_factor->part.scalar_bytes;
  const bool leaves = takes.from != gives.from; /* not round 0 */
  const int to = gives.share ? gives.share->rank : MPI_PROC_NULL;
  tristar_message_count *count = &d->stats.hand_on;
  tsi_index gives_end, takes_end;
  for (;; gives.next = gives_end, takes.next = takes_end) {
    const tsi_count given = cut_piece(&gives, &gives_end), taken = cut_piece(&takes, &takes_end);
    if (given == 0 && taken == 0) return TRISTAR_OK;
    fill_piece(&gives, upper, gives_end);
    TSI_TRY(tsi_swap_items(&d->ts->env, tsi_transport_comm(d->transport), TSI_TAG_PANELS, bytes,
                           TSI_HANDED_ITEMS, (tsi_items_way){gives.piece, given, to},
                           (tsi_items_way){takes.piece, taken, takes.from}));
    spread_piece(&takes, d->process, upper, takes_end);
    count->messages += leaves ? tsi_item_messages(given, TSI_HANDED_ITEMS) : 0;
    count->bytes += leaves ? given * (int64_t)bytes : 0;
  }
  return TRISTAR_OK;
}

/* The share of the receiver of a round; NULL if this rank sends nothing. */
typedef struct gift {
  tsi_share *share;
  tsi_count *begin;
} gift;

/* Rounds first .. end-1, the largest number of scalars in a piece, and memory for it. */
typedef struct rounds {
  tristar_distributed_t *d;
  const tsi_team_factor *team_factor;
  int first, end;
  gift gift[TSI_HANDED_ROUNDS];
  tsi_count most[2]; /* given, taken */
  void *piece[2];
} rounds;

/* Panels for the rank `round` after this one; in round 0, panels for this rank. */
static way way_out(const rounds *r, int round) {
  const gift *g = &r->gift[round - r->first];
  return (way){.team_factor = r->team_factor,
               .share = g->share,
               .panel = g->share ? g->share->panel : NULL,
               .begin = g->begin,
               .from = tsi_transport_rank(r->d->transport),
               .piece = r->piece[0]};
}

/* Panels from the rank `round` before this one. */
static way way_in(const rounds *r, int round) {
  const tsi_process *p = r->d->process;
  const int ranks = tsi_transport_size(r->d->transport), rank = tsi_transport_rank(r->d->transport);
  return (way){.team_factor = r->team_factor,
               .share = p->share,
               .panel = r->team_factor->panel,
               .begin = p->begin,
               .from = (rank + ranks - round) % ranks,
               .piece = r->piece[1]};
}

static void drop_gift(tsi_env *env, gift *g) {
  TSI_FREE(env, g->share);
  TSI_FREE(env, g->begin);
}

/* Creates the share of the receiver, without the arrays that tsi_extract_panels does not read. */
static tristar_status list_round(rounds *r, int round) {
  tsi_env *env = &r->d->ts->env;
  gift *g = &r->gift[round - r->first];
  const int ranks = tsi_transport_size(r->d->transport), rank = tsi_transport_rank(r->d->transport);
  TSI_TRY(tsi_share_create(env, r->team_factor->layout, r->team_factor->fronts.tree->panels,
                           (rank + round) % ranks, &r->d->process->share_options, &g->share));
  TSI_TRY(tsi_place_share(env, g->share, &g->begin));
  const tsi_count most = largest_piece(way_out(r, round));
  r->most[0] = tsi_count_max(r->most[0], most);
  r->most[1] = tsi_count_max(r->most[1], largest_piece(way_in(r, round)));
  TSI_FREE(env, g->share->local);
  TSI_FREE(env, g->share->chunks->off);
  TSI_FREE(env, g->share->chunks->local_row);
  if (most == 0) drop_gift(env, g);
  return TRISTAR_OK;
}

static tristar_status prepare(rounds *r) {
  tsi_env *env = &r->d->ts->env;
  const size_t bytes = r->d->process->scalar_bytes;
  for (int round = r->first; round < r->end; round++) TSI_TRY(list_round(r, round));
  for (int k = 0; k < 2; k++) TSI_TRY(TSI_ALLOC_SIZED(env, r->piece[k], (size_t)r->most[k], bytes));
  return TRISTAR_OK;
}

static tristar_status hand_on(rounds *r) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &r->d->ts->env;
  TSI_TRY_OUT(tsi_transport_agree(r->d->transport, prepare(r)));
  for (int round = r->first; round < r->end; round++)
    for (int upper = 0; upper < (r->d->process->kind.lu ? 2 : 1); upper++)
      TSI_TRY_OUT(swap(r->d, way_out(r, round), way_in(r, round), upper));
out:
  for (int k = 0; k < r->end - r->first; k++) drop_gift(env, &r->gift[k]);
  for (int k = 0; k < 2; k++) TSI_FREE(env, r->piece[k]);
  return status;
}

tristar_status tsi_team_factor_hand_on(tristar_distributed_t *d, const tsi_team_factor *team_factor) {
  const int ranks = tsi_transport_size(d->transport);
  d->stats.hand_on = (tristar_message_count){0, 0};
  for (int first = 0; first < ranks; first += TSI_HANDED_ROUNDS) {
    rounds r = {.d = d,
                .team_factor = team_factor,
                .first = first,
                .end = tsi_index_min(ranks, first + TSI_HANDED_ROUNDS)};
    TSI_TRY(hand_on(&r));
  }
  return TRISTAR_OK;
}
