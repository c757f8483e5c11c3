/* Tickets: the order in which nodes of device tables run, and what each ticket waits for.
 *
 * Reads   nodes and gather lists of device tables, the sweep that they were made from, the seconds that each
 * node takes.
 * Writes  a tsi_device_tickets that owns its arrays.
 * Invariants: those of tickets in device_tables.h. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"
#include "dag/sweep.h"

typedef struct tsi_device_tickets {
  tsi_index tickets, waits;
  tsi_device_ticket *ticket; /* room for as many as there are nodes */
  tsi_index *order;          /* nodes */
  tsi_index *before;
} tsi_device_tickets;

/* owner: of the arrays. tables: all but its sweeps. seconds: nodes, positive. Errors: TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_device_tickets_create(void *owner, const tsi_device_tables *tables,
                                                         const tsi_sweep *sweep, bool backward,
                                                         const double *seconds, tsi_device_tickets *tickets);
