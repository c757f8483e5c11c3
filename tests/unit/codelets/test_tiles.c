/* Rectangles in tiles. The product of the tiles differs from the rectangle by at most the tolerance in the
 * Frobenius norm: for smooth blocks, random ones, zeros and blocks of exact rank, of any size, cut, scale and
 * format. Products, sweeps and slices use these entries; the same panel gives the same bits. Entries that are
 * not finite, or far from 1, do not change. */
#include <float.h>
#include <math.h>

#include "codelets/cpu/base/scalar.h"
#include "codelets/cpu/tiles.h"
#include "tests/support/check.h"
#include "tests/support/magnitude.h"
#include "tests/support/random.h"

#define PARTS (1 + TSI_COMPLEX)
#define W_MOST TSI_PANEL_WIDTH_MAX
#define M_MOST 1000
#define COLUMNS 64

static const char *const isas[] = {"base", "avx2", "avx512"};

/* A panel, the same panel in tiles, and the entries that the tiles represent. */
typedef struct rectangle {
  tsi_panel panel, stored_panel;
  tsi_index rows[M_MOST];
  tsi_scalar *values, *entries; /* entries: only of the rectangle, by columns */
  tsi_stored_panel stored;
  tsi_stored s;
  tsi_tile *tile;
  char *pieces;
  size_t bytes;
} rectangle;

static double size_of(tsi_scalar x) {
#if TSI_COMPLEX
  return magnitude(x);
#else
  return fabs((double)x);
#endif
}

/* Returns entry (i, j) of the rectangle, which is stored in row blocks. */
static tsi_scalar *entry(const rectangle *r, tsi_scalar *packed, tsi_index i, tsi_index j) {
  const tsi_index block = i / TSI_ROW_BLOCK * TSI_ROW_BLOCK;
  const tsi_index rows = tsi_index_min(TSI_ROW_BLOCK, r->panel.height - block);
  return packed + tsi_triangle_size(r->panel.width) + (ptrdiff_t)block * r->panel.width + j * rows + i -
         block;
}

typedef enum kind { SMOOTH, RANDOM, ZERO, RANK_3, MIXED, KINDS } kind;

static double smooth(tsi_index i, tsi_index j, tsi_index m, tsi_index w) {
  return 1 / (0.05 + (double)i / m + (double)(w - j) / w);
}

static tsi_scalar value(kind k, tsi_index i, tsi_index j, tsi_index m, tsi_index w, tsi_scalar noise) {
  const kind of = k == MIXED ? (kind)(i / 100 % MIXED) : k;
  switch (of) {
  case SMOOTH:
    return (tsi_scalar)smooth(i, j, m, w);
  case RANDOM:
    return noise;
  case RANK_3:
    return (tsi_scalar)(1 + 0.1 * i * (j % 7) - 3e-4 * (i % 11) * j);
  default:
    return 0;
  }
}

static rectangle make(kind k, tsi_index w, tsi_index m, double scale) {
  rectangle r = {.panel = {.width = w, .height = m, .x = 0, .column = 0}};
  const tsi_count size = tsi_panel_size(w, m), triangle = (tsi_count)w * (w + 1) / 2;
  tsi_scalar *noise = xcalloc((size_t)w * (size_t)m, sizeof *noise);
  r.values = xcalloc((size_t)(size + TSI_STREAM_PAD), sizeof *r.values);
  r.entries = xcalloc((size_t)w * (size_t)m, sizeof *r.entries);
  for (tsi_index i = 0; i < m; i++) r.rows[i] = w + (i * 7 + 3) % m;
  for (tsi_count i = 0; i < PARTS * (tsi_count)w * m; i++)
    ((tsi_real *)noise)[i] = (tsi_real)((double)((i * 7919 + 13) % 10007) / 10007 - 0.5);
  for (tsi_count i = 0; i < triangle; i++) r.values[i] = (tsi_scalar)(1.0 / (1 + (double)(i % 37)) / w);
  for (tsi_index i = 0; i < m; i++)
    for (tsi_index j = 0; j < w; j++) {
      const tsi_scalar v = value(k, i, j, m, w, noise[i + (ptrdiff_t)j * m]);
      *entry(&r, r.values, i, j) = (tsi_real)scale * v;
    }
  free(noise);
  return r;
}

static void release(rectangle *r) {
  free(r->values);
  free(r->entries);
  free(r->tile);
  free(r->pieces);
}

