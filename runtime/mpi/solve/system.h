/* The system of a distributed factor: runtime/iterate/refine/system.h with messages. Vectors have the rows
 * that are at home on this rank, in the order of refine_rows.h. */
#pragma once

#include "runtime/iterate/refine/system.h"
#include "runtime/mpi/solve/distributed.h"

typedef struct tsi_distributed_system {
  tsi_system system;
  tsi_team team;
  tristar_distributed_t *distributed;
} tsi_distributed_system;

/* Collective. *s must not move in memory afterwards; the caller finishes it whatever the status. The factor
 * has its matrix. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_distributed_system_create(tristar_distributed_t *d,
                                                             tsi_distributed_system *s);
void tsi_distributed_system_finish(tsi_distributed_system *s);
