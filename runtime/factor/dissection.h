/* The nested dissection of a square matrix alone, without an analysis of its factors.
 *
 * Reads   compressed columns: n, ptr (n + 1), index, which may list each pair of entries (i, j), (j, i) once.
 * Writes  position: vertex v comes as position[v]-th.
 * Not checked: that index is in 0 .. n - 1. */
#pragma once

#include "runtime/base/env.h"

/* The order that METIS finds for the graph of A + A^T, as tristar_analyze takes it. Errors: RUNTIME (METIS),
 * TOO_LARGE, MEMORY. */
TRISTAR_CHECKED tristar_status tsi_dissect(tsi_env *env, tsi_index n, const tsi_count *ptr,
                                           const tsi_index *index, tsi_index *position);
