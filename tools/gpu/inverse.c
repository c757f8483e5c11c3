/* See inverse.h. */
#include "tools/gpu/inverse.h"

#include "tools/gpu/board.h"

enum { SUMS_MAX = 1024 }; /* blocks that count entries */

/* ---- Products ------------------------------------------------------------------------------------------ */

/* Places the n rows of the host on the board, with values of `bytes` bytes. */
static tsi_matrix_rows place_rows(board_arrays *a, tsi_index n, size_t bytes, const tsi_matrix_rows *host) {
  const size_t entries = (size_t)host->ptr[n];
  return (tsi_matrix_rows){.ptr = board_place(a, host->ptr, ((size_t)n + 1) * sizeof *host->ptr),
                           .index = board_place(a, host->index, entries * sizeof *host->index),
                           .values = board_place(a, host->values, entries * bytes)};
}

/* Number of scalars of an array up to the last entry of the rows and columns. */
static size_t scalars_of(tsi_index rows, int64_t row, tsi_index columns, int64_t column) {
  return rows > 0 && columns > 0 ? (size_t)((rows - 1) * row + (columns - 1) * column + 1) : 0;
}

void board_spmv_open(const char *scalars, const tsi_gpu_spmv *host, tsi_index columns, board_spmv *s) {
  const gpu_kernels *k = gpu_kernels_of(scalars);
  board_arrays *a = &s->arrays;
  *s = (board_spmv){.kernels = k, .product = *host};
  s->product.a = place_rows(a, host->rows, k->stored, &host->a);
  s->product.x =
      board_place(a, host->x, k->work * scalars_of(columns, host->x_row, host->nrhs, host->x_column));
  a->x_bytes = k->work * scalars_of(host->rows, host->y_row, host->nrhs, host->y_column);
  s->product.y = a->x = board_place(a, host->y, a->x_bytes);
}

void board_spmv_run(board_spmv *s, unsigned blocks, unsigned threads) {
  board_check(s->kernels->spmv(&s->product, blocks, threads, NULL), "the launch of a product");
}

/* ---- Inverses ------------------------------------------------------------------------------------------ */

static size_t places_of(tsi_index count, tsi_index stride) {
  return (size_t)count * (size_t)stride;
}

static void take_packed(board_fsai *s, tsi_index count, tsi_index stride, const tsi_index *entries,
                        const tsi_index *index, const void *values) {
  board_arrays *a = &s->arrays;
  const size_t places = places_of(count, stride);
  s->packed = (tsi_gpu_fsai_rows){.count = count,
                                  .stride = stride,
                                  .entries = entries,
                                  .index = index,
                                  .values = values,
                                  .sum = board_take(a, SUMS_MAX * sizeof(tsi_count)),
                                  .ptr = board_take(a, ((size_t)count + 1) * sizeof(tsi_count)),
                                  .packed_index = board_take(a, places * sizeof(tsi_index)),
                                  .packed_values = board_take(a, places * s->kernels->work)};
}

void board_fsai_open(const char *scalars, const tsi_gpu_fsai *host, tsi_index n, bool shared, unsigned lanes,
                     unsigned threads, unsigned blocks, board_fsai *s) {
  const gpu_kernels *k = gpu_kernels_of(scalars);
  board_arrays *a = &s->arrays;
  tsi_gpu_fsai *r = &s->rows;
  const size_t count = (size_t)host->count, places = places_of(host->count, host->stride);
  *s = (board_fsai){.kernels = k, .rows = *host, .threads = threads, .blocks = blocks};
  const unsigned fits = shared ? tsi_gpu_fsai_shared(host, lanes, threads) : 0;
  if (fits > 0) s->threads = fits;
  r->workspace = fits > 0 ? NULL : a; /* the next call only reads whether it is NULL */
  if (blocks == 0) board_check(k->fsai_blocks(r, s->threads, &s->blocks), "the blocks of rows of an inverse");
  if (fits == 0) r->workspace = board_filled(a, 0xff, s->blocks * s->threads / lanes * host->space.bytes);
  r->a = place_rows(a, n, k->stored, &host->a);
  r->row = board_place(a, host->row, count * sizeof *host->row);
  r->given_ptr = board_place(a, host->given_ptr, ((size_t)n + 1) * sizeof *host->given_ptr);
  if (host->given_ptr)
    r->given = board_place(a, host->given, (size_t)host->given_ptr[n] * sizeof *host->given);
  r->index = board_take(a, places * sizeof *r->index);
  r->values = board_take(a, places * k->work);
  r->entries = board_take(a, count * sizeof *r->entries);
  r->kind = board_take(a, count * sizeof *r->kind);
  take_packed(s, r->count, r->stride, r->entries, r->index, r->values);
}

