/* Puts the rows of this rank in one piece: see dmatrix.h. */
#include "runtime/mpi/matrix/dmatrix.h"

#include "runtime/base/sort.h"

/* Local. */
static tristar_status allocate_whole(tristar_dmatrix_t *d) {
  tsi_env *env = &d->ts->env;
  tsi_rows_matrix *m;
  const size_t entries = (size_t)d->stats.nnz, all = (size_t)d->n + (size_t)d->halo->ghosts;
  TSI_TRY(TSI_ALLOC_ZERO(env, d->whole, 1));
  m = d->whole;
  m->n = d->n;
  m->halo = d->halo;
  TSI_TRY(TSI_ALLOC_IN(m, m->column, d->n));
  TSI_TRY(TSI_ALLOC_ZERO_IN(m, m->ptr, (tsi_count)d->n + 1));
  TSI_TRY(TSI_ALLOC_IN(m, m->index, entries));
  TSI_TRY(TSI_ALLOC(env, d->column, entries));
  TSI_TRY(TSI_ALLOC_SIZED_IN(m, m->values, entries, d->bytes));
  return TSI_ALLOC_SIZED_IN(m, m->vector, all, tsi_halo_bytes(d->bytes));
}

/* Lines of a piece: their rows (NULL: all rows), the local number of its first column, and its columns in the
 * whole matrix. */
typedef struct piece {
  const tsi_entries *lines;
  const tsi_count *row;
  tsi_index local;
  const tsi_index *column;
} piece;

static piece diagonal_of(const tristar_dmatrix_t *d) {
  return (piece){&d->form[TSI_DPLAIN].diagonal, NULL, 0, d->whole->column};
}

static piece block_of(const tristar_dmatrix_t *d, int o) {
  const tsi_index first = d->owner[o].first;
  return (piece){&d->form[TSI_DPLAIN].block[o], d->form[TSI_DPLAIN].row[o], d->n + first,
                 d->ghost_column + first};
}

static tsi_count row_of(const piece *p, tsi_index line) {
  return p->row != NULL ? p->row[line] : line;
}

static void count_lines(const piece *p, tsi_count *ptr) {
  for (tsi_index l = 0; l < p->lines->n; l++)
    ptr[row_of(p, l) + 1] += p->lines->ptr[l + 1] - p->lines->ptr[l];
}

/* ptr[i]: position of the next entry of row i. */
static void append_lines(const tristar_dmatrix_t *d, const piece *p) {
  const tsi_rows_matrix *m = d->whole;
  for (tsi_index l = 0; l < p->lines->n; l++) {
    const tsi_count begin = p->lines->ptr[l], count = p->lines->ptr[l + 1] - begin, at = m->ptr[row_of(p, l)];
    for (tsi_count e = 0; e < count; e++) {
      m->index[at + e] = p->local + p->lines->index[begin + e];
      d->column[at + e] = p->column[p->lines->index[begin + e]];
    }
    memcpy((char *)m->values + (size_t)at * d->bytes, (const char *)p->lines->item + (size_t)begin * d->bytes,
           (size_t)count * d->bytes);
    m->ptr[row_of(p, l)] += count;
  }
}

/* Owners before this rank have smaller columns. */
static void fill_whole(tristar_dmatrix_t *d) {
  tsi_rows_matrix *m = d->whole;
  const piece diagonal = diagonal_of(d);
  const int rank = tsi_transport_rank(d->transport);
  for (tsi_index i = 0; i < d->n; i++) m->column[i] = (tsi_index)tsi_dmatrix_first(d) + i;
  count_lines(&diagonal, m->ptr);
  for (int o = 0; o < d->owners; o++) {
    const piece block = block_of(d, o);
    count_lines(&block, m->ptr);
  }
  for (tsi_index i = 0; i < d->n; i++) m->ptr[i + 1] += m->ptr[i];
  for (int o = 0, done = 0; o <= d->owners; o++) {
    if (!done && (o == d->owners || d->owner[o].rank > rank)) {
      append_lines(d, &diagonal);
      done = 1;
    }
    if (o == d->owners) break;
    const piece block = block_of(d, o);
    append_lines(d, &block);
  }
  memmove(m->ptr + 1, m->ptr, (size_t)d->n * sizeof *m->ptr);
  m->ptr[0] = 0;
}

tristar_status tsi_dmatrix_need_whole(tristar_dmatrix_t *d) {
  if (d->whole != NULL) return TRISTAR_OK;
  const tristar_status status = allocate_whole(d);
  if (status != TRISTAR_OK)
    tsi_dmatrix_release_whole(d);
  else
    fill_whole(d);
  return status;
}

void tsi_dmatrix_release_whole(tristar_dmatrix_t *d) {
  if (d->whole != NULL) d->whole->halo = NULL; /* the matrix owns it */
  tsi_rows_matrix_destroy(&d->whole);
  TSI_FREE(&d->ts->env, d->column);
}

tsi_count tsi_dmatrix_find(const tristar_dmatrix_t *d, tsi_index row, tsi_index column) {
  const tsi_count *ptr = d->whole->ptr + (row - tsi_dmatrix_first(d));
  const tsi_count at = ptr[0] + tsi_find_range(d->column + ptr[0], (tsi_index)(ptr[1] - ptr[0]), column);
  return at < ptr[1] && d->column[at] == column ? at : -1;
}
