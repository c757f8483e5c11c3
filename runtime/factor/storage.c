/* Makes the copies of a plan: see storage.h. */
#include "runtime/factor/storage.h"

#include <stdio.h>

#include "runtime/base/grow.h"
#include "runtime/base/progress.h"
#include "runtime/base/threads.h"

static tsi_format format_of(tristar_storage storage) {
  return storage == TRISTAR_STORAGE_SINGLE     ? TSI_FORMAT_SINGLE
         : storage == TRISTAR_STORAGE_BFLOAT16 ? TSI_FORMAT_BFLOAT16
                                               : TSI_FORMAT_FULL;
}

tsi_storage_options tsi_storage_requested(const tristar_plan_options *options, const char *isa) {
  return (tsi_storage_options){.format = format_of(options->storage),
                               .tolerance = options->compress,
                               .releases = options->release_factor != 0,
                               .isa = isa};
}

const char *tsi_storage_words(const tristar_plan_options *options) {
  static const char *const words[] = {"full precision", "single precision", "bfloat16"};
  static _Thread_local char text[64];
  const char *format = words[format_of(options->storage)];
  if (!(options->compress > 0)) return format;
  snprintf(text, sizeof text, "%s, compressed with the tolerance %.1e", format, options->compress);
  return text;
}

static const tsi_stored_kernels *kernels_of(const tristar_factor_t *factor) {
  return tsi_stored_kernels_select(factor->analysis->factor_scalar);
}

static const tsi_tiling_kernels *tiling_of(const tristar_factor_t *factor) {
  return tsi_tiling_kernels_select(factor->analysis->factor_scalar);
}

size_t tsi_storage_entry_bytes(const tristar_factor_t *factor, tristar_storage storage) {
  return kernels_of(factor)->entry_bytes[format_of(storage)];
}

tristar_status tsi_storage_check(const tristar_factor_t *factor, const tristar_plan_options *options) {
  tsi_env *env = &factor->ts->env;
  const char *why = NULL;
  if (!tsi_storage_is_requested(options)) return TRISTAR_OK;
  if (factor->rows)
    why = "of a triangle by rows";
  else if (options->kernel == TRISTAR_KERNEL_SPMV)
    why = "with KERNEL_SPMV";
  else if (options->place != TRISTAR_PLACE_CPU)
    why = "with PLACE_GPU and PLACE_AUTO";
  else if (options->storage != TRISTAR_STORAGE_FULL &&
           kernels_of(factor)->entry_bytes[TSI_FORMAT_SINGLE] == 0)
    why = "of factors in single precision";
  if (why)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "storage in %s: plans %s read the factor itself",
             tsi_storage_words(options), why);
  if (options->release_factor && (factor->analysis->schur_count > 0 || factor->analysis->imported))
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "release_factor: %s keeps its entries",
             factor->analysis->imported ? "an imported factor" : "a factor with a Schur complement");
  return TRISTAR_OK;
}

/* ---- Blocks -------------------------------------------------------------------------------------------- */

static void free_blocks(tsi_env *env, tsi_storage_blocks *blocks) {
  for (tsi_count b = 0; b < blocks->count; b++) TSI_FREE(env, blocks->block[b]);
  blocks->count = 0;
}

