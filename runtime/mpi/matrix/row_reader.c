/* Rows of a matrix in pieces: see row_reader.h. */
#include "runtime/mpi/matrix/row_reader.h"

tristar_status tsi_row_reader_begin(const tristar_dmatrix_t *d, tsi_row_reader *reader) {
  *reader = (tsi_row_reader){.d = d};
  while (reader->before < d->owners && d->owner[reader->before].rank < tsi_transport_rank(d->transport))
    reader->before++;
  return TSI_ALLOC_ZERO(&d->ts->env, reader->line, d->owners);
}

void tsi_row_reader_end(tsi_row_reader *reader) {
  if (reader->d != NULL) TSI_FREE(&reader->d->ts->env, reader->line);
}

/* The entries of a row in one piece of the matrix. */
typedef struct segment {
  const tsi_entries *lines;
  tsi_count begin;
  tsi_index count, local; /* count: entries; local: number of the piece's first column */
} segment;

static segment of_line(const tsi_entries *lines, tsi_count line, tsi_index local) {
  return (segment){lines, lines->ptr[line], (tsi_index)(lines->ptr[line + 1] - lines->ptr[line]), local};
}

/* The segment in block o; empty if the block has no entries in the row. */
static segment of_block(const tsi_row_reader *r, int o) {
  const tsi_dform *form = &r->d->form[TSI_DPLAIN];
  const tsi_index line = r->line[o];
  if (line == form->block[o].n || form->row[o][line] != r->row) return (segment){.count = 0};
  return of_line(&form->block[o], line, r->d->n + r->d->owner[o].first);
}

static segment diagonal_of(const tsi_row_reader *r) {
  return of_line(&r->d->form[TSI_DPLAIN].diagonal, r->row, 0);
}

tsi_index tsi_row_reader_seek(tsi_row_reader *r, tsi_index row) {
  const tsi_dform *form = &r->d->form[TSI_DPLAIN];
  const bool back = row < r->row;
  r->row = row;
  tsi_index length = diagonal_of(r).count;
  for (int o = 0; o < r->d->owners; o++) {
    if (back) r->line[o] = 0;
    while (r->line[o] < form->block[o].n && form->row[o][r->line[o]] < row) r->line[o]++;
    length += of_block(r, o).count;
  }
  return length;
}

/* The k-th segment of the row. Owners before this rank have smaller columns. */
static segment segment_at(const tsi_row_reader *r, int k) {
  return k == r->before ? diagonal_of(r) : of_block(r, k - (k > r->before));
}

/* One of columns and values is NULL. */
static void read_items(const tsi_row_reader *r, tsi_index from, tsi_index count, tsi_index *columns,
                       char *values) {
  const size_t bytes = r->d->bytes;
  for (int k = 0; k <= r->d->owners && count > 0; k++) {
    const segment s = segment_at(r, k);
    const tsi_index some = tsi_index_max(0, tsi_index_min(count, s.count - from));
    if (columns != NULL)
      for (tsi_index e = 0; e < some; e++) *columns++ = s.local + s.lines->index[s.begin + from + e];
    if (values != NULL && some > 0) {
      memcpy(values, (const char *)s.lines->item + (size_t)(s.begin + from) * bytes, (size_t)some * bytes);
      values += (size_t)some * bytes;
    }
    count -= some;
    from = tsi_index_max(0, from - s.count);
  }
}

void tsi_row_reader_columns(const tsi_row_reader *r, tsi_index from, tsi_index count, tsi_index *to) {
  read_items(r, from, count, to, NULL);
}

void tsi_row_reader_values(const tsi_row_reader *r, tsi_index from, tsi_index count, char *to) {
  read_items(r, from, count, NULL, to);
}
