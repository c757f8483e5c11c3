/* A reference walk of device tables (codelets/gpu/tables/device_tables.h) in plain C. It computes the results
 * of a kernel, node by node and one right-hand side after the other, with all numbers in double complex. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the sweeps of the call, with a table for each direction; both may be the same. scalar: 's', 'd', 'c',
 * 'z', the type of values, inverse, b and x (b and x in double if the call is wide). forward_order,
 * backward_order: tickets in their order of execution; NULL: ascending. The walk has its own workspace
 * instead of the call's. It begins with NaN in all rows, so that x has NaN if a row is read too early. */
void device_walk(char scalar, const tsi_device_tables *forward, const tsi_device_tables *backward,
                 const tsi_device_call *call, const tsi_index *forward_order,
                 const tsi_index *backward_order);

/* Runs one sweep of a call that has only this sweep, in the call's workspace, like the launch of a kernel. */
void device_walk_sweep(char scalar, const tsi_device_tables *tables, const tsi_device_call *call,
                       bool backward);

/* Writes a pseudo-random order of the tickets of a sweep that respects its waits. Different seeds give
 * different orders. */
void device_walk_order(const tsi_device_sweep *sweep, unsigned seed, tsi_index *order);

#ifdef __cplusplus
}
#endif
