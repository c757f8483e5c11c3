/* Reads a matrix from a file of any format: see matrix.h. */
#include "runtime/matrix/file/market.h"
#include "runtime/matrix/file/number.h"
#include "runtime/matrix/matrix.h"

/* The first line decides: "%..." is Matrix Market; otherwise the file must be Harwell-Boeing. */
static tristar_status read_lines(tsi_text_lines *lines, tristar_matrix_t **matrix) {
  tsi_market_header header;
  char *text;
  TSI_TRY(tsi_lines_next(lines, &text));
  if (text == NULL) TSI_FAIL(lines->env, TRISTAR_ERR_FORMAT, "%s:1: the file is empty", lines->path);
  if (*text != '%') return tsi_harwell_read(lines, matrix);
  TSI_TRY(tsi_market_read_header(lines, text, &header));
  return header.array ? tsi_market_read_array(lines, &header, matrix)
                      : tsi_market_read_coordinate(lines, &header, matrix);
}

tristar_status tsi_matrix_read_file(tsi_env *env, const char *path, tristar_matrix_t **matrix) {
  tristar_status status = TRISTAR_OK;
  tsi_text_lines lines;
  tsi_locale locale;
  *matrix = NULL;
  tsi_locale_enter(&locale);
  TSI_TRY_OUT(tsi_lines_open(&lines, env, path));
  TSI_TRY_OUT(read_lines(&lines, matrix));
out:
  tsi_lines_close(&lines);
  tsi_locale_leave(&locale);
  return status;
}
