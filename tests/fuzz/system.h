/* Small random systems from bytes: a pattern in each form that a view can store, values of many kinds, and
 * the dense matrix that they represent.
 *
 * A hash of the place and a seed gives each entry, so that few bytes make a matrix. Duplicate entries have
 * few digits, so that their sum is exact in each type. */
#pragma once

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reference.h"

enum { ENTRIES_MOST = 3 * ORDER_MOST * ORDER_MOST, SCALAR_MOST = 16 };

/* The stored entries. */
typedef struct pattern {
  int n;
  tristar_scalar scalar;
  tristar_symmetry symmetry;
  bool duplicates;
  int count;
  int line[ORDER_MOST + 1]; /* entries of line k: line[k] .. line[k + 1] - 1 */
  int row[ENTRIES_MOST], column[ENTRIES_MOST];
  int copy[ENTRIES_MOST]; /* number of earlier entries at the same place */
  union {
    int32_t narrow[ENTRIES_MOST];
    int64_t wide[ENTRIES_MOST];
  } ptr, index;
  tristar_view view; /* without values */
} pattern;

/* Kinds of values. */
typedef enum style {
  SMALL_INTEGERS,
  UNIFORM,
  DOMINANT,        /* by rows and columns: LU without pivoting is stable, positive diagonal */
  POWERS_OF_TWO,   /* 2^-20 .. 2^20 */
  SCALED,          /* rows and columns scaled by 1e-3 .. 1e3 */
  DOMINANT_SCALED, /* a dominant matrix, scaled in the same way */
  BADLY_SCALED,    /* scaled by 1e-100 .. 1e100; single: 1e-12 .. 1e12 */
  DOMINANT_BADLY_SCALED,
  LARGE_OR_SMALL, /* all scaled by 1e250 or 1e-250; single: 1e35, 1e-35 */
  RANK_ONE,
  HILBERT,
  MOSTLY_ZERO,
  ALL_ZERO,
  SUBNORMAL,
  SIGNS, /* 1 and -1 */
  NOT_FINITE,
  STYLES
} style;
static const char *const style_name[STYLES] = {
    "small integers", "uniform",          "dominant",     "powers of two",
    "scaled",         "dominant, scaled", "badly scaled", "dominant, badly scaled",
    "large or small", "rank one",         "Hilbert",      "mostly zero",
    "all zero",       "subnormal",        "signs",        "not finite"};

/* Values for a pattern, and properties of the matrix. */
typedef struct values {
  style style;
  bool mirrored; /* of a general matrix: symmetric or Hermitian, if the pattern is */
  bool finite, fits_single;
  _Alignas(16) unsigned char stored[ENTRIES_MOST * SCALAR_MOST];
  square truth;
  bool hermitian, symmetric; /* properties of the truth */
  bool zero;                 /* all entries are zero */
  reference reference;       /* computed on demand */
  bool known;
} values;

static inline uint64_t hash3(uint64_t seed, int i, int j) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u ^ ((uint64_t)i << 32) ^ (uint64_t)j;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
  return state ^ (state >> 31);
}
static inline int hash_below(uint64_t seed, int i, int j, int limit) {
  return (int)(hash3(seed, i, j) % (unsigned)limit);
}
/* In [-1, 1), with 30 bits. */
static inline long double hash_uniform(uint64_t seed, int i, int j) {
  return (long double)(hash3(seed, i, j) >> 34) / 536870912.0L - 1;
}

/* ---- Patterns ----------------------------------------------------------------------------------------- */

typedef bool places[ORDER_MOST][ORDER_MOST];

static inline void choose_places(bytes *b, int n, places at) {
  const int kind = below(b, 12), density = 1 + below(b, 8);
  const uint64_t seed = take(b);
  note("pattern %d, density %d, seed %llu\n", kind, density, (unsigned long long)seed);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      const bool diagonal = i == j, sparse = hash_below(seed, i, j, 32) < density;
      const bool kinds[12] = {diagonal,
                              abs(i - j) <= 1,
                              true,
                              diagonal || i == 0 || j == 0,
                              diagonal || sparse,
                              sparse,
                              i / (density + 1) == j / (density + 1),
                              abs(i - j) <= density,
                              false,
                              j == (int)((seed + (unsigned)i * (2u * (unsigned)density + 1)) % (unsigned)n),
                              (i < n / 2 && j < n / 2) ? diagonal || sparse
                                                       : (i < n / 2) != (j < n / 2) && sparse,
                              diagonal || (abs(i - j) == 1 && i / 6 == j / 6) || abs(i - j) == 6};
      at[i][j] = kinds[kind];
    }
  for (int k = kind == 8 ? below(b, 64) : 0; k > 0; k--) { /* byte by byte */
    const int i = below(b, n);
    at[i][below(b, n)] = true;
  }
  if (chance(b, 40))
    for (int k = 0, i = below(b, n); k < n; k++) at[i][k] = true;
  if (chance(b, 40))
    for (int k = 0, j = below(b, n); k < n; k++) at[k][j] = true;
  if (chance(b, 40))
    for (int k = 0, i = below(b, n); k < n; k++) at[i][k] = false;
}

