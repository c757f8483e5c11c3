/* See device_rows.h. */
#include "runtime/execute/device_rows.h"

#include "partition/block_features.h"
#include "runtime/execute/device_block.h"

#define NEAR 65536 /* columns that 16 bits can count */

/* Arrays of the tables while they are written. */
typedef struct arrays {
  tsi_device_phase *phase;
  tsi_device_row_ticket *ticket;
  tsi_device_bundle *bundle;
  tsi_index *end, *row, *column;
  uint16_t *short_column;
} arrays;

/* Tables as they are made. Rows are numbered by the pattern, listed rows by `rows` or as the tables have
 * them. */
typedef struct making {
  const tsi_block_rows *rows; /* the parts of the cut, a chunk each */
  const tsi_block_cut *cut;
  tsi_device_row_options options;
  tsi_index *level;   /* n: of each row, in its block */
  bool *fresh;        /* listed rows: the first time that the row is listed */
  tsi_index *turn;    /* listed rows, part by part in the order of bundles */
  tsi_index *number;  /* that the tables give to each listed row */
  tsi_index *rank;    /* n: that the tables give to each row */
  tsi_count *next;    /* listed rows: where its next entry goes */
  tsi_device_rows *t; /* what has been made, its numbers; phases are counted on while bundles are made */
  arrays a;           /* NULL: things are counted only */
} making;

static tsi_count row_entries(const making *m, tsi_index k) {
  return m->rows->ptr[k + 1] - m->rows->ptr[k];
}

static bool is_triangle(const making *m, tsi_index part) {
  return m->cut->part[m->rows->part[part]].kind == TSI_BLOCK_TRIANGLE;
}

/* ---- The order of listed rows -------------------------------------------------------------------------- */

/* What rows of a bundle have in common. */
enum { KEYS = 2 * 6 };
static int key_of(const making *m, tsi_index k) {
  return 2 * __builtin_ctz((unsigned)tsi_device_row_threads(row_entries(m, k))) + m->fresh[k];
}

/* Turns begin .. end - 1: the listed rows of the same number, by their keys. */
static void sort_rows(const making *m, tsi_index begin, tsi_index end) {
  tsi_index first[KEYS + 1] = {0};
  for (tsi_index k = begin; k < end; k++) first[key_of(m, k) + 1]++;
  first[0] = begin;
  for (int q = 0; q < KEYS; q++) first[q + 1] += first[q];
  for (tsi_index k = begin; k < end; k++) m->turn[first[key_of(m, k)]++] = k;
}

/* The listed rows from `begin` on that have the same level as that one, or all of a rectangle. Listed rows of
 * a triangle come level by level. */
static tsi_index level_end(const making *m, tsi_index part, tsi_index begin) {
  const tsi_index *row = m->rows->row, end = (tsi_index)m->rows->start[part + 1];
  tsi_index k = begin + 1;
  if (!is_triangle(m, part)) return end;
  while (k < end && m->level[row[k]] == m->level[row[begin]]) k++;
  return k;
}

static void number_rows(const making *m, tsi_index *seen) {
  tsi_index solved = 0, updated = m->t->n;
  for (tsi_index i = 0; i < m->t->n; i++) seen[i] = 0;
  for (tsi_count k = 0; k < m->rows->start[m->rows->count]; k++) m->fresh[k] = seen[m->rows->row[k]]++ == 0;
  for (tsi_index p = 0; p < m->rows->count; p++) {
    const tsi_index end = (tsi_index)m->rows->start[p + 1];
    for (tsi_index k = (tsi_index)m->rows->start[p], next; k < end; k = next) {
      next = level_end(m, p, k);
      sort_rows(m, k, next);
    }
    for (tsi_index k = (tsi_index)m->rows->start[p]; k < end; k++)
      if (is_triangle(m, p))
        m->number[m->turn[k]] = m->rank[m->rows->row[m->turn[k]]] = solved++;
      else
        m->number[m->turn[k]] = updated++;
  }
}

/* ---- Bundles, tickets, phases -------------------------------------------------------------------------- */

/* The bundle of the turns from `begin` on, of at most `end`; gives where it ends. */
static tsi_index bundle_end(const making *m, tsi_index begin, tsi_index end) {
  const int key = key_of(m, m->turn[begin]);
  const tsi_index most = m->options.lanes / tsi_device_row_threads(row_entries(m, m->turn[begin]));
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
                             .fresh = m->fresh[m->turn[begin]]};
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

/* A bundle of the turns begin .. end - 1, in the last ticket if it has room, in the last phase. */
static void put_bundle(making *m, tsi_index begin, tsi_index end, tsi_index *room) {
  tsi_count entries;
  const tsi_device_bundle bundle = describe(m, begin, end, &entries);
  if (*room == 0) {
    if (m->a.ticket) m->a.ticket[m->t->tickets] = (tsi_device_row_ticket){m->t->phases - 1, m->t->bundles, 0};
    if (m->a.phase) m->a.phase[m->t->phases - 1].tickets++;
    m->t->tickets++;
    *room = TSI_TICKET_BUNDLES;
  }
  --*room;
  if (m->a.bundle) {
    m->a.ticket[m->t->tickets - 1].bundles++;
    m->a.bundle[m->t->bundles] = bundle;
    write_rows(m, &bundle, begin);
  }
  m->t->bundles++;
  m->t->entries += entries;
  m->t->narrow += bundle.narrow ? entries : 0;
}

