/* Panels in narrow formats. Sweeps, triangles and slices give the results of full panels with the same
 * rounded entries: for every instruction set of this processor, every treatment of diagonal blocks, and
 * adjacent panels of several formats and exponents. Rounding is within its bound, also at the ends of the
 * range. Entries that are not finite do not change. */
#include <float.h>
#include <math.h>

#include "codelets/cpu/base/scalar.h"
#include "codelets/cpu/stored.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

#define PARTS (1 + TSI_COMPLEX)
#define PANELS 11
#define ROWS 2200 /* rows of the workspace */
#define COLUMNS 64

/* Widths and heights: narrow; a short last row block; many rows; more than the kernels widen at a time. */
static const struct {
  tsi_index w, m;
} shape[PANELS] = {{1, 0},  {3, 5},    {8, 16},  {9, 31},   {16, 40},  {17, 8},
                   {5, 67}, {64, 300}, {70, 41}, {200, 75}, {256, 130}};

typedef struct stream {
  tsi_panel panel[PANELS];
  tsi_index rows[4000];
  tsi_count size;
  tsi_scalar *values, *rounded; /* as given; rounded to the formats */
  tsi_index pivots[ROWS];
  tsi_panel stored_panel[PANELS];
  tsi_stored_panel stored[PANELS];
  tsi_stored s;
  char *memory;
} stream;

static double size_of(tsi_scalar x) {
  return fabs((double)tsi_re(x)) + fabs((double)tsi_im(x));
}

static void fill(tsi_scalar *x, tsi_count count, uint64_t seed) {
  fill_random((double *)x, PARTS * count, seed);
}

/* Makes panels with entries of size `scale`. Triangles of NONE cause no growth. */
static void make_panels(stream *t, const double scale[PANELS]) {
  tsi_index column = 0, row = 0;
  t->size = 0;
  for (int p = 0; p < PANELS; p++) {
    const tsi_index w = shape[p].w, m = shape[p].m;
    t->panel[p] =
        (tsi_panel){.values = t->size, .row = row, .width = w, .height = m, .x = column, .column = column};
    for (tsi_index i = 0; i < m; i++) t->rows[row + i] = 700 + (i * 7 + p) % 1400;
    for (tsi_index k = 0; k < w; k++) t->pivots[column + k] = k + (k * 5 + p) % (w - k);
    t->size += tsi_panel_size(w, m);
    column += w;
    row += m;
  }
  CHECK(column <= 700 && row <= (tsi_index)(sizeof t->rows / sizeof *t->rows));
  t->values = xcalloc((size_t)(t->size + TSI_STREAM_PAD), sizeof *t->values);
  t->rounded = xcalloc((size_t)(t->size + TSI_STREAM_PAD), sizeof *t->rounded);
  for (int p = 0; p < PANELS; p++) {
    const tsi_index w = shape[p].w, m = shape[p].m;
    tsi_scalar *triangle = t->values + t->panel[p].values, *rectangle = triangle + tsi_triangle_size(w);
    fill(triangle, (tsi_count)w * (w + 1) / 2, (uint64_t)p);
    fill(rectangle, (tsi_count)w * m, 1000 + (uint64_t)p);
    for (tsi_count i = 0; i < (tsi_count)w * (w + 1) / 2; i++) triangle[i] *= (tsi_real)(scale[p] / w);
    for (tsi_count i = 0; i < (tsi_count)w * m; i++) rectangle[i] *= (tsi_real)(scale[p] / w);
  }
}

