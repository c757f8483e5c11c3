/* Launches of the GPU kernels that compute rows of a factorized sparse approximate inverse, for C. Equations
 * and words are those of codelets/cpu/fsai/fsai.h, the kernels for cores. One warp computes a row, as in
 * Bernaschi, Carrozzo, Franceschini, Janna, "A dynamic pattern factored sparse approximate inverse
 * preconditioner on graphics processing units", SISC 2019.
 *
 * Job. tsi_gpu_fsai_launch writes rows of G to lists of a fixed stride, with the number of entries and the
 * outcome of each row. tsi_gpu_fsai_count computes the start of each row in contiguous storage, and
 * tsi_gpu_fsai_pack copies the rows there: G by rows, for products (spmv_launch.h). tsi_gpu_fsai_adjoin makes
 * G^H by rows.
 *
 * Each warp has its own space: a table of the columns that its row reaches, each with an entry of the
 * gradient; and the system K = L L^H. In each step L grows by the rows of the step, column by column of L.
 * The space is in the block's shared memory if it fits there, else in global memory. A warp of W lanes
 * processes W columns or entries at a time; no result depends on W.
 *
 * Reads   rows of A, given patterns.   Writes  its outputs, the space of each warp.
 * Invariants
 *   - a row depends only on A, its given pattern and the limits: not on other rows, the number of blocks,
 *     threads or the device's warps. Sums have the order in which columns joined the pattern, as on cores;
 *     results differ from those of cores only where compilers contract products
 *   - columns of a row of A ascend and contain the diagonal; A is Hermitian, with both triangles
 *   - of equal entries of the gradient the smaller column joins first
 *   - a pattern has at most `most` columns, a row reaches at most `slots` columns. A row that would exceed
 *     this ends as TSI_FSAI_ROW_LARGE; compute it with larger limits, or on a core
 *   - a row that fails has no entries
 *
 * The name contains the scalar type: s, d, c, z. */
#pragma once

#include "codelets/cpu/fsai/fsai.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The outcome of a row: a tsi_breakdown_kind, or this. */
#define TSI_FSAI_ROW_LARGE 100

#define TSI_FSAI_ROWS_AT_ONCE 4 /* minimum number of rows of L that are made at a time */
#define TSI_FSAI_HOMES_MIN 64

/* The space of a warp: offsets of its arrays in bytes. The table of columns is a hash table with `homes`
 * cells. */
typedef struct tsi_gpu_fsai_space {
  size_t column;   /* homes: the column of each cell, or TSI_NONE */
  size_t position; /* homes: position of this column in the pattern, or TSI_NONE */
  size_t gradient; /* homes: scalars */
  size_t used;     /* slots: the cells in use, in any order; then their number */
  size_t pattern;  /* most: columns in the order in which they joined */
  size_t first;    /* most + 2: first entries of row i and of each row of the pattern, tsi_count */
  size_t inverse;  /* most: inverses of L's diagonal entries, real */
  size_t z, g;     /* most: L z = -A[i, P], L^H g = z, scalars */
  size_t l;        /* L without its diagonal, column after column, scalars */
  size_t rows;     /* at_once x most: rows of K, which become rows of L */
  size_t right;    /* at_once: remainder of -A[i, P] */
  size_t bytes;    /* size of the space */
} tsi_gpu_fsai_space;

/* All pointers are device pointers. */
typedef struct tsi_gpu_fsai {
  tsi_matrix_rows a;
  tsi_fsai_limits limits;
  tsi_index count;      /* number of rows to compute */
  const tsi_index *row; /* count: these rows; NULL: rows 0 .. count-1 */
  /* Initial patterns: row i begins with the columns given[given_ptr[i]] .., which ascend and are left of i.
   * NULL: none. */
  const tsi_count *given_ptr;
  const tsi_index *given;
  tsi_index most, slots; /* at most tsi_gpu_fsai_most and tsi_gpu_fsai_slots */
  tsi_index at_once, homes;
  tsi_gpu_fsai_space space;
  void *workspace;    /* a space for each warp of the launch, 64-byte aligned; NULL: in shared memory */
  tsi_index stride;   /* stride of the lists: most + 1 */
  tsi_index *index;   /* count x stride: columns, ascending, the diagonal last */
  void *values;       /* count x stride */
  tsi_index *entries; /* count: number of entries of the row */
  tsi_index *kind;    /* count: outcome of the row */
} tsi_gpu_fsai;

/* Returns the maximum length of a pattern. given: length of the longest given pattern. */
static inline tsi_index tsi_gpu_fsai_most(tsi_index n, tsi_index given, const tsi_fsai_limits *limits) {
  const tsi_count joins = (tsi_count)limits->steps * limits->per_step;
  return (tsi_index)tsi_count_min(n > 0 ? n - 1 : 0, given + joins);
}

