/* The halo exchange: entries of vectors that a rank needs from other ranks.
 *
 * Job. Each rank owns some entries of a vector. The rows of its matrix also have columns of other ranks: the
 * entries of these columns are its ghosts. Send the values of the ghosts from the owners to the rank. Or add
 * the sums that ranks have computed for their ghosts to the owners' entries.
 *
 * Reads   the owner of each ghost.   Writes  a tsi_halo that owns its arrays; the vectors passed to it.
 * Invariants
 *   - ghosts are numbered by owner, then in the order of their columns
 *   - sums are added in the order of the ranks, whatever the order in which messages arrive */
#pragma once

#include "codelets/cpu/rows/sparse.h"
#include "runtime/mpi/comm/route.h"

/* Bytes of the largest number that is sent for an entry of a vector: a double, or a sum in a wider precision.
 */
static inline size_t tsi_halo_bytes(size_t scalar_bytes) {
  return 2 * (scalar_bytes > sizeof(double) ? scalar_bytes : sizeof(double));
}

typedef struct tsi_halo {
  tsi_route route;             /* items are sent from the ranks that have ghosts to their owners */
  tsi_index ghosts, requested; /* ghosts of this rank; own entries that are ghosts of other ranks */
  tsi_count *own;              /* [requested]: positions of these own entries, by the rank that needs them */
  void *buffer;                /* [requested] numbers, of tsi_halo_bytes each */
} tsi_halo;

/* Collective. scalar_bytes: of an entry of a vector. column: final numbers of the n own entries, ascending.
 * ghost: final numbers of the ghosts. owner[g]: the owner of ghost g; the ranks in owner ascend, with
 * repetitions. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_create(tsi_env *env, tsi_transport *transport, size_t scalar_bytes,
                                               tsi_index n, const tsi_index *column, tsi_index ghosts,
                                               const tsi_index *ghost, const int *owner, tsi_halo **out);
void tsi_halo_destroy(tsi_halo **halo);

/* Collective. ghost[g] = the value of its owner; scalars of `bytes` each. Errors: RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_fill(tsi_env *env, const tsi_halo *halo, size_t bytes,
                                             const void *own, void *ghost);
/* Collective. Each own entry that is a ghost of another rank gets the ghost's value from there. Errors:
 * RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_halo_return(tsi_env *env, const tsi_halo *halo, size_t bytes,
                                               const void *ghost, void *own);
/* Collective. The sums of all ranks for their ghosts are added to the entries of the owners. Errors: RUNTIME.
 */
TRISTAR_CHECKED tristar_status tsi_halo_add(tsi_env *env, const tsi_halo *halo, size_t bytes,
                                            const void *ghost, void *own, tsi_add_at *add);
