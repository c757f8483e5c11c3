/* Tickets: the order in which nodes of device tables run, and the waits of each ticket.
 *
 * Reads   nodes and gather lists of device tables, their sweep, the seconds of each node.
 * Writes  a tsi_device_tickets that owns its arrays.
 * Invariants: those of tickets in device_tables.h. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "dag/sweep.h"

typedef struct tsi_device_tickets {
  tsi_index tickets, waits;
  tsi_device_ticket *ticket; /* allocated for one ticket per node */
  tsi_index *order;          /* nodes */
  tsi_index *before;
} tsi_device_tickets;

/* owner: object that owns the arrays. tables: complete except for its sweeps. seconds: by node, positive.
 * Errors: TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_tickets_create(void *owner, const tsi_device_tables *tables,
                                                         const tsi_sweep *sweep, bool backward,
                                                         const double *seconds, tsi_device_tickets *tickets);