/* Returns the maximum number of columns that a row reaches. longest: maximum length of a row of A. */
static inline tsi_index tsi_gpu_fsai_slots(tsi_index n, tsi_index longest, tsi_index most,
                                           const tsi_fsai_limits *limits) {
  if (limits->steps == 0) return most;
  return (tsi_index)tsi_count_min(n, most + ((tsi_count)most + 1) * longest);
}

/* Sets homes, at_once, space and stride from limits, most and slots (at most 2^29). bytes: size of a scalar;
 * real_bytes: size of its real type. */
static inline void tsi_gpu_fsai_lay_out(tsi_gpu_fsai *s, size_t bytes, size_t real_bytes) {
  const size_t most = (size_t)s->most;
  size_t at = 0;
  s->stride = s->most + 1;
  s->at_once =
      tsi_index_min(tsi_index_max(s->limits.per_step, TSI_FSAI_ROWS_AT_ONCE), tsi_index_max(1, s->most));
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
  TSI_LAY(rows, (size_t)s->at_once * most, bytes);
  TSI_LAY(right, s->at_once, bytes);
#undef TSI_LAY
  s->space.bytes = at;
}

/* Returns the number of threads of a block, at most `threads`, such that the spaces of its warps fit in
 * shared memory. Returns 0 if not even one space fits. lanes: lanes of a warp. */
#define TSI_FSAI_SHARED_BYTES 49152 /* shared memory that a block may use on every device */
static inline unsigned tsi_gpu_fsai_shared(const tsi_gpu_fsai *s, unsigned lanes, unsigned threads) {
  while (threads >= lanes && threads / lanes * s->space.bytes > TSI_FSAI_SHARED_BYTES) threads /= 2;
  return threads >= lanes ? threads / lanes * lanes : 0;
}

/* stream: a cudaStream_t or hipStream_t. Returns 0, or the error number of the device's runtime. */
typedef int tsi_gpu_fsai_launch(const tsi_gpu_fsai *rows, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_fsai_launch tsi_gpu_fsai_launch_s, tsi_gpu_fsai_launch_d, tsi_gpu_fsai_launch_c;
tsi_gpu_fsai_launch tsi_gpu_fsai_launch_z;
/* *blocks = number of blocks that are resident at once on the current device. More blocks would only need
 * more space. */
typedef int tsi_gpu_fsai_blocks(const tsi_gpu_fsai *rows, unsigned threads, unsigned *blocks);
tsi_gpu_fsai_blocks tsi_gpu_fsai_blocks_s, tsi_gpu_fsai_blocks_d, tsi_gpu_fsai_blocks_c;
tsi_gpu_fsai_blocks tsi_gpu_fsai_blocks_z;

/* ---- Contiguous rows ----------------------------------------------------------------------------------- */

typedef struct tsi_gpu_fsai_rows {
  tsi_index count, stride;  /* number and stride of the lists */
  const tsi_index *entries; /* count */
  const tsi_index *index;   /* count x stride */
  const void *values;       /* count x stride */
  tsi_count *sum;           /* one for each block: scratch of tsi_gpu_fsai_count */
  tsi_count *ptr;           /* count + 1: written by tsi_gpu_fsai_count */
  tsi_index *packed_index;  /* ptr[count]: written by tsi_gpu_fsai_pack */
  void *packed_values;      /* ptr[count]: written by tsi_gpu_fsai_pack */
} tsi_gpu_fsai_rows;

/* The result does not depend on the number of blocks. */
typedef int tsi_gpu_fsai_pass(const tsi_gpu_fsai_rows *rows, unsigned blocks, unsigned threads, void *stream);
tsi_gpu_fsai_pass tsi_gpu_fsai_count_s, tsi_gpu_fsai_count_d, tsi_gpu_fsai_count_c, tsi_gpu_fsai_count_z;
tsi_gpu_fsai_pass tsi_gpu_fsai_pack_s, tsi_gpu_fsai_pack_d, tsi_gpu_fsai_pack_c, tsi_gpu_fsai_pack_z;

/* ---- G^H by rows --------------------------------------------------------------------------------------- */

/* Blocks write entries in any order and then sort them, so the result is always the same. */
typedef struct tsi_gpu_fsai_adjoint {
  tsi_matrix_rows g;
  tsi_index n;
  tsi_index *left;  /* n: scratch, zero before and after */
  tsi_count *sum;   /* one for each block: scratch */
  tsi_count *ptr;   /* n + 1: output */
  tsi_index *index; /* output, as many entries as g has */
  void *values;     /* the same */
} tsi_gpu_fsai_adjoint;

typedef int tsi_gpu_fsai_adjoin(const tsi_gpu_fsai_adjoint *adjoint, unsigned blocks, unsigned threads,
                                void *stream);
tsi_gpu_fsai_adjoin tsi_gpu_fsai_adjoin_s, tsi_gpu_fsai_adjoin_d, tsi_gpu_fsai_adjoin_c;
tsi_gpu_fsai_adjoin tsi_gpu_fsai_adjoin_z;

/* Returns the rows of G^H for tsi_gpu_fsai_count. */
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