static tristar_status add_block(tsi_env *env, tsi_storage_blocks *blocks, size_t bytes, char **out) {
  TSI_TRY(tsi_reserve(env, (void **)&blocks->block, sizeof *blocks->block, blocks->count, &blocks->capacity));
  TSI_TRY(TSI_ALLOC_ZERO(env, *out, bytes));
  blocks->block[blocks->count++] = *out;
  return TRISTAR_OK;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

#define RUN_BYTES 16e6 /* Bytes of a block of several panels, if the factor is released meanwhile. */
#define TABLE_UNIT 64  /* Bytes of tiles are rounded up to a multiple of this. */

/* Copying of a stream, from the first panel to the last. */
typedef struct copying {
  tsi_env *env;
  tsi_storage *storage;
  int side; /* 0: lower stream, 1: upper. */
  const tsi_stored_kernels *kernels;
  const tsi_tiling_kernels *tiling;
  const tsi_tile_kernels *tiles;
  tsi_stored *stream;
  tsi_storage_blocks *blocks;
  const tsi_chunks *chunks;
  tsi_index chunk; /* Chunk of the panel examined last. */
  void *from;
  tsi_index run;    /* First panel that has no block yet. */
  double run_bytes; /* Bytes of the panels from there on, in the factor. */
  tsi_tile *tile;   /* Tiles of a panel, and their pieces. */
  char *pieces;
  tsi_count tile_space, piece_space;
  void *work;
} copying;

/* Chooses the formats of panels that share a block, and their places in it. Returns the bytes of the
 * block. */
static size_t lay_out(const copying *c, tsi_index first, tsi_index end) {
  const tsi_stored *s = c->stream;
  const tsi_stored_kernels *kernels = c->kernels;
  size_t at = 0;
  for (tsi_index p = first; p < end; p++) {
    tsi_stored_panel *stored = &s->stored[p];
    *stored = (tsi_stored_panel){.format = (int16_t)c->storage->plain};
    kernels->choose(&s->of[p], c->from, stored);
    if (p > first && stored->format != stored[-1].format)
      at += TSI_STREAM_PAD * kernels->entry_bytes[stored[-1].format];
    s->panel[p] = s->of[p];
    s->panel[p].values = (tsi_count)(at / kernels->scalar_bytes);
    at += (size_t)tsi_panel_size(s->of[p].width, s->of[p].height) * kernels->entry_bytes[stored->format];
  }
  return at + TSI_STREAM_PAD * kernels->scalar_bytes;
}

/* Releases the entries of the factor before panel p, which have been copied. */
static void let_go(const tsi_storage *storage, int i, tsi_index p) {
  const tristar_factor_t *factor = storage->factor;
  const tsi_panel *last = &storage->stream[i].of[p - 1];
  if (storage->options.releases)
    tsi_use_up(&factor->ts->env, i ? factor->upper : factor->lower,
               (size_t)(last->values + tsi_panel_size(last->width, last->height)) * factor->scalar_bytes);
}

/* Copies the panels from the first one without a block up to `end`. */
static tristar_status copy_run(copying *c, tsi_index end) {
  const tsi_stored *s = c->stream;
  char *block;
  if (c->run == end) return TRISTAR_OK;
  TSI_TRY(add_block(c->env, c->blocks, lay_out(c, c->run, end), &block));
  for (tsi_index p = c->run; p < end; p++) {
    s->stored[p].base = block;
    c->kernels->narrow(&s->of[p], c->from, &s->stored[p],
                       block + (size_t)s->panel[p].values * c->kernels->scalar_bytes);
  }
  let_go(c->storage, c->side, end);
  c->run = end;
  c->run_bytes = 0;
  return TRISTAR_OK;
}

/* Finds where slices of panel p begin. A slice consists of whole tiles, so that no product is computed
 * twice. */
static tsi_tile_options tile_options(copying *c, tsi_index p) {
  static const tsi_index whole[] = {0};
  const tsi_chunks *chunks = c->chunks;
  while (chunks->panel[c->chunk + 1] <= p) c->chunk++;
  const tsi_index slices = tsi_chunk_slices(chunks, c->chunk);
  return (tsi_tile_options){
      .tolerance = c->storage->options.tolerance,
      .format = c->storage->options.format,
      .otherwise = c->storage->plain,
      .cuts = slices > 0 ? slices : 1,
      .cut = slices > 0 ? chunks->slice_row + chunks->slice_ptr[c->chunk] : whole,
      .kernels = c->tiles,
  };
}

static tristar_status need_space(copying *c, tsi_count tiles, tsi_count bytes) {
  if (tiles > c->tile_space) {
    TSI_FREE(c->env, c->tile);
    c->tile_space = 0;
    TSI_TRY(TSI_ALLOC(c->env, c->tile, tiles));
    c->tile_space = tiles;
  }
  if (bytes > c->piece_space) {
    TSI_FREE(c->env, c->pieces);
    c->piece_space = 0;
    TSI_TRY(TSI_ALLOC(c->env, c->pieces, bytes));
    c->piece_space = bytes;
  }
  return TRISTAR_OK;
}

/* Allocates and fills a block with the tiles of panel p, its triangle, and their pieces. */
static tristar_status copy_tiles(copying *c, tsi_index p, tsi_index tiles, size_t bytes) {
  const tsi_stored *s = c->stream;
  const tsi_stored_kernels *kernels = c->kernels;
  const size_t table = ((size_t)tiles * sizeof(tsi_tile) + TABLE_UNIT - 1) / TABLE_UNIT * TABLE_UNIT;
  tsi_panel triangle = s->of[p];
  tsi_stored_panel *stored = &s->stored[p];
  char *block;
  *stored = (tsi_stored_panel){.format = (int16_t)c->storage->plain};
  triangle.height = 0;
  kernels->choose(&triangle, c->from, stored);
  stored->tiles = tiles;
  const size_t before =
      ((size_t)(tsi_triangle_size(triangle.width) + TSI_STREAM_PAD) * kernels->entry_bytes[stored->format] +
       TABLE_UNIT - 1) /
      TABLE_UNIT * TABLE_UNIT;
  TSI_TRY(
      add_block(c->env, c->blocks, table + before + bytes + TSI_STREAM_PAD * kernels->scalar_bytes, &block));
  memcpy(block, c->tile, (size_t)tiles * sizeof *c->tile);
  memcpy(block + table + before, c->pieces, bytes);
  stored->base = block;
  stored->tile = (const tsi_tile *)(const void *)block;
  stored->pieces = block + table + before;
  s->panel[p] = s->of[p];
  s->panel[p].values = (tsi_count)(table / kernels->scalar_bytes);
  kernels->narrow(&s->of[p], c->from, stored, block + table);
  let_go(c->storage, c->side, p + 1);
  c->run = p + 1;
  return TRISTAR_OK;
}

/* Copies panel p, at once or together with the panels after it. */
static tristar_status copy_panel(copying *c, tsi_index p) {
  const tsi_panel *panel = &c->stream->of[p];
  if (c->storage->options.tolerance > 0 && panel->width >= TSI_TILE_LEAST &&
      panel->height >= TSI_TILE_LEAST) {
    const tsi_tile_options options = tile_options(c, p);
    const tsi_index tiles = c->tiling->count(panel->height, &options);
    size_t bytes;
    TSI_TRY(need_space(c, tiles, (tsi_count)c->tiling->packed_bytes(panel, &options)));
    if (c->tiling->compress(panel, c->from, &options, c->tile, c->pieces, &bytes, c->work)) {
      TSI_TRY(copy_run(c, p));
      return copy_tiles(c, p, tiles, bytes);
    }
  }
  c->run_bytes += (double)tsi_panel_size(panel->width, panel->height) * (double)c->kernels->scalar_bytes;
  return c->storage->options.releases && c->run_bytes > RUN_BYTES ? copy_run(c, p + 1) : TRISTAR_OK;
}

static tristar_status copy_panels(copying *c) {
  if (c->storage->options.tolerance > 0) TSI_TRY(TSI_ALLOC_SIZED(c->env, c->work, c->tiling->work_bytes, 1));
  for (tsi_index p = 0; p < c->stream->panels; p++) {
    TSI_TRY(tsi_progress_look(c->env, TRISTAR_PHASE_PLAN, 0.5));
    TSI_TRY(copy_panel(c, p));
  }
  return copy_run(c, c->stream->panels);
}

static tristar_status fill(tsi_storage *storage, int i) {
  const tristar_factor_t *factor = storage->factor;
  copying c = {.env = &factor->ts->env,
               .storage = storage,
               .side = i,
               .kernels = kernels_of(factor),
               .tiling = tiling_of(factor),
               .tiles = tsi_tile_kernels_select(factor->analysis->factor_scalar, storage->options.isa),
               .stream = &storage->stream[i],
               .blocks = &storage->blocks[i],
               .chunks = storage->chunks[i],
               .from = i ? factor->upper : factor->lower};
  const tristar_status status = copy_panels(&c);
  TSI_FREE(c.env, c.tile);
  TSI_FREE(c.env, c.pieces);
  TSI_FREE(c.env, c.work);
  return status;
}

static double rank_of(const tsi_tile *tile) {
  double rank = 0;
  for (int f = 0; f < TSI_FORMATS; f++) rank += tile->rank[f];
  return rank;
}

/* Adds the statistics of a panel in tiles. The padding of each piece to a cache line does not count. */
static void describe_tiles(const tsi_stored *s, tsi_index p, const tsi_stored_kernels *kernels,
                           tsi_storage_figures *figures) {
  const double w = s->of[p].width;
  double bytes = 0;
  for (tsi_index t = 0; t < s->stored[p].tiles; t++) {
    const tsi_tile *tile = &s->stored[p].tile[t];
    const double entries = tile->rows * w;
    if (tile->dense != TSI_FORMATS) {
      bytes += entries * (double)kernels->entry_bytes[tile->dense];
      continue;
    }
    for (int f = 0; f < TSI_FORMATS; f++)
      bytes += (tile->rows + w) * tile->rank[f] * (double)kernels->entry_bytes[f];
    figures->products++;
    figures->rank_share += entries * rank_of(tile) / (tile->rows < w ? tile->rows : w);
    figures->product_entries += entries;
  }
  figures->tiled++;
  figures->tiles += s->stored[p].tiles;
  figures->tiled_bytes += bytes;
  figures->tiled_full_bytes += w * s->of[p].height * (double)kernels->scalar_bytes;
  figures->bytes +=
      bytes + (double)tsi_triangle_size(s->of[p].width) * (double)kernels->entry_bytes[s->stored[p].format];
}

static tsi_storage_figures figures_of(const tsi_storage *storage) {
  tsi_storage_figures figures = {0};
  const tsi_stored_kernels *kernels = kernels_of(storage->factor);
  for (int i = 0; i < 2; i++) {
    const tsi_stored *s = &storage->stream[i];
    for (tsi_index p = 0; p < s->panels; p++) {
      const double entries = (double)tsi_panel_size(s->of[p].width, s->of[p].height);
      figures.full_bytes += entries * (double)kernels->scalar_bytes;
      if (s->stored[p].tiles > 0) {
        describe_tiles(s, p, kernels, &figures);
        continue;
      }
      figures.bytes += entries * (double)kernels->entry_bytes[s->stored[p].format];
      figures.panels[s->stored[p].format]++;
    }
  }
  if (figures.product_entries > 0) figures.rank_share /= figures.product_entries;
  return figures;
}

/* Copies the present values. The lock is held. */
static tristar_status renew(tsi_storage *storage) {
  tristar_factor_t *factor = storage->factor;
  if (storage->generation == factor->generation) return TRISTAR_OK;
  TSI_TRY(tsi_factor_need_values(factor));
  storage->generation = 0;
  for (int i = 0; i < 2; i++) free_blocks(&factor->ts->env, &storage->blocks[i]);
  if (storage->options.releases) factor->released = true;
  for (int i = 0; i < 2; i++)
    if (storage->stream[i].panel) TSI_TRY(fill(storage, i));
  storage->figures = figures_of(storage);
  storage->generation = factor->generation;
  return TRISTAR_OK;
}

tristar_status tsi_storage_prepare(tsi_storage *storage) {
  pthread_mutex_lock(&storage->lock);
  const tristar_status status = renew(storage);
  pthread_mutex_unlock(&storage->lock);
  return status;
}

tristar_status tsi_storage_explain(const tristar_factor_t *factor, tristar_status status) {
  if (status == TRISTAR_OK || status == TRISTAR_ERR_STALE || !factor->released) return status;
  TSI_FAIL(&factor->ts->env, status,
           "%.300s; the copy had taken over the entries of the factor: tristar_refactor makes them again",
           tsi_error_text(&factor->ts->env));
}

void tsi_storage_release_factor(tsi_storage *storage) {
  pthread_mutex_lock(&storage->lock);
  storage->options.releases = storage->factor->released = true;
  for (int i = 0; i < 2; i++)
    if (storage->stream[i].panels > 0) let_go(storage, i, storage->stream[i].panels);
  pthread_mutex_unlock(&storage->lock);
}

/* ---- All ----------------------------------------------------------------------------------------------- */

static tristar_status begin_stream(const tristar_factor_t *factor, int upper, const tsi_panel *panel,
                                   const char *isa, tsi_stored *s) {
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  if ((upper ? factor->upper : factor->lower) == NULL) return TRISTAR_OK;
  s->kernels[TSI_FORMAT_FULL] = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), isa);
  for (int f = TSI_FORMAT_SINGLE; f < TSI_FORMATS; f++)
    s->kernels[f] = tsi_format_kernels_select(an->factor_scalar, (tsi_format)f, isa);
  s->of = panel;
  s->panels = tsi_analysis_structure(an, upper ? tsi_analysis_sides(an) - 1 : 0).panels->count;
  TSI_TRY(TSI_ALLOC(env, s->stored, s->panels));
  return TSI_ALLOC(env, s->panel, s->panels);
}

