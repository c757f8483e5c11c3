/* Chooses chunks and slices, and lists their rows: see chunks.h. */
#include "partition/cut/chunks.h"

#include "runtime/base/sort.h"

#define ROOT_SLICES                                                                                          \
  16 /* slices of a root panel; about the number of workers that the top of the tree can keep busy */

#define CEILING_MOST 8e6

void tsi_chunk_options_init(tsi_chunk_options *options, double floor_bytes, tsi_count entries,
                            size_t scalar_bytes) {
  const double whole = 2 * floor_bytes, part = (double)entries * (double)scalar_bytes / 128;
  options->scalar_bytes = scalar_bytes;
  options->floor_bytes = floor_bytes;
  options->ceiling_bytes = part < whole ? whole : part < CEILING_MOST ? part : CEILING_MOST;
  options->slice_bytes = 0.75 * floor_bytes;
  options->whole_bytes = whole;
  options->group_bytes = 0;
  options->panel_bytes = 0;
  options->single = false;
  options->label = NULL;
  options->device = NULL;
}

/* Input of the choice, and its state during the walk through the supernodes. */
typedef struct chooser {
  int sides;
  const tsi_side *side;
  const tsi_symbolic *symbolic; /* Of side 0. */
  const tsi_panels *panels;     /* All sides share its columns. */
  const tsi_chunk_options *options;
  double *subtree; /* supernodes: bytes of the subtree, mean over the sides */
  bool *above;     /* supernodes: a descendant subtree is on a device */
  double total;
  tsi_chunks **chunks; /* For each side. */
  tsi_index count;     /* Number of chunks so far. */
  bool open;           /* The last chunk may still grow. */
  bool group;          /* The last chunk has bottom subtrees only. */
  double weight;       /* Bytes of the open chunk. */
} chooser;

static double panel_bytes(const chooser *ch, int side, tsi_index p) {
  return (double)tsi_panel_entries(ch->side[side].panels, p) * (double)ch->options->scalar_bytes;
}

static double mean_bytes(const chooser *ch, tsi_index p) {
  double sum = 0;
  for (int i = 0; i < ch->sides; i++) sum += panel_bytes(ch, i, p);
  return sum / ch->sides;
}

/* Fills subtree and total. */
static void weigh(chooser *ch) {
  const tsi_symbolic *symbolic = ch->symbolic;
  ch->total = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) ch->subtree[s] = 0;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    for (tsi_index p = ch->panels->first[s]; p < ch->panels->first[s + 1]; p++)
      ch->subtree[s] += mean_bytes(ch, p) + ch->options->panel_bytes;
    if (symbolic->parent[s] != TSI_NONE)
      ch->subtree[symbolic->parent[s]] += ch->subtree[s];
    else
      ch->total += ch->subtree[s];
  }
}

static double group_ceiling(const chooser *ch) {
  return ch->options->group_bytes > 0 ? ch->options->group_bytes : ch->options->ceiling_bytes;
}

static tsi_index label_of(const chooser *ch, tsi_index s) {
  return ch->options->label ? ch->options->label[s] : 0;
}

/* Is the supernode in a subtree on a device? Is it the root of such a subtree? */
static bool is_placed(const chooser *ch, tsi_index s) {
  return ch->options->device && s != TSI_NONE && ch->options->device[s] != TSI_NONE;
}
static bool is_placed_root(const chooser *ch, tsi_index s) {
  return is_placed(ch, s) && !is_placed(ch, ch->symbolic->parent[s]);
}

static void start_chunk(chooser *ch, tsi_index panel, bool group) {
  for (int i = 0; i < ch->sides; i++) ch->chunks[i]->panel[ch->count] = panel;
  ch->count++;
  ch->open = true;
  ch->group = group;
  ch->weight = 0;
}

/* Ends the slices of the last chunk. */
static void end_slices(chooser *ch) {
  for (int i = 0; i < ch->sides; i++) ch->chunks[i]->slice_ptr[ch->count] = ch->chunks[i]->slices;
}

/* Number of slices for panel p of top supernode s on a side; 1: no slices. */
static tsi_index slices_requested(const chooser *ch, int side, tsi_index s, tsi_index p) {
  const double bytes = panel_bytes(ch, side, p);
  const tsi_index height = ch->side[side].panels->height[p];
  double pieces = ROOT_SLICES * ch->subtree[s] / ch->total;
  if (ch->options->single || label_of(ch, s) == TSI_NONE) return 1;
  if (pieces > bytes / ch->options->slice_bytes) pieces = bytes / ch->options->slice_bytes;
  if (pieces < bytes / ch->options->ceiling_bytes) pieces = bytes / ch->options->ceiling_bytes;
  if (pieces > height / 8) pieces = height / 8;
  return pieces < 1.5 ? 1 : (tsi_index)(pieces + 0.5);
}

