/* Compression of rectangles to tiles, and products with these: see tiles.h. */
#include "codelets/cpu/tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/cpu/base/pack.h"
#include "codelets/cpu/node.h"

#define PARTS (1 + TSI_COMPLEX)
#define LINE_BYTES 64
#define ALIGNED __attribute__((aligned(LINE_BYTES)))

extern const tsi_stored_kernels TSI_TYPED(tsi_stored_kernels);

static size_t entry_bytes(int format) {
  return TSI_TYPED(tsi_stored_kernels).entry_bytes[format];
}

/* ---- Pieces -------------------------------------------------------------------------------------------- */

static size_t piece_bytes(int format, tsi_index rows, tsi_index w) {
  const size_t pad = rows % TSI_ROW_BLOCK ? TSI_STREAM_PAD : 0;
  const size_t bytes = ((size_t)rows * (size_t)w + pad) * entry_bytes(format);
  return rows == 0 || w == 0 ? 0 : (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static size_t product_bytes(const int16_t rank[TSI_FORMATS], tsi_index rows, tsi_index w) {
  size_t bytes = 0;
  for (int f = 0; f < TSI_FORMATS; f++) bytes += piece_bytes(f, rank[f], w) + piece_bytes(f, rows, rank[f]);
  return bytes;
}

/* A rectangle in a format, as a panel without a triangle. */
typedef struct piece {
  int format;
  tsi_index rows, w;
  const char *entries;
} piece;

static tsi_panel panel_of(const piece *r) {
  const tsi_count triangle = tsi_triangle_size(r->w);
  return (tsi_panel){.values = -triangle * (tsi_count)entry_bytes(r->format) / (tsi_count)sizeof(tsi_scalar),
                     .width = r->w,
                     .height = r->rows};
}

/* Number of scalars that are widened at a time; they stay in the nearest cache. */
#define PIECE 2048

static tsi_index piece_rows(tsi_index w) {
  return PIECE / w / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
}

/* Returns the entries of a piece from row `first` on. */
static const char *row_of(const piece *r, tsi_index first) {
  return r->entries + (size_t)first * (size_t)r->w * entry_bytes(r->format);
}

/* Widens `rows` rows from row `first` on. */
static tsi_panel widen(const tsi_stored *s, const piece *r, tsi_index first, tsi_index rows, tsi_scalar *to) {
  const piece part = {TSI_FORMAT_FULL, rows, r->w, NULL};
  const tsi_count count = (tsi_count)rows * r->w;
  s->kernels[r->format]->widen(count, row_of(r, first), 0, to);
  memset(to + count, 0, TSI_STREAM_PAD * sizeof *to);
  return panel_of(&part);
}

/* Returns rows first .. first+count-1 of a vector, or its `count` rows in the list `row`. */
static const tsi_scalar *rows_of(const tsi_scalar *x, const tsi_index *row, tsi_index count,
                                 tsi_scalar *copy) {
  if (row == NULL) return x;
  for (tsi_index i = 0; i < count; i++) copy[i] = x[row[i]];
  return copy;
}

static void subtract_one(const tsi_stored *s, const piece *r, tsi_index first, tsi_index count,
                         const tsi_index *row, const tsi_scalar *x, tsi_scalar *u, void *scratch) {
  const tsi_panel whole = panel_of(r);
  tsi_scalar part[TSI_TILE_HEIGHT] ALIGNED;
  s->kernels[r->format]->forward_slice(&whole, r->entries, first, count, 1, x, part, scratch);
  for (tsi_index i = 0; i < count; i++) u[row ? row[i] : i] += part[i];
}

/* u[row] -= rows first .. first+count-1 of the piece, times x; row NULL: rows 0, 1, ... of u */
static void subtract_piece(const tsi_stored *s, const piece *r, tsi_index first, tsi_index count,
                           const tsi_index *row, tsi_index nrhs, const tsi_scalar *x, tsi_scalar *u,
                           void *scratch) {
  const tsi_index most = piece_rows(r->w);
  tsi_scalar packed_bytes[PIECE + TSI_STREAM_PAD] ALIGNED;
  if (nrhs == 1) {
    subtract_one(s, r, first, count, row, x, u, scratch);
    return;
  }
  if (r->format == TSI_FORMAT_FULL) {
    const piece part = {r->format, count, r->w, NULL};
    const tsi_panel panel = panel_of(&part);
    s->kernels[r->format]->subtract(&panel, row_of(r, first), NULL, row, nrhs, x, u, scratch);
    return;
  }
  for (tsi_index i = 0; i < count; i += most) {
    const tsi_index rows = tsi_index_min(most, count - i);
    const tsi_panel part = widen(s, r, first + i, rows, packed_bytes);
    const tsi_ahead ahead = {row_of(r, first + i + rows), (ptrdiff_t)entry_bytes(r->format)};
    s->kernels[TSI_FORMAT_FULL]->subtract(&part, packed_bytes, &ahead, row ? row + i : NULL, nrhs, x,
                                          row ? u : u + (ptrdiff_t)i * tsi_workspace_stride(nrhs), scratch);
  }
}

static void subtract_one_transposed(const tsi_stored *s, const piece *r, tsi_index first, tsi_index count,
                                    const tsi_index *row, const tsi_scalar *x, tsi_scalar *sum,
                                    void *scratch) {
  const tsi_panel whole = panel_of(r);
  tsi_scalar copy[TSI_TILE_HEIGHT] ALIGNED, part[TSI_PANEL_WIDTH_MAX] ALIGNED;
  s->kernels[r->format]->backward_slice(&whole, r->entries, first, count, 1, rows_of(x, row, count, copy),
                                        part, scratch);
  for (tsi_index k = 0; k < r->w; k++) sum[k] -= part[k];
}

/* sum -= the transpose of these rows, times x[row] */
static void subtract_piece_transposed(const tsi_stored *s, const piece *r, tsi_index first, tsi_index count,
                                      const tsi_index *row, tsi_index nrhs, const tsi_scalar *x,
                                      tsi_scalar *sum, void *scratch) {
  const tsi_index most = piece_rows(r->w);
  tsi_scalar packed_bytes[PIECE + TSI_STREAM_PAD] ALIGNED;
  if (nrhs == 1) {
    subtract_one_transposed(s, r, first, count, row, x, sum, scratch);
    return;
  }
  if (r->format == TSI_FORMAT_FULL) {
    const piece part = {r->format, count, r->w, NULL};
    const tsi_panel panel = panel_of(&part);
    s->kernels[r->format]->subtract_transposed(&panel, row_of(r, first), NULL, row, nrhs, sum, x, scratch);
    return;
  }
  for (tsi_index i = (count - 1) / most * most; i >= 0; i -= most) {
    const tsi_panel part = widen(s, r, first + i, tsi_index_min(most, count - i), packed_bytes);
    const tsi_ahead ahead = {row_of(r, first + i), (ptrdiff_t)entry_bytes(r->format)};
    s->kernels[TSI_FORMAT_FULL]->subtract_transposed(
        &part, packed_bytes, &ahead, row ? row + i : NULL, nrhs, sum,
        row ? x : x + (ptrdiff_t)i * tsi_workspace_stride(nrhs), scratch);
  }
}

/* ---- Products with tiles ------------------------------------------------------------------------------- */

static const char *pieces_of(const tsi_stored *s, tsi_index p, const tsi_tile *tile) {
  return s->stored[p].pieces + tile->at;
}

/* Takes the factors of a product in a format, which begin at *at; moves *at to their end. */
static void take_factors(const tsi_tile *tile, tsi_index w, int f, const char **at, piece *v, piece *u) {
  *v = (piece){f, tile->rank[f], w, *at};
  *at += piece_bytes(f, v->rows, v->w);
  *u = (piece){f, tile->rows, tile->rank[f], *at};
  *at += piece_bytes(f, u->rows, u->w);
}

/* u[row] -= rows first .. first+count-1 of the tile, times x; row: as in subtract_piece */
static void subtract_tile(const tsi_stored *s, tsi_index p, const tsi_tile *tile, tsi_index first,
                          tsi_index count, const tsi_index *row, tsi_index nrhs, const tsi_scalar *x,
                          tsi_scalar *u, void *scratch) {
  const tsi_index w = s->of[p].width;
  const ptrdiff_t ld = tsi_workspace_stride(nrhs);
  const char *at = pieces_of(s, p, tile);
  tsi_scalar inner[TSI_TILE_HEIGHT * TSI_NRHS_BLOCK] ALIGNED;
  if (tile->dense != TSI_FORMATS) {
    const piece whole = {tile->dense, tile->rows, w, at};
    subtract_piece(s, &whole, first, count, row, nrhs, x, u, scratch);
    return;
  }
  for (int f = 0; f < TSI_FORMATS; f++) {
    piece right, left;
    if (tile->rank[f] == 0) continue;
    take_factors(tile, w, f, &at, &right, &left);
    memset(inner, 0, (size_t)(right.rows * ld) * sizeof *inner);
    subtract_piece(s, &right, 0, right.rows, NULL, nrhs, x, inner, scratch);
    subtract_piece(s, &left, first, count, row, nrhs, inner, u, scratch);
  }
}

/* sum -= the transpose of these rows, times x[row] */
static void subtract_tile_transposed(const tsi_stored *s, tsi_index p, const tsi_tile *tile, tsi_index first,
                                     tsi_index count, const tsi_index *row, tsi_index nrhs,
                                     const tsi_scalar *x, tsi_scalar *sum, void *scratch) {
  const tsi_index w = s->of[p].width;
  const ptrdiff_t ld = tsi_workspace_stride(nrhs);
  const char *at = pieces_of(s, p, tile);
  tsi_scalar inner[TSI_TILE_HEIGHT * TSI_NRHS_BLOCK] ALIGNED;
  piece right[TSI_FORMATS], left[TSI_FORMATS];
  if (tile->dense != TSI_FORMATS) {
    const piece whole = {tile->dense, tile->rows, w, at};
    subtract_piece_transposed(s, &whole, first, count, row, nrhs, x, sum, scratch);
    return;
  }
  for (int f = 0; f < TSI_FORMATS; f++) take_factors(tile, w, f, &at, &right[f], &left[f]);
  for (int f = TSI_FORMATS - 1; f >= 0; f--) { /* downwards in memory, like the sweep */
    if (tile->rank[f] == 0) continue;
    memset(inner, 0, (size_t)(right[f].rows * ld) * sizeof *inner);
    subtract_piece_transposed(s, &left[f], first, count, row, nrhs, x, inner, scratch);
    subtract_piece_transposed(s, &right[f], 0, right[f].rows, NULL, nrhs, inner, sum, scratch);
  }
}

/* Returns the tile with row `row` of the rectangle. */
static tsi_index tile_of(const tsi_stored_panel *stored, tsi_index row) {
  tsi_index low = 0, high = stored->tiles;
  while (high - low > 1) {
    const tsi_index middle = low + (high - low) / 2;
    if (stored->tile[middle].first <= row)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static void subtract(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index count, const tsi_index *at,
                     tsi_index nrhs, const void *x, void *update, void *scratch) {
  const tsi_stored_panel *stored = &s->stored[p];
  const ptrdiff_t ld = tsi_workspace_stride(nrhs);
  tsi_scalar *u = update;
  for (tsi_index t = tile_of(stored, first), row = first; row < first + count; t++) {
    const tsi_tile *tile = &stored->tile[t];
    const tsi_index rows = tsi_index_min(tile->first + tile->rows, first + count) - row;
    subtract_tile(s, p, tile, row - tile->first, rows, at ? at + (row - first) : NULL, nrhs, x,
                  at ? u : u + (row - first) * ld, scratch);
    row += rows;
  }
}

static void subtract_transposed(const tsi_stored *s, tsi_index p, tsi_index first, tsi_index count,
                                const tsi_index *at, tsi_index nrhs, const void *vector, void *sum,
                                void *scratch) {
  const tsi_stored_panel *stored = &s->stored[p];
  const ptrdiff_t ld = tsi_workspace_stride(nrhs);
  const tsi_scalar *x = vector;
  for (tsi_index t = tile_of(stored, first + count - 1), end = first + count; end > first; t--) {
    const tsi_tile *tile = &stored->tile[t];
    const tsi_index row = tsi_index_max(tile->first, first);
    subtract_tile_transposed(s, p, tile, row - tile->first, end - row, at ? at + (row - first) : NULL, nrhs,
                             at ? x : x + (row - first) * ld, sum, scratch);
    end = row;
  }
}

/* ---- Compression --------------------------------------------------------------------------------------- */

/* Products are faster only if they have clearly fewer bytes. */
#define WORTHWHILE 0.9

/* Limits for the exponent of the largest entry of a panel. Panels outside are not stored in tiles, or not in
 * narrower formats. So products and squares stay in the range of the scalars, and entries below the range of
 * float are far below the precision. */
#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
#define EXPONENT_MOST 40
#else
#define EXPONENT_MOST 400
#endif
#define EXPONENT_NARROW 62
#define BELOW_RANGE 0x1p-117 /* of what is scaled: length of a row and a column that become zero */

typedef struct workspace {
  tsi_real a[TSI_PANEL_WIDTH_MAX * PARTS * TSI_TILE_STEP(TSI_TILE_HEIGHT)] ALIGNED;
  tsi_scalar v[TSI_TILE_HEIGHT * TSI_PANEL_WIDTH_MAX], rectangle[TSI_TILE_HEIGHT * TSI_PANEL_WIDTH_MAX];
  tsi_index pivot[TSI_TILE_HEIGHT];
  double length[TSI_TILE_HEIGHT], size[TSI_PANEL_WIDTH_MAX];
} workspace;

/* The compression of a rectangle. */
typedef struct job {
  const tsi_tile_options *options;
  const tsi_scalar *rectangle;
  tsi_index w, height;
  int exponent; /* entries are scaled by 2^-exponent */
  bool narrows; /* narrower formats may be used */
  double bound; /* length of the change of one row: the tolerance times |R| / height^1/2 */
  workspace *work;
} job;

/* Relative rounding errors of an entry. */
static const double unit[TSI_FORMATS] = {0, 0x1p-24, 0x1p-8 * (1 + 0x1p-15)};

/* Returns the largest real or imaginary part; NaN or infinite if one is. */
static double largest(tsi_count count, const tsi_scalar *values) {
  const tsi_real *real = (const tsi_real *)values;
  double most = 0, sum = 0;
  for (tsi_count i = 0; i < PARTS * count; i++) {
    const double size = fabs((double)real[i]);
    most = size > most ? size : most;
    sum += 0 * size;
  }
  return most + sum;
}

static double length_of(tsi_count count, const tsi_scalar *values, int exponent) {
  const tsi_real *real = (const tsi_real *)values;
  const double scale = ldexp(1, -exponent);
  double sum = 0;
  for (tsi_count i = 0; i < PARTS * count; i++) sum += scale * (double)real[i] * (scale * (double)real[i]);
  return sqrt(sum);
}

static const tsi_scalar *tile_entries(const job *j, const tsi_tile *tile) {
  return j->rectangle + (ptrdiff_t)tile->first * j->w;
}

/* Copies the tile to work->a, scaled. */
static void read_tile(const job *j, const tsi_tile *tile) {
  const tsi_scalar *from = tile_entries(j, tile);
  const tsi_index step = TSI_TILE_STEP(tile->rows);
  const tsi_real scale = (tsi_real)ldexp(1, -j->exponent);
  memset(j->work->a, 0, (size_t)j->w * PARTS * (size_t)step * sizeof(tsi_real));
  for (tsi_index r = 0; r < tile->rows; r += TSI_ROW_BLOCK) {
    const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, tile->rows - r);
    for (tsi_index k = 0; k < j->w; k++)
      for (tsi_index i = 0; i < rows; i++, from++) {
        tsi_real *to = j->work->a + (ptrdiff_t)k * PARTS * step + r + i;
        to[0] = scale * tsi_re(*from);
        if (TSI_COMPLEX) to[step] = scale * tsi_im(*from);
      }
  }
}

/* Returns the narrowest format whose rounding errors for a dense tile are within the bound. */
static int dense_format(const job *j, double length, double bound) {
  int format = TSI_FORMATS - 1;
  while (format > (int)j->options->format && (!j->narrows || unit[format] * length + BELOW_RANGE > bound))
    format--;
  return format;
}

/* Returns the number of columns of U and rows of V before `end` that must not be rounded to a format;
 * rounding the others causes errors of at most a quarter of the bound. */
static tsi_index keep(const job *j, int format, tsi_index end, double bound) {
  double error = 0;
  if (format <= (int)j->options->format) return 0;
  for (; end > 0 && j->narrows; end--) {
    error += 2.02 * unit[format] * j->work->length[end - 1] + BELOW_RANGE;
    if (error > bound / 4) break;
  }
  return end;
}

static tsi_index whole_blocks(tsi_index rank, tsi_index most) {
  return tsi_index_min((tsi_index)tsi_round_up_block(rank), most);
}

/* Divides the columns of a product among the formats. */
static void divide(const job *j, tsi_index rank, double bound, int16_t to[TSI_FORMATS]) {
  const tsi_index single = whole_blocks(keep(j, TSI_FORMAT_BFLOAT16, rank, bound), rank);
  const tsi_index full = whole_blocks(keep(j, TSI_FORMAT_SINGLE, single, bound), single);
  to[TSI_FORMAT_FULL] = (int16_t)full;
  to[TSI_FORMAT_SINGLE] = (int16_t)(single - full);
  to[TSI_FORMAT_BFLOAT16] = (int16_t)(rank - single);
}

/* Chooses the storage of the tile, after its decomposition, which stays in the workspace. Returns its bytes.
 */
static size_t choose_tile(const job *j, tsi_tile *tile) {
  const double length = length_of((tsi_count)tile->rows * j->w, tile_entries(j, tile), j->exponent),
               bound = j->bound * sqrt((double)tile->rows);
  const int format = dense_format(j, length, bound);
  const size_t dense = piece_bytes(format, tile->rows, j->w);
  const tsi_tile_limits limits = {
      .left = bound / 2,
      .wide = j->options->format > TSI_FORMAT_FULL ? INFINITY
              : j->narrows                         ? bound / 4 / (2.02 * unit[TSI_FORMAT_SINGLE])
                                                   : 0,
      .widest = (tsi_index)(dense / ((size_t)(tile->rows + j->w) * sizeof(tsi_scalar)))};
  int16_t rank[TSI_FORMATS];
  read_tile(j, tile);
  const tsi_index found = j->options->kernels->decompose(tile->rows, j->w, &limits, j->work->a, j->work->v,
                                                         j->work->pivot, j->work->length, j->work->size);
  if (found != TSI_NONE) {
    divide(j, found, bound, rank);
    const size_t bytes = product_bytes(rank, tile->rows, j->w);
    if ((double)bytes <= WORTHWHILE * (double)dense) {
      tile->dense = TSI_FORMATS;
      memcpy(tile->rank, rank, sizeof rank);
      return bytes;
    }
  }
  tile->dense = (int16_t)format;
  memset(tile->rank, 0, sizeof tile->rank);
  return dense;
}

/* Writes the entries, and zeros up to the end of the piece. Returns the end. */
static char *write_piece(int format, tsi_index rows, tsi_index w, const tsi_scalar *from, char *to) {
  const size_t bytes = piece_bytes(format, rows, w), used = (size_t)rows * (size_t)w * entry_bytes(format);
  TSI_TYPED(tsi_stored_kernels).round((tsi_count)rows * w, from, 0, format, to);
  memset(to + used, 0, bytes - used);
  return to + bytes;
}

/* Writes rows k .. k+rank-1 of V, scaled back. */
static char *write_right(const job *j, tsi_index k, int format, tsi_index rank, char *to) {
  const tsi_real scale = (tsi_real)ldexp(1, j->exponent);
  tsi_scalar *v = j->work->v + (ptrdiff_t)k * j->w;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)rank * j->w; i++) v[i] *= scale;
  tsi_pack_rows((tsi_pack_source){v, j->w, 1}, rank, j->w, 0, rank, j->work->rectangle);
  return write_piece(format, rank, j->w, j->work->rectangle, to);
}

/* Writes columns k .. k+rank-1 of -U. */
static char *write_left(const job *j, tsi_index k, int format, tsi_index rank, tsi_index rows, char *to) {
  const tsi_index step = TSI_TILE_STEP(rows);
  tsi_scalar *rectangle = j->work->rectangle;
  for (tsi_index r = 0; r < rows; r += TSI_ROW_BLOCK)
    for (tsi_index c = 0; c < rank; c++)
      for (tsi_index i = r; i < tsi_index_min(r + TSI_ROW_BLOCK, rows); i++) {
        const tsi_real *q = j->work->a + (ptrdiff_t)j->work->pivot[k + c] * PARTS * step + i;
        *rectangle = -q[0];
#if TSI_COMPLEX
        __imag__ *rectangle = -q[step];
#endif
        rectangle++;
      }
  return write_piece(format, rows, rank, j->work->rectangle, to);
}

static void write_tile(const job *j, const tsi_tile *tile, char *to) {
  tsi_index k = 0;
  if (tile->dense != TSI_FORMATS) {
    (void)write_piece(tile->dense, tile->rows, j->w, tile_entries(j, tile), to);
    return;
  }
  for (int f = 0; f < TSI_FORMATS; f++) {
    const tsi_index rank = tile->rank[f];
    if (rank == 0) continue;
    to = write_right(j, k, f, rank, to);
    to = write_left(j, k, f, rank, tile->rows, to);
    k += rank;
  }
}

/* Returns the height of tiles between two cuts: as few tiles as possible, of nearly equal height. */
static tsi_index tile_rows(tsi_index rows) {
  const tsi_index tiles = (rows + TSI_TILE_HEIGHT - 1) / TSI_TILE_HEIGHT;
  return (tsi_index)tsi_round_up_block((rows + tiles - 1) / tiles);
}

static tsi_index rows_between(const tsi_tile_options *o, tsi_index c, tsi_index height) {
  return (c + 1 < o->cuts ? o->cut[c + 1] : height) - o->cut[c];
}

static tsi_index tiles_between(tsi_index rows) {
  return (rows + tile_rows(rows) - 1) / tile_rows(rows);
}

static tsi_index count_tiles(tsi_index height, const tsi_tile_options *options) {
  tsi_index tiles = 0;
  for (tsi_index c = 0; c < options->cuts; c++) tiles += tiles_between(rows_between(options, c, height));
  return tiles;
}

static void cut_tiles(const tsi_tile_options *o, tsi_index height, tsi_tile *tile) {
  for (tsi_index c = 0; c < o->cuts; c++) {
    const tsi_index all = rows_between(o, c, height), most = tile_rows(all);
    for (tsi_index row = 0; row < all; row += most)
      *tile++ = (tsi_tile){.first = o->cut[c] + row, .rows = tsi_index_min(most, all - row)};
  }
}

static size_t packed_bytes(const tsi_panel *panel, const tsi_tile_options *options) {
  size_t bytes = 0;
  for (tsi_index c = 0; c < options->cuts; c++) {
    const tsi_index rows = rows_between(options, c, panel->height);
    bytes += (size_t)tiles_between(rows) * (2 * LINE_BYTES + TSI_STREAM_PAD * sizeof(tsi_scalar)) +
             (size_t)rows * (size_t)panel->width * sizeof(tsi_scalar);
  }
  return bytes;
}

static bool compress(const tsi_panel *panel, const void *from, const tsi_tile_options *options,
                     tsi_tile *tile, void *pieces, size_t *bytes, void *work) {
  job j = {.options = options,
           .rectangle = (const tsi_scalar *)from + panel->values + tsi_triangle_size(panel->width),
           .w = panel->width,
           .height = panel->height,
           .work = work};
  const tsi_count count = (tsi_count)j.w * j.height;
  const tsi_index tiles = count_tiles(j.height, options);
  const double most = largest(count, j.rectangle);
  const double whole = (double)count * (double)entry_bytes((int)options->otherwise);
  *bytes = 0;
  if (!isfinite(most)) return false;
  j.exponent = most == 0 ? 0 : ilogb(most);
  if (abs(j.exponent) > EXPONENT_MOST) return false;
  j.narrows = abs(j.exponent) <= EXPONENT_NARROW && entry_bytes(TSI_FORMAT_SINGLE) > 0;
  j.bound = fmax(options->tolerance, (double)TSI_EPSILON) * length_of(count, j.rectangle, j.exponent) /
            sqrt((double)j.height);
  cut_tiles(options, j.height, tile);
  for (tsi_index t = 0; t < tiles; t++) {
    const size_t size = choose_tile(&j, &tile[t]);
    tile[t].at = (tsi_count)*bytes;
    write_tile(&j, &tile[t], (char *)pieces + *bytes);
    *bytes += size;
  }
  return (double)*bytes <= WORTHWHILE * whole;
}

extern const tsi_tiling_kernels TSI_TYPED(tsi_tiling_kernels);
const tsi_tiling_kernels TSI_TYPED(tsi_tiling_kernels) = {
    .work_bytes = sizeof(workspace),
    .count = count_tiles,
    .packed_bytes = packed_bytes,
    .compress = compress,
    .subtract = subtract,
    .subtract_transposed = subtract_transposed,
};
