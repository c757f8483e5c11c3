/* What each process of a layout has to do with fronts: messages, arithmetic, memory, counted without a DAG.
 *
 * Reads   tristar_analysis_t, tsi_layout.
 * Writes  counts of each process. Messages are those that its DAG has (dag/factor/factorization.h), with the
 * bytes that go; memory is that of steps in their order. */
#ifndef TSI_RUNTIME_PROCESS_FRONT_TRAFFIC_H
#define TSI_RUNTIME_PROCESS_FRONT_TRAFFIC_H

#include "dag/traffic.h"
#include "runtime/factor/analysis.h"

typedef struct tsi_front_counts {
  tsi_traffic_count sent, received; /* rows: bytes */
  double flops;
  double bytes, most_bytes; /* of complements that wait for their parents; with a front, the most */
} tsi_front_counts;

/* count: by process, zeros. path: flops until the last front is factored. Errors: MEMORY. */
TRISTAR_CHECKED tristar_status tsi_front_traffic_count(tsi_env *env, const tristar_analysis_t *an,
                                                       const tsi_layout *layout, tsi_front_counts *count,
                                                       double *path);

#endif
