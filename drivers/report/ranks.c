/* Reads rows, tells figures: see ranks.h. */
#ifdef TSI_HAVE_MPI

#include "drivers/report/ranks.h"

#include <string.h>

#include "drivers/report/report.h"

tristar_dmatrix_t *tsi_rows_read(tsi_session *s) {
  tristar_dmatrix_options options;
  tristar_dmatrix_t *matrix;
  tristar_dmatrix_stats stats;
  const double begin = tsi_now();
  tristar_dmatrix_options_init(&options);
  options.engine = TRISTAR_ENGINE_SERIAL; /* there are no products */
  if (s->settings->precision >= 0) options.scalar = "sdczdz"[s->settings->precision];
  if (tristar_dmatrix_read(s->ts, MPI_COMM_WORLD, s->path, &options, &matrix) != TRISTAR_OK) return NULL;
  tristar_dmatrix_get_stats(matrix, &stats);
  s->precision = tsi_precision_of(stats.scalar);
  s->single_factors = s->settings->precision >= 4;
  if (s->precision->width == 2 && stats.symmetry == TRISTAR_SYMMETRIC) tristar_dmatrix_destroy(&matrix);
  s->view =
      (tristar_view){.symmetry = stats.symmetry, .scalar = stats.scalar, .rows = stats.n, .cols = stats.n};
  s->read_s = tsi_now() - begin;
  return matrix;
}

int tsi_solve_figures(const void *of_rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]) {
  const tristar_distributed_stats *s = of_rank;
  const tsi_rank_figure list[] = {
      {"L solve", "forward_s", s->forward_seconds, tsi_text_seconds},
      {"between L and U (Z)", "between_s", s->between_seconds, tsi_text_seconds},
      {"U solve", "backward_s", s->backward_seconds, tsi_text_seconds},
      {"arithmetic", "compute_s", s->compute_seconds, tsi_text_seconds},
      {"XY waiting", "xy_s", s->xy_seconds, tsi_text_seconds},
      {"Z waiting", "z_s", s->z_seconds, tsi_text_seconds},
      {"idle", "idle_s", s->idle_seconds, tsi_text_seconds},
      {"b and x", "redistribute_s", s->redistribute_seconds, tsi_text_seconds},
      {"factor", "factor_bytes", s->factor_bytes, tsi_text_bytes},
      {"factor on GPUs", "device_factor_bytes", s->device_factor_bytes, tsi_text_bytes},
      {"bytes to GPUs", "up_bytes", s->up_bytes, tsi_text_bytes},
      {"bytes from GPUs", "down_bytes", s->down_bytes, tsi_text_bytes},
      {"XY messages", "xy_messages", (double)(s->broadcast.messages + s->reduction.messages), NULL},
      {"XY bytes", "xy_bytes", (double)(s->broadcast.bytes + s->reduction.bytes), tsi_text_bytes},
      {"Z messages", "z_messages", (double)s->grids.messages, NULL},
      {"Z bytes", "z_bytes", (double)s->grids.bytes, tsi_text_bytes},
      {"factoring", "factor_s", s->factor_seconds, tsi_text_seconds},
      {"factoring, the peak", "factor_peak_bytes", s->factor_peak_bytes, tsi_text_bytes},
      {"the peak of all", "peak_bytes", s->peak_bytes, tsi_text_bytes},
      {"factoring, messages", "factor_messages", (double)(s->fan_in.messages + s->hand_on.messages), NULL},
      {"complements sent", "fan_in_bytes", (double)s->fan_in.bytes, tsi_text_bytes},
      {"panels sent", "hand_on_bytes", (double)s->hand_on.bytes, tsi_text_bytes}};
  memcpy(figure, list, sizeof list);
  return sizeof list / sizeof list[0];
}

void tsi_report_rank_devices(int ranks, const tristar_distributed_stats *stats) {
  const char *name = "devices";
  for (int r = 0; r < ranks; r++) {
    const tristar_distributed_stats *s = &stats[r];
    if (s->devices > 0) {
      tsi_report(name, "rank %d: %s%s: %s, %s of factor; in each solve %s up, %s down", r, s->device,
                 s->devices > 1 ? " and others" : "", tsi_text_many(s->device_chunks, "subtree"),
                 tsi_text_bytes(s->device_factor_bytes), tsi_text_bytes(s->up_bytes),
                 tsi_text_bytes(s->down_bytes));
      name = "";
    }
    if (s->unfit_bytes > 0) {
      tsi_report(name, "rank %d: no room for %s of factor, which stay with the cores", r,
                 tsi_text_bytes(s->unfit_bytes));
      name = "";
    }
  }
}

#endif