/* Makes a stream as runtime/solve/storage.c does, with a format for each panel. */
static void store(stream *t, const tsi_stored_kernels *kernels, const tsi_format format[PANELS],
                  tsi_inverse inverse, const char *isa) {
  size_t at = 0;
  t->s = (tsi_stored){.of = t->panel, .panels = PANELS, .panel = t->stored_panel, .stored = t->stored};
  t->s.kernels[TSI_FORMAT_FULL] = tsi_kernels_select(TSI_LETTER_CHAR, inverse, isa);
  for (int f = TSI_FORMAT_SINGLE; f < TSI_FORMATS; f++)
    t->s.kernels[f] = tsi_format_kernels_select(TSI_LETTER_CHAR, (tsi_format)f, isa);
  for (int p = 0; p < PANELS; p++) {
    t->stored[p] = (tsi_stored_panel){.format = (int16_t)format[p]};
    kernels->choose(&t->panel[p], t->values, &t->stored[p]);
    if (p > 0 && t->stored[p].format != t->stored[p - 1].format)
      at += TSI_STREAM_PAD * kernels->entry_bytes[t->stored[p - 1].format];
    t->stored_panel[p] = t->panel[p];
    t->stored_panel[p].values = (tsi_count)(at / sizeof(tsi_scalar));
    at += (size_t)tsi_panel_size(shape[p].w, shape[p].m) * kernels->entry_bytes[t->stored[p].format];
  }
  t->memory = xcalloc(at + TSI_STREAM_PAD * sizeof(tsi_scalar), 1);
  for (int p = 0; p < PANELS; p++) {
    t->stored[p].base = t->memory;
    kernels->narrow(&t->panel[p], t->values, &t->stored[p],
                    t->memory + (size_t)t->stored_panel[p].values * sizeof(tsi_scalar));
  }
}

/* Computes the entries that the stream represents. */
static void widen(stream *t, const tsi_stored_kernels *kernels) {
  for (int p = 0; p < PANELS; p++) {
    const tsi_stored_panel *stored = &t->stored[p];
    const char *from = t->memory + (size_t)t->stored_panel[p].values * sizeof(tsi_scalar);
    const tsi_count triangle = tsi_triangle_size(shape[p].w), all = tsi_panel_size(shape[p].w, shape[p].m);
    tsi_scalar *to = t->rounded + t->panel[p].values;
    if (stored->format == TSI_FORMAT_FULL) {
      memcpy(to, from, (size_t)all * sizeof *to);
      continue;
    }
    const tsi_kernels *k = t->s.kernels[stored->format];
    k->widen(triangle, from, stored->triangle, to);
    k->widen(all - triangle, from + (size_t)triangle * kernels->entry_bytes[stored->format],
             stored->rectangle, to + triangle);
  }
}

static void check_near(const char *what, const stream *t, tsi_index nrhs, const tsi_scalar *x,
                       const tsi_scalar *is, tsi_count count) {
  double most = 1;
  for (tsi_count i = 0; i < count; i++) most = fmax(most, size_of(is[i]));
  for (tsi_count i = 0; i < count; i++)
    CHECK_MSG(size_of(x[i] - is[i]) <= 1e-12 * most, "%s, %s, inverse %d, nrhs %d: %lld: %g, not %g", what,
              t->s.kernels[0]->isa, (int)t->s.kernels[0]->inverse, nrhs, (long long)i, (double)tsi_re(x[i]),
              (double)tsi_re(is[i]));
}

static void check_sweeps(const stream *t, const tsi_kernels *stored, const tsi_index *pivots,
                         tsi_index nrhs) {
  static tsi_scalar start[ROWS * COLUMNS], x[ROWS * COLUMNS], y[ROWS * COLUMNS], scratch[TSI_KERNEL_SCRATCH];
  const tsi_kernels *full = t->s.kernels[TSI_FORMAT_FULL];
  const tsi_index ld = tsi_workspace_stride(nrhs);
  const tsi_count count = (tsi_count)ROWS * ld;
  fill(start, count, 5);
  for (tsi_count i = 0; i < count; i++)
    if (i % ld >= nrhs) start[i] = 0;
  for (int backward = 0; backward < 2; backward++) {
    memcpy(x, start, (size_t)count * sizeof *x);
    memcpy(y, start, (size_t)count * sizeof *y);
    (backward ? stored->backward : stored->forward)(PANELS - 1, t->panel + 1, &t->s, t->rows, pivots, nrhs, x,
                                                    scratch);
    (backward ? full->backward : full->forward)(PANELS - 1, t->panel + 1, t->rounded, t->rows, pivots, nrhs,
                                                y, scratch);
    check_near(backward ? "backward" : "forward", t, nrhs, x, y, count);
  }
}

