/* Verifies device tables of rows: each entry of the triangle is in them once, and no row is read before it is
 * solved. */
#include "runtime/exec/device/device_bundles.h"

#define BROKEN(...) TSI_FAIL(env, TRISTAR_ERR_INTERNAL, __VA_ARGS__)

/* ---- Bundles, in their order --------------------------------------------------------------------------- */

/* Writers of a row of the workspace. */
typedef struct row_state {
  tsi_index written; /* last phase that wrote it; TSI_NONE: none */
  tsi_index solved;  /* bundle that solved it; TSI_NONE: none yet */
} row_state;

typedef struct checking {
  tsi_env *env;
  const tsi_device_row_plan *plan;
  const tsi_device_rows *t;
  bool by_rows;                  /* lines are the rows of the sweep */
  tsi_count given;               /* entries of the lines */
  const tsi_index *line, *index; /* line and index of each given entry */
  bool *listed;                  /* given entries found so far */
  row_state *row;                /* n */
  tsi_index solved, updated;     /* numbers of rows up to the bundle */
  tsi_count entries, narrow;     /* numbers of entries up to the row or bundle */
  const tsi_device_phase *phase; /* current phase */
  tsi_index phase_number, bundle;
} checking;

static tsi_index column_of(const checking *c, const tsi_device_bundle *b, tsi_count e) {
  const tsi_count at = b->at + e - b->entry;
  return b->narrow ? b->base + c->t->short_column[at] : c->t->column[at];
}

/* Checks entry e of row i. */
static tristar_status check_entry(const checking *c, const tsi_device_bundle *b, tsi_index i, tsi_count e) {
  tsi_env *env = c->env;
  const tsi_index j = column_of(c, b, e);
  const tsi_count source = c->plan->source[e];
  if (j < 0 || j >= c->t->n) BROKEN("row %d has an entry in column %d", i, j);
  if (source < 0 || source >= c->given || c->listed[source])
    BROKEN("entry %lld of row %d is the given one %lld", (long long)e, i, (long long)source);
  const tsi_index line = c->line[source], other = c->index[source];
  if (c->plan->order[i] != (c->by_rows ? line : other) || c->plan->order[j] != (c->by_rows ? other : line))
    BROKEN("entry (%d, %d) is that of line %d, index %d", i, j, line, other);
  if (c->row[j].solved == TSI_NONE ||
      (c->row[j].written == c->phase_number && c->phase->kind != TSI_PHASE_FREE))
    BROKEN("row %d reads row %d in phase %d, before it is solved", i, j, c->phase_number);
  c->listed[source] = true;
  return TRISTAR_OK;
}

/* Checks listed row k, whose entries begin at c->entries. */
static tristar_status check_row(checking *c, const tsi_device_bundle *b, tsi_index k) {
  tsi_env *env = c->env;
  const tsi_device_rows *t = c->t;
  const tsi_index i = k < t->n ? k : t->row[k - t->n];
  const tsi_count end = b->entry + t->end[k], count = end - c->entries;
  if (i < 0 || i >= t->n) BROKEN("listed row %d is row %d of %d", k, i, t->n);
  if (count < 0 || end > t->entries || tsi_device_row_threads(count) != b->threads)
    BROKEN("row %d: %lld entries for %d threads", i, (long long)count, b->threads);
  if (c->row[i].solved != TSI_NONE || c->row[i].written == c->phase_number ||
      b->fresh != (c->row[i].written == TSI_NONE))
    BROKEN("row %d in phase %d: written in phase %d, solved by bundle %d", i, c->phase_number,
           c->row[i].written, c->row[i].solved);
  for (; c->entries < end; c->entries++) TSI_TRY(check_entry(c, b, i, c->entries));
  return TRISTAR_OK;
}

