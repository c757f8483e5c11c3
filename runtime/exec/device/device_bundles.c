/* See device_bundles.h. */
#include "runtime/exec/device/device_bundles.h"

#include "runtime/exec/device/device_block.h"

#define NEAR 65536 /* columns that 16 bits can number */

/* Arrays of the tables while they are written. */
typedef struct arrays {
  tsi_device_phase *phase;
  tsi_device_row_ticket *ticket;
  tsi_device_bundle *bundle;
  tsi_index *end, *row, *column;
  uint16_t *short_column;
} arrays;

/* Tables while they are created. */
typedef struct making {
  const tsi_device_listing *rows;
  tsi_index *turn;    /* listed rows, part by part in the order of bundles */
  tsi_index *number;  /* [listed rows]: number of each in the tables */
  tsi_index *rank;    /* number of each row in the tables */
  tsi_count *next;    /* listed rows: position of the next entry */
  tsi_device_rows *t; /* tables and their sizes so far; phases are counted while bundles are created */
  arrays a;           /* NULL: only counts */
} making;

static tsi_count row_entries(const making *m, tsi_index k) {
  return m->rows->ptr[k + 1] - m->rows->ptr[k];
}

/* ---- The order of listed rows -------------------------------------------------------------------------- */

/* Key of a row: the rows of a bundle have the same key. */
enum { KEYS = 2 * 6 };
static int key_of(const making *m, tsi_index k) {
  return 2 * __builtin_ctz((unsigned)tsi_device_row_threads(row_entries(m, k))) + m->rows->fresh[k];
}

/* Sets turns begin .. end - 1 to listed rows begin .. end - 1, sorted by their keys. */
static void sort_rows(const making *m, tsi_index begin, tsi_index end) {
  tsi_index first[KEYS + 1] = {0};
  for (tsi_index k = begin; k < end; k++) first[key_of(m, k) + 1]++;
  first[0] = begin;
  for (int q = 0; q < KEYS; q++) first[q + 1] += first[q];
  for (tsi_index k = begin; k < end; k++) m->turn[first[key_of(m, k)]++] = k;
}

/* End of the listed rows, from `begin` on, that have the level of row `begin`, or that are in the same
 * rectangle. Listed rows of a triangle are sorted by level. */
static tsi_index level_end(const making *m, tsi_index part, tsi_index begin) {
  const tsi_index *row = m->rows->row, end = (tsi_index)m->rows->start[part + 1];
  tsi_index k = begin + 1;
  if (!tsi_device_solves(m->rows->kind[part])) return end;
  while (k < end && m->rows->level[row[k]] == m->rows->level[row[begin]]) k++;
  return k;
}

static void number_rows(const making *m) {
  tsi_index solved = 0, updated = m->t->n;
  for (tsi_index p = 0; p < m->rows->parts; p++) {
    const tsi_index end = (tsi_index)m->rows->start[p + 1];
    for (tsi_index k = (tsi_index)m->rows->start[p], next; k < end; k = next) {
      next = level_end(m, p, k);
      sort_rows(m, k, next);
    }
    for (tsi_index k = (tsi_index)m->rows->start[p]; k < end; k++)
      if (tsi_device_solves(m->rows->kind[p]))
        m->number[m->turn[k]] = m->rank[m->rows->row[m->turn[k]]] = solved++;
      else
        m->number[m->turn[k]] = updated++;
  }
}

/* ---- Bundles, tickets, phases -------------------------------------------------------------------------- */

/* End of the bundle that begins with turn `begin`, at most `end`. */
static tsi_index bundle_end(const making *m, tsi_index begin, tsi_index end) {
  const int key = key_of(m, m->turn[begin]);
  const tsi_index most = m->t->lanes / tsi_device_row_threads(row_entries(m, m->turn[begin]));
  tsi_count entries = 0;
  tsi_index k = begin;
  for (; k < end && k < begin + most && key_of(m, m->turn[k]) == key; k++) {
    entries += row_entries(m, m->turn[k]);
    if (k > begin && entries > TSI_INDEX_MAX) break;
  }
  return k;
}

static tsi_device_bundle describe(const making *m, tsi_index begin, tsi_index end, tsi_count *entries) {
  const tsi_index *column = m->rows->column, *rank = m->rank;
  tsi_index least = TSI_INDEX_MAX, largest = 0;
  tsi_count longest = 0;
  *entries = 0;
  for (tsi_index q = begin; q < end; q++) {
    const tsi_index k = m->turn[q];
    *entries += row_entries(m, k);
    longest = tsi_count_max(longest, row_entries(m, k));
    for (tsi_count e = m->rows->ptr[k]; e < m->rows->ptr[k + 1]; e++) {
      least = tsi_index_min(least, rank[column[e]]);
      largest = tsi_index_max(largest, rank[column[e]]);
    }
  }
  const int threads = tsi_device_row_threads(longest);
  const bool narrow = largest < least || largest - least < NEAR;
  return (tsi_device_bundle){.entry = m->t->entries,
                             .at = narrow ? m->t->narrow : m->t->entries - m->t->narrow,
                             .first = m->number[m->turn[begin]],
                             .base = narrow && least <= largest ? least : 0,
                             .steps = (tsi_index)((longest + threads - 1) / threads),
                             .rows = (uint8_t)(end - begin),
                             .threads = (uint8_t)threads,
                             .narrow = narrow,
                             .fresh = m->rows->fresh[m->turn[begin]]};
}