static void check_parts(const stream *t, const tsi_kernels *stored, const tsi_index *pivots, tsi_index nrhs) {
  static tsi_scalar start[ROWS * COLUMNS], x[ROWS * COLUMNS], y[ROWS * COLUMNS], scratch[TSI_KERNEL_SCRATCH];
  const tsi_kernels *full = t->s.kernels[TSI_FORMAT_FULL];
  const tsi_index ld = tsi_workspace_stride(nrhs);
  fill(start, (tsi_count)ROWS * ld, 6);
  for (int p = 0; p < PANELS; p++) {
    const tsi_panel *panel = &t->panel[p];
    const tsi_index w = panel->width, m = panel->height;
    for (int backward = 0; backward < 2; backward++) {
      memcpy(x, start, (size_t)(w * ld) * sizeof *x);
      memcpy(y, start, (size_t)(w * ld) * sizeof *y);
      (backward ? stored->backward_triangle : stored->forward_triangle)(panel, &t->s, pivots, nrhs, x,
                                                                        scratch);
      (backward ? full->backward_triangle : full->forward_triangle)(panel, t->rounded, pivots, nrhs, y,
                                                                    scratch);
      check_near("triangle", t, nrhs, x, y, (tsi_count)w * ld);
    }
    for (tsi_index first = 0, some; first < m; first += some) {
      some = tsi_index_min(first == 0 ? 16 : 104, m - first);
      stored->forward_slice(panel, &t->s, first, some, nrhs, start, x, scratch);
      full->forward_slice(panel, t->rounded, first, some, nrhs, start, y, scratch);
      check_near("forward slice", t, nrhs, x, y, (tsi_count)some * ld);
      stored->backward_slice(panel, &t->s, first, some, nrhs, start, x, scratch);
      full->backward_slice(panel, t->rounded, first, some, nrhs, start, y, scratch);
      check_near("backward slice", t, nrhs, x, y, (tsi_count)w * ld);
    }
    memcpy(x, start, (size_t)(w * ld) * sizeof *x);
    memcpy(y, start, (size_t)(w * ld) * sizeof *y);
    stored->interchange(panel, t->pivots, nrhs, x, false);
    full->interchange(panel, t->pivots, nrhs, y, false);
    CHECK(memcmp(x, y, (size_t)(w * ld) * sizeof *x) == 0);
  }
}