/* Stores one entry of each pair of a symmetric kind. `which` selects either triangle, or both. */
static inline void choose_triangles(int n, int which, uint64_t seed, places at) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) {
      const bool any = at[i][j] || at[j][i], lower = which == 0 || (which == 1 && hash_below(seed, i, j, 2));
      at[i][j] = any && lower;
      at[j][i] = any && !lower;
    }
}

static inline void add_entry(pattern *p, int row, int column, int copy) {
  if (p->count == ENTRIES_MOST) return;
  p->row[p->count] = row;
  p->column[p->count] = column;
  p->copy[p->count++] = copy;
}

/* Lists the entries line by line, in any order. */
static inline void list_entries(pattern *p, places at, bool by_rows, bool unsorted, uint64_t seed) {
  p->count = 0;
  for (int k = 0; k < p->n; k++) {
    const int begin = p->line[k] = p->count;
    for (int l = 0; l < p->n; l++) {
      const int i = by_rows ? k : l, j = by_rows ? l : k;
      const int copies = p->duplicates ? 1 + hash_below(seed + 1, i, j, 3) : 1;
      for (int copy = 0; copy < copies && at[i][j]; copy++) add_entry(p, i, j, copy);
    }
    for (int e = p->count - 1; unsorted && e > begin; e--) {
      const int other = begin + hash_below(seed + 2, k, e, e - begin + 1);
      const int row = p->row[e], column = p->column[e], copy = p->copy[e];
      p->row[e] = p->row[other], p->column[e] = p->column[other], p->copy[e] = p->copy[other];
      p->row[other] = row, p->column[other] = column, p->copy[other] = copy;
    }
  }
  p->line[p->n] = p->count;
}

static inline void pattern_make(bytes *b, pattern *p) {
  static const char scalars[] = "sdcz";
  static places at;
  const int sizes = below(b, 8);
  p->n = sizes < 5 ? below(b, 9) : sizes < 7 ? below(b, 21) : below(b, ORDER_MOST + 1);
  p->scalar = (tristar_scalar)scalars[below(b, 4)];
  p->symmetry = (tristar_symmetry)below(b, 4);
  const int storage = below(b, 64);
  const bool by_rows = storage & 1, unsorted = storage & 16;
  const int base = storage >> 3 & 1;
  p->duplicates = chance(b, 48);
  memset(at, 0, sizeof at);
  if (p->n > 0) choose_places(b, p->n, at);
  const uint64_t seed = take(b);
  if (p->symmetry != TRISTAR_GENERAL)
    choose_triangles(p->n, below(b, 3), seed, at);
  else if (chance(b, 128))
    for (int i = 0; i < p->n; i++)
      for (int j = 0; j < i; j++) at[i][j] = at[j][i] = at[i][j] || at[j][i];
  list_entries(p, at, by_rows, unsorted, seed);
  p->view = (tristar_view){by_rows ? TRISTAR_CSR : TRISTAR_CSC,
                           p->symmetry,
                           p->scalar,
                           p->n,
                           p->n,
                           &p->ptr,
                           &p->index,
                           NULL,
                           storage & 2 ? 32 : 64,
                           storage & 4 ? 32 : 64,
                           base};
  for (int k = 0; k <= p->n; k++)
    if (p->view.ptr_bits == 32)
      p->ptr.narrow[k] = p->line[k] + base;
    else
      p->ptr.wide[k] = p->line[k] + base;
  for (int e = 0; e < p->count; e++) {
    const int minor = (by_rows ? p->column[e] : p->row[e]) + base;
    if (p->view.index_bits == 32)
      p->index.narrow[e] = minor;
    else
      p->index.wide[e] = minor;
  }
  note("n %d, scalar %c, symmetry %d, %s, ptr %d bits, index %d bits, base %d%s%s, %d entries\n", p->n,
       (char)p->scalar, (int)p->symmetry, by_rows ? "CSR" : "CSC", p->view.ptr_bits, p->view.index_bits, base,
       unsorted ? ", unsorted" : "", p->duplicates ? ", duplicates" : "", p->count);
}

