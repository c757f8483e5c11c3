/* Unions of the ranks' data of columns, in pieces of PIECE_COLUMNS columns: see team_factor.h. */
#include "runtime/mpi/factor/team_factor.h"
#include "runtime/mpi/comm/mailbox.h"

#define PIECE_COLUMNS ((tsi_index)1 << 16)

/* Common columns of the part and of a piece of the factor's columns, first .. end - 1. */
typedef struct overlap {
  tsi_index s;           /* supernode of the part; the search begins with it */
  tsi_index here, there; /* first columns: in the part, in the factor */
  size_t count;
} overlap;

static bool next_overlap(const tsi_front_part *fronts, tsi_index first, tsi_index end, overlap *o) {
  const tsi_symbolic *symbolic = fronts->tree->symbolic;
  for (; o->s < symbolic->count && fronts->column[o->s] < end; o->s++) {
    const tsi_index begin = fronts->column[o->s], width = symbolic->start[o->s + 1] - symbolic->start[o->s];
    const tsi_index from = tsi_index_max(first, begin), to = tsi_index_min(end, begin + width);
    if (from >= to) continue;
    o->here = symbolic->start[o->s] + from - begin;
    o->there = from;
    o->count = (size_t)(to - from);
    o->s += to == begin + width; /* else it continues in the next piece */
    return true;
  }
  return false;
}

/* Copies between the array of the part and a piece of all columns. Pieces are passed in ascending order. */
static void copy_piece(const tsi_front_part *fronts, tsi_index first, tsi_index end, tsi_index *s,
                       size_t bytes, char *array, char *piece, bool back) {
  overlap o = {.s = *s};
  while (next_overlap(fronts, first, end, &o)) {
    char *here = array + (size_t)o.here * bytes, *there = piece + (size_t)(o.there - first) * bytes;
    memcpy(back ? here : there, back ? there : here, o.count * bytes);
    if (o.there + (tsi_index)o.count == end) break;
  }
  *s = o.s;
}

tristar_status tsi_team_factor_unite_columns(const tristar_distributed_t *d,
                                             const tsi_team_factor *team_factor, size_t bytes, tsi_union how,
                                             void *array, void *all) {
  tsi_env *env = &d->ts->env;
  const tsi_index n = (tsi_index)d->n;
  const int count = (int)(how == TSI_UNION_MAX ? bytes / sizeof(double) : bytes);
  tsi_index s = 0, next = 0;
  TSI_OWNED char *piece = NULL;
  TSI_TRY(tsi_transport_agree(d->transport,
                              TSI_ALLOC_SIZED(env, piece, (size_t)tsi_index_min(n, PIECE_COLUMNS), bytes)));
  for (tsi_index first = 0, end; first < n; first = end, s = next) {
    end = n - first > PIECE_COLUMNS ? first + PIECE_COLUMNS : n;
    memset(piece, 0, (size_t)(end - first) * bytes);
    next = s;
    copy_piece(&team_factor->fronts, first, end, &next, bytes, array, piece, false);
    TSI_TRY(tsi_transport_unite(d->transport, piece, (int)(end - first) * count,
                                how == TSI_UNION_MAX ? MPI_DOUBLE : MPI_BYTE,
                                how == TSI_UNION_MAX ? MPI_MAX : MPI_BOR));
    next = s;
    copy_piece(&team_factor->fronts, first, end, &next, bytes, array, piece, true);
    if (all) memcpy((char *)all + (size_t)first * bytes, piece, (size_t)(end - first) * bytes);
  }
  return TRISTAR_OK;
}

tristar_status tsi_team_factor_take_columns(tsi_env *env, const tsi_team_factor *team_factor, size_t bytes,
                                            void **all) {
  const tsi_front_part *fronts = &team_factor->fronts;
  const tsi_symbolic *symbolic = fronts->tree->symbolic;
  char *part = NULL;
  TSI_TRY(TSI_ALLOC_SIZED(env, part, (size_t)symbolic->n, bytes));
  for (tsi_index s = 0; s < symbolic->count; s++)
    memcpy(part + (size_t)symbolic->start[s] * bytes, (const char *)*all + (size_t)fronts->column[s] * bytes,
           (size_t)(symbolic->start[s + 1] - symbolic->start[s]) * bytes);
  TSI_FREE(env, *all);
  *all = part;
  return TRISTAR_OK;
}