static const double plain[PANELS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const double spread[PANELS] = {1, 1, 1e-30, 1e25, 1, 1e-25, 1, 1e-22, 1, 1e-21, 1};

static void check_kernels(const tsi_stored_kernels *kernels) {
  static const char *const isas[] = {"base", "avx2", "avx512"};
  static const tsi_index nrhs[] = {1, 2, 3, 5, 8, 12, 64};
  static stream t;
  for (int kind = 0; kind < 4; kind++) { /* one format, the other one, both alternating, scaled entries */
    tsi_format format[PANELS];
    for (int p = 0; p < PANELS; p++)
      format[p] = kind == 0   ? TSI_FORMAT_SINGLE
                  : kind == 1 ? TSI_FORMAT_BFLOAT16
                  : kind == 2 ? (tsi_format)((p + 1) % TSI_FORMATS)
                              : (tsi_format)(1 + p / 2 % 2);
    make_panels(&t, kind == 3 ? spread : plain);
    for (int i = 0; i < 3; i++) {
      if (tsi_kernels_select(TSI_LETTER_CHAR, TSI_INVERSE_DIAGONAL, isas[i]) == NULL) continue;
      for (int inverse = 0; inverse < TSI_INVERSES; inverse++) {
        if (kind == 3 && inverse == TSI_INVERSE_NONE) continue; /* products would have many powers of ten */
        store(&t, kernels, format, (tsi_inverse)inverse, isas[i]);
        widen(&t, kernels);
        for (size_t r = 0; r < sizeof nrhs / sizeof *nrhs; r++) {
          check_sweeps(&t, &kernels->sweeps[inverse], r % 2 ? t.pivots : NULL, nrhs[r]);
          check_parts(&t, &kernels->sweeps[inverse], r % 2 ? NULL : t.pivots, nrhs[r]);
        }
        free(t.memory);
      }
    }
    free(t.values);
    free(t.rounded);
  }
}

/* ---- Rounding ------------------------------------------------------------------------------------------ */

/* Rounds a panel of 3 columns and 8 rows to the format. */
static tsi_stored_panel round_panel(const tsi_stored_kernels *kernels, tsi_format format,
                                    const tsi_scalar from[32], tsi_scalar to[32]) {
  const tsi_panel panel = {.width = 3, .height = 8};
  tsi_stored_panel stored = {.format = (int16_t)format};
  tsi_scalar room[32] = {0};
  kernels->choose(&panel, from, &stored);
  kernels->narrow(&panel, from, &stored, room);
  if (stored.format == TSI_FORMAT_FULL) {
    memcpy(to, room, sizeof room);
    return stored;
  }
  const tsi_kernels *k = tsi_format_kernels_select(TSI_LETTER_CHAR, (tsi_format)stored.format, NULL);
  k->widen(8, room, stored.triangle, to);
  k->widen(24, (const char *)room + 8 * kernels->entry_bytes[stored.format], stored.rectangle, to + 8);
  return stored;
}

/* Rounds entries of size `scale`. Every fifth one is also multiplied by `least`. */
static void check_rounding(const tsi_stored_kernels *kernels, tsi_format format, double scale, double least) {
  const double unit = format == TSI_FORMAT_SINGLE ? 0x1p-24 : 0x1p-8 * (1 + 0x1p-15);
  tsi_scalar from[32], to[32];
  double *v = (double *)from, *r = (double *)to;
  fill(from, 32, 9);
  for (int i = 0; i < 32 * PARTS; i++)
    v[i] = scale * (v[i] >= 0 ? v[i] + 0.5 : v[i] - 0.5) * (i % 5 == 4 ? least : 1);
  const tsi_stored_panel stored = round_panel(kernels, format, from, to);
  CHECK(stored.format == (int)format);
  for (int i = 0; i < 32 * PARTS; i++) {
    const double lost = ldexp(0x1p-126, i < 8 * PARTS ? stored.triangle : stored.rectangle);
    CHECK_MSG(fabs(r[i] - v[i]) <= unit * fabs(v[i]) + lost + DBL_TRUE_MIN, "format %d: %g becomes %g",
              (int)format, v[i], r[i]);
    CHECK(lost <= 0x1p-62 * fabs(scale) + DBL_TRUE_MIN);
  }
}

static void check_formats(const tsi_stored_kernels *kernels) {
  for (int f = TSI_FORMAT_SINGLE; f < TSI_FORMATS; f++) {
    static const double scales[] = {1,     1e-10, 1e10,  1e30,  1e-30,  1e38,   1e39,
                                    1e-38, 1e-45, 1e200, 4e307, 1e-300, 1e-307, DBL_TRUE_MIN};
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
      check_rounding(kernels, (tsi_format)f, scales[k], 1);
      check_rounding(kernels, (tsi_format)f, scales[k], 1e-12);
      check_rounding(kernels, (tsi_format)f, scales[k], 1e-60);
    }
    tsi_scalar from[32] = {0}, to[32];
    CHECK(round_panel(kernels, (tsi_format)f, from, to).format == f && memcmp(from, to, sizeof to) == 0);
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    for (int k = 0; k < 3; k++) {
      from[k == 0 ? 2 : 20] = (tsi_scalar)odd[k];
      CHECK(round_panel(kernels, (tsi_format)f, from, to).format == TSI_FORMAT_FULL);
      CHECK(memcmp(from, to, sizeof to) == 0);
      from[k == 0 ? 2 : 20] = 0;
    }
  }
}

int main(void) {
  const tsi_stored_kernels *kernels = tsi_stored_kernels_select(TSI_LETTER_CHAR);
  CHECK(kernels->scalar_bytes == sizeof(tsi_scalar));
  CHECK(tsi_stored_kernels_select('x') == NULL);
  CHECK(tsi_stored_kernels_select('s')->entry_bytes[TSI_FORMAT_SINGLE] == 0);
  CHECK(tsi_format_kernels_select('s', TSI_FORMAT_SINGLE, NULL) == NULL);
  check_formats(kernels);
  check_kernels(kernels);
  return 0;
}