/* ---- Values ------------------------------------------------------------------------------------------- */

static inline bool style_is_dominant(style s) {
  return s == DOMINANT || s == DOMINANT_SCALED || s == DOMINANT_BADLY_SCALED;
}

/* Real or imaginary part of an entry before scaling; the seed distinguishes them. */
static inline long double raw_part(style s, uint64_t seed, int i, int j) {
  switch (s) {
  case SMALL_INTEGERS:
    return hash_below(seed, i, j, 9) - 4;
  case POWERS_OF_TWO:
    return ldexpl(hash_below(seed + 7, i, j, 2) ? 1 : -1, hash_below(seed, i, j, 41) - 20);
  case RANK_ONE:
    return (1 + hash_below(seed, i, 0, 3)) * (1 + hash_below(seed, j, 0, 3));
  case HILBERT:
    return 1 / (long double)(i + j + 1);
  case MOSTLY_ZERO:
    return hash_below(seed + 5, i, j, 5) ? 0 : hash_uniform(seed, i, j);
  case ALL_ZERO:
    return 0;
  case SIGNS:
    return hash_below(seed, i, j, 2) ? 1 : -1;
  default:
    return hash_uniform(seed, i, j);
  }
}

/* Returns the exponent of ten that scales row or column k. */
static inline int scale_exponent(style s, bool single, uint64_t seed, int k, int side) {
  const int most = s == SCALED || s == DOMINANT_SCALED               ? 3
                   : s == BADLY_SCALED || s == DOMINANT_BADLY_SCALED ? (single ? 12 : 100)
                                                                     : 0;
  return hash_below(seed + 11, k, side, 2 * most + 1) - most;
}

/* Returns the entry (i, j). Both entries of a pair of a symmetric matrix have the same hash. */
static inline number raw_entry(const pattern *p, const values *v, uint64_t seed, int i, int j) {
  const bool pair = p->symmetry != TRISTAR_GENERAL || v->mirrored, single = is_single(p->scalar);
  const int first = pair && i < j ? j : i, second = pair && i < j ? i : j;
  const long double scale = powl(10, scale_exponent(v->style, single, seed, i, 0) +
                                         scale_exponent(v->style, single, seed, j, !pair));
  const long double unit = v->style == LARGE_OR_SMALL ? powl(10, (seed & 1 ? 1 : -1) * (single ? 35 : 250))
                           : v->style == SUBNORMAL    ? ldexpl(1, single ? -140 : -1060)
                                                      : 1;
  number a = raw_part(v->style, seed, first, second);
  if (is_complex(p->scalar) && v->style != HILBERT && v->style != RANK_ONE)
    __imag__ a = raw_part(v->style, seed + 3, first, second);
  if (i == j && (p->symmetry == TRISTAR_HERMITIAN || (v->mirrored && !(seed & 2)))) __imag__ a = 0;
  if (p->symmetry == TRISTAR_SKEW_SYMMETRIC && i == j) a = 0;
  if (pair && i < j && (p->symmetry == TRISTAR_HERMITIAN || (p->symmetry == TRISTAR_GENERAL && !(seed & 2))))
    a = conjl(a);
  if (p->symmetry == TRISTAR_SKEW_SYMMETRIC && i < j) a = -a;
  return a * scale * unit;
}

/* Rounds each part to about 8 bits. */
static inline number few_digits(number a) {
  long double part[2] = {creall(a), cimagl(a)};
  for (int k = 0; k < 2; k++)
    if (part[k] != 0) {
      int exponent;
      const long double fraction = frexpl(part[k], &exponent);
      part[k] = ldexpl(roundl(256 * fraction), exponent - 8);
    }
  number rounded = part[0];
  __imag__ rounded = part[1];
  return rounded;
}

/* Adds a stored entry to the truth. */
static inline void add_truth(const pattern *p, square truth, int i, int j, number a) {
  truth[i][j] += a;
  if (p->symmetry == TRISTAR_GENERAL || i == j) return;
  truth[j][i] += p->symmetry == TRISTAR_HERMITIAN ? conjl(a) : p->symmetry == TRISTAR_SKEW_SYMMETRIC ? -a : a;
}

static inline void make_truth(const pattern *p, values *v) {
  memset(v->truth, 0, sizeof v->truth);
  for (int e = 0; e < p->count; e++)
    add_truth(p, v->truth, p->row[e], p->column[e], get(p->scalar, v->stored, e));
}

