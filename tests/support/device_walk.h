/* A reference walk of device tables (codelets/gpu/tables/device_tables.h) in plain C: what a kernel that
 * reads them has to compute, node by node, one right-hand side after the other, all numbers in double complex
 * whatever the scalar type is. */
#pragma once

#include "codelets/gpu/tables/device_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Solves: the sweeps that the call has, forward with one factor's tables, backward with the other one's or
 * the same. scalar: 's', 'd', 'c', 'z', of values, inverse, b and x (b and x in double if the call is wide).
 * forward_order, backward_order: tickets in the order in which they run; NULL: ascending. The call's
 * workspace is not used: the walk's own begins with NaN in all rows, so that x has NaN if anything is read
 * too early. */
void device_walk(char scalar, const tsi_device_tables *forward, const tsi_device_tables *backward,
                 const tsi_device_call *call, const tsi_index *forward_order,
                 const tsi_index *backward_order);

/* One sweep of a call that has this one alone, in the call's workspace, as a kernel's launch leaves it. */
void device_walk_sweep(char scalar, const tsi_device_tables *tables, const tsi_device_call *call,
                       bool backward);

/* A pseudo-random order of the tickets of a sweep that respects its waits; order: tickets. Different seeds
 * give different orders. */
void device_walk_order(const tsi_device_sweep *sweep, unsigned seed, tsi_index *order);

#ifdef __cplusplus
}
#endif
