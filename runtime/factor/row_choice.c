/* See row_choice.h. */
#include "runtime/factor/row_choice.h"

#include "partition/blocks.h"
#include "runtime/matrix/entries.h"
#include "runtime/starpu/workers.h"

/* Columns that continue the one before, of all: supernodes that are worth their zeros and their panels. Those
 * of two or three columns, as of finite elements that were not factored, are not. */
#define SUPERNODAL 0.7

/* Rows of a level set on average, from which on its order pays: neighbours do not wait for each other, and
 * lines of the cache are read only a few times more often. */
#define ROWS_A_LEVEL 4

/* Windows on one core, whose vectors do not stay in its caches: they read b and x out of order, line of
 * memory after line of memory several times. That pays where rows are so short that the branch at their ends,
 * whose lengths windows sort, costs more. */
#define WINDOW_ENTRIES 2.5 /* of a row on average, without the diagonal */

static bool is_long_of_long_rows(tsi_index n, tsi_count entries, size_t scalar_bytes) {
  return (double)n * (double)scalar_bytes > TSI_CACHED_VECTOR_BYTES &&
         (double)(entries - n) > WINDOW_ENTRIES * n;
}

/* Lines are sorted: line j + 1 continues line j if it has its entries, but for one end each. */
static bool has_supernodes(const tsi_lines *lines) {
  const double most = (1 - SUPERNODAL) * lines->n; /* lines that need not be joined */
  tsi_index joined = 0;
  for (tsi_index j = 0; j + 1 < lines->n; j++) {
    if (j - joined > most) return false;
    const tsi_index *a = lines->index + lines->ptr[j], *b = lines->index + lines->ptr[j + 1];
    const tsi_count count = lines->ptr[j + 1] - lines->ptr[j], next = lines->ptr[j + 2] - lines->ptr[j + 1];
    const tsi_count common = tsi_count_min(count, next);
    if (common == 0 || (lines->columns ? count != next + 1 : next != count + 1)) continue;
    if (lines->columns ? b[0] != j + 1 : b[next - 1] != j + 1) continue;
    joined += memcmp(lines->columns ? a + 1 : a, b, (size_t)common * sizeof *a) == 0;
  }
  return joined > SUPERNODAL * lines->n;
}

/* PARTITION_AUTO: bytes of a sweep from which on it is shared by several cores, some 150 us of one: several
 * times what another core takes to wake up and to fetch x. Whether it then helps follows from times. */
#define SHARED_BYTES 5e6

static int choose_lanes(tristar_t *ts, double bytes, bool any) {
  return ts->workers.allowed && (!any || bytes > SHARED_BYTES)
             ? tsi_expected_cpu_workers(ts->workers.wishes.workers)
             : 1;
}

tsi_row_choice tsi_row_choose(tristar_t *ts, tsi_index n, tsi_count entries, size_t scalar_bytes,
                              tristar_partition partition) {
  static const tsi_row_way way_of[] = {[TRISTAR_PARTITION_AUTO] = TSI_ROWS_SUPERSTEPS,
                                       [TRISTAR_PARTITION_SUPERSTEPS] = TSI_ROWS_SUPERSTEPS,
                                       [TRISTAR_PARTITION_LEVELS] = TSI_ROWS_LEVELS,
                                       [TRISTAR_PARTITION_WHOLE] = TSI_ROWS_WHOLE,
                                       [TRISTAR_PARTITION_COLUMN] = TSI_ROWS_COLUMN_BLOCKS,
                                       [TRISTAR_PARTITION_ROW] = TSI_ROWS_ROW_BLOCKS,
                                       [TRISTAR_PARTITION_RECURSIVE] = TSI_ROWS_RECURSIVE_BLOCKS};
  tsi_row_options options;
  tsi_row_options_init(&options, TSI_ROWS_WHOLE, 1, scalar_bytes);
  const bool any = partition == TRISTAR_PARTITION_AUTO;
  tsi_row_choice choice = {
      .supernodes = partition == TRISTAR_PARTITION_SUPERNODES, .any = any, .scalar_bytes = scalar_bytes};
  if (choice.supernodes) return choice;
  choice.lanes = choose_lanes(ts, options.row_bytes * n + options.entry_bytes * (double)entries, any);
  choice.way = way_of[partition];
  if (any && choice.lanes == 1 && is_long_of_long_rows(n, entries, scalar_bytes)) choice.way = TSI_ROWS_WHOLE;
  return choice;
}

void tsi_row_choice_look(const tsi_lines *lines, tsi_row_choice *choice) {
  if (choice->any && has_supernodes(lines)) choice->supernodes = true;
}