/* Stores a value. No sum of duplicates can overflow. */
static inline void store(const pattern *p, values *v, int e, number a) {
  static const long double weight[3] = {1, 0.5L, -1};
  if (p->duplicates) a = few_digits(a) * weight[p->copy[e]];
  put(p->scalar, v->stored, e, a);
}

/* Makes diagonal entries larger than the sums of rows and columns. The first entry stored at a place gets the
 * value. */
static inline void make_dominant(const pattern *p, values *v, uint64_t seed) {
  make_truth(p, v);
  for (int e = 0; e < p->count; e++) {
    const int i = p->row[e];
    long double sum = 0;
    if (i != p->column[e]) continue;
    for (int k = 0; k < p->n; k++)
      if (k != i) sum += cabsl(v->truth[i][k]) + cabsl(v->truth[k][i]);
    const long double size = 1 + fabsl(hash_uniform(seed + 13, i, i)) + sum;
    put(p->scalar, v->stored, e, p->copy[e] == 0 ? few_digits(size) * 1.125L : 0);
  }
}

static inline void describe(const pattern *p, values *v) {
  v->finite = v->fits_single = true;
  for (int e = 0; e < p->count; e++) {
    const number a = get(p->scalar, v->stored, e);
    const long double real = creall(a), imaginary = cimagl(a);
    v->finite = v->finite && isfinite(real) && isfinite(imaginary);
    v->fits_single = v->fits_single && isfinite((float)real) && isfinite((float)imaginary);
  }
  make_truth(p, v);
  v->hermitian = v->symmetric = v->zero = true;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->n; j++) {
      v->hermitian = v->hermitian && v->truth[i][j] == conjl(v->truth[j][i]);
      v->symmetric = v->symmetric && v->truth[i][j] == v->truth[j][i];
      v->zero = v->zero && v->truth[i][j] == 0;
    }
  v->known = false;
}

/* Scales a dominant matrix after its construction. LU without pivoting remains stable. */
static inline void scale_stored(const pattern *p, values *v, uint64_t seed) {
  const bool pair = p->symmetry != TRISTAR_GENERAL || v->mirrored, single = is_single(p->scalar);
  for (int e = 0; e < p->count; e++) {
    const int i = p->row[e], j = p->column[e];
    const int exponent =
        scale_exponent(v->style, single, seed, i, 0) + scale_exponent(v->style, single, seed, j, !pair);
    /* by a power of two, which keeps sums of duplicates exact */
    put(p->scalar, v->stored, e, get(p->scalar, v->stored, e) * exp2l(roundl(3.3219L * exponent)));
  }
}

static inline void values_make(bytes *b, const pattern *p, values *v) {
  const int chosen = below(b, 2 * STYLES);
  v->style = chosen < STYLES ? (style)chosen : chosen % 2 ? UNIFORM : DOMINANT; /* more often than others */
  v->mirrored = p->symmetry == TRISTAR_GENERAL && chance(b, 64);
  const uint64_t seed = take(b) | take(b) << 8;
  const style made = v->style;
  if (style_is_dominant(made)) v->style = UNIFORM;
  for (int e = 0; e < p->count; e++) store(p, v, e, raw_entry(p, v, seed, p->row[e], p->column[e]));
  v->style = made;
  if (style_is_dominant(made) && p->symmetry != TRISTAR_SKEW_SYMMETRIC) {
    make_dominant(p, v, seed);
    scale_stored(p, v, seed);
  }
  if (made == NOT_FINITE && p->count > 0)
    put(p->scalar, v->stored, hash_below(seed, 0, 0, p->count),
        seed & 4   ? NAN
        : seed & 8 ? INFINITY
                   : -INFINITY);
  describe(p, v);
  note("values: %s, seed %llu%s%s%s\n", style_name[v->style], (unsigned long long)seed,
       v->mirrored ? ", mirrored" : "",
       v->hermitian   ? ", Hermitian"
       : v->symmetric ? ", symmetric"
                      : "",
       v->finite ? "" : ", not finite");
}

/* Notes the entries in the account. */
static inline void values_note(const pattern *p, const values *v) {
  for (int e = 0; e < p->count && e < 400; e++) {
    const number a = get(p->scalar, v->stored, e);
    note("  %d %d  %.17Lg %.17Lg\n", p->row[e], p->column[e], creall(a), cimagl(a));
  }
}

static inline const reference *values_reference(const pattern *p, values *v) {
  if (!v->known) reference_make(p->n, v->truth, &v->reference);
  v->known = true;
  return &v->reference;
}