/* Appends the slices of panel p, the only panel of the last chunk. */
static void slice_panel(chooser *ch, int side, tsi_index p, tsi_index pieces) {
  tsi_chunks *chunks = ch->chunks[side];
  const tsi_index height = ch->side[side].panels->height[p];
  const tsi_index rows = ((height + pieces - 1) / pieces + 7) / 8 * 8;
  for (tsi_index row = 0; row < height; row += rows) chunks->slice_row[chunks->slices++] = row;
}

/* Adds a subtree below the top: joins the open group of its siblings or starts a new one. */
static void add_bottom_subtree(chooser *ch, tsi_index root, tsi_index first_supernode) {
  if (first_supernode > 0 && label_of(ch, first_supernode - 1) != label_of(ch, root)) ch->open = false;
  if (!ch->open || !ch->group || ch->weight + ch->subtree[root] > group_ceiling(ch))
    start_chunk(ch, ch->panels->first[first_supernode], true);
  ch->weight += ch->subtree[root];
}

/* Adds the panels of a top supernode. only_top_child: the supernode just before it in the open chunk is its
 * only top child. */
static void add_top_supernode(chooser *ch, tsi_index s, bool only_top_child) {
  const bool apart = label_of(ch, s) == TSI_NONE;
  if (s > 0 && label_of(ch, s - 1) != label_of(ch, s)) ch->open = false;
  bool joins = ch->open && (ch->group ? ch->weight < ch->options->floor_bytes : only_top_child);
  for (tsi_index p = ch->panels->first[s]; p < ch->panels->first[s + 1]; p++) {
    const double bytes = mean_bytes(ch, p);
    bool sliced = apart;
    for (int i = 0; i < ch->sides; i++) sliced |= slices_requested(ch, i, s, p) > 1;
    if (!joins || sliced || ch->weight + bytes > ch->options->ceiling_bytes) start_chunk(ch, p, false);
    ch->group = false;
    ch->weight += bytes;
    for (int i = 0; i < ch->sides; i++) {
      const tsi_index pieces = slices_requested(ch, i, s, p);
      if (pieces > 1) slice_panel(ch, i, p, pieces);
    }
    ch->open = joins = !sliced;
    end_slices(ch);
  }
}

static void choose_single(chooser *ch) {
  for (tsi_index p = 0; p < ch->panels->count; p++) {
    start_chunk(ch, p, false);
    end_slices(ch);
  }
}

static bool is_top(const chooser *ch, tsi_index s) {
  if (is_placed(ch, s)) return false;
  return ch->above[s] || label_of(ch, s) == TSI_NONE || ch->subtree[s] > group_ceiling(ch);
}

static void choose(chooser *ch, const tsi_index *subtree_first, const tsi_index *top_children) {
  const tsi_symbolic *symbolic = ch->symbolic;
  const bool whole =
      ch->total <= ch->options->whole_bytes && ch->options->label == NULL && ch->options->device == NULL;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    const bool top = !whole && is_top(ch, s);
    const bool parent_top = !whole && parent != TSI_NONE && is_top(ch, parent);
    if (whole) {
      if (s == 0) start_chunk(ch, 0, true);
    } else if (is_placed(ch, s)) {
      if (is_placed_root(ch, s)) start_chunk(ch, ch->panels->first[subtree_first[s]], true);
      ch->open = false;
    } else if (top)
      add_top_supernode(ch, s, top_children[s] == 1 && s > 0);
    else if (parent == TSI_NONE || parent_top)
      add_bottom_subtree(ch, s, subtree_first[s]);
    end_slices(ch);
  }
}

/* subtree_first[s]: first supernode of the subtree of s. top_children[s]: number of children heavier than the
 * ceiling. */
static void describe_tree(chooser *ch, tsi_index *subtree_first, tsi_index *top_children) {
  const tsi_symbolic *symbolic = ch->symbolic;
  for (tsi_index s = 0; s < symbolic->count; s++) ch->above[s] = false;
  for (tsi_index s = 0; s < symbolic->count; s++)
    if ((ch->above[s] || is_placed_root(ch, s)) && symbolic->parent[s] != TSI_NONE)
      ch->above[symbolic->parent[s]] = true;
  for (tsi_index s = 0; s < symbolic->count; s++) {
    subtree_first[s] = s;
    top_children[s] = 0;
  }
  for (tsi_index s = 0; s < symbolic->count; s++) {
    const tsi_index parent = symbolic->parent[s];
    if (parent == TSI_NONE) continue;
    subtree_first[parent] = tsi_index_min(subtree_first[parent], subtree_first[s]);
    if (is_top(ch, s)) top_children[parent]++;
  }
}

