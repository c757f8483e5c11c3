/* Matrix Market array files: every value of a matrix, column by column; of a symmetric kind the lower
 * triangle, without the diagonal if it is skew-symmetric. See market.h.
 *
 * Such a file, read as a sparse matrix, keeps its nonzero values and its whole diagonal: other zeros are no
 * entries. */
#include "runtime/matrix/file/market.h"
#include "runtime/matrix/triplets.h"

void tsi_market_array_begin(tsi_market_array *array, tsi_text_lines *lines, const tsi_market_header *header) {
  *array =
      (tsi_market_array){.lines = lines, .header = header, .row = tsi_market_first_row(header->symmetry, 0)};
}

tristar_status tsi_market_array_next(tsi_market_array *array, tsi_index *i, tsi_index *j, double *value) {
  tsi_text_lines *lines = array->lines;
  const tsi_market_header *header = array->header;
  char *text;
  TSI_TRY(tsi_market_next(lines, &text));
  if (text == NULL)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT,
             "%s: the file ends after %lld of the %lld values that line %lld announces",
             tsi_lines_where(lines), (long long)array->taken, (long long)header->entries,
             (long long)header->size_line);
  const char *cursor = text;
  TSI_TRY(tsi_market_value(lines, header->field, text, &cursor, value));
  *i = array->row;
  *j = array->col;
  if (*i == *j && header->symmetry == TRISTAR_HERMITIAN && value[1] != 0)
    TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s: imaginary diagonal of a hermitian matrix: %g",
             tsi_lines_where(lines), value[1]);
  array->taken++;
  if (++array->row == header->rows) array->row = tsi_market_first_row(header->symmetry, ++array->col);
  return TRISTAR_OK;
}

tristar_status tsi_market_read_array(tsi_text_lines *lines, const tsi_market_header *header,
                                     tristar_matrix_t **matrix) {
  TSI_CLEANUP(tsi_triplets_free) tsi_triplets triplets = {.env = lines->env};
  tsi_market_array array;
  tsi_index i = 0, j = 0;
  *matrix = NULL;
  tsi_triplets_init(&triplets, lines->env, header->rows, header->cols, header->symmetry,
                    header->field == TSI_FIELD_COMPLEX ? 2 : 1, 0);
  tsi_market_array_begin(&array, lines, header);
  while (array.taken < header->entries) {
    double value[2];
    TSI_TRY(tsi_market_array_next(&array, &i, &j, value));
    if (value[0] != 0 || value[1] != 0 || i == j) TSI_TRY(tsi_triplets_push(&triplets, i, j, value));
  }
  TSI_TRY(tsi_market_end(lines, header));
  return tsi_triplets_finish(&triplets, matrix);
}
