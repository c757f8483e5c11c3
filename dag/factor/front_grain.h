/* How finely the fronts of a factorization are cut into steps, and shared out: see factorization.h and
 * front_owners.h. */
#pragma once

#include "runtime/base/types.h"

typedef struct tsi_factorization_options {
  tsi_index tile;      /* rows and columns of a tile of a front */
  double tiled_flops;  /* a front heavier than this is cut into tiles */
  double task_work;    /* in flops: a subtree lighter than this is never worth more than one step */
  double scalar_flops; /* what a scalar takes on its way to another process, in flops */
} tsi_factorization_options;

/* What was found best: tiles of 512. */
static inline void tsi_factorization_options_init(tsi_factorization_options *options) {
  options->tile = 512;
  options->tiled_flops = 1e8;
  options->task_work = 4e6;
  options->scalar_flops = 50;
}
