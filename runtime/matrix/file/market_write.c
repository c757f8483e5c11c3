/* Writing Matrix Market coordinate files.
 *
 * Reads   a view that tsi_view_check has accepted.
 * Writes  one line per entry, in the order of the view; symmetric kinds with row >= column, as the format
 * requires. Reals have 17 significant digits, so reading returns the same bits. */
#include "runtime/matrix/file/market.h"
#include "runtime/matrix/file/number.h"
#include "runtime/matrix/view.h"
#include "runtime/matrix/file/writer.h"

static void write_entry(tsi_writer *writer, const tristar_view *view, int64_t j, tsi_count k) {
  double value[2];
  int64_t i = tsi_view_index(view, k);
  int64_t row = view->format == TRISTAR_CSC ? i : j, col = view->format == TRISTAR_CSC ? j : i;
  tsi_view_value(view, k, value);
  if (view->symmetry != TRISTAR_GENERAL && row < col) {
    int64_t swap = row;
    row = col;
    col = swap;
    if (view->symmetry == TRISTAR_SKEW_SYMMETRIC) value[0] = -value[0];
    if (view->symmetry != TRISTAR_SYMMETRIC) value[1] = -value[1];
  }
  if (view->values == NULL)
    tsi_writer_print(writer, "%lld %lld\n", (long long)row + 1, (long long)col + 1);
  else if (tsi_scalar_width(view->scalar) == 1)
    tsi_writer_print(writer, "%lld %lld %.17g\n", (long long)row + 1, (long long)col + 1, value[0]);
  else
    tsi_writer_print(writer, "%lld %lld %.17g %.17g\n", (long long)row + 1, (long long)col + 1, value[0],
                     value[1]);
}

tristar_status tsi_market_write(tsi_env *env, const char *path, const tristar_view *view,
                                const char *comment) {
  tristar_status status = TRISTAR_OK;
  tsi_writer writer;
  tsi_locale locale;
  int64_t major = tsi_view_major(view);
  tsi_locale_enter(&locale);
  TSI_TRY_OUT(tsi_writer_open(&writer, env, path));
  tsi_writer_print(&writer, "%%%%MatrixMarket matrix coordinate %s %s\n",
                   view->values == NULL                  ? "pattern"
                   : tsi_scalar_width(view->scalar) == 2 ? "complex"
                                                         : "real",
                   tsi_symmetry_name(view->symmetry));
  tsi_writer_comment(&writer, comment);
  tsi_writer_print(&writer, "%lld %lld %lld\n", (long long)view->rows, (long long)view->cols,
                   (long long)tsi_view_begin(view, major));
  for (int64_t j = 0; j < major && !writer.failed; j++)
    for (tsi_count k = tsi_view_begin(view, j); k < tsi_view_begin(view, j + 1); k++)
      write_entry(&writer, view, j, k);
out:
  status = tsi_writer_close(&writer, status);
  tsi_locale_leave(&locale);
  return status;
}
