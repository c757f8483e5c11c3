/* The world (dag/world.h) of a solve by the solver of Xie et al. ("Fast and scalable sparse triangular solver
 * for multi-GPU based HPC architectures", ICPP 2021), for comparison with TriStar's (predict_spread.h).
 *
 * Model. Consecutive rows form tasks of equal size, which are dealt to the GPUs round robin. Each task is a
 * launch, and a warp solves a row. Resident warps take the rows in their order, ready or not, and wait. A
 * warp loads the left sums of its row from all other GPUs, computes x, and adds the products with x into the
 * left sums that its own GPU has of later rows. The host starts the launches of a GPU one after the other.
 * With `unified` a warp faults instead of loading: once if its row has left sums on other GPUs, once if it
 * adds to rows of other GPUs.
 *
 * Reads   lines that are the rows of the sweep.   Writes  a world. */
#pragma once

#include "dag/world.h"
#include "runtime/process/predict_spread.h"

/* *gets: left sums that other GPUs have, a row and GPU at a time. Errors: TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_published_world(tsi_env *env, const tsi_lines *lines,
                                                   const tsi_spread_model *model, tsi_world **out,
                                                   tsi_count *gets);
