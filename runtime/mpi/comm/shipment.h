/* Lines of a sparse matrix that rank 0 has, on their way to the ranks that work with them.
 *
 * Job. Rank 0 collects the lines of one rank after the other and sends them: their lengths and indices, and
 * the values; the values alone where a rank has the rest already. Before the lines of a rank comes a status,
 * and a rank says whether it has room: whatever fails, nobody waits.
 *
 * Reads   what a function on rank 0 collects.   Writes  a tsi_shipment on every rank. */
#ifndef TSI_RUNTIME_MPI_COMM_SHIPMENT_H
#define TSI_RUNTIME_MPI_COMM_SHIPMENT_H

#include "runtime/mpi/comm/transport.h"

/* Lines of a rank, one after the other, in an order that it knows. */
typedef struct tsi_shipment {
  size_t lines, entries;
  char *values;
  bool pattern;       /* lengths and index travel too */
  tsi_index *lengths; /* by line */
  tsi_index *index;
} tsi_shipment;

/* Room for its lines and entries, of `bytes` each. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_shipment_allocate(tsi_env *env, size_t bytes, tsi_shipment *lines);
void tsi_shipment_release(tsi_env *env, tsi_shipment *lines);

/* Collects the lines of a rank, of which `pattern` is set and nothing else, with tsi_shipment_allocate.
 * Errors: MEMORY. */
typedef tristar_status (*tsi_shipment_collect)(void *context, int rank, tsi_shipment *lines);

/* Collective. collect: on rank 0, NULL elsewhere. before: what rank 0 has failed with, if it has. own: this
 * rank's lines; `pattern` is set, the same on all ranks, and elsewhere than on rank 0 `lines`; to be released
 * whatever the status, which is the same on all. Errors: MEMORY, RUNTIME. */
TRISTAR_CHECKED tristar_status tsi_ship(tsi_env *env, tsi_transport *transport, size_t bytes,
                                        tsi_shipment_collect collect, void *context, tristar_status before,
                                        tsi_shipment *own);

#endif
