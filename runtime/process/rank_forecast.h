/* Forecast of the memory that a factorization by all ranks (runtime/mpi/factor/team_factor.h) needs on one
 * rank.
 *
 * Job. Create the steps and messages of the rank's fronts, as the rank does, and run them one after the other
 * without arithmetic (factor_forecast.h). Messages are sent and received at once. All ranks are assumed to
 * have rows of the matrix of equal number and length.
 * The factorization has three stages; the result is the largest:
 *
 *   deliver    each rank receives the entries of its fronts
 *   run        panels, fronts, messages
 *   bring      each rank receives the rows of the matrix that refinement needs
 *
 * Not included: allocations of METIS and MPI, several fronts at a time on several workers, a second
 * factorization because of the values, and devices.
 *
 * Reads   the structure of the factor, the process of the rank, its part of the tree.
 * Writes  bytes; it changes nothing. */
#pragma once

#include "dag/factor/front_part.h"
#include "runtime/process/process.h"

typedef struct tsi_rank_source {
  tristar_t *ts;
  const tsi_panels *panels; /* of the factor */
  tristar_method method;
  const tsi_process *process;
  const tsi_front_part *part;
  int64_t entries; /* of the matrix, both triangles */
} tsi_rank_source;

/* Bytes in addition to the process and the part. */
typedef struct tsi_rank_bytes {
  double panels;  /* streams of the share */
  double deliver; /* in the stage deliver */
  double run;
  double bring;
  double kept;    /* after the factorization, with the panels */
  double present; /* part of `deliver` that a rank with rows of the matrix already holds when the structure is
                     complete; most of it is freed in the other stages */
} tsi_rank_bytes;

/* Computes the forecast. Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_rank_forecast_make(tsi_env *env, const tsi_rank_source *source,
                                                      tsi_rank_bytes *bytes);
/* The largest of the three stages. */
double tsi_rank_peak(const tsi_rank_bytes *bytes);