static void write_rows(const making *m, const tsi_device_bundle *b, tsi_index begin) {
  tsi_count end = 0;
  for (tsi_index q = begin; q < begin + b->rows; q++) {
    const tsi_index k = m->turn[q], listed = m->number[k];
    m->next[k] = b->entry + end;
    end += row_entries(m, k);
    m->a.end[listed] = (tsi_index)end;
    if (listed >= m->t->n) m->a.row[listed - m->t->n] = m->rank[m->rows->row[k]];
  }
}

/* Adds a bundle of turns begin .. end - 1 to the last phase, in its last ticket if there is space. */
static void put_bundle(making *m, tsi_index begin, tsi_index end, tsi_index *space) {
  tsi_count entries;
  const tsi_device_bundle bundle = describe(m, begin, end, &entries);
  if (*space == 0) {
    if (m->a.ticket) m->a.ticket[m->t->tickets] = (tsi_device_row_ticket){m->t->phases - 1, m->t->bundles, 0};
    if (m->a.phase) m->a.phase[m->t->phases - 1].tickets++;
    m->t->tickets++;
    *space = TSI_TICKET_BUNDLES;
  }
  --*space;
  if (m->a.bundle) {
    m->a.ticket[m->t->tickets - 1].bundles++;
    m->a.bundle[m->t->bundles] = bundle;
    write_rows(m, &bundle, begin);
  }
  m->t->bundles++;
  m->t->entries += entries;
  m->t->narrow += bundle.narrow ? entries : 0;
}

static void put_part(making *m, tsi_index part) {
  const tsi_device_phase_kind kind = m->rows->kind[part];
  const tsi_index end = (tsi_index)m->rows->start[part + 1];
  tsi_index space = 0; /* of the last ticket, in bundles */
  bool open = false;   /* the last phase continues */
  for (tsi_index k = (tsi_index)m->rows->start[part], next; k < end; k = next) {
    next = level_end(m, part, k);
    if (!open) {
      if (m->a.phase) m->a.phase[m->t->phases] = (tsi_device_phase){(tsi_index)kind, m->t->tickets, 0};
      m->t->phases++;
      space = 0;
    }
    open = kind == TSI_PHASE_FREE;
    for (tsi_index q = k, then; q < next; q = then) {
      then = bundle_end(m, q, next);
      put_bundle(m, q, then, &space);
    }
  }
}

static void put_parts(making *m) {
  m->t->phases = m->t->tickets = m->t->bundles = 0;
  m->t->entries = m->t->narrow = 0;
  for (tsi_index p = 0; p < m->rows->parts; p++) put_part(m, p);
}

/* ---- Entries ------------------------------------------------------------------------------------------- */

/* Position of a given entry. */
typedef struct given_entry {
  tsi_index listed, column; /* listed TSI_NONE: not in the tables */
} given_entry;

/* Writes the entries in the order of the given matrix, each to the end of its row. bundle: of each listed row
 * of the tables; at: of each given entry. */
static void put_entries(const making *m, const tsi_index *bundle, given_entry *at, tsi_count *source) {
  const tsi_device_listing *rows = m->rows;
  for (tsi_count e = 0; e < rows->given; e++) at[e].listed = TSI_NONE;
  for (tsi_index k = 0; k < (tsi_index)rows->start[rows->parts]; k++)
    for (tsi_count e = rows->ptr[k]; e < rows->ptr[k + 1]; e++)
      at[rows->entry ? rows->source[rows->entry[e]] : e] = (given_entry){k, m->rank[rows->column[e]]};
  for (tsi_count e = 0; e < rows->given; e++) {
    const tsi_index k = at[e].listed;
    if (k == TSI_NONE) continue;
    const tsi_device_bundle *b = &m->a.bundle[bundle[m->number[k]]];
    const tsi_count to = m->next[k]++;
    source[to] = e;
    if (b->narrow)
      m->a.short_column[b->at + to - b->entry] = (uint16_t)(at[e].column - b->base);
    else
      m->a.column[b->at + to - b->entry] = at[e].column;
  }
}