/* Windows of one core are found from columns as well. */
bool tsi_row_choice_wants_rows(const tsi_row_choice *choice) {
  return !choice->supernodes &&
         (choice->way == TSI_ROWS_LEVELS || (choice->way == TSI_ROWS_SUPERSTEPS && choice->lanes > 1));
}

/* level: see tsi_row_cut_create. across: lines are the columns of the sweep's rows. */
static tristar_status make_cut(tsi_env *env, const tsi_row_choice *choice, const tsi_lines *lines,
                               tsi_row_way way, bool across, const tsi_index *level, tsi_index levels,
                               tsi_row_cut **cut) {
  tsi_row_options options;
  tsi_row_options_init(&options, way, choice->lanes, choice->scalar_bytes);
  if (way >= TSI_ROWS_COLUMN_BLOCKS) options.blocks = tsi_block_default(lines->n, choice->scalar_bytes);
  options.across = across;
  return tsi_row_cut_create(env, lines, &options, level, levels, cut);
}

/* What solves with T itself have as the rows of their sweep: the lines, or what they become in the arrays of
 * `own`. An order is found for one sweep, and reversed for that with the transpose, in which rows of a like
 * length no longer lie together. */
static tristar_status take_rows(tsi_env *env, const tsi_lines *lines, bool lower, tsi_entries *own,
                                tsi_lines *rows) {
  tristar_status status = TRISTAR_OK;
  *rows = *lines;
  if (lines->columns != lower) return TRISTAR_OK;
  const tsi_entries given = {
      .n = lines->n, .ptr = (tsi_count *)lines->ptr, .index = (tsi_index *)lines->index};
  TSI_TRY(tsi_entries_begin(env, lines->n, 0, own));
  own->ptr[lines->n] = lines->ptr[lines->n];
  TSI_TRY(tsi_entries_allocate(env, own));
  tsi_entries_transpose(&given, own);
  *rows = (tsi_lines){lines->n, own->ptr, own->index, !lines->columns};
out:
  return status;
}

static bool is_narrow(tsi_index n, tsi_index levels) {
  return n < (tsi_count)ROWS_A_LEVEL * levels;
}

/* On one core: windows or, where they are left to the library and do not pay, the given order. */
static tristar_status cut_windows(tsi_env *env, const tsi_row_choice *choice, const tsi_lines *lines,
                                  bool across, tsi_row_cut **cut) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(make_cut(env, choice, lines, TSI_ROWS_SUPERSTEPS, across, NULL, 0, cut));
  if (!choice->any || !is_narrow(lines->n, (*cut)->levels)) return TRISTAR_OK;
  tsi_row_cut_destroy(env, cut);
  TSI_TRY(make_cut(env, choice, lines, TSI_ROWS_WHOLE, false, NULL, 0, cut));
out:
  return status;
}

/* On several cores: level sets or supersteps, likewise. */
static tristar_status cut_rows(tsi_env *env, const tsi_row_choice *choice, const tsi_lines *rows,
                               const tsi_index *level, tsi_index levels, tsi_row_cut **cut) {
  tristar_status status = TRISTAR_OK;
  tsi_index *own = NULL;
  if (choice->any && level == NULL) {
    TSI_TRY(TSI_ALLOC(env, own, rows->n));
    levels = tsi_row_levels(rows, own);
    level = own;
  }
  const bool whole = choice->any && is_narrow(rows->n, levels);
  TSI_TRY(make_cut(env, choice, rows, whole ? TSI_ROWS_WHOLE : choice->way, false, level, levels, cut));
out:
  TSI_FREE(env, own);
  return status;
}

tristar_status tsi_row_choice_cut(tsi_env *env, const tsi_row_choice *choice, const tsi_lines *lines,
                                  bool lower, const tsi_index *level, tsi_index levels, tsi_row_cut **cut) {
  tristar_status status = TRISTAR_OK;
  tsi_entries own = {.ptr = NULL};
  tsi_lines rows;
  *cut = NULL;
  if (choice->way == TSI_ROWS_SUPERSTEPS && choice->lanes == 1)
    return cut_windows(env, choice, lines, lines->columns == lower, cut);
  if (!tsi_row_choice_wants_rows(choice))
    return make_cut(env, choice, lines, choice->way, false, NULL, 0, cut);
  TSI_TRY(take_rows(env, lines, lower, &own, &rows));
  TSI_TRY(cut_rows(env, choice, &rows, level, levels, cut));
out:
  tsi_entries_finish(env, &own);
  return status;
}
