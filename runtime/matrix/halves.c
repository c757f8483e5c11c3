/* The lower half of a Hermitian matrix for products: see halves.h. */
#include "runtime/matrix/halves.h"

/* Limits for the choice, as shares of the entries in full: dense tiles must have at least TILED of them, and
 * at most STORED may be stored. The mirror image of a single entry takes longer to multiply than the entry
 * takes to read. */
#define TILED 0.9
#define STORED 0.8
#define WORTH_ENTRIES 8 /* Average entries of such a tile. */
/* Minimum average number of entries of tiles: a tile takes about as long as this number of single entries. */
#define TILE_ENTRIES 3
/* Minimum number of stretches of a matrix, if they are longer than STRETCH_LEAST: longer stretches store
 * fewer entries in full. */
#define STRETCHES 8
#define STRETCH_LEAST 4 /* windows */
#define STRETCH_MOST 32 /* Distances must fit into 16 bits. */
_Static_assert(STRETCH_MOST *TSI_WINDOW_ROWS <= UINT16_MAX, "distances of a stretch fit into a word");

/* ---- Tiles --------------------------------------------------------------------------------------------- */

static tsi_index length_of(const tsi_entries *e, tsi_index row) {
  return (tsi_index)(e->ptr[row + 1] - e->ptr[row]);
}

/* Number of consecutive columns from position k on. */
static tsi_index tile_width(const tsi_index *column, tsi_index k, tsi_index count) {
  tsi_index width = 1;
  while (width < TSI_TILE_COLUMNS && k + width < count && column[k + width] == column[k] + width) width++;
  return width;
}

static tsi_index count_tiles(const tsi_index *column, tsi_index count) {
  tsi_index tiles = 0;
  for (tsi_index k = 0; k < count; k += tile_width(column, k, count)) tiles++;
  return tiles;
}

/* Are these rows, which have the same columns, worth storing as tiles? least: average entries of a tile. */
static bool are_tiles(tsi_index rows, tsi_index columns, tsi_index tiles, int least) {
  return columns > 0 && (tsi_count)rows * columns >= (tsi_count)least * tiles;
}

/* ---- Stretches ----------------------------------------------------------------------------------------- */

/* Windows of a stretch of a matrix with this number of rows. */
static tsi_index stretch_windows(tsi_index rows) {
  const tsi_index windows = rows / TSI_WINDOW_ROWS + (rows % TSI_WINDOW_ROWS > 0);
  return tsi_index_min(tsi_index_max(windows / STRETCHES, STRETCH_LEAST), STRETCH_MOST);
}

/* Rows first .. end - 1. */
typedef struct stretch {
  tsi_index first, end;
} stretch;

static stretch stretch_of(tsi_index rows, tsi_index row) {
  const tsi_index length = stretch_windows(rows) * TSI_WINDOW_ROWS, first = row - row % length;
  return (stretch){first, first + tsi_index_min(length, rows - first)};
}

typedef enum place { REST, LOWER, IMAGE } place;

static place place_of(const stretch *s, tsi_index row, tsi_index column) {
  if (column < s->first || column >= s->end) return REST;
  return column <= row ? LOWER : IMAGE;
}

/* Number of stored entries if each row has a diagonal entry; otherwise all entries. */
static tsi_count count_stored(const tsi_entries *rows) {
  tsi_count images = 0;
  for (tsi_index i = 0; i < rows->n; i++) {
    const stretch s = stretch_of(rows->n, i);
    bool diagonal = false;
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      images += place_of(&s, i, rows->index[e]) == IMAGE;
      diagonal = diagonal || rows->index[e] == i;
    }
    if (!diagonal) return rows->ptr[rows->n];
  }
  return rows->ptr[rows->n] - images;
}

/* Do two rows with equally many entries have the same columns? Usually their first or last columns differ. */
static bool are_equal(const tsi_index *a, const tsi_index *b, tsi_index count) {
  return count == 0 ||
         (a[0] == b[0] && a[count - 1] == b[count - 1] && memcmp(a, b, (size_t)count * sizeof *a) == 0);
}

/* Would dense tiles have enough of the entries of rows in full? The unknowns of a mesh node have the same
 * columns. */
static bool are_tiled(const tsi_entries *e) {
  const tsi_count all = e->ptr[e->n];
  tsi_count tiled = all;
  tsi_index rows;
  for (tsi_index i = 0; i < e->n; i += rows) {
    const tsi_index *column = e->index + e->ptr[i], count = length_of(e, i);
    for (rows = 1; rows < TSI_TILE_ROWS && i + rows < e->n; rows++)
      if (length_of(e, i + rows) != count || !are_equal(column, e->index + e->ptr[i + rows], count)) break;
    if (are_tiles(rows, count, count_tiles(column, count), WORTH_ENTRIES)) continue;
    tiled -= (tsi_count)rows * count;
    if ((double)tiled < TILED * (double)all) return false;
  }
  return true;
}