/* Compresses the rectangle. Returns false if it stays as it is. */
static bool compress(rectangle *r, const tsi_tile_options *options) {
  const tsi_tiling_kernels *tiling = tsi_tiling_kernels_select(TSI_LETTER_CHAR);
  void *work = aligned_alloc(64, (tiling->work_bytes + 63) / 64 * 64);
  const size_t room = (tiling->packed_bytes(&r->panel, options) + 63) / 64 * 64;
  r->tile = xcalloc((size_t)tiling->count(r->panel.height, options), sizeof *r->tile);
  r->pieces = aligned_alloc(64, room);
  CHECK(work != NULL && r->pieces != NULL);
  const bool done = tiling->compress(&r->panel, r->values, options, r->tile, r->pieces, &r->bytes, work);
  CHECK(r->bytes <= room);
  free(work);
  r->stored_panel = r->panel;
  r->stored = (tsi_stored_panel){.tiles = tiling->count(r->panel.height, options),
                                 .base = (const char *)r->values,
                                 .tile = r->tile,
                                 .pieces = r->pieces};
  r->s = (tsi_stored){.of = &r->panel, .panels = 1, .panel = &r->stored_panel, .stored = &r->stored};
  return done;
}

static void choose_kernels(rectangle *r, tsi_inverse inverse, const char *isa) {
  r->s.kernels[TSI_FORMAT_FULL] = tsi_kernels_select(TSI_LETTER_CHAR, inverse, isa);
  for (int f = TSI_FORMAT_SINGLE; f < TSI_FORMATS; f++)
    r->s.kernels[f] = tsi_format_kernels_select(TSI_LETTER_CHAR, (tsi_format)f, isa);
}

/* Computes the entries that the tiles represent, by products with the columns of the identity. */
static void read_entries(rectangle *r) {
  static tsi_scalar x[W_MOST], u[M_MOST], scratch[TSI_KERNEL_SCRATCH];
  const tsi_tiling_kernels *tiling = tsi_tiling_kernels_select(TSI_LETTER_CHAR);
  for (tsi_index j = 0; j < r->panel.width; j++) {
    memset(x, 0, sizeof x);
    x[j] = 1;
    memset(u, 0, sizeof u);
    tiling->subtract(&r->s, 0, 0, r->panel.height, NULL, 1, x, u, scratch);
    for (tsi_index i = 0; i < r->panel.height; i++) r->entries[i + (ptrdiff_t)j * r->panel.height] = -u[i];
  }
}

static void check_tiles(const rectangle *r, const tsi_tile_options *options) {
  tsi_index next = 0, cut = 0;
  for (tsi_index t = 0; t < r->stored.tiles; t++) {
    const tsi_tile *tile = &r->tile[t];
    CHECK(tile->first == next && tile->rows > 0 && tile->rows <= TSI_TILE_HEIGHT);
    CHECK(tile->first % TSI_ROW_BLOCK == 0 && tile->at % 64 == 0);
    while (cut < options->cuts && options->cut[cut] < tile->first) cut++;
    if (cut < options->cuts && options->cut[cut] == tile->first) cut++;
    next = tile->first + tile->rows;
    CHECK(cut == options->cuts || options->cut[cut] >= next);
  }
  CHECK(next == r->panel.height);
}

static void check_error(const rectangle *r, const tsi_tile_options *options, const char *what) {
  double norm = 0, error = 0, most = 0;
  const double tolerance = fmax(options->tolerance, (double)TSI_EPSILON);
  for (tsi_index j = 0; j < r->panel.width; j++)
    for (tsi_index i = 0; i < r->panel.height; i++) most = fmax(most, size_of(*entry(r, r->values, i, j)));
  for (tsi_index j = 0; j < r->panel.width && most > 0; j++)
    for (tsi_index i = 0; i < r->panel.height; i++) {
      const tsi_scalar is = *entry(r, r->values, i, j);
      const double part = size_of(is) / most,
                   wrong = size_of(r->entries[i + (ptrdiff_t)j * r->panel.height] - is) / most;
      norm += part * part;
      error += wrong * wrong;
    }
  const double unit = options->format == TSI_FORMAT_SINGLE ? 0x1p-23 : options->format ? 0x1p-7 : 0;
  CHECK_MSG(sqrt(error) <= (tolerance + 20 * (double)TSI_EPSILON + 4 * unit) * sqrt(norm),
            "%s, %d x %d, tolerance %g: %g, not %g", what, r->panel.height, r->panel.width,
            options->tolerance, sqrt(error), tolerance * sqrt(norm));
  if (most == 0) CHECK(r->bytes == 0);
}

