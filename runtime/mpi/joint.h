/* A factorization by all ranks: tristar_distributed_factor.
 *
 * Job. Each rank factors the fronts that it owns (dag/front_owners.h), where the solve wants their panels:
 * subtrees that the layout has whole on one process are factored there without messages. Schur complements go
 * to the owners of their parents (dag/factorization.h), so that the bits of the factor are those of one
 * process, whatever the layout. Panels that other processes hold too, or rows of, go to them afterwards.
 *
 * Rank 0 has the analysis, the values and the scalings; each rank gets the entries of its own fronts. No rank
 * holds a panel that is neither its own nor in its share.
 *
 * Reads   analysis and values of rank 0; layout and share of the process.
 * Writes  the values of the process.
 * Invariants
 *   - `part` is this rank's part of the factor (factor.h): its streams are those of the process
 *   - what has a length of n or of all supernodes: the structure, owner, places of panels, scalings, sizes */
#ifndef TSI_MPI_JOINT_H
#define TSI_MPI_JOINT_H

#include "runtime/factor/numeric.h"
#include "runtime/mpi/distributed.h"
#include "runtime/mpi/shipment.h"

struct tsi_joint {
  tsi_known known;
  tristar_factor_t *source;           /* rank 0: values and scalings; without streams */
  tsi_index *owner;                   /* supernodes: the rank that factors each */
  tsi_pattern pattern;                /* of nothing but sizes */
  struct tristar_analysis_s analysis; /* as part wants it: lists with entries of own fronts */
  struct tristar_factor_s part;
  tsi_index passing;     /* own panels that only others hold: those in part.passing */
  tsi_shipment lines;    /* own entries, first those of all lower lists; values while they are needed */
  tsi_count *place;      /* entries: each is its own place */
  tsi_pivot_sizes sizes; /* while they are needed */
};

void tsi_joint_destroy(tristar_distributed_t *d, tsi_joint **joint);

/* Collective: what rank 0 says of the values, scalings and sizes. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_joint_share_scales(tristar_distributed_t *d, tsi_joint *joint);
/* Collective: the entries of own fronts; their places too, the first time. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_joint_take_entries(tristar_distributed_t *d, tsi_joint *joint);
/* Collective: a factorization; afterwards all ranks know all pivots, and their figures. *out is to be
 * destroyed, whatever the status. Errors: the first failure, the same on all ranks. */
TRISTAR_CHECKED tristar_status tsi_joint_run(tristar_distributed_t *d, tsi_joint *joint, bool fixed,
                                             tsi_numeric **out);
/* Collective: as tsi_factorize has it, a second opinion on dependent rows, that of a factorization without
 * interchanges. *numeric becomes that one if it is better. Errors: as tsi_joint_run. */
TRISTAR_CHECKED tristar_status tsi_joint_run_fixed(tristar_distributed_t *d, tsi_joint *joint,
                                                   tsi_numeric **numeric);
/* Collective: panels that others hold, or rows of, go to them. Adds to the statistics. Errors: MEMORY,
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_joint_hand_on(tristar_distributed_t *d, const tsi_joint *joint);

#endif