bool tsi_halves_are_worth(const tsi_entries *rows) {
  const tsi_count all = rows->ptr[rows->n];
  return all > 0 && are_tiled(rows) && (double)count_stored(rows) <= STORED * (double)all;
}

static void put_entry(const tsi_entries *from, tsi_count e, tsi_entries *to, tsi_index line) {
  const tsi_count at = tsi_entries_put(to, line, from->index[e]);
  if (from->bytes > 0)
    memcpy((char *)to->item + (size_t)at * from->bytes, (const char *)from->item + (size_t)e * from->bytes,
           from->bytes);
}

tristar_status tsi_halves_split(tsi_env *env, const tsi_entries *rows, tsi_entries *rest,
                                tsi_entries *lower) {
  *rest = *lower = (tsi_entries){.ptr = NULL};
  TSI_TRY(tsi_entries_begin(env, rows->n, rows->bytes, rest));
  TSI_TRY(tsi_entries_begin(env, rows->n, rows->bytes, lower));
  for (tsi_index i = 0; i < rows->n; i++) {
    const stretch s = stretch_of(rows->n, i);
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      const place p = place_of(&s, i, rows->index[e]);
      if (p != IMAGE) (p == REST ? rest : lower)->ptr[i + 1]++;
    }
  }
  TSI_TRY(tsi_entries_reserve(env, rest));
  TSI_TRY(tsi_entries_reserve(env, lower));
  for (tsi_index i = 0; i < rows->n; i++) {
    const stretch s = stretch_of(rows->n, i);
    for (tsi_count e = rows->ptr[i]; e < rows->ptr[i + 1]; e++) {
      const place p = place_of(&s, i, rows->index[e]);
      if (p != IMAGE) put_entry(rows, e, p == REST ? rest : lower, i);
    }
  }
  tsi_entries_end(rest);
  tsi_entries_end(lower);
  return TRISTAR_OK;
}

/* ---- The shape of a piece ------------------------------------------------------------------------------ */

/* Entries before the diagonal, which is the last entry of a row. */
static tsi_index before(const tsi_entries *e, tsi_index row) {
  return length_of(e, row) - 1;
}

static const tsi_index *columns_of(const tsi_entries *e, tsi_index row) {
  return e->index + e->ptr[row];
}

/* Number of rows from this one on that have its columns and each other. */
static tsi_index count_alike(const tsi_entries *e, tsi_index row, tsi_index end) {
  const tsi_index count = before(e, row);
  const size_t bytes = (size_t)count * sizeof *e->index;
  tsi_index rows = 1;
  for (; rows < TSI_TILE_ROWS && row + rows < end; rows++) {
    const tsi_index *own = columns_of(e, row + rows);
    if (before(e, row + rows) != count + rows || memcmp(own, columns_of(e, row), bytes) != 0) break;
    tsi_index r = 0;
    while (r < rows && own[count + r] == row + r) r++;
    if (r < rows) break;
  }
  return rows;
}

/* The piece that begins with a row: tiles, or a single row, which may become part of a piece of ROWS. */
static tsi_half_piece shape(const tsi_entries *e, tsi_index row, tsi_index end) {
  const tsi_index count = before(e, row);
  const tsi_index rows = count_alike(e, row, end), tiles = count_tiles(columns_of(e, row), count);
  if (are_tiles(rows, count, tiles, TILE_ENTRIES))
    return (tsi_half_piece){row, tiles, rows * count + rows * (rows + 1) / 2, TSI_HALF_TILES, (uint8_t)rows};
  return (tsi_half_piece){row, 1, count + 1, TSI_HALF_ROWS, 0};
}

static tsi_index rows_of(const tsi_half_piece *p) {
  return p->kind == TSI_HALF_ROWS ? p->count : p->rows;
}

static bool continues(const tsi_half_piece *before, const tsi_half_piece *next) {
  return before->kind == TSI_HALF_ROWS && next->kind == TSI_HALF_ROWS;
}

/* ---- Pieces -------------------------------------------------------------------------------------------- */

static void put_words(const tsi_entries *e, const tsi_half_piece *p, uint16_t *word) {
  const tsi_index *column = columns_of(e, p->row), count = before(e, p->row);
  if (p->kind == TSI_HALF_ROWS) *word++ = (uint16_t)count;
  for (tsi_index k = 0; k < count;) {
    const tsi_index width = p->kind == TSI_HALF_TILES ? tile_width(column, k, count) : 1;
    *word++ = (uint16_t)(p->row - column[k]);
    if (p->kind == TSI_HALF_TILES) *word++ = (uint16_t)width;
    k += width;
  }
}