/* Returns the narrowest available format whose rounding is within the tolerance. */
static tsi_format plain_format(const tristar_factor_t *factor, const tsi_storage_options *options) {
  const tsi_format allowed = kernels_of(factor)->entry_bytes[TSI_FORMAT_SINGLE] == 0 ? TSI_FORMAT_FULL
                             : options->tolerance >= 0x1p-7                          ? TSI_FORMAT_BFLOAT16
                             : options->tolerance >= 0x1p-23                         ? TSI_FORMAT_SINGLE
                                                                                     : TSI_FORMAT_FULL;
  return allowed > options->format ? allowed : options->format;
}

tristar_status tsi_storage_create(tristar_factor_t *factor, const tsi_storage_options *options,
                                  const tsi_panel *const panel[2], const tsi_chunks *const chunks[2],
                                  tsi_storage **out) {
  tristar_status status = TRISTAR_OK;
  tsi_env *env = &factor->ts->env;
  const tristar_analysis_t *an = factor->analysis;
  tsi_storage *storage = NULL;
  *out = NULL;
  TSI_TRY_OUT(TSI_ALLOC_ZERO(env, storage, 1));
  status = tsi_mutex_init(env, &storage->lock);
  if (status != TRISTAR_OK) {
    TSI_FREE(env, storage);
    goto out;
  }
  storage->factor = factor;
  storage->options = *options;
  storage->plain = plain_format(factor, options);
  for (int i = 0; i < 2; i++) {
    storage->chunks[i] = chunks[i];
    TSI_TRY_OUT(begin_stream(factor, i, panel[i], options->isa, &storage->stream[i]));
  }
  storage->sweeps = kernels_of(factor)->sweeps[tsi_analysis_inverse(an)];
  storage->sweeps.isa = tsi_kernels_select(an->factor_scalar, tsi_analysis_inverse(an), options->isa)->isa;
  TSI_TRY_OUT(tsi_storage_prepare(storage));
out:
  if (status != TRISTAR_OK) tsi_storage_destroy(env, &storage);
  *out = storage;
  return status;
}

void tsi_storage_destroy(tsi_env *env, tsi_storage **storage) {
  if (*storage == NULL) return;
  for (int i = 0; i < 2; i++) {
    tsi_stored *s = &(*storage)->stream[i];
    free_blocks(env, &(*storage)->blocks[i]);
    TSI_FREE(env, (*storage)->blocks[i].block);
    TSI_FREE(env, s->panel);
    TSI_FREE(env, s->stored);
  }
  pthread_mutex_destroy(&(*storage)->lock);
  TSI_FREE(env, *storage);
}

tsi_storage_figures tsi_storage_describe(tsi_storage *storage, bool shared) {
  if (shared) pthread_mutex_lock(&storage->lock);
  const tsi_storage_figures figures = storage->figures;
  if (shared) pthread_mutex_unlock(&storage->lock);
  return figures;
}
