/* See row_choice.h. */
#include "runtime/rows/row_choice.h"

#include "partition/cut/blocks.h"
#include "runtime/exec/starpu/workers.h"

/* Part of the columns that continue the column before: from this part on supernodes are worth their zeros and
 * their panels. Supernodes of two or three columns, as of finite elements that were not factored, are not. */
#define SUPERNODAL 0.7

/* Windows on one core, with vectors that do not stay in its caches. Windows read b and x out of order, each
 * cache line several times. This is worth it for short rows. There the branch at the end of a row, whose
 * lengths windows sort, and the wait for the previous row cost more. Windows take 0.4 to 1 times as long with
 * three entries per row, as in 7-point stencils, and as long or longer with four. */
#define WINDOW_ENTRIES 3.5 /* of a row on average, without the diagonal */

/* Average rows of a level set from which on the order by level sets is worth it: neighbours do not wait for
 * each other, and cache lines are read only a few times more often. */
#define ROWS_A_LEVEL 4

tsi_row_way tsi_row_way_of_one(tsi_index n, tsi_count entries, size_t scalar_bytes) {
  const bool is_long = (double)n * (double)scalar_bytes > TSI_CACHED_VECTOR_BYTES;
  return is_long && (double)(entries - n) > WINDOW_ENTRIES * n ? TSI_ROWS_WHOLE : TSI_ROWS_SUPERSTEPS;
}

bool tsi_has_supernodes(const tsi_line_parts *lines) {
  const tsi_count *begin = lines->begin, *end = lines->end;
  const double most = (1 - SUPERNODAL) * lines->n; /* lines that need not be joined */
  tsi_index joined = 0;
  for (tsi_index j = 0; j + 1 < lines->n; j++) {
    if (j - joined > most) return false;
    const tsi_index *a = lines->index + begin[j], *b = lines->index + begin[j + 1];
    const tsi_count count = end[j] + lines->more - begin[j], next = end[j + 1] + lines->more - begin[j + 1];
    const tsi_count common = tsi_count_min(count, next);
    if (common == 0 || (lines->columns ? count != next + 1 : next != count + 1)) continue;
    if (lines->columns ? b[0] != j + 1 : b[next - 1] != j + 1) continue;
    joined += memcmp(lines->columns ? a + 1 : a, b, (size_t)common * sizeof *a) == 0;
  }
  return joined > SUPERNODAL * lines->n;
}

/* PARTITION_AUTO: bytes of a sweep from which on several cores share it. One core takes about 80 us for them:
 * several times the time in which another core wakes up and fetches x. Measured times then decide whether it
 * helps. */
#define SHARED_BYTES 3.5e6
/* Bytes that a core processes during one wait for others: about 3 us. */
#define WAIT_BYTES 100e3

/* Average bytes of a sweep for each lane, if there are more lanes than StarPU's workers. The first superstep
 * of a sweep, of up to 256 kB per lane, may have one row for which all others wait, and then uses one lane.
 */
#define LANE_BYTES 1e6

static int choose_lanes(tristar_t *ts, double bytes, bool any) {
  if (!ts->workers.allowed || (any && bytes <= SHARED_BYTES)) return 1;
  const int requested = ts->workers.wishes.workers, workers = tsi_expected_cpu_workers(requested);
  const double filled = bytes / LANE_BYTES;
  if (filled <= workers) return tsi_index_min(workers, TSI_ROW_LANES);
  const int most = tsi_index_min(tsi_expected_helping_cores(requested), TSI_ROW_LANES);
  return filled < most ? (int)filled : most;
}

/* Way of each partition by rows; the entry of SUPERNODES is not used. */
static const tsi_row_way way_of[] = {[TRISTAR_PARTITION_AUTO] = TSI_ROWS_SUPERSTEPS,
                                     [TRISTAR_PARTITION_SUPERSTEPS] = TSI_ROWS_SUPERSTEPS,
                                     [TRISTAR_PARTITION_LEVELS] = TSI_ROWS_LEVELS,
                                     [TRISTAR_PARTITION_WHOLE] = TSI_ROWS_WHOLE,
                                     [TRISTAR_PARTITION_COLUMN] = TSI_ROWS_COLUMN_BLOCKS,
                                     [TRISTAR_PARTITION_ROW] = TSI_ROWS_ROW_BLOCKS,
                                     [TRISTAR_PARTITION_RECURSIVE] = TSI_ROWS_RECURSIVE_BLOCKS};
enum { PARTITIONS = sizeof way_of / sizeof *way_of };

tristar_status tsi_partition_check(tsi_env *env, tristar_partition partition) {
  if ((unsigned)partition >= PARTITIONS)
    TSI_FAIL(env, TRISTAR_ERR_ARGUMENT, "partition is %d", (int)partition);
  return TRISTAR_OK;
}