/* Lists the rows of chunk c that it does not own, each once, unordered; counts them if out is NULL. mark[j]
 * == stamp: row j is already listed. */
static tsi_count collect_off_rows(const tsi_chunks *chunks, tsi_index c, const tsi_symbolic *symbolic,
                                  const tsi_panels *panels, tsi_index *mark, tsi_index stamp,
                                  tsi_index *out) {
  const tsi_index end = chunks->column[c + 1];
  const tsi_index last = panels->supernode[chunks->panel[c + 1] - 1];
  tsi_count count = 0;
  for (tsi_index s = panels->supernode[chunks->panel[c]]; s <= last; s++) {
    for (tsi_index j = end; j < symbolic->start[s + 1];
         j++) { /* the last supernode continues in the next chunk */
      if (mark[j] == stamp) continue;
      mark[j] = stamp;
      if (out) out[count] = j;
      count++;
    }
    for (tsi_count r = symbolic->row_ptr[s]; r < symbolic->row_ptr[s + 1]; r++) {
      const tsi_index j = symbolic->rows[r];
      if (j < end || mark[j] == stamp) continue;
      mark[j] = stamp;
      if (out) out[count] = j;
      count++;
    }
  }
  return count;
}

/* Fills off_ptr and off. mark: n entries of scratch. */
static tristar_status list_off_rows(tsi_chunks *chunks, const tsi_symbolic *symbolic,
                                    const tsi_panels *panels, tsi_index *mark) {
  for (tsi_index j = 0; j < symbolic->n; j++) mark[j] = TSI_NONE;
  chunks->off_ptr[0] = 0;
  for (tsi_index c = 0; c < chunks->count; c++)
    chunks->off_ptr[c + 1] =
        chunks->off_ptr[c] + collect_off_rows(chunks, c, symbolic, panels, mark, c, NULL);
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->off, chunks->off_ptr[chunks->count]));
  for (tsi_index j = 0; j < symbolic->n; j++) mark[j] = TSI_NONE;
  for (tsi_index c = 0; c < chunks->count; c++) {
    tsi_index *off = chunks->off + chunks->off_ptr[c];
    const tsi_count count = collect_off_rows(chunks, c, symbolic, panels, mark, c, off);
    tsi_sort_indices(off, count);
  }
  return TRISTAR_OK;
}

/* Fills panel_row and local_row. position: n entries of scratch. */
static tristar_status number_rows(tsi_chunks *chunks, const tsi_symbolic *symbolic, const tsi_panels *panels,
                                  tsi_index *position) {
  tsi_count total = 0;
  for (tsi_index c = 0; c < chunks->count; c++)
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++) {
      const bool first = p == chunks->panel[c] || panels->supernode[p - 1] != panels->supernode[p];
      if (first)
        chunks->panel_row[p] = total;
      else /* the last rows of the panel before it */
        chunks->panel_row[p] = chunks->panel_row[p - 1] + tsi_panel_width(panels, p);
      if (first) total += panels->height[p];
    }
  chunks->local_rows = total;
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->local_row, total));
  for (tsi_index c = 0; c < chunks->count; c++) {
    const tsi_index begin = chunks->column[c], columns = tsi_chunk_columns(chunks, c);
    for (tsi_count q = chunks->off_ptr[c]; q < chunks->off_ptr[c + 1]; q++)
      position[chunks->off[q]] = chunks->first_off[c] + (tsi_index)(q - chunks->off_ptr[c]);
    for (tsi_index j = begin; j < begin + columns; j++) position[j] = j - begin;
    for (tsi_index p = chunks->panel[c]; p < chunks->panel[c + 1]; p++) {
      const tsi_index s = panels->supernode[p];
      tsi_index *local = chunks->local_row + chunks->panel_row[p];
      if (p > chunks->panel[c] && panels->supernode[p - 1] == s) continue;
      for (tsi_index j = panels->start[p + 1]; j < symbolic->start[s + 1]; j++) *local++ = position[j];
      for (tsi_count r = symbolic->row_ptr[s]; r < symbolic->row_ptr[s + 1]; r++)
        *local++ = position[symbolic->rows[r]];
    }
  }
  return TRISTAR_OK;
}