void board_fsai_open_lists(const char *scalars, const tsi_gpu_fsai_rows *host, board_fsai *s) {
  board_arrays *a = &s->arrays;
  const size_t places = places_of(host->count, host->stride);
  *s = (board_fsai){.kernels = gpu_kernels_of(scalars)};
  const tsi_index *entries = board_place(a, host->entries, (size_t)host->count * sizeof *host->entries),
                  *index = board_place(a, host->index, places * sizeof *host->index);
  const void *values = board_place(a, host->values, places * s->kernels->work);
  take_packed(s, host->count, host->stride, entries, index, values);
}

void board_fsai_run(board_fsai *s, unsigned threads) {
  const unsigned fewer = threads < s->threads ? threads : s->threads;
  board_check(s->kernels->fsai(&s->rows, s->blocks * s->threads / fewer, fewer, NULL),
              "the launch of rows of an inverse");
}

void board_fsai_pack(board_fsai *s, unsigned blocks, unsigned threads) {
  if (blocks > SUMS_MAX) blocks = SUMS_MAX;
  board_check(s->kernels->fsai_count(&s->packed, blocks, threads, NULL), "the launches that count entries");
  board_check(s->kernels->fsai_pack(&s->packed, blocks, threads, NULL), "the launch that packs rows");
}

void board_fsai_fetch(const board_fsai *s, const tsi_gpu_fsai *rows, const tsi_gpu_fsai_rows *packed) {
  if (rows) {
    const size_t count = (size_t)rows->count, places = places_of(rows->count, rows->stride);
    board_copy_out(rows->entries, s->rows.entries, count * sizeof *rows->entries);
    board_copy_out(rows->kind, s->rows.kind, count * sizeof *rows->kind);
    board_copy_out(rows->index, s->rows.index, places * sizeof *rows->index);
    board_copy_out(rows->values, s->rows.values, places * s->kernels->work);
  }
  if (packed) {
    const size_t count = (size_t)packed->count;
    board_copy_out(packed->ptr, s->packed.ptr, (count + 1) * sizeof *packed->ptr);
    const size_t entries = (size_t)packed->ptr[count];
    board_copy_out(packed->packed_index, s->packed.packed_index, entries * sizeof *packed->packed_index);
    board_copy_out(packed->packed_values, s->packed.packed_values, entries * s->kernels->work);
  }
}

/* ---- G^H ----------------------------------------------------------------------------------------------- */

void board_adjoint_open(const char *scalars, const tsi_gpu_fsai_adjoint *host, board_adjoint *s) {
  const gpu_kernels *k = gpu_kernels_of(scalars);
  const size_t n = (size_t)host->n, entries = (size_t)host->g.ptr[n];
  board_arrays *a = &s->arrays;
  *s = (board_adjoint){.kernels = k, .adjoint = *host};
  s->adjoint.g = place_rows(a, host->n, k->stored, &host->g);
  s->adjoint.left = board_filled(a, 0, n * sizeof *host->left);
  s->adjoint.sum = board_take(a, SUMS_MAX * sizeof *host->sum);
  s->adjoint.ptr = board_take(a, (n + 1) * sizeof *host->ptr);
  s->adjoint.index = board_take(a, entries * sizeof *host->index);
  s->adjoint.values = board_take(a, entries * k->work);
}

void board_adjoint_run(board_adjoint *s, unsigned blocks, unsigned threads) {
  if (blocks > SUMS_MAX) blocks = SUMS_MAX;
  board_check(s->kernels->fsai_adjoin(&s->adjoint, blocks, threads, NULL), "the launches of an adjoint");
}

void board_adjoint_fetch(const board_adjoint *s, const tsi_gpu_fsai_adjoint *host) {
  const size_t n = (size_t)host->n, entries = (size_t)host->g.ptr[n];
  board_copy_out(host->ptr, s->adjoint.ptr, (n + 1) * sizeof *host->ptr);
  board_copy_out(host->index, s->adjoint.index, entries * sizeof *host->index);
  board_copy_out(host->values, s->adjoint.values, entries * s->kernels->work);
}
