/* The ranks of a transport as the members of a team (runtime/iterate/refine/team.h).
 *
 * Reads   the transport.   Writes  a team; the caller frees its array for the numbers of all members. */
#pragma once

#include "runtime/iterate/refine/team.h"
#include "runtime/mpi/comm/transport.h"

/* Collective. n: entries of a vector; number: final numbers of this rank's entries. The transport is
 * borrowed. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_transport_team(tsi_env *env, tsi_transport *transport, int64_t n,
                                                  const tsi_index *number, tsi_team *team);
