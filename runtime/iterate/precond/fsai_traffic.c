/* Counts messages rank by rank: see fsai_traffic.h. */
#include "runtime/iterate/precond/fsai_traffic.h"

#include "runtime/iterate/precond/fsai_state.h"

/* The count in progress, for rank `own`. */
typedef struct counting {
  const tristar_precond_t *precond;
  int ranks, own;
  const tsi_index *start;
  tsi_fsai_rank *rank;
  int *owner; /* owner of each row */
  int *seen;  /* for each column: the latest turn that found it */
  int turn;
  tsi_index *list; /* columns found in this turn; the latest level begins at `from` */
  tsi_index from, to;
  tsi_count *columns, *entries; /* for each owner: its columns in the list, and the entries of these rows */
} counting;

static void send(tsi_sent *sent, tsi_count bytes) {
  sent->messages++;
  sent->bytes += bytes;
}

/* Adds remote columns of a row to the list. before: only columns of lower ranks. */
static void meet(counting *c, const tsi_entries *rows, tsi_index row, bool before) {
  for (tsi_count e = rows->ptr[row]; e < rows->ptr[row + 1]; e++) {
    const tsi_index column = rows->index[e];
    const int owner = c->owner[column];
    if (owner == c->own || (before && owner > c->own) || c->seen[column] == c->turn) continue;
    c->seen[column] = c->turn;
    c->list[c->to++] = column;
  }
}

/* Counts the list from `from` on, by owner. */
static void count_owners(counting *c) {
  const tsi_count *ptr = c->precond->full.ptr;
  memset(c->columns, 0, (size_t)c->ranks * sizeof *c->columns);
  memset(c->entries, 0, (size_t)c->ranks * sizeof *c->entries);
  for (tsi_index k = c->from; k < c->to; k++) {
    const int owner = c->owner[c->list[k]];
    c->columns[owner]++;
    c->entries[owner] += ptr[c->list[k] + 1] - ptr[c->list[k]];
  }
}

static void begin_turn(counting *c) {
  c->turn++;
  c->from = c->to = 0;
}

/* Counts the messages that gather rows of A on the rank. It sends their numbers; the owners send lengths,
 * columns and values. */
static void count_gather(counting *c, int levels, bool before) {
  const tsi_entries *a = &c->precond->full;
  const tsi_count scalar = (tsi_count)c->precond->sparse->scalar_bytes;
  begin_turn(c);
  for (int level = 0; level < levels; level++) {
    const tsi_index last = c->to;
    if (level == 0)
      for (tsi_index i = c->start[c->own]; i < c->start[c->own + 1]; i++) meet(c, a, i, before);
    else
      for (tsi_index k = c->from; k < last; k++) meet(c, a, c->list[k], before);
    c->from = last;
    if (c->to == last) break;
    count_owners(c);
    for (int o = 0; o < c->ranks; o++) {
      tsi_sent *back = &c->rank[o].gather;
      if (c->columns[o] == 0) continue;
      send(&c->rank[c->own].gather, c->columns[o] * (tsi_count)sizeof(tsi_index));
      send(back, c->columns[o] * (tsi_count)sizeof(tsi_count));
      send(back, c->entries[o] * (tsi_count)sizeof(tsi_index));
      send(back, c->entries[o] * scalar);
    }
  }
}

/* Finds the remote entries of vectors that the rank's rows of a matrix read. Their owners send them in a
 * product. */
static void find_ghosts(counting *c, const tsi_entries *rows) {
  begin_turn(c);
  for (tsi_index i = c->start[c->own]; i < c->start[c->own + 1]; i++) meet(c, rows, i, false);
  count_owners(c);
}

static void count_products(counting *c) {
  const tsi_count scalar = (tsi_count)c->precond->sparse->scalar_bytes;
  find_ghosts(c, &c->precond->full);
  for (int o = 0; o < c->ranks; o++)
    if (c->columns[o] > 0) send(&c->rank[o].product, c->columns[o] * scalar);
  find_ghosts(c, &c->precond->fsai->lower);
  for (int o = 0; o < c->ranks; o++) {
    tsi_fsai_rank *own = &c->rank[c->own];
    if (c->columns[o] == 0) continue;
    send(&own->ghosts, c->columns[o] * (tsi_count)sizeof(tsi_index));
    send(&c->rank[o].down, c->columns[o] * scalar);
    send(&own->up, c->columns[o] * scalar); /* G^H: the rank sends its contributions to these entries */
  }
}

static tristar_status allocate(tsi_index n, counting *c) {
  TSI_TRY(TSI_ALLOC_IN(c, c->owner, n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(c, c->seen, n));
  TSI_TRY(TSI_ALLOC_IN(c, c->list, n));
  TSI_TRY(TSI_ALLOC_IN(c, c->columns, c->ranks));
  return TSI_ALLOC_IN(c, c->entries, c->ranks);
}

tristar_status tsi_fsai_traffic(const tristar_precond_t *precond, int levels, int ranks,
                                const tsi_index *start, tsi_fsai_rank *rank) {
  tsi_env *env = &precond->ts->env;
  TSI_SCRATCH(env, counting, c, 1);
  *c = (counting){.precond = precond, .ranks = ranks, .start = start, .rank = rank};
  TSI_TRY(allocate(precond->n, c));
  for (int r = 0; r < ranks; r++) {
    rank[r] = (tsi_fsai_rank){.rows = start[r + 1] - start[r]};
    for (tsi_index i = start[r]; i < start[r + 1]; i++) c->owner[i] = r;
  }
  for (c->own = 0; c->own < ranks; c->own++) {
    count_gather(c, levels, precond->options.power < 2);
    count_products(c);
  }
  return TRISTAR_OK;
}