static tsi_device_phase_kind kind_of(const making *m, tsi_index part) {
  const tsi_count first = m->rows->start[part], end = m->rows->start[part + 1];
  tsi_device_row_way way = m->options.way;
  if (!is_triangle(m, part)) return TSI_PHASE_UPDATE;
  if (way == TSI_DEVICE_ROWS_AUTO)
    way = tsi_device_row_choose((tsi_index)(end - first), m->rows->ptr[end] - m->rows->ptr[first],
                                m->level[m->rows->row[end - 1]] + 1);
  return way == TSI_DEVICE_ROWS_FREE ? TSI_PHASE_FREE : TSI_PHASE_SOLVE;
}

static void put_part(making *m, tsi_index part) {
  const tsi_device_phase_kind kind = kind_of(m, part);
  const tsi_index end = (tsi_index)m->rows->start[part + 1];
  tsi_index room = 0; /* of the last ticket */
  bool open = false;  /* the last phase goes on */
  for (tsi_index k = (tsi_index)m->rows->start[part], next; k < end; k = next) {
    next = level_end(m, part, k);
    if (!open) {
      if (m->a.phase) m->a.phase[m->t->phases] = (tsi_device_phase){kind, m->t->tickets, 0};
      m->t->phases++;
      room = 0;
    }
    open = kind == TSI_PHASE_FREE;
    for (tsi_index q = k, then; q < next; q = then) {
      then = bundle_end(m, q, next);
      put_bundle(m, q, then, &room);
    }
  }
}

static void put_parts(making *m) {
  m->t->phases = m->t->tickets = m->t->bundles = 0;
  m->t->entries = m->t->narrow = 0;
  for (tsi_index p = 0; p < m->rows->count; p++) put_part(m, p);
}

/* ---- Entries ------------------------------------------------------------------------------------------- */

/* Entries in the order of the given matrix, each to the end of its row. bundle: of each listed row of the
 * tables; at: listed row and column of each entry as it is given. */
typedef struct given_entry {
  tsi_index listed, column; /* listed TSI_NONE: on the diagonal */
} given_entry;

