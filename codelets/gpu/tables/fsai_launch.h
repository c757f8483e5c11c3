/* Launches of the GPU kernels that compute rows of a factorized sparse approximate inverse, for C: what
 * codelets/cpu/fsai/fsai.h is for cores, whose equations and words these are. One warp computes a row, as in
 * Bernaschi, Carrozzo, Franceschini, Janna, "A dynamic pattern factored sparse approximate inverse
 * preconditioner on graphics processing units", SISC 2019.
 *
 * Job. tsi_gpu_fsai_launch: rows of G to lists of a fixed stride, with how many entries each has and what
 * became of it. tsi_gpu_fsai_count: where each row begins if they lie one behind the other. tsi_gpu_fsai_pack
 * puts them there: G by rows, as products want it (spmv_launch.h). tsi_gpu_fsai_adjoin: G^H by rows.
 *
 * A warp has a space of its own: a table of the columns that its row reaches, with an entry of the gradient
 * each; the system K = L L^H, whose L grows by the rows of a step at a time, column by column of L. It is in
 * the block's shared memory where that has room for it, else in the device's. What is more than W columns or
 * entries is gone through W at a time; nothing depends on W.
 *
 * Reads   rows of A, patterns that are given.   Writes  its outputs, the space of each warp.
 * Invariants
 *   - a row depends on A, its given pattern and the limits alone: not on the rows beside it, on the number of
 *     blocks, on threads or on the device's warps. Sums have the order of the pattern, in which columns
 *     joined: that of the cores, but for products that compilers contract
 *   - columns of a row of A ascend, the diagonal is one of them; A is Hermitian, with both triangles
 *   - of equal entries of the gradient the smaller column joins first
 *   - no pattern gets more than `most` columns, no row reaches more than `slots`: one that would ends as
 *     TSI_FSAI_ROW_LARGE; it is to be computed with more room, or by a core
 *   - a row that has not ended well has no entries
 *
 * The scalar type stands in the name: s, d, c, z. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of a row, beside a tsi_breakdown_kind. */
#define TSI_FSAI_ROW_LARGE 100

#define TSI_FSAI_BESIDE 4 /* rows of L that are made at a time, at least */
#define TSI_FSAI_HOMES_MIN 64

/* The space of a warp: where its arrays begin, in bytes. */
typedef struct tsi_gpu_fsai_space {
  size_t column;   /* homes: TSI_NONE, or the column that is at home there */
  size_t position; /* homes: its place in the pattern, or TSI_NONE */
  size_t gradient; /* homes: scalars */
  size_t used;     /* slots: homes that are not free, in any order; then how many */
  size_t pattern;  /* most: columns, as they joined */
  size_t first;    /* most + 2: where the entries of row i and of each row of the pattern begin, tsi_count */
  size_t inverse;  /* most: of L's diagonal entries, real */
  size_t z, g;     /* most: L z = -A[i, P], L^H g = z, scalars */
  size_t l;        /* L without its diagonal, column after column, scalars */
  size_t rows;     /* beside x most: rows of K, of which rows of L are made */
  size_t right;    /* beside: what is left of -A[i, P] */
  size_t bytes;    /* of all */
} tsi_gpu_fsai_space;

/* All pointers are the device's. */
typedef struct tsi_gpu_fsai {
  tsi_matrix_rows a;
  tsi_fsai_limits limits;
  tsi_index count;      /* rows that are wanted */
  const tsi_index *row; /* count: these; NULL: rows 0 .. count-1 */
  /* Patterns that rows begin with: row i has given[given_ptr[i]] .., columns left of i that ascend. NULL:
   * none. */
  const tsi_count *given_ptr;
  const tsi_index *given;
  tsi_index most, slots; /* tsi_gpu_fsai_most, tsi_gpu_fsai_slots, or less */
  tsi_index beside, homes;
  tsi_gpu_fsai_space space;
  void *workspace;    /* a space for each warp of the launch, 64-byte aligned; NULL: in shared memory */
  tsi_index stride;   /* of the lists: most + 1 */
  tsi_index *index;   /* count x stride: columns, ascending, the diagonal last */
  void *values;       /* count x stride */
  tsi_index *entries; /* count: how many these are */
  tsi_index *kind;    /* count: what became of the row */
} tsi_gpu_fsai;

/* What a pattern has at most: given: of the longest that is given. */
static inline tsi_index tsi_gpu_fsai_most(tsi_index n, tsi_index given, const tsi_fsai_limits *limits) {
  const tsi_count joins = (tsi_count)limits->steps * limits->per_step;
  return (tsi_index)tsi_count_min(n > 0 ? n - 1 : 0, given + joins);
}

/* What a row reaches at most; longest: the most entries of a row of A. */
static inline tsi_index tsi_gpu_fsai_slots(tsi_index n, tsi_index longest, tsi_index most,
                                           const tsi_fsai_limits *limits) {
  if (limits->steps == 0) return most;
  return (tsi_index)tsi_count_min(n, most + ((tsi_count)most + 1) * longest);
}

/* Fills in what follows from limits, most and slots (at most 2^29): homes, beside, space, stride. bytes: of a
 * scalar; real_bytes: of its real type. */
