/* One-sided messages between processing elements (PEs) that share memory: put with signal, get, wait, quiet,
 * teams.
 *
 * Job. Give each PE a symmetric heap (codelets/gpu/tables/heap.h) that all PEs write directly. There are two
 * kinds of memory: a shared window of MPI-3 between the ranks of one node, and memory mapped by the caller,
 * for threads or processes after fork().
 *
 * Waits. Every wait has a deadline, so a PE that was killed or gets no core does not block the others. A wait
 * that fails stops the port on all PEs: their waits return an error with the waiting PE, its peer and its
 * flag. A stopped port stays stopped; a late put is harmless, because its data is never read. A waiting PE
 * yields its core.
 *
 * Reads   the buffers of puts, until the call returns.
 * Writes  the heaps.
 * Invariants
 *   - offsets of data count from the start of the data of a heap, and are the same on all PEs
 *   - memory order: see heap.h. tsi_oneside_quiet orders all earlier puts of the thread before later ones
 * Functions are local and may be called from any thread, unless they are collective. */
#pragma once

#include <mpi.h>

#include "codelets/gpu/tables/heap.h"
#include "runtime/base/env.h"

typedef struct tsi_oneside tsi_oneside;

/* Bytes of a heap with `flags` flags and `data` bytes of data. */
static inline size_t tsi_oneside_bytes(int32_t flags, size_t data) {
  return tsi_heap_data(flags) + (data + 63) / 64 * 64;
}

/* Collective. Creates heaps in a window of the ranks of comm; rank r is PE r. Each heap has the largest
 * numbers of flags and bytes of data that any rank requests. seconds: deadline of waits. All ranks return the
 * same status. Errors: UNSUPPORTED (the ranks are on several nodes), MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_oneside_create(tsi_env *env, MPI_Comm comm, int32_t flags, size_t data,
                                                  double seconds, tsi_oneside **out);
/* Local. Uses heaps in memory of the caller: base[k] of PE k, of tsi_oneside_bytes bytes each, zero before
 * the first PE uses them. The caller keeps the memory; base is copied. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_oneside_map(tsi_env *env, int32_t pe, int32_t pes, int32_t flags,
                                               char *const *base, double seconds, tsi_oneside **out);
/* Collective for a window. The window of a stopped port stays allocated until the process ends; then the call
 * is local. Accepts NULL. */
void tsi_oneside_destroy(tsi_oneside **port);

const tsi_symmetric_heap *tsi_oneside_heap(const tsi_oneside *port);
double tsi_oneside_seconds(const tsi_oneside *port);
/* Data of the PE's own heap. */
void *tsi_oneside_data(const tsi_oneside *port);

/* Copies bytes to offset `to` of a PE. */
void tsi_oneside_put(tsi_oneside *port, int32_t pe, size_t to, const void *from, size_t bytes);
/* The same, then raises a flag of this PE to the epoch. */
void tsi_oneside_put_signal(tsi_oneside *port, int32_t pe, size_t to, const void *from, size_t bytes,
                            int32_t flag, int32_t epoch);
void tsi_oneside_signal(tsi_oneside *port, int32_t pe, int32_t flag, int32_t epoch);
/* Copies bytes from offset `from` of a PE. */
void tsi_oneside_get(const tsi_oneside *port, int32_t pe, size_t from, void *to, size_t bytes);
/* On every PE, all earlier puts of the calling thread become visible before its later ones. */
void tsi_oneside_quiet(tsi_oneside *port);

/* Whether the PE's own flag has reached the epoch. Then the data of the put is visible. */
bool tsi_oneside_test(const tsi_oneside *port, int32_t flag, int32_t epoch);
/* Waits until the flag has reached the epoch. peer: the PE that raises the flag, for messages. Errors:
 * RUNTIME (the deadline has passed, or the port is stopped). */
TRISTAR_CHECKED tristar_status tsi_oneside_wait(tsi_oneside *port, int32_t peer, int32_t flag, int32_t epoch);

/* Stops the port on all PEs, because this PE ends its wait for a flag without success. */
void tsi_oneside_stop(tsi_oneside *port, int32_t peer, int32_t flag, int32_t epoch);
bool tsi_oneside_stopped(const tsi_oneside *port);
/* Checks that the port is not stopped. Errors: RUNTIME, with the failed wait. */
TRISTAR_CHECKED tristar_status tsi_oneside_check(const tsi_oneside *port);

/* A team of PEs first, first + stride, ...: for example the processes of a row, a column or a grid of a
 * layout. */
typedef struct tsi_oneside_team {
  int32_t first, stride, count;
} tsi_oneside_team;
static inline int32_t tsi_oneside_team_pe(const tsi_oneside_team *team, int32_t member) {
  return team->first + member * team->stride;
}
/* Collective in the team: returns when all members have called it. flag: the first of `count` flags; member k
 * raises flag + k on all members. epoch: a new one in each call. Errors: as tsi_oneside_wait. */
TRISTAR_CHECKED tristar_status tsi_oneside_meet(tsi_oneside *port, const tsi_oneside_team *team, int32_t flag,
                                                int32_t epoch);