static tristar_status list_entries(tsi_env *env, const making *m, tsi_count *source) {
  TSI_SCRATCH(env, tsi_index, bundle, (tsi_count)m->t->n + m->t->updates);
  TSI_SCRATCH(env, given_entry, at, m->rows->given);
  for (tsi_index b = 0; b < m->t->bundles; b++)
    for (tsi_index k = 0; k < m->a.bundle[b].rows; k++) bundle[m->a.bundle[b].first + k] = b;
  put_entries(m, bundle, at, source);
  return TRISTAR_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static size_t place_arrays(tsi_device_rows *t, char *block, arrays *a) {
  size_t bytes = 0;
  TSI_TAKE(a->phase, t->phase, t->phases);
  TSI_TAKE(a->ticket, t->ticket, t->tickets);
  TSI_TAKE(a->bundle, t->bundle, t->bundles);
  TSI_TAKE(a->end, t->end, (tsi_count)t->n + t->updates);
  TSI_TAKE(a->row, t->row, t->updates);
  TSI_TAKE(a->column, t->column, t->entries - t->narrow);
  TSI_TAKE(a->short_column, t->short_column, t->narrow);
  return bytes;
}

tristar_status tsi_device_bundles_create(tsi_env *env, const tsi_device_listing *listing, tsi_index *rank,
                                         tsi_device_row_plan *plan) {
  const tsi_count listed = listing->start[listing->parts];
  tsi_device_rows *t = &plan->tables;
  t->updates = (tsi_index)listed - t->n;
  TSI_SCRATCH(env, making, m, 1);
  *m = (making){.rows = listing, .rank = rank, .t = t};
  TSI_TRY(TSI_ALLOC_IN(m, m->turn, listed));
  TSI_TRY(TSI_ALLOC_IN(m, m->number, listed));
  TSI_TRY(TSI_ALLOC_IN(m, m->next, listed));
  number_rows(m);
  put_parts(m);
  t->bytes = place_arrays(t, NULL, &m->a);
  TSI_TRY(TSI_ALLOC_SIZED_ZERO(env, t->block, t->bytes, 1));
  TSI_TRY(TSI_ALLOC(env, plan->source, t->entries));
  (void)place_arrays(t, t->block, &m->a);
  put_parts(m);
  return list_entries(env, m, plan->source);
}

/* ---- Checks -------------------------------------------------------------------------------------------- */

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

static tristar_status check_block(tsi_env *env, const tsi_device_rows *t) {
  const tsi_block_array all[] = {
      {"phases", t->phase, (size_t)t->phases * sizeof *t->phase},
      {"tickets", t->ticket, (size_t)t->tickets * sizeof *t->ticket},
      {"bundles", t->bundle, (size_t)t->bundles * sizeof *t->bundle},
      {"ends of rows", t->end, ((size_t)t->n + (size_t)t->updates) * sizeof *t->end},
      {"rows", t->row, (size_t)t->updates * sizeof *t->row},
      {"columns", t->column, (size_t)(t->entries - t->narrow) * sizeof *t->column},
      {"short columns", t->short_column, (size_t)t->narrow * sizeof *t->short_column}};
  const size_t count = sizeof all / sizeof *all,
               outside = tsi_block_find_outside(t->block, t->bytes, all, count);
  if (outside < count) BROKEN("the %s are not in the block of %zu bytes", all[outside].name, t->bytes);
  return TRISTAR_OK;
}

/* ---- Phases and tickets -------------------------------------------------------------------------------- */

static tristar_status check_tickets(tsi_env *env, const tsi_device_rows *t) {
  tsi_index tickets = 0, bundles = 0;
  for (tsi_index p = 0; p < t->phases; p++) {
    const tsi_device_phase *phase = &t->phase[p];
    if (phase->kind < TSI_PHASE_SOLVE || phase->kind > TSI_PHASE_UPDATE || phase->ticket != tickets ||
        phase->tickets <= 0 || phase->tickets > t->tickets - tickets)
      BROKEN("phase %d, kind %d, has tickets %d + %d of %d", p, phase->kind, phase->ticket, phase->tickets,
             t->tickets);
    for (const tsi_index end = tickets + phase->tickets; tickets < end; tickets++) {
      const tsi_device_row_ticket *ticket = &t->ticket[tickets];
      if (ticket->phase != p || ticket->bundle != bundles || ticket->bundles <= 0 ||
          ticket->bundles > TSI_TICKET_BUNDLES || ticket->bundles > t->bundles - bundles)
        BROKEN("ticket %d of phase %d has bundles %d + %d of %d", tickets, ticket->phase, ticket->bundle,
               ticket->bundles, t->bundles);
      bundles += ticket->bundles;
    }
  }
  if (tickets != t->tickets || bundles != t->bundles)
    BROKEN("%d of %d tickets and %d of %d bundles are in phases", tickets, t->tickets, bundles, t->bundles);
  return TRISTAR_OK;
}

tristar_status tsi_device_bundles_check(tsi_env *env, const tsi_device_rows *tables) {
  TSI_TRY(check_block(env, tables));
  return check_tickets(env, tables);
}