static inline void tsi_gpu_fsai_lay_out(tsi_gpu_fsai *s, size_t bytes, size_t real_bytes) {
  const size_t most = (size_t)s->most;
  size_t at = 0;
  s->stride = s->most + 1;
  s->beside = tsi_index_min(tsi_index_max(s->limits.per_step, TSI_FSAI_BESIDE), tsi_index_max(1, s->most));
  for (s->homes = TSI_FSAI_HOMES_MIN; s->homes < 2 * s->slots;) s->homes *= 2;
#define TSI_LAY(member, count, size)                                                                         \
  s->space.member = at;                                                                                      \
  at = (at + (size_t)(count) * (size) + 63) / 64 * 64
  TSI_LAY(column, s->homes, sizeof(tsi_index));
  TSI_LAY(position, s->homes, sizeof(tsi_index));
  TSI_LAY(gradient, s->homes, bytes);
  TSI_LAY(used, s->slots + 1, sizeof(tsi_index));
  TSI_LAY(pattern, most, sizeof(tsi_index));
  TSI_LAY(first, most + 2, sizeof(tsi_count));
  TSI_LAY(inverse, most, real_bytes);
  TSI_LAY(z, most, bytes);
  TSI_LAY(g, most, bytes);
  TSI_LAY(l, most > 0 ? most * (most - 1) / 2 : 0, bytes);
  TSI_LAY(rows, (size_t)s->beside * most, bytes);
  TSI_LAY(right, s->beside, bytes);
#undef TSI_LAY
  s->space.bytes = at;
}

/* Threads of a block, at most `threads`, whose warps of so many lanes have their spaces in shared memory; 0:
 * not even those of one have. */
#define TSI_FSAI_SHARED_BYTES 49152 /* that a block of every device may ask for */
static inline unsigned tsi_gpu_fsai_shared(const tsi_gpu_fsai *s, unsigned lanes, unsigned threads) {
  while (threads >= lanes && threads / lanes * s->space.bytes > TSI_FSAI_SHARED_BYTES) threads /= 2;
  return threads >= lanes ? threads / lanes * lanes : 0;
}

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_fsai_launch(const tsi_gpu_fsai *rows, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_fsai_launch tsi_gpu_fsai_launch_s, tsi_gpu_fsai_launch_d, tsi_gpu_fsai_launch_c;
tsi_gpu_fsai_launch tsi_gpu_fsai_launch_z;
/* *blocks = those that are resident at once on the current device: more need space for nothing. */
typedef int tsi_gpu_fsai_blocks(const tsi_gpu_fsai *rows, unsigned threads, unsigned *blocks);
tsi_gpu_fsai_blocks tsi_gpu_fsai_blocks_s, tsi_gpu_fsai_blocks_d, tsi_gpu_fsai_blocks_c;
tsi_gpu_fsai_blocks tsi_gpu_fsai_blocks_z;

/* ---- Rows one behind the other ------------------------------------------------------------------------- */

typedef struct tsi_gpu_fsai_rows {
  tsi_index count, stride;  /* of the lists */
  const tsi_index *entries; /* count */
  const tsi_index *index;   /* count x stride */
  const void *values;       /* count x stride */
  tsi_count *sum;           /* one for each block: scratch of tsi_gpu_fsai_count */
  tsi_count *ptr;           /* count + 1: written by tsi_gpu_fsai_count */
  tsi_index *packed_index;  /* ptr[count]: written by tsi_gpu_fsai_pack */
  void *packed_values;      /* the same */
} tsi_gpu_fsai_rows;

/* Any number of blocks gives the same. */
typedef int tsi_gpu_fsai_pass(const tsi_gpu_fsai_rows *rows, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_fsai_pass tsi_gpu_fsai_count_s, tsi_gpu_fsai_count_d, tsi_gpu_fsai_count_c, tsi_gpu_fsai_count_z;
tsi_gpu_fsai_pass tsi_gpu_fsai_pack_s, tsi_gpu_fsai_pack_d, tsi_gpu_fsai_pack_c, tsi_gpu_fsai_pack_z;

/* ---- G^H by rows --------------------------------------------------------------------------------------- */

/* Entries come in any order, as blocks have it, and are sorted then: the result is always the same. */
typedef struct tsi_gpu_fsai_adjoint {
  tsi_matrix_rows g;
  tsi_index n;
  tsi_index *left; /* n: scratch, zero before and after */
  tsi_count *sum;  /* one for each block: scratch */
  tsi_count *ptr;  /* n + 1: written, as are */
  tsi_index *index;
  void *values; /* of as many entries as g has */
} tsi_gpu_fsai_adjoint;

typedef int tsi_gpu_fsai_adjoin(const tsi_gpu_fsai_adjoint *adjoint, unsigned blocks, unsigned threads,
                                void *stream);
tsi_gpu_fsai_adjoin tsi_gpu_fsai_adjoin_s, tsi_gpu_fsai_adjoin_d, tsi_gpu_fsai_adjoin_c;
tsi_gpu_fsai_adjoin tsi_gpu_fsai_adjoin_z;

/* Rows of G^H as rows to be counted. */
static inline tsi_gpu_fsai_rows tsi_gpu_fsai_adjoint_rows(const tsi_gpu_fsai_adjoint *a) {
  tsi_gpu_fsai_rows rows;
  rows.count = a->n;
  rows.stride = 0; /* there are no lists */
  rows.entries = a->left;
  rows.index = rows.packed_index = NULL;
  rows.values = rows.packed_values = NULL;
  rows.sum = a->sum;
  rows.ptr = a->ptr;
  return rows;
}

#ifdef __cplusplus
}
#endif
