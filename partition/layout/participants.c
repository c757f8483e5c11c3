/* Lists the participants of each chunk: see participants.h. */
#include "partition/layout/participants.h"

#include "runtime/base/sort.h"

/* Lists under construction: pairs (chunk, process), first counted, then written. */
typedef struct builder {
  const tsi_layout *layout;
  tsi_index z;
  tsi_participant_list *holders, *contributors;
  bool counting;
} builder;

static void add(const builder *b, tsi_participant_list *list, tsi_index chunk, tsi_index process) {
  const tsi_index anchor = b->layout->row[chunk] + b->layout->px * b->layout->column[chunk];
  if (process == anchor) return;
  if (!b->counting) list->process[list->ptr[chunk]] = process;
  list->ptr[chunk]++;
}

/* Adds all pairs, with repetitions. */
static void add_all(const builder *b) {
  const tsi_layout *layout = b->layout;
  const tsi_chunks *chunks = layout->chunks;
  for (tsi_index c = 0; c < chunks->count; c++) {
    if (!tsi_layout_holds(layout, b->z, layout->node[c])) continue;
    for (tsi_count q = chunks->off_ptr[c]; q < chunks->off_ptr[c + 1];) {
      const tsi_index target = tsi_chunk_of(chunks, chunks->off[q]),
                      maker = tsi_layout_maker(layout, c, target);
      add(b, b->contributors, target, maker);
      if (!layout->whole[c]) add(b, b->holders, c, maker);
      while (q < chunks->off_ptr[c + 1] && chunks->off[q] < chunks->column[target + 1]) q++;
    }
  }
}

/* Converts the counts in ptr[c] to positions. */
static void counts_to_places(tsi_participant_list *list, tsi_index chunks) {
  tsi_count at = 0;
  for (tsi_index c = 0; c <= chunks; c++) {
    const tsi_count count = c < chunks ? list->ptr[c] : 0;
    list->ptr[c] = at;
    at += count;
  }
}

/* Keeps each process once, in cyclic order from the anchor on. On entry ptr[c] is the end of list c. mark: a
 * flag for each process of the grid. */
static void tidy(const tsi_layout *layout, tsi_participant_list *list, bool *mark) {
  const tsi_index grid = layout->px * layout->py, chunks = layout->chunks->count;
  tsi_count begin = 0, at = 0;
  for (tsi_index c = 0; c < chunks; c++) {
    const tsi_count end = list->ptr[c];
    const tsi_index anchor = layout->row[c] + layout->px * layout->column[c];
    const tsi_count first = at;
    for (tsi_count q = begin; q < end; q++) {
      if (mark[list->process[q]]) continue;
      mark[list->process[q]] = true;
      list->process[at++] = (list->process[q] - anchor + grid) % grid;
    }
    for (tsi_count q = first; q < at; q++) mark[(list->process[q] + anchor) % grid] = false;
    tsi_sort_indices(list->process + first, at - first);
    for (tsi_count q = first; q < at; q++) list->process[q] = (list->process[q] + anchor) % grid;
    list->ptr[c] = first;
    begin = end;
  }
  list->ptr[chunks] = at;
}

tristar_status tsi_participants_create(tsi_env *env, const tsi_layout *layout, tsi_index z,
                                       tsi_participants **out) {
  const tsi_index chunks = layout->chunks->count;
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_participants, participants, 1);
  TSI_TRY(TSI_ALLOC_ZERO_IN(participants, participants->holders.ptr, (tsi_count)chunks + 1));
  TSI_TRY(TSI_ALLOC_ZERO_IN(participants, participants->contributors.ptr, (tsi_count)chunks + 1));
  TSI_SCRATCH_ZERO(env, bool, mark, layout->px * layout->py);
  builder b = {layout, z, &participants->holders, &participants->contributors, true};
  add_all(&b);
  counts_to_places(&participants->holders, chunks);
  counts_to_places(&participants->contributors, chunks);
  TSI_TRY(TSI_ALLOC_IN(participants, participants->holders.process, participants->holders.ptr[chunks]));
  TSI_TRY(
      TSI_ALLOC_IN(participants, participants->contributors.process, participants->contributors.ptr[chunks]));
  b.counting = false;
  add_all(&b);
  tidy(layout, &participants->holders, mark);
  tidy(layout, &participants->contributors, mark);
  *out = tsi_take(&participants);
  return TRISTAR_OK;
}