static tristar_status check_bundle(checking *c) {
  tsi_env *env = c->env;
  const tsi_device_rows *t = c->t;
  const tsi_device_bundle *b = &t->bundle[c->bundle];
  const bool update = c->phase->kind == TSI_PHASE_UPDATE;
  const tsi_index first = update ? t->n + c->updated : c->solved,
                  left = update ? t->updates - c->updated : t->n - c->solved;
  if (b->first != first || b->rows == 0 || b->rows > left || b->rows * b->threads > t->lanes)
    BROKEN("bundle %d has listed rows %d + %d for %d threads each", c->bundle, b->first, b->rows, b->threads);
  if (b->entry != c->entries || b->at != (b->narrow ? c->narrow : c->entries - c->narrow))
    BROKEN("bundle %d begins with entry %lld, column %lld", c->bundle, (long long)b->entry, (long long)b->at);
  tsi_count longest = 0;
  for (tsi_index k = 0; k < b->rows; k++) {
    const tsi_count begin = c->entries;
    TSI_TRY(check_row(c, b, first + k));
    longest = tsi_count_max(longest, c->entries - begin);
  }
  if (b->steps != (longest + b->threads - 1) / b->threads)
    BROKEN("bundle %d: %d steps of %d threads for %lld entries", c->bundle, b->steps, b->threads,
           (long long)longest);
  for (tsi_index k = first; k < first + b->rows; k++) {
    row_state *row = &c->row[update ? t->row[k - t->n] : k];
    row->written = c->phase_number;
    if (!update) row->solved = c->bundle;
  }
  c->narrow += b->narrow ? c->entries - b->entry : 0;
  *(update ? &c->updated : &c->solved) += b->rows;
  return TRISTAR_OK;
}

static tristar_status check_bundles(checking *c) {
  tsi_env *env = c->env;
  const tsi_device_rows *t = c->t;
  tsi_count diagonal = 0;
  for (tsi_index k = 0; k < t->tickets; k++) {
    c->phase_number = t->ticket[k].phase;
    c->phase = &t->phase[c->phase_number];
    for (tsi_index b = 0; b < t->ticket[k].bundles; b++, c->bundle++) TSI_TRY(check_bundle(c));
  }
  for (tsi_count e = 0; e < c->given; e++) diagonal += c->line[e] == c->index[e];
  if (c->solved != t->n || c->updated != t->updates || c->entries != t->entries || c->narrow != t->narrow ||
      c->entries != c->given - diagonal)
    BROKEN("%d of %d rows are solved, %lld of %lld entries listed", c->solved, t->n, (long long)c->entries,
           (long long)(c->given - diagonal));
  return TRISTAR_OK;
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static tristar_status check_order(tsi_env *env, const tsi_device_row_plan *plan) {
  const tsi_index n = plan->tables.n;
  TSI_SCRATCH_ZERO(env, bool, seen, n);
  for (tsi_index k = 0; k < n; k++) {
    const tsi_index i = plan->order[k];
    if (i < 0 || i >= n || seen[i]) BROKEN("row %d is the given row %d", k, i);
    seen[i] = true;
  }
  return TRISTAR_OK;
}

tristar_status tsi_device_rows_check(tsi_env *env, const tsi_device_row_plan *plan, const tsi_lines *lines,
                                     bool backward) {
  const tsi_device_rows *t = &plan->tables;
  checking c = {.env = env,
                .plan = plan,
                .t = t,
                .by_rows = lines->columns == backward,
                .given = lines->ptr[lines->n],
                .index = lines->index};
  if (t->n != lines->n) BROKEN("%d rows of %d", t->n, lines->n);
  TSI_TRY(tsi_device_bundles_check(env, t));
  TSI_TRY(check_order(env, plan));
  TSI_SCRATCH(env, tsi_index, line, c.given);
  TSI_SCRATCH_ZERO(env, bool, listed, c.given);
  TSI_SCRATCH(env, row_state, row, t->n);
  for (tsi_index j = 0; j < t->n; j++) {
    row[j] = (row_state){TSI_NONE, TSI_NONE};
    for (tsi_count e = lines->ptr[j]; e < lines->ptr[j + 1]; e++) line[e] = j;
  }
  c.line = line;
  c.listed = listed;
  c.row = row;
  return check_bundles(&c);
}