static tsi_index window_end(const tsi_halved *a, tsi_index w) {
  return (w + 1) * TSI_WINDOW_ROWS < a->rows ? (w + 1) * TSI_WINDOW_ROWS : a->rows;
}

/* Returns the start of the next window. Writes pieces and words if their arrays are allocated. */
static tsi_half_window arrange(const tsi_halved *a, const tsi_entries *e, tsi_index w, tsi_half_window at) {
  const tsi_index end = window_end(a, w);
  tsi_half_piece last = {.kind = TSI_HALF_TILES};
  for (tsi_index i = w * TSI_WINDOW_ROWS; i < end;) {
    const tsi_half_piece p = shape(e, i, end);
    if (a->word != NULL) put_words(e, &p, a->word + at.word);
    at.value += p.values;
    at.word += tsi_half_words(&p);
    i += rows_of(&p);
    if (continues(&last, &p)) {
      last.count++;
      last.values += p.values;
    } else {
      last = p;
      at.piece++;
    }
    if (a->piece != NULL) a->piece[at.piece - 1] = last;
  }
  return at;
}

tristar_status tsi_halved_make(tsi_env *env, const tsi_entries *lower, size_t bytes, tsi_halved *out) {
  const tsi_index windows = lower->n / TSI_WINDOW_ROWS + (lower->n % TSI_WINDOW_ROWS > 0);
  *out = (tsi_halved){.rows = lower->n, .windows = windows, .bytes = bytes};
  TSI_TRY(TSI_ALLOC_ZERO(env, out->window, (tsi_count)windows + 1));
  for (tsi_index w = 0; w < windows; w++) out->window[w + 1] = arrange(out, lower, w, out->window[w]);
  const tsi_half_window *end = &out->window[windows];
  TSI_TRY(TSI_ALLOC(env, out->piece, end->piece));
  TSI_TRY(TSI_ALLOC(env, out->word, end->word + 1));
  TSI_TRY(TSI_ALLOC_SIZED(env, out->values, end->value, bytes));
  for (tsi_index w = 0; w < windows; w++) (void)arrange(out, lower, w, out->window[w]);
  return TRISTAR_OK;
}

size_t tsi_halved_bytes(const tsi_halved *a) {
  if (a->window == NULL) return 0;
  const tsi_half_window *end = &a->window[a->windows];
  return ((size_t)a->windows + 1) * sizeof *a->window + (size_t)end->piece * sizeof *a->piece +
         (size_t)end->word * sizeof *a->word + (size_t)end->value * a->bytes;
}

/* ---- Values -------------------------------------------------------------------------------------------- */

/* Called for entry k of a row, in this column. */
typedef void (*entry_fn)(void *context, tsi_index row, tsi_index k, tsi_index column);

/* Calls `take`, a constant, for each value of a piece, in their order. */
static inline __attribute__((always_inline)) void each_value(const tsi_half_piece *p, const uint16_t *word,
                                                             const entry_fn take, void *context) {
  tsi_index first = 0; /* entry of a tile */
  switch ((tsi_half_kind)p->kind) {
  case TSI_HALF_TILES:
    for (tsi_index t = 0; t < p->count; first += word[2 * t + 1], t++)
      for (tsi_index r = 0; r < p->rows; r++)
        for (tsi_index c = 0; c < word[2 * t + 1]; c++)
          take(context, p->row + r, first + c, p->row - word[2 * t] + c);
    for (tsi_index r = 0; r < p->rows; r++)
      for (tsi_index c = 0; c <= r; c++) take(context, p->row + r, first + c, p->row + c);
    break;
  case TSI_HALF_ROWS:
    for (tsi_index i = p->row; i < p->row + p->count; i++) {
      const tsi_index count = *word++;
      for (tsi_index k = 0; k <= count; k++) take(context, i, k, i - (k < count ? word[k] : 0));
      word += count;
    }
    break;
  }
}

typedef struct copy {
  const tsi_count *ptr;
  tsi_count begin; /* First entry of the window. */
  const char *from;
  char *to;
  size_t bytes;
} copy;

static void copy_value(void *context, tsi_index row, tsi_index k, tsi_index column) {
  copy *c = context;
  const char *from = c->from + (size_t)(c->ptr[row] - c->begin + k) * c->bytes;
  (void)column;
  if (c->bytes == sizeof(double))
    memcpy(c->to, from, sizeof(double));
  else if (c->bytes == sizeof(float))
    memcpy(c->to, from, sizeof(float));
  else
    memcpy(c->to, from, 2 * sizeof(double));
  c->to += c->bytes;
}

