/* Costs of the steps of a factorization on a core, for simulations and forecasts.
 *
 * Seconds are the time of arithmetic, at a share of the rate of large products, and of the calls of a front.
 * Bytes are memory traffic for entries that are cleared, added and packed. Small fronts are in the caches of
 * a core: their traffic counts as seconds, at the rate of a core alone. The shares were fitted to the steps
 * of six matrices in 2D and 3D, L L^T and LU, on one core with AVX-512.
 *
 * Reads   a DAG of fronts.   Writes  nothing. */
#pragma once

#include "dag/factor/factorization.h"

typedef struct tsi_front_rates {
  double flop_seconds; /* Seconds of an operation of scalars, in large products. */
  double byte_seconds; /* Seconds to read a byte on a core while other cores do not read. */
  double scalar_bytes;
} tsi_front_rates;

/* flops: operations of doubles per second in large products. bytes: read by a core per second. */
static inline tsi_front_rates tsi_front_rates_of(double flops, double bytes, size_t scalar_bytes,
                                                 bool complex) {
  return (tsi_front_rates){.flop_seconds = (complex ? 2 : 1) * (double)scalar_bytes / 8 / flops,
                           .byte_seconds = 1 / bytes,
                           .scalar_bytes = (double)scalar_bytes};
}

/* Computes the seconds of arithmetic and calls of a step, and the bytes of memory that it reads and
 * writes. */
void tsi_front_cost_of(const tsi_front_rates *rates, const tsi_factorization *dag, tsi_index step,
                       double *seconds, double *bytes);
