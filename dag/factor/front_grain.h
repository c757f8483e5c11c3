/* Sizes for cutting the fronts of a factorization into steps, and for distributing them: see factorization.h
 * and front_owners.h. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_factorization_options {
  tsi_index tile;      /* Rows and columns of a tile of a front. */
  double tiled_flops;  /* Fronts with more flops are cut into tiles. */
  double task_work;    /* Flops; a lighter subtree is not worth more than one step. */
  double scalar_flops; /* Cost of sending a scalar to another process, in flops. */
} tsi_factorization_options;

/* The fastest sizes in measurements: tiles of 512. */
static inline void tsi_factorization_options_init(tsi_factorization_options *options) {
  options->tile = 512;
  options->tiled_flops = 1e8;
  options->task_work = 4e6;
  options->scalar_flops = 50;
}
