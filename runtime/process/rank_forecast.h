/* What a factorization by all ranks (runtime/mpi/factor/team_factor.h) takes on one of them, before it runs.
 *
 * Job. Makes the steps and the messages of the rank's fronts, as the rank does, and runs them one after the
 * other without arithmetic (factor_forecast.h). Messages are sent and received at once. The rows of
 * the matrix are assumed to be as many, and as long, on all ranks.
 * The factorization has three stages, and the one that needs most counts:
 *
 *   deliver    each rank receives the entries of its fronts
 *   run        panels, fronts, messages
 *   bring      each rank receives the rows of the matrix that refinement needs
 *
 * Not included: what METIS and MPI allocate, several fronts at a time on several workers, a second
 * factorization that values call for, and devices.
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

/* Bytes beside the process and the part. */
typedef struct tsi_rank_bytes {
  double panels;  /* streams of the share */
  double deliver; /* in that stage */
  double run;
  double bring;
  double kept;    /* afterwards, the panels included */
  double present; /* of `deliver`: a rank that has rows of the matrix holds so many once the structure is
                     known, and most of them no longer in the other stages */
} tsi_rank_bytes;

/* Errors: MEMORY, TOO_LARGE. */
TRISTAR_CHECKED tristar_status tsi_rank_forecast_make(tsi_env *env, const tsi_rank_source *source,
                                                      tsi_rank_bytes *bytes);
/* The largest of the three stages. */
double tsi_rank_peak(const tsi_rank_bytes *bytes);