static void put_entries(const making *m, const tsi_block_pattern *pattern, const tsi_index *bundle,
                        tsi_count given, given_entry *at, tsi_count *source) {
  const tsi_block_rows *rows = m->rows;
  for (tsi_count e = 0; e < given; e++) at[e].listed = TSI_NONE;
  for (tsi_index k = 0; k < (tsi_index)rows->start[rows->count]; k++)
    for (tsi_count e = rows->ptr[k]; e < rows->ptr[k + 1]; e++)
      at[pattern->source[rows->entry[e]]] = (given_entry){k, m->rank[rows->column[e]]};
  for (tsi_count e = 0; e < given; e++) {
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

static tristar_status list_entries(tsi_env *env, const making *m, const tsi_block_pattern *pattern,
                                   tsi_count given, tsi_count *source) {
  tristar_status status = TRISTAR_OK;
  tsi_index *bundle = NULL;
  given_entry *at = NULL;
  TSI_TRY(TSI_ALLOC(env, bundle, (tsi_count)m->t->n + m->t->updates));
  TSI_TRY(TSI_ALLOC(env, at, given));
  for (tsi_index b = 0; b < m->t->bundles; b++)
    for (tsi_index k = 0; k < m->a.bundle[b].rows; k++) bundle[m->a.bundle[b].first + k] = b;
  put_entries(m, pattern, bundle, given, at, source);
out:
  TSI_FREE(env, bundle);
  TSI_FREE(env, at);
  return status;
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

static tristar_status allocate_lists(tsi_env *env, making *m, const tsi_block_pattern *pattern) {
  tristar_status status = TRISTAR_OK;
  const tsi_count listed = m->rows->start[m->rows->count];
  tsi_index *block = NULL;
  if (listed > TSI_INDEX_MAX)
    TSI_FAIL(env, TRISTAR_ERR_TOO_LARGE, "%lld rows of triangles and rectangles are beyond %d",
             (long long)listed, TSI_INDEX_MAX);
  m->t->updates = (tsi_index)listed - m->t->n;
  TSI_TRY(TSI_ALLOC(env, block, m->t->n));
  TSI_TRY(TSI_ALLOC(env, m->level, m->t->n));
  TSI_TRY(TSI_ALLOC(env, m->rank, m->t->n));
  TSI_TRY(TSI_ALLOC(env, m->fresh, listed));
  TSI_TRY(TSI_ALLOC(env, m->turn, listed));
  TSI_TRY(TSI_ALLOC(env, m->number, listed));
  TSI_TRY(TSI_ALLOC(env, m->next, listed));
  tsi_block_owners(m->cut, block);
  tsi_block_levels(&pattern->lines, block, m->level);
  number_rows(m, block);
out:
  TSI_FREE(env, block);
  return status;
}

static void release_lists(tsi_env *env, making *m) {
  TSI_FREE(env, m->level);
  TSI_FREE(env, m->rank);
  TSI_FREE(env, m->fresh);
  TSI_FREE(env, m->turn);
  TSI_FREE(env, m->number);
  TSI_FREE(env, m->next);
}

static tristar_status make_tables(tsi_env *env, making *m, const tsi_block_pattern *pattern, tsi_count given,
                                  const tsi_index *order, tsi_device_row_plan *plan) {
  tristar_status status = TRISTAR_OK;
  tsi_device_rows *t = m->t;
  TSI_TRY(allocate_lists(env, m, pattern));
  put_parts(m);
  t->bytes = place_arrays(t, NULL, &m->a);
  TSI_TRY(tsi_allocate_zero(env, t->bytes, 1, __func__, __FILE__, __LINE__, &t->block));
  TSI_TRY(TSI_ALLOC(env, plan->order, t->n));
  TSI_TRY(TSI_ALLOC(env, plan->source, t->entries));
  (void)place_arrays(t, t->block, &m->a);
  put_parts(m);
  TSI_TRY(list_entries(env, m, pattern, given, plan->source));
  for (tsi_index i = 0; i < t->n; i++) plan->order[m->rank[i]] = order[i];
out:
  release_lists(env, m);
  return status;
}

/* order: n; the given row that the sweep takes as k-th. */
static tristar_status make_parts(tsi_env *env, const tsi_lines *of_sweep, bool backward,
                                 const tsi_row_cut *cut, tsi_index *order, tsi_block_cut **parts) {
  tristar_status status = TRISTAR_OK;
  const bool blocks = cut->way >= TSI_ROWS_COLUMN_BLOCKS;
  for (tsi_index k = 0; k < cut->n; k++) order[k] = cut->order[backward ? cut->n - 1 - k : k];
  TSI_TRY(tsi_block_cut_create(env, cut->n, tsi_block_scheme_of(cut->way),
                               blocks ? tsi_index_max(1, cut->count) : 1, parts));
  if (blocks) TSI_TRY(tsi_block_reorder(env, *parts, of_sweep, true, order));
out:
  return status;
}

tristar_status tsi_device_rows_create(tsi_env *env, const tsi_lines *lines, bool backward,
                                      const tsi_row_cut *cut, const tsi_device_row_options *options,
                                      tsi_device_row_plan *plan) {
  tristar_status status = TRISTAR_OK;
  const tsi_lines of_sweep = {lines->n, lines->ptr, lines->index, lines->columns != backward};
  tsi_block_pattern *pattern = NULL;
  tsi_block_cut *parts = NULL;
  tsi_block_rows *rows = NULL;
  tsi_index *order = NULL;
  *plan = (tsi_device_row_plan){.tables = {.n = lines->n, .lanes = options->lanes}};
  TSI_TRY(TSI_ALLOC(env, order, lines->n));
  TSI_TRY(make_parts(env, &of_sweep, backward, cut, order, &parts));
  TSI_TRY(tsi_block_pattern_create(env, &of_sweep, order, &pattern));
  TSI_TRY(tsi_block_rows_create(env, parts, pattern, 1, 1, &rows));
  making m = {.rows = rows, .cut = parts, .options = *options, .t = &plan->tables};
  TSI_TRY(make_tables(env, &m, pattern, lines->ptr[lines->n], order, plan));
  if (env->check) TSI_TRY(tsi_device_rows_check(env, plan, lines, backward));
out:
  tsi_block_rows_destroy(env, &rows);
  tsi_block_cut_destroy(env, &parts);
  tsi_block_pattern_destroy(env, &pattern);
  TSI_FREE(env, order);
  if (status != TRISTAR_OK) tsi_device_rows_destroy(env, plan);
  return status;
}

void tsi_device_rows_destroy(tsi_env *env, tsi_device_row_plan *plan) {
  TSI_FREE(env, plan->tables.block);
  TSI_FREE(env, plan->order);
  TSI_FREE(env, plan->source);
  *plan = (tsi_device_row_plan){.order = NULL};
}

void tsi_device_rows_fill(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *values,
                          void *packed) {
  for (tsi_count e = 0; e < plan->tables.entries; e++)
    memcpy((char *)packed + (size_t)e * scalar_bytes,
           (const char *)values + (size_t)plan->source[e] * scalar_bytes, scalar_bytes);
}

void tsi_device_rows_place(const tsi_device_row_plan *plan, size_t scalar_bytes, const void *given,
                           void *placed) {
  for (tsi_index i = 0; i < plan->tables.n; i++)
    memcpy((char *)placed + (size_t)i * scalar_bytes,
           (const char *)given + (size_t)plan->order[i] * scalar_bytes, scalar_bytes);
}
