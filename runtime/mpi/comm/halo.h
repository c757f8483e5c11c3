/* Entries of vectors that lie on other ranks: those that a rank's rows of a matrix meet.
 *
 * Job. Each rank owns some entries of a vector, and needs some of the others' (its ghosts). Bring the values
 * of its ghosts to a rank, or add what ranks have summed up for their ghosts to the entries of the owners.
 *
 * Reads   which entry belongs to whom.   Writes  a tsi_halo that owns its arrays; the vectors handed to it.
 * Invariants
 *   - ghosts are numbered by owner, then in the order of their columns
 *   - sums are added in the order of the ranks: they do not depend on when messages come */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/mpi/comm/route.h"

/* The largest number that travels for an entry of a vector: a double, or a sum of the wider precision. */
static inline size_t tsi_halo_bytes(size_t scalar_bytes) {
  return 2 * (scalar_bytes > sizeof(double) ? scalar_bytes : sizeof(double));
}

typedef struct tsi_halo {
  tsi_route route;         /* from the ranks that have ghosts to their owners */
  tsi_index ghosts, asked; /* entries that this rank needs; own entries that others need */
  tsi_count *own;          /* asked: places of own entries, by rank that needs them */
  void *buffer;            /* asked numbers of tsi_halo_bytes */
} tsi_halo;

/* Collective. scalar_bytes: of vectors. column: final numbers of the n own entries, ascending; ghost: those
 * of the ghosts, and owner[g] the rank of each, which does not descend. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_create(tsi_env *env, tsi_transport *transport, size_t scalar_bytes,
                                               tsi_index n, const tsi_index *column, tsi_index ghosts,
                                               const tsi_index *ghost, const int *owner, tsi_halo **out);
void tsi_halo_destroy(tsi_halo **halo);

/* Collective. ghost[g] = the owners' values; scalars of `bytes` each. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_fill(tsi_env *env, const tsi_halo *halo, size_t bytes,
                                             const void *own, void *ghost);
/* Collective. Own entries that others need become their values there. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_return(tsi_env *env, const tsi_halo *halo, size_t bytes,
                                               const void *ghost, void *own);
/* Collective. Sums of all ranks are added to their owners'. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_add(tsi_env *env, const tsi_halo *halo, size_t bytes,
                                            const void *ghost, void *own, tsi_add_at *add);