/* Checks |x - is| for `count` scalars. The bound is the rounding error of sums of scalars of this size. */
static void check_near(const char *what, tsi_count count, const tsi_scalar *x, const tsi_scalar *is,
                       double size) {
  for (tsi_count i = 0; i < count; i++)
    CHECK_MSG(size_of(x[i] - is[i]) <= 500 * (double)TSI_EPSILON * size, "%s: %lld: %g, not %g", what,
              (long long)i, (double)tsi_re(x[i]), (double)tsi_re(is[i]));
}

static void fill(tsi_scalar *x, tsi_count count) {
  for (tsi_count i = 0; i < PARTS * count; i++)
    ((tsi_real *)x)[i] = (tsi_real)((double)((i * 104729 + 7) % 1009) / 1009 - 0.5);
}

/* Makes a full panel with the entries of the tiles. */
static tsi_scalar *as_full(const rectangle *r) {
  const tsi_count size = tsi_panel_size(r->panel.width, r->panel.height) + TSI_STREAM_PAD;
  tsi_scalar *full = xcalloc((size_t)size, sizeof *full);
  memcpy(full, r->values, (size_t)tsi_triangle_size(r->panel.width) * sizeof *full);
  for (tsi_index j = 0; j < r->panel.width; j++)
    for (tsi_index i = 0; i < r->panel.height; i++)
      *entry(r, full, i, j) = r->entries[i + (ptrdiff_t)j * r->panel.height];
  return full;
}

/* values: the full panel. */
static void check_products(const rectangle *r, const tsi_scalar *values, tsi_inverse inverse, tsi_index nrhs,
                           double size) {
  static tsi_scalar start[(W_MOST + M_MOST) * COLUMNS], x[(W_MOST + M_MOST) * COLUMNS],
      y[(W_MOST + M_MOST) * COLUMNS], scratch[TSI_KERNEL_SCRATCH];
  const tsi_stored_kernels *stored = tsi_stored_kernels_select(TSI_LETTER_CHAR);
  const tsi_kernels *sweeps = &stored->sweeps[inverse], *full = r->s.kernels[TSI_FORMAT_FULL];
  const tsi_index w = r->panel.width, m = r->panel.height, ld = tsi_workspace_stride(nrhs);
  const size_t bytes = (size_t)(w + m) * (size_t)ld * sizeof *x;
  fill(start, (tsi_count)(w + m) * ld);
  for (int backward = 0; backward < 2; backward++) {
    memcpy(x, start, bytes);
    memcpy(y, start, bytes);
    (backward ? sweeps->backward : sweeps->forward)(1, &r->panel, &r->s, r->rows, NULL, nrhs, x, scratch);
    (backward ? full->backward : full->forward)(1, &r->panel, values, r->rows, NULL, nrhs, y, scratch);
    check_near(backward ? "backward" : "forward", (tsi_count)(w + m) * ld, x, y, size);
  }
  for (tsi_index first = 0, some; first < m; first += some) {
    some = tsi_index_min(first == 0 ? 40 : 264, m - first);
    sweeps->forward_slice(&r->panel, &r->s, first, some, nrhs, start, x, scratch);
    full->forward_slice(&r->panel, values, first, some, nrhs, start, y, scratch);
    check_near("forward slice", (tsi_count)some * ld, x, y, size);
    sweeps->backward_slice(&r->panel, &r->s, first, some, nrhs, start, x, scratch);
    full->backward_slice(&r->panel, values, first, some, nrhs, start, y, scratch);
    check_near("backward slice", (tsi_count)w * ld, x, y, size);
  }
}

