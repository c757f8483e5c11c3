/* Reads rows, tells figures: see ranks.h. */
#ifdef TSI_HAVE_MPI

#include "drivers/report/ranks.h"

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

#define FIGURE(name, expression)                                                                             \
  static double name(const void *of_rank) {                                                                  \
    const tristar_distributed_stats *s = of_rank;                                                            \
    return expression;                                                                                       \
  }
FIGURE(forward, s->forward_seconds)
FIGURE(between_sweeps, s->between_seconds)
FIGURE(backward, s->backward_seconds)
FIGURE(device_factor, s->device_factor_bytes)
FIGURE(up_bytes, s->up_bytes)
FIGURE(down_bytes, s->down_bytes)
FIGURE(compute, s->compute_seconds)
FIGURE(xy, s->xy_seconds)
FIGURE(between, s->z_seconds)
FIGURE(idle, s->idle_seconds)
FIGURE(redistribute, s->redistribute_seconds)
FIGURE(factor_bytes, s->factor_bytes)
FIGURE(factoring, s->factor_seconds)
FIGURE(factor_peak, s->factor_peak_bytes)
FIGURE(peak, s->peak_bytes)
FIGURE(factor_messages, (double)(s->fan_in.messages + s->hand_on.messages))
FIGURE(fan_in_bytes, (double)s->fan_in.bytes)
FIGURE(hand_on_bytes, (double)s->hand_on.bytes)
FIGURE(xy_messages, (double)(s->broadcast.messages + s->reduction.messages))
FIGURE(xy_bytes, (double)(s->broadcast.bytes + s->reduction.bytes))
FIGURE(z_messages, (double)s->grids.messages)
FIGURE(z_bytes, (double)s->grids.bytes)

const tsi_rank_figure tsi_solve_figures[TSI_SOLVE_FIGURES] = {
    {"L solve", "forward_s", forward, tsi_text_seconds},
    {"between L and U (Z)", "between_s", between_sweeps, tsi_text_seconds},
    {"U solve", "backward_s", backward, tsi_text_seconds},
    {"arithmetic", "compute_s", compute, tsi_text_seconds},
    {"XY waiting", "xy_s", xy, tsi_text_seconds},
    {"Z waiting", "z_s", between, tsi_text_seconds},
    {"idle", "idle_s", idle, tsi_text_seconds},
    {"b and x", "redistribute_s", redistribute, tsi_text_seconds},
    {"factor", "factor_bytes", factor_bytes, tsi_text_bytes},
    {"factor on GPUs", "device_factor_bytes", device_factor, tsi_text_bytes},
    {"bytes to GPUs", "up_bytes", up_bytes, tsi_text_bytes},
    {"bytes from GPUs", "down_bytes", down_bytes, tsi_text_bytes},
    {"XY messages", "xy_messages", xy_messages, NULL},
    {"XY bytes", "xy_bytes", xy_bytes, tsi_text_bytes},
    {"Z messages", "z_messages", z_messages, NULL},
    {"Z bytes", "z_bytes", z_bytes, tsi_text_bytes},
    {"factoring", "factor_s", factoring, tsi_text_seconds},
    {"factoring, the peak", "factor_peak_bytes", factor_peak, tsi_text_bytes},
    {"the peak of all", "peak_bytes", peak, tsi_text_bytes},
    {"factoring, messages", "factor_messages", factor_messages, NULL},
    {"complements sent", "fan_in_bytes", fan_in_bytes, tsi_text_bytes},
    {"panels sent", "hand_on_bytes", hand_on_bytes, tsi_text_bytes}};

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