tristar_partition tsi_partition_of_way(tsi_row_way way) {
  int p = 0;
  while (p == TRISTAR_PARTITION_AUTO || p == TRISTAR_PARTITION_SUPERNODES || way_of[p] != way) p++;
  return (tristar_partition)p;
}

tsi_row_choice tsi_row_choose(tristar_t *ts, tsi_index n, tsi_count entries, size_t scalar_bytes,
                              tristar_partition partition) {
  tsi_row_options options;
  tsi_row_options_init(&options, TSI_ROWS_WHOLE, 1, scalar_bytes);
  const bool any = partition == TRISTAR_PARTITION_AUTO;
  tsi_row_choice choice = {
      .supernodes = partition == TRISTAR_PARTITION_SUPERNODES, .any = any, .scalar_bytes = scalar_bytes};
  if (choice.supernodes) return choice;
  choice.lanes = choose_lanes(ts, tsi_row_sweep_bytes(&options, n, entries), any);
  choice.way = any && choice.lanes == 1 ? tsi_row_way_of_one(n, entries, scalar_bytes) : way_of[partition];
  return choice;
}

void tsi_row_choice_look(const tsi_lines *lines, tsi_row_choice *choice) {
  const tsi_line_parts all = {lines->n, lines->ptr, lines->ptr + 1, 0, lines->index, lines->columns};
  if (choice->any && tsi_has_supernodes(&all)) choice->supernodes = true;
}

/* Number of inspected lines for the choice to turn them into rows. */
#define LINES_LOOKED_AT 128

/* Whether lines are scattered: the middle entry of many lines is too far from the line to be found in a
 * cache. */
static bool are_scattered(const tsi_lines *lines, size_t scalar_bytes) {
  const tsi_index step = lines->n / LINES_LOOKED_AT + 1;
  const double row_bytes =
      (double)lines->ptr[lines->n] / lines->n * (double)(scalar_bytes + sizeof(tsi_index));
  tsi_index far = 0, seen = 0;
  for (tsi_index j = 0; j < lines->n; j += tsi_index_min(step, lines->n - j)) {
    const tsi_count first = lines->ptr[j], end = lines->ptr[j + 1];
    if (end - first < 2) continue;
    const tsi_index other = lines->index[(first + end) / 2];
    seen++;
    const double distance = lines->columns ? (double)other - j : (double)j - other;
    far += row_bytes * distance > 512e3;
  }
  return far > seen / 2;
}

bool tsi_row_choice_needs_rows(const tsi_row_choice *choice, const tsi_lines *lines) {
  return !choice->supernodes && choice->lanes > 1 &&
         (choice->way == TSI_ROWS_LEVELS || choice->way == TSI_ROWS_SUPERSTEPS) &&
         !are_scattered(lines, choice->scalar_bytes);
}

/* Whether lanes that share the sweep would take longer than one core: lanes wait once per chunk. */
static bool waits_too_often(const tsi_row_cut *cut, const tsi_row_options *options, tsi_count entries) {
  const double bytes = tsi_row_sweep_bytes(options, cut->n, entries);
  return cut->way == TSI_ROWS_SUPERSTEPS && bytes * (cut->lanes - 1) < WAIT_BYTES * cut->count &&
         cut->lanes > 1;
}

tristar_status tsi_row_choice_cut_for_one(tsi_env *env, const tsi_lines *lines, bool lower,
                                          size_t scalar_bytes, tsi_row_cut **cut) {
  const tsi_row_way way = tsi_row_way_of_one(lines->n, lines->ptr[lines->n], scalar_bytes);
  tsi_row_options options;
  tsi_row_options_init(&options, way, 1, scalar_bytes);
  options.rows_a_level = ROWS_A_LEVEL;
  options.across = lines->columns == lower;
  return tsi_row_cut_create(env, lines, &options, NULL, 0, cut);
}

tristar_status tsi_row_choice_cut(tsi_env *env, const tsi_row_choice *choice, const tsi_lines *lines,
                                  bool lower, const tsi_index *level, tsi_index levels, tsi_row_cut **cut) {
  const tsi_count entries = lines->ptr[lines->n];
  tsi_row_options options;
  tsi_row_options_init(&options, choice->way, choice->lanes, choice->scalar_bytes);
  if (choice->way >= TSI_ROWS_COLUMN_BLOCKS)
    options.blocks = tsi_block_default(lines->n, choice->scalar_bytes);
  if (choice->any) options.rows_a_level = ROWS_A_LEVEL;
  options.across = lines->columns == lower;
  TSI_TRY(tsi_row_cut_create(env, lines, &options, level, levels, cut));
  if (!choice->any || !waits_too_often(*cut, &options, entries)) return TRISTAR_OK;
  TSI_FREE(env, *cut);
  return tsi_row_choice_cut_for_one(env, lines, lower, choice->scalar_bytes, cut);
}