static void check_case(kind k, tsi_index w, tsi_index m, double scale, const tsi_tile_options *wanted,
                       const char *isa, bool products) {
  static const char *const names[] = {"smooth", "random", "zero", "rank 3", "mixed"};
  static const tsi_index nrhs[] = {1, 2, 5, 8, 64};
  tsi_tile_options options = *wanted;
  rectangle r = make(k, w, m, scale), again = make(k, w, m, scale);
  options.kernels = tsi_tile_kernels_select(TSI_LETTER_CHAR, isa);
  const bool done = compress(&r, &options);
  CHECK(compress(&again, &options) == done && again.bytes == r.bytes);
  CHECK(memcmp(again.pieces, r.pieces, r.bytes) == 0);
  CHECK(done || k == RANDOM || k == MIXED || options.tolerance < 1e-6 || options.otherwise > options.format);
  check_tiles(&r, &options);
  choose_kernels(&r, TSI_INVERSE_DIAGONAL, isa);
  read_entries(&r); /* also if the tiles save too little memory */
  check_error(&r, &options, names[k]);
  OWNED tsi_scalar *full = products ? as_full(&r) : NULL;
  for (int inverse = 0; inverse < TSI_INVERSES && products; inverse++)
    for (size_t n = 0; n < sizeof nrhs / sizeof *nrhs; n++) {
      choose_kernels(&r, (tsi_inverse)inverse, isa);
      check_products(&r, full, (tsi_inverse)inverse, nrhs[n], 30.0 * w);
    }
  release(&r);
  release(&again);
}

static const tsi_index whole[] = {0};

static void check_sizes(const char *isa) {
  static const tsi_index sizes[][2] = {{32, 32}, {33, 47}, {64, 191}, {200, 193}, {256, 1000}, {40, 600}};
  static const tsi_index cut[] = {0, 24, 32};
  static const double tolerances[] = {1e-2, 1e-4, 1e-8, 1e-13};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++)
      for (int k = 0; k < KINDS; k++) {
        const bool cuts = i > 0 && k % 2 == 0;
        const tsi_tile_options options = {
            .tolerance = tolerances[t], .cuts = cuts ? 3 : 1, .cut = cuts ? cut : whole};
        check_case((kind)k, sizes[i][0], sizes[i][1], 1, &options, isa, i == 2 || (i == 4 && k == MIXED));
      }
}

/* Checks narrow formats that are requested. */
static void check_formats(const char *isa) {
  for (int f = TSI_FORMAT_FULL; f < TSI_FORMATS; f++) {
    const tsi_tile_options options = {
        .tolerance = 1e-10, .format = (tsi_format)f, .otherwise = (tsi_format)f, .cuts = 1, .cut = whole};
    if (tsi_stored_kernels_select(TSI_LETTER_CHAR)->entry_bytes[f] == 0) continue;
    check_case(SMOOTH, 100, 300, 1, &options, isa, false);
    check_case(MIXED, 100, 300, 1, &options, isa, false);
  }
}

static void check_scales(const char *isa) {
#if defined TSI_SCALAR_S || defined TSI_SCALAR_C
  static const double scales[] = {1e-11, 1e11, 1e-25, 1e37, 1e-44};
#else
  static const double scales[] = {1e-18, 1e19, 1e-100, 1e100, 1e-290, 1e305, 5e-324};
#endif
  const tsi_tile_options options = {.tolerance = 1e-5, .cuts = 1, .cut = whole};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
    for (int k = SMOOTH; k <= RANDOM; k++) {
      rectangle r = make((kind)k, 64, 100, scales[i]);
      tsi_tile_options with = options;
      with.kernels = tsi_tile_kernels_select(TSI_LETTER_CHAR, isa);
      if (compress(&r, &with)) {
        choose_kernels(&r, TSI_INVERSE_DIAGONAL, isa);
        read_entries(&r);
        check_error(&r, &with, "scaled");
      } else
        CHECK(k == RANDOM || scales[i] < 1e-20 || scales[i] > 1e30);
      release(&r);
    }
}

static void check_odd(const char *isa) {
  static const double odd[] = {INFINITY, -INFINITY, NAN};
  const tsi_tile_options options = {
      .tolerance = 1e-2, .cuts = 1, .cut = whole, .kernels = tsi_tile_kernels_select(TSI_LETTER_CHAR, isa)};
  for (int i = 0; i < 3; i++) {
    rectangle r = make(SMOOTH, 64, 100, 1);
    *entry(&r, r.values, 70, 5) = (tsi_scalar)odd[i];
    CHECK(!compress(&r, &options));
    release(&r);
  }
}

int main(void) {
  CHECK(tsi_tiling_kernels_select('x') == NULL && tsi_tile_kernels_select('x', NULL) == NULL);
  for (int i = 0; i < 3; i++) {
    if (tsi_kernels_select(TSI_LETTER_CHAR, TSI_INVERSE_DIAGONAL, isas[i]) == NULL) continue;
    check_sizes(isas[i]);
    check_formats(isas[i]);
    check_scales(isas[i]);
    check_odd(isas[i]);
  }
  return 0;
}
