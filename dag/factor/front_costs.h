/* What the steps of a factorization take on a core, for simulations and forecasts.
 *
 * Seconds are those of arithmetic, at a share of the rate of large products, and of the calls that a front
 * takes. Bytes are those of entries that are cleared, added and packed; small fronts are in the caches of a
 * core: for them they are seconds, at the rate of a core alone. The shares were fitted to the steps of six
 * matrices in 2D and 3D, L L^T and LU, on one core with AVX-512.
 *
 * Reads   a DAG of fronts.   Writes  nothing. */
#pragma once

#include "dag/factor/factorization.h"

typedef struct tsi_front_rates {
  double flop_seconds; /* of an operation of scalars, in large products */
  double byte_seconds; /* of a byte that a core reads while others do not */
  double scalar_bytes;
} tsi_front_rates;

/* flops: of large products of doubles, per second; bytes: that a core reads in a second. */
static inline tsi_front_rates tsi_front_rates_of(double flops, double bytes, size_t scalar_bytes,
                                                 bool complex) {
  return (tsi_front_rates){.flop_seconds = (complex ? 2 : 1) * (double)scalar_bytes / 8 / flops,
                           .byte_seconds = 1 / bytes,
                           .scalar_bytes = (double)scalar_bytes};
}

/* Seconds of arithmetic and calls of a step, and bytes of memory that it reads and writes. */
void tsi_front_cost_of(const tsi_front_rates *rates, const tsi_factorization *dag, tsi_index step,
                       double *seconds, double *bytes);