void tsi_halved_fill(const tsi_halved *a, tsi_index window, const tsi_count *ptr, const void *values) {
  const tsi_half_window *at = &a->window[window];
  const uint16_t *word = a->word + at->word;
  copy c = {.ptr = ptr,
            .begin = ptr[window * TSI_WINDOW_ROWS],
            .from = values,
            .to = (char *)a->values + (size_t)at->value * a->bytes,
            .bytes = a->bytes};
  for (tsi_index i = at[0].piece; i < at[1].piece; i++) {
    each_value(&a->piece[i], word, copy_value, &c);
    word += tsi_half_words(&a->piece[i]);
  }
}

typedef struct look {
  const tsi_entries *lower;
  tsi_count values;
  tsi_index row, column; /* The first entry at a wrong place; row TSI_NONE: there is none. */
} look;

static void look_at(void *context, tsi_index row, tsi_index k, tsi_index column) {
  look *l = context;
  const tsi_count e = l->lower->ptr[row] + k;
  l->values++;
  if (l->row != TSI_NONE || (e < l->lower->ptr[row + 1] && l->lower->index[e] == column)) return;
  l->row = row;
  l->column = column;
}

tristar_status tsi_halved_check(tsi_env *env, const tsi_halved *a, const tsi_entries *lower) {
  look found = {.lower = lower, .row = TSI_NONE};
  const uint16_t *word = a->word;
  tsi_index row = 0;
  for (tsi_index i = 0; i < a->window[a->windows].piece; i++) {
    const tsi_half_piece *p = &a->piece[i];
    if (p->row != row)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "piece %d begins with row %d, not %d", i, p->row, row);
    each_value(p, word, look_at, &found);
    if (found.row != TSI_NONE)
      TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "piece %d has (%d,%d), which is no entry, or not in its place", i,
               found.row, found.column);
    word += tsi_half_words(p);
    row += rows_of(p);
  }
  if (row != lower->n || found.values != lower->ptr[lower->n])
    TSI_FAIL(env, TRISTAR_ERR_INTERNAL, "the half has %d rows and %lld entries, the matrix %d and %lld", row,
             (long long)found.values, lower->n, (long long)lower->ptr[lower->n]);
  return TRISTAR_OK;
}

/* ---- The half and the rest ----------------------------------------------------------------------------- */

static tristar_status take_halves(tsi_env *env, const tsi_entries *rows, tsi_halves *out) {
  TSI_CLEANUP(tsi_entries_finish) tsi_entries lower = {.ptr = NULL}, rest = {.ptr = NULL};
  TSI_TRY(tsi_halves_split(env, rows, &rest, &lower));
  TSI_TRY(tsi_halved_make(env, &lower, lower.bytes, &out->half));
  if (env->check) TSI_TRY(tsi_halved_check(env, &out->half, &lower));
  for (tsi_index w = 0; w < out->half.windows; w++)
    tsi_halved_fill(&out->half, w, lower.ptr,
                    (const char *)lower.item + (size_t)lower.ptr[w * TSI_WINDOW_ROWS] * lower.bytes);
  tsi_entries_finish(&lower);
  return tsi_slices_take(env, &rest, false, &out->rest);
}

tristar_status tsi_halves_take(tsi_env *env, const tsi_entries *rows, bool hermitian, bool narrow,
                               tsi_halves *out) {
  *out = (tsi_halves){.half = {.window = NULL}};
  if (hermitian && tsi_halves_are_worth(rows)) return take_halves(env, rows, out);
  return tsi_slices_take(env, rows, narrow, &out->rest);
}

void tsi_halves_finish(tsi_halves *a) {
  tsi_slices_finish(&a->rest);
  tsi_release(tsi_take(&a->half.window));
  tsi_release(tsi_take(&a->half.piece));
  tsi_release(tsi_take(&a->half.word));
  tsi_release(tsi_take(&a->half.values));
}

tsi_index tsi_halves_unit(const tsi_halves *a) {
  return a->half.window != NULL ? stretch_windows(a->half.rows) : 1;
}

tsi_halves_kernels tsi_halves_kernels_select(char scalar, const char *isa) {
  return (tsi_halves_kernels){tsi_sliced_kernels_select(scalar, isa), tsi_halved_kernels_select(scalar, isa)};
}

void tsi_halves_multiply(const tsi_halves_kernels *kernels, const tsi_halves *a, tsi_index first,
                         tsi_index windows, int64_t columns, const void *x, int64_t ldx, void *y,
                         int64_t ldy) {
  const tsi_index end = first + tsi_index_min(windows, a->rest.windows - first);
  for (tsi_index w = first; w < end; w++) {
    kernels->sliced->multiply(&a->rest, w, columns, x, ldx, y, ldy);
    if (a->half.window != NULL) kernels->halved->add(&a->half, w, columns, x, ldx, y, ldy);
  }
}