static tristar_status allocate(const chooser *ch, int side) {
  tsi_chunks *chunks = ch->chunks[side];
  tsi_count slices = 0;
  for (tsi_index p = 0; p < ch->panels->count; p++)
    slices += slices_requested(ch, side, ch->panels->supernode[p], p);
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->panel, (tsi_count)ch->panels->count + 1));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->slice_ptr, (tsi_count)ch->panels->count + 1));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->slice_row, slices));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->panel_row, ch->panels->count));
  chunks->slice_ptr[0] = 0;
  return TRISTAR_OK;
}

/* Lists the rows of the chosen chunks on one side. scratch: n. */
static tristar_status describe(tsi_env *env, const chooser *ch, int side, tsi_index *scratch) {
  tsi_chunks *chunks = ch->chunks[side];
  const tsi_symbolic *symbolic = ch->side[side].symbolic;
  const tsi_panels *panels = ch->side[side].panels;
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->column, (tsi_count)chunks->count + 1));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->off_ptr, (tsi_count)chunks->count + 1));
  for (tsi_index c = 0; c <= chunks->count; c++) chunks->column[c] = panels->start[chunks->panel[c]];
  TSI_TRY(list_off_rows(chunks, symbolic, panels, scratch));
  TSI_TRY(TSI_ALLOC_IN(chunks, chunks->first_off, chunks->count));
  for (tsi_index c = 0; c < chunks->count; c++)
    chunks->first_off[c] =
        side > 0 ? tsi_chunk_local_rows(ch->chunks[side - 1], c) : tsi_chunk_columns(chunks, c);
  TSI_TRY(number_rows(chunks, symbolic, panels, scratch));
  if (env->check) TSI_TRY(tsi_chunks_check(env, chunks, symbolic, panels));
  return TRISTAR_OK;
}

/* Chooses the panels of each chunk, and the slices. */
static tristar_status choose_all(tsi_env *env, chooser *ch) {
  const tsi_index count = ch->symbolic->count;
  TSI_SCRATCH(env, double, subtree, count);
  TSI_SCRATCH(env, bool, above, count);
  TSI_SCRATCH(env, tsi_index, subtree_first, count);
  TSI_SCRATCH(env, tsi_index, top_children, count);
  ch->subtree = subtree;
  ch->above = above;
  weigh(ch);
  describe_tree(ch, subtree_first, top_children);
  for (int i = 0; i < ch->sides; i++) TSI_TRY(allocate(ch, i));
  if (ch->options->single)
    choose_single(ch);
  else
    choose(ch, subtree_first, top_children);
  for (int i = 0; i < ch->sides; i++) {
    ch->chunks[i]->count = ch->count;
    ch->chunks[i]->panel[ch->count] = ch->panels->count;
    ch->chunks[i]->slice_ptr[ch->count] = ch->chunks[i]->slices;
  }
  return TRISTAR_OK;
}

static chooser chooser_of(int sides, const tsi_side *side, const tsi_chunk_options *options,
                          tsi_chunks **out) {
  return (chooser){.sides = sides,
                   .side = side,
                   .symbolic = side->symbolic,
                   .panels = side->panels,
                   .options = options,
                   .chunks = out};
}

tristar_status tsi_chunks_choose(tsi_env *env, const tsi_side *side, const tsi_chunk_options *options,
                                 tsi_chunks **out) {
  *out = NULL;
  TSI_SCRATCH_ZERO(env, tsi_chunks, chunks, 1);
  chooser ch = chooser_of(1, side, options, &chunks);
  TSI_TRY(choose_all(env, &ch));
  *out = tsi_take(&chunks);
  return TRISTAR_OK;
}

static tristar_status create(tsi_env *env, chooser *ch) {
  for (int i = 0; i < ch->sides; i++) TSI_TRY(TSI_ALLOC_ZERO(env, ch->chunks[i], 1));
  TSI_SCRATCH(env, tsi_index, scratch, ch->symbolic->n);
  TSI_TRY(choose_all(env, ch));
  for (int i = 0; i < ch->sides; i++) TSI_TRY(describe(env, ch, i, scratch));
  return TRISTAR_OK;
}

tristar_status tsi_chunks_create(tsi_env *env, int sides, const tsi_side *side,
                                 const tsi_chunk_options *options, tsi_chunks **out) {
  chooser ch = chooser_of(sides, side, options, out);
  for (int i = 0; i < sides; i++) out[i] = NULL;
  const tristar_status status = create(env, &ch);
  for (int i = 0; i < sides && status != TRISTAR_OK; i++) TSI_FREE(env, out[i]);
  return status;
}
